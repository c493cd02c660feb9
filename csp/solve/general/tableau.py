"""The null space of the relations as a tableau whose columns are cells.

Every deviation is ``z = T y``, where y holds the deviations of some independent cells, the basis.
Publishing the basis cell of column j means ``y_j = 0``; publishing another cell first exchanges it
into the basis. So the patterns that matter are choices of open columns, and a pattern that opens k
more columns than another has k more dimensions to move in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from csp.attacker.null_space import null_space
from csp.compiled import Kernels
from csp.exact import Floats, Ints
from csp.solve.kernel import expensive_first
from csp.solve.witnesses.field import Field

ZERO = 1e-7
"""Entries below this are noise: true ones are small fractions."""

_WILD = 1e5
_NOISE = 1e-8

_SMALL = 2_000
"""Entries up to which plain Python takes about a thousandth of a second."""

KERNELS = Kernels(__name__, "pivot_rows")


class Tableau:
    """Null space of the movable cells of a space, with an exchangeable basis.

    Parameters
    ----------
    basis : (n, d) float64
        Columns that span the null space; row ``cells[j]`` is the j-th unit vector.
    cells : (d,) int64

    Attributes
    ----------
    matrix : (n, d) float64
        The tableau at the present basis.
    cells : (d,) int64
        Cell of each column.
    """

    def __init__(self, basis: Floats, cells: Ints) -> None:
        self._origin = basis
        self.matrix = basis.copy()
        self.cells = cells.copy()
        self._first = cells.copy()
        self._probe = np.random.default_rng(0).choice([-1.0, 1.0], len(cells))
        self._exchanged = False

    def __repr__(self) -> str:
        n, d = self.matrix.shape
        return f"Tableau({n} cells, {d} dimensions)"

    def exchange(self, cell: int, column: int) -> None:
        """Make a cell the basis cell of a column."""
        pivot(self.matrix, cell, column)
        self.cells[column] = cell
        self._exchanged = True

    def become(self, cells: Ints) -> bool:
        """Take these cells as the basis; see `refresh`."""
        self.cells = cells.copy()
        return self.refresh()

    def is_noisy(self) -> bool:
        """Whether exchanges have left the space: noise would soon pass for entries."""
        if not self._exchanged:
            return False
        inside = self.matrix @ self._probe
        off = inside - self._origin @ inside[self._first]
        self._exchanged = bool(np.abs(off).max(initial=0.0) > _NOISE)
        return self._exchanged

    def refresh(self) -> bool:
        """Compute the tableau anew from its first form.

        Returns
        -------
        bool
            False if the basis turns out dependent: the tableau is in its first form again.
        """
        self._exchanged = False
        square = self._origin[self.cells]
        try:
            matrix = np.ascontiguousarray(np.linalg.solve(square.T, self._origin.T).T)
        except np.linalg.LinAlgError:
            matrix = np.full_like(self._origin, np.inf)
        unit = np.eye(len(self.cells))
        if (
            np.abs(matrix).max(initial=0.0) > _WILD
            or np.abs(matrix[self.cells] - unit).max(initial=0.0) > ZERO
        ):
            self.matrix, self.cells = self._origin.copy(), self._first.copy()
            return False
        matrix[np.abs(matrix) < ZERO] = 0.0
        self.matrix = matrix
        return True


def pivot(matrix: Floats, row: int, column: int) -> None:
    """Exchange the cell of a row into the basis at a column, in place."""
    KERNELS.run("pivot_rows", matrix, row, column, small=matrix.size <= _SMALL)


def pivot_rows(matrix: Any, row: int, column: int) -> None:
    """Loop of `pivot`; numba compiles it, and uncompiled it is the oracle.

    Rows and columns of a tableau are sparse at first: the loops go over entries that change.
    """
    size = matrix[row, column]
    head = matrix[row] / size
    moving = np.flatnonzero(head)
    for r in range(len(matrix)):
        share = matrix[r, column]
        if share != 0 and r != row:
            for place in moving:
                value = matrix[r, place] - share * head[place]
                matrix[r, place] = value if abs(value) >= ZERO else 0.0
            matrix[r, column] = share / size
    matrix[row] = 0.0
    matrix[row, column] = 1.0


def null_basis(field: Field) -> tuple[Floats, Ints]:
    """Columns that span all deviations of the open cells of a problem.

    Returns
    -------
    basis : (n, d) float64
        Zero rows at cells that cannot move. No columns where exact elimination is too large.
    cells : (d,) int64
        Cells whose rows are the unit vectors.
    """
    problem = field.problem
    columns = np.flatnonzero(field.open)
    first = expensive_first(problem, columns)
    found = null_space(csr_array(field.relations[:, columns]), first)
    if found is None:
        return np.zeros((len(field.up), 0)), np.zeros(0, np.int64)
    vectors, axes = found
    basis = np.zeros((len(field.up), len(axes)))
    basis[columns] = vectors.toarray()
    return basis / basis[columns[axes], np.arange(len(axes))], columns[axes]
