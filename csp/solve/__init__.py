"""Secondary suppression: the cheapest pattern that keeps every promise, with proof.

An engine for each kind of table is in a folder: `exact` (cuts and a tree, for proofs), `network`,
`general`, `small`, `large` and `ilp`; `witnesses` are the deviations that most of them keep. They
share `cuts`, the `kernel` form of a problem, safe `bounds`, the `incumbent` of a search, the
`order` of equally cheap patterns, the `result`, the caller's `own_patterns`, the `fallback` of a
run that found nothing, and the words for a problem that is `unprotectable`.

Every structure and every method is checked by brute force over patterns
(`tests/csp/solve/test_agree.py`), cuts by their point and by every safe pattern of a small table
(`test_cuts.py`), canonical patterns, bounds and stopped runs by brute force at any moment
(`test_canonical.py`, `test_bounds.py`, `test_interrupts.py`), and τ-ARGUS's branch and cut agrees
where it is installed (`test_peer.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from csp.audits.audit import Audit
from csp.clock import Clock, now
from csp.errors import CertificateError, InputError, SolverError, Unprotectable, phrase, subject
from csp.names.calls import expect, named_errors, states
from csp.problem.problem import Problem
from csp.solve.fallback import ending, everything_suppressed
from csp.solve.order import BINARY_UP_TO, label_order, reordered, restored
from csp.solve.own_patterns import OwnMethod, completed, name_of, safe_start, solve_by_function
from csp.solve.result import Progress, ProgressCallback, SearchOptions, Suppression

__all__ = [
    "METHODS", "Progress", "ProgressCallback", "Suppression", "check_method", "in_label_order",
    "suppress",
]  # fmt: skip

METHODS = ("auto", "cuts", "branch", "ilp", "small", "large")

_COMPARED = 1000
"""Cells up to which integer programs in PuLP are a second opinion of less than a minute."""


@named_errors
@states(SearchOptions)
def suppress(
    problem: Problem,
    *,
    method: str | OwnMethod = "auto",
    start: ArrayLike | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    integer: bool = False,
    seed: int = 0,
    check: str | None = None,
    progress: ProgressCallback | None = None,
) -> Suppression:
    """Find the cheapest suppression pattern that keeps every promise of a problem.

    Parameters
    ----------
    problem : Problem
    method : {"auto", "cuts", "branch", "large", "small", "ilp", "ilp:SOLVER"} or callable
        "cuts" solves integer programs and adds cuts in turn; "branch" keeps one tree and adds cuts
        at its nodes (both are schedules of `csp.solve.exact`). "auto" is "cuts" for networks
        (two-way tables, also with one hierarchy), "large" for other labelled tables from
        10,000 cells on, "branch" for the rest, which begins with it from 1,000 or 2,000 cells on.
        "large" finds witnesses in parts of the table (`csp.solve.large`); it takes tables in which
        every relation runs along one dimension, and seldom proves an optimum. "small" is
        the compiled search over networks of up to 64 cells that need not be published
        (`csp.solve.small.one`), which pays for many tables (`csp.solve.small.batch`). "ilp" is
        integer programs in PuLP with HiGHS, "ilp:SCIP" with another solver (`csp.ilp.suppress`).
        A method of your own is a function that takes the problem and returns the pattern in any
        form that `csp.audit` takes. It is audited as it stands, and its name is that of the
        method; the bound is at most the cost of what must be suppressed anyway, so nothing is
        said of the optimum.
    start : (n,) bool, optional
        A safe pattern to improve, in any form that `csp.audit` takes. Cells that must be suppressed
        anyway are added to it, and the result costs no more. Every method takes it but a function.
        (`problem.keeping(pattern)` is for a pattern that is not safe: what is added makes it so.)
    time_limit : float, optional
        Wall seconds. At the limit the best audited pattern is returned with its bound; if there is
        none yet, the pattern of everything that may be suppressed. What a search does first does
        not depend on the limit: a longer one goes on where a shorter one ends. A function has to
        keep it itself: only its audit is ended.
    gap : float
        Stop once ``(cost - bound) / cost`` is at most this.
    integer : bool
        Judge levels on integer intervals.
    seed : int
        Seed of the solvers. It changes the way, never a canonical answer.
    check : {"ilp", "ilp:SOLVER"}, optional
        Second opinion for tables of up to 1,000 cells: the problem is solved by this method as
        well, and both answers must agree.
    progress : callable, optional
        Called with a `Progress` now and then. Raising KeyboardInterrupt in it (or pressing
        Ctrl-C) ends the run with the best pattern so far.

    Returns
    -------
    Suppression
        Its pattern has passed the exact audit.

    Raises
    ------
    Unprotectable
        If a primary cell misses its levels even with everything suppressed.
    OutOfTime
        If the time ran out before any pattern was proved safe, or `start` was.
    InputError
        For an unknown method, limits out of range, or a problem or option that the method does
        not take. Also if `start`, or what a function returns, is not a pattern, or `start` is not
        safe (its violations are named) or suppresses a cell that must be published.
    CertificateError
        If the pattern of a function is not safe; its violations are named.
    SolverError
        If the second opinion contradicts the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Problem, Table, suppress
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Problem.of(table, table.values < 10, spl=10, publish=table.margins)
    >>> suppression = suppress(problem)
    >>> int(suppression.pattern.sum()), suppression.cost, suppression.proven
    (4, 3, True)

    A method of your own, and what the search makes of its pattern:

    >>> def everything(problem):
    ...     return problem.status != "z"
    >>> own = suppress(problem, method=everything)
    >>> own.method, own.cost, own.proven
    ('everything', 8, False)
    >>> suppress(problem, start=own.pattern).cost
    3
    """
    expect(problem, Problem, "problem")
    check_method(method)
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= gap < 1:
        msg = f"{subject('gap')} {gap!r} is not in [0, 1); 0.05 means 5 percent"
        raise InputError(msg)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**31:
        msg = f"seed {seed!r} is not a whole number from 0 to 2**31 - 1"
        raise InputError(msg)
    _refuse_unused(method, gap=gap, seed=seed, start=start is not None)
    if check is not None:
        _check_second(check, problem)
    clock = Clock.of(time_limit)
    if isinstance(method, str):
        solve = partial(
            _solve, method=method, gap=gap, integer=integer, seed=seed, progress=progress
        )
        found = in_label_order(
            problem, solve, clock, integer=integer, method=method, start=start
        )  # fmt: skip
    else:
        found = solve_by_function(problem, method, clock=clock, integer=integer)
    if check is not None:
        found = _compared(problem, found, check, clock, integer=integer)
    # How near a pattern comes to the optimum depends on suppressed values wherever a run may stop
    # before the proof.
    unproved = found.method == "large" or not isinstance(method, str)
    return replace(found, limited=gap > 0 or clock.limits or unproved)


def in_label_order(
    problem: Problem, solve: Callable[..., Suppression], clock: Clock, *, integer: bool,
    method: str, start: ArrayLike | None = None,
) -> Suppression:  # fmt: skip
    """Solve a problem with its cells in the order in which ties are broken.

    Parameters
    ----------
    problem : Problem
    solve : callable
        Takes a problem, ``clock=``, and with a pattern to begin with its audit as ``start=``.
    clock : Clock
    integer : bool
    method : str
        Where it ended without a pattern, everything that may be is suppressed, but for the time
        limit of "auto", "cuts", "branch" and "large", which have tried that, and for programs that
        "ilp" has no answer to.
    start : (n,) bool, optional
        Safe pattern to begin with.

    Raises
    ------
    Unprotectable, OutOfTime, InputError
        See `suppress`.
    """
    time_limit, began = clock.seconds, now()
    n = problem.table.n_cells
    order = label_order(problem.table) if n <= BINARY_UP_TO else np.arange(n)
    given, sorted_already = problem, bool((np.diff(order) > 0).all())
    posed = given if sorted_already else reordered(given, order)
    if start is not None:
        begin = completed(given, start)
        begin = begin if sorted_already else begin[order]
        solve = partial(solve, start=safe_start(posed, begin, integer=integer, clock=clock))
    try:
        found = solve(posed, clock=clock)
    except Unprotectable as error:
        if error.index is not None:
            error.index = int(order[error.index])
        raise
    except (SolverError, KeyboardInterrupt, CertificateError) as error:
        stopped, why = ending(error)
        if stopped == "time" and not method.startswith(("small", "ilp")):
            raise
        if method.startswith("ilp") and isinstance(error, SolverError) and stopped != "time":
            raise  # it says which method to take in its place
        everything = everything_suppressed(
            posed, time_limit=time_limit, stopped=stopped, began=began, method=method,
            integer=integer, why=why,
        )  # fmt: skip
        if everything is None:
            raise
        found = everything
    return found if sorted_already else restored(found, given.table, order)


def check_method(method: str | OwnMethod) -> None:
    """Refuse what is not a method of `suppress`.

    Raises
    ------
    InputError
    """
    if callable(method):
        return
    name, _, solver = method.partition(":") if isinstance(method, str) else ("", "", "")
    if name not in METHODS or (":" in str(method) and (name != "ilp" or not solver)):
        msg = f"{subject('method')} {method!r} is not one of {', '.join(METHODS)}" + phrase(
            ", ilp:SOLVER, or a function of a problem that returns its pattern",
            " (--solver SOLVER beside ilp)",
        )
        raise InputError(msg)
    if solver:
        # PuLP is imported only where it is used.
        from csp.solve.ilp.solvers import solver_named

        solver_named(solver)


def _check_second(check: str, problem: Problem) -> None:
    """Refuse a second opinion that is not one, or that would take too long."""
    check_method(check)
    if not isinstance(check, str) or not check.startswith("ilp"):
        msg = f"check {check!r} is not 'ilp' or 'ilp:SOLVER'"
        raise InputError(msg)
    if problem.table.n_cells > _COMPARED:
        msg = (
            f"check {check!r} is for tables of up to {_COMPARED} cells; this one has "
            f"{problem.table.n_cells}: leave it out (the audit is exact at every size)"
        )
        raise InputError(msg)


def _compared(
    problem: Problem, found: Suppression, check: str, clock: Clock, *, integer: bool
) -> Suppression:
    """Compare an answer with a second one; say in a note what could not be compared.

    Raises
    ------
    SolverError
        If one of the two cannot be right.
    """
    solve = partial(_solve, method=check, gap=0.0, integer=integer, seed=0, progress=None)
    if clock.over or found.stopped in ("time", "interrupt"):
        other = None
    else:
        other = in_label_order(problem, solve, clock, integer=integer, method=check)
    if other is None or other.stopped in ("time", "interrupt"):
        said = f"check {check!r} had no time to compare the answer"
        return replace(found, notes=(*found.notes, said))
    wrong = found.cost < other.bound or other.cost < found.bound
    if found.canonical and other.canonical:
        wrong |= bool((found.pattern != other.pattern).any())
    if wrong:
        msg = (
            f"methods {found.method!r} and {other.method!r} contradict each other about the "
            "cheapest pattern; use neither answer, and report the problem"
        )
        raise SolverError(msg)
    return found


def _refuse_unused(method: str | OwnMethod, *, gap: float, seed: int, start: bool) -> None:
    """Refuse options that a method has no use for.

    Raises
    ------
    InputError
    """
    given = {"gap": gap, "seed": seed, "start": start}
    unused: tuple[str, ...] = tuple(given)
    shown = f"a function ({name_of(method)!r})" if callable(method) else ""
    if isinstance(method, str):
        base = method.partition(":")[0]
        unused = {"ilp": ("gap", "seed"), "small": ("seed",)}.get(base, ())
        shown = repr(base)
    for name in unused:
        if given[name]:
            msg = f"method {shown} has no use for {name}=; leave it out, or use method 'auto'"
            raise InputError(msg)


def _solve(
    problem: Problem, *, method: str, clock: Clock, gap: float, integer: bool,
    seed: int, progress: ProgressCallback | None, start: Audit | None = None,
) -> Suppression:  # fmt: skip
    """Solve a problem whose cells are in the order in which ties are broken."""
    if method.startswith("ilp"):
        # PuLP is imported only where it is used.
        from csp.solve.ilp.suppression import solve_by_ilp

        solver = method.partition(":")[2] or None
        return solve_by_ilp(
            problem, clock=clock, integer=integer, solver=solver, progress=progress, start=start
        )
    if method == "small":
        # Compiled search, for small tables only.
        from csp.solve.small.slices import solve_by_search

        return solve_by_search(
            problem, clock=clock, gap=gap, integer=integer, progress=progress, start=start
        )
    if method == "large" or (method == "auto" and _is_large(problem)):
        # The engine of large tables only.
        from csp.solve.large.engine import solve_large

        return solve_large(
            problem, clock=clock, gap=gap, integer=integer, seed=seed, progress=progress,
            start=start,
        )  # fmt: skip
    # The engine of most tables.
    from csp.solve.exact.cut_loop import solve_by_cuts

    return solve_by_cuts(
        problem, clock=clock, gap=gap, integer=integer, seed=seed, progress=progress, method=method,
        start=start,
    )  # fmt: skip


def _is_large(problem: Problem) -> bool:
    """Whether the engine for large tables is the one that pays."""
    # Asked of large tables only.
    from csp.solve.large.engine import LARGE, begins
    from csp.solve.network.network import HiddenNetwork

    return (
        problem.table.n_cells >= LARGE
        and begins(problem, integer=False)
        and HiddenNetwork.of(problem) is None
    )
