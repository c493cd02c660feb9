"""Moving within the fibre of a network: the order of free cells, their ranges, and setting them.

Flows give the exact range of a cell, and what moves along with it. Plain Python that numba compiles
(`KERNELS`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Ints
from csp.solve.small import kernels
from csp.solve.small.flow import (
    FLOW,
    MOST,
    NONE,
    ONE,
    Arcs,
    Net,
    augment,
    lowest,
    push,
    size,
    spread,
)


def on_cycles(net: Net, flow: Ints, inside: Any) -> Any:
    """Cells that lie on a cycle of some cells; the others have one value once these are fixed."""
    out = NONE
    left = inside
    while left != NONE:
        e = lowest(left)
        bit = ONE << np.uint64(e)
        left &= left - ONE
        u, v = net.ends[0, e], net.ends[1, e]
        rest = inside & ~bit
        if u == v or spread(net.ends, net.star, flow, 0, u, v, rest, rest) < 0:
            out |= bit
    return out


def choose_order(net: Net, flow: Ints, order: Ints) -> int:
    """Write cells to fix one after the other, until all others follow; returns their number.

    The next one is on a cycle and leaves as few cells on cycles as possible.
    """
    inside = NONE
    for e in range(net.ends.shape[1]):
        inside |= ONE << np.uint64(e)
    count = 0
    inside = on_cycles(net, flow, inside)
    while inside != NONE:
        best, fewest, rest = -1, len(order) + 1, NONE
        left = inside
        while left != NONE:
            e = lowest(left)
            left &= left - ONE
            core = on_cycles(net, flow, inside & ~(ONE << np.uint64(e)))
            if size(core) < fewest:
                best, fewest, rest = e, size(core), core
        order[count] = best
        count += 1
        inside = rest
    return count


def update_slack(bounds: Ints, x: Ints, slack: Ints, moves: NDArray[np.uint64], e: int) -> None:
    """Update how far a cell can move up and down."""
    bit = ONE << np.uint64(e)
    slack[0, e] = bounds[1, e] - x[e]
    slack[1, e] = x[e] - bounds[0, e]
    for way in range(2):
        if slack[way, e] > 0:
            moves[way] |= bit
        else:
            moves[way] &= ~bit


def follow_flow(
    bounds: Ints, x: Ints, slack: Ints, moves: NDArray[np.uint64], flow: Ints, touched: Any,
) -> None:  # fmt: skip
    """Move cells by the flow that touched them, of which none is left."""
    while touched != NONE:
        e = lowest(touched)
        touched &= touched - ONE
        x[e] += flow[FLOW, e]
        flow[FLOW, e] = 0
        update_slack(bounds, x, slack, moves, e)


def set_cell(
    net: Net, bounds: Ints, x: Ints, slack: Ints, moves: NDArray[np.uint64], flow: Ints,
    found: NDArray[np.uint64], inside: Any, cell: int, value: int,
) -> None:  # fmt: skip
    """Set a cell to a value within its range; cells off `inside` stay."""
    way = 0 if value > x[cell] else 1
    need = abs(value - x[cell])
    if need == 0:
        return
    arcs = Arcs(net.ends, net.star, slack, moves, flow, found)
    _, touched = augment(arcs, inside, NONE, cell, way, need)
    follow_flow(bounds, x, slack, moves, flow, touched)
    x[cell] = value
    update_slack(bounds, x, slack, moves, cell)


def cell_ranges(
    net: Net, x: Ints, slack: Ints, moves: NDArray[np.uint64],
    flow: Ints, found: NDArray[np.uint64], inside: Any, ends: Ints,
) -> Any:  # fmt: skip
    """Ranges of all cells; those off `inside` have one value. Returns the cells with more."""
    arcs = Arcs(net.ends, net.star, slack, moves, flow, found)
    core = NONE
    for e in range(len(x)):
        ends[0, e] = x[e]
        ends[1, e] = x[e]
        bit = ONE << np.uint64(e)
        if inside & bit != NONE:
            for way in range(2):
                far = push(arcs, inside, NONE, e, way, slack[way, e])
                ends[1 - way, e] += far if way == 0 else -far
                if far > 0:
                    core |= bit
    return core


def complete_flow(
    net: Net, bounds: Ints, x: Ints, lacks: Ints, joint: Ints, slack: Ints,
    moves: NDArray[np.uint64], flow: Ints, found: NDArray[np.uint64], ends: Ints,
) -> bool:  # fmt: skip
    """Change values within bounds until every node has the flow that it lacks, and range all cells.

    Returned is whether there are such values; all are whole. `lacks` (nodes,) adds up to 0. Of
    `joint` (2, k + 1) the first k columns are `net.ends`; the last is for a cell that joins two
    nodes for the time of one flow, so that there are at most 63 cells.
    """
    k = len(x)
    arcs = Arcs(joint, net.star, slack, moves, flow, found)
    every = NONE
    for e in range(k):
        every |= ONE << np.uint64(e)
        update_slack(bounds, x, slack, moves, e)
    # What a node cannot send now it cannot send later: no flow leads out of the nodes it reaches.
    for source in range(len(lacks)):
        for sink in range(len(lacks)):
            need = min(lacks[source], -lacks[sink])
            if need <= 0:
                continue
            joint[0, k], joint[1, k], slack[0, k] = sink, source, need
            sent, touched = augment(arcs, every, NONE, k, 0, need)
            lacks[source] -= sent
            lacks[sink] += sent
            follow_flow(bounds, x, slack, moves, flow, touched)
        if lacks[source] > 0:
            return False
    cell_ranges(net, x, slack, moves, flow, found, every, ends)
    return True


def flow_workspace(net: Net) -> Ints:
    """Make room for the flows of a network (`csp.solve.small.flow.Work.flow`)."""
    return np.zeros((3, max(net.star.shape[1], MOST)), dtype=np.int64)


KERNELS = Kernels(
    __name__,
    *("on_cycles", "choose_order", "update_slack", "follow_flow", "set_cell", "cell_ranges"),
    "complete_flow",
    beside=kernels.HOMES,
    given=kernels.KERNELS,
)
