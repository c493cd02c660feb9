"""Range and variance of a record's attributes, over all records that its ranges allow.

Neither moves one way in every attribute, so their values at corners do not bound them. But both are
continuous, and ranges are connected: what they take is an interval, whose ends are found exactly.
"""

from __future__ import annotations

import numpy as np

from csp.errors import InputError
from csp.exact import Ints

LARGEST = 2**61
"""Bound on aggregates, so that differences of two of them fit int64."""

CORNERS = 12
"""Most generalised attributes for which all corners are tried: the largest variance over ranges is
NP-hard to find (Ferson et al. 2002)."""


def range_of(rows: Ints) -> Ints:
    """Largest less smallest attribute, shape (n,)."""
    return np.asarray(rows.max(axis=1) - rows.min(axis=1), np.int64)


def range_ends(lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
    """Smallest and largest range of records known by ranges, each of shape (n,)."""
    d = lower.shape[1]
    low = np.maximum(lower.max(axis=1) - upper.min(axis=1), 0)
    high = np.zeros(len(lower), np.int64)
    for j in range(d):
        others = np.delete(lower, j, axis=1)
        if d > 1:
            high = np.maximum(high, upper[:, j] - others.min(axis=1))
    return low, high


def variance_of(rows: Ints) -> Ints:
    """Squared number of attributes times their variance: ``d * sum(x**2) - sum(x)**2``."""
    d = rows.shape[1]
    top = int(np.abs(rows).max(initial=0))
    if top * top * d**3 >= LARGEST:
        msg = "variances may exceed 2**61 units; use fewer decimals"
        raise InputError(msg)
    return np.asarray(d * (rows**2).sum(axis=1) - rows.sum(axis=1) ** 2, np.int64)


def check_corners(wide: int) -> None:
    """Refuse more generalised attributes than all corners can be tried of."""
    if wide > CORNERS:
        msg = (
            f"variances of more than {CORNERS} generalised attributes are not bounded, and these "
            f"are {wide}; name fewer attributes"
        )
        raise InputError(msg)


def variance_ends(lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
    """Smallest and largest variance, times d squared, of records known by ranges.

    The largest is at a corner, as the variance is convex. The smallest is that of the values
    nearest to some m, with m the mean of those that m lies outside of; it is rounded up, and since
    f is known in whole numbers nothing is lost by that. More than `CORNERS` generalised attributes
    are refused.
    """
    d = lower.shape[1]
    wide = np.flatnonzero((lower < upper).any(axis=0))
    check_corners(len(wide))
    high = np.zeros(len(lower), np.int64)
    for corner in range(2 ** len(wide)):
        rows = lower.copy()
        for place, j in enumerate(wide):
            if corner >> place & 1:
                rows[:, j] = upper[:, j]
        high = np.maximum(high, variance_of(rows))
    # Between two neighbouring ends, the same ranges lie below and above m.
    ends = np.sort(np.concatenate([lower, upper], axis=1), axis=1)
    low = np.zeros(len(lower), np.int64)
    done = lower.max(axis=1) <= upper.min(axis=1)  # one value for all attributes
    for place in range(2 * d - 1):
        a, b = ends[:, place, None], ends[:, place + 1, None]
        below, above = upper <= a, lower >= b
        count = below.sum(axis=1) + above.sum(axis=1)
        total = np.where(below, upper, 0).sum(axis=1) + np.where(above, lower, 0).sum(axis=1)
        squares = (np.where(below, upper, 0) ** 2 + np.where(above, lower, 0) ** 2).sum(axis=1)
        here = ~done & (a[:, 0] * count <= total) & (total <= b[:, 0] * count) & (count > 0)
        spread = d * (count * squares - total**2)
        low[here] = -(-spread[here] // count[here])
        done |= here
    return low, high
