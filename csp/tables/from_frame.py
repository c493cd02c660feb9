"""Tables of aggregated frames: one row per cell, with or without margins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, UNBOUNDED, Number, exact, most_text, number_text
from csp.names.calls import check_choice, check_known
from csp.tables.cells import Cells, T
from csp.tables.codes import cell_name, numbered_codes, text_codes
from csp.tables.columns import read_columns
from csp.tables.contributors import Contributors
from csp.tables.cross.listing import listed
from csp.tables.hierarchies.coding import positions_of
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import category_orders, in_order
from csp.tables.hierarchies.totals import check_leaves, dimension_names, total_codes
from csp.tables.margins import (
    check_size,
    cube_labels,
    cube_relations,
    least_values,
    sum_up,
    totals_of,
)
from csp.tables.units import check_rounding, column_units

__all__ = ["table_from_frame"]

_RECORDS = "give the records themselves, without --aggregated"
_ORDER = "put the largest first"


def table_from_frame(
    make: Callable[..., T],
    data: Any,
    by: Sequence[str] | None = None,
    value: str | None = None,
    *,
    count: str | None = None,
    top: Sequence[str] = (),
    shadow: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    total: str | Mapping[str, str] | None = None,
    absent: str = "error",
    tolerance: Number = 0,
    decimals: int | None = None,
    round: bool = False,
    lower: str | None = None,
    upper: str | None = None,
    negative: str = "error",
    disjoint: bool = False,
) -> T:
    """Table of an aggregated frame, one row per cell.

    The rows hold either every cell of the table, margins included, or inner cells only: then the
    margins are computed. With margins, inner cells without a row are 0, and the margins confirm it.

    Parameters
    ----------
    make : type of Table
        Makes the table of its fields: `csp.Table`, which is above the ways to fill it.
    data : data frame, mapping of columns, or path to a .csv or .parquet file
        Or, without `by`, what pandas makes of records as it is: a Series over codes, a crosstab,
        a pivot table, or ``groupby(...).agg(["sum", "count", "max"])``, whose columns say what is
        a value, a count and a largest contribution (`csp.tables.cross.listing`).
    by : sequence of str, optional
        Columns of the dimensions.
    value : str, optional
        Column of the cell values; without `by`, which of several values is meant.
    count : str, optional
        Column of the number of contributors. The column of the values itself says that they are
        counts of contributors. Without `count` and `top` nothing is known of contributors, and
        rules that need them refuse the table; with `top` alone the largest contributions are the
        contributors.
    top : sequence of str
        Columns of the largest contributions, the largest first.
    shadow : str, optional
        Column of the variable to which these contributions belong, where that is not `value`:
        rules on contributions judge it, and their levels are carried over to the cells as shares.
    hierarchies : mapping of str to Hierarchy, optional
        For columns of `by`. Others are flat, their codes in the order of the column's categories,
        if it is categorical, and otherwise sorted.
    total : str or mapping of dimension to str, optional
        Code of the total of dimensions without a hierarchy; "Total" by default. A dimension that
        is named in a mapping is not searched for a category that is the sum of the others.
    absent : {"error", "zero"}
        Inner cells without a row, where margins are computed: refused, or taken for 0.
    tolerance : Number
        By how much a margin may differ from the sum of its inner cells, as a number of the
        measure: tables of rounded numbers do not add up. Such margins are replaced by the sums,
        which `Table.notes` says; the published table then adds up.
    decimals : int, optional
        Decimal places of the values; None finds the smallest number of places, at most 9.
    round : bool
        Whether values, and contributions, with more decimals than `decimals` are rounded to these,
        ties to even. Where margins are given too, rounded numbers need not add up: see `tolerance`.
    lower, upper : str, optional
        Columns of what any outsider knows of each cell; a missing entry means no bound. Without
        them the lower bound is 0 (none with ``negative="allow"``) and there is no upper bound.
    negative : {"error", "allow"}
        Whether cells may be negative, which the public then knows. It is stated and never found in
        the data: a bound that is missing would say that some suppressed cell is negative.
    disjoint : bool
        Whether no contributor is in two inner cells, as where each record is a contributor of its
        own. Counts and largest contributions of computed margins then follow from those of the
        inner cells; otherwise the rows of margins have to give them.

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
    crossed = None if by is not None else listed(data, value)
    if crossed is not None:
        data, by, value, total = crossed.columns, crossed.by, crossed.value, total or crossed.total
        count, top = count or crossed.count, top or crossed.top
        absent = "zero"  # pandas has no row or number where nobody is
    if by is None or value is None:
        msg = "value= names the column of the cells; it is missing"
        raise InputError(msg)
    names, given = dimension_names(by), dict(hierarchies or {})
    check_choice("absent", absent, ("error", "zero"))
    check_known("hierarchies", given, names, "dimensions")
    check_rounding(decimals, rounded=round)
    roles = _Roles.of(value, count, top, shadow, lower, upper, disjoint=disjoint)
    found, its = _columns(data, names, roles.columns)
    roots, told = total_codes(total, names)
    orders = category_orders(data, names) if crossed is None else crossed.orders
    trees, positions = _dimensions(found, names, given, roots, orders)
    shape = tuple(len(tree.codes) for tree in trees)
    check_size(math.prod(shape), len(shape), len(roles.top))
    labels = cube_labels(trees)

    def shown(cell: int) -> str:
        return cell_name(names, labels[cell])

    cells = np.ravel_multi_index(tuple(positions), shape)
    _check_duplicates(cells, shown)
    units, scale = _units(found, roles, decimals, rounded=round)
    present = np.isin(np.arange(len(labels)), cells)
    complete = _check_complete(present, trees, shown)
    values = _spread(units[value], cells, len(labels))
    if not complete:
        _check_absent(present, trees, shown, absent)
        values = _with_margins(values, trees, scale, roles.of_every_cell)
    notes = [f"values are rounded to {decimals} decimals"] if round else []
    if complete and exact(tolerance) > 0:
        values = _added_up(values, present, trees, exact(tolerance), scale, notes)
    people = _contributors(found, roles, units, cells, values, scale)
    if people is not None and not complete:
        people = _rolled_up(people, trees)
    table = make(
        values=values,
        relations=cube_relations(trees),
        lower=_bounds(found, lower, cells, values, scale, -1)
        if lower else least_values(values, negative, shown),
        upper=_bounds(found, upper, cells, values, scale, +1)
        if upper else np.full(len(values), UNBOUNDED),
        labels=labels,
        scale=scale,
        contributors=people,
        names=names,
        roots=tuple(tree.root for tree in trees),
        structural=_empty(people, present, trees),
        frame=its if crossed is None else "pandas",
        counts=roles.counts,
        notes=tuple(notes),
        least_scale=decimals or 0,
    )  # fmt: skip
    _check_nested(table, cells)
    named = {*given, *told}
    ends = zip(names, trees, positions, strict=True)
    check_leaves(table, trees, [n not in named and len(h.codes) - 1 not in at for n, h, at in ends])
    return table


