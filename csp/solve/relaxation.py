"""The linear relaxation at the nodes of a tree: one live model, changed and solved again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.highs import build, new_model, optimise
from csp.problem import Problem
from csp.solve.cuts import Cut

__all__ = ["Point", "Relaxation"]


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
        self._age: NDArray[np.int64] = np.empty(0, np.int64)
        self._right: NDArray[np.float64] = np.empty(0)
        self._solves = 0
        self.add(cuts)

    def full(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Point over all cells of the table."""
        out = self._forced.copy()
        out[self.cells] = x
        return out

    def add(self, cuts: list[Cut]) -> None:
        """Add rows."""
        from scipy.sparse import csr_array

        k = len(self.cells)
        if self._model is None:
            self._model = build(
                new_model(presolve="off", solver="simplex", random_seed=self._seed),
                cost=self._cost / self._unit, lower=np.zeros(k), upper=np.ones(k),
                rows=csr_array((0, k)), row_lower=np.empty(0), row_upper=np.empty(0),
            )  # fmt: skip
            self._matrix = csr_array((0, k))
        if not cuts:
            return
        from scipy.sparse import vstack

        rows = self._rows(cuts)
        right = np.array([c.right for c in cuts])
        self._model.addRows(
            len(cuts), right, np.full(len(cuts), np.inf), len(rows.data),
            rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32), rows.data,
        )  # fmt: skip
        self._cuts += cuts
        self._right = np.append(self._right, right)
        self._age = np.append(self._age, np.zeros(len(cuts), np.int64))
        self._matrix = csr_array(vstack([self._matrix, rows]))

    def solve(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64], limit: float
    ) -> Point | None:
        """Solve with these bounds of the columns; None if nothing costs at most `limit`."""
        self._model.changeColsBounds(len(self._columns), self._columns, lower, upper)
        self._model.setOptionValue("objective_bound", limit / self._unit + 1e-6)
        word = optimise(self._model)
        self._solves += 1
        if word in ("infeasible", "cutoff"):
            return None
        solution = self._model.getSolution()
        y = np.maximum(np.asarray(solution.row_dual), 0.0) * self._unit
        x = np.clip(np.asarray(solution.col_value), 0.0, 1.0)
        reduced = self._cost - self._matrix.T @ y
        # Columns fixed at 1 pay their reduced cost, those fixed at 0 gain nothing.
        at_best = np.where(reduced > 0, lower, upper)
        bound = float(self._right @ y + reduced @ at_best)
        self._age = np.where(y > 0, 0, self._age + 1)
        if self._solves % 50 == 0:
            self._purge()
        return Point(x, bound, reduced)

    def probe(
        self, j: int, value: float, lower: NDArray[np.float64], upper: NDArray[np.float64],
        steps: int, limit: float,
    ) -> float:  # fmt: skip
        """Bound with one column fixed, after few simplex steps; infinite if nothing is left."""
        model = self._model
        basis = model.getBasis()
        model.setOptionValue("simplex_iteration_limit", steps)
        model.changeColBounds(j, value, value)
        word = optimise(model)
        bound = np.inf
        if word not in ("infeasible", "cutoff"):
            bound = model.getInfo().objective_function_value * self._unit
        model.changeColBounds(j, lower[j], upper[j])
        model.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        model.setBasis(basis)
        return float(bound) if bound <= limit else np.inf

    def _purge(self) -> None:
        """Drop rows that have been slack for long."""
        old = np.flatnonzero(self._age > 100)
        if len(old) < 0.3 * len(self._age):
            return
        self._model.deleteRows(len(old), old.astype(np.int32))
        kept = np.ones(len(self._age), dtype=bool)
        kept[old] = False
        self._cuts = [cut for cut, k in zip(self._cuts, kept, strict=True) if k]
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
