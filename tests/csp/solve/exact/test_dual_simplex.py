"""Relaxations on a dictionary against scipy's HiGHS, through fixings and rows that come and go."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from csp.compiled import at_once
from csp.solve.exact.dual_simplex import INFEASIBLE, KERNELS, OPTIMAL, OVER, Dictionary
from tests.support.shared import examples, uncompiled


@st.composite
def histories(draw: st.DrawFn) -> tuple[np.ndarray, list[tuple[np.ndarray, ...]]]:
    """Costs, and rounds of new rows, right sides and bounds."""
    n = draw(st.integers(1, 6))
    numbers = st.integers(0, 4)

    def vector(elements: st.SearchStrategy[int], size: int = n) -> np.ndarray:
        return np.array(draw(st.lists(elements, min_size=size, max_size=size)), np.float64)

    rounds = []
    for _ in range(draw(st.integers(1, 4))):
        m = draw(st.integers(0, 3))
        rows = vector(st.integers(-1, 3), m * n).reshape(m, n)
        fixed = vector(st.sampled_from([-1, -1, 0, 1]))
        rounds.append((rows, vector(st.integers(-2, 4), m), np.maximum(fixed, 0), np.abs(fixed)))
    return vector(numbers), rounds


def outcomes(
    cost: np.ndarray, rounds: list[tuple[np.ndarray, ...]], cutoff: float
) -> list[tuple[int, float, float]]:
    """Status, value and proved bound of each round."""
    lp, n, found = Dictionary.of(cost, 20), len(cost), []
    for rows, right, low, high in rounds:
        for weights, side in zip(rows, right.tolist(), strict=True):
            KERNELS.run("add_row", lp, weights, side, small=True)
        for k in range(n):
            KERNELS.run("fix", lp, k, low[k], high[k], small=True)
        status, line = KERNELS.run("solve", lp, cutoff, 500, small=True)
        reduced = np.zeros(n)
        bound = KERNELS.run("weigh", lp, line, reduced, small=True)
        found.append((int(status), float(cost @ lp.value[:n]), float(bound)))
        KERNELS.run("rebuild", lp, small=True)
    return found


@examples(150)
@given(history=histories(), cutoff=st.sampled_from([2.5, 1e6]))
def test_relaxations_are_those_of_highs(
    history: tuple[np.ndarray, list[tuple[np.ndarray, ...]]], cutoff: float
) -> None:
    cost, rounds = history
    with at_once():
        found = outcomes(cost, rounds, cutoff)
    with uncompiled(KERNELS):
        assert outcomes(cost, rounds, cutoff) == found
    rows, right = np.zeros((0, len(cost))), np.zeros(0)
    for (new, sides, low, high), (status, value, bound) in zip(rounds, found, strict=True):
        rows, right = np.vstack([rows, new]), np.append(right, sides)
        real = linprog(
            cost, -rows if len(rows) else None, -right if len(rows) else None,
            bounds=np.stack([low, high], axis=1),
        )  # fmt: skip
        if real.status == 2:
            # What the multipliers say is a proof on its own.
            assert status in (INFEASIBLE, OVER)
            assert bound > (1e-6 if status == INFEASIBLE else cutoff)
        elif real.fun > cutoff + 1e-5:
            assert status == OVER
            assert cutoff < bound <= real.fun + 1e-6
        else:
            assert status == OPTIMAL
            np.testing.assert_allclose([value, bound], real.fun, atol=1e-6)


def test_tight_and_slack_rows_survive_a_clean_up() -> None:
    """Rows far from tight go, and the relaxation stays what it was."""
    from csp.solve.exact import pattern_tree

    rng = np.random.default_rng(3)
    cost, lp = np.ones(6), Dictionary.of(np.ones(6), 40)
    rows = rng.integers(0, 3, (30, 6)).astype(float)
    right = np.minimum(rng.integers(0, 4, 30), rows.sum(axis=1)).astype(float)
    with uncompiled(KERNELS, pattern_tree.KERNELS):
        for weights, side in zip(rows, right.tolist(), strict=True):
            KERNELS.run("add_row", lp, weights, side, small=True)
        KERNELS.run("solve", lp, 1e6, 500, small=True)
        before = float(cost @ lp.value[:6])
        pattern_tree.KERNELS.run("compact", lp, small=True)
        assert 0 < lp.size[0] < 30
        kept = int(lp.size[0])
        np.testing.assert_allclose(
            lp.value[6 : 6 + kept], lp.rows[:kept] @ lp.value[:6] - lp.right[:kept], atol=1e-9
        )
        KERNELS.run("add_row", lp, np.ones(6), float(np.ceil(before)) + 1.0, small=True)
        assert KERNELS.run("solve", lp, 1e6, 500, small=True)[0] == OPTIMAL
    real = linprog(cost, -lp.rows[: kept + 1], -lp.right[: kept + 1], bounds=np.array([[0, 1]] * 6))
    np.testing.assert_allclose(cost @ lp.value[:6], real.fun, atol=1e-7)
