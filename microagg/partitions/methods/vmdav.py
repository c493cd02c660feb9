"""V-MDAV: clusters of k records and more, grown to 2k - 1 where neighbours are close.

Solanas and Martínez-Ballesté (2006), V-MDAV. The record farthest from the mean of the whole file
takes its k nearest. Then, as long as the cluster has fewer than 2k - 1 records, the record nearest
to any of them joins if its distance from the cluster is less than gamma times that from its nearest
neighbour outside, if it has one. When fewer than k records remain, each joins the cluster with the
nearest mean.

Ties are as in `microagg.partitions.methods.mdav`: the lowest row, or cluster, comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.errors import InputError
from csp.exact import Floats, Ints
from microagg.partitions import kdtree_search
from microagg.partitions.exact_means import exact_mean
from microagg.partitions.kdtree import Groups, Tree, empty_tree, groups_of, leave, squared
from microagg.partitions.kdtree_search import Search, empty_search, k_nearest
from microagg.partitions.methods import mdav
from microagg.partitions.methods.mdav import LABEL, LEFT, Unassigned

COMPILED_FROM = 2_000
"""Records from which compiled code may be worth loading; see `mdav.worth`."""

SURELY = 10
"""Times as many from which it is used in any case."""

SECONDS = 2e-8
"""What numpy takes for a distance along one attribute."""

CLUSTERS = 200
"""Clusters between two calls of `progress`."""

SEED = 2
"""Where the state of a run keeps how many records have been looked at as seeds."""


def vmdav_labels(
    points: Floats,
    k: int,
    gamma: float,
    *,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = UNLIMITED,
) -> Ints:
    """Cluster of each record by V-MDAV, numbered as they are formed.

    Gamma 0 lets no cluster grow; the larger, the more do. The authors suggest 0.2 for scattered
    data and 1.1 for clustered data. `progress` is as for MDAV. It refuses what MDAV refuses, and a
    gamma that is negative or not finite.
    """
    points = mdav.checked_points(points)
    n, d = points.shape
    if not (math.isfinite(gamma) and gamma >= 0):
        msg = f"gamma must be finite and at least 0, got {gamma}"
        raise InputError(msg)
    report = mdav.reporter(n, progress, clock)
    report(n)
    if n < 2 * k:
        report(0)
        return np.zeros(n, np.int64)
    centre = exact_mean(points)
    away = np.zeros(n)
    for j in range(d):
        away += (points[:, j] - centre[j]) ** 2
    order = np.argsort(-away, kind="stable")
    labels = np.full(n, -1, np.int64)
    if n >= COMPILED_FROM and (
        n >= SURELY * COMPILED_FROM or mdav.worth(KERNELS, points, k, SECONDS)
    ):
        _by_tree(points, k, gamma, centre, order, labels, report)
    else:
        left = Unassigned(points, np.arange(n))
        label = 0
        for seed in order:
            if left.n < k:
                break
            if labels[seed] < 0:
                _grow_one(left, points, k, gamma, seed, labels, label)
                label += 1
                if label % CLUSTERS == 0:
                    report(left.n)
    _join_rest(points, labels)
    report(0)
    return labels


def _grow_one(
    left: Unassigned, points: Floats, k: int, gamma: float, seed: int, labels: Ints, label: int,
) -> None:  # fmt: skip
    """Form the cluster of a seed and take its records out."""
    members = left.take(left.nearest(left.distances(points[seed]), k)).tolist()
    nearest: dict[int, tuple[float, int]] = {}
    while gamma > 0 and len(members) < 2 * k - 1 and left.n:
        # The nearest record outside of each member stays what it is until it joins.
        for row in members:
            if row not in nearest:
                distances = left.distances(points[row])
                place = int(np.argmin(distances))
                nearest[row] = float(distances[place]), int(left.rows[place])
        distance, one = min(nearest.values())
        if left.n < 2:  # a record that is left alone has no neighbour
            break
        outside = np.partition(left.distances(points[one]), 1)[1]  # the first is the record itself
        if not np.sqrt(distance) < gamma * np.sqrt(outside):
            break
        left.take(np.searchsorted(left.rows, [one]))
        members.append(one)
        nearest = {row: found for row, found in nearest.items() if found[1] != one}
    labels[members] = label


def _by_tree(
    points: Floats, k: int, gamma: float, centre: Floats,
    order: Ints, labels: Ints, report: Callable[[int], None],
) -> None:  # fmt: skip
    """Form clusters while k records are left."""
    run = KERNELS.compiled
    groups = groups_of(points)
    members = np.flatnonzero(groups.head >= 0)
    tree = empty_tree(points, len(members))
    tree.centre[:] = centre
    run["build"](tree, points, members)
    search = empty_search(points.shape[1], max(k, 2))
    state = np.array([len(points), 0, 0], np.int64)
    while state[LEFT] >= k:
        run["grow"](tree, groups, search, points, k, gamma, order, state, labels, CLUSTERS)
        report(int(state[LEFT]))


def grow(
    tree: Tree, groups: Groups, scratch: Search, points: Any, k: int, gamma: float, order: Any,
    state: Any, labels: Any, most: int,
) -> None:  # fmt: skip
    """Form clusters while k records are left, at most a number of them; as `_grow_one`.

    Tree and groups, of the records without a cluster, state and labels are brought up to date. The
    state holds the records left, the next label, and the next place in the order, (n,) int64: rows
    from the farthest from the mean of the file to the nearest.
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
        k_nearest(tree, groups, points[order[state[SEED]]], k, scratch)
        rows[:k] = scratch.rows[:k]
        labels[rows[:k]] = state[LABEL]
        leave(tree, groups, rows[:k], low, high)
        state[LEFT] -= k
        size = k
        known = 0
        while gamma > 0 and size < 2 * k - 1 and state[LEFT] > 0:
            # The nearest record outside of each member stays what it is until it joins.
            best = 0
            for i in range(size):
                if i >= known or labels[nearest[i]] >= 0:
                    k_nearest(tree, groups, points[rows[i]], 1, scratch)
                    nearest[i], distances[i] = scratch.rows[0], scratch.near[0]
                if distances[i] < distances[best] or (
                    distances[i] == distances[best] and nearest[i] < nearest[best]
                ):
                    best = i
            known = size
            one = nearest[best]
            # It is its own nearest record, at distance 0; the other one counts. A record that is
            # left alone has none.
            if k_nearest(tree, groups, points[one], 2, scratch) < 2:
                break
            if not np.sqrt(distances[best]) < gamma * np.sqrt(scratch.near[0]):
                break
            rows[size] = one
            size += 1
            labels[one] = state[LABEL]
            leave(tree, groups, rows[size - 1 : size], low, high)
            state[LEFT] -= 1
        state[LABEL] += 1


def _join_rest(points: Floats, labels: Ints) -> None:
    """Put each record without a cluster into the one with the nearest mean, the first of equals.

    Means are those of the clusters without these records. Floating-point means tell which clusters
    may be nearest; only of these the means are computed exactly.
    """
    rest = np.flatnonzero(labels < 0)
    if not len(rest):
        return
    order = np.argsort(labels, kind="stable")[len(rest) :]
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    rough = np.add.reduceat(points[order], starts, axis=0) / sizes[:, None]
    d = points.shape[1]
    # More than both distances can be off by rounding, with what is lost where squares underflow.
    slack = float(np.abs(points).max()) * (int(sizes.max()) + d + 16) * d * 2.0**-48 + 1e-145
    exact: dict[int, Floats] = {}
    for row in rest:
        apart = np.sqrt(np.square(rough - points[row]).sum(axis=1))
        best = np.inf
        for label in np.flatnonzero(apart <= apart.min() + slack).tolist():
            if label not in exact:
                begin = starts[label]
                exact[label] = exact_mean(points[order[begin : begin + sizes[label]]])
            distance = squared(points[row], exact[label])
            if distance < best:
                best, labels[row] = distance, label


KERNELS = Kernels(__name__, "grow", given=kdtree_search.KERNELS)
