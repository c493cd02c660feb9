"""Minimal safe patterns of many tables of one structure: listed, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import SolverError
from csp.problem.problem import Problem
from csp.solve.small.batch import CheckedTables, SmallSolver
from csp.solve.small.one import unpack
from studies.publishing.minimal_patterns import search

_POOL = 32
_KEPT = 4096


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Census:
    """Minimal safe patterns of many tables that have one pattern in common.

    Attributes
    ----------
    excess : (t,) int64
        How much more the pattern costs than the cheapest safe one; -1 where it is none of the
        minimal safe patterns within the slack.
    counts : (t, slack + 1) int64
        Number of minimal safe patterns by how much more they cost; 0 where `excess` is -1.
    """

    excess: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Census({len(self.excess)} tables, {int((self.excess >= 0).sum())} have it)"


class MinimalPatterns(SmallSolver):
    """All inclusion-minimal safe patterns that cost little more than the cheapest one.

    Calls share work arrays: use one for each thread.

    Parameters
    ----------
    template : Problem
        As for `csp.solve.small.batch.SmallSolver`.
    node_limit : int
        Nodes of a search for one table; beyond it a call raises.
    room : int
        Patterns of one table; beyond it a call raises.

    Raises
    ------
    InputError
        If it is not a small network; the message says why.

    Examples
    --------
    >>> from csp import Problem, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Problem.of(table, table.values < 10, spl=10, publish=table.margins)
    >>> patterns = MinimalPatterns(problem).patterns(table.values, problem.primary, slack=2)
    >>> patterns.sum(axis=1).tolist()
    [4, 4, 4, 4, 6, 6, 6, 6]
    """

    def __init__(
        self, template: Problem, *, node_limit: int = 10_000_000, room: int = 1_000_000
    ) -> None:
        super().__init__(template)
        self._limit, self._room = node_limit, room

    def patterns(
        self,
        values: ArrayLike,
        primary: ArrayLike,
        slack: int,
        *,
        levels: tuple[ArrayLike | None, ...] = (None, None, None),
        plain: bool = False,
    ) -> NDArray[np.bool_]:
        """List the patterns of one table: cheapest first, ties by binary number.

        Parameters
        ----------
        values : (n,) int64
        primary : (n,) bool
        slack : int
            How much more than the cheapest one they may cost.
        levels : three (n,) int64, optional
            Lower, upper and sliding level in place of the template's.
        plain : bool
            Run the functions uncompiled.

        Returns
        -------
        (f, n) bool
            No row if no pattern is safe.

        Raises
        ------
        InputError
            As `csp.solve.small.batch.SmallSolver.solve_many`.
        SolverError
            If a limit is reached.
        """
        lines = [None if level is None else np.asarray(level)[None] for level in levels]
        given = np.asarray(values)[None], np.asarray(primary)[None]
        count = _KEPT
        while True:
            masks, totals = self.first(*given, slack, count, levels=tuple(lines), plain=plain)
            if count >= self._room or (totals[0] < 0).any():
                break
            count = min(16 * count, self._room)
        masks = masks[0][totals[0] >= 0]
        return unpack(masks, self._structure.cells, self._template.table.n_cells)

    def first(
        self,
        values: ArrayLike,
        primary: ArrayLike,
        slack: int,
        count: int,
        *,
        levels: tuple[ArrayLike | None, ...] = (None, None, None),
        plain: bool = False,
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """First patterns of many tables, in the order of `patterns`.

        Parameters
        ----------
        values : (t, n) int64
        primary : (t, n) bool
        slack, count : int
            How much more than the cheapest they may cost, and how many to return.
        levels : three arrays that broadcast to (t, n), optional
        plain : bool

        Returns
        -------
        masks : (t, count) uint64
            Bit i stands for the i-th cell that may be suppressed; 0 beyond the last.
        cost : (t, count) int64
            Cost of the secondary cells; -1 beyond the last pattern.

        Raises
        ------
        InputError, SolverError
            As `patterns`.
        """
        given = CheckedTables(self, values, primary, levels, None)
        masks = np.zeros((given.count, count), dtype=np.uint64)
        totals = np.full((given.count, count), -1, dtype=np.int64)
        numbers, codes = (np.zeros(given.count, dtype=np.int64) for _ in range(2))
        # One more than may be kept shows whether there is one more.
        kept = np.zeros(min(self._room, max(_KEPT, count)) + 1, dtype=np.uint64)
        run: Any = search.first_many if plain else search.KERNELS.compiled["first_many"]
        for span, tables, constant in given.chunks():
            while True:
                run(
                    self._structure.net, self._case, self._work, tables, slack, self._limit, kept,
                    masks[span], totals[span], numbers[span], codes[span],
                )  # fmt: skip
                if (codes[span] != 3).all() or len(kept) > self._room:
                    break
                kept = np.zeros(min(self._room, 16 * len(kept)) + 1, dtype=np.uint64)
            totals[span] += np.where(totals[span] >= 0, constant[:, None], 0)
        self._check(np.where(numbers > self._room, 3, codes))
        return masks, totals

    def census(
        self,
        pattern: ArrayLike,
        values: ArrayLike,
        primary: ArrayLike,
        slack: int,
        *,
        levels: tuple[ArrayLike | None, ...] = (None, None, None),
        plain: bool = False,
    ) -> Census:
        """Count the patterns of every table that has a given one among them.

        Parameters
        ----------
        pattern : (n,) bool
        values, primary, slack, levels, plain
            As `first`.

        Raises
        ------
        InputError
            As `csp.solve.small.batch.SmallSolver.solve_many`.
        SolverError
            If the node limit is reached.
        """
        mask = self._as_mask(pattern)
        given = CheckedTables(self, values, primary, levels, None)
        excess = np.full(given.count, -1, dtype=np.int64)
        counts = np.zeros((given.count, slack + 1), dtype=np.int64)
        codes = np.zeros(given.count, dtype=np.int64)
        kept = np.zeros(_KEPT, dtype=np.uint64)
        pool = np.zeros(_POOL, dtype=np.uint64)
        run: Any = search.census_many if plain else search.KERNELS.compiled["census_many"]
        for span, tables, _ in given.chunks():
            if mask is None:  # it suppresses a cell that must be published
                continue
            run(
                self._structure.net, self._case, self._work, tables, mask, slack, self._limit,
                kept, pool,
                excess[span], counts[span], codes[span],
            )  # fmt: skip
        self._check(codes)
        return Census(excess, counts)

    def _check(self, codes: NDArray[Any]) -> None:
        if (codes == 2).any():
            msg = (
                f"the minimal safe patterns of a table take more than node_limit={self._limit} "
                "nodes; allow more, or ask for less slack"
            )
            raise SolverError(msg)
        if (codes == 3).any():
            msg = (
                f"a table has more than room={self._room} minimal safe patterns; allow more room, "
                "or ask for less slack"
            )
            raise SolverError(msg)
