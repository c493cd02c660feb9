"""Tables whose published numbers may be off by a stated amount, whatever program made them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import MAX_VALUE, Ints, Number, ceil_fraction, number_given
from csp.names.calls import expect, named_errors
from csp.names.guesses import Guided
from csp.release.release import Release
from csp.tables.codes import Labels, text_codes
from csp.tables.columns import read_columns
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Perturbed(metaclass=Guided):
    """A table that is published with other numbers than the true ones.

    Attributes
    ----------
    table : Table
        The true table; it does not leave this object unless asked for with ``reveal=True``.
    values : (n,) int64
        What is published, in units, to the nearest one.
    """

    table: Table
    values: Ints

    def stated(self) -> tuple[Ints, Ints, str]:
        """Between what ends the true values lie, by what is published, and that in words."""
        raise NotImplementedError

    @property
    def release(self) -> Release:
        """What may be published: an interval of each cell, and how the true values add up.

        Cells that are publicly known to be empty are published as they are.
        """
        table = self.table
        lower, upper, words = self.stated()
        empty = np.zeros(table.n_cells, bool) if table.structural is None else table.structural
        open_cells = ~empty
        lower = np.where(open_cells, np.maximum(table.lower, lower), table.lower)
        upper = np.where(open_cells, np.minimum(table.upper, upper), table.upper)
        nothing = np.zeros(table.n_cells, dtype=np.int64)
        for array in (nothing, open_cells, lower, upper):
            array.flags.writeable = False
        return Release(
            nothing, open_cells, table.relations, lower, upper, table.labels, table.scale,
            table.names, table.roots, table.structural, ranged=open_cells, notes=(words,),
            of_counts=table.countable,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Noisy(Perturbed):
    """A table to which another program has added noise of known bounds.

    Attributes
    ----------
    lower, upper : (n,) int64
        Between what the published numbers say that the true values lie, in units.
    exact : tuple of Fraction
        What is published, in units, without rounding.
    """

    lower: Ints
    upper: Ints
    exact: tuple[Fraction, ...]

    def stated(self) -> tuple[Ints, Ints, str]:
        """Between what ends the true values lie, by what is published, and that in words."""
        return self.lower, self.upper, "published with noise of stated bounds"

    def __repr__(self) -> str:
        return f"Noisy({self.table.n_cells} cells)"


@named_errors
def noisy_table(table: Table, data: Any, value: str, reach: Number | str) -> Noisy:
    """Set the numbers that another program would publish beside the true table.

    Parameters
    ----------
    table : Table
    data : data frame, mapping of columns, or path
        One row a cell, with the dimensions of the table.
    value : str
        Column of the published numbers.
    reach : Number or str
        How far each of them may be from the true value at most, or the column that says so: the
        largest deviation in a p-table of cell keys, or a bound at a stated confidence.

    Returns
    -------
    Noisy

    Raises
    ------
    InputError
        If a cell is missing or unknown, a number is not one, or a true value is further away.

    Examples
    --------
    >>> from csp import Table
    >>> table = Table.from_array([[7, 11], [10, 60]])
    >>> rows = [label for label in table.labels]
    >>> noisy = {"d1": [r[0] for r in rows], "d2": [r[1] for r in rows],
    ...          "v": [8, 11, 17, 9, 61, 70, 18, 70, 88]}
    >>> noisy_table(table, noisy, "v", 2)
    Noisy(9 cells)
    """
    expect(table, Table, "table")
    expect(value, str, "value")
    if not isinstance(reach, str):
        _reach("reach", reach)
    named = [reach] if isinstance(reach, str) else []
    columns = read_columns(data, [*table.names, value, *named], {value, *named}).arrays
    codes = [text_codes(column) for column in columns[: len(table.names)]]
    places = Labels.of(table.labels).places(Labels.of(list(zip(*codes, strict=True))))
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        msg = f"row {row + 1}: the table has no cell {', '.join(c[row] for c in codes)}"
        raise InputError(msg)
    counted = np.bincount(places, minlength=table.n_cells)
    if (counted != 1).any():
        cell = int(np.argmax(counted != 1))
        many = "no row" if not counted[cell] else f"{counted[cell]} rows"
        msg = f"cell {table.cell(cell)} has {many}; give one row for each cell"
        raise InputError(msg)
    unit, (lower, upper, values) = 10**table.scale, np.zeros((3, table.n_cells), np.int64)
    published = [Fraction(0)] * table.n_cells
    for row, cell in enumerate(places.tolist()):
        number = number_given(f"row {row + 1}: {value}", columns[len(codes)][row]) * unit
        far = reach if not named else columns[-1][row]
        far = _reach(f"row {row + 1}: {reach}" if named else "reach", far) * unit
        if abs(number) + abs(far) > MAX_VALUE:
            msg = (
                f"row {row + 1}: the number, or how far it may be off (reach), is more than 2**53 "
                "units; give thousands, or correct it"
            )
            raise InputError(msg)
        values[cell], published[cell] = round(number), number
        lower[cell], upper[cell] = ceil_fraction(number - far), (number + far) // 1
    off = (table.values < lower) | (table.values > upper)
    if off.any():
        msg = (
            f"{int(off.sum())} true values are further from the published number than is said; "
            "give how far they may be (at a stated confidence some noise exceeds its bound: state "
            "a higher one)"
        )
        raise InputError(msg)
    for array in (lower, upper, values):
        array.flags.writeable = False
    return Noisy(table, values, lower, upper, tuple(published))


def _reach(name: str, value: Any) -> Fraction:
    """How far a published number may be off, as a number of the measure.

    Raises
    ------
    InputError
        If it is not a number, or negative.
    """
    found = number_given(name, value, "number, how far published numbers may be from the true ones")
    if found < 0:
        msg = (
            f"{name} says how far published numbers may be from the true ones, and cannot be "
            f"negative, got {value!r}; give 0 or more, or the column that says so"
        )
        raise InputError(msg)
    return found
