"""Depth-first search over all consistent tables of a network, without dead ends.

Cells are fixed one after the other; flows give the exact range that is left to each (networks are
totally unimodular, so every whole number in it extends to a table). Subtrees are pruned once they
can hold no match, or no match with a new value. The functions are plain Python that numba compiles
(`KERNELS`); run uncompiled they are the oracle of the compiled ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.fibre import network_ranges
from attacks.fibre.network_ranges import cell_ranges, set_cell
from csp.compiled import Kernels
from csp.exact import UNBOUNDED, Bools, Ints
from csp.solve.small import kernels
from csp.solve.small.flow import NONE, ONE, Case, Net, Work, lowest
from csp.solve.small.many import beaten, decide, fill

MATCHES, VALUES, HULL = 1, 2, 3
"""Every match; every value that a match gives a cell; only their ends."""

DEPTH, NODES, TESTED, MATCHED, LATE, KEPT = 0, 1, 2, 3, 4, 5


class SearchState(NamedTuple):
    """Where a search stands; k suppressed cells, d of them free."""

    net: Net  # the suppressed cells
    order: Ints  # (d,) free cells: once they are fixed, so are all others
    bounds: Ints  # (2, k) least and largest value of each cell
    x: Ints  # (k,) a table that agrees with all that is fixed
    slack: Ints  # (2, 64) how far each cell can move above and below `x`
    moves: NDArray[np.uint64]  # (2,) cells that can move above, and below
    # (3, d + 1) at each depth: ends of the range of the next free cell, children seen (-1: new)
    span: Ints
    ends: Ints  # (2, k) range of every cell at the present node
    flow: Ints  # this and `found` as in `csp.solve.small.flow.Work`
    found: NDArray[np.uint64]
    seen: Bools  # (k, s) values, from the least one, that need not be met again
    met: Bools  # (k, s) values that matches have (VALUES, HULL)
    kept: Ints  # (c, k) matches found (MATCHES)
    late: Ints  # (l, k) tables that the node limit left undecided
    # (6,) depth (-1: the search is over); nodes; tables tested; matches; rows of `late` and of
    # `kept` in use
    counts: Ints


class PatternTest(NamedTuple):
    """Data to decide whether the mechanism chooses the pattern, and workspace for its search.

    `net`, `case`, `worst` and `work` are of the q cells that the mechanism may suppress
    (`csp.solve.small.one`); for the two cases see `pose_pattern_test`. Of each case there is a
    table, with what the mechanism says of its published cells, and bounds known beforehand.
    """

    net: Net
    case: Case
    worst: Case
    work: Work
    place: Ints  # (k,) of each suppressed cell, its number among these
    values: Ints  # (2, q)
    levels: Ints  # (2, 3, q)
    cost: Ints  # (2, q)
    primary: Bools  # (q,)
    limits: Ints  # (2, 2, q)
    may: np.uint64  # cells that may be suppressed
    must: np.uint64  # cells that are beforehand
    pattern: np.uint64  # cells that are here
    sensitive: Bools  # (k, s) whether a value, counted from the least one, is primary
    allowed: Bools  # (k, s) whether it is published, or reaches its levels here
    needs: Ints  # (3, k, s) levels of each value
    prices: Ints  # (k, s)
    pool: NDArray[np.uint64]  # (p,) patterns that beat this one, most recent first
    # Whether these are all cells that the mechanism may suppress. If not, a table that no pattern
    # of theirs refuses is undecided.
    whole: bool


def nothing_new(bounds: Ints, ends: Ints, seen: Bools) -> bool:
    """Whether every value that is left to every cell has been seen."""
    for e in range(ends.shape[1]):
        for v in range(ends[0, e], ends[1, e] + 1):
            if not seen[e, v - bounds[0, e]]:
                return False
    return True


def pose_pattern_test(bounds: Ints, x: Ints, ends: Ints, test: PatternTest, worlds: int) -> bool:
    """Pose the problem of the tables below a node, all at once; False if none is a match.

    A cell counts as primary if a value left to it is, and asks for all that any of these values
    asks for. A table without a primary cell is not a match: nothing would have been suppressed.

    Two cases are written, or the first alone. What is safe in `case` is safe for every table below
    that differs from the present one only in cells that it suppresses: levels are counted from the
    present value. What is safe in `worst` is so for every table below: cells have the least room,
    and the least cost, that any of these tables gives them (more room and cost only helps).
    """
    none = True
    for e in range(len(x)):
        p = test.place[e]
        low, high = ends[0, e], ends[1, e]
        t = x[e] - bounds[0, e]
        test.values[0, p], test.values[1, p] = x[e], low
        test.limits[1, 1, p] = test.limits[0, 1, p]
        if test.limits[1, 1, p] < _NO_BOUND:
            test.limits[1, 1, p] -= high - low
        test.cost[0, p] = test.prices[e, t]
        test.cost[1, p] = test.prices[e, t]
        test.primary[p] = False
        possible = False
        for k in range(3):
            test.levels[0, k, p] = 0
            test.levels[1, k, p] = 0
        for v in range(low, high + 1):
            t = v - bounds[0, e]
            if not test.allowed[e, t]:
                continue
            possible = True
            test.cost[1, p] = min(test.cost[1, p], test.prices[e, t])
            if test.sensitive[e, t]:
                test.primary[p] = True
                for k in range(3):
                    test.levels[1, k, p] = max(test.levels[1, k, p], test.needs[k, e, t])
                levels = test.levels[0]
                levels[0, p] = max(levels[0, p], test.needs[0, e, t] + x[e] - v)
                levels[1, p] = max(levels[1, p], test.needs[1, e, t] + v - x[e])
                levels[2, p] = max(levels[2, p], test.needs[2, e, t])
        if not possible:
            return False
        none &= not test.primary[p]
    if none:
        return False
    for i in range(worlds):
        fill(
            test.net, test.case if i == 0 else test.worst, test.values[i],
            test.limits[i], test.primary, test.levels[i], test.cost[i], test.may,
            test.must,
        )  # fmt: skip
    return True


def renumbered(place: Ints, cells: Any) -> Any:
    """Return the same set of cells, numbered as the mechanism does."""
    out = NONE
    while cells != NONE:
        out |= ONE << np.uint64(place[lowest(cells)])
        cells &= cells - ONE
    return out


def record_match(w: SearchState, mode: int) -> None:
    """Record a match."""
    x, bounds, seen = w.x, w.bounds, w.seen
    if mode == MATCHES:
        w.kept[w.counts[KEPT]] = x
        w.counts[KEPT] += 1
        return
    for e in range(len(x)):
        t = x[e] - bounds[0, e]
        seen[e, t] = True
        w.met[e, t] = True
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


def enumerate_matches(w: SearchState, test: PatternTest, mode: int, nodes: int, proof: int) -> None:
    """Continue for some nodes, or until `kept` or `late` is full or the search is over.

    The proof that one table is a match may take `proof` nodes. `w` and `test` change.
    """
    net, order, bounds, x = w.net, w.order, w.bounds, w.x
    slack, moves, flow, found = w.slack, w.moves, w.flow, w.found
    counts, span, ends, seen = w.counts, w.span, w.ends, w.seen
    last = counts[NODES] + nodes
    every = NONE
    for e in range(len(x)):
        every |= ONE << np.uint64(e)
    while counts[DEPTH] >= 0 and counts[NODES] < last:
        d = counts[DEPTH]
        inside = every
        for i in range(d):
            inside &= ~(ONE << np.uint64(order[i]))
        if span[2, d] >= 0:
            width = span[1, d] - span[0, d]
            turn = span[2, d]
            if turn > width:
                counts[DEPTH] = d - 1
                continue
            span[2, d] = turn + 1
            # From both ends inwards: the hull of the matches grows early.
            value = span[0, d] + turn // 2 if turn % 2 == 0 else span[1, d] - turn // 2
            set_cell(net, bounds, x, slack, moves, flow, found, inside, order[d], value)
            span[2, d + 1] = -1
            counts[DEPTH] = d + 1
            continue
        if mode == MATCHES and counts[KEPT] == len(w.kept):
            return
        if counts[LATE] == len(w.late):
            return
        counts[NODES] += 1
        leaf = d == len(order)
        if leaf:
            core = NONE
            ends[0] = x
            ends[1] = x
        else:
            core = cell_ranges(net, x, slack, moves, flow, found, inside, ends)
        if mode >= VALUES and nothing_new(bounds, ends, seen):
            counts[DEPTH] = d - 1
            continue
        if not pose_pattern_test(bounds, x, ends, test, 1 if leaf else 2):
            counts[DEPTH] = d - 1
            continue
        if core != NONE and (
            beaten(
                test.net, test.case, test.work, test.pattern, test.pool,
                renumbered(test.place, core),
            )
            or beaten(
                test.net, test.worst, test.work, test.pattern, test.pool, NONE
            )
        ):  # fmt: skip
            counts[DEPTH] = d - 1
            continue
        if not leaf:
            span[0, d], span[1, d], span[2, d] = ends[0, order[d]], ends[1, order[d]], 0
            continue
        counts[TESTED] += 1
        outcome = decide(test.net, test.case, test.work, test.pattern, test.pool, proof)
        if outcome == 0 and test.whole:
            counts[MATCHED] += 1
            record_match(w, mode)
        elif outcome != 1:
            w.late[counts[LATE]] = x
            counts[LATE] += 1
        counts[DEPTH] = d - 1


def decide_tables(
    w: SearchState, test: PatternTest, mode: int, tables: Ints, proof: int, outcome: Ints,
) -> None:  # fmt: skip
    """Test some tables one by one and record the matches.

    Written: outcome of each table: 0 a match, 1 none, 2 undecided, 3 not tested, since it could
    tell nothing new (VALUES, HULL).
    """
    for t in range(len(tables)):
        w.ends[0] = tables[t]
        w.ends[1] = tables[t]
        if mode >= VALUES and nothing_new(w.bounds, w.ends, w.seen):
            outcome[t] = 3
            continue
        w.x[:] = tables[t]
        w.counts[TESTED] += 1
        outcome[t] = 1
        if not pose_pattern_test(w.bounds, w.x, w.ends, test, 1):
            continue
        outcome[t] = decide(test.net, test.case, test.work, test.pattern, test.pool, proof)
        if outcome[t] == 0 and not test.whole:
            outcome[t] = 2
        if outcome[t] == 0:
            w.counts[MATCHED] += 1
            if mode >= VALUES:
                record_match(w, mode)


_NO_BOUND = np.int64(UNBOUNDED)
KERNELS = Kernels(
    __name__,
    *("nothing_new", "pose_pattern_test", "renumbered", "record_match"),
    *("enumerate_matches", "decide_tables"),
    beside=(*kernels.HOMES, "attacks.fibre.network_ranges"),
    given=network_ranges.KERNELS,
)
