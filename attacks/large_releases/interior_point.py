"""A point with room on both sides of every cell: then no bound fixes a cell that relations leave.

Floats alone: a point found here is evidence that cells are open, and proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attacks.large_releases.kernel_vectors import factor
from csp.clock import UNLIMITED, Clock
from csp.exact import UNBOUNDED, Bools, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_STEPS = 60
"""Newton steps: some ten to twenty find a point where there is one."""

_BACK = 0.9
"""Share of the way to the nearest bound that a step takes at most."""

_SHORT, _STALLED = 1e-2, 5
"""Length of a step that gets nowhere, and how many of them in a row end the search."""

_CRAMPED = 1e-2
"""Share of its bounds below which the room of a cell is suspicious after that."""

_NEAR = 1e-3
"""Largest further step, as a share of the room of a cell, at which the point counts as found."""

_FLAT = 1e-9
"""Share of its bounds that every cell of a point must have as room: less is what floats lose."""

_VECTORS = 24
"""Random vectors: an estimated reach is off by 15 percent."""

_CAUTION = 0.5
"""Share of the estimated reach that is counted on."""


@dataclass(frozen=True, slots=True, eq=False)
class InteriorPoint:
    """Where the search for a point with room ended.

    Attributes
    ----------
    values : (k,) float64
        In units.
    steps : int
    cramped : (k,) bool or None
        Cells that came close to a bound while relations did not hold yet. None if the point was
        found: relations hold and every cell has room on both sides, as far as floats tell.
    """

    values: Floats
    steps: int
    cramped: Bools | None


def interior_point(
    matrix: csr_array, right: Ints, lower: Ints, upper: Ints, clock: Clock = UNLIMITED,
) -> InteriorPoint:  # fmt: skip
    """Find a point with room on both sides of every cell by Newton steps of the log barrier.

    Parameters
    ----------
    matrix : (r, k) csr_array
    right : (r,) int64
    lower, upper : (k,) int64
        Apart from each other; `UNBOUNDED` for none.
    clock : Clock

    Returns
    -------
    InteriorPoint
    """
    a = matrix.astype(np.float64)
    turned = a.T.tocsr()
    no_low, no_high = lower <= -UNBOUNDED, upper >= UNBOUNDED
    low = np.where(no_low, np.where(no_high, 0, upper) - 2e6, lower).astype(np.float64)
    high = np.where(no_high, low + 2e6, upper).astype(np.float64)
    x = (low + high) / 2
    b = right.astype(np.float64)
    below, above = x - low, high - x
    stalled = 0
    for step in range(1, _STEPS + 1):
        # Floats can come to lie on a bound; then there is hardly any room.
        if clock.over or stalled == _STALLED or np.minimum(below, above).min(initial=1) <= 0:
            break
        weights = 1 / (1 / below**2 + 1 / above**2)
        slope = 1 / above - 1 / below
        missing = b - a @ x
        solver = factor(a, weights)
        # Newton: the step makes relations hold, and the barrier as flat as they allow.
        y = solver.solve(missing + a @ (weights * slope))
        move = weights * (turned @ y - slope)
        move += weights * (turned @ solver.solve(missing - a @ move))
        # What relations alone need, without regard to the barrier.
        need = weights * (turned @ solver.solve(missing))
        near = np.max(np.abs(need) / np.minimum(below, above), initial=0)
        room = np.min(np.minimum(below, above) / (high - low), initial=1)
        if near < _NEAR and room > _FLAT and np.abs(missing - a @ need).max(initial=0) <= 0.5:
            return InteriorPoint(x + need, step, None)
        with np.errstate(divide="ignore"):
            most = np.min(np.where(move < 0, below / -move, above / move), initial=np.inf)
        length = min(1.0, _BACK * most)
        stalled = stalled + 1 if length < _SHORT else 0
        x = x + length * move
        below, above = x - low, high - x
    cramped = np.minimum(below, above) < _CRAMPED * (high - low)
    return InteriorPoint(x, step, cramped)


def reach_around(
    matrix: csr_array, point: Floats, lower: Floats, upper: Floats, clock: Clock = UNLIMITED,
) -> Floats:  # fmt: skip
    """Estimate how far each cell can move from a point with room.

    All of the ellipsoid of the log barrier around the point is consistent with the release. How far
    it reaches along each cell is estimated from random vectors, with one factor for all cells.

    Parameters
    ----------
    matrix : (r, k) csr_array
    point, lower, upper : (k,) float64
        Infinite for no bound.
    clock : Clock

    Returns
    -------
    (k,) float64
        In units, either way; 0 where the time did not suffice.
    """
    a = matrix.astype(np.float64)
    squares, drawn = np.zeros(len(point)), 0
    if clock.over or not len(point):
        return squares
    # Below and above; the ellipsoid lies within the smaller room of each cell.
    weights = 1 / (1 / (point - lower) ** 2 + 1 / (upper - point) ** 2)
    solver, turned = factor(a, weights), a.T.tocsr()
    rng = np.random.default_rng(0)
    while drawn < _VECTORS and not clock.over:
        move = np.sqrt(weights) * rng.standard_normal(len(point))
        for _ in range(2):
            move -= weights * (turned @ solver.solve(a @ move))
        squares += move**2
        drawn += 1
    return np.asarray(_CAUTION * np.sqrt(squares / max(drawn, 1)))
