"""Audit of a table that somebody else published: which withheld cells are no secret."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.descriptions import cell_name, joined, number, relation_name
from attacks.explanations import explain
from attacks.large_releases.engine import LargeDisclosure, determined_cells
from attacks.large_releases.findings import how_judged, reasons_of
from attacks.large_releases.widths import narrow_cells
from attacks.release_alone.bound_proofs import Proof
from attacks.release_alone.cell_sums import Sum, disclosed_sums
from attacks.release_alone.contradictions import Contradiction, contradictions
from attacks.release_alone.disclosed_cells import Disclosure, disclosed_of
from csp.clock import Clock
from csp.errors import InputError, OutOfTime, Unprotectable, argument
from csp.exact import Number, ceil_fraction, exact, number_text
from csp.problem.problem import Problem
from csp.release.completion import complete
from csp.release.release import Release
from csp.solve import suppress
from csp.tables.table import Table

__all__ = ["PublishedAudit", "audit_published"]

_EXPLAINED = 20
"""Cells whose disclosure is put into words."""

_MENDED = 20_000
"""Cells of a table up to which the smallest mend is looked for."""

_LARGE = 20_000
"""Suppressed cells above which there is no program for each. Their time grows faster than the
square of the cells: a minute judges 327 of 8,151 and 31 of 68,179 (`benchmarks.published`)."""

_SEARCHED = 60.0
"""Seconds of the search for a contradiction in a large table."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublishedAudit:
    """What anybody can infer from a published table; printing it shows no withheld value.

    Attributes
    ----------
    release : Release
    contradictions : tuple of Contradiction
        Published figures that cannot all be true; nothing is inferred where there are any.
    disclosure : Disclosure or LargeDisclosure or None
        The interval of each withheld cell; outer bounds of it in a large table.
    known : (k,) bool
        Withheld cells, in the order of ``disclosure.cells``, that can be worked out exactly; those
        of which a range is published do not count.
    narrow : (k,) bool
        Others that can be worked out to within `percent`.
    percent : Fraction
    reasons : dict of int to str
        How cells that are known follow, in words; of the first 20.
    sums : tuple of Sum
        Sums of withheld cells that are known although none of their parts is.
    insiders : dict of int to tuple of int
        Withheld cells with one contributor, and the cells whose values that one can work out.
    mend : tuple of int or None
        Fewest further cells found whose suppression leaves no withheld cell known; None if that was
        not looked for or not found.
    mend_is_least : bool
        Whether that is proved.
    cut_short : tuple of str
        What the time did not suffice for.
    """

    release: Release
    contradictions: tuple[Contradiction, ...]
    disclosure: Disclosure | LargeDisclosure | None
    known: NDArray[np.bool_]
    narrow: NDArray[np.bool_]
    percent: Fraction
    reasons: dict[int, str]
    sums: tuple[Sum, ...]
    insiders: dict[int, tuple[int, ...]]
    mend: tuple[int, ...] | None
    mend_is_least: bool
    cut_short: tuple[str, ...]

    @property
    def disclosed(self) -> tuple[int, ...]:
        """Withheld cells that can be worked out exactly."""
        if self.disclosure is None:
            return ()
        return tuple(self.disclosure.cells[self.known].tolist())

    @property
    def safe(self) -> bool:
        """Whether no withheld cell can be worked out, and nothing contradicts itself."""
        return not self.disclosed and not self.contradictions

    def __repr__(self) -> str:
        withheld = int(_withheld(self.release).sum())
        if self.contradictions:
            return f"PublishedAudit({len(self.contradictions)} contradictions)"
        return (
            f"PublishedAudit({len(self.disclosed)} of {withheld} withheld cells can be worked out)"
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from csp.tables.cross.html import notebook_list

        rows = [(cell_name(self.release, c), self.reasons.get(c, "")) for c in self.disclosed]
        return notebook_list(self.sentences(), ["can be worked out", "because"], rows)

    def sentences(self) -> list[str]:
        """Say what was found, one fact a sentence, without values and names of cells."""
        release = self.release
        withheld = _withheld(release)
        n, k = len(release.pattern), int(withheld.sum())
        lines = [f"{_cells(k)} of {n} {_are(k)} withheld."]
        if release.ranged is not None:
            ranged = int(release.ranged.sum())
            lines.append(f"Of {_cells(ranged)} a range or a rounded figure is published.")
        if self.contradictions:
            few = len(self.contradictions)
            lines.append(
                f"The published figures cannot all be true: {few} "
                f"{'contradiction was' if few == 1 else 'contradictions were'} found, so nothing "
                "can be inferred. If figures are rounded, say so."
            )
            return lines
        if self.disclosure is None:
            return lines
        known, narrow = int(self.known.sum()), int(self.narrow.sum())
        if known:
            found = self.disclosure
            linear = int((found.linear & self.known).sum())
            whole = int((self.known & ~found.exact).sum())
            how = [f"{linear} by adding and subtracting"] if linear else []
            how += [f"{known - linear - whole} by bounds"] if known - linear - whole else []
            how += [f"{whole} as whole numbers"] if whole else []
            lines.append(f"{_cells(known)} can be worked out exactly: {', '.join(how)}.")
        else:
            lines.append("None of them can be worked out exactly.")
        if narrow:
            lines.append(
                f"{_cells(narrow)} more can be worked out to within "
                f"{number_text(self.percent)} percent."
            )
        if self.sums:
            lines.append(f"{len(self.sums)} sums of withheld cells are known, but not their parts.")
        if self.insiders:
            reached = {cell for cells in self.insiders.values() for cell in cells}
            lines.append(
                f"{len(self.insiders)} contributors who are alone in a cell can work out "
                f"{_cells(len(reached))} of others."
            )
        if self.mend is not None and known:
            least = "Withholding" if self.mend_is_least else "For example, withholding"
            lines.append(
                f"{least} {_cells(len(self.mend))} more would mend that"
                f"{', and no fewer would' if self.mend_is_least else ''}."
            )
        if isinstance(self.disclosure, LargeDisclosure):
            lines += how_judged(self.disclosure)
        lines += [f"The time did not suffice for {what}." for what in self.cut_short]
        return lines

    def text(self, *, reveal: bool = False) -> str:
        """Audit in words: sentences, contradictions, then each cell that can be worked out.

        Parameters
        ----------
        reveal : bool
            Whether to say the values that were worked out.

        Returns
        -------
        str
        """
        release = self.release
        lines = self.sentences()
        lines += [f"  {one.text()}" for one in self.contradictions]
        for cell in self.disclosed:
            why = self.reasons.get(cell, "")
            value = f" = {self._value(cell)}" if reveal else ""
            lines.append(f"  {cell_name(release, cell)}{value}{': ' if why else ''}{why}")
        if self.disclosed and self.mend:
            lines.append("To be withheld as well:")
            lines += [f"  {cell_name(release, cell)}" for cell in self.mend]
        return "\n".join(lines)

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Facts as plain data, ready for JSON.

        Parameters
        ----------
        reveal : bool
            Whether to add the values that were worked out, as text.

        Returns
        -------
        dict
        """
        release = self.release

        def named(cell: int) -> dict[str, str]:
            return dict(zip(release.names, release.labels[cell], strict=True))

        cells = []
        for cell in self.disclosed:
            cells.append({"cell": named(cell), "because": self.reasons.get(cell)})
            if reveal:
                cells[-1]["value"] = self._value(cell)
        found = self.disclosure
        narrow = [] if found is None else found.cells[self.narrow].tolist()
        return {
            "dimensions": list(release.names),
            "cells": len(release.pattern),
            "suppressed": int(_withheld(release).sum()),
            "ranged": 0 if release.ranged is None else int(release.ranged.sum()),
            "disclosed": len(self.disclosed),
            "disclosed_cells": cells,
            "narrow": len(narrow),
            "narrow_cells": [named(cell) for cell in narrow],
            "percent": number_text(self.percent),
            "sums": len(self.sums),
            "insiders": [
                {"alone_in": named(cell), "learns": [named(c) for c in cells]}
                for cell, cells in self.insiders.items()
            ],
            "contradictions": [
                {
                    "relations": [relation_name(release, row) for row in one.rows],
                    "amount": number(one.amount, release.scale),
                }
                for one in self.contradictions
            ],
            "mend": None if self.mend is None else [named(cell) for cell in self.mend],
            "mend_is_least": self.mend_is_least,
            "cut_short": list(self.cut_short),
            "notes": list(release.notes),
        }

    def columns(self, *, reveal: bool = False) -> dict[str, list[Any]]:
        """One row for each withheld cell: its codes, and whether it is known or narrow.

        Parameters
        ----------
        reveal : bool
            Whether to add the ends of its interval, in units of the measure, as text.
        """
        release, found = self.release, self.disclosure
        cells = np.flatnonzero(_withheld(release)) if found is None else found.cells
        labels = [release.labels[cell] for cell in cells.tolist()]
        columns: dict[str, list[Any]] = {
            name: [label[d] for label in labels] for d, name in enumerate(release.names)
        }
        if found is None:
            return columns
        columns["verdict"] = [
            "disclosed" if known else "narrow" if narrow else "uncertain"
            for known, narrow in zip(self.known.tolist(), self.narrow.tolist(), strict=True)
        ]
        if reveal:
            ends = _ends(found)
            for name, side in zip(("lower", "upper"), ends, strict=True):
                columns[name] = [_text(end, release.scale) for end in side.tolist()]
        return columns

    def _value(self, cell: int) -> str:
        assert self.disclosure is not None
        at = int(np.searchsorted(self.disclosure.cells, cell))
        low, _ = _ends(self.disclosure)
        return _text(float(low[at]), self.release.scale)


def audit_published(
    release: Release,
    *,
    percent: Number = 10,
    integer: bool = True,
    mend: bool = True,
    time_limit: float | None = None,
) -> PublishedAudit:
    """Find out which withheld cells of a published table are no secret.

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
        up to 20,000 cells.
    time_limit : float, optional
        Wall seconds. What it does not suffice for is said, but for the intervals themselves.

    Returns
    -------
    PublishedAudit

    Raises
    ------
    InputError
        If nothing is withheld, nothing adds up, or only fractions are consistent with the table.
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
    if not _withheld(release).any() and not release.pattern.any():
        msg = "no cell is withheld: every value is published, so there is nothing to work out"
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
    none = np.zeros(0, dtype=bool)
    if int(release.pattern.sum()) > _LARGE:
        return _audit_large(release, share, clock, integer=integer)
    try:
        table = complete(release, time_limit=clock.seconds)
    except InputError:
        wrong = contradictions(release, time_limit=clock.seconds)
        if not wrong:
            raise
        return PublishedAudit(
            release, wrong, None, none, none, share, {}, (), {}, None, mend_is_least=False,
            cut_short=(),
        )  # fmt: skip
    found = disclosed_of(release, table, integer=integer, clock=clock)
    secret = _withheld(release)[found.cells]
    low, high = _ends(found)
    known = (found.whole if integer else found.exact) & secret
    narrow = secret & ~known & np.isfinite(high) & (100 * (high - low) <= float(share) * low)
    reasons: dict[int, str] = {}
    sums: tuple[Sum, ...] = ()
    alone: dict[int, tuple[int, ...]] = {}
    extra: tuple[int, ...] | None = None
    least = False
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
            alone = _insiders(release, table, found.cells[known], integer=integer, clock=clock)
        except OutOfTime:
            missed.append("what contributors learn")
    if mend and known.any() and len(release.pattern) <= _MENDED:
        try:
            extra, least = _mend(release, table, found.cells[known], share, clock, integer=integer)
        except OutOfTime:
            missed.append("a mend")
    return PublishedAudit(
        release, (), found, known, narrow, share, reasons, sums, alone, extra, least,
        tuple(missed),
    )  # fmt: skip


def _audit_large(
    release: Release, share: Fraction, clock: Clock, *, integer: bool
) -> PublishedAudit:
    """Audit a table that has too many withheld cells for a program for each."""
    none = np.zeros(0, dtype=bool)
    try:
        found = determined_cells(release, integer=integer, time_limit=clock.seconds)
    except InputError as error:
        try:
            wrong = contradictions(release, time_limit=clock.within(_SEARCHED).seconds)
        except OutOfTime:
            raise error from None
        if not wrong:
            raise
        return PublishedAudit(
            release, wrong, None, none, none, share, {}, (), {}, None, mend_is_least=False,
            cut_short=(),
        )  # fmt: skip
    secret = _withheld(release)[found.cells]
    known = found.exact & secret & (found.lower == found.upper)
    reasons = reasons_of(found, found.cells[known][:_EXPLAINED])
    return PublishedAudit(
        release, (), found, known, narrow_cells(found, share) & secret, share, reasons, (), {},
        None, mend_is_least=False, cut_short=(),
    )  # fmt: skip


def _withheld(release: Release) -> NDArray[np.bool_]:
    """Cells of which nothing is published."""
    return release.pattern if release.ranged is None else release.pattern & ~release.ranged


def _ends(
    found: Disclosure | LargeDisclosure,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Closest interval that is known of each cell."""
    if isinstance(found, LargeDisclosure):
        return found.lower, found.upper
    low = np.where(np.isnan(found.whole_lower), found.lower, found.whole_lower)
    high = np.where(np.isnan(found.whole_upper), found.upper, found.whole_upper)
    return low, high


def _reasons(
    release: Release, found: Disclosure, known: NDArray[np.bool_], clock: Clock
) -> dict[int, str]:
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
    terms = zip(proof.multipliers, proof.rows, strict=True)
    text = joined((factor, relation_name(release, row)) for factor, row in terms)
    return text if proof.divisor == 1 else f"({text}) / {proof.divisor}"


def _insiders(
    release: Release, table: Table, known: NDArray[np.int64], *, integer: bool, clock: Clock
) -> dict[int, tuple[int, ...]]:
    """Cells that the only contributor of another one can work out, beyond what anybody can."""
    assert release.counts is not None
    found = {}
    for cell in np.flatnonzero(_withheld(release) & (release.counts == 1)).tolist():
        clock.check("it was known what contributors learn")
        known_to = release.knowing(cell, int(table.values[cell]))
        if not known_to.pattern.any():
            continue
        seen = disclosed_of(known_to, table, integer=integer, clock=clock)
        flags = (seen.whole if integer else seen.exact) & _withheld(known_to)[seen.cells]
        more = [int(c) for c in seen.cells[flags].tolist() if c not in known]
        if more:
            found[cell] = tuple(more)
    return found


def _mend(
    release: Release, table: Table, known: NDArray[np.int64], share: Fraction, clock: Clock, *,
    integer: bool,
) -> tuple[tuple[int, ...] | None, bool]:  # fmt: skip
    """Fewest further cells that leave no withheld cell known, or closer than the percentage."""
    primary = np.zeros(len(release.pattern), dtype=bool)
    primary[known] = True
    size = np.abs(table.values).astype(object)
    width = np.array([max(1, ceil_fraction(share * int(v) / 100)) for v in size], np.int64)
    problem = Problem.of(table, primary, spl=np.where(primary, width, 0)).keeping(release.pattern)
    try:
        found = suppress(problem, time_limit=clock.part(0.5).seconds, integer=integer)
    except Unprotectable:
        return None, False
    extra = np.flatnonzero(found.pattern & ~release.pattern)
    return tuple(extra.tolist()), found.proven


def _text(end: float, scale: int) -> str:
    return number(Fraction(end), scale) if np.isfinite(end) else ("inf" if end > 0 else "-inf")


def _cells(count: int) -> str:
    return f"{count} {'cell' if count == 1 else 'cells'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
