"""A subspace of deviations, with one row for all cells that move together.

Cells whose rows in a tableau are parallel move together or not at all, and stay so in every part of
the subspace: they form a class. As cells are published classes merge, and with few dimensions left
a hundredth of the rows is enough.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.solve.general.tableau import ZERO, eliminate

__all__ = ["Classes"]

_PARALLEL = 1e-8
_MOVES = 1e-6

# Entries up to which projections are computed anew after every step, else after sixteen.
_SMALL = 200_000

KERNELS = Kernels(__name__, "join_parallel")


class Classes:
    """A subspace on its way down; two random projections of every row tell parallel rows.

    Parameters
    ----------
    matrix : (m, k) float64
        Rows of a tableau: cells; columns: open dimensions. Taken over, not copied.
    keep : (m,) bool
        Cells that must go on moving.
    whole : bool
        Whether vectors must stay whole.
    rng : numpy.random.Generator

    Attributes
    ----------
    matrix : (c, j) float64
        A row for each class; those that are at rest are zero.
    member : (m,) int64
        The class of each cell; c for cells at rest.
    factor : (m,) float64
        How many times the row of its class a cell moves.
    columns : (j,) int64
        Which of the first columns are left.
    exchanges : list of (int, int)
        Cells published so far and the columns closed for them, in order.
    """

    def __init__(
        self, matrix: NDArray[np.float64], keep: NDArray[np.bool_], rng: np.random.Generator, *,
        whole: bool = False,
    ) -> None:  # fmt: skip
        m, k = matrix.shape
        self.matrix, self.member, self.factor = matrix, np.arange(m), np.ones(m)
        self.columns = np.arange(k)
        self.exchanges: list[tuple[int, int]] = []
        self._cell, self._keep, self._whole, self._rng = np.arange(m), keep.copy(), whole, rng
        self._closed = np.zeros(k, bool)
        self._entries: NDArray[np.int64] = np.zeros(k, np.int64)
        self._sides = np.zeros((2, m))
        self._project()

    def copy(self) -> Classes:
        """Return an independent one without closed columns and rows at rest."""
        self.compact()
        other = copy(self)
        other.matrix, other.exchanges = self.matrix.copy(), list(self.exchanges)
        other.member, other.factor = self.member.copy(), self.factor.copy()
        other._keep, other._closed = self._keep.copy(), self._closed.copy()
        other._sides = self._sides.copy()
        return other

    def compact(self) -> None:
        """Forget closed columns and classes at rest."""
        moves: NDArray[np.bool_] = np.asarray(self.matrix.any(axis=1))
        if self._closed.any() or not moves.all():
            place = np.full(len(moves) + 1, moves.sum())
            place[:-1][moves] = np.arange(moves.sum())
            self.member = place[self.member]
            self.matrix = np.ascontiguousarray(self.matrix[np.ix_(moves, ~self._closed)])
            self._cell, self._keep = self._cell[moves], self._keep[moves]
            self._sides = np.ascontiguousarray(self._sides[:, moves])
            self.columns = self.columns[~self._closed]
            self._entries = self._entries[~self._closed]
            self._closed = np.zeros(len(self.columns), bool)

    @property
    def dimensions(self) -> int:
        """Number of open columns."""
        return int(len(self._closed) - self._closed.sum())

    def moving(self) -> NDArray[np.bool_]:
        """Which cells move, (m,)."""
        return np.append((self.matrix != 0).any(axis=1), False)[self.member]

    def span(self) -> NDArray[np.float64]:
        """Columns that span the subspace, (m, j)."""
        self.compact()
        rest = np.zeros((1, self.matrix.shape[1]))
        return np.concatenate([self.matrix, rest])[self.member] * self.factor[:, None]

    def choose(self, weight: NDArray[np.float64], blocked: NDArray[np.bool_]) -> int:
        """Cell of the class of most weight that may be published, or -1."""
        c = len(self.matrix)
        total = np.bincount(self.member, weight, c + 1)[:c]
        total[np.bincount(self.member, blocked, c + 1)[:c] > 0] = 0.0
        total[~self._movable()] = 0.0
        best = int(np.argmax(total)) if c else 0
        return int(self._cell[best]) if c and total[best] > 0 else -1

    def publish(self, cell: int) -> bool:
        """Cut the subspace by the hyperplane in which a cell does not move.

        Refuses (False) if a cell that must move would come to rest: projections can miss that.
        """
        matrix, row = self.matrix, int(self.member[cell])
        column = int(np.argmax(np.abs(matrix[row])))
        if self._whole:
            # Pivots of 1 keep all entries whole.
            ones = np.flatnonzero(np.abs(np.abs(matrix[row]) - 1) < ZERO)
            if len(ones):
                column = int(ones[np.argmin(self._entries[ones])])
            elif abs(matrix[row, column]) >= 10 * ZERO:
                return False
        if abs(matrix[row, column]) < 10 * ZERO:
            # The projections say that it moves, the matrix does not: noise of their updates.
            self._rest(row)
            self._project()
            return True
        side = matrix[:, column] / matrix[row, column]
        if not eliminate(matrix, row, column, self._keep):
            return False
        matrix[:, column] = 0.0
        self._closed[column] = True
        self.exchanges.append((cell, int(self.columns[column])))
        if self._closed.sum() * 2 > len(self._closed):
            self._rest(row)
            self.compact()
            self._project()
        elif matrix.size < _SMALL or len(self.exchanges) % 16 == 0:
            self._rest(row)
            self._project()
        else:
            self._sides -= np.outer(self._sides[:, row], side)
            self._rest(row)
            self._merge()
        return True

    def _movable(self) -> NDArray[np.bool_]:
        return np.asarray(np.abs(self._sides).sum(axis=0) > _MOVES)

    def _rest(self, row: int) -> None:
        """Take a class out."""
        self.matrix[row] = 0.0
        self._sides[:, row] = 0.0
        self.member[self.member == row] = len(self.matrix)

    def _project(self) -> None:
        if self._whole:
            self._entries = np.count_nonzero(self.matrix, axis=0)
        lines = self._rng.normal(size=(2, self.matrix.shape[1])) * ~self._closed
        self._sides = lines @ self.matrix.T
        self._merge()

    def _merge(self) -> None:
        """Join classes whose rows have become parallel."""
        x, y = self._sides
        rows = np.flatnonzero(self._movable())
        slope = x[rows] / np.where(y[rows] == 0, 1e-30, y[rows])
        order = np.argsort(slope)
        left = KERNELS.run(
            "join_parallel", self.matrix, self._sides, self.member, self.factor, self._keep,
            rows[order], slope[order], _PARALLEL, small=self.matrix.size <= _SMALL,
        )  # fmt: skip
        if 2 * left < len(self.matrix):
            self.compact()


def join_parallel(
    matrix: Any, sides: Any, member: Any, factor: Any, keep: Any, rows: Any, slope: Any,
    parallel: float,
) -> int:  # fmt: skip
    """Loop of `Classes`, which changes all in place; numba compiles it, plain it is the oracle.

    Takes rows in the order of their slopes, and returns the number of classes that are left.
    """
    c, k = matrix.shape
    into, times = np.arange(c + 1), np.ones(c + 1)
    begin, left = 0, len(rows)
    while begin < len(rows):
        end, head = begin + 1, rows[begin]
        while end < len(rows) and slope[end] - slope[end - 1] <= parallel * (
            abs(slope[end]) + 1e-3
        ):
            # The shortest row of a group stands for it: others are whole multiples of it, mostly.
            if abs(sides[0, rows[end]]) < abs(sides[0, head]):
                head = rows[end]
            end += 1
        column = 0
        for j in range(k if end > begin + 1 else 0):
            if abs(matrix[head, j]) > abs(matrix[head, column]):
                column = j
        for row in rows[begin:end]:
            if row == head:
                continue
            ratio = matrix[row, column] / matrix[head, column]
            most = off = 0.0
            for j in range(k):
                most = max(most, abs(matrix[row, j]))
                off = max(off, abs(matrix[row, j] - ratio * matrix[head, j]))
            # Of many thousand slopes some are equal by chance.
            if off <= parallel * most:
                into[row], times[row] = head, ratio
                keep[head] = keep[head] or keep[row]
                matrix[row] = 0.0
                sides[:, row] = 0.0
                left -= 1
        begin = end
    if left < len(rows):
        for cell in range(len(member)):
            factor[cell] *= times[member[cell]]
            member[cell] = into[member[cell]]
    return left
