"""Contributors of the cells of a frame, and numbers in units of one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, phrase
from csp.exact import Bools, Ints
from csp.sparse import rows_of
from csp.tables.aggregates.given_margins import RECORDS, reached
from csp.tables.aggregates.options import FrameOptions
from csp.tables.cells import Cells
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.margins import sum_up, totals_of
from csp.tables.units import column_units

_ORDER = "put the largest first"


def _check_counts(values: Ints, scale: int, cells: Ints) -> None:
    wrong = values < 0
    if scale or wrong.any():
        row = int(np.argmax(wrong[cells])) + 1
        what = "with decimals" if scale else f"that is negative (row {row})"
        msg = (
            f"the column of the values is named as the count, and holds a number {what}; counts "
            "are whole numbers from 0"
        )
        raise InputError(msg)


def units_of(found: Mapping[str, NDArray[Any]], asked: FrameOptions) -> tuple[dict[str, Ints], int]:
    """Values and contributions as whole units, and the scale of the values."""
    value, decimals, rounded = str(asked.value), asked.decimals, asked.round
    if asked.shadow is None:
        return _measures(found, [value, *asked.top], decimals, rounded=rounded)
    units, scale = _measures(found, [value], decimals, rounded=rounded)
    # A variable of its own, in units of its own.
    own = decimals if rounded else None
    units |= _measures(found, [asked.shadow, *asked.top], own, rounded=rounded)[0]
    return units, scale


def _measures(
    found: Mapping[str, NDArray[Any]], names: Sequence[str], decimals: int | None,
    *, rounded: bool = False,
) -> tuple[dict[str, Ints], int]:  # fmt: skip
    """Columns in units of one common scale."""
    parts, scales = {}, []
    for name in names:
        parts[name], scale = column_units(found[name], name, decimals, rounded=rounded)
        scales.append(scale)
    common = max(scales)
    for name, scale in zip(names, scales, strict=True):
        if scale < common:
            parts[name], _ = column_units(found[name], name, common)
    return parts, common


def contributors_of(
    found: Mapping[str, NDArray[Any]],
    asked: FrameOptions,
    units: Mapping[str, Ints],
    cells: Ints,
    values: Ints,
    scale: int,
) -> Contributors | None:
    """Contributors of the cells; None where the columns say nothing of them."""
    count, top, shadow = asked.count, asked.top, asked.shadow
    if asked.counts:
        _check_counts(values, scale, cells)
        return None
    if count is None and not top:
        return None
    largest = np.zeros((len(values), len(top)), np.int64)
    for k, name in enumerate(top):
        column = units[name]
        refuse_rows(column < 0, f"the contribution in column {name!r} is negative; {_ORDER}")
        if k:
            before = units[top[k - 1]]
            why = f"the contribution in column {name!r} exceeds that of {top[k - 1]!r}; {_ORDER}"
            refuse_rows(column > before, why)
        largest[cells, k] = column
    mend = phrase("tabulate microdata with csp.Table.from_microdata(..., negative=...)", RECORDS)
    why = f"the value is negative, so the largest contributions do not suffice; {mend}"
    refuse_rows(values[cells] < 0, why)
    counts = np.zeros(len(values), np.int64)
    if count is not None:
        numbers, places = column_units(found[count], count)
        why = (
            f"the count in column {count!r} is not a whole number; name unweighted counts of "
            "contributors, which rules on their number look at"
        )
        if places:
            refuse_rows(numbers % 10**places != 0, why)
            numbers //= 10**places
        refuse_rows(numbers < 0, f"the count in column {count!r} is negative; correct it")
        counts[cells] = numbers
    else:
        counts = (largest > 0).sum(axis=1).astype(np.int64)
    whole = values
    if shadow is not None:
        whole = spread(units[shadow], cells, len(values))
    together = largest.sum(axis=1)
    for wrong, what in (
        (together > whole, "its largest contributions add up to more than its value"),
        (counts < (largest > 0).sum(axis=1), "it has fewer contributors than contributions"),
        (
            (counts <= len(top)) & (count is not None and len(top) > 0) & (together < whole),
            "its contributors, all of them listed, add up to less than its value",
        ),
    ):
        refuse_rows(wrong[cells], f"{what}; correct the columns of contributors")
    if count is not None:
        why = "it has no contributors, and a value other than 0; correct its count or its value"
        refuse_rows(((counts == 0) & (values != 0))[cells], why)
    return Contributors(
        count=counts,
        total=whole.copy(),
        top=largest,
        counted=count is not None,
        shadow=shadow is not None,
    )


def rolled_up(people: Contributors, trees: Sequence[Hierarchy]) -> Contributors:
    """Contributors of margins too, where none of them is in two inner cells."""
    shape = [len(tree.codes) for tree in trees]
    most = people.top.shape[1]
    top = people.top.reshape([*shape, most]).copy()
    for axis, position, children in totals_of(trees) if most else ():
        view = np.moveaxis(top, axis, 0)
        together = np.moveaxis(view[children], 0, -1).reshape([*view.shape[1:-1], -1])
        view[position] = -np.sort(-together, axis=-1)[..., :most]
    return replace(
        people,
        count=sum_up(people.count.reshape(shape), trees).ravel(),
        total=sum_up(people.total.reshape(shape), trees).ravel(),
        top=top.reshape(people.top.shape),
    )


def check_nested(table: Cells, cells: Ints) -> None:
    """Refuse totals with fewer contributors, or smaller ones, than one of their parts."""
    people = table.contributors
    if people is None:
        return
    row_of = {int(cell): row + 1 for row, cell in enumerate(cells)}
    first = people.top[:, 0] if people.top.shape[1] else np.zeros(table.n_cells, np.int64)
    for members, signs in rows_of(table.relations):
        total, parts = int(members[signs < 0][0]), members[signs > 0]
        few = people.count[total] < people.count[parts].max(initial=0)
        many = people.count[total] > people.count[parts].sum()
        small = first[total] < first[parts].max(initial=0)
        if few or many or small:
            what = (
                "fewer contributors than a part of it"
                if few
                else "more contributors than its parts together"
                if many
                else "a smaller largest contribution than a part of it"
            )
            msg = (
                f"row {row_of[total]}: cell {table.cell(total)} has {what}; correct the columns "
                "of contributors"
            )
            raise InputError(msg)


def empty_cells(
    people: Contributors | None, present: Bools, trees: Sequence[Hierarchy]
) -> Bools | None:
    """Cells that nobody contributes to, where contributors are known.

    Contributions that are not listed do not make a cell empty; a count of 0 does.
    """
    if people is None:
        return None
    if people.counted:
        return np.asarray(people.count == 0)
    return ~reached(present.reshape([len(tree.codes) for tree in trees]), trees).ravel()


def refuse_rows(wrong: Bools, why: str) -> None:
    """Refuse the first of the rows that are wrong."""
    if wrong.any():
        msg = f"row {int(np.argmax(wrong)) + 1}: {why}"
        raise InputError(msg)


def spread(column: Ints, cells: Ints, n: int) -> Ints:
    """Put what rows say into their cells; 0 in cells without a row."""
    found = np.zeros(n, np.int64)
    found[cells] = column
    return found
