"""The rules of a mechanism tabulated by value, for many tables of one structure."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.mechanism import Mechanism
from csp.solve.order import label_order, reordered
from csp.solve.small.batch import SmallSolver
from csp.tables.table import Table


class RuleTable:
    """What a mechanism that looks at one cell at a time requires, value by value.

    Values are looked up once for each cell, however many tables have them; the values of the table
    are not used. Cells are in the order of the table; within, they are in that of their labels, in
    which ties are broken. Calls share work arrays: use one for each thread.

    Raises
    ------
    InputError
        If the mechanism looks at more than the value of a cell, has costs other than "unit" or a
        defence of its own, or the structure is not a small network.
    """

    def __init__(self, mechanism: Mechanism, table: Table) -> None:
        if not mechanism.cellwise or table.contributors is not None:
            msg = (
                "likelihoods need rules that look at one cell of a table of counts at a time, "
                "without singletons and unions; give a frequency rule"
            )
            raise InputError(msg)
        if mechanism.cost != "unit":
            msg = f"likelihoods need cost='unit', a cost of 1 for each cell, got {mechanism.cost!r}"
            raise InputError(msg)
        if mechanism.defence is not None:
            msg = "the mechanism already has a defence; leave defence=None"
            raise InputError(msg)
        n = table.n_cells
        self.mechanism, self.table = mechanism, table
        self._publish = mechanism.public_cells(table)
        # Bounds hold for whatever value is looked up; relations play no part in that.
        self._alone = table.replace(relations=csr_array((0, n), dtype=np.int64))
        self._order = label_order(table)
        self._place = np.argsort(self._order)
        template = mechanism.bare_problem(table)
        self._problem = reordered(template, self._order)
        self._solver = SmallSolver(self._problem)
        self.free = template.free
        """Cells that may be suppressed: (n,) bool."""
        self._known = np.zeros(0, dtype=np.int64)
        self._primary = np.zeros((0, n), dtype=bool)
        self._levels = np.zeros((3, 0, n), dtype=np.int64)

    def requirements(self, values: Ints) -> tuple[Bools, Ints]:
        """Primary cells of many tables, and their levels.

        Of values (t, n), what is primary (t, n) and the levels (3, t, n): lower, upper, sliding; 0
        where not primary.
        """
        # Cells that must be published are never looked up, however large they are.
        cells = np.where(self._publish, 0, values)
        new = np.setdiff1d(cells, self._known)
        if len(new):
            self._look_up(new)
        at = np.searchsorted(self._known, cells)
        each = np.arange(cells.shape[1])
        return self._primary[at, each], self._levels[:, at, each]

    def patterns_of(self, values: Ints) -> tuple[Bools, Bools]:
        """Canonical patterns (t, n) of the tables with these values (t, n).

        Beside them, (t,), whether any pattern is safe: False where not even full suppression is.
        """
        primary, levels = self._by_label(values)
        found = self._solver.solve_many(
            values[:, self._order], primary, lpl=levels[0], upl=levels[1], spl=levels[2]
        )
        return found.patterns[:, self._place], found.outcome == "proven"

    def _by_label(self, values: Ints) -> tuple[Bools, Ints]:
        primary, levels = self.requirements(values)
        return primary[:, self._order], levels[:, :, self._order]

    def _look_up(self, new: Ints) -> None:
        """Add values that have not come up before."""
        table = self.table
        primary, levels = [], []
        for v in new.tolist():
            cells = np.clip(v, table.lower, table.upper)
            found = self.mechanism.requirements(self._alone.replace(values=cells), self._publish)
            primary.append(found.primary)
            wanted = np.stack([found.lpl, found.upl, found.spl])
            levels.append(np.where(found.primary, wanted, 0))
        known = np.concatenate([self._known, new])
        order = np.argsort(known)
        self._known = known[order]
        self._primary = np.concatenate([self._primary, np.array(primary)])[order]
        self._levels = np.concatenate([self._levels, np.stack(levels, axis=1)], axis=1)[:, order]
