"""Separators by priority, the rounds in which they cut points off, and answers to patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np

from csp.audits.audit import Audit
from csp.audits.claims import Claim
from csp.clock import Clock
from csp.errors import SolverError
from csp.exact import Bools, Floats, Ints
from csp.problem.requirements import implied_levels
from csp.solve.cuts import Cut, budget_cut, no_good, outside_cut
from csp.solve.exact.master import Answer
from csp.solve.exact.state import Run
from csp.solve.exact.unions import union_cut
from csp.solve.network.separate import FlowSeparator
from csp.solve.unprotectable import no_union_safe_pattern

# Rounds in a row that need not raise the bound by much.
_PATIENCE = 30

# Requirements cut off, and looked at for that, where a few will do: by programs of HiGHS, and by
# those in kernel form, which take a tenth of the time.
_FEW, _FEW_IN_KERNEL_FORM = (5, 10), (8, 20)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point to cut off.

    Attributes
    ----------
    x : (n,) float64
    until : Clock
        When to stop.
    whole : bool
        Whether it is a pattern.
    few : bool
        Whether a few requirements that it misses will do.
    combined : callable, optional
        Gives zero-half cuts of the rows that hold at the point.
    """

    x: Floats
    until: Clock
    whole: bool = False
    few: bool = False
    combined: Callable[[Floats], list[Cut]] | None = None


Separator = Callable[[Run, Point], list[Cut]]
"""Returns cuts that a point violates."""


def _bridgeless(run: Run, point: Point) -> list[Cut]:
    return run.cutter.bridgeless(point.x)


def _capacity(run: Run, point: Point) -> list[Cut]:
    separator, x, until = run.separator, point.x, point.until
    if isinstance(separator, FlowSeparator):
        return [*chain(*separator.misses(x, whole=point.whole, clock=until))]
    if not point.few:
        shown = run.standing(x > 0.5) if point.whole else {}
        return [*chain(*separator.misses(x, whole=point.whole, clock=until, shown=shown))]
    most, tries = _FEW_IN_KERNEL_FORM if separator.in_kernel_form else _FEW
    found = separator.misses(x, whole=False, clock=until, most=most, tries=tries)
    return [*chain(*found)]


def _zero_half(run: Run, point: Point) -> list[Cut]:
    return [] if point.combined is None or run.net is not None else point.combined(point.x)


SEPARATORS: Mapping[str, Separator] = MappingProxyType(
    {
        "bridgeless": _bridgeless,
        "capacity": _capacity,
        "zero-half": _zero_half,
    }
)
"""By name, the quickest first."""


def separate(run: Run, point: Point, enough: int = 1) -> list[Cut]:
    """Cuts that a point violates: separators are asked in turn until there are enough."""
    cuts: list[Cut] = []
    for name, separator in SEPARATORS.items():
        if len(cuts) < enough and name not in run.without:
            cuts += separator(run, point)
    return cuts


def survivors(run: Run, budget: int | None) -> Bools:
    """Free cells that can be in a pattern whose free cells cost at most this much.

    Reduced costs of the relaxation exclude the others.
    """
    if budget is None:
        return run.alive
    answer = run.master.relax()
    if answer.x is None or answer.reduced is None:
        return run.alive
    room = max(0.0, budget - answer.bound)
    slack = 1e-6 * max(1.0, abs(answer.bound))
    return run.alive & (answer.reduced <= room + slack)


def cut_rounds(
    run: Run, objective: Floats | None = None, until: Clock | None = None
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
        if not run.master.add(separate(run, Point(answer.x, until))):
            return


def exceeds_budget(run: Run, pattern: Bools, limits: list[tuple[Ints, int]]) -> str:
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


def accept_or_cut(run: Run, pattern: Bools) -> Audit | None:
    """Accept a proposed pattern, or cut it off.

    Returns
    -------
    Audit or None
        The audit if the pattern is safe; None if cuts were added that exclude it.
    """
    x = pattern.astype(np.float64)
    if run.master.add(separate(run, Point(x, run.clock, whole=True))):
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


def _cuts_of(run: Run, pattern: Bools, result: Audit) -> list[Cut]:
    """Exact cuts from the proofs of an audit."""
    cuts = []
    levels = implied_levels(run.problem)
    claims: dict[tuple[int, tuple[int, ...]], dict[int, Claim]] = {}
    for claim in result.certificate:
        claims.setdefault((claim.cell, claim.known), {})[claim.sign] = claim
    for violation in result.violations:
        if violation.kind == "union":
            cuts.append(union_cut(run.problem, pattern, violation))
            continue
        known = violation.cells[1:]
        ends = claims[violation.cells[0], tuple(known)]
        rise, fall, slide = levels[:, violation.cells[0]].tolist()
        for side, need in (((-1,), fall), ((1,), rise), ((-1, 1), slide)):
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
