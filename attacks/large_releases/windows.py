"""Windows: parts of a large release that are small enough for programs for each cell.

A window is some relations around a cell, with all of their withheld cells and what is known of each
of these. It leaves relations out, so that what it rules out is ruled out; what it leaves open,
relations further off may still close.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csp.attacker.ilp import FURTHEST
from csp.attacker.view import View
from csp.clock import Clock
from csp.errors import CertificateError, InputError
from csp.exact import UNBOUNDED, Bools, Ints, bounds_to_ends
from csp.highs import Model, Status
from csp.release.completion import ONLY_FRACTIONS
from csp.sparse import row_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SIZE = 400
"""Cells of a window. Of 93,000 cells all are looked at in 31 CPU seconds; windows of 1,000 take 55,
and on 8,100 cells windows of 50 twice as long as those of 400."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenPart:
    """Relations between cells that are not known, ``matrix @ x == right``.

    Attributes
    ----------
    matrix : (r, k) csr_array of int64
    right : (r,) int64
    lower, upper : (k,) int64
        What is known of each cell; `csp.exact.UNBOUNDED` for no bound.
    """

    matrix: csr_array
    right: Ints
    lower: Ints
    upper: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Some relations, and all cells that are in one of them.

    Attributes
    ----------
    cells, rows : (c,), (w,) int64
        Positions in the part.
    matrix : (w, c) csr_array of int64
    right : (w,) int64
    lower, upper : (c,) int64
    inner : (c,) bool
        Cells that are in no other relation.
    middle : (c,) bool
        Inner cells whose relations hold inner cells only, and the cell around which the window is.
    """

    cells: Ints
    rows: Ints
    matrix: csr_array
    right: Ints
    lower: Ints
    upper: Ints
    inner: Bools
    middle: Bools

    def view(self, table: Ints | None = None) -> View:
        """Deviations from a table; from 0, which need not be one, if there is none."""
        table = np.zeros(len(self.cells), np.int64) if table is None else table
        up = np.where(self.upper >= UNBOUNDED, UNBOUNDED, self.upper - table)
        down = np.where(self.lower <= -UNBOUNDED, UNBOUNDED, table - self.lower)
        return View(self.cells, self.rows, self.matrix, up, down)

    def table(self, clock: Clock) -> Ints:
        """Find a table of whole numbers that is consistent with the window.

        Raises
        ------
        InputError
            If there is none.
        CertificateError
            If numbers are too large for floats, or the solver's table does not hold.
        OutOfTime
        """
        matrix, right, lower, upper = self.matrix, self.right, self.lower, self.upper
        bounded = (upper < UNBOUNDED) & (lower > -UNBOUNDED)
        widest = int(np.where(bounded, upper - lower, 0).max(initial=0))
        if max(widest, int(np.abs(right).max(initial=0))) > FURTHEST:
            msg = f"a cell can move by more than {FURTHEST:,} units, too far for integer programs"
            raise CertificateError(msg)
        ends = right.astype(np.float64)
        model = Model().load(
            cost=0.0, lower=bounds_to_ends(lower), upper=bounds_to_ends(upper), rows=matrix,
            row_lower=ends, row_upper=ends, integer=True,
        )  # fmt: skip
        status = model.solve(clock, interruptible=True)
        if status == Status.LIMIT:
            clock.check("a table was found")
        if status == Status.INFEASIBLE:
            raise InputError(ONLY_FRACTIONS)
        found = np.rint(model.values).astype(np.int64)
        if (matrix @ found != right).any() or (found < lower).any() or (found > upper).any():
            msg = "the solver's table of whole numbers does not hold"
            raise CertificateError(msg)
        return found


def windows(part: OpenPart, wanted: Bools, looked_at: Bools, size: int = _SIZE) -> Iterator[Window]:
    """Cut windows around cells.

    Parameters
    ----------
    part : OpenPart
    wanted : (k,) bool
        Cells each of which is in some window with all of its relations.
    looked_at : (k,) bool
        Cells that need no window any more; read whenever the next one is asked for.
    size : int
        Cells of a window; more where the relations of one cell have more.

    Yields
    ------
    Window
    """
    from scipy.sparse import csr_array

    turned = csr_array(part.matrix.T)
    degree = np.diff(turned.indptr)
    for centre in np.flatnonzero(wanted).tolist():
        if looked_at[centre]:
            continue
        cells, rows = _around(part.matrix, turned, centre, size)
        matrix = csr_array(part.matrix[rows][:, cells])
        inside = np.bincount(matrix.indices, minlength=len(cells))
        inner = inside == degree[cells]
        # Relations that hold inner cells only, and cells that are in no other.
        deep = abs(matrix.T) @ (abs(matrix) @ ~inner > 0) == 0
        yield Window(
            cells, rows, matrix, part.right[rows], part.lower[cells], part.upper[cells], inner,
            (deep & inner) | (cells == centre),
        )  # fmt: skip


def _around(matrix: csr_array, turned: csr_array, centre: int, size: int) -> tuple[Ints, Ints]:
    """Cells and relations near a cell, the nearest first; all relations of the cell itself."""
    cells, rows, left_out = {centre: None}, dict[int, None](), set[int]()
    waiting = [centre]
    for cell in waiting:
        for row in row_of(turned, cell)[0].tolist():
            if row in rows or row in left_out:
                continue
            members = row_of(matrix, row)[0].tolist()
            new = [c for c in members if c not in cells]
            if cell != centre and len(cells) + len(new) > size:
                left_out.add(row)
                continue
            rows[row] = None
            cells.update(dict.fromkeys(new))
            waiting += new
    return np.sort(np.fromiter(cells, np.int64)), np.sort(np.fromiter(rows, np.int64))
