"""Interval ends over integer tables, where fractions would make the attacker look weaker."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from csp.attacker.exact import is_deviation
from csp.attacker.view import Extreme, View, largest_room
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError, argument
from csp.exact import UNBOUNDED, Floats, Ints
from csp.highs import Model, Status

FURTHEST = 10**9
"""Units beyond which integer programs are refused: tolerances are absolute, and so are floats."""


def integer_extreme(
    view: View, j: int, sign: int, relaxed: Extreme, clock: Clock = UNLIMITED
) -> Extreme:
    """Furthest integer deviation of one cell, given the rational one.

    Parameters
    ----------
    view : View
    j, sign : int
        Cell (position within the view) and direction.
    relaxed : Extreme
        The rational answer. If its witness is integral, or its end is attained by an integer
        table after rounding the end inwards, no tree search is needed to prove it.
    clock : Clock

    Returns
    -------
    Extreme
        Its witness is integral (denominator 1). `exact` says whether the end is proved; an end
        strictly inside the rational one rests on the solver's tree search and is not.

    Raises
    ------
    OutOfTime
        If the time runs out first.
    InputError
        If numbers are too large for the solver.
    CertificateError
        If no integer table can be made of the solver's answer.
    """
    if relaxed.denominator == 1:
        return relaxed
    if relaxed.reach is None:
        # A rational ray, multiplied by its denominator, is a ray of whole units.
        return Extreme(None, relaxed.moved, relaxed.steps, 1)
    # Integers above 2**53 are not floats, and tolerances are absolute: refuse rather than round.
    if largest_room(view.up, view.down) > FURTHEST:
        msg = (
            "a suppressed cell can move by more than 10**9 units, which is too far for intervals "
            f"over whole numbers only; use {argument('integer', value=False)}, or a table in a "
            "larger unit"
        )
        raise InputError(msg)
    cost = np.zeros(len(view.cells))
    cost[j] = -sign
    end = relaxed.reach.numerator // relaxed.reach.denominator
    up = np.where(view.up >= UNBOUNDED, np.inf, view.up).astype(np.float64)
    down = np.where(view.down >= UNBOUNDED, np.inf, view.down).astype(np.float64)
    # Where other cells have no end, the solver may take this one for endless, too. One unit of
    # slack, unless the rational end is proved, shows if that end was too small.
    side = up if sign > 0 else down
    room = side[j]
    side[j] = min(room, end + (0 if relaxed.exact else 1))
    z = _furthest(view, cost, up, down, clock)
    if not relaxed.exact and sign * int(z[j]) < end and side[j] < room:
        # A rational deviation that was not followed to its end says little: whole numbers may
        # begin behind it.
        side[j] = min(room, FURTHEST)
        z = _furthest(view, cost, up, down, clock)
    reach = Fraction(sign * int(z[j]))
    moved = np.flatnonzero(z)
    if relaxed.exact and reach == end:
        return replace(relaxed, reach=reach, moved=moved, steps=z[moved], denominator=1)
    return Extreme(reach, moved, z[moved], 1)


def _furthest(view: View, cost: Floats, up: Floats, down: Floats, clock: Clock) -> Ints:
    """Integer deviation of least cost within some room.

    Raises
    ------
    OutOfTime, CertificateError
        See `integer_extreme`.
    """
    model = Model(mip_abs_gap=0.5).load(
        cost=cost, lower=-down, upper=up, rows=view.matrix, integer=True
    )
    status = model.solve(clock, interruptible=True)
    if status == Status.LIMIT:
        clock.check("the attacker's integer program was solved")
    if status != Status.OPTIMAL:
        msg = f"the attacker's integer program ended with status {status}"
        raise CertificateError(msg)
    z = np.rint(model.values).astype(np.int64)
    if not is_deviation(view, z, 1):
        msg = "the attacker's solution does not round to a table of whole numbers"
        raise CertificateError(msg)
    return z
