"""A protected table as an Excel workbook: the cross table, one row per cell, and facts."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cellveil.front import refuse
from cellveil.render.screen import printable
from csp.formats.files import Together, joined
from csp.mechanism import Protected
from csp.tables.cross.html import EMPTY, SUPPRESSED
from csp.tables.cross.layout import CrossTable, cross_table

__all__ = ["MARKED", "Sheet", "check_excel", "title_of", "write_sheets", "write_workbook"]

DIGITS = 15
"""Digits of a number that Excel keeps; longer ones are written as text."""

MARKED, PRIMARY = "DDDDDD", "E69F00"
"""Fills of suppressed cells, and of those among them that are sensitive."""

THEN = datetime(2000, 1, 1)
"""When a workbook says it was made: the same data gives the same bytes."""


_WRITTEN = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
"""When a workbook was made and written, among its properties."""


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A sheet of a workbook: a cross table, or a list of columns where there is no layout.

    Attributes
    ----------
    title : str
    layout : CrossTable or None
    values : sequence of (units, scale)
        Of each cell; not looked at where there is a sign.
    signs, fills : sequence of str
        Text in place of a number, and fill behind a cell; "" for none.
    columns : mapping of str to sequence
        Of a list: one row per cell.
    """

    title: str
    layout: CrossTable | None = None
    values: Sequence[tuple[int, int]] = ()
    signs: Sequence[str] = ()
    fills: Sequence[str] = ()
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)


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
    part: bool = False,
    files: Together | None = None,
) -> None:
    """Write a workbook of three sheets.

    "table" has the published table as rows by columns, "cells" the columns, "facts" what is known
    of the result. Suppressed cells are marked; texts are never formulas. Columns and facts are made
    with the same `reveal`, which shows suppressed values and marks sensitive cells. Columns of a
    `part`, one of linked tables, stand without the cross table of all.

    Raises
    ------
    InputError
        If openpyxl is not installed, the table has too many cells for a sheet, or the file cannot
        be written.
    """
    if len(protected.pattern) >= 2**20:
        refuse(f"{len(protected.pattern):,} cells do not fit on a sheet of Excel; write .csv")
    crossed = [] if part else [_crossed(protected, reveal=reveal)]
    write_sheets(path, [*crossed, Sheet("cells", columns=columns)], facts, files)


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
            _cross(sheet, one, one.layout)
    sheet = book.create_sheet("facts")
    sheet.append([_text(sheet, "made by", bold=True), _text(sheet, "cellveil")])
    for name, value in facts.items():
        sheet.append([_text(sheet, name, bold=True), _text(sheet, _words(value))])
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


def _crossed(protected: Protected, *, reveal: bool) -> Sheet:
    """Return the cross table of a result."""
    table, release = protected.table, protected.release
    hidden, empty = release.pattern, release.structural
    signs, values, fills = [], [], []
    for cell, gone in enumerate(hidden.tolist()):
        known = not gone and empty is not None and bool(empty[cell])
        signs.append(SUPPRESSED if gone and not reveal else EMPTY if known else "")
        units = table.values[cell] if gone else release.published[cell]
        values.append((int(units), table.scale if gone else release.scale))
        primary = gone and reveal and bool(protected.problem.primary[cell])
        fills.append("" if not gone else PRIMARY if primary else MARKED)
    return Sheet("table", cross_table(release), values, signs, fills)


def _cross(sheet: Any, one: Sheet, layout: CrossTable) -> None:
    from openpyxl.styles import Alignment, Font, PatternFill

    filled = {color: PatternFill("solid", fgColor=color) for color in (MARKED, PRIMARY)}
    for panel in layout.panels:
        if layout.further:
            pairs = zip(layout.further, panel.codes, strict=True)
            sheet.append([_text(sheet, ", ".join(f"{n} {c}" for n, c in pairs), bold=True)])
        heads = [layout.down, *(column.code for column in layout.columns)]
        titles = [_text(sheet, head, bold=True) for head in heads]
        for title in titles[1:]:
            title.alignment = Alignment(horizontal="right")
        sheet.append(titles)
        for row, cells in zip(layout.rows, panel.cells.tolist(), strict=True):
            if max(cells) < 0:
                continue
            head = _text(sheet, row.code, bold=row.total)
            head.alignment = Alignment(horizontal="left", indent=row.depth)
            line = [head]
            for cell in cells:
                if cell < 0:
                    line.append(None)
                    continue
                sign = one.signs[cell]
                shown = _text(sheet, sign) if sign else _number(sheet, *one.values[cell])
                if one.fills[cell]:
                    shown.fill = filled[one.fills[cell]]
                shown.alignment = Alignment(horizontal="right")
                if row.total:
                    shown.font = Font(bold=True)
                line.append(shown)
            sheet.append(line)
        if layout.further:
            sheet.append([])
    sheet.column_dimensions["A"].width = 6 + max(len(r.code) + 2 * r.depth for r in layout.rows)
    if not layout.further:
        sheet.freeze_panes = "B2"


def _list(sheet: Any, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write one row per cell; numbers as numbers where none of their digits is lost."""
    sheet.append([_text(sheet, name, bold=True) for name in columns])
    numbers = [name in ("value", "lower", "upper") for name in columns]
    for row in zip(*columns.values(), strict=True):
        sheet.append(
            [
                _amount(sheet, item) if number else
                item if item is None or isinstance(item, (bool, int, float)) else
                _text(sheet, str(item))
                for item, number in zip(row, numbers, strict=True)
            ]
        )  # fmt: skip
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = sheet.dimensions


def _text(sheet: Any, words: str, *, bold: bool = False) -> Any:
    """Return a cell that is text whatever it begins with."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    cell = WriteOnlyCell(sheet, value=printable(words))
    cell.data_type = "s"
    if bold:
        cell.font = Font(bold=True)
    return cell


def _number(sheet: Any, units: int, scale: int) -> Any:
    from openpyxl.cell import WriteOnlyCell

    from csp.exact import grouped_text, units_text

    if abs(units) >= 10**DIGITS:
        return _text(sheet, grouped_text(units, scale))
    text = units_text(units, scale)
    cell = WriteOnlyCell(sheet, value=float(text) if scale else int(text))
    cell.number_format = "#,##0" + ("." + "0" * scale if scale else "")
    return cell


def _amount(sheet: Any, text: str | None) -> Any:
    """Return decimal text as a number where Excel keeps all of it."""
    if text is None:
        return None
    plain = text.lstrip("-").replace(".", "", 1)
    if not plain.isdigit() or len(plain.lstrip("0")) > DIGITS:
        return _text(sheet, text)
    return float(text) if "." in text else int(text)


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
