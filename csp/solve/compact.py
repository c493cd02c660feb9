"""The readable integer programs in PuLP: interval of one cell, and cheapest pattern.

They are the reference that the fast methods are tested against, and the door to every other
solver that PuLP knows. This is the only module that imports PuLP; it keeps to what PuLP 3.3
(Python 3.11) and PuLP 4 (Python 3.12 and later) share. Whether a solver finished is read from
HiGHS itself, because PuLP calls a run that hit its time limit optimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.attacker.view import room
from csp.audits.audit import Audit, judge
from csp.clock import UNLIMITED, Clock, now
from csp.errors import InputError, OutOfTime, SolverError, Unprotectable
from csp.exact import UNBOUNDED
from csp.problem.problem import Problem
from csp.problem.singletons import insiders
from csp.solve.cuts import Cut, no_good, round_up, smallest_step
from csp.solve.exact.unions import union_cut
from csp.solve.order import BINARY_UP_TO
from csp.solve.result import Progress, ProgressCallback, Suppression, cost_of
from csp.tables.patterns import as_pattern
from csp.tables.table import Table

__all__ = ["interval_ilp", "solve_compact"]

_CHUNK = 16

# By how much less than a level the program asks, in levels; how far apart numbers may be, so that
# what a solver takes for nothing (1e-7) stays below this margin; largest room of whole variables.
_MARGIN = 1e-4
_FAR_APART = 2**30
_WHOLE = 10_000
_LATE = "the time limit passed before the compact program was solved; use method 'cuts'"


def interval_ilp(
    table: Table, pattern: ArrayLike, cell: int, *, integer: bool = True, solver: Any = None
) -> tuple[int | float | None, int | float | None]:
    """Feasibility interval of one suppressed cell (Minami and Abe 2019, equations 5 to 9).

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
    clock: Clock = UNLIMITED,
    integer: bool = False,
    solver: Any = None,
    progress: ProgressCallback | None = None,
) -> Suppression:
    """Cheapest safe pattern by one integer program (Minami and Abe 2019, Definition 4).

    Each primary cell has one deviation table that shows it high and one that shows it low; both
    may leave the true table in suppressed cells only. With singletons, each pair of primary cell
    and insider has its own two. For small tables: there are as many copies of the table as
    requirements.

    The program asks for a little less than the levels, so that the tolerances of the solver
    exclude no safe pattern. A pattern that the exact audit refuses is cut off, with all its
    parts, and the program solved again.

    Parameters
    ----------
    problem : Problem
    clock : Clock
        For everything.
    integer : bool
        Deviations are whole units.
    solver : pulp solver, optional
        HiGHS by default. A solver other than HiGHS is taken at its word about optimality.
    progress : callable, optional
        See `csp.suppress`.

    Returns
    -------
    Suppression
        Its pattern has passed the exact audit. It is proven if the solver's own bound says so; it
        is canonical unless the time ran out before ties were broken, or the table has more than
        `csp.solve.order.BINARY_UP_TO` cells.

    Raises
    ------
    Unprotectable
        If no pattern keeps every promise.
    InputError
        If the numbers of the table are too far apart for one float program.
    OutOfTime
        If the time ran out before any safe pattern was known.
    SolverError
        If the solver stopped early.
    """
    began = now()
    model = _compact(problem, clock, integer=integer)
    result = _safe_solution(model, model.cost, solver, clock, integer=integer)
    if result is None:
        msg = "no pattern keeps every promise; method 'cuts' names a cell that cannot be protected"
        raise Unprotectable(msg)
    stopped, canonical, proved = "done", False, model.bound
    cost = cost_of(problem, result.certificate.pattern)
    if solver is None:
        # The solver has been seen to call a wrong pattern optimal: it has to say so twice, in two
        # ways.
        model.bound = -math.inf
        with suppress(OutOfTime):
            other = _safe_solution(model, model.cost, None, clock, integer=integer, presolve="on")
            model.bound = min(model.bound, proved) if other is not None else -math.inf
            if other is not None and cost_of(problem, other.certificate.pattern) < cost:
                result, cost = other, cost_of(problem, other.certificate.pattern)
    model.best = result
    fixed = cost_of(problem, problem.forced)
    bound = fixed + (model.step * round_up(model.bound, 1) if model.bound > 0 else 0)
    bound = max(fixed, min(bound, cost)) if bound <= cost + model.step else fixed

    def tell(phase: str) -> None:
        if progress is not None:
            hidden = int(result.certificate.pattern.sum())
            progress(Progress(phase, bound, cost, now() - began, hidden))

    try:
        tell("search")
        if bound == cost:
            canonical = _break_ties(model, cost, solver, clock, integer=integer)
            tell("tie-break")
        else:
            stopped = "precision"
    except OutOfTime:
        stopped = "time"
    except KeyboardInterrupt:
        stopped = "interrupt"
    best = model.best
    return Suppression(
        pattern=best.certificate.pattern, cost=cost, bound=bound,
        gap=(cost - bound) / cost if cost else 0.0, proven=bound == cost,
        # Larger tables break ties by labels, which this program does not.
        canonical=canonical and problem.table.n_cells <= BINARY_UP_TO,
        seconds=now() - began, method="compact",
        stopped=stopped, stats={"programs": model.solves}, audit=best,
    )  # fmt: skip


