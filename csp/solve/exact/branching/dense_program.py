"""The linear program of a node on a dictionary, for some hundred columns.

HiGHS takes 45 microseconds for an exchange among 200 columns and 380 rows, and refactors whenever
rows come and go. A dictionary that is kept from node to node takes 15.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.exact import Floats, Ints
from csp.highs import Status
from csp.solve.exact.dual_simplex import INFEASIBLE, KERNELS, LIMIT, OPTIMAL, OVER, Dictionary

# Rows for which there is room at first; exchanges between two looks at the clock, which may take a
# tenth of a second; and how often it is looked at for one solution.
_ROOM = 256
_STEPS = 150
_LOOKS = 20

# By how much a row may be missed and the two sides of the program may differ (costs are near 1).
_EXACT = 1e-6

_STATUS = {OPTIMAL: Status.OPTIMAL, INFEASIBLE: Status.INFEASIBLE, OVER: Status.CUTOFF}


class DenseProgram:
    """``min cost x`` over rows ``rows x >= right`` and bounds that a search changes.

    Parameters
    ----------
    cost : (n,) float64
        Never negative.
    """

    def __init__(self, cost: Floats) -> None:
        self._lp = Dictionary.of(cost, _ROOM)
        self._line = 0
        self.multipliers: Floats = np.empty(0)
        """Of the rows, wherever the last solution ended."""
        self.reduced: Floats = cost
        """Reduced costs that they leave."""

    def add_rows(self, rows: Floats, right: Floats) -> None:
        """Add the rows of a dense matrix."""
        if int(self._lp.size[0]) + len(right) > len(self._lp.right):
            self._lp = self._lp.roomier(2 * (int(self._lp.size[0]) + len(right)))
        KERNELS.run("add_rows", self._lp, rows, right, small=False)

    def drop(self, old: Ints) -> Ints:
        """Drop those of some rows that are not tight; returns which these are."""
        n, m = len(self._lp.cost), int(self._lp.size[0])
        gone = np.zeros(m, np.bool_)
        gone[old] = True
        gone &= self._lp.place[n : n + m] < 0
        KERNELS.run("drop", self._lp, gone, small=False)
        return np.flatnonzero(gone)

    def set_bounds(self, lower: Floats, upper: Floats) -> None:
        """Set the bounds of all columns, each 0 or 1."""
        KERNELS.run("set_bounds", self._lp, lower, upper, small=False)

    def rebuild(self) -> None:
        """Make the dictionary anew, without the rounding of all that went before."""
        KERNELS.run("rebuild", self._lp, small=False)

    def solve(self, cutoff: float, clock: Clock) -> Status:
        """Solve from where the last solution stands.

        Returns
        -------
        Status
            "doubtful" if rounding has spoilt the dictionary: `rebuild` may help.
        """
        for _ in range(_LOOKS):
            if clock.over:
                return Status.LIMIT
            status, self._line = KERNELS.run("solve", self._lp, cutoff, _STEPS, small=False)
            if status != LIMIT:
                break
        self.multipliers = self._by_row(np.maximum(self._lp.price, 0.0))
        self.reduced = self._lp.cost - self.weighed(self.multipliers)
        if status == OPTIMAL and not self._is_exact():
            return Status.DOUBTFUL
        return _STATUS.get(int(status), Status.DOUBTFUL)

    def _is_exact(self) -> bool:
        """Whether the solution keeps all rows, and its multipliers prove that none is cheaper."""
        lp, m, x = self._lp, int(self._lp.size[0]), self.x
        if (lp.rows[:m] @ x < lp.right[:m] - _EXACT).any():
            return False
        cost, reduced = float(lp.cost @ x), self.reduced
        bound = float(lp.right[:m] @ self.multipliers)
        bound += float(reduced @ np.where(reduced > 0, lp.low, lp.high))
        return abs(cost - bound) <= _EXACT * (1.0 + abs(cost))

    def weighed(self, y: Floats) -> Floats:
        """Sum of the rows by some multipliers."""
        return y @ self._lp.rows[: len(y)]

    @property
    def x(self) -> Floats:
        """Values of the columns, within 0 and 1."""
        return np.clip(self._lp.value[: len(self._lp.cost)], 0.0, 1.0)

    @property
    def ray(self) -> Floats:
        """Multipliers by which the rows of an infeasible program contradict the bounds."""
        lp, line = self._lp, abs(self._line) - 1
        y = self._by_row(-lp.body[line] * np.sign(self._line))
        if lp.basic[line] >= len(lp.cost):
            y[lp.basic[line] - len(lp.cost)] = 1.0
        return y

    def _by_row(self, of_columns: NDArray[Any]) -> Floats:
        beside, n = self._lp.beside, len(self._lp.cost)
        y = np.zeros(int(self._lp.size[0]))
        tight = beside >= n
        y[beside[tight] - n] = of_columns[tight]
        return y
