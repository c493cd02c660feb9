"""Ends of intervals that the simplest moves reach: an inner cell and all totals that it is part of.

What is published may be the true table itself. Where it adds up, and such a move takes a cell to
the bound that is stated for it while all others stay within theirs, that bound is the end of the
interval, and no program has to look for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csp.exact import Bools, Ints
from csp.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from csp.release.release import Release


def inner_sums(table: Table) -> csr_array | None:
    """Return what each cell sums: rows of cells, columns of inner cells in their order.

    A total that two relations give is read off one of them; whether the other agrees is for the
    caller to check.

    Parameters
    ----------
    table : Table

    Returns
    -------
    (n, k) csr_array of int64, or None
        None if a total is not a sum of inner cells.
    """
    from scipy.sparse import csr_array

    relations = table.relations
    if (np.abs(relations.data) != 1).any():
        return None
    known, absolute = ~table.margins, abs(relations)
    inner = np.flatnonzero(known)
    size, numbers = (table.n_cells, len(inner)), np.arange(table.n_cells)
    ones = np.ones(len(inner), np.int64)
    sums = csr_array((ones, (inner, np.arange(len(inner)))), shape=size)
    while not known.all():
        rows = np.flatnonzero(absolute @ (~known).astype(np.int64) == 1)
        if not len(rows):
            return None
        cells, first = np.unique(absolute[rows] @ np.where(known, 0, numbers), return_index=True)
        some = relations[rows[first]]
        signs = some @ (~known).astype(np.int64)
        turned = some.data * np.repeat(-signs, np.diff(some.indptr))
        parts = (csr_array((turned, some.indices, some.indptr), shape=some.shape) @ sums).tocoo()
        further = csr_array((parts.data, (cells[parts.row], parts.col)), shape=size)
        sums = csr_array(sums + further, dtype=np.int64)
        known[cells] = True
    return sums


def reached(table: Table, values: Ints, release: Release) -> tuple[Bools, Bools]:
    """Return which cells are known to reach the lower, and the upper bound of a release, (n,) each.

    Parameters
    ----------
    table : Table
    values : (n,) int64
        Published numbers, in units.
    release : Release
        Between what ends the true values are said to lie.
    """
    from scipy.sparse import csc_array

    none = np.zeros(table.n_cells, dtype=bool)
    up = np.where(release.pattern, release.upper - values, 0)
    down = np.where(release.pattern, values - release.lower, 0)
    if (up < 0).any() or (down < 0).any() or (table.relations @ values).any():
        return none, none
    if (values != table.values)[~release.pattern].any() or (sums := inner_sums(table)) is None:
        return none, none
    # A move is that of one inner cell by a unit, and of each of its totals by as much.
    left = csc_array(table.relations @ sums)
    left.eliminate_zeros()
    moves = csc_array(sums)
    moves.sum_duplicates()
    moves.eliminate_zeros()
    odd = np.add.reduceat((moves.data != 1).astype(np.int64), moves.indptr[:-1])
    plain = (np.diff(left.indptr) == 0) & (odd == 0)
    found = []
    for room in (down, up):
        furthest = np.minimum.reduceat(room[moves.indices], moves.indptr[:-1])
        furthest = np.where(plain, furthest, 0)
        most = np.zeros(table.n_cells, dtype=np.int64)
        np.maximum.at(most, moves.indices, np.repeat(furthest, np.diff(moves.indptr)))
        found.append(release.pattern & (most >= room))
    return found[0], found[1]
