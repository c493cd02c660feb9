"""State of a run of the cut loop, and how a proposed pattern is answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from csp.audits.audit import Audit
from csp.audits.claims import Claim
from csp.clock import Clock
from csp.errors import SolverError
from csp.solve.cuts import Cut, CutFactory, budget_cut, no_good, outside_cut
from csp.solve.exact.master import Answer, Master
from csp.solve.exact.unions import union_cut
from csp.solve.general.neighbourhood import Neighbourhood
from csp.solve.general.separate import Separator
from csp.solve.incumbent import Incumbent, Shown
from csp.solve.network.network import HiddenNetwork
from csp.solve.network.separate import FlowSeparator
from csp.solve.unprotectable import no_union_safe_pattern
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Field

# Rounds in a row that need not raise the bound by much.
_PATIENCE = 30

# Free cells from which the relaxation of a network holds only the columns that it needs.
PRICED_FROM = 3_000

__all__ = ["PRICED_FROM", "Run", "accept_or_cut", "cut_rounds", "exceeds_budget", "survivors"]


@dataclass(eq=False, repr=False)
class Run(Incumbent):
    """State of one run of the cut loop."""

    found: bool = False
    waiting: Book | None = None
    subspace_share: float = 0.5
    cut_short: bool = False
    begun_locally: bool = False
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

    def until(self, share: float) -> Clock:
        """Return a clock that ends after a share of all the time of the run."""
        return Clock(self.began + share * (self.clock.end - self.began))

    @property
    def soft_clock(self) -> Clock:
        """When to stop raising the bound and see to the pattern: after two thirds of the time."""
        return self.until(2 / 3)


def survivors(run: Run, budget: int | None, share: float = 1.0) -> NDArray[np.bool_]:
    """Free cells that can be in a pattern whose free cells cost at most this much.

    Reduced costs of the relaxation exclude the others. With a share below 1, only cells that take
    up at most this share of what the budget leaves above the bound; a pattern outside them is then
    possible, but not likely.
    """
    if budget is None:
        return run.alive
    answer = run.master.relax()
    if answer.x is None or answer.reduced is None:
        return run.alive
    room = max(0.0, budget - answer.bound)
    slack = 1e-6 * max(1.0, abs(answer.bound))
    return run.alive & (answer.reduced <= share * room + slack)


def cut_rounds(
    run: Run, objective: NDArray[np.float64] | None = None, until: Clock | None = None
) -> Iterator[Answer]:
    """Solve the relaxation and cut off its solution, again and again.

    Ends when no cut is left, when many rounds have hardly raised the bound, or with the time.

    Parameters
    ----------
    run : Run
    objective : (n,) float64, optional
        In place of the costs.
    until : Clock, optional
        When to stop, in place of the run's own time for it.

    Yields
    ------
    Answer
        Each solution before it is cut off.
    """
    stalled, last = 0, -np.inf
    until = run.soft_clock if until is None else until
    while not until.over and stalled < _PATIENCE:
        answer = run.master.relax(objective)
        if answer.x is None:
            return
        yield answer
        stalled = 0 if answer.bound > last + 1e-4 * abs(last) else stalled + 1
        last = max(last, answer.bound)
        if not run.master.add(violated_cuts(run, answer.x, until, whole=False)):
            return


def violated_cuts(run: Run, x: NDArray[np.float64], until: Clock, *, whole: bool) -> list[Cut]:
    """Cuts that a point violates (a pattern, if it is whole); empty if there is none."""
    cuts = run.cutter.bridgeless(x)
    if not cuts:
        cuts = [*chain(*run.separator.misses(x, whole=whole, clock=until))]
    return cuts


def exceeds_budget(
    run: Run, pattern: NDArray[np.bool_], limits: list[tuple[NDArray[np.int64], int]]
) -> str:
    """Check a proposed pattern against limits on its free cells, in exact integers.

    Returns
    -------
    {"", "cut off", "stuck"}
        "" if it keeps every limit; "cut off" if it does not and a cut now excludes it; "stuck"
        if that cut had been there already, so that the solver cannot tell.
    """
    chosen = pattern & run.problem.free
    for weights, most in limits:
        if sum(weights[chosen].tolist()) > most:
            new = run.master.add([budget_cut(chosen, weights, most)])
            return "cut off" if new else "stuck"
    return ""


def accept_or_cut(run: Run, pattern: NDArray[np.bool_]) -> Audit | None:
    """Accept a proposed pattern, or cut it off.

    Returns
    -------
    Audit or None
        The audit if the pattern is safe; None if cuts were added that exclude it.
    """
    x = pattern.astype(np.float64)
    if run.master.add(violated_cuts(run, x, run.clock, whole=True)):
        return None
    result = run.try_incumbent(pattern)
    if result is None:
        if not run.master.add([no_good(run.problem, pattern)]):
            msg = "a pattern about which nothing can be proved came back"
            raise SolverError(msg)
        return None
    if result.safe:
        return result
    cuts = [c for c in _cuts_of(run, pattern, result) if c.slack(x) < -1e-7]
    if run.master.add(cuts):
        return None
    # The solver's tolerances let a pattern pass that a cut excludes, or there was no cut. What an
    # unsafe pattern lacks, all its parts lack too, and that is a sharp cut; not so for sums, where
    # only this pattern is known to be unsafe.
    if all(v.kind == "union" for v in result.violations):
        if not run.problem.free.any():
            raise no_union_safe_pattern(run.problem)
        sharp = no_good(run.problem, pattern)
    else:
        sharp = outside_cut(run.problem, pattern)
    if not run.master.add([sharp]):
        msg = "an unsafe pattern came back although it had been cut off"
        raise SolverError(msg)
    return None


def _cuts_of(run: Run, pattern: NDArray[np.bool_], result: Audit) -> list[Cut]:
    """Exact cuts from the proofs of an audit."""
    cuts = []
    claims: dict[tuple[int, tuple[int, ...]], dict[int, Claim]] = {}
    for claim in result.certificate:
        claims.setdefault((claim.cell, claim.known), {})[claim.sign] = claim
    for violation in result.violations:
        if violation.kind == "union":
            cuts.append(union_cut(run.problem, pattern, violation))
            continue
        known = violation.cells[1:]
        ends = claims[violation.cells[0], tuple(known)]
        for side, need in (
            ((-1,), int(run.problem.lpl[violation.cells[0]])),
            ((1,), int(run.problem.upl[violation.cells[0]])),
            ((-1, 1), int(run.problem.spl[violation.cells[0]])),
        ):
            if need == 0 or not all(ends[s].exact and _is_small(ends[s]) for s in side):
                continue
            sides = [
                (s, ends[s].rows, ends[s].multipliers.astype(np.int64), ends[s].divisor)
                for s in side
            ]
            cut = run.cutter.capacity(violation.cells[0], need, sides, tuple(known))
            if cut is not None:
                cuts.append(cut)
    return cuts


def _is_small(claim: Claim) -> bool:
    """Whether products with the multipliers of a claim fit 64 bits."""
    return max(map(abs, claim.multipliers.tolist()), default=0) < 2**31
