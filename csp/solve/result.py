"""What a suppression run returns, and what it reports on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from csp.auditing import Audit
from csp.problem import Problem

__all__ = ["Progress", "ProgressCallback", "Suppression", "cost_of"]


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a run, as given to the progress callback.

    Attributes
    ----------
    phase : str
        What has been done last: "start", "cuts", "guided", "improved", "tightened", "core",
        "search", "branch", "tie-break".
    bound : int
        No safe pattern costs less, in cost units.
    best : int or None
        Cost of the best safe pattern so far; None if there is none yet.
    seconds : float
        Wall time since the start.
    suppressed : int or None
        Cells in the best pattern so far.
    """

    phase: str
    bound: int
    best: int | None
    seconds: float
    suppressed: int | None = None

    def __repr__(self) -> str:
        # Costs may be sums of suppressed values: they stay out of what is printed.
        return f"Progress({self.phase}, gap {100 * self.gap:.2f} %, {self.seconds:.2f} s)"

    @property
    def gap(self) -> float:
        """Relative distance of the best pattern from the bound; 1 if there is none yet."""
        if self.best is None:
            return 1.0
        return (self.best - self.bound) / self.best if self.best > 0 else 0.0


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Suppression:
    """An audited suppression pattern with its proof of quality.

    Attributes
    ----------
    pattern : (n,) bool
        Suppressed cells, primary ones included.
    cost : int
        Cost of the secondary cells, in units of ``10**-problem.cost_scale``.
    bound : int
        No safe pattern costs less.
    gap : float
        ``(cost - bound) / cost``; 0 when proven.
    proven : bool
        Whether the pattern is proved to be cheapest, as far as a float solver can tell: costs
        that differ by less than about a millionth of the largest may be taken for equal. (That
        the pattern is safe is proved exactly, whatever the costs.)
    canonical : bool
        Whether it is also the one that the tie-break prefers among the cheapest, so that any
        order of the input, seed or machine gives the same pattern.
    seconds : float
        Wall time.
    method : str
    stopped : {"done", "time", "gap", "interrupt", "precision"}
        "precision": the solver could not go on; costs may be too far apart for it to tell the
        last patterns apart, or its answers contradict each other (`notes` says what happened).
    stats : mapping of str to int
        Counts of attacker problems, cuts and audits.
    phases : mapping of str to float
        Wall seconds of each phase.
    notes : tuple of str
        What went wrong on the way, such as why a solver gave up; no amounts.
    audit : Audit or None
        The audit that passed the pattern: primary cells only, followed as far as their levels.
    """

    pattern: NDArray[np.bool_]
    cost: int
    bound: int
    gap: float
    proven: bool
    canonical: bool
    seconds: float
    method: str
    stopped: str = "done"
    stats: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    audit: Audit | None = None

    def __repr__(self) -> str:
        # The cost may be a sum of suppressed values: it stays out of what is printed.
        word = "proven optimum" if self.proven else f"gap {100 * self.gap:.2f} %"
        notes = "".join(f"; {note}" for note in self.notes)
        return f"Suppression({int(self.pattern.sum())} cells, {word}, {self.seconds:.2f} s{notes})"


def cost_of(problem: Problem, pattern: NDArray[np.bool_]) -> int:
    """Cost of the secondary cells of a pattern, in units of ``10**-problem.cost_scale``."""
    counted = pattern & np.isin(problem.status, ("s", "x"))
    return int(sum(problem.cost[counted].tolist()))
