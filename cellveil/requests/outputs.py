"""What is written, and whether it may show suppressed values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cellveil.requests.option import Option

__all__ = ["Files", "Shown"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What results show."""

    attacks: Annotated[
        bool, Option("Run every attack that applies, for --report.", "", "false")
    ] = False
    intervals: Annotated[
        bool, Option("Add what an outsider can infer of each cell.", "", "false")
    ] = False
    reveal: Annotated[
        bool,
        Option("Include suppressed values in the output, for internal use only.", "", "false"),
    ] = False


@dataclass(frozen=True, slots=True)
class Files:
    """Files that a command writes, and what is shown."""

    output: Annotated[
        Path | None,
        Option(
            "Published table: .csv, .csv.gz, .parquet, .xlsx, .sdmx.csv, .sdctable.csv, .sbs "
            "(tau-ARGUS) or .hst. A folder for several files of data.",
            "FILE",
            names=("--output", "-o"),
        ),
    ] = None
    summary: Annotated[Path | None, Option("Facts about the result as JSON.", "FILE")] = None
    report: Annotated[
        Path | None,
        Option(
            "One HTML page to read: table, intervals, proofs, attacks; facts as .json beside it.",
            "FILE",
        ),
    ] = None
    plots: Annotated[
        Path | None,
        Option("Pictures (.svg): intervals, suppression map, gap over time.", "FOLDER"),
    ] = None
    jj: Annotated[
        Path | None, Option("Problem with its pattern as JJ file; needs --reveal.", "FILE")
    ] = None
    release: Annotated[
        Path | None,
        Option("Release with its relations (.json, and .csv beside it), to attack.", "FILE"),
    ] = None
    layout: Annotated[
        Literal["cross", "long"],
        Option("On screen: rows by columns, in panels, or one row per cell."),
    ] = "cross"
    shown: Shown = Shown()
