"""Tables over one small network in turn: written into masks, searched, decided.

Like all that numba compiles (`csp.solve.small.kernels`), these are plain functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.exact import Bools, Ints
from csp.solve.small.flow import MOST, NONE, ONE, Arcs, Case, Net, Work, lowest, probe
from csp.solve.small.search import CUTS, search

_NO_BOUND = np.int64(2**62)


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
        case.room[0, e] = most if bounds[1, e] >= _NO_BOUND else min(most, bounds[1, e] - values[e])
        case.room[1, e] = (
            most if bounds[0, e] <= -_NO_BOUND else min(most, values[e] - bounds[0, e])
        )
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
    arcs = Arcs(net.ends, net.star, case.room, case.moves, work.flow, work.found)
    todo = case.marks[2]
    while todo != NONE:
        if probe(arcs, case.need, pattern, NONE, lowest(todo)):
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


class Tables(NamedTuple):
    """Tables of one structure; see `fill`.

    Attributes
    ----------
    values, primary, cost : (t, k)
    levels : (t, 3, k)
    bounds, may, must
        As for `fill`; they hold for all.
    """

    values: Ints
    primary: Bools
    levels: Ints
    cost: Ints
    bounds: Ints
    may: np.uint64
    must: np.uint64

    def part(self, part: slice) -> Tables:
        """Return some of the tables."""
        return self._replace(
            values=self.values[part], primary=self.primary[part], levels=self.levels[part],
            cost=self.cost[part],
        )  # fmt: skip


def solve_many(
    net: Net, case: Case, work: Work, tables: Tables, hint: Any, limit: int,
    patterns: Any, totals: Any, outcome: Any, nodes: Any,
) -> None:  # fmt: skip
    """Canonical pattern of many tables; `hint` is tried first as the pattern to beat.

    Written: pattern, cost of its chosen cells (-1: none), outcome (0 proven, 1 infeasible, 2
    limit) and nodes of each table.
    """
    values, primary, levels, cost, bounds, may, must = tables
    for t in range(len(values)):
        fill(net, case, values[t], bounds, primary[t], levels[t], cost[t], may, must)
        start(case, work)
        if hint != NONE and holds(net, case, work, hint):
            work.state[1] = chosen_cost(case, hint)
            work.best[0] = hint
        done = search(net, case, work, limit)
        patterns[t], totals[t], nodes[t] = work.best[0], work.state[1], work.state[2]
        outcome[t] = 2 if not done else (1 if work.state[1] < 0 else 0)


def beaten(net: Net, case: Case, work: Work, pattern: Any, pool: Any, least: Any) -> bool:
    """Look for a safe pattern that is preferred to `pattern`.

    Parameters
    ----------
    net, case, work, pattern
    pool : (p,) uint64
        Patterns to try, the first empty one ends them. The one found moves to the front.
    least : uint64
        Cells that it must suppress.
    """
    total = chosen_cost(case, pattern)
    least |= case.marks[1]
    for i in range(len(pool)):
        other = pool[i]
        if other == NONE:
            return False
        if least & ~other != NONE:
            continue
        price = chosen_cost(case, other)
        if price > total or (price == total and other >= pattern):
            continue
        if holds(net, case, work, other):
            for j in range(i, 0, -1):
                pool[j] = pool[j - 1]
            pool[0] = other
            return True
    return False


def decide(net: Net, case: Case, work: Work, pattern: Any, pool: Any, limit: int) -> int:
    """Whether `pattern` is the canonical answer for the table in a case.

    `pool` holds the patterns that beat it last, most recent first (0: none yet); it is updated.

    Returns
    -------
    {0, 1, 2}
        It is; it is not; the node limit was reached.
    """
    work.state[2] = 0
    if not holds(net, case, work, pattern) or beaten(net, case, work, pattern, pool, NONE):
        return 1
    start(case, work)
    work.state[1], work.state[4] = chosen_cost(case, pattern), 1
    work.best[0] = pattern
    done = search(net, case, work, limit)
    if work.state[3] == 0:
        return 0 if done else 2
    last = len(pool) - 1
    for i in range(last):
        if pool[i] == NONE:
            last = i
            break
    for i in range(last, 0, -1):
        pool[i] = pool[i - 1]
    pool[0] = work.best[0]
    return 1


def decide_many(
    net: Net, case: Case, work: Work, tables: Tables, pattern: Any, pool: Any, limit: int,
    outcome: Any, nodes: Any,
) -> None:  # fmt: skip
    """Whether `pattern` is the canonical answer for each of many tables; see `decide`.

    Written: outcome and nodes of each table.
    """
    values, primary, levels, cost, bounds, may, must = tables
    for t in range(len(values)):
        fill(net, case, values[t], bounds, primary[t], levels[t], cost[t], may, must)
        outcome[t] = decide(net, case, work, pattern, pool, limit)
        nodes[t] = work.state[2]


def room_for_work(nodes: int) -> tuple[Case, Work]:
    """Arrays for networks of at most `nodes` nodes."""

    def whole(*shape: int) -> Ints:
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
