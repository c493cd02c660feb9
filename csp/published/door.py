"""The door: a frame, a file or a grid of entries becomes the cells of a published table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from csp.errors import InputError, argument
from csp.formats.delimited import SEPARATORS, TextFile
from csp.formats.formulas import as_meant, kept_from_formulas
from csp.formats.kinds import kind_of
from csp.formats.reading import decoded, other_encoding, read_bytes
from csp.published.cells import Published, published_cells
from csp.published.contributors import cells_are_counts
from csp.published.entries import sign_of
from csp.published.grids.eurostat import is_eurostat, read_eurostat
from csp.published.grids.grid import CrossGrid, is_list, read_grid
from csp.published.grids.kinds import is_source
from csp.published.grids.margins import without_margins
from csp.published.legend import legend_of
from csp.published.names import OTHERS, are_flags
from csp.published.roles import roles_of
from csp.published.rows import plain_item
from csp.published.told import PublishedOptions, Roles, Told
from csp.tables.columns import column_names, read_columns

_NAMELESS = re.compile(r"(?:(?:Unnamed: |\.\.\.|_duplicated_)[0-9]+)?")
"""What programs call a column of a file that has no name there."""

_MOST_TITLES = 10
"""Rows in which the names of the columns of a list are looked for, below a title."""

_ROW = re.compile(r"^row ([0-9]+)(?=:)")
_ROWS = re.compile(r"^rows ([0-9]+) and ([0-9]+)(?= are both)")


def read_published(asked: PublishedOptions) -> Published:
    """Read a published table, whatever form it has; see `csp.Release.from_frame`.

    Raises
    ------
    InputError
    """
    data, roles, told = asked.data, asked.roles, asked.told
    path = data.path if isinstance(data, TextFile) else data
    if isinstance(path, (str, PathLike)) and kind_of(path) == "text":
        file = data if isinstance(data, TextFile) else TextFile(data)
        rows = None
        if roles.by and roles.value:
            try:
                return _list(data, column_names(data), roles, told, lambda: _lines(grid_of(file)))
            except InputError:
                rows = grid_of(file)
                if not _without_footnotes(rows)[1] and not _titles(rows, roles, told):
                    raise
        rows = rows or grid_of(file)
        what = repr(str(file.path))
        told = _with_decimal(told, file.decimal)
    elif _is_rows(data):
        rows, what = data, "the grid"
    else:
        names = column_names(data)
        if roles.by:
            return _list(data, names, roles, told)
        columns = read_columns(data, names).arrays
        # A column without a name is one that stood empty beside the table in a file.
        kept = [j for j, name in enumerate(names)
                if not _NAMELESS.fullmatch(name) or any(map(sign_of, columns[j]))]  # fmt: skip
        names, columns = tuple(names[j] for j in kept), tuple(columns[j] for j in kept)
        rows = [list(names), *([sign_of(x) for x in row] for row in zip(*columns, strict=True))]
        what = "the frame"
        if is_list(rows, told.signs):
            return _list(dict(zip(names, columns, strict=True)), names, roles, told)
        # Beside the corner it is below a heading that spans several columns.
        rows[0][1:] = ["" if _NAMELESS.fullmatch(name) else name for name in names[1:]]
    told = replace(told, legend=legend_of(rows))
    if is_eurostat(rows):
        return _cross(read_eurostat(rows), roles, replace(told, marks=told.marks or "eurostat"))
    above = _titles(rows, roles, told)
    if above or is_list(rows, told.signs) or (roles.by and not _crossed(rows, roles.by)):
        plain, _ = without_margins(rows[above:])
        head = [sign_of(name) for name in plain[0]]
        body, said = _without_footnotes(plain, above)
        entries = _columns(body, what, above)
        read = _list(entries, head, roles, told, lambda: _lines(plain, above))
        return replace(read, notes=(*said, *read.notes))
    return _cross(read_grid(rows, what, told.signs, headers_named(rows, roles.value)), roles, told)


def _cross(grid: CrossGrid, roles: Roles, told: Told) -> Published:
    """Read the cells of a cross table.

    Raises
    ------
    InputError
    """
    if roles.count is not None:
        msg = (
            f"{argument('count', roles.count)} names a column of a list of cells, and this is a "
            f"cross table; if its own cells are numbers of contributors, say so with "
            f"{argument('cells', 'counts')}"
        )
        raise InputError(msg)
    try:
        found = published_cells(grid.columns, grid.names, grid.entries, told, printed=grid.printed)
    except InputError as error:
        # What is a row to who reads a list of cells is a row and a column of the cross table.
        raise InputError(with_places(grid, error.template)) from error
    counted = cells_are_counts(found, roles, told.cells)
    return replace(found, notes=(*grid.told, *found.notes), of_counts=counted)


def with_places(grid: CrossGrid, message: str) -> str:
    """Message about rows of a list of cells with the rows and columns of its cross table."""
    message = _ROW.sub(lambda found: _place(grid, int(found[1])), message)
    return _ROWS.sub(
        lambda found: f"{_place(grid, int(found[1]))} and {_place(grid, int(found[2]))}", message
    )


def _place(grid: CrossGrid, number: int) -> str:
    row, column = grid.places[number - 1]
    return f"row {row}, column {column}"


def grid_of(file: TextFile) -> list[list[str]]:
    """Rows of a text file; the separator is the one that most rows agree on.

    Raises
    ------
    InputError
        If the file cannot be read or decoded.
    """
    return grid_of_bytes(read_bytes(file.path), file)


def grid_of_bytes(raw: bytes, file: TextFile) -> list[list[str]]:
    """Rows of a part of a text file that is in memory; see `grid_of`."""
    text = decoded(raw, file.path, encoding=file.encoding, mend=other_encoding(file.encoding))
    best: list[list[str]] = []
    most = -1
    tabs = str(file.path).lower().removesuffix(".gz").endswith(".tsv")
    given = file.separator or ("\t" if tabs else None)
    for sign in [given] if given else SEPARATORS:
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign))
        except csv.Error as error:
            if file.separator is None and sign != "|":  # the last one
                continue
            if best:
                break
            msg = f"{str(file.path)!r} cannot be read as a table of text ({error})"
            raise InputError(msg) from error
        widths = [len(row) for row in rows if len(row) > 1]
        agree = max((widths.count(w) for w in {*widths}), default=0)
        if agree > most:
            best, most = rows, agree
    return best


def _with_decimal(told: Told, decimal: str | None) -> Told:
    return replace(told, decimal=told.decimal or decimal)


def _is_rows(data: Any) -> bool:
    return (
        isinstance(data, Sequence)
        and not isinstance(data, (str, bytes))
        and all(isinstance(row, Sequence) and not isinstance(row, str) for row in data)
    )


def _crossed(rows: Sequence[Sequence[Any]], by: Sequence[str]) -> bool:
    """Whether the columns that are named are not those of the first row."""
    head = {sign_of(item) for item in rows[0]} if rows else set()
    return not {*by} <= head


def headers_named(rows: Sequence[Sequence[Any]], value: str | None) -> tuple[str, ...]:
    """Headers of a cross table that are named: one, or several by commas."""
    if value is None:
        return ()
    whole = any(sign_of(item) == value for row in rows for item in row)
    return (value,) if whole else tuple(part.strip() for part in value.split(","))


def _titles(rows: Sequence[Sequence[Any]], roles: Roles, told: Told) -> int:
    """Count rows above a list with flags, or with the columns that are named: titles and blanks.

    A column of flags is none of cells, wherever the list stands.
    """
    filled = [[text for item in row if (text := sign_of(item))] for row in rows[:_MOST_TITLES]]
    top = next((k for k, texts in enumerate(filled) if len(texts) > 1), 0)
    if not top:
        return 0
    named = {*roles.by} <= {*filled[top]} if roles.by else any(
        are_flags(name) or name.casefold() in OTHERS for name in filled[top]
    )  # fmt: skip
    return top if named and is_list(rows[top:], told.signs) else 0


def _columns(rows: Sequence[Sequence[Any]], what: str, above: int) -> dict[str, list[Any]]:
    names = [sign_of(name) for name in rows[0]]
    body = [row for row in rows[1:] if any(sign_of(item) for item in row)]
    wide = next((i for i, row in enumerate(body) if len(row) > len(names)), None)
    if wide is not None:
        msg = (
            f"{what}, row {_lines(rows, above)[wide]}: more entries than the {len(names)} columns "
            f"of row {above + 1}"
        )
        raise InputError(msg)
    return {
        name: [row[j] if j < len(row) else None for row in body] for j, name in enumerate(names)
    }


def _without_footnotes(
    rows: Sequence[Sequence[Any]], above: int = 0
) -> tuple[Sequence[Sequence[Any]], tuple[str, ...]]:
    """Leave out what stands below a blank line under a list, one text in each row, and say so."""
    filled = [sum(map(bool, map(sign_of, row))) for row in rows]
    last = max((i for i, n in enumerate(filled) if n > 1), default=0)
    blank = next((i for i in range(last + 1, len(rows)) if not filled[i]), None)
    # A row right below the list may be a cell without a value.
    if blank is None or any(filled[last + 1 : blank]) or not any(filled[blank:]):
        return rows, ()
    below = [above + i + 1 for i in range(blank, len(rows)) if filled[i]]
    few = f"row {below[0]}" if len(below) == 1 else f"rows {below[0]} to {below[-1]}"
    left = f"{few} below the list {'is' if len(below) == 1 else 'are'} left out as footnotes"
    return rows[:blank], (left,)


def _lines(rows: Sequence[Sequence[Any]], above: int = 0) -> list[int]:
    """Return the numbers that a spreadsheet shows beside the filled rows below the first one.

    `above` counts the rows that stand above that.
    """
    return [i for i, row in enumerate(rows[1:], above + 2) if any(map(sign_of, row))]


def _list(
    data: Any, names: Sequence[str], roles: Roles, told: Told,
    lines: Callable[[], Sequence[int]] | None = None,
) -> Published:  # fmt: skip
    """Read a list: one row for each cell; `lines` says which lines of a file they are."""
    roles, said = roles_of(data, names, roles, told)
    assert roles.by is not None
    assert roles.value is not None
    wanted = [*roles.by, roles.value, *roles.status]
    bounds = [name for name in (roles.lower, roles.upper, roles.count) if name is not None]
    arrays = read_columns(data, [*wanted, *bounds]).arrays
    columns: dict[str, Any] = dict(zip([*wanted, *bounds], arrays, strict=True))
    if isinstance(data, Mapping) and lines is not None:  # rows of a file as they stand in it
        for name in roles.by:
            if kept_from_formulas(x for x in columns[name] if isinstance(x, str)):
                columns[name] = [as_meant(x) if isinstance(x, str) else x for x in columns[name]]
    columns, cut = _without_sources(columns)
    said = (*said, *cut)
    try:
        found = published_cells(
            {name: columns[name] for name in roles.by}, roles.by, columns[roles.value], told,
            flags={name: columns[name] for name in roles.status},
            bounds=(
                None if roles.lower is None else columns[roles.lower],
                None if roles.upper is None else columns[roles.upper],
            ),
            counts=None if roles.count in (None, roles.value) else columns[roles.count],
        )  # fmt: skip
    except InputError as error:
        if lines is None:
            raise
        at = lines()
        msg = _ROW.sub(lambda m: f"row {at[int(m[1]) - 1]}", error.template)
        msg = _ROWS.sub(lambda m: f"rows {at[int(m[1]) - 1]} and {at[int(m[2]) - 1]}", msg)
        raise InputError(msg) from error
    counted = cells_are_counts(found, roles, told.cells)
    return replace(found, notes=(*said, *found.notes), of_counts=counted)


def _without_sources(columns: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Leave out lines below a list that name its source, and say so."""
    names = [*columns]
    n = stop = len(columns[names[0]])
    while stop and is_source([sign_of(plain_item(columns[name][stop - 1])) for name in names]):
        stop -= 1
    if stop == n:
        return dict(columns), ()
    few = "line" if n - stop == 1 else f"{n - stop} lines"
    left = {name: column[:stop] for name, column in columns.items()}
    return left, (f"the last {few}, which {'names' if n - stop == 1 else 'name'} a source, "
                  f"{'is' if n - stop == 1 else 'are'} left out",)  # fmt: skip
