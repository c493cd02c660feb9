"""The first-order method against the simplex method of scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from csp.clock import UNLIMITED
from csp.solve.large.first_order import FirstOrder

_GAP = 1e-4


@st.composite
def programs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, least values and prices, of every sign and size that relaxations have."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(1, 8)), draw(st.integers(1, 10))
    rows = rng.random((m, n)) * (rng.random((m, n)) < 0.6)
    own = rng.integers(n, size=m)
    rows[np.arange(m), own] = rng.choice([-1.0, 1.0], size=m)
    lower = np.where(rows[np.arange(m), own] < 0, 0.0, rng.random(m))
    price = rng.integers(0, 3, n) * 10.0 ** draw(st.integers(0, 6))
    return rows, lower, price


@given(programs())
def test_bound_and_point_are_those_of_the_simplex_method(
    program: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    rows, lower, price = program
    exact = linprog(price, A_ub=-rows, b_ub=-lower, bounds=(0, 1))
    found = FirstOrder(csr_array(rows), lower, price)
    found.run(_GAP, UNLIMITED)
    if exact.status == 2:
        assert found.bound > price.sum() or price.max() == 0
        return
    near = 3 * _GAP * max(exact.fun, price.max())
    assert exact.fun - near <= found.bound <= exact.fun + 1e-9 * max(1.0, exact.fun)
    assert (rows @ found.x >= lower - 0.01).all()
    assert price @ found.x == pytest.approx(exact.fun, abs=near)
    # The bound is what its multipliers say, and nobody else.
    reduced = price - rows.T @ found.multipliers
    assert (found.multipliers >= 0).all()
    assert found.bound == pytest.approx(
        lower @ found.multipliers + np.minimum(reduced, 0).sum(), rel=1e-9, abs=1e-9
    )


def test_a_program_that_no_point_satisfies_has_a_bound_above_every_cost() -> None:
    rows = csr_array(np.array([[0.5, 0.25], [1.0, -1.0]]))
    found = FirstOrder(rows, np.array([0.9, 0.0]), np.array([3.0, 4.0]))
    found.run(_GAP, UNLIMITED)
    assert found.bound > 7


@pytest.mark.parametrize("seed", range(20))
def test_rounding_lifts_no_bound_above_a_cost_that_floats_hardly_hold(seed: int) -> None:
    price = np.random.default_rng(seed).integers(1, 10**14, 200)
    found = FirstOrder(csr_array(np.eye(200)), np.ones(200), price.astype(np.float64))
    found.run(1e-12, UNLIMITED)
    exact = sum(price.tolist())  # every cell is needed
    assert exact * (1 - 1e-9) < found.bound <= exact
