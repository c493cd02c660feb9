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

from cellveil.front import refuse
from cellveil.render.screen import printable
from csp.formats.files import Together, joined
from csp.mechanism import Protected
from csp.tables.cross.html import EMPTY, SUPPRESSED
from csp.tables.cross.layout import cross_table

__all__ = ["check_excel", "write_workbook"]

DIGITS = 15
"""Digits of a number that Excel keeps; longer ones are written as text."""

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
    check_excel()
    from openpyxl import Workbook

    if len(protected.pattern) >= 2**20:
        refuse(f"{len(protected.pattern):,} cells do not fit on a sheet of Excel; write .csv")
    book = Workbook()
    book.properties.creator = "cellveil"
    book.properties.created = book.properties.modified = THEN
    first = book.active
    if part:
        first.title = "cells"
        _list(first, columns)
    else:
        first.title = "table"
        _cross(first, protected, reveal=reveal)
        _list(book.create_sheet("cells"), columns)
    sheet = book.create_sheet("facts")
    sheet.append([_text(sheet, "made by", bold=True), _text(sheet, "cellveil")])
    for name, value in facts.items():
        sheet.append([_text(sheet, name, bold=True), _text(sheet, _words(value))])
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 24, 60
    packed = io.BytesIO()
    book.save(packed)
    with joined(files) as group, group.path(path) as draft:
        draft.write_bytes(_timeless(packed.getvalue()))


def _cross(sheet: Any, protected: Protected, *, reveal: bool) -> None:
    from openpyxl.styles import Alignment, Font, PatternFill

    table, release, problem = protected.table, protected.release, protected.problem
    layout = cross_table(release)
    marked = PatternFill("solid", fgColor="DDDDDD")
    primary = PatternFill("solid", fgColor="E69F00")
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
                hidden = bool(release.pattern[cell])
                if hidden and not reveal:
                    shown = _text(sheet, SUPPRESSED)
                elif hidden:
                    shown = _number(sheet, int(table.values[cell]), table.scale)
                elif release.structural is not None and release.structural[cell]:
                    shown = _text(sheet, EMPTY)
                else:
                    shown = _number(sheet, int(release.published[cell]), release.scale)
                if hidden:
                    shown.fill = primary if reveal and problem.primary[cell] else marked
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
                _amount(sheet, item) if number else item if isinstance(item, bool) else
                None if item is None else _text(sheet, str(item))
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
