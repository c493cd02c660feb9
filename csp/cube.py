"""The cross product of hierarchies: labels and relations of an n-dimensional table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from csp.codes import Labels
from csp.errors import InputError
from csp.hierarchy import Hierarchy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["MAX_CELLS", "check_size", "cube_labels", "cube_relations", "sum_up"]

MAX_CELLS = 20_000_000
"""Most cells of one table; labels of more do not fit into the memory of a usual machine."""


def check_size(cells: int) -> None:
    """Refuse a table of too many cells before it takes any memory.

    Raises
    ------
    InputError
    """
    if cells > MAX_CELLS:
        msg = f"the table would have {cells} cells, more than {MAX_CELLS}; use fewer dimensions"
        raise InputError(msg)


def cube_labels(hierarchies: Sequence[Hierarchy]) -> Labels:
    """Labels of all cells, in C order of the code positions."""
    return Labels.product([h.codes for h in hierarchies])


def cube_relations(hierarchies: Sequence[Hierarchy]) -> csr_array:
    """All margins of a cube: children sum to their parent along every dimension.

    Parameters
    ----------
    hierarchies : sequence of Hierarchy
        One for each dimension.

    Returns
    -------
    (m, n) csr_array of int64
        One row for each inner code of a dimension and combination of codes of the others:
        +1 at the children, -1 at the parent.
    """
    from scipy.sparse import csr_array

    shape = tuple(len(h.codes) for h in hierarchies)
    n = int(np.prod(shape, dtype=np.int64))
    cell = np.arange(n).reshape(shape)
    columns, signs, lengths = [], [], []
    for axis, hierarchy in enumerate(hierarchies):
        for position in range(len(hierarchy.codes)):
            children = hierarchy.children(position)
            if not children:
                continue
            members = np.moveaxis(cell.take([*children, position], axis=axis), axis, -1)
            members = members.reshape(-1, len(children) + 1)
            columns.append(members.ravel())
            signs.append(np.tile(np.array([1] * len(children) + [-1], np.int64), len(members)))
            lengths.append(np.full(len(members), len(children) + 1))
    if not columns:
        return csr_array((0, n), dtype=np.int64)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    relations = csr_array(
        (np.concatenate(signs), np.concatenate(columns), indptr), shape=(len(indptr) - 1, n)
    )
    relations.sort_indices()
    return relations


def sum_up(leaves: np.ndarray, hierarchies: Sequence[Hierarchy]) -> np.ndarray:
    """Fill every inner cell of a cube from its leaf cells.

    Parameters
    ----------
    leaves : array
        Array of the cube's full shape; only cells whose codes are all leaves are read.
    hierarchies : sequence of Hierarchy
        One for each dimension.

    Returns
    -------
    array
        Same shape and dtype, every inner cell the sum of its children. Postorder makes one sweep
        for each dimension enough.
    """
    cube = leaves.copy()
    for axis, hierarchy in enumerate(hierarchies):
        view = np.moveaxis(cube, axis, 0)
        for position in range(len(hierarchy.codes)):
            children = hierarchy.children(position)
            if children:
                view[position] = view[list(children)].sum(axis=0)
    return cube