@dataclass(slots=True)
class _Compact:
    """The program, its binary variable of each free cell, and its cost expression in steps."""

    problem: Problem
    program: Any
    x: dict[int, Any]
    cost: Any
    step: int
    best: Audit | None = None
    bound: float = 0.0
    solves: int = 0


def _compact(problem: Problem, clock: Clock, *, integer: bool) -> _Compact:
    import pulp

    program = pulp.LpProblem("suppression", pulp.LpMinimize)
    free = np.flatnonzero(problem.free).tolist()
    x = {i: program.add_variable(f"x{i}", 0, 1, cat="Binary") for i in free}
    step = smallest_step(problem.cost[problem.free])
    if free and int(problem.cost[free].max()) > _FAR_APART * step:
        msg = (
            "costs are too far apart for method 'compact', which is one program in floating point; "
            "use method 'auto'"
        )
        raise InputError(msg)
    cost = pulp.lpSum(int(problem.cost[i]) // step * x[i] for i in free)
    program.setObjective(cost)
    primaries = np.flatnonzero(problem.primary).tolist()
    attackers = insiders(problem)
    big = _far(problem)
    # Whole units are whole variables where their numbers are small; elsewhere the audit sees to
    # them.
    whole = integer and big <= _WHOLE
    for p in primaries:
        levels = [int(v[p]) for v in (problem.upl, problem.lpl, problem.spl)]
        # Deviations in units of the level, so that the tolerances of the solver mean the same for
        # every requirement.
        unit = 1 if whole else max(1, *levels)
        if big > _FAR_APART * unit:
            msg = (
                f"the values of the table are too large beside the levels of cell "
                f"{problem.table.cell(p)} for method 'compact', which is one program in floating "
                "point; use method 'auto'"
            )
            raise InputError(msg)
        for known in [(), *(a.knows for a in attackers if p not in a.takes_part)]:
            clock.check("the program was built")
            high = _deviation(program, problem, x, p, known, "h", big, unit, whole=whole)
            low = _deviation(program, problem, x, p, known, "l", big, unit, whole=whole)
            for reach, level in zip((high, -1 * low, high - low), levels, strict=True):
                if level > 0:
                    program += reach >= (level - 0.5 if whole else level / unit - _MARGIN)
    return _Compact(problem, program, x, cost, step)


def _deviation(
    program: Any, problem: Problem, x: dict[int, Any], p: int, known: Sequence[int], name: str,
    big: int, unit: int, *, whole: bool,
) -> Any:  # fmt: skip
    """Add one table of deviations from the true one; returns the deviation of cell p."""
    import pulp

    table = problem.table
    up, down = room(table)
    z: dict[int, Any] = {}
    for i in np.flatnonzero(problem.free | problem.forced).tolist():
        if i in known:
            continue
        top = (big if up[i] >= UNBOUNDED else int(up[i])) / unit
        bottom = (big if down[i] >= UNBOUNDED else int(down[i])) / unit
        tag = "_".join(str(v) for v in (name, p, *known, i))
        z[i] = program.add_variable(tag, -bottom, top, cat="Integer" if whole else "Continuous")
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
    endless = bool((rooms >= UNBOUNDED).any())
    return 20 * (finite + max(levels)) if endless else finite


def _safe_solution(
    model: _Compact, objective: Any, solver: Any, clock: Clock, *, integer: bool,
    presolve: str = "off",
) -> Audit | None:  # fmt: skip
    """Solve, audit, and cut off unsafe patterns until none is left; None if none is safe."""
    import pulp

    problem = model.problem
    model.program.setObjective(objective)
    while True:
        if clock.over:
            raise OutOfTime(_LATE)
        model.solves += 1
        word = _solve(model.program, solver, clock, presolve=presolve)
        if word == "infeasible":
            return None
        if word != "optimal":
            if clock.over:
                raise OutOfTime(_LATE)
            msg = f"the compact program ended as {word}; use method 'cuts' or allow more time"
            raise SolverError(msg)
        pattern = problem.forced.copy()
        for i, variable in model.x.items():
            # A variable without cost and without room occurs nowhere, and has no value.
            pattern[i] = (pulp.value(variable) or 0.0) > 0.5
        pattern.flags.writeable = False
        result = judge(problem, pattern, integer=integer, clock=clock)
        if result.safe:
            model.bound = _bound_of(model.program)
            return result
        for cut in _cuts_off(problem, pattern, result):
            pairs = zip(cut.cells.tolist(), cut.weights.tolist(), strict=True)
            terms = [w * model.x[i] for i, w in pairs]
            if not terms:
                return None
            model.program += pulp.lpSum(terms) >= cut.right


def _cuts_off(problem: Problem, pattern: NDArray[np.bool_], result: Audit) -> list[Cut]:
    """Cuts that exclude an unsafe pattern and no safe one."""
    unions = [v for v in result.violations if v.kind == "union"]
    if len(unions) < len(result.violations):
        return [no_good(problem, pattern)]
    return [union_cut(problem, pattern, violation) for violation in unions]


def _break_ties(model: _Compact, cost: int, solver: Any, clock: Clock, *, integer: bool) -> bool:
    """Among the cheapest, the smallest binary number: cells decided from the highest down.

    Returns
    -------
    bool
        False if the solver could not tell the cheapest patterns from others.
    """
    import pulp

    problem = model.problem
    free = sorted(model.x, reverse=True)
    spent = (cost - cost_of(problem, problem.forced)) // model.step
    model.program += model.cost <= spent + 0.5
    for start in range(0, len(free), _CHUNK):
        chunk = free[start : start + _CHUNK]
        number = pulp.lpSum(2 ** (len(chunk) - 1 - k) * model.x[i] for k, i in enumerate(chunk))
        better = _safe_solution(model, number, solver, clock, integer=integer)
        if better is None or cost_of(problem, better.certificate.pattern) != cost:
            return False
        model.best = better
        for i in chunk:
            model.program += 1 * model.x[i] == int(better.certificate.pattern[i])
    return True


def _bound_of(program: Any) -> float:
    """Bound on the objective that HiGHS has proved; other solvers are taken at their word."""
    import pulp

    live = getattr(program, "solverModel", None)
    if live is not None and hasattr(live, "getInfo"):
        bound = float(live.getInfo().mip_dual_bound)
        if math.isfinite(bound):
            return bound
    return float(pulp.value(program.objective) or 0.0)


def _solve(model: Any, solver: Any, clock: Clock = UNLIMITED, *, presolve: str = "off") -> str:
    """Run a solver and say in one word how it ended."""
    import pulp

    if solver is None:
        solver = pulp.HiGHS(
            msg=False, threads=1, gapRel=0.0, timeLimit=clock.seconds,
            presolve=presolve,
        )  # fmt: skip
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
