"""Mending clusters that fail a rule, lack different values, or are too large or too small.

Where sizes are capped, joining clusters is not enough: two of k records are more than 2k - 1. So a
cluster that fails gives a record to a near one, takes one from it, or exchanges one, whichever
lessens most by how much the two of them fail.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from microagg.compliance.local_search import insert, remove
from microagg.compliance.sensitivity import gather, shortfall, take_in

__all__ = ["mend", "missing"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WRONG_SIZE = 1e6
"""What a record too many or too few counts, against shares of a total: sizes come first."""

LESS = 1e-9
"""Least decrease that counts, so that rounding cannot let two states follow one another forever."""


def missing(size: int, top: Ints, total: Ints, weights: Ints, units: Ints, needs: Ints,
            k: int, most: int) -> float:  # fmt: skip
    """By how much a cluster fails; 0 exactly if it may stay as it is."""
    wrong = max(0, k - size) + max(0, size - most)
    return WRONG_SIZE * wrong + shortfall(top, total, weights, units, needs)


def mend(g: int, points: Floats, shares: Ints, labels: Ints, first: Ints, after: Ints, before: Ints,
         sums: Floats, sizes: Ints, weights: Ints, units: Ints, needs: Ints, near: Ints,
         k: int, most: int) -> bool:  # fmt: skip
    """Take the step that mends cluster g most; say whether there was one.

    Parameters
    ----------
    g : int
    points, shares : (n, d), (n, c)
    labels, first, after, before, sums, sizes
        Clusters as linked lists of records; changed.
    weights, units, needs : (f, m), (f,), (c,) int64
    near : (b,) int64
        Clusters that g may deal with.
    k, most : int
        Least and largest size.
    """
    columns = shares.shape[1]
    shape = (columns, weights.shape[1])
    top, total = np.empty(shape, np.int64), np.empty(columns, np.int64)
    gather(first[g], after, -1, shares, needs, top, total)
    own = missing(sizes[g], top, total, weights, units, needs, k, most)
    best, given, taken, there = LESS, -1, -1, -1
    for h in near:
        if h == g or sizes[h] == 0:
            continue
        gather(first[h], after, -1, shares, needs, top, total)
        now = own + missing(sizes[h], top, total, weights, units, needs, k, most)
        i = first[g]
        last = False
        while not last:
            last = i < 0  # the last round gives nothing and only takes
            j = first[h]
            only = False
            while not only:
                only = j < 0
                if i >= 0 or j >= 0:
                    more = (j >= 0) * 1 - (i >= 0) * 1
                    gather(first[g], after, i, shares, needs, top, total)
                    if j >= 0:
                        take_in(j, shares, needs, top, total)
                    then = missing(sizes[g] + more, top, total, weights, units, needs, k, most)
                    if now - then > best:
                        gather(first[h], after, j, shares, needs, top, total)
                        if i >= 0:
                            take_in(i, shares, needs, top, total)
                        then += missing(sizes[h] - more, top, total, weights, units, needs, k, most)
                        if now - then > best:
                            best, given, taken, there = now - then, i, j, h
                if j >= 0:
                    j = after[j]
            if i >= 0:
                i = after[i]
    if there < 0:
        return False
    for record in (given, taken):
        if record >= 0:
            remove(record, points, labels, first, after, before, sums, sizes)
    if given >= 0:
        insert(given, there, points, labels, first, after, before, sums, sizes)
    if taken >= 0:
        insert(taken, g, points, labels, first, after, before, sums, sizes)
    return True
