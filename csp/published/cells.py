"""Cells of a published table: what the public knows of each, and how they add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from csp.errors import InputError, argument
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Ints, exact, most_text
from csp.names.calls import check_choice
from csp.published.entries import convention_of, read_entry, sign_of
from csp.published.marks import check_office
from csp.published.rounding import guessed, told_slack
from csp.published.rows import Rows, alike, plain_item
from csp.published.sums.dimensions import Dimension
from csp.published.sums.of_which import OfWhich
from csp.published.sums.relations import all_cells, rows_of_rests, sums
from csp.published.sums.structure import Cube, Printed, structure
from csp.published.told import Told
from csp.tables.codes import Labels, cell_name, numbered_codes
from csp.tables.units import MAX_DECIMALS

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_CELLS = 20_000_000
"""Cells of a cube up to which rows that are missing are filled in."""


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What the public knows of the cells of a table.

    Attributes
    ----------
    values : (n,) int64
        In units of ``10**-scale``; 0 where `hidden`.
    hidden : (n,) bool
        Cells whose value is not published exactly.
    ranged : (n,) bool
        Those of them that are not withheld: a rounded figure is published, or the print of a cross
        table has no such cell.
    classed : (n,) bool
        Withheld cells of which a range is published.
    empty : (n,) bool
        Cells that are known not to exist.
    unavailable : (n,) bool
        Hidden cells that nobody withholds: their sign says that there is no number, or not yet.
    lower, upper : (n,) int64
        What anybody knows beforehand.
    relations : (m, n) csr_array
    labels : Labels
    names, roots : tuple of str
    scale : int
    counts : (n,) int64 or None
        Published numbers of contributors; -1 where there is none.
    notes : tuple of str
        What was found and not said, and what the reader should know.
    rests : tuple of (int, OfWhich)
        Parts that are named without the others, with their dimension, where no rest is printed.
    rests_from : int
        First of the relations that these make, which are the last.
    of_counts : bool or None
        Whether the cells are numbers of contributors; None where the table does not tell.
    """

    values: Ints
    hidden: Bools
    ranged: Bools
    classed: Bools
    empty: Bools
    unavailable: Bools
    lower: Ints
    upper: Ints
    relations: csr_array
    labels: Labels
    names: tuple[str, ...]
    roots: tuple[str, ...]
    scale: int
    counts: Ints | None
    notes: tuple[str, ...]
    rests: tuple[tuple[int, OfWhich], ...] = ()
    rests_from: int = 0
    of_counts: bool | None = None


