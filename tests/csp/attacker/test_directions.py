"""Whole numbers along vertices in floats, against the vertices that they were made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from csp.attacker.elimination import whole_direction
from instances import synthetic
from tests.support.shared import examples
from tests.support.strategies import cube


def vertex(seed: int, most: int) -> tuple[csr_array, np.ndarray] | None:
    """The cheapest deviation of a cell of a three-way table, by scipy, and what it moves."""
    rng = np.random.default_rng(seed)
    table = cube(rng.integers(most // 2, most, (4, 4, 3)), [synthetic.tree((2, 2), "a"),
                 synthetic.tree((4,), "b"), synthetic.tree((3,), "c")])  # fmt: skip
    rows = table.relations.toarray()
    n = table.n_cells
    room = rng.integers(1, most, n).astype(float)
    far = float(rng.integers(1, most))
    bounds = [(0.0, r) for r in room] * 2
    bounds[0], bounds[n] = (far, far), (0.0, 0.0)
    price = rng.integers(1, 9, n).astype(float)
    found = linprog(np.tile(price, 2), A_eq=np.hstack([rows, -rows]), b_eq=np.zeros(len(rows)),
                    bounds=bounds, method="highs-ds")  # fmt: skip
    if found.status != 0:
        return None
    z = found.x[:n] - found.x[n:]
    z[np.abs(z) < 1e-7 * far] = 0
    moving = np.flatnonzero(z)
    part = csr_array(table.relations[:, moving])
    return csr_array(part[np.flatnonzero(np.diff(part.indptr))]), z[moving]


@pytest.mark.parametrize("most", [100, 10**12])
@examples(40)
@given(st.integers(0, 10**6))
def test_a_direction_is_exact_and_near_the_vertex(most: int, seed: int) -> None:
    drawn = vertex(seed, most)
    assume(drawn is not None)
    matrix, z = drawn
    steps = whole_direction(matrix, z)
    assume(steps is not None)
    assert not (matrix @ steps).any()
    assert (steps != 0).all()
    scale = np.abs(z).max() / np.abs(steps).max()
    assert np.allclose(steps * scale, z, rtol=1e-5, atol=1e-5)


def test_directions_of_huge_steps_are_found() -> None:
    found, drawn = 0, [vertex(seed, 10**11) for seed in range(20)]
    drawn = [one for one in drawn if one is not None]
    for seed, (matrix, z) in enumerate(drawn):
        noisy = z * (1 + 1e-12 * np.random.default_rng(seed).normal(size=len(z)))
        found += whole_direction(matrix, noisy) is not None
    assert found >= 0.75 * len(drawn) > 5


def test_there_is_none_where_relations_hold_a_cell() -> None:
    matrix = csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    assert whole_direction(matrix, np.array([1.0, -1.0, 1.0])) is None
    assert whole_direction(csr_array((0, 0), dtype=np.int64), np.empty(0)) is None
