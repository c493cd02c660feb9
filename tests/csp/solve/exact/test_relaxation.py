"""The relaxation at the nodes of a tree, against linear programs over every cut there has been."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from csp import Problem, Table
from csp.clock import UNLIMITED
from csp.solve.cuts import Cut
from csp.solve.exact.branching import node_relaxation
from csp.solve.exact.branching.node_relaxation import NodeRelaxation


def least_cost(
    problem: Problem, cuts: list[Cut], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> float | None:
    """Cost of the cheapest point that keeps all cuts, by scipy; None if there is none."""
    rows = np.zeros((len(cuts), len(lower)))
    for r, cut in enumerate(cuts):
        rows[r, cut.cells] = cut.weights
    cost = problem.cost.astype(np.float64)
    found = linprog(
        cost, -rows, [-cut.right for cut in cuts], bounds=list(zip(lower, upper, strict=True))
    )
    return float(found.fun) if found.status == 0 else None


@given(st.integers(0, 2**32 - 1))
def test_rows_that_wait_in_the_pool_are_kept_and_empty_nodes_are_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = Table.from_array(rng.integers(1, 9, (3, 3)).tolist())
    n = table.n_cells
    problem = Problem.of(table, np.zeros(n, bool), cost=rng.integers(1, 9, n))
    cuts: list[Cut] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_relaxation, "_OLD", 0)
        patch.setattr(node_relaxation, "_LEAVING", 0.0)
        lp = NodeRelaxation(problem, np.ones(n, bool), [], 0)
        for _ in range(6):
            cells = np.flatnonzero(rng.random(n) < 0.4)
            weights = rng.choice([-1.0, 0.5, 1.0, 1.0], len(cells))
            cuts.append(Cut(cells, weights, float(rng.choice([0.5, 1.0, 2.0])), "capacity"))
            lp.enter(cuts[-1:])
            lower, upper = np.zeros(n), np.ones(n)
            fixed = rng.random(n) < 0.3
            lower[fixed] = upper[fixed] = rng.integers(0, 2, int(fixed.sum()))
            limit = float(rng.choice([np.inf, 10.0]))
            expected = least_cost(problem, cuts, lower, upper)
            found = lp.solve_node(lower, upper, limit, UNLIMITED)
            if expected is None or expected > limit:
                assert found is None
                continue
            assert found is not None
            assert found.bound == pytest.approx(expected)
            assert all(cut.slack(lp.full(found.x)) >= -1e-6 for cut in cuts)
