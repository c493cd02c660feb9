"""Cells of a cross table of true values: each has one, or is the sum of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, Bools, Ints, most_text
from csp.published.cells import Published, published_cells
from csp.published.door import with_places
from csp.published.entries import Convention, Entry, convention_of, read_entry, sign_of
from csp.published.grids.grid import CrossGrid
from csp.published.grids.heads import are_years
from csp.published.told import Told
from csp.tables.codes import Labels, cell_name
from csp.tables.hierarchies.totals import DEFAULT, is_total

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_NIL = frozenset("-\u2013\u2014\u2212")
"""Signs for exactly nothing, in every office's tables of its own."""


class UnclearMark(InputError):
    """A mark in numbers may be decimal or separate thousands."""


def plain_numbers(
    rows: Sequence[Sequence[Any]], grid: CrossGrid, decimal: str | None, decimals: int | None,
    *, rounded: bool,
) -> list[str]:  # fmt: skip
    """Entries as plain decimal texts, "" where a cell is empty.

    Parameters
    ----------
    rows : sequence of sequence
        Those that the grid was read of.
    grid : CrossGrid
    decimal : {".", ","}, optional
        Decimal mark of numbers that are text.
    decimals : int, optional
        Decimal places that a number may have.
    rounded : bool
        Whether others are rounded to these.

    Raises
    ------
    InputError
        For the first entry that is neither a number nor empty nor nil (row and column named).
    """
    items = [_at(rows, place) for place in grid.places]
    printed = [sign_of(item) for item in items if isinstance(item, str)]
    try:
        convention = convention_of(printed, decimal)
    except InputError as error:
        said = str(error)
        first = next(i for i, item in enumerate(items) if item and repr(sign_of(item)) in said)
        msg = f"{_place(grid, first)}: {error.template}"
        raise UnclearMark(msg) from error
    read: dict[Any, Entry] = {}
    found: list[str] = []
    strange: list[int] = []
    for i, item in enumerate(items):
        text, is_text = sign_of(item), isinstance(item, str)
        if (text, is_text) not in read:
            # Numbers that are not text have points, whatever the texts beside them have.
            read[text, is_text] = read_entry(text, convention if is_text else Convention())
        entry = read[text, is_text]
        if entry.is_number and entry.low is not None:
            kept = _kept(entry.low, decimals, rounded=rounded)
            if kept is None:
                msg = (
                    f"{_place(grid, i)}: the number has more than {decimals} decimal places; round "
                    f"it, raise {argument('decimals')}, or say {phrase('round=True', '--round')}"
                )
                raise InputError(msg)
            found.append(f"{kept:f}")
            continue
        if text and text not in _NIL:
            strange.append(i)
        found.append("0" if text else "")
    if strange:
        first, more = strange[0], f" ({len(strange)} such cells)" if len(strange) > 1 else ""
        msg = (
            f"{_place(grid, first)}: {sign_of(items[first])!r} is not a number{more}; put the true "
            "value there. A table of which cells are withheld already can be audited, and not "
            "protected"
        )
        raise InputError(msg)
    return found


def _kept(number: Decimal, decimals: int | None, *, rounded: bool) -> Decimal | None:
    """Return a number with as many decimals as are stated; None if it has more."""
    if decimals is None:
        return number
    kept = number.quantize(Decimal(1).scaleb(-decimals))
    return kept if rounded or kept == number else None


def _at(rows: Sequence[Sequence[Any]], place: tuple[int, int]) -> Any:
    row = rows[place[0] - 1]
    return row[place[1] - 1] if place[1] <= len(row) else None


def _place(grid: CrossGrid, i: int) -> str:
    row, column = grid.places[i]
    return f"row {row}, column {column}"


# ---- totals --------------------------------------------------------------------------------------


def with_totals(
    grid: CrossGrid, entries: Sequence[str], told: Told
) -> tuple[Published, tuple[str, ...]]:
    """Cells of a grid, those of totals that are to be computed among them, and what was added.

    A total that is named and not there is added. Where no dimension has one, all get one, but for
    years: a table without any was not meant to be published without.

    Raises
    ------
    InputError
        As `csp.published.cells.published_cells`, and for a dimension that is not there.
    """
    codes = {name: tuple(dict.fromkeys(grid.columns[name])) for name in grid.names}
    told.check_dimensions(grid.names)
    named = told.total if isinstance(told.total, Mapping) else {}
    added = {name: code for name, code in named.items() if code not in codes[name]}
    if added:
        kept = {name: code for name, code in named.items() if name not in added}
        told = replace(told, total=kept or None)
    made = _published(grid, entries, told)
    if not added and not made.rests_from:
        code = told.total if isinstance(told.total, str) else DEFAULT
        added = {
            name: code for name in grid.names
            if not are_years(codes[name], "year") and not any(map(is_total, codes[name]))
        }  # fmt: skip
    if not added:
        return made, ()
    roots = {name: code for name, code in zip(made.names, made.roots, strict=True) if code}
    grid, entries = _extended(grid, entries, added)
    return _published(grid, entries, replace(told, total=roots | added)), tuple(added)


def _published(grid: CrossGrid, entries: Sequence[str], told: Told) -> Published:
    told = replace(told, decimal=".", tolerance=0, exact=True)
    try:
        return published_cells(grid.columns, grid.names, entries, told, printed=grid.printed)
    except InputError as error:
        raise InputError(with_places(grid, error.template)) from error


