"""Where a table comes from: a file and how it is read, in the words of ``cellveil protect``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.io.sheets import is_workbook
from csp.tables.columns import TextFile

__all__ = ["Source"]

RESERVED = ("value", "status", "published", "lower", "upper")
"""Columns of the result; a dimension of the same name would be lost among them."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from, in the words of ``cellveil protect``."""

    data: Path
    by: tuple[str, ...]
    value: str | None = None
    contributor: str | None = None
    weight: str | None = None
    hierarchy: tuple[str, ...] = ()
    rda: Path | None = None
    aggregated: bool = False
    count: str | None = None
    top: tuple[str, ...] = ()
    negative: str = "error"
    decimals: int | None = None
    total: tuple[str, ...] = ()
    missing: str | None = None
    keep: int = field(default=5)
    text: TextFile | None = None
    absent_zero: bool = False
    tolerance: str = "0"
    memory: str | None = None
    empty: str | None = None
    apriori: Path | None = None
    apriori_unknown: str = "error"
    apriori_separator: str | None = None
    sheet: str | None = None
    shadow: str | None = None

    def __post_init__(self) -> None:
        clash = [name for name in self.by if name in RESERVED]
        if clash:
            refuse(
                f"the result has a column {clash[0]!r} of its own; rename that dimension "
                f"(names in use: {', '.join(RESERVED)})"
            )
        if self.aggregated:
            micro = {
                "--contributor": self.contributor, "--weight": self.weight,
                "--missing": self.missing, "--memory": self.memory,
                "--drop-empty or --keep-empty": self.empty,
            }  # fmt: skip
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
            cells = {
                "--count": self.count, "--top": self.top, "--absent-zero": self.absent_zero,
                "--tolerance": self.tolerance != "0",
            }  # fmt: skip
            cells = {} if self.tab else cells
            if self.tab:
                self._check_negative()
            self._refuse(cells, "without --aggregated the records tell who contributes; leave out")
            if self.value is None and not self.tab:
                numbers = {
                    "--decimals": self.decimals is not None,
                    "--negative": self.negative != "error",
                }
                self._refuse(numbers, "without --value records are counted; leave out")
        if self.rda is not None and self.text is not None and not self.text.plain:
            refuse(
                "--rda says how the data is written; leave out --sep, --decimal, --encoding, --na"
            )
        if self.rda is not None and self.memory is not None:
            refuse("--memory is for .csv and .parquet files; convert the data, or leave it out")
        if self.sheet is not None and not is_workbook(self.data):
            refuse(
                f"--sheet is for Excel workbooks; {str(self.data)!r} has no sheets: leave it out"
            )
        if is_workbook(self.data) and (self.memory or not (self.text is None or self.text.plain)):
            refuse(
                "a workbook is read as it is; leave out --memory, --sep, --decimal, --encoding and "
                "--na"
            )
        if self.rda is None and self.data.name.lower().endswith((".asc", ".asc.gz", ".tab")):
            refuse(
                f"{str(self.data)!r} does not name its columns; name its record layout with --rda"
            )

    @property
    def tab(self) -> bool:
        """Whether it is a table of τ-ARGUS, whose layout tells what its columns are."""
        return self.rda is not None and self.data.name.lower().endswith(".tab")

    def _check_negative(self) -> None:
        """Cells are negative or not; how contributions are read is a question about records."""
        if self.negative not in ("error", "allow"):
            refuse(
                f"--negative {self.negative} is for records; for a table with one row per cell say "
                "--negative allow where cells may be negative"
            )

    @staticmethod
    def _refuse(options: dict[str, Any], why: str) -> None:
        given = [name for name, option in options.items() if option]
        if given:
            refuse(f"{why} {', '.join(given)}")
