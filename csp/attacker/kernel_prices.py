"""Why a pattern, or a point between patterns, misses a level: prices in kernel form, compiled.

All cells that may be suppressed have one kernel form. The attacker moves a primary cell as far as
the shares of the others let it, by the simplex method; where that is not far enough, the line of
the cell in the last dictionary bounds its way by those of a few others, in whole numbers. That is
an inequality of Fischetti and Salazar-Gonzalez (2000), exact whatever the simplex method rounds.
"""

from __future__ import annotations

from typing import Any

from csp.attacker import kernel_simplex
from csp.attacker.kernel_simplex import pivot
from csp.compiled import Kernels

_NEAR = 1e-9

_FAR = 1e15
"""Beyond any way that is finite."""

_STEPS = 400


def steepest(
    matrix: Any, columns: Any, z: Any, up: Any, down: Any, row: int, sign: int, careful: int
) -> int:
    """Column whose cell is to move for that of a row; -1 if none helps.

    With `careful` the first cell of all, which never cycles (Bland 1977).
    """
    best, found = 0, -1
    for j in range(len(columns)):
        slope, cell = sign * matrix[row, j], columns[j]
        if (slope > 0 and z[cell] < up[cell] - _NEAR) or (
            slope < 0 and z[cell] > _NEAR - down[cell]
        ):
            worth = matrix.shape[0] - cell if careful else abs(slope)
            if worth > best:
                best, found = worth, j
    return found


def nearest(matrix: Any, divisor: int, z: Any, up: Any, down: Any, column: int, turn: int) -> Any:
    """How far the cell of a column can move, and the cell that stops it; -1 if nothing does."""
    far, size, leaving = _FAR, 0, -1
    for i in range(matrix.shape[0]):
        slope = turn * matrix[i, column]
        if slope != 0:
            room = up[i] - z[i] if slope > 0 else down[i] + z[i]
            step = max(room, 0.0) * divisor / abs(slope)
            if step < far - _NEAR or (step < far + _NEAR and abs(slope) > size):
                far, size, leaving = min(far, step), abs(slope), i
    return far, leaving


def rise(
    matrix: Any, columns: Any, divisor: int, z: Any, up: Any, down: Any, row: int, sign: int,
    need: float,
) -> Any:  # fmt: skip
    """Move a cell in a direction until it has gone as far as it needs to, or goes no further.

    Returns
    -------
    divisor : int
        Of the dictionary after it; 0 if entries became too large.
    reached : bool
    """
    careful = 0
    for _ in range(_STEPS):
        if sign * z[row] >= need - _NEAR:
            return divisor, True
        found = steepest(matrix, columns, z, up, down, row, sign, careful)
        if found < 0:
            return divisor, False
        turn = 1 if sign * matrix[row, found] > 0 else -1
        far, leaving = nearest(matrix, divisor, z, up, down, found, turn)
        if leaving < 0:
            return divisor, True
        careful = 1 if far <= _NEAR else careful
        for i in range(matrix.shape[0]):
            if matrix[i, found] != 0:
                z[i] += turn * matrix[i, found] * far / divisor
        if columns[found] != leaving:
            divisor = pivot(matrix, divisor, leaving, found)
            columns[found] = leaving
            if divisor == 0:
                return 0, True
    return divisor, True


def miss(
    matrix: Any, columns: Any, divisor: int, z: Any, up: Any, down: Any, row: int, level: Any,
    plus: Any, minus: Any,
) -> Any:  # fmt: skip
    """Look for a level of a cell that it misses, and for the prices that say so.

    Levels are those of `csp.problem.problem.Problem`: lower, upper, sliding. `plus` and `minus`
    (m,) become what a cell adds for each unit of room above and below it.

    Returns
    -------
    divisor : int
        Of the dictionary after it; 0 if entries became too large.
    kind : int
        0 upper, 1 lower, 2 sliding level; -1 if none is missed.
    common : int
        Units of the prices.
    """
    # Upwards, then downwards, which has to make up for what the sliding level lacks.
    gone, common, missed = 0.0, 1, -1
    for turn in range(2):
        sign = 1 - 2 * turn
        alone, left = 1.0 * level[1 - turn], level[2] - gone
        if max(alone, left) <= 0.0:
            continue
        divisor, reached = rise(
            matrix, columns, divisor, z, up, down, row, sign, max(alone, left)
        )  # fmt: skip
        if divisor == 0:
            return 0, -1, 1
        if reached:
            gone, missed = left, -1
            continue
        way = max(sign * z[row], 0.0)
        if missed < 0 or way < alone - _NEAR:
            common = 1
            for i in range(len(plus)):
                plus[i] = minus[i] = 0
        for i in range(len(plus)):
            plus[i] *= divisor
            minus[i] *= divisor
        for j in range(len(columns)):
            plus[columns[j]] += common * max(sign * matrix[row, j], 0)
            minus[columns[j]] += common * max(-sign * matrix[row, j], 0)
        common *= divisor
        if way < alone - _NEAR:
            return divisor, turn, common
        gone, missed = way, 2
    return divisor, missed, common


KERNELS = Kernels(__name__, "steepest", "nearest", "rise", "miss", given=kernel_simplex.KERNELS)
