"""The linear relaxation of the master: one class, for all columns or those that are needed.

Of a million cells a relaxation suppresses some thousand. The model of a large table starts with
those of a known pattern and the cheapest ones, and takes in others as long as their reduced costs
are negative (column generation; Desaulniers, Desrosiers and Solomon 2005). Rows that have long not
been tight leave it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from csp.clock import UNLIMITED, Clock
from csp.exact import Bools, Floats, Ints
from csp.highs import Model, Position, Status
from csp.solve.bounds import safe_bound
from csp.solve.cuts import Cut
from csp.solve.network.node_cuts import FlowCut, subtract_prices

# Cheapest cells to begin with, and columns that enter at a time, at most.
_FIRST_COLUMNS = 5000
_COLUMNS_AT_ONCE = 5000
# A reduced cost above this counts as not negative (in units of the objective, as HiGHS has it), and
# a row is violated by more than this.
TOLERANCE = 1e-7
VIOLATED = 1e-6
# Rounds without being tight after which a row goes, and how many go together.
_AGE = 5
_ROWS_AT_ONCE = 100


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """Solution of a linear relaxation over some cells.

    Attributes
    ----------
    x : (k,) float64
    bound : float
        Lower bound on their cost, by the multipliers of the cuts.
    reduced : (k,) float64
        Reduced costs that the bound goes with.
    """

    x: Floats
    bound: float
    reduced: Floats


class Relaxation:
    """``min cost x`` over cuts and ``0 <= x <= 1``: one live model, changed and solved again.

    Parameters
    ----------
    cells : (k,) int64
        Cells that may be suppressed, ascending.
    n_cells : int
        Of the table.
    cost : (k,) float64
        Never negative.
    unit : float
        Costs are divided by this for the solver.
    seed : int
    clock : Clock
    priced : bool
        Whether columns come as they are needed, and rows leave; all are there from the beginning
        without it.
    """

    def __init__(
        self, cells: Ints, n_cells: int, cost: Floats, unit: float,
        seed: int, clock: Clock = UNLIMITED, *, priced: bool = False,
    ) -> None:  # fmt: skip
        self._cells, self._cost, self._unit, self._clock = cells, cost, unit, clock
        self._place = np.full(n_cells, -1, np.int32)
        self._place[cells] = np.arange(len(cells), dtype=np.int32)
        # Columns of the model, as positions in `cells`, and where each position's column is.
        self._columns = np.empty(0, np.int64)
        self._column = np.full(len(cells), -1, np.int32)
        self._waiting: list[Ints] = []
        self.rows: list[Cut | FlowCut] = []
        self._age = np.empty(0, np.int64)
        self._right = np.empty(0)
        # Rows of a model with all columns; of those of a large one, each by itself.
        self._matrix: Any = csr_array((0, len(cells)))
        self._dropped: dict[bytes, Cut | FlowCut] = {}
        self._pinned: set[bytes] = set()
        self._new: list[Cut | FlowCut] = []
        self._objective = cost
        self._is_priced = priced
        if priced:
            self._waiting.append(np.argsort(cost, kind="stable")[:_FIRST_COLUMNS])
        else:
            self._columns = np.arange(len(cells))
            self._column = self._columns.astype(np.int32)
        self._lp = Model(presolve="off", solver="simplex", random_seed=seed).load(
            cost=cost[self._columns] / unit, lower=0.0, upper=1.0,
            rows=csr_array((0, len(self._columns))),
        )  # fmt: skip

    @property
    def held(self) -> list[Any]:
        """Cuts of the model, and those that wait for the next solve."""
        return [*self.rows, *self._new]

    @property
    def columns(self) -> Ints:
        """Cells of the table that have a column."""
        return self._cells[self._columns]

    def add(self, cuts: list[Any]) -> None:
        """Take in cuts at the next solve."""
        self._new += cuts

    def revive(self, key: bytes) -> bool:
        """Take in again, for good, a cut that had been dropped; False if it had not been."""
        cut = self._dropped.pop(key, None)
        if cut is not None:
            self._pinned.add(key)
            self._new.append(cut)
        return cut is not None

    def prefer(self, pattern: Bools) -> None:
        """Take in the columns of a pattern at the next solve.

        With those of a safe pattern, no cut that all minimal safe patterns keep leaves the model
        without a solution.
        """
        where = self._place[np.flatnonzero(pattern)]
        self._waiting.append(where[where >= 0].astype(np.int64))

    def solve(self, objective: Floats | None = None) -> Relaxed | Status:
        """Solve the relaxation over all columns, warm from the last time; or say why not.

        Parameters
        ----------
        objective : (k,) float64, optional
            In place of the costs, never negative.
        """
        cost, unit = self._cost, self._unit
        if objective is not None:
            cost = objective
            unit = max(1.0, float(np.median(cost))) if len(cost) else 1.0
        if cost is not self._objective:
            self._objective = cost
            everything = np.arange(len(self._columns), dtype=np.int32)
            self._lp.set_costs(everything, cost[self._columns] / unit)
        self._enter_columns(np.concatenate([np.empty(0, np.int64), *self._waiting]), unit)
        self._waiting.clear()
        self._enter_rows()
        strategy = 1
        while True:
            # After new rows the basis is dual feasible, after new columns primal feasible.
            if self._is_priced:
                self._lp.set_option("simplex_strategy", strategy)
            if not len(self._columns) and (self._right > 0).any():
                status = Status.INFEASIBLE  # HiGHS calls a model without columns empty, and optimal
            else:
                status = self._lp.solve(self._clock)
            if status == Status.INFEASIBLE and len(self._columns) < len(self._cells):
                # Only columns that are not there can help; which, the model does not say.
                missing = np.flatnonzero(self._column < 0)
                count = max(_COLUMNS_AT_ONCE, 3 * len(self._columns))
                order = np.argsort(cost[missing], kind="stable")
                self._enter_columns(missing[order[:count]], unit)
                strategy = 1
                continue
            if status != Status.OPTIMAL:
                return status
            solution = self._lp.solution
            y = np.maximum(np.asarray(solution.row_dual), 0.0) * unit
            reduced = self._reduced(cost, y)
            entering = np.flatnonzero((reduced < -TOLERANCE * unit) & (self._column < 0))
            if not len(entering):
                break
            if len(entering) > _COLUMNS_AT_ONCE:
                lowest = np.argpartition(reduced[entering], _COLUMNS_AT_ONCE)[:_COLUMNS_AT_ONCE]
                entering = np.sort(entering[lowest])
            self._enter_columns(entering, unit)
            strategy = 4
        x = np.zeros(len(self._cells))
        x[self._columns] = np.clip(np.asarray(solution.col_value), 0.0, 1.0)
        # The multipliers of a model without some columns give a bound for all columns as well.
        bound = safe_bound(self._right, y, reduced)
        if self._is_priced and objective is None:
            self._drop_rows(np.asarray(solution.row_value) - self._right, y)
        return Relaxed(x, bound, reduced)

    def _reduced(self, cost: Floats, y: Floats) -> Floats:
        """Reduced costs of all cells."""
        if not self._is_priced:
            return np.asarray(cost - self._matrix.T @ y)
        reduced, compact, prices = cost, [], []
        cells, paid = [], []
        for r in np.flatnonzero(y).tolist():
            cut = self.rows[r]
            if isinstance(cut, FlowCut):
                compact.append(cut)
                prices.append(float(y[r]))
            else:
                cells.append(cut.cells)
                paid.append(y[r] * cut.weights)
        if compact:
            position = compact[0].arcs.place[self._cells]
            reduced = subtract_prices(reduced, position, compact, np.array(prices))
        if cells:
            where = self._place[np.concatenate(cells)]
            inside = where >= 0
            reduced = reduced - np.bincount(
                where[inside], np.concatenate(paid)[inside], len(self._cells)
            )
        return reduced

    def _enter_columns(self, wanted: Ints, unit: float) -> None:
        """Add columns to the model; those that are there already are left out."""
        fresh = np.unique(wanted)
        fresh = fresh[self._column[fresh] < 0]
        if not len(fresh):
            return
        matrix = self._entries(self.rows, fresh).tocsc()
        cost, zero, one = self._objective[fresh] / unit, np.zeros(len(fresh)), np.ones(len(fresh))
        self._lp.add_columns(matrix, cost, zero, one)
        self._column[fresh] = np.arange(len(fresh), dtype=np.int32) + len(self._columns)
        self._columns = np.concatenate([self._columns, fresh])

    def _enter_rows(self) -> None:
        """Add the new cuts to the model."""
        new, self._new = self._new, []
        if not new:
            return
        matrix = self._entries(new, self._columns)
        right = np.array([cut.right for cut in new])
        self._lp.add_rows(matrix, right, np.inf)
        if not self._is_priced:
            self._matrix = csr_array(vstack([self._matrix, matrix]))
        self._right = np.append(self._right, right)
        self.rows += new
        self._age = np.append(self._age, np.zeros(len(new), np.int64))

    def _entries(self, cuts: list[Any], positions: Ints) -> Any:
        """Weights of cuts (rows) at some of the cells (columns)."""
        return entries(cuts, self._cells[positions], len(self._place))

    def _drop_rows(self, slack: Floats, y: Floats) -> None:
        """Drop rows that have not been tight for long; each cut is dropped once at most."""
        loose = (y == 0) & (slack > 1e-6)
        self._age = np.where(loose, self._age + 1, 0)
        old = [
            r for r in np.flatnonzero(self._age >= _AGE).tolist()
            if self.rows[r].key not in self._pinned
        ]  # fmt: skip
        if len(old) < _ROWS_AT_ONCE:
            return
        rows = self.rows
        self._dropped |= {rows[r].key: rows[r] for r in self._remove(old)}

    def _remove(self, old: list[int]) -> list[int]:
        """Remove rows from the model, all but those without which its basis is none."""
        gone = self._delete(old)
        kept = np.delete(np.arange(len(self.rows)), gone)
        self.rows = [self.rows[r] for r in kept.tolist()]
        self._age, self._right = self._age[kept], self._right[kept]
        if not self._is_priced:
            self._matrix = self._matrix[kept]
        return gone

    def _delete(self, old: list[int]) -> list[int]:
        """Delete the rows that leave a basis; returns which these are."""
        basis = self._lp.basis
        status = basis.rows
        gone = [r for r in old if status[r] == Position.BASIC]
        self._lp.delete_rows(np.array(gone, np.int32))
        self._lp.set_basis(basis.without_rows(set(gone)))
        return gone


def unit_of(cost: Floats) -> float:
    """Power of two that brings costs near one, where the solver's absolute tolerances mean much."""
    positive = cost[cost > 0]
    return float(2.0 ** round(np.log2(np.median(positive)))) if len(positive) else 1.0


def entries(cuts: list[Any], cells: Ints, n_cells: int, most: float = np.inf) -> Any:
    """Weights of cuts (rows) at some cells of a table of `n_cells` (columns), as a csr_array.

    None instead if that would hold more entries than `most`.
    """
    place = np.full(n_cells, -1, np.int32)
    place[cells] = np.arange(len(cells), dtype=np.int32)
    where, weights = [np.empty(0, np.int32)], [np.empty(0)]
    begin = np.zeros(len(cuts) + 1, np.int64)
    for r, cut in enumerate(cuts):
        if isinstance(cut, FlowCut):
            share = cut.at(cells)
            inside = np.flatnonzero(share)
            where.append(inside.astype(np.int32))
            weights.append(share[inside])
        else:
            at = place[cut.cells]
            where.append(at[at >= 0])
            weights.append(cut.weights[at >= 0])
        begin[r + 1] = begin[r] + len(where[-1])
        if begin[r + 1] > most:
            return None
    return csr_array(
        (np.concatenate(weights), np.concatenate(where), begin), shape=(len(cuts), len(cells))
    )
