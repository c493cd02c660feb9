"""The engine for tables of an office's size: construct, certify, improve, and bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from csp.audits.audit import Audit
from csp.clock import Clock, now
from csp.errors import InputError, OutOfTime
from csp.problem.problem import Problem
from csp.problem.singletons import Attackers
from csp.solve.fallback import everything_suppressed, grace
from csp.solve.incumbent import Incumbent
from csp.solve.large.regions import improve_regions
from csp.solve.large.relaxation import CLOSE, Relaxation
from csp.solve.large.swaps import occupied, swaps
from csp.solve.result import ProgressCallback, Suppression
from csp.solve.unprotectable import fully_suppressed
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder, prune, serve_together
from csp.solve.witnesses.exchange import drop_cells
from csp.solve.witnesses.field import Field, Witness
from csp.solve.witnesses.rescue import rescue

__all__ = ["LARGE", "begins", "solve_large"]

LARGE = 10_000
"""Number of cells from which branch and cut adds nothing to this engine in a minute."""

# Number of cells from which a search by branch and cut does well to begin with this engine: if
# cells are whole units, and if they are not.
_BEGINS_WHOLE = 1_000
_BEGINS = 2_000

# By how much a cell is cheaper that the relaxation holds wholly, or for two thirds at least: near
# the optimum points are mixtures of vertices. (Second patterns of four tables are 1 to 3 % cheaper
# than by the share itself, and no cheaper by a nearer point.)
_TRUST, _LIKELY = 0.95, 1.5

# Witnesses compared for each requirement when a second pattern is constructed, and the time for
# that, if time is limited, in times of what has passed. (It takes two or three times as long as the
# first.)
_COMPARED = 2
_AGAIN = 4

# Share of the combinations of codes that are cells, below which pairs of cells serve best: blocks
# are products of codes, most of which are missing there.
_SPARSE = 0.1

# Shares of the time for the relaxation before the first pattern and for the rest of it, and of what
# is left for the audit of a pattern.
_RELAX, _CLOSER = 0.3, 0.1
_AUDIT = 0.3

# How near the optimum a point of the relaxation is that guides.
_GUIDE = 0.02

# Time kept for an audit, in times of the last one.
_AS_LONG = 1.2


def begins(problem: Problem, *, integer: bool) -> bool:
    """Whether this engine finds first patterns that other searches are not likely to better.

    Deep hierarchies of few codes whose files have no labels (JJ) are better searched through
    subspaces in which all primary cells move at once (`csp.solve.general.neighbourhood`).
    """
    least = _BEGINS_WHOLE if integer else _BEGINS
    if problem.union_rule is not None or problem.table.n_cells < least:
        return False
    return Axes(problem.table).labelled


@dataclass(eq=False, repr=False)
class _Search(Incumbent):
    """State of one run."""

    axes: Axes = field(kw_only=True)
    audit_seconds: float = 0.0
    rescued: int = 0

    @property
    def tolerance(self) -> int:
        """None: the bounds of relations allow for rounding themselves."""
        return 0

    def try_incumbent(self, book: Book, clock: Clock) -> None:
        """Audit the pattern of a book and keep it if it is the best."""
        pattern = book.pattern()
        if not self.would_be_best(pattern):
            return
        began = now()
        result = self.judged(pattern, clock, book.claims())
        self.audit_seconds = now() - began
        if result is not None and result.safe:
            self.take(result)


def solve_large(
    problem: Problem, *, clock: Clock, gap: float, integer: bool, seed: int,
    progress: ProgressCallback | None, last: bool = True, as_long: float = np.inf,
    start: Audit | None = None,
) -> Suppression:  # fmt: skip
    """Solve a large problem; see `csp.suppress` for the parameters.

    Parameters
    ----------
    last : bool
        Whether nothing else is tried: everything is suppressed then if no pattern was found.
    as_long : float
        Limit of the search for better patterns, in times of what the first one took.
    start : Audit, optional
        Of a safe pattern to begin with: its cells are the first to construct with.

    Raises
    ------
    InputError
        If relations do not run along dimensions, or there is a rule for sums.
    Unprotectable, OutOfTime, KeyboardInterrupt
        See `csp.solve.exact.cut_loop.solve_by_cuts`.
    """
    if problem.union_rule is not None or not (axes := Axes(problem.table)).regular:
        msg = (
            "method 'large' takes tables in which every relation runs along one dimension, and no "
            "rule for sums of suppressed cells; use method 'auto'"
        )
        raise InputError(msg)
    search = _Search(problem, clock, gap, integer, seed, progress, axes=axes)
    if start is not None:
        search.take(start)
    stopped = search.ended_by(partial(_run, search, as_long))
    if last and search.best is None and (everything := everything_suppressed(
        problem, time_limit=max(clock.end - search.began, 0.0), stopped=stopped, began=search.began,
        method="large", integer=integer,
    )):  # fmt: skip
        return everything
    return search.result("large", stopped, {"rescued": search.rescued})


def _run(search: _Search, as_long: float) -> str:
    """Construct, certify and improve; say what ended it."""
    problem, clock = search.problem, search.clock
    arrays = Field(problem, integer=search.integer)
    builder = Builder(arrays, search.axes)
    attackers = Attackers(problem) if problem.alone.any() else None
    sparse = occupied(search.axes) < _SPARSE
    # Pairs are found as well without a guide.
    until = search.clock.part(_RELAX)
    relaxation = None if sparse else Relaxation(arrays, until, attackers)
    x = None if relaxation is None else _relaxed(search, relaxation, until, _GUIDE)
    # A first pattern is worth being a little late; the audit of full suppression may follow.
    late = Clock(clock.end + grace(clock.end - search.began) / 2) if clock.end < np.inf else clock
    book = Book(arrays, attackers)
    builder.clock = late
    serve_together(book, late)
    beforehand = dict(book.witnesses)
    guide, rows = _guide(problem, arrays, x), np.arange(len(arrays.cell))
    if search.best is not None:
        guide[search.best] *= 1 - _TRUST
    if sparse:
        for witness in swaps(arrays, search.axes, guide, late):
            book.add(witness)
            guide[witness.cells] = 0.0
        against = {r: left for r in rows.tolist() if (left := book.left(r)) != frozenset()}
        # The codes of linked tables are few of all combinations as well, and have no such pairs.
        sparse = 2 * sum(left is None for left in against.values()) < len(rows)
        rows = np.array(list(against), np.int64)
        if not sparse:
            until = search.clock.part(_RELAX)
            relaxation = Relaxation(arrays, until, attackers)
            x = _relaxed(search, relaxation, until, _GUIDE)
            guide = np.where(book.used > 0, 0.0, _guide(problem, arrays, x))
    # A second pattern follows, with more time. (Whole numbers take theirs either way.)
    builder.programs = 2 if search.integer else 1
    failed = builder.serve(book, builder.order(rows), guide)
    builder.programs = 2
    search.rescued = len(failed)
    rescue(book, failed, late)
    prune(book, arrays.price)
    search.try_incumbent(book, late)
    if search.best is None:
        search.take(fully_suppressed(problem, integer=search.integer, clock=late))
    search.report("first pattern")
    search.clock = search.clock.within(as_long * (now() - search.began))
    if not sparse:
        book = _again(search, book, beforehand, builder, x, late)
    if not (search.close_enough or search.clock.over):
        until = search.clock.part(_RELAX if sparse else _CLOSER)
        relaxation = Relaxation(arrays, until, attackers) if relaxation is None else relaxation
        _relaxed(search, relaxation, until)
        # Branch and cut, where that follows, has better bounds of its own.
        if as_long == np.inf and not search.close_enough:
            search.raise_bound(relaxation.whole(search.clock.part(_CLOSER)))
            search.report("bound")
    rng = np.random.default_rng(search.seed)
    # Regions are products of codes.
    ways = ["cells"] if sparse else ["regions", "cells"]
    idle: set[str] = set()
    while not search.close_enough:
        # What a part has begun when its time is over is still of use.
        reserve, builder.clock = _slice(search)
        if reserve.over or clock.over:
            return "time"
        if ways[0] == "regions":
            gained = improve_regions(
                book, builder, search.axes, arrays.price, reserve, rng, search.note
            )
        else:
            gained = drop_cells(book, builder, arrays.price, reserve, rng)
        prune(book, arrays.price)
        search.try_incumbent(book, late)
        search.report("improved")
        if gained:
            idle.clear()
            continue
        if not reserve.over:
            idle.add(ways[0])
        if idle == set(ways):
            return "done"
        ways.append(ways.pop(0))
    return "done" if search.best_cost == search.bound else "gap"


def _relaxed(
    search: _Search, relaxation: Relaxation, until: Clock, gap: float = CLOSE
) -> NDArray[np.float64]:
    """Solve the relaxation until a time; its point, after its bound is taken."""
    relaxed = relaxation.solve(gap, until)
    search.raise_bound(relaxed.bound)
    search.report("bound")
    return relaxed.x


def _slice(search: _Search) -> tuple[Clock, Clock]:
    """Time of a part of the search after which what it has found is audited, and of all parts.

    Without a limit sweeps are whole, so that results do not depend on the machine.
    """
    if search.clock.end == np.inf:
        return search.clock, search.clock
    # Of millions of cells an audit takes minutes, and the next one takes as long as the last.
    audited = Clock(search.clock.end - _AS_LONG * search.audit_seconds)
    whole = min(search.clock.part(1 - _AUDIT), audited, key=lambda clock: clock.end)
    return whole.within(max(1.0, 0.5 * (now() - search.began))), whole


def _again(
    search: _Search, book: Book, beforehand: dict[int, Witness], builder: Builder,
    x: NDArray[np.float64] | None, late: Clock,
) -> Book:  # fmt: skip
    """Construct once more, with a choice among witnesses for each requirement; keep the better."""
    arrays = book.field
    if search.close_enough or not arrays.price.any():
        return book
    reserve = search.clock
    if reserve.end < np.inf:
        spent = now() - search.began
        reserve = reserve.part(1 - _AUDIT).within(_AGAIN * spent)
    other = Book(arrays, book.attackers)
    for witness in beforehand.values():
        other.add(witness)
    builder.clock, builder.compared = reserve, _COMPARED
    rows = np.arange(len(arrays.cell))
    try:
        failed = builder.serve(other, builder.order(rows), _guide(search.problem, arrays, x))
    except OutOfTime:
        failed = [r for r in rows.tolist() if not other.settled(r)]
    finally:
        builder.compared = 1
    # What is left is served as in the first pattern.
    taken: set[int] = set()
    for r in failed:
        for i in book.serving(r) - taken:
            other.add(book.witnesses[i])
            taken.add(i)
    for p in sorted({int(arrays.cell[r]) for r in failed}):
        for claims in book.kept(p):
            other.keep(p, claims)
    prune(other, arrays.price)
    cost = search.cost_of(other.pattern())
    if cost >= search.cost_of(book.pattern()):
        return book
    search.try_incumbent(other, late)
    search.report("second pattern")
    # One that would have been the best and is not could not be proved.
    assert search.best_cost is not None
    return book if search.best_cost > cost else other


def _guide(problem: Problem, arrays: Field, x: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Prices to construct by: cells that the relaxation holds are cheap."""
    guide = arrays.price.copy()
    if x is not None:
        guide *= 1 - _TRUST * np.minimum(1.0, _LIKELY * x)
    guide[problem.forced] = 0.0
    return guide
