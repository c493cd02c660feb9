"""How far the confidential values of a class are from those of the whole file (t-closeness).

N. Li, T. Li and S. Venkatasubramanian, t-Closeness: privacy beyond k-anonymity and l-diversity,
ICDE 2007: the earth mover's distance, with the ordered distance for numbers and the equal distance
for categories. Everything is a ratio of whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.exact import Ints


def ordered_distances(classes: Ints, codes: Ints) -> list[Fraction]:
    """Earth mover's distance of every class, neighbouring values 1 / (m - 1) apart.

    Classes, (n,), are 0, 1, ... without gaps; codes, (n,), are the ranks of the values among the m
    of the file, all of them taken.

    Notes
    -----
    The distance is the sum over values of ``|share up to it in the class - share in the file|``,
    over m - 1. Between two values of a class its share stands still while that of the file
    grows, so each stretch is two sums of shares of the file: entries of classes are visited, not
    all values for each class.
    """
    n, m = len(codes), int(codes.max()) + 1
    sizes = np.bincount(classes)
    if m == 1:
        return [Fraction(0)] * len(sizes)
    whole = _roomy(n, m)
    up_to = np.cumsum(np.bincount(codes, minlength=m))  # records of the file up to each value
    before = whole(np.concatenate([[0], np.cumsum(up_to)]))
    owner, code, count = _entries(classes, codes)
    last = np.append(owner[1:] != owner[:-1], True)
    first = np.append(True, last[:-1])
    running = np.cumsum(count)
    own = running - np.concatenate([[0], np.cumsum(sizes)])[owner]  # records of the class so far
    size = sizes[owner]
    begin, end = code, np.where(last, m, np.append(code[1:], m))
    # The file's share is below the class's up to `turn`, and above it from there on.
    turn = np.searchsorted(up_to, -(-(own * n) // size))
    turn = np.clip(turn, begin, end)
    share, size = whole(own) * n, whole(size)
    below = share * (turn - begin) - size * (before[turn] - before[begin])
    above = size * (before[end] - before[turn]) - share * (end - turn)
    ahead = np.where(first, size * before[begin], 0)  # values before the first of the class
    parts = below + above + ahead
    totals = np.add.reduceat(parts, np.flatnonzero(first))
    return [
        Fraction(int(total), int(s) * n * (m - 1))
        for total, s in zip(totals, sizes.tolist(), strict=True)
    ]


def equal_distances(classes: Ints, codes: Ints) -> list[Fraction]:
    """Distance of every class, any two values 1 apart: half the sum of differences of shares."""
    n = len(codes)
    sizes = np.bincount(classes)
    whole = _roomy(n, 1)
    file = np.bincount(codes)
    owner, code, count = _entries(classes, codes)
    # Shares sum to 1 on both sides, so what the class has more equals what it has less.
    more = np.maximum(whole(count) * n - whole(sizes[owner]) * file[code], 0)
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    totals = np.add.reduceat(more, starts)
    return [
        Fraction(int(total), int(s) * n) for total, s in zip(totals, sizes.tolist(), strict=True)
    ]


def _entries(classes: Ints, codes: Ints) -> tuple[NDArray[Any], ...]:
    """Classes, codes and counts of the values that occur, sorted."""
    width = int(codes.max()) + 1
    pairs, counts = np.unique(classes * width + codes, return_counts=True)
    return *np.divmod(pairs, width), counts.astype(np.int64)


def _roomy(n: int, m: int) -> Callable[[Any], NDArray[Any]]:
    """Return a conversion to a type in which no product can overflow."""
    kind = np.int64 if n * n * m < 2**61 else object
    return lambda array: np.asarray(array).astype(kind)
