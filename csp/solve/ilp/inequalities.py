"""What an attacker's linear programs say of a point: inequalities that every safe pattern keeps.

The dual prices of the relations prove that a cell moves no further. A price found in floating point
is taken for the nearest fraction: the inequality holds for any prices, and is computed from them in
exact integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.clock import Clock
from csp.errors import OutOfTime, SolverError
from csp.exact import UNBOUNDED, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import room
from csp.solve.cuts import Cut
from csp.solve.ilp.solvers import solve
from csp.sparse import entries

LATE = "the time limit passed before the integer programs were solved; use method 'auto'"

VIOLATED = 1e-6
"""By how much an inequality with right side 1 must be violated to count."""

_TINY = 1e-6
"""Least weight: solvers drop smaller ones, which would exclude patterns."""

# Denominators of prices: those of networks are 1, those of other tables have small factors.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 12, 60, 840, 2**20)


@dataclass(frozen=True, slots=True, eq=False)
class Price:
    """How far a cell moves in one direction, and a price for each relation that says why.

    Attributes
    ----------
    reach : float
    sign : {1, -1}
    numerators : (r,) int64
    divisor : int
    """

    reach: float
    sign: int
    numerators: Ints
    divisor: int


def inequality(
    problem: Problem, p: int, need: int, prices: list[Price], known: tuple[int, ...]
) -> Cut | None:
    """Inequality of one requirement, by weak duality.

    For any prices g and direction s, ``c = s e_p - M' g`` gives
    ``sum_i (max(c_i, 0) up_i + max(-c_i, 0) down_i) x_i >= need``; what is suppressed anyway moves
    to the right, and no weight need exceed what then remains (Fischetti and Salazar-González 2000,
    Section 4).

    Parameters
    ----------
    problem : Problem
    p : int
        The primary cell.
    need : int
        Level in units.
    prices : list of Price
        One for each direction that counts towards the level.
    known : tuple of int
        Cells that the attacker knows.

    Returns
    -------
    Cut or None
        With right side 1; None if the prices prove nothing.
    """
    table = problem.table
    up, down = room(table)
    common = math.lcm(*(price.divisor for price in prices))
    weight = np.zeros(table.n_cells, dtype=object)
    endless = np.zeros(table.n_cells, dtype=bool)
    for price in prices:
        c = -(table.relations.T @ price.numerators).astype(object)
        c[p] += price.sign * price.divisor
        c[list(known)] = 0
        c *= common // price.divisor
        endless |= (c > 0) & (up >= UNBOUNDED) | (c < 0) & (down >= UNBOUNDED)
        weight += np.where(c > 0, c * up, -c * down)
    if endless[problem.forced].any():
        return None
    right = need * common - sum(weight[problem.forced].tolist())
    if right <= 0:
        return None
    weight[endless] = right
    cells = np.flatnonzero(problem.free & (weight != 0))
    shares = [min(1.0, w / right) for w in weight[cells].tolist()]
    return Cut(cells, np.maximum(np.array(shares, dtype=np.float64), _TINY), 1.0, "capacity")


class Attacker:
    """How far primary cells can move for one attacker, where cells are suppressed in part.

    Parameters
    ----------
    problem : Problem
    point : (n,) float64
        Share of each cell's room that is open.
    known : tuple of int
        Cells whose value the attacker knows.
    far : int
        Room that stands for none.
    clock : Clock
    """

    def __init__(
        self, problem: Problem, point: Floats, known: tuple[int, ...], far: int, clock: Clock,
    ) -> None:  # fmt: skip
        self._problem, self._point, self._known = problem, point, known
        self._far, self._clock = far, clock
        open_cells = point > VIOLATED
        open_cells[list(known)] = False
        self._cells = np.flatnonzero(open_cells).tolist()
        # A deviation found for one cell moves others as well: these need no program of their own.
        self._moved = {1: np.zeros(len(point)), -1: np.zeros(len(point))}
        self._program: Any = None

    def __repr__(self) -> str:
        return f"Attacker({len(self._cells)} open cells)"

    def missing(self, p: int) -> Cut | None:
        """Inequality that the point violates because a primary cell misses a level; None if not.

        Raises
        ------
        OutOfTime, SolverError
            If a linear program ended without an answer.
        """
        problem = self._problem
        upl, lpl, spl = (int(v[p]) for v in (problem.upl, problem.lpl, problem.spl))
        levels = ((upl, (1,)), (lpl, (-1,)), (spl if spl > upl + lpl else 0, (1, -1)))
        found: dict[int, Price] = {}
        for need, signs in levels:
            enough = need * (1 - VIOLATED)
            if sum(self._moved[s][p] for s in signs) >= enough:
                continue
            found |= {s: self._furthest(p, s) for s in signs if s not in found}
            prices = [found[s] for s in signs]
            if sum(price.reach for price in prices) < enough:
                cut = inequality(problem, p, need, prices, self._known)
                if cut is not None and cut.slack(self._point) < -VIOLATED:
                    return cut
        return None

    def _furthest(self, p: int, sign: int) -> Price:
        """Move one cell as far as the relations allow."""
        import pulp

        prices = np.zeros(self._problem.table.relations.shape[0])
        if self._program is None:
            self._program, self._z, self._relations = self._deviations()
        if p not in self._z:
            return Price(0.0, sign, prices.astype(np.int64), 1)
        self._program.setObjective(-sign * self._z[p])
        word = solve(self._program, None, self._clock)
        if word != "optimal":
            if self._clock.over:
                raise OutOfTime(LATE)
            msg = f"an attacker's linear program ended as {word}; use method 'auto'"
            raise SolverError(msg)
        z = np.array([pulp.value(variable) or 0.0 for variable in self._z.values()])
        for side, most in self._moved.items():
            most[self._cells] = np.maximum(most[self._cells], side * z)
        named = (self._program.get_constraint_by_name(f"r{r}") for r in self._relations)
        prices[self._relations] = [-(row.pi or 0.0) for row in named]
        return Price(float(self._moved[sign][p]), sign, *_fractions(prices))

    def _deviations(self) -> tuple[Any, dict[int, Any], list[int]]:
        """Program of all deviations, its variables by cell, and the relations in it."""
        import pulp

        program = pulp.LpProblem("attacker", pulp.LpMinimize)
        up, down = (np.minimum(v, self._far) * self._point for v in room(self._problem.table))
        z = {i: program.add_variable(f"z{i}", -down[i], up[i]) for i in self._cells}
        relations, used = self._problem.table.relations, []
        for r in range(relations.shape[0]):
            terms = [a * z[i] for i, a in entries(relations, r) if i in z]
            if terms:
                program += pulp.lpSum(terms) == 0, f"r{r}"
                used.append(r)
        return program, z, used


def _fractions(prices: Floats) -> tuple[Ints, int]:
    """Read prices as fractions of one small denominator: numerators, and the denominator."""
    for divisor in _DENOMINATORS:
        near = np.round(prices * divisor)
        if np.abs(prices * divisor - near).max(initial=0.0) < VIOLATED * divisor:
            break
    return near.astype(np.int64), divisor