def published_cells(
    columns: Mapping[str, Sequence[Any]],
    by: Sequence[str],
    entries: Sequence[Any],
    told: Told,
    *,
    flags: Mapping[str, Sequence[Any]] | None = None,
    bounds: tuple[Sequence[Any] | None, Sequence[Any] | None] = (None, None),
    counts: Sequence[Any] | None = None,
    printed: Printed | None = None,
) -> Published:
    """Read the cells of a published table.

    Parameters
    ----------
    columns : mapping of str to sequence
        Codes of each dimension, one entry for each cell.
    by : sequence of str
        Dimensions.
    entries : sequence
        What stands in each cell: numbers, or texts as they are printed.
    told : Told
    flags : mapping of str to sequence, optional
        Columns of flags beside the entries. A flag that says that the value is withheld counts,
        whatever number stands there.
    bounds : pair of sequence, optional
        Least and largest value of withheld cells, where they are published.
    counts : sequence, optional
        Numbers of contributors, where they are published.
    printed : Printed, optional
        What the print shows of codes.

    Raises
    ------
    InputError
        For entries that are neither numbers nor signs whose meaning is known, codes that are
        missing, cells that occur twice (rows named), ranges that are empty, and hierarchies that
        do not fit.
    """
    check_choice("absent", told.absent, ("withheld", "zero"))
    check_choice("negative", told.negative, ("error", "allow"))
    check_office(told.marks)
    _check_slack(told)
    notes: list[str] = []
    read = Rows.of(entries, flags or {}, told, notes)
    names = tuple(by)
    told.check_dimensions(names)
    pairs = [_codes(columns[name], name) for name in names]
    known = [texts for texts, _ in pairs]
    scale, units = read.units(told)
    base = None if told.rounded is None else exact(told.rounded)
    rounding = told_slack(base, exact(told.tolerance), scale)
    if rounding.finer:
        scale, units = read.units(told, scale + 1)
    slack = rounding.slack
    # Where nothing is withheld, ends beside numbers can only say how these are rounded.
    both = bounds[0] is not None and bounds[1] is not None
    within = both and not read.hidden.any() and told.rounded is None
    low, high = _bounds(read, bounds, scale, told, numbers=within)
    at = np.column_stack([number for _, number in pairs])
    _check_twice(at, known, names)
    cube = Cube(at, tuple(map(len, known)), units, ~read.hidden, slack)
    found = structure(names, known, told, printed or Printed(), cube, notes)
    labels, order = _cells(at, found, told)
    n = len(labels)
    values = np.zeros(n, np.int64)
    hidden = np.full(n, told.absent == "withheld")
    ranged, classed, empty, unavailable = np.zeros((4, n), bool)
    least = -UNBOUNDED if told.negative == "allow" else 0
    lower, upper = np.full(n, least, np.int64), np.full(n, UNBOUNDED, np.int64)
    values[order] = np.where(read.hidden, 0, units)
    hidden[order] = read.hidden
    classed[order], empty[order] = read.classed, read.empty
    unavailable[order] = read.unavailable & ~read.classed
    if printed is not None:  # a cross table has no such cell, so nobody withholds it
        ranged = hidden.copy()
        ranged[order] = False
    rests = tuple(
        (d, one) for d, dimension in enumerate(found) for one in dimension.rests
        if one.rest >= len(known[d])
    )  # fmt: skip
    for d, one in rests:
        ranged |= labels.codes[:, d] == one.rest
    unprinted = int(ranged.sum())
    lower[order] = np.maximum(low, least)
    upper[order] = high
    _check_negative(values, names, labels, told)
    relations = sums(labels.codes, found)
    made = Published(
        values, hidden, ranged, classed, empty, unavailable, lower, upper, relations, labels, names,
        tuple(dimension.root for dimension in found), scale, _counts(counts, order, n, told), (),
        rests, relations.shape[0] - rows_of_rests(labels.codes, found),
    )  # fmt: skip
    if within:
        made = _with_ends(made, order, units, notes)
    if not told.exact:
        made = _with_slack(made, slack, least, told, notes)
    notes += unbound_notes(
        names,
        [n for n, d in zip(names, found, strict=True) if (d.parent < 0).all() and not d.rests],
    )
    absent = n - len(order) - (0 if printed is not None else unprinted)
    if absent and told.absent == "withheld" and printed is None:
        notes.append(
            f"{absent} {'cell has' if absent == 1 else 'cells have'} no row and count as withheld"
        )
    return replace(made, notes=tuple(notes))


def _with_slack(made: Published, slack: int, least: int, told: Told, notes: list[str]) -> Published:
    """Cells with the slack of rounding that was told, or that the digits show."""
    if told.rounded is None and not slack:
        guess = guessed(made.values, made.hidden, made.relations, made.scale)
        fits = int(np.abs(made.values).max(initial=0)) * 10 <= MAX_VALUE
        fits = fits and made.scale < MAX_DECIMALS
        if guess is not None and (fits or not guess.finer):
            slack = guess.slack
            notes.append(guess.note)
            made = _finer(made) if guess.finer else made
    return _rounded(made, slack, least) if slack else made


def _check_negative(values: Ints, names: Sequence[str], labels: Labels, told: Told) -> None:
    if told.negative == "error" and (values < 0).any():
        i = int(np.argmax(values < 0))
        msg = (
            f"cell {cell_name(names, labels[i])} is negative, so cells may be negative here; say "
            f"it with {argument('negative', 'allow')}, or correct the cell"
        )
        raise InputError(msg)


