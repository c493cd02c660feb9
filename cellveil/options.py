"""Options of the commands: their types, and the kinds of files they take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "JJ",
    "RESULTS",
    "TEXTS",
    "Cost",
    "CountColumn",
    "Defence",
    "Gap",
    "Hierarchies",
    "Integer",
    "KeyFile",
    "Margins",
    "Method",
    "Negative",
    "ReleaseFile",
    "Reveal",
    "Summary",
    "TableId",
    "TimeLimit",
    "TopColumns",
]

RESULTS = (".csv", ".csv.gz", ".parquet")
TEXTS = (".csv", ".csv.gz")
JJ = (".jj", ".jj.gz")


class Cost(StrEnum):
    """What suppressing a cell costs."""

    UNIT = "unit"
    VALUE = "value"


class Margins(StrEnum):
    """What happens to margins."""

    SUPPRESS = "suppress"
    PUBLISH = "publish"


class Negative(StrEnum):
    """How negative contributions are read."""

    ERROR = "error"
    ABS = "abs"
    SHIFT = "shift"
    SPLIT = "split"


Method = Annotated[
    str, typer.Option(metavar="NAME", help="auto, cuts, branch, small or compact (small tables).")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Seconds; then the best audited pattern is taken.",
        show_default="none",
    ),
]
Gap = Annotated[
    float, typer.Option(metavar="SHARE", help="Stop within this share of the optimum; 0.01 is 1 %.")
]
Summary = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Facts about the result as JSON.")
]
Reveal = Annotated[
    bool,
    typer.Option("--reveal", help="Let suppressed values into the output. Never publish that."),
]
Integer = Annotated[
    bool, typer.Option("--integer", help="The attacker knows that cells are whole units.")
]
ReleaseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Release with its relations (.json, and .csv beside it), to attack.",
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=FILE", help="Hierarchy of a column (.hrc); once for each."),
]
CountColumn = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="With --aggregated: column of contributor counts."),
]
TopColumns = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="With --aggregated: columns of largest contributions."),
]
Defence = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Protect from whoever knows the algorithm: decoys:RATE, such as decoys:0.1.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Secret key of the defence, made by 'cellveil key'."),
]
TableId = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Identity of the table: the same name and key, the same decoys."
    ),
]
