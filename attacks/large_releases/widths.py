"""How close cells are known that are not determined: outer bounds, and inner ones around a point.

Chains of relations give outer bounds, the ellipsoid of the log barrier around a point with room
inner ones. Programs in windows are only for the cells between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from attacks.large_releases.engine import LargeDisclosure
from attacks.large_releases.windows import Window, windows
from csp.attacker import engine
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime
from csp.exact import Number, exact

__all__ = ["Widths", "judged_widths"]

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

    narrow: NDArray[np.bool_]
    wide: NDArray[np.bool_]
    between: NDArray[np.bool_]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


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

    def close() -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            near = np.isfinite(upper) & (100 * (upper - lower) <= share * lower)
        return np.asarray(~found.whole & near)

    wide &= ~close()
    keep, part = found.open_part()
    between = ~found.whole & ~close() & ~wide
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


def _ends(
    window: Window, targets: NDArray[np.int64], clock: Clock, *, integer: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
