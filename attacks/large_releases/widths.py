"""How close cells are known that are not determined: outer bounds, and inner ones around a point.

All of the ellipsoid of the log barrier around a point with room is consistent with the release. How
far it reaches along each cell is estimated from random vectors, with one factor for all cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks.large_releases.engine import LargeDisclosure, reduced
from attacks.large_releases.kernel_vectors import factor
from csp.clock import Clock
from csp.exact import Number, exact

__all__ = ["Widths", "judged_widths", "narrow_cells"]

_VECTORS = 24
"""Random vectors: an estimated reach is off by 15 percent."""

_CAUTION = 0.5
"""Share of the estimated reach that is counted on."""


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
        Neither is known: only linear programs decide.
    """

    narrow: NDArray[np.bool_]
    wide: NDArray[np.bool_]
    between: NDArray[np.bool_]


def narrow_cells(found: LargeDisclosure, percent: Number) -> NDArray[np.bool_]:
    """Cells that are not known and whose outer bounds lie within a percentage of the lower one."""
    with np.errstate(invalid="ignore"):
        close = 100 * (found.upper - found.lower) <= float(exact(percent)) * found.lower
    return np.asarray(~found.exact & np.isfinite(found.upper) & close)


def judged_widths(
    found: LargeDisclosure, percent: Number, *, time_limit: float | None = None
) -> Widths:
    """Say of each cell whether it is known to within a percentage.

    Parameters
    ----------
    found : LargeDisclosure
    percent : Number
        A cell is narrow if all that it can be is within this of the least.
    time_limit : float, optional
        Wall seconds; cells that were not reached are between.

    Returns
    -------
    Widths
    """
    clock = Clock.of(time_limit)
    narrow = narrow_cells(found, percent)
    reach = np.zeros(len(found.cells))
    if found.point is not None and not clock.over:
        keep = np.flatnonzero(~found.exact)
        matrix = reduced(found.system.matrix, found.exact)
        rows = np.flatnonzero(np.diff(matrix.indptr))
        a = matrix[rows][:, keep].astype(np.float64)
        x = found.point[keep]
        # Below and above; the ellipsoid lies within the smaller room of each cell.
        weights = 1 / (1 / (x - found.lower[keep]) ** 2 + 1 / (found.upper[keep] - x) ** 2)
        solver, turned = factor(a, weights), a.T.tocsr()
        rng = np.random.default_rng(0)
        squares, drawn = np.zeros(len(keep)), 0
        while drawn < _VECTORS and not clock.over:
            move = np.sqrt(weights) * rng.standard_normal(len(keep))
            for _ in range(2):
                move -= weights * (turned @ solver.solve(a @ move))
            squares += move**2
            drawn += 1
        reach[keep] = _CAUTION * np.sqrt(squares / max(drawn, 1))
    least = (np.zeros(len(reach)) if found.point is None else found.point) - reach
    wide = ~found.exact & (reach > 0) & (200 * reach > float(exact(percent)) * least) & ~narrow
    return Widths(narrow, wide, ~found.exact & ~narrow & ~wide)
