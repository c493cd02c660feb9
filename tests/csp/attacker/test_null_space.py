"""Bases of null spaces: checked against sympy, which shares no code with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sympy import ZZ
from sympy.polys.matrices import DomainMatrix

from csp.attacker.null_space import null_space
from csp.clock import Clock
from csp.tables.table import Table
from tests.support.shared import examples
from tests.support.strategies import small_tables


def rank(rows: list[list[int]], columns: int) -> int:
    """By sympy, over the rationals."""
    if not rows or not columns:
        return 0
    return int(DomainMatrix(rows, (len(rows), columns), ZZ).to_field().rank())


def check(matrix: np.ndarray, first: np.ndarray) -> None:
    n = matrix.shape[1]
    found = null_space(csr_array(matrix), first)
    assert found is not None
    basis, axes = found[0].toarray(), found[1]
    assert not (matrix.astype(object) @ basis.astype(object)).any()
    # As many vectors as sympy has, which span the same space.
    field = DomainMatrix(matrix.tolist(), matrix.shape, ZZ).to_field()
    theirs = [[int(a) for a in row] for row in _whole(field.nullspace().to_Matrix().tolist())]
    assert len(theirs) == basis.shape[1] == len(axes)
    both = [*basis.T.tolist(), *theirs]
    assert rank(both, n) == rank(theirs, n) == len(theirs)
    for j, column in enumerate(basis.T):
        assert np.gcd.reduce(column) == 1
        unit = basis[axes[j]].copy()
        assert unit[j] > 0
        unit[j] = 0
        assert not unit.any()


def _whole(rows: list[list[Any]]) -> list[list[Any]]:
    """Multiply rows of fractions until they are whole."""
    out = []
    for row in rows:
        common = np.lcm.reduce([int(a.q) for a in row])
        out.append([a * int(common) for a in row])
    return out


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Any small matrices: dependent rows, zeros, large entries."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    entry = draw(st.sampled_from([st.integers(-1, 1), st.integers(-3, 3), st.integers(-50, 50)]))
    size = rows * columns
    flat = draw(st.lists(entry, min_size=size, max_size=size))
    return np.array(flat, np.int64).reshape(rows, columns)


@examples(60)
@given(matrices(), st.data())
def test_bases_span_what_sympy_finds(matrix: np.ndarray, data: st.DataObject) -> None:
    first = data.draw(st.permutations(range(matrix.shape[1])))
    check(matrix, np.array(first))


@examples(40)
@given(small_tables(), st.data())
def test_bases_of_tables(table: Table, data: st.DataObject) -> None:
    relations = table.relations.toarray()
    some = data.draw(st.lists(st.booleans(), min_size=len(relations.T), max_size=len(relations.T)))
    matrix = relations[:, np.array(some)]
    if matrix.shape[1]:
        check(matrix, np.arange(matrix.shape[1])[::-1])


def test_pivots_are_preferred_in_the_order_given() -> None:
    matrix = csr_array(np.array([[1, 1, 1, -1]]))
    for last in range(4):
        first = np.roll(np.arange(4), -last)
        found = null_space(matrix, first)
        assert found is not None
        assert found[1].tolist() == sorted({0, 1, 2, 3} - {last})


def test_what_is_too_large_or_too_late_is_not_begun() -> None:
    rng = np.random.default_rng(3)
    matrix = csr_array(rng.integers(-1, 2, (80, 160)))
    order = np.arange(160)
    assert null_space(matrix, order, most=500) is None
    assert null_space(matrix, order, clock=Clock(0.0)) is None
    # Entries outgrow 31 bits.
    assert null_space(csr_array(rng.integers(-50, 50, (12, 14))), np.arange(14)) is None


def test_without_relations_every_cell_moves_alone() -> None:
    found = null_space(csr_array((0, 3), dtype=np.int64), np.arange(3))
    assert found is not None
    assert found[0].toarray().tolist() == np.eye(3).tolist()
