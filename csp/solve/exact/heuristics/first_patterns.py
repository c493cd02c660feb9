"""First patterns, which need no relaxation, or the cell that no pattern protects."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from csp.clock import Clock, now
from csp.errors import OutOfTime, SolverError
from csp.solve.exact.heuristics.construction import offer, take
from csp.solve.exact.heuristics.subspaces import (
    LEADING,
    PATIENCE,
    VERY_LARGE,
    search_subspaces,
    takes_subspaces,
)
from csp.solve.exact.state import Run
from csp.solve.large.engine import solve_large
from csp.solve.unprotectable import unprotectable
from csp.solve.witnesses.book import Book

__all__ = ["begin_locally", "first_patterns", "suppress_everything"]

# Limit of the engine for large tables where other searches follow, in times of its first pattern.
_LOCAL_TIMES = 2.0

# The time for first patterns one requirement after the other (seconds, and share of what is
# left), for subspaces where this found one or none.
_FIRST_SECONDS = 20.0
_FIRST_SHARE = 0.1
_EARLY_SHARE = 0.2
_EARLY_SECONDS = 60.0
_LATER_SHARE = 0.8


def begin_locally(run: Run, until: Clock) -> None:
    """Take the pattern and the bound of the engine for large tables."""
    alone = bool(run.problem.alone.any())
    try:
        found = solve_large(
            run.problem, clock=until, gap=run.gap, integer=run.integer, seed=run.seed,
            progress=run.progress, last=False, as_long=np.inf if alone else _LOCAL_TIMES,
            start=run.audit,
        )  # fmt: skip
    except SolverError as error:  # there are other ways to a pattern
        run.note(str(error))
        return
    assert found.audit is not None
    for text in found.notes:
        run.note(text)
    run.take(found.audit)
    run.master.prefer(found.pattern)
    run.bound = max(run.bound, found.bound)
    run.begun_locally = run.net is None and not alone
    run.settled = not found.stats.get("rescued", 1)
    run.report("start")
    if found.stopped == "interrupt":
        raise KeyboardInterrupt


def suppress_everything(run: Run, until: Clock) -> None:
    """Offer the pattern of all cells that may be suppressed.

    Safety grows with the pattern: what is not safe with everything suppressed that may be, never
    is. Only the rule for sums of suppressed cells may fail there and hold for a smaller pattern.

    Raises
    ------
    Unprotectable
        If not even that keeps the levels.
    OutOfTime
    """
    with run.within(until):
        result = run.try_incumbent(run.problem.forced | run.problem.free)
    if result is not None and any(v.kind != "union" for v in result.violations):
        raise unprotectable(run.problem, result)


def first_patterns(run: Run, until: Clock) -> None:
    """Offer patterns of cheapest paths or witnesses, and of subspaces on very large tables."""
    with suppress(OutOfTime), run.within(until):
        _first_patterns(run)
    # Once more, with the time there is now, the last pattern whose audit did not end.
    book, run.waiting = run.waiting, None
    if book is not None:
        take(run, book)


def _first_patterns(run: Run) -> None:
    weights = run.problem.cost.astype(np.float64)
    if not takes_subspaces(run):
        offer(run, weights, run.clock)
        return
    until = run.clock.part(_FIRST_SHARE).within(_FIRST_SECONDS)
    begun, began = Book(run.arrays), now()
    offer(run, weights, until, book=begun)
    missing = sum(not begun.settled(r) for r in range(len(run.arrays.need)))
    served = len(run.arrays.need) - missing
    # The first requirements take longest: later ones find witnesses there.
    ends_in_time = missing * (now() - began) <= served * run.clock.left
    very_large = run.problem.table.n_cells >= VERY_LARGE
    if missing and not run.found and ends_in_time and not very_large:
        offer(run, weights, run.clock, book=begun)
    if not run.found or very_large:
        until = run.clock.part(_LATER_SHARE)
        if run.found or (very_large and missing and ends_in_time):
            until = run.clock.part(_EARLY_SHARE).within(_EARLY_SECONDS)
        before = run.best_cost
        if search_subspaces(run, until, 5 * PATIENCE) and run.neighbourhood.gave_up:
            run.subspace_share = 0.0
        else:
            gained = run.best_cost != before
            run.subspace_share = LEADING if gained or not ends_in_time else 1 - LEADING
    if missing and not run.found and ends_in_time:
        offer(run, weights, run.clock, book=begun)
