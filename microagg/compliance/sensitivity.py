"""Sensitive cells of groups of records, in whole numbers, for compiled loops.

A group is known by its total and its largest contributions in every column; a column is an
attribute, or one sign of it. Written plainly; `kernels` compiles copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["absorb", "gather", "offer", "unsafe"]

Ints = NDArray[np.int64]


def unsafe(top: Ints, total: Ints, weights: Ints, units: Ints) -> int:
    """Count sensitive columns of a group: top (c, m) descending, total (c,)."""
    count = 0
    for j in range(top.shape[0]):
        for f in range(len(units)):
            strong = 0
            for i in range(weights.shape[1]):
                strong += weights[f, i] * top[j, i]
            if strong > units[f] * total[j]:
                count += 1
                break
    return count


def offer(top: Ints, amount: int) -> None:
    """Put a contribution into one list of the largest, if it is among them."""
    i = len(top) - 1
    if amount <= top[i]:
        return
    while i > 0 and top[i - 1] < amount:
        top[i] = top[i - 1]
        i -= 1
    top[i] = amount


def absorb(top: Ints, total: Ints, other_top: Ints, other_total: Ints) -> None:
    """Add a second group to a first one."""
    for j in range(top.shape[0]):
        total[j] += other_total[j]
        for i in range(top.shape[1]):
            if other_top[j, i] <= top[j, -1]:
                break
            offer(top[j], other_top[j, i])


def gather(first: int, after: Ints, without: int, shares: Ints, top: Ints, total: Ints) -> None:
    """Compute a group anew from its records, one of them left out (-1 for none).

    Records follow one another in `after`, from `first` until -1; shares (n, c).
    """
    top[:] = 0
    total[:] = 0
    i = first
    while i >= 0:
        if i != without:
            for j in range(shares.shape[1]):
                amount = shares[i, j]
                total[j] += amount
                offer(top[j], amount)
        i = after[i]
