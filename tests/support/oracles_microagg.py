"""Brute force for partitions, written from the papers alone; nothing is shared with the package.

Means are taken in fractions and rounded once, squared distances are summed attribute by
attribute in floating point, and of equal records the lowest row comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

__all__ = ["mdav", "optimal_groups", "vmdav"]


def centre(points: Any, rows: list[int]) -> list[float]:
    """Mean of some rows, each attribute rounded once."""
    columns = zip(*(points[r] for r in rows), strict=True)
    return [float(sum(map(Fraction, map(float, c))) / len(rows)) for c in columns]


def distance(p: Any, q: Any) -> float:
    total = 0.0
    for a, b in zip(p, q, strict=True):
        # A product is rounded once; a power may not be.
        total += (float(a) - float(b)) * (float(a) - float(b))
    return total


def farthest_from(points: Any, rows: list[int], q: Any) -> int:
    return min(rows, key=lambda r: (-distance(points[r], q), r))


def nearest_to(points: Any, rows: list[int], q: Any, k: int) -> list[int]:
    return sorted(rows, key=lambda r: (distance(points[r], q), r))[:k]


def mdav(points: Any, k: int) -> list[int]:
    """Algorithm MDAV-generic of Domingo-Ferrer and Torra (2005), cluster of each row."""
    left = list(range(len(points)))
    clusters = []

    def take(rows: list[int]) -> None:
        clusters.append(rows)
        for r in rows:
            left.remove(r)

    while len(left) >= 3 * k:
        xr = farthest_from(points, left, centre(points, left))
        xs = farthest_from(points, left, points[xr])
        take(nearest_to(points, left, points[xr], k))
        take(nearest_to(points, left, points[xs], k))
    if len(left) >= 2 * k:
        xr = farthest_from(points, left, centre(points, left))
        take(nearest_to(points, left, points[xr], k))
    take(list(left))
    return labels_of(clusters, len(points))


def vmdav(points: Any, k: int, gamma: float) -> list[int]:
    """Algorithm of Solanas and Martinez-Balleste (2006), cluster of each row."""
    left = list(range(len(points)))
    middle = centre(points, left)
    clusters = []
    while len(left) >= k:
        cluster = nearest_to(points, left, points[farthest_from(points, left, middle)], k)
        left = [r for r in left if r not in cluster]
        while left and len(cluster) < 2 * k - 1:
            inward, one = min((distance(points[r], points[m]), r) for r in left for m in cluster)
            outward = [distance(points[r], points[one]) for r in left if r != one]
            if not outward or not sqrt(inward) < gamma * sqrt(min(outward)):
                break
            cluster.append(one)
            left.remove(one)
        clusters.append(cluster)
    means = [centre(points, cluster) for cluster in clusters]
    homes = [min(range(len(means)), key=lambda c: (distance(points[r], means[c]), c)) for r in left]
    for r, home in zip(left, homes, strict=True):
        clusters[home].append(r)
    return labels_of(clusters, len(points))


def optimal_groups(values: Any, k: int) -> list[int]:
    """Sizes of the best runs of sorted values; among equals, the smallest from the last one on."""

    def cost(sizes: tuple[int, ...]) -> Fraction:
        total, begin = Fraction(0), 0
        for size in sizes:
            group = [Fraction(float(v)) for v in values[begin : begin + size]]
            mean = sum(group) / size
            total += sum((v - mean) ** 2 for v in group)
            begin += size
        return total

    def runs(n: int) -> Iterator[tuple[int, ...]]:
        if n == 0:
            yield ()
        for size in range(k, n + 1):
            for rest in runs(n - size):
                yield (*rest, size)

    return list(min(runs(len(values)), key=lambda sizes: (cost(sizes), sizes[::-1])))


def labels_of(clusters: list[list[int]], n: int) -> list[int]:
    labels = np.full(n, -1)
    for label, rows in enumerate(clusters):
        assert (labels[rows] == -1).all()
        labels[rows] = label
    assert (labels >= 0).all()
    return [int(label) for label in labels]
