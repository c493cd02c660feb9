"""The readable integer programs in PuLP: interval of one cell, and cheapest pattern.

They are the reference that the fast methods are tested against, and the door to every other
solver that PuLP knows. This is the only module that imports PuLP; it keeps to what PuLP 3.3
(Python 3.11) and PuLP 4 (Python 3.12 and later) share. Whether a solver finished is read from
HiGHS itself, because PuLP calls a run that hit its time limit optimal.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.attacker.view import room
from csp.auditing import audit
from csp.errors import OutOfTime, SolverError, Unprotectable
from csp.numbers import UNBOUNDED
from csp.patterns import as_pattern
from csp.problem import Problem
from csp.singletons import insiders
from csp.solve.order import BINARY_UP_TO
from csp.solve.result import Suppression
from csp.solve.unions import union_cut
from csp.table import Table

__all__ = ["interval_ilp", "solve_compact"]

_CHUNK = 16
_LATE = "the time limit passed before the compact program was solved; use method 'cuts'"


def interval_ilp(
    table: Table, pattern: ArrayLike, cell: int, *, integer: bool = True, solver: Any = None
) -> tuple[int | float | None, int | float | None]:
    """Feasibility interval of one suppressed cell (paper 003, equations 5 to 9).

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    cell : int
    integer : bool
        Over integer tables (as the paper has it) or over rational ones.
    solver : pulp solver, optional
        HiGHS by default.

    Returns
    -------
    lower, upper : int (float if not integer) or None
        In table units; None for no end.
    """
    import pulp

    suppressed = as_pattern(table, pattern)
    if not suppressed[cell]:
        value = int(table.values[cell])
        return value, value
    ends: list[int | float | None] = []
    for sense in (pulp.LpMinimize, pulp.LpMaximize):
        model = pulp.LpProblem("interval", sense)
        x = [
            model.add_variable(
                f"x{i}",
                *_limits(table, i) if suppressed[i] else (int(table.values[i]),) * 2,
                cat="Integer" if integer else "Continuous",
            )
            for i in range(table.n_cells)
        ]
        model.setObjective(pulp.lpSum([x[cell]]))
        for row in range(table.relations.shape[0]):
            terms = _row(table, row)
            model += pulp.lpSum(a * x[i] for i, a in terms) == 0
        word = _solve(model, solver)
        if word == "unbounded":
            ends.append(None)
        elif word == "optimal":
            end = float(pulp.value(x[cell]))
            ends.append(round(end) if integer else end)
        else:
            msg = f"the interval of cell {table.cell(cell)} ended as {word}"
            raise SolverError(msg)
    return ends[0], ends[1]


def solve_compact(
    problem: Problem,
    *,
    time_limit: float | None = None,
    integer: bool = False,
    solver: Any = None,
) -> Suppression:
    """Cheapest safe pattern by one integer program (paper 003, Definition 4).

    Each primary cell has one deviation table that shows it high and one that shows it low; both
    may leave the true table in suppressed cells only. With singletons, each pair of primary cell
    and insider has its own two. For small tables: there are as many copies of the table as
    requirements.

    Parameters
    ----------
    problem : Problem
    time_limit : float, optional
        Wall seconds for everything.
    integer : bool
        Deviations are whole units.
    solver : pulp solver, optional
        HiGHS by default. A solver other than HiGHS is taken at its word about optimality.

    Returns
    -------
    Suppression
        Its pattern has passed the exact audit and is one of the cheapest; it is canonical unless
        the time ran out before ties were broken, or the table has more than
        `csp.solve.order.BINARY_UP_TO` cells.

    Raises
    ------
    Unprotectable
        If no pattern keeps every promise.
    OutOfTime
        If the time ran out before any safe pattern was known.
    SolverError
        If the solver stopped early, or its tolerances admitted an unsafe pattern (then use
        method "cuts").
    """
    began = time.monotonic()
    deadline = began + (np.inf if time_limit is None else time_limit)
    model = _compact(problem, integer=integer)
    pattern = _safe_solution(model, model.cost, solver, deadline, integer=integer)
    if pattern is None:
        msg = "no pattern keeps every promise; method 'cuts' names a cell that cannot be protected"
        raise Unprotectable(msg)
    model.best, stopped = pattern, "done"
    try:
        _break_ties(model, pattern, solver, deadline, integer=integer)
    except OutOfTime:
        stopped = "time"
    best = model.best
    best.flags.writeable = False
    counted = best & np.isin(problem.status, ("s", "x"))
    cost = int(sum(problem.cost[counted].tolist()))
    return Suppression(
        pattern=best, cost=cost, bound=cost, gap=0.0, proven=True,
        # Larger tables break ties by labels, which this program does not.
        canonical=stopped == "done" and problem.table.n_cells <= BINARY_UP_TO,
        seconds=time.monotonic() - began, method="compact",
        stopped=stopped, stats={"programs": model.solves},
    )  # fmt: skip


@dataclass(slots=True)
class _Compact:
    """The program, its binary variable of each free cell, and its cost expression."""

    problem: Problem
    program: Any
    x: dict[int, Any]
    cost: Any
    best: NDArray[np.bool_] | None = None
    solves: int = 0


def _compact(problem: Problem, *, integer: bool) -> _Compact:
    import pulp

    program = pulp.LpProblem("suppression", pulp.LpMinimize)
    free = np.flatnonzero(problem.free).tolist()
    x = {i: program.add_variable(f"x{i}", 0, 1, cat="Binary") for i in free}
    cost = pulp.lpSum(int(problem.cost[i]) * x[i] for i in free)
    program.setObjective(cost)
    primaries = np.flatnonzero(problem.primary).tolist()
    attackers = insiders(problem)
    big = _far(problem)
    for p in primaries:
        for known in [(), *(a.knows for a in attackers if p in a.against)]:
            high = _deviation(program, problem, x, p, known, "h", big, integer=integer)
            low = _deviation(program, problem, x, p, known, "l", big, integer=integer)
            program += high >= int(problem.upl[p])
            program += -1 * low >= int(problem.lpl[p])
            program += high - low >= int(problem.spl[p])
    return _Compact(problem, program, x, cost)


def _deviation(
    program: Any, problem: Problem, x: dict[int, Any], p: int, known: Sequence[int], name: str,
    big: int, *, integer: bool,
) -> Any:  # fmt: skip
    """Add one table of deviations from the true one; returns the deviation of cell p."""
    import pulp

    table = problem.table
    up, down = room(table)
    z: dict[int, Any] = {}
    for i in np.flatnonzero(problem.free | problem.forced).tolist():
        if i in known:
            continue
        top = big if up[i] >= UNBOUNDED else int(up[i])
        bottom = big if down[i] >= UNBOUNDED else int(down[i])
        tag = "_".join(str(v) for v in (name, p, *known, i))
        z[i] = program.add_variable(tag, -bottom, top, cat="Integer" if integer else "Continuous")
        if i in x:
            program += z[i] <= top * x[i]
            program += z[i] >= -bottom * x[i]
    for row in range(table.relations.shape[0]):
        terms = [(i, a) for i, a in _row(table, row) if i in z]
        if terms:
            program += pulp.lpSum(a * z[i] for i, a in terms) == 0
    return z[p]


def _far(problem: Problem) -> int:
    """Return a room beyond what any witness of a small table needs."""
    rooms = np.concatenate(room(problem.table))
    finite = int(rooms[rooms < UNBOUNDED].max(initial=1))
    levels = [int(v.max(initial=0)) for v in (problem.lpl, problem.upl, problem.spl)]
    return 20 * (finite + max(levels))


def _safe_solution(
    model: _Compact, objective: Any, solver: Any, deadline: float, *, integer: bool
) -> NDArray[np.bool_] | None:
    """Solve, audit, and cut off patterns that publish a sensitive sum until none is left."""
    import pulp

    problem = model.problem
    model.program.setObjective(objective)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime(_LATE)
        model.solves += 1
        word = _solve(model.program, solver, None if left == np.inf else left)
        if word == "infeasible":
            return None
        if word != "optimal":
            if time.monotonic() >= deadline:
                raise OutOfTime(_LATE)
            msg = f"the compact program ended as {word}; use method 'cuts' or allow more time"
            raise SolverError(msg)
        pattern = problem.forced.copy()
        for i, variable in model.x.items():
            # A variable without cost and without room occurs nowhere, and has no value.
            pattern[i] = (pulp.value(variable) or 0.0) > 0.5
        result = audit(problem, pattern, integer=integer, only_primary=True)
        if result.safe:
            return pattern
        unions = [v for v in result.violations if v.kind == "union"]
        if len(unions) < len(result.violations):
            msg = "the solver's tolerances admitted an unsafe pattern; use method 'cuts'"
            raise SolverError(msg)
        for violation in unions:
            cut = union_cut(problem, pattern, violation)
            pairs = zip(cut.cells.tolist(), cut.weights.tolist(), strict=True)
            model.program += pulp.lpSum(w * model.x[i] for i, w in pairs) >= cut.right


def _break_ties(
    model: _Compact, pattern: NDArray[np.bool_], solver: Any, deadline: float, *, integer: bool
) -> None:
    """Among the cheapest, the smallest binary number: cells decided from the highest down."""
    import pulp

    problem = model.problem
    free = sorted(model.x, reverse=True)
    spent = sum(int(problem.cost[i]) for i in free if pattern[i])
    model.program += model.cost <= spent
    for start in range(0, len(free), _CHUNK):
        chunk = free[start : start + _CHUNK]
        number = pulp.lpSum(2 ** (len(chunk) - 1 - k) * model.x[i] for k, i in enumerate(chunk))
        better = _safe_solution(model, number, solver, deadline, integer=integer)
        assert better is not None
        model.best = better
        for i in chunk:
            model.program += 1 * model.x[i] == int(better[i])


def _solve(model: Any, solver: Any, time_limit: float | None = None) -> str:
    """Run a solver and say in one word how it ended."""
    import pulp

    if solver is None:
        solver = pulp.HiGHS(msg=False, threads=1, gapRel=0.0, timeLimit=time_limit)
    outcome = model.solve(solver)
    live = getattr(model, "solverModel", None)
    if live is not None and hasattr(live, "getModelStatus"):
        name = live.getModelStatus().name
        words = {
            "kOptimal": "optimal",
            "kModelEmpty": "optimal",
            "kInfeasible": "infeasible",
            "kUnbounded": "unbounded",
            "kUnboundedOrInfeasible": "unbounded",
        }
        return words.get(name, str(name))
    # PuLP 3 returns a number, PuLP 4 an object whose status has a name.
    status = getattr(outcome, "status", outcome)
    text = pulp.LpStatus[status] if isinstance(status, int) else getattr(status, "name", "")
    for word in ("optimal", "infeasible", "unbounded"):
        if text.lower() == word:
            return word
    return str(text)


def _limits(table: Table, i: int) -> tuple[int | None, int | None]:
    lower, upper = int(table.lower[i]), int(table.upper[i])
    return (None if lower <= -UNBOUNDED else lower), (None if upper >= UNBOUNDED else upper)


def _row(table: Table, row: int) -> list[tuple[int, int]]:
    start, stop = table.relations.indptr[row : row + 2]
    return list(
        zip(
            table.relations.indices[start:stop].tolist(),
            table.relations.data[start:stop].tolist(),
            strict=True,
        )
    )
