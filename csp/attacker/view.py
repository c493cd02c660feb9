"""What an outsider sees of a pattern: the suppressed cells and the relations that bind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.exact import UNBOUNDED, Bools, Ints
from csp.problem.requirements import room
from csp.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NOTHING = np.empty(0, np.int64)
"""No cells, no rows."""
NOTHING.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class View:
    """Deviations ``z = y - a`` that fit a release, on one connected part of its pattern.

    ``matrix @ z = 0`` and ``-down <= z <= up`` describe every table that agrees with all that
    is published.

    Attributes
    ----------
    cells : (k,) int64
        Suppressed cells of this part, ascending.
    rows : (r,) int64
        Relations that hold at least one of them.
    matrix : (r, k) csr_array of int64
    up, down : (k,) int64
        Room above and below the true value; `csp.UNBOUNDED` for no bound.
    """

    cells: Ints
    rows: Ints
    matrix: csr_array
    up: Ints
    down: Ints

    def __repr__(self) -> str:
        return f"View({len(self.cells)} cells, {len(self.rows)} relations)"

    @classmethod
    def of(cls, table: Table, suppressed: Bools) -> View:
        """All suppressed cells as one view, whether relations connect them or not.

        Parameters
        ----------
        table : Table
        suppressed : (n,) bool
        """
        from scipy.sparse import csr_array

        cells = np.flatnonzero(suppressed)
        up, down = room(table)
        part = csr_array(table.relations[:, cells])
        rows = np.flatnonzero(np.diff(part.indptr))
        return cls(cells, rows, csr_array(part[rows]), up[cells], down[cells])

    def recession(self) -> View:
        """Directions that can be followed without end, cut off at one unit per cell."""
        return View(
            self.cells,
            self.rows,
            self.matrix,
            np.where(self.up >= UNBOUNDED, 1, 0),
            np.where(self.down >= UNBOUNDED, 1, 0),
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deviation:
    """An exact deviation.

    Attributes
    ----------
    moved : (w,) int64
        Cells that move.
    steps : (w,) array of int
        Numerators of how far.
    denominator : int
    """

    moved: Ints = field(default_factory=lambda: NOTHING)
    steps: NDArray[Any] = field(default_factory=lambda: NOTHING)
    denominator: int = 1

    @classmethod
    def of(cls, numerators: NDArray[Any], denominator: int) -> Deviation:
        """Keep the cells that move, in machine integers where these do."""
        moved = np.flatnonzero(numerators)
        steps = numerators[moved]
        if steps.dtype == object and max((abs(v) for v in steps.tolist()), default=0) < 2**62:
            steps = steps.astype(np.int64)
        return cls(moved, steps, denominator)

    def reach(self, j: int, sign: int) -> Fraction:
        """How far a cell moves in a direction, if the cells are ascending."""
        at = np.searchsorted(self.moved, j)
        if at == len(self.moved) or self.moved[at] != j:
            return Fraction(0)
        return Fraction(sign * int(self.steps[at]), self.denominator)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Extreme:
    """How far one cell can move in one direction, with a witness and a proof.

    Attributes
    ----------
    reach : Fraction or None
        Largest deviation found (>= 0, in units); None if it has no limit.
    moved, steps : (w,) arrays of int
        Witness: the cells (positions within the view) that move in a deviation that attains
        `reach`, and the numerators of how far; if `reach` is None, a ray that can be added any
        number of times. Answers may share one witness: then these are the same arrays.
    denominator : int
        Common denominator of `steps`.
    rows, multipliers : (v,) arrays of int
        Proof by weak duality that the cell moves no further: rows of the view and numerators;
        none if it is not proved.
    divisor : int
        Common denominator of the multipliers.
    exact : bool
        Whether `reach` is proved to be the end.
    """

    reach: Fraction | None
    moved: Ints
    steps: NDArray[Any]
    denominator: int
    rows: Ints = field(default_factory=lambda: NOTHING)
    multipliers: NDArray[Any] = field(default_factory=lambda: NOTHING)
    divisor: int = 1
    exact: bool = False

    def __repr__(self) -> str:
        return f"Extreme({'exact' if self.exact else 'reached'})"

    def witness(self, k: int) -> NDArray[Any]:
        """Numerators of the witness over all k cells of the view."""
        full = np.zeros(k, dtype=self.steps.dtype)
        full[self.moved] = self.steps
        return full


def positions(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """All positions of some stretches, one after the other, and to which each belongs."""
    length = stop - start
    which = np.repeat(np.arange(len(length)), length)
    return np.arange(len(which)) + np.repeat(start - np.cumsum(length) + length, length), which


def largest_room(*sides: Ints) -> int:
    """Largest of some rooms, those without a bound apart; 0 without any."""
    return max(int(side[side < UNBOUNDED].max(initial=0)) for side in sides)


def components(table: Table, pattern: Bools, *, known: Iterable[int] = ()) -> list[View]:
    """Split the suppressed cells of a pattern into parts that no relation connects.

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    known : iterable of int
        Suppressed cells whose value the attacker knows; they count as published.

    Returns
    -------
    list of View
        Ordered by their first cell.
    """
    from scipy.sparse import csr_array

    open_cells = np.array(pattern, dtype=bool)
    open_cells[list(known)] = False
    if not open_cells.any():
        return []
    whole = View.of(table, open_cells)
    order, cuts, row_order, row_cuts = _connected(whole.matrix)
    part = csr_array(whole.matrix[row_order][:, order])
    views = []
    for i in range(len(cuts) - 1):
        own, own_rows = order[cuts[i] : cuts[i + 1]], row_order[row_cuts[i] : row_cuts[i + 1]]
        lines = part.indptr[row_cuts[i] : row_cuts[i + 1] + 1]
        span = slice(lines[0], lines[-1])
        matrix = csr_array(
            (part.data[span], part.indices[span] - cuts[i], lines - lines[0]),
            shape=(len(own_rows), len(own)),
        )
        views.append(
            View(whole.cells[own], whole.rows[own_rows], matrix, whole.up[own], whole.down[own])
        )
    return views


def graph_parts(matrix: csr_array) -> list[tuple[Ints, Ints]]:
    """Split relations into parts that share no cell.

    Parameters
    ----------
    matrix : (m, k) csr_array

    Returns
    -------
    list of (cells, rows)
        Ascending columns and rows of each part, ordered by the first cell; rows without a cell
        belong to none.
    """
    from scipy.sparse import csr_array

    if not matrix.shape[1]:
        return []
    rows = np.flatnonzero(np.diff(matrix.indptr))
    order, cuts, row_order, row_cuts = _connected(csr_array(matrix[rows]))
    return [
        (order[cuts[i] : cuts[i + 1]], rows[row_order[row_cuts[i] : row_cuts[i + 1]]])
        for i in range(len(cuts) - 1)
    ]


def _connected(part: csr_array) -> tuple[Ints, Ints, Ints, Ints]:
    """Cells sorted by part and where each part begins; the same for rows (none of them empty)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    # Rows and cells are the two sides of one graph; cells without a row are parts of their own.
    m, k = part.shape
    ends = (np.repeat(np.arange(m), np.diff(part.indptr)), m + part.indices)
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(m + k, m + k))
    _, both = connected_components(graph, directed=False)
    row_names, names = np.split(both.astype(np.int64), [m])
    # Sorting once by component and cutting at the borders keeps thousands of parts cheap.
    _, first, member = np.unique(names, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    member = rank[member]
    order = np.argsort(member, kind="stable")
    # Every row that is left holds a cell of its part.
    part_of = np.zeros(int(names.max()) + 1, np.int64)
    part_of[names] = member
    row_member = part_of[row_names]
    row_order = np.argsort(row_member, kind="stable")
    cuts = np.searchsorted(member[order], np.arange(len(first) + 1))
    row_cuts = np.searchsorted(row_member[row_order], np.arange(len(first) + 1))
    return order, cuts, row_order, row_cuts
