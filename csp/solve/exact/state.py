"""State of a run of the cut loop, which all its phases share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from csp.audits.audit import Audit
from csp.clock import Clock
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

__all__ = ["PRICED_FROM", "Run"]


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
    """

    found: bool = False
    settled: bool = False
    waiting: Book | None = None
    subspace_share: float = 0.5
    begun_locally: bool = False
    cut_short: bool = False
    canonical: bool = False
    cutter: CutFactory = field(init=False)
    net: HiddenNetwork | None = field(init=False)
    separator: Separator | FlowSeparator = field(init=False)
    master: Master = field(init=False)
    alive: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cutter = CutFactory(self.problem)
        self.net = HiddenNetwork.of(self.problem)
        large = self.net is not None and int(self.problem.free.sum()) >= PRICED_FROM
        self.separator = (
            Separator(self.problem, self.cutter, self.seed)
            if self.net is None
            else FlowSeparator(self.net, self.cutter, compact=large)
        )
        self.master = Master(self.problem, self.seed, self.clock, priced=large)
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
        self, pattern: NDArray[np.bool_], shown: Shown | None = None, share: float = 1.0
    ) -> Audit | None:
        """Audit a pattern and keep it if it is safe and cheaper.

        Parameters
        ----------
        pattern : (n,) bool
        shown : mapping, optional
            Claims that the pattern was made of: the audit checks these first.
        share : float
            Of the time that is left, for the audit.

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
        result = self.judged(pattern, self.clock.part(share), shown)
        if result is None:
            self.ceiling = min(self.ceiling, self.cost_of(pattern))
            self.bound = int(min(self.bound, self.ceiling))
            return None
        if result.safe and self.would_be_best(pattern):
            # Before it is taken, which may be the end of the run.
            self.master.prefer(pattern)
            self.take(result)
        return result

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

    def until(self, share: float) -> Clock:
        """Return a clock that ends after a share of all the time of the run."""
        return Clock(self.began + share * (self.clock.end - self.began))

    @property
    def soft_clock(self) -> Clock:
        """When to stop raising the bound and see to the pattern: after two thirds of the time."""
        return self.until(2 / 3)