def _spread(column: NDArray[np.int64], cells: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Put what rows say into their cells; 0 in cells without a row."""
    found = np.zeros(n, np.int64)
    found[cells] = column
    return found


@dataclass(frozen=True, slots=True)
class _Roles:
    """Columns by what they hold; see `table_from_frame`."""

    value: str
    count: str | None
    top: tuple[str, ...]
    shadow: str | None
    lower: str | None
    upper: str | None
    disjoint: bool

    @property
    def columns(self) -> list[str]:
        """All of them."""
        given = (self.value, self.shadow, self.count, *self.top, self.lower, self.upper)
        return [name for name in given if name is not None]

    @property
    def counts(self) -> bool:
        """Whether the values are counts of contributors themselves."""
        return self.count == self.value and not self.top

    @property
    def of_every_cell(self) -> tuple[str | None, ...]:
        """Columns that have to say something of margins too."""
        given_count = None if self.counts else self.count
        people = () if self.disjoint else (given_count, self.shadow, *self.top)
        return (*people, self.lower, self.upper)

    @classmethod
    def of(
        cls, value: str, count: str | None, top: Sequence[str], shadow: str | None,
        lower: str | None, upper: str | None, *, disjoint: bool,
    ) -> _Roles:  # fmt: skip
        """Take them as they were given; a shadow to which no contributions belong is refused."""
        columns = (top,) if isinstance(top, str) else tuple(top)
        roles = cls(value, count, columns, shadow, lower, upper, disjoint)
        if roles.shadow is not None and not roles.top:
            msg = (
                f"{argument('shadow')} says to what the largest contributions belong; name their "
                f"columns with {argument('top')}"
            )
            raise InputError(msg)
        return roles


def _columns(
    data: Any, names: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, NDArray[Any]], str]:
    """Columns of the frame by name, and its library."""
    columns = read_columns(data, [*names, *numbers], numbers)
    if not len(columns.arrays[0]):
        msg = "the frame has no rows; a table needs at least one cell"
        raise InputError(msg)
    return dict(zip([*names, *numbers], columns.arrays, strict=True)), columns.library


def _with_margins(
    values: NDArray[np.int64], trees: Sequence[Hierarchy], scale: int, each: Sequence[str | None]
) -> NDArray[np.int64]:
    """Add the margins; refused where columns in `each` say something of every cell."""
    per_cell = [name for name in each if name is not None]
    if per_cell:
        msg = (
            f"column {per_cell[0]!r} is given for inner cells only, and what it says of the "
            "margins cannot be computed from them; add the rows of the margins, "
            + phrase("say disjoint=True if no contributor is in two inner cells, or ", "or ")
            + phrase("tabulate microdata with csp.Table.from_microdata", _RECORDS)
        )
        raise InputError(msg)
    if float(np.abs(values).astype(np.float64).sum()) > MAX_VALUE:
        msg = f"the margins may exceed {most_text(scale)}; use fewer decimals or a larger unit"
        raise InputError(msg)
    return sum_up(values.reshape([len(tree.codes) for tree in trees]), trees).ravel()


def _dimensions(
    found: Mapping[str, NDArray[Any]],
    names: tuple[str, ...],
    given: Mapping[str, Hierarchy],
    roots: Mapping[str, str],
    orders: Mapping[str, Sequence[str]],
) -> tuple[list[Hierarchy], list[NDArray[np.int64]]]:
    """Hierarchy of each dimension, and each row's position in it."""
    trees, positions = [], []
    for name in names:
        codes, number = numbered_codes(found[name])
        if codes[0] == "":
            _refuse(number == 0, f"the code in column {name!r} is missing; fill it")
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


def _check_duplicates(cells: NDArray[np.int64], shown: Callable[[int], str]) -> None:
    order = np.argsort(cells, kind="stable")
    same = np.flatnonzero(cells[order][1:] == cells[order][:-1])
    if len(same):
        first, second = min((int(order[i + 1]), int(order[i])) for i in same)[::-1]
        msg = (
            f"rows {first + 1} and {second + 1} are both cell {shown(int(cells[first]))}; each "
            "cell may occur once"
        )
        raise InputError(msg)


def _inner(trees: Sequence[Hierarchy]) -> NDArray[np.bool_]:
    """Mark the inner cells in an array of all cells."""
    inner = np.zeros([len(tree.codes) for tree in trees], dtype=bool)
    inner[np.ix_(*(tree.leaves for tree in trees))] = True
    return inner


def _check_complete(
    present: NDArray[np.bool_],
    trees: Sequence[Hierarchy],
    shown: Callable[[int], str],
) -> bool:
    """Whether the margins are given; a cell with a row needs all of its totals then."""
    inner = _inner(trees)
    cube = present.reshape(inner.shape)
    if not (cube & ~inner).any():
        return False
    # A total may do without a row only if no cell below it has one.
    lacking = np.flatnonzero((_reached(cube, trees) & ~cube).ravel())
    if len(lacking):
        msg = (
            f"the table has some margins, but not cell {shown(int(lacking[0]))} "
            f"({len(lacking)} margins are missing in all); add them, or leave out all margins to "
            "have them computed"
        )
        raise InputError(msg)
    return True


def _added_up(
    values: NDArray[np.int64], present: NDArray[np.bool_], trees: Sequence[Hierarchy],
    tolerance: Fraction, scale: int, notes: list[str],
) -> NDArray[np.int64]:  # fmt: skip
    """Margins as the sums of their inner cells, where they are off by no more than the tolerance.

    Others stay as they are, for the table to name them. The notes say what was done.
    """
    sums = sum_up(values.reshape([len(tree.codes) for tree in trees]), trees).ravel()
    off = np.where(present, np.abs(sums - values), 0)
    # Whether, which and by how much would tell of numbers that are not published.
    notes.append(
        "margins that differ from the sum of their inner cells by no more than the tolerance of "
        f"{number_text(tolerance)} are replaced by the sum"
    )
    return values if (off > tolerance * 10**scale).any() else sums


def _empty(
    people: Contributors | None, present: NDArray[np.bool_], trees: Sequence[Hierarchy]
) -> NDArray[np.bool_] | None:
    """Cells that nobody contributes to, where contributors are known.

    Contributions that are not listed do not make a cell empty; a count of 0 does.
    """
    if people is None:
        return None
    if people.counted:
        return np.asarray(people.count == 0)
    return ~_reached(present.reshape([len(tree.codes) for tree in trees]), trees).ravel()


def _check_absent(
    present: NDArray[np.bool_],
    trees: Sequence[Hierarchy],
    shown: Callable[[int], str],
    absent: str,
) -> None:
    lacking = np.flatnonzero(_inner(trees).ravel() & ~present)
    if len(lacking) and absent == "error":
        few, first = len(lacking) == 1, shown(int(lacking[0]))
        msg = (
            f"{len(lacking)} inner {'cell has' if few else 'cells have'} no row, the first "
            f"{first}; add {'it' if few else 'them'}, or say that "
            f"cells without a row are 0 with {argument('absent', 'zero', option='--absent-zero')}"
        )
        raise InputError(msg)


def _check_counts(values: NDArray[np.int64], scale: int, cells: NDArray[np.int64]) -> None:
    wrong = values < 0
    if scale or wrong.any():
        row = int(np.argmax(wrong[cells])) + 1
        what = "with decimals" if scale else f"that is negative (row {row})"
        msg = (
            f"the column of the values is named as the count, and holds a number {what}; counts "
            "are whole numbers from 0"
        )
        raise InputError(msg)


def _reached(cube: NDArray[np.bool_], trees: Sequence[Hierarchy]) -> NDArray[np.bool_]:
    """Cells above any given cell, margins among them included."""
    reached = cube.copy()
    for axis, position, children in totals_of(trees):
        view = np.moveaxis(reached, axis, 0)
        view[position] |= view[children].any(axis=0)
    return reached


def _units(
    found: Mapping[str, NDArray[Any]], roles: _Roles, decimals: int | None, *, rounded: bool
) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Values and contributions as whole units, and the scale of the values."""
    if roles.shadow is None:
        return _measures(found, [roles.value, *roles.top], decimals, rounded=rounded)
    units, scale = _measures(found, [roles.value], decimals, rounded=rounded)
    # A variable of its own, in units of its own.
    own = decimals if rounded else None
    units |= _measures(found, [roles.shadow, *roles.top], own, rounded=rounded)[0]
    return units, scale


def _measures(
    found: Mapping[str, NDArray[Any]], names: Sequence[str], decimals: int | None,
    *, rounded: bool = False,
) -> tuple[dict[str, NDArray[np.int64]], int]:  # fmt: skip
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


def _bounds(
    found: Mapping[str, NDArray[Any]],
    name: str,
    cells: NDArray[np.int64],
    values: NDArray[np.int64],
    scale: int,
    side: int,
) -> NDArray[np.int64]:
    """Lower (side -1) or upper (+1) bounds; cells without a row are known to be empty."""
    column = found[name]
    none = np.array([code in {"", "inf", "-inf"} for code in text_codes(column)])
    bounds = np.zeros(len(values), np.int64)
    bounds[cells[none]] = side * UNBOUNDED
    known = np.flatnonzero(~none)
    bounds[cells[known]], _ = column_units(np.asarray(column)[known], name, scale, known)
    return bounds


def _contributors(
    found: Mapping[str, NDArray[Any]],
    roles: _Roles,
    units: Mapping[str, NDArray[np.int64]],
    cells: NDArray[np.int64],
    values: NDArray[np.int64],
    scale: int,
) -> Contributors | None:
    count, top, shadow = roles.count, roles.top, roles.shadow
    if roles.counts:
        _check_counts(values, scale, cells)
        return None
    if count is None and not top:
        return None
    largest = np.zeros((len(values), len(top)), np.int64)
    for k, name in enumerate(top):
        column = units[name]
        _refuse(column < 0, f"the contribution in column {name!r} is negative; {_ORDER}")
        if k:
            before = units[top[k - 1]]
            why = f"the contribution in column {name!r} exceeds that of {top[k - 1]!r}; {_ORDER}"
            _refuse(column > before, why)
        largest[cells, k] = column
    mend = phrase("tabulate microdata with csp.Table.from_microdata(..., negative=...)", _RECORDS)
    why = f"the value is negative, so the largest contributions do not suffice; {mend}"
    _refuse(values[cells] < 0, why)
    counts = np.zeros(len(values), np.int64)
    if count is not None:
        numbers, places = column_units(found[count], count)
        why = (
            f"the count in column {count!r} is not a whole number; name unweighted counts of "
            "contributors, which rules on their number look at"
        )
        if places:
            _refuse(numbers % 10**places != 0, why)
            numbers //= 10**places
        _refuse(numbers < 0, f"the count in column {count!r} is negative; correct it")
        counts[cells] = numbers
    else:
        counts = (largest > 0).sum(axis=1).astype(np.int64)
    whole = values
    if shadow is not None:
        whole = _spread(units[shadow], cells, len(values))
    together = largest.sum(axis=1)
    for wrong, what in (
        (together > whole, "its largest contributions add up to more than its value"),
        (counts < (largest > 0).sum(axis=1), "it has fewer contributors than contributions"),
        (
            (counts <= len(top)) & (count is not None and len(top) > 0) & (together < whole),
            "its contributors, all of them listed, add up to less than its value",
        ),
    ):
        _refuse(wrong[cells], f"{what}; correct the columns of contributors")
    if count is not None:
        why = "it has no contributors, and a value other than 0; correct its count or its value"
        _refuse(((counts == 0) & (values != 0))[cells], why)
    return Contributors(
        count=counts,
        total=whole.copy(),
        top=largest,
        counted=count is not None,
        shadow=shadow is not None,
    )


def _rolled_up(people: Contributors, trees: Sequence[Hierarchy]) -> Contributors:
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


def _refuse(wrong: NDArray[np.bool_], why: str) -> None:
    """Refuse the first of the rows that are wrong."""
    if wrong.any():
        msg = f"row {int(np.argmax(wrong)) + 1}: {why}"
        raise InputError(msg)


def _check_nested(table: Cells, cells: NDArray[np.int64]) -> None:
    """Refuse totals with fewer contributors, or smaller ones, than one of their parts."""
    people = table.contributors
    if people is None:
        return
    row_of = {int(cell): row + 1 for row, cell in enumerate(cells)}
    relations = table.relations
    first = people.top[:, 0] if people.top.shape[1] else np.zeros(table.n_cells, np.int64)
    for k in range(relations.shape[0]):
        span = slice(relations.indptr[k], relations.indptr[k + 1])
        members, signs = relations.indices[span], relations.data[span]
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
