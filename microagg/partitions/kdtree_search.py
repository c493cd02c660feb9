"""Nearest and farthest records in a k-d tree that shrinks.

Searches equal brute force in every tie. A bound may leave out a node only if no record below it
would win, or tie, in the floating-point numbers that brute force compares. For boxes this is
exact: subtraction, multiplication and addition of floating-point numbers are monotone, so a bound
that does to the nearest (farthest) coordinate of the box what a distance does to the record's, in
the same order, comes out no larger (smaller) than the distance of any record inside.

Farthest records have a second, much closer bound. For any l > 1 and a = c - (q - c) / (l - 1), a
point opposite q across the centre c,

    |x - q|^2 = l |x - c|^2 + l / (l - 1) |q - c|^2 - (l - 1) |x - a|^2

(with l = 2, the parallelogram law): where records fill a ball, what is far from q is near a. Below
a node the first term is at most l times its reach, and the last at least that of the nearest
corner of its box to a. This is an identity of real numbers, so the bound is raised by more than
all roundings can be; see `opposite`. Any l is right; the quotient of the distances of the
farthest record from q and from c makes the bound touch it, so each search takes that of the last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.compiled import Kernels
from microagg.partitions import kdtree
from microagg.partitions.kdtree import LANES, Groups, Tree, squared

KERNELS = Kernels(
    __name__,
    *("worse", "rise", "sink", "offer", "squares", "near_corners", "far_corners"),
    *("k_nearest", "farthest_from", "opposite"),
    given=kdtree.KERNELS,
)

TINY = 1e-290
"""More than all that is lost where squares underflow."""

GENTLE, STEEP = 1.25, 8.0
"""Limits of l."""


class Search(NamedTuple):
    """Scratch of a search.

    The stack holds nodes to visit, `bound` what is known of them, lanes and others what is asked of
    a leaf or of a node's children; opposite, (d,), and factors, (3,), are those of the second bound
    of farthest records, and `aim` the l of the next search. Near, (k,), holds the squared distances
    of the k nearest, as a heap, and `rows` their rows.
    """

    stack: Any
    bound: Any
    lanes: Any
    others: Any
    opposite: Any
    factors: Any
    aim: Any
    near: Any
    rows: Any


def empty_search(d: int, k: int) -> Search:
    """Scratch for d attributes and k neighbours; a tree has fewer than 16 levels."""
    return Search(
        np.zeros(16 * LANES, np.int64), np.zeros(16 * LANES), np.zeros(LANES), np.zeros(LANES),
        np.zeros(d), np.zeros(3), np.full(1, 2.0), np.zeros(k), np.zeros(k, np.int64),
    )  # fmt: skip


# The three functions below take attributes in the outer loop and the lanes, as many as `out` has,
# in the inner one: written so, the compiler makes vector instructions of them. A constant number
# of lanes would be unrolled instead.


def squares(block: Any, point: Any, out: Any) -> None:
    """Squared distances of points, block of shape (d, LANES), from one, by attributes in turn."""
    for lane in range(len(out)):
        out[lane] = 0.0
    for j in range(len(point)):
        here = point[j]
        for lane in range(len(out)):
            t = block[j, lane] - here
            out[lane] += t * t


def near_corners(low: Any, high: Any, point: Any, out: Any) -> None:
    """Squared distances of boxes, (d, LANES) each, from a point: 0 for a point inside."""
    for lane in range(len(out)):
        out[lane] = 0.0
    for j in range(len(point)):
        here = point[j]
        for lane in range(len(out)):
            one, two = low[j, lane] - here, here - high[j, lane]
            t = one if one > two else two
            t = t if t > 0.0 else 0.0
            out[lane] += t * t


def far_corners(low: Any, high: Any, point: Any, out: Any) -> None:
    """Squared distances of the farthest corners of boxes from a point."""
    for lane in range(len(out)):
        out[lane] = 0.0
    for j in range(len(point)):
        here = point[j]
        for lane in range(len(out)):
            one, two = here - low[j, lane], high[j, lane] - here
            t = one if one > two else two
            out[lane] += t * t


# The k nearest of many candidates are kept in a heap with the worst of them on top. Candidates are
# ordered by squared distance, then by row, so that every set of k nearest is unique.


def worse(distance: float, row: int, than: float, than_row: int) -> bool:
    """Whether a candidate comes after another."""
    return distance > than or (distance == than and row > than_row)


def rise(keys: Any, names: Any, at: int, key: float, name: int) -> None:
    """Put an entry of a heap at a place or above, where the one over it is not better."""
    while at > 0:
        above = (at - 1) >> 1
        if not worse(key, name, keys[above], names[above]):
            break
        keys[at], names[at] = keys[above], names[above]
        at = above
    keys[at], names[at] = key, name


def sink(keys: Any, names: Any, at: int, size: int, key: float, name: int) -> None:
    """Put an entry of a heap at a place or below, where its children are not worse."""
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and worse(keys[below + 1], names[below + 1], keys[below], names[below]):
            below += 1
        if not worse(keys[below], names[below], key, name):
            break
        keys[at], names[at] = keys[below], names[below]
        at = below
    keys[at], names[at] = key, name


def offer(distances: Any, rows: Any, size: int, k: int, distance: float, row: int) -> int:
    """Add a candidate, and return how many there are; where k are, the worst of all leaves.

    Distances, (k,) float64, and rows, (k,) int64, are a heap with its worst entry first.
    """
    if size < k:
        rise(distances, rows, size, distance, row)
        return size + 1
    if worse(distances[0], rows[0], distance, row):
        sink(distances, rows, 0, k, distance, row)
    return size


def k_nearest(tree: Tree, groups: Groups, point: Any, k: int, search: Search) -> int:
    """Put the k records nearest to a point, lowest rows among equals, into the heap; count them."""
    stack, bound, lanes = search.stack, search.bound, search.lanes
    near, rows = search.near, search.rows
    inner = len(tree.first)
    size = 0
    worst = np.inf
    top = 1
    stack[0], bound[0] = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bound[top] > worst:
            continue
        if node < inner:
            near_corners(tree.low[node], tree.high[node], point, lanes)
            start = top
            for lane in range(LANES):
                if not (lanes[lane] <= worst and lanes[lane] < np.inf):
                    continue
                # The nearest child comes to lie on top.
                at = top
                while at > start and bound[at - 1] < lanes[lane]:
                    stack[at], bound[at] = stack[at - 1], bound[at - 1]
                    at -= 1
                stack[at], bound[at] = tree.first[node] + lane, lanes[lane]
                top += 1
            continue
        leaf = node - inner
        squares(tree.blocks[leaf], point, lanes)
        for lane in range(tree.used[leaf]):
            distance = lanes[lane]
            if distance > worst:
                continue
            row = groups.head[tree.names[leaf, lane]]
            while row >= 0 and (
                size < k or distance < near[0] or (distance == near[0] and row < rows[0])
            ):
                size = offer(near, rows, size, k, distance, row)
                row = groups.after[row]
            if size == k:
                worst = near[0]
    return size


def farthest_from(tree: Tree, groups: Groups, points: Any, point: Any, search: Search) -> int:
    """Group farthest from a point, the one with the lowest row among equals."""
    stack, bound, lanes = search.stack, search.bound, search.lanes
    inner = len(tree.first)
    opposite(tree.centre, point, search.aim[0], search.opposite, search.factors)
    best, winner, first = -1.0, -1, -1
    top = 1
    stack[0], bound[0] = 0, np.inf
    while top > 0:
        top -= 1
        node = stack[top]
        if bound[top] < best:
            continue
        if node < inner:
            low, high = tree.low[node], tree.high[node]
            near_corners(low, high, search.opposite, search.others)
            far_corners(low, high, point, lanes)
            f0, f1, f2 = search.factors[0], search.factors[1], search.factors[2]
            start = top
            for lane in range(LANES):
                bound_here = f0 * tree.reach[node, lane] + f1 - f2 * search.others[lane]
                lanes[lane] = min(lanes[lane], bound_here)
                if not lanes[lane] >= best:
                    continue
                # The child that may hold the farthest comes to lie on top.
                at = top
                while at > start and bound[at - 1] > lanes[lane]:
                    stack[at], bound[at] = stack[at - 1], bound[at - 1]
                    at -= 1
                stack[at], bound[at] = tree.first[node] + lane, lanes[lane]
                top += 1
            continue
        leaf = node - inner
        squares(tree.blocks[leaf], point, lanes)
        for lane in range(tree.used[leaf]):
            if lanes[lane] < best:
                continue
            group = tree.names[leaf, lane]
            row = groups.head[group]
            if lanes[lane] > best or (lanes[lane] == best and row < first):
                best, winner, first = lanes[lane], group, row
    away = squared(points[winner], tree.centre)
    search.aim[0] = min(max(np.sqrt(best / away), GENTLE), STEEP) if away > 0 else STEEP
    return winner


def opposite(centre: Any, point: Any, aim: float, out: Any, factors: Any) -> None:
    """Point across the centre, and the factors of the second bound of farthest records.

    With u = 2**-53, the computed point a is within A = 2u |4 |q - c| / (l - 1) + |c|| of the exact
    one, and a computed squared distance is within (d + 2) u of itself of the exact one. For any
    e > 0 and any x, |x - exact a|^2 >= (1 - e) |x - a|^2 - A^2 / e. Then

        l reach + l / (l - 1) |q - c|^2 + (l - 1) A^2 / e - (1 - e) (l - 1) |box - a|^2

    in exact numbers bounds the exact squared distance; raising its first terms by 4e of
    themselves and lowering the last by 4e, with e = (d + 16) 2**-46 = (128 d + 2048) u, outweighs
    the roundings of all four, of their combination, and of the distance that is compared.
    """
    e = (len(point) + 16) * 2.0**-46
    away = 0.0
    moved = 0.0
    for j in range(len(point)):
        t = point[j] - centre[j]
        away += t * t
        out[j] = centre[j] - t / (aim - 1)
        t = (abs(centre[j]) + 4 * abs(t) / (aim - 1)) * 2.0**-52
        moved += t * t
    factors[0] = aim * (1 + 4 * e)
    factors[1] = aim / (aim - 1) * away * (1 + 4 * e) + 2 * (aim - 1) * moved / e + TINY
    factors[2] = (aim - 1) * (1 - 4 * e)
