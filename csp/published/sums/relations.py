"""Cells of a published table and the sums that bind them, with or without those left out."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.published.sums.dimensions import Dimension
from csp.tables.codes import Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def all_cells(dimensions: Sequence[Dimension]) -> Labels:
    """Labels of all combinations of codes, in C order."""
    return Labels.product([dimension.codes for dimension in dimensions])


def rows_of_rests(codes: NDArray[np.integer[Any]], dimensions: Sequence[Dimension]) -> int:
    """Count the relations whole = part + rest, which are the last of `sums`."""
    return sum(
        int((codes[:, d] == one.whole).sum())
        for d, dimension in enumerate(dimensions) for one in dimension.rests
    )  # fmt: skip


def sums(codes: NDArray[np.integer[Any]], dimensions: Sequence[Dimension]) -> csr_array:
    """Relations of the cells of a table: what lies below a code adds up to it.

    Those of parts that are named without the others come last; see `rows_of_rests`.

    Parameters
    ----------
    codes : (n, d) int
        Code of each cell in each dimension, by its position there; no two cells alike.
    dimensions : sequence of Dimension

    Returns
    -------
    (m, n) csr_array of int64
        +1 for the parts, -1 for the total. A sum whose total is not among the cells is left out;
        parts that are not among them count as 0.
    """
    from scipy.sparse import csr_array

    n = len(codes)
    sizes = [len(dimension.codes) for dimension in dimensions]
    weights = np.array([prod(sizes[d + 1 :]) for d in range(len(sizes))], np.int64)
    key = codes.astype(np.int64) @ weights
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    rows, cells, data, count = [], [], [], 0
    for d, dimension in enumerate(dimensions):
        parent = dimension.parent[codes[:, d]]
        parts = np.flatnonzero(parent >= 0)
        above = key[parts] + (parent[parts] - codes[parts, d]) * weights[d]
        place = np.minimum(np.searchsorted(ascending, above), max(n - 1, 0))
        there = ascending[place] == above if n else np.zeros(0, bool)
        parts, total = parts[there], order[place[there]]
        totals, row = np.unique(total, return_inverse=True)
        rows += [row.ravel() + count, np.arange(len(totals)) + count]
        cells += [parts, totals]
        data += [np.ones(len(parts), np.int64), np.full(len(totals), -1, np.int64)]
        count += len(totals)
    for d, dimension in enumerate(dimensions):
        for one in dimension.rests:
            wholes = np.flatnonzero(codes[:, d] == one.whole)
            for code in (one.whole, *one.parts, one.rest):
                other = key[wholes] + (code - one.whole) * weights[d]
                rows.append(np.arange(len(wholes)) + count)
                cells.append(order[np.searchsorted(ascending, other)])
                data.append(np.full(len(wholes), -1 if code == one.whole else 1, np.int64))
            count += len(wholes)
    entries: Any = (np.concatenate(data), (np.concatenate(rows), np.concatenate(cells)))
    found: csr_array[Any, tuple[int, int]] = csr_array(entries, shape=(count, n))
    found.sort_indices()
    return found
