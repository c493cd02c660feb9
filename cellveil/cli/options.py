"""Options that several commands take, and how an option is declared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellveil.requests.option import fields_of
from cellveil.requests.outputs import Masked, Rows

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


def said_of(request: Any, name: str) -> Any:
    """Option of a field of a request, for a command that takes no other of its fields."""
    field = next(part for part in fields_of(request) if part.name == name)
    return typer.Option(
        *field.flags, metavar=field.option.stands or None, help=field.option.words,
        show_default=field.option.otherwise or True,
    )  # fmt: skip


# ---- files that are read -------------------------------------------------------------------------

RECORDS = ".csv, .csv.gz, .parquet, .dta, .sav, .sas7bdat"
SHEETS = ".xlsx, .ods"
"""What files of records and workbooks are called; those that do without a word."""

DataFile = Annotated[Path, argument(f"One row per record: {RECORDS}, {SHEETS}.", "DATA")]
TableFile = Annotated[
    Path, argument(f"{RECORDS}, {SHEETS}, or .asc or .tab with its layout (--rda).", "DATA")
]
ProblemFile = Annotated[Path, argument("Suppression problem: .jj or .jj.gz.", "PROBLEM")]
ReleaseIn = Annotated[
    Path,
    argument(
        "Release that 'protect --release' wrote (.json), or a table that anybody published: a list "
        f"or a cross table (.csv, {SHEETS}, .parquet, .sbs).",
        "RELEASE",
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
Seed = Annotated[int, option("Seed of the draws.")]
Propensity = Annotated[
    bool, flag("Whether records of both files can be told apart (scikit-learn).", "--propensity")
]
Integer = Annotated[bool, flag("The attacker knows that cells are whole units.", "--integer")]
Whole = Annotated[bool, flag("Cells are known to be whole units.", "--integer/--no-integer")]

# ---- what is written -----------------------------------------------------------------------------

Summary = Annotated[Path | None, said_of(Rows, "summary")]
Reveal = Annotated[bool, said_of(Rows, "reveal")]
RevealOriginals = Annotated[bool, said_of(Masked, "reveal")]
RowsFile = Annotated[Path | None, said_of(Rows, "output")]
