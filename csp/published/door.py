"""The door: a frame, a file or a grid of entries becomes the cells of a published table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from csp.errors import InputError, argument
from csp.formats.delimited import SEPARATORS, TextFile
from csp.formats.parquet import is_parquet
from csp.formats.reading import decoded, read_bytes
from csp.published.cells import Published, published_cells
from csp.published.entries import Convention, read_entry, sign_of
from csp.published.grid import is_list, read_grid
from csp.published.marks import OFFICES
from csp.published.told import Told
from csp.tables.columns import column_names, read_columns

__all__ = ["FLAGS", "Roles", "grid_of", "read_published"]

_VALUES = ("obs_value", "value", "values", "wert", "v4_0", "v4_1", "freq", "count", "n")
"""Names of columns that hold the cells, in lower case; the first that is there counts."""

FLAGS = (
    "status", "obs_status", "conf_status", "obs_flag", "flag", "flags", "data marking",
    "value_q", "sdcstatus", "disclosure_code", "symbol", "wert_q",
)  # fmt: skip
"""Names of columns of flags."""

_OTHERS = (
    "structure", "structure_id", "structure_name", "action", "dataflow", "last update", "dguid",
    "uom", "uom_id", "scalar_factor", "scalar_id", "vector", "coordinate", "terminated", "decimals",
    "published", "suppressed", "unit_mult", "obs_comment", "lower", "upper",
)  # fmt: skip
"""Names of columns that are neither, as programs and offices write them."""


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a list are.

    Attributes
    ----------
    by : tuple of str, optional
        Dimensions; found where that leaves no doubt.
    value : str, optional
        Column of the cells.
    status : tuple of str
        Columns of flags.
    lower, upper : str, optional
        Columns of the least and largest value of withheld cells.
    count : str, optional
        Column of the numbers of contributors.
    """

    by: tuple[str, ...] | None = None
    value: str | None = None
    status: tuple[str, ...] = ()
    lower: str | None = None
    upper: str | None = None
    count: str | None = None


def read_published(data: Any, roles: Roles, told: Told) -> Published:
    """Read a published table, whatever form it has; see `csp.Release.from_frame`.

    Parameters
    ----------
    data : data frame, mapping of columns, path, `TextFile`, or sequence of rows
        Rows are those of a sheet: a list with names of columns in the first one, or a cross table.

    Raises
    ------
    InputError
    """
    path = data.path if isinstance(data, TextFile) else data
    if isinstance(path, (str, PathLike)) and not is_parquet(Path(path)):
        if roles.by and roles.value:
            return _list(data, column_names(data), roles, told)
        file = data if isinstance(data, TextFile) else TextFile(data)
        rows = grid_of(file)
        what = repr(str(file.path))
        told = _with_decimal(told, file.decimal)
    elif _is_rows(data):
        rows, what = data, "the grid"
    else:
        names = column_names(data)
        columns = read_columns(data, names).arrays
        rows = [list(names), *([sign_of(x) for x in row] for row in zip(*columns, strict=True))]
        what = "the frame"
        if is_list(rows, _signs(told)) or roles.by:
            return _list(dict(zip(names, columns, strict=True)), names, roles, told)
    if is_list(rows, _signs(told)) or (roles.by and not _crossed(rows, roles.by)):
        return _list(_columns(rows, what), [sign_of(name) for name in rows[0]], roles, told)
    grid = read_grid(rows, what, _signs(told))
    found = published_cells(grid.columns, grid.names, grid.entries, told, printed=grid.printed)
    return replace(found, notes=(*grid.told, *found.notes))


def _signs(told: Told) -> set[str]:
    """Signs that the caller names, or whose they are."""
    office = OFFICES.get(told.marks) if isinstance(told.marks, str) else told.marks
    named = {*told.withheld, *(told.ranges or ())}
    return named if office is None else named | office.withheld | office.unknown | {*office.ranges}


def grid_of(file: TextFile) -> list[list[str]]:
    """Rows of a text file; the separator is the one that most rows agree on.

    Raises
    ------
    InputError
        If the file cannot be read or decoded.
    """
    raw = read_bytes(file.path)
    text = raw.decode(file.encoding) if file.encoding else decoded(raw, file.path)
    best: list[list[str]] = []
    most = -1
    for sign in [file.separator] if file.separator else SEPARATORS:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign))
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


