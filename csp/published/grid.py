"""Cross tables as people print them: titles, header rows, row labels, numbers, footnotes.

A grid is what a sheet or a text file holds, row by row. It becomes a list of cells, one row each,
with what was recognised in words, so that it can be said before anything is done with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from csp.errors import InputError
from csp.published.entries import Convention, read_entry, sign_of
from csp.published.marks import EVERY_OFFICE, OFFICES
from csp.published.names import FLAGS, VALUES
from csp.published.structure import Printed
from csp.tables.hierarchies.totals import is_total

__all__ = ["CrossGrid", "holds_cells", "is_list", "read_grid"]

_SIGNS = frozenset(sign for marks in (EVERY_OFFICE, *OFFICES.values()) for sign in marks.signs)
"""Texts that stand for numbers somewhere; others with a letter in them are labels."""

_TELLING = frozenset(VALUES) - {"n", "count", "emp"}
"""Names that no column of a cross table has."""

_FOOTNOTE = re.compile(r"(?:[\u00b9\u00b2\u00b3\u2070-\u2079*\u2020]+|\s*[\[(]?[0-9a-z][\])])$")

_GAP = 2
"""Rows without numbers, such as the heading of a section, between the header and the numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossGrid:
    """A cross table as a list of cells.

    Attributes
    ----------
    names : tuple of str
        Dimensions: those of the row labels, then those of the header rows.
    columns : mapping of str to list of str
        Their codes, one entry for each cell.
    entries : list of str
        What stands in each cell.
    places : list of (int, int)
        Row and column of each cell, from 1.
    printed : Printed
    told : tuple of str
        What was recognised, in sentences.
    """

    names: tuple[str, ...]
    columns: dict[str, list[str]]
    entries: list[str]
    places: list[tuple[int, int]]
    printed: Printed
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Shape:
    """Where the parts of a grid are: rows and columns from 0."""

    header: range
    body: list[int]
    labels: int
    width: int


def is_list(rows: Sequence[Sequence[Any]], signs: Collection[str] = ()) -> bool:
    """Whether a grid is a list with names of columns in row 1, and not a cross table.

    A list has a column whose name says that it holds values or flags, or one column of numbers and
    signs at most, or codes that come back; a cross table has several columns of numbers, with a
    total among their names or row labels that do not come back.
    """
    if len(rows) < 2:
        return False
    head = [sign_of(item) for item in rows[0]]
    if not all(head) or len(set(head)) != len(head) or len(head) < 2:
        return False
    if max(map(len, rows)) > len(head):
        return False
    names = {name.casefold() for name in head}
    if not names.isdisjoint(FLAGS) or (len(names) > 2 and not names.isdisjoint(_TELLING)):
        return True
    if len(head) == 2:  # either way it is one column of cells
        return not any(map(_is_number, head))
    body = [row for row in rows[1:] if sum(bool(sign_of(item)) for item in row) > 1]
    columns = [[sign_of(row[j]) if j < len(row) else "" for row in body] for j in range(len(head))]
    cells = [j for j, column in enumerate(columns) if j and holds_cells(column, signs)]
    if len(cells) <= 1:
        return True
    if any(map(is_total, head)):
        return False
    # Row labels of a cross table do not come back; codes of a list do.
    labels = [*zip(*columns[: cells[0]], strict=True)]
    return len({*labels}) < len(labels)


def holds_cells(column: Sequence[str], signs: Collection[str]) -> bool:
    """Whether all entries of a column are numbers or signs in place of them."""
    kinds = {_kind(text, signs) for text in {*column} if text}
    return bool(kinds) and "text" not in kinds


def _is_number(text: str) -> bool:
    return any(
        (entry := read_entry(text, Convention(mark))).is_number or entry.ranged for mark in ".,"
    )


