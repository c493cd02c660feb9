"""Search for all inclusion-minimal safe patterns of a small network up to a cost.

A safe pattern is inclusion-minimal if no chosen cell can be published. As more suppression keeps
a pattern safe, single removals decide that.

A node of the search suppresses some cells and publishes others. A requirement that is violated
yields a set of undecided cells of which every safe pattern below the node suppresses at least one
(a cut, `csp.solve.small.search`). One cell of a smallest cut is suppressed in one child and
published in the other, so the patterns below a node are those of its children, and none is below
both. A node whose suppressed cells are safe is a leaf: every minimal safe pattern below it is this
one. So each minimal safe pattern is found exactly once. Unlike the search for the canonical
pattern, nothing is cut off but patterns beyond the limit.

Plain functions that numba compiles (`KERNELS`); run uncompiled they are the oracle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from csp.compiled import Kernels
from csp.solve.small import kernels
from csp.solve.small.flow import NONE, ONE, Arcs, Case, Net, Work, lowest, probe, size
from csp.solve.small.many import Tables, chosen_cost, fill, holds, start
from csp.solve.small.search import ascend, by_size, lone_lines, search


def spares(net: Net, case: Case, work: Work, pattern: Any) -> bool:
    """Whether a safe pattern stays safe without one of its chosen cells."""
    left = pattern & case.marks[0]
    while left != NONE:
        if holds(net, case, work, pattern & ~(left & (~left + ONE))):
            return True
        left &= left - ONE
    return False


def gather(net: Net, case: Case, work: Work, most: int, limit: int, kept: Any) -> bool:
    """Collect minimal safe patterns, from where the last call stopped.

    Parameters
    ----------
    net, case, work
        `csp.solve.small.many.start` opens the root; ``work.state[3]`` counts the patterns in
        `kept`.
    most : int
        Largest cost of chosen cells.
    limit : int
        Nodes to look at, counted in ``work.state[2]`` from the root on.
    kept : (c,) uint64

    Returns
    -------
    bool
        Whether all were found; if not, `kept` is full or the nodes are spent.
    """
    arcs = Arcs(net.ends, net.star, case.room, case.moves, work.flow, work.found)
    need, cells = case.need, net.ends.shape[1]
    state, stack, price = work.state, work.stack, work.price
    cuts, rest, found = work.cuts, work.rest, work.found
    cost_of, may, needy = case.cost, case.marks[0], case.marks[2]
    while state[0] > 0:
        if state[2] >= limit or state[3] >= len(kept):
            return False
        state[0] -= 1
        top = state[0]
        inside, out, safe = stack[top, 0], stack[top, 1], stack[top, 2]
        cost = price[top, 0]
        state[2] += 1
        while cost <= most:
            opens = may & ~inside & ~out
            # A chosen cell that is alone in a relation cannot move, so a minimal pattern has none.
            active = (inside & may) | needy
            count, lone = lone_lines(net.star, net.lines, active, cuts, inside, opens)
            if count < 0:
                break
            todo = needy & ~safe & ~lone
            dead = False
            while todo != NONE:
                p = lowest(todo)
                if not probe(arcs, need, inside, opens, p):
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
                if not spares(net, case, work, inside):
                    kept[state[3]] = inside
                    state[3] += 1
                break
            by_size(cuts, count)
            for e in range(cells):
                rest[e] = cost_of[e]
            bound = cost
            for i in range(count):
                bound += ascend(cuts[i], rest)
            if bound > most:
                break
            # Reduced costs tell which cells are in no pattern below that costs no more.
            left = opens
            while left != NONE:
                bit = left & (~left + ONE)
                left &= left - ONE
                if rest[lowest(bit)] > most - bound:
                    out |= bit
            opens &= ~out
            smallest, forced = cuts[0], NONE
            for i in range(count):
                cut = cuts[i] & ~out
                cuts[i] = cut
                if cut == NONE:
                    dead = True
                    break
                if cut & (cut - ONE) == NONE:
                    forced |= cut
                if i == 0 or size(cut) < size(smallest):
                    smallest = cut
            if dead:
                break
            if forced != NONE:
                inside |= forced
                while forced != NONE:
                    cost += cost_of[lowest(forced)]
                    forced &= forced - ONE
                continue
            pick, best = lowest(smallest), 0
            left = smallest
            while left != NONE:
                bit = left & (~left + ONE)
                left &= left - ONE
                hits = 0
                for i in range(count):
                    if cuts[i] & bit != NONE:
                        hits += 1
                if hits > best:
                    pick, best = lowest(bit), hits
            bit = ONE << np.uint64(pick)
            top = state[0]
            stack[top, 0], stack[top, 1], stack[top, 2] = inside, out | bit, safe
            price[top, 0] = cost
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = inside | bit, out, safe
            price[top + 1, 0] = cost + cost_of[pick]
            state[0] = top + 2
            break
    return True


def optimum(net: Net, case: Case, work: Work, hint: Any, limit: int) -> tuple[int, bool]:
    """Least cost of a safe pattern (-1: there is none), and whether it is proved.

    `hint` is a safe pattern, or empty.
    """
    start(case, work)
    if hint != NONE:
        work.state[1], work.best[0] = chosen_cost(case, hint), hint
    done = search(net, case, work, limit)
    return work.state[1], done


def cheaper(net: Net, case: Case, work: Work, price: int, pool: Any) -> bool:
    """Whether a pattern of `pool` is safe and costs less; it moves to the front."""
    for i in range(len(pool)):
        other = pool[i]
        if other == NONE:
            return False
        if chosen_cost(case, other) < price and holds(net, case, work, other):
            for j in range(i, 0, -1):
                pool[j] = pool[j - 1]
            pool[0] = other
            return True
    return False


def census_many(
    net: Net, case: Case, work: Work, tables: Tables, pattern: Any, slack: int, limit: int,
    kept: Any, pool: Any, excess: Any, counts: Any, outcome: Any,
) -> None:  # fmt: skip
    """Count the minimal safe patterns of many tables, where one pattern is among them.

    Parameters
    ----------
    net, case, work, tables
        As `csp.solve.small.many.solve_many`.
    pattern : uint64
    slack : int
        Patterns may cost so much more than the cheapest one.
    limit : int
        Nodes for each table.
    kept : (c,) uint64
        Room for work.
    pool : (p,) uint64
        Patterns that were cheaper for earlier tables, most recent first (0: none yet).
    excess : (t,) int64
        Written: how much more the pattern costs than the cheapest one; -1 where it is not safe, not
        minimal or beyond the slack (nothing is counted then).
    counts : (t, slack + 1) int64
        Written: number of patterns by how much more they cost.
    outcome : (t,) int64
        Written: 0 done, 2 the node limit was reached.
    """
    values, primary, levels, cost, bounds, may, must = tables
    for t in range(len(values)):
        fill(net, case, values[t], bounds, primary[t], levels[t], cost[t], may, must)
        excess[t], outcome[t] = -1, 0
        counts[t, :] = 0
        if not holds(net, case, work, pattern) or spares(net, case, work, pattern):
            continue
        price = chosen_cost(case, pattern)
        if cheaper(net, case, work, price - slack, pool):
            continue
        least, done = optimum(net, case, work, pattern, limit)
        if not done:
            outcome[t] = 2
            continue
        if price - least > slack:
            for j in range(len(pool) - 1, 0, -1):
                pool[j] = pool[j - 1]
            pool[0] = work.best[0]
            continue
        excess[t] = price - least
        start(case, work)
        done = False
        while not done:
            done = gather(net, case, work, least + slack, limit, kept)
            for i in range(work.state[3]):
                counts[t, chosen_cost(case, kept[i]) - least] += 1
            if not done and work.state[3] < len(kept):
                outcome[t] = 2
                break
            work.state[3] = 0


def first_many(
    net: Net, case: Case, work: Work, tables: Tables, slack: int, limit: int, kept: Any,
    patterns: Any, totals: Any, counts: Any, outcome: Any,
) -> None:  # fmt: skip
    """Write the first minimal safe patterns of many tables: by cost, then by binary number.

    Parameters
    ----------
    net, case, work, tables, slack, limit
        As `census_many`.
    kept : (c,) uint64
        Room for the patterns of one table.
    patterns : (t, f) uint64
        Written: the first f patterns.
    totals : (t, f) int64
        Written: costs of their chosen cells.
    counts : (t,) int64
        Written: number of all patterns up to the slack, which may be more than f.
    outcome : (t,) int64
        Written: 0 done, 1 no pattern is safe, 2 the node limit was reached, 3 `kept` was full.
    """
    values, primary, levels, cost, bounds, may, must = tables
    for t in range(len(values)):
        fill(net, case, values[t], bounds, primary[t], levels[t], cost[t], may, must)
        patterns[t, :] = NONE
        totals[t, :] = -1
        counts[t] = 0
        least, done = optimum(net, case, work, NONE, limit)
        if not done or least < 0:
            outcome[t] = 1 if done else 2
            continue
        start(case, work)
        done = gather(net, case, work, least + slack, limit, kept)
        count = work.state[3]
        if not done:
            outcome[t] = 3 if count >= len(kept) else 2
            continue
        outcome[t] = 0
        counts[t] = count
        # Sorted by number first, and then by cost without changing the order of equals.
        sorted_masks = np.sort(kept[:count])
        prices = np.zeros(count, dtype=np.int64)
        for i in range(count):
            prices[i] = chosen_cost(case, sorted_masks[i])
        order = np.argsort(prices, kind="mergesort")
        for f in range(min(count, patterns.shape[1])):
            patterns[t, f], totals[t, f] = sorted_masks[order[f]], prices[order[f]]


KERNELS = Kernels(
    __name__,
    *("spares", "gather", "optimum", "cheaper", "census_many", "first_many"),
    beside=kernels.HOMES,
    given=kernels.KERNELS,
)
