"""Rows of sparse matrices, such as the cells of a relation and their signs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray


def row_of(matrix: Any, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Columns and values of the entries of a row."""
    start, stop = matrix.indptr[i : i + 2]
    return matrix.indices[start:stop], matrix.data[start:stop]


def rows_of(matrix: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield columns and values of the entries of each row, in order."""
    for i in range(matrix.shape[0]):
        yield row_of(matrix, i)


def entries(matrix: Any, i: int) -> list[tuple[int, int]]:
    """Columns and values of a row of a matrix of int, as pairs."""
    columns, values = row_of(matrix, i)
    return list(zip(columns.tolist(), values.tolist(), strict=True))
