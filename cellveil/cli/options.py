"""Options that several commands take, and how an option is declared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

RESULTS = (".csv", ".csv.gz", ".parquet")
TEXTS = (".csv", ".csv.gz")
JJ = (".jj", ".jj.gz")


def option(
    words: str, metavar: str | None = None, *names: str, default: str | bool = True, **more: Any
) -> Any:
    """Option by its meaning, what stands for its value, and its names if not the argument's.

    `default` says what happens without it, where that is not a value; `more` is for typer.
    """
    return typer.Option(*names, metavar=metavar, help=words, show_default=default, **more)


def flag(words: str, names: str, *, default: str | bool = True) -> Any:
    """Option without a value: ``--name``, or ``--name/--no-name``."""
    return typer.Option(names, help=words, show_default=default)


def argument(words: str, metavar: str, *, default: bool = True) -> Any:
    """Argument by its meaning and what stands for it."""
    return typer.Argument(metavar=metavar, help=words, show_default=default)


# ---- files that are read -------------------------------------------------------------------------

DataFile = Annotated[Path, argument(".csv, .csv.gz or .parquet, one row per record.", "DATA")]
ProblemFile = Annotated[Path, argument("Suppression problem: .jj or .jj.gz.", "PROBLEM")]
ReleaseIn = Annotated[
    Path,
    argument(
        "Release that 'protect --release' wrote (.json), or a table that anybody published: a list "
        "or a cross table (.csv, .xlsx, .parquet, .sbs).",
        "RELEASE",
    ),
]

# ---- columns of records --------------------------------------------------------------------------

Confidential = Annotated[str | None, option("Confidential columns, by commas.", "COLUMNS")]
QuasiIdentifiers = Annotated[
    str | None,
    option(
        "Columns that an intruder may know, by commas.",
        "COLUMNS",
        default="all that are not confidential",
    ),
]

# ---- how a pattern is looked for, and what is known of it ----------------------------------------

SearchLimit = Annotated[
    float | None, option("Then the best safe result so far is taken.", "SECONDS", default="none")
]
AttackLimit = Annotated[float | None, option("For the whole attack.", "SECONDS")]
MechanismFile = Annotated[
    Path | None,
    option(
        'What is known of the algorithm: JSON, {"rules": "FREQ(5)", "width": 8}.',
        "FILE",
        default="as told by the release",
    ),
]
MaxTables = Annotated[int, option("Most tables to test one by one.", "TABLES")]
Integer = Annotated[bool, flag("The attacker knows that cells are whole units.", "--integer")]
Whole = Annotated[bool, flag("Cells are known to be whole units.", "--integer/--no-integer")]

# ---- what is written -----------------------------------------------------------------------------

Summary = Annotated[Path | None, option("Facts about the result as JSON.", "FILE")]
Reveal = Annotated[
    bool, flag("Include suppressed values in the output, for internal use only.", "--reveal")
]
RevealOriginals = Annotated[
    bool,
    flag(
        "Say what the original values decide, such as the information loss: for internal use only. "
        "The masked file is the same.",
        "--reveal",
    ),
]
MaskedFile = Annotated[
    Path | None, option("Masked file: .csv, .csv.gz or .parquet.", "FILE", "--output", "-o")
]
RowsFile = Annotated[
    Path | None, option("One row per cell: .csv or .parquet.", "FILE", "--output", "-o")
]
