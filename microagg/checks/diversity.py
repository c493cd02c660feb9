"""Diversity of confidential values in a class: distinct, entropy and recursive.

A class is known by its counts, how often each of its values occurs. Missing values may be any
value, so the worst is assumed: that all of them are the most frequent one. No other way to fill
them is less diverse, since every other one moves records from the most frequent value to others
(majorisation; entropy and the largest counts both follow it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Profiles", "entropy_diverse"]

NEAR = 1e-9
"""Relative distance below which floats do not decide."""


class Profiles:
    """Counts of the values of one attribute in every class.

    Parameters
    ----------
    classes : (n,) int64
        Class of each record: 0, 1, ... without gaps.
    codes : (n,) int64
        Value of each record, -1 where missing.
    """

    def __init__(self, classes: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        self.classes, self.codes = classes, codes
        self.count = int(classes.max()) + 1

    @cached_property
    def counts(self) -> list[tuple[int, ...]]:
        """Counts of each class in descending order, missing values put to the first."""
        there = self.codes >= 0
        gaps = np.bincount(self.classes[~there], minlength=self.count)
        pairs = np.column_stack([self.classes[there], self.codes[there]])
        found: list[list[int]] = [[] for _ in range(self.count)]
        if len(pairs):
            owners, sizes = np.unique(pairs, axis=0, return_counts=True)
            for owner, size in zip(owners[:, 0].tolist(), sizes.tolist(), strict=True):
                found[owner].append(size)
        for counts, gap in zip(found, gaps.tolist(), strict=True):
            counts.sort(reverse=True)
            if gap and counts:
                counts[0] += gap
            elif gap:
                counts.append(gap)
        return [tuple(counts) for counts in found]

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Number of values that each class surely has, shape (classes,)."""
        return np.array([len(counts) for counts in self.counts], np.int64)

    @cached_property
    def entropy(self) -> NDArray[np.float64]:
        """Exponential of the entropy of each class, shape (classes,); for reading only."""
        return np.array([_effective(counts) for counts in self.counts])

    def recursive(self, c: Fraction) -> NDArray[np.int64]:
        """Largest l for which each class is recursively (c, l)-diverse, shape (classes,)."""
        return np.array([_largest_l(counts, c) for counts in self.counts], np.int64)

    def entropy_diverse(self, l: Fraction) -> NDArray[np.bool_]:  # noqa: E741
        """Whether each class is entropy l-diverse, decided in whole numbers."""
        known: dict[tuple[int, ...], bool] = {}
        for counts in self.counts:
            if counts not in known:
                known[counts] = entropy_diverse(counts, l)
        return np.array([known[counts] for counts in self.counts], bool)


def entropy_diverse(counts: Sequence[int], l: Fraction) -> bool:  # noqa: E741
    """Whether the entropy of counts is at least log(l): ``n**n >= l**n * prod(c**c)``.

    Parameters
    ----------
    counts : sequence of int
        Positive.
    l : Fraction

    Notes
    -----
    With p = c / n, the entropy is ``log n - (1/n) sum c log c``. A. Machanavajjhala et al.,
    l-Diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    if l <= 1:
        return True
    n = sum(counts)
    have = _effective(counts)
    if abs(have - float(l)) > NEAR * have * max(1.0, math.log(n + 1)):
        return have > float(l)
    shared = math.gcd(*counts)  # the condition is one about shares
    small = [c // shared for c in counts]
    n //= shared
    left = n**n * l.denominator**n
    return bool(left >= l.numerator**n * math.prod(c**c for c in small))


def _effective(counts: Sequence[int]) -> float:
    n = sum(counts)
    return math.exp(math.log(n) - math.fsum(c * math.log(c) for c in counts) / n)


def _largest_l(counts: Sequence[int], c: Fraction) -> int:
    # The sum falls as l grows, so the first l that fails is the end.
    tail, best = sum(counts), 1
    for place in range(1, len(counts)):
        tail -= counts[place - 1]
        if not counts[0] < c * tail:
            break
        best = place + 1
    return best
