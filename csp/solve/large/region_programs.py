"""One region: an integer program proposes, linear programs object or prove.

Which of its cells to suppress is an integer program over what the relations ask
(`csp.solve.large.relaxation`). A requirement that its choice does not meet leads to a cut (weak
duality: the cells that could move have too little room together), and the next choice obeys it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from csp.clock import Clock
from csp.errors import SolverError
from csp.exact import Bools, Floats, Ints
from csp.highs import Model, Status
from csp.solve.cuts import whole_multipliers
from csp.solve.witnesses.block import whole_steps
from csp.solve.witnesses.field import followed

# Choices of the program before what is left is repaired, cuts for each, and linear programs with
# random signs, each of which proves many requirements.
_ROUNDS = 4
_CUTS = 20
_SIGNS = 12

# Cells that the relaxation leaves out at a reduced cost above this share of their price stay out:
# the integer program is ten times faster and its choice hardly more expensive.
_DEAR = 0.1
_CHOICE = {
    "mip_rel_gap": 0.002,
    "mip_max_nodes": 10,
    # The choice that stands is its start, and objections end most others.
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_detect_symmetry": False,
    "mip_allow_restart": False,
}

_ZERO = 1e-7

Steps = tuple[Ints, Ints]
"""Cells that a witness moves, ascending, and by how much."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Region:
    """What it takes to solve a region; cells are numbers within it unless they are called global.

    Attributes
    ----------
    cells : (k,) int64
        Global: those of the region, and suppressed cells near it.
    relations : (m,) int64
        Global.
    matrix : (m, k) csr_array of int64
    up, down : (k,) int64
    suppressed : (k,) bool
        As things stand.
    inside : (v,) int64
        Cells to decide on.
    price : (v,) float64
    rows : (c, v) csr_array
        What relations ask of them, at least `lower`.
    lower : (c,) float64
    cell, kind, need : (r,) int64
        Requirements, see `Field`.
    through : (w, v) bool
        Which of the cells to decide on each witness in use moves.
    serves : (r, w) csr_array
        Which requirements these witnesses meet, where no others do.
    """

    cells: Ints
    relations: Ints
    matrix: csr_array
    up: Ints
    down: Ints
    suppressed: Bools
    inside: Ints
    price: Floats
    rows: csr_array
    lower: Floats
    cell: Ints
    kind: Ints
    need: Ints
    through: Bools
    serves: csr_array


class Objection(NamedTuple):
    """Multipliers of relations that prove a requirement to be missed: ``numerators / divisor``."""

    cell: int
    sign: int
    need: int
    relations: Ints
    numerators: Ints
    divisor: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proposal:
    """Cells to publish, cells to suppress, all global, and witnesses that this leaves.

    Attributes
    ----------
    published, chosen : (b,), (c,) int64
        No cells to publish where no cheaper choice was found. Requirements that one misses may be
        left.
    witnesses : tuple of Steps
    objections : tuple of Objection
        To choices that came before.
    """

    published: Ints
    chosen: Ints
    witnesses: tuple[Steps, ...]
    objections: tuple[Objection, ...]


def propose(region: Region, seed: int, time_limit: float | None = None) -> Proposal:
    """Solve a region.

    The limit is in seconds, since clocks of machines differ.
    """
    search = _Search(region, np.random.default_rng(seed))
    with suppress(SolverError):
        search.run(Clock.of(time_limit))
    return Proposal(*search.found, tuple(search.objections))


