"""Exact arithmetic behind the LP engine: square systems, and ends read off a basis."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Table
from csp.attacker import components, exact, lp
from csp.attacker.elimination import solved
from csp.attacker.lp import LpEngine
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import small_tables


def solve_square(dense: Any, right: list[int]) -> list[Fraction] | None:
    """Solve ``dense @ x = right``: one more column, of value 1, holds the right side."""
    wide = csr_array(np.column_stack([dense, [-v for v in right]]))
    found = solved(wide, np.array([len(right)]), np.array([[1]], dtype=object))
    if found is None:
        return None
    return [Fraction(int(v), found[1]) for v in found[0][:-1, 0]]


@given(st.integers(0, 10**6), st.integers(1, 9), st.floats(0.15, 0.9))
def test_square_systems_equal_sympy(seed: int, size: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(-3, 4, (size, size)) * (rng.random((size, size)) < density)
    right = rng.integers(-9, 10, size).tolist()
    found = solve_square(dense, right)
    matrix = sympy.Matrix(dense.tolist())
    if matrix.det() == 0:
        assert found is None
    else:
        wanted = matrix.LUsolve(sympy.Matrix(right))
        assert found == [Fraction(int(v.p), int(v.q)) for v in wanted]


def test_large_triangular_system_needs_no_dense_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 400
    order = np.random.default_rng(1).permutation(size)
    dense = np.eye(size, dtype=np.int64) + np.eye(size, k=1, dtype=np.int64)
    monkeypatch.setattr("csp.attacker.elimination.solve", None)
    found = solve_square(dense[order], [1] * size)
    assert found is not None
    assert (dense @ np.array(found, dtype=object) == 1).all()


@examples(40)
@given(st.data())
def test_ends_from_the_basis_alone_are_exact(data: st.DataObject) -> None:
    """With all guesses at small rationals refused, the basis must give the same ends."""
    table = data.draw(small_tables())
    flags = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    pattern = np.array(data.draw(flags))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp, "rationalise", lambda _: iter(()))
        for view in components(table, pattern):
            engine = LpEngine(view)
            for j in range(len(view.cells)):
                check_end(table, pattern, view, engine, j)


def check_end(table: Table, pattern: Any, view: Any, engine: LpEngine, j: int) -> None:
    cell = int(view.cells[j])
    low, high = oracles.rational_interval(table, pattern, cell)
    for sign, end in ((-1, low), (1, high)):
        found = engine.extreme(j, sign)
        wanted = None if end is None else abs(end - int(table.values[cell]))
        assert found.reach == wanted
        if wanted is not None:
            assert found.exact
            assert exact.is_deviation(view, found.witness(len(view.cells)), found.denominator)


@given(st.data())
def test_any_multipliers_give_a_valid_bound(data: st.DataObject) -> None:
    table = data.draw(small_tables())
    pattern = ~table.margins
    for view in components(table, pattern):
        rows = len(view.rows)
        numbers = data.draw(st.lists(st.integers(-3, 3), min_size=rows, max_size=rows))
        j = data.draw(st.integers(0, len(view.cells) - 1))
        sign = data.draw(st.sampled_from([1, -1]))
        divisor = data.draw(st.integers(1, 3))
        bound = exact.dual_bound(view, j, sign, np.array(numbers, dtype=np.int64), divisor)
        cell = int(view.cells[j])
        low, high = oracles.rational_interval(table, pattern, cell)
        end = high if sign > 0 else low
        if bound is not None:
            assert end is not None
            assert abs(end - int(table.values[cell])) <= bound
