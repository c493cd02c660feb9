"""Line 4 of aggrAnon: which records to generalise, and which of them together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from csp.compiled import Kernels
from csp.exact import Bools, Ints
from microagg.aggregates.functions import reach
from microagg.partitions.methods.mondrian import mondrian_labels
from microagg.variety import Variety

KERNELS = Kernels(__name__, "lonely", "cut_runs")

_SMALL = 500_000
"""Values times k up to which plain Python takes about a second."""

_SECONDS = 2e-6
"""That it takes for each."""


def sorted_by(values: Ints, rows: Ints) -> Ints:
    """Rows in ascending order of values, (n, g), the first column first; ties by row."""
    return rows[np.lexsort([rows, *values[rows].T[::-1]])]


def consecutive(order: Ints, k: int, n: int) -> Ints:
    """Label runs of k sorted rows; what remains joins the last one. Rows left out get -1.

    This is the plain reading of line 4, with sizes from k to 2k - 1.
    """
    labels = np.full(n, -1)
    labels[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return labels


def exposed(values: Ints, k: int, d: Fraction) -> Bools:
    """Find the records with fewer than k, themselves included, within their reach of f.

    The others are safe whatever is published: a range contains its own value of f, so that every
    record within reach, in all aggregates, stays a candidate.
    """
    far = np.column_stack([reach(v, d) for v in values.T])
    order = np.lexsort(values.T[::-1])
    found = np.empty(len(values), bool)
    found[order] = KERNELS.run(
        "lonely", values[order], far[order], k,
        small=values.size * k <= _SMALL, seconds=_SECONDS * values.size * k,
    )  # fmt: skip
    return found


def lonely(values: Any, far: Any, k: int) -> Any:
    """Whether fewer than k rows, sorted by their first value, are near in all values."""
    n, count = values.shape
    found = np.empty(n, np.bool_)
    for t in range(n):
        near = 1
        for side in (-1, 1):
            i = t + side
            while 0 <= i < n and near < k and abs(values[i, 0] - values[t, 0]) <= far[t, 0]:
                fits = True
                for g in range(1, count):
                    if abs(values[i, g] - values[t, g]) > far[t, g]:
                        fits = False
                        break
                near += fits
                i += side
        found[t] = near < k
    return found


def unvaried(v: Ints, varieties: Sequence[Variety], d: Fraction) -> Bools:
    """Find the records within whose reach of f there are too few different values."""
    far = reach(v, d)
    found = np.zeros(len(v), bool)
    for variety in varieties:
        different = np.zeros(len(v), np.int64)
        for code in range(1, int(variety.codes.max()) + 1):
            these = np.sort(v[variety.codes == code])
            begun = np.searchsorted(these, v + far, side="right")
            different += begun > np.searchsorted(these, v - far, side="left")
        found |= different < variety.least
    return found


def mixed(labels: Ints, values: Ints, varieties: Sequence[Variety]) -> Ints:
    """Join classes with neighbours by f until each has the different values that it must have.

    Negative labels stay; `values` are those of f, and classes neighbours by their means. All
    records with a class must have enough different values together.
    """
    if not varieties:
        return labels
    rows = np.flatnonzero(labels >= 0)
    sizes = np.bincount(labels[rows])
    means = np.bincount(labels[rows], values[rows].astype(np.float64)) / np.maximum(sizes, 1)
    held = [[set[int]() for _ in varieties] for _ in sizes]
    for row in rows.tolist():
        for place, variety in enumerate(varieties):
            held[labels[row]][place] |= {int(variety.codes[row])} - {0}
    into = np.arange(len(sizes))
    open_, have, last = -1, [set[int]() for _ in varieties], -1
    for c in np.argsort(means, kind="stable").tolist():
        if not sizes[c]:
            continue
        if open_ < 0:
            open_, have = c, [set[int]() for _ in varieties]
        into[c] = open_
        have = [a | b for a, b in zip(have, held[c], strict=True)]
        if all(len(a) >= v.least for a, v in zip(have, varieties, strict=True)):
            open_, last = -1, open_
    if open_ >= 0 and last >= 0:
        into[into == open_] = last
    found = labels.copy()
    found[rows] = into[labels[rows]]
    return found


def with_helpers(units: Ints, chosen: Bools, k: int, varieties: Sequence[Variety] = ()) -> Bools:
    """Fill up fewer than k chosen records to k with those that widen their ranges least.

    Nearness is the sum, over the attributes, of the distance to the range of the chosen; ties by
    row. Then come the nearest with values that the chosen lack, where they must differ.
    """
    count = int(chosen.sum())
    if count == 0 or (count >= k and not varieties):
        return chosen
    low, high = units[chosen].min(axis=0), units[chosen].max(axis=0)
    beyond = (np.maximum(low - units, 0) + np.maximum(units - high, 0)).astype(np.float64).sum(1)
    beyond[chosen] = -1.0
    filled = np.zeros(len(units), bool)
    order = np.argsort(beyond, kind="stable")
    filled[order[: max(count, k)]] = True
    for variety in varieties:
        have = set(variety.codes[filled].tolist()) - {0}
        for row in order.tolist():
            code = int(variety.codes[row])
            if len(have) < variety.least and code not in have | {0}:
                have.add(code)
                filled[row] = True
    return filled


def mondrian_groups(units: Ints, rows: Ints, k: int, cut: str) -> Ints:
    """Clusters of Mondrian among some rows; the others get -1."""
    labels = np.full(len(units), -1)
    if len(rows):
        labels[rows] = mondrian_labels(units[rows].astype(np.float64), k, cut=cut)
    return labels


def free_runs(values: Ints, d: Fraction) -> Ints:
    """For each place in sorted values, (m, g), where a run from there stops sharing f (exclusive).

    With several aggregates all of them must be equal.
    """
    m = len(values)
    if values.shape[1] > 1:
        changes = np.flatnonzero((values[1:] != values[:-1]).any(axis=1)) + 1
        return np.append(changes, m)[np.searchsorted(changes, np.arange(m), side="right")]
    v = values[:, 0]
    # For v < 0 the tolerance is that of the end nearer to zero: M (1 + d) <= v.
    most = np.where(v >= 0, v + reach(v, d), 0)
    below = v < 0
    whole = [int(x) * d.denominator // (d.numerator + d.denominator) for x in v[below].tolist()]
    most[below] = np.maximum(np.array(whole, np.int64), v[below])
    return np.searchsorted(v, most, side="right").astype(np.int64)


def cheapest_runs(units: Ints, order: Ints, k: int, free: Ints, costs: Ints | None = None) -> Ints:
    """Cut sorted rows into runs of k to 2k - 1 whose full generalisation is narrowest in sum.

    Dynamic programming over the sorted order, of at least k rows. A run costs its size times the
    sum of its ranges, each times what its attribute costs, or nothing if its last row comes before
    `free` of its first one: then it needs no generalisation. Rows not in the order get -1.
    """
    labels = np.full(len(units), -1)
    # Floats: only which cut is chosen depends on their rounding, never what is safe.
    values = units[order].astype(np.float64) * (1.0 if costs is None else costs)
    ends = KERNELS.run(
        "cut_runs", values, k, free,
        small=values.size * k <= _SMALL, seconds=_SECONDS * values.size * k,
    )  # fmt: skip
    labels[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    return labels


def cut_runs(values: Any, k: int, free: Any) -> Any:
    """Find the ends of the cheapest runs of k to 2k - 1 rows, in ascending order."""
    m, d = values.shape
    cost = np.full(m + 1, np.inf)
    first = np.zeros(m + 1, np.int64)
    cost[0] = 0.0
    low, high = np.empty(d), np.empty(d)
    for end in range(k, m + 1):
        for a in range(d):
            low[a] = high[a] = values[end - 1, a]
        width = 0.0
        for start in range(end - 1, max(end - 2 * k, -1), -1):
            for a in range(d):
                x = values[start, a]
                if x < low[a]:
                    width += low[a] - x
                    low[a] = x
                elif x > high[a]:
                    width += x - high[a]
                    high[a] = x
            if end - start >= k and cost[start] < np.inf:
                total = cost[start]
                if end > free[start]:
                    total += width * (end - start)
                if total < cost[end]:
                    cost[end] = total
                    first[end] = start
    count = 0
    end = m
    while end > 0:
        end = first[end]
        count += 1
    ends = np.empty(count, np.int64)
    end = m
    for i in range(count - 1, -1, -1):
        ends[i] = end
        end = first[end]
    return ends
