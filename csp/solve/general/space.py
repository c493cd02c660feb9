"""The deviations that a problem allows at all, and the requirements that some of them must meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from csp.attacker.view import room
from csp.exact import UNBOUNDED
from csp.problem.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Space", "tighten"]


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """Deviations ``z = y - a`` with ``M z = 0`` and ``-down <= z <= up``, judged in floats.

    Attributes
    ----------
    problem : Problem
    up, down : (n,) float64
        Room of every cell in table units, 0 where it must be published, as far as the relations
        leave it (`tighten`).
    cell, kind : (r,) int64
        The requirements, the largest needs first: to rise (0), to fall (1), or both together (2).
    need : (r,) float64
    """

    problem: Problem
    up: NDArray[np.float64]
    down: NDArray[np.float64]
    cell: NDArray[np.int64]
    kind: NDArray[np.int64]
    need: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"Space({self.problem!r}, {len(self.need)} requirements)"

    @classmethod
    def of(cls, problem: Problem) -> Space:
        """Space of a problem."""
        up, down = tighten(problem)
        levels = np.stack([problem.upl, problem.lpl, problem.spl])
        kind, cell = np.nonzero((levels > 0) & problem.primary)
        need = levels[kind, cell].astype(np.float64)
        order = np.lexsort((kind, cell, -need))
        return cls(problem, up, down, cell[order], kind[order], need[order])

    @property
    def relations(self) -> csr_array:
        """The relations of the table."""
        return self.problem.table.relations

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """Cells that can move at all and may be suppressed."""
        return np.asarray((self.up > 0) | (self.down > 0))

    @cached_property
    def price(self) -> NDArray[np.float64]:
        """Cost of each free cell, 0 at cells that every pattern suppresses."""
        return np.where(self.problem.free, self.problem.cost, 0).astype(np.float64)

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Costs for linear programs: median 1, none of them zero, no range beyond 10**8."""
        price = self.price
        positive = price[price > 0]
        middle = float(np.median(positive)) if len(positive) else 1.0
        scaled = np.clip(price / middle, 1e-4, 1e4)
        return np.where(self.problem.free, scaled, 0.0)

    @cached_property
    def columns(self) -> csr_array:
        """The relations of each cell: the transposed matrix, by rows."""
        from scipy.sparse import csr_array

        return csr_array(self.relations.T)

    def need_of(self, p: int) -> float:
        """Deviation which, possible both up and down, meets all requirements of a cell."""
        problem = self.problem
        return float(max(problem.lpl[p], problem.upl[p], problem.spl[p] / 2))

    def cost(self, pattern: NDArray[np.bool_]) -> int:
        """Cost of the free cells of a pattern."""
        return int(sum(self.problem.cost[pattern & self.problem.free].tolist()))


def tighten(
    problem: Problem, *, rounds: int = 30
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Room of every cell that the relations leave, whatever the pattern.

    Published cells do not move. Each relation bounds each of its cells by what all others can do;
    repeated, this finds most bounds that a linear program would (feasibility-based bound
    tightening). No deviation is lost, except through rounding of numbers beyond 2**53.

    Parameters
    ----------
    problem : Problem
    rounds : int
        Sweeps at most.

    Returns
    -------
    up, down : (n,) float64
        Infinite where nothing bounds a cell.
    """
    matrix = problem.table.relations
    m = matrix.shape[0]
    row = np.repeat(np.arange(m), np.diff(matrix.indptr))
    cell, factor = matrix.indices, matrix.data.astype(np.float64)
    movable = problem.forced | problem.free
    up, down = (
        np.where(movable, np.where(side >= UNBOUNDED, np.inf, side), 0.0)
        for side in room(problem.table)
    )
    for _ in range(rounds):
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
