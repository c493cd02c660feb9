"""A search over patterns in kernel form: branch and cut over some dozens of cells, compiled.

Relaxations are those of `csp.solve.exact.dual_simplex`, inequalities those of
`csp.attacker.kernel_prices`, relations that would hold a cell alone, and a pool that other
problems with the same relations left. Each is sought where a relaxation violates it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.attacker import kernel_prices
from csp.attacker.kernel_prices import miss
from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints
from csp.solve.exact import dual_simplex
from csp.solve.exact.dual_simplex import add_row, drop, fix, rebuild, solve, weigh

ENDED, POINT, GAVE_UP = 0, 1, 2
"""How a search ended: no pattern is left, one satisfies all inequalities, or it went too far."""

_VIOLATED = 1e-6

_WHOLE = 1e-6

_STEPS = 2000
"""Exchanges for one relaxation."""

_FROM_POOL = 20
"""Inequalities of the pool that are added at a time."""

_ENDLESS = 1e15
"""Beyond any finite room."""

_EXACT = 2.0**50
"""Up to which whole numbers add up exactly."""


class Asked(NamedTuple):
    """What patterns of one problem must keep: cells in kernel form (m), those to choose (n)."""

    matrix: Ints  # (m, d) first form
    columns: Ints  # (d,)
    divisor: int
    place: Ints  # (m,) number among the cells to choose, -1 for one that is forced
    up: Floats  # (m,) room, 1e18 without a bound
    down: Floats  # (m,)
    level: Ints  # (m, 3) lower, upper, sliding; 0 for cells that are not primary
    line_ends: Ints  # (lines + 1,) relations that no cell may be alone in
    line_cells: Ints  # numbers among the cells to choose
    lone: Bools  # (lines,) of those, which hold a cell that needs company
    pool: Floats  # (q, n) pool @ x >= 1


class Tree(NamedTuple):
    """Where a search stands."""

    stack: Ints  # (n + 1, 4) cell, value, whether it was turned, fixed before it
    trail: Ints  # (n,) cells fixed
    tally: Ints  # (4,) depth, cells on the trail, nodes, prices noted
    matrix: Ints  # (m, d) form where the attacker stands
    columns: Ints  # (d,)
    divisor: Ints  # (1,)
    head: Ints  # (c, 3) of each prices noted: cell in the form, kind, unit
    plus: Ints  # (c, m)
    minus: Ints  # (c, m)

    @classmethod
    def of(cls, asked: Asked, n: int, most: int) -> Tree:
        """Before the first node; `most` prices are noted."""
        m = len(asked.matrix)
        return cls(
            np.zeros((n + 1, 4), np.int64), np.zeros(n + 1, np.int64), np.zeros(4, np.int64),
            asked.matrix.copy(), asked.columns.copy(), np.array([asked.divisor]),
            np.zeros((most, 3), np.int64), np.zeros((most, m), np.int64),
            np.zeros((most, m), np.int64),
        )  # fmt: skip


def begin(lp: Any, tree: Any, low: Any, high: Any) -> None:
    """Start a search anew, over other bounds."""
    tree.tally[0] = tree.tally[1] = 0
    for k in range(len(low)):
        fix(lp, k, low[k], high[k])


def compact(lp: Any) -> None:
    """Drop rows that are far from tight."""
    n, m = len(lp.price), lp.size[0]
    gone = np.zeros(m, np.bool_)
    for i in range(m):
        gone[i] = lp.value[n + i] >= 0.05
    drop(lp, gone)


def violated(weights: Any, x: Any, right: float) -> float:
    """How far a point is from keeping an inequality."""
    total = right
    for k in range(len(x)):
        total -= weights[k] * x[k]
    return total


def add_lines(lp: Any, asked: Any, x: Any, weights: Any) -> int:
    """Add violated inequalities of relations that no cell of a minimal pattern is alone in."""
    added = 0
    for r in range(len(asked.lone)):
        total, most, held = 0.0, 0.0, -1
        for at in range(asked.line_ends[r], asked.line_ends[r + 1]):
            k = asked.line_cells[at]
            total += x[k]
            if x[k] > most:
                most, held = x[k], k
        lone = asked.lone[r]
        if (lone and total < 1.0 - _VIOLATED) or (not lone and 2.0 * most - total > _VIOLATED):
            if lp.size[0] >= len(lp.right):
                return added
            for k in range(len(x)):
                weights[k] = 0.0
            for at in range(asked.line_ends[r], asked.line_ends[r + 1]):
                weights[asked.line_cells[at]] = 1.0
            if not lone:
                weights[held] = -1.0
            add_row(lp, weights, 1.0 if lone else 0.0)
            added += 1
    return added


def add_pool(lp: Any, asked: Any, x: Any) -> int:
    """Add the inequalities of the pool that are violated most."""
    q = len(asked.pool)
    far = np.empty(q)
    for r in range(q):
        far[r] = violated(asked.pool[r], x, 1.0)
    added = 0
    while added < _FROM_POOL and lp.size[0] < len(lp.right):
        worst, found = _VIOLATED, -1
        for r in range(q):
            if far[r] > worst:
                worst, found = far[r], r
        if found < 0:
            break
        far[found] = 0.0
        add_row(lp, asked.pool[found], 1.0)
        added += 1
    return added


def weights_of(asked: Any, need: float, plus: Any, minus: Any, weights: Any) -> bool:
    """Make the inequality of some prices, with right side 1; whether they say anything."""
    right, most = need, need
    for k in range(len(weights)):
        weights[k] = 0.0
    for i in range(len(asked.place)):
        p, q, k = plus[i], minus[i], asked.place[i]
        if p == 0 and q == 0:
            continue
        endless = (p > 0 and asked.up[i] > _ENDLESS) or (q > 0 and asked.down[i] > _ENDLESS)
        if k >= 0:
            weights[k] = np.inf if endless else p * asked.up[i] + q * asked.down[i]
        elif endless:
            return False
        else:
            room = p * asked.up[i] + q * asked.down[i]
            most = max(most, room)
            right -= room
    if right <= 0.5 or most > _EXACT / len(asked.place):
        return False
    for k in range(len(weights)):
        weights[k] = min(weights[k], right) / right
    return True


def add_prices(lp: Any, asked: Any, tree: Any, x: Any, weights: Any, capped: int) -> int:
    """Add inequalities of levels that a point misses, and note their prices.

    Returns
    -------
    int
        Rows added; -1 if one of a whole point does not follow.
    """
    m, added = len(asked.place), 0
    up, down, z = np.empty(m), np.empty(m), np.zeros(m)
    plus, minus = np.empty(m, np.int64), np.empty(m, np.int64)
    before = -1
    for row in range(m):
        need = max(asked.level[row, 0], asked.level[row, 1], asked.level[row, 2])
        if need == 0:
            continue
        if before < 0 or (need != before and capped):
            for i in range(m):
                share = 1.0 if asked.place[i] < 0 else x[asked.place[i]]
                most = 1.0 * need if capped else 1e18
                up[i] = min(asked.up[i], most) * share if share > 1e-9 else 0.0
                down[i] = min(asked.down[i], most) * share if share > 1e-9 else 0.0
                z[i] = 0.0
            before = need
        divisor, kind, common = miss(
            tree.matrix, tree.columns, tree.divisor[0], z, up, down, row, asked.level[row], plus,
            minus,
        )  # fmt: skip
        if divisor == 0:
            for j in range(len(asked.columns)):
                tree.columns[j] = asked.columns[j]
                for i in range(m):
                    tree.matrix[i, j] = asked.matrix[i, j]
            tree.divisor[0] = asked.divisor
            before = -1
            continue
        tree.divisor[0] = divisor
        if kind < 0:
            continue
        level = asked.level[row, 1 if kind == 0 else 0 if kind == 1 else 2]
        if not weights_of(asked, 1.0 * level * common, plus, minus, weights):
            continue
        if violated(weights, x, 1.0) <= _VIOLATED:
            continue
        if lp.size[0] >= len(lp.right):
            return added
        add_row(lp, weights, 1.0)
        added += 1
        if tree.tally[3] < len(tree.head):
            at = tree.tally[3]
            tree.head[at, 0], tree.head[at, 1], tree.head[at, 2] = row, kind, common
            for i in range(m):
                tree.plus[at, i], tree.minus[at, i] = plus[i], minus[i]
            tree.tally[3] = at + 1
    return added


def fix_by_price(lp: Any, tree: Any, bound: float, reduced: Any, cutoff: float) -> None:
    """Fix cells that no pattern within the cutoff has otherwise, by their reduced costs."""
    for k in range(len(reduced)):
        if lp.low[k] < lp.high[k] and bound + abs(reduced[k]) > cutoff:
            to = 0.0 if reduced[k] > 0.0 else 1.0
            fix(lp, k, to, to)
            tree.trail[tree.tally[1]] = k
            tree.tally[1] += 1


def evaluate(lp: Any, asked: Any, tree: Any, cutoff: float, rounds: int) -> int:
    """Bound a node and cut off its relaxations.

    Returns
    -------
    int
        0: nothing lies below it; 1: its relaxation is whole, and keeps all inequalities; 2: it is
        to be divided; 3: neither.
    """
    n = len(lp.price)
    x, weights, reduced = np.empty(n), np.empty(n), np.empty(n)
    rebuilt, looked = False, 0
    while True:
        if lp.size[0] + 2 * _FROM_POOL > len(lp.right):
            compact(lp)
        status, line = solve(lp, cutoff, _STEPS)
        bound = weigh(lp, line, reduced)
        if bound > (_VIOLATED if line != 0 else cutoff):
            return 0
        open_cells, whole = 0, True
        for k in range(n):
            x[k] = min(max(lp.value[k], 0.0), 1.0)
            open_cells += lp.low[k] < lp.high[k]
            whole = whole and (x[k] < _WHOLE or x[k] > 1.0 - _WHOLE)
        if status != 0:
            if rebuilt:
                return 2 if open_cells > 0 else 3
            rebuild(lp)
            rebuilt = True
            continue
        fix_by_price(lp, tree, bound, reduced, cutoff)
        if whole:
            for k in range(n):
                x[k] = 1.0 if x[k] > 0.5 else 0.0
        if not whole and looked >= rounds:
            return 2
        looked += 1
        added = add_lines(lp, asked, x, weights)
        if added == 0:
            added = add_pool(lp, asked, x)
        # First with rooms up to the level alone: that finds stronger inequalities.
        capped = 1
        while added == 0 and capped >= (0 if whole else 1):
            added = add_prices(lp, asked, tree, x, weights, capped)
            capped -= 1
        if added == 0:
            return 1 if whole else 2


def branch(lp: Any) -> int:
    """Cell whose share is furthest from whole, of those that are open."""
    best, found = -1.0, -1
    for k in range(len(lp.price)):
        if lp.low[k] < lp.high[k]:
            share = min(lp.value[k], 1.0 - lp.value[k])
            if share > best:
                best, found = share, k
    return found


def search(lp: Any, asked: Any, tree: Any, cutoff: float, most: int, rounds: int) -> int:
    """Search on from where the tree stands; `lp.value` holds a point that was found.

    A point that is refused has to be cut off by a row before the search goes on.
    """
    stack, count = tree.stack, tree.tally
    while True:
        count[2] += 1
        if count[2] > most:
            return 2
        outcome = evaluate(lp, asked, tree, cutoff, 1000 if count[0] == 0 else rounds)
        if outcome == 1:
            return 1
        if outcome == 3:
            return 2
        if outcome == 2:
            k = branch(lp)
            if k < 0:
                return 2
            value = 1
            at = count[0]
            stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3] = k, value, 0, count[1]
            count[0] += 1
            fix(lp, k, value, value)
            continue
        while count[0] > 0:
            at = count[0] - 1
            k = stack[at, 0]
            while count[1] > stack[at, 3]:
                count[1] -= 1
                fix(lp, tree.trail[count[1]], 0.0, 1.0)
            if stack[at, 2] == 0:
                stack[at, 1], stack[at, 2] = 1 - stack[at, 1], 1
                fix(lp, k, stack[at, 1], stack[at, 1])
                break
            fix(lp, k, 0.0, 1.0)
            count[0] = at
        if count[0] == 0:
            return 0


def _given() -> dict[str, Any]:
    return {**dual_simplex.KERNELS.compiled, **kernel_prices.KERNELS.compiled}


KERNELS = Kernels(
    __name__, "begin", "compact", "violated", "add_lines", "add_pool", "weights_of",
    "add_prices", "fix_by_price", "evaluate", "branch", "search", built=_given,
)  # fmt: skip
