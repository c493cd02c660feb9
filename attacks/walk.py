"""Depth-first walk over all tables of a network that fit a release, without dead ends.

Cells are fixed one after the other; flows tell the exact range that is left to each (networks are
totally unimodular, so every whole number in it extends to a table). Whole subtrees are passed over
once they can hold no match, or no match that would tell anything new. The functions are plain
Python that numba compiles (`compiled`); run uncompiled they are the oracle of the compiled ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.solve.bitflow import FLOW, NONE, ONE, Case, Net, Work, augment, lowest, push
from csp.solve.cases import beaten, decide, fill

__all__ = ["ALL", "HULL", "MATCHES", "VALUES", "Judged", "Walk", "compiled", "walk"]

ALL, MATCHES, VALUES, HULL = 0, 1, 2, 3
"""Every table; every match; every value that a match gives a cell; only their ends."""

DEPTH, NODES, TESTED, MATCHED, DOUBTFUL, KEPT = 0, 1, 2, 3, 4, 5


class Walk(NamedTuple):
    """Where a walk stands; k suppressed cells, d of them free.

    Attributes
    ----------
    net : Net
        The suppressed cells.
    order : (d,) int64
        Free cells: once they are fixed, so are all others.
    bounds : (2, k) int64
        Least and largest value of each cell.
    x : (k,) int64
        A table that agrees with all that is fixed.
    room : (2, 64) int64
        Room of each cell above and below `x`.
    moves : (2,) uint64
        Cells with room above, and below.
    span : (3, d + 1) int64
        At each depth: ends of the range of the next free cell, and children seen (-1: new).
    ends : (2, k) int64
        Range of every cell at the present node.
    flow, found
        As in `csp.solve.bitflow.Work`.
    seen : (k, s) bool
        Values, counted from the least one, that need not be met again.
    kept : (c, k) int64
        Tables found (ALL, MATCHES).
    state : (6,) int64
        Depth (-1: the walk is over); nodes; tables tested; matches; tables that the node limit
        left undecided; rows of `kept` in use.
    """

    net: Net
    order: NDArray[np.int64]
    bounds: NDArray[np.int64]
    x: NDArray[np.int64]
    room: NDArray[np.int64]
    moves: NDArray[np.uint64]
    span: NDArray[np.int64]
    ends: NDArray[np.int64]
    flow: NDArray[np.int64]
    found: NDArray[np.uint64]
    seen: NDArray[np.bool_]
    kept: NDArray[np.int64]
    state: NDArray[np.int64]


class Judged(NamedTuple):
    """What the mechanism makes of the values of a cell, and the room for its search.

    Attributes
    ----------
    net, case, work
        The cells that the mechanism may suppress (`csp.solve.small`).
    place : (k,) int64
        Of each suppressed cell, its number among these.
    values, levels, cost : (q,), (3, q), (q,) int64
    primary : (q,) bool
        A table; what the mechanism says of its published cells.
    limits : (2, q) int64
        Bounds known beforehand.
    may, must, pattern : uint64
        Cells that may be suppressed, that are beforehand, and that are here.
    sensitive : (k, s) bool
        Whether a value (counted from the least one) is primary.
    allowed : (k, s) bool
        Whether it is published or reaches its levels under the pattern.
    needs : (3, k, s) int64
        Levels of each value.
    prices : (k, s) int64
    pool : (p,) uint64
        Patterns that beat this one, most recent first.
    """

    net: Net
    case: Case
    work: Work
    place: NDArray[np.int64]
    values: NDArray[np.int64]
    levels: NDArray[np.int64]
    cost: NDArray[np.int64]
    primary: NDArray[np.bool_]
    limits: NDArray[np.int64]
    may: np.uint64
    must: np.uint64
    pattern: np.uint64
    sensitive: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    needs: NDArray[np.int64]
    prices: NDArray[np.int64]
    pool: NDArray[np.uint64]


def settle(
    bounds: NDArray[np.int64], x: NDArray[np.int64], room: NDArray[np.int64],
    moves: NDArray[np.uint64], e: int,
) -> None:  # fmt: skip
    """Bring the room of a cell up to date."""
    bit = ONE << np.uint64(e)
    room[0, e] = bounds[1, e] - x[e]
    room[1, e] = x[e] - bounds[0, e]
    for way in range(2):
        if room[way, e] > 0:
            moves[way] |= bit
        else:
            moves[way] &= ~bit


def give(
    net: Net, bounds: NDArray[np.int64], x: NDArray[np.int64], room: NDArray[np.int64],
    moves: NDArray[np.uint64], flow: NDArray[np.int64], found: NDArray[np.uint64],
    inside: Any, cell: int, value: int,
) -> None:  # fmt: skip
    """Give a cell a value that is within its range; cells off `inside` stay."""
    way = 0 if value > x[cell] else 1
    need = abs(value - x[cell])
    if need == 0:
        return
    _, touched = augment(
        net.ends, net.star, room, moves, flow, found, inside, NONE, cell, way, need
    )  # fmt: skip
    while touched != NONE:
        e = lowest(touched)
        touched &= touched - ONE
        x[e] += flow[FLOW, e]
        flow[FLOW, e] = 0
        settle(bounds, x, room, moves, e)
    x[cell] = value
    settle(bounds, x, room, moves, cell)


def measure(
    net: Net, x: NDArray[np.int64], room: NDArray[np.int64], moves: NDArray[np.uint64],
    flow: NDArray[np.int64], found: NDArray[np.uint64], inside: Any, ends: NDArray[np.int64],
) -> Any:  # fmt: skip
    """Ranges of all cells; those off `inside` have one value. Returns the cells with more."""
    core = NONE
    for e in range(len(x)):
        ends[0, e] = x[e]
        ends[1, e] = x[e]
        bit = ONE << np.uint64(e)
        if inside & bit != NONE:
            up = push(
                net.ends, net.star, room, moves, flow, found, inside, NONE, e, 0, room[0, e]
            )  # fmt: skip
            down = push(
                net.ends, net.star, room, moves, flow, found, inside, NONE, e, 1, room[1, e]
            )  # fmt: skip
            ends[0, e] -= down
            ends[1, e] += up
            if up + down > 0:
                core |= bit
    return core


def nothing_new(
    bounds: NDArray[np.int64], ends: NDArray[np.int64], seen: NDArray[np.bool_]
) -> bool:
    """Whether every value that is left to every cell has been seen."""
    for e in range(ends.shape[1]):
        for v in range(ends[0, e], ends[1, e] + 1):
            if not seen[e, v - bounds[0, e]]:
                return False
    return True


def pose(
    bounds: NDArray[np.int64], x: NDArray[np.int64], ends: NDArray[np.int64], judged: Judged
) -> bool:
    """Pose the problem of the tables below a node, all at once; False if none is a match.

    Tables without any primary cell are no match: nothing would have been suppressed.
    A cell counts as primary if a value left to it is, and asks, counted from its present value,
    for all that any of these values asks for. What is safe then is safe for every table below;
    differences of cost are the same for all, too, if all cells that still vary are suppressed.
    """
    none = True
    for e in range(len(x)):
        p = judged.place[e]
        judged.values[p] = x[e]
        judged.cost[p] = judged.prices[e, x[e] - bounds[0, e]]
        judged.primary[p] = False
        possible = False
        for k in range(3):
            judged.levels[k, p] = 0
        for v in range(ends[0, e], ends[1, e] + 1):
            t = v - bounds[0, e]
            if not judged.allowed[e, t]:
                continue
            possible = True
            if judged.sensitive[e, t]:
                judged.primary[p] = True
                judged.levels[0, p] = max(judged.levels[0, p], judged.needs[0, e, t] + x[e] - v)
                judged.levels[1, p] = max(judged.levels[1, p], judged.needs[1, e, t] + v - x[e])
                judged.levels[2, p] = max(judged.levels[2, p], judged.needs[2, e, t])
        if not possible:
            return False
        none &= not judged.primary[p]
    if none:
        return False
    fill(
        judged.net, judged.case, judged.values, judged.limits, judged.primary, judged.levels,
        judged.cost, judged.may, judged.must,
    )  # fmt: skip
    return True


def moved_to(place: NDArray[np.int64], cells: Any) -> Any:
    """Return the same set of cells, numbered as the mechanism does."""
    out = NONE
    while cells != NONE:
        out |= ONE << np.uint64(place[lowest(cells)])
        cells &= cells - ONE
    return out


def note(w: Walk, mode: int) -> None:
    """Remember a match."""
    x, bounds, seen = w.x, w.bounds, w.seen
    if mode <= MATCHES:
        w.kept[w.state[KEPT]] = x
        w.state[KEPT] += 1
        return
    for e in range(len(x)):
        t = x[e] - bounds[0, e]
        seen[e, t] = True
        if mode == HULL:
            # Fill up to the next value seen on either side.
            for step in (-1, 1):
                s = t + step
                while 0 <= s < seen.shape[1] and not seen[e, s]:
                    s += step
                if 0 <= s < seen.shape[1]:
                    while s != t:
                        seen[e, s] = True
                        s -= step


def walk(w: Walk, judged: Judged, mode: int, nodes: int, proof: int) -> None:
    """Go on for some nodes, or until `kept` is full or the walk is over.

    Parameters
    ----------
    w, judged
        Both change.
    mode : {ALL, MATCHES, VALUES, HULL}
    nodes : int
        Nodes to look at.
    proof : int
        Nodes for the proof that one table is a match.
    """
    net, order, bounds, x = w.net, w.order, w.bounds, w.x
    room, moves, flow, found = w.room, w.moves, w.flow, w.found
    state, span, ends, seen = w.state, w.span, w.ends, w.seen
    last = state[NODES] + nodes
    every = NONE
    for e in range(len(x)):
        every |= ONE << np.uint64(e)
    while state[DEPTH] >= 0 and state[NODES] < last:
        d = state[DEPTH]
        inside = every
        for i in range(d):
            inside &= ~(ONE << np.uint64(order[i]))
        if span[2, d] >= 0:
            width = span[1, d] - span[0, d]
            turn = span[2, d]
            if turn > width:
                state[DEPTH] = d - 1
                continue
            span[2, d] = turn + 1
            # From both ends inwards: the hull of the matches grows early.
            value = span[0, d] + turn // 2 if turn % 2 == 0 else span[1, d] - turn // 2
            give(net, bounds, x, room, moves, flow, found, inside, order[d], value)
            span[2, d + 1] = -1
            state[DEPTH] = d + 1
            continue
        if mode <= MATCHES and state[KEPT] == len(w.kept):
            return
        state[NODES] += 1
        core = measure(net, x, room, moves, flow, found, inside, ends)
        if mode != ALL:
            if mode >= VALUES and nothing_new(bounds, ends, seen):
                state[DEPTH] = d - 1
                continue
            if not pose(bounds, x, ends, judged):
                state[DEPTH] = d - 1
                continue
            if core != NONE and beaten(
                judged.net, judged.case, judged.work, judged.pattern, judged.pool,
                moved_to(judged.place, core),
            ):  # fmt: skip
                state[DEPTH] = d - 1
                continue
        if d < len(order):
            span[0, d], span[1, d], span[2, d] = ends[0, order[d]], ends[1, order[d]], 0
            continue
        state[TESTED] += 1
        if mode == ALL:
            note(w, mode)
        else:
            outcome = decide(
                judged.net, judged.case, judged.work, judged.pattern, judged.pool, proof
            )
            if outcome == 0:
                state[MATCHED] += 1
                note(w, mode)
            elif outcome == 2:
                state[DOUBTFUL] += 1
        state[DEPTH] = d - 1


_NAMES = ("settle", "give", "measure", "nothing_new", "pose", "moved_to", "note", "walk")
_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of the functions of this module, by name."""
    if not _compiled:
        import sys

        from csp.solve import bitflow, cases, hitting, kernels

        modules = (bitflow, hitting, cases, sys.modules[__name__])
        _compiled.update(kernels.twins(modules, _NAMES, kernels.compiled()))
    return _compiled
