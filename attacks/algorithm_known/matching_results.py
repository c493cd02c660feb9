"""What the matching attack found: of one release by cell, of several by release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.attack_run import OPEN, SAFE, UNSAFE
from attacks.fibre.consistent_tables import Fibre
from csp.errors import CellveilError, InputError
from csp.exact import Bools, Ints
from csp.release.release import Release
from csp.tables.cells import as_flags
from csp.tables.cross.frames import columns_to_frame, dimension_columns

UNJUDGED = "not judged: give width="
"""Verdict of a cell that is not known exactly, where a function promises no width."""

_WORDS = {"safe": SAFE, "unsafe": UNSAFE, "undecided": OPEN, "not_judged": UNJUDGED}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matching:
    """What the matching attack tells about the suppressed cells of a release.

    Attributes
    ----------
    release : Release
    cells : (k,) int64
        Suppressed cells.
    feasible_lower, feasible_upper : (k,) int64
        What the relations alone tell.
    lower, upper : (k,) int64
        Effective feasibility interval (Minami and Abe 2019, Definition 5): hull of the matches
        found. If the attack is complete, exact; otherwise the interval is at least this wide.
        While no match is known (`matched` is 0), the feasible interval.
    values : tuple of (v,) int64, or None
        Values that matches give each cell: the hull may have gaps. None if only hulls were asked
        for. If the attack is not complete, those found so far.
    verdict : (k,) str
        "proved safe": in every match in which the cell is primary, the hull leaves it the levels
        that the mechanism promises. "proved unsafe": in some match it does not. "undecided": the
        attack was cut short before either was proved.
    named : (k,) str
        Whether the matches tell that a cell is primary: "always", "never" or "sometimes"; "" if
        that is not proved.
    tested, matched : int
        Tables tested one by one, and matches among them. Methods "auto" and "hull" pass over many.
    fibre_size : int or None
        Number of consistent tables, if it was counted.
    left_out : float or None
        If tables were drawn: with 95 % confidence, at most this share of the fibre are matches
        outside the hulls (the first half of the draws makes hulls, the second half tests them; for
        a chain the number of independent draws is an estimate). Says nothing about a single rare
        table. None if nothing was drawn, or a chain may not reach every table.
    complete : bool
        Whether every table was tested or proved to tell nothing new.
    method : str
        "theorem": decoys exclude no table, so none was tested.
    seconds : float
    fibre : Fibre
        The consistent tables: `Fibre.count`, `Fibre.kernel` and what else is known of them.
    interrupted : bool
        Whether Ctrl-C ended the attack, so that it is not complete.
    """

    release: Release
    cells: Ints
    feasible_lower: Ints
    feasible_upper: Ints
    lower: Ints
    upper: Ints
    values: tuple[Ints, ...] | None
    verdict: NDArray[np.str_]
    named: NDArray[np.str_]
    tested: int
    matched: int
    fibre_size: int | None
    complete: bool
    left_out: float | None
    method: str
    seconds: float
    fibre: Fibre
    interrupted: bool

    def __repr__(self) -> str:
        tally = ", ".join(
            f"{int((self.verdict == word).sum())} {word}"
            for word in (UNSAFE, SAFE, OPEN, UNJUDGED)
            if (self.verdict == word).any()
        )
        return f"Matching({len(self.cells)} suppressed cells: {tally})"

    def _repr_html_(self) -> str:
        # Verdicts only: an effective interval may be the suppressed value.
        from csp.tables.cross.html import notebook_list

        rows = [
            (*self.release.labels[cell], verdict)
            for cell, verdict in zip(self.cells.tolist(), self.verdict.tolist(), strict=True)
        ]
        return notebook_list([repr(self)], [*self.release.names, "verdict"], rows)

    @property
    def width(self) -> Ints:
        """Width of each effective interval, shape (k,)."""
        return self.upper - self.lower

    def to_frame(
        self, library: str | None = None, *, marks: Any = None, reveal: bool = False
    ) -> Any:
        """Return a data frame with a row for each suppressed cell.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            The first that is installed by default.
        marks : (n,) bool, optional
            Primary cells, such as ``problem.primary``, for a column that says which these are.
        reveal : bool
            Add the ends of intervals: an effective interval may be the suppressed value.

        Returns
        -------
        data frame
            A column for each dimension; ``primary`` with `marks`; ``feasible`` and ``width`` (of
            the interval by relations, and once the algorithm is known), ``verdict`` and ``named``;
            with `reveal` ``feasible_lower``, ``feasible_upper``, ``lower`` and ``upper``. Numbers
            are those of the measure.

        Raises
        ------
        InputError
            If marks have another shape, a dimension has the name of one of these columns, or the
            library is unknown or missing.
        """
        release, unit = self.release, 10**self.release.scale
        primary = self._marked(marks)
        columns: dict[str, Any] = {} if primary is None else {"primary": primary}
        columns |= {
            "feasible": _numbers(self.feasible_upper - self.feasible_lower, unit),
            "width": _numbers(self.width, unit),
            "verdict": self.verdict,
            "named": self.named,
        }
        if reveal:
            for name in ("feasible_lower", "feasible_upper", "lower", "upper"):
                columns[name] = _numbers(getattr(self, name), unit)
        codes = dimension_columns(release, self.cells, beside=columns)
        return columns_to_frame(codes | columns, library or "")

    def _marked(self, marks: Any) -> Bools | None:
        """Which of the suppressed cells are primary."""
        if marks is None:
            return None
        return np.asarray(as_flags(marks, len(self.release.pattern), "marks")[self.cells])

    def tally(self, marks: Any = None) -> dict[str, int]:
        """Count verdicts.

        Parameters
        ----------
        marks : (n,) bool, optional
            Primary cells, to be counted apart.

        Returns
        -------
        dict of str to int
            cells; safe, unsafe, undecided, not_judged; exact (an interval of one value). With
            marks also primary, unsafe_primary and exact_primary.
        """
        unsafe = self.verdict == UNSAFE
        exact = (self.width == 0) & (self.matched > 0)
        counts = {"cells": len(self.cells)}
        counts |= {name: int((self.verdict == word).sum()) for name, word in _WORDS.items()}
        counts["exact"] = int(exact.sum())
        primary = self._marked(marks)
        if primary is not None:
            counts["primary"] = int(primary.sum())
            counts["unsafe_primary"] = int((unsafe & primary).sum())
            counts["exact_primary"] = int((exact & primary).sum())
        return counts

    @property
    def kernel(self) -> Ints:
        """Basis of the integer kernel, shape (k, d): the directions in which tables differ.

        Every table is `origin` plus an integer combination of the columns; where tables are tested
        one by one, they are listed along them.
        """
        return self.fibre.kernel

    @property
    def origin(self) -> Ints:
        """The fixed solution that the kernel is added to: one consistent table, shape (k,)."""
        return self.fibre.origin


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matchings:
    """The matching attack on several releases, each by itself.

    Attributes
    ----------
    names : tuple of str
    results : tuple of Matching or CellveilError
        An error of one release does not cost the others.
    """

    names: tuple[str, ...]
    results: tuple[Matching | CellveilError, ...]

    def __repr__(self) -> str:
        counts = self.summary()
        failed = f"; {counts['failed']} not attacked" if counts["failed"] else ""
        return (
            f"Matchings({len(self.names)} releases: {counts['unsafe']} of {counts['cells']} "
            f"suppressed cells proved unsafe{failed})"
        )

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Matching | CellveilError]:
        return iter(self.results)

    def __getitem__(self, which: int | str) -> Matching | CellveilError:
        if isinstance(which, str):
            if which not in self.names:
                msg = f"there is no release {which!r}; there are {', '.join(self.names[:10])}"
                raise InputError(msg)
            which = self.names.index(which)
        return self.results[which]

    def to_frame(self, library: str | None = None, *, marks: Any = None) -> Any:
        """Return a data frame with a row for each release.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            The first that is installed by default.
        marks : sequence of (n,) bool, or mapping of names to them, optional
            Primary cells of each release, to be counted apart.

        Returns
        -------
        data frame
            release; the counts of `Matching.tally`; complete, tested, matched, seconds; reason
            (why a release was not attacked).

        Raises
        ------
        InputError
            If marks are not one for each release, or the library is unknown or missing.
        """
        rows: list[dict[str, Any]] = []
        for name, found, flags in zip(self.names, self.results, self._marks(marks), strict=True):
            if isinstance(found, Matching):
                rows.append({
                    "release": name, **found.tally(flags), "complete": found.complete,
                    "tested": found.tested, "matched": found.matched, "seconds": found.seconds,
                    "reason": "",
                })  # fmt: skip
            else:
                rows.append({"release": name, "reason": str(found)})
        heads = max(rows, key=len, default={})
        columns = {head: [row.get(head) for row in rows] for head in heads}
        return columns_to_frame(columns, library or "")

    def summary(self, *, marks: Any = None) -> dict[str, Any]:
        """Totals over all releases, as plain data.

        Parameters
        ----------
        marks
            As for `to_frame`.

        Returns
        -------
        dict
            releases, failed (not attacked), finished (attacked completely), and the sums of
            `Matching.tally`.
        """
        pairs = [
            (found, flags)
            for found, flags in zip(self.results, self._marks(marks), strict=True)
            if isinstance(found, Matching)
        ]
        tallies = [found.tally(flags) for found, flags in pairs]
        heads = tallies[0] if tallies else dict.fromkeys(("cells", *_WORDS, "exact"))
        return {
            "releases": len(self.results),
            "failed": len(self.results) - len(pairs),
            "finished": sum(found.complete for found, _ in pairs),
            **{head: sum(tally[head] for tally in tallies) for head in heads},
        }

    def _marks(self, marks: Any) -> list[Any]:
        """Primary cells of each release."""
        if marks is None:
            return [None] * len(self.names)
        if isinstance(marks, Mapping):
            by_text = {str(name): flags for name, flags in marks.items()}
            if set(by_text) == set(self.names):
                return [by_text[name] for name in self.names]
        elif isinstance(marks, Iterable):
            given = list(marks)
            if len(given) == len(self.names):
                return given
        msg = f"marks must be {len(self.names)} arrays, one for each release, or have their names"
        raise InputError(msg)


def _numbers(units: Ints, unit: int) -> list[float]:
    return [value / unit if unit > 1 else value for value in units.tolist()]
