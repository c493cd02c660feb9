"""A table after controlled rounding, and what the public learns by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.exact import Bools, Ints, units_text, units_to_numbers
from csp.rounding.perturbed import Perturbed
from csp.rounding.small_counts import small_range
from csp.tables.cross.frames import columns_to_frame, dimension_columns
from csp.tables.cross.html import cell_texts, notebook_table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rounded(Perturbed):
    """An additive table whose cells, or small ones, are multiples of a base near the true ones.

    Attributes
    ----------
    table : Table
        The true table; it does not leave this object unless asked for with ``reveal=True``.
    values : (n,) int64
        What may be published, in units.
    base : int
        In units of the table.
    relaxed : (n,) bool
        Cells that had to go one base further than the multiples next to them; which ones is not
        for publication.
    keyed : bool
        Whether a secret key chose among the additive tables; else one of the closest was taken.
    proven : bool
        Whether no additive table fits what was asked for better.
    bound : int or None
        No table of multiples next to the values has a smaller `distance`; not for publication. None
        where a key chose, or cells had to go further.
    small : bool
        Whether only inner cells below the base were rounded, and totals summed again.
    """

    base: int
    relaxed: Bools
    keyed: bool
    proven: bool
    bound: int | None
    small: bool = False

    @property
    def reach(self) -> int:
        """How far any true value may be from the published one, in units: what is stated."""
        return (2 if self.relaxed.any() else 1) * self.base - 1

    def stated(self) -> tuple[Ints, Ints, str]:
        """Between what ends the true values lie, by what is published, and that in words."""
        if self.small:
            ends = small_range(self.values, self.table.margins, self.base, self.reach)
            return *ends, self.words()
        return self.values - self.reach, self.values + self.reach, self.words()

    @property
    def base_text(self) -> str:
        """Base as a decimal number of the measure."""
        return units_text(self.base, self.table.scale)

    @property
    def distance(self) -> int:
        """Sum of the absolute differences to the true values, in units; not for publication."""
        return int(np.abs(self.values - self.table.values).sum())

    def __repr__(self) -> str:
        return f"Rounded({self.table.n_cells} cells {self.words()})"

    def words(self) -> str:
        """Say what is stated of every cell."""
        bases = "two bases" if self.relaxed.any() else "a base"
        if self.small:
            base = self.base_text
            return (
                f"with counts below {base} at 0 or {base}, and totals less than {bases} from their "
                "values"
            )
        return f"rounded to multiples of {self.base_text}, each less than {bases} from its value"

    def _repr_html_(self) -> str:

        none = np.zeros(self.table.n_cells, dtype=bool)
        text = cell_texts(self.values, none, self.table.structural, self.table.scale)
        return notebook_table(self.release, text, [repr(self)])

    def to_frame(self, library: str | None = None, *, reveal: bool = False) -> Any:
        """Return the published table as a data frame, one row a cell.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            That of the caller's data by default, or the first that is installed.
        reveal : bool
            Add the true values (``true``) and which cells went further (``relaxed``). For internal
            files only.

        Returns
        -------
        data frame
            A column for each dimension; ``value``, additive; ``lower`` and ``upper``, between which
            the true value lies.

        Raises
        ------
        InputError
            If a dimension has the name of one of these columns, or the library is missing.
        """
        table, release = self.table, self.release
        names = {"value", "lower", "upper", "true", "relaxed"}
        columns = dimension_columns(table, beside=names)
        sides = {"value": self.values, "lower": release.lower, "upper": release.upper}
        if reveal:
            sides["true"] = table.values
        for name, side in sides.items():
            columns[name] = units_to_numbers(side, table.scale).tolist()
        if reveal:
            columns["relaxed"] = self.relaxed.tolist()
        return columns_to_frame(columns, table.frame if library is None else library)

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Facts as plain data, ready for JSON.

        Parameters
        ----------
        reveal : bool
            Add what depends on true values: how many cells were changed, the sum of the absolute
            differences, and which cells went further than the multiples next to them.

        Returns
        -------
        dict
        """
        facts: dict[str, Any] = {
            "dimensions": list(self.table.names),
            "cells": self.table.n_cells,
            "base": self.base_text,
            "bases": 2 if self.relaxed.any() else 1,
            "random": self.keyed,
            "small": self.small,
        }
        if reveal:
            table = self.table
            facts["changed"] = int((self.values != table.values).sum())
            facts["distance"] = units_text(self.distance, table.scale)
            facts["relaxed"] = [table.cell(i) for i in np.flatnonzero(self.relaxed).tolist()]
            facts["proven"] = self.proven
            facts["bound"] = None if self.bound is None else units_text(self.bound, table.scale)
        return facts