def _columns(rows: Sequence[Sequence[Any]], what: str) -> dict[str, list[Any]]:
    names = [sign_of(name) for name in rows[0]]
    body = [row for row in rows[1:] if any(sign_of(item) for item in row)]
    wide = next((i for i, row in enumerate(body) if len(row) > len(names)), None)
    if wide is not None:
        msg = f"{what}, row {wide + 2}: more entries than the {len(names)} columns of row 1"
        raise InputError(msg)
    return {
        name: [row[j] if j < len(row) else None for row in body] for j, name in enumerate(names)
    }


def _list(data: Any, names: Sequence[str], roles: Roles, told: Told) -> Published:
    """Read a list: one row for each cell."""
    roles, said = _roles(data, names, roles)
    assert roles.by is not None
    assert roles.value is not None
    wanted = [*roles.by, roles.value, *roles.status]
    bounds = [name for name in (roles.lower, roles.upper, roles.count) if name is not None]
    arrays = read_columns(data, [*wanted, *bounds]).arrays
    columns: dict[str, Any] = dict(zip([*wanted, *bounds], arrays, strict=True))
    found = published_cells(
        {name: columns[name] for name in roles.by}, roles.by, columns[roles.value], told,
        flags={name: columns[name] for name in roles.status},
        bounds=(
            None if roles.lower is None else columns[roles.lower],
            None if roles.upper is None else columns[roles.upper],
        ),
        counts=None if roles.count is None else columns[roles.count],
    )  # fmt: skip
    return replace(found, notes=(*said, *found.notes))


def _roles(data: Any, names: Sequence[str], roles: Roles) -> tuple[Roles, tuple[str, ...]]:
    """Find what the caller has not said, where that leaves no doubt, and say it.

    Raises
    ------
    InputError
        If it is not clear which column holds the cells.
    """
    plain = {name.casefold().strip(): name for name in names}
    status = roles.status
    if not status:
        status = tuple(
            plain[name] for name in FLAGS if name in plain and plain[name] not in (roles.by or ())
        )
    if roles.by and roles.value:
        return replace(roles, status=status), (
            (f"flags are read from {_listed(status)}",) if status and not roles.status else ()
        )
    columns: dict[str, Any] = dict(zip(names, read_columns(data, names).arrays, strict=True))
    aside = {
        *status,
        *(plain[name] for name in _OTHERS if name in plain),
        roles.lower,
        roles.upper,
        roles.count,
    }
    value = roles.value
    if value is None:
        known = [
            plain[name] for name in _VALUES if name in plain and plain[name] not in (roles.by or ())
        ]
        left = [name for name in names if name not in aside and name not in (roles.by or ())]
        numeric = [name for name in left if _mostly_numbers(columns[name])]
        # A column of numbers all different from each other is no dimension.
        value = known[0] if known else numeric[0] if len(numeric) == 1 else None
        if value is None:
            msg = (
                "it is not clear which column holds the cells: "
                + (f"{_listed(numeric)} hold numbers" if numeric else "none holds numbers")
                + f"; name it with {argument('value')}"
            )
            raise InputError(msg)
    by = roles.by
    said = []
    if by is None:
        left = [name for name in names if name not in aside and name != value]
        constant = [name for name in left if len({sign_of(x) for x in columns[name]}) == 1]
        by = tuple(name for name in left if name not in constant) or tuple(left)
        said.append(f"cells are in {value!r}, by {_listed(by)}")
        if constant and by != tuple(left):
            said.append(
                f"{_listed(constant)} {'has' if len(constant) == 1 else 'have'} one code only"
            )
    if status and not roles.status:
        said.append(f"flags are read from {_listed(status)}")
    return replace(roles, by=tuple(by), value=value, status=status), tuple(said)


def _mostly_numbers(column: Sequence[Any]) -> bool:
    texts = [text for item in column[:2000] if (text := sign_of(item))]
    numbers = sum(read_entry(text, Convention()).is_number for text in texts)
    return bool(texts) and 2 * numbers > len(texts)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
