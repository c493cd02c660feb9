"""Decimal marks, texts for missing entries, and apostrophes before codes in a text file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Ints
from csp.formats.delimited import Opened, TextFile
from csp.formats.formulas import as_meant, kept_from_formulas

_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}", re.ASCII)


def with_points(
    columns: dict[str, NDArray[Any]],
    opened: Opened,
    rows: Mapping[str, Ints] | None = None,
) -> tuple[dict[str, NDArray[Any]], str]:
    """Columns of numbers with decimal points, and the decimal mark they had.

    Parameters
    ----------
    columns : dict of str to (n,) array of text or None
    opened : Opened
    rows : mapping of str to (n,) int64, optional
        Row of each entry, from 1, where the columns hold some rows only; 1, 2, 3, ... otherwise.

    Raises
    ------
    InputError
        If marks may be decimal or separate thousands and nothing is declared, or contradict what
        is declared (row and column named, not the number).
    """
    file = opened.file
    commas, points = (
        {
            name: column
            for name, column in columns.items()
            if mark in opened.signs and mark in "\n".join(filter(None, column.tolist()))
        }
        for mark in (",", ".")
    )
    mark = file.decimal
    if mark is None and commas:
        texts = [text.strip() for column in commas.values() for text in column if text]
        written = [text for text in texts if "," in text]
        clear = any(not _GROUPED.fullmatch(text) for text in written)
        decimal = clear and all(map(_COMMA.fullmatch, written))
        if not decimal or points or file.separator == ",":
            name, column = next(iter(commas.items()))
            raise _undecided(file, name, column, ",", rows)
        mark = ","
    if mark is None and points:
        pointed = (t.strip() for column in points.values() for t in column if t and "." in t)
        if all(map(_GROUPED.fullmatch, pointed)):
            raise _undecided(file, *next(iter(points.items())), ".", rows)
    if mark != ",":
        return columns, "."
    for name, column in points.items():
        msg = (
            f"row {_row(name, column, '.', rows)}, column {name!r}: the number has a point, but "
            "decimals are written with commas; take separators of thousands out, or declare "
            f"{argument('decimal', '.')}"
        )
        raise InputError(msg)
    return columns | {name: _pointed(column) for name, column in commas.items()}, ","


def without_apostrophes(
    columns: dict[str, NDArray[Any]], opened: Opened, codes: Collection[str]
) -> dict[str, NDArray[Any]]:
    """Columns whose codes are without the apostrophes that keep spreadsheets from formulas."""
    found = dict(columns)
    for name in codes if "'" in opened.signs else ():
        texts = {text for text in set(columns[name].tolist()) if text is not None}
        if kept_from_formulas(texts):
            meant = {text: as_meant(text) for text in texts} | {None: None}
            found[name] = np.array([meant[text] for text in columns[name].tolist()], dtype=object)
    return found


def without_missing(
    columns: dict[str, NDArray[Any]], opened: Opened, codes: Collection[str]
) -> dict[str, NDArray[Any]]:
    """Columns with None where a text stands for a missing entry.

    Raises
    ------
    InputError
        If a code is NA and nothing is declared about it (row and column named).
    """
    found = dict(columns)
    file = opened.file
    for name, column in columns.items():
        looked_for = file.missing
        if looked_for is None and name in codes and "NA" in opened.signs:
            looked_for = ("NA",)
        written = {t for t in set(column.tolist()) if t is not None} if looked_for else ()
        gaps = np.zeros(len(column), dtype=bool)
        for text in written:
            if text.strip() in (looked_for or ()):
                gaps |= column == text
        if file.missing is not None:
            found[name] = np.where(gaps, np.array(None), column) if gaps.any() else column
        elif gaps.any():
            raise undeclared_na(int(np.argmax(gaps)) + 1, name)
    return found


def undeclared_na(row: int, name: str) -> InputError:
    """Return the error for a code that is NA in a file of which nothing is declared about it."""
    gap = argument("missing", ("NA",), option="--na NA")
    none = argument("missing", (), option="--na ''")
    return InputError(
        f"row {row}, column {name!r}: the code is NA, which R writes for a missing one. If it is "
        f"missing, declare {gap}; if it is a code, {none}"
    )


def _pointed(column: NDArray[Any]) -> NDArray[Any]:
    found = column.copy()
    for i, text in enumerate(column):
        if text and _COMMA.fullmatch(text.strip()):
            found[i] = text.replace(",", ".")
    return found


def _row(name: str, column: NDArray[Any], mark: str, rows: Mapping[str, Ints] | None) -> int:
    """First row with a mark, from 1."""
    found = next(i for i, text in enumerate(column) if text and mark in text)
    return found + 1 if rows is None else int(rows[name][found])


def _undecided(
    file: TextFile,
    name: str,
    column: NDArray[Any],
    mark: str,
    rows: Mapping[str, Ints] | None,
) -> InputError:
    row = _row(name, column, mark, rows)
    word = {",": "comma", ".": "point"}[mark]
    return InputError(
        f"{str(file.path)!r}, row {row}, column {name!r}: the {word} may be a decimal mark or "
        f"separate thousands; declare {argument('decimal', ',')} or "
        f"{argument('decimal', '.')}, and take separators of thousands out"
    )
