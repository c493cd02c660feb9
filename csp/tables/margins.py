"""The cross product of hierarchies: labels and relations of an n-dimensional table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import UNBOUNDED, Ints
from csp.names.calls import check_choice
from csp.tables.codes import Labels
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.memory import check_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_CELLS = 20_000_000
"""Most cells of one table, whatever the memory."""

_FEWER = "use fewer codes or dimensions, or codes of a coarser level of a hierarchy"


def check_size(cells: int, dimensions: int = 1, top: int = 0, *, mend: str = "") -> None:
    """Refuse a table of too many cells before it takes any memory.

    Parameters
    ----------
    cells : int
    dimensions : int
    top : int
        How many of the largest contributions each cell keeps; 0 without contributors.
    mend : str
        What else can be done than to use fewer codes.

    Raises
    ------
    InputError
        If the cells are more than `MAX_CELLS`, or need more memory than there is.
    """
    what = f"the table would have {cells} cells"
    if cells > MAX_CELLS:
        msg = f"{what}, more than {MAX_CELLS}; {_FEWER}{mend}"
        raise InputError(msg)
    # Bounds and values; labels and relations, of which there are two copies while they are made;
    # contributors, likewise.
    each = 64 + 64 * dimensions + (32 + 40 * top if top else 0)
    check_memory(cells * each, what, f"{_FEWER}{mend}")


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
    shape = tuple(len(h.codes) for h in hierarchies)
    n = int(np.prod(shape, dtype=np.int64))
    cell = np.arange(n).reshape(shape)
    parts = []
    for axis, position, children in totals_of(hierarchies):
        members = np.moveaxis(cell.take([*children, position], axis=axis), axis, -1)
        members = members.reshape(-1, len(children) + 1)
        signs = np.tile(np.array([1] * len(children) + [-1], np.int64), len(members))
        parts.append((members.ravel(), signs, np.full(len(members), len(children) + 1)))
    relations = _stacked(parts, n)
    relations.sort_indices()
    return relations


def totals_of(hierarchies: Sequence[Hierarchy]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield dimension, position and positions of the children of each code that adds up others.

    Children come before their parents.
    """
    for axis, hierarchy in enumerate(hierarchies):
        for position in range(len(hierarchy.codes)):
            children = hierarchy.children(position)
            if children:
                yield axis, position, list(children)


def _stacked(parts: Sequence[tuple[Ints, Ints, Ints]], n: int) -> csr_array:
    """Relations of all parts: their cells, signs and lengths, one after the other."""
    from scipy.sparse import csr_array

    if not parts:
        return csr_array((0, n), dtype=np.int64)
    cells, signs, lengths = map(np.concatenate, zip(*parts, strict=True))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((signs, cells, indptr), shape=(len(lengths), n))


def sparse_labels(places: Ints, hierarchies: Sequence[Hierarchy]) -> Labels:
    """Labels of some cells of a cube, which are numbered in C order."""
    shape = tuple(len(h.codes) for h in hierarchies)
    codes = np.empty((len(places), len(shape)), np.int32, order="F")
    for k, column in enumerate(np.unravel_index(places, shape)):
        codes[:, k] = column
    return Labels(codes, [h.codes for h in hierarchies])


