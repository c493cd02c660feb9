"""Where a table comes from: a file, how it is written, and what its columns mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cellveil.front import refuse
from cellveil.requests.option import Amount, ByColumn, option

if TYPE_CHECKING:
    from csp.formats.delimited import TextFile

RESERVED = ("value", "status", "published", "lower", "upper")
"""Columns of the result; a dimension of the same name would be lost among them."""


def is_workbook(path: Path) -> bool:
    """Whether a name is that of a workbook, of Excel or OpenDocument."""
    return path.name.lower().endswith((".xlsx", ".xlsm", ".ods"))


@dataclass(frozen=True, slots=True)
class Written:
    """How a file is written, where that cannot be told for certain."""

    sheet: str | None = option("Sheet of a workbook.", "NAME", '"2026"', otherwise="the only one")
    sep: str | None = option(
        "What separates the columns of a text file: , ; | or tab.",
        "SIGN",
        '";"',
        key="separator",
        otherwise="as found",
    )
    decimal: str | None = option(
        "Decimal mark of a text file: . or ,", "SIGN", '","', otherwise="as found"
    )
    encoding: str | None = option(
        "Encoding of a text file: cp1252, latin-1, ...",
        "NAME",
        '"cp1252"',
        otherwise="UTF-8, or UTF-16 as found",
    )
    na: tuple[str, ...] | None = option(
        "Texts that stand for a missing entry; on the command line by commas, '' for the "
        "empty text only.",
        "TEXTS",
        '["NA", "."]',
        key="not_available",
        otherwise="NA as a code is refused",
        blanks=True,
    )
    labels: bool = option(
        "Codes are the labels that a file of Stata or SPSS gives them.",
        "",
        "true",
        default=False,
        otherwise="values as they stand in the file",
    )

    def file(self, path: Path) -> TextFile:
        """File with what was declared of it."""
        from csp.formats.delimited import TextFile

        sign = "\t" if self.sep in ("tab", "\\t") else self.sep
        return TextFile(path, sign, self.decimal, self.encoding, self.na, self.labels)

    def check(self, path: Path, *, text: bool = False) -> None:
        """Refuse what is said of a workbook as if it were text, and a sheet of anything else.

        Entries of a cross table in a workbook may be `text`.
        """
        if self.sheet is not None and not is_workbook(path):
            refuse(f"--sheet is for workbooks; {str(path)!r} has no sheets: leave it out")
        if is_workbook(path) and not text and not self.file(path).plain:
            refuse(
                "a workbook is read as it is; leave out --sep, --decimal, --encoding, --na and "
                "--labels"
            )


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from.

    Attributes
    ----------
    data : Path
    by : tuple of str
        Columns of the dimensions; those of the layout of a .tab where none is named.
    apriori_separator : str or None
        What separates the columns of `apriori`; as found without it.
    reads : int
        How many of the largest contributions the rules look at.
    written : Written

    Others say themselves what they mean.
    """

    data: Path
    by: tuple[str, ...] = ()
    value: str | None = option(
        "Column to sum; without it records are counted.", "COLUMN", '"turnover"'
    )
    contributor: str | None = option(
        "Column that says who reports; all its records in a cell are added up, equal ones too.",
        "COLUMN",
        '"enterprise"',
    )
    weight: str | None = option("Column of sampling weights.", "COLUMN", '"weight"')
    shadow: str | None = option(
        "Column that rules on contributions judge in place of the value, as turnover for "
        "investment; with --aggregated the one that --top belongs to.",
        "COLUMN",
        '"employment"',
        otherwise="the value itself",
    )
    hierarchy: tuple[ByColumn, ...] = option(
        "Hierarchy of a column (.hrc); once for each, and again for aggregates that overlap.",
        "COLUMN=FILE",
        '"region.hrc"',
        default=(),
        key="hierarchies",
    )
    recode: tuple[ByColumn, ...] = option(
        "Codes of a column that become one: a file of tau-ARGUS (.grc: small: 1, 2, 5-7), one of "
        "two columns (old, new), or the level at which its hierarchy is cut; once for each.",
        "COLUMN=FILE",
        '"region.grc"',
        default=(),
    )
    rda: Path | None = option(
        "tau-ARGUS record layout of the data.", "FILE", '"survey.rda"', key="layout"
    )
    aggregated: bool = option("The data has one row per cell.", "", "false", default=False)
    cross: Literal["counts", "values"] | None = option(
        "The data is a cross table, of counts of contributors or of other values; --value and "
        "--count then name headers, and --by the dimensions, those of the rows first.",
        "",
        '"counts"',
        otherwise="as found, and said",
    )
    count: str | None = option(
        "With --aggregated: column of contributor counts; the column of the values itself if "
        "they are counts. With --cross: header of such counts beside the values.",
        "COLUMN",
        '"firms"',
    )
    top: tuple[str, ...] = option(
        "With --aggregated: columns of largest contributions.",
        "COLUMNS",
        '["max1", "max2"]',
        default=(),
    )
    negative: Literal["error", "abs", "shift", "split", "allow"] = option(
        "How negative contributions are read; with --aggregated or --cross, allow for negative "
        "cells.",
        "",
        '"error"',
        default="error",
    )
    decimals: int | None = option("Decimal places of values.", "PLACES", "2", otherwise="as found")
    total: tuple[ByColumn, ...] = option(
        "Code of the total, of all columns or of one; once for each.",
        "[COLUMN=]CODE",
        '"Total"',
        default=(),
        key="totals",
        otherwise="Total",
    )
    absent_zero: bool = option(
        "With --aggregated: inner cells without a row are 0. With --cross: empty ones are.",
        "",
        "false",
        default=False,
        otherwise="refused",
    )
    tolerance: Amount = option(
        "With --aggregated or --cross: margins off by no more than this are replaced by their "
        "sums.",
        "NUMBER",
        "0",
        default=Amount("0"),
    )
    round: bool = option(
        "Round values with more decimals than --decimals to these.",
        "",
        "false",
        default=False,
        otherwise="refused",
    )
    missing: str | None = option(
        "Code for records that lack one.", "CODE", '"unknown"', otherwise="refused"
    )
    missing_values: Literal["error", "drop"] = option(
        "Records without a value: refused, or left out and counted.",
        "",
        '"drop"',
        default="error",
    )
    written: Written = Written()
    memory: str | None = option(
        "Memory the program may take, such as 2GB, for records that do not fit into it; "
        "copies go to the folder for temporary files.",
        "SIZE",
        '"2GB"',
    )
    empty: Literal["keep", "drop"] | None = option(
        "Leave combinations of codes without records out; these are known to be 0.",
        "",
        '"keep"',
        names=("--drop-empty", "--keep-empty"),
        turns=("drop", "keep"),
        otherwise="kept, but for large tables of values",
    )
    apriori: Path | None = option(
        "tau-ARGUS a-priori file (.hst): cells that are unsafe, safe, public or suppressed "
        "beforehand, costs, protection levels.",
        "FILE",
        '"cells.hst"',
    )
    apriori_unknown: Literal["error", "skip"] = option(
        "Lines of --apriori about cells that the table does not have.",
        "",
        '"error"',
        default="error",
    )
    apriori_separator: str | None = None
    reads: int = 5

    def __post_init__(self) -> None:
        clash = [name for name in self.by if name in RESERVED]
        if clash:
            refuse(
                f"the result has a column {clash[0]!r} of its own; rename that dimension "
                f"(names in use: {', '.join(RESERVED)})"
            )
        micro = {
            "--contributor": self.contributor, "--weight": self.weight,
            "--missing": self.missing, "--memory": self.memory,
            "--missing-values": self.missing_values != "error",
            f"--{self.empty}-empty": self.empty,
        }  # fmt: skip
        if self.cross is not None:
            rows = {
                "--aggregated": self.aggregated, "--rda": self.rda, "--shadow": self.shadow,
                "--top": self.top,
            }  # fmt: skip
            self._refuse(micro | rows, "a cross table has neither records nor columns; leave out")
            self._check_negative()
        elif self.aggregated:
            self._refuse(
                micro, "--aggregated data has one row per cell, not one per record; leave out"
            )
            self._check_negative()
            if self.value is None:
                refuse("--aggregated needs --value: the column that holds the cells")
        else:
            if self.negative == "allow" and not self.tab:
                refuse(
                    "--negative allow is for tables with one row per cell; for records say how "
                    "rules read a negative contribution: abs, shift or split"
                )
            if self.tab:
                self._check_negative()
            else:
                told = {"--count": self.count, "--top": self.top}
                self._refuse(
                    told, "without --aggregated the records tell who contributes; leave out"
                )
                cells = {
                    "--absent-zero": self.absent_zero, "--tolerance": self.tolerance != "0",
                }  # fmt: skip
                self._refuse(cells, "for tables of cells (--aggregated, --cross); leave out")
            if self.value is None and not self.tab:
                numbers = {
                    "--decimals": self.decimals is not None,
                    "--negative": self.negative != "error",
                    "--round": self.round,
                    "--missing-values": self.missing_values != "error",
                }
                self._refuse(numbers, "without --value records are counted; leave out")
        if self.rda is not None and not self.text.plain:
            refuse(
                "--rda says how the data is written; leave out --sep, --decimal, --encoding, --na"
            )
        if self.recode and self.memory is not None:
            refuse("--recode reads all records at once; leave out --memory")
        if self.rda is not None and self.memory is not None:
            refuse("--memory is for .csv and .parquet files; convert the data, or leave it out")
        self.written.check(self.data, text=self.cross is not None)
        if is_workbook(self.data) and not self.cross and self.memory:
            refuse("a workbook is read as a whole; leave out --memory")
        if self.rda is None and self.data.name.lower().endswith((".asc", ".asc.gz", ".tab")):
            refuse(
                f"{str(self.data)!r} does not name its columns; name its record layout with --rda"
            )

    @property
    def tab(self) -> bool:
        """Whether it is a table of τ-ARGUS, whose layout tells what its columns are."""
        return self.rda is not None and self.data.name.lower().endswith(".tab")

    @property
    def sheet(self) -> str | None:
        """Sheet of a workbook; None for the only one."""
        return self.written.sheet

    @property
    def text(self) -> TextFile:
        """The file with how it is said to be written."""
        return self.written.file(self.data)

    def _check_negative(self) -> None:
        """Cells are negative or not; how contributions are read is a question about records."""
        if self.negative not in ("error", "allow"):
            refuse(
                f"--negative {self.negative} is for records; for a table say --negative allow, "
                "where cells may be negative"
            )

    @staticmethod
    def _refuse(options: dict[str, Any], why: str) -> None:
        given = [name for name, option in options.items() if option]
        if given:
            refuse(f"{why} {', '.join(given)}")
