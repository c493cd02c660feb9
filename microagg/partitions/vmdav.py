"""V-MDAV: clusters of k to 2k - 1 records, grown where neighbours are close.

Solanas and Martinez-Balleste (2006), V-MDAV: a multivariate microaggregation with variable group
size. The record farthest from the mean of the whole file takes its k nearest. Then, as long as
the cluster has fewer than 2k - 1 records, the record nearest to any of them joins if its distance
from the cluster is less than gamma times that from its nearest neighbour outside, if it has one.
When fewer than k records remain, each joins the cluster with the nearest mean.

Ties are as in `microagg.partitions.mdav`: the lowest row, or cluster, comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from microagg.partitions import mdav, search, sums, tree
from microagg.partitions.drift import squared
from microagg.partitions.fused import LABEL, LEFT
from microagg.partitions.search import Search, k_nearest
from microagg.partitions.sums import add, means
from microagg.partitions.tree import Groups, Tree, fill, gather, leave
from microagg.records import check_k

__all__ = ["vmdav_labels"]

CLUSTERS = 200
"""Clusters between two calls of `progress`."""

SEED = 2
"""Where the state of a run keeps how many records have been looked at as seeds."""


def vmdav_labels(
    points: NDArray[np.float64],
    k: int,
    gamma: float,
    *,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = UNLIMITED,
) -> NDArray[np.int64]:
    """Cluster of each record by V-MDAV.

    Parameters
    ----------
    points : (n, d) float64
        Records, already scaled.
    k : int
        Least size of a cluster, 1 to n.
    gamma : float
        0 lets no cluster grow; the larger, the more do. The authors suggest 0.2 for scattered
        data and 1.1 for clustered data.
    progress : callable, optional
        Called now and then with the number of records that have a cluster, and n.
    clock : Clock

    Returns
    -------
    (n,) int64
        Clusters are numbered as they are formed.

    Raises
    ------
    InputError
        If k is no whole number from 1 to n, gamma is negative or not finite, or a coordinate is
        not finite or beyond 2**500.
    OutOfTime
        If the time runs out before every record has a cluster.
    """
    points = mdav.checked_points(points)
    n, d = points.shape
    k = check_k(k, n)
    if not (math.isfinite(gamma) and gamma >= 0):
        msg = f"gamma = {gamma} must be a finite number of at least 0"
        raise InputError(msg)
    run = compiled()
    base, digits = sums.digits_for(points)
    bits = points.view(np.int64)
    run["add_all"](digits, base, bits)
    groups = tree.groups_of(points)
    members = np.flatnonzero(groups.head >= 0)
    grown = tree.empty_tree(points, len(members))
    means_of = np.empty(digits.shape[1], np.int64)
    run["means"](digits, base, n, means_of, grown.centre)
    run["plant"](grown, points, members)
    away = np.zeros(n)
    for j in range(d):
        away += (points[:, j] - grown.centre[j]) ** 2
    order = np.argsort(-away, kind="stable")
    scratch = search.empty_search(d, max(k, 2))
    labels = np.full(n, -1, np.int64)
    state = np.array([n, 0, 0], np.int64)
    while state[LEFT] >= k:
        clock.check("every record had a cluster")
        run["grow"](grown, groups, scratch, points, k, gamma, order, state, labels, CLUSTERS)
        if progress is not None:
            progress(n - int(state[LEFT]), n)
    if state[LEFT]:
        digits[:] = 0
        run["join_rest"](points, bits, digits, base, labels, int(state[LABEL]))
        if progress is not None:
            progress(n, n)
    return labels


def plant(grown: Tree, points: Any, members: Any) -> None:
    """Fill a tree with these groups."""
    columns = np.empty((points.shape[1], len(members)))
    gather(points, members, columns)
    fill(grown, columns, members)


def grow(
    grown: Tree, groups: Groups, scratch: Search, points: Any, k: int, gamma: float, order: Any,
    state: Any, labels: Any, most: int,
) -> None:  # fmt: skip
    """Form clusters while k records are left, at most so many.

    Parameters
    ----------
    grown, groups, scratch
        Tree of the records without a cluster; brought up to date.
    points : (n, d) float64
    k : int
    gamma : float
    order : (n,) int64
        Rows from the farthest from the mean of the file to the nearest.
    state : (3,) int64
        Records left, the next label, and the next place in the order; brought up to date.
    labels : (n,) int64
        Filled.
    most : int
        Clusters.
    """
    low, high = np.empty(points.shape[1]), np.empty(points.shape[1])
    rows = np.empty(2 * k, np.int64)
    nearest = np.empty(2 * k, np.int64)
    distances = np.empty(2 * k)
    for _ in range(most):
        if state[LEFT] < k:
            break
        while labels[order[state[SEED]]] >= 0:
            state[SEED] += 1
        k_nearest(grown, groups, points[order[state[SEED]]], k, scratch)
        rows[:k] = scratch.rows[:k]
        labels[rows[:k]] = state[LABEL]
        leave(grown, groups, rows[:k], low, high)
        state[LEFT] -= k
        size = k
        known = 0
        while gamma > 0 and size < 2 * k - 1 and state[LEFT] > 0:
            # The nearest record outside of each member stays what it is until it joins.
            best = 0
            for i in range(size):
                if i >= known or labels[nearest[i]] >= 0:
                    k_nearest(grown, groups, points[rows[i]], 1, scratch)
                    nearest[i], distances[i] = scratch.rows[0], scratch.near[0]
                if distances[i] < distances[best] or (
                    distances[i] == distances[best] and nearest[i] < nearest[best]
                ):
                    best = i
            known = size
            one = nearest[best]
            # It is its own nearest record, at distance 0; the other one counts. A record that is
            # left alone has none.
            if k_nearest(grown, groups, points[one], 2, scratch) < 2:
                break
            if not np.sqrt(distances[best]) < gamma * np.sqrt(scratch.near[0]):
                break
            rows[size] = one
            size += 1
            labels[one] = state[LABEL]
            leave(grown, groups, rows[size - 1 : size], low, high)
            state[LEFT] -= 1
        state[LABEL] += 1


def join_rest(points: Any, bits: Any, digits: Any, base: Any, labels: Any, count: int) -> None:
    """Put each record without a cluster into the one with the nearest mean.

    Parameters
    ----------
    points, bits : (n, d)
        Points as numbers and their bits as integers.
    digits, base
        Empty sums that hold the points.
    labels : (n,) int64
        Filled; -1 is no cluster. Means are those of the clusters without these records.
    count : int
        Clusters.
    """
    n, d = points.shape
    rest = np.empty(n, np.int64)
    left = 0
    starts = np.zeros(count + 1, np.int64)
    for row in range(n):
        if labels[row] < 0:
            rest[left] = row
            left += 1
        else:
            starts[labels[row] + 1] += 1
    for label in range(count):
        starts[label + 1] += starts[label]
    places = starts.copy()
    rows = np.empty(n, np.int64)
    for row in range(n):
        if labels[row] >= 0:
            rows[places[labels[row]]] = row
            places[labels[row]] += 1
    best = np.full(left, np.inf)
    mean = np.empty(d)
    spare = np.empty(digits.shape[1], np.int64)
    for label in range(count):
        part = rows[starts[label] : starts[label + 1]]
        for i in range(len(part)):
            add(digits, base, bits[part[i]], 1)
        means(digits, base, len(part), spare, mean)
        digits[:] = 0
        for i in range(left):
            distance = squared(points[rest[i]], mean)
            if distance < best[i]:
                best[i] = distance
                labels[rest[i]] = label


_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of the functions of this module and of those it calls, by name."""
    if not _compiled:
        import sys

        from csp.compiled import compile_together

        modules = (*mdav.modules(), sys.modules[__name__])
        given = mdav.compiled()
        _compiled.update(given | compile_together(modules, ("plant", "grow", "join_rest"), given))
    return _compiled
