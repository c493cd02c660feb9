"""What is written, and whether it may show suppressed values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cellveil.requests.option import option

__all__ = ["Files", "Shown"]


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
class Files:
    """Files that a command writes, and what is shown."""

    output: Path | None = option(
        "Published table: .csv, .csv.gz, .parquet, .xlsx, .sdmx.csv, .sdctable.csv, .sbs "
        "(tau-ARGUS) or .hst. A folder for several files of data.",
        "FILE",
        names=("--output", "-o"),
    )
    summary: Path | None = option("Facts about the result as JSON.", "FILE")
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
    shown: Shown = Shown()
