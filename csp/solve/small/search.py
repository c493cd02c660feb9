"""Search for the cheapest set of cells that hits every cut of a small network.

A node of the search suppresses some cells and publishes others. What is suppressed violates cuts:
sets of undecided cells of which every safe pattern below the node suppresses at least one. The
cuts price the cells (dual ascent), which bounds the cost and fixes cells; then one cell of a
smallest cut is suppressed or published. Patterns grow along a branch, and so does their binary
number, so that ties are pruned like costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.exact import Ints
from csp.solve.small.flow import NONE, ONE, Arcs, Case, Net, Work, lowest, probe, size

CUTS = 512
"""Cuts kept at one node; further ones still raise the bound."""

# Few nodes settle most tables; the flows that sharpen bounds pay only after these.
_QUICK = 16

_ENDLESS = np.int64(2**62)


def ascend(cut: Any, rest: Ints) -> Any:
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


def pay_all(
    cuts: NDArray[np.uint64], count: int, rest: Ints, cost_of: Ints, cells: int, bound: int,
) -> int:  # fmt: skip
    """Pay for all cuts, the smallest first, from full costs on; return the bound after that."""
    by_size(cuts, count)
    for e in range(cells):
        rest[e] = cost_of[e]
    for i in range(count):
        bound += ascend(cuts[i], rest)
    return bound


def ascend_further(
    arcs: Arcs, need: Ints, cuts: NDArray[np.uint64], rest: Ints,
    inside: Any, opens: Any, todo: Any, count: int, bound: int, best: int,
) -> tuple[int, int]:  # fmt: skip
    """Suppress every cell already paid for, and pay for the cuts that are violated even so.

    Returns
    -------
    count, bound : int
        `count` is -1 if no pattern below is safe.
    """
    found = arcs.found
    wide = inside
    left = opens
    while left != NONE:
        if rest[lowest(left)] == 0:
            wide |= left & (~left + ONE)
        left &= left - ONE
    while todo != NONE and (best < 0 or bound <= best):
        if not probe(arcs, need, wide, opens & ~wide, lowest(todo)):
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


def probe_all(
    arcs: Arcs, need: Ints, cuts: NDArray[np.uint64], inside: Any, opens: Any,
    todo: Any, safe: Any, count: int,
) -> tuple[int, Any]:  # fmt: skip
    """Add the cuts of cells that are not protected.

    Returns
    -------
    int
        Number of cuts; -1 if no pattern below the node is safe.
    uint64
        Cells known to be protected.
    """
    found = arcs.found
    while todo != NONE:
        p = lowest(todo)
        todo &= todo - ONE
        if not probe(arcs, need, inside, opens, p):
            safe |= ONE << np.uint64(p)
        elif found[0] == NONE or found[1] == NONE:
            return -1, safe
        else:
            cuts[count] = found[0]
            count += 1
            if found[1] != found[0]:
                cuts[count] = found[1]
                count += 1
    return count, safe


def too_expensive(opens: Any, rest: Ints, spare: int, inside: Any, best: Any) -> Any:
    """Cells that no better pattern has: too expensive, or as expensive but too high."""
    gone = NONE
    left = opens
    while left != NONE:
        bit = left & (~left + ONE)
        left &= left - ONE
        r = rest[lowest(bit)]
        if r > spare or (r == spare and (inside | bit) >= best):
            gone |= bit
    return gone


def shrink(cuts: NDArray[np.uint64], count: int, gone: Any, inside: Any) -> tuple[bool, Any, Any]:
    """Take cells out of all cuts.

    Returns
    -------
    bool
        Whether a cut had one of them.
    uint64
        A smallest cut; empty if nothing is left of one.
    uint64
        Least number of a pattern that holds what is inside: disjoint cuts each add at least their
        lowest cell.
    """
    number, used = inside, NONE
    smallest = cuts[0]
    shrunk = False
    for i in range(count):
        cut = cuts[i] & ~gone
        if cut == NONE:
            return True, cut, number
        if cut != cuts[i]:
            shrunk = True
            cuts[i] = cut
        if cut & used == NONE:
            number |= cut & (~cut + ONE)
            used |= cut
        if i == 0 or size(cut) < size(smallest):
            smallest = cut
    return shrunk, smallest, number


def pick_cell(cuts: NDArray[np.uint64], count: int, cost_of: Ints, smallest: Any) -> int:
    """Choose the cell of a smallest cut with the most cuts for its cost, lowest first."""
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
    return pick


def search(net: Net, case: Case, work: Work, limit: int) -> bool:
    """Work off the stack of open nodes, up to `limit` of them; True if none is left.

    The best pattern and its cost are in `work`: least cost of chosen cells, then least number.
    """
    arcs = Arcs(net.ends, net.star, case.room, case.moves, work.flow, work.found)
    cells, need = net.ends.shape[1], case.need
    state, stack, price, best = work.state, work.stack, work.price, work.best
    cuts, rest = work.cuts, work.rest
    cost_of, may, needy = case.cost, case.marks[0], case.marks[2]
    until = state[2] + limit
    while state[0] > 0 and state[2] < until:
        state[0] -= 1
        top = state[0]
        inside, out, safe = stack[top, 0], stack[top, 1], stack[top, 2]
        cost, least = price[top, 0], price[top, 1]
        state[2] += 1
        quick = state[2] <= _QUICK
        opens, count = NONE, 0
        grown = True
        while True:
            if grown:
                if state[1] >= 0 and (
                    least > state[1] or cost > state[1] or (cost == state[1] and inside >= best[0])
                ):
                    break
                opens = may & ~inside & ~out
                active = (inside & may) | needy
                count, lone = lone_lines(net.star, net.lines, active, cuts, inside, opens)
                if count < 0:
                    break
                if not quick or count == 0:
                    todo = needy & ~safe & ~lone
                    count, safe = probe_all(arcs, need, cuts, inside, opens, todo, safe, count)
                if count < 0:
                    break
                if count == 0:
                    state[1] = cost
                    state[3] += 1
                    best[0] = inside
                    if state[4] != 0:
                        return False
                    break
            bound = pay_all(cuts, count, rest, cost_of, cells, cost)
            if not quick and (state[1] < 0 or bound <= state[1]):
                count, bound = ascend_further(
                    arcs, need, cuts, rest, inside, opens, needy & ~safe, count, bound, state[1]
                )
                if count < 0:
                    break
            least = max(least, bound)
            gone = NONE
            if state[1] >= 0:
                spare = state[1] - bound
                if spare < 0:
                    break
                gone = too_expensive(opens, rest, spare, inside, best[0])
            out |= gone
            opens &= ~gone
            shrunk, smallest, number = shrink(cuts, count, gone, inside)
            if smallest == NONE or (state[1] == bound and number >= best[0]):
                break
            grown = smallest & (smallest - ONE) == NONE
            if grown:
                for i in range(count):
                    cut = cuts[i]
                    if cut & (cut - ONE) == NONE and cut & inside == NONE:
                        inside |= cut
                        cost += cost_of[lowest(cut)]
                continue
            if shrunk:
                continue
            pick = pick_cell(cuts, count, cost_of, smallest)
            bit = ONE << np.uint64(pick)
            top = state[0]
            stack[top, 0], stack[top, 1], stack[top, 2] = inside, out | bit, safe
            price[top, 0], price[top, 1] = cost, least
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = inside | bit, out, safe
            price[top + 1, 0], price[top + 1, 1] = cost + cost_of[pick], least
            state[0] = top + 2
            break
    return bool(state[0] == 0)
