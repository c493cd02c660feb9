"""What every pattern must allow: the requirements of a problem, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csp.exact import UNBOUNDED, Ints
from csp.problem.problem import Problem
from csp.tables.table import Table

UP, DOWN, SLIDE = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """Requirements, one an entry.

    Attributes
    ----------
    cell : (r,) int64
        The primary cell.
    kind : (r,) int64
        `UP`, `DOWN` or `SLIDE`: move up, down, or both together by so much.
    need : (r,) int64
        Units, at least 1.
    """

    cell: Ints
    kind: Ints
    need: Ints

    def __len__(self) -> int:
        return len(self.cell)

    @classmethod
    def of(cls, problem: Problem, *, implied: bool = True) -> Needs:
        """Read the requirements of a problem, but those that others imply.

        `implied` adds what sliding levels ask of one side (`implied_levels`).
        """
        p = np.flatnonzero(problem.primary)
        if implied:
            levels = implied_levels(problem)[:, p]
        else:
            rise, fall, slide = problem.upl[p], problem.lpl[p], problem.spl[p]
            levels = np.stack([rise, fall, np.where(slide > rise + fall, slide, 0)])
        kind = np.repeat([UP, DOWN, SLIDE], len(p)).astype(np.int64)
        cell, need = np.tile(p, 3), levels.ravel()
        kept = need > 0
        return cls(cell[kept], kind[kept], need[kept])

    def at(self, cells: Ints) -> Needs:
        """Return the same requirements for cells that have other numbers."""
        return Needs(cells.astype(np.int64), self.kind, self.need)

    def ordered(self) -> Needs:
        """Return the same requirements, the largest first."""
        order = np.lexsort((self.kind, self.cell, -self.need))
        return Needs(self.cell[order], self.kind[order], self.need[order])


def implied_levels(problem: Problem) -> Ints:
    """How far each cell has to rise, to fall, and both together, in every safe pattern.

    What one side of a cell has no room for, a sliding level asks of the other side; where the two
    sides suffice, nothing else is asked. A count of 1 falls by 1 at most, so that it rises by 3
    wherever its interval has a width of 4. One side says more of the other cells than both do: a
    cell of any size can rise.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    (3, n) int64
        By `UP`, `DOWN` and `SLIDE`; 0 where nothing is asked.
    """
    up, down = room(problem.table)
    rise = np.maximum(problem.upl, problem.spl - down)
    fall = np.maximum(problem.lpl, problem.spl - up)
    return np.stack([rise, fall, np.where(problem.spl > rise + fall, problem.spl, 0)])


def room(table: Table) -> tuple[Ints, Ints]:
    """Room above and below every true value, UNBOUNDED where there is no bound.

    Returns
    -------
    up, down : (n,) int64
    """
    up = np.where(table.upper >= UNBOUNDED, UNBOUNDED, table.upper - table.values)
    down = np.where(table.lower <= -UNBOUNDED, UNBOUNDED, table.values - table.lower)
    return up, down


def shared_levels(problem: Problem, up: Ints, down: Ints) -> Ints:
    """How far each cell is to fall and to rise: reaching both settles every promise about it.

    A sliding level leaves open how. Here either side takes half of it, or what the other cannot
    take within the room of the cell.

    Parameters
    ----------
    problem : Problem
    up, down : (n,) int64
        Room of each cell.

    Returns
    -------
    (2, n) int64
    """
    fall = np.maximum(problem.lpl, np.minimum(down, problem.spl // 2))
    rise = np.maximum(problem.upl, np.minimum(up, problem.spl - fall))
    return np.stack([np.maximum(fall, problem.spl - rise), rise])
