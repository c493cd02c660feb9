"""Where the parts of a cross table are: header rows, row labels, the block of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from csp.errors import InputError
from csp.published.grids.heads import are_years, is_header, sparse_rows
from csp.published.grids.kinds import Kinds, are_keys, is_number, is_scale, is_source
from csp.tables.hierarchies.totals import is_total

_GAP = 2
"""Rows without numbers, such as the heading of a section, between the header and the numbers."""

_ORDINAL = re.compile(r"[(\[]?([0-9]{1,3})[)\].]?")

_GROUPS = re.compile(
    r"\b(?:ages?|alter\w*|size\w*|class\w*|groups?|gr\u00f6\u00dfe\w*|klasse\w*|band|brackets?|"
    r"\u00e2ge|tranche|employees|beschäftigte)\b",
    re.IGNORECASE,
)
"""Headers of columns of steps."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the parts of a grid are: rows and columns from 0.

    Attributes
    ----------
    header : range
    body : list of int
        Rows of numbers.
    labels : int
        Columns of labels; those of numbers follow up to `width`.
    width : int
    columns : sequence of int
        Where each column stands on the sheet, if some are left out.
    """

    header: range
    body: list[int]
    labels: int
    width: int
    columns: Sequence[int] = ()

    def column(self, j: int) -> int:
        """Return the number of a column, from 1, as the sheet has it."""
        return (self.columns[j] if self.columns else j) + 1


def shape_of(texts: Sequence[Sequence[str]], what: str, kinds: Kinds) -> Shape:
    """Find the block of numbers.

    Raises
    ------
    InputError
        If there is none; what was looked for is said. If a row may be one of numbers or a header.
    """
    # The first column holds labels, whatever they look like.
    marks = [[kinds.kind(text) for text in row[1:]] for row in texts]
    entries = [
        0 if is_source(row) else sum(kind in ("number", "sign") for kind in found)
        for row, found in zip(texts, marks, strict=True)
    ]
    if not any("number" in row for row, n in zip(marks, entries, strict=True) if n):
        msg = (
            f"{what} holds no table: looked for rows of numbers below a header, with labels on "
            "their left, or for a list with names of columns in row 1"
        )
        raise InputError(msg)
    typical = sorted(n for n in entries if n)[sum(n > 0 for n in entries) // 2]
    body = [i for i, n in enumerate(entries) if n and 2 * n >= typical]
    headed = len(body) > 1 and is_header(
        texts, body, max(_labels(texts, body, kinds), _labels(texts, body[1:], kinds)), kinds, what
    )  # fmt: skip
    begin, body = (body[0] + 1, body[1:]) if headed else (1, body)
    width = max(len(row) for row in texts)
    labels = _labels(texts, body, kinds)
    if labels >= width:
        msg = f"{what}: there are labels, but no numbers beside them"
        raise InputError(msg)
    body = [*sparse_rows(texts, range(begin, body[0]), labels, kinds), *body]
    body_from = body[0]
    known = {*body}
    whole = [
        i for i in range(body_from, len(texts))
        if i in known or _same_sign(texts[i], labels, typical) or (
            any(texts[i][:labels]) and any(texts[i][labels:])
            and "text" not in marks[i][labels - 1 :] and not is_source(texts[i])
        )
    ]  # fmt: skip
    stop = body_from
    while stop > max(0, body_from - _GAP) and not any(texts[stop - 1][labels:]):
        stop -= 1
    first = stop
    while first > 0 and sum(map(bool, texts[first - 1][labels:])) > 0:
        first -= 1
    width = max(
        (j + 1 for i in [*range(first, stop), *whole] for j, t in enumerate(texts[i]) if t),
        default=width,
    )
    return Shape(range(first, stop), whole, labels, width)


def _same_sign(row: Sequence[str], labels: int, typical: int) -> bool:
    """Whether one text, which may be a sign, stands in all cells of a row."""
    beside = [text for text in row[labels:] if text]
    return any(row[:labels]) and len(beside) >= max(2, typical) and len({*beside}) == 1


def _labels(texts: Sequence[Sequence[str]], body: Sequence[int], kinds: Kinds) -> int:
    """Count the columns of labels: the first one, whatever it holds, and those behind it."""
    width = max(len(row) for row in texts)
    labels = 1
    while labels < width and _is_label(texts, body, labels, kinds):
        labels += 1
    return labels


def _is_label(
    texts: Sequence[Sequence[str]], body: Sequence[int], place: int, kinds: Kinds
) -> bool:
    """Whether a column behind the first one holds labels too: texts, codes, steps or years."""
    rows = [i for i in body if place < len(texts[i]) and texts[i][place]]
    column = [texts[i][place] for i in rows]
    if not column:
        return False
    if kinds.are_labels(column):
        return True
    if place + 1 >= max(map(len, texts)):  # the last column holds cells
        return False
    above = [row[place] for row in texts[max(0, body[0] - 4) : body[0]] if place < len(row)]
    head = " ".join(above)
    column = [text for text in column if not is_total(text)] or column
    keys = [tuple(texts[i][:place]) for i in rows]
    return (
        _are_codes(column, head)
        or are_years(column, head)
        or (is_scale(column) and (bool(_GROUPS.search(head)) or _come_back(keys)))
    )


def _come_back(keys: Sequence[tuple[str, ...]]) -> bool:
    """Whether labels do not tell rows apart: they come back, or stand once for several rows."""
    last: tuple[str, ...] = ()
    seen = set()
    for key in keys:
        if not any(key):
            return True
        first = next(j for j, text in enumerate(key) if text)
        last = (*last[:first], *key[first:])  # the outer labels stand once for the inner ones
        if last in seen:
            return True
        seen.add(last)
    return False


def _are_codes(column: Sequence[str], head: str) -> bool:
    """Whether whole numbers are codes: by their header, by leading zeros, or as they count up."""
    if not all(text.isdecimal() for text in column) or len(column) < 2:
        return False
    apart = len({*column}) == len(column)
    zeros = any(text.startswith("0") and len(text) > 1 for text in column)
    counted = len(column) > 3 and [int(text) for text in column] == [*range(1, len(column) + 1)]
    return zeros or counted or (apart and are_keys(head))


def without_column_numbers(texts: Sequence[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Leave out a row that numbers the columns: 1 2 3, or (1) (2) (3); it is said."""
    found = list(texts)
    told = []
    for i, row in enumerate(texts):
        filled = [(j, text) for j, text in enumerate(row) if text]
        match = [_ORDINAL.fullmatch(text) for _, text in filled]
        if len(filled) < 2 or not all(match):
            if any(is_number(t) and not are_years([t], "year") for t in row[1:]):
                break  # the numbers begin
            continue
        numbers = [int(m[1]) for m in match if m]
        follow = [b - a for a, b in pairwise(numbers)] == [1] * (len(numbers) - 1)
        # A label of its own would make it a row of cells.
        bare = filled[0][0] > 0 or (numbers[0] in (0, 1) and len(filled) > 2)
        # Labels that count on are those of rows.
        below = next((other for other in texts[i + 1 :] if any(other)), [""])
        bare &= not (row[0].isdecimal() and below[0] == str(int(row[0]) + 1))
        above = any(sum(map(bool, other)) > 1 for other in texts[:i])
        if follow and all(text.isdecimal() for _, text in filled):
            # Below a heading that spans several columns they are headers: 0 1 2 3 children.
            bare &= all(
                any(j < len(row) and row[j] for row in texts[:i])
                or not any(j < len(row) and is_number(row[j]) for row in texts[i + 1 :])
                for j, _ in filled
            )
        if follow and numbers[0] < 3 and bare and above:
            found[i] = []
            told.append(f"row {i + 1} numbers the columns and is left out")
        elif above and not all(are_years([text], "year") for text in row[1:] if text):
            break
    return found, told


