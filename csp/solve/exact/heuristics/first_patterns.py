"""First patterns, which need no relaxation, or the cell that no pattern protects."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from csp.clock import Clock, now
from csp.errors import OutOfTime, SolverError
from csp.solve.exact.heuristics.construction import offer, take
from csp.solve.exact.heuristics.subspaces import (
    LEADING,
    PATIENCE,
    VERY_LARGE,
    entries,
    search_subspaces,
    takes_subspaces,
)
from csp.solve.exact.state import Run
from csp.solve.large.engine import LocalSearch, begun
from csp.solve.unprotectable import unprotectable
from csp.solve.witnesses.book import Book

# Limit of the engine for large tables where other searches follow, in times of its first pattern.
_LOCAL_TIMES = 2.0

# Seconds for first patterns one requirement after the other, and for subspaces: at least, one for
# so many entries of a tableau, and without a limit. While there is no pattern, both are tried in
# turn for twice as long as before.
_FIRST_SECONDS = 3.0
_SUBSPACE_SECONDS, _ENTRIES_A_SECOND = 5.0, 500_000
_UNLIMITED_SECONDS = 60.0

# Seconds that the former may take on a table that is not very large, by how far they have come.
_SOON = 30.0


def begin_locally(run: Run, until: Clock) -> None:
    """Take the pattern and the bound of the engine for large tables."""
    search = run.local = begun(
        run.problem, clock=until, gap=run.gap, integer=run.integer, seed=run.seed,
        progress=run.progress, start=run.audit,
    )  # fmt: skip
    try:
        stopped = search.ended_by(partial(_begin, search))
    except SolverError as error:  # there are other ways to a pattern
        run.note(str(error))
        return
    for text in search.notes:
        run.note(text)
    if search.audit is None:
        return
    run.take(search.audit)
    run.master.prefer(search.audit.certificate.pattern)
    run.bound = max(run.bound, search.bound)
    run.begun_locally = run.net is None and not run.problem.alone.any()
    run.settled = not search.rescued
    run.report("start")
    if stopped == "interrupt":
        raise KeyboardInterrupt


def _begin(search: LocalSearch) -> str:
    search.construct(_LOCAL_TIMES)
    search.tighten(program=False)
    search.improve()
    return "gap"


def improve_locally(run: Run, until: Clock) -> None:
    """Have the engine for large tables search on for better patterns."""
    search: LocalSearch = run.local
    search.clock, search.progress = until, None
    try:
        if search.improve():
            search.ways.clear()
    finally:
        assert search.audit is not None
        if run.would_be_best(search.audit.certificate.pattern):
            run.begin_with(search.audit)


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
    begun, began = Book(run.arrays), now()
    offer(run, weights, run.clock.within(_FIRST_SECONDS), book=begun)
    missing = _missing(begun)
    # The first requirements take longest: later ones find witnesses there.
    served = len(run.arrays.need) - missing
    ends_soon = missing * (now() - began) <= served * _SOON
    very_large = run.problem.table.n_cells >= VERY_LARGE
    if missing and not run.found and ends_soon and not very_large:
        offer(run, weights, run.clock, book=begun)
    if run.found and not very_large:
        return
    seconds = max(_SUBSPACE_SECONDS, entries(run) / _ENTRIES_A_SECOND)
    if not run.limit.limits:
        seconds = _UNLIMITED_SECONDS
    while True:
        before = run.best_cost
        searched = search_subspaces(run, run.clock.within(seconds), 5 * PATIENCE)
        if searched and run.neighbourhood.gave_up:
            run.subspace_share = 0.0
        else:
            gained = run.best_cost != before
            run.subspace_share = LEADING if gained or not ends_soon else 1 - LEADING
        if run.found or run.clock.over or not _missing(begun):
            return
        seconds *= 2
        offer(run, weights, run.clock.within(seconds), book=begun)
        if run.found:
            return


def _missing(book: Book) -> int:
    """Count the requirements that a book does not settle."""
    return sum(not book.settled(r) for r in range(len(book.field.need)))
