"""A k-d tree over distinct records that shrinks as records leave it; nearest and farthest records.

Records are halved along the widest side of their box until a leaf holds at most `LANES`. Four
such levels are one: an inner node keeps the boxes of its up to `LANES` children attribute by
attribute, and a leaf its records, so that what is asked of all of them is computed side by side.
Besides the box, a node knows the largest distance of its records from the centre that the tree
was built with. Both are kept tight when records leave.

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
from numpy.typing import NDArray

from csp.compiled import Kernels

__all__ = [
    "KERNELS",
    "Groups",
    "Search",
    "Tree",
    "build",
    "empty_search",
    "empty_tree",
    "farthest_from",
    "groups_of",
    "k_nearest",
    "leave",
    "offer",
    "squared",
]

KERNELS = Kernels(
    __name__,
    *("worse", "offer", "squared", "build", "widest", "smallest", "largest", "halve"),
    *("rearrange", "measure", "leave", "remove", "tighten"),
    *("squares", "near_corners", "far_corners", "k_nearest", "farthest_from", "opposite"),
)

LANES = 16
"""Records of a leaf, and children of a node."""

TINY = 1e-290
"""More than all that is lost where squares underflow."""

GENTLE, STEEP = 1.25, 8.0
"""Limits of l."""


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


class Search(NamedTuple):
    """Scratch of a search.

    Attributes
    ----------
    stack : (s,) int64
        Nodes to visit,
    bound : (s,) float64
        and what is known of them.
    lanes, others : (LANES,) float64
        What is asked of a leaf or of a node's children.
    opposite : (d,) float64
    factors : (3,) float64
        Of the second bound of farthest records.
    aim : (1,) float64
        The l of the next search.
    near : (k,) float64
        Squared distances of the k nearest, as a heap,
    rows : (k,) int64
        and their rows.
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

    Parameters
    ----------
    tree : Tree
        From `empty_tree`, with its centre set.
    points : (n, d) float64
    names : (g,) int64
        The groups; brought into the order of the leaves.
    """
    leaves = len(tree.used)
    d, count = points.shape[1], len(names)
    columns = np.empty((d, count))
    for i in range(count):
        for j in range(d):
            columns[j, i] = points[names[i], j]
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
        tree.low[parent, :, lane] = low
        tree.high[parent, :, lane] = high


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
        reach = max(reach, squared(block[:, lane], tree.centre))
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


def squared(one: Any, two: Any) -> float:
    """Squared distance of two points, summed attribute by attribute."""
    total = 0.0
    for j in range(len(one)):
        t = one[j] - two[j]
        total += t * t
    return total


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


def offer(distances: Any, rows: Any, size: int, k: int, distance: float, row: int) -> int:
    """Add a candidate; where the heap is full, the worst of all leaves.

    Parameters
    ----------
    distances : (k,) float64
        Heap with its worst entry first.
    rows : (k,) int64
        Rows of the entries.
    size : int
        Entries so far.
    k : int
        Entries at most.
    distance : float
        Squared distance of the candidate.
    row : int
        Its row.

    Returns
    -------
    int
        Entries now.
    """
    if size < k:
        at = size
        while at > 0:
            above = (at - 1) >> 1
            if not worse(distance, row, distances[above], rows[above]):
                break
            distances[at], rows[at] = distances[above], rows[above]
            at = above
        distances[at], rows[at] = distance, row
        return size + 1
    if not worse(distances[0], rows[0], distance, row):
        return size
    at = 0
    while True:
        below = 2 * at + 1
        if below >= k:
            break
        if below + 1 < k and worse(
            distances[below + 1], rows[below + 1], distances[below], rows[below]
        ):
            below += 1
        if not worse(distances[below], rows[below], distance, row):
            break
        distances[at], rows[at] = distances[below], rows[below]
        at = below
    distances[at], rows[at] = distance, row
    return size


def k_nearest(tree: Tree, groups: Groups, point: Any, k: int, search: Search) -> int:
    """Put the k records nearest to a point, lowest rows among equals, into the heap.

    Returns
    -------
    int
        How many there are, k unless fewer are left.
    """
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
