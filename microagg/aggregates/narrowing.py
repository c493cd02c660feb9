"""Lines 5 to 20 of aggrAnon for weighted sums, class after class, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from csp.compiled import Kernels
from microagg.aggregates.functions import LARGEST, Linear
from microagg.records import Ints

__all__ = ["KERNELS", "fits"]

KERNELS = Kernels(__name__, "pair_differences", "shared", "narrow")


def fits(units: Ints, aggregates: Sequence[Linear], sizes: Ints, d: Fraction, costs: Ints) -> bool:
    """Whether everything that is summed up on the way stays inside int64."""
    top = 2 * int(np.abs(units).max(initial=0))
    biggest = max(top * sum(abs(int(w)) for w in aggregate.whole) for aggregate in aggregates)
    differences = biggest * int(sizes.max(initial=0)) ** 2 * len(aggregates) * int(costs.max())
    slack = biggest * max(d.numerator, d.denominator)
    return max(differences, slack, top * len(units)) < LARGEST


def pair_differences(values: Any) -> int:
    """Sum of the absolute differences over all pairs; the values are sorted on the way."""
    m = len(values)
    if m <= 16:
        for i in range(1, m):
            x = values[i]
            j = i - 1
            while j >= 0 and values[j] > x:
                values[j + 1] = values[j]
                j -= 1
            values[j + 1] = x
    else:
        values.sort()
    total = 0
    for rank in range(m):
        total += (2 * rank + 1 - m) * (values[rank] - values[0])
    return total


def shared(parts: Any, gains: Any, num: int, den: int) -> bool:
    """Whether the records of a class share their f: for every aggregate one range, or nearly.

    `parts` (aggregates, records) are sums of the exact attributes, `gains` (aggregates, 2) the
    sums of the lower and upper ends of the generalised ones.
    """
    for g in range(len(parts)):
        low, high = parts[g].min(), parts[g].max()
        if low < high:
            least, most = low + gains[g, 0], high + gains[g, 1]
            if (most - least) * den > num * max(least, -most, 0):
                return False
    return True


def narrow(
    units: Any, bounds: Any, weights: Any, num: int, den: int, costs: Any, lower: Any, upper: Any,
    widths: Any,
) -> None:  # fmt: skip
    """Set the ranges of the classes between consecutive bounds; add to the sums of widths."""
    a = units.shape[1]
    count = len(weights)
    largest = 0
    for c in range(len(bounds) - 1):
        largest = max(largest, bounds[c + 1] - bounds[c])
    all_parts = np.empty((count, largest), np.int64)
    gains = np.empty((count, 2), np.int64)
    scratch = np.empty(largest, np.int64)
    closed = np.empty(a, np.bool_)
    for c in range(len(bounds) - 1):
        start, end = bounds[c], bounds[c + 1]
        m = end - start
        parts = all_parts[:, :m]
        for g in range(count):
            gains[g, 0] = gains[g, 1] = 0
            for i in range(m):
                total = 0
                for j in range(a):
                    total += weights[g, j] * units[start + i, j]
                parts[g, i] = total
        closed[:] = True
        for _ in range(a):
            if shared(parts, gains, num, den):
                break
            best = -1
            least = 0
            for j in range(a):
                if closed[j]:
                    spread = 0
                    for g in range(count):
                        w = weights[g, j]
                        for i in range(m):
                            scratch[i] = parts[g, i] - w * units[start + i, j]
                        spread += pair_differences(scratch[:m]) * costs[j]
                    cheaper = best >= 0 and spread == least and costs[j] < costs[best]
                    if best < 0 or spread < least or cheaper:
                        best, least = j, spread
            closed[best] = False
            low = high = units[start, best]
            for i in range(start, end):
                low = min(low, units[i, best])
                high = max(high, units[i, best])
            widths[best] += m * (high - low)
            for i in range(start, end):
                lower[i, best] = low
                upper[i, best] = high
            for g in range(count):
                w = weights[g, best]
                for i in range(m):
                    parts[g, i] -= w * units[start + i, best]
                gains[g, 0] += min(w * low, w * high)
                gains[g, 1] += max(w * low, w * high)
