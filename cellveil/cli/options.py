"""Options of the commands: their types, and the kinds of files they take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "JJ",
    "RESULTS",
    "TEXTS",
    "TIME_LIMIT",
    "Absent",
    "Apriori",
    "Confidential",
    "Cost",
    "CountColumn",
    "DataFile",
    "Decimal",
    "Defence",
    "Earlier",
    "Encoding",
    "Gap",
    "Hierarchies",
    "Integer",
    "IntegerOrNot",
    "KeyFile",
    "Layout",
    "Margins",
    "MaxTables",
    "MechanismFile",
    "Method",
    "Missing",
    "Negative",
    "QuasiIdentifiers",
    "ReleaseFile",
    "ReleaseIn",
    "Reveal",
    "Separator",
    "Sheet",
    "Solver",
    "Summary",
    "TableId",
    "TimeLimit",
    "Tolerance",
    "TopColumns",
    "Totals",
    "Workers",
    "chosen_method",
]

RESULTS = (".csv", ".csv.gz", ".parquet")
TEXTS = (".csv", ".csv.gz")
JJ = (".jj", ".jj.gz")


Cost = Literal["unit", "value"]
"""What suppressing a cell costs."""

Layout = Literal["cross", "long"]
"""How a table is shown on screen."""

Margins = Literal["suppress", "publish"]
"""What happens to margins."""

Negative = Literal["error", "abs", "shift", "split"]
"""How negative contributions are read."""

Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="auto, cuts, branch, large, small (up to 64 cells) or ilp (integer programs in PuLP).",
    ),
]
Solver = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Solver of --method ilp: HiGHS, CPLEX, Gurobi, Xpress, SCIP, CBC or another that PuLP "
        "finds.",
        show_default="HiGHS",
    ),
]
TIME_LIMIT = 600.0
"""Seconds that a command takes at most by default, so that none runs without end by mistake."""

TimeLimit = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="Seconds for the whole command, then the best audited pattern is taken; inf for no "
        "limit.",
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
    typer.Option(
        "--reveal", help="Include suppressed values in the output, for internal use only."
    ),
]
Integer = Annotated[
    bool, typer.Option("--integer", help="The attacker knows that cells are whole units.")
]
IntegerOrNot = Annotated[
    bool | None,
    typer.Option(
        "--integer/--no-integer",
        help="The attacker knows that cells are whole units.",
        show_default="in tables of counts",
    ),
]
Totals = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COLUMN=]CODE",
        help="Code of the total, of all columns or of one; once for each.",
        show_default="Total",
    ),
]
Absent = Annotated[
    bool,
    typer.Option(
        "--absent-zero",
        help="With --aggregated: inner cells without a row are 0.",
        show_default="refused",
    ),
]
Apriori = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="tau-ARGUS a-priori file (.hst): cells that are unsafe, safe, public or suppressed "
        "beforehand, costs, protection levels.",
    ),
]
Tolerance = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        help="With --aggregated: margins off by no more than this are replaced by their sums.",
    ),
]
Earlier = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="FILE",
        help="Earlier release (.json): what it suppressed stays suppressed.",
    ),
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
    typer.Option(
        metavar="COLUMN=FILE",
        help="Hierarchy of a column (.hrc); once for each, and again for aggregates that overlap.",
    ),
]
CountColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="With --aggregated: column of contributor counts; the column of the values itself if "
        "they are counts.",
    ),
]
TopColumns = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="With --aggregated: columns of largest contributions."),
]
Defence = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Protect against an attacker who knows the algorithm: decoys:RATE, as decoys:0.1.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Secret key of the defence, made by 'cellveil key'."),
]
MechanismFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='What is known of the algorithm: JSON, {"rules": "FREQ(5)", "width": 8}.',
        show_default="as told by the release",
    ),
]
MaxTables = Annotated[int, typer.Option(metavar="TABLES", help="Most tables to test one by one.")]
ReleaseIn = Annotated[
    Path,
    typer.Argument(metavar="RELEASE", help="Release that 'protect --release' wrote: .json."),
]
DataFile = Annotated[
    Path, typer.Argument(metavar="DATA", help=".csv, .csv.gz or .parquet, one row per record.")
]
Confidential = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="Confidential columns, by commas.")
]
QuasiIdentifiers = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns that an intruder may know, by commas.",
        show_default="all that are not confidential",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="SIGN",
        help="What separates the columns of a text file: , ; | or tab.",
        show_default="as found",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of an Excel workbook.", show_default="the only one"),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN", help="Decimal mark of a text file: . or ,", show_default="as found"
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text file: cp1252, latin-1, ...",
        show_default="UTF-8, or UTF-16 as found",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--na",
        metavar="TEXTS",
        help="Texts that stand for a missing entry, by commas; '' for the empty text only.",
        show_default="NA as a code is refused",
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Processes for tables of several files, or for regions of one large table.",
    ),
]
TableId = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Identity of the table: the same name and key give the same decoys."
    ),
]


def chosen_method(method: str, solver: str | None) -> str:
    """Name of a method with its solver, as the library takes it.

    Raises
    ------
    InputError
        If a solver is named for another method than "ilp".
    """
    if solver is None:
        return method
    if method != "ilp":
        from csp.errors import InputError

        msg = f"--solver {solver} is for --method ilp; method {method} has its own"
        raise InputError(msg)
    return f"ilp:{solver}"