def _check_slack(told: Told) -> None:
    if told.rounded is not None and exact(told.rounded) <= 0:
        msg = f"the base of {argument('rounded')} must be above 0, got {told.rounded}"
        raise InputError(msg)
    if exact(told.tolerance) < 0:
        msg = f"{argument('tolerance')} must be 0 or more, got {told.tolerance}"
        raise InputError(msg)


def unbound_notes(names: Sequence[str], lone: Sequence[str]) -> list[str]:
    """Say which dimensions have no sums."""
    if lone and len(lone) == len(names):
        return ["nothing adds up: no total was found among the codes"]
    if lone:
        return [f"no total was found among the codes of {', '.join(lone)}: they bind nothing"]
    return []


# ---- codes and cells -----------------------------------------------------------------------------


def _codes(column: Sequence[Any], name: str) -> tuple[tuple[str, ...], Ints]:
    """Codes of a column in the order in which they occur, and whose they are."""
    items = np.empty(len(column), dtype=object)
    items[:] = column
    texts, number = numbered_codes(items)
    if "" in texts:
        row = int(np.argmax(number == texts.index(""))) + 1
        msg = f"row {row}: the code in column {name!r} is missing; fill it"
        raise InputError(msg)
    used, first = np.unique(number, return_index=True)
    order = used[np.argsort(first)]
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(order))
    return tuple(texts[i] for i in order.tolist()), rank[number]


