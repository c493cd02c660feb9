"""Secondary suppression: the cheapest pattern that keeps every promise, with proof."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np

from csp.calls import expect, named_errors
from csp.clock import Clock, now
from csp.errors import InputError, OutOfTime, Unprotectable
from csp.problem.problem import Problem
from csp.solve.fallback import everything_suppressed
from csp.solve.order import BINARY_UP_TO, label_order, reordered, restored
from csp.solve.result import Progress, ProgressCallback, Suppression

__all__ = ["METHODS", "Progress", "ProgressCallback", "Suppression", "suppress"]

METHODS = ("auto", "cuts", "branch", "compact", "small", "large")


@named_errors
def suppress(
    problem: Problem,
    *,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    integer: bool = False,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> Suppression:
    """Find the cheapest suppression pattern that keeps every promise of a problem.

    Parameters
    ----------
    problem : Problem
    method : {"auto", "cuts", "branch", "large", "compact", "small"}
        "cuts" solves integer programs and adds cuts in turn (`csp.solve.exact.cut_loop`); "branch"
        keeps one tree and adds cuts at its nodes (`csp.solve.exact.tree`). "auto" is "cuts" for
        networks (two-way tables, also with one hierarchy), "large" for other labelled tables from
        5,000 cells on, "branch" for the rest, which begins with it from 1,000 or 2,000 cells on.
        "large" finds witnesses in parts of the table (`csp.solve.large`); it takes tables in which
        every relation runs along one dimension, and seldom proves an optimum. "compact" is the
        readable integer program in PuLP (`csp.solve.compact`; small tables only), "small" the
        compiled search over networks of up to 64 cells that need not be published
        (`csp.solve.small.one`), which pays for many tables (`csp.solve.small.batch`).
    time_limit : float, optional
        Wall seconds. At the limit the best audited pattern is returned with its bound; if there is
        none yet, the pattern of everything that may be suppressed.
    gap : float
        Stop once ``(cost - bound) / cost`` is at most this.
    integer : bool
        Judge levels on integer intervals.
    seed : int
        Seed of the solvers. It changes the way, never a canonical answer.
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
        If the time ran out before any pattern was proved safe.
    InputError
        For an unknown method, limits out of range, or a problem or option that the method does
        not take.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Problem, Table, suppress
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Problem.of(table, table.values < 10, spl=10, publish=table.margins)
    >>> suppression = suppress(problem)
    >>> int(suppression.pattern.sum()), suppression.cost, suppression.proven
    (4, 3, True)
    """
    expect(problem, Problem, "problem")
    if method not in METHODS:
        msg = f"method {method!r} is not one of {', '.join(METHODS)}"
        raise InputError(msg)
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= gap < 1:
        msg = f"gap {gap!r} is not in [0, 1); 0.05 means 5 percent"
        raise InputError(msg)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**31:
        msg = f"seed {seed!r} is not a whole number from 0 to 2**31 - 1"
        raise InputError(msg)
    _refuse_unused(method, gap=gap, seed=seed)
    clock, began = Clock.of(time_limit), now()
    solve = partial(
        _solve, method=method, clock=clock, gap=gap, integer=integer, seed=seed, progress=progress
    )
    n = problem.table.n_cells
    order = label_order(problem.table) if n <= BINARY_UP_TO else np.arange(n)
    given, sorted_already = problem, bool((np.diff(order) > 0).all())
    posed = given if sorted_already else reordered(given, order)
    try:
        found = solve(posed)
    except Unprotectable as error:
        if error.index is not None:
            error.index = int(order[error.index])
        raise
    except (OutOfTime, KeyboardInterrupt) as error:
        if isinstance(error, OutOfTime) and method not in ("small", "compact"):
            raise  # the cut loop has tried it
        everything = everything_suppressed(
            posed, time_limit=time_limit, began=began, integer=integer, method=method,
            stopped="time" if isinstance(error, OutOfTime) else "interrupt",
        )  # fmt: skip
        if everything is None:
            raise
        found = everything
    return found if sorted_already else restored(found, given.table, order)


def _refuse_unused(method: str, *, gap: float, seed: int) -> None:
    """Refuse options that a method has no use for.

    Raises
    ------
    InputError
    """
    unused = {
        "compact": {"gap": gap != 0, "seed": seed != 0},
        "small": {"seed": seed != 0},
    }
    for name, given in unused.get(method, {}).items():
        if given:
            msg = f"method {method!r} has no use for {name}=; leave it out, or use method 'auto'"
            raise InputError(msg)


def _solve(
    problem: Problem, *, method: str, clock: Clock, gap: float, integer: bool,
    seed: int, progress: ProgressCallback | None,
) -> Suppression:  # fmt: skip
    """Solve a problem whose cells are in the order in which ties are broken."""
    if method == "compact":
        from csp.solve.compact import solve_compact

        return solve_compact(problem, clock=clock, integer=integer, progress=progress)
    if method == "small":
        from csp.solve.small.slices import solve_by_search

        return solve_by_search(problem, clock=clock, gap=gap, integer=integer, progress=progress)
    if method == "large" or (method == "auto" and _is_large(problem)):
        from csp.solve.large.engine import solve_large

        return solve_large(
            problem, clock=clock, gap=gap, integer=integer, seed=seed, progress=progress
        )
    from csp.solve.exact.cut_loop import solve_by_cuts

    return solve_by_cuts(
        problem,
        clock=clock,
        gap=gap,
        integer=integer,
        seed=seed,
        progress=progress,
        tree=None if method == "auto" else method == "branch",
    )


def _is_large(problem: Problem) -> bool:
    """Whether the engine for large tables is the one that pays."""
    from csp.solve.large.engine import LARGE, begins
    from csp.solve.network.network import HiddenNetwork

    return (
        problem.table.n_cells >= LARGE
        and begins(problem, integer=False)
        and HiddenNetwork.of(problem) is None
    )
