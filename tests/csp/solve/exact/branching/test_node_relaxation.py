"""Relaxations at nodes, on a dictionary and by HiGHS, against scipy over all cuts at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from csp import Problem, Table
from csp.clock import UNLIMITED
from csp.highs import Status
from csp.solve.cuts import Cut
from csp.solve.exact.branching import node_relaxation
from csp.solve.exact.branching.dense_program import DenseProgram
from csp.solve.exact.branching.node_relaxation import NodeRelaxation


def covers(rng: np.random.Generator, cells: np.ndarray, count: int) -> list[Cut]:
    """Cuts over a few of some cells each."""
    found = []
    for _ in range(count):
        some = np.sort(rng.choice(cells, 5, replace=False))
        weights = rng.choice([-1.0, 0.5, 1.0, 2.0], 5)
        found.append(Cut(some, weights, float(rng.choice([0.5, 1.0])), "capacity"))
    return found


def least(relaxation: NodeRelaxation, cost: Any, cuts: list[Cut], low: Any, high: Any) -> float:
    """Least cost over all cuts; infinite if nothing keeps them."""
    rows = np.zeros((len(cuts), len(cost)))
    for row, cut in zip(rows, cuts, strict=True):
        row[np.searchsorted(relaxation.cells, cut.cells)] = cut.weights
    right = np.array([cut.right for cut in cuts])
    real = linprog(cost, -rows, -right, bounds=np.stack([low, high], axis=1))
    return np.inf if real.status == 2 else float(real.fun)


@pytest.mark.parametrize("way", ["dictionary", "highs", "mended"])
@pytest.mark.parametrize("seed", range(3))
def test_nodes_are_bounded_as_by_all_cuts_at_once(
    way: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    table = Table.from_array(rng.integers(1, 9, (4, 5)).tolist())
    problem = Problem.of(table, np.zeros(table.n_cells, bool), cost=rng.integers(1, 9, 30))
    monkeypatch.setattr(node_relaxation, "_OLD", 1)
    monkeypatch.setattr(node_relaxation, "_LEAVING", 0.0)
    monkeypatch.setattr(node_relaxation, "_AT_ONCE", 2)
    if way == "highs":
        monkeypatch.setattr(node_relaxation, "_DENSE", 0)
    if way == "mended":
        solve = DenseProgram.solve
        monkeypatch.setattr(
            DenseProgram, "solve", lambda *given: (solve(*given), Status.DOUBTFUL)[1]
        )
    cuts = covers(rng, np.flatnonzero(problem.free), 12)
    relaxation = NodeRelaxation(problem, problem.free, cuts, seed)
    cost = problem.cost[relaxation.cells].astype(float)
    ended = set()
    for _ in range(40):
        cuts += (new := covers(rng, relaxation.cells, 1))
        relaxation.enter(new)
        fixed = rng.choice([-1, -1, -1, 0, 1], len(cost))
        low, high = (fixed == 1).astype(float), (fixed != 0).astype(float)
        real = least(relaxation, cost, cuts, low, high)
        limit = float(rng.choice([12.0, 1e6]))
        point = relaxation.solve_node(low, high, limit, UNLIMITED)
        ended.add(point is None)
        if point is None:
            assert real > limit - 1e-6
        else:
            np.testing.assert_allclose([point.bound, cost @ point.x], real, atol=1e-5)
    assert ended == {True, False}
