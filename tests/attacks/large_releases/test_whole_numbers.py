"""Cells that only whole numbers disclose, against all tables of whole numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from attacks.large_releases.engine import determined_cells
from attacks.large_releases.whole_numbers import only_whole
from attacks.release_alone.disclosed_cells import disclosed
from csp import Release
from tests.support.shared import examples


def tangle(seed: int) -> tuple[Release, np.ndarray]:
    """Sums and differences of up to seven cells by chance, and all tables that keep them."""
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(3, 8)), int(rng.integers(2, 6))
    matrix = np.zeros((m, k + m), int)
    for row in matrix:
        members = rng.choice(k, int(rng.integers(2, min(4, k) + 1)), replace=False)
        row[members] = rng.choice([1, 1, 1, -1], len(members))
    most = rng.integers(1, 4, k)
    totals = matrix[:, :k] @ rng.integers(0, most + 1)
    matrix[:, k:] = -np.eye(m, dtype=int)
    zeros = np.zeros(k, int)
    release = Release(
        np.concatenate([zeros, totals]), np.arange(k + m) < k, csr_array(matrix),
        np.concatenate([zeros, totals]), np.concatenate([most, totals]),
        [(f"c{i}",) for i in range(k + m)], 0, ("cell",), ("",),
    )  # fmt: skip
    grid = np.array([*product(*(range(v + 1) for v in most.tolist()))])
    return release, grid[(grid @ matrix[:, :k].T == totals).all(axis=1)]


@examples(150)
@given(st.integers(0, 10**6))
def test_the_same_as_all_tables(seed) -> None:
    release, tables = tangle(seed)
    found = determined_cells(release)
    fixed = (tables == tables[0]).all(axis=0)
    assert found.whole.tolist() == fixed.tolist()
    assert (found.lower <= tables.min(axis=0)).all()
    assert (tables.max(axis=0) <= found.upper).all()
    assert (found.exact <= disclosed(release, integer=False).exact).all()


def test_there_are_cells_that_only_whole_numbers_disclose() -> None:
    """Else the test above would show little: of 120 draws several have some."""
    more = 0
    for seed in range(120):
        found = determined_cells(tangle(seed)[0])
        more += int((found.whole & ~found.exact).sum())
    assert more > 10


@examples(100)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]))
def test_small_windows_invent_nothing(seed, size) -> None:
    """Windows leave relations out: what is fixed in them is fixed, with that value."""
    release, tables = tangle(seed)
    keep, part = determined_cells(release, integer=False).open_part()
    found = only_whole(part, np.ones(len(keep), bool), size=size)
    assert found.looked_at.all()
    cells = keep[found.cells]
    assert (tables[:, cells] == found.values).all()
