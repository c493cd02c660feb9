"""Groups of one attribute: individual ranking.

Two ways: the groups that MDAV makes of one attribute, and those with the least sum of squared
errors. Either way a group is a run of the sorted values, but for ties at its ends. MDAV works from
both ends inwards, so that the group with more than k records lies in the middle.

The optimum is by Hansen and Mukherjee (2003), dynamic programming over the sorted values: some
optimum consists of runs of k to 2k - 1 of them, so the cost of the first i values is the least,
over sizes g, of that of the first i - g plus the squared errors of the last g.

Sums of squared errors that differ by little are not told apart in floating point, so costs are
compared as integers: every value is an integer times some power of two, and with L the least
common multiple of all sizes, L times a sum of squared errors is an integer. For many values a
first, compiled pass computes bounds of all costs, rounded outwards, and drops the sizes that cannot
be optimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Floats, Ints
from csp.names.calls import check_choice
from microagg.partitions.exact_means import whole
from microagg.partitions.methods import mdav

METHODS = ("mdav", "optimal")

COMPILED_FROM = 50_000
"""Values times sizes of groups from which compiled code may be worth loading. From `SURELY` times
as many on it is used in any case."""

SURELY = 100

SECONDS = 1e-6
"""What integers of Python take for each."""

FITS = 2**61
"""Costs that are surely less than this are added up as 64-bit integers."""

UP, DOWN = 1 + 2.0**-50, 1 - 2.0**-50
"""Factors that outweigh the rounding of a sum and of this product."""

TINY = 1e-290
"""More than all that is lost where squares underflow."""


def ranking_labels(column: NDArray[Any], k: int, *, method: str) -> Ints:
    """Group of each record by one attribute.

    "mdav" gives the labels of `mdav_labels` for this attribute alone. "optimal" gives the groups of
    k to 2k - 1 records with the least sum of squared errors, numbered from the smallest values to
    the largest, equal values in order of their rows. Of several optima it takes the one whose last
    group is the smallest, then the group before it, and so on.
    """
    check_choice("method", method, METHODS)
    points = mdav.checked_points(np.asarray(column, np.float64)[:, None])
    if method == "mdav":
        return mdav.mdav_labels(points, k)
    order = np.argsort(points[:, 0], kind="stable")
    labels = np.full(len(points), -1, np.int64)
    ends = optimal_ends(points[order, 0], k)
    for label, (begin, end) in enumerate(pairwise([0, *ends])):
        labels[order[begin:end]] = label
    return labels


def optimal_ends(values: Floats, k: int) -> list[int]:
    """Where the optimal groups of ascending values end; of several optima, the last is smallest."""
    n = len(values)
    if n < 2 * k:
        return [n]
    numbers, unit = whole(values)
    numbers = [v - numbers[0] for v in numbers]
    common = math.lcm(*range(k, 2 * k))
    last = np.zeros(n + 1, np.int64)
    if n * k >= COMPILED_FROM and (
        n * k >= SURELY * COMPILED_FROM
        or KERNELS.choose(small=True, seconds=SECONDS * n * k) is not KERNELS.plain
    ):
        _decide_compiled(values, k, numbers, unit, common, last)
    else:
        _decide_exactly(numbers, common, _all_sizes(n, k), last)
    ends = []
    at = n
    while at > 0:
        ends.append(at)
        at -= int(last[at])
    return ends[::-1]


def _all_sizes(n: int, k: int) -> list[range]:
    """Sizes that the last group of the first i values may have, for i from 0 to n."""
    few = [range(i, i + 1) if i >= k else range(0) for i in range(2 * k)]
    return few + [range(k, min(2 * k - 1, i - k) + 1) for i in range(2 * k, n + 1)]


def _decide_compiled(
    values: Floats, k: int, numbers: list[int], unit: int, common: int, last: Ints,
) -> None:  # fmt: skip
    """Drop sizes by bounds, then compare the others as integers of 64 bits where they fit."""
    run = KERNELS.compiled
    begin, sizes, highest = run["candidates"](values, k)
    # A sum of squared errors is at least half the squared range of its values, so products in
    # `decide` are below 8 k**2 times the cost.
    cost = Fraction(float(highest)) / Fraction(4) ** unit
    if numbers[-1] < FITS and cost * max(common, 8 * k * k) < FITS:
        run["decide"](np.array(numbers), common, begin, sizes, last)
    else:
        listed, starts = sizes.tolist(), begin.tolist()
        _decide_exactly(numbers, common, [listed[i:j] for i, j in pairwise(starts)], last)


def _decide_exactly(
    numbers: list[int], common: int, sizes: Sequence[Sequence[int]], last: Ints
) -> None:
    """Size of the last group of the first i values, by integers of any length; as `decide`."""
    first = list(accumulate(numbers, initial=0))
    total = list(accumulate((v * v for v in numbers), initial=0))
    cost = [0] * len(last)
    for i in range(1, len(last)):
        best = 0
        for g in sizes[i]:
            one = first[i] - first[i - g]
            value = cost[i - g] + common // g * (g * (total[i] - total[i - g]) - one * one)
            if not best or value < cost[i]:
                best, cost[i] = g, value
        last[i] = best


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


def candidates(values: Any, k: int) -> tuple[Any, Any, float]:
    """Sizes of the last group of the first i values that may be optimal, by bounds of all costs.

    They stand one after another, those for i from its place in the first of the arrays, (n + 2,).
    Last comes the largest bound of a cost.
    """
    n = len(values)
    least, most = np.full(n + 1, np.inf), np.full(n + 1, np.inf)  # infinite without such groups
    least[0] = most[0] = highest = 0.0
    begin, sizes = np.zeros(n + 2, np.int64), [0 for _ in range(0)]
    lows = np.empty(2 * k)
    for i in range(n + 1):
        first = total = 0.0
        for g in range(1, min(2 * k - 1, i) + 1):
            t = values[i - 1] - values[i - g]
            first += t
            total += t * t
            if g >= k and most[i - g] < np.inf:
                low, high = errors(first, total, g)
                lows[g] = (least[i - g] + low) * DOWN
                least[i] = min(least[i], lows[g])
                most[i] = min(most[i], (most[i - g] + high) * UP)
        last = range(k, min(2 * k - 1, i) + 1)
        sizes += [g for g in last if most[i - g] < np.inf and lows[g] <= most[i]]
        if most[i] < np.inf:
            highest = max(highest, most[i])
        begin[i + 1] = len(sizes)
    return begin, np.array(sizes), highest


def decide(whole: Any, common: int, begin: Any, sizes: Any, last: Any) -> None:
    """Size of the last group of the first i values, by 64-bit integers.

    The values, (n,) int64, are multiples of one unit, and `common` is a common multiple of all
    sizes. Fills `last`, (n + 1,) int64; 0 where no groups make up the first i values.
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


KERNELS = Kernels(__name__, "errors", "candidates", "decide")
