"""Controlled rounding: the closest additive table of multiples of a base, or one by a key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.decoys.key import Key
from csp.errors import InputError, argument
from csp.exact import MAX_VALUE, Number, exact, units_text
from csp.names.calls import expect, named_errors
from csp.rounding.neighbours import Neighbours, coins
from csp.rounding.network import vertex
from csp.rounding.programs import chosen, relaxed
from csp.rounding.rounded import Rounded
from csp.solve.ilp.solvers import Solver
from csp.tables.table import Table

__all__ = ["base_units", "round_table"]


@named_errors
def round_table(
    table: Table, base: Number, *, key: Key | None = None, name: str = "",
    solver: Solver = None, time_limit: float | None = None,
) -> Rounded:  # fmt: skip
    """Round all cells of a table to multiples of a base, so that they still add up.

    Each cell goes to a multiple next to its value, and multiples stay as they are (zero-restricted
    controlled rounding). Among these tables the sum of the absolute differences, over all cells,
    is least; or a secret key chooses. Where there is no such table, as there may be none of three
    dimensions, the fewest cells go one base further.

    Parameters
    ----------
    table : Table
    base : Number
        A number of the measure: 5, or 0.5 in a table with a decimal. At least two units.
    key : Key, optional
        Differences are weighed with random numbers of this key. Then every table that the published
        one leaves possible could have led to it, so that an attacker who knows the method excludes
        none. The same key, name, base and labels give the same numbers.
    name : str
        Of the table, so that tables of the same cells have other numbers.
    solver : str or pulp solver, optional
        For tables that one linear program does not round; see `csp.ilp.solvers`.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Rounded

    Raises
    ------
    InputError
        If the base is not a whole number of at least two units, or the decimals of the table were
        not stated.
    Unroundable
        If there is no such table.
    OutOfTime
        If the time limit passed before there was one.

    Notes
    -----
    The rounding of two-way tables is that of Cox and Ernst (1982), a network problem; of others an
    integer program (Kelly, Golden, Assad and Baker 1990).

    Examples
    --------
    >>> from csp import Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> rounded = round_table(table, 5)
    >>> rounded
    Rounded(16 cells rounded to multiples of 5, each less than a base from its value)
    >>> int(rounded.values[-1]), rounded.proven
    (290, True)
    """
    expect(table, Table, "table")
    if key is not None:
        expect(key, Key, "key")
    units, clock = base_units(table, base), Clock.of(time_limit)
    near = Neighbours.of(table, units)
    cost = near.cost
    if key is not None:
        cost = cost + coins(table, units, key, name)[near.cells]
    keyed, least = key is not None, int(near.rest.sum())
    if not len(near.cells):
        return _rounded(table, units, table.values, keyed=keyed, proven=True, bound=None)
    found = vertex(near, cost, clock)
    bound = None if keyed or found is None else least + found.bound
    if found is not None and found.up is not None:
        proven = found.bound == int(cost @ found.up)
        return _rounded(
            table, units, near.values(found.up), keyed=keyed, proven=proven, bound=bound
        )
    choice = chosen(near, cost, solver, clock)
    if choice is None:
        choice, bound = relaxed(near, cost, solver, clock), None
    values = choice.values
    return _rounded(table, units, values, keyed=keyed, proven=choice.proven, bound=bound)


def base_units(table: Table, base: Number) -> int:
    """Return the base in units of a table.

    Raises
    ------
    InputError
        As for `round_table`.
    """
    stated = table.scale if table.least_scale is None else table.least_scale
    if stated < table.scale:
        msg = (
            f"the data have {table.scale} decimal places that nobody stated, and rounded tables "
            f"say how far whole units may be off; give {argument('decimals', table.scale)} where "
            "the table is made"
        )
        raise InputError(msg)
    units = exact(base) * 10**table.scale
    if units.denominator > 1 or not 2 <= units <= MAX_VALUE:
        least = units_text(2, table.scale)
        kind = f"number of {table.scale} decimal places" if table.scale else "whole number"
        msg = f"base must be a {kind} and at least {least}, got {base!r}"
        raise InputError(msg)
    return int(units)


def _rounded(
    table: Table, base: int, values: NDArray[np.int64], *, keyed: bool, proven: bool,
    bound: int | None,
) -> Rounded:  # fmt: skip
    off = np.abs(values - table.values)
    found, further = values.astype(np.int64), off >= base
    for array in (found, further):
        array.flags.writeable = False
    if proven and not keyed and not further.any():
        bound = int(off.sum())
    return Rounded(table, found, base, further, keyed, proven, bound)
