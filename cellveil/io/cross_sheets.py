"""Cross tables on a sheet of a workbook: headers, indents, signs, numbers, lines around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from cellveil.render.screen import printable
from csp.tables.cross.layout import CrossTable, Labelled, cross_table, outlines

DIGITS = 15
"""Digits of a number that Excel keeps; longer ones are written as text."""

MARKED, PRIMARY = "DDDDDD", "E69F00"
"""Fills of suppressed cells, and of those among them that are sensitive."""

_WIDEST, _ACROSS = 60, 12
"""Columns up to which panels stand side by side, under header rows of their codes; and up to which
the second dimension of two goes across, however few codes the first one has."""


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
    above : str
        Title of a cross table; "" for none.
    below : sequence of str
        Lines below it.
    across : sequence of int
        Panels in their order, where they stand side by side and not below each other.
    """

    title: str
    layout: CrossTable | None = None
    values: Sequence[tuple[int, int]] = ()
    signs: Sequence[str] = ()
    fills: Sequence[str] = ()
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    above: str = ""
    below: Sequence[str] = ()
    across: Sequence[int] = ()


def in_order(table: Labelled) -> CrossTable:
    """Lay out a table with its first dimension down and the others across in their order.

    Where these are too wide, the dimension with most codes goes down.
    """
    heads = outlines(table)
    across = table.names[1:]
    wide = prod(len(codes) for codes in heads[1:])
    if not across or wide > (_WIDEST if len(across) > 1 else _ACROSS):
        return cross_table(table)
    return cross_table(table, table.names[0], across[-1])


def side_by_side(layout: CrossTable, table: Labelled) -> list[int]:
    """Order of panels that stand side by side, totals last; none where they are too many."""
    if not layout.further or len(layout.panels) * len(layout.columns) > _WIDEST:
        return []
    heads = dict(zip(table.names, outlines(table), strict=True))
    places = [{h.code: i for i, h in enumerate(heads[name])} for name in layout.further]
    keys = [
        tuple(place[code] for place, code in zip(places, panel.codes, strict=True))
        for panel in layout.panels
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)


def cross_sheet(sheet: Any, one: Sheet, layout: CrossTable) -> None:
    """Write a cross table onto an empty sheet, with what stands above and below it."""
    heads = [column.code or "value" for column in layout.columns]
    if one.above:
        sheet.append([text_cell(sheet, one.above, bold=True)])
        sheet.append([])
    if one.across:
        panels = [layout.panels[k] for k in one.across]
        for level in range(len(layout.further)):
            codes = [panel.codes[: level + 1] for panel in panels]
            _header(sheet, "", [
                code[-1] if j == 0 and (k == 0 or codes[k - 1] != code) else None
                for k, code in enumerate(codes) for j in range(len(heads))
            ])  # fmt: skip
        _header(sheet, layout.down, heads * len(panels))
        _rows(sheet, one, layout, np.hstack([panel.cells for panel in panels]).tolist())
        sheet.append([])
    else:
        for panel in layout.panels:
            if layout.further:
                pairs = zip(layout.further, panel.codes, strict=True)
                words = ", ".join(f"{name} {code}" for name, code in pairs)
                sheet.append([text_cell(sheet, words, bold=True)])
            _header(sheet, layout.down, heads)
            _rows(sheet, one, layout, panel.cells.tolist())
            if layout.further or one.below:
                sheet.append([])
    for words in one.below:
        sheet.append([text_cell(sheet, words)])
    sheet.column_dimensions["A"].width = 6 + max(len(r.code) + 2 * r.depth for r in layout.rows)
    if one.across or not layout.further:
        deep = 2 + (2 if one.above else 0) + (len(layout.further) if one.across else 0)
        sheet.freeze_panes = f"B{deep}"


def _header(sheet: Any, corner: str, heads: Sequence[str | None]) -> None:
    from openpyxl.styles import Alignment

    line = [text_cell(sheet, corner, bold=True) if corner else None]
    for head in heads:
        shown = None if head is None else text_cell(sheet, head, bold=True)
        if shown is not None:
            shown.alignment = Alignment(horizontal="right")
        line.append(shown)
    sheet.append(line)


def _rows(sheet: Any, one: Sheet, layout: CrossTable, rows: Sequence[Sequence[int]]) -> None:
    """Write the rows of a panel; those without a cell are left out."""
    from openpyxl.styles import Alignment, Font, PatternFill

    filled = {color: PatternFill("solid", fgColor=color) for color in (MARKED, PRIMARY)}
    for row, cells in zip(layout.rows, rows, strict=True):
        if max(cells) < 0:
            continue
        head = text_cell(sheet, row.code, bold=row.total)
        head.alignment = Alignment(horizontal="left", indent=row.depth)
        line = [head]
        for cell in cells:
            if cell < 0:
                line.append(None)
                continue
            sign = one.signs[cell]
            shown = text_cell(sheet, sign) if sign else _number_cell(sheet, *one.values[cell])
            if one.fills[cell]:
                shown.fill = filled[one.fills[cell]]
            shown.alignment = Alignment(horizontal="right")
            if row.total:
                shown.font = Font(bold=True)
            line.append(shown)
        sheet.append(line)


def text_cell(sheet: Any, words: str, *, bold: bool = False) -> Any:
    """Return a cell that is text whatever it begins with; signs that no cell can hold as escapes.

    A tab and a line end stay: a code with one is read again as it is.
    """
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    from openpyxl.styles import Font

    parts = (ILLEGAL_CHARACTERS_RE.sub(lambda sign: printable(sign[0]), words)).split("\r")
    cell = WriteOnlyCell(sheet, value=printable("\r").join(parts))
    cell.data_type = "s"
    if bold:
        cell.font = Font(bold=True)
    return cell


def _number_cell(sheet: Any, units: int, scale: int) -> Any:
    from openpyxl.cell import WriteOnlyCell

    from csp.exact import grouped_text, units_text

    if abs(units) >= 10**DIGITS:
        return text_cell(sheet, grouped_text(units, scale))
    text = units_text(units, scale)
    cell = WriteOnlyCell(sheet, value=float(text) if scale else int(text))
    cell.number_format = "#,##0" + ("." + "0" * scale if scale else "")
    return cell
