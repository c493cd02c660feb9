"""Inequalities that every safe pattern satisfies, computed in exact integers.

A pattern is a 0-1 vector x over the cells. Capacity cuts come from the attacker's dual solutions
(Fischetti and Salazar-Gonzalez 2000), bridgeless cuts from the structure of the relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.exact import rationalise
from csp.attacker.view import largest_room, positions
from csp.exact import UNBOUNDED, Bools, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import room

# Share of a float bound by which some roundings may be off.
_ROUNDING = 2.0**-50

Side = tuple[int, Ints, NDArray[Any], int]
"""Direction, relations, numerators of their multipliers, common divisor."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """``sum(weights * x[cells]) >= right``.

    Attributes
    ----------
    cells : (k,) int64
        Free cells, ascending.
    weights : (k,) float64
    right : float
    kind : str
        "capacity", "bridgeless", "combination", "relation", "union", "outside", "budget",
        "rounded" or "tie".
    below : float
        What the free cells of a pattern must cost less than for the cut to be sure to hold.
    """

    cells: Ints
    weights: Floats
    right: float
    kind: str
    below: float = np.inf

    @property
    def key(self) -> bytes:
        """Equal for equal cuts."""
        weights = np.round(np.append(self.weights, self.right), 9)
        return self.cells.tobytes() + weights.tobytes()

    def within(self, alive: Bools) -> Cut:
        """Return the same cut where all other cells are published."""
        kept = alive[self.cells]
        if kept.all():
            return self
        return Cut(self.cells[kept], self.weights[kept], self.right, self.kind, self.below)

    def slack(self, x: Floats) -> float:
        """Left side minus right side at a point; negative where the point is cut off."""
        return float(self.weights @ x[self.cells]) - self.right


class CutFactory:
    """Makes the cuts of one problem."""

    def __init__(self, problem: Problem) -> None:
        self._free = problem.free
        self._marked = np.zeros(problem.table.n_cells, dtype=bool)
        self._place = np.zeros(problem.table.n_cells, dtype=np.int64)
        self._forced = problem.forced
        self._primary = problem.primary
        self._relations = problem.table.relations
        self.up, self.down = room(problem.table)
        self._largest = max(largest_room(self.up, self.down), 1)
        self._problem = problem

    @cached_property
    def _bridges(self) -> tuple[Any, Bools, Ints]:
        return _bridge_rows(self._problem)

    def capacity(
        self,
        p: int,
        need: int,
        sides: Iterable[Side],
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
        sides : iterable of (sign, rows, numerators, divisor)
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
        common = int(np.lcm.reduce([divisor for *_, divisor in sides]))
        cells = self._touched(p, [rows for _, rows, _, _ in sides])
        weight: NDArray[Any] = np.zeros(len(cells), np.int64)
        endless = np.zeros(len(cells), dtype=bool)
        up, down = self.up[cells], self.down[cells]
        for sign, rows, numerators, divisor in sides:
            c = self._combined(rows, numerators, cells)
            c[self._place[p]] += sign * divisor
            if known:
                c[np.isin(cells, known)] = 0
            c *= common // divisor
            endless |= (c > 0) & (up >= UNBOUNDED) | (c < 0) & (down >= UNBOUNDED)
            if int(np.abs(c).max(initial=0)) * self._largest > 2**61:
                c = c.astype(object)
            weight = weight + np.where(c > 0, c * up, -c * down)
        weight[endless] = 0
        forced = self._forced[cells]
        if endless[forced].any():
            return None
        right = need * common - sum(weight[forced & (weight != 0)].tolist())
        if right <= 0:
            return None
        if right >= 2**62:
            weight = weight.astype(object)
        weight[endless] = right
        used = self._free[cells] & (weight != 0)
        return Cut(cells[used], least_weight(weight[used], right), 1.0, "capacity")

    def restrict(self, alive: Bools) -> None:
        """From now on leave free cells out of all cuts that no pattern of interest holds.

        Parameters
        ----------
        alive : (n,) bool
            Free cells that count.
        """
        from scipy.sparse import csr_array

        self._free = alive
        self._relations = csr_array(self._relations.multiply((alive | self._forced)[None, :]))
        self._relations.eliminate_zeros()

    def _touched(self, p: int, rows: list[Ints]) -> Ints:
        """Cells of some relations and one cell more, ascending; their places are noted."""
        for some in rows:
            self._marked[self._relations.indices[self._entries(some)[0]]] = True
        self._marked[p] = True
        cells = np.flatnonzero(self._marked)
        self._marked[cells] = False
        self._place[cells] = np.arange(len(cells))
        return np.asarray(cells)

    def _entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """Where the entries of some relations are stored, and of which one each is."""
        begin, end = (self._relations.indptr[at].astype(np.int64) for at in (rows, rows + 1))
        return positions(begin, end)

    def _combined(self, rows: Ints, numerators: NDArray[Any], cells: Ints) -> NDArray[Any]:
        """Minus the combination of some relations, at some cells that hold all of theirs."""
        entries, of = self._entries(rows)
        c = np.zeros(len(cells), np.int64)
        where = self._place[self._relations.indices[entries]]
        np.subtract.at(c, where, self._relations.data[entries] * numerators[of])
        return c

    def bridgeless(self, x: Floats) -> list[Cut]:
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


def whole_multipliers(prices: Floats) -> tuple[Ints, int]:
    """Numerators and common divisor of multipliers near some prices (any choice is valid)."""
    answer = next(rationalise(prices), None)
    if answer is None:
        divisor = 1 if np.abs(prices).max(initial=0.0) > 2.0**30 else 27720
        return np.rint(np.clip(prices, -(2.0**50), 2.0**50) * divisor).astype(np.int64), divisor
    return answer


def _bridge_rows(problem: Problem) -> tuple[Any, Bools, Ints]:
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


def least_weight(weight: NDArray[Any], right: int) -> Floats:
    """Weights of a cut with right side 1: none need exceed it."""
    ratio: Floats = np.minimum(weight, right).astype(np.float64) / float(right)
    ratio[ratio > 1 - 1e-9] = 1.0
    # The solver drops tiny coefficients, which would cut off patterns: round them up instead.
    return np.maximum(ratio, 1e-6)


def needy(problem: Problem) -> Bools:
    """Primary cells with a level above zero: they must move in every safe pattern."""
    return problem.primary & ((problem.lpl > 0) | (problem.upl > 0) | (problem.spl > 0))


def outside_cut(problem: Problem, pattern: Bools) -> Cut:
    """Cut off one unsafe pattern and all its parts: something outside must be added.

    Valid because a subset of an unsafe pattern is unsafe.
    """
    cells = np.flatnonzero(problem.free & ~pattern)
    return Cut(cells, np.ones(len(cells)), 1.0, "outside")


def no_good(problem: Problem, pattern: Bools, members: Bools | None = None) -> Cut:
    """Cut off one pattern and no other; or those that agree with it in members and outside."""
    members = pattern if members is None else members
    cells = np.flatnonzero(problem.free & (members | ~pattern))
    inside = members[cells]
    weights = np.where(inside, -1.0, 1.0)
    return Cut(cells, weights, 1.0 - float(inside.sum()), "union")


def budget_cut(chosen: Bools, weights: Ints, most: int) -> Cut:
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
    chosen = np.zeros(len(chosen), dtype=bool)
    chosen[core] = True
    return replace(cover_cut(chosen), kind="budget")


def cover_cut(chosen: Bools) -> Cut:
    """Cut off chosen cells together, and all patterns that hold them."""
    cells = np.flatnonzero(chosen)
    return Cut(cells, -np.ones(len(cells)), 1.0 - len(cells), "tie")


def broken(cuts: list[Cut], pattern: Bools) -> list[Cut]:
    """Cuts that a pattern violates."""
    x = pattern.astype(np.float64)
    return [cut for cut in cuts if cut.slack(x) < -1e-7]


def smallest_step(costs: Ints) -> int:
    """Greatest common divisor of all costs: no two patterns differ by less."""
    used = costs[costs > 0]
    return int(np.gcd.reduce(used)) if len(used) else 1


def round_up(bound: float, step: int) -> int:
    """Smallest cost a pattern can have given a float bound, allowing for float noise."""
    steps = abs(bound) / step
    # A quarter of a step is more than solvers err by, but beyond 2**50 steps floats err by more.
    noise = step * max(min(0.25, 1e-6 + 1e-9 * steps), _ROUNDING * steps)
    return -int(-Fraction(max(0.0, bound - noise)) // step) * step
