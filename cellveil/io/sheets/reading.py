"""Records and tables on a sheet of a workbook."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, time, timedelta
from itertools import islice, zip_longest
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from cellveil.front import refuse
from cellveil.io.excel import HIERARCHIES
from cellveil.io.sheets.open_document import letters
from cellveil.io.sheets.pages import MOST_ROWS, Page, opened
from csp.published.entries import sign_of
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.sources.source import check_names

_TOLD = 10_000
"""Rows between two words about how far the reading is."""

_ERRORS = frozenset(
    {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"}
)


class Sheet:
    """A sheet of records that is read once, to be asked for its columns as often as needed."""

    def __init__(
        self, path: Path, page: Page, head: list[str], rows: list[tuple[Any, ...]]
    ) -> None:
        self._path, self._page, self._rows = path, page, rows
        self.note = _hidden(page, path)
        self.names = tuple(head)

    def columns(
        self, names: Sequence[str] | None = None, numbers: Collection[str] = ()
    ) -> dict[str, list[Any]]:
        """Columns, all by default.

        Formulas count as the values that were saved with them. A number among codes is its shortest
        text (2021, not 2021.0), a date is ISO text, a time or truth value the text that Python
        gives it, as through other doors, an empty cell is missing (None). In columns of `numbers`
        numbers stay numbers: Excel keeps them as floats, so that ``decimals=`` can take the error
        of computing off, as it does for a data frame.

        Raises
        ------
        InputError
            If a column is unknown, or a cell of it holds an error or a formula without a saved
            value (cell named).
        """
        check_names(list(names or self.names), self.names)
        places = {n: self.names.index(n) for n in dict.fromkeys(names or self.names)}
        where = f"{str(self._path)!r}, sheet {self._page.title!r}"
        found = {}
        for name, place in places.items():
            column = [_at(row, place) for row in self._rows]
            at = letters(place)
            found[name] = [
                _value(item, number=name in numbers, where=f"{where}, cell {at}{i}")
                for i, item in enumerate(column, 2)
            ]
        gaps = {places[name] for name, column in found.items() if None in column}
        for row, place in sorted(self._page.formulas if gaps else ()):
            # One with a saved value has it in the row that was read.
            if (
                place in gaps
                and 2 <= row <= len(self._rows) + 1
                and not _filled(_at(self._rows[row - 2], place))
            ):
                refuse(
                    f"{where}, cell {letters(place)}{row} holds a formula without a saved value; "
                    "open the file in a spreadsheet and save it"
                )
        return found


def open_sheet(
    path: Path, sheet: str | None = None, progress: Callable[[int], None] = lambda _: None
) -> Sheet:
    """Read a sheet of records whole: names in its first row, then one record per row.

    The sheet may be left out where there is one; `progress` is called with the rows read so far.

    Raises
    ------
    InputError
        If openpyxl is not installed, the file is not a workbook, the sheet is not told or not
        there, or it is not a sheet of records (a cross table, a title above the names, a second
        block below).
    """
    with opened(path) as pages:
        page = _sheet(pages, path, sheet)
        head, rows = _records(page, f"{str(path)!r}, sheet {page.title!r}", progress)
        return Sheet(path, page, head, rows)


def grid_of_sheet(path: Path, sheet: str | None = None) -> list[list[Any]]:
    """Read a sheet as it stands: entries row by row, row labels with blanks for their indents.

    Of several sheets the one that is named, or "cells" of a workbook that this program wrote.

    Raises
    ------
    InputError
        As for `open_sheet`, but for what a sheet of records must have.
    """
    rows: list[list[Any]] = []
    with opened(path) as pages:
        page = _page(pages, path, sheet)
        for number, line in enumerate(islice(page.indented(), MOST_ROWS + 1), 1):
            row = []
            for place, (value, indent) in enumerate(line):
                where = f"{str(path)!r}, sheet {page.title!r}, cell {letters(place)}{number}"
                item = _value(value, number=True, where=where)
                row.append(" " * 2 * indent + item if isinstance(item, str) else item)
            rows.append(row)
    while rows and not any(map(_filled, rows[-1])):
        rows.pop()
    return rows


def hidden_parts(path: Path, sheet: str | None = None) -> str:
    """Sentence that names rows and columns which are read though a spreadsheet hides them, or "".

    Raises
    ------
    InputError
        As for `grid_of_sheet`.
    """
    with opened(path) as pages:
        return _hidden(_page(pages, path, sheet), path)


def own_hierarchies(path: Path) -> dict[str, Hierarchy]:
    """Read the hierarchies that this program wrote beside the cells of a workbook.

    Raises
    ------
    InputError
        As for `grid_of_sheet`, and where they were changed so that they are not trees.
    """
    with opened(path) as pages:
        if not {"cells", "facts", HIERARCHIES} <= {page.title for page in pages}:
            return {}
    parents: dict[str, list[tuple[str, str]]] = {}
    for row in grid_of_sheet(path, HIERARCHIES)[1:]:
        name, code, above = (sign_of(item) for item in (*row, "", "", "")[:3])
        parents.setdefault(name, []).append((code, above))
    return {name: Hierarchy.from_parents(pairs) for name, pairs in parents.items()}


def _page(pages: Sequence[Page], path: Path, sheet: str | None) -> Page:
    """Sheet of a table: the one that is named, or "cells" of a workbook of this program."""
    titles = {page.title for page in pages}
    own = "cells" if sheet is None and {"cells", "facts"} <= titles else sheet
    return _sheet(pages, path, own)


def _sheet(pages: Sequence[Page], path: Path, sheet: str | None) -> Page:
    titles = [page.title for page in pages]
    if sheet is None and len(titles) == 1:
        return pages[0]
    listed = ", ".join(map(repr, titles))
    if sheet is None:
        refuse(f"{str(path)!r} has the sheets {listed}; say which one with --sheet")
    if sheet not in titles:
        refuse(f"{str(path)!r} has no sheet {sheet!r}; there are {listed}")
    return pages[titles.index(sheet)]


def _hidden(page: Page, path: Path) -> str:
    """Say what of a sheet is hidden or filtered out, which is read like all else."""
    named = [f"{word}{first and f' (the first is {first})'}" for word, first in page.hidden.items()]
    if not named:
        return ""
    return (
        f"Sheet {page.title!r} of {path.name!r} has hidden {' and '.join(named)}, which are read "
        "like all others; delete them there if they are not meant."
    )


def _records(
    page: Page, where: str, progress: Callable[[int], None]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names of the columns, and the rows below them."""

    def fail(why: str) -> NoReturn:
        refuse(f"{where}: {why}; a sheet of records has names of columns in row 1, then one a row")

    rows = []
    for row in islice(page.values(), MOST_ROWS + 1):
        rows.append(row)
        if len(rows) % _TOLD == 0:
            progress(len(rows))
    if len(rows) > MOST_ROWS:
        fail(f"there are more than {MOST_ROWS:,} rows, the most that Excel has")
    while rows and not any(map(_filled, rows[-1])):
        rows.pop()
    if len(rows) < 2:
        fail("there are no records" if rows else "it is empty")
    width = max(max((i + 1 for i, v in enumerate(row) if _filled(v)), default=0) for row in rows)
    head = [name for name, _ in zip_longest(rows[0][:width], range(width))]
    if sum(map(_filled, head)) == 1 and width > 1:
        fail("row 1 has one entry and looks like a title")
    for place, name in enumerate(head):
        if not _filled(name) and not any(_filled(_at(row, place)) for row in rows):
            fail(f"column {letters(place)} is empty; take it out")
        if not _filled(name):
            fail(f"column {letters(place)} has entries, but cell {letters(place)}1 has no name")
        if not isinstance(name, str):
            fail(f"cell {letters(place)}1 holds a number or a date, as in a cross table")
    names = [str(name).strip() for name in head]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        fail(f"two columns are named {twice!r}")
    blank = next((i for i, row in enumerate(rows, 1) if not any(map(_filled, row))), None)
    if blank is not None:
        fail(f"row {blank} is blank and more follows")
    return names, rows[1:]


def _filled(item: Any) -> bool:
    return item is not None and not (isinstance(item, str) and not item.strip())


def _value(item: Any, *, number: bool, where: str) -> Any:
    if not _filled(item):
        return None
    if isinstance(item, str):
        if item in _ERRORS or re.fullmatch("Err:[0-9]{3}", item):
            refuse(f"{where} holds the error {item}; correct it in the sheet")
        return item
    if isinstance(item, bool):
        return str(item)
    if isinstance(item, (int, float)):
        if not isfinite(item):
            refuse(f"{where} holds a number that is not finite; correct it in the sheet")
        if number:
            return item
        return str(int(item)) if item == int(item) else repr(item)
    if isinstance(item, datetime) and item.time() == time():
        return item.date().isoformat()
    if isinstance(item, (date, time, timedelta)):  # a datetime is a date
        return str(item)
    refuse(f"{where} holds {type(item).__name__}, which is not text, a number or a date")


def _at(row: tuple[Any, ...], place: int) -> Any:
    return row[place] if place < len(row) else None
