"""Walks along the kernel: every table within any ranges, each once, compiled or not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.fibre import kernel_walk, projections
from attacks.fibre.kernel_basis import check_whole, kernel
from csp.clock import Clock
from csp.compiled import at_once
from csp.errors import CertificateError, InputError, OutOfTime
from tests.support.shared import examples, uncompiled


def listed(
    basis: np.ndarray, origin: np.ndarray, low: np.ndarray, high: np.ndarray, kept: int = 7
) -> list[tuple[int, ...]]:
    search = kernel_walk.start(basis, origin, low, high, kept)
    found: list[tuple[int, ...]] = []
    while search.state[kernel_walk.DEPTH] >= 0:
        kernel_walk.go_on(search, 3)
        count = int(search.state[kernel_walk.KEPT])
        found += map(tuple, search.kept[:count].tolist())
        search.state[kernel_walk.KEPT] = 0
    return found


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """Relations with small coefficients, one solution, and ranges that need not hold it."""
    cells, rows = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    numbers = st.integers(-2, 2)
    matrix = np.array(
        [draw(st.lists(numbers, min_size=cells, max_size=cells)) for _ in range(rows)],
        dtype=np.int64,
    ).reshape(rows, cells)
    origin = np.array(draw(st.lists(st.integers(-3, 3), min_size=cells, max_size=cells)))
    low = np.array(draw(st.lists(st.integers(-4, 1), min_size=cells, max_size=cells)))
    wide = np.array(draw(st.lists(st.integers(0, 5), min_size=cells, max_size=cells)))
    return matrix, origin, low, low + wide


@pytest.mark.parametrize("pairs", [1, 100, 10**6])
@examples(60)
@given(case=systems())
def test_a_walk_meets_every_solution_once(case: tuple[np.ndarray, ...], pairs: int) -> None:
    matrix, origin, low, high = case
    ranges = (range(a, b + 1) for a, b in zip(low.tolist(), high.tolist(), strict=True))
    right = matrix @ origin
    truth = [x for x in product(*ranges) if (matrix @ np.array(x) == right).all()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projections, "_MOST_PAIRS", pairs)
        found = listed(kernel(matrix), origin, low, high)
    assert sorted(found) == truth


@examples(15)
@given(case=systems())
def test_a_compiled_walk_is_the_plain_one(case: tuple[np.ndarray, ...]) -> None:
    matrix, origin, low, high = case
    basis = kernel(matrix)
    with uncompiled(kernel_walk.KERNELS):
        plain = listed(basis, origin, low, high)
    with at_once():
        assert listed(basis, origin, low, high) == plain


@examples(60)
@given(case=systems())
def test_each_vector_of_an_echelon_basis_moves_a_cell_of_its_own(
    case: tuple[np.ndarray, ...],
) -> None:
    basis = kernel(case[0])
    order = np.argsort(case[1], kind="stable").tolist()
    vectors = projections.echelon(basis, order)
    assert len(vectors) == basis.shape[1]
    for t, vector in enumerate(vectors):
        own = next(i for i in order if vector[i])
        assert vector[own] > 0
        assert not any(later[own] for later in vectors[t + 1 :])
    # The same lattice: each basis is a whole-number combination of the other.
    if vectors:
        square = np.linalg.lstsq(basis.astype(float), np.array(vectors, dtype=float).T, rcond=None)[
            0
        ]
        assert np.allclose(square, np.round(square))
        assert abs(round(np.linalg.det(square))) == 1


def test_ranges_without_dead_ends_where_relations_are_those_of_a_network() -> None:
    rows = [[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1, 1]]
    columns = [[1, 0, 0] * 3, [0, 1, 0] * 3, [0, 0, 1] * 3]
    origin = np.array([4, 0, 3, 2, 5, 1, 0, 3, 6])
    search = kernel_walk.start(
        kernel(np.array(rows + columns)), origin, np.zeros(9, np.int64), np.full(9, 20), 10**6
    )
    prefixes: set[tuple[int, ...]] = set()
    while search.state[kernel_walk.DEPTH] >= 0:
        kernel_walk.go_on(search, 10**6)
    d = len(search.basis)
    tables = search.kept[: int(search.state[kernel_walk.KEPT])]
    own = [int(np.flatnonzero(v)[0]) for v in search.basis]
    settled = [
        next(i for i in np.flatnonzero(v) if not search.basis[t + 1 :, i].any())
        for t, v in enumerate(search.basis)
    ]
    assert len(own) == d
    for t in range(1, d):
        prefixes |= {(t, *x) for x in tables[:, settled[:t]].tolist()}
    # Each node but the first is the beginning of some table.
    assert int(search.state[kernel_walk.NODES]) == len(prefixes)


def test_a_basis_that_misses_half_of_the_kernel_is_refused() -> None:
    with pytest.raises(CertificateError, match="whole kernel"):
        check_whole(np.array([[1, 1], [1, -1]]))
    check_whole(np.array([[1, 0], [1, 1]]))
    with pytest.raises(CertificateError, match="whole kernel"):
        kernel_walk.start(
            np.array([[2], [-2]]), np.zeros(2, int), np.zeros(2, int), np.ones(2, int), 1
        )


def test_numbers_beyond_64_bits_are_refused() -> None:
    basis, origin = np.array([[1], [-(2**40)]]), np.zeros(2, dtype=np.int64)
    with pytest.raises(InputError, match="too large to list"):
        kernel_walk.start(basis, origin, origin, np.full(2, 2**30), 1)


def test_the_clock_is_kept_before_the_first_table() -> None:
    basis, zeros = np.eye(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(OutOfTime):
        kernel_walk.start(basis, zeros, zeros, zeros + 1, 1, Clock.of(1e-9))
    with pytest.raises(OutOfTime):
        projections.project(basis.tolist(), zeros, zeros, zeros + 1, Clock.of(1e-9))
