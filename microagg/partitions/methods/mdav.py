"""MDAV: fixed-size clusters around the most distant unassigned records.

Domingo-Ferrer and Torra (2005), algorithm MDAV-generic: while at least 3k records are unassigned,
the record farthest from their mean takes its k nearest (itself included), then the record
farthest from that one takes k of the rest; of 2k records or more that remain, the one farthest
from the mean takes k; the others are the last cluster.

The result is defined without reference to the way it is computed: means are rounded once
(`microagg.partitions.exact_means`), squared distances are summed attribute by attribute, and of
equal records, whether farthest or nearest, the lowest row comes first. Small files take
`Unassigned`, which is this definition in numpy and needs no compiler. Large files take a k-d tree
for the nearest records and for those farthest from a record; for those farthest from the mean see
`Drift`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.errors import InputError
from csp.exact import Floats, Ints
from microagg.partitions import kdtree_search
from microagg.partitions.exact_means import MOST_RECORDS, Sums, add, empty_sums, means, ratio, whole
from microagg.partitions.kdtree import Groups, Tree, build, empty_tree, groups_of, leave, squared
from microagg.partitions.kdtree_search import (
    Search,
    empty_search,
    farthest_from,
    k_nearest,
    rise,
    sink,
)

COMPILED_FROM = 5_000
"""Records from which compiled code may be worth loading: MDAV of 5,000 records of 6 attributes
takes 0.3 s in numpy and 0.02 s compiled. From `SURELY` times as many on it is used in any case."""

SURELY = 8

SECONDS = 8e-9
"""What numpy takes for a distance along one attribute; n^2 d / k of them make MDAV."""

LARGEST = 2.0**500
"""Squares of larger coordinates, or their sums, might not be finite."""

ROUNDS = 100
"""Rounds between two calls of `progress`."""

SMALL_TREE = 200
"""A tree of at most this many records is not rebuilt when it has lost half of them."""

LEFT, LABEL, GROUPS, HALF = 0, 1, 2, 3
"""Where the state of a run keeps the records without a cluster, the next label, the groups of equal
records without a cluster, and how many of these are left when a tree is worth building anew."""

KERNELS = Kernels(
    __name__,
    *("add", "add_all", "means", "quotient"),
    *("measure_all", "move", "farthest_from_centre", "margin"),
    *("begin", "rounds"),
    beside=("microagg.partitions.exact_means",),
    given=kdtree_search.KERNELS,
)


def mdav_labels(
    points: Floats,
    k: int,
    *,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = UNLIMITED,
) -> Ints:
    """Cluster of each record by MDAV, numbered as they are formed.

    All have k records but the last, which has fewer than 2k. `progress` is called from time to time
    with the number of records that have a cluster, and n; the first time before anything is
    compiled. An interrupt takes effect at the next call. Coordinates that are not finite or beyond
    2**500 are refused.
    """
    points = checked_points(points)
    n = len(points)
    labels = np.full(n, -1, np.int64)
    label = 0

    report = reporter(n, progress, clock)
    if n < 2 * k:
        report(0)
        return np.zeros(n, np.int64)
    if n >= COMPILED_FROM:
        report(n)
        if n >= SURELY * COMPILED_FROM or worth(KERNELS, points, k, SECONDS):
            label = _by_tree(points, k, labels, report)
    left = Unassigned(points, np.flatnonzero(labels < 0))
    while left.n >= 2 * k:
        if label % (2 * ROUNDS) == 0:
            report(left.n)
        one = left.farthest_from(left.mean())
        distances = left.distances(one)
        other = left.points[:, int(np.argmax(distances))].copy()
        labels[left.take(left.nearest(distances, k))] = label
        label += 1
        if left.n >= 2 * k:
            labels[left.take(left.nearest(left.distances(other), k))] = label
            label += 1
    labels[left.rows] = label
    report(0)
    return labels


def worth(kernels: Kernels, points: Floats, k: int, seconds: float) -> bool:
    """Whether the compiled tree pays, if numpy takes some seconds for a distance."""
    expected = seconds * len(points) * points.size / k
    return kernels.choose(small=True, seconds=expected) is not kernels.plain


def reporter(
    n: int, progress: Callable[[int, int], None] | None, clock: Clock
) -> Callable[[int], None]:
    """Return what is called with the number of records left: it reports, and keeps the time."""

    def report(left: int) -> None:
        if progress is not None:
            progress(n - left, n)
        if left:
            clock.check("every record had a cluster")

    return report


class Unassigned:
    """Records without a cluster: their rows, ascending, and their points, one a column."""

    def __init__(self, points: Floats, rows: Ints) -> None:
        self.rows = rows
        self.points = np.array(points[rows].T, order="C")
        self._places = np.arange(len(rows))
        self._exact = [whole(column) for column in self.points]
        self._sums = [sum(numbers) for numbers, _ in self._exact]

    @property
    def n(self) -> int:
        """Number of these records."""
        return len(self.rows)

    def mean(self) -> Floats:
        """Mean of these records, each attribute rounded once."""
        exact = zip(self._sums, self._exact, strict=True)
        return np.array([ratio(total, unit, self.n) for total, (_, unit) in exact])

    def distances(self, point: Floats) -> Floats:
        """Squared distances from a point, summed attribute by attribute."""
        total: Floats = np.square(self.points[0] - point[0])
        for column, here in zip(self.points[1:], point[1:], strict=True):
            total += np.square(column - here)
        return total

    def farthest_from(self, point: Floats) -> Floats:
        """Record farthest from a point, the lowest row among equals."""
        return self.points[:, int(np.argmax(self.distances(point)))].copy()

    def nearest(self, distances: Floats, k: int) -> Ints:
        """Places of the k smallest distances, the lowest rows among equals."""
        largest = np.partition(distances, k - 1)[k - 1]
        found = np.flatnonzero(distances <= largest)
        if len(found) > k:
            ties = np.flatnonzero(distances[found] == largest)
            found = np.delete(found, ties[len(ties) - (len(found) - k) :])
        return found

    def take(self, places: Ints) -> Ints:
        """Take records out and return their rows."""
        taken = self.rows[places]
        gone = self._places[places].tolist()
        for j, (numbers, _) in enumerate(self._exact):
            self._sums[j] -= sum(numbers[i] for i in gone)
        stays = np.ones(self.n, np.bool_)
        stays[places] = False
        self.rows, self._places = self.rows[stays], self._places[stays]
        self.points = self.points[:, stays]
        return taken


def _by_tree(points: Floats, k: int, labels: Ints, report: Callable[[int], None]) -> int:
    """Form clusters while at least 3k records are left; return their number."""
    run = KERNELS.compiled
    sums = empty_sums(points)
    run["add_all"](sums)
    groups = groups_of(points)
    search = empty_search(points.shape[1], k)
    state = np.array([len(points), 0, 0, 0], np.int64)
    while state[LEFT] >= 3 * k:
        # Whenever half of the groups are gone, a new tree is smaller and nearer to its centre.
        members = np.flatnonzero(groups.head >= 0)
        state[GROUPS] = len(members)
        tree = empty_tree(points, len(members))
        drift = empty_drift(len(members), points.shape[1])
        run["begin"](tree, drift, points, members, sums, int(state[LEFT]))
        state[HALF] = len(members) // 2 if len(members) > SMALL_TREE else 0
        while state[LEFT] >= 3 * k and state[GROUPS] > state[HALF]:
            run["rounds"](tree, drift, groups, search, points, sums, k, state, labels, ROUNDS)
            report(int(state[LEFT]))
    return int(state[LABEL])


def checked_points(points: Floats) -> Floats:
    """Return points that distances can be taken of, without negative zeros, or refuse them."""
    found = np.ascontiguousarray(points, dtype=np.float64)
    if len(found) > MOST_RECORDS:
        msg = f"{len(found)} records are more than the {MOST_RECORDS} that sums can hold"
        raise InputError(msg)
    wrong = ~(np.abs(found) <= LARGEST)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        msg = (
            f"row {row}, column {column}: a coordinate is not finite or beyond 2**500, so that "
            "distances cannot be computed; scale the attribute"
        )
        raise InputError(msg)
    return found + 0.0


class Drift(NamedTuple):
    """Groups by a bound of their distance from a centre that moves: a heap, the largest on top.

    A record cannot get farther from the centre than it was by more than the centre has moved since.
    Every group has the key r - C: its distance r when last measured, and the length C of the
    centre's path until then. With C as it is now, key + C bounds its distance now. Only groups
    whose bound reaches the best distance found are measured again, from the top of the heap.

    Keys and names, (g,), are those of the `size` entries of the heap; groups without records may be
    among them. Taken and fresh, (g,), are scratch: groups measured again, and their keys.
    """

    keys: Any
    names: Any
    size: Any
    centre: Any
    path: Any
    taken: Any
    fresh: Any


def begin(tree: Tree, drift: Drift, points: Any, members: Any, sums: Sums, count: int) -> None:
    """Fill the tree and the heap with groups; the tree's centre becomes the mean of the records.

    `sums` are over these `count` records; the order of `members`, the groups, changes.
    """
    means(sums, count, tree.centre)
    measure_all(drift, points, members, tree.centre)
    build(tree, points, members)


def rounds(
    tree: Tree, drift: Drift, groups: Groups, search: Search, points: Any, sums: Sums, k: int,
    state: Any, labels: Any, most: int,
) -> None:  # fmt: skip
    """Form two clusters a round while 3k records are left, for at most `most` rounds.

    Everything is brought up to date: tree, heap and groups, as `begin` left them, the sums over the
    records without a cluster, the state and the labels. It ends when the tree is worth building
    anew.
    """
    d = points.shape[1]
    centre, low, high = np.empty(d), np.empty(d), np.empty(d)
    for _ in range(most):
        if state[LEFT] < 3 * k or state[GROUPS] <= state[HALF]:
            break
        means(sums, state[LEFT], centre)
        move(drift, centre)
        one = farthest_from_centre(drift, groups, points)
        other = farthest_from(tree, groups, points, points[one], search)
        for group in (one, other):
            k_nearest(tree, groups, points[group], k, search)
            for i in range(k):
                labels[search.rows[i]] = state[LABEL]
                add(sums, search.rows[i], -1)
            state[GROUPS] -= leave(tree, groups, search.rows, low, high)
            state[LEFT] -= k
            state[LABEL] += 1


def empty_drift(count: int, d: int) -> Drift:
    """Allocate a heap for a number of groups."""
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
        sink(drift.keys, drift.names, i, count, drift.keys[i], drift.names[i])


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
            sink(drift.keys, drift.names, 0, size, drift.keys[size], drift.names[size])
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
        rise(drift.keys, drift.names, size, drift.fresh[i], drift.taken[i])
        size += 1
    drift.size[0] = size
    return winner


def margin(d: int) -> float:
    """Share of a number that outweighs all roundings in it."""
    return (d + 16) * 2.0**-46
