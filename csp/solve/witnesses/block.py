"""The cheapest witness of one requirement within a part of a table, by one small program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from csp.attacker.elimination import whole_direction
from csp.attacker.exact import common_denominator
from csp.clock import UNLIMITED, Clock
from csp.errors import SolverError
from csp.exact import Floats, Ints
from csp.highs import Model, Status
from csp.solve.witnesses.field import Field, Witness, movable

# What a suppressed cell costs in a program: as good as nothing, so that short witnesses win.
_FREE = 1e-4

# Floats of a solver this small, in its units, are nothing.
_ZERO = 1e-6

# Its absolute tolerances suit needs of about 2**10; costs beyond this are all the same to it.
_BITS = 10
_MOST_EXPENSIVE = 1e6

# Steps of the simplex method before an interior-point method takes over: on thousands of cells it
# may be lost in degenerate vertices.
_SIMPLEX_STEPS = 3000

# Seconds and gap of an integer program: any witness in whole units will do.
_WHOLE_SECONDS = 2.0
_WHOLE_GAP = 0.3

# How many times as far as its target a cell of an integer program may move. With bounds of 3e11
# HiGHS 1.15 does not come back from its root, whatever its time limit; on that table (four
# dimensions, 144 cells) witnesses cost the same with 16 and with 1024.
_FARTHEST = 1024

# Cells that move up to which exact elimination is tried where floats are not whole.
_EXACT = 400


class Way(NamedTuple):
    """How a cell is to move: so far in one direction, and so far back from where it is."""

    rises: bool
    far: int
    back: int


class Block:
    """The open cells of a part of a table that its relations let move, and a program over them.

    Parameters
    ----------
    field : Field
    cells : (k,) int64
        Ascending.
    """

    def __init__(self, field: Field, cells: Ints) -> None:
        self._field = field
        self.cells, matrix = movable(field.columns, cells[field.open[cells]])
        self._matrix = matrix.astype(np.int64)
        self._models: dict[bool, Model] = {}

    def __contains__(self, cell: int) -> bool:
        at = int(np.searchsorted(self.cells, cell))
        return at < len(self.cells) and int(self.cells[at]) == cell

    def _program(self, *, whole: bool) -> Model:
        if whole not in self._models:
            both = csr_array(hstack([self._matrix, -self._matrix], format="csr"))
            options: dict[str, Any] = {"mip_rel_gap": _WHOLE_GAP} if whole else {
                "presolve": "off", "solver": "simplex", "simplex_iteration_limit": _SIMPLEX_STEPS,
            }  # fmt: skip
            self._models[whole] = Model(**options).load(
                cost=1.0, lower=0.0, upper=1.0, rows=both, integer=whole
            )
        return self._models[whole]

    def cheapest(
        self, cell: int, way: Way, price: Floats, clock: Clock = UNLIMITED, *,
        banned: Ints | None = None, whole: bool = False, programs: int = 2,
    ) -> Witness | None:  # fmt: skip
        """Witness that moves a cell as far as asked, with little cost of new cells.

        Parameters
        ----------
        cell : int
            In the block.
        way : Way
        price : (n,) float64
            What it costs to suppress each cell; 0 where it is suppressed anyway.
        banned : (b,) int64, optional
            Cells that must stay.
        whole : bool
            Whether steps have to be whole units, by an integer program.
        programs : int
            At most: from the second on a cell that moves costs its price, however far.

        Returns
        -------
        Witness or None
            None if there is none in the block, or its vertex is not a multiple of whole numbers.
        """
        k = len(self.cells)
        p = int(np.searchsorted(self.cells, cell))
        up, down = self._field.up[self.cells], self._field.down[self.cells]
        rise, fall = (up, down) if way.rises else (down, up)
        # The part of the way back that has to be possible as well bounds every cell.
        back = way.far / way.back if way.back else np.inf
        ahead = np.minimum(rise, fall * back) if way.back else rise.astype(np.float64)
        behind = np.minimum(fall, rise * back) if way.back else fall.astype(np.float64)
        limit = np.concatenate([ahead, behind]).astype(np.float64)
        if banned is not None:
            held = np.isin(self.cells, banned)
            limit[:k][held] = limit[k:][held] = 0
        if way.far > limit[p]:
            return None
        if whole:
            limit = np.minimum(limit, float(way.far) * _FARTHEST)
        lower = np.zeros(2 * k)
        lower[p], limit[p], limit[k + p] = way.far, way.far, 0
        model = self._program(whole=whole)
        columns = np.arange(2 * k, dtype=np.int32)
        unit = 1.0 if whole else 2.0 ** max(0, way.far.bit_length() - _BITS)
        model.set_bounds(columns, lower / unit, np.floor(limit) if whole else limit / unit)
        money = price[self.cells] / self._field.middle
        need = float(way.far)
        reach = np.maximum(np.maximum(limit[:k], limit[k:]), 1.0)
        weight = np.where(money > 0, money * need / np.minimum(reach, need), _FREE)
        best: Witness | None = None
        paid = np.inf
        for _ in range(programs):
            model.set_costs(columns, np.tile(np.clip(weight, _FREE, _MOST_EXPENSIVE), 2))
            z = self._solution(model, clock.within(_WHOLE_SECONDS) if whole else clock, whole=whole)
            if z is None:
                break
            z[np.abs(z) < _ZERO] = 0.0
            z *= unit
            cost = float(money[z != 0].sum())
            if cost >= paid:
                break
            found = self._exactly(z if way.rises else -z)
            if found is not None:
                best, paid = found, cost
            if paid == 0:
                break
            weight = np.where(money > 0, money * need / (np.abs(z) + 0.02 * need), _FREE)
        return best

    def _solution(self, model: Model, clock: Clock, *, whole: bool) -> Floats | None:
        """Solve a program for the steps of its cells; None if it has no solution."""
        try:
            model.forget()
            status = model.solve(clock, interruptible=whole)
            if status == Status.LIMIT and not (whole or clock.over):
                model.set_option("solver", "ipm")
                model.forget()
                try:
                    status = model.solve(clock)
                finally:
                    model.set_option("solver", "simplex")
        except SolverError:
            self._models.pop(whole, None)  # it may be lost
            return None
        if status != Status.OPTIMAL:
            return None
        values = model.values
        k = len(self.cells)
        z = values[:k] - values[k:]
        return np.rint(z) if whole else z

    def _exactly(self, z: Floats) -> Witness | None:
        """Whole numbers along a vertex."""
        steps = whole_steps(self._matrix, z)
        if steps is None:
            return None
        at = np.flatnonzero(steps)
        return self._field.along(self.cells[at], steps[at])


def whole_steps(matrix: csr_array, z: Floats) -> Ints | None:
    """Whole numbers in proportion to a vertex, checked exactly; None if none of good size are.

    Parameters
    ----------
    matrix : (m, k) csr_array of int64
        Relations among the cells.
    z : (k,) float64
        0 at cells that do not move.
    """
    at = np.flatnonzero(z)
    size = np.abs(z[at])
    steps = np.zeros(len(z), np.int64)
    # A vertex has whole ratios or whole units, over small denominators, and not always both: of
    # the other one finds fractions that are near.
    units = [(common_denominator(size / unit), unit) for unit in (float(size.min()), 1.0)]
    for divisor, unit in sorted((d, unit) for d, unit in units if d is not None):
        if size.max() / unit * divisor >= 2.0**40:
            continue
        steps[at] = np.rint(z[at] / unit * divisor)
        if (steps[at] == 0).any() or (matrix @ steps).any():
            continue
        return np.asarray(steps // np.gcd.reduce(steps))
    if len(at) > _EXACT:
        return None
    used = csr_array(matrix[:, at])
    exact = whole_direction(csr_array(used[np.flatnonzero(np.diff(used.indptr))]), z[at])
    if exact is None:
        return None
    steps[at] = exact
    return steps
