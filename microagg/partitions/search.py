"""Nearest and farthest records by a tree, equal to brute force in every tie.

A bound may leave out a node only if no record below it would win, or tie, in the floating-point
numbers that brute force compares. For boxes this is exact: subtraction, multiplication and
addition of floating-point numbers are monotone, so a bound that does to the nearest (farthest)
coordinate of the box what a distance does to the record's, in the same order, comes out no
larger (smaller) than the distance of any record inside.

Farthest records have a second, much closer bound. With a = 2c - q, the point opposite q across
the centre c, the parallelogram law says |x - q|^2 = 2|x - c|^2 + 2|q - c|^2 - |x - a|^2: where
records fill a ball, what is far from q is near a. Below a node the first term is at most twice
its reach, and the last at least the squared distance of a from its box. This is an identity of
real numbers, so the bound is raised by more than all roundings can be; see `opposite`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from microagg.partitions.nearest import offer
from microagg.partitions.tree import LANES, Groups, Tree

__all__ = ["Search", "empty_search", "farthest_from", "k_nearest"]

TINY = 1e-290
"""More than all that is lost where squares underflow."""


class Search(NamedTuple):
    """Scratch of a search.

    Attributes
    ----------
    stack : (s,) int64
        Nodes to visit,
    bound : (s,) float64
        and what is known of them.
    lanes : (LANES,) float64
        Distances of one leaf.
    opposite : (d,) float64
    near : (k,) float64
        Squared distances of the k nearest, as a heap,
    rows : (k,) int64
        and their rows.
    """

    stack: Any
    bound: Any
    lanes: Any
    opposite: Any
    near: Any
    rows: Any


def empty_search(d: int, k: int) -> Search:
    """Scratch for d attributes and k neighbours; a tree has fewer than 64 levels."""
    return Search(
        np.zeros(64, np.int64), np.zeros(64), np.zeros(LANES), np.zeros(d), np.zeros(k),
        np.zeros(k, np.int64),
    )  # fmt: skip


def k_nearest(tree: Tree, groups: Groups, point: Any, k: int, search: Search) -> int:
    """Put the k records nearest to a point, lowest rows among equals, into the heap.

    Returns
    -------
    int
        How many there are, k unless fewer are left.
    """
    stack, bound, near, rows = search.stack, search.bound, search.near, search.rows
    inner = len(tree.used) - 1
    size = 0
    worst = np.inf
    top = 1
    stack[0], bound[0] = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bound[top] > worst:
            continue
        while node < inner:
            one = 2 * node + 1
            a, b = nearest_in(tree.box[one], point), nearest_in(tree.box[one + 1], point)
            if a <= b:
                node, other, a, b = one, one + 1, a, b
            else:
                node, other, a, b = one + 1, one, b, a
            if b <= worst:
                stack[top], bound[top] = other, b
                top += 1
            if a > worst:
                node = -1
                break
        if node < 0:
            continue
        leaf = node - inner
        lane_distances(tree.blocks[leaf], point, search.lanes)
        for lane in range(tree.used[leaf]):
            distance = search.lanes[lane]
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


def farthest_from(tree: Tree, groups: Groups, point: Any, search: Search) -> int:
    """Group farthest from a point, the one with the lowest row among equals."""
    stack, bound = search.stack, search.bound
    inner = len(tree.used) - 1
    constant, slack = opposite(tree.centre, point, search.opposite)
    best, winner, lowest = -1.0, -1, -1
    top = 1
    stack[0], bound[0] = 0, np.inf
    while top > 0:
        top -= 1
        node = stack[top]
        if bound[top] < best:
            continue
        while node < inner:
            one = 2 * node + 1
            a = farthest_in(tree, one, point, search.opposite, constant, slack, best)
            b = farthest_in(tree, one + 1, point, search.opposite, constant, slack, best)
            if a >= b:
                node, other, a, b = one, one + 1, a, b
            else:
                node, other, a, b = one + 1, one, b, a
            if b >= best:
                stack[top], bound[top] = other, b
                top += 1
            if a < best:
                node = -1
                break
        if node < 0:
            continue
        leaf = node - inner
        lane_distances(tree.blocks[leaf], point, search.lanes)
        for lane in range(tree.used[leaf]):
            distance = search.lanes[lane]
            if distance >= best:
                group = tree.names[leaf, lane]
                row = groups.head[group]
                if distance > best or row < lowest:
                    best, winner, lowest = distance, group, row
    return winner


def lane_distances(block: Any, point: Any, out: Any) -> None:
    """Squared distances of all lanes of a leaf, used or not, summed attribute by attribute."""
    out[:] = 0.0
    for j in range(len(point)):
        column = block[j]
        p = point[j]
        for lane in range(LANES):
            t = column[lane] - p
            out[lane] += t * t


def nearest_in(box: Any, point: Any) -> float:
    """Lower bound of computed squared distances from a point to records in a box."""
    total = 0.0
    for j in range(len(point)):
        t = max(max(box[0, j] - point[j], point[j] - box[1, j]), 0.0)
        total += t * t
    return total


def opposite(centre: Any, point: Any, out: Any) -> tuple[float, float]:
    """Point across the centre, and what the second bound of farthest records needs.

    With u = 2**-53, the rounded point a is within A = u |2|c| + |q|| of the exact one, and a
    computed squared distance is within (d + 2) u of itself of the exact one. For any e > 0 and
    any record x, |x - exact a|^2 >= (1 - e) |x - a|^2 - A^2 / e. Then

        2 reach + 2 |q - c|^2 + A^2 / e - (1 - e) |box - a|^2

    in exact numbers bounds the exact squared distance; raising its first terms by 4e of
    themselves and lowering the last by 4e, with e = (d + 16) 2**-46 = (128 d + 2048) u, outweighs
    the roundings of all four, of their combination, and of the distance that is compared.

    Returns
    -------
    constant : float
        What all nodes have in common.
    slack : float
        4e.
    """
    e = (len(point) + 16) * 2.0**-46
    away = 0.0
    moved = 0.0
    for j in range(len(point)):
        out[j] = 2 * centre[j] - point[j]
        t = point[j] - centre[j]
        away += t * t
        t = (2 * abs(centre[j]) + abs(point[j])) * 2.0**-52
        moved += t * t
    return 2 * away * (1 + 4 * e) + 2 * moved / e + TINY, 4 * e


def farthest_in(
    tree: Tree, node: int, point: Any, across: Any, constant: float, slack: float, best: float
) -> float:
    """Upper bound of computed squared distances from a point to records below a node."""
    box = tree.box[node]
    bound: float = 2 * tree.reach[node] * (1 + slack) + constant
    bound -= nearest_in(box, across) * (1 - slack)
    if bound < best:
        return bound
    corner = 0.0
    for j in range(len(point)):
        t = max(abs(box[0, j] - point[j]), abs(box[1, j] - point[j]))
        corner += t * t
    return min(bound, corner)