def read_grid(rows: Sequence[Sequence[Any]], what: str, signs: Collection[str] = ()) -> CrossGrid:
    """Recognise a cross table.

    Parameters
    ----------
    rows : sequence of sequence
        Entries; None or "" where there is none. Leading blanks of row labels are indents.
    what : str
        What it is, for messages: a file and its sheet.
    signs : collection of str
        What stands for numbers here. Without it letters are labels, but for x.

    Raises
    ------
    InputError
        If no block of numbers is found (what was looked for is said), a header or label is missing,
        or two rows or columns have the same labels (places named).
    """
    texts = [[sign_of(item) for item in row] for row in rows]
    shape = _shape(texts, what, signs)
    head, across = _header(texts, shape, what)
    down, names = _labels(texts, shape, head)
    numbers = {*shape.body}
    between = range(shape.body[0], shape.body[-1])
    inside = [i for i in between if i not in numbers and any(texts[i])]
    sections = _sections(texts, shape, inside, down)
    if sections:
        down, names, inside = [sections, *down], ["sections", *names], []
    depths = _indents(rows, shape, down[-1])
    _check_repeats(down, across, shape, what)
    down, above = _merged(down)
    across, beyond = _merged(across)
    corner = names[0]
    names = _named(names[-len(down) :], corner, len(across))
    levels = [[codes[i] for i in range(len(shape.body)) for _ in across[0]] for codes in down]
    levels += [codes * len(shape.body) for codes in across]
    columns = dict(zip(names, levels, strict=True))
    parents = {
        name: tree for name, tree in zip(names, [*above, *beyond], strict=True) if tree
    }  # fmt: skip
    entries, places = [], []
    for i in shape.body:
        for j in range(shape.labels, shape.labels + len(across[0])):
            entries.append(texts[i][j] if j < len(texts[i]) else "")
            places.append((i + 1, j + 1))
    said = ", ".join(f"{name} ({len(dict.fromkeys(columns[name]))} codes)" for name in names)
    told = [
        f"a cross table in rows {shape.body[0] + 1} to {shape.body[-1] + 1}, below "
        f"{len(shape.header)} header {'row' if len(shape.header) == 1 else 'rows'}: {said}"
    ]
    left = [i for i in range(shape.body[-1] + 1, len(texts)) if any(texts[i])]
    if left:
        told.append(f"{_rows(left)} below the table {_are(left)} left out as footnotes")
    if inside:
        told.append(
            f"{_rows(inside)} within the table {_have(inside)} no numbers and {_are(inside)} left "
            "out"
        )
    indents = {names[len(down) - 1]: depths} if depths and not above[-1] else {}
    return CrossGrid(tuple(names), columns, entries, places, Printed(indents, parents), tuple(told))


def _sections(
    texts: Sequence[Sequence[str]], shape: _Shape, inside: Sequence[int],
    down: Sequence[Sequence[str]],
) -> list[str]:  # fmt: skip
    """Headings between the rows, one for each row, where they tell equal labels apart."""
    labels = [*zip(*down, strict=True)]
    heads = [*range(shape.header.stop, shape.body[0]), *inside]
    heads = [i for i in heads if sum(map(bool, texts[i])) == 1]
    before = [i for i in range(shape.header.start, shape.body[0]) if sum(map(bool, texts[i])) == 1]
    heads = sorted({*heads, *before[-1:]}) if len({*labels}) < len(labels) else []
    if not heads or heads[0] > shape.body[0]:
        return []
    return [next(t for t in texts[max(h for h in heads if h < i)] if t) for i in shape.body]


def _merged(
    levels: Sequence[Sequence[str]],
) -> tuple[list[list[str]], list[dict[str, str]]]:
    """Join levels of headings that are nested: what is under a heading is under no other one.

    A heading without a level below it, or with the name of a total there, stands for itself. What
    comes back under several headings is a dimension of its own.
    """
    kept: list[list[str]] = [list(levels[0])]
    trees: list[dict[str, str]] = [{}]
    for level in levels[1:]:
        outer = kept[-1]
        under: dict[str, set[str]] = {}
        for above, code in zip(outer, level, strict=True):
            if code != above and not is_total(code):
                under.setdefault(code, set()).add(above)
        parts = [above for found in under.values() for above in found]
        nested = all(len(found) == 1 for found in under.values()) and bool(under)
        nested = nested and len(parts) > len({*parts}) and not {*under} & {*outer}
        if nested:
            trees[-1] |= {code: next(iter(found)) for code, found in under.items()}
            kept[-1] = [c if c in under else a for a, c in zip(outer, level, strict=True)]
        else:
            kept.append(list(level))
            trees.append({})
    return kept, trees


