"""The audit: what an outsider can infer from a pattern, proved without the optimiser.

Interval ends come with witness tables in integers (or rationals) and with proofs by weak duality;
`csp.audits.claims` checks both without a solver. A pattern is called safe only if every
primary cell reaches its protection levels by checked witnesses.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import as_arrays, interval_claims
from csp.audits.singletons import settle_singletons
from csp.audits.violations import (
    Violation,
    largest_levels,
    misplaced,
    short_of_levels,
)
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError, OutOfTime
from csp.exact import Bools, Floats, Ints
from csp.names.calls import expect, named_errors
from csp.problem.problem import Problem
from csp.problem.requirements import room, shared_levels
from csp.rules import union_sensitive
from csp.sparse import rows_of
from csp.tables.cross.html import notebook_facts
from csp.tables.patterns import as_pattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit:
    """What an outsider can infer from a pattern.

    Attributes
    ----------
    safe : bool
        Whether every promise of the problem is kept; proved, never assumed.
    lower, upper : (n,) float64
        Feasibility interval of every cell in table units (the value itself where published;
        infinite where there is no end; NaN where it was not followed). The exact ends are in the
        certificate.
    exact : (n, 2) bool
        Whether the lower and the upper end are proved. An end that is not is an inner one: the
        cell reaches so far, and perhaps further. Published cells have proved ends.
    violations : tuple of Violation
    certificate : Certificate
    integer : bool
        Whether the attacker knows that cells are whole units.
    guards : tuple of str
        Which attackers were considered: "outsider", and "singletons", "unions" where asked for.
    cut_short : {"", "time", "interrupt"}
        What ended the audit before every interval was followed; the verdict stands.
    followed : (n,) bool or None
        Published cells, and those whose intervals were followed when all were; None for all.
    """

    safe: bool
    lower: Floats
    upper: Floats
    exact: Bools
    violations: tuple[Violation, ...]
    certificate: Certificate
    integer: bool
    guards: tuple[str, ...]
    cut_short: str = ""
    followed: Bools | None = None

    @property
    def proved(self) -> tuple[Floats, Floats]:
        """Lower and upper ends that are proved, NaN where they are not.

        These may be published. An end that is not proved is as far as one witness went from the
        true value, and so can disclose it; one that was proved for a sensitive cell before all
        cells were followed would mark it.
        """
        low, high = self.exact.T
        if self.followed is not None:
            low, high = low & self.followed, high & self.followed
        return np.where(low, self.lower, np.nan), np.where(high, self.upper, np.nan)

    def __repr__(self) -> str:
        word = "safe" if self.safe else f"unsafe, {len(self.violations)} violations"
        return f"Audit({word}; against {', '.join(self.guards)})"

    def _repr_html_(self) -> str:

        attacker = "knows that cells are whole units" if self.integer else "allows for fractions"
        return notebook_facts([repr(self), f"The attacker {attacker}."])


@named_errors
def audit(
    problem: Problem,
    pattern: ArrayLike,
    *,
    integer: bool = False,
    only_primary: bool = False,
    time_limit: float | None = None,
    witnesses: Sequence[tuple[Ints, int]] = (),
) -> Audit:
    """Check that a pattern keeps every promise of a problem.

    Parameters
    ----------
    problem : Problem
    pattern : (n,) bool
        Suppressed cells.
    integer : bool
        Judge levels on integer intervals (the attacker knows that cells are whole units).
    only_primary : bool
        Judge only: primary intervals are followed until their levels are reached, and the
        intervals of secondary cells are left out (`lower` and `upper` are inner ends or NaN).
    time_limit : float, optional
        Wall seconds. The verdict comes first; ends that there was no time to follow are inner
        ones (see `Audit.exact`).
    witnesses : sequence of ((n,) int64, int)
        Numerators and denominator of deviations from the values, in units, that may settle some
        levels at once. Each is checked; one that is not a deviation within the pattern is
        left aside.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If the pattern has the wrong shape, or a witness is not such a pair.
    OutOfTime
        If the time limit passed before the verdict.
    CertificateError
        If a claim cannot be proved in exact arithmetic.

    Notes
    -----
    Definitions 2 and 3 of Minami and Abe (2019), with levels on either side as in the handbook on
    statistical disclosure control. All comparisons are between integers and fractions.
    """
    expect(problem, Problem, "problem")
    clock = Clock.of(time_limit)
    suppressed = as_pattern(problem.table, pattern)
    witnesses = _pairs(witnesses, problem.table.n_cells)
    if not only_primary and clock == UNLIMITED:
        return _audited(problem, suppressed, integer=integer, witnesses=witnesses)
    judged = judge(problem, suppressed, integer=integer, clock=clock, witnesses=witnesses)
    return judged if only_primary else follow(problem, judged, clock=clock)


def _pairs(witnesses: Any, n: int) -> list[tuple[Ints, int]]:
    """Witnesses of a caller: whole numbers, one a cell, and a whole number each."""
    try:
        pairs = [(np.asarray(numbers), operator.index(scale)) for numbers, scale in witnesses]
    except (TypeError, ValueError):
        pairs = None
    if pairs is None or any(z.shape != (n,) or z.dtype.kind != "i" for z, _ in pairs):
        msg = (
            f"each witness must be a pair: {n} whole numbers, one for each cell, and the whole "
            "number that divides them"
        )
        raise InputError(msg)
    return [(z.astype(np.int64), scale) for z, scale in pairs]


def judge(
    problem: Problem,
    pattern: Bools,
    *,
    integer: bool = False,
    clock: Clock = UNLIMITED,
    witnesses: Sequence[tuple[Ints, int]] = (),
    shown: Mapping[int, Sequence[tuple[Claim, Claim]]] | None = None,
) -> Audit:
    """Audit that follows primary cells until their levels are reached, and no other cells.

    Parameters
    ----------
    problem, pattern, integer, witnesses
        See `audit`.
    clock : Clock
    shown : mapping of int to sequence of (Claim, Claim)
        Pairs of lower and upper claims about primary cells, against an outsider. They are checked
        like all others, and a cell that one of them shows to keep its levels is not followed.

    Raises
    ------
    OutOfTime, CertificateError
        As for `audit`.
    """
    return _audited(
        problem,
        pattern,
        integer=integer,
        enough=np.maximum(shared_levels(problem, *room(problem.table)), 1),
        clock=clock,
        witnesses=witnesses,
        shown=shown,
    )


def follow(
    problem: Problem, judged: Audit, *, clock: Clock = UNLIMITED, interruptible: bool = False
) -> Audit:
    """Follow the intervals of all suppressed cells, as far as the time goes.

    Parameters
    ----------
    problem : Problem
    judged : Audit
        By `judge`, of this problem: what it proved stands where there is no time for more.
    clock : Clock
    interruptible : bool
        Whether KeyboardInterrupt ends the work like the clock, rather than going on to the
        caller.

    Returns
    -------
    Audit
    """
    pattern = judged.certificate.pattern
    ends: dict[int, tuple[Claim, Claim]] = {}
    proved, cut_short = _shown(judged), ""
    try:
        return _audited(
            problem, pattern, integer=judged.integer, clock=clock, ends=ends, shown=proved
        )
    except OutOfTime:
        cut_short = "time"
    except (CertificateError, InputError):
        # Safety has been proved; that some end cannot be followed exactly does not change it.
        if not judged.safe:
            raise
    except KeyboardInterrupt:
        if not interruptible:
            raise
        cut_short = "interrupt"
    violations = [*judged.violations, *misplaced(problem, pattern)]
    # What one who knows a cell cannot rule out, an outsider cannot either.
    known = _shown(judged, informed=True)
    for p in np.flatnonzero(problem.primary & pattern).tolist():
        if all(short_of_levels(problem, p, *pair) for pair in known[p]):
            violations += short_of_levels(problem, p, *known[p][0])
    several = problem.singletons is not None
    kept = [c for c in judged.certificate if several or c.known or c.cell not in ends]
    claims = (*(c for pair in ends.values() for c in pair), *kept)
    found = verified(
        problem, pattern, claims, dict.fromkeys(violations), integer=judged.integer,
        guards=judged.guards,
    )  # fmt: skip
    followed = ~pattern
    followed[list(ends)] = True
    followed.flags.writeable = False
    return replace(found, cut_short=cut_short, followed=followed)


def _audited(
    problem: Problem,
    pattern: Bools,
    *,
    integer: bool,
    enough: Ints | None = None,
    clock: Clock = UNLIMITED,
    witnesses: Sequence[tuple[Ints, int]] = (),
    ends: dict[int, tuple[Claim, Claim]] | None = None,
    shown: Mapping[int, Sequence[tuple[Claim, Claim]]] | None = None,
) -> Audit:
    """Audit one pattern: of primary cells, as far as `enough`; or of all cells without it.

    What has been found so far is in `ends` if the time runs out.
    """
    table = problem.table
    violations = list(misplaced(problem, pattern))
    targets = pattern.copy() if enough is None else pattern & problem.primary
    ends = {} if ends is None else ends
    pairs: dict[int, Sequence[tuple[Claim, Claim]]] = {}
    for p, some in (shown or {}).items():
        kept = [pair for pair in some if targets[p] and not short_of_levels(problem, p, *pair)]
        if kept:
            pairs[p] = kept
        if kept and enough is not None:
            ends[p], targets[p] = kept[0], False
    interval_claims(
        table, pattern, np.flatnonzero(targets),
        integer=integer, enough=enough, clock=clock, witnesses=witnesses, found=ends,
    )  # fmt: skip
    if enough is not None:
        # Where one side cannot take its share of a sliding level, the other may take more.
        again = [
            p for p in np.flatnonzero(targets & (problem.spl > 0)).tolist()
            if short_of_levels(problem, p, *ends[p])
        ]  # fmt: skip
        interval_claims(
            table, pattern, again, integer=integer, enough=largest_levels(problem), clock=clock,
            witnesses=witnesses, found=ends,
        )  # fmt: skip
    for p in np.flatnonzero(problem.primary & targets).tolist():
        violations += short_of_levels(problem, p, *ends[p])
    claims = [claim for pair in ends.values() for claim in pair]
    guards = ["outsider"]
    if problem.singletons is not None:
        guards.append("singletons")
        primaries = np.flatnonzero(problem.primary & pattern).tolist()
        found, extra = settle_singletons(
            problem, pattern, {p: pairs.get(p, (ends[p],)) for p in primaries},
            integer=integer, clock=clock, witnesses=witnesses,
        )  # fmt: skip
        violations += found
        claims += [
            claim
            for p, some in pairs.items()
            for pair in some
            for claim in pair
            if all(claim is not end for end in ends[p])
        ] + extra
    if problem.union_rule is not None:
        guards.append("unions")
        violations += _unions(problem, pattern, ends, integer=integer, clock=clock)
    return verified(problem, pattern, claims, violations, integer=integer, guards=guards)


def verified(
    problem: Problem, pattern: Bools, claims: Iterable[Claim],
    violations: Iterable[Violation], *, integer: bool, guards: Iterable[str] = ("outsider",),
) -> Audit:  # fmt: skip
    """Audit that rests on these claims, once each has been checked.

    Raises
    ------
    CertificateError
        If a claim does not hold.
    """
    certificate = Certificate(problem.table, pattern, tuple(claims))
    certificate.verify()
    missed = tuple(violations)
    return Audit(
        not missed, *as_arrays(certificate), missed, certificate, integer, tuple(guards)
    )  # fmt: skip


def _shown(judged: Audit, *, informed: bool = False) -> dict[int, list[tuple[Claim, Claim]]]:
    """Pairs of lower and upper claims against an outsider, in the order of the certificate.

    `informed` adds those against attackers who know some cells, of one knowledge each.
    """
    sides: dict[tuple[int, tuple[int, ...], int], list[Claim]] = {}
    for claim in judged.certificate:
        if informed or not claim.known:
            sides.setdefault((claim.cell, tuple(claim.known), claim.sign), []).append(claim)
    pairs: dict[int, list[tuple[Claim, Claim]]] = {}
    for (cell, knows, sign), lower in sides.items():
        if sign < 0:
            pairs.setdefault(cell, []).extend(
                zip(lower, sides.get((cell, knows, 1), ()), strict=False)
            )
    return pairs


def _unions(
    problem: Problem,
    pattern: Bools,
    ends: dict[int, tuple[Claim, Claim]],
    *,
    integer: bool,
    clock: Clock,
) -> list[Violation]:
    """Find sums of suppressed cells that a relation publishes and the rule calls sensitive."""
    table, rule = problem.table, problem.union_rule
    assert rule is not None
    missing = [i for i in np.flatnonzero(pattern).tolist() if i not in ends]
    barely = np.ones(table.n_cells, dtype=np.int64)
    ends = ends | interval_claims(
        table, pattern, missing, integer=integer, enough=barely, clock=clock
    )
    moves = np.zeros(table.n_cells, dtype=bool)
    for i, (low, high) in ends.items():
        moves[i] = low.reach != 0 or high.reach != 0
    found = []
    for row, (members, factors) in enumerate(rows_of(table.relations)):
        inside = moves[members]
        cells, signs = members[inside], factors[inside]
        # A sum with both signs, or with weights, is not what a cell of the sum would be.
        if len(cells) < 2 or np.any(signs != signs[0]):
            continue
        if union_sensitive(rule, table, cells, row):
            names = ", ".join(table.cell(int(c)) for c in cells[:4]) + (
                ", ..." if len(cells) > 4 else ""
            )
            words = f"the sum of {len(cells)} suppressed cells is published and sensitive: {names}"
            found.append(Violation("union", tuple(cells.tolist()), 0, Fraction(0), words, row))
    return found
