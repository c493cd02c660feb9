"""The linear relaxation as one model with all cells that may be suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.highs import Model, Status
from csp.solve.network.node_cuts import FlowCut

__all__ = ["Relaxed", "WholeRelaxation", "entries"]


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """Outcome of a linear relaxation over some cells.

    Attributes
    ----------
    word : Status
    x : (k,) float64 or None
    bound : float
    reduced : (k,) float64 or None
        Reduced costs that the bound goes with.
    """

    word: Status
    x: NDArray[np.float64] | None = None
    bound: float = np.inf
    reduced: NDArray[np.float64] | None = None


class WholeRelaxation:
    """``min cost x`` over cuts and ``0 <= x <= 1``; see `csp.solve.exact.pricing` for large tables.

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
    """

    def __init__(
        self, cells: NDArray[np.int64], n_cells: int, cost: NDArray[np.float64], unit: float,
        seed: int, clock: Clock,
    ) -> None:  # fmt: skip
        from scipy.sparse import csr_array

        k = len(cells)
        self.columns, self._n_cells = cells, n_cells
        self._cost, self._unit, self._clock = cost, unit, clock
        self._other_objective = False
        self._matrix: Any = csr_array((0, k))
        self._right: NDArray[np.float64] = np.empty(0)
        self._lp = Model(presolve="off", solver="simplex", random_seed=seed).load(
            cost=cost / unit, lower=np.zeros(k), upper=np.ones(k),
            rows=self._matrix, row_lower=np.empty(0), row_upper=np.empty(0),
        )  # fmt: skip

    def add(self, cuts: list[Any]) -> None:
        """Add cuts."""
        from scipy.sparse import csr_array, vstack

        if not cuts:
            return
        rows = entries(cuts, self.columns, self._n_cells)
        right = np.array([c.right for c in cuts])
        self._lp.add_rows(rows, right, np.full(len(cuts), np.inf))
        self._matrix = csr_array(vstack([self._matrix, rows]))
        self._right = np.append(self._right, right)

    def solve(self, objective: NDArray[np.float64] | None = None) -> Relaxed:
        """Solve the relaxation, warm from the last time.

        Parameters
        ----------
        objective : (k,) float64, optional
            In place of the costs, never negative.

        Returns
        -------
        Relaxed
        """
        k = len(self.columns)
        cost, unit = self._cost, self._unit
        if objective is not None:
            cost = objective
            unit = max(1.0, float(np.median(cost))) if k else 1.0
        if objective is not None or self._other_objective:
            self._lp.set_costs(np.arange(k, dtype=np.int32), cost / unit)
            self._other_objective = objective is not None
        word = self._lp.solve(self._clock)
        if not k and (self._right > 0).any():
            word = Status.INFEASIBLE  # HiGHS calls a model without columns empty, and optimal
        if word != Status.OPTIMAL:
            return Relaxed(word)
        solution = self._lp.solution
        x = np.clip(np.asarray(solution.col_value), 0.0, 1.0)
        # Any non-negative multipliers of the cuts give a valid bound, so the solver's tolerances
        # cannot push it above a true cost (Neumaier and Shcherbina 2004).
        y = np.maximum(np.asarray(solution.row_dual), 0.0) * unit
        reduced = cost - self._matrix.T @ y
        bound = float(self._right @ y + np.minimum(reduced, 0.0).sum())
        return Relaxed(word, x, bound, reduced)


def entries(cuts: list[Any], cells: NDArray[np.int64], n_cells: int, most: float = np.inf) -> Any:
    """Weights of cuts (rows) at some cells of a table of `n_cells` (columns), as a csr_array.

    None instead if that would hold more entries than `most`.
    """
    from scipy.sparse import csr_array

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
