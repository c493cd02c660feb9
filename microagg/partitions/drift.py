"""The record farthest from a centre that moves, without measuring all records anew.

A record cannot get farther from the centre than it was by more than the centre has moved since.
Every group has the key r - C: its distance r when last measured, and the length C of the
centre's path until then. With C as it is now, key + C bounds its distance now. Only groups whose
bound reaches the best distance found are measured again, from the top of a heap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from microagg.partitions.tree import Groups

__all__ = ["Drift", "empty_drift", "farthest_from_centre", "measure_all", "move"]


class Drift(NamedTuple):
    """Heap of groups by key, the largest on top.

    Attributes
    ----------
    keys : (g,) float64
    names : (g,) int64
        Groups.
    size : (1,) int64
        Entries of the heap; groups without records may be among them.
    centre : (d,) float64
        Where the centre is.
    path : (1,) float64
        How far it has moved.
    taken : (g,) int64
        Scratch: groups measured again, and their keys.
    fresh : (g,) float64
    """

    keys: Any
    names: Any
    size: Any
    centre: Any
    path: Any
    taken: Any
    fresh: Any


def empty_drift(count: int, d: int) -> Drift:
    """Allocate a heap for so many groups."""
    return Drift(
        np.zeros(count), np.zeros(count, np.int64), np.zeros(1, np.int64), np.zeros(d),
        np.zeros(1), np.zeros(count, np.int64), np.zeros(count),
    )  # fmt: skip


def measure_all(drift: Drift, points: Any, members: Any, centre: Any) -> None:
    """Start with these groups and this centre."""
    drift.centre[:] = centre
    drift.path[0] = 0.0
    count = len(members)
    for i in range(count):
        drift.keys[i] = np.sqrt(squared(points[members[i]], centre))
        drift.names[i] = members[i]
    drift.size[0] = count
    for i in range(count // 2 - 1, -1, -1):
        sink(drift, i, count, drift.keys[i], drift.names[i])


def move(drift: Drift, centre: Any) -> None:
    """Move the centre. The path is rounded up, so that keys stay bounds."""
    step = np.sqrt(squared(centre, drift.centre)) * (1 + margin(len(centre))) + 1e-145
    drift.path[0] = (drift.path[0] + step) * (1 + 2.0**-50)
    drift.centre[:] = centre


def farthest_from_centre(drift: Drift, groups: Groups, points: Any) -> int:
    """Group farthest from the centre, the one with the lowest row among equals.

    Computed distances, square roots, keys and their sums are each within a few units of rounding
    of what they stand for. A bound is raised by `margin` of itself and of the path, and compared
    with the best distance lowered by as much, so that a group that is passed over would neither
    win nor tie.
    """
    path = drift.path[0]
    e = margin(len(drift.centre))
    size = drift.size[0]
    best, reach, winner, lowest = -1.0, -1.0, -1, -1
    count = 0
    while size > 0:
        key, group = drift.keys[0], drift.names[0]
        if key + path + e * (abs(key) + 2 * path) < reach:
            break
        size -= 1
        if size > 0:
            sink(drift, 0, size, drift.keys[size], drift.names[size])
        row = groups.head[group]
        if row < 0:
            continue
        distance = squared(points[group], drift.centre)
        if distance > best or (distance == best and row < lowest):
            best, winner, lowest = distance, group, row
            reach = np.sqrt(best) * (1 - e)
        drift.taken[count] = group
        drift.fresh[count] = np.sqrt(distance) - path
        count += 1
    for i in range(count):
        rise(drift, size, drift.fresh[i], drift.taken[i])
        size += 1
    drift.size[0] = size
    return winner


def margin(d: int) -> float:
    """Share of a number that outweighs all roundings in it."""
    return (d + 16) * 2.0**-46


def squared(one: Any, two: Any) -> float:
    """Squared distance of two points, summed attribute by attribute."""
    total = 0.0
    for j in range(len(one)):
        t = one[j] - two[j]
        total += t * t
    return total


def sink(drift: Drift, at: int, size: int, key: float, group: int) -> None:
    """Put an entry at a place or below, where its children are no larger."""
    keys, names = drift.keys, drift.names
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] > keys[below]:
            below += 1
        if keys[below] <= key:
            break
        keys[at], names[at] = keys[below], names[below]
        at = below
    keys[at], names[at] = key, group


def rise(drift: Drift, at: int, key: float, group: int) -> None:
    """Put an entry at a place or above, where the one over it is no smaller."""
    keys, names = drift.keys, drift.names
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] >= key:
            break
        keys[at], names[at] = keys[above], names[above]
        at = above
    keys[at], names[at] = key, group
