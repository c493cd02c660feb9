"""Rows of sparse matrices against the dense matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from csp.sparse import entries, rows_of

DENSE = np.array([[0, 2, -1], [0, 0, 0], [3, 0, 0]])


def test_rows_are_those_of_the_dense_matrix() -> None:
    matrix = csr_array(DENSE)
    for i, (columns, values) in enumerate(rows_of(matrix)):
        row = np.zeros(3, np.int64)
        row[columns] = values
        np.testing.assert_array_equal(row, DENSE[i])
        assert entries(matrix, i) == [(j, a) for j, a in enumerate(DENSE[i].tolist()) if a]
