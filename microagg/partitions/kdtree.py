"""A k-d tree over distinct records that shrinks as records leave it; nearest and farthest records.

Records are halved along the widest side of their box until a leaf holds at most `LANES`. Four
such levels are one: an inner node keeps the boxes of its up to `LANES` children attribute by
attribute, and a leaf its records, so that what is asked of all of them is computed side by side.
Besides the box, a node knows the largest distance of its records from the centre that the tree
was built with. Both are kept tight when records leave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.compiled import Kernels
from csp.exact import Floats

KERNELS = Kernels(
    __name__,
    *("squared", "smallest", "largest", "enclose", "widest", "build", "leave", "remove", "tighten"),
)

LANES = 16
"""Records of a leaf, and children of a node."""


class Groups(NamedTuple):
    """Equal records as one: they are the same point, and their rows come in order.

    Each array is (n,): `of` is the first row of the group of each row, which names the group;
    `head` where a group begins, its lowest row without a cluster, -1 if there is none; `after` the
    next row of the same group, -1 at its end.
    """

    of: Any
    head: Any
    after: Any


class Tree(NamedTuple):
    """Arrays of a tree of m inner nodes and c leaves; node m + i is leaf i, node 0 the root.

    Attributes
    ----------
    centre : (d,) float64
    first : (m,) int64
        First child; the others follow it.
    above : (m + c,) int64
        Inner node over each node, -1 over the root.
    low, high : (m, d, LANES) float64
        Boxes of the children of each inner node; infinite and crossed where there are none.
    reach : (m, LANES) float64
        Largest squared distance from the centre below each child, -inf where there are none.
    blocks : (c, d, LANES) float64
        Coordinates of the records of each leaf.
    names : (c, LANES) int64
        Their groups.
    used : (c,) int64
        Lanes in use, the first ones.
    leaf : (n,) int64
        Leaf of each group.
    """

    centre: Any
    first: Any
    above: Any
    low: Any
    high: Any
    reach: Any
    blocks: Any
    names: Any
    used: Any
    leaf: Any


def groups_of(points: Floats) -> Groups:
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


def empty_tree(points: Floats, count: int) -> Tree:
    """Allocate a tree for `count` groups among these points."""
    n, d = points.shape
    leaves = 1
    while leaves * LANES < count:
        leaves *= 2
    widths = [-(-leaves // LANES)]
    while widths[-1] > 1:
        widths.append(-(-widths[-1] // LANES))
    widths.reverse()
    inner = sum(widths)
    first = np.empty(inner, np.int64)
    above = np.full(inner + leaves, -1, np.int64)
    begin = 0
    for width, below in zip(widths, [*widths[1:], leaves], strict=True):
        end = begin + width
        first[begin:end] = end + LANES * np.arange(width)
        above[end : end + below] = begin + np.arange(below) // LANES
        begin = end
    return Tree(
        np.zeros(d),
        first,
        above,
        np.full((inner, d, LANES), np.inf),
        np.full((inner, d, LANES), -np.inf),
        np.full((inner, LANES), -np.inf),
        np.zeros((leaves, d, LANES)),
        np.zeros((leaves, LANES), np.int64),
        np.zeros(leaves, np.int64),
        np.zeros(n, np.int64),
    )


def build(tree: Tree, points: Any, names: Any) -> None:
    """Place groups in the leaves, halving along the widest side, and measure all nodes.

    The tree comes from `empty_tree`, with its centre set; names, (g,) int64, are brought into the
    order of the leaves.
    """
    leaves, inner = len(tree.used), len(tree.first)
    d, count = points.shape[1], len(names)
    columns = np.empty((d, count))
    for i in range(count):
        for j in range(d):
            columns[j, i] = points[names[i], j]
    cuts = np.zeros(leaves + 1, np.int64)
    cuts[leaves] = count
    step = leaves
    while step > 1:
        for start in range(0, leaves, step):
            begin, end = cuts[start], cuts[start + step]
            middle = begin + (end - begin + 1) // 2
            cuts[start + step // 2] = middle
            if end - begin > 1:
                side = columns[widest(columns, begin, end), begin:end]
                order = np.argpartition(side, middle - begin - 1)
                for j in range(d):
                    columns[j, begin:end] = columns[j, begin:end][order]
                names[begin:end] = names[begin:end][order]
        step //= 2
    for leaf in range(leaves):
        used = cuts[leaf + 1] - cuts[leaf]
        tree.used[leaf] = used
        for lane in range(used):
            i = cuts[leaf] + lane
            tree.names[leaf, lane] = names[i]
            tree.leaf[names[i]] = leaf
            for j in range(d):
                tree.blocks[leaf, j, lane] = columns[j, i]
    low, high = np.empty(d), np.empty(d)
    for node in range(inner + leaves - 1, 0, -1):
        reach = enclose(tree, node, low, high)
        above = tree.above[node]
        lane = node - tree.first[above]
        tree.reach[above, lane] = reach
        tree.low[above, :, lane] = low
        tree.high[above, :, lane] = high


def widest(columns: Any, begin: int, end: int) -> int:
    """Attribute in which some groups differ most."""
    best, most = 0, -1.0
    for j in range(len(columns)):
        column = columns[j, begin:end]
        side = largest(column) - smallest(column)
        if side > most:
            best, most = j, side
    return best


def smallest(values: Any) -> float:
    """Least of some values."""
    found: float = values[0]
    for i in range(len(values)):
        found = values[i] if values[i] < found else found
    return found


def largest(values: Any) -> float:
    """Largest of some values."""
    found: float = values[0]
    for i in range(len(values)):
        found = values[i] if values[i] > found else found
    return found


def enclose(tree: Tree, node: int, low: Any, high: Any) -> float:
    """Box of what is below a node, put into low and high, and its largest squared distance."""
    leaf = node - len(tree.first)
    if leaf < 0:
        for j in range(len(low)):
            low[j] = smallest(tree.low[node, j])
            high[j] = largest(tree.high[node, j])
        return largest(tree.reach[node])
    block, used = tree.blocks[leaf], tree.used[leaf]
    if used == 0:
        low[:] = np.inf
        high[:] = -np.inf
        return -np.inf
    reach = 0.0
    for j in range(len(low)):
        low[j] = smallest(block[j, :used])
        high[j] = largest(block[j, :used])
    for lane in range(used):
        reach = max(reach, squared(block[:, lane], tree.centre))
    return reach


def leave(tree: Tree, groups: Groups, rows: Any, low: Any, high: Any) -> int:
    """Take rows out of their groups, and groups without rows out of the tree; count those.

    Rows, (r,) int64, are the lowest ones that each group has left, in any order; low and high,
    (d,) float64, are scratch.
    """
    for i in range(len(rows)):
        name = groups.of[rows[i]]
        groups.head[name] = max(groups.head[name], rows[i])
    gone = 0
    for i in range(len(rows)):
        name = groups.of[rows[i]]
        if groups.head[name] == rows[i]:
            groups.head[name] = groups.after[rows[i]]
            if groups.after[rows[i]] < 0:
                gone += 1
                remove(tree, name)
    for i in range(len(rows)):
        name = groups.of[rows[i]]
        if groups.head[name] < 0:
            tighten(tree, tree.leaf[name], low, high)
    return gone


def remove(tree: Tree, group: int) -> None:
    """Take a group out of its leaf, which must be tightened then."""
    leaf = tree.leaf[group]
    last = tree.used[leaf] - 1
    lane = 0
    while tree.names[leaf, lane] != group:
        lane += 1
    tree.names[leaf, lane] = tree.names[leaf, last]
    for j in range(len(tree.centre)):
        tree.blocks[leaf, j, lane] = tree.blocks[leaf, j, last]
    tree.used[leaf] = last


def tighten(tree: Tree, leaf: int, low: Any, high: Any) -> None:
    """Shrink a leaf and the nodes above it to what is left; low and high are scratch, (d,)."""
    node = len(tree.first) + leaf
    while node > 0:
        reach = enclose(tree, node, low, high)
        above = tree.above[node]
        lane = node - tree.first[above]
        shrunk = reach < tree.reach[above, lane]
        tree.reach[above, lane] = reach
        for j in range(len(low)):
            shrunk = shrunk or low[j] > tree.low[above, j, lane]
            shrunk = shrunk or high[j] < tree.high[above, j, lane]
            tree.low[above, j, lane] = low[j]
            tree.high[above, j, lane] = high[j]
        if not shrunk:
            return
        node = above


def squared(one: Any, two: Any) -> float:
    """Squared distance of two points, summed attribute by attribute."""
    total = 0.0
    for j in range(len(one)):
        t = one[j] - two[j]
        total += t * t
    return total