def check_none_beside(
    texts: Sequence[Sequence[str]], columns: Sequence[int], kinds: Kinds, what: str
) -> None:
    """Refuse a sheet with a second table beside the first one, behind an empty column.

    Parameters
    ----------
    texts : sequence of sequence of str
    columns : sequence of int
        Where each column stands on the sheet.
    kinds : Kinds
    what : str
        For messages.

    Raises
    ------
    InputError
        If labels stand between numbers there.
    """
    for j in range(2, len(columns)):
        rows = [
            row for row in texts
            if columns[j] - columns[j - 1] > 1 and j < len(row) and row[j]
            and any(map(is_number, row[1:j])) and any(map(is_number, row[j + 1 :]))
        ]  # fmt: skip
        own = [row[j] for row in rows]
        apart = len({*own}) == len(own) and all(kinds.kind(text) == "text" for text in own)
        if len(rows) > 1 and (apart or own == [row[0] for row in rows]):
            msg = (
                f"{what}: another table begins in column {columns[j] + 1}, behind an empty one; "
                "keep one of them: put each table, with its header, on a sheet or into a file of "
                "its own"
            )
            raise InputError(msg)


def check_one_table(
    texts: Sequence[Sequence[str]], shape: Shape, kinds: Kinds, what: str
) -> list[int]:
    """Refuse a sheet with a second table below the first one; return headers that come back.

    Raises
    ------
    InputError
        If a row below the first numbers looks like another header (rows named).
    """
    head = [[*texts[i]] for i in shape.header]
    corner = next((row[0] for row in reversed(head) if row and row[0]), "")
    again: list[int] = []
    body = {*shape.body}
    plain = [line for line in head if any(line[shape.labels :]) and not any(map(is_number, line))]
    for i in range(shape.body[0] + 1, len(texts)):
        row = texts[i]
        if [*row] in plain:  # also where its names are letters, which may be signs elsewhere
            again.append(i)
            continue
        beside = [text for text in row[shape.labels : shape.width] if text]
        words = sum(kinds.kind(text) == "text" for text in beside)
        if i in body and len({*beside}) == 1 < len(beside) and any(row[: shape.labels]):
            continue  # one sign in all cells
        bare = not any(row[: shape.labels])
        if i in body and any(map(is_number, beside)):
            years = all(text.isdecimal() and len(text) == 4 for text in beside) and len(beside) > 1
            other = (bool(corner) and row[0] == corner and years) or (
                bare and (years or is_scale(beside))
            )
        else:
            one = (bare and len(beside) > 1) or shape.width - shape.labels == 1
            other = (words > 1 or (words == 1 and one)) and any(k > i for k in shape.body)
        if not other:
            continue
        if any([*row] == line for line in head):
            again.append(i)
            continue
        above, below = [k for k in shape.body if k < i], [k for k in shape.body if k > i]
        if not below:
            continue
        msg = (
            f"{what}: row {i + 1} is a second header below the numbers in {row_names(above)}, so "
            f"{row_names(below)} are another table; keep one of them: put each table, with its "
            "header, on a sheet or into a file of its own"
        )
        raise InputError(msg)
    return again


def row_names(rows: Sequence[int]) -> str:
    """Name rows, given from 0, as a spreadsheet counts them."""
    if len(rows) == 1:
        return f"row {rows[0] + 1}"
    return f"rows {rows[0] + 1} to {rows[-1] + 1}"
