"""The small counts of a table as a table of their own, whose rounding leaves all others alone.

Inner cells below the base go to 0 or to the base, others stay, and totals are summed again: small
count rounding (Heldal 2017, Langsrud and Heldal 2018). No published cell then lies between 0 and
the base. Here totals stay less than a base from their values where that is possible: it is the
controlled rounding of the small counts alone.
"""

from __future__ import annotations

import numpy as np

from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Ints
from csp.rounding.moves import inner_sums
from csp.tables.table import Table


def small_part(table: Table, base: int) -> Table:
    """Return a table of the inner cells below the base, zeros for all others, and their sums.

    Parameters
    ----------
    table : Table
    base : int
        In units of the table.

    Raises
    ------
    InputError
        If cells may be negative, or totals are not the sums of inner cells.
    """
    if (table.lower < 0).any():
        cell = table.cell(int(np.argmax(table.lower < 0)))
        msg = (
            f"small counts are rounded in tables without negative values, and {cell} may be "
            "negative; round all cells (small=False)"
        )
        raise InputError(msg)
    inner = ~table.margins
    values = np.where(inner & (table.values < base), table.values, 0)
    parts = _summed(table, values, inner)
    return table.replace(
        values=parts, lower=np.zeros(table.n_cells, np.int64),
        upper=np.full(table.n_cells, UNBOUNDED), contributors=None,
    )  # fmt: skip


def _summed(table: Table, values: Ints, inner: Bools) -> Ints:
    """Sum inner cells up to all totals."""
    sums = inner_sums(table)
    totals = None if sums is None else sums @ values[inner]
    if totals is None or np.any(table.relations @ totals):
        msg = (
            "small counts are rounded in tables whose totals are sums of inner cells, and those of "
            "this one are not; round all cells (small=False)"
        )
        raise InputError(msg)
    return totals


def small_range(values: Ints, margins: Bools, base: int, reach: int) -> tuple[Ints, Ints]:
    """Return between what ends true values lie by what is published, in units.

    Parameters
    ----------
    values : (n,) int64
        Published.
    margins : (n,) bool
        Totals.
    base, reach : int
        How far totals may be off at most.
    """
    lower = np.where(margins, values - reach, np.where(values == base, 1, values))
    upper = np.where(margins, values + reach, np.where(values == 0, base - 1, values))
    return lower, upper
