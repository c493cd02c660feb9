"""Rows of all cuts that a tree has met: they are added one by one, and taken a few at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from csp.exact import Floats, Ints

_ROOM = 1024


class RowPool:
    """A sparse matrix of so many columns, in arrays that have room for further rows.

    Taking rows out of an array of scipy, and stacking another one below it, took an eighth of the
    time of a node.
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._ends = np.zeros(1, np.int32)
        self._where, self._weights = np.empty(_ROOM, np.int32), np.empty(_ROOM)
        self._matrix: Any = csr_array((0, columns))

    def __repr__(self) -> str:
        return f"RowPool({len(self._ends) - 1} rows)"

    def append(self, rows: Any) -> None:
        """Add the rows of a csr_array."""
        end = int(self._ends[-1])
        size = end + rows.nnz
        if size > len(self._where):
            self._where = np.append(self._where[:end], np.empty(size, np.int32))
            self._weights = np.append(self._weights[:end], np.empty(size))
        self._where[end:size], self._weights[end:size] = rows.indices, rows.data
        self._ends = np.append(self._ends, end + rows.indptr[1:]).astype(np.int32)
        self._matrix = csr_array(
            (self._weights[:size], self._where[:size], self._ends),
            shape=(len(self._ends) - 1, self._columns),
        )

    def at(self, x: Floats) -> Floats:
        """Left sides of all rows at a point."""
        return np.asarray(self._matrix @ x)

    def _taken(self, rows: Ints) -> tuple[Ints, Ints]:
        """How many entries some rows have, and where these are."""
        size = np.diff(self._ends)[rows]
        before = np.repeat(self._ends[rows] - np.cumsum(size) + size, size)
        return size, before + np.arange(len(before))

    def dense(self, rows: Ints) -> Floats:
        """Return some of the rows as a dense matrix."""
        size, entries = self._taken(rows)
        out = np.zeros((len(rows), self._columns))
        out[np.repeat(np.arange(len(rows)), size), self._where[entries]] = self._weights[entries]
        return out

    def sparse(self, rows: Ints) -> Any:
        """Return some of the rows as a csr_array."""
        size, entries = self._taken(rows)
        ends = np.append(0, np.cumsum(size))
        parts = self._weights[entries], self._where[entries], ends
        return csr_array(parts, shape=(len(rows), self._columns))
