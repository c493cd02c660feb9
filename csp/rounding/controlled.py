"""Controlled rounding: the closest additive table of multiples of a base, or one by a key."""

from __future__ import annotations

from functools import partial

import numpy as np

from csp.clock import Clock
from csp.decoys.key import Key
from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, Ints, Number, number_given, units_text
from csp.names.calls import expect, named_errors
from csp.rounding.neighbours import Neighbours, coins
from csp.rounding.network import vertex
from csp.rounding.programs import chosen, relaxed
from csp.rounding.rounded import Rounded
from csp.rounding.small_counts import small_part
from csp.solve.ilp.solvers import Solver, check_solver
from csp.tables.table import Table


@named_errors
def round_table(
    table: Table, base: Number, *, small: bool = False, key: Key | None = None, name: str = "",
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
    small : bool
        Round inner cells below the base only, to 0 or the base; other inner cells stay as they are,
        and totals are summed again. With base 3 these are the counts 1 and 2. Totals are less than
        a base from their values; where that cannot be, the fewest of them less than two.
    key : Key, optional
        Differences are weighed with random numbers of this key. Then every table that the published
        one leaves possible could have led to it, so that an attacker who knows the method excludes
        none; but where cells went one base further, those that need not have are excluded. The same
        key, name, base and labels give the same numbers.
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
        If the base is not a whole number of at least two units, the decimals of the table were not
        stated, an argument has another type, or `small` is asked for where cells may be negative or
        totals are not sums of inner cells.
    Unroundable
        If there is no such table.
    OutOfTime
        If the time limit passed before there was one.

    Notes
    -----
    The rounding of two-way tables is that of Cox and Ernst (1982), a network problem; of others an
    integer program (Kelly, Golden, Assad and Baker 1990). Larger ones start from a choice that is
    improved a few codes at a time. Small counts are rounded as Heldal (2017) and Langsrud and
    Heldal (2018) do, with the least sum of differences over all cells.

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
    expect(name, str, "name")
    if key is not None:
        expect(key, Key, "key")
    check_solver(solver)
    units, clock = base_units(table, base), Clock.of(time_limit)
    part = small_part(table, units) if small else table
    rest = table.values - part.values
    near = Neighbours.of(part, units, table.margins if small else None)
    cost = near.cost
    if key is not None:
        cost = cost + coins(table, units, key, name, small=small)[near.cells]
    keyed, least = key is not None, int(near.rest.sum())
    rounded = partial(_rounded, table, units, keyed=keyed, small=small)
    if not len(near.cells):
        return rounded(table.values, proven=True, bound=None)
    found = vertex(near, cost, clock)
    bound = None if keyed or found is None else least + found.bound
    if found is not None and found.up is not None:
        proven = found.bound == int(cost @ found.up)
        return rounded(rest + near.values(found.up), proven=proven, bound=bound)
    choice = chosen(near, cost, solver, clock)
    if choice is None:
        choice, bound = relaxed(near, cost, solver, clock), None
    return rounded(rest + choice.values, proven=choice.proven, bound=bound)


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
    named = phrase("base", "--base")
    units = number_given(named, base) * 10**table.scale
    if units.denominator > 1 or not 2 <= units <= MAX_VALUE:
        least = units_text(2, table.scale)
        kind = f"number of {table.scale} decimal places" if table.scale else "whole number"
        msg = f"{named} must be a {kind} and at least {least}, got {base!r}"
        raise InputError(msg)
    return int(units)


def _rounded(
    table: Table, base: int, values: Ints, *, keyed: bool, small: bool, proven: bool,
    bound: int | None,
) -> Rounded:  # fmt: skip
    off = np.abs(values - table.values)
    found, further = values.astype(np.int64), off >= base
    for array in (found, further):
        array.flags.writeable = False
    if proven and not keyed and not further.any():
        bound = int(off.sum())
    return Rounded(table, found, base, further, keyed, proven, bound, small)
