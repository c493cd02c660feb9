"""Audit of a table that somebody else published: which withheld cells can be worked out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from attacks.descriptions import cell_name, relation_name
from attacks.explanations import explain
from attacks.large_releases.engine import determined_cells
from attacks.large_releases.findings import how_judged, reasons_of
from attacks.large_releases.parallel_cells import parallel_cells
from attacks.large_releases.widths import judged_widths
from attacks.published_findings import (
    PublishedAudit,
    closest_ends,
    inexact_cells,
    unavailable_cells,
)
from attacks.release_alone.bound_proofs import Proof
from attacks.release_alone.cell_sums import Sum, disclosed_sums
from attacks.release_alone.contradictions import Contradiction, contradictions
from attacks.release_alone.disclosed_cells import Disclosure, disclosed_of
from csp.audits.audit import judge
from csp.clock import Clock
from csp.errors import InputError, OutOfTime, Unprotectable, argument
from csp.exact import Bools, Ints, Number, ceil_fraction, exact
from csp.problem.problem import Problem
from csp.release.completion import complete
from csp.release.release import Release
from csp.solve import suppress
from csp.tables.table import Table

_EXPLAINED = 20
"""Cells whose disclosure is put into words."""

_MENDED = 200_000
"""Cells of a table up to which a mend is looked for: of 126,000 it takes 100 seconds."""

_LARGE = 3_000
"""Suppressed cells above which there is no program for each. Their time grows faster than the
square of the cells: 3,086 take 28 CPU seconds, 8,151 a quarter of an hour (`benchmarks.published`),
where relations, bounds and windows take 2 and 7."""

_DECIDED = 120.0
"""Seconds of programs in windows for how close cells of a large table are known. At 68,000 withheld
cells they suffice for all; at 1.5 million, half an hour finds 35 narrow cells beside 32,658."""

_SEARCHED = 60.0
"""Seconds of the search for a contradiction in a large table."""


def audit_published(
    release: Release,
    *,
    percent: Number = 10,
    integer: bool = True,
    mend: bool = True,
    time_limit: float | None = None,
) -> PublishedAudit:
    """Find out which withheld cells of a published table can be worked out.

    Parameters
    ----------
    release : Release
        As `csp.Release.from_frame` reads it.
    percent : Number
        A cell counts as narrow if all that it can be is within this of the least.
    integer : bool
        Whether cells are whole units, so that tables of whole numbers are looked at too.
    mend : bool
        Whether to look for the fewest further cells whose suppression would mend it, in tables of
        up to 200,000 cells.
    time_limit : float, optional
        Wall seconds. What it does not suffice for is said, but for the intervals themselves.

    Returns
    -------
    PublishedAudit

    Raises
    ------
    InputError
        If nothing is withheld and all adds up, no relation is known, or only fractions are
        consistent with the table.
    OutOfTime
        If the time limit passed before the intervals were known.

    Examples
    --------
    >>> from csp import Release
    >>> rows = [["", "Farms", "Trade", "Total"], ["North", "[c]", 45, 165],
    ...         ["South", 12, 8, 20], ["Total", "[c]", 53, 185]]
    >>> print(audit_published(Release.from_frame(rows)))
    2 cells of 9 are withheld.
    2 cells can be worked out exactly: 2 by adding and subtracting.
    Withholding 2 cells more would mend that, and no fewer would.
    Published sums that show how codes add up: rows 2, columns 1.
      (rows=North, columns=Farms): row rows=North
      (rows=Total, columns=Farms): row rows=Total
    To be withheld as well:
      (rows=North, columns=Trade)
      (rows=Total, columns=Trade)
    """
    clock = Clock.of(time_limit)
    share = exact(percent)
    if share < 0:
        msg = f"percent must be 0 or more, got {percent!r}"
        raise InputError(msg)
    if not release.withheld.any() and not release.pattern.any():
        if wrong := contradictions(release, time_limit=clock.seconds):
            return _contradicted(release, wrong, share)
        msg = (
            "no cell is withheld: every value is published, so there is nothing to work out; if "
            f"values are rounded, say to what with {argument('rounded')}"
        )
        raise InputError(msg)
    if not release.relations.shape[0]:
        msg = (
            "nothing adds up in this table, so nothing can be worked out: no total was found among "
            f"the codes of {', '.join(release.names)}; name one with "
            f"{argument('total', {release.names[0]: 'CODE'}, option='--total COLUMN=CODE')}, or "
            f"give a hierarchy with {argument('hierarchies', option='--hierarchy')}. Records are "
            "protected first"
        )
        raise InputError(msg)
    if int(release.pattern.sum()) > _LARGE:
        return _audit_large(release, share, clock, integer=integer, mend=mend)
    try:
        table = complete(release, time_limit=clock.seconds)
    except InputError:
        wrong = contradictions(release, time_limit=clock.seconds)
        if not wrong:
            raise
        return _contradicted(release, wrong, share)
    found = disclosed_of(release, table, integer=integer, clock=clock)
    secret = release.withheld[found.cells]
    low, high = closest_ends(found)
    certain = found.whole if integer else found.exact
    known, inferred = certain & secret, certain & unavailable_cells(release)[found.cells]
    narrow = secret & ~known & np.isfinite(high) & (100 * (high - low) <= float(share) * low)
    reasons: dict[int, str] = {}
    sums: tuple[Sum, ...] = ()
    alone: dict[int, tuple[int, ...]] = {}
    mended = _Mend()
    missed = []
    try:
        reasons = _reasons(release, found, known, clock)
    except OutOfTime:
        missed.append("saying why")
    try:
        listed = disclosed_sums(release, integer=integer, time_limit=clock.part(0.3).seconds)
        singles = {*found.cells[known].tolist()}
        sums = tuple(
            one for one in listed if one.disclosed and len(one.cells) > 1
            and not singles.intersection(one.cells)
        )  # fmt: skip
    except OutOfTime:
        missed.append("sums of cells")
    if release.counts is not None:
        try:
            alone = _insiders(release, table, found.cells[certain], clock)
        except OutOfTime:
            missed.append("what contributors learn")
    if mend and known.any() and len(release.pattern) <= _MENDED:
        try:
            mended = _mend(release, table, found.cells[known], share, clock, integer=integer)
        except OutOfTime:
            missed.append("a mend")
    return PublishedAudit(
        release, (), found, known, narrow, inferred, share, reasons, sums, alone, mended.cells,
        mended.least, tuple(missed), certain & inexact_cells(release)[found.cells],
        mended.beyond,
    )  # fmt: skip


def _contradicted(
    release: Release, wrong: tuple[Contradiction, ...], share: Fraction
) -> PublishedAudit:
    """Return what is said where nothing can be inferred."""
    none = np.zeros(0, dtype=bool)
    return PublishedAudit(
        release, wrong, None, none, none, none, share, {}, (), {}, None, mend_is_least=False,
        cut_short=(),
    )  # fmt: skip


def _audit_large(
    release: Release, share: Fraction, clock: Clock, *, integer: bool, mend: bool
) -> PublishedAudit:
    """Audit a table that has too many withheld cells for a program for each."""
    try:
        found = determined_cells(release, integer=integer, time_limit=clock.seconds)
    except InputError as error:
        try:
            wrong = contradictions(release, time_limit=clock.within(_SEARCHED).seconds)
        except OutOfTime:
            raise error from None
        if not wrong:
            raise
        return _contradicted(release, wrong, share)
    secret = release.withheld[found.cells]
    widths = judged_widths(found, share, clock.within(_DECIDED), integer=integer)
    found = replace(found, lower=widths.lower, upper=widths.upper)
    certain = found.whole if integer else found.exact
    known, inferred = certain & secret, certain & unavailable_cells(release)[found.cells]
    reasons = reasons_of(found, found.cells[known][:_EXPLAINED])
    alone: dict[int, tuple[int, ...]] = {}
    parallel = parallel_cells(found, clock)
    if release.counts is not None:
        learned = parallel.learned_by(release.withheld & (release.counts == 1))
        withheld = {*np.flatnonzero(release.withheld).tolist()}
        kept = ((cell, tuple(c for c in more if c in withheld)) for cell, more in learned.items())
        alone = {cell: more for cell, more in kept if more}
    mended, missed = _Mend(), []
    if mend and known.any() and len(release.pattern) <= _MENDED:
        try:
            table = complete(release, time_limit=clock.seconds)
            mended = _mend(release, table, found.cells[known], share, clock, integer=integer)
        except OutOfTime:
            missed.append("a mend")
    return PublishedAudit(
        release, (), found, known, widths.narrow & secret, inferred, share, reasons, (), alone,
        mended.cells, mended.least, tuple(missed), certain & inexact_cells(release)[found.cells],
        mended.beyond, how_judged(found, widths, parallel),
    )  # fmt: skip


def _reasons(release: Release, found: Disclosure, known: Bools, clock: Clock) -> dict[int, str]:
    """Say how known cells follow, in relations, without values."""
    said = {}
    for at in np.flatnonzero(known)[:_EXPLAINED].tolist():
        cell = int(found.cells[at])
        proof = found.proofs[at]
        if proof is not None:
            said[cell] = _combination(release, proof)
            continue
        told = explain(release, cell, time_limit=clock.seconds).text()
        prefix = f"cell {cell_name(release, cell)} is "
        said[cell] = "; ".join(line.removeprefix(prefix) for line in told.splitlines())
    return said


def _combination(release: Release, proof: Proof) -> str:
    """Name the relations that a value follows from; how often each is needed, if more than once."""
    said = []
    for factor, row in zip(proof.multipliers, proof.rows, strict=True):
        times = f" ({abs(factor)} times)" if abs(factor) > 1 and proof.divisor == 1 else ""
        said.append(f"{relation_name(release, row)}{times}")
    return " and ".join([", ".join(said[:-1]), said[-1]] if said[1:] else said)


def _insiders(
    release: Release, table: Table, known: Ints, clock: Clock
) -> dict[int, tuple[int, ...]]:
    """Cells that the only contributor of another one can work out, beyond what anybody can."""
    assert release.counts is not None
    found = {}
    seen = release.knowing(known, table.values[known])
    alone = seen.withheld & seen.pattern & (release.counts == 1)
    for cell in np.flatnonzero(alone).tolist():
        clock.check("it was known what contributors learn")
        known_to = seen.knowing(cell, int(table.values[cell]))
        if not known_to.pattern.any():
            continue
        # What bounds add depends on the value, which the auditor does not know.
        learned = disclosed_of(known_to, table, integer=False, clock=clock)
        more = learned.cells[learned.linear & known_to.withheld[learned.cells]]
        if len(more):
            found[cell] = tuple(more.tolist())
    return found


@dataclass(frozen=True, slots=True)
class _Mend:
    """Further cells that mend a release, and known cells that none would."""

    cells: tuple[int, ...] | None = None
    least: bool = False
    beyond: tuple[int, ...] = ()


def _mend(
    release: Release, table: Table, known: Ints, share: Fraction, clock: Clock, *, integer: bool,
) -> _Mend:  # fmt: skip
    """Fewest further cells that leave no withheld cell known, or closer than the percentage."""
    primary = np.zeros(len(release.pattern), dtype=bool)
    primary[known] = True
    size = np.abs(table.values).astype(object)
    width = np.array([max(1, ceil_fraction(share * int(v) / 100)) for v in size], np.int64)
    beyond: set[int] = set()
    for _ in range(2):
        levels = np.where(primary, width, 0)
        problem = Problem.of(table, primary, spl=levels).keeping(release.pattern)
        try:
            found = suppress(problem, time_limit=clock.part(0.5).seconds, integer=integer)
        except Unprotectable:
            # Not even with everything suppressed: the others may be mended all the same.
            everything = problem.forced | problem.free
            missed = judge(problem, everything, integer=integer, clock=clock).violations
            beyond |= {one.cells[0] for one in missed if one.kind != "union"}
            primary[[*beyond]] = False
            continue
        extra = np.flatnonzero(found.pattern & ~release.pattern)
        return _Mend(tuple(extra.tolist()), found.proven, tuple(sorted(beyond)))
    return _Mend(beyond=tuple(sorted(beyond)))
