"""How close cells are known that are not determined: outer bounds, and inner ones around a point.

Chains of relations give outer bounds, the ellipsoid of the log barrier around a point with room
inner ones. Programs in windows are only for the cells between the two: first how far they can move
while all outside the window stays, then how far at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from attacks.large_releases.engine import LargeDisclosure
from attacks.large_releases.windows import OpenPart, Window, windows
from csp.attacker import engine
from csp.attacker.lp import LpEngine
from csp.attacker.view import View
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Floats, Ints, Number, bounds_to_ends, exact

_FINE = 1000
"""Steps of a unit by which cells move from a point, which need not be whole."""

_SECONDS = 20.0
"""Seconds of a window; most take some tenths of one."""


@dataclass(frozen=True, slots=True, eq=False)
class Widths:
    """Which cells can be worked out to within a percentage.

    Attributes
    ----------
    narrow : (k,) bool
        Not known exactly, and proved to be narrow: their outer bounds are.
    wide : (k,) bool
        Consistent with values further apart than that, as far as floats tell.
    between : (k,) bool
        Neither is known: relations further off decide.
    lower, upper : (k,) float64
        Closest outer bounds by then, each proved.
    """

    narrow: Bools
    wide: Bools
    between: Bools
    lower: Floats
    upper: Floats


def judged_widths(
    found: LargeDisclosure, percent: Number, clock: Clock = UNLIMITED, *, integer: bool = True
) -> Widths:
    """Say of each cell whether it is known to within a percentage.

    Parameters
    ----------
    found : LargeDisclosure
    percent : Number
        A cell is narrow if all that it can be is within this of the least.
    clock : Clock
        Cells that were not reached are between.
    integer : bool
        Whether cells are whole units, so that ends are rounded inwards.

    Returns
    -------
    Widths
    """
    share = float(exact(percent))
    lower, upper = found.lower.copy(), found.upper.copy()
    least = (np.zeros(len(lower)) if found.point is None else found.point) - found.reach
    wide = ~found.whole & (found.reach > 0) & (200 * found.reach > share * least)

    def close() -> Bools:
        with np.errstate(invalid="ignore"):
            near = np.isfinite(upper) & (100 * (upper - lower) <= share * lower)
        return np.asarray(~found.whole & near)

    wide &= ~close()
    keep, part = found.open_part()
    between = ~found.whole & ~close() & ~wide
    if found.point is not None:
        moved = _moved(part, found.point[keep], between[keep], share, clock.part(0.5))
        wide[keep] |= moved
        between &= ~wide
    looked_at = np.zeros(len(keep), bool)
    for window in windows(part, between[keep], looked_at):
        if clock.over:
            break
        here = window.cells
        targets = np.flatnonzero(between[keep[here]] & window.inner & ~looked_at[here])
        # Once is enough, whatever came of it.
        looked_at[here[window.inner]] = True
        try:
            low, high = _ends(window, targets, clock.within(_SECONDS), integer=integer)
        except (OutOfTime, CertificateError):
            # These cells stay between.
            continue
        cells = keep[here[targets]]
        lower[cells] = np.maximum(lower[cells], low)
        upper[cells] = np.minimum(upper[cells], high)
    narrow = close()
    return Widths(narrow, wide, between & ~narrow, lower, upper)


def _moved(part: OpenPart, point: Floats, wanted: Bools, share: float, clock: Clock) -> Bools:
    """Cells that move by more than a percentage of their size, with all outside a window held."""
    moved, looked_at = np.zeros(len(wanted), bool), np.zeros(len(wanted), bool)
    below, above = point - bounds_to_ends(part.lower), bounds_to_ends(part.upper) - point
    need = np.floor(_FINE * share / 100 * np.maximum(point, 0)) + 1
    room = np.clip(np.floor(_FINE * np.array([above, below])), 0, UNBOUNDED).astype(np.int64)
    for window in windows(part, wanted & (need < MAX_VALUE), looked_at):
        if clock.over:
            break
        here, inner = window.cells, window.inner
        targets = np.flatnonzero(wanted[here] & inner & ~looked_at[here])
        looked_at[here[inner]] = True
        up, down = np.where(inner, room[:, here], 0)
        view = View(here, window.rows, window.matrix, up, down)
        # Half of it either way: the point lies in the middle of what its cell can be.
        enough = (need[here[targets]] // 2 + 1).astype(np.int64)
        signs = np.repeat([1, -1], len(targets))
        try:
            ends = LpEngine(view).ends(
                np.tile(targets, 2), signs, np.tile(enough, 2), clock.within(_SECONDS)
            )
        except (OutOfTime, CertificateError):
            # These cells stay between.
            continue
        reach = np.array([np.inf if one.reach is None else float(one.reach) for one in ends])
        moved[here[targets]] = reach.reshape(2, -1).sum(axis=0) >= need[here[targets]]
    return moved


def _ends(window: Window, targets: Ints, clock: Clock, *, integer: bool) -> tuple[Floats, Floats]:
    """Proved ends of cells within a window, infinite where there is no proof."""
    table = window.table(clock)
    signs = np.repeat([-1, 1], len(targets))
    answers = engine(window.view(table)).ends(np.tile(targets, 2), signs, None, clock)
    ends = np.full(len(signs), np.inf)
    for at, answer in enumerate(answers):
        if answer.exact and answer.reach is not None:
            reach = Fraction(answer.reach.numerator // answer.reach.denominator)
            ends[at] = float(reach if integer else answer.reach)
    low, high = ends.reshape(2, -1)
    return table[targets] - low, table[targets] + high
