"""Rules tabulated by value, and all minimal safe patterns of the tables they are applied to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attacks.bayes.rule_table import RuleTable
from csp.clock import Clock
from csp.mechanism import Mechanism
from csp.tables.cells import as_flags
from csp.tables.table import Table
from studies.publishing.minimal_patterns.patterns import Census, MinimalPatterns

_BETWEEN_CHECKS = 64
"""Tables asked about between two looks at the clock: milliseconds on tables of 64 cells."""


def parts(n: int, clock: Clock) -> Iterator[slice]:
    """Yield slices of n tables, as long as the time lasts."""
    for begin in range(0, n, _BETWEEN_CHECKS):
        clock.check()
        yield slice(begin, begin + _BETWEEN_CHECKS)


class PatternTable(RuleTable):
    """A `RuleTable` that also tells the safe patterns of its tables.

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
        As `RuleTable`.
    """

    def __init__(self, mechanism: Mechanism, table: Table, *, node_limit: int = 10_000_000) -> None:
        super().__init__(mechanism, table)
        self._minimal = MinimalPatterns(self._problem, node_limit=node_limit)

    def gives(self, pattern: NDArray[np.bool_], values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each of many tables whether its canonical pattern is this one: (t,) bool."""
        primary, levels = self._by_label(values)
        return self._solver.gives(
            self._pattern(pattern), values[:, self._order], primary,
            lpl=levels[0], upl=levels[1], spl=levels[2],
        )  # fmt: skip

    def minimal(self, values: NDArray[np.int64], slack: int) -> NDArray[np.bool_]:
        """Minimal safe patterns of one table: (f, n) bool; `MinimalPatterns.patterns`."""
        primary, levels = self._by_label(values[None])
        rows = self._minimal.patterns(
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
        primary, levels = self._by_label(values)
        return self._minimal.first(
            values[:, self._order], primary, slack, count, levels=tuple(levels)
        )

    @property
    def numbered(self) -> NDArray[np.int64]:
        """Cells that may be suppressed in the order of labels, which numbers the bits: (k,)."""
        return self._order[self.free[self._order]]

    def census(self, pattern: NDArray[np.bool_], values: NDArray[np.int64], slack: int) -> Census:
        """Minimal safe patterns of tables that have one in common; `MinimalPatterns.census`."""
        primary, levels = self._by_label(values)
        return self._minimal.census(
            self._pattern(pattern), values[:, self._order], primary, slack, levels=tuple(levels)
        )

    def _pattern(self, pattern: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return as_flags(pattern, len(self.free), "the pattern")[self._order]
