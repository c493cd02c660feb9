"""The engine for tables of an office's size: construct, certify, improve, and bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from csp.audits.audit import Audit
from csp.clock import Clock, now
from csp.errors import InputError, OutOfTime
from csp.exact import Floats
from csp.problem.problem import Problem
from csp.problem.singletons import Attackers
from csp.solve.fallback import everything_suppressed, grace
from csp.solve.incumbent import Incumbent
from csp.solve.large.cut_pool import CutPool
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

# Time for the relaxation, and for an integer program, as a share of what has passed; and seconds of
# patterns between two of these at least.
_RELAX = 0.2
_ROUND = 8.0

# How near the optimum a point of the relaxation is that guides, and steps for it at most.
_GUIDE, _GUIDE_STEPS = 0.02, 2000

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
class LocalSearch(Incumbent):
    """A search by witnesses in parts of a table, which goes on where it stopped.

    How long each part of it takes depends on what has passed, and not on the time limit, which
    ends it wherever it is.
    """

    axes: Axes = field(kw_only=True)
    arrays: Field = field(init=False)
    builder: Builder = field(init=False)
    book: Book = field(init=False)
    pool: CutPool = field(init=False)
    relaxation: Relaxation | None = None
    sparse: bool = False
    audit_seconds: float = 0.0
    rescued: int = 0
    ways: list[str] = field(default_factory=list)
    idle: set[str] = field(default_factory=set)
    tightened: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.arrays = Field(self.problem, integer=self.integer)
        self.builder = Builder(self.arrays, self.axes)
        attackers = Attackers(self.problem) if self.problem.alone.any() else None
        self.book = Book(self.arrays, attackers)
        self.pool = CutPool(self.problem)
        self.rng = np.random.default_rng(self.seed)

    @property
    def tolerance(self) -> int:
        """None: the bounds of relations allow for rounding themselves."""
        return 0

    @property
    def late(self) -> Clock:
        """A first pattern may be a little late; the audit of full suppression may follow."""
        stop = self.clock.stop
        return Clock(stop + grace(stop - self.began) / 2) if stop < np.inf else self.clock

    # ---- a first pattern, and a second ---------------------------------------------------------

    def construct(self, as_long: float) -> None:
        """Find a first pattern, and a second one with more care."""
        arrays, builder, book, late = self.arrays, self.builder, self.book, self.late
        self.sparse = occupied(self.axes) < _SPARSE
        # Pairs are found as well without a guide.
        x = None if self.sparse else self._relaxed(self.late, _GUIDE, _GUIDE_STEPS)
        builder.clock = late
        serve_together(book, late)
        beforehand = dict(book.witnesses)
        guide, rows = _guide(self.problem, arrays, x), np.arange(len(arrays.cell))
        if self.best is not None:
            guide[self.best] *= 1 - _TRUST
        if self.sparse:
            for witness in swaps(arrays, self.axes, guide, late):
                book.add(witness)
                guide[witness.cells] = 0.0
            against = {r: left for r in rows.tolist() if (left := book.left(r)) != frozenset()}
            # The codes of linked tables are few of all combinations as well, and have no such
            # pairs.
            self.sparse = 2 * sum(left is None for left in against.values()) < len(rows)
            rows = np.array(list(against), np.int64)
            if not self.sparse:
                x = self._relaxed(self.late, _GUIDE, _GUIDE_STEPS)
                guide = np.where(book.used > 0, 0.0, _guide(self.problem, arrays, x))
        # A second pattern follows, with more time. (Whole numbers take theirs either way.)
        builder.programs = 2 if self.integer else 1
        failed = builder.serve(book, builder.order(rows), guide)
        builder.programs = 2
        self.rescued = len(failed)
        rescue(book, failed, late)
        prune(book, arrays.price)
        self.try_incumbent(book, late)
        if self.best is None:
            self.take(fully_suppressed(self.problem, integer=self.integer, clock=late))
        self.report("first pattern")
        self.clock = self.clock.within(as_long * (now() - self.began))
        if not self.sparse:
            self._again(beforehand, x)
        # Regions are products of codes.
        self.ways = ["cells"] if self.sparse else ["regions", "cells"]

    def _again(self, beforehand: dict[int, Witness], x: Floats | None) -> None:
        """Construct once more, with a choice among witnesses for each requirement.

        The better one is kept.
        """
        arrays, builder, book, late = self.arrays, self.builder, self.book, self.late
        if self.close_enough or not arrays.price.any():
            return
        reserve = self.clock
        if reserve.stop < np.inf:
            reserve = self._before_audit().within(_AGAIN * (now() - self.began))
        other = Book(arrays, book.attackers)
        for witness in beforehand.values():
            other.add(witness)
        builder.clock, builder.compared = reserve, _COMPARED
        rows = np.arange(len(arrays.cell))
        try:
            failed = builder.serve(other, builder.order(rows), _guide(self.problem, arrays, x))
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
        cost = self.cost_of(other.pattern())
        if cost >= self.cost_of(book.pattern()):
            return
        self.try_incumbent(other, late)
        self.report("second pattern")
        # One that would have been the best and is not could not be proved.
        assert self.best_cost is not None
        if self.best_cost <= cost:
            self.book = other

    # ---- better patterns -----------------------------------------------------------------------

    def improve(self) -> bool:
        """Search on until the clock is over, the gap is reached, or nothing is left to try.

        Return whether it is the last.
        """
        while self.ways and not self.close_enough:
            # What a part has begun when its time is over is still of use.
            reserve, self.builder.clock = self._slice()
            if reserve.over or self.clock.over:
                return False
            book, price = self.book, self.arrays.price
            if self.ways[0] == "regions":
                gained = improve_regions(
                    book, self.builder, self.axes, self.pool, price, reserve, self.rng, self.note
                )
            else:
                gained = drop_cells(book, self.builder, price, reserve, self.rng)
            prune(book, price)
            self.try_incumbent(book, self.late)
            self.report("improved")
            if gained:
                self.idle.clear()
                continue
            if self.clock.over:
                return False  # cut short: the next round goes on with it
            if not reserve.over:
                self.idle.add(self.ways[0])
            if self.idle == set(self.ways):
                return True
            self.ways.append(self.ways.pop(0))
        return False

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

    def _slice(self) -> tuple[Clock, Clock]:
        """Time of a part of the search, after which what it has found is audited, and of all parts.

        Without a limit sweeps are whole, so that results do not depend on the machine.
        """
        if self.clock.stop == np.inf:
            return self.clock, self.clock
        whole = self._before_audit()
        return whole.within(max(1.0, 0.5 * (now() - self.began))), whole

    def _before_audit(self) -> Clock:
        """Return the time that is left but for an audit, which takes as long as the last one.

        Of millions of cells that is minutes.
        """
        clock = self.clock
        return replace(clock, limit=clock.stop - _AS_LONG * self.audit_seconds)

    # ---- the bound -----------------------------------------------------------------------------

    def tighten(self, *, program: bool) -> None:
        """Raise the bound for a share of the time that has passed.

        Parameters
        ----------
        program : bool
            Whether by an integer program as well; branch and cut has better bounds of its own.
        """
        self.tightened = spent = now() - self.began
        if self.close_enough or self.clock.over:
            return
        self._relaxed(self._as_long(_RELAX * spent))
        if program and not self.close_enough:
            assert self.relaxation is not None
            self.raise_bound(self.relaxation.whole(self._as_long(_RELAX * spent)))
            self.report("bound")

    def _as_long(self, seconds: float) -> Clock:
        """Return a clock of some seconds, or without end: then nothing depends on time."""
        return self.clock.within(seconds) if self.clock.stop < np.inf else self.clock

    def _relaxed(self, until: Clock, gap: float = CLOSE, steps: int | None = None) -> Floats:
        """Solve the relaxation on; its point, after its bound is taken."""
        if self.relaxation is None:
            self.relaxation = Relaxation(self.arrays, until, self.book.attackers)
        relaxed = self.relaxation.solve(gap, until, steps)
        self.raise_bound(relaxed.bound)
        self.report("bound")
        return relaxed.x


def begun(
    problem: Problem, *, clock: Clock, gap: float, integer: bool, seed: int,
    progress: ProgressCallback | None, start: Audit | None = None,
) -> LocalSearch:  # fmt: skip
    """Return a search of this engine; see `solve_large`.

    Raises
    ------
    InputError
    """
    if problem.union_rule is not None or not (axes := Axes(problem.table)).regular:
        msg = (
            "method 'large' takes tables in which every relation runs along one dimension, and no "
            "rule for sums of suppressed cells; use method 'auto'"
        )
        raise InputError(msg)
    search = LocalSearch(problem, clock, gap, integer, seed, progress, axes=axes)
    if start is not None:
        search.take(start)
    return search


def solve_large(
    problem: Problem, *, clock: Clock, gap: float, integer: bool, seed: int,
    progress: ProgressCallback | None, start: Audit | None = None,
) -> Suppression:  # fmt: skip
    """Solve a large problem; see `csp.suppress` for the parameters.

    Parameters
    ----------
    start : Audit, optional
        Of a safe pattern to begin with: its cells are the first to construct with.

    Raises
    ------
    InputError
        If relations do not run along dimensions, or there is a rule for sums.
    Unprotectable, OutOfTime, KeyboardInterrupt
        See `csp.solve.exact.cut_loop.solve_by_cuts`.
    """
    search = begun(
        problem, clock=clock, gap=gap, integer=integer, seed=seed, progress=progress, start=start
    )
    stopped = search.ended_by(partial(_run, search))
    if search.best is None and (everything := everything_suppressed(
        problem, time_limit=max(clock.end - search.began, 0.0), stopped=stopped, began=search.began,
        method="large", integer=integer,
    )):  # fmt: skip
        return everything
    return search.result("large", stopped, {"rescued": search.rescued})


def _run(search: LocalSearch) -> str:
    """Construct, certify, improve and bound by turns; say what ended it."""
    limit = search.clock
    search.construct(np.inf)
    while True:
        search.tighten(program=True)
        search.clock = limit.round(max(_ROUND, search.tightened)) if limit.stop < np.inf else limit
        stuck = search.improve()
        search.clock = limit
        if search.close_enough:
            return "done" if search.best_cost == search.bound else "gap"
        if stuck or limit.over:
            return "done" if stuck else "time"


def _guide(problem: Problem, arrays: Field, x: Floats | None) -> Floats:
    """Prices to construct by: cells that the relaxation holds are cheap."""
    guide = arrays.price.copy()
    if x is not None:
        guide *= 1 - _TRUST * np.minimum(1.0, _LIKELY * x)
    guide[problem.forced] = 0.0
    return guide
