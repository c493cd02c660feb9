"""Rows that are added one by one, and taken a few at a time, against arrays of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from csp.solve.exact.branching import row_pool
from csp.solve.exact.branching.row_pool import RowPool


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_a_sparse_array(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_pool, "_ROOM", 4)
    rng = np.random.default_rng(seed)
    pool, plain = RowPool(7), csr_array((0, 7))
    for _ in range(12):
        dense = rng.integers(-2, 3, (int(rng.integers(0, 4)), 7)) * (rng.random(7) < 0.5)
        rows = csr_array(dense.astype(float))
        pool.append(rows)
        plain = csr_array(vstack([plain, rows]))
        x, some = rng.random(7), rng.permutation(plain.shape[0])[: int(rng.integers(0, 9))]
        np.testing.assert_allclose(pool.at(x), plain @ x)
        assert (pool.dense(some) == plain.toarray()[some]).all()
        assert (pool.sparse(some).toarray() == plain.toarray()[some]).all()
    assert repr(pool) == f"RowPool({plain.shape[0]} rows)"
