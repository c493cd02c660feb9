"""Tables that are data: cross tables, and lists with one row for each cell, from any file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any

from cellveil.io.sheets.reading import grid_of_sheet, hidden_parts
from cellveil.render.screen import say
from cellveil.requests.option import made
from cellveil.requests.source import Source, Written, is_workbook
from csp.errors import InputError
from csp.formats.delimited import TextFile
from csp.formats.kinds import kind_of
from csp.published.crosstabs.grids import grid_for
from csp.published.crosstabs.reading import COUNTS, CrosstabOptions, crosstab
from csp.published.door import grid_of, grid_of_bytes
from csp.published.entries import sign_of
from csp.published.grids.grid import is_list
from csp.published.grids.margins import without_margins
from csp.tables.codes import text_codes
from csp.tables.columns import column_names, read_columns
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.totals import is_total
from csp.tables.table import Table

LOOKED_AT = 20_000_000
"""Bytes up to which a text file is looked through for a table."""

SHEETS_LOOKED_AT = 2_000_000
"""Bytes up to which a workbook is."""

_NONE = "holds no table"
"""What is said of a file in which nothing looks like a cross table."""

_OF_RECORDS = (
    "contributor", "weight", "missing", "memory", "empty", "rda", "aggregated", "top", "shadow",
)  # fmt: skip
"""Fields of a source that are said of records, or of a list that is known to be one of cells."""


def read_cross(
    source: Source, hierarchies: Mapping[str, Hierarchy], total: str | Mapping[str, str] | None
) -> Table:
    """Table of a cross table; what was recognised is said, but nothing of cells that may be hidden.

    Raises
    ------
    InputError
        As `csp.read_crosstab`; the file is named.
    """
    rows = _rows(source.data, source.sheet, source.written)
    table, _ = _table(source, rows, hierarchies, total)
    hidden = hidden_parts(source.data, source.sheet) if is_workbook(source.data) else ""
    for sentence in filter(None, (hidden, *_sentences(table.notes))):
        say(sentence)
    return table.replace(notes=())


def _table(
    source: Source, rows: list[list[Any]], hierarchies: Mapping[str, Hierarchy],
    total: str | Mapping[str, str] | None, *, guess: bool = False,
) -> tuple[Table, tuple[str, ...]]:  # fmt: skip
    gaps = {*(source.written.na or ())}
    rows = [[None if gaps and sign_of(item) in gaps else item for item in row] for row in rows]
    asked = CrosstabOptions(
        rows, source.by or None, source.value, count=source.count,
        counts=None if guess else source.cross == "counts", hierarchies=hierarchies, total=total,
        absent="zero" if source.absent_zero else "error", tolerance=source.tolerance,
        negative=source.negative, decimals=source.decimals, round=source.round,
        decimal=source.written.decimal,
    )  # fmt: skip
    try:
        return crosstab(asked)
    except InputError as error:
        msg = f"{str(source.data)!r}: {error.template}"
        raise InputError(msg) from error


def _rows(path: Path, sheet: str | None, written: Written) -> list[list[Any]]:
    if is_workbook(path):
        return grid_of_sheet(path, sheet)
    if kind_of(path) != "text":
        names = column_names(path)
        return [[*names], *map(list, zip(*read_columns(path, names).arrays, strict=True))]
    return [list(row) for row in grid_of(written.file(path))]


# ---- recognising one -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recognised:
    """A table that a file plainly holds.

    Attributes
    ----------
    cross : {"counts", "values"}
    by : tuple of str
        Its dimensions.
    told : tuple of str
        How it was read.
    own : tuple of str
        Likewise, of cells that may be suppressed: for its owner.
    guess : str
        What its numbers were taken for, and what to say where that is wrong.
    """

    cross: str
    by: tuple[str, ...]
    told: tuple[str, ...]
    own: tuple[str, ...]
    guess: str

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of a source that say so."""
        return {"cross": self.cross, "by": self.by}


def recognise(path: Path, by: Sequence[str] | None, given: Mapping[str, Any]) -> Recognised | None:
    """Recognise a file that plainly holds a table, where nothing else is said of it.

    Parameters
    ----------
    path : Path
    by : sequence of str, optional
        Dimensions that are named.
    given : mapping of str to object
        What is said of the source, by field.

    Returns
    -------
    Recognised or None
        A cross table, or a list of cells: with totals among its codes, and none twice. None for
        records, and for what is said to be something else.

    Raises
    ------
    InputError
        For a cross table that cannot be read, or of which it is not clear what its cells are.
    """
    cross = given.get("cross")
    written = made(Written, given)
    if cross is None and not _may_be(path, by, given, written):
        return None
    try:
        rows = _rows(path, given.get("sheet"), written)
        if cross is None and not _hold_table(rows, repr(str(path)), by, given):
            return None
    except InputError as error:
        if cross is None and (by is not None or _NONE in str(error)):
            return None  # read as records, the file has its own message
        raise
    asked = made(Source, {**given, "data": path, "by": tuple(by or ()), "cross": cross or "values"})
    total = dict(text.split("=", 1) for text in asked.total if "=" in text)
    table, own = _table(asked, rows, {}, total or (asked.total or (None,))[0], guess=cross is None)
    kind = cross or ("counts" if table.counts else "values")
    guess = ""
    if cross is None and table.counts:
        doubt = next((note for note in table.notes if COUNTS in note), "").removeprefix(COUNTS)
        guess = (
            f"Whole numbers count contributors here{doubt.partition(':')[0]}; if they are amounts, "
            "say --cross values."
        )
    told = _sentences(table.notes)
    if is_workbook(path) and (hidden := hidden_parts(path, given.get("sheet"))):
        told = (hidden, *told)
    return Recognised(kind, table.names, told, _sentences(own), guess)


