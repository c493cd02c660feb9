"""What every search has: the best safe pattern so far, a bound on all, and words on both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from csp.audits.audit import Audit, judge
from csp.audits.claims import Claim
from csp.clock import Clock, now
from csp.errors import CertificateError, InputError, OutOfTime, SolverError
from csp.exact import Bools
from csp.problem.problem import Problem
from csp.solve.cuts import round_up, smallest_step
from csp.solve.result import Progress, ProgressCallback, Suppression, cost_of

# Share of the largest cost of a free cell that a float solver may take for nothing.
_TELLS = 1e-6

NONE_IN_TIME = "no safe pattern was found in the time given; allow more time"

_LEFT_OUT: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())

Shown = Mapping[int, Sequence[tuple[Claim, Claim]]]
"""Pairs of lower and upper claims about primary cells."""


@contextmanager
def left_out(names: Iterable[str]) -> Iterator[None]:
    """Have searches leave out phases and separators, to measure what these are worth.

    Parameters
    ----------
    names : iterable of str
        Of `csp.solve.exact.schedule.NAMES`.
    """
    before = _LEFT_OUT.set(frozenset(names))
    try:
        yield
    finally:
        _LEFT_OUT.reset(before)


@dataclass(eq=False, repr=False)
class Incumbent:
    """State of a search, changed as it goes on; see `csp.suppress` for the parameters.

    Attributes
    ----------
    began : float
        By `csp.clock.now`.
    audit : Audit or None
        That passed the best pattern.
    best_cost : int or None
    bound : int
        No safe pattern costs less.
    audits : int
    refused : CertificateError, InputError or None
        Why nothing could be proved about the last pattern that was left aside.
    notes : list of str
    seconds : dict of str to float
        Of each phase.
    ceiling : float
        Cost that no bound passes.
    step : int
        Two different costs differ by at least this much.
    constant : int
        Cost of what is suppressed anyway.
    without : frozenset of str
        Names that are `left_out`.
    """

    problem: Problem
    clock: Clock
    gap: float
    integer: bool
    seed: int
    progress: ProgressCallback | None
    began: float = field(default_factory=now)
    audit: Audit | None = None
    best_cost: int | None = None
    bound: int = 0
    audits: int = 0
    refused: CertificateError | InputError | None = None
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    ceiling: float = np.inf
    step: int = field(init=False)
    constant: int = field(init=False)
    without: frozenset[str] = field(init=False, default_factory=_LEFT_OUT.get)

    def __post_init__(self) -> None:
        self.step = smallest_step(self.problem.cost[self.problem.free])
        self.bound = self.constant = self.cost_of(self.problem.forced)

    @property
    def best(self) -> Bools | None:
        """The best pattern, if there is one."""
        return None if self.audit is None else self.audit.certificate.pattern

    @property
    def close_enough(self) -> bool:
        """Whether the best pattern meets the gap asked for."""
        return self.best_cost is not None and (
            self.best_cost - self.bound <= self.gap * self.best_cost
        )

    def cost_of(self, pattern: Bools) -> int:
        """Cost of the secondary cells of a pattern."""
        return cost_of(self.problem, pattern)

    def would_be_best(self, pattern: Bools) -> bool:
        """Whether a pattern is cheaper than the best one, or the first."""
        return self.best_cost is None or self.cost_of(pattern) < self.best_cost

    def ended_by(self, search: Callable[[], str]) -> str:
        """Run a search and say what ended it; a pattern is kept, whatever that was.

        Parameters
        ----------
        search : callable
            Returns what ended it, if nothing from outside did; see `Suppression.stopped`.

        Raises
        ------
        SolverError, CertificateError, KeyboardInterrupt
            Those of the search, if there is no pattern yet.
        """
        try:
            return search()
        except OutOfTime:
            return "time"
        except (SolverError, CertificateError) as error:
            # A safe pattern is worth more than the reason why no better one was found.
            if self.best is None:
                raise
            self.note(str(error))
            return "precision"
        except KeyboardInterrupt:
            if self.best is None:
                raise
            return "interrupt"

    def judged(self, pattern: Bools, clock: Clock, shown: Shown | None = None) -> Audit | None:
        """Audit a pattern; None, and a note, if nothing could be proved about it.

        Parameters
        ----------
        pattern : (n,) bool
        clock : Clock
        shown : mapping, optional
            Claims that the pattern was made of: the audit checks these first.

        Raises
        ------
        OutOfTime
            If the time runs out before the verdict.
        """
        self.audits += 1
        pattern = pattern.copy()
        pattern.flags.writeable = False
        try:
            return judge(self.problem, pattern, integer=self.integer, clock=clock, shown=shown)
        except (CertificateError, InputError) as error:
            self.refused = error
            self.note(f"a pattern was left aside ({type(error).__name__})")
            return None

    def take(self, result: Audit) -> None:
        """Make an audited pattern the best one.

        Raises
        ------
        SolverError
            If it costs less than the bound; it has been kept.
        """
        # The audit first: an interrupt in between leaves a pattern whose cost can be told.
        self.audit = result
        self.best_cost = cost = self.cost_of(result.certificate.pattern)
        if self.bound - cost > self.tolerance:
            self._contradict("a safe pattern costs less than the bound")
        self.bound = min(self.bound, cost)

    def raise_bound(self, relaxed: float, *, cutoff: bool = False) -> None:
        """Take a float bound on the cost of the free cells.

        Parameters
        ----------
        relaxed : float
        cutoff : bool
            Whether what bounds leave out are patterns that cost no less than the incumbent: then
            they may pass its cost, and prove no more than that.

        Raises
        ------
        SolverError
            If the bound contradicts the incumbent.
        """
        if not np.isfinite(relaxed):
            return
        bound = max(self.bound, self.constant + round_up(relaxed, self.step))
        if self.best_cost is not None and bound > self.best_cost:
            if not cutoff and bound - self.best_cost > self.tolerance:
                self._contradict("a bound passed the cost of a safe pattern")
            bound = self.best_cost
        self.bound = int(min(bound, self.ceiling))

    @property
    def tolerance(self) -> int:
        """Difference of costs that a float solver need not tell."""
        return int(_TELLS * self.problem.cost[self.problem.free].max(initial=0))

    def _contradict(self, message: str) -> NoReturn:
        self.bound = self.constant
        raise SolverError(message)

    def note(self, text: str) -> None:
        """Remember what went wrong on the way."""
        if text not in self.notes:
            self.notes.append(text)

    def report(self, phase: str) -> None:
        """Report progress, and count the time since the last report for the phase."""
        spent = now() - self.began
        self.seconds[phase] = self.seconds.get(phase, 0.0) + spent - sum(self.seconds.values())
        if self.progress is not None:
            hidden = None if self.best is None else int(self.best.sum())
            self.progress(Progress(phase, self.bound, self.best_cost, spent, hidden))

    def result(
        self, method: str, stopped: str, stats: Mapping[str, int], *, canonical: bool = False
    ) -> Suppression:
        """Return the best pattern with what is known of it.

        Raises
        ------
        OutOfTime
            If there is none.
        """
        if self.audit is None:
            raise OutOfTime(NONE_IN_TIME)
        # An interrupt may have come between the pattern and its cost.
        try:
            self.take(self.audit)
        except SolverError as error:
            self.note(str(error))
            stopped = "precision"
        assert self.best_cost is not None
        return Suppression(
            self.audit.certificate.pattern, self.best_cost, self.bound, canonical=canonical,
            seconds=now() - self.began, method=method, stopped=stopped,
            stats={**stats, "audits": self.audits}, phases=dict(self.seconds),
            notes=tuple(self.notes), audit=self.audit,
        )  # fmt: skip
