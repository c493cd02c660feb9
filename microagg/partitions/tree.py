"""A k-d tree over distinct records that shrinks as records get clusters.

The tree is a complete binary one in an array: the children of node i are 2i + 1 and 2i + 2. A
leaf keeps up to `LANES` records attribute by attribute, so that their distances are computed side
by side. A node knows the box of its live records and their largest distance from the centre the
tree was built with; both are kept tight when records leave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LANES", "Groups", "Tree", "empty_tree", "fill", "groups_of", "remove", "tighten"]

LANES = 16
"""Records of a leaf."""


class Groups(NamedTuple):
    """Equal records as one: they are the same point, and their rows come in order.

    Attributes
    ----------
    of : (n,) int64
        First row of the group of each row; it names the group.
    head : (n,) int64
        Where a group begins: its lowest row without a cluster, -1 if there is none.
    after : (n,) int64
        The next row of the same group, -1 at its end.
    """

    of: Any
    head: Any
    after: Any


class Tree(NamedTuple):
    """Arrays of a tree with c leaves and 2c - 1 nodes.

    Attributes
    ----------
    centre : (d,) float64
    box : (2c - 1, 2, d) float64
        Least and largest coordinates below each node; infinite ones, crossed, if it is empty.
    reach : (2c - 1,) float64
        Largest squared distance from the centre below each node, -inf if it is empty.
    blocks : (c, d, LANES) float64
    names : (c, LANES) int64
        Groups in the lanes of each leaf.
    used : (c,) int64
        Lanes in use, the first ones.
    leaf : (n,) int64
        Leaf of each group.
    """

    centre: Any
    box: Any
    reach: Any
    blocks: Any
    names: Any
    used: Any
    leaf: Any


def groups_of(points: NDArray[np.float64]) -> Groups:
    """Find equal records.

    Records are sorted by a hash. Equal ones between which another with the same hash comes stay
    in separate groups, which costs time but changes nothing.
    """
    n, d = points.shape
    bits = points.view(np.uint64)
    mixed = np.zeros(n, np.uint64)
    for j in range(d):
        mixed = (mixed ^ bits[:, j] ^ (bits[:, j] >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    order = np.argsort(mixed, kind="stable")
    near = np.flatnonzero(mixed[order[1:]] == mixed[order[:-1]])
    same = np.zeros(n, np.bool_)
    same[near + 1] = (bits[order[near]] == bits[order[near + 1]]).all(axis=1)
    first = np.maximum.accumulate(np.where(same, 0, np.arange(n)))
    of = np.empty(n, np.int64)
    of[order] = order[first]
    head = np.where(of == np.arange(n), np.arange(n), -1)
    after = np.full(n, -1, np.int64)
    chained = np.flatnonzero(same)
    after[order[chained - 1]] = order[chained]
    return Groups(of, head, after)


def empty_tree(points: NDArray[np.float64], count: int, centre: NDArray[np.float64]) -> Tree:
    """Allocate a tree for so many groups among these points."""
    n, d = points.shape
    leaves = 1
    while leaves * LANES < count:
        leaves *= 2
    return Tree(
        centre.copy(),
        np.empty((2 * leaves - 1, 2, d)),
        np.empty(2 * leaves - 1),
        np.zeros((leaves, d, LANES)),
        np.zeros((leaves, LANES), np.int64),
        np.zeros(leaves, np.int64),
        np.zeros(n, np.int64),
    )


def fill(tree: Tree, points: Any, members: Any) -> None:
    """Place groups in the leaves, halving along the widest side, and measure all nodes.

    Parameters
    ----------
    tree : Tree
        From `empty_tree`.
    points : (n, d) float64
    members : (g,) int64
        Groups; their order changes.
    """
    leaves = len(tree.used)
    d = points.shape[1]
    begin = np.zeros(2 * leaves, np.int64)
    end = np.zeros(2 * leaves, np.int64)
    end[0] = len(members)
    values = np.empty(len(members))
    for node in range(leaves - 1):
        first, last = begin[node], end[node]
        middle = first + (last - first + 1) // 2
        side = widest(points, members[first:last])
        part, value = members[first:last], values[first:last]
        for i in range(len(part)):
            value[i] = points[part[i], side]
        halve(value, part, middle - first)
        begin[2 * node + 1], end[2 * node + 1] = first, middle
        begin[2 * node + 2], end[2 * node + 2] = middle, last
    for leaf in range(leaves):
        node = leaves - 1 + leaf
        count = end[node] - begin[node]
        tree.used[leaf] = count
        for lane in range(count):
            group = members[begin[node] + lane]
            tree.names[leaf, lane] = group
            tree.leaf[group] = leaf
            for j in range(d):
                tree.blocks[leaf, j, lane] = points[group, j]
        measure_leaf(tree, leaf)
    for node in range(leaves - 2, -1, -1):
        join(tree, node)


def widest(points: Any, part: Any) -> int:
    """Attribute in which these groups differ most."""
    d = points.shape[1]
    low = np.full(d, np.inf)
    high = np.full(d, -np.inf)
    for i in range(len(part)):
        point = points[part[i]]
        for j in range(d):
            low[j] = min(low[j], point[j])
            high[j] = max(high[j], point[j])
    best = 0
    for j in range(1, d):
        if high[j] - low[j] > high[best] - low[best]:
            best = j
    return best


def halve(values: Any, names: Any, middle: int) -> None:
    """Bring the smallest values to the first places (selection by Hoare)."""
    left, right = 0, len(values) - 1
    while left < right:
        a, b, c = values[left], values[(left + right) >> 1], values[right]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                names[i], names[j] = names[j], names[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            break


def measure_leaf(tree: Tree, leaf: int) -> bool:
    """Box and reach of a leaf from its records; whether they changed."""
    node = len(tree.used) - 1 + leaf
    block, used = tree.blocks[leaf], tree.used[leaf]
    changed = False
    for j in range(len(tree.centre)):
        low, high = np.inf, -np.inf
        for lane in range(used):
            low = min(low, block[j, lane])
            high = max(high, block[j, lane])
        changed = changed or low != tree.box[node, 0, j] or high != tree.box[node, 1, j]
        tree.box[node, 0, j] = low
        tree.box[node, 1, j] = high
    reach = -np.inf
    for lane in range(used):
        total = 0.0
        for j in range(len(tree.centre)):
            t = block[j, lane] - tree.centre[j]
            total += t * t
        reach = max(reach, total)
    changed = changed or reach != tree.reach[node]
    tree.reach[node] = reach
    return changed


def join(tree: Tree, node: int) -> bool:
    """Box and reach of a node from its children; whether they changed."""
    one, two = 2 * node + 1, 2 * node + 2
    box = tree.box
    changed = False
    for j in range(len(tree.centre)):
        low = min(box[one, 0, j], box[two, 0, j])
        high = max(box[one, 1, j], box[two, 1, j])
        changed = changed or low != box[node, 0, j] or high != box[node, 1, j]
        box[node, 0, j] = low
        box[node, 1, j] = high
    reach = max(tree.reach[one], tree.reach[two])
    changed = changed or reach != tree.reach[node]
    tree.reach[node] = reach
    return changed


def remove(tree: Tree, group: int) -> int:
    """Take a group out of its leaf, which is returned and must be tightened."""
    leaf: int = tree.leaf[group]
    last = tree.used[leaf] - 1
    lane = 0
    while tree.names[leaf, lane] != group:
        lane += 1
    tree.names[leaf, lane] = tree.names[leaf, last]
    for j in range(len(tree.centre)):
        tree.blocks[leaf, j, lane] = tree.blocks[leaf, j, last]
    tree.used[leaf] = last
    return leaf


def tighten(tree: Tree, leaf: int) -> None:
    """Shrink a leaf and the nodes above it to what is left."""
    changed = measure_leaf(tree, leaf)
    node = len(tree.used) - 1 + leaf
    while changed and node > 0:
        node = (node - 1) >> 1
        changed = join(tree, node)
