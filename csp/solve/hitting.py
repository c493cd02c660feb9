"""Search for the cheapest set of cells that hits every cut of a small network.

A node of the search suppresses some cells and publishes others. What is suppressed violates cuts:
sets of undecided cells of which every safe pattern below the node suppresses at least one. The
cuts price the cells (dual ascent), which bounds the cost and fixes cells; then one cell of a
smallest cut is suppressed or published. Patterns grow along a branch, and so does their binary
number, so that ties are pruned like costs.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.solve import bitflow
from csp.solve.bitflow import MOST, NONE, ONE, Case, Net, Work, lowest, probe, size

__all__ = ["CUTS", "compiled", "decide_many", "fill", "holds", "room_for_work", "search",
           "solve_many", "start"]  # fmt: skip

CUTS = 512
"""Cuts kept at one node; further ones still raise the bound."""

_QUICK = 16
_ENDLESS = np.int64(2**62)


def ascend(cut: Any, rest: NDArray[np.int64]) -> Any:
    """Pay for a cut: lower the reduced costs of its cells by the least of them, returned."""
    least = _ENDLESS
    left = cut
    while left != NONE:
        least = min(least, rest[lowest(left)])
        left &= left - ONE
    if least > 0:
        left = cut
        while left != NONE:
            rest[lowest(left)] -= least
            left &= left - ONE
    return least


def lone_lines(
    star: NDArray[np.uint64], lines: int, active: Any, cuts: NDArray[np.uint64], inside: Any,
    opens: Any,
) -> tuple[int, Any]:  # fmt: skip
    """Cuts of relations with exactly one suppressed cell that has to move.

    A chosen cell that cannot move is of no use, so no canonical pattern has one, even at no cost.

    Returns
    -------
    int
        Number of cuts; -1 if one is empty.
    uint64
        The cells concerned.
    """
    lone = NONE
    count = 0
    for v in range(lines):
        line = star[0, v] | star[1, v]
        here = inside & line
        if here != NONE and here & (here - ONE) == NONE and here & active != NONE:
            cut = opens & line
            if cut == NONE:
                return -1, lone
            cuts[count] = cut
            count += 1
            lone |= here
    return count, lone


def by_size(cuts: NDArray[np.uint64], count: int) -> None:
    """Sort cuts, smallest first (they are few)."""
    for i in range(1, count):
        cut = cuts[i]
        s = size(cut)
        j = i - 1
        while j >= 0 and size(cuts[j]) > s:
            cuts[j + 1] = cuts[j]
            j -= 1
        cuts[j + 1] = cut


def ascend_further(
    ends: NDArray[np.int64], star: NDArray[np.uint64], room: NDArray[np.int64],
    moves: NDArray[np.uint64], need: NDArray[np.int64], flow: NDArray[np.int64],
    found: NDArray[np.uint64], cuts: NDArray[np.uint64], rest: NDArray[np.int64],
    inside: Any, opens: Any, todo: Any, count: int, bound: int, best: int,
) -> tuple[int, int]:  # fmt: skip
    """Suppress every cell already paid for, and pay for the cuts that are violated even so.

    Returns
    -------
    count, bound : int
        `count` is -1 if no pattern below is safe.
    """
    wide = inside
    left = opens
    while left != NONE:
        if rest[lowest(left)] == 0:
            wide |= left & (~left + ONE)
        left &= left - ONE
    while todo != NONE and (best < 0 or bound <= best):
        if not probe(ends, star, room, moves, need, flow, found, wide, opens & ~wide, lowest(todo)):
            todo &= todo - ONE
            continue
        for k in range(2):
            cut = found[k]
            if cut == NONE:
                return -1, bound
            if k == 1 and cut & wide != NONE:
                break
            if count < CUTS:
                cuts[count] = cut
                count += 1
            bound += ascend(cut, rest)
            left = cut
            while left != NONE:
                if rest[lowest(left)] == 0:
                    wide |= left & (~left + ONE)
                left &= left - ONE
    return count, bound


def search(net: Net, case: Case, work: Work, limit: int) -> bool:
    """Work off the stack of open nodes, up to `limit` of them; True if none is left.

    The best pattern and its cost are in `work`: least cost of chosen cells, then least number.
    """
    ends, star, lines = net.ends, net.star, net.lines
    room, need, moves = case.room, case.need, case.moves
    state, stack, price, best = work.state, work.stack, work.price, work.best
    cuts, rest, flow, found = work.cuts, work.rest, work.flow, work.found
    cost_of, may, needy = case.cost, case.marks[0], case.marks[2]
    cells = ends.shape[1]
    until = state[2] + limit
    while state[0] > 0 and state[2] < until:
        state[0] -= 1
        top = state[0]
        inside, out, safe = stack[top, 0], stack[top, 1], stack[top, 2]
        cost, least = price[top, 0], price[top, 1]
        state[2] += 1
        # Few nodes settle most tables; the flows that sharpen bounds pay only after that.
        quick = state[2] <= _QUICK
        opens = NONE
        count = 0
        grown = True
        while True:
            if grown:
                if state[1] >= 0 and (
                    least > state[1] or cost > state[1] or (cost == state[1] and inside >= best[0])
                ):
                    break
                opens = may & ~inside & ~out
                count, lone = lone_lines(star, lines, (inside & may) | needy, cuts, inside, opens)
                if count < 0:
                    break
                todo = needy & ~safe & ~lone
                if quick and count > 0:
                    todo = NONE
                dead = False
                while todo != NONE:
                    p = lowest(todo)
                    if not probe(ends, star, room, moves, need, flow, found, inside, opens, p):
                        safe |= ONE << np.uint64(p)
                    elif found[0] == NONE or found[1] == NONE:
                        dead = True
                        break
                    else:
                        cuts[count] = found[0]
                        count += 1
                        if found[1] != found[0]:
                            cuts[count] = found[1]
                            count += 1
                    todo &= todo - ONE
                if dead:
                    break
                if count == 0:
                    state[1] = cost
                    state[3] += 1
                    best[0] = inside
                    if state[4] != 0:
                        return False
                    break
            by_size(cuts, count)
            for e in range(cells):
                rest[e] = cost_of[e]
            bound = cost
            for i in range(count):
                bound += ascend(cuts[i], rest)
            if not quick and (state[1] < 0 or bound <= state[1]):
                count, bound = ascend_further(
                    ends, star, room, moves, need, flow, found, cuts, rest,
                    inside, opens, needy & ~safe, count, bound, state[1],
                )  # fmt: skip
                if count < 0:
                    break
            least = max(least, bound)
            gone = NONE
            if state[1] >= 0:
                spare = state[1] - bound
                if spare < 0:
                    break
                # Cells that no better pattern has: too dear, or as dear but too high.
                left = opens
                while left != NONE:
                    bit = left & (~left + ONE)
                    left &= left - ONE
                    r = rest[lowest(bit)]
                    if r > spare or (r == spare and (inside | bit) >= best[0]):
                        gone |= bit
            out |= gone
            opens &= ~gone
            number, used = inside, NONE
            smallest = cuts[0]
            shrunk, dead = False, False
            for i in range(count):
                cut = cuts[i] & ~gone
                if cut == NONE:
                    dead = True
                    break
                if cut != cuts[i]:
                    shrunk = True
                    cuts[i] = cut
                if cut & used == NONE:
                    number |= cut & (~cut + ONE)
                    used |= cut
                if i == 0 or size(cut) < size(smallest):
                    smallest = cut
            if dead:
                break
            # Disjoint cuts each add at least their lowest cell to the number.
            if state[1] == bound and number >= best[0]:
                break
            if smallest & (smallest - ONE) == NONE:
                for i in range(count):
                    cut = cuts[i]
                    if cut & (cut - ONE) == NONE and cut & inside == NONE:
                        inside |= cut
                        cost += cost_of[lowest(cut)]
                grown = True
                continue
            if shrunk:
                grown = False
                continue
            # The cell with the most cuts for its cost, lowest first.
            pick, most = lowest(smallest), 0
            left = smallest
            while left != NONE:
                bit = left & (~left + ONE)
                e = lowest(left)
                left &= left - ONE
                hits = 0
                for i in range(count):
                    if cuts[i] & bit != NONE:
                        hits += 1
                if most == 0 or cost_of[e] / hits < cost_of[pick] / most:
                    pick, most = e, hits
            bit = ONE << np.uint64(pick)
            top = state[0]
            stack[top, 0], stack[top, 1], stack[top, 2] = inside, out | bit, safe
            price[top, 0], price[top, 1] = cost, least
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = inside | bit, out, safe
            price[top + 1, 0], price[top + 1, 1] = cost + cost_of[pick], least
            state[0] = top + 2
            break
    return bool(state[0] == 0)


def fill(
    net: Net, case: Case, values: Any, bounds: Any, primary: Any, levels: Any, cost: Any,
    may: Any, must: Any,
) -> None:  # fmt: skip
    """Write one table into a case.

    Parameters
    ----------
    net, case
    values : (k,) int64
    bounds : (2, k) int64
        Lower and upper.
    primary : (k,) bool
    levels : (3, k) int64
        Lower, upper, sliding; read at primary cells only.
    cost : (k,) int64
    may, must : uint64
        Cells that may be suppressed, and cells suppressed beforehand.
    """
    cells = net.ends.shape[1]
    most = np.int64(1)
    needy = NONE
    for e in range(cells):
        case.cost[e] = cost[e]
        if primary[e]:
            bit = ONE << np.uint64(e)
            must |= bit
            need = max(levels[0, e], levels[1, e], levels[2, e])
            most = max(most, need)
            if need > 0:
                needy |= bit
            for k in range(3):
                case.need[k, e] = levels[k, e]
    up, down = NONE, NONE
    for e in range(cells):
        # Flows stop at the largest level, so more room than that is never used.
        case.room[0, e] = most if bounds[1, e] >= _ENDLESS else min(most, bounds[1, e] - values[e])
        case.room[1, e] = most if bounds[0, e] <= -_ENDLESS else min(most, values[e] - bounds[0, e])
        bit = ONE << np.uint64(e)
        if case.room[0, e] > 0:
            up |= bit
        if case.room[1, e] > 0:
            down |= bit
    case.moves[0], case.moves[1] = up, down
    # A cell without room protects nothing.
    case.marks[0] = may & ~must & (up | down)
    case.marks[1] = must
    case.marks[2] = needy


def start(case: Case, work: Work) -> None:
    """Forget the last table and open the root."""
    state, stack, price = work.state, work.stack, work.price
    state[0], state[1], state[2], state[3], state[4] = 1, -1, 0, 0, 0
    work.best[0] = NONE
    stack[0, 0], stack[0, 1], stack[0, 2] = case.marks[1], NONE, NONE
    price[0, 0], price[0, 1] = 0, 0


def holds(net: Net, case: Case, work: Work, pattern: Any) -> bool:
    """Whether a pattern is safe and made of nothing but cells that may be of use."""
    may, must = case.marks[0], case.marks[1]
    if must & ~pattern != NONE or pattern & ~(may | must) != NONE:
        return False
    todo = case.marks[2]
    while todo != NONE:
        if probe(
            net.ends,
            net.star,
            case.room,
            case.moves,
            case.need,
            work.flow,
            work.found,
            pattern,
            NONE,
            lowest(todo),
        ):
            return False
        todo &= todo - ONE
    return True


def chosen_cost(case: Case, pattern: Any) -> Any:
    """Cost of the chosen cells of a pattern."""
    total = np.int64(0)
    left = pattern & case.marks[0]
    while left != NONE:
        total += case.cost[lowest(left)]
        left &= left - ONE
    return total


def solve_many(
    net: Net, case: Case, work: Work, values: Any, bounds: Any, primary: Any, levels: Any,
    cost: Any, may: Any, must: Any, hint: Any, limit: int, patterns: Any, totals: Any,
    outcome: Any, nodes: Any,
) -> None:  # fmt: skip
    """Canonical pattern of many tables; `hint` is tried first as the pattern to beat.

    Written: pattern, cost of its chosen cells (-1: none), outcome (0 proven, 1 infeasible, 2
    limit) and nodes of each table.
    """
    for t in range(values.shape[0]):
        fill(net, case, values[t], bounds, primary[t], levels[t], cost[t], may, must)
        start(case, work)
        if hint != NONE and holds(net, case, work, hint):
            work.state[1] = chosen_cost(case, hint)
            work.best[0] = hint
        done = search(net, case, work, limit)
        patterns[t], totals[t], nodes[t] = work.best[0], work.state[1], work.state[2]
        outcome[t] = 2 if not done else (1 if work.state[1] < 0 else 0)


def decide_many(
    net: Net, case: Case, work: Work, values: Any, bounds: Any, primary: Any, levels: Any,
    cost: Any, may: Any, must: Any, pattern: Any, pool: Any, limit: int, outcome: Any, nodes: Any,
) -> None:  # fmt: skip
    """Whether `pattern` is the canonical answer for each of many tables.

    Written: outcome (0 it is, 1 it is not, 2 limit) and nodes of each table; `pool`, the
    patterns that beat it last (most recent first; 0: none yet).
    """
    for t in range(values.shape[0]):
        nodes[t] = 0
        outcome[t] = 1
        fill(net, case, values[t], bounds, primary[t], levels[t], cost[t], may, must)
        if not holds(net, case, work, pattern):
            continue
        total = chosen_cost(case, pattern)
        beaten = False
        place = len(pool) - 1
        for i in range(len(pool)):
            other = pool[i]
            if other == NONE:
                place = i
                break
            if case.marks[1] & ~other != NONE:
                continue
            price = chosen_cost(case, other)
            if price > total or (price == total and other >= pattern):
                continue
            if holds(net, case, work, other):
                beaten, place = True, i
                break
        if not beaten:
            start(case, work)
            work.state[1], work.state[4] = total, 1
            work.best[0] = pattern
            done = search(net, case, work, limit)
            nodes[t] = work.state[2]
            if work.state[3] == 0:
                outcome[t] = 0 if done else 2
                continue
            other = work.best[0]
        for i in range(place, 0, -1):
            pool[i] = pool[i - 1]
        pool[0] = other


def room_for_work(nodes: int) -> tuple[Case, Work]:
    """Arrays for networks of so many nodes."""

    def whole(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    def masks(*shape: int) -> NDArray[np.uint64]:
        return np.zeros(shape, dtype=np.uint64)

    case = Case(whole(2, MOST), whole(3, MOST), whole(MOST), masks(2), masks(3))
    # One open node for each cell published so far, and the one just made.
    depth = MOST + 3
    work = Work(
        whole(5), masks(1), masks(depth, 3), whole(depth, 2), masks(CUTS), whole(MOST),
        whole(3, max(nodes, MOST)), masks(2),
    )  # fmt: skip
    return case, work


_KERNELS = (
    *("spread", "crossing", "push", "probe"),
    *("ascend", "lone_lines", "by_size", "ascend_further", "search", "fill", "start"),
    *("holds", "chosen_cost", "solve_many", "decide_many"),
)

_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of the functions of this module and of `csp.solve.bitflow`, by name.

    The plain functions stay as they are: numba gets copies that see one another.
    """
    if _compiled:
        return _compiled
    from inspect import getsource
    from types import CellType, FunctionType

    import numba

    space: dict[str, Any] = {**vars(bitflow), **globals(), **_bit_counts()}
    plain = {name: space[name] for name in _KERNELS}
    # A copy is cached by its own file, but holds what it calls: the other file is in the key.
    stamp = CellType(hashlib.blake2b(getsource(bitflow).encode()).hexdigest())
    for name, f in plain.items():
        code = f.__code__.replace(co_freevars=("stamp",))
        copy = FunctionType(code, space, name, None, (stamp,))
        copy.__module__ = f.__module__
        space[name] = numba.njit(cache=True)(copy)
    _compiled.update({name: space[name] for name in _KERNELS})
    return _compiled


def _bit_counts() -> dict[str, Any]:
    """`lowest` and `size` as single machine instructions."""
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def lowest(_context: Any, mask: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], cgutils.true_bit)

        return types.int64(types.uint64), generate

    def size(_context: Any, mask: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    return {"lowest": intrinsic(lowest), "size": intrinsic(size)}
