"""Options that several commands take, and how an option is declared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellveil.front import refuse

if TYPE_CHECKING:
    from csp.clock import Clock

RESULTS = (".csv", ".csv.gz", ".parquet")
TEXTS = (".csv", ".csv.gz")
JJ = (".jj", ".jj.gz")

TIME_LIMIT = 600.0
"""Seconds that a command takes at most where nothing is said of it."""

Cost = Literal["unit", "value"]
"""What suppressing a cell costs."""

Negative = Literal["error", "abs", "shift", "split"]
"""How negative contributions are read."""

NegativeCells = Literal["error", "abs", "shift", "split", "allow"]
"""The same, or of tables with one row per cell, that cells may be negative."""


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
ReleaseIn = Annotated[Path, argument("Release that 'protect --release' wrote: .json.", "RELEASE")]
Separator = Annotated[
    str | None,
    option(
        "What separates the columns of a text file: , ; | or tab.",
        "SIGN",
        "--sep",
        default="as found",
    ),
]
Decimal = Annotated[
    str | None, option("Decimal mark of a text file: . or ,", "SIGN", default="as found")
]
Encoding = Annotated[
    str | None,
    option(
        "Encoding of a text file: cp1252, latin-1, ...", "NAME", default="UTF-8, or UTF-16 as found"
    ),
]
Missing = Annotated[
    str | None,
    option(
        "Texts that stand for a missing entry, by commas; '' for the empty text only.",
        "TEXTS",
        "--na",
        default="NA as a code is refused",
    ),
]
Sheet = Annotated[str | None, option("Sheet of an Excel workbook.", "NAME", default="the only one")]
Decimals = Annotated[int | None, option("Decimal places of values.", "PLACES", default="as found")]

# ---- columns of records --------------------------------------------------------------------------

Value = Annotated[str | None, option("Column to sum; without it records are counted.", "COLUMN")]
Contributor = Annotated[
    str | None,
    option(
        "Column that says who reports; all its records in a cell are added up, equal ones too.",
        "COLUMN",
    ),
]
Person = Annotated[
    str | None,
    option(
        "Column that says whom a record belongs to, where one may have several: k counts "
        "contributors. It is not masked.",
        "COLUMN",
        default="each record is its own",
    ),
]
Weight = Annotated[str | None, option("Column of sampling weights.", "COLUMN")]
Shadow = Annotated[
    str | None,
    option(
        "Column that rules on contributions judge in place of the value, as turnover for "
        "investment; with --aggregated the one that --top belongs to.",
        "COLUMN",
        default="the value itself",
    ),
]
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

Method = Annotated[
    str,
    option(
        "auto, cuts, branch, large, small (up to 64 cells) or ilp (integer programs in PuLP).",
        "NAME",
    ),
]
Solver = Annotated[
    str | None,
    option(
        "Solver of --method ilp: HiGHS, CPLEX, Gurobi, Xpress, SCIP, CBC or another that PuLP "
        "finds.",
        "NAME",
        default="HiGHS",
    ),
]
TimeLimit = Annotated[
    float | None,
    option(
        "Seconds for the whole command, then the best audited pattern is taken; inf for no limit.",
        "SECONDS",
        default=f"{TIME_LIMIT:g}",
    ),
]
SearchLimit = Annotated[
    float | None, option("Then the best safe result so far is taken.", "SECONDS", default="none")
]
AttackLimit = Annotated[float | None, option("For the whole attack.", "SECONDS")]
Gap = Annotated[float, option("Stop within this share of the optimum; 0.01 is 1 %.", "SHARE")]
Defence = Annotated[
    str | None,
    option(
        "Protect against an attacker who knows the algorithm: decoys:RATE, as decoys:0.1.", "TEXT"
    ),
]
KeyFile = Annotated[
    Path | None, option("Secret key of the defence, made by 'cellveil key'.", "FILE")
]
TableId = Annotated[
    str, option("Identity of the table: the same name and key give the same decoys.", "NAME")
]
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


def started(time_limit: float | None) -> Clock:
    """Start the clock of a command."""
    from csp.clock import Backstop, Clock

    return Clock.of(Backstop(TIME_LIMIT) if time_limit is None else time_limit)


def chosen_method(method: str, solver: str | None) -> str:
    """Name of a method with its solver, as the library takes it."""
    if solver is None:
        return method
    if method != "ilp":
        refuse(f"--solver {solver} is for --method ilp; method {method} has its own")
    return f"ilp:{solver}"
