"""MDAV by tree: rounds of two clusters each, as long as many records have no cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.partitions.drift import Drift, farthest_from_centre, measure_all, move
from microagg.partitions.fused import LABEL, LEFT
from microagg.partitions.search import Search, farthest_from, k_nearest
from microagg.partitions.sums import add, means
from microagg.partitions.tree import Groups, Tree, fill, gather, leave

__all__ = ["GROUPS", "begin", "enough", "rounds"]

GROUPS = 2
"""Where the state of a run keeps the number of groups with records that have no cluster."""


def begin(
    tree: Tree, drift: Drift, points: Any, members: Any, digits: Any, base: Any, count: int
) -> None:
    """Fill the tree and the heap with groups; the tree's centre becomes the mean of the records.

    Parameters
    ----------
    tree, drift
        Empty ones of the right size.
    points : (n, d) float64
    members : (g,) int64
        Groups with records that have no cluster; their order changes.
    digits, base
        Sums over these records.
    count : int
        How many records that is.
    """
    means(digits, base, count, np.empty(digits.shape[1], np.int64), tree.centre)
    measure_all(drift, points, members, tree.centre)
    columns = np.empty((points.shape[1], len(members)))
    gather(points, members, columns)
    fill(tree, columns, members)


def enough(left: int, k: int, few: int) -> bool:
    """Whether rounds by tree go on: not below 3k records, nor when a few are left."""
    return left >= 3 * k and left > few


def rounds(
    tree: Tree, drift: Drift, groups: Groups, search: Search, points: Any, bits: Any, digits: Any,
    base: Any, k: int, state: Any, labels: Any, most: int, few: int, half: int,
) -> None:  # fmt: skip
    """Form two clusters a round, for at most so many rounds.

    Parameters
    ----------
    tree, drift, groups, search
        As `begin` left them; brought up to date.
    points, bits : (n, d)
        Points as numbers and their bits as integers.
    digits, base
        Sums over the records without a cluster.
    k : int
    state : (3,) int64
        Records left, the next label, and groups left; brought up to date.
    labels : (n,) int64
        Filled.
    most : int
        Rounds.
    few : int
        Passes over all records take over when no more are left.
    half : int
        The tree is worth building anew when no more groups are left.
    """
    centre = np.empty(points.shape[1])
    spare = np.empty(digits.shape[1], np.int64)
    low, high = np.empty(points.shape[1]), np.empty(points.shape[1])
    for _ in range(most):
        left = state[LEFT]
        if not enough(left, k, few) or state[GROUPS] <= half:
            break
        means(digits, base, left, spare, centre)
        move(drift, centre)
        one = farthest_from_centre(drift, groups, points)
        other = farthest_from(tree, groups, points, points[one], search)
        for group in (one, other):
            k_nearest(tree, groups, points[group], k, search)
            for i in range(k):
                labels[search.rows[i]] = state[LABEL]
                add(digits, base, bits[search.rows[i]], -1)
            state[GROUPS] -= leave(tree, groups, search.rows, low, high)
            state[LEFT] -= k
            state[LABEL] += 1
