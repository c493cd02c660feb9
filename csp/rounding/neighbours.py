"""Which multiples of the base lie next to each value, and what choosing between them costs.

A rounded table is ``base * (floor + up)`` with ``up`` in {0, 1} at cells that are not multiples of
the base. It adds up if ``relations @ up = -relations @ floor``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from csp.exact import Bools, Ints
from csp.highs import Model
from csp.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from csp.decoys.key import Key


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Neighbours:
    """The choice of a controlled rounding.

    Attributes
    ----------
    table : Table
    base : int
        In units of the table.
    floor : (n,) int64
        Largest multiple of the base that is not above the value, in bases.
    rest : (n,) int64
        How far the value lies above it, in units: 0 to base - 1.
    cells : (k,) int64
        Cells that are not multiples, which alone may go up.
    matrix : (m, k) csr_array
        Relations that hold at least one of them.
    right : (m,) int64
        What ``matrix @ up`` must be.
    cost : (k,) int64
        Distance that going up adds, in units.
    further : (n,) bool
        Cells that may go one base further where there is no choice.
    """

    table: Table
    base: int
    floor: Ints
    rest: Ints
    cells: Ints
    matrix: csr_array
    right: Ints
    cost: Ints
    further: Bools

    @classmethod
    def of(cls, table: Table, base: int, further: Bools | None = None) -> Neighbours:
        """Pose the choice for a table; all cells that may be other than 0 may go further."""
        from scipy.sparse import csr_array

        floor = np.floor_divide(table.values, base)
        rest = table.values - base * floor
        cells = np.flatnonzero(rest)
        columns = csr_array(table.relations[:, cells])
        rows = np.flatnonzero(np.diff(columns.indptr))
        right = -(csr_array(table.relations[rows]) @ floor)
        cost = base - 2 * rest[cells]
        some = np.ones(table.n_cells, dtype=bool) if further is None else further
        if table.structural is not None:
            some = some & ~table.structural
        return cls(table, base, floor, rest, cells, csr_array(columns[rows]), right, cost, some)

    def program(self, cost: Ints, *, integer: bool = False, **options: Any) -> Model:
        """Load the choice of least cost into HiGHS; options are its own."""
        right = self.right.astype(np.float64)
        return Model(**options).load(
            cost=cost.astype(np.float64), lower=0.0, upper=1.0, rows=self.matrix,
            row_lower=right, row_upper=right, integer=integer,
        )  # fmt: skip

    def values(self, up: Ints) -> Ints:
        """Round all cells, in units, where these of `cells` go up."""
        found = self.floor.copy()
        found[self.cells] += up
        return found * self.base

    def adds_up(self, up: Ints) -> bool:
        """Whether a choice of zeros and ones gives an additive table."""
        binary = bool(((up == 0) | (up == 1)).all())
        return binary and not (self.matrix @ up - self.right).any()


def coins(table: Table, base: int, key: Key, name: str, *, small: bool = False) -> Ints:
    """Random numbers of a key, one a cell, uniform on the whole numbers from -base to base.

    They depend on the key, the name, the base, the labels, and on whether small counts alone are
    rounded, and never on a value.
    """
    what = "small count rounding" if small else "controlled rounding"
    head = [what, name, str(base), str(table.scale), *table.names]
    drawn = (
        int.from_bytes(key.draw([*head, *label])[:16], "big") % (2 * base + 1)
        for label in table.labels
    )
    return np.fromiter(drawn, np.int64, table.n_cells) - base
