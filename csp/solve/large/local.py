"""The cheapest witness of one requirement within a part of a table, by one small program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from csp.attacker.exact import common_denominator
from csp.errors import SolverError
from csp.highs import Model, Status
from csp.solve.large.field import Field, Witness

__all__ = ["Block"]

# What a suppressed cell costs in a program: as good as nothing, so that short witnesses win.
_FREE = 1e-4

# Floats of a solver this small are nothing.
_ZERO = 1e-7


class Block:
    """The open cells of a part of a table that its relations let move, and a program over them.

    Parameters
    ----------
    field : Field
    cells : (k,) int64
        Ascending.
    """

    def __init__(self, field: Field, cells: NDArray[np.int64]) -> None:
        self._field = field
        cells = cells[field.open[cells]]
        matrix = csr_array(field.columns[:, cells])
        matrix = csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
        # A cell that is alone in a relation cannot move; without it others may be alone.
        while len(cells):
            size = np.diff(matrix.indptr)
            stuck = np.zeros(len(cells), dtype=bool)
            stuck[matrix.indices[matrix.indptr[:-1][size == 1]]] = True
            if not stuck.any():
                break
            cells = cells[~stuck]
            matrix = csr_array(matrix[:, np.flatnonzero(~stuck)])
            matrix = csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
        self.cells = cells
        self._matrix = matrix.astype(np.int64)
        self._model: Model | None = None

    def __contains__(self, cell: int) -> bool:
        at = int(np.searchsorted(self.cells, cell))
        return at < len(self.cells) and int(self.cells[at]) == cell

    def _program(self) -> Model:
        if self._model is None:
            k, m = len(self.cells), self._matrix.shape[0]
            both = csr_array(hstack([self._matrix, -self._matrix], format="csr"))
            self._model = Model(presolve="off").load(
                cost=np.ones(2 * k), lower=np.zeros(2 * k), upper=self._limits(),
                rows=both, row_lower=np.zeros(m), row_upper=np.zeros(m),
            )  # fmt: skip
        return self._model

    def _limits(self) -> NDArray[np.float64]:
        up, down = self._field.up[self.cells], self._field.down[self.cells]
        return np.concatenate([up, down]).astype(np.float64)

    def cheapest(
        self, cell: int, rise: int, price: NDArray[np.float64], *, both: bool, looks: int = 2,
        banned: NDArray[np.int64] | None = None,
    ) -> Witness | None:  # fmt: skip
        """Witness that moves a cell by at least so much, with little cost of new cells.

        Parameters
        ----------
        cell : int
            In the block.
        rise : int
            Units; negative for a fall.
        price : (n,) float64
            What it costs to suppress each cell; 0 where it is suppressed anyway.
        both : bool
            Whether the opposite deviation must be possible as well.
        looks : int
            Programs at most: from the second on, a cell that moves costs its price, however far.
        banned : (b,) int64, optional
            Cells that must stay.

        Returns
        -------
        Witness or None
            None if there is none in the block, or its vertex is no multiple of whole numbers.
        """
        model = self._program()
        k = len(self.cells)
        p = int(np.searchsorted(self.cells, cell))
        limit = self._limits()
        if both:
            limit[:k] = limit[k:] = np.minimum(limit[:k], limit[k:])
        if banned is not None:
            held = np.isin(self.cells, banned)
            limit[:k][held] = limit[k:][held] = 0
        lower = np.zeros(2 * k)
        own, other = (p, k + p) if rise > 0 else (k + p, p)
        if abs(rise) > limit[own]:
            return None
        lower[own], limit[own], limit[other] = abs(rise), abs(rise), 0
        columns = np.arange(2 * k, dtype=np.int32)
        model.set_bounds(columns, lower, limit)
        money = price[self.cells]
        need = float(abs(rise))
        reach = np.maximum(np.maximum(limit[:k], limit[k:]), 1.0)
        weight = np.where(money > 0, money * need / np.minimum(reach, need), _FREE)
        best: Witness | None = None
        paid = np.inf
        for _ in range(looks):
            model.set_costs(columns, np.concatenate([weight, weight]))
            model.forget()
            try:
                if model.solve() != Status.OPTIMAL:
                    break
            except SolverError:
                break
            values = model.values
            z = values[:k] - values[k:]
            z[np.abs(z) < _ZERO * need] = 0.0
            cost = float(money[z != 0].sum())
            if cost < paid:
                found = self._exactly(z)
                if found is not None:
                    best, paid = found, cost
            elif cost == paid or cost > paid:
                break
            if paid == 0:
                break
            weight = np.where(money > 0, money * need / (np.abs(z) + 0.02 * need), _FREE)
        return best

    def _exactly(self, z: NDArray[np.float64]) -> Witness | None:
        """Whole numbers along a vertex."""
        at = np.flatnonzero(z)
        size = np.abs(z[at])
        part = csr_array(self._matrix[:, at])
        # A vertex has whole ratios or whole units, over small denominators, and not always both.
        for unit in (float(size.min()), 1.0):
            divisor = common_denominator(size / unit)
            if divisor is None or size.max() / unit * divisor >= 2.0**40:
                continue
            steps = np.rint(z[at] / unit * divisor)
            whole = steps.astype(np.int64)
            if (whole == 0).any() or (part @ whole).any():
                continue
            whole //= np.gcd.reduce(whole)
            return self._field.along(self.cells[at], whole)
        return None
