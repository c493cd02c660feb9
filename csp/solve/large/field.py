"""A problem as arrays: how far each cell can move, what it costs, what is required of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from csp.attacker.view import room
from csp.problem.problem import Problem

__all__ = ["Field", "Witness", "movable"]

# Rooms are cut at this multiple of the largest level: what is further serves no requirement.
_ROOM = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Witness:
    """A direction in whole numbers that no relation notices, and how far it can be followed.

    Attributes
    ----------
    cells : (w,) int64
        Cells that move, ascending.
    steps : (w,) int64
        Not zero.
    forward, back : (int, int)
        Numerator and denominator of the largest multiple either way.
    """

    cells: NDArray[np.int64]
    steps: NDArray[np.int64]
    forward: tuple[int, int]
    back: tuple[int, int]


class Field:
    """A problem as arrays.

    Parameters
    ----------
    problem : Problem
    integer : bool
        Whether deviations have to be whole units.

    Attributes
    ----------
    relations, columns : csr_array, csc_array
        Relations by rows and by cells.
    up, down : (n,) int64
        Room of each cell, 0 where it must be published.
    both : (n,) int64
        Room either way: the smaller of the two.
    open : (n,) bool
        Cells that have any room.
    price : (n,) float64
        Of suppressing a cell; 0 where it has to be suppressed.
    rise, fall : (n,) int64
        How far each cell is to rise and to fall.
    cell, kind, need : (r,) int64
        The requirements, by cell: 0 to rise, 1 to fall, by how many units.
    first : (n + 1,) int64
        Where the requirements of each cell begin.
    """

    def __init__(self, problem: Problem, *, integer: bool = False) -> None:
        self.problem, self.integer = problem, integer
        self.relations: csr_array = problem.table.relations
        self.columns: csc_array = csc_array(self.relations)
        movable = problem.forced | problem.free
        largest = int(
            max(
                (int(level[problem.primary].max(initial=1))
                 for level in (problem.lpl, problem.upl, problem.spl)), default=1,
            )
        )  # fmt: skip
        # A cell with a small coefficient has to go further for the same effect.
        most = _ROOM * largest * int(np.abs(self.relations.data).max(initial=1))
        up, down = (np.minimum(side, most) for side in room(problem.table))
        self.up, self.down = np.where(movable, up, 0), np.where(movable, down, 0)
        self.both = np.minimum(self.up, self.down)
        self.open = (self.up > 0) | (self.down > 0)
        self.price = np.where(problem.free, problem.cost, 0).astype(np.float64)
        rise, fall = _levels(problem, self.up, self.down)
        kind, cell = np.nonzero((np.stack([rise, fall]) > 0) & problem.primary)
        self.cell, self.kind = cell, kind
        self.need = np.stack([rise, fall])[kind, cell]
        self.rise, self.fall = rise, fall
        order = np.argsort(self.cell, kind="stable")
        self.cell, self.kind, self.need = self.cell[order], self.kind[order], self.need[order]
        self.first = np.searchsorted(self.cell, np.arange(problem.table.n_cells + 1))

    def along(self, cells: NDArray[np.int64], steps: NDArray[np.int64]) -> Witness:
        """Witness of all multiples of a direction that stay within the rooms."""
        ends = []
        size = np.abs(steps)
        for rises in (steps > 0, steps < 0):
            limit = np.where(rises, self.up[cells], self.down[cells])
            if self.integer:
                ends.append((int((limit // size).min()), 1))
            else:
                ratio = limit / size
                near = np.flatnonzero(ratio <= ratio.min() * (1 + 1e-12))
                least = min(Fraction(int(limit[i]), int(size[i])) for i in near.tolist())
                ends.append((least.numerator, least.denominator))
        return Witness(cells, steps, ends[0], ends[1])

    def served(self, witness: Witness) -> NDArray[np.int64]:
        """Find the requirements that a witness meets."""
        counts = self.first[witness.cells + 1] - self.first[witness.cells]
        at = np.flatnonzero(counts)
        if not len(at):
            return np.empty(0, np.int64)
        start = self.first[witness.cells[at]]
        counts = counts[at]
        which = np.repeat(start - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        steps = np.repeat(witness.steps[at], counts)
        (fn, fd), (bn, bd) = witness.forward, witness.back
        size = np.abs(steps).astype(np.float64)
        ahead, behind = size * (fn / fd), size * (bn / bd)
        top, bottom = np.where(steps > 0, ahead, behind), np.where(steps > 0, behind, ahead)
        reach = np.where(self.kind[which] == 0, top, bottom)
        return np.asarray(which[reach >= self.need[which] * (1 - 1e-12)])


def _levels(
    problem: Problem, up: NDArray[np.int64], down: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How far each cell is to rise and to fall.

    A sliding level leaves open how; here it is shared evenly, as far as the cell can fall.
    """
    fall = np.maximum(problem.lpl, np.minimum(down, problem.spl // 2))
    rise = np.maximum(problem.upl, problem.spl - fall)
    beyond = np.maximum(rise - np.maximum(up, problem.upl), 0)
    return rise - beyond, fall + beyond


def movable(columns: csc_array, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], csr_array]:
    """Leave out cells that cannot move because all others of a relation stay, one after the other.

    Parameters
    ----------
    columns : (m, n) csc_array
        Relations by cells.
    cells : (k,) int64
        Ascending; all others stay.

    Returns
    -------
    cells : (k',) int64
    matrix : (m', k') csr_array
        The relations that hold at least two of them.
    """
    matrix = csr_array(columns[:, cells])
    row, at = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices
    moves = np.ones(len(cells), dtype=bool)
    while True:
        # A cell that is alone in a relation cannot move; without it others may be alone.
        size = np.bincount(row, minlength=matrix.shape[0])
        alone = size[row] == 1
        if not alone.any():
            break
        moves[at[alone]] = False
        stays = moves[at]
        row, at = row[stays], at[stays]
    kept = csr_array(matrix[np.flatnonzero(size)])
    return cells[moves], csr_array(kept[:, np.flatnonzero(moves)])
