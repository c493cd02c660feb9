"""Cross tables as people print them: titles, header rows, row labels, numbers, footnotes.

A grid is what a sheet or a text file holds, row by row. It becomes a list of cells, one row each,
with what was recognised in words, so that it can be said before anything is done with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from csp.errors import InputError, argument
from csp.published.entries import sign_of
from csp.published.grids.asides import left_aside, with_flags_beside
from csp.published.grids.heads import are_years, lone_units
from csp.published.grids.kinds import Kinds, is_number, is_source
from csp.published.grids.labels import plain_label, row_labels
from csp.published.grids.layout import (
    Shape,
    check_none_beside,
    check_one_table,
    row_names,
    shape_of,
    without_column_numbers,
)  # fmt: skip
from csp.published.grids.margins import without_margins
from csp.published.grids.measures import may_be_averages, never_adds_up
from csp.published.names import FLAGS, VALUES, are_flags
from csp.published.sums.of_which import are_of_which, is_of_which
from csp.published.sums.structure import Printed
from csp.tables.hierarchies.totals import is_total

_TELLING = frozenset(VALUES) - {"n", "count", "emp"}
"""Names that no column of a cross table has."""


_LOOKED_AT = 5000
"""Rows that tell a list from a cross table."""


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


def is_list(rows: Sequence[Sequence[Any]], signs: Collection[str] = ()) -> bool:
    """Whether a grid is a list with names of columns in row 1, and not a cross table.

    A list has a column whose name says that it holds values or flags, or one column of numbers and
    signs at most, or codes that come back; a cross table has several columns of numbers, with a
    total among their names or row labels that do not come back.
    """
    rows, _ = without_margins(rows)
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
    flags = [j for j, name in enumerate(head) if are_flags(name)]
    if flags and not any(
        is_number(sign_of(row[j])) for row in rows[1:] for j in flags if j < len(row)
    ):
        return True
    if len(head) == 2:  # either way it is one column of cells
        indented = any(isinstance(row[0], str) and row[0][:1].isspace() for row in rows if row)
        return not any(map(is_number, head)) and not indented
    texts, _ = without_column_numbers(
        [[sign_of(item) for item in row] for row in rows[:_LOOKED_AT]]
    )
    body = [
        row for row in texts[1:]
        if sum(map(bool, row)) > 1 and not is_source(row) and row != head  # printed again
    ]  # fmt: skip
    columns = [[row[j] if j < len(row) else "" for row in body] for j in range(len(head))]
    kinds = Kinds.of(texts, signs)
    cells = [
        j for j, column in enumerate(columns)
        if j and any(column) and "text" not in {kinds.kind(t) for t in column}
    ]  # fmt: skip
    full = [
        j for j, column in enumerate(columns) if j and 2 * sum(map(is_number, column)) > len(body)
    ]
    if len(full) > 1 and any(all(kinds.kind(c[i]) == "text" for c in (columns[j] for j in full))
                             for i in range(len(body))):  # fmt: skip
        return False  # a second header
    labels = [*zip(*columns[: cells[0] if cells else 1], strict=True)]
    if not (rows[1] and sign_of(rows[1][0])) and sum(kinds.kind(t) == "text" for t in texts[1]) > 0:
        return False  # units below the header
    if len(cells) > 1 and any(map(is_number, head)):
        return False
    if cells and not all(map(all, labels)):  # a label that stands once for several rows
        return len(cells) == 1 < cells[0] != len(head) - 1
    if len(cells) <= 1:
        return True
    if any(map(is_total, head)):
        return False
    # Row labels of a cross table do not come back; codes of a list do.
    return len({*labels}) < len(labels)


def read_grid(
    rows: Sequence[Sequence[Any]], what: str, signs: Collection[str] = (),
    value: Sequence[str] = (),
) -> CrossGrid:  # fmt: skip
    """Recognise a cross table.

    Parameters
    ----------
    rows : sequence of sequence
        Entries; None or "" where there is none. Leading blanks of row labels are indents.
    what : str
        What it is, for messages: a file and its sheet.
    signs : collection of str
        What stands for numbers here. Without it letters are labels, but for x and those that stand
        among numbers.
    value : sequence of str
        Headers of the columns of the cells; all that may add up, if none is named.

    Raises
    ------
    InputError
        If no block of numbers is found (what was looked for is said), a header or label is missing,
        two rows or columns have the same labels (places named), a second table follows, or it is
        not clear whether a column adds up.
    """
    rows, columns = without_margins(rows)
    texts = [[sign_of(item) for item in row] for row in rows]
    texts, told = without_column_numbers(texts)
    kinds = Kinds.of(texts, signs)
    check_none_beside(texts, columns, kinds, what)
    shape = replace(shape_of(texts, what, kinds), columns=columns)
    again = check_one_table(texts, shape, kinds, what)
    if again:
        told.append(f"{_listed(again)} {'repeats' if len(again) == 1 else 'repeat'} the header")
        shape = replace(shape, body=[i for i in shape.body if i not in again])
    texts, flags = with_flags_beside(texts, shape, kinds)
    holding = [j for j in flags if any(j < len(texts[i]) and texts[i][j] for i in shape.body)]
    if holding:
        which = _columns([shape.column(j) for j in holding])
        hold = "holds" if len(holding) == 1 else "hold"
        told.append(f"{which} without header {hold} signs of the column before")
    head, across, numbers = _header(texts, shape, what, flags)
    steps = [code for code in dict.fromkeys(across[-1]) if code]
    if all(map(str.isdecimal, steps)) and not are_years(steps, "year"):
        told.append(f"row {shape.header[-1] + 1} is read as a header: {', '.join(steps[:8])}")
    labels = row_labels(rows, texts, shape, head, again, what)
    told += labels.told
    aside = left_aside(texts, shape, labels.down, across, numbers, value, what)
    told += aside.told
    body = [i for k, i in enumerate(shape.body) if k not in aside.rows]
    down = [[code for k, code in enumerate(level) if k not in aside.rows] for level in labels.down]
    kept = [k for k, j in enumerate(numbers) if j not in aside.columns]
    numbers = [numbers[k] for k in kept]
    named = [shape.column(j) for j in numbers]
    across = _with_words([[level[k] for k in kept] for level in across], named, what)
    across = [level for level in across if len({*level}) > 1] or across[-1:]
    _check_repeats(down, across, [i + 1 for i in body], named, what)
    down, above = _merged(down)
    across, beyond = _merged(across)
    names = _named(labels.names[-len(down) :], labels.names[0], len(across))
    levels = [[level[i] for i in range(len(body)) for _ in numbers] for level in down]
    levels += [level * len(body) for level in across]
    codes = dict(zip(names, levels, strict=True))
    parents = {
        name: tree for name, tree in zip(names, [*above, *beyond], strict=True) if tree
    }  # fmt: skip
    last = names[len(down) - 1]
    ends = {last: frozenset(labels.parents.values())} if labels.parents else {}
    parents |= {last: labels.parents} if labels.parents else {}
    entries, places = [], []
    for i in body:
        for j in numbers:
            entries.append(texts[i][j] if j < len(texts[i]) else "")
            places.append((i + 1, shape.column(j)))
    said = ", ".join(f"{name} ({len(dict.fromkeys(codes[name]))} codes)" for name in names)
    first = (
        f"a cross table in rows {shape.body[0] + 1} to {shape.body[-1] + 1}, below "
        f"{len(shape.header)} header {'row' if len(shape.header) == 1 else 'rows'}: {said}"
    )
    left = [i for i in range(shape.body[-1] + 1, len(texts)) if any(texts[i])]
    if left:
        told.append(f"{row_names(left)} below the table {_are(left)} left out as footnotes")
    if labels.inside:
        told.append(
            f"{row_names(labels.inside)} within the table {_have(labels.inside)} no numbers and "
            f"{_are(labels.inside)} left out"
        )
    depths = labels.indents if len(labels.indents) == len(down) else labels.indents[-1:]
    # Of levels that were merged, those of the last one count.
    levels_of = zip(names[: len(down)][::-1], above[::-1], depths[::-1], strict=False)
    indents = {name: deep for name, tree, deep in levels_of if deep and not tree}
    return CrossGrid(
        tuple(names), codes, entries, places, Printed(indents, parents, ends), (first, *told)
    )


def _with_words(
    levels: Sequence[Sequence[str]], numbers: Sequence[int], what: str
) -> list[list[str]]:
    """Put "of which" above some headers before each of them; it stands below what is before it.

    `numbers` are those of the columns, for messages.

    Raises
    ------
    InputError
        If what is before it is divided itself: the parts may be of that, or of all.
    """
    found = [list(level) for level in levels]
    for outer, inner in pairwise(found):
        whole = ""
        for j, code in enumerate(outer):
            if not are_of_which(code):
                whole = code
            elif whole:
                inside = [inner[k] for k in range(j) if outer[k] == whole]
                if len({one for one in inside if not is_of_which(one)}) > 1:
                    others = [c for c in dict.fromkeys(levels[0]) if not are_of_which(c)]
                    msg = (
                        f"{what}, column {numbers[j]}: {code!r} stands behind {whole!r}, which "
                        "is divided, so it is not clear what these are parts of; put them right "
                        "behind the column that they are a part of, or name the other columns with "
                        + argument("value", ",".join(others))
                    )
                    raise InputError(msg)
                outer[j] = whole
                inner[j] = f"{code.rstrip(' .:')} {inner[j]}" if inner[j] != code else code
    return found


def _merged(levels: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[dict[str, str]]]:
    """Join levels of headings that are nested: what is under a heading is under no other one.

    A heading without a level below it, or with the name of a total there, stands for itself. What
    comes back under several headings is a dimension of its own.
    """
    kept: list[list[str]] = [list(levels[0])]
    trees: list[dict[str, str]] = [{}]
    for level in levels[1:]:
        outer = kept[-1]
        if len({*zip(outer, level, strict=True)}) == len({*outer}):
            continue  # one each, such as units: it adds nothing
        under: dict[str, set[str]] = {}
        for above, code in zip(outer, level, strict=True):
            if code != above and not is_total(code):
                under.setdefault(code, set()).add(above)
        nested = all(len(found) == 1 for found in under.values()) and bool(under)
        nested = nested and not {*under} & {*outer}
        if nested:
            # A heading with one label below it, such as a unit, keeps its name.
            below: dict[str, set[str]] = {}
            for above, code in zip(outer, level, strict=True):
                below.setdefault(above, set()).add(code)
            under = {c: found for c, found in under.items() if len(below[next(iter(found))]) > 1}
            trees[-1] |= {code: next(iter(found)) for code, found in under.items()}
            kept[-1] = [c if c in under else a for a, c in zip(outer, level, strict=True)]
        else:
            kept.append(list(level))
            trees.append({})
    return kept, trees


def _header(
    texts: Sequence[Sequence[str]], shape: Shape, what: str, flags: Collection[int]
) -> tuple[list[list[str]], list[list[str]], list[int]]:
    """Header rows, the codes of each level over each column of numbers, and these columns."""
    units = [
        i for i in lone_units(texts, [*shape.header], shape.body, shape.labels)
        if not never_adds_up(texts[i]) and not may_be_averages(texts[i])
    ]  # fmt: skip
    head = [
        [*texts[i], *[""] * (shape.width - len(texts[i]))] for i in shape.header if i not in units
    ]
    if not head:
        row = texts[shape.body[0]]
        first = next((text for text in row[1:] if is_number(text)), "1")
        msg = (
            f"{what}, row {shape.body[0] + 1}: numbers without a header above them; if this row is "
            f"the header, put a word into each of its entries, such as {f'{first} persons'!r} or "
            f"{f'year {first}'!r}; if not, put a row of names above it"
        )
        raise InputError(msg)
    numbers = [j for j in range(shape.labels, shape.width) if j not in flags]
    levels: list[list[str]] = []
    for depth, row in enumerate(head):
        filled, last = [], ""
        for j in numbers:
            # A heading goes on to the right until the next one, or until one above it begins.
            begins = any(head[above][j] for above in range(depth))
            last = plain_label(row[j]) or ("" if begins else last)
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
            f"{what}: column {shape.column(numbers[bare[0]])} has numbers, but no header in "
            f"{row_names([*shape.header])}"
        )
        raise InputError(msg)
    return head, levels, numbers


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
    down: Sequence[Sequence[str]], across: Sequence[Sequence[str]], body: Sequence[int],
    numbers: Sequence[int], what: str,
) -> None:  # fmt: skip
    for levels, places, word, one in (
        (down, body, "rows", "label"), (across, numbers, "columns", "header"),
    ):  # fmt: skip
        seen: dict[tuple[str, ...], int] = {}
        for place, key in zip(places, zip(*levels, strict=True), strict=False):
            if key in seen:
                msg = (
                    f"{what}: {word} {seen[key]} and {place} both have the {one} "
                    f"{' / '.join(dict.fromkeys(key))!r}; give each a {one} of its own"
                )
                raise InputError(msg)
            seen[key] = place


def _listed(rows: Sequence[int]) -> str:
    word = "row" if len(rows) == 1 else "rows"
    return f"{word} {', '.join(str(i + 1) for i in rows)}"


def _columns(columns: Sequence[int]) -> str:
    word = "column" if len(columns) == 1 else "columns"
    return f"{word} {', '.join(map(str, columns))}"


def _are(rows: Sequence[int]) -> str:
    return "is" if len(rows) == 1 else "are"


def _have(rows: Sequence[int]) -> str:
    return "has" if len(rows) == 1 else "have"
