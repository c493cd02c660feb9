"""Cross tables as an Excel workbook: a sheet for each figure, one of all cells, and the facts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellveil.io.cross_sheets import MARKED, Sheet
from cellveil.io.excel import check_excel, title_of, write_sheets
from csp.errors import InputError
from csp.formats.files import Together
from csp.tables.cross.frames import dimension_columns
from csp.tables.cross.html import EMPTY, SUPPRESSED

if TYPE_CHECKING:
    from cellveil.crosstabs.figures import Figures


def write_crosstabs(
    path: Path, tables: Mapping[str, Figures], *, files: Together | None = None
) -> None:
    """Write cross tables as one workbook.

    Each figure of each table has a sheet with its cross table, each table one with a row per cell,
    and the last sheet says how all were made, with their notes and comments.

    Parameters
    ----------
    path : Path
    tables : mapping of str to Figures
        By the titles of their sheets.
    files : Together, optional
        Other files that are written or left with it.

    Raises
    ------
    InputError
        If openpyxl is not installed, a dimension is called like a column of the list of cells, or
        the file cannot be written.
    """
    check_excel()
    sheets: list[Sheet] = []
    facts: dict[str, Any] = {}
    taken: set[str] = {"facts"}
    for name, table in tables.items():
        several = len(table.responses) > 1
        for one in table.shown:
            title = title_of(f"{name} {one.response}" if several else name, taken)
            signs = [
                SUPPRESSED if gone else EMPTY if void else ""
                for gone, void in zip(one.hidden.tolist(), one.empty.tolist(), strict=True)
            ]
            fills = [MARKED if gone else "" for gone in one.hidden.tolist()]
            values = [(units, one.scale) for units in one.units.tolist()]
            sheets.append(Sheet(title, table.layout, values, signs, fills))
        sheets.append(Sheet(title_of(f"{name} cells", taken), columns=_columns(table)))
        lines: dict[str, Any] = {"shows": [str(one) for one in table.responses]}
        lines |= {"notes": list(table.notes), "comment": table.comment}
        first = table.first.summary()
        lines |= {key: first[key] for key in ("cells", "suppressed", "rules", "safe", "guards")}
        facts |= {f"{name}: {key}" if len(tables) > 1 else key: v for key, v in lines.items()}
    write_sheets(path, sheets, facts, files)


def _columns(table: Figures) -> dict[str, list[Any]]:
    """Columns of a list of all cells: codes, each figure, and whether the cell is published."""
    columns = dimension_columns(table.first.release)
    own: dict[str, list[Any]] = {
        str(one.response): [None if f is None else float(f) for f in one.exact]
        for one in table.shown
    }
    own["status"] = ["x" if gone else "s" for gone in table.pattern.tolist()]
    clash = [name for name in columns if name in own]
    if clash:
        msg = f"the list of cells has a column {clash[0]!r} of its own; rename that dimension"
        raise InputError(msg)
    return columns | own
