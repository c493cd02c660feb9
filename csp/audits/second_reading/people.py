"""Who contributes what to which cell: records, or rows of cells, read as their user means them.

Nothing here is shared with `csp.tables`: columns, codes, hierarchies, empty cells and contributors
are read from the file once more, one record after another, in whole numbers of a decimal unit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Any
from unicodedata import normalize

from csp.audits.second_reading.meaning import (
    LISTED,
    Cell,
    Columns,
    Label,
    Reading,
    Side,
)
from csp.errors import InputError

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?", re.ASCII)

MOST_LISTED = 100
"""Largest contributions that are kept of a cell: no rule asks for more."""


def read(records: Any, columns: Columns) -> Reading:
    """Read a file once more.

    Parameters
    ----------
    records : mapping of columns, or data frame
    columns : Columns

    Raises
    ------
    InputError
        For columns that are not there, entries that are missing or not numbers, codes that are not
        in their hierarchy, contributors of two weights, and cells that contradict themselves or
        do not add up.
    """
    wanted = [
        *columns.names, columns.value, columns.contributor, columns.weight, columns.shadow,
        columns.count, *columns.top,
    ]  # fmt: skip
    data: dict[str, list[Any]] = {}
    for name in wanted:
        if name is not None:
            try:
                data[name] = list(records[name])
            except (KeyError, IndexError) as error:
                msg = f"the records have no column {name!r}"
                raise InputError(msg) from error
    if not data or not next(iter(data.values())):
        msg = "there are no records"
        raise InputError(msg)
    labels = _labels(data, columns)
    children, codes = _trees(labels, columns)
    if columns.missing_values == "drop":
        labels, data = _answered(labels, data, columns)
    scale, seen, numbers = _units(data, columns)
    if columns.rows == "cells":
        cells = _rows(labels, numbers, (scale, seen), columns)
    else:
        leaves = {n: {c for c in codes[n] if not any(t.get(c) for t in children[n])} for n in codes}
        for row, label in enumerate(labels, start=1):
            for name, code in zip(columns.names, label, strict=True):
                if code not in leaves[name]:
                    msg = f"row {row}: code {code!r} of {name!r} is not at its lowest level"
                    raise InputError(msg)
        cells = _added_up(labels, data, numbers, (scale, seen), columns, codes)
    reading = Reading(columns, scale, cells, codes, children, seen)
    if columns.rows == "cells":
        return _with_margins(reading)
    return reading


def _text(entry: Any) -> str:
    """Return a code without blanks around it; "" if it is missing."""
    if isinstance(entry, str):
        return normalize("NFC", entry.strip())
    if isinstance(entry, datetime) and entry == datetime(entry.year, entry.month, entry.day):
        return str(entry)[:10]
    text = str(entry)
    if entry is None or text in ("nan", "NaN", "<NA>", "NaT"):
        return ""
    return text.removesuffix(".0") if isinstance(entry, float) else text


def _labels(data: Mapping[str, list[Any]], columns: Columns) -> list[Label]:
    """Codes of each row as texts; a missing one is that of `missing`."""
    texts = []
    for name in columns.names:
        column = []
        for row, code in enumerate(data[name], start=1):
            text = _text(code) or columns.missing
            if text is None:
                msg = f"row {row}: the code of {name!r} is missing"
                raise InputError(msg)
            column.append(text)
        texts.append(column)
    return list(zip(*texts, strict=True))


def _trees(labels: Sequence[Label], columns: Columns) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parts of each code, a mapping for each hierarchy; and all codes above each code."""
    children: dict[str, Any] = {}
    codes: dict[str, Any] = {}
    for at, name in enumerate(columns.names):
        root = columns.root(name)
        seen = {label[at] for label in labels} - {root}
        given = (columns.hierarchies or {}).get(name) or [dict.fromkeys(sorted(seen), root)]
        above: dict[str, set[str]] = {root: {root}}
        children[name] = []
        for parents in given:
            full = {_text(c): _text(p) or root for c, p in parents.items() if _text(c) != root}
            full |= {p: root for p in full.values() if p not in full and p != root}
            tree: dict[str, list[str]] = {}
            for code in full:
                tree.setdefault(full[code], []).append(code)
                line = [code]
                while line[-1] != root:
                    if len(line) > len(full) + 1:
                        msg = f"the hierarchy of {name!r} runs in a circle at {code!r}"
                        raise InputError(msg)
                    line.append(full[line[-1]])
                above.setdefault(code, set()).update(line)
            unknown = seen - set(full)
            if unknown and columns.rows == "records":
                msg = f"code {min(unknown)!r} of {name!r} is not in its hierarchy"
                raise InputError(msg)
            children[name].append(tree)
        codes[name] = {code: frozenset(line) for code, line in above.items()}
    return children, codes