def sparse_relations(places: Ints, hierarchies: Sequence[Hierarchy]) -> csr_array:
    """All margins of a cube among some of its cells; the other cells are 0.

    Parameters
    ----------
    places : (n,) int64
        Number of each cell in C order of the whole cube, ascending. With a cell there are all cells
        that it adds up into.
    hierarchies : sequence of Hierarchy
        One for each dimension.

    Returns
    -------
    (m, n) csr_array of int64
        The rows of `cube_relations` that have a cell, in their order, without the missing cells.
    """
    shape = [len(h.codes) for h in hierarchies]
    n, total = len(places), prod(shape)
    parts = []
    for axis, hierarchy in enumerate(hierarchies):
        stride = prod(shape[axis + 1 :])
        parent = np.array(hierarchy.parent, np.int64)
        code = places // stride % shape[axis]
        below = np.flatnonzero(parent[code] >= 0)
        above = places[below] + (parent[code[below]] - code[below]) * stride
        above = np.searchsorted(places, above)
        is_total = np.zeros(n, dtype=bool)
        is_total[above] = True
        totals = np.flatnonzero(is_total)
        # A relation is numbered by its total: first by the code in this dimension, then the others.
        whole = places[totals]
        turned = whole // stride % shape[axis] * (total // shape[axis])
        turned += whole // (stride * shape[axis]) * stride + whole % stride
        rank = np.empty(n, np.int64)
        rank[totals[np.argsort(turned)]] = np.arange(len(totals))
        # Cells of one relation ascend, and its total, which comes after its parts, is the last.
        keys = np.concatenate([rank[above] * n + below, rank[totals] * n + totals])
        keys.sort()
        row, cell = np.divmod(keys, n)
        length = np.bincount(row, minlength=len(totals))
        sign = np.ones(len(cell), np.int64)
        sign[np.cumsum(length) - 1] = -1
        parts.append((cell, sign, length))
    return _stacked(parts, n)


def codes_along(relations: csr_array, codes: NDArray[np.integer[Any]]) -> tuple[Ints, list[Ints]]:
    """Read which codes add up to which from the relations that run along one dimension.

    Such a relation has one total, and among its cells the code of one dimension only differs.

    Parameters
    ----------
    relations : (m, n) csr_array of int64
    codes : (n, d) int
        Code of each cell in each dimension, as a number.

    Returns
    -------
    axis : (m,) int64
        Dimension along which each relation runs; -1 if it runs along none.
    pairs : list of (k, 2) int64
        For each dimension, a code and one of its parts; each pair once, in ascending order.
    """
    m, d = relations.shape[0], codes.shape[1]
    row = np.repeat(np.arange(m), np.diff(relations.indptr))
    is_total = relations.data < 0
    total = np.zeros(m, np.int64)
    total[row[is_total]] = relations.indices[is_total]
    varies = np.zeros((m, d), dtype=bool)
    for k in range(d):
        code = codes[:, k]
        varies[row[code[relations.indices] != code[total[row]]], k] = True
    single = (np.bincount(row[is_total], minlength=m) == 1) & (varies.sum(axis=1) == 1)
    axis = np.where(single, varies @ np.arange(d), -1)
    pairs = []
    for k in range(d):
        inside = ~is_total & (axis[row] == k)
        code = codes[:, k].astype(np.int64)
        size = int(code.max(initial=0)) + 1
        found = np.unique(code[total[row[inside]]] * size + code[relations.indices[inside]])
        pairs.append(np.column_stack(np.divmod(found, size)))
    return axis, pairs


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
    for axis, position, children in totals_of(hierarchies):
        view = np.moveaxis(cube, axis, 0)
        view[position] = view[children].sum(axis=0)
    return cube


def least_values(values: Ints, negative: str, shown: Callable[[int], str]) -> Ints:
    """Lower bounds that the public knows of cells: 0, or none where they may be negative.

    Parameters
    ----------
    values : (n,) int64
    negative : {"error", "allow"}
    shown : callable
        Name of a cell, for the message.

    Raises
    ------
    InputError
        If a cell is negative and that is not allowed.
    """
    check_choice("negative", negative, ("error", "allow"))
    if negative == "allow":
        return np.full(len(values), -UNBOUNDED, np.int64)
    if (values < 0).any():
        msg = (
            f"cell {shown(int(np.argmax(values < 0)))} is negative, and whether cells may be so "
            f"must be public; say it with {argument('negative', 'allow')}, or correct the cell"
        )
        raise InputError(msg)
    return np.zeros(len(values), np.int64)
