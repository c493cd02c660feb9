"""Inequalities that every safe pattern satisfies, computed in exact integers.

A pattern is a 0-1 vector x over the cells. Capacity cuts come from the attacker's dual solutions
(Fischetti and Salazar-Gonzalez 2000), bridgeless cuts from the structure of the relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.view import room
from csp.numbers import UNBOUNDED
from csp.problem import Problem

__all__ = ["Cut", "Cutter", "needy", "no_good", "over_budget", "round_up", "smallest_step"]


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """``sum(weights * x[cells]) >= right``.

    Attributes
    ----------
    cells : (k,) int64
        Free cells, ascending.
    weights : (k,) float64
    right : float
    kind : {"capacity", "bridgeless", "union", "cover", "budget"}
    """

    cells: NDArray[np.int64]
    weights: NDArray[np.float64]
    right: float
    kind: str

    @property
    def key(self) -> bytes:
        """Equal for equal cuts."""
        weights = np.round(np.append(self.weights, self.right), 9)
        return self.cells.tobytes() + weights.tobytes()

    def slack(self, x: NDArray[np.float64]) -> float:
        """Left side minus right side at a point; negative where the point is cut off."""
        return float(self.weights @ x[self.cells]) - self.right


class Cutter:
    """Makes the cuts of one problem."""

    def __init__(self, problem: Problem) -> None:
        from scipy.sparse import csr_array

        self._free = problem.free
        self._forced = problem.forced
        self._primary = problem.primary
        self._relations = problem.table.relations
        self._transposed = csr_array(problem.table.relations.T)
        self.up, self.down = room(problem.table)
        finite = np.concatenate([self.up[self.up < UNBOUNDED], self.down[self.down < UNBOUNDED]])
        self._largest = int(finite.max(initial=1))
        self._bridges = _bridge_rows(problem)

    def capacity(
        self,
        p: int,
        need: int,
        sides: Iterable[tuple[int, NDArray[Any], int]],
        known: tuple[int, ...] = (),
    ) -> Cut | None:
        """Strengthened capacity cut of one requirement.

        For any row multipliers g and direction s, ``c = s e_p - M' g`` gives
        ``sum_i (max(c_i, 0) up_i + max(-c_i, 0) down_i) x_i >= need`` by weak duality; primary
        cells move to the right, and no weight need exceed what then remains.

        Parameters
        ----------
        p : int
            The primary cell.
        need : int
            Level in units.
        sides : iterable of (sign, numerators, divisor)
            Row multipliers for each direction that counts towards the level.
        known : tuple of int
            Cells that this attacker knows; they protect nothing.

        Returns
        -------
        Cut or None
            None if the multipliers prove nothing. A cut without cells says that the requirement
            cannot be met.
        """
        sides = list(sides)
        common = int(np.lcm.reduce([divisor for _, _, divisor in sides]))
        weight: NDArray[Any] | None = None
        endless = np.zeros(len(self.up), dtype=bool)
        for sign, numerators, divisor in sides:
            c = -(self._transposed @ numerators)
            c[p] += sign * divisor
            c[list(known)] = 0
            c *= common // divisor
            endless |= (c > 0) & (self.up >= UNBOUNDED) | (c < 0) & (self.down >= UNBOUNDED)
            if int(np.abs(c).max(initial=0)) * self._largest > 2**61:
                c = c.astype(object)
            part = np.where(c > 0, c * self.up, -c * self.down)
            weight = part if weight is None else weight + part
        assert weight is not None
        weight[endless] = 0
        if endless[self._forced].any():
            return None
        right = need * common - sum(weight[self._forced & (weight != 0)].tolist())
        if right <= 0:
            return None
        if right >= 2**62:
            weight = weight.astype(object)
        weight[endless] = right
        cells = np.flatnonzero(self._free & (weight != 0))
        ratio = np.minimum(weight[cells], right).astype(np.float64) / float(right)
        ratio[ratio > 1 - 1e-9] = 1.0
        # The solver drops tiny coefficients, which would cut off patterns: round them up instead.
        return Cut(cells, np.maximum(ratio, 1e-6), 1.0, "capacity")

    def bridgeless(self, x: NDArray[np.float64]) -> list[Cut]:
        """Cuts that x violates: no relation of an inclusion-minimal pattern has a lone cell."""
        # rows: incidence of free cells; lone: rows in which one primary cell needs company.
        rows, lone, owner = self._bridges
        total = rows @ x
        cuts = []
        for r in np.flatnonzero(lone & (total < 1 - 1e-6)):
            cells = rows.indices[rows.indptr[r] : rows.indptr[r + 1]].astype(np.int64)
            cuts.append(Cut(cells, np.ones(len(cells)), 1.0, "bridgeless"))
        bad = ~lone[owner] & (2 * x[rows.indices] - total[owner] > 1e-6)
        for k in np.flatnonzero(bad):
            r = owner[k]
            cells = rows.indices[rows.indptr[r] : rows.indptr[r + 1]].astype(np.int64)
            weights = np.where(cells == rows.indices[k], -1.0, 1.0)
            cuts.append(Cut(cells, weights, 0.0, "bridgeless"))
        return cuts


def _bridge_rows(problem: Problem) -> tuple[Any, NDArray[np.bool_], NDArray[np.int64]]:
    """Free cells of the relations without forced cells, and of those with one primary cell."""
    from scipy.sparse import csr_array

    relations = problem.table.relations
    incidence = csr_array(
        (np.ones(len(relations.data)), relations.indices, relations.indptr), shape=relations.shape
    )
    forced = incidence @ problem.forced.astype(np.float64)
    lone = (forced == 1) & (incidence @ needy(problem).astype(np.float64) == 1)
    use = (forced == 0) | lone
    part = csr_array(incidence[np.flatnonzero(use)])
    keep = problem.free[part.indices]
    owner = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))[keep]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=part.shape[0]))])
    indices = part.indices[keep]
    rows = csr_array((np.ones(len(indices)), indices, indptr), shape=part.shape)
    rows.sort_indices()
    return rows, lone[use], owner


def needy(problem: Problem) -> NDArray[np.bool_]:
    """Primary cells with a level above zero: they must move in every safe pattern."""
    return problem.primary & ((problem.lpl > 0) | (problem.upl > 0) | (problem.spl > 0))


def no_good(problem: Problem, pattern: NDArray[np.bool_]) -> Cut:
    """Cut off one unsafe pattern and all its parts: something outside must be added.

    Valid because a subset of an unsafe pattern is unsafe.
    """
    cells = np.flatnonzero(problem.free & ~pattern)
    return Cut(cells, np.ones(len(cells)), 1.0, "cover")


def over_budget(chosen: NDArray[np.bool_], weights: NDArray[np.int64], most: int) -> Cut:
    """Cut off chosen cells whose weights add up to too much, and all that hold their core.

    Weights that span many orders of magnitude get past the solver's tolerance in the row that
    limits them; exact sums do not.
    """
    cells = np.flatnonzero(chosen)
    total = sum(weights[cells].tolist())
    core = []
    for i in cells[np.argsort(weights[cells], kind="stable")].tolist():
        if total - int(weights[i]) > most:
            total -= int(weights[i])
        else:
            core.append(i)
    return Cut(np.sort(np.array(core)), -np.ones(len(core)), 1.0 - len(core), "budget")


def smallest_step(costs: NDArray[np.int64]) -> int:
    """Greatest common divisor of all costs: no two patterns differ by less."""
    used = costs[costs > 0]
    return int(np.gcd.reduce(used)) if len(used) else 1


def round_up(bound: float, step: int) -> int:
    """Smallest cost a pattern can have given a float bound, allowing for float noise."""
    noise = step * min(0.25, 1e-6 + 1e-9 * abs(bound) / step)
    return -int(-Fraction(max(0.0, bound - noise)) // step) * step
