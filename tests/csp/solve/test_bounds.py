"""Bounds from any multipliers, against the same in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp.solve.bounds import safe_bound
from tests.support.shared import examples


@examples(600)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 7), st.integers(-3, 8))
def test_a_bound_is_not_above_that_of_exact_arithmetic(
    seed: int, m: int, n: int, magnitude: int
) -> None:
    rng = np.random.default_rng(seed)
    need = rng.integers(1, 10 ** rng.integers(1, 8), m).astype(float)
    rows = np.floor(rng.random((m, n)) * (need[:, None] + 1)).clip(0, need[:, None])
    y = rng.random(m) * 10.0**magnitude / need
    # Reduced costs are what is left of a difference of large numbers.
    cost = np.round(rows.T @ y + rng.integers(-1, 2, n)).clip(0)
    ends = np.sort(rng.integers(0, 2, (2, n)), axis=0).astype(float)
    bound = safe_bound(need, y, cost - rows.T @ y, *ends)
    exact = sum(map(Fraction.__mul__, map(Fraction, need), map(Fraction, y)), Fraction(0))
    for j in range(n):
        price = sum((Fraction(rows[i, j]) * Fraction(y[i]) for i in range(m)), Fraction(0))
        reduced = Fraction(cost[j]) - price
        exact += min(reduced * Fraction(ends[0, j]), reduced * Fraction(ends[1, j]))
    assert bound <= exact
    assert bound >= exact - Fraction(1e-12) * (m + n) * (1 + 2 * n * Fraction(need @ y))
