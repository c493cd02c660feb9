"""A k-d tree over distinct records that shrinks as records get clusters.

Records are halved along the widest side of their box until a leaf holds at most `LANES`. Four
such levels are one: an inner node keeps the boxes of its up to `LANES` children attribute by
attribute, and a leaf its records, so that what is asked of all of them is computed side by side.
Besides the box, a node knows the largest distance of its records from the centre that the tree
was built with. Both are kept tight when records leave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.partitions.lanes import LANES

__all__ = ["Groups", "Tree", "empty_tree", "fill", "gather", "groups_of", "leave"]


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


def empty_tree(points: NDArray[np.float64], count: int) -> Tree:
    """Allocate a tree for so many groups among these points."""
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


def gather(points: Any, names: Any, columns: Any) -> None:
    """Copy the coordinates of some groups into columns of shape (d, g)."""
    for i in range(len(names)):
        point = points[names[i]]
        for j in range(len(point)):
            columns[j, i] = point[j]


def fill(tree: Tree, columns: Any, names: Any) -> None:
    """Place groups in the leaves, halving along the widest side, and measure all nodes.

    Parameters
    ----------
    tree : Tree
        From `empty_tree`, with its centre set.
    columns : (d, g) float64
        Coordinates of the groups; brought into the order of the leaves.
    names : (g,) int64
        The groups; likewise.
    """
    leaves = len(tree.used)
    d, count = columns.shape
    values = np.empty(count)
    order = np.empty(count, np.int64)
    spare = np.empty(count)
    cuts = np.zeros(leaves + 1, np.int64)
    cuts[leaves] = count
    step = leaves
    while step > 1:
        for start in range(0, leaves, step):
            begin, end = cuts[start], cuts[start + step]
            middle = begin + (end - begin + 1) // 2
            cuts[start + step // 2] = middle
            if end - begin > 1:
                value, place = values[begin:end], order[begin:end]
                value[:] = columns[widest(columns, begin, end), begin:end]
                for i in range(len(place)):
                    place[i] = i
                halve(value, place, middle - begin)
                rearrange(columns, names, begin, place, spare[begin:end])
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
    inner = len(tree.first)
    for node in range(inner + leaves - 1, 0, -1):
        if node >= inner:
            reach = measure(tree, node - inner, low, high)
        else:
            reach = -np.inf
            for lane in range(LANES):
                reach = max(reach, tree.reach[node, lane])
            for j in range(d):
                low[j] = smallest(tree.low[node, j])
                high[j] = largest(tree.high[node, j])
        parent = tree.above[node]
        lane = node - tree.first[parent]
        tree.reach[parent, lane] = reach
        for j in range(d):
            tree.low[parent, j, lane] = low[j]
            tree.high[parent, j, lane] = high[j]


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


def halve(values: Any, order: Any, middle: int) -> None:
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
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            break


def rearrange(columns: Any, names: Any, begin: int, order: Any, spare: Any) -> None:
    """Bring part of the groups into this order."""
    end = begin + len(order)
    for j in range(len(columns)):
        column = columns[j, begin:end]
        spare[:] = column
        for i in range(len(order)):
            column[i] = spare[order[i]]
    part = names[begin:end]
    old = part.copy()
    for i in range(len(order)):
        part[i] = old[order[i]]


def measure(tree: Tree, leaf: int, low: Any, high: Any) -> float:
    """Box of the records of a leaf, and their largest squared distance from the centre."""
    block, used = tree.blocks[leaf], tree.used[leaf]
    if used == 0:
        low[:] = np.inf
        high[:] = -np.inf
        return -np.inf
    for j in range(len(low)):
        low[j] = smallest(block[j, :used])
        high[j] = largest(block[j, :used])
    reach = 0.0
    for lane in range(used):
        total = 0.0
        for j in range(len(low)):
            t = block[j, lane] - tree.centre[j]
            total += t * t
        reach = max(reach, total)
    return reach


def leave(tree: Tree, groups: Groups, rows: Any, low: Any, high: Any) -> int:
    """Take rows out of their groups, and groups without rows out of the tree.

    Parameters
    ----------
    tree, groups
        Brought up to date.
    rows : (r,) int64
        Of each group, the lowest ones that it has left, in any order.
    low, high : (d,) float64
        Scratch.

    Returns
    -------
    int
        Groups that have no row any more.
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
    reach = measure(tree, leaf, low, high)
    while True:
        parent = tree.above[node]
        lane = node - tree.first[parent]
        over = tree.above[parent]
        place = parent - tree.first[over] if over >= 0 else 0
        shrunk = False
        # What a node's box is, its parent knows. It can only have changed where the child's
        # side lay on it.
        old = tree.reach[parent, lane]
        tree.reach[parent, lane] = reach
        if over >= 0:
            reach = tree.reach[over, place]
            if tree.reach[parent, lane] < old and old >= reach:
                reach = largest(tree.reach[parent])
                shrunk = shrunk or reach < tree.reach[over, place]
        for j in range(len(low)):
            old = tree.low[parent, j, lane]
            tree.low[parent, j, lane] = low[j]
            if over >= 0:
                moved = low[j] > old
                low[j] = tree.low[over, j, place]
                if moved and old <= low[j]:
                    low[j] = smallest(tree.low[parent, j])
                    shrunk = shrunk or low[j] > tree.low[over, j, place]
            old = tree.high[parent, j, lane]
            tree.high[parent, j, lane] = high[j]
            if over >= 0:
                moved = high[j] < old
                high[j] = tree.high[over, j, place]
                if moved and old >= high[j]:
                    high[j] = largest(tree.high[parent, j])
                    shrunk = shrunk or high[j] < tree.high[over, j, place]
        if not shrunk:
            return
        node = parent
