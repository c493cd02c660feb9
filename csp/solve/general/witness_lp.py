"""The cheapest witness of one requirement as a linear program.

``min sum c_i |z_i|`` over the deviations of a space with ``z_p`` given: cells that are suppressed
anyhow cost nothing, so the answer is a cheap extension of a pattern. Absolute values are split into
two columns with costs of at least zero. The basis of slacks is then dual feasible, and the dual
simplex method from there is far faster than from the last basis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.highs import Model, Status
from csp.solve.general.space import Space
from csp.solve.general.witness import Witness, along, witness

__all__ = ["Router"]

_NOISE = 1e-6
_SUPPRESSED = 1e-4
_SECOND_LOOK = 0.02


class Router:
    """Finds cheap witnesses in one space.

    Parameters
    ----------
    space : Space
    seed : int
        Passed to the solver.
    most_steps : int
        Simplex iterations before an interior-point method takes over.
    """

    def __init__(self, space: Space, seed: int = 0, most_steps: int = 3000) -> None:
        from scipy.sparse import csr_array, hstack

        self.space = space
        self.cells = np.flatnonzero(space.open)
        self._place = np.full(len(space.up), -1)
        self._place[self.cells] = np.arange(len(self.cells))
        part = csr_array(space.relations[:, self.cells])
        part = csr_array(part[np.flatnonzero(np.diff(part.indptr))])
        self._part = part
        k = len(self.cells)
        zero = np.zeros(part.shape[0])
        model = Model(
            presolve="off", solver="simplex", simplex_strategy=1, random_seed=seed,
            simplex_iteration_limit=most_steps,
        )  # fmt: skip
        self._model = model.load(
            cost=np.zeros(2 * k), lower=np.zeros(2 * k), upper=np.zeros(2 * k),
            rows=csr_array(hstack([part, -part])), row_lower=zero, row_upper=zero,
        )  # fmt: skip
        self._all = np.arange(2 * k, dtype=np.int32)

    def route(
        self, requirement: int, pattern: NDArray[np.bool_], *, clock: Clock,
        weight: NDArray[np.float64] | None = None, banned: NDArray[np.bool_] | None = None,
        again: bool = True, symmetric: bool = True,
    ) -> Witness | None:  # fmt: skip
        """Find a cheap witness of a requirement.

        Parameters
        ----------
        requirement : int
            Index into the requirements of the space.
        pattern : (n,) bool
            Cells that cost nothing.
        clock : Clock
            When to stop.
        weight : (n,) float64, optional
            Costs in place of those of the space.
        banned : (n,) bool, optional
            Cells that must not move.
        again : bool
            Whether to look a second time, with costs that favour cells that moved far.
        symmetric : bool
            Whether to look first for a vector that serves the cell in both directions.

        Returns
        -------
        Witness or None
            None if there is none, or if the time runs out.
        """
        space = self.space
        p, kind = int(space.cell[requirement]), int(space.kind[requirement])
        weight = space.weight if weight is None else weight
        weight = np.where(pattern, 0.0, weight)[self.cells]
        shut = None if banned is None else banned[self.cells]
        if symmetric or kind == 2:
            both = space.need_of(p)
            z = self._cheap(p, 0, both, weight, shut, clock, again=again)
            if z is not None:
                return along(space, z)
        need = float(space.need[requirement])
        if kind < 2:
            z = self._cheap(p, 1 if kind == 0 else -1, need, weight, shut, clock, again=again)
            return None if z is None else along(space, z)
        return self._pair(p, need, weight, shut, clock)

    # ---- one vector ----------------------------------------------------------------------------

    def _cheap(
        self, p: int, sign: int, need: float, weight: NDArray[np.float64],
        shut: NDArray[np.bool_] | None, clock: Clock, *, again: bool,
    ) -> NDArray[np.float64] | None:  # fmt: skip
        """Cheapest found vector with z_p = need (sign 0: whose negative fits as well)."""
        unit = _unit(need)
        caps = self._rooms(sign, shut, unit)
        j = int(self._place[p])
        if j < 0 or caps[0 if sign >= 0 else 1][j] * unit < need * (1 - 1e-12):
            return None
        limit = need / unit
        reach = np.minimum(np.maximum(*caps), limit)
        cost = np.where(weight > 0, weight * limit / np.maximum(reach, 1e-9 * limit), _SUPPRESSED)
        best, least = None, np.inf
        for _ in range(2 if again else 1):
            z = self._solve(j, sign, limit, caps, cost, clock)
            if z is None:
                break
            paid = float(weight[z != 0].sum())
            if paid < least:
                best, least = z, paid
            if paid == 0:
                break
            far = weight * limit / (np.abs(z) + _SECOND_LOOK * limit)
            cost = np.where(weight > 0, far, _SUPPRESSED)
        return None if best is None else self._spread(best * unit)

    def _solve(
        self, j: int, sign: int, limit: float, caps: tuple[NDArray[Any], NDArray[Any]],
        cost: NDArray[np.float64], clock: Clock,
    ) -> NDArray[np.float64] | None:  # fmt: skip
        k = len(self.cells)
        lower, upper = np.zeros(2 * k), np.concatenate(caps)
        on, off = (j, k + j) if sign >= 0 else (k + j, j)
        lower[on] = upper[on] = limit
        upper[off] = 0.0
        cost = np.clip(cost, 1e-5, 1e6)
        model = self._model
        model.set_bounds(self._all, lower, upper)
        model.set_costs(self._all, np.concatenate([cost, cost]))
        if self._run(clock) != Status.OPTIMAL:
            return None
        split = model.values
        z: NDArray[np.float64] = split[:k] - split[k:]
        z[np.abs(z) <= _NOISE] = 0.0
        return z

    def _run(self, clock: Clock) -> Status:
        if clock.over:
            return Status.LIMIT
        # Without a basis the solver starts from the slacks.
        self._model.forget()
        word = self._model.solve(clock)
        if word == Status.LIMIT and not clock.over:
            self._model.set_option("solver", "ipm")
            self._model.forget()
            word = self._model.solve(clock)
            self._model.set_option("solver", "simplex")
        return word

    # ---- two vectors ---------------------------------------------------------------------------

    def _pair(
        self, p: int, need: float, weight: NDArray[np.float64],
        shut: NDArray[np.bool_] | None, clock: Clock,
    ) -> Witness | None:  # fmt: skip
        """One vector up and one down whose reaches add up, where one line does not do."""
        from scipy.sparse import block_diag, csr_array, hstack, vstack

        k, j, unit = len(self.cells), int(self._place[p]), _unit(need)
        if j < 0 or clock.over:
            return None
        limit = need / unit
        caps = self._rooms(1, shut, unit)
        reach = np.minimum(np.maximum(*caps), limit)
        one = np.where(weight > 0, weight * limit / np.maximum(reach, 1e-9 * limit), _SUPPRESSED)
        one = np.clip(one, 1e-5, 1e6)
        split = hstack([self._part, -self._part])
        spread = csr_array(
            (np.array([1.0, -1.0, -1.0, 1.0]), ([0] * 4, [j, k + j, 2 * k + j, 3 * k + j])),
            shape=(1, 4 * k),
        )
        rows = csr_array(vstack([block_diag([split, split]), spread]))
        lower, upper = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
        lower[-1], upper[-1] = limit, np.inf
        model = Model(presolve="off", solver="simplex").load(
            cost=np.tile(one, 4), lower=np.zeros(4 * k), upper=np.tile(np.concatenate(caps), 2),
            rows=rows, row_lower=lower, row_upper=upper,
        )  # fmt: skip
        if model.solve(clock) != Status.OPTIMAL:
            return None
        z = model.values.reshape(4, k)
        first, second = z[0] - z[1], z[2] - z[3]
        for part in (first, second):
            part[np.abs(part) <= _NOISE] = 0.0
        return witness(self.space, self._spread(first * unit), self._spread(second * unit))

    # ---- helpers -------------------------------------------------------------------------------

    def _rooms(
        self, sign: int, shut: NDArray[np.bool_] | None, unit: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        up, down = self.space.up[self.cells] / unit, self.space.down[self.cells] / unit
        if sign == 0:
            up = down = np.minimum(up, down)
        if shut is not None:
            up, down = np.where(shut, 0.0, up), np.where(shut, 0.0, down)
        return up, down

    def _spread(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        full = np.zeros(len(self._place))
        full[self.cells] = z
        return full


def _unit(need: float) -> float:
    """Power of two that brings a need near one thousand: solver tolerances are absolute."""
    return float(2.0 ** (int(np.ceil(np.log2(need))) - 10)) if need > 0 else 1.0
