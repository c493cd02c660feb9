"""Patterns constructed one requirement after the other, where a relaxation makes cells cheap.

Networks have cheapest paths (`csp.solve.network.network`), other tables witnesses. Whatever is
found is offered to the run, which audits it exactly.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime
from csp.exact import Bools, Floats
from csp.solve.exact.state import Run
from csp.solve.network.network import clean_paths, suppress_paths
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import prune
from csp.solve.witnesses.rescue import rescue

# By how much a cell is cheaper that the point holds wholly: a search each. Witnesses take longer
# than paths, and search once.
_TRUST = (1.0, 0.9, 0.5)
_WITNESSES_TRUST = 0.9

# Shares of the time that is left for the audit of a first pattern, and of a better one.
_FIRST_AUDIT, _AUDIT = 0.9, 0.3

# Share of its cost that a cell keeps at least, whatever a point holds of it.
_LEAST_WEIGHT = 1e-3


def follow_relaxation(run: Run, _: Clock) -> None:
    """Offer patterns near the point of the relaxation."""
    answer = run.master.relax()
    if answer.x is not None:
        round_lp(run, answer.x, _TRUST if run.net is not None else (_WITNESSES_TRUST,))
        run.fix_by_reduced_cost(answer)


def round_lp(run: Run, x: Floats, trusts: tuple[float, ...]) -> None:
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
        latest = max(run.soft_clock, run.clock.part(_AUDIT))
        offer(run, run.problem.cost * (1 - trust * x), latest)


def complete_pattern(
    run: Run, pattern: Bools, x: Floats | None = None, until: Clock = UNLIMITED,
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
    offer(run, run.problem.cost * (1 - 0.9 * share), min(until, run.clock), begin=pattern)


def offer(
    run: Run, weights: Floats, clock: Clock, *,
    begin: Bools | None = None, book: Book | None = None,
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
    run: Run, weights: Floats, clock: Clock, begin: Bools | None, book: Book,
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
        take(run, book)


def take(run: Run, book: Book) -> None:
    """Offer the pattern of a book, if it would be the best."""
    pattern, before = book.pattern(), run.best_cost
    if not run.would_be_best(pattern):
        return
    try:
        run.try_incumbent(pattern, book.claims(), _AUDIT if run.best is not None else _FIRST_AUDIT)
    except OutOfTime:
        # Another pattern's audit may be shorter.
        run.waiting = book
        if run.clock.over:
            raise
    if run.best_cost != before:
        run.found, run.waiting = True, None
