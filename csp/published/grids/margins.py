"""What stands around a table on its sheet: empty columns on its left, between and behind.

A table often begins in column B, below a title in A1. It is read as if it began in column A; what
is said of it names the columns as the sheet does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csp.published.entries import sign_of
from csp.published.grids.heads import are_steps, are_years
from csp.published.grids.kinds import SIGNS, are_keys, is_number
from csp.tables.hierarchies.totals import is_total


def without_margins(
    rows: Sequence[Sequence[Any]],
) -> tuple[Sequence[Sequence[Any]], Sequence[int]]:
    """Leave out empty columns, and those on the left with nothing but titles, headings and notes.

    Texts of the latter move to the first column that is left: a title says the same there.

    Parameters
    ----------
    rows : sequence of sequence
        Entries; None or "" where there is none.

    Returns
    -------
    rows : sequence of sequence
    columns : sequence of int
        Where each column that is left stands, from 0.
    """
    width = max(map(len, rows), default=0)
    if not rows or (len(rows[0]) == width and all(map(sign_of, rows[0]))):
        return rows, range(width)
    filled = [{j for j, item in enumerate(row) if sign_of(item)} for row in rows]
    columns = sorted(set().union(*filled))
    found = [list(row) for row in rows]
    first = 0
    while first + 1 < len(columns) and _is_margin(found, filled, columns[first:]):
        left, right = columns[first], columns[first + 1]
        for row, there in zip(found, filled, strict=True):
            if left in there:
                row += [""] * (right + 1 - len(row))
                row[right] = row[left]
                there ^= {left, right}
        first += 1
    columns = columns[first:]
    if not first and columns and columns[0] and not _are_labels(
        [_at(row, columns[0]) for row in rows]
    ):  # fmt: skip
        columns = [columns[0] - 1, *columns]  # rows without labels have an empty column of them
    if columns == [*range(width)]:
        return rows, range(width)
    return [[row[j] for j in columns if j < len(row)] for row in found], columns


def _is_margin(
    rows: Sequence[Sequence[Any]], filled: Sequence[set[int]], columns: Sequence[int]
) -> bool:
    """Whether the texts of the first column stand alone, or as a corner over the next column.

    Then no number has one of them for its label, and the next column holds the labels.
    """
    left, right = columns[:2]
    began = False
    for row, there in zip(rows, filled, strict=True):
        cells = [sign_of(row[j]) for j in there if j != left]
        numbers = any(map(_is_cell, cells))
        if left in there and (right in there or (cells and (began or numbers))):
            return False
        began = began or numbers
    return _are_labels([_at(row, right) for row in rows])


def _are_labels(column: Sequence[Any]) -> bool:
    """Whether a column may be the first one of a table: it does not hold numbers below a header."""
    texts = [text for item in column if (text := sign_of(item))]
    numbers = [text for text in texts if _is_cell(text)]
    if 2 * len(numbers) < len(texts) or len(numbers) == len(texts):
        return True
    first = next(k for k, text in enumerate(texts) if _is_cell(text))
    head = next((text for text in reversed(texts[:first]) if not is_total(text)), "")
    codes = [text for text in numbers if is_number(text)]
    return are_keys(head) or are_steps(codes, head) or (bool(codes) and are_years(codes, head))


def _is_cell(text: str) -> bool:
    """Whether a text is a number, or a sign that is not a letter: these are labels too."""
    return is_number(text) or (text in SIGNS and (not text.isalnum() or text in ("x", "X")))


def _at(row: Sequence[Any], place: int) -> Any:
    return row[place] if place < len(row) else None
