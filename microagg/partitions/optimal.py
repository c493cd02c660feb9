"""Optimal groups of one attribute, by dynamic programming over the sorted values.

Hansen and Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation: some
optimum consists of runs of k to 2k - 1 sorted values, so the cost of the first i values is the
least, over sizes g, of that of the first i - g plus the squared errors of the last g.

Sums of squared errors that differ by little are not told apart in floating point. Here a first
pass computes bounds of all costs, rounded outwards, and drops the sizes that cannot be optimal. The
others are compared as integers: every value is a whole multiple of some power of two, and with L
the least common multiple of all sizes, L times a sum of squared errors is whole.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut"]

WHOLE = 2**61
"""Costs that are surely less than this are added up as 64-bit integers."""

UP, DOWN = 1 + 2.0**-50, 1 - 2.0**-50
"""Factors that outweigh the rounding of a sum and of this product."""

TINY = 1e-290
"""More than all that is lost where squares underflow."""


def cut(values: NDArray[np.float64], k: int) -> list[int]:
    """Where the optimal groups of ascending values end; of several optima, the last is smallest.

    Parameters
    ----------
    values : (n,) float64
        Ascending.
    k : int
        Least size of a group, 1 to n.
    """
    n = len(values)
    if n < 2 * k:
        return [n]
    run = compiled()
    least, most = np.empty(n + 1), np.empty(n + 1)
    run["bound"](values, k, least, most)
    begin = np.zeros(n + 2, np.int64)
    sizes = np.empty(0, np.int64)
    run["candidates"](values, k, least, most, begin, sizes)
    sizes = np.empty(begin[-1], np.int64)
    run["candidates"](values, k, least, most, begin, sizes)
    whole, unit = _whole(values)
    common = math.lcm(*range(k, 2 * k))
    last = np.zeros(n + 1, np.int64)
    # A sum of squared errors is at least half the squared range of its values, so products in
    # `decide` are below 8 k**2 times the cost.
    highest = Fraction(float(most[np.isfinite(most)].max())) / Fraction(4) ** unit
    if whole[-1] < WHOLE and highest * max(common, 8 * k * k) < WHOLE:
        run["decide"](np.array(whole), common, begin, sizes, last)
    else:
        _decide_exactly(whole, common, begin, sizes, last)
    ends = []
    at = n
    while at > 0:
        ends.append(at)
        at -= int(last[at])
    return ends[::-1]


def _whole(values: NDArray[np.float64]) -> tuple[list[int], int]:
    """Differences from the first value in the largest power of two that measures all values.

    Returns
    -------
    whole : list of int
    unit : int
        Exponent of that power.
    """
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1
    odd = mantissas >> np.maximum(zeros, 0)
    units = exponents.astype(np.int64) - 53 + zeros
    unit = int(units[odd != 0].min(initial=2000))
    shifts = np.where(odd != 0, units - unit, 0).tolist()
    whole = [v << s for v, s in zip(odd.tolist(), shifts, strict=True)]
    return [v - whole[0] for v in whole], unit


def bound(values: Any, k: int, least: Any, most: Any) -> None:
    """Bounds of the cost of the first i values, infinite where no groups make them up.

    Parameters
    ----------
    values : (n,) float64
    k : int
    least, most : (n + 1,) float64
        Filled.
    """
    least[:] = np.inf
    most[:] = np.inf
    least[0] = most[0] = 0.0
    for i in range(k, len(values) + 1):
        first = total = 0.0
        for g in range(1, min(2 * k - 1, i) + 1):
            t = values[i - 1] - values[i - g]
            first += t
            total += t * t
            if g >= k and most[i - g] < np.inf:
                low, high = errors(first, total, g)
                least[i] = min(least[i], (least[i - g] + low) * DOWN)
                most[i] = min(most[i], (most[i - g] + high) * UP)


def errors(first: float, total: float, g: int) -> tuple[float, float]:
    """Bounds of a sum of squared errors.

    ``first`` and ``total`` are computed sums of g differences from the largest value and of their
    squares; with u = 2**-53, they are within (g + 1) u and (g + 3) u of themselves of the exact
    ones, and first**2 <= g total, so that the difference total - first**2 / g is within
    (3 g + 12) u of total of the exact one.
    """
    middle = total - first * first / g
    slack = (4 * g + 16) * 2.0**-53 * total + TINY
    return max(middle - slack, 0.0), middle + slack


def candidates(values: Any, k: int, least: Any, most: Any, begin: Any, sizes: Any) -> None:
    """Sizes of the last group of the first i values that may be optimal.

    Parameters
    ----------
    values, k, least, most
        As in `bound`.
    begin : (n + 2,) int64
        Where the sizes for i begin in ``sizes``; filled.
    sizes : (s,) int64
        Filled, unless it is empty.
    """
    count = 0
    for i in range(len(values) + 1):
        begin[i] = count
        first = total = 0.0
        for g in range(1, min(2 * k - 1, i) + 1):
            t = values[i - 1] - values[i - g]
            first += t
            total += t * t
            if g >= k and most[i - g] < np.inf:
                low = errors(first, total, g)[0]
                if (least[i - g] + low) * DOWN <= most[i]:
                    if len(sizes) > 0:
                        sizes[count] = g
                    count += 1
    begin[len(values) + 1] = count


def decide(whole: Any, common: int, begin: Any, sizes: Any, last: Any) -> None:
    """Size of the last group of the first i values, by 64-bit integers.

    Parameters
    ----------
    whole : (n,) int64
        Values as multiples of a common unit.
    common : int
        Common multiple of all sizes.
    begin, sizes
        As `candidates` made them.
    last : (n + 1,) int64
        Filled; 0 where no groups make up the first i values.
    """
    cost = np.zeros(len(last), np.int64)
    for i in range(1, len(last)):
        first = total = whole[0] * 0
        g = 0
        for c in range(begin[i], begin[i + 1]):
            while g < sizes[c]:
                g += 1
                t = whole[i - 1] - whole[i - g]
                first += t
                total += t * t
            value = cost[i - g] + common // g * (g * total - first * first)
            if last[i] == 0 or value < cost[i]:
                last[i] = g
                cost[i] = value


def _decide_exactly(
    whole: list[int], common: int, begin: NDArray[np.int64], sizes: NDArray[np.int64],
    last: NDArray[np.int64],
) -> None:  # fmt: skip
    """Size of the last group of the first i values, by integers of any length; as `decide`."""
    first = list(accumulate(whole, initial=0))
    total = list(accumulate((v * v for v in whole), initial=0))
    starts, all_sizes = begin.tolist(), sizes.tolist()
    share = {g: common // g for g in set(all_sizes)}
    cost = [0] * len(last)
    for i in range(1, len(last)):
        best = 0
        for g in all_sizes[starts[i] : starts[i + 1]]:
            one = first[i] - first[i - g]
            value = cost[i - g] + share[g] * (g * (total[i] - total[i - g]) - one * one)
            if not best or value < cost[i]:
                best, cost[i] = g, value
        last[i] = best


_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of the functions of this module, by name."""
    if not _compiled:
        import sys

        from csp.compiled import compile_together

        names = ("errors", "bound", "candidates", "decide")
        _compiled.update(compile_together((sys.modules[__name__],), names, {}))
    return _compiled
