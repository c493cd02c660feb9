"""The solvers that PuLP finds, by name, and how a run ended in one word.

PuLP is imported in this package only, and in the subset that PuLP 3.3 (Python 3.11) and PuLP 4
(Python 3.12 and later) share.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.exact import Ints
from csp.highs import set_start
from csp.highs.interrupts import run_interruptibly

Solver = Any
"""A solver object of PuLP, its name, or None for HiGHS."""

_ENDS = {
    "kOptimal": "optimal",
    "kModelEmpty": "optimal",
    "kInfeasible": "infeasible",
    "kUnbounded": "unbounded",
    # Said by presolve, of programs that have a solution by construction.
    "kUnboundedOrInfeasible": "unbounded",
}


def solvers() -> list[str]:
    """Names of the solvers that PuLP finds on this machine.

    Examples
    --------
    >>> "HiGHS" in solvers()
    True
    """
    import pulp

    return list(dict.fromkeys(pulp.listSolvers(onlyAvailable=True)))


def solver_named(name: str) -> str:
    """PuLP's name of a solver on this machine: "cbc", "Gurobi" and "SCIP" are understood.

    Parameters
    ----------
    name : str
        As PuLP writes it or the plain name of the program, in any case.

    Raises
    ------
    InputError
        If PuLP does not find it; what it finds is listed.
    """
    able, wanted = solvers(), name.lower()
    exact = [other for other in able if other.lower() == wanted]
    # An interface in Python before one that writes files. CBC is COIN_CMD in PuLP 4.
    words = {wanted} if wanted != "cbc" else {"cbc", "coin"}
    like = [other for other in able if wanted and words & set(other.lower().split("_"))]
    like.sort(key=lambda other: "CMD" in other)
    if not exact + like:
        msg = f"PuLP does not find a solver {name!r} here; it finds {', '.join(able)}"
        raise InputError(msg)
    return (exact + like)[0]


def check_solver(solver: Solver) -> None:
    """Refuse, before any work, what PuLP cannot run.

    Raises
    ------
    InputError
    """
    if solver is None:
        return
    if isinstance(solver, str):
        solver_named(solver)
    elif not callable(getattr(solver, "actualSolve", None)):
        msg = (
            f"solver must be the name of a solver or a solver object of PuLP, got {solver!r}; "
            f"PuLP finds {', '.join(solvers())}"
        )
        raise InputError(msg)


def solve(
    program: Any, solver: Solver = None, clock: Clock = UNLIMITED, *,
    start: Ints | None = None, **options: Any,
) -> str:  # fmt: skip
    """Run a solver on a program of PuLP and say in one word how it ended.

    Parameters
    ----------
    program : pulp.LpProblem
    solver : pulp solver or str, optional
        HiGHS by default, on one thread and without a gap.
    clock : Clock
        Taken over by HiGHS and by solvers that are named; a solver object has its own limit.
    start : (k,) int64, optional
        Values of all variables, in their order in the program, to begin with; for HiGHS only.
    **options
        Of HiGHS.

    Returns
    -------
    str
        "optimal", "infeasible", "unbounded", or what the solver said.
    """
    import pulp

    if isinstance(solver, str):
        name = solver_named(solver)
        if name != "HiGHS":
            limits = {} if clock.seconds is None else {"timeLimit": math.ceil(clock.seconds)}
            with warnings.catch_warnings():
                # PuLP 3 says that PuLP 4 names CBC otherwise.
                warnings.simplefilter("ignore", DeprecationWarning)
                solver = pulp.getSolver(name, msg=False, **limits)
    if solver is None or isinstance(solver, str):
        solver = _highs(clock, start, options)
    # What HiGHS left there before is not this solver's.
    program.solverModel = None
    outcome = program.solve(solver)
    live = getattr(program, "solverModel", None)
    if live is not None and hasattr(live, "getModelStatus"):
        # PuLP calls a run that hit its limit optimal; HiGHS does not.
        name = str(live.getModelStatus().name)
        return _ENDS.get(name, name)
    # PuLP 3 returns a number, PuLP 4 an object whose status has a name.
    status = getattr(outcome, "status", outcome)
    text = pulp.LpStatus[status] if isinstance(status, int) else getattr(status, "name", "")
    if text.lower() == "optimal" and getattr(program, "sol_status", 1) != pulp.LpSolutionOptimal:
        return "stopped"
    return str(text).lower()


def _highs(clock: Clock, start: Ints | None, options: dict[str, Any]) -> Any:
    """Return the HiGHS of PuLP as one that Ctrl-C stops, and that may begin with a solution."""
    import pulp

    class Interruptible(pulp.HiGHS):  # type: ignore[misc, name-defined, unused-ignore]
        def callSolver(self, lp: Any) -> None:  # PuLP names it so
            if start is not None:
                set_start(lp.solverModel, start)
            run_interruptibly(lp.solverModel)

    return Interruptible(msg=False, threads=1, gapRel=0.0, timeLimit=clock.seconds, **options)


def bound_of(program: Any) -> float:
    """Bound on a minimum that HiGHS has proved; other solvers are taken at their word."""
    import pulp

    live = getattr(program, "solverModel", None)
    if live is not None and hasattr(live, "getInfo"):
        bound = float(live.getInfo().mip_dual_bound)
        if math.isfinite(bound):
            return bound
    return float(pulp.value(program.objective) or 0.0)
