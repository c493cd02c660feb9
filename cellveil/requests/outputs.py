"""What is written, and whether it may show suppressed values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, NoReturn

from cellveil.front import refuse
from cellveil.requests.option import Repeated, again, option

_LONGEST = 20
"""Letters of a sign."""

_NEAR = 0.75
"""How alike a sign and the name of an office are, from 0 to 1, that one is taken for the other."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What results show."""

    attacks: bool = option(
        "Run every attack that applies, for --report.", "", "false", default=False
    )
    intervals: bool = option(
        "Add what an outsider can infer of each cell.", "", "false", default=False
    )
    publish: str = option(
        "In place of withheld values: blanks, intervals that anyone could work out, or "
        "intervals:10 rounded outwards to tens.",
        "TEXT",
        '"blanks"',
        default="blanks",
    )
    reveal: bool = option(
        "Include suppressed values in the output, for internal use only.",
        "",
        "false",
        default=False,
    )

    @property
    def has_intervals(self) -> bool:
        """Whether results have columns of intervals."""
        return self.intervals or self.publish.startswith("intervals")


@dataclass(frozen=True, slots=True)
class House:
    """How a published table looks in a house.

    Attributes
    ----------
    footnote : tuple of str
        Lines below the table.
    """

    mark: str | None = option(
        "What stands for suppressed cells in .csv and .xlsx: a sign, or destatis, statcan, uk, "
        "census, bls, eia, eurostat, ksh or health for that of the office.",
        "SIGN",
        '"destatis"',
        otherwise="\u00d7 in the cross table of a workbook, nothing in lists",
    )
    title: str | None = option(
        "Title of the table, on the sheet and in the report.",
        "TEXT",
        '"Turnover by region"',
        otherwise="none on the sheet, the name in the report",
    )
    footnote: tuple[Repeated, ...] = option(
        "Line below the table on the sheet, after the legend of its signs; once for each.",
        "TEXT",
        '["Source: survey of 2026"]',
        default=(),
    )

    def check(self, forms: Collection[str], *, report: bool) -> None:
        """Refuse what no file that is written has a place for.

        Parameters
        ----------
        forms : collection of str
            Forms of the tables that are written, by the keys of `cellveil.io.files.FORMATS`.
        report : bool
            Whether there is a report.
        """
        lists, sheet = not {"csv", "csv.gz", "xlsx"}.isdisjoint(forms), "xlsx" in forms
        places = {
            "--mark": (self.mark, lists, "in .csv and .xlsx files"),
            "--title": (self.title, sheet or report, "on the sheet of .xlsx files and in reports"),
            "--footnote": (self.footnote, sheet, "on the sheet of .xlsx files"),
        }
        for name, (given, there, where) in places.items():
            if given and not there:
                refuse(f"{name} stands {where}, and none is written; leave it out")

    def __post_init__(self) -> None:
        sign = self.mark
        if sign is None:
            return
        number = sign.strip().lstrip("+-").replace(".", "").replace(",", "").replace(" ", "")
        if not sign.strip() or number.isdecimal() or len(sign) > _LONGEST:
            _refuse(sign, "must be a short sign or word that is not a number, such as x")
        if sign[0] in "=+@\t" or (sign[0] == "-" and sign.strip("-")):
            _refuse(sign, "looks like a formula to a spreadsheet; choose another sign")
        if sign in ("0", "-", "\u2013"):
            _refuse(sign, "is read as zero; choose another sign")
        from csp.published.marks import PRINTED  # `cellveil doctor` must always start

        near = get_close_matches(sign, PRINTED, 1, _NEAR)
        if near and sign not in PRINTED and len(sign) > len("eia"):
            _refuse(sign, f"looks like {near[0]!r}, whose sign it is not; write that, or another")


def _refuse(sign: str, why: str) -> NoReturn:
    from csp.errors import InputError, argument

    msg = f"{argument('mark')} {sign!r} {why}"
    raise InputError(msg)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a result, and whether it may show suppressed values."""

    summary: Path | None = option("Facts about the result as JSON.", "FILE")
    reveal: bool = again(Shown, "reveal")

    @property
    def output(self) -> None:
        """No further file."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What is found of each cell, and facts about all of them."""

    output: Path | None = option(
        "One row per cell: .csv or .parquet.", "FILE", names=("--output", "-o")
    )
    summary: Path | None = again(Facts, "summary")
    reveal: bool = again(Shown, "reveal")


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked file, and facts about it."""

    output: Path | None = option(
        "Masked file: .csv, .csv.gz, .parquet, .dta or .sav.", "FILE", names=("--output", "-o")
    )
    summary: Path | None = again(Facts, "summary")
    reveal: bool = option(
        "Say what the original values decide, such as the information loss: for internal use only. "
        "The masked file is the same.",
        default=False,
    )


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit found."""

    output: Path | None = option(
        "Interval of each cell, if the pattern is safe.", "FILE", names=("--output", "-o")
    )
    report: Path | None = option(
        "Published table: the audit as one HTML page, with its facts as .json.", "FILE"
    )
    summary: Path | None = again(Facts, "summary")
    reveal: bool = again(Shown, "reveal")


@dataclass(frozen=True, slots=True)
class Compared:
    """What several ways to publish one table cost, and leave to be inferred."""

    output: Path | None = option(
        "Errors by level of the hierarchy: .csv or .parquet.", "FILE", names=("--output", "-o")
    )
    report: Path | None = option(
        "The comparison as one HTML page, with its facts as .json.", "FILE"
    )
    plots: Path | None = option("A picture (methods.svg).", "FOLDER")
    summary: Path | None = again(Facts, "summary")


@dataclass(frozen=True, slots=True)
class Files:
    """Files that a command writes, and what is shown."""

    output: Path | None = option(
        "Published table: .csv, .csv.gz, .parquet, .xlsx, .sdmx.csv, .sdctable.csv, .sbs "
        "(tau-ARGUS) or .hst. A folder for several files of data.",
        "FILE",
        names=("--output", "-o"),
    )
    summary: Path | None = again(Facts, "summary")
    report: Path | None = option(
        "One HTML page to read: table, intervals, proofs, attacks; facts as .json beside it.",
        "FILE",
    )
    plots: Path | None = option(
        "Pictures (.svg): intervals, suppression map, gap over time.", "FOLDER"
    )
    jj: Path | None = option("Problem with its pattern as JJ file; needs --reveal.", "FILE")
    release: Path | None = option(
        "Release with its relations (.json, and .csv beside it), to attack.", "FILE"
    )
    reread: bool = option(
        "Read the data a second time, by code that nothing else uses, and publish only if both "
        "readings agree.",
        default=False,
    )
    layout: Literal["cross", "long"] = option(
        "On screen: rows by columns, in panels, or one row per cell.", default="cross"
    )
    house: House = House()
    shown: Shown = Shown()
