"""The choice as one linear program, with a proof of its optimum in whole numbers.

The relations of a two-way table, one dimension of which may be a hierarchy, are those of a network:
every vertex of the program is whole, and so are the prices of its rows (Cox and Ernst 1982). Of
other tables the vertex is often whole all the same; then it is an optimum there, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csp.clock import Clock
from csp.exact import Floats, Ints
from csp.highs import Status
from csp.rounding.neighbours import Neighbours

_FINE = 2**20
"""Prices are rounded to this fraction of a unit before they bound the optimum exactly."""

_STEPS = 20_000
"""Steps of the simplex method before an interior-point method takes over."""


@dataclass(frozen=True, slots=True, eq=False)
class Vertex:
    """Solution of the linear program.

    Attributes
    ----------
    up : (k,) int64 or None
        None if it is not whole.
    bound : int
        On the cost of every additive choice; proved in whole numbers.
    point : (k,) float64
        As the solver gave it.
    """

    up: Ints | None
    bound: int
    point: Floats


def vertex(near: Neighbours, cost: Ints, clock: Clock) -> Vertex | None:
    """Solve the linear program; None if the time ran out, or the program has no solution.

    Parameters
    ----------
    near : Neighbours
    cost : (k,) int64
    clock : Clock
    """
    model = near.program(cost)
    if model.solve_stepwise(clock, _STEPS, interruptible=True) != Status.OPTIMAL:
        return None
    solution = model.solution
    point = np.asarray(solution.col_value)
    up = np.rint(point).astype(np.int64)
    bound = lower_bound(near, cost, np.asarray(solution.row_dual))
    return Vertex(up if near.adds_up(up) else None, bound, point)


def lower_bound(near: Neighbours, cost: Ints, prices: Floats) -> int:
    """Bound on the cost of every additive choice, from any prices of the rows (weak duality).

    ``cost @ up = prices @ right + (cost - prices @ matrix) @ up``, and ``up`` lies in [0, 1].
    """
    # As fine as 64 bits hold; where not even whole prices fit, no choice costs less than nothing.
    size = sum(near.matrix.shape) * max(1.0, float(np.abs(prices).max(initial=0.0)), *cost.tolist())
    fine = _FINE
    while fine and size * fine * max(1.0, float(np.abs(near.right).max(initial=0))) >= 2.0**62:
        fine //= 2
    if not fine:
        return 0
    whole = np.rint(prices * fine).astype(np.int64)
    left = cost * fine - whole @ near.matrix
    total = int(whole @ near.right) + int(left[left < 0].sum())
    return -(-total // fine)
