"""The choice as integer programs in PuLP, and the smallest relaxation where there is none.

Three-way tables need not have a rounding in which each cell goes to a multiple next to its value
(Causey, Cox and Ernst 1985). Then the fewest cells go one base further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.clock import Clock
from csp.errors import OutOfTime, SolverError, Unroundable
from csp.exact import Bools, Ints
from csp.rounding.improvement import improve, some_choice
from csp.rounding.neighbours import Neighbours
from csp.solve.ilp.solvers import Solver, bound_of, solve
from csp.sparse import entries

_MANY = 2_000
"""Cells to choose for, from which on a first choice is looked for before the whole program.

HiGHS proves an optimum of 1,073 in seconds; of 7,378 it finds only poor choices in a minute.
"""

_SAME = 0.5
"""Costs are whole numbers: a bound that is less below the cost than this proves it."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A rounded table.

    Attributes
    ----------
    values : (n,) int64
        In units.
    proven : bool
        Whether the solver says that none is closer.
    """

    values: Ints
    proven: bool


def chosen(near: Neighbours, cost: Ints, solver: Solver, clock: Clock) -> Choice | None:
    """Additive choice of least cost; None if there is none at all.

    Parameters
    ----------
    near : Neighbours
    cost : (k,) int64
    solver : str or pulp solver, optional
    clock : Clock

    Raises
    ------
    OutOfTime
        If the time ran out before there was a choice. Ctrl-C keeps a choice that there is.
    SolverError
        If the solver ended without an answer that adds up.
    """
    import pulp

    start = None
    program = pulp.LpProblem("rounding", pulp.LpMinimize)
    up = [program.add_variable(f"u{j}", cat="Binary") for j in range(len(near.cells))]
    program.setObjective(_sum(cost, up))
    _bind(program, near.matrix, near.right, up)
    try:
        if len(near.cells) > _MANY:
            start = some_choice(near, cost, clock.part(0.5))
            if start is not None:
                improve(near, cost, start, clock.part(0.7))
        word = solve(program, solver, clock, start=start)
    except KeyboardInterrupt:
        # What there is by then is a rounded table, though not the closest.
        if start is None:
            raise
        return Choice(near.values(start), proven=False)
    if word == "infeasible" and start is None:
        return None
    found = [one for one in (_read(up), start) if one is not None and near.adds_up(one)]
    if not found:
        raise _unanswered(word, clock)
    best = min(found, key=lambda one: int(cost @ one))
    # What has been called optimal and is not cheaper than the start may be the start itself.
    proven = word == "optimal" and int(cost @ best) - bound_of(program) < _SAME
    return Choice(near.values(best), proven)


def relaxed(near: Neighbours, cost: Ints, solver: Solver, clock: Clock) -> Choice:
    """Closest additive table among those in which the fewest cells leave their two multiples.

    These go one base further, so that they are less than two bases off; cells that are publicly
    known to be empty stay, and no cell falls below the multiple next to its lower bound.

    Raises
    ------
    Unroundable
        If there is none.
    OutOfTime, SolverError
        As for `chosen`.
    """
    import pulp

    table, base = near.table, near.base
    down = near.floor - 1 >= np.floor_divide(table.lower, base)
    program = pulp.LpProblem("rounding", pulp.LpMinimize)
    up = [program.add_variable(f"u{j}", cat="Binary") for j in range(len(near.cells))]
    above = _flags(program, "a", near.further)
    below = _flags(program, "b", near.further & down)
    steps: list[dict[int, Any]] = [dict(zip(near.cells.tolist(), up, strict=True)), above, below]
    right = -(table.relations @ near.floor)
    for row in range(table.relations.shape[0]):
        terms = [
            sign * a * some[i]
            for i, a in entries(table.relations, row)
            for some, sign in zip(steps, (1, 1, -1), strict=True)
            if i in some
        ]
        if terms or right[row]:
            program += pulp.lpSum(terms) == int(right[row])
    left = pulp.lpSum([*above.values(), *below.values()])
    program.setObjective(left)
    word = solve(program, solver, clock)
    if word == "infeasible":
        msg = (
            "no additive table has all cells at multiples of the base that are less than two bases "
            "from their values; take another base, or publish fewer dimensions together"
        )
        raise Unroundable(msg)
    if word != "optimal":
        raise _unanswered(word, clock)
    fewest = round(pulp.value(left) or 0)
    program += left <= fewest
    program.setObjective(_sum(cost, up) + base * left)
    word = solve(program, solver, clock)
    moved = near.floor.copy()
    for some, sign in zip(steps, (1, 1, -1), strict=True):
        moved[list(some)] += sign * _read(list(some.values()))
    off = np.abs(moved * base - table.values)
    if (table.relations @ moved).any() or (off >= 2 * base).any() or (off >= base).sum() > fewest:
        raise _unanswered(word, clock)
    return Choice(moved * base, word == "optimal")


def _flags(program: Any, letter: str, there: Bools) -> dict[int, Any]:
    return {
        i: program.add_variable(f"{letter}{i}", cat="Binary")
        for i in np.flatnonzero(there).tolist()
    }


def _sum(cost: Ints, variables: list[Any]) -> Any:
    import pulp

    return pulp.lpSum(c * v for c, v in zip(cost.tolist(), variables, strict=True))


def _bind(program: Any, matrix: Any, right: Ints, variables: list[Any]) -> None:
    import pulp

    for row in range(matrix.shape[0]):
        terms = [a * variables[j] for j, a in entries(matrix, row)]
        program += pulp.lpSum(terms) == int(right[row])


def _read(variables: list[Any]) -> Ints:
    """Zeros and ones of a solution, which is checked by those who ask.

    A variable that neither costs anything nor is in a relation has no value: 0 will do.
    """
    import pulp

    given = [pulp.value(one) or 0.0 for one in variables]
    return np.rint(np.array(given, dtype=np.float64)).astype(np.int64)


def _unanswered(word: str, clock: Clock) -> Exception:
    if clock.over:
        return OutOfTime("the time limit passed before the table was rounded; allow more time")
    return SolverError(f"the integer program of the rounding ended as {word}")
