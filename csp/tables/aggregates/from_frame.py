"""Tables of aggregated frames: one row per cell, with or without margins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, subject
from csp.exact import UNBOUNDED, Ints, exact
from csp.names.calls import check_choice, check_known
from csp.tables.aggregates.given_margins import (
    added_up,
    check_absent,
    has_margins,
    with_margins,
)
from csp.tables.aggregates.options import FrameOptions
from csp.tables.aggregates.people import (
    check_nested,
    contributors_of,
    empty_cells,
    refuse_rows,
    rolled_up,
    spread,
    units_of,
)
from csp.tables.cells import T
from csp.tables.codes import cell_name, numbered_codes, text_codes
from csp.tables.columns import read_columns
from csp.tables.hierarchies.coding import positions_of
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import category_orders, in_order
from csp.tables.hierarchies.totals import check_leaves, dimension_names, total_codes
from csp.tables.margins import (
    check_size,
    cube_labels,
    cube_relations,
    least_values,
)
from csp.tables.units import check_rounding, column_units


def table_from_frame(make: Callable[..., T], given: FrameOptions) -> T:
    """Table of an aggregated frame, one row per cell.

    The rows hold either every cell of the table, margins included, or inner cells only: then the
    margins are computed. With margins, inner cells without a row are 0, and the margins confirm it.

    Parameters
    ----------
    make : type of Table
        Makes the table of its fields: `csp.Table`, which is above the ways to fill it.
    given : FrameOptions

    Returns
    -------
    Table
        Cells in C order of the hierarchies' postorder. With contributors, cells without a row
        are structural.

    Raises
    ------
    NotAdditive
        If margins are given that are not the sum of their parts.
    InputError
        For unknown columns, no rows, missing or infinite values, missing or negative counts,
        negative values with contributors, codes that are missing or not in their hierarchy,
        cells that occur twice (rows named), a category that is the sum of all others, inner
        cells without a row where margins must be computed, a frame with some of its margins but
        not all, and columns of contributors or bounds when margins must be computed, since those
        do not add up.
    """
    asked, orders = given.spelled_out()
    names, known = dimension_names(asked.by or ()), dict(asked.hierarchies or {})
    check_choice("absent", asked.absent, ("error", "zero"))
    check_known(subject("hierarchies", "--hierarchy"), known, names, "dimensions")
    check_rounding(asked.decimals, rounded=asked.round)
    found, its = _columns(asked.data, names, asked.numbers)
    roots, told = total_codes(asked.total, names)
    listing = category_orders(asked.data, names) if orders is None else orders
    trees, positions = _dimensions(found, names, known, roots, listing)
    shape = tuple(len(tree.codes) for tree in trees)
    check_size(math.prod(shape), len(shape), len(asked.top))
    labels = cube_labels(trees)

    def shown(cell: int) -> str:
        return cell_name(names, labels[cell])

    cells = np.ravel_multi_index(tuple(positions), shape)
    _check_duplicates(cells, shown)
    units, scale = units_of(found, asked)
    present = np.isin(np.arange(len(labels)), cells)
    complete = has_margins(present, trees, shown)
    values = spread(units[str(asked.value)], cells, len(labels))
    if not complete:
        check_absent(present, trees, shown, asked.absent)
        values = with_margins(values, trees, scale, asked.of_every_cell)
    notes = [f"values are rounded to {asked.decimals} decimals"] if asked.round else []
    if complete and exact(asked.tolerance) > 0:
        values = added_up(values, present, trees, exact(asked.tolerance), scale, notes)
    people = contributors_of(found, asked, units, cells, values, scale)
    if people is not None and not complete:
        people = rolled_up(people, trees)
    table = make(
        values=values,
        relations=cube_relations(trees),
        lower=_bounds(found, asked.lower, cells, values, scale, -1)
        if asked.lower else least_values(values, asked.negative, shown),
        upper=_bounds(found, asked.upper, cells, values, scale, +1)
        if asked.upper else np.full(len(values), UNBOUNDED),
        labels=labels,
        scale=scale,
        contributors=people,
        names=names,
        roots=tuple(tree.root for tree in trees),
        structural=empty_cells(people, present, trees),
        frame=its if orders is None else "pandas",
        counts=asked.counts,
        notes=tuple(notes),
        least_scale=asked.decimals or 0,
    )  # fmt: skip
    check_nested(table, cells)
    named = {*known, *told}
    ends = zip(names, trees, positions, strict=True)
    check_leaves(table, trees, [n not in named and len(h.codes) - 1 not in at for n, h, at in ends])
    return table


def _columns(
    data: Any, names: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, NDArray[Any]], str]:
    """Columns of the frame by name, and its library."""
    columns = read_columns(data, [*names, *numbers], numbers)
    if not len(columns.arrays[0]):
        msg = "the frame has no rows; a table needs at least one cell"
        raise InputError(msg)
    return dict(zip([*names, *numbers], columns.arrays, strict=True)), columns.library


def _dimensions(
    found: Mapping[str, NDArray[Any]],
    names: tuple[str, ...],
    given: Mapping[str, Hierarchy],
    roots: Mapping[str, str],
    orders: Mapping[str, Sequence[str]],
) -> tuple[list[Hierarchy], list[Ints]]:
    """Hierarchy of each dimension, and each row's position in it."""
    trees, positions = [], []
    for name in names:
        codes, number = numbered_codes(found[name])
        if codes[0] == "":
            refuse_rows(number == 0, f"the code in column {name!r} is missing; fill it")
        tree = given.get(name)
        if tree is None:
            inner = in_order((c for c in codes if c != roots[name]), orders.get(name, ()))
            if not inner:
                msg = f"column {name!r} holds only the total {roots[name]!r}; leave it out of by"
                raise InputError(msg)
            tree = Hierarchy.flat(inner, roots[name])
        trees.append(tree)
        positions.append(positions_of(codes, number, tree, name, totals=True))
    return trees, positions


def _check_duplicates(cells: Ints, shown: Callable[[int], str]) -> None:
    order = np.argsort(cells, kind="stable")
    same = np.flatnonzero(cells[order][1:] == cells[order][:-1])
    if len(same):
        first, second = min((int(order[i + 1]), int(order[i])) for i in same)[::-1]
        msg = (
            f"rows {first + 1} and {second + 1} are both cell {shown(int(cells[first]))}; each "
            "cell may occur once"
        )
        raise InputError(msg)


def _bounds(
    found: Mapping[str, NDArray[Any]],
    name: str,
    cells: Ints,
    values: Ints,
    scale: int,
    side: int,
) -> Ints:
    """Lower (side -1) or upper (+1) bounds; cells without a row are known to be empty."""
    column = found[name]
    none = np.array([code in {"", "inf", "-inf"} for code in text_codes(column)])
    bounds = np.zeros(len(values), np.int64)
    bounds[cells[none]] = side * UNBOUNDED
    known = np.flatnonzero(~none)
    bounds[cells[known]], _ = column_units(np.asarray(column)[known], name, scale, known)
    return bounds
