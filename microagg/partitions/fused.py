"""MDAV by passes over all records that have no cluster yet: the way for small files.

Each step is one pass for the farthest record and its neighbours. Large files take the tree
(`microagg.partitions.rounds`) and end here, once few records are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.partitions.nearest import offer
from microagg.partitions.sums import add, means

__all__ = ["LABEL", "LEFT", "fused"]

LEFT = 0
"""Where the state of a run keeps the number of records without a cluster,"""
LABEL = 1
"""and the label of the cluster that is formed next."""


def fused(
    columns: Any, rows: Any, bits: Any, digits: Any, base: Any, k: int, state: Any, labels: Any,
    rounds: int,
) -> None:  # fmt: skip
    """Form clusters until all records have one, or so many rounds have passed.

    Parameters
    ----------
    columns : (d, m) float64
        Records without a cluster, one a column, in order of their rows. Closed up in place.
    rows : (m,) int64
        Their rows, ascending. Closed up in place.
    bits : (n, d) int64
        All points, read as integers.
    digits, base
        Exact sums over the records without a cluster; see `microagg.partitions.sums`.
    k : int
        Least size of a cluster.
    state : (2,) int64
        Records left and the next label; brought up to date.
    labels : (n,) int64
        Filled.
    rounds : int
        Two clusters each.
    """
    d = columns.shape[0]
    m = state[LEFT]
    label = state[LABEL]
    distances = np.empty(m)
    centre = np.empty(d)
    one = np.empty(d)
    other = np.empty(d)
    spare = np.empty(digits.shape[1], np.int64)
    near = np.empty(k)
    near_rows = np.empty(k, np.int64)
    for _ in range(rounds):
        if m < 3 * k:
            break
        means(digits, base, m, spare, centre)
        distances_from(columns, m, centre, distances)
        one[:] = columns[:, farthest(distances, m)]
        distances_from(columns, m, one, distances)
        other[:] = columns[:, farthest(distances, m)]
        for point in (one, other):
            distances_from(columns, m, point, distances)
            nearest(distances, rows, m, k, near, near_rows)
            assign(near_rows, k, label, labels, bits, digits, base)
            m = close_up(columns, rows, m, labels)
            label += 1
    if m < 3 * k:
        if m >= 2 * k:
            means(digits, base, m, spare, centre)
            distances_from(columns, m, centre, distances)
            one[:] = columns[:, farthest(distances, m)]
            distances_from(columns, m, one, distances)
            nearest(distances, rows, m, k, near, near_rows)
            assign(near_rows, k, label, labels, bits, digits, base)
            m = close_up(columns, rows, m, labels)
            label += 1
        labels[rows[:m]] = label
        label += 1
        m -= m
    state[LEFT] = m
    state[LABEL] = label


def distances_from(columns: Any, m: int, point: Any, distances: Any) -> None:
    """Squared distances of m records from a point, summed attribute by attribute."""
    out = distances[:m]
    out[:] = 0.0
    for j in range(len(point)):
        column = columns[j, :m]
        p = point[j]
        for i in range(len(out)):
            t = column[i] - p
            out[i] += t * t


def farthest(distances: Any, m: int) -> int:
    """Place of the largest distance, the first one of equals."""
    best = 0
    for i in range(1, m):
        if distances[i] > distances[best]:
            best = i
    return best


def nearest(distances: Any, rows: Any, m: int, k: int, near: Any, near_rows: Any) -> None:
    """Rows of the k smallest distances, the lowest rows among equals."""
    size = 0
    for i in range(m):
        # Rows ascend, so an equal one that comes later never enters.
        if size < k or distances[i] < near[0]:
            size = offer(near, near_rows, size, k, distances[i], rows[i])


def assign(chosen: Any, k: int, label: int, labels: Any, bits: Any, digits: Any, base: Any) -> None:
    """Label k rows and take them out of the sums."""
    for i in range(k):
        labels[chosen[i]] = label
        add(digits, base, bits[chosen[i]], -1)


def close_up(columns: Any, rows: Any, m: int, labels: Any) -> int:
    """Drop the records that have a label now; return how many stay."""
    kept = 0
    for i in range(m):
        if labels[rows[i]] < 0:
            if kept < i:
                rows[kept] = rows[i]
                columns[:, kept] = columns[:, i]
            kept += 1
    return kept
