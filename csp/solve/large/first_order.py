"""Linear programs of a million rows, near their optimum, by products with the matrix alone.

A simplex method takes minutes where a pattern takes seconds. What is wanted here is a point to
construct by and a bound, and any multipliers give one: steps of the primal-dual hybrid gradient
method (Chambolle and Pock 2011) with a step length for each row and column (Pock and Chambolle
2011), drawn back to where they began (Halpern's iteration) and begun anew when that pays, as in
PDLP (Applegate et al. 2021; Lu and Yang 2024).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from csp.clock import Clock
from csp.exact import Floats
from csp.solve.bounds import safe_bound

# Steps after which bound and point are compared, and steps in all runs together.
_COMPARED = 40
_MOST = 20_000

# A new beginning is due when the distance to the optimum has fallen to the first share since the
# last one; when it has fallen to the second and rises again; or after this share of all steps.
# (Lu and Yang 2024; on five tables of 2,000 to 300,000 cells any values near these do as well.)
_ENOUGH, _SOME, _LONG = 0.3, 0.8, 0.36

# Norms below this are nothing.
_ZERO = 1e-9

# Share of all prices by which rounding may falsify what multipliers leave of them.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


class FirstOrder:
    """Minimise ``price x`` over ``rows x >= lower`` and ``0 <= x <= 1``, nearer with every run.

    Parameters
    ----------
    rows : (m, n) csr_array of float64
    lower : (m,) float64
    price : (n,) float64
        Not negative.

    Attributes
    ----------
    x : (n,) float64
        Point near the optimum; it may break rows by a little.
    multipliers : (m,) float64
        Those of the bound.
    bound : float
        No point costs less, by weak duality.
    """

    def __init__(self, rows: csr_array, lower: Floats, price: Floats) -> None:
        self._rows, self._columns = rows, csr_array(rows.T)
        self._lower, self._price = lower, price
        positive = price[price > 0]
        # Costs are brought to the order of 1, like points and rows.
        self._unit = float(np.median(positive)) if len(positive) else 1.0
        size = abs(rows)
        self._row_step = 1 / np.maximum(np.asarray(size.sum(axis=1)).ravel(), _ZERO)
        self._column_step = 1 / np.maximum(np.asarray(size.sum(axis=0)).ravel(), _ZERO)
        self.x, self._y = np.zeros(len(price)), np.zeros(len(lower))
        self.multipliers, self.bound = np.zeros(len(lower)), 0.0
        self._weight, self._steps = 1.0, 0

    def __repr__(self) -> str:
        return f"FirstOrder({len(self._lower)} rows, {self._steps} steps)"

    def run(self, gap: float, clock: Clock, steps: int | None = None) -> None:
        """Go on until bound and cost are near each other.

        Parameters
        ----------
        gap : float
            Share of the cost by which it may differ from the bound, plus the larger of two shares:
            what rows are broken by of the total of the point, and the same at their multipliers of
            the cost.
        clock : Clock
        steps : int, optional
            More than which are not taken in all.
        """
        if self._steps and clock.over:
            return
        price, lower = self._price / self._unit, self._lower
        x, y = self.x, self._y
        x0, y0, since = x, y, 0
        at_start = last = np.inf
        while self._steps < (_MOST if steps is None else min(steps, _MOST)):
            new_x = np.clip(
                x - self._column_step / self._weight * (price - self._columns @ y), 0, 1
            )
            ahead = lower - self._rows @ (2 * new_x - x)
            new_y = np.maximum(y + self._row_step * self._weight * ahead, 0)
            self._steps += 1
            since += 1
            if self._steps % _COMPARED == 0 or clock.over:
                self.x, self._y = new_x, new_y
                distance = self._distance()
                if distance <= gap or clock.over:
                    return
                rises = distance > last
                last = distance
                fallen = distance < _ENOUGH * at_start or (distance < _SOME * at_start and rises)
                if fallen or since > _LONG * self._steps:
                    self._balance(new_x - x0, new_y - y0)
                    x0, y0, since = new_x, new_y, 0
                    x, y = new_x, new_y
                    at_start, last = distance, np.inf
                    continue
            share = since / (since + 1)
            x = share * (2 * new_x - x) + (1 - share) * x0
            y = share * (2 * new_y - y) + (1 - share) * y0

    def _distance(self) -> float:
        """How far cost and bound are apart, and rows are broken, as shares; keep the best bound."""
        y = self._y * self._unit
        bound = safe_bound(self._lower, y, self._price - self._columns @ y)
        bound -= _ROUNDING * self._price.sum()
        if bound > self.bound:
            self.bound, self.multipliers = bound, y
        if self.bound > self._price.sum():
            return 0.0  # no point at all keeps the rows
        cost, total = float(self._price @ self.x), float(self.x.sum())
        broken = np.maximum(self._lower - self._rows @ self.x, 0)
        worst = max(
            float(broken.sum()) / max(total, _ZERO), float(y @ broken) / max(cost, bound, _ZERO)
        )
        return float(abs(cost - bound) / max(cost, bound, _ZERO) + worst)

    def _balance(self, dx: Floats, dy: Floats) -> None:
        """Weigh steps of points and of multipliers by how far both have come."""
        far, high = float(np.linalg.norm(dx)), float(np.linalg.norm(dy))
        if far > _ZERO and high > _ZERO:
            self._weight = float(np.sqrt(high / far * self._weight))