def _extended(
    grid: CrossGrid, entries: Sequence[str], added: Mapping[str, str]
) -> tuple[CrossGrid, list[str]]:
    """Add the cells of totals along some dimensions, empty as yet."""
    columns = {name: list(grid.columns[name]) for name in grid.names}
    entries, places = list(entries), list(grid.places)
    for name, code in added.items():
        others = [other for other in grid.names if other != name]
        rows = zip(*(columns[other] for other in others), strict=True) if others else [()]
        for line in list(dict.fromkeys(rows)):
            for other, one in zip(others, line, strict=True):
                columns[other].append(one)
            columns[name].append(code)
            entries.append("")
            places.append((0, 0))
    return replace(grid, columns=columns, places=places), entries


# ---- values --------------------------------------------------------------------------------------


def filled(made: Published, grid: CrossGrid, absent: str) -> tuple[Ints, int]:
    """Values of all cells in units, and how many empty ones are 0.

    Totals without a number are computed.

    Parameters
    ----------
    made : Published
        Its hidden cells are those without a number.
    grid : CrossGrid
        For the places of cells in messages.
    absent : {"error", "zero"}
        Empty cells that are not totals are 0 with "zero", and where the totals show it: a sum of
        non-negative numbers that is full without them.

    Raises
    ------
    InputError
        If others are left.
    """
    values, known = made.values, ~made.hidden
    above, _ = _sides(_tree(made))
    gaps = ~known
    gaps[above] = False
    for d, one in made.rests:
        gaps[made.labels.codes[:, d] == one.rest] = False
    if gaps.any() and absent == "error":
        found = _with_zeros(values, known, made) if (values >= 0).all() else known
        left = np.flatnonzero(gaps & ~found)
        if len(left):
            raise InputError(_empty(made, grid, left))
    known |= gaps
    return _with_rests(_computed(values, known, made), made), int(gaps.sum())


def _with_zeros(values: Ints, known: Bools, made: Published) -> Bools:
    """Cells that are known, and those that are 0 since a sum is full without them."""
    above, parts = _sides(made.relations)
    while True:
        full = known[above] & (parts @ np.where(known, values, 0) == values[above])
        zero = ((parts.T @ full.astype(np.int64)) > 0) & ~known
        if not zero.any():
            return known
        known = known | zero


def added_up(values: Ints, made: Published, slack: Fraction) -> Ints:
    """Values with the sums of their parts as totals, if none is off by more than `slack` units."""
    above, _ = _sides(_tree(made))
    known = np.ones(len(values), bool)
    known[above] = False
    sums = _with_rests(_computed(np.where(known, values, 0), known, made), made)
    return values if (np.abs(sums - values) > slack).any() else sums


def _computed(values: Ints, known: Bools, made: Published) -> Ints:
    """Values of totals that are not known, as soon as all of their parts are."""
    above, parts = _sides(_tree(made))
    values, known = values.copy(), known.copy()
    while True:
        open_ = np.flatnonzero(~known[above])
        ready = open_[(parts[open_] @ (~known).astype(np.int64)) == 0]
        if not len(ready):
            return values
        if float((parts[ready] @ np.abs(values).astype(np.float64)).max()) > MAX_VALUE:
            msg = f"totals may exceed {most_text(made.scale)}; use fewer decimals or a larger unit"
            raise InputError(msg)
        values[above[ready]] = parts[ready] @ values
        known[above[ready]] = True


def _with_rests(values: Ints, made: Published) -> Ints:
    """Values with the rests of parts that are named without the others.

    Raises
    ------
    InputError
        If such a part is larger than its whole.
    """
    if not made.rests:
        return values
    values, labels = values.copy(), made.labels
    # A dimension at a time: lines at the rest of one have rests in another.
    for d, one in made.rests:
        at = [labels.codes[:, k].astype(np.int64) for k in range(len(made.names))]
        rest = np.flatnonzero(at[d] == one.rest)

        def line(code: int, d: int = d, rest: Ints = rest) -> Ints:
            moved = labels.codes[rest].copy()
            moved[:, d] = code
            return labels.places(Labels(moved, labels.categories))

        values[rest] = values[line(one.whole)] - sum(values[line(part)] for part in one.parts)
        if (values[rest] < 0).any() and made.lower.min() >= 0:
            i = int(rest[np.argmin(values[rest])])
            whole, part = (labels.categories[d][c] for c in (one.whole, one.parts[0]))
            where = cell_name(made.names, labels[int(line(one.parts[0])[np.argmin(values[rest])])])
            msg = (
                f"cell {where} is larger than the cell of {whole!r} that it is read as a part of "
                f"(the rest, {labels[i][d]!r}, would be negative); correct it, rename {part!r} if "
                "it is a category of its own, or name the columns of the cells with "
                + argument("value")
            )
            raise InputError(msg)
    return values


def _tree(made: Published) -> csr_array:
    """Leave out the sums of parts that are named without the others."""
    return made.relations[: made.rests_from]


def _sides(relations: csr_array) -> tuple[Ints, csr_array]:
    """Return the total of each relation, and its parts as ones."""
    parts = relations.maximum(0).tocsr()
    return relations.indices[relations.data < 0].astype(np.int64), parts


def _empty(made: Published, grid: CrossGrid, left: Ints) -> str:
    """Say which cells are empty, and how to mend it."""
    label = made.labels[int(left[0])]
    rows = {
        key: i for i, key in enumerate(zip(*(grid.columns[n] for n in grid.names), strict=True))
    }
    where = f"{_place(grid, rows[label])}: " if label in rows else ""
    more = f" ({len(left)} cells are)" if len(left) > 1 else ""
    mend = argument("absent", "zero", option="--absent-zero")
    return (
        f"{where}cell {cell_name(made.names, label)} is empty{more}, and no total shows that it is "
        f"0; fill it, or say that empty cells are 0 with {mend}"
    )