def _hold_table(
    rows: Sequence[Sequence[Any]], what: str, by: Sequence[str] | None, given: Mapping[str, Any]
) -> bool:
    """Whether rows are those of a table and not records, which may lack codes.

    Raises
    ------
    InputError
        If they are a cross table, and it cannot be read.
    """
    if len(rows) < 2 or _are_records(rows, by):
        return False
    if by is None and _lack_codes(without_margins(rows)[0]):
        return False
    listed = is_list(rows)
    if (listed or _below_a_title(rows, by)) and not _is_table(rows, by, given):
        return False
    if not listed:
        grid_for(rows, what, None, given.get("value"))
    return True


def _sentences(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{note[:1].upper()}{note[1:]}." for note in notes)


_TITLES = 10
"""Rows in which the names of the columns of records are looked for, below a title."""


def _are_records(rows: Sequence[Sequence[Any]], by: Sequence[str] | None) -> bool:
    """Whether a row names these columns, and none of their codes below it is a total."""
    if by is None:
        return False
    heads = [[*map(sign_of, row)] for row in rows[:_TITLES]]
    at = next((k for k, head in enumerate(heads) if {*by} <= {*head}), None)
    if at is None:
        return False
    places = [heads[at].index(name) for name in by]
    body = rows[at + 1 :]
    return not any(_has_total({sign_of(row[j]) for row in body if j < len(row)}) for j in places)


def _below_a_title(rows: Sequence[Sequence[Any]], by: Sequence[str] | None) -> bool:
    """Whether the columns that are named are those of a list below a title."""
    return by is not None and any(
        {*by} <= {*map(sign_of, row)} and is_list(rows[k:])
        for k, row in enumerate(rows[:_TITLES]) if k
    )  # fmt: skip


def _may_be(
    path: Path, by: Sequence[str] | None, given: Mapping[str, Any], written: Written
) -> bool:
    """Whether a file may hold a table, as far as that can be told without reading all of it."""
    plain = path.name.lower().removesuffix(".gz")
    if any(given.get(field) for field in _OF_RECORDS) or given.get("missing_values") == "drop":
        return False
    if not (is_workbook(path) or plain.endswith((".csv", ".tsv", ".txt"))):
        return False
    try:
        if path.stat().st_size > (SHEETS_LOOKED_AT if is_workbook(path) else LOOKED_AT):
            return False
    except OSError:
        return False
    if is_workbook(path) or (by is None and path.name.lower().endswith(".gz")):
        return True
    file = written.file(path)
    try:
        if by is None:
            rows = _both_ends(file)
            return not is_list(rows) or any(_has_total({*map(sign_of, row)}) for row in rows[1:])
        if not {*by} <= {*column_names(file)}:
            return True
        return any(_has_total({*text_codes(a)}) for a in read_columns(file, list(by)).arrays)
    except InputError:
        return True


_END = 2**16
"""Bytes at each end of a file that are looked at first."""


def _both_ends(file: TextFile) -> list[list[str]]:
    """Rows at the top and the bottom of a text file, where totals stand."""
    with Path(file.path).open("rb") as raw:
        top = raw.read(_END)
        if len(top) < _END:
            return grid_of(file)
        size = raw.seek(0, SEEK_END)
        raw.seek(max(len(top), size - _END))
        bottom = raw.read()
    ends = top[: top.rfind(b"\n") + 1] + bottom[bottom.find(b"\n") + 1 :]
    return grid_of_bytes(ends, file)


def _has_total(codes: Collection[str]) -> bool:
    return any(map(is_total, codes))


def _lack_codes(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether rows are records of which some lack a code, and not labels that stand for several.

    Where a label stands once for the rows below it, the labels up to it never come twice.
    """
    texts = [[*map(sign_of, row)] for row in rows]
    whole = [row for row in texts if all(row)]
    if len(whole) in (0, len(texts)) or whole[0] != texts[0] or not is_list(whole):
        return False
    gaps = [j for row in texts for j, text in enumerate(row[:-1]) if not text]
    if not gaps or any(map(_has_total, texts)):
        return False
    labels = [tuple(row[: max(gaps) + 1]) for row in whole]
    return len({*labels}) < len(labels)


def _is_table(
    rows: Sequence[Sequence[Any]], by: Sequence[str] | None, given: Mapping[str, Any]
) -> bool:
    """Whether a list has one row for each cell: totals among its codes, and no cell twice."""
    if by is not None and not {*by} <= {*map(sign_of, rows[0])}:
        return False
    try:
        grid = grid_for(rows, "", by, given.get("value"))
    except InputError:
        return False
    columns = [grid.columns[name] for name in by or grid.names if name in grid.columns]
    keys = [*zip(*columns, strict=True)]
    return any(map(_has_total, map(set, columns))) and len({*keys}) == len(keys)
