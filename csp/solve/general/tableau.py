"""The null space of the relations as a tableau whose columns are cells.

Every deviation is ``z = T y``, where y holds the deviations of some independent cells, the basis.
Publishing the basis cell of column j means ``y_j = 0``; publishing another cell first exchanges it
into the basis. So the patterns that matter are choices of open columns, and a pattern that opens k
more columns than another has k more dimensions to move in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.solve.witnesses.field import Field

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ZERO", "Tableau", "null_basis", "pivot"]

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

    def __init__(self, basis: NDArray[np.float64], cells: NDArray[np.int64]) -> None:
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

    def become(self, cells: NDArray[np.int64]) -> bool:
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


def pivot(matrix: NDArray[np.float64], row: int, column: int) -> None:
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


def null_basis(field: Field) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Columns that span all deviations of the open cells of a problem.

    Totals are expressed by their parts first, which leaves few relations for dense elimination.

    Returns
    -------
    basis : (n, d) float64
        Zero rows at cells that cannot move.
    cells : (d,) int64
        Cells whose rows are the unit vectors.
    """
    from scipy.sparse import csr_array

    columns = np.flatnonzero(field.open)
    part = csr_array(field.relations[:, columns])
    part = csr_array(part[np.flatnonzero(np.diff(part.indptr))])
    total = _totals(part)
    expansion, leaves = _expand(part, total)
    rest = np.ones(part.shape[0], bool)
    rest[total[total >= 0]] = False
    left = csr_array(part[np.flatnonzero(rest)] @ expansion)
    left.eliminate_zeros()
    reduced, pivots = _reduce(left)
    free = np.setdiff1d(np.arange(len(leaves)), pivots)
    inner = np.zeros((len(leaves), len(free)))
    inner[free, np.arange(len(free))] = 1.0
    inner[pivots] = -reduced[:, free]
    basis = np.zeros((len(field.up), len(free)))
    basis[columns] = expansion @ inner
    basis[np.abs(basis) < ZERO] = 0.0
    return basis, columns[leaves[free]]


def _totals(matrix: Any) -> NDArray[np.int64]:
    """For each cell a relation that gives it as a sum of others, or -1; without circles."""
    n = matrix.shape[1]
    total = np.full(n, -1)
    for row in np.argsort(np.diff(matrix.indptr), kind="stable").tolist():
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        for side in (matrix.data[span] < 0, matrix.data[span] > 0):
            if side.sum() == 1:
                cell = int(matrix.indices[span][side][0])
                if total[cell] < 0:
                    total[cell] = row
                    break
    return _without_circles(matrix, total)


def _without_circles(matrix: Any, total: NDArray[np.int64]) -> NDArray[np.int64]:
    """Forget relations that would define a cell by itself."""
    state = np.zeros(len(total), np.int8)
    for root in range(len(total)):
        stack = [] if state[root] else [(root, 0)]
        while stack:
            cell, k = stack.pop()
            state[cell] = 1
            row = int(total[cell])
            members = (
                matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]] if row >= 0 else ()
            )
            for place in range(k, len(members)):
                other = int(members[place])
                if other == cell or state[other] == 2:
                    continue
                if state[other] == 1:
                    total[cell] = -1
                    break
                stack += [(cell, place + 1), (other, 0)]
                break
            else:
                state[cell] = 2
            if total[cell] < 0:
                state[cell] = 2
    return total


def _expand(matrix: Any, total: NDArray[np.int64]) -> tuple[csr_array, NDArray[np.int64]]:
    """Express every cell by the leaves, the cells without a total relation."""
    from scipy.sparse import csr_array, eye_array

    n = len(total)
    leaves = np.flatnonzero(total < 0)
    defined = np.flatnonzero(total >= 0)
    if not len(defined):
        return csr_array(eye_array(n)), leaves
    rows = csr_array(matrix[total[defined]].astype(np.float64))
    owner = np.repeat(np.arange(len(defined)), np.diff(rows.indptr))
    other = rows.indices != defined[owner]
    rows.data /= -rows.data[~other][owner]
    # z = step z for totals, identity for leaves; repeated until only leaves are left.
    step = csr_array(
        (
            np.concatenate([rows.data[other], np.ones(len(leaves))]),
            (
                np.concatenate([defined[owner[other]], leaves]),
                np.concatenate([rows.indices[other], leaves]),
            ),
        ),
        shape=(n, n),
    )
    power = csr_array(eye_array(n))
    while True:
        further = csr_array(step @ power)
        further.eliminate_zeros()
        if abs(further - power).max() == 0:
            return csr_array(power[:, leaves]), leaves
        power = further


def _reduce(matrix: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Reduced row echelon form: independent rows and their pivot columns."""
    m, n = matrix.shape
    seen = {}
    for i in range(m):
        span = slice(matrix.indptr[i], matrix.indptr[i + 1])
        seen[matrix.indices[span].tobytes(), matrix.data[span].tobytes()] = i
    out = np.zeros((min(len(seen), n), n))
    pivots = np.zeros(0, np.int64)
    for i in seen.values():
        row = matrix[[i]].toarray().ravel()
        hits = np.flatnonzero(row[pivots])
        row -= row[pivots[hits]] @ out[hits]
        row[np.abs(row) < ZERO] = 0.0
        best = int(np.argmax(np.abs(row))) if n else 0
        if not n or row[best] == 0:
            continue
        row /= row[best]
        k = len(pivots)
        others, moving = np.flatnonzero(out[:k, best]), np.flatnonzero(row)
        block = np.ix_(others, moving)
        changed = out[block] - np.outer(out[others, best], row[moving])
        changed[np.abs(changed) < ZERO] = 0.0
        out[block] = changed
        out[k] = row
        pivots = np.append(pivots, best)
    return out[: len(pivots)], pivots