def _shape(texts: Sequence[Sequence[str]], what: str, signs: Collection[str]) -> _Shape:
    """Find the block of numbers."""
    # The first column holds labels, whatever they look like.
    marks = [[_kind(text, signs) for text in row[1:]] for row in texts]
    entries = [sum(kind in ("number", "sign") for kind in row) for row in marks]
    if not any("number" in row for row in marks):
        msg = (
            f"{what} holds no table: looked for rows of numbers below a header, with labels on "
            "their left, or for a list with names of columns in row 1"
        )
        raise InputError(msg)
    typical = sorted(n for n in entries if n)[sum(n > 0 for n in entries) // 2]
    body = [i for i, n in enumerate(entries) if n and 2 * n >= typical]
    below_none = not any(any(row[1:]) for row in texts[: body[0]])
    # A number among names of columns of numbers is a name: 2019, Total.
    cells = {j for i in body[1:] for j, kind in enumerate(marks[i]) if kind in ("number", "sign")}
    named = below_none and any(
        kind == "text" and j in cells for j, kind in enumerate(marks[body[0]])
    )  # fmt: skip
    if len(body) > 1 and (named or _year_row(texts, body)):
        body = body[1:]
    body_from = body[0]
    width = max(len(row) for row in texts)
    labels = 1
    while labels < width and _is_label(texts, body, labels, signs):
        labels += 1
    if labels >= width:
        msg = f"{what}: there are labels, but no numbers beside them"
        raise InputError(msg)
    known = {*body}
    whole = [
        i for i in range(body_from, len(texts))
        if i in known or (
            any(texts[i][:labels]) and any(texts[i][labels:])
            and "text" not in marks[i][labels - 1 :]
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
    return _Shape(range(first, stop), whole, labels, width)


def _kind(text: str, signs: Collection[str]) -> str:
    """Say whether a text is a number, a sign that no heading is made of, or a text."""
    if not text:
        return ""
    if _is_number(text):
        return "number"
    if signs:
        return "sign" if text in signs else "text"
    plain = text in ("x", "X") or not text.isalnum() or text in EVERY_OFFICE.withheld
    return "sign" if text in _SIGNS and plain else "text"


def _year_row(texts: Sequence[Sequence[str]], full: Sequence[int]) -> bool:
    """Whether the first row of numbers is a header of years.

    Below another header the years must follow each other, in each of its groups.
    """
    first = texts[full[0]]
    numbers = [text for text in first[1:] if _is_number(text)]
    if len(numbers) < 2 or any(_kind(text, ()) == "sign" for text in first[1:]):
        return False
    if not all(text.isdecimal() and len(text) == 4 for text in numbers):
        return False
    years = [int(text) for text in numbers]
    if not any(any(row[1:]) for row in texts[: full[0]]):
        return len({*years}) == len(years) and min(years) >= 1500 and max(years) <= 2200
    steps = [b - a for a, b in pairwise(years)]
    return min(years) >= 1900 and max(years) <= 2100 and all(d == 1 or d <= -1 for d in steps)


def _is_label(
    texts: Sequence[Sequence[str]], body: Sequence[int], place: int, signs: Collection[str]
) -> bool:
    """Whether a column behind the first one holds labels too: texts, longer than signs."""
    column = [texts[i][place] for i in body if place < len(texts[i]) and texts[i][place]]
    if not column:
        return False
    return 2 * sum(_kind(text, signs) == "text" for text in column) > len(column)


def _header(
    texts: Sequence[Sequence[str]], shape: _Shape, what: str
) -> tuple[list[list[str]], list[list[str]]]:
    """Header rows, and the codes of each level over each column of numbers."""
    head = [[*texts[i], *[""] * (shape.width - len(texts[i]))] for i in shape.header]
    if not head:
        msg = f"{what}, row {shape.body[0] + 1}: numbers without a header above them"
        raise InputError(msg)
    levels: list[list[str]] = []
    for depth, row in enumerate(head):
        filled, last = [], ""
        for j in range(shape.labels, shape.width):
            # A heading goes on to the right until the next one, or until one above it begins.
            begins = any(head[above][j] for above in range(depth))
            last = _label(row[j]) or ("" if begins else last)
            filled.append(last)
        levels.append(filled)
    for level in range(1, len(levels)):  # a heading that spans the rows below stands for all
        for j, code in enumerate(levels[level]):
            levels[level][j] = code or levels[level - 1][j]
    for level in range(len(levels) - 2, -1, -1):
        for j, code in enumerate(levels[level]):
            levels[level][j] = code or levels[level + 1][j]
    bare = [j for j, code in enumerate(levels[-1]) if not code]
    if bare:
        msg = (
            f"{what}: column {shape.labels + bare[0] + 1} has numbers, but no header in "
            f"{_rows([*shape.header])}"
        )
        raise InputError(msg)
    return head, [level for level in levels if len({*level}) > 1] or levels[-1:]


def _labels(
    texts: Sequence[Sequence[str]], shape: _Shape, head: Sequence[Sequence[str]]
) -> tuple[list[list[str]], list[str]]:
    """Labels of the rows of numbers, one list for each column, and the names of these columns."""
    down: list[list[str]] = []
    last = [""] * shape.labels
    for i in shape.body:
        row = [texts[i][j] if j < len(texts[i]) else "" for j in range(shape.labels)]
        for j in range(shape.labels - 1):  # a label stands once for several rows
            begins = any(row[:j])
            row[j] = row[j] or ("" if begins else last[j])
        if not row[-1]:
            row[-1] = next((text for text in reversed(row) if text), "")
        last = row
        down.append([_label(text.rstrip(" .:")) or text for text in row])
    columns = [list(column) for column in zip(*down, strict=True)]
    names = [
        next((row[j] for row in reversed(head) if row[j]), "") for j in range(shape.labels)
    ]  # fmt: skip
    return columns, names


def _label(text: str) -> str:
    """Leave out the sign of a footnote behind a label: superscripts, 1), (1), [a], asterisks."""
    return _FOOTNOTE.sub("", text) or text


def _named(names: list[str], corner: str, levels: int) -> list[str]:
    """Name all dimensions; a corner such as "geo/TIME" (with a backslash) names both kinds."""
    row, slash, column = corner.partition("\\")
    if slash:
        names = [row.strip(), *names[1:]]
    found = [
        name or ("rows" if len(names) == 1 else f"rows {j + 1}") for j, name in enumerate(names)
    ]
    across = [column.strip()] if slash and column.strip() and levels == 1 else []
    across = across or ["columns" if levels == 1 else f"columns {j + 1}" for j in range(levels)]
    taken: list[str] = []
    for name in [*found, *across]:
        taken.append(name if name not in taken else f"{name} {len(taken) + 1}")
    return taken


def _check_repeats(
    down: Sequence[Sequence[str]], across: Sequence[Sequence[str]], shape: _Shape, what: str
) -> None:
    numbers = range(shape.labels, shape.width)
    for levels, places, word, one in (
        (down, shape.body, "rows", "label"), (across, numbers, "columns", "header"),
    ):  # fmt: skip
        seen: dict[tuple[str, ...], int] = {}
        for place, key in zip(places, zip(*levels, strict=True), strict=False):
            if key in seen:
                msg = (
                    f"{what}: {word} {seen[key] + 1} and {place + 1} both have the {one} "
                    f"{' / '.join(dict.fromkeys(key))!r}; give each a {one} of its own"
                )
                raise InputError(msg)
            seen[key] = place


def _indents(rows: Sequence[Sequence[Any]], shape: _Shape, labels: Sequence[str]) -> dict[str, int]:
    """How far the labels of rows are indented by leading blanks; empty if none is."""
    depths: dict[str, int] = {}
    for i, label in zip(shape.body, labels, strict=True):
        raw = next((str(x) for x in rows[i][: shape.labels] if sign_of(x)), "")
        depths.setdefault(label, len(raw) - len(raw.lstrip()))
    return depths if len({*depths.values()}) > 1 else {}


def _rows(rows: Sequence[int]) -> str:
    if len(rows) == 1:
        return f"row {rows[0] + 1}"
    return f"rows {rows[0] + 1} to {rows[-1] + 1}"


def _are(rows: Sequence[int]) -> str:
    return "is" if len(rows) == 1 else "are"


def _have(rows: Sequence[int]) -> str:
    return "has" if len(rows) == 1 else "have"
