"""Zero-half cuts: half the sum of some rows of the relaxation, rounded.

Requirements that share cells leave a gap that no cut for one of them closes; combinations of rows
do (Caprara and Fischetti 1996). Any half sum ``c x >= b`` of valid rows gives, as x is 0 or 1,
``c' x >= ceil(b')`` where each weight is rounded up, or down with what it loses taken from b. Which
rows, and which way, is a search: rows join one after the other, whichever leaves the most.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Floats, Ints
from csp.solve.cuts import Cut

# A weight this close to a whole number is one: over a million cells it moves a side by a millionth,
# which the right side allows for.
_NEAR = 1e-12
_SURE = 1e-6

# Least violation that counts; half a unit is the most there can be.
_LEAST = 0.03

# Rows that may join others, the tightest first, and how many make one cut.
_ROWS = 300
_STEPS = 9

# Entries of rows looked at in one call: some hundredths of a second.
_WORK = 3_000_000

_SMALL = 2_000
"""Entries up to which plain Python takes a tenth of a second at most."""


def zero_half(
    cuts: list[Cut], matrix: Any, right: Floats, cells: Ints, x: Floats, most: int,
) -> list[Cut]:  # fmt: skip
    """Zero-half cuts that a point violates.

    Parameters
    ----------
    cuts : list of Cut
        Rows of the relaxation.
    matrix : (m, k) csr_array
        Their weights.
    right : (m,) float64
    cells : (k,) int64
        Of each column.
    x : (k,) float64
        A point that keeps all rows.
    most : int
        Rows to begin with, one cut at most from each.

    Returns
    -------
    list of Cut
        With whole weights, of kind "rounded", the most violated first. Valid wherever all `cuts`
        are: "tie" and "budget" rows, which are not valid for all patterns, take no part.
    """
    slack = matrix @ x - right
    able = np.array([cut.kind not in ("tie", "budget") for cut in cuts], dtype=bool)
    order = np.flatnonzero(able & (slack < 0.5))
    order = order[np.argsort(slack[order], kind="stable")][:_ROWS]
    part = matrix[order]
    starts = min(len(order), most, _WORK // max(1, part.nnz * _STEPS))
    if not starts:
        return []
    chosen = np.full((starts, _STEPS), -1, dtype=np.int64)
    gain = np.zeros(starts)
    KERNELS.run(
        "combine", part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data,
        right[order], np.maximum(slack[order], 0.0), x, chosen, gain,
        small=starts * part.nnz <= _SMALL,
    )  # fmt: skip
    found = []
    for s in np.argsort(-gain, kind="stable").tolist():
        if gain[s] < _LEAST:
            break
        rows = chosen[s][chosen[s] >= 0]
        half, side = _half(part, rows), float(right[order[rows]].sum()) / 2
        below = min(cuts[r].below for r in order[rows].tolist())
        found.append(_rounded(half, side, below, cells, x))
    return list({cut.key: cut for cut in found}.values())


def _half(matrix: Any, rows: Ints) -> Floats:
    """Half the sum of some rows of a csr_array."""
    spans = [slice(*matrix.indptr[r : r + 2].tolist()) for r in rows.tolist()]
    where = np.concatenate([matrix.indices[span] for span in spans])
    weights = np.concatenate([matrix.data[span] for span in spans])
    return np.bincount(where, weights, matrix.shape[1]) / 2


def _rounded(half: Floats, side: float, below: float, cells: Ints, x: Floats) -> Cut:
    """Round half the sum of some rows and of their sides."""
    up, down = np.ceil(half - _NEAR), np.floor(half + _NEAR)
    over = np.maximum(half - down, 0.0)
    lower = over * (1 - x) < np.maximum(up - half, 0.0) * x
    weights = np.where(lower, down, up)
    whole = math.ceil(side - float(over[lower].sum()) - _SURE)
    used = weights != 0
    return Cut(cells[used], weights[used], float(whole), "rounded", below)


def rounding(half: float, x: float) -> tuple[float, float]:
    """Round a weight the better way: what it loses at a point, and what the side loses."""
    up = max(np.ceil(half - _NEAR) - half, 0.0) * x
    over = max(half - np.floor(half + _NEAR), 0.0)
    return (over * (1 - x), over) if over * (1 - x) < up else (up, 0.0)


def within(indptr: NDArray[Any], indices: NDArray[Any], weights: Floats, x: NDArray[Any]) -> Any:
    """Rows without the cells at 0, which lose nothing whatever their weights."""
    ends, cells, kept = np.zeros_like(indptr), np.empty_like(indices), np.empty_like(weights)
    to = 0
    for r in range(len(ends) - 1):
        for at in range(indptr[r], indptr[r + 1]):
            if x[indices[at]] > _NEAR:
                cells[to], kept[to] = indices[at], weights[at]
                to += 1
        ends[r + 1] = to
    return ends, cells, kept


def combine(
    indptr: NDArray[Any], indices: NDArray[Any], weights: Floats, right: Floats, slack: Floats,
    x: Floats, chosen: Ints, gain: Floats,
) -> None:  # fmt: skip
    """Choose rows whose half sum, rounded, the point violates most.

    Parameters
    ----------
    indptr, indices, weights : csr arrays of (m, k)
    right, slack : (m,) float64
    x : (k,) float64
    chosen : (s, t) int64, written
        Rows that begin with the first, second, ... row; -1 after the last one.
    gain : (s,) float64, written
        By how much the point violates what they give.
    """
    rows = len(right)
    indptr, indices, weights = within(indptr, indices, weights, x)
    half = np.zeros(len(x))
    loss, drop = np.zeros(len(x)), np.zeros(len(x))
    used = np.zeros(rows, dtype=np.bool_)
    for s in range(len(chosen)):
        half[:], loss[:], drop[:], used[:] = 0.0, 0.0, 0.0, False
        side = lost = dropped = 0.0
        row, size = s, 0
        for step in range(chosen.shape[1]):
            for at in range(indptr[row], indptr[row + 1]):
                i = indices[at]
                half[i] += weights[at] / 2
                lost -= loss[i]
                dropped -= drop[i]
                loss[i], drop[i] = rounding(half[i], x[i])
                lost += loss[i]
                dropped += drop[i]
            side += right[row] / 2
            lost += slack[row] / 2
            used[row] = True
            chosen[s, step] = row
            rest = side - dropped
            now = np.ceil(rest - _SURE) - rest - lost
            if now > gain[s] + _SURE:
                gain[s], size = now, step + 1
            best = -1.0
            for r in range(rows):
                if used[r]:
                    continue
                more, given = lost + slack[r] / 2, dropped
                for at in range(indptr[r], indptr[r + 1]):
                    i = indices[at]
                    lose, leave = rounding(half[i] + weights[at] / 2, x[i])
                    more += lose - loss[i]
                    given += leave - drop[i]
                rest = side + right[r] / 2 - given
                now = np.ceil(rest - _SURE) - rest - more
                if now > best:
                    best, row = now, r
            if best <= -1.0:
                break
        for step in range(size, chosen.shape[1]):
            chosen[s, step] = -1


KERNELS = Kernels(__name__, "rounding", "within", "combine")
