"""State of a run of the cut loop, which all its phases share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from csp.audits.audit import Audit
from csp.audits.claims import Claim, reached
from csp.clock import Clock, now
from csp.exact import Bools
from csp.solve.cuts import CutFactory
from csp.solve.exact.master import Answer, Master
from csp.solve.general.neighbourhood import Neighbourhood
from csp.solve.general.separate import Separator
from csp.solve.incumbent import Incumbent, Shown
from csp.solve.network.network import HiddenNetwork
from csp.solve.network.separate import FlowSeparator
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Field

# Free cells from which the relaxation of a network holds only the columns that it needs.
PRICED_FROM = 3_000

# Cells drawn for the first parts.
PART_CELLS = 3.0

# Seconds of a first round at least: those of small tables are proved in it.
_FIRST_ROUND = 8.0

# Pairs of claims about a cell that are taken over from one pattern to the next.
_PAIRS = 8

# Time for an audit at least: seconds, and a share of what has passed.
_AUDIT_SECONDS, _AUDIT_SHARE = 0.5, 0.1


@dataclass(eq=False, repr=False)
class Run(Incumbent):
    """State of one run of the cut loop, beside its incumbent and bound.

    Attributes
    ----------
    found : bool
        Whether a search by witnesses has found a pattern.
    settled : bool
        Whether a first pattern leaves no requirement to other searches for one.
    waiting : Book or None
        Of the last pattern whose audit did not end.
    subspace_share : float
        Of the time for subspaces, what they have earned.
    begun_locally : bool
        Whether witnesses in parts of the table came first.
    cut_short : bool
        Whether time ended the rounds of cuts.
    canonical : bool
        Whether the incumbent is known to be the preferred one of the cheapest patterns.
    related : bool
        Whether what relations ask by themselves is among the cuts.
    limit : Clock
        Of the whole run. Its `clock` is that of a round (`begin_round`).
    round_began : float
    rng : numpy.random.Generator
        For parts.
    part_width : float
        Cells drawn for a part whose best choice a program looks for.
    parts_rest : bool
        Whether programs over parts gained nothing when they came last.
    subspaces_rest : bool
        Whether subspaces were searched and have gained nothing yet.
    tree : object, optional
        The tree of the last round, which the next goes on with.
    local : LocalSearch, optional
        The engine for large tables, which began the run.
    """

    found: bool = False
    settled: bool = False
    waiting: Book | None = None
    subspace_share: float = 0.5
    begun_locally: bool = False
    cut_short: bool = False
    canonical: bool = False
    related: bool = False
    part_width: float = PART_CELLS
    parts_rest: bool = False
    subspaces_rest: bool = False
    tree: Any = None
    local: Any = None
    limit: Clock = field(init=False)
    round_began: float = field(init=False)
    rng: np.random.Generator = field(init=False)
    cutter: CutFactory = field(init=False)
    net: HiddenNetwork | None = field(init=False)
    separator: Separator | FlowSeparator = field(init=False)
    master: Master = field(init=False)
    alive: Bools = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.limit, self.round_began = self.clock, self.began
        self.rng = np.random.default_rng(self.seed)
        self.cutter = CutFactory(self.problem)
        self.net = HiddenNetwork.of(self.problem)
        large = self.net is not None and int(self.problem.free.sum()) >= PRICED_FROM
        self.separator = (
            Separator(self.problem, self.cutter, self.seed)
            if self.net is None
            else FlowSeparator(self.net, self.cutter, compact=large)
        )
        self.master = Master(self.problem, self.seed, self.limit, priced=large)
        self.alive = self.problem.free

    @cached_property
    def arrays(self) -> Field:
        """What may move, on tables that are not networks."""
        return Field(self.problem, integer=self.integer, together=True)

    @cached_property
    def builder(self) -> Builder:
        """Finds witnesses there, in the whole table.

        Integer programs keep to blocks where every relation runs along one dimension: over 729
        cells (8x8x8) they find nothing in two seconds each.
        """
        axes = Axes(self.problem.table) if self.integer else None
        if axes is not None and not axes.regular:
            axes = None
        return Builder(self.arrays, axes, local=False, both=False)

    @cached_property
    def neighbourhood(self) -> Neighbourhood:
        """Search there, which goes on where it stopped."""
        return Neighbourhood(self.arrays, self.builder, self.seed)

    def close(self) -> None:
        """No pattern is cheaper than the incumbent; only ones that could not be judged may be."""
        assert self.best_cost is not None
        self.bound = int(min(self.best_cost, self.ceiling))

    def try_incumbent(
        self, pattern: Bools, shown: Shown | None = None, share: float = 1.0
    ) -> Audit | None:
        """Audit a pattern and keep it if it is safe and cheaper.

        Parameters
        ----------
        pattern : (n,) bool
        shown : mapping, optional
            Claims that the pattern was made of: the audit checks these first.
        share : float
            Of the time that is left of the round, for the audit.

        Returns
        -------
        Audit or None
            None if nothing could be proved about the pattern. It may be safe, so no bound passes
            its cost any more.

        Raises
        ------
        OutOfTime
            If the time runs out before the verdict.
        SolverError
            If a safe pattern costs less than the bound; it has been kept.
        """
        if shown is None and self.net is None:
            shown = self.standing(pattern)
        result = self.judged(pattern, self._audit_clock(share), shown)
        if result is None:
            self.ceiling = min(self.ceiling, self.cost_of(pattern))
            self.bound = int(min(self.bound, self.ceiling))
            return None
        if result.safe and self.would_be_best(pattern):
            # Before it is taken, which may be the end of the run.
            self.master.prefer(pattern)
            self.take(result)
        return result

    def standing(self, pattern: Bools) -> Shown:
        """Claims about the incumbent that hold for another pattern as well.

        A witness that moves only cells which this pattern suppresses is one of it. Most are where
        two patterns differ in a few cells.

        Parameters
        ----------
        pattern : (n,) bool

        Returns
        -------
        mapping of int to list of (Claim, Claim)
            Against an outsider. A witness that leaves the cells of a contributor where they are
            holds against that contributor as well.
        """
        sides: dict[tuple[int, tuple[int, ...]], tuple[list[Claim], list[Claim]]] = {}
        stands: dict[int, bool] = {}
        for claim in () if self.audit is None else self.audit.certificate:
            held = stands.get(id(claim.cells))
            if held is None:
                held = stands[id(claim.cells)] = bool(pattern[claim.cells].all())
            if held and pattern[claim.cell]:
                both = sides.setdefault((claim.cell, claim.known), ([], []))
                both[claim.sign > 0].append(reached(claim))
        found: dict[int, list[tuple[Claim, Claim]]] = {}
        for (cell, _), (lower, upper) in sides.items():
            found.setdefault(cell, []).extend(zip(lower, upper, strict=False))
        return {cell: pairs[:_PAIRS] for cell, pairs in found.items() if pairs}

    def begin_with(self, start: Audit) -> None:
        """Take an audited pattern as the first one; searches lean towards it."""
        self.master.prefer(start.certificate.pattern)
        self.take(start)

    def fix_by_reduced_cost(self, answer: Answer) -> None:
        """Forget the free cells that no pattern as cheap as the incumbent holds.

        The reduced cost of a cell says by how much the bound rises where it is suppressed.
        """
        if self.best_cost is None or answer.reduced is None:
            return
        spare = self.best_cost - self.constant - answer.bound
        slack = 1e-3 * self.step + 1e-6 * abs(answer.bound)
        alive = self.alive & (answer.reduced <= spare + slack)
        if alive.sum() < 0.8 * self.alive.sum():
            self.alive = alive
            self.master.restrict(alive)
            self.cutter.restrict(alive)

    @contextmanager
    def within(self, clock: Clock) -> Iterator[None]:
        """Keep a time of its own for what is done in a ``with`` statement."""
        whole, self.clock = self.clock, clock
        try:
            yield
        finally:
            self.clock = whole

    def begin_round(self) -> None:
        """Have phases share the time of a round, which is as long as all before it.

        How long it is does not depend on the time limit, and so a longer limit changes nothing of
        what is done first. Without a limit there is one round, and what is done does not depend on
        the machine.
        """
        self.round_began = now()
        spent = self.round_began - self.began
        limited = self.limit.limits
        self.clock = self.limit.round(max(_FIRST_ROUND, spent)) if limited else self.limit

    def end_rounds(self) -> None:
        """Leave all of the time to what follows."""
        self.round_began, self.clock = self.began, self.limit

    def until(self, share: float) -> Clock:
        """Return a clock that ends after a share of the time of the round."""
        begun = self.round_began
        return replace(self.clock, end=begun + share * (self.clock.end - begun))

    @property
    def soft_clock(self) -> Clock:
        """When to stop raising the bound and see to the pattern: after two thirds of the round."""
        return self.until(2 / 3)

    def _audit_clock(self, share: float) -> Clock:
        """Give an audit a share of the round, or more at its end, so that nothing is lost."""
        passed = now() - self.began
        part = self.clock.part(share)
        least = self.limit.within(max(_AUDIT_SECONDS, _AUDIT_SHARE * passed))
        return max(part, least) if self.limit.limits else part
