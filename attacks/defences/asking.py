"""What a mechanism asks of many tables of one structure, and its canonical patterns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from csp.clock import Clock
from csp.errors import InputError
from csp.mechanism import Mechanism
from csp.patterns import as_flags
from csp.problem import Problem
from csp.solve.listing import Census, MinimalPatterns
from csp.solve.order import label_order, reordered
from csp.table import Table

__all__ = ["Asked", "parts"]

_BETWEEN_CHECKS = 64
"""Tables asked about between two looks at the clock: milliseconds on tables of 64 cells."""


def parts(n: int, clock: Clock) -> Iterator[slice]:
    """Yield slices of n tables, as long as the time lasts."""
    for begin in range(0, n, _BETWEEN_CHECKS):
        clock.check()
        yield slice(begin, begin + _BETWEEN_CHECKS)


class Asked:
    """A mechanism that looks at one cell at a time, asked about tables of one structure.

    Cells are in the order of the table; within, they are in that of their labels, in which ties
    are broken. Calls share work arrays: use one for each thread.

    Parameters
    ----------
    mechanism : Mechanism
    table : Table
        Its relations, bounds and labels are used, and its values are not.
    node_limit : int
        Of searches for all minimal safe patterns.

    Raises
    ------
    InputError
        If the mechanism looks at more than the value of a cell, has costs other than "unit" or a
        defence of its own, or the structure is no small network.
    """

    def __init__(self, mechanism: Mechanism, table: Table, *, node_limit: int = 10_000_000) -> None:
        if not mechanism.cellwise or table.contributors is not None:
            msg = (
                "these publishers take rules that look at one cell of a table of counts at a time, "
                "without singletons and unions; give a frequency rule"
            )
            raise InputError(msg)
        if mechanism.cost != "unit":
            msg = f"these publishers count cells; cost is {mechanism.cost!r}, give cost='unit'"
            raise InputError(msg)
        if mechanism.defence is not None:
            msg = "the mechanism has a defence of its own; leave defence=None"
            raise InputError(msg)
        n = table.n_cells
        self.mechanism, self.table = mechanism, table
        publish = table.margins if mechanism.margins == "publish" else np.zeros(n, bool)
        self._publish = publish
        # Bounds hold for whatever value a cell is asked about; relations play no part in that.
        self._alone = table.replace(relations=csr_array((0, n), dtype=np.int64))
        self._order = label_order(table)
        self._place = np.argsort(self._order)
        template = Problem.of(table, np.zeros(n, bool), publish=publish)
        self._solver = MinimalPatterns(reordered(template, self._order), node_limit=node_limit)
        self.free = template.free
        """Cells that may be suppressed: (n,) bool."""
        self._known = np.zeros(0, dtype=np.int64)
        self._primary = np.zeros((0, n), dtype=bool)
        self._levels = np.zeros((3, 0, n), dtype=np.int64)

    def __repr__(self) -> str:
        return f"Asked({int(self.free.sum())} cells that may be suppressed)"

    def requirements(
        self, values: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Primary cells of many tables, and their levels.

        Parameters
        ----------
        values : (t, n) int64

        Returns
        -------
        primary : (t, n) bool
        levels : (3, t, n) int64
            Lower, upper, sliding; 0 where not primary.

        Raises
        ------
        InputError
            For another shape.
        """
        cells = self._whole(values)
        # Cells that are published by force are never asked about, however large they are.
        cells = np.where(self._publish, 0, cells)
        new = np.setdiff1d(cells, self._known)
        if len(new):
            self._ask(new)
        at = np.searchsorted(self._known, cells)
        each = np.arange(cells.shape[1])
        return self._primary[at, each], self._levels[:, at, each]

    def patterns_of(self, values: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Canonical patterns of many tables.

        Parameters
        ----------
        values : (t, n) int64

        Returns
        -------
        patterns : (t, n) bool
        protected : (t,) bool
            False where not even full suppression is safe.
        """
        primary, levels = self._ranked(values)
        found = self._solver.solve_many(
            values[:, self._order], primary, lpl=levels[0], upl=levels[1], spl=levels[2]
        )
        return found.patterns[:, self._place], found.outcome == "proven"

    def gives(self, pattern: NDArray[np.bool_], values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each of many tables whether its canonical pattern is this one: (t,) bool."""
        primary, levels = self._ranked(values)
        return self._solver.gives(
            self._pattern(pattern), values[:, self._order], primary,
            lpl=levels[0], upl=levels[1], spl=levels[2],
        )  # fmt: skip

    def minimal(self, values: NDArray[np.int64], slack: int) -> NDArray[np.bool_]:
        """Minimal safe patterns of one table: (f, n) bool; `MinimalPatterns.patterns`."""
        primary, levels = self._ranked(values[None])
        rows = self._solver.patterns(
            values[self._order], primary[0], slack, levels=tuple(level[0] for level in levels)
        )
        return rows[:, self._place]

    def first(
        self, values: NDArray[np.int64], slack: int, count: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """First minimal safe patterns of many tables; see `MinimalPatterns.first`.

        Bits stand for the cells that may be suppressed, in the order of labels; `numbered` gives
        the cells.
        """
        primary, levels = self._ranked(values)
        return self._solver.first(
            values[:, self._order], primary, slack, count, levels=tuple(levels)
        )

    @property
    def numbered(self) -> NDArray[np.int64]:
        """Cells that may be suppressed in the order of labels, which numbers the bits: (k,)."""
        return self._order[self.free[self._order]]

    def census(self, pattern: NDArray[np.bool_], values: NDArray[np.int64], slack: int) -> Census:
        """Minimal safe patterns of tables that have one in common; `MinimalPatterns.census`."""
        primary, levels = self._ranked(values)
        return self._solver.census(
            self._pattern(pattern), values[:, self._order], primary, slack, levels=tuple(levels)
        )

    def _ranked(self, values: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        primary, levels = self.requirements(values)
        return primary[:, self._order], levels[:, :, self._order]

    def _pattern(self, pattern: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return as_flags(pattern, len(self.free), "the pattern")[self._order]

    def _whole(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        given = np.asarray(values)
        n = self.table.n_cells
        if given.ndim != 2 or given.shape[1] != n or given.dtype.kind not in "iu":
            msg = f"values have shape {given.shape} and type {given.dtype}; give (t, {n}) integers"
            raise InputError(msg)
        return given.astype(np.int64)

    def _ask(self, new: NDArray[np.int64]) -> None:
        """Ask about values that have not come up before."""
        table = self.table
        primary, levels = [], []
        for v in new.tolist():
            cells = np.clip(v, table.lower, table.upper)
            found = self.mechanism.requirements(self._alone.replace(values=cells), self._publish)
            primary.append(found.primary)
            asked = np.stack([found.lpl, found.upl, found.spl])
            levels.append(np.where(found.primary, asked, 0))
        known = np.concatenate([self._known, new])
        order = np.argsort(known)
        self._known = known[order]
        self._primary = np.concatenate([self._primary, np.array(primary)])[order]
        self._levels = np.concatenate([self._levels, np.stack(levels, axis=1)], axis=1)[:, order]
