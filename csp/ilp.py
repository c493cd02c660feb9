"""Feasibility intervals and cheapest patterns as integer programs in PuLP, for any solver it finds.

HiGHS by default; CPLEX, Gurobi, Xpress, SCIP or CBC by name where they are installed. What they
find is a second opinion on `csp.intervals` and `csp.suppress`, which are faster.
"""

from __future__ import annotations

from functools import partial

from csp.clock import Clock
from csp.names.calls import expect, named_all
from csp.problem.problem import Problem
from csp.solve import in_label_order
from csp.solve.ilp.feasibility import intervals
from csp.solve.ilp.solvers import Solver, check_solver, solver_named, solvers
from csp.solve.ilp.suppression import solve_by_ilp
from csp.solve.result import ProgressCallback, Suppression

__all__ = ["intervals", "solvers", "suppress"]


def suppress(
    problem: Problem,
    *,
    solver: Solver = None,
    integer: bool = False,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Suppression:
    """Find the cheapest safe pattern by integer programs and cuts.

    Minami and Abe (2019), Definition 4, by the cuts of Fischetti and Salazar-González (2000).

    Parameters
    ----------
    problem : Problem
    solver : str or pulp solver, optional
        Of the integer programs: a name as in `solvers`, "CPLEX", "Gurobi", "Xpress", "SCIP" or
        "CBC" in any case, or a solver object of PuLP with options of its own. HiGHS by default.
        Another solver than HiGHS is taken at its word about optimality.
    integer : bool
        Judge levels on integer intervals.
    time_limit : float, optional
        Wall seconds; then everything that may be suppressed is.
    progress : callable, optional
        See `csp.suppress`.

    Returns
    -------
    Suppression
        Its pattern has passed the exact audit.

    Raises
    ------
    Unprotectable
        If a primary cell misses its levels even with everything suppressed.
    OutOfTime
        If the time ran out before any pattern was proved safe.
    InputError
        If PuLP does not find the solver, or the numbers are too far apart for floating point.
    SolverError
        If the solver stopped early.

    See Also
    --------
    csp.suppress : Faster methods; with ``check="ilp"`` this one is a second opinion.

    Examples
    --------
    >>> from csp import Problem, Table, ilp
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Problem.of(table, table.values < 10, spl=10, publish=table.margins)
    >>> found = ilp.suppress(problem, solver="HiGHS")
    >>> int(found.pattern.sum()), found.cost, found.proven
    (4, 3, True)
    """
    expect(problem, Problem, "problem")
    check_solver(solver)
    if isinstance(solver, str):
        solver = None if solver_named(solver) == "HiGHS" else solver
    solve = partial(solve_by_ilp, integer=integer, solver=solver, progress=progress)
    return in_label_order(problem, solve, Clock.of(time_limit), integer=integer, method="ilp")


named_all(__name__)
