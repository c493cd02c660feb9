"""A subspace of deviations, with one row for all cells that move together.

Cells whose rows in a tableau are parallel move together or not at all, and stay so in every part of
the subspace: they form a class. As cells are published classes merge, and with few dimensions left
a hundredth of the rows is enough.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints
from csp.solve.general.tableau import ZERO

_PARALLEL = 1e-8
_BINS = 2.0**26

# Entries up to which plain Python takes about a thousandth of a second for a step, and those of all
# steps between two looks at the clock: a tenth at most. (A tenth of that: three times as long.)
_SMALL = 2_000
_UNTIMED = 200_000_000

KERNELS = Kernels(
    __name__, "pivot_column", "remains", "eliminate_from", "multiple", "join_parallel",
    "publish_most",
)  # fmt: skip


class Cells(NamedTuple):
    """What is known of each cell: (m,) arrays, of which all but `weight` are written.

    Attributes
    ----------
    member, factor
        Its class, and how many times the row of that it moves.
    weight, blocked
        How much publishing it is worth, and whether it must not be.
    """

    member: Ints
    factor: Floats
    weight: Floats
    blocked: Bools


class Classes:
    """A subspace on its way down.

    Parameters
    ----------
    matrix : (m, k) float64
        Rows of a tableau: cells; columns: open dimensions. Taken over, not copied.
    keep : (m,) bool
        Cells that must go on moving.
    rng : numpy.random.Generator
    whole : bool
        Whether vectors must stay whole.

    Attributes
    ----------
    matrix : (c, j) float64
        A row for each class.
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
        self, matrix: Floats, keep: Bools, rng: np.random.Generator, *, whole: bool = False,
    ) -> None:  # fmt: skip
        m, k = matrix.shape
        self.matrix, self.member, self.factor = matrix, np.arange(m), np.ones(m)
        self.columns = np.arange(k)
        self.exchanges: list[tuple[int, int]] = []
        self._cell, self._keep, self._whole = np.arange(m), keep.copy(), whole
        # Rows that are parallel have parallel products with these.
        self._lines = rng.normal(size=(k, 2))
        self._descend(np.zeros(m), keep.copy(), 0)

    def copy(self) -> Classes:
        """Return an independent one."""
        other = copy(self)
        other.matrix, other.exchanges = self.matrix.copy(), list(self.exchanges)
        other.member, other.factor = self.member.copy(), self.factor.copy()
        other._keep = self._keep.copy()
        return other

    def moving(self) -> Bools:
        """Which cells move, (m,)."""
        return np.asarray(self.member < len(self.matrix))

    def span(self) -> Floats:
        """Columns that span the subspace, (m, j)."""
        rest = np.zeros((1, self.matrix.shape[1]))
        return np.concatenate([self.matrix, rest])[self.member] * self.factor[:, None]

    def publish(
        self, weight: Floats, blocked: Bools, *, most: int | None = None, clock: Clock = UNLIMITED,
    ) -> int:  # fmt: skip
        """Publish class after class, the one of most weight first.

        Each cuts the subspace by the hyperplane in which it does not move.

        Parameters
        ----------
        weight : (m,) float64
        blocked : (m,) bool
            Cells that must not be published, those that must move among them. Changed in place:
            those are added without which a cell that must move would come to rest, or vectors
            would not stay whole.
        most : int, optional
            How many are published at most.
        clock : Clock
            When to stop.

        Returns
        -------
        int
            How many were published.
        """
        before = len(self.exchanges)
        last = before + (len(self.columns) if most is None else most)
        while len(self.exchanges) < last and not clock.over:
            untimed = max(1, _UNTIMED // max(1, self.matrix.size))
            steps = min(last - len(self.exchanges), untimed)
            if self._descend(weight, blocked, steps) < steps:
                break
        return len(self.exchanges) - before

    def _descend(self, weight: Floats, blocked: Bools, most: int) -> int:
        """Publish, and forget closed columns and classes at rest."""
        c, k = self.matrix.shape
        moves, closed, path = np.ones(c, bool), np.zeros(k, bool), np.empty((k, 2), np.int64)
        done = KERNELS.run(
            "publish_most", self.matrix, Cells(self.member, self.factor, weight, blocked),
            self._cell, self._keep, self._lines, moves, closed, path, min(most, k), self._whole,
            small=self.matrix.size <= _SMALL,
        )  # fmt: skip
        self.exchanges += [(cell, int(self.columns[j])) for cell, j in path[:done].tolist()]
        place = np.full(c + 1, moves.sum())
        place[:-1][moves] = np.arange(moves.sum())
        self.member = place[self.member]
        self.matrix = np.ascontiguousarray(self.matrix[np.ix_(moves, ~closed)])
        self._cell, self._keep = self._cell[moves], self._keep[moves]
        self.columns, self._lines = self.columns[~closed], self._lines[~closed]
        return int(done)


def publish_most(
    matrix: Any, cells: Cells, cell: Any, keep: Any, lines: Any, moves: Any, closed: Any,
    path: Any, most: int, whole: Any,
) -> int:  # fmt: skip
    """Loop of `Classes`, which changes all in place; numba compiles it, plain it is the oracle.

    Says which classes still move, which columns are closed and for which cells, and how many.
    """
    member, factor, weight, blocked = cells
    c = len(matrix)
    total, barred = np.zeros(c + 1), np.zeros(c + 1, np.bool_)
    for i in range(len(member)):
        total[member[i]] += weight[i]
        barred[member[i]] = barred[member[i]] or blocked[i]
    for row in range(c):
        moves[row] = matrix[row].any()
    sides, changed = matrix @ lines, moves.copy()
    into, times = np.arange(c + 1), np.ones(c + 1)
    done = 0
    while True:
        if changed.any():
            join_parallel(matrix, sides, total, barred, keep, moves, changed, into, times)
            changed[:] = False
        if done == most:
            break
        row = -1
        for r in range(c):
            if moves[r] and not barred[r] and total[r] > (total[row] if row >= 0 else 0.0):
                row = r
        if row < 0:
            break
        column = pivot_column(matrix, row, whole)
        if column < 0 or not remains(matrix, row, column, keep):
            barred[row] = blocked[cell[row]] = True
            continue
        # Less than that is noise of a row that has come to rest.
        if abs(matrix[row, column]) >= 10 * ZERO:
            eliminate_from(matrix, sides, row, column, moves, changed)
            path[done, 0], path[done, 1] = cell[row], column
            closed[column] = True
            done += 1
        matrix[row] = 0.0
        moves[row] = False
    for i in range(len(member)):
        row = member[i]
        while row < c and into[row] != row:
            factor[i] *= times[row]
            row = into[row]
        member[i] = row if row < c and moves[row] else c
    return done


def pivot_column(matrix: Any, row: int, whole: Any) -> int:
    """Column of the largest entry of a row, or of one that keeps all entries whole; else -1."""
    c, k = matrix.shape
    largest, one, fewest = 0, -1, c + 1
    for j in range(k):
        if abs(matrix[row, j]) > abs(matrix[row, largest]):
            largest = j
        if whole and abs(abs(matrix[row, j]) - 1) < ZERO:
            # The fewer entries a column has, the fewer rows change.
            entries = 0
            for r in range(c):
                entries += matrix[r, j] != 0
            if entries < fewest:
                one, fewest = j, entries
    return one if whole else largest


def remains(matrix: Any, row: int, column: int, keep: Any) -> bool:
    """Whether all rows to keep go on moving when one is eliminated from them."""
    for r in range(len(matrix)):
        if keep[r] and r != row and matrix[r, column] != 0:
            share, left = matrix[r, column] / matrix[row, column], False
            for j in range(matrix.shape[1]):
                if j != column and abs(matrix[r, j] - share * matrix[row, j]) >= 10 * ZERO:
                    left = True
                    break
            if not left:
                return False
    return True


def eliminate_from(
    matrix: Any, sides: Any, row: int, column: int, moves: Any, changed: Any
) -> None:
    """Subtract multiples of a row from all others such that a column vanishes."""
    head = matrix[row] / matrix[row, column]
    side, other = sides[row, 0] / matrix[row, column], sides[row, 1] / matrix[row, column]
    for r in range(len(matrix)):
        share = matrix[r, column]
        if share == 0 or r == row:
            continue
        # No branch and no index but the column's, for processors take four such entries at once.
        for j in range(len(head)):
            value = matrix[r, j] - share * head[j]
            matrix[r, j] = value if abs(value) >= ZERO else 0.0
        sides[r, 0] -= share * side
        sides[r, 1] -= share * other
        moves[r] = changed[r] = matrix[r].any()


def multiple(line: Any, of: Any) -> float:
    """How many times another row a row is; 0 if they are not parallel."""
    column = 0
    for j in range(len(of)):
        if abs(of[j]) > abs(of[column]):
            column = j
    ratio = line[column] / of[column]
    most = abs(ratio * of[column])
    for j in range(len(of)):
        if abs(line[j] - ratio * of[j]) > _PARALLEL * most:
            return 0.0
    return float(ratio)


def join_parallel(
    matrix: Any, sides: Any, total: Any, barred: Any, keep: Any, moves: Any,
    changed: Any, into: Any, times: Any,
) -> None:  # fmt: skip
    """Join each class that has changed with one whose row is parallel to its own.

    Only rows whose products with two lines are in nearly equal proportion are compared: such are
    in neighbouring bins, which a hash table holds. Of many thousand some are so by chance.
    """
    c, mask = len(matrix), 4
    while mask < 2 * c:
        mask *= 2
    mask -= 1
    table, bins = np.full(mask + 1, -1), np.zeros(c, np.int64)
    for late in (False, True):
        for row in range(c):
            if not moves[row] or changed[row] != late:
                continue
            slope = sides[row, 0] / (sides[row, 1] if sides[row, 1] != 0 else 1e-30)
            bins[row] = int(np.floor(slope / (1 + abs(slope)) * _BINS))
            joined = False
            for near in range(bins[row] - 1, bins[row] + 2):
                slot = near & mask
                while late and not joined and table[slot] >= 0:
                    at, other = slot, table[slot]
                    slot = (slot + 1) & mask
                    if abs(bins[other] - bins[row]) > 1:
                        continue
                    # The shorter row stands for both: others are whole multiples of it, mostly.
                    shorter = abs(sides[row, 0]) < abs(sides[other, 0])
                    head, tail = (row, other) if shorter else (other, row)
                    ratio = multiple(matrix[tail], matrix[head])
                    if ratio == 0:
                        continue
                    table[at] = head
                    bins[head] = bins[other]
                    into[tail], times[tail] = head, ratio
                    total[head] += total[tail]
                    barred[head] = barred[head] or barred[tail]
                    keep[head] = keep[head] or keep[tail]
                    matrix[tail] = 0.0
                    moves[tail], joined = False, True
            if not joined:
                slot = bins[row] & mask
                while table[slot] >= 0:
                    slot = (slot + 1) & mask
                table[slot] = row
