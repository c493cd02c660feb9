"""Where patterns come from: first ones, ones that a relaxation suggests, and better ones.

Networks have cheapest paths (`csp.solve.network.network`), other tables witnesses and large
neighbourhoods. Whatever is found is offered to the run, which audits it exactly.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock, now
from csp.errors import CertificateError, OutOfTime
from csp.solve.exact.state import Run
from csp.solve.general.threads import single_threaded
from csp.solve.network.network import clean_paths, suppress_paths
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import prune
from csp.solve.witnesses.rescue import rescue

__all__ = [
    "PATIENCE",
    "VERY_LARGE",
    "audit_waiting",
    "complete_pattern",
    "first_patterns",
    "improve",
    "round_lp",
    "subspaces_fail",
    "subspaces_lead",
]

_TRUST = (1.0, 0.9, 0.5)
PATIENCE = 25

# Number of cells from which subspaces are searched, and from which this is done before anything is
# known of the bound; how many of their (quick) steps count as one of patience.
_LARGE = 400
VERY_LARGE = 1800
_STEPS = 8

# Their number of cells times dimensions (at least) up to which subspaces are searched.
_MOST_ENTRIES = 12_000_000

# The time for first patterns one requirement after the other (seconds, and share of what is
# left), for subspaces where this found one or none, and for what completes the last of these.
_FIRST_SECONDS = 20.0
_FIRST_SHARE = 0.1
_EARLY_SHARE = 0.2
_EARLY_SECONDS = 60.0
_LATER_SHARE = 0.8
_FINISH_SHARE = 0.25
_AUDIT_SHARE = 0.3

# Share of its cost that a cell keeps at least, whatever a point holds of it.
_LEAST_WEIGHT = 1e-3

# Share of the time that a search of subspaces gets once it has found better patterns; before that
# it gets half of it, where it has failed the rest of this share, and where rooms are tight none,
# because programs over parts gain more from there (table3).
_LEADING = 0.8


def first_patterns(run: Run) -> None:
    """Offer patterns that need no relaxation."""
    weights = run.problem.cost.astype(np.float64)
    if not _is_large(run):
        _offer(run, weights, run.clock)
        return
    until = run.clock.part(_FIRST_SHARE).within(_FIRST_SECONDS)
    begun, began = Book(run.arrays), now()
    _offer(run, weights, until, book=begun)
    missing = sum(not begun.settled(r) for r in range(len(run.arrays.need)))
    served = len(run.arrays.need) - missing
    # The first requirements take longest: later ones find witnesses there.
    ends_in_time = missing * (now() - began) <= served * run.clock.left
    very_large = run.problem.table.n_cells >= VERY_LARGE
    if missing and not run.found and ends_in_time and not very_large:
        _offer(run, weights, run.clock, book=begun)
    if not run.found or very_large:
        until = run.clock.part(_LATER_SHARE)
        if run.found or (very_large and missing and ends_in_time):
            until = run.clock.part(_EARLY_SHARE).within(_EARLY_SECONDS)
        before = run.best_cost
        if _subspaces(run, until, 5 * PATIENCE) and run.neighbourhood.gave_up:
            run.subspace_share = 0.0
        else:
            gained = run.best_cost != before
            run.subspace_share = _LEADING if gained or not ends_in_time else 1 - _LEADING
    if missing and not run.found and ends_in_time:
        _offer(run, weights, run.clock, book=begun)


def audit_waiting(run: Run) -> None:
    """Offer once more, with the time there is now, the last pattern whose audit did not end."""
    book, run.waiting = run.waiting, None
    if book is not None:
        _take(run, book)


def _subspaces(run: Run, until: Clock, patience: int | None) -> bool:
    """Search subspaces for a while and offer what is found; say if there was time for it."""
    if until.over:
        return False  # to set the search up takes a while of its own
    finish = (
        Clock(until.end + _FINISH_SHARE * (run.clock.end - until.end))
        if until < UNLIMITED
        else until
    )
    steps = None if patience is None else _STEPS * patience
    search = run.neighbourhood.run(clock=until, finish=finish, start=run.best, patience=steps)
    for book in single_threaded(search):
        _take(run, book)
        run.report("improved")
        if run.close_enough or until.over:
            break
    return True


def _is_large(run: Run) -> bool:
    """Whether subspaces in which all primary cells move are worth a search."""
    n = run.problem.table.n_cells
    if run.net is not None or n < _LARGE:
        return False
    dimensions = int(run.arrays.open.sum()) - run.arrays.relations.shape[0]
    return n * dimensions <= _MOST_ENTRIES


def subspaces_lead(run: Run) -> bool:
    """Whether subspaces give the better patterns, on a very large table."""
    return run.problem.table.n_cells >= VERY_LARGE and run.subspace_share == _LEADING


def subspaces_fail(run: Run) -> bool:
    """Whether rooms are too tight for subspaces to give better patterns than other searches."""
    return run.subspace_share == 0


def round_lp(run: Run, x: NDArray[np.float64], trusts: tuple[float, ...] = _TRUST) -> None:
    """Offer the patterns of a search that finds cells cheaper the more the point holds of them.

    Parameters
    ----------
    run : Run
    x : (n,) float64
        A point of the relaxation.
    trusts : tuple of float
        By how much a cell that the point holds wholly is cheaper; one search each.
    """
    for trust in trusts:
        if run.close_enough or run.clock.over:
            return
        latest = max(run.soft_clock, run.clock.part(_AUDIT_SHARE))
        _offer(run, run.problem.cost * (1 - trust * x), latest)


def complete_pattern(
    run: Run, pattern: NDArray[np.bool_], x: NDArray[np.float64] | None = None,
    until: Clock = UNLIMITED,
) -> None:  # fmt: skip
    """Offer a safe pattern near one that is not.

    Parameters
    ----------
    run : Run
    pattern : (n,) bool
    x : (n,) float64, optional
        A point of the relaxation that says which other cells are likely.
    until : Clock
        When to give up.
    """
    share = np.zeros(len(pattern)) if x is None else x
    _offer(run, run.problem.cost * (1 - 0.9 * share), min(until, run.clock), begin=pattern)


def improve(run: Run, until: Clock, patience: int | None = PATIENCE) -> None:
    """Search subspaces round the best pattern; for tables that are not networks.

    Exchanges of witnesses gain nothing that programs over parts do not gain sooner. The search ends
    after `patience` steps without gain; with None it goes on while there is time.
    """
    if not _is_large(run) or subspaces_fail(run):
        return
    before = run.best_cost
    _subspaces(run, min(until, run.clock).part(run.subspace_share), patience)
    if run.best_cost != before:
        run.subspace_share = _LEADING


def _offer(
    run: Run, weights: NDArray[np.float64], clock: Clock, *,
    begin: NDArray[np.bool_] | None = None, book: Book | None = None,
) -> None:  # fmt: skip
    """Offer the pattern that is cheapest, more or less, where cells cost the weights.

    Parameters
    ----------
    run : Run
    weights : (n,) float64
    clock : Clock
    begin : (n,) bool, optional
        Cells that are suppressed already.
    book : Book, optional
        Witnesses to begin with; it is changed in place, so that a search which ran out of time can
        be taken up again.
    """
    if run.net is None:
        _offer_witnesses(run, weights, clock, begin, Book(run.arrays) if book is None else book)
        return
    path = suppress_paths(run.net, weights, clock=clock, begin=begin)
    if path is not None:
        path = clean_paths(run.net, path, run.problem.cost.astype(np.float64))
    if path is not None and run.would_be_best(path):
        run.try_incumbent(path)


def _offer_witnesses(
    run: Run, weights: NDArray[np.float64], clock: Clock, begin: NDArray[np.bool_] | None,
    book: Book,
) -> None:  # fmt: skip
    """Offer a pattern of witnesses, one requirement after the other."""
    arrays, builder = run.arrays, run.builder
    least = _LEAST_WEIGHT * run.problem.cost
    price = np.where(arrays.price > 0, np.maximum(weights, least), 0.0)
    price[book.used > 0] = 0.0
    if begin is not None:
        price[begin] *= _LEAST_WEIGHT
    builder.clock = clock
    rows = np.arange(len(arrays.need))
    with suppress(OutOfTime):
        try:
            rescue(book, builder.serve(book, builder.order(rows), price), clock)
        except CertificateError as error:
            run.note(f"a pattern was left aside ({type(error).__name__})")
            return
        prune(book, arrays.price)
        _take(run, book)


def _take(run: Run, book: Book) -> None:
    """Offer the pattern of a book, if it would be the best."""
    pattern, before = book.pattern(), run.best_cost
    if not run.would_be_best(pattern):
        return
    try:
        run.try_incumbent(pattern, book.claims(), _AUDIT_SHARE if run.best is not None else 0.9)
    except OutOfTime:
        # Another pattern's audit may be shorter.
        run.waiting = book
        if run.clock.over:
            raise
    if run.best_cost != before:
        run.found, run.waiting = True, None
