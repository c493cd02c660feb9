"""The relaxation at the nodes of the tree: few rows at a time, the others wait in a pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from csp.clock import Clock
from csp.errors import OutOfTime, SolverError
from csp.exact import Bools, Floats, Ints
from csp.highs import Status
from csp.problem.problem import Problem
from csp.solve.bounds import safe_bound
from csp.solve.cuts import Cut
from csp.solve.exact.branching.dense_program import DenseProgram
from csp.solve.exact.branching.row_pool import RowPool
from csp.solve.exact.relaxation import TOLERANCE, VIOLATED, Relaxation, Relaxed, entries, unit_of
from csp.solve.exact.zero_half import zero_half

# Solves without being needed after which a row leaves the model for the pool, and the
# share of the rows that leave together. (docs/benchmarks.md has the times for 4, 8 and 20.)
_OLD = 4
_LEAVING = 0.1

# Rows that come back at a time: many of those that a point violates say the same.
_AT_ONCE = 25

# Columns up to which a dictionary takes the place of HiGHS: its exchanges take time by rows times
# columns, whatever they hold.
_DENSE = 800


class NodeRelaxation(Relaxation):
    """The relaxation at the nodes of a tree, where some columns are fixed.

    Of a thousand rows that cut something off somewhere in the tree, less than a tenth bind at one
    node. The others wait in a pool, and come back where a point violates them.

    Parameters
    ----------
    problem : Problem
    alive : (n,) bool
        Free cells that may be suppressed.
    cuts : list of Cut
    seed : int
    """

    def __init__(self, problem: Problem, alive: Bools, cuts: list[Cut], seed: int) -> None:
        cells = np.flatnonzero(alive)
        cost = problem.cost[cells].astype(np.float64)
        super().__init__(cells, len(alive), cost, unit_of(cost), seed)
        self.cells = cells
        self._dense = DenseProgram(cost / self._unit) if len(cells) <= _DENSE else None
        self._forced = problem.forced.astype(np.float64)
        # The pool: all cuts there have ever been, and which of them are rows of the model.
        self.pool: list[Cut] = []
        self._index: dict[bytes, int] = {}
        self._weights = RowPool(len(cells))
        self._least = np.empty(0)
        self._inside = np.empty(0, bool)
        self._held = np.empty(0, np.int64)
        self._stacked: Any = None
        self.enter(cuts)

    def full(self, x: Floats) -> Floats:
        """Point over all cells of the table."""
        out = self._forced.copy()
        out[self.cells] = x
        return out

    def enter(self, cuts: list[Cut]) -> int:
        """Take in cuts that the model does not hold (any more); returns how many these were."""
        return self._hold(self.learn(cuts))

    def learn(self, cuts: list[Cut]) -> Ints:
        """Take cuts into the pool; returns where they are there."""
        by_key = {cut.key: cut for cut in cuts}
        fresh = {key: cut for key, cut in by_key.items() if key not in self._index}
        if fresh:
            self._index |= {key: len(self.pool) + i for i, key in enumerate(fresh)}
            self.pool += fresh.values()
            self._weights.append(entries(list(fresh.values()), self.cells, len(self._place)))
            self._least = np.append(self._least, [cut.right for cut in fresh.values()])
            self._inside = np.append(self._inside, np.zeros(len(fresh), bool))
        return np.array([self._index[key] for key in by_key], np.int64)

    def _hold(self, wanted: Ints) -> int:
        """Put rows of the pool into the model; returns how many were not there."""
        wanted = wanted[~self._inside[wanted]]
        if not len(wanted):
            return 0
        self._inside[wanted] = True
        self._held = np.append(self._held, wanted)
        self._right = self._least[self._held]
        self._age = np.append(self._age, np.zeros(len(wanted), np.int64))
        self._stacked = None
        self._add(wanted)
        return len(wanted)

    @property
    def cuts(self) -> list[Cut]:
        """Those that are rows of the model."""
        return [self.pool[i] for i in self._held.tolist()]

    @property
    def _rows(self) -> Any:
        """Weights of the rows of the model."""
        if self._stacked is None:
            self._stacked = self._weights.sparse(self._held)
        return self._stacked

    def combined(self, x: Floats, most: int) -> list[Cut]:
        """Zero-half cuts of the rows that a point over the table violates."""
        return zero_half(self.cuts, self._rows, self._right, self.cells, x[self.cells], most)

    def _reduced(self, cost: Floats, y: Floats) -> Floats:
        if self._dense is not None:
            return cost - self._dense.weighed(y)
        return np.asarray(cost - self._rows.T @ y)

    def _recall(self, x: Floats) -> int:
        """Put back the rows that a point violates most; returns how many these were."""
        short = self._least - self._weights.at(x)
        broken = np.flatnonzero((short > VIOLATED) & ~self._inside)
        return self._hold(broken[np.argsort(-short[broken], kind="stable")[:_AT_ONCE]])

    def solve_node(
        self, lower: Floats, upper: Floats, limit: float, clock: Clock
    ) -> Relaxed | None:
        """Solve with these bounds of the columns; None if nothing costs at most `limit`.

        Raises
        ------
        OutOfTime
            When the time is over.
        SolverError
            If the solver finds no solution and has no proof that there is none.
        """
        doubts = 0
        while True:
            status = self._resolve(lower, upper, limit, clock)
            if status == Status.LIMIT:
                msg = "the relaxation at a node was not solved in time"
                raise OutOfTime(msg)
            y = self._multipliers()
            reduced = self._reduced_costs(y)
            bound = safe_bound(self._right, y, reduced, lower, upper)
            if bound > limit or (status == Status.INFEASIBLE and self._is_empty(lower, upper)):
                return None
            if status != Status.OPTIMAL and self._dense is not None:
                self._mend(doubts)
                doubts += 1
                continue
            if status != Status.OPTIMAL:
                msg = "the solver has no proof that a node of the tree is empty"
                raise SolverError(msg)
            x = self._values()
            if not self._recall(x):
                break
        self._age = np.where(y > 0, 0, self._age + 1)
        self._set_aside()
        return Relaxed(x, bound, reduced)

    def _resolve(self, lower: Floats, upper: Floats, limit: float, clock: Clock) -> Status:
        """Solve once within these bounds, up to the limit."""
        cutoff = limit / self._unit + 1e-6
        if self._dense is not None:
            self._dense.set_bounds(lower, upper)
            return self._dense.solve(cutoff, clock)
        self._lp.set_bounds(np.arange(len(self.cells), dtype=np.int32), lower, upper)
        self._lp.set_option("objective_bound", cutoff)
        return self._lp.solve(clock)

    def _mend(self, doubts: int) -> None:
        """Make a spoilt dictionary anew; where that has not helped, HiGHS takes its place."""
        assert self._dense is not None
        if doubts == 0:
            self._dense.rebuild()
            return
        self._dense = None
        self._lp.add_rows(self._rows, self._right, np.inf)

    def _add(self, rows: Ints) -> None:
        """Add rows of the pool to the model."""
        right = self._least[rows]
        if self._dense is None:
            self._lp.add_rows(self._weights.sparse(rows), right, np.inf)
        else:
            self._dense.add_rows(self._weights.dense(rows), right)

    def _delete(self, old: list[int]) -> list[int]:
        if self._dense is None:
            return super()._delete(old)
        gone: list[int] = self._dense.drop(np.array(old, np.int64)).tolist()
        return gone

    def _values(self) -> Floats:
        if self._dense is not None:
            return self._dense.x
        x: Floats = np.asarray(self._lp.solution.col_value)
        return x.clip(0.0, 1.0)

    def _multipliers(self) -> Floats:
        """Multipliers of the rows after the last solve, wherever it ended."""
        if self._dense is not None:
            return self._dense.multipliers * self._unit
        y = np.asarray(self._lp.solution.row_dual)
        return np.maximum(y, 0.0) * self._unit if len(y) else np.zeros(len(self._right))

    def _reduced_costs(self, y: Floats) -> Floats:
        """Reduced costs that these multipliers leave."""
        if self._dense is not None:
            return self._dense.reduced * self._unit
        return self._reduced(self._cost, y)

    def _is_empty(self, lower: Floats, upper: Floats) -> bool:
        """Whether nothing within the bounds keeps one row, or those that the last solve names."""
        most = self._rows.maximum(0) @ upper + self._rows.minimum(0) @ lower
        if (most < self._right - VIOLATED).any():
            return True
        y = np.maximum(self._lp.dual_ray if self._dense is None else self._dense.ray, 0.0)
        if not len(y):
            return False
        # The lemma of Farkas: where nothing costs anything, these rows cost more than nothing.
        reduced = self._reduced(np.zeros(len(self.cells)), y)
        return safe_bound(self._right, y, reduced, lower, upper) > TOLERANCE * float(y.max())

    def _set_aside(self) -> None:
        """Leave to the pool the rows that have not been needed for long."""
        old = np.flatnonzero(self._age > _OLD)
        if len(old) > _LEAVING * len(self._age):
            gone = self._delete(old.tolist())
            self._inside[self._held[gone]] = False
            self._held, self._age = np.delete(self._held, gone), np.delete(self._age, gone)
            self._right, self._stacked = self._least[self._held], None
