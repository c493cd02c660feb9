"""What every pattern must allow: the requirements of a problem, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.problem.problem import Problem

__all__ = ["DOWN", "SLIDE", "UP", "Needs", "shared_levels"]

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

    cell: NDArray[np.int64]
    kind: NDArray[np.int64]
    need: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cell)

    @classmethod
    def of(cls, problem: Problem) -> Needs:
        """Read the requirements of a problem, but those that others imply."""
        p = np.flatnonzero(problem.primary)
        slides = problem.spl[p] > problem.lpl[p] + problem.upl[p]
        levels = (problem.upl[p], problem.lpl[p], np.where(slides, problem.spl[p], 0))
        kind = np.repeat([UP, DOWN, SLIDE], len(p)).astype(np.int64)
        cell, need = np.tile(p, 3), np.concatenate(levels).astype(np.int64)
        kept = need > 0
        return cls(cell[kept], kind[kept], need[kept])

    def at(self, cells: NDArray[np.int64]) -> Needs:
        """Return the same requirements for cells that have other numbers."""
        return Needs(cells.astype(np.int64), self.kind, self.need)

    def ordered(self) -> Needs:
        """Return the same requirements, the largest first."""
        order = np.lexsort((self.kind, self.cell, -self.need))
        return Needs(self.cell[order], self.kind[order], self.need[order])


def shared_levels(
    problem: Problem, up: NDArray[np.int64], down: NDArray[np.int64]
) -> NDArray[np.int64]:
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
