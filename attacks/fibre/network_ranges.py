"""Moving within the fibre of a network: the order of free cells, their ranges, and setting them.

Flows give the exact range of a cell, and what moves along with it. Plain Python that numba compiles
together with `attacks.algorithm_known.network_enumeration`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.solve.small.flow import FLOW, NONE, ONE, Arcs, Net, augment, lowest, push, size, spread

__all__ = ["cell_ranges", "choose_order", "on_cycles", "set_cell", "update_slack"]


def on_cycles(net: Net, flow: NDArray[np.int64], inside: Any) -> Any:
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


def choose_order(net: Net, flow: NDArray[np.int64], order: NDArray[np.int64]) -> int:
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


def update_slack(
    bounds: NDArray[np.int64], x: NDArray[np.int64], slack: NDArray[np.int64],
    moves: NDArray[np.uint64], e: int,
) -> None:  # fmt: skip
    """Update how far a cell can move up and down."""
    bit = ONE << np.uint64(e)
    slack[0, e] = bounds[1, e] - x[e]
    slack[1, e] = x[e] - bounds[0, e]
    for way in range(2):
        if slack[way, e] > 0:
            moves[way] |= bit
        else:
            moves[way] &= ~bit


def set_cell(
    net: Net, bounds: NDArray[np.int64], x: NDArray[np.int64], slack: NDArray[np.int64],
    moves: NDArray[np.uint64], flow: NDArray[np.int64], found: NDArray[np.uint64],
    inside: Any, cell: int, value: int,
) -> None:  # fmt: skip
    """Set a cell to a value within its range; cells off `inside` stay."""
    way = 0 if value > x[cell] else 1
    need = abs(value - x[cell])
    if need == 0:
        return
    arcs = Arcs(net.ends, net.star, slack, moves, flow, found)
    _, touched = augment(arcs, inside, NONE, cell, way, need)
    while touched != NONE:
        e = lowest(touched)
        touched &= touched - ONE
        x[e] += flow[FLOW, e]
        flow[FLOW, e] = 0
        update_slack(bounds, x, slack, moves, e)
    x[cell] = value
    update_slack(bounds, x, slack, moves, cell)


def cell_ranges(
    net: Net, x: NDArray[np.int64], slack: NDArray[np.int64], moves: NDArray[np.uint64],
    flow: NDArray[np.int64], found: NDArray[np.uint64], inside: Any, ends: NDArray[np.int64],
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
