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

import numpy as np

from csp.exact import Ints

NEAR = 1e-9
"""Relative distance below which floats do not decide."""


def counts_of(classes: Ints, codes: Ints) -> list[tuple[int, ...]]:
    """Count the values of each class, in descending order, missing ones put to the first.

    Classes, (n,), are 0, 1, ... without gaps, and codes, (n,), are -1 where a value is missing.
    """
    there = codes >= 0
    gaps = np.bincount(classes[~there], minlength=int(classes.max()) + 1).tolist()
    found: list[list[int]] = [[] for _ in gaps]
    if there.any():
        width = int(codes.max()) + 1
        pairs, sizes = np.unique(classes[there] * width + codes[there], return_counts=True)
        for owner, size in zip((pairs // width).tolist(), sizes.tolist(), strict=True):
            found[owner].append(size)
    for counts, gap in zip(found, gaps, strict=True):
        counts.sort(reverse=True)
        if gap:
            counts[:1] = [gap + sum(counts[:1])]
    return [tuple(counts) for counts in found]


def effective(counts: Sequence[int]) -> float:
    """Exponential of the entropy of counts; for reading only."""
    n = sum(counts)
    return math.exp(math.log(n) - math.fsum(c * math.log(c) for c in counts) / n)


def largest_l(counts: Sequence[int], c: Fraction) -> int:
    """Largest l for which counts are recursively (c, l)-diverse; by definition, 1 at least."""
    # The sum falls as l grows, so the first l that fails is the end.
    tail, best = sum(counts), 1
    for place in range(1, len(counts)):
        tail -= counts[place - 1]
        if not counts[0] * c.denominator < c.numerator * tail:
            break
        best = place + 1
    return best


def entropy_diverse(counts: Sequence[int], l: Fraction) -> bool:  # noqa: E741
    """Whether the entropy of positive counts is at least log(l): ``n**n >= l**n * prod(c**c)``.

    With p = c / n, the entropy is ``log n - (1/n) sum c log c``. A. Machanavajjhala et al.,
    l-Diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    if l <= 1:
        return True
    n = sum(counts)
    have = effective(counts)
    if abs(have - float(l)) > NEAR * have * max(1.0, math.log(n + 1)):
        return have > float(l)
    shared = math.gcd(*counts)  # the condition is one about shares
    small = [c // shared for c in counts]
    n //= shared
    left = n**n * l.denominator**n
    return bool(left >= l.numerator**n * math.prod(c**c for c in small))
