"""Groups of records that a set partition lacks: the pricing problem of column generation.

A group g of t records costs its squared error, ``sum of d(i,j)**2 over its pairs / t``, less the
prices of its records. The group with the least such reduced cost is searched by branch and bound
for every root, the record of the group that comes first in a fixed order.

Bound: let S be part of a group of t records, with r still to come. Each that comes adds its
squared distances to S over t, less its price; with the r - 1 others that come it has at least the
distances to its r - 1 nearest records, each pair counted half at either end. So the r smallest of
these sums over the records that may still come bound what is to be added from below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.exact import Floats, Ints
from microagg.compliance.kernels.sensitivity import Demand, collect, empty_group, take_in, unsafe


class Lists(NamedTuple):
    """Who may come next, for each number of records chosen, by the bounds of what comes then.

    `who`, (t, m), are records, `adds` what each adds to the reduced cost, `keys` its bound, and
    `listed`, (t,), how many there are.
    """

    who: Ints
    adds: Floats
    keys: Floats
    listed: Ints


def distances(root: int, points: Floats, found: Floats) -> None:
    """Squared distances of all records from one."""
    for i in range(len(found)):
        far = 0.0
        for j in range(points.shape[1]):
            gap = points[i, j] - points[root, j]
            far += gap * gap
        found[i] = far


def root_bounds(
    root: int, rank: Ints, points: Floats, near: Floats, prices: Floats, spans: Ints, bounds: Floats
) -> None:
    """Lower bounds of the reduced cost of groups with this root, one for each span of sizes.

    A group's root comes first by rank, (n,). Spans, (s, 2), are of the least and largest size; for
    each from size a, `near`, (s, n), sums up the squared distances to the a - 2 nearest records.
    Bounds, (s,), are filled in, infinite where there are too few records.
    """
    n = len(prices)
    far = np.empty(n)
    distances(root, points, far)
    later = np.flatnonzero(rank > rank[root])
    for place in range(len(spans)):
        a, b = spans[place]
        bounds[place] = -prices[root]
        if len(later) < a - 1:
            bounds[place] = np.inf
            continue
        terms = far[later] / b + near[place][later] / (2.0 * b) - prices[later]
        must = a - 1
        if must < len(terms):
            terms = np.partition(terms, must - 1)
        # Added one by one in ascending order: compiled and plain sums are the same then.
        for term in np.sort(terms[:must]):
            bounds[place] += term
        # Beyond the least size only those come in that lower the sum.
        more = terms[must:]
        for term in np.sort(more[more < 0.0])[: b - a]:
            bounds[place] += term


def greedy_group(root: int, points: Floats, prices: Floats, demand: Demand, group: Ints) -> Any:
    """Grow a group from a record, by the record that raises the reduced cost least each time.

    Returns the least reduced cost of a safe group of k records or more on the way, 0 if none is
    below, and its size; its records are the first of `group`, which it may fill.
    """
    n, d = points.shape
    top, total = empty_group(demand)
    mean = points[root].copy()
    taken = np.zeros(n, np.bool_)
    cost, least, best = 0.0, 0.0, 0
    record = root
    for size in range(1, len(group) + 1):
        group[size - 1] = record
        taken[record] = True
        take_in(record, demand, top, total)
        gap = 0.0
        for j in range(d):
            step = points[record, j] - mean[j]
            gap += step * step
            mean[j] += step / size
        cost += gap * (size - 1) / size - prices[record]
        if size >= demand.k and cost < least and unsafe(top, total, demand) == 0:
            least, best = cost, size
        record, lowest = -1, np.inf
        for i in range(n):
            if taken[i]:
                continue
            far = -prices[i] * (size + 1) / size
            for j in range(d):
                step = points[i, j] - mean[j]
                far += step * step
                if far >= lowest:
                    break
            if far < lowest:
                record, lowest = i, far
        if record < 0:
            break
    return least, best


def cheap_groups(
    root: int, t: int, rank: Ints, points: Floats, near: Floats, prices: Floats, demand: Demand,
    ceiling: float, nodes: int, groups: Ints,
) -> Any:  # fmt: skip
    """Safe groups of t records with this root and a reduced cost below a ceiling.

    `near`, (t - 1, n), sums up the squared distances of each record to its 0, 1, .. t - 2 nearest.
    At most `nodes` parts of groups are looked at. Groups found are written to `groups`, (g, t), the
    root first: only the one that costs least if g is 1, otherwise all, and the search ends when
    there is no room.

    Returns the least reduced cost, or the ceiling if no group is below it; how many groups there
    are; and whether nothing was left unseen.
    """
    n = len(prices)
    top, total = empty_group(demand)
    least, kept, single = ceiling, 0, len(groups) == 1
    chosen = np.empty(t, np.int64)
    chosen[0] = root
    far = np.empty(n)
    distances(root, points, far)
    later = np.flatnonzero(rank > rank[root])
    if len(later) < t - 1:
        return least, 0, True
    lists = Lists(
        np.empty((t, len(later)), np.int64), np.empty((t, len(later))), np.empty((t, len(later))),
        np.zeros(t, np.int64),
    )  # fmt: skip
    at = np.zeros(t, np.int64)
    cost = np.zeros(t)
    cost[1] = -prices[root]
    adds = far[later] / t - prices[later]
    keys = adds + near[t - 2][later] / (2.0 * t)
    order = np.argsort(keys, kind="mergesort")
    lists.listed[1] = len(later)
    for place in range(len(later)):
        lists.who[1, place] = later[order[place]]
        lists.adds[1, place] = adds[order[place]]
        lists.keys[1, place] = keys[order[place]]
    level, seen, limit = 1, 0, ceiling
    while level >= 1:
        place = at[level]
        rest = t - level
        if place + rest > lists.listed[level]:
            level -= 1
            continue
        bound = cost[level]
        for i in range(place, place + rest):
            bound += lists.keys[level, i]
        if bound >= limit:
            level -= 1
            continue
        seen += 1
        if seen > nodes:
            return least, kept, False
        at[level] += 1
        chosen[level] = lists.who[level, place]
        reached = cost[level] + lists.adds[level, place]
        if rest == 1:
            if reached < limit:
                collect(chosen, demand, top, total)
                if unsafe(top, total, demand) == 0:
                    least = min(least, reached)
                    if single:
                        limit, kept = reached, 0
                    elif kept == len(groups):
                        return least, kept, False
                    groups[kept] = chosen
                    kept += 1
            continue
        size = extend(level, place, reached, limit, lists, points, near)
        if size == 0:
            continue
        level += 1
        lists.listed[level] = size
        at[level] = 0
        cost[level] = reached
    return least, kept, True


def extend(
    level: int, place: int, reached: float, limit: float, lists: Lists, points: Floats, near: Floats
) -> Any:
    """List who may come after the record at a place of its list; return how many, 0 if too few.

    These are later ones of the list only, so that no group comes twice. `reached` is the reduced
    cost of what is chosen with that record.
    """
    who, adds, keys = lists.who, lists.adds, lists.keys
    t, record = len(who), who[level, place]
    rest, size = t - level, 0
    for i in range(place + 1, lists.listed[level]):
        other = who[level, i]
        gap = 0.0
        for j in range(points.shape[1]):
            step = points[other, j] - points[record, j]
            gap += step * step
        added = adds[level, i] + gap / t
        key = added + near[rest - 2, other] / (2.0 * t)
        if rest == 2 and reached + key >= limit:
            continue
        who[level + 1, size] = other
        adds[level + 1, size] = added
        keys[level + 1, size] = key
        size += 1
    if size < rest - 1:
        return 0
    ranked = np.argsort(keys[level + 1, :size], kind="mergesort")
    who[level + 1, :size] = who[level + 1, :size][ranked]
    adds[level + 1, :size] = adds[level + 1, :size][ranked]
    keys[level + 1, :size] = keys[level + 1, :size][ranked]
    # A record whose own bound, with the smallest others, is too high can never come.
    floor = reached
    for i in range(rest - 2):
        floor += keys[level + 1, i]
    while size > 0 and floor + keys[level + 1, size - 1] >= limit and size > rest - 2:
        size -= 1
    return size if size >= rest - 1 else 0
