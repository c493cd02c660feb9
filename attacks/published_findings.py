"""What an audit of a table that somebody else published found, in words and as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from attacks.descriptions import cell_name, number, relation_name
from attacks.large_releases.engine import LargeDisclosure
from attacks.release_alone.cell_sums import Sum
from attacks.release_alone.contradictions import Contradiction
from attacks.release_alone.disclosed_cells import Disclosure
from attacks.release_alone.misreadings import misreadings, support
from csp.exact import UNBOUNDED, Bools, Floats, number_text
from csp.release.release import Release
from csp.tables.cross.frames import dimension_columns

_LISTED = 50
"""Cells of a kind that a text names; `PublishedAudit.columns` has all."""


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
    inferred : (k,) bool
        Cells that are not available, which nobody withholds, and can be worked out exactly.
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
    recovered : (k,) bool
        Figures that are published rounded or with noise, and whose true value can be worked out; in
        the order of ``disclosure.cells``.
    beyond_mending : tuple of int
        Known cells that stay known whatever else is withheld.
    notes : tuple of str
        How a large table was judged, in sentences.
    """

    release: Release
    contradictions: tuple[Contradiction, ...]
    disclosure: Disclosure | LargeDisclosure | None
    known: Bools
    narrow: Bools
    inferred: Bools
    percent: Fraction
    reasons: dict[int, str]
    sums: tuple[Sum, ...]
    insiders: dict[int, tuple[int, ...]]
    mend: tuple[int, ...] | None
    mend_is_least: bool
    cut_short: tuple[str, ...]
    recovered: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    beyond_mending: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

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
        withheld = int(self.release.withheld.sum())
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
        withheld = release.withheld
        n, k = len(release.pattern), int(withheld.sum())
        lines = [f"{_cells(k)} of {n:,} {_are(k)} withheld."]
        if release.ranged is not None:
            ranged = int(release.ranged.sum())
            lines.append(
                f"{_cells(ranged)} more {_are(ranged)} not known exactly: rounded, or not printed."
            )
        lines += _not_withheld(release)
        if self.contradictions:
            few = len(self.contradictions)
            lines.append(
                f"The published figures cannot all be true: {few} "
                f"{'contradiction was' if few == 1 else 'contradictions were'} found, so nothing "
                "can be inferred."
            )
            hints = misreadings(release, self.contradictions)
            lines += [f"{hint[:1].upper()}{hint[1:]}." for hint in hints]
            if not hints:
                lines.append("If figures are rounded, say so.")
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
        elif k:
            lines.append("None of them can be worked out exactly.")
        lines += self._inexact()
        few = int(self.inferred.sum())
        if few:
            lines.append(
                f"{_cells(few)} that {_are(few)} not available, and not withheld, can be worked "
                "out too."
            )
        if narrow:
            lines.append(
                f"{_cells(narrow)} more can be worked out to within "
                f"{number_text(self.percent)} percent."
            )
        if self.sums:
            few = len(self.sums) == 1
            lines.append(
                f"{len(self.sums)} {'sum' if few else 'sums'} of withheld cells "
                f"{'is' if few else 'are'} known, but not {'its' if few else 'their'} parts."
            )
        if self.insiders:
            reached = {cell for cells in self.insiders.values() for cell in cells}
            lines.append(
                f"{len(self.insiders)} contributors who are alone in a cell can work out "
                f"{_cells(len(reached))} of others."
            )
        lines += self._mended() if known else []
        lines += self.notes
        shown = support(release)
        if shown and min(shown.values()) <= 1:
            each = ", ".join(f"{name} {count:,}" for name, count in shown.items())
            lines.append(f"Published sums that show how codes add up: {each}.")
        loose = [name for name in release.names if name not in shown]
        if loose:
            lines.append(
                f"Nothing adds up over {' and '.join(loose)}, as the table was read: if there is a "
                "total, name it."
            )
        lines += [f"The time did not suffice for {what}." for what in self.cut_short]
        return lines

    def _inexact(self) -> list[str]:
        """Say what follows of figures that are rounded, or published with noise."""
        release, found = self.release, self.disclosure
        if found is None or not inexact_cells(release).any():
            return []
        cells = found.cells
        low, high = closest_ends(found)
        closer = (low > release.lower[cells]) | (high < release.upper[cells])
        closer &= inexact_cells(release)[cells] & ~self.recovered
        exact, near = int(self.recovered.sum()), int(closer.sum())
        figures = "1 figure" if exact == 1 else f"{exact:,} figures" if exact else "no figure"
        return [
            f"Of those that are rounded or published with noise, the true values of {figures} can "
            f"be worked out, and {near:,} more are known more closely than is said."
        ]

    def _mended(self) -> list[str]:
        """Say what would mend the table."""
        few, lines = len(self.beyond_mending), []
        if few:
            lines.append(
                f"{_cells(few)} would stay known, or closer than {number_text(self.percent)} "
                "percent, whatever else is withheld."
            )
        if self.mend is not None and len(self.disclosed) > few:
            least = "Withholding" if self.mend_is_least else "For example, withholding"
            lines.append(
                f"{least} {_cells(len(self.mend))} more would mend {'the rest' if few else 'that'}"
                f"{', and no fewer would' if self.mend_is_least else ''}."
            )
        return lines

    def text(self, *, reveal: bool = False) -> str:
        """Audit in words: sentences, contradictions, then the first cells of each kind.

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
        for cell in self.disclosed[:_LISTED]:
            why = self.reasons.get(cell, "")
            value = f" = {self.value_of(cell)}" if reveal else ""
            lines.append(f"  {cell_name(release, cell)}{value}{': ' if why else ''}{why}")
        lines += _more(len(self.disclosed))
        if self.narrow.any() and self.disclosure is not None:
            lines.append(f"Known to within {number_text(self.percent)} percent:")
            near = self.disclosure.cells[self.narrow].tolist()
            lines += [f"  {cell_name(release, cell)}" for cell in near[:_LISTED]]
            lines += _more(len(near))
        if self._recovered():
            lines.append("True values behind figures that are not exact:")
            for cell in self._recovered()[:_LISTED]:
                value = f" = {self.value_of(cell)}" if reveal else ""
                lines.append(f"  {cell_name(release, cell)}{value}")
            lines += _more(len(self._recovered()))
        if self.disclosed and self.mend:
            lines.append("To be withheld as well:")
            lines += [f"  {cell_name(release, cell)}" for cell in self.mend[:_LISTED]]
            lines += _more(len(self.mend))
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
                cells[-1]["value"] = self.value_of(cell)
        found = self.disclosure
        narrow = [] if found is None else found.cells[self.narrow].tolist()
        return {
            "dimensions": list(release.names),
            "cells": len(release.pattern),
            "suppressed": int(release.withheld.sum()),
            "ranged": 0 if release.ranged is None else int(release.ranged.sum()),
            "recovered": [named(cell) for cell in self._recovered()],
            "unavailable": int(unavailable_cells(release).sum()),
            "unavailable_inferred": int(self.inferred.sum()),
            "not_applicable": 0 if release.structural is None else int(release.structural.sum()),
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
            "misreadings": list(misreadings(release, self.contradictions)),
            "support": support(release),
            "mend": None if self.mend is None else [named(cell) for cell in self.mend],
            "mend_is_least": self.mend_is_least,
            "beyond_mending": [named(cell) for cell in self.beyond_mending],
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
        cells = np.flatnonzero(release.withheld) if found is None else found.cells
        columns = dimension_columns(release, cells)
        if found is None:
            return columns
        verdict = np.where(self.known, "disclosed", np.where(self.narrow, "narrow", "uncertain"))
        if len(self.recovered):
            verdict = np.where(self.recovered, "recovered", verdict)
        missing = unavailable_cells(release)[cells]
        verdict = np.where(missing, "not available", verdict)
        columns["verdict"] = np.where(self.inferred, "not available, known", verdict).tolist()
        if reveal:
            ends = closest_ends(found)
            for name, side in zip(("lower", "upper"), ends, strict=True):
                columns[name] = [_text(end, release.scale) for end in side.tolist()]
        return columns

    def _recovered(self) -> list[int]:
        if self.disclosure is None or not len(self.recovered):
            return []
        return [*self.disclosure.cells[self.recovered].tolist()]

    def value_of(self, cell: int) -> str:
        """Say the value of a cell that can be worked out, in units of the measure."""
        assert self.disclosure is not None
        at = int(np.searchsorted(self.disclosure.cells, cell))
        low, _ = closest_ends(self.disclosure)
        return _text(float(low[at]), self.release.scale)


def unavailable_cells(release: Release) -> Bools:
    """Cells that nobody withholds, and of which there is no number."""
    none = np.zeros(len(release.pattern), dtype=bool)
    return none if release.unavailable is None else release.unavailable


def inexact_cells(release: Release) -> Bools:
    """Cells of which a figure is published that may be off: rounded, or with noise."""
    none = np.zeros(len(release.pattern), dtype=bool)
    return none if release.ranged is None else release.ranged & (release.upper < UNBOUNDED)


def _not_withheld(release: Release) -> list[str]:
    """Say which signs mean anything but withheld, and how often."""
    missing = int(unavailable_cells(release).sum())
    empty = 0 if release.structural is None else int(release.structural.sum())
    said = [f"not available: {missing:,}"] if missing else []
    said += [f"not applicable, counted as 0: {empty:,}"] if empty else []
    if not said:
        return []
    return [f"{'; '.join(said)[:1].upper()}{'; '.join(said)[1:]}."]


def closest_ends(found: Disclosure | LargeDisclosure) -> tuple[Floats, Floats]:
    """Closest interval that is known of each cell."""
    if isinstance(found, LargeDisclosure):
        return found.lower, found.upper
    low = np.where(np.isnan(found.whole_lower), found.lower, found.whole_lower)
    high = np.where(np.isnan(found.whole_upper), found.upper, found.whole_upper)
    return low, high


def _text(end: float, scale: int) -> str:
    return number(Fraction(end), scale) if np.isfinite(end) else ("inf" if end > 0 else "-inf")


def _more(count: int) -> list[str]:
    """Say how many cells a list leaves out."""
    return [f"  ... {count - _LISTED:,} more"] if count > _LISTED else []


def _cells(count: int) -> str:
    return f"{count:,} {'cell' if count == 1 else 'cells'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
