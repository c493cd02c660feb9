"""Float answers of an LP made exact: rational witnesses, and bounds by weak duality.

Whatever multipliers ``g`` a solver suggests, ``c = s e_j - M' g`` proves that the deviation of cell
j in direction s is at most ``sum_i max(c_i, 0) up_i + max(-c_i, 0) down_i`` (solver-independent, in
integers). A wrong suggestion gives a weak bound, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.elimination import solved
from csp.attacker.view import View, largest_room
from csp.clock import UNLIMITED, Clock
from csp.exact import UNBOUNDED, Floats, Ints

# Denominators seen at vertices of margin systems; each divides one of these.
_DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 2520, 27720)


# What counts as whole, the largest common denominator looked for, and its largest single factor.
_WHOLE = 1e-4
_MOST = 10**9
_PART = 10**4


def common_denominator(span: Floats) -> int | None:
    """Smallest number found that makes all entries whole; None if there is none of good size."""
    entries = np.unique(np.abs(span).ravel())
    divisor = 1
    while divisor < _MOST:
        off = np.abs(entries * divisor - np.rint(entries * divisor))
        wrong = int(np.argmax(off))
        if off[wrong] <= _WHOLE:
            return divisor
        part = Fraction(float(entries[wrong] * divisor)).limit_denominator(_PART)
        if part.denominator == 1:
            return None
        divisor *= part.denominator
    return None


def rationalise(x: Floats) -> Iterator[tuple[Ints, int]]:
    """Yield integer vectors n and denominators d with n / d close to x, smallest d first."""
    size = float(np.abs(x).max(initial=0.0))
    for d in _DENOMINATORS:
        if size * d > 2.0**53:
            return
        n = np.rint(x * d)
        if np.all(np.abs(x * d - n) <= 1e-6 * np.maximum(1.0, np.abs(n) * 1e-3) * d):
            yield n.astype(np.int64), d


def _exact_product(matrix: Any, vector: NDArray[Any]) -> NDArray[Any]:
    """``matrix @ vector`` in int64 where it fits, in Python integers where it may not."""
    biggest = max(abs(int(vector.min())), abs(int(vector.max()))) if len(vector) else 0
    span = int(np.abs(matrix.data).max(initial=1)) * max(matrix.shape)
    if biggest * span < 2**62:
        product: NDArray[Any] = matrix @ vector.astype(np.int64)
        return product
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out = np.array([0] * matrix.shape[0], dtype=object)
    terms = matrix.data.astype(object) * vector.astype(object)[matrix.indices]
    np.add.at(out, rows, terms)
    return out


def is_deviation(view: View, numerators: NDArray[Any], denominator: int) -> bool:
    """Whether a rational vector satisfies every relation and bound of a view, exactly."""
    up, down = view.up, view.down
    if denominator != 1 or numerators.dtype == object:
        if numerators.dtype != object and largest_room(up, down) * denominator < 2**62:
            up, down = (np.where(side < UNBOUNDED, side, 0) * denominator for side in (up, down))
        else:
            numerators = numerators.astype(object)
            up, down = up.astype(object) * denominator, down.astype(object) * denominator
    beyond = (numerators > up) & (view.up < UNBOUNDED)
    beyond |= (-numerators > down) & (view.down < UNBOUNDED)
    if np.any(beyond):
        return False
    return not np.any(_exact_product(view.matrix, numerators))


def dual_bound(
    view: View, j: int, sign: int, multipliers: NDArray[Any], divisor: int
) -> Fraction | None:
    """Exact bound that row multipliers prove for one cell and direction.

    Parameters
    ----------
    view : View
    j : int
        Position of the cell within the view.
    sign : {1, -1}
    multipliers : (r,) array of int
        Numerators.
    divisor : int

    Returns
    -------
    Fraction or None
        Bound on the deviation; None if the multipliers prove none (an unbounded cell counts).
    """
    from scipy.sparse import csr_array

    c = -_exact_product(csr_array(view.matrix.T), multipliers)
    c = c.astype(object)
    c[j] += sign * divisor
    total = 0
    for i in np.flatnonzero(c != 0):
        side = view.up if c[i] > 0 else view.down
        if side[i] >= UNBOUNDED:
            return None
        total += abs(c[i]) * int(side[i])
    return Fraction(total, divisor)


def basic_solution(
    view: View, basic_columns: Ints, at: NDArray[Any], tight_rows: Ints,
    j: int, sign: int, clock: Clock = UNLIMITED,
) -> tuple[NDArray[Any], int, NDArray[Any], int] | None:  # fmt: skip
    """Exact primal and dual solution of an LP basis.

    Parameters
    ----------
    view : View
    basic_columns : (b,) int64
    at : (k,) array of int
        Value of every nonbasic cell (0 for basic ones).
    tight_rows : (b,) int64
        Relations whose slack is not basic.
    j, sign : int
        The objective.
    clock : Clock

    Returns
    -------
    (numerators, denominator, multiplier numerators, divisor) or None
        None if the basis is singular.

    Raises
    ------
    OutOfTime
        See `csp.attacker.elimination.solved`.
    """
    from scipy.sparse import csr_array, hstack

    nonbasic = np.setdiff1d(np.arange(len(view.cells)), basic_columns)
    rows = csr_array(view.matrix[tight_rows])
    primal = solved(rows, nonbasic, at[nonbasic, None], clock)
    # The multipliers g with B' g = e: one more column, of value 1, holds e.
    b = len(tight_rows)
    objective = csr_array((basic_columns == j).astype(np.int64)[:, None] * -sign)
    turned = csr_array(hstack([rows[:, basic_columns].T, objective], format="csr"))
    dual = solved(turned, np.array([b]), np.array([[1]], dtype=object), clock)
    if primal is None or dual is None:
        return None
    multipliers = np.array([0] * len(view.rows), dtype=object)
    multipliers[tight_rows] = dual[0][:b, 0]
    return primal[0][:, 0], primal[1], multipliers, dual[1]
