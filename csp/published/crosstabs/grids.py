"""From rows of a sheet or a file to the grid of a table of true values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from csp.errors import InputError, argument
from csp.formats.delimited import TextFile
from csp.published.door import grid_of, headers_named
from csp.published.entries import sign_of
from csp.published.grids.grid import CrossGrid, is_list, read_grid
from csp.published.grids.heads import are_years
from csp.published.grids.kinds import SIGNS
from csp.published.grids.margins import without_margins
from csp.published.roles import roles_of
from csp.published.sums.structure import Printed
from csp.published.told import Roles, Told

_YEAR, _NAMELESS = "year", re.compile(r"(?:rows|columns)(?: [0-9]+)?")
"""Name of a dimension of years that has none, and what such dimensions are called otherwise."""

_SIGNS = frozenset(sign for sign in SIGNS if not sign.isalnum() or len(sign) > 1) | {"x", "X"}
"""What may stand where a number should: letters are headers here, such as f and m."""

_KEPT = 15
"""Digits of a number that a spreadsheet keeps; what is behind them is the error of computing."""


def rows_of(data: Any) -> tuple[list[list[Any]], str]:
    """Rows of a file or a sheet, and what it is called in messages."""
    if isinstance(data, (str, PathLike, TextFile)):
        file = data if isinstance(data, TextFile) else TextFile(data)
        return [list(row) for row in grid_of(file)], repr(str(file.path))
    return [[_plain(item) for item in row] for row in data], "the grid"


def _plain(item: Any) -> Any:
    """Return a float without the error of computing, in as many digits as a spreadsheet keeps."""
    if isinstance(item, (bool, np.bool_)):
        return str(item)
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, (float, np.floating)):
        if item != item:
            return None
        kept = float(f"{float(item):.{_KEPT}g}")
        return int(kept) if kept.is_integer() and abs(kept) < 10**_KEPT else kept
    return item


def grid_for(
    rows: Sequence[Sequence[Any]], what: str, by: Sequence[str] | None, value: str | None
) -> CrossGrid:
    """Recognise a cross table or a list; the first of `told` says which.

    Parameters
    ----------
    rows : sequence of sequence
    what : str
    by : sequence of str, optional
        Names of the dimensions of a cross table, those of the rows first; columns of a list.
    value : str, optional
        Header of the cells, or several by commas.

    Raises
    ------
    InputError
        As `csp.published.grids.grid.read_grid`, and for other dimensions than there are.
    """
    head = {sign_of(name) for name in rows[0]} if rows else set()
    if {*by} <= head if by else is_list(rows):
        return _listed(rows, by, value)
    found = read_grid(rows, what, _SIGNS, headers_named(rows, value))
    return _named(replace(found, told=("cross table", *found.told[1:])), by, what)


def _listed(
    rows: Sequence[Sequence[Any]], by: Sequence[str] | None, value: str | None
) -> CrossGrid:
    """Return a list, one row for each cell, as a grid."""
    rows, places = without_margins(rows)
    head = [sign_of(name) for name in rows[0]]
    at = [i for i, row in enumerate(rows[1:], 1) if any(map(sign_of, row))]
    columns = {
        name: [rows[i][j] if j < len(rows[i]) else None for i in at] for j, name in enumerate(head)
    }
    roles, told = roles_of(columns, head, Roles(None if by is None else tuple(by), value), Told())
    unknown = [name for name in (*(roles.by or ()), roles.value) if name not in columns]
    if unknown:
        msg = f"there is no column {unknown[0]!r}; there are {', '.join(head)}"
        raise InputError(msg)
    assert roles.by is not None
    assert roles.value is not None
    place = places[head.index(roles.value)] + 1
    codes = {name: [sign_of(item) for item in columns[name]] for name in roles.by}
    indents = {
        name: dict(zip(codes[name], map(_indent, columns[name]), strict=True)) for name in roles.by
    }
    indents = {name: depths for name, depths in indents.items() if len({*depths.values()}) > 1}
    cells = [sign_of(item) for item in columns[roles.value]]
    return CrossGrid(
        roles.by, codes, cells, [(i + 1, place) for i in at], Printed(indents),
        ("list", *(note for note in told if "flags are" not in note)),
    )  # fmt: skip


def _indent(item: Any) -> int:
    return len(item) - len(item.lstrip()) if isinstance(item, str) else 0


def _named(grid: CrossGrid, by: Sequence[str] | None, what: str) -> CrossGrid:
    """Return the grid without dimensions of one code, under the names that are asked for."""
    several = [name for name in grid.names if len({*grid.columns[name]}) > 1]
    names = tuple(several or grid.names[:1])
    if by is None:  # years above the columns say what they are
        years = [
            name for name in names
            if _NAMELESS.fullmatch(name) and are_years([*{*grid.columns[name]}], _YEAR)
        ]  # fmt: skip
        single = len(years) == 1 and _YEAR not in names
        by = [_YEAR if single and name in years else name for name in names]
    if {*by} == {*names}:
        return replace(grid, names=names)
    if len(by) != len(names) or len({*by}) != len(names):
        msg = (
            f"{argument('by')} names {', '.join(by)}, and {what} is a cross table by "
            f"{', '.join(names)}; name {len(names)} dimensions, those of the rows first"
        )
        raise InputError(msg)
    new = dict(zip(names, by, strict=True))
    printed = replace(
        grid.printed,
        indents={new[name]: told for name, told in grid.printed.indents.items() if name in new},
        parents={new[name]: told for name, told in grid.printed.parents.items() if name in new},
        ends={new[name]: told for name, told in grid.printed.ends.items() if name in new},
    )
    columns = {new[name]: grid.columns[name] for name in names}
    return replace(grid, names=tuple(by), columns=columns, printed=printed)
