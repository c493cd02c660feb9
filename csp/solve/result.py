"""What a suppression run returns, and what it reports on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from csp.audits.audit import Audit
from csp.exact import Bools
from csp.problem.problem import Problem

# Gaps are told in steps while a run lasts. An unproven gap within 1/k says that at least k units of
# cost, and so perhaps k secondary cells, are in the pattern; it is told only where that is at most
# a tenth of the suppressed cells.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
_CELLS_FOR_A_STEP = 10

NOT_STATED = "optimality not stated"
"""Said of every limited run, whatever became of it."""


def _told(gap: float, hidden: int) -> float:
    """Step that a gap does not exceed, or 1 where a pattern is too small for one."""
    if gap == 0:
        return 0.0
    told = (s for s in _STEPS if s >= gap and hidden * s >= _CELLS_FOR_A_STEP)
    return next(told, 1.0)


def _quality(step: float) -> str:
    if step == 0:
        return "proven optimum"
    return "not proved optimal" if step == 1 else f"gap at most {100 * step:g} %"


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a run, as given to the progress callback.

    Attributes
    ----------
    phase : str
        What has been done last: "start", "cuts", "guided", "improved", "tightened", "parts",
        "search", "branch", "tie-break", "audit".
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
        return f"Progress({self.phase}, {self.quality}, {self.seconds:.2f} s)"

    @property
    def gap(self) -> float:
        """Relative distance of the best pattern from the bound; 1 if there is none yet."""
        if self.best is None:
            return 1.0
        return (self.best - self.bound) / self.best if self.best > 0 else 0.0

    @property
    def gap_at_most(self) -> float:
        """Gap rounded up to one of few steps, for the person who runs it.

        0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5 or 1. In a pattern of few cells even a step would say
        how many of them are secondary at least; there it is 1.
        """
        return 1.0 if self.best is None else _told(self.gap, self.suppressed or 0)

    @property
    def quality(self) -> str:
        """How good the best pattern is, in words that disclose neither cost nor counts."""
        return "no pattern yet" if self.best is None else _quality(self.gap_at_most)


ProgressCallback = Callable[[Progress], None]


class SearchOptions(TypedDict, total=False):
    """How long and how a search runs; see `csp.suppress`, which has the defaults."""

    time_limit: float | None
    gap: float
    seed: int
    progress: ProgressCallback | None


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
    limited : bool
        Whether a gap or a time limit was asked for, or the method may end without a proof. How
        near the pattern is to the optimum then depends on suppressed values that the pattern does
        not disclose, and is not for publication.
    """

    pattern: Bools
    cost: int
    bound: int
    canonical: bool
    seconds: float
    method: str
    stopped: str = "done"
    stats: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    audit: Audit | None = None
    limited: bool = False

    def __repr__(self) -> str:
        # The cost may be a sum of suppressed values: it stays out of what is printed.
        notes = "" if self.limited else "".join(f"; {note}" for note in self.notes)
        return (
            f"Suppression({int(self.pattern.sum())} cells, {self.quality}, {self.seconds:.2f} s"
            f"{notes})"
        )

    @property
    def proven(self) -> bool:
        """Whether the pattern is proved to be cheapest, as far as a float solver can tell.

        Costs that differ by less than about a millionth of the largest may be taken for equal.
        (That the pattern is safe is proved exactly, whatever the costs.)
        """
        return self.bound == self.cost

    @property
    def gap(self) -> float:
        """``(cost - bound) / cost``; 0 when proven.

        Not for publication: a fraction with the cost as denominator discloses the cost, which may
        be a sum of suppressed values.
        """
        return 0.0 if self.proven else (self.cost - self.bound) / self.cost

    @property
    def quality(self) -> str:
        """How good the pattern is, in words that may be published."""
        if self.limited:
            return NOT_STATED
        return "proven optimum" if self.proven else "not proved optimal"

    def facts(self, problem: Problem, *, reveal: bool = False) -> dict[str, Any]:
        """Facts about the pattern of a problem as plain data, ready for JSON.

        Parameters
        ----------
        problem : Problem
        reveal : bool
            Add what depends on suppressed values: cost and bound may be sums of them, the gap is a
            fraction of the two, and where no cell is secondary the counts mark all as sensitive.
            Of a `limited` run, what became of it is None without it.
        """
        facts: dict[str, Any] = {
            "cells": problem.table.n_cells,
            "relations": int(problem.table.relations.shape[0]),
            "published": int((~self.pattern).sum()),
            "suppressed": int(self.pattern.sum()),
            "method": self.method,
            "proven": self.proven,
            "canonical": self.canonical,
            "stopped": self.stopped,
            "seconds": round(self.seconds, 3),
        }
        if self.limited and not reveal:
            facts |= dict.fromkeys(("proven", "canonical", "stopped"))
        if reveal:
            facts |= {
                "primary": int(problem.primary.sum()),
                "secondary": int((self.pattern & ~problem.primary).sum()),
                "cost": in_measure(self.cost, problem),
                "bound": in_measure(self.bound, problem),
                "gap": self.gap,
                "notes": list(self.notes),
            }
        return facts


def in_measure(cost: int, problem: Problem) -> float:
    """Cost as a number of the measure; whole where units are."""
    return cost / 10**problem.cost_scale if problem.cost_scale else cost


def cost_of(problem: Problem, pattern: Bools) -> int:
    """Cost of the secondary cells of a pattern, in units of ``10**-problem.cost_scale``."""
    counted = pattern & np.isin(problem.status, ("s", "x"))
    return int(sum(problem.cost[counted].tolist()))
