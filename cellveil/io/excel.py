"""A protected table as an Excel workbook: the cross table, one row per cell, and facts."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from cellveil.front import refuse
from cellveil.io.cross_sheets import (
    DIGITS,
    MARKED,
    PRIMARY,
    Sheet,
    cross_sheet,
    in_order,
    side_by_side,
    text_cell,
)
from cellveil.io.house import Look, look_of, with_mark
from cellveil.render.screen import printable
from cellveil.requests.outputs import House
from csp.exact import Ints
from csp.formats.files import Together, joined
from csp.mechanism import Protected
from csp.tables.codes import Labels
from csp.tables.cross.layout import Labelled
from csp.tables.margins import codes_along
from csp.tables.table import Table

HIERARCHIES = "hierarchies"
"""Title of the sheet that says which codes are parts of which; columns as in `_levels`."""

THEN = datetime(2000, 1, 1)
"""When a workbook says it was made: the same data gives the same bytes."""


_WRITTEN = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
"""When a workbook was made and written, among its properties."""


def check_excel() -> None:
    """Refuse, before any work, where workbooks cannot be read or written."""
    if find_spec("openpyxl") is None:
        refuse("Excel files need openpyxl; run pip install openpyxl")


def write_workbook(
    path: Path,
    protected: Protected,
    columns: Mapping[str, Sequence[Any]],
    facts: Mapping[str, Any],
    *,
    reveal: bool = False,
    part: tuple[Table, Ints] | None = None,
    house: House | None = None,
    files: Together | None = None,
) -> None:
    """Write a workbook of three or four sheets.

    "table" has the published table as rows by columns, with title, legend and footnotes of the
    `house`, "cells" the columns, "facts" what is known of the result. Where codes have levels,
    "hierarchies" says which are parts of which, so that "cells" can be read again as the same
    release. Suppressed cells are marked; texts are never formulas. Columns and facts are made with
    the same `reveal`, which shows suppressed values and marks sensitive cells. `part` is one of
    linked tables, whose columns these are, and which cell of all each of its cells is.

    Raises
    ------
    InputError
        If openpyxl is not installed, the table has too many cells for a sheet, or the file cannot
        be written.
    """
    if len(protected.pattern) >= 2**20:
        refuse(f"{len(protected.pattern):,} cells do not fit on a sheet of Excel; write .csv")
    look = look_of(House() if house is None else house)
    crossed = _crossed(protected, look, part, reveal=reveal)
    listed = columns if house is None else with_mark(columns, house)
    levels = _levels(protected.release if part is None else part[0])
    below = [Sheet(HIERARCHIES, columns=levels)] if levels else []
    write_sheets(path, [crossed, Sheet("cells", columns=listed), *below], facts, files)


def write_sheets(
    path: Path, sheets: Sequence[Sheet], facts: Mapping[str, Any], files: Together | None = None
) -> None:
    """Write sheets as a workbook, the facts last; see `write_workbook`."""
    check_excel()
    from openpyxl import Workbook

    book = Workbook()
    book.properties.creator = "cellveil"
    book.properties.created = book.properties.modified = THEN
    for number, one in enumerate(sheets):
        sheet = book.create_sheet() if number else book.active
        sheet.title = one.title
        if one.layout is None:
            _list(sheet, one.columns)
        else:
            cross_sheet(sheet, one, one.layout)
    sheet = book.create_sheet("facts")
    sheet.append([text_cell(sheet, "made by", bold=True), text_cell(sheet, "cellveil")])
    for name, value in facts.items():
        sheet.append([text_cell(sheet, name, bold=True), _fact(sheet, value)])
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 24, 60
    packed = io.BytesIO()
    book.save(packed)
    with joined(files) as group, group.path(path) as draft:
        draft.write_bytes(_timeless(packed.getvalue()))


def title_of(words: str, taken: set[str]) -> str:
    """Return a title of a sheet that Excel allows and that is not taken; it is then."""
    plain = re.sub(r"[\[\]:*?/\\]", " ", printable(words)).strip("' ")[:31] or "table"
    title, number = plain, 1
    while title.lower() in {one.lower() for one in taken}:
        number += 1
        title = f"{plain[: 30 - len(str(number))]} {number}"
    taken.add(title)
    return title


def _crossed(
    protected: Protected, look: Look, part: tuple[Table, Ints] | None, *, reveal: bool
) -> Sheet:
    """Return the cross table of a result, or of one of the tables that were linked to it."""
    table, release = protected.table, protected.release
    shown, rows = (release, np.arange(len(release.pattern))) if part is None else part
    hidden, empty = release.pattern, release.structural
    signs, values, fills = [], [], []
    for cell in rows.tolist():
        gone = bool(hidden[cell])
        known = not gone and empty is not None and bool(empty[cell])
        signs.append(look.suppressed if gone and not reveal else look.empty if known else "")
        units = table.values[cell] if gone else release.published[cell]
        values.append((int(units), table.scale if gone else release.scale))
        primary = gone and reveal and bool(protected.problem.primary[cell])
        fills.append("" if not gone else PRIMARY if primary else MARKED)
    below = look.lines(list(dict.fromkeys(signs)))
    layout = in_order(shown)
    return Sheet(
        "table", layout, values, signs, fills, above=look.title, below=below,
        across=side_by_side(layout, shown),
    )  # fmt: skip


def _levels(table: Labelled) -> dict[str, list[str]]:
    """Codes of each dimension that has levels, and what they are parts of; {} if none has.

    A code that is a part of several has no place in a tree: its dimension is left out.
    """
    labels = Labels.of(table.labels)
    found: dict[str, list[str]] = {"dimension": [], "code": [], "part of": []}
    for d, pairs in enumerate(codes_along(table.relations, labels.codes)[1]):
        above, parts = pairs.T
        if len(np.unique(parts)) < len(parts) or len(np.unique(above)) < 2:
            continue
        texts = labels.categories[d]
        found["dimension"] += [table.names[d]] * len(parts)
        found["code"] += [texts[code] for code in parts.tolist()]
        found["part of"] += [texts[code] for code in above.tolist()]
    return found if found["code"] else {}


def _list(sheet: Any, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write one row per cell; numbers as numbers where none of their digits is lost."""
    sheet.append([text_cell(sheet, name, bold=True) for name in columns])
    numbers = [name in ("value", "lower", "upper") for name in columns]
    for row in zip(*columns.values(), strict=True):
        sheet.append(
            [
                _amount(sheet, item) if number else
                item if item is None or isinstance(item, (bool, int, float)) else
                text_cell(sheet, str(item))
                for item, number in zip(row, numbers, strict=True)
            ]
        )  # fmt: skip
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = sheet.dimensions


def _amount(sheet: Any, text: str | None) -> Any:
    """Return decimal text as a number where Excel keeps all of it."""
    if text is None:
        return None
    plain = text.lstrip("-").replace(".", "", 1)
    if not plain.isdigit() or len(plain.lstrip("0")) > DIGITS:
        return text_cell(sheet, text)
    return float(text) if "." in text else int(text)


def _fact(sheet: Any, value: Any) -> Any:
    """Return a fact as what it is; a list, and a number that Excel would round, as text."""
    if isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 10**DIGITS):
        return value
    return text_cell(sheet, _words(value))


def _words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def _timeless(packed: bytes) -> bytes:
    """Return the same archive with one time for all its parts."""
    out = io.BytesIO()
    with ZipFile(io.BytesIO(packed)) as old, ZipFile(out, "w", ZIP_DEFLATED) as new:
        for part in old.infolist():
            when = ZipInfo(part.filename, (2000, 1, 1, 0, 0, 0))
            when.compress_type = ZIP_DEFLATED
            new.writestr(when, _WRITTEN.sub(rb"\g<1>2000-01-01T00:00:00Z", old.read(part)))
    return out.getvalue()
