"""Flows and cuts in networks of at most 64 cells, with sets of cells as bit masks.

Bit e of a ``uint64`` stands for cell e. The functions are plain Python that numba compiles
(`csp.solve.small.kernels`); run uncompiled they are the oracle of the compiled ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.exact import Ints

MOST = 64
"""Cells that a mask holds."""

ONE = np.uint64(1)
NONE = np.uint64(0)
FLOW, QUEUE, PARENT = 0, 1, 2


class Net(NamedTuple):
    """The network: a positive deviation of cell e flows from its tail to its head.

    Attributes
    ----------
    ends : (2, k) int64
        Tail and head of each cell.
    star : (2, nodes) uint64
        Cells that leave, and that enter, each node.
    lines : int
        Nodes below it are relations; the last node is the outside.
    """

    ends: Ints
    star: NDArray[np.uint64]
    lines: int


class Case(NamedTuple):
    """One table over the network.

    Attributes
    ----------
    room : (2, 64) int64
        Capacity of each cell upwards and downwards.
    need : (3, 64) int64
        Lower, upper and sliding level of each cell.
    cost : (64,) int64
    moves : (2,) uint64
        Cells with room upwards, and downwards.
    marks : (3,) uint64
        Cells that may be chosen; cells in every pattern; cells with a level above 0.
    """

    room: Ints
    need: Ints
    cost: Ints
    moves: NDArray[np.uint64]
    marks: NDArray[np.uint64]


class Arcs(NamedTuple):
    """The residual network that flows read and write; see `Net`, `Case` and `Work`."""

    ends: Ints
    star: NDArray[np.uint64]
    room: Ints
    moves: NDArray[np.uint64]
    flow: Ints
    found: NDArray[np.uint64]


class Work(NamedTuple):
    """All that the search remembers, so that it can stop and go on.

    Attributes
    ----------
    state : (5,) int64
        Open nodes on the stack; cost of the best pattern (-1: none); nodes seen; patterns found;
        whether to stop at the first pattern.
    best : (1,) uint64
        Best pattern.
    stack : (s, 3) uint64
        Of each open node: cells suppressed, cells published, cells known to be protected.
    price : (s, 2) int64
        Of each open node: cost of what is suppressed, and lower bound.
    cuts : (c,) uint64
    rest : (64,) int64
        Reduced costs.
    flow : (3, nodes or 64) int64
        Rows `FLOW` (of each cell; all zero between calls), `QUEUE` and `PARENT` (of nodes).
    found : (2,) uint64
        Cuts of the last flow that fell short.
    """

    state: Ints
    best: NDArray[np.uint64]
    stack: NDArray[np.uint64]
    price: Ints
    cuts: NDArray[np.uint64]
    rest: Ints
    flow: Ints
    found: NDArray[np.uint64]


def lowest(mask: Any) -> int:
    """Position of the lowest bit of a mask that is not empty."""
    return (int(mask) & -int(mask)).bit_length() - 1


def size(mask: Any) -> int:
    """Count the bits of a mask."""
    return int(mask).bit_count()


def spread(
    ends: Ints, star: NDArray[np.uint64], flow: Ints, a: int,
    start: int, goal: int, forth: Any, back: Any,
) -> int:  # fmt: skip
    """Visit the nodes that can be reached from a node, breadth first.

    Parameters
    ----------
    ends, star
        See `Net`.
    flow
        See `Work`.
    a : {0, 1}
        0: follow cells from tail to head; 1: against it.
    start, goal : int
    forth, back : uint64
        Cells that may be used forwards, and backwards.

    Returns
    -------
    int
        Number of nodes at the front of the queue; -1 once the goal is met (`parent` then
        holds the cell by which each node was reached, plus 64 if it was used backwards).
    """
    b = 1 - a
    flow[QUEUE, 0] = start
    first, last = 0, 1
    # A cell that leads to a node seen already is of no use: visiting takes it out of the masks.
    forth &= ~star[b, start]
    back &= ~star[a, start]
    while first < last:
        v = flow[QUEUE, first]
        first += 1
        ways = star[a, v] & forth
        while ways != NONE:
            e = lowest(ways)
            u = ends[b, e]
            flow[PARENT, u] = e
            if u == goal:
                return -1
            flow[QUEUE, last] = u
            last += 1
            forth &= ~star[b, u]
            back &= ~star[a, u]
            ways &= forth
        ways = star[b, v] & back
        while ways != NONE:
            e = lowest(ways)
            u = ends[a, e]
            flow[PARENT, u] = e + MOST
            if u == goal:
                return -1
            flow[QUEUE, last] = u
            last += 1
            forth &= ~star[b, u]
            back &= ~star[a, u]
            ways &= back
    return last


def crossing(
    star: NDArray[np.uint64], flow: Ints, moves: NDArray[np.uint64], a: int, count: int, opens: Any,
) -> Any:  # fmt: skip
    """Open cells that can carry flow out of (a=0) or into (a=1) the nodes in the queue."""
    leave, enter = NONE, NONE
    for i in range(count):
        leave |= star[a, flow[QUEUE, i]]
        enter |= star[1 - a, flow[QUEUE, i]]
    return opens & ((moves[0] & leave & ~enter) | (moves[1] & enter & ~leave))


def augment(arcs: Arcs, inside: Any, opens: Any, cell: int, way: int, need: int) -> Any:
    """Move a cell up (way=0) or down (way=1) by up to `need` units within a pattern.

    Returns
    -------
    int
        Units moved. If short, `found` holds the open cells across the minimum cut next to
        either end: any pattern that does better suppresses one of each. They are empty where the
        cell's own room is the limit.
    uint64
        The other cells that move with it; row `FLOW` says how far and must be cleared.
    """
    ends, star, room, moves, flow, found = arcs
    limit = min(need, room[way, cell])
    source, sink = ends[1 - way, cell], ends[way, cell]
    found[0], found[1] = NONE, NONE
    if source == sink:
        return limit, NONE
    usable = inside & ~(ONE << np.uint64(cell))
    forth, back = usable & moves[0], usable & moves[1]
    touched = NONE
    total = 0
    while total < limit:
        count = spread(ends, star, flow, 0, source, sink, forth, back)
        if count >= 0:
            found[0] = crossing(star, flow, moves, 0, count, opens)
            count = spread(ends, star, flow, 1, sink, source, forth, back)
            found[1] = crossing(star, flow, moves, 1, count, opens)
            break
        step = limit - total
        v = sink
        while v != source:
            e = flow[PARENT, v]
            if e < MOST:
                step = min(step, room[0, e] - flow[FLOW, e])
                v = ends[0, e]
            else:
                step = min(step, room[1, e - MOST] + flow[FLOW, e - MOST])
                v = ends[1, e - MOST]
        v = sink
        while v != source:
            e = flow[PARENT, v]
            if e < MOST:
                bit = ONE << np.uint64(e)
                flow[FLOW, e] += step
                if flow[FLOW, e] == room[0, e]:
                    forth &= ~bit
                back |= bit
                v = ends[0, e]
            else:
                e -= MOST
                bit = ONE << np.uint64(e)
                flow[FLOW, e] -= step
                if flow[FLOW, e] == -room[1, e]:
                    back &= ~bit
                forth |= bit
                v = ends[1, e]
            touched |= bit
        total += step
    return total, touched


def push(arcs: Arcs, inside: Any, opens: Any, cell: int, way: int, need: int) -> Any:
    """How far a cell can move; see `augment`, whose flow is cleared."""
    total, touched = augment(arcs, inside, opens, cell, way, need)
    while touched != NONE:
        arcs.flow[FLOW, lowest(touched)] = 0
        touched &= touched - ONE
    return total


def probe(arcs: Arcs, need: Ints, inside: Any, opens: Any, cell: int) -> bool:
    """Whether a cell misses a level within a pattern.

    If so, `found` holds two sets of open cells; a safe pattern that contains this one
    suppresses a cell of each. (An empty set: there is none.)
    """
    found = arcs.found
    want = max(need[1, cell], need[2, cell])
    up = push(arcs, inside, opens, cell, 0, want)
    if up < need[1, cell]:
        return True
    # The width is at most the sum of both cuts, so a cell on either may mend it.
    near, far = found[0], found[1]
    want = max(need[0, cell], need[2, cell] - up)
    if want <= 0:
        return False
    down = push(arcs, inside, opens, cell, 1, want)
    if down < need[0, cell]:
        return True
    if up + down < need[2, cell]:
        found[0] |= near
        found[1] |= far
        return True
    return False
