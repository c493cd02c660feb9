"""A problem as arrays: how far each cell can move, what it costs, what is required of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from csp.attacker.view import positions
from csp.exact import UNBOUNDED, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import room, shared_levels

# Rooms are cut at this multiple of the largest level, as what is further serves no requirement; and
# where all primary cells move at once, so that a total moves by many levels.
_ROOM = 4
_ROOM_TOGETHER = 2**20

# Times that relations bound their cells at most: each time they can do a little more.
_SWEEPS = 30


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Witness:
    """A direction in whole numbers that no relation notices, and how far it can be followed.

    Attributes
    ----------
    cells : (w,) int64
        Cells that move, ascending.
    steps : (w,) int64, or Python's integers
        Not zero.
    forward, back : (int, int)
        Numerator and denominator of the largest multiple either way.
    """

    cells: Ints
    steps: NDArray[Any]
    forward: tuple[int, int]
    back: tuple[int, int]


class Field:
    """A problem as arrays.

    Parameters
    ----------
    problem : Problem
    integer : bool
        Whether deviations have to be whole units.
    together : bool
        Whether all primary cells are to move at once: rooms are those that relations leave
        (`tighten`), and wide.

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
    middle : float
        Median of the prices that are not 0.
    rise, fall : (n,) int64
        How far each cell is to rise and to fall.
    cell, kind, need : (r,) int64
        The requirements, by cell: 0 to rise, 1 to fall, by how many units.
    first : (n + 1,) int64
        Where the requirements of each cell begin.
    """

    def __init__(self, problem: Problem, *, integer: bool = False, together: bool = False) -> None:
        self.problem, self.integer = problem, integer
        self.relations: csr_array = problem.table.relations
        self.columns: csc_array = csc_array(self.relations)
        may_move = problem.forced | problem.free
        levels = np.stack([problem.lpl, problem.upl, problem.spl])
        largest = int(levels[:, problem.primary].max(initial=1))
        # A cell with a small coefficient has to go further for the same effect.
        most = largest * int(np.abs(self.relations.data).max(initial=1))
        most = min(most * (_ROOM_TOGETHER if together else _ROOM), 2**61)
        up, down = (np.minimum(side, most) for side in room(problem.table))
        if together:
            # In floats: numbers beyond 2**53 may lose a little room. What is added is within the
            # bounds, and of no use to any deviation.
            whole = np.floor if integer else np.ceil
            tight = (
                whole(np.minimum(side * (1 + 1e-9), most)).astype(np.int64)
                for side in tighten(problem)
            )
            up, down = (np.minimum(*sides) for sides in zip((up, down), tight, strict=True))
        self.up, self.down = np.where(may_move, up, 0), np.where(may_move, down, 0)
        self.both = np.minimum(self.up, self.down)
        self.open = (self.up > 0) | (self.down > 0)
        self.price = np.where(problem.free, problem.cost, 0).astype(np.float64)
        self.middle = float(np.median(self.price[self.price > 0])) if self.price.any() else 1.0
        self.fall, self.rise = shared_levels(problem, self.up, self.down)
        asked = np.stack([self.rise, self.fall], axis=1)
        wanted = (asked > 0) & problem.primary[:, None]
        self.cell, self.kind = map(np.ascontiguousarray, np.nonzero(wanted))
        self.need = asked[self.cell, self.kind]
        self.first = np.searchsorted(self.cell, np.arange(problem.table.n_cells + 1))

    def along(self, cells: Ints, steps: NDArray[Any]) -> Witness:
        """Witness of all multiples of a direction that stay within the rooms."""
        ends = []
        size = np.abs(steps)
        for rises in (steps > 0, steps < 0):
            limit = np.where(rises, self.up[cells], self.down[cells]).astype(size.dtype)
            if self.integer:
                ends.append((int((limit // size).min()), 1))
            else:
                ratio = np.asarray(limit / size, dtype=np.float64)
                near = np.flatnonzero(ratio <= ratio.min() * (1 + 1e-12))
                least = min(Fraction(int(limit[i]), int(size[i])) for i in near.tolist())
                ends.append((least.numerator, least.denominator))
        return Witness(cells, steps, ends[0], ends[1])

    def served(self, witness: Witness) -> Ints:
        """Find the requirements that a witness meets."""
        size = np.abs(witness.steps)
        if size.dtype != object:
            size = size.astype(np.float64)
            ahead, behind = (
                size * (top / bottom) for top, bottom in (witness.forward, witness.back)
            )
        else:
            # Quotients of Python's integers are floats, whatever their size.
            ahead, behind = (
                (size * top / bottom).astype(np.float64)
                for top, bottom in (witness.forward, witness.back)
            )
        rises = witness.steps > 0
        return self.met(
            witness.cells, np.where(rises, ahead, behind), np.where(rises, behind, ahead)
        )

    def met(self, cells: Ints, top: Floats, bottom: Floats) -> Ints:
        """Find the requirements that are met where cells rise and fall so far."""
        rows, of = positions(self.first[cells], self.first[cells + 1])
        reach = np.where(self.kind[rows] == 0, top[of], bottom[of])
        return np.asarray(rows[reach >= self.need[rows] * (1 - 1e-12)])


def followed(z: NDArray[Any], up: Ints, down: Ints) -> tuple[Floats, Floats]:
    """How far cells rise and fall along a vector, either way, within their rooms; in floats."""
    size, rises = np.abs(z), z > 0
    ahead = size * (np.where(rises, up, down) / size).min()
    behind = size * (np.where(rises, down, up) / size).min()
    return np.where(rises, ahead, behind), np.where(rises, behind, ahead)


def movable(columns: csc_array, cells: Ints) -> tuple[Ints, csr_array]:
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


def tighten(problem: Problem) -> tuple[Floats, Floats]:
    """Room of every cell that the relations leave, whatever the pattern.

    Published cells do not move. Each relation bounds each of its cells by what all others can do;
    repeated, this finds most bounds that a linear program would (feasibility-based bound
    tightening). No deviation is lost, except through rounding of numbers
    beyond 2**53.

    Returns
    -------
    up, down : (n,) float64
        Infinite where nothing bounds a cell.
    """
    matrix = problem.table.relations
    m = matrix.shape[0]
    row = np.repeat(np.arange(m), np.diff(matrix.indptr))
    cell, factor = matrix.indices, matrix.data.astype(np.float64)
    may_move = problem.forced | problem.free
    up, down = (
        np.where(may_move, np.where(side >= UNBOUNDED, np.inf, side), 0.0)
        for side in room(problem.table)
    )
    for _ in range(_SWEEPS):
        changed = False
        # c z >= -reach for every entry; a relation then bounds each entry from above.
        for sign in (1.0, -1.0):
            falls = np.where(sign * factor > 0, down[cell], up[cell]) * np.abs(factor)
            endless = np.isinf(falls)
            finite = np.where(endless, 0.0, falls)
            total = np.bincount(row, finite, minlength=m)
            count = np.bincount(row, endless, minlength=m)
            others = np.where(
                count[row] - endless > 0, np.inf, np.maximum(total[row] - finite, 0.0)
            ) / np.abs(factor)
            rises = sign * factor > 0
            for side, mask in ((up, rises), (down, ~rises)):
                best = side.copy()
                np.minimum.at(best, cell[mask], others[mask])
                better = best < side * (1 - 1e-9)
                changed |= bool(better.any())
                side[better] = best[better]
        if not changed:
            break
    return up, down
