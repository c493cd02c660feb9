"""A table that somebody else published: how it is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cellveil.front import refuse
from cellveil.requests.option import Amount, ByColumn, Repeated, again, option
from cellveil.requests.source import Source, Written


@dataclass(frozen=True, slots=True)
class Signs:
    """What stands in place of numbers in a published table, and beside them."""

    marks: str | None = option(
        "Whose signs a published table has: destatis, statcan, uk, census, bls, eia, eurostat, "
        "sdmx, ksh, health.",
        "OFFICE",
        otherwise="as found, if only one reading is left",
    )
    withheld: tuple[str, ...] = option(
        "Further signs of a published table that mean withheld, by commas.", "SIGNS", default=()
    )
    status: tuple[str, ...] = option(
        "Columns of flags beside the cells of a published table, by commas.",
        "COLUMNS",
        default=(),
        otherwise="found by their names",
    )
    ranges: Path | None = option(
        "File of signs that stand for ranges: columns sign, lower, upper.", "FILE"
    )
    lower: str | None = option("Column of the least value that a withheld cell can have.", "COLUMN")
    upper: str | None = option("Column of the largest one.", "COLUMN")
    rounded: Amount | None = option(
        "Base to which published numbers are rounded: 5.",
        "NUMBER",
        otherwise="not rounded, or as found where they do not add up",
    )


@dataclass(frozen=True, slots=True)
class Origin:
    """What a release was made of, and by which rules."""

    records: Path | None = option(
        "Read these records (as 'protect' takes them) once more, by code that 'protect' does not "
        "use, and judge the release by them.",
        "FILE",
    )
    by: tuple[Repeated, ...] = option(
        "Columns of the dimensions; with --records once for each of several linked tables.",
        "COLUMNS",
        default=(),
        otherwise="those of the release, or as found",
    )
    rules: str | None = option(
        "With --records: what is sensitive, as for 'protect'.",
        "RULES",
        otherwise="those that the release states, with all that goes with them",
    )


@dataclass(frozen=True, slots=True)
class Publication:
    """How a published table is to be read.

    Attributes
    ----------
    negative : str
        "allow" where cells may be negative; other values are for records.
    """

    by: tuple[str, ...] = option(
        "Columns of the dimensions of a published list, by commas.",
        "COLUMNS",
        default=(),
        otherwise="as found",
    )
    value: str | None = option(
        "Column of its cells; in a cross table the header above them, or several by commas.",
        "COLUMN",
        otherwise="as found",
    )
    count: str | None = option("Column of its numbers of contributors.", "COLUMN")
    cells: Literal["counts", "values"] | None = option(
        "What its cells are: numbers of contributors, or other values, such as sums.",
        otherwise="as found: by the names count and freq, decimals, and --count",
    )
    signs: Signs = Signs()
    hierarchy: tuple[ByColumn, ...] = option(
        "Hierarchy of a column (.hrc), or prefix where codes begin with the code above them, or "
        "found where totals are to be found by adding up; once for each.",
        "COLUMN=FILE",
        default=(),
    )
    total: tuple[ByColumn, ...] = again(Source, "total")
    absent_zero: bool = option(
        "Cells of a published table that have no row are 0.",
        default=False,
        otherwise="withheld",
    )
    tolerance: Amount = option(
        "By how much each published number may be off.", "NUMBER", default=Amount("0")
    )
    negative: Literal["error", "abs", "shift", "split", "allow"] = option(
        "Say allow where published cells may be negative.", default="error"
    )
    written: Written = Written()

    def __post_init__(self) -> None:
        if self.negative not in ("error", "allow"):
            refuse(
                f"--negative {self.negative} is for records; for a published table say --negative "
                "allow where cells may be negative"
            )