def _check_twice(at: Ints, known: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    sizes = tuple(map(len, known))
    one_number = prod(sizes) < 2**62
    key = np.ravel_multi_index(tuple(at.T), sizes) if one_number else at
    _, first, count = np.unique(key, axis=0, return_index=True, return_counts=True)
    if (count > 1).any():
        one = int(first[count > 1].min())
        other = int(np.flatnonzero((at == at[one]).all(axis=1))[1])
        label = [known[d][c] for d, c in enumerate(at[one].tolist())]
        msg = (
            f"rows {one + 1} and {other + 1} are both cell {cell_name(names, label)}; each may "
            "occur once: is a column of codes missing from "
            f"{argument('by')}?"
        )
        raise InputError(msg)


def _cells(at: Ints, found: Sequence[Dimension], told: Told) -> tuple[Labels, Ints]:
    """Cells of the table, and which of them each row is."""
    # Codes of the table come first in each dimension, in their order.
    shape = tuple(len(dimension.codes) for dimension in found)
    if told.absent == "zero":
        labels = Labels(at, [dimension.codes for dimension in found])
        return labels, np.arange(len(at))
    if prod(shape) > MOST_CELLS:
        msg = (
            f"the table has {len(at)} rows, and all combinations of its codes are {prod(shape)} "
            "cells; if what has no row is 0, say it with "
            + argument("absent", "zero", option="--absent-zero")
        )
        raise InputError(msg)
    return all_cells(found), np.ravel_multi_index(tuple(at.T), shape).astype(np.int64)


# ---- what the public knows -----------------------------------------------------------------------


def _bounds(
    read: Rows, bounds: tuple[Sequence[Any] | None, Sequence[Any] | None], scale: int,
    told: Told, *, numbers: bool = False,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Least and largest value of each row, in units; with `numbers` of published ones too."""
    asked = np.ones_like(read.hidden) if numbers else read.hidden
    kinds = len(read.ends)
    low, high = np.full(kinds, -UNBOUNDED, np.int64), np.full(kinds, UNBOUNDED, np.int64)
    for i, ends in enumerate(read.ends):
        if ends is None:
            continue
        least, most, above, below = ends
        if any(abs(end) * 10**scale > MAX_VALUE for end in (least, most) if end is not None):
            row = int(read.first[i]) + 1
            msg = f"row {row}: an end of the range is beyond {most_text(scale)}; use a larger unit"
            raise InputError(msg)
        if least is not None:
            low[i] = int(least * 10**scale) + above
        if most is not None:
            high[i] = int(most * 10**scale) - below
    low, high = low[read.which], high[read.which]
    for side, column, array in ((1, bounds[0], low), (-1, bounds[1], high)):
        if column is None:
            continue
        which, first = alike([column])
        hidden = np.zeros(len(first), bool)
        hidden[which[asked]] = True
        ends_of, filled = np.zeros(len(first), np.int64), np.zeros(len(first), bool)
        for kind in np.flatnonzero(hidden).tolist():
            text = sign_of(plain_item(column[first[kind]]))
            if text.casefold().lstrip("+-") in _NO_END:
                continue
            entry = read_entry(text, convention_of([text], told.decimal))
            if not entry.is_number:
                row = int(np.argmax((which == kind) & asked)) + 1
                msg = f"row {row}: the bound {text!r} is not a number"
                raise InputError(msg)
            end = Fraction(entry.low or 0) * 10**scale
            # A bound finer than the unit is rounded outwards.
            ends_of[kind] = end.__floor__() if side > 0 else end.__ceil__()
            filled[kind] = True
        there = asked & filled[which]
        array[there] = ends_of[which[there]]
        read.classed[there & read.hidden] = True
    crossed = low > high
    if crossed.any():
        i = int(np.argmax(crossed))
        msg = f"row {i + 1}: the range is empty, its lower end is above its upper end; correct it"
        raise InputError(msg)
    return low, high


def _with_ends(made: Published, order: Ints, units: Ints, notes: list[str]) -> Published:
    """Let each published number stand for all between the ends beside it.

    Raises
    ------
    InputError
        If it is not one of these (row named).
    """
    low, high = made.lower[order], made.upper[order]
    outside = (units < low) | (high < units)
    if outside.any():
        i = int(np.argmax(outside))
        msg = (
            f"row {i + 1}: the number is outside the ends that stand beside it; correct them, or "
            "leave their columns out"
        )
        raise InputError(msg)
    inexact = np.zeros(len(made.values), bool)
    # A number without both ends is taken as it stands.
    inexact[order] = (low < high) & (low > -UNBOUNDED) & (high < UNBOUNDED)
    notes.append(
        f"the ends that stand beside {int(inexact.sum())} numbers are read as how these are "
        "rounded, since no cell is withheld"
    )
    return replace(
        made, values=np.where(inexact, 0, made.values), hidden=made.hidden | inexact,
        ranged=made.ranged | inexact,
    )  # fmt: skip


_NO_END = frozenset({"", "inf", "infinity", "\u221e"})
"""What stands for no bound."""


def _counts(given: Sequence[Any] | None, order: Ints, n: int, told: Told) -> Ints | None:
    """Read numbers of contributors, -1 where none is published."""
    if given is None:
        return None
    which, first = alike([given])
    of_kind = np.full(len(first), -1, np.int64)
    for kind, i in enumerate(first.tolist()):
        text = sign_of(plain_item(given[i]))
        entry = read_entry(text, convention_of([text], told.decimal))
        if entry.is_number and entry.low is not None:
            of_kind[kind] = int(entry.low)
    counts = np.full(n, -1, np.int64)
    counts[order] = of_kind[which]
    return counts


def _finer(made: Published) -> Published:
    """Return the same in units of one decimal place more."""
    lower, upper = (
        np.where(np.abs(side) < UNBOUNDED, side * 10, side) for side in (made.lower, made.upper)
    )
    return replace(
        made, values=made.values * 10, lower=lower, upper=upper, scale=made.scale + 1
    )  # fmt: skip


def _rounded(made: Published, slack: int, least: int) -> Published:
    """Let each published number stand for all that it may be the rounding of."""
    inexact = ~made.hidden & ~made.empty
    lower = np.where(inexact, np.maximum(made.values - slack, least), made.lower)
    upper = np.where(inexact, made.values + slack, made.upper)
    return replace(
        made, values=np.where(inexact, 0, made.values), hidden=made.hidden | inexact,
        ranged=made.ranged | inexact, lower=lower, upper=upper,
    )  # fmt: skip
