"""The linear relaxation at the nodes of a tree: one live model, changed and solved again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.errors import OutOfTime
from csp.highs import Model, Status
from csp.problem.problem import Problem
from csp.solve.cuts import Cut

__all__ = ["Point", "Relaxation"]

# Rows slack for so many solves are dropped; it is looked for them every so many.
_OLD = 200
_PURGE_EVERY = 50


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Solution of a node's relaxation.

    Attributes
    ----------
    x : (k,) float64
        Over the columns.
    bound : float
        Lower bound on the cost of the free cells, by the multipliers of the cuts.
    reduced : (k,) float64
        Reduced costs.
    """

    x: NDArray[np.float64]
    bound: float
    reduced: NDArray[np.float64]


class Relaxation:
    """Columns are the free cells that count, rows the cuts.

    Parameters
    ----------
    problem : Problem
    alive : (n,) bool
        Free cells that may be suppressed.
    cuts : list of Cut
    seed : int
    """

    def __init__(
        self, problem: Problem, alive: NDArray[np.bool_], cuts: list[Cut], seed: int
    ) -> None:
        self.cells = np.flatnonzero(alive)
        self._forced = problem.forced.astype(np.float64)
        self._place = np.full(problem.table.n_cells, -1, np.int64)
        self._place[self.cells] = np.arange(len(self.cells))
        self._cost = problem.cost[self.cells].astype(np.float64)
        positive = self._cost[self._cost > 0]
        self._unit = float(2.0 ** round(np.log2(np.median(positive)))) if len(positive) else 1.0
        self._columns = np.arange(len(self.cells), dtype=np.int32)
        self._model: Any = None
        self._seed = seed
        self._cuts: list[Cut] = []
        self._keys: set[bytes] = set()
        self._age: NDArray[np.int64] = np.empty(0, np.int64)
        self._right: NDArray[np.float64] = np.empty(0)
        self._solves = 0
        self.add(cuts)

    def full(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Point over all cells of the table."""
        out = self._forced.copy()
        out[self.cells] = x
        return out

    def add(self, cuts: list[Cut]) -> int:
        """Add rows for the cuts that have none (any more); returns how many these were."""
        from scipy.sparse import csr_array

        k = len(self.cells)
        if self._model is None:
            self._model = Model(presolve="off", solver="simplex", random_seed=self._seed).load(
                cost=self._cost / self._unit, lower=np.zeros(k), upper=np.ones(k),
                rows=csr_array((0, k)), row_lower=np.empty(0), row_upper=np.empty(0),
            )  # fmt: skip
            self._matrix = csr_array((0, k))
        cuts = [cut for key, cut in {c.key: c for c in cuts}.items() if key not in self._keys]
        if not cuts:
            return 0
        from scipy.sparse import vstack

        self._keys.update(cut.key for cut in cuts)

        rows = self._rows(cuts)
        right = np.array([c.right for c in cuts])
        self._model.add_rows(rows, right, np.full(len(cuts), np.inf))
        self._cuts += cuts
        self._right = np.append(self._right, right)
        self._age = np.append(self._age, np.zeros(len(cuts), np.int64))
        self._matrix = csr_array(vstack([self._matrix, rows]))
        return len(cuts)

    def solve(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64], limit: float, clock: Clock
    ) -> Point | None:
        """Solve with these bounds of the columns; None if nothing costs at most `limit`.

        Raises
        ------
        OutOfTime
            When the time is over.
        """
        self._model.set_bounds(self._columns, lower, upper)
        self._model.set_option("objective_bound", limit / self._unit + 1e-6)
        word = self._model.solve(clock)
        if word == Status.LIMIT:
            msg = "the relaxation at a node was not solved in time"
            raise OutOfTime(msg)
        self._solves += 1
        if word in (Status.INFEASIBLE, Status.CUTOFF):
            return None
        solution = self._model.solution
        y = np.maximum(np.asarray(solution.row_dual), 0.0) * self._unit
        x = np.clip(np.asarray(solution.col_value), 0.0, 1.0)
        reduced = self._cost - self._matrix.T @ y
        # Columns fixed at 1 pay their reduced cost, those fixed at 0 gain nothing.
        at_best = np.where(reduced > 0, lower, upper)
        bound = float(self._right @ y + reduced @ at_best)
        self._age = np.where(y > 0, 0, self._age + 1)
        if self._solves % _PURGE_EVERY == 0:
            self._purge()
        return Point(x, bound, reduced)

    def probe(
        self, j: int, value: float, lower: NDArray[np.float64], upper: NDArray[np.float64],
        steps: int, limit: float,
    ) -> float:  # fmt: skip
        """Bound with one column fixed, after few simplex steps; infinite if nothing is left."""
        model = self._model
        basis = model.basis
        model.set_option("simplex_iteration_limit", steps)
        one, at = np.array([j], np.int32), np.array([value])
        model.set_bounds(one, at, at)
        word = model.solve()
        bound = np.inf
        if word not in (Status.INFEASIBLE, Status.CUTOFF):
            bound = model.objective * self._unit
        model.set_bounds(one, lower[one], upper[one])
        model.set_option("simplex_iteration_limit", 2**31 - 1)
        model.set_basis(basis)
        return float(bound) if bound <= limit else np.inf

    def _purge(self) -> None:
        """Drop rows that have been slack for long."""
        old = np.flatnonzero(self._age > _OLD)
        if len(old) < 0.1 * len(self._age):
            return
        self._model.delete_rows(old.astype(np.int32))
        kept = np.ones(len(self._age), dtype=bool)
        kept[old] = False
        self._cuts = [cut for cut, k in zip(self._cuts, kept, strict=True) if k]
        self._keys = {cut.key for cut in self._cuts}
        self._age, self._right = self._age[kept], self._right[kept]
        self._matrix = self._matrix[np.flatnonzero(kept)]

    def _rows(self, cuts: list[Cut]) -> Any:
        from scipy.sparse import csr_array

        cells = np.concatenate([c.cells for c in cuts])
        weights = np.concatenate([c.weights for c in cuts])
        owner = np.repeat(np.arange(len(cuts)), [len(c.cells) for c in cuts])
        kept = self._place[cells] >= 0
        return csr_array(
            (weights[kept], (owner[kept], self._place[cells[kept]])),
            shape=(len(cuts), len(self.cells)),
        )