class _Search:
    """One region, its programs, and the witnesses found for its last choice."""

    def __init__(self, region: Region, rng: np.random.Generator) -> None:
        self._region, self._rng = region, rng
        self._relaxed, self._program = (
            model.load(
                cost=region.price, lower=0.0, upper=1.0, rows=region.rows,
                row_lower=region.lower, row_upper=np.inf, integer=whole,
            )
            for model, whole in (
                (Model(), False),
                (Model(**_CHOICE), True),
            )
        )  # fmt: skip
        self._moves = Model(presolve="off", solver="simplex", simplex_strategy=4).load(
            cost=0.0, lower=0.0, upper=0.0, rows=region.matrix
        )
        self._all = np.arange(len(region.cells), dtype=np.int32)
        self._now = region.suppressed[region.inside]
        self.objections: list[Objection] = []
        none = np.empty(0, np.int64)
        self._nothing = none, none, ()
        self.found: tuple[Ints, Ints, tuple[Steps, ...]] = self._nothing

    def run(self, clock: Clock) -> None:
        """Choose until a choice is not objected to, or none is cheaper."""
        region = self._region
        before = float(region.price[self._now].sum())
        for _ in range(_ROUNDS):
            self.found = self._nothing
            x = self._choice(clock)
            if x is None or clock.over or float(region.price[x].sum()) >= before - 1e-9:
                return
            suppressed = region.suppressed.copy()
            suppressed[region.inside] = x
            lost = self._lost(x)
            witnesses, lost = self._prove(suppressed, lost, clock)
            more, cuts = self._object(suppressed, lost, clock)
            published = region.cells[region.inside[self._now & ~x]]
            chosen = region.cells[region.inside[x]]
            self.found = published, chosen, (*witnesses, *more)
            if not cuts:
                return
            self._add(cuts)

    def _choice(self, clock: Clock) -> Bools | None:
        """Choose cells by the integer program."""
        price = self._region.price
        if self._relaxed.solve(clock) != Status.OPTIMAL:
            return None
        solution = self._relaxed.solution
        x, reduced = np.asarray(solution.col_value), np.asarray(solution.col_dual)
        out = (x < _ZERO) & (reduced > _DEAR * price) & ~self._now
        columns = np.arange(len(price), dtype=np.int32)
        self._program.set_bounds(columns, np.zeros(len(price)), (~out).astype(np.float64))
        self._program.set_start(self._now.astype(np.float64))
        self._program.solve(clock)
        values = self._program.values
        return values > 0.5 if len(values) == len(price) else None

    def _lost(self, x: Bools) -> Ints:
        """Find requirements all of whose witnesses move a cell that is published now."""
        region = self._region
        stands = ~region.through[:, self._now & ~x].any(axis=1)
        standing = csr_array(region.serves[:, np.flatnonzero(stands)])
        return np.flatnonzero(np.diff(standing.indptr) == 0)

    def _bounds(self, suppressed: Bools) -> tuple[Floats, ...]:
        region = self._region
        return (
            np.where(suppressed, -region.down, 0).astype(np.float64),
            np.where(suppressed, region.up, 0).astype(np.float64),
        )

    def _point(self, cost: Floats, clock: Clock) -> Floats | None:
        self._moves.set_costs(self._all, cost)
        if self._moves.solve(clock) != Status.OPTIMAL:
            return None
        return self._moves.values

    def _witness(self, z: Floats) -> Steps | None:
        z = np.where(np.abs(z) > _ZERO, z, 0.0)
        steps = whole_steps(self._region.matrix, z) if z.any() else None
        if steps is None:
            return None
        at = np.flatnonzero(steps)
        return self._region.cells[at], steps[at]

    def _met(self, witness: Steps, lost: Ints) -> Bools:
        """Which requirements a witness meets, followed as far as rooms allow."""
        region, (moved, steps) = self._region, witness
        at = np.searchsorted(region.cells, moved)
        top, bottom = np.zeros((2, len(region.cells)))
        top[at], bottom[at] = followed(steps, region.up[at], region.down[at])
        cell = region.cell[lost]
        reach = np.where(region.kind[lost] == 0, top[cell], bottom[cell])
        return np.asarray(reach >= region.need[lost] * (1 - 1e-12))

    def _prove(self, suppressed: Bools, lost: Ints, clock: Clock) -> tuple[list[Steps], Ints]:
        """Witnesses for many requirements at once, and those requirements that are left."""
        region = self._region
        witnesses: list[Steps] = []
        lower, upper = self._bounds(suppressed)
        for _ in range(_SIGNS):
            if len(lost) <= 2 or clock.over:
                break
            # Each cell goes as far as it has to, one way or the other.
            cell, need = region.cell[lost], region.need[lost].astype(np.float64)
            low, high, cost = lower.copy(), upper.copy(), np.zeros(len(lower))
            low[cell], high[cell] = np.maximum(lower[cell], -need), np.minimum(upper[cell], need)
            cost[cell] = self._rng.choice((-1.0, 1.0), len(cell)) / need
            self._moves.set_bounds(self._all, low, high)
            z = self._point(cost, clock)
            witness = None if z is None else self._witness(z)
            if witness is None:
                continue
            met = self._met(witness, lost)
            if met.any():
                witnesses.append(witness)
                lost = lost[~met]
        self._moves.set_bounds(self._all, lower, upper)
        return witnesses, lost

    def _object(
        self, suppressed: Bools, lost: Ints, clock: Clock
    ) -> tuple[list[Steps], list[tuple[Floats, float]]]:
        """Go through requirements one by one: a witness for each, or a cut against the choice."""
        region = self._region
        witnesses: list[Steps] = []
        cuts: list[tuple[Floats, float]] = []
        lower, upper = self._bounds(suppressed)
        lost = self._rng.permutation(lost)
        while len(lost) and len(cuts) < _CUTS and not clock.over:
            r, lost = lost[:1], lost[1:]
            p, need = int(region.cell[r[0]]), float(region.need[r[0]])
            sign = 1.0 if region.kind[r[0]] == 0 else -1.0
            at = np.array([p], np.int32)
            self._moves.set_bounds(at, np.maximum(lower[at], -need), np.minimum(upper[at], need))
            cost = np.zeros(len(lower))
            cost[p] = -sign
            z = self._point(cost, clock)
            self._moves.set_bounds(at, lower[at], upper[at])
            if z is None:
                continue
            witness = self._witness(z)
            if witness is not None and self._met(witness, r).any():
                witnesses.append(witness)
                lost = lost[~self._met(witness, lost)]
            elif sign * z[p] < need * (1 - 1e-6):
                cut = self._cut(p, sign, need, suppressed)
                if cut is not None:
                    cuts.append(cut)
        return witnesses, cuts

    def _cut(
        self, p: int, sign: float, need: float, suppressed: Bools
    ) -> tuple[Floats, float] | None:
        """Row on the cells to decide on, from the multipliers of the last program for a cell.

        A combination of relations in which cell p has factor 1 bounds its move by the rooms of the
        others: those that are suppressed have to have as much as it needs.
        """
        region = self._region
        dual = np.asarray(self._moves.solution.row_dual)
        factor = region.matrix.T @ dual
        if abs(factor[p]) < _ZERO:
            return None
        scale = -sign / factor[p]
        effect = factor * scale
        weight = np.minimum(1.0, np.maximum(effect * region.up, -effect * region.down) / need)
        weight[np.abs(effect) < _ZERO] = 0.0
        weight[p] = 0.0
        if float(weight[suppressed].sum()) >= 1 - 1e-6:
            return None
        numerators, divisor = whole_multipliers(-scale * dual)
        used = np.flatnonzero(numerators)
        self.objections.append(
            Objection(
                int(region.cells[p]), int(sign), int(need), region.relations[used],
                numerators[used], divisor,
            )
        )  # fmt: skip
        fixed = suppressed.copy()
        fixed[region.inside] = False
        lower = 1.0 - float(weight[fixed].sum())
        return np.minimum(weight[region.inside], lower), lower

    def _add(self, cuts: list[tuple[Floats, float]]) -> None:
        rows = csr_array(np.array([row for row, _ in cuts]))
        lower = np.array([low for _, low in cuts])
        for model in (self._relaxed, self._program):
            model.add_rows(rows, lower, np.inf)