def _answered(
    labels: Sequence[Label], data: Mapping[str, list[Any]], columns: Columns
) -> tuple[list[Label], dict[str, list[Any]]]:
    """Keep the records that have a number in value and shadow."""
    asked = [name for name in (columns.value, columns.shadow) if name is not None]
    gaps = {"", "na", "null", "none", "nan"}
    kept = [
        row
        for row in range(len(labels))
        if all(_text(data[name][row]).lower() not in gaps for name in asked)
    ]
    if not kept:
        msg = f"no record has a number in {asked[0]!r}"
        raise InputError(msg)
    return [labels[row] for row in kept], {n: [c[row] for row in kept] for n, c in data.items()}


def _number(entry: Any, name: str, row: int) -> Fraction:
    text = str(entry).strip()
    if not _NUMBER.fullmatch(text):
        msg = f"row {row}: the entry of {name!r} is missing, or not a number"
        raise InputError(msg)
    return Fraction(text)


def _places(numbers: Iterable[Fraction]) -> int:
    """Fewest decimal places at which all of these are whole."""
    places = 0
    for number in numbers:
        while 10**places % number.denominator:
            places += 1
            if places > 18:
                msg = "a number has more than 18 decimal places; round the data"
                raise InputError(msg)
    return places


def _units(
    data: Mapping[str, list[Any]], columns: Columns
) -> tuple[int, int, dict[str, list[Fraction]]]:
    """Decimal places of a cell and of contributions to it, and the numbers of each column.

    A shadow is a variable of its own, with decimals of its own.
    """
    asked = [columns.value, columns.weight, columns.shadow, columns.count, *columns.top]
    numbers = {
        name: [_number(entry, name, row) for row, entry in enumerate(data[name], start=1)]
        for name in asked
        if name is not None
    }
    if columns.round and columns.decimals is not None:
        unit = 10**columns.decimals
        for name in (columns.value, columns.shadow, *columns.top):
            if name is not None:
                numbers[name] = [Fraction(round(v * unit), unit) for v in numbers[name]]
    own = [*columns.top] if columns.shadow is None else []
    measures = [name for name in (columns.value, *own) if name is not None]
    if columns.decimals is None:
        places = _places(v for name in measures for v in numbers[name])
    else:
        places = columns.decimals
        for name in measures:
            column = [Fraction(round(v * 10**places), 10**places) for v in numbers[name]]
            pairs = zip(column, numbers[name], strict=True)
            if any(abs(a - b) * 10**9 > abs(a) + 1 for a, b in pairs):
                msg = f"a number of {name!r} has more than {places} decimal places"
                raise InputError(msg)
            numbers[name] = column
    seen = places
    if columns.shadow is not None:
        seen = _places(v for name in (columns.shadow, *columns.top) for v in numbers[name])
    if columns.weight is not None:
        if any(w <= 0 for w in numbers[columns.weight]):
            msg = f"a weight in {columns.weight!r} is not positive"
            raise InputError(msg)
        more = _places(numbers[columns.weight])
        places, seen = places + more, seen + more
    return places, seen, numbers


def _whole(number: Fraction | int, scale: int) -> int:
    unit, rest = divmod(10**scale, number.denominator)
    assert not rest
    return int(number.numerator * unit)


# ---- records -------------------------------------------------------------------------------------


def _added_up(
    labels: Sequence[Label],
    data: Mapping[str, list[Any]],
    numbers: Mapping[str, list[Fraction]],
    scales: tuple[int, int],
    columns: Columns,
    codes: Mapping[str, Mapping[str, frozenset[str]]],
) -> dict[Label, Cell]:
    """Cells of records: each record counts in every cell above it, in each table.

    Values are whole numbers of the unit of a cell, and contributions of theirs: a weight makes
    fractions of them, and none of their sums.
    """
    n, (scale, own_scale) = len(labels), scales
    ones = [Fraction(1)] * n
    given = ones if columns.value is None else numbers[columns.value]
    judged = given if columns.shadow is None else numbers[columns.shadow]
    value, seen = [_whole(v, scale) for v in given], [_whole(v, own_scale) for v in judged]
    weight: Sequence[Fraction | int] = [1] * n
    if columns.weight is not None:
        weight = numbers[columns.weight]
    # Without the column every record has an identity of its own, in all tables.
    who = list(range(n)) if columns.contributor is None else data[columns.contributor]
    if columns.contributor is not None:
        who = [_text(one) for one in who]
        if "" in who:
            msg = f"row {who.index('') + 1}: the entry of {columns.contributor!r} is missing"
            raise InputError(msg)
    weights: dict[object, Fraction | int] = {}
    for row, (one, w) in enumerate(zip(who, weight, strict=True), start=1):
        if weights.setdefault(one, w) != w:
            msg = f"row {row}: its contributor has another weight in an earlier row"
            raise InputError(msg)
    values: dict[Label, Fraction | int] = {}
    parts: dict[Label, dict[object, int]] = {}
    for row, label in enumerate(labels):
        if columns.negative == "error" and (value[row] < 0 or seen[row] < 0):
            msg = f"row {row + 1}: the value is negative; say how negative values are meant"
            raise InputError(msg)
        for above in set(_above(label, columns, codes)):
            values[above] = values.get(above, 0) + value[row] * weight[row]
            own = parts.setdefault(above, {})
            own[who[row]] = own.get(who[row], 0) + seen[row]
    shift = 0
    if columns.negative == "shift":  # by one amount in all cells of all tables
        shift = min(shift, *(x for own in parts.values() for x in own.values()))
    return {
        label: _cell(values[label], own, weights, columns, shift) for label, own in parts.items()
    }


