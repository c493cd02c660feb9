"""Exact solution of the sparse square systems that LP bases of margin systems are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock

__all__ = ["solve_square"]

# Time of a dense solution, over the cube of its size; measured on one core.
_SECONDS = 3e-9


def solve_square(matrix: Any, right: list[int], clock: Clock = UNLIMITED) -> list[Fraction] | None:
    """Solve ``matrix @ x = right`` in rationals.

    Bases of margin systems are nearly triangular: rows and columns with one entry are peeled off
    first, and only the small nucleus that is left needs dense exact arithmetic (FLINT).

    Parameters
    ----------
    matrix : (b, b) csr_array of int
    right : list of int
        Length b.
    clock : Clock

    Returns
    -------
    list of Fraction or None
        None if the matrix is singular.

    Raises
    ------
    OutOfTime
        If the nucleus is too large for the time that is left: its solution cannot be interrupted.
    """
    from scipy.sparse import csc_array

    columns = csc_array(matrix)
    b = matrix.shape[0]
    rows_of = np.split(columns.indices, columns.indptr[1:-1])
    cols_of = np.split(matrix.indices, matrix.indptr[1:-1])
    entries: list[dict[int, int]] = [
        dict(zip(cols.tolist(), data.tolist(), strict=True))
        for cols, data in zip(cols_of, np.split(matrix.data, matrix.indptr[1:-1]), strict=True)
    ]
    row_open, col_open = np.ones(b, dtype=bool), np.ones(b, dtype=bool)
    row_count = np.diff(matrix.indptr).tolist()
    col_count = np.diff(columns.indptr).tolist()
    x: list[Fraction] = [Fraction(0)] * b
    rest = [Fraction(v) for v in right]
    later: list[tuple[int, int]] = []
    queue = [("row", i) for i in range(b) if row_count[i] == 1]
    queue += [("col", j) for j in range(b) if col_count[j] == 1]
    while queue:
        kind, k = queue.pop()
        if kind == "row":
            if not row_open[k] or row_count[k] != 1:
                continue
            i, j = k, next(j for j in entries[k] if col_open[j])
            x[j] = rest[i] / entries[i][j]
        else:
            if not col_open[k] or col_count[k] != 1:
                continue
            i, j = next(i for i in rows_of[k].tolist() if row_open[i]), k
            later.append((i, j))
        row_open[i] = col_open[j] = False
        for other in rows_of[j].tolist():
            if row_open[other]:
                row_count[other] -= 1
                if kind == "row" and x[j]:
                    rest[other] -= entries[other][j] * x[j]
                if row_count[other] == 1:
                    queue.append(("row", other))
        for other in entries[i]:
            if col_open[other]:
                col_count[other] -= 1
                if col_count[other] == 1:
                    queue.append(("col", other))
    left = np.flatnonzero(row_open)
    Clock(clock.end - _SECONDS * len(left) ** 3).check("an exact basis was solved")
    if not _nucleus(entries, left, np.flatnonzero(col_open), rest, x):
        return None
    for i, j in reversed(later):
        known = sum((a * x[c] for c, a in entries[i].items() if c != j and x[c]), Fraction(0))
        x[j] = (Fraction(right[i]) - known) / entries[i][j]
    return x


def _nucleus(
    entries: list[dict[int, int]],
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    rest: list[Fraction],
    x: list[Fraction],
) -> bool:
    """Solve what peeling has left; False if it is singular."""
    from math import lcm

    from flint import fmpz_mat

    size = len(rows)
    if size != len(cols):
        return False
    if size == 0:
        return True
    place = {int(j): k for k, j in enumerate(cols)}
    dense = [0] * (size * size)
    for k, i in enumerate(rows.tolist()):
        for j, a in entries[i].items():
            if j in place:
                dense[k * size + place[j]] = a
    common = lcm(*(rest[i].denominator for i in rows.tolist()))
    right = [int(rest[i] * common) for i in rows.tolist()]
    try:
        answer = fmpz_mat(size, size, dense).solve(fmpz_mat(size, 1, right))
    except ZeroDivisionError:
        return False
    for k, j in enumerate(cols.tolist()):
        value = answer[k, 0]
        x[j] = Fraction(int(value.p), int(value.q)) / common
    return True
