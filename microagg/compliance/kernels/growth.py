"""Clusters that take in neighbours until they are safe: MDAV with a k of its own for each."""

from __future__ import annotations

import numpy as np

from csp.exact import Floats, Ints
from microagg.compliance.kernels.sensitivity import Demand, empty_group, take_in, unsafe


def grow(points: Floats, labels: Ints, state: Ints, demand: Demand, rounds: int) -> None:
    """Make at most `rounds` pairs of clusters.

    As in MDAV, clusters are made round the record farthest from the mean of what is left and
    round the one farthest from that; each takes k records and then the next nearest until it has
    no sensitive cell, or `most` records. Fewer than k records that remain stay without a cluster.

    Labels are -1 for records without a cluster; the state holds how many these are, and the next
    number of a cluster.
    """
    n, d = points.shape
    distance = np.empty(n)
    origin = np.empty(d)
    for _ in range(rounds):
        if state[0] < demand.k:
            return
        origin[:] = 0.0
        for i in range(n):
            if labels[i] < 0:
                for j in range(d):
                    origin[j] += points[i, j]
        for j in range(d):
            origin[j] /= state[0]
        for _ in range(2):
            if state[0] < demand.k:
                return
            measure(points, labels, origin, distance)
            seed = int(np.argmax(distance))
            for j in range(d):
                origin[j] = points[seed, j]
            measure(points, labels, origin, distance)
            take(labels, state, distance, demand)


def measure(points: Floats, labels: Ints, origin: Floats, distance: Floats) -> None:
    """Squared distances of records without a cluster from a point; -1 for the others."""
    for i in range(len(labels)):
        distance[i] = -1.0
        if labels[i] < 0:
            far = 0.0
            for j in range(points.shape[1]):
                gap = points[i, j] - origin[j]
                far += gap * gap
            distance[i] = far


def take(labels: Ints, state: Ints, distance: Floats, demand: Demand) -> None:
    """Give the nearest records a cluster until it is large enough and safe, or full."""
    free = np.flatnonzero(labels < 0)
    order = free[np.argsort(distance[free], kind="mergesort")]
    top, total = empty_group(demand)
    size = 0
    for i in order:
        labels[i] = state[1]
        size += 1
        take_in(i, demand, top, total)
        if size == demand.most or (size >= demand.k and unsafe(top, total, demand) == 0):
            break
    state[0] -= size
    state[1] += 1