def _above(
    label: Label, columns: Columns, codes: Mapping[str, Mapping[str, frozenset[str]]]
) -> Iterator[Label]:
    """Cells of all tables that a record belongs to."""
    for table in columns.by:
        yield from itertools.product(
            *(
                codes[name][code] if name in table else (columns.root(name),)
                for name, code in zip(columns.names, label, strict=True)
            )
        )


def _cell(
    value: Fraction | int,
    parts: Mapping[object, int],
    weights: Mapping[object, Fraction | int],
    columns: Columns,
    shift: int,
) -> Cell:
    """One cell; under sampling weights a contribution stands as often as its weight says."""
    if columns.negative == "split":
        groups = [
            {who: x for who, x in parts.items() if x >= 0},
            {who: -x for who, x in parts.items() if x < 0},
        ]
    elif columns.negative == "abs":
        groups = [{who: abs(x) for who, x in parts.items()}]
    else:
        groups = [{who: x - shift for who, x in parts.items()}]
    sides, people, named = [], [], set()
    for group in groups:
        order = sorted(group, key=lambda who: (-group[who], str(who)))
        listed = [
            who for who in order[:MOST_LISTED]
            for _ in range(min(_rounded(weights[who]), MOST_LISTED))
        ][:MOST_LISTED]  # fmt: skip
        total = sum(group[who] * weights[who] for who in group)
        sides.append(Side(_whole(total, 0), tuple(group[w] for w in listed)))
        people.append(order)
        named |= set(listed[:LISTED])
    everyone = tuple(itertools.chain.from_iterable(people))
    stands = sum(weights[who] for who in parts)
    return Cell(
        _whole(value, 0), len(parts), tuple(sides), everyone, frozenset(named),
        None if columns.weight is None else _rounded(stands),
    )  # fmt: skip


def _rounded(weight: Fraction | int) -> int:
    return max(1, int((2 * weight + 1) // 2))


# ---- one row per cell ----------------------------------------------------------------------------


def _rows(
    labels: Sequence[Label],
    numbers: Mapping[str, list[Fraction]],
    scales: tuple[int, int],
    columns: Columns,
) -> dict[Label, Cell]:
    """Cells as they stand in their rows."""
    assert columns.value is not None
    scale, own = scales
    cells: dict[Label, Cell] = {}
    for row, label in enumerate(labels):
        value = numbers[columns.value][row]
        seen = value if columns.shadow is None else numbers[columns.shadow][row]
        where = f"row {row + 1}"
        count = None
        if columns.count is not None:
            number = numbers[columns.count][row]
            if number.denominator != 1 or number < 0:
                msg = f"{where}: a number of contributors is a whole number of at least 0"
                raise InputError(msg)
            count = number.numerator
        top = tuple(_whole(numbers[name][row], own) for name in columns.top)
        total = _whole(seen, own)
        wrong = _contradiction(count, total, top)
        if count == 0 and value != 0:
            wrong = "the cell has a value and no contributor"
        if label in cells:
            wrong = f"cell ({', '.join(label)}) has a row already"
        if wrong:
            msg = f"{where}: {wrong}; correct the row"
            raise InputError(msg)
        sides = (Side(total, top),) if top else ()
        if count is None and top and sum(top) == total and 0 in top:
            count = sum(x > 0 for x in top)  # all of them are listed
        cells[label] = Cell(_whole(value, scale), count, sides)
    return cells


def _contradiction(count: int | None, total: int, top: Sequence[int]) -> str:
    """Say how the numbers of a row contradict each other; "" if they do not."""
    if count == 0 and (total or any(top)):
        return "the cell has a value and no contributor"
    if list(top) != sorted(top, reverse=True) or any(x < 0 for x in top):
        return "its largest contributions are not in descending order, or negative"
    if sum(top) > total and top:
        return "its largest contributions add up to more than its value"
    if count is not None and top and sum(x > 0 for x in top) > count:
        return "it has more contributions than contributors"
    if count is not None and 0 < count <= len(top) and sum(top) != total:
        return "all of its contributors are listed, and add up to less than its value"
    return ""


def _with_margins(reading: Reading) -> Reading:
    """Add up the margins of one table where they have no rows."""
    columns, cells = reading.columns, dict(reading.cells)
    if len(columns.by) > 1:
        return reading
    sums: dict[Label, int] = {}
    for label, cell in cells.items():
        place = zip(columns.names, label, strict=True)
        if not any(tree.get(code) for name, code in place for tree in reading.children[name]):
            for above in set(_above(label, columns, reading.codes)):
                sums[above] = sums.get(above, 0) + cell.value
    for label, value in sums.items():
        if label not in cells:
            cells[label] = Cell(value, value if columns.counts else None, ())
    return replace(reading, cells=cells)
