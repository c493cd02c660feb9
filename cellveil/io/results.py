"""A published table in the form of the program that reads it next, told by the name of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.io.excel import check_excel, write_workbook
from cellveil.io.files import Columns, write_columns
from cellveil.io.house import with_mark
from cellveil.requests.outputs import House
from csp.exact import Ints
from csp.formats.apriori import Statement, write_apriori
from csp.formats.files import Together
from csp.mechanism import Protected
from csp.rules.base import is_count_table
from csp.tables.table import Table

FORMATS = {
    "csv": ".csv",
    "csv.gz": ".csv.gz",
    "parquet": ".parquet",
    "xlsx": ".xlsx",
    "argus": ".sbs",
    "apriori": ".hst",
    "sdctable": ".sdctable.csv",
    "sdmx": ".sdmx.csv",
}
"""Suffix of each form of a published table."""

FOREIGN = ("argus", "apriori", "sdctable", "sdmx")
"""Forms of other programs, which have no place for intervals."""

_SBS = {"s": "V", "z": "V", "x": "D", "u": "B"}
_STRUCTURE = re.compile(r"[\w.]+:[\w@$-]+\([0-9.+*~]+\)", re.ASCII)


def form_of(path: Path) -> str:
    """Name the form that a file name asks for: that of its longest known suffix."""
    name = path.name.lower()
    found = [form for form, suffix in FORMATS.items() if name.endswith(suffix)]
    return max(found, key=lambda form: len(FORMATS[form]), default="csv")


def check_form(
    form: str, names: Sequence[str], *, intervals: bool = False, structure: str | None = None
) -> None:
    """Refuse, before any work, what a form cannot hold of dimensions, intervals and SDMX."""
    if form == "xlsx":
        check_excel()
    if intervals and form in FOREIGN:
        where = f"a file {FORMATS[form]} has no place for intervals"
        refuse(f"{where}; leave out --intervals and --publish")
    taken = {
        "sdmx": ("STRUCTURE", "STRUCTURE_ID", "ACTION", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"),
        "sdctable": ("Freq", "sdcStatus"),
    }
    clash = [name for name in names if name in taken.get(form, ())]
    if clash:
        refuse(
            f"a file {FORMATS[form]} has a column {clash[0]!r} of its own; rename that dimension"
        )
    if structure is not None and not _STRUCTURE.fullmatch(structure):
        refuse(f"structure {structure!r} is not AGENCY:ID(VERSION), such as ESTAT:NAMA(1.0)")


def write_result(
    path: Path,
    protected: Protected,
    columns: Columns,
    *,
    form: str | None = None,
    reveal: bool = False,
    structure: str | None = None,
    part: tuple[Table, Ints] | None = None,
    house: House | None = None,
    files: Together | None = None,
) -> None:
    """Write a published table.

    * .csv, .csv.gz, .parquet: the columns. .xlsx: a workbook.
    * .sbs: τ-ARGUS's intermediate format for structural business statistics (its type 4): codes,
      value, an empty frequency, status, without a header. V is published, D suppressed; with
      `reveal` B is sensitive, by whatever rule, and D secondary.
    * .hst: an a-priori file that makes every suppressed cell unsafe, as rtauargus carries the
      pattern of one table over to the next.
    * .sdctable.csv: the columns of sdcTable's final data: dimensions, Freq in tables of counts and
      value in others, sdcStatus (s, z, x; with `reveal` u).
    * .sdmx.csv: SDMX-CSV 2.0. OBS_STATUS is A, or Q where the value is left out; CONF_STATUS is F
      (free), or C (confidential), or with `reveal` D where suppression is secondary.

    Columns are from `cellveil.io.files.result_columns`, with the same `reveal`; the rows of one
    table of linked ones, if there is a `part` (`cellveil.io.excel.write_workbook`). The sign of the
    `house` stands in .csv and .xlsx. By default the form is that of the name, and the dataflow
    (`structure`) CELLVEIL:NAME(1.0), after the file.

    References
    ----------
    de Wolf et al. (2014), τ-ARGUS version 4.1 user's manual: save table; Meindl, sdcTable:
    ``getInfo``; SDMX Technical Working Group, SDMX-CSV Data Message 2.0 Field Guide; SDMX code
    lists CL_OBS_STATUS and CL_CONF_STATUS.
    """
    form = form_of(path) if form is None else form
    names = list(columns)[: list(columns).index("value")]
    check_form(form, names, intervals="lower" in columns, structure=structure)
    if form == "xlsx":
        facts = timeless(protected, reveal=reveal)
        write_workbook(
            path, protected, columns, facts, reveal=reveal, part=part, house=house, files=files
        )
        return
    if form in ("csv", "csv.gz") and house is not None:
        columns = with_mark(columns, house)
    if form == "apriori":
        rows = zip(*(columns[name] for name in names), columns["published"], strict=True)
        lines = [Statement(tuple(row[:-1]), "u") for row in rows if not row[-1]]
        write_apriori(path, lines, files=files)
        return
    values, letters, n = columns["value"], columns["status"], len(columns["value"])
    codes = {name: columns[name] for name in names}
    if form == "argus":
        columns = codes | {"value": values, "N": [None] * n, "Status": [_SBS[s] for s in letters]}
    elif form == "sdctable":
        value = "Freq" if is_count_table(protected.table) else "value"
        columns = codes | {value: values, "sdcStatus": letters}
    elif form == "sdmx":
        told = {"s": "F", "z": "F", "u": "C", "x": "D" if reveal else "C"}
        dataflow = [structure or _structure(path)] * n
        columns = {"STRUCTURE": ["dataflow"] * n, "STRUCTURE_ID": dataflow, "ACTION": ["I"] * n}
        columns |= codes | {
            "OBS_VALUE": values,
            "OBS_STATUS": ["Q" if value is None else "A" for value in values],
            "CONF_STATUS": [told[letter] for letter in letters],
        }
    write_columns(path, columns, files, header=form != "argus")


def timeless(protected: Protected, *, reveal: bool) -> dict[str, Any]:
    """Summary of a table without times: the same run gives the same bytes."""
    summary = protected.summary(reveal=reveal)
    return {name: value for name, value in summary.items() if name != "seconds"}


def _structure(path: Path) -> str:
    stem = path.name[: -len(FORMATS["sdmx"])] or "TABLE"
    return f"CELLVEIL:{re.sub(r'[^A-Z0-9_]', '_', stem.upper())}(1.0)"
