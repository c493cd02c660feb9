"""The integer kernel: everything in it satisfies the relations, and nothing is missing."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from attacks.fibre.kernel_basis import kernel
from csp import InputError
from tests.support.shared import examples
from tests.support.strategies import cube, small_tables


def combination(basis: np.ndarray, vector: np.ndarray) -> list[Fraction] | None:
    """Coefficients of a vector in a basis, by elimination in fractions; None if there are none."""
    rows = [
        [*map(Fraction, row), Fraction(v)]
        for row, v in zip(basis.tolist(), vector.tolist(), strict=True)
    ]
    width = basis.shape[1]
    rank = 0
    for column in range(width):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        lead = rows[rank][column]
        rows[rank] = [v / lead for v in rows[rank]]
        for r in range(len(rows)):
            if r != rank and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    if any(row[-1] for row in rows[rank:]):
        return None
    return [row[-1] for row in rows[:rank]]


def assert_is_kernel(relations: np.ndarray, basis: np.ndarray, reach: int) -> None:
    """Every vector of the kernel with entries up to `reach` is an integer combination."""
    assert not (relations @ basis).any()
    n = relations.shape[1]
    for entries in itertools.product(range(-reach, reach + 1), repeat=n):
        vector = np.array(entries, dtype=np.int64)
        if (relations @ vector).any():
            continue
        found = combination(basis, vector)
        assert found is not None
        assert all(c.denominator == 1 for c in found)


matrices = st.integers(1, 3).flatmap(
    lambda rows: st.integers(1, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(-4, 4), min_size=columns, max_size=columns),
            min_size=rows, max_size=rows,
        )
    )
)  # fmt: skip


@examples(60)
@given(matrices)
def test_every_small_vector_of_the_kernel_is_an_integer_combination(rows: list[list[int]]) -> None:
    relations = np.array(rows)
    basis = kernel(relations)
    assert np.linalg.matrix_rank(relations) + basis.shape[1] == relations.shape[1]
    assert_is_kernel(relations, basis, 3 if relations.shape[1] < 5 else 2)


@examples(40)
@given(small_tables(), st.data())
def test_kernels_of_patterns_stay_on_the_support(table: object, data: st.DataObject) -> None:
    relations = table.relations  # type: ignore[attr-defined]
    n = relations.shape[1]
    support = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    basis = kernel(relations, support)
    assert not basis[~support].any()
    assert not (relations @ basis).any()
    inner = relations[:, np.flatnonzero(support)].toarray()
    assert basis.shape[1] == support.sum() - np.linalg.matrix_rank(inner if inner.size else [[0]])


def test_a_null_space_cleared_of_denominators_would_miss_tables() -> None:
    relations = np.array([[2, 3, 5]])
    cleared = np.array([[-3, 2, 0], [-5, 0, 2]]).T
    assert not (relations @ cleared).any()
    missed = np.array([1, 1, -1])
    assert not (relations @ missed).any()
    coefficients = combination(cleared, missed)
    assert coefficients is not None
    assert lcm(*(c.denominator for c in coefficients)) == 2
    found = combination(kernel(relations), missed)
    assert found is not None
    assert all(c.denominator == 1 for c in found)


def test_example_2_of_paper_003() -> None:
    # Algorithms 2019, 12(8), 165, Table 1: x1 + x2 = 23, x3 + x4 = 9, x1 + x3 = 23, x2 + x4 = 9.
    relations = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    assert kernel(relations).T.tolist() == [[1, -1, -1, 1]]


def test_parts_come_one_after_the_other() -> None:
    relations = csr_array(np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]]))
    assert kernel(relations).T.tolist() == [[1, -1, 0, 0, 0], [0, 0, 1, -1, 0], [0, 0, 0, 0, 1]]
    assert kernel(relations, np.zeros(5, dtype=bool)).shape == (5, 0)


def test_wrong_supports_and_numbers_too_large_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(2,\); 3 cells need \(3,\)"):
        kernel(np.array([[1, 1, 1]]), np.array([True, False]))
    far = 2**40
    relations = np.array([[far, far - 1, 0, 0], [0, far - 1, -far - 3, 1], [1, 0, 0, -far - 11]])
    with pytest.raises(InputError, match="beyond int64"):
        kernel(relations)


# A pattern of a 4 x 4 x 4 cube (margins published) whose cleared rational basis has index 2.
TWISTED = (
    0, 1, 3, 6, 7, 8, 10, 11, 12, 15, 16, 26, 28, 30, 32, 35, 36, 38, 40, 42, 51, 53, 55, 58, 60,
    62, 66, 67, 75, 76, 77, 80, 81, 82, 85, 87, 90, 91, 92,
)  # fmt: skip


def test_a_pattern_of_a_cube_whose_rational_basis_spans_half_of_the_kernel() -> None:
    table = cube(np.ones((4, 4, 4), dtype=int))
    support = np.isin(np.arange(table.n_cells), TWISTED)
    basis = kernel(table.relations, support)[list(TWISTED)]
    cleared = rational_basis(table.relations[:, list(TWISTED)].toarray())
    assert basis.shape == cleared.shape == (39, 4)
    coefficients = [combination(basis, column) for column in cleared.T]
    matrix = np.array([[float(c) for c in column] for column in coefficients if column])
    assert round(abs(np.linalg.det(matrix))) == 2
    # Saturated: no prime divides all entries of a combination that it does not divide itself.
    for prime in (2, 3, 5):
        assert rank_modulo(basis, prime) == 4
    assert rank_modulo(cleared, 2) < 4


def rational_basis(matrix: np.ndarray) -> np.ndarray:
    """One column for each free cell, cleared of denominators."""
    rows = [list(map(Fraction, row)) for row in matrix.tolist()]
    k = matrix.shape[1]
    pivots: list[int] = []
    for column in range(k):
        rank = len(pivots)
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        lead = rows[rank][column]
        rows[rank] = [v / lead for v in rows[rank]]
        for r in range(len(rows)):
            if r != rank and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[rank], strict=True)]
        pivots.append(column)
    columns = []
    for free in sorted(set(range(k)) - set(pivots)):
        vector = [Fraction(int(i == free)) for i in range(k)]
        for r, pivot in enumerate(pivots):
            vector[pivot] = -rows[r][free]
        scale = lcm(*(v.denominator for v in vector))
        columns.append([int(v * scale) for v in vector])
    return np.array(columns).T


def rank_modulo(matrix: np.ndarray, prime: int) -> int:
    rows = (matrix % prime).tolist()
    rank = 0
    for column in range(matrix.shape[1]):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][column], -1, prime)
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] * inverse
            rows[r] = [(v - factor * w) % prime for v, w in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank
