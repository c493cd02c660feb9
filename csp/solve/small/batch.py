"""Canonical patterns of many small tables of one structure, in one compiled loop.

What tables share is read once: the network, the masks, the patterns that beat another before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError
from csp.exact import MAX_VALUE, Bools, Ints
from csp.problem.problem import Problem
from csp.solve.small import many as cases
from csp.solve.small.kernels import KERNELS
from csp.solve.small.one import (
    NO_LIMIT,
    OUTCOMES,
    check_sizes,
    mask_of,
    structure_of,
    unpack,
)
from csp.tables.patterns import as_pattern

_CHUNK = 4096
_POOL = 32

_PLAIN_TABLES = 200
"""Tables that are begun in plain Python."""

_PLAIN_NODES = 100
"""Nodes of each; a table that takes more is begun anew in compiled code."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SmallBatch:
    """Canonical patterns of many tables.

    Attributes
    ----------
    patterns : (t, n) bool
        All False where no safe pattern was found.
    cost : (t,) int64
        Cost of the secondary cells; -1 where no safe pattern was found.
    outcome : (t,) str
        "proven", "infeasible" or "limit".
    nodes : (t,) int64
    """

    patterns: Bools
    cost: Ints
    outcome: NDArray[np.str_]
    nodes: Ints

    def __repr__(self) -> str:
        return (
            f"SmallBatch({len(self.cost)} tables, {int((self.outcome == 'proven').sum())} proven)"
        )


@dataclass(frozen=True, slots=True, eq=False)
class SmallDecisions:
    """Whether one pattern is the canonical answer of many tables.

    Attributes
    ----------
    given : (t,) bool
        It is, and this is proved.
    decided : (t,) bool
        False where the node limit was reached.
    nodes : (t,) int64
        0 where no search was needed.
    """

    given: Bools
    decided: Bools
    nodes: Ints


class SmallSolver:
    """Canonical patterns of many tables that share relations, bounds and cells.

    Calls share work arrays: use one solver for each thread.

    Parameters
    ----------
    template : Problem
        Its relations, bounds and status letters hold for all tables; "u" and "s" cells may be
        primary or not in each table. Its costs, and its levels, hold where none are given.

    Raises
    ------
    InputError
        If it is not a small network; the message says why.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Problem, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Problem.of(table, table.values < 10, spl=10, publish=table.margins)
    >>> solver = SmallSolver(problem)
    >>> batch = solver.solve_many(table.values[None], problem.primary[None])
    >>> int(batch.cost[0]), str(batch.outcome[0])
    (3, 'proven')
    >>> solver.gives(batch.patterns[0], table.values[None], problem.primary[None])
    array([ True])
    """

    def __init__(self, template: Problem) -> None:
        self._template = template
        self._structure = structure_of(template)
        self._case, self._work = cases.room_for_work(self._structure.net.star.shape[1])

    def __repr__(self) -> str:
        return f"SmallSolver({len(self._structure.cells)} cells)"

    def solve_many(
        self,
        values: ArrayLike,
        primary: ArrayLike,
        *,
        lpl: ArrayLike | None = None,
        upl: ArrayLike | None = None,
        spl: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        hint: ArrayLike | None = None,
        node_limit: int | None = None,
    ) -> SmallBatch:
        """Find the canonical pattern of every table.

        Parameters
        ----------
        values : (t, n) int64
            All cells of each table, in units.
        primary : (t, n) bool
        lpl, upl, spl, cost : array that broadcasts to (t, n), optional
            Levels and costs in place of the template's.
        hint : (n,) bool, optional
            Pattern that may be good for many of the tables. It changes the time, never the answer.
        node_limit : int, optional
            For each table.

        Raises
        ------
        InputError
            For wrong shapes, tables that break a relation or a bound, and primary cells that must
            be published.
        """
        first = np.uint64(0) if hint is None else self._as_mask(hint)
        if first is None:
            first = np.uint64(0)
        given = CheckedTables(self, values, primary, (lpl, upl, spl), cost)
        masks = np.zeros(given.count, dtype=np.uint64)
        totals, codes, nodes = (np.zeros(given.count, dtype=np.int64) for _ in range(3))
        for span, tables, constant in given.chunks():
            written = masks[span], totals[span], codes[span], nodes[span]
            self._run("solve_many", tables, (first,), node_limit, written)
            totals[span][totals[span] >= 0] += constant[totals[span] >= 0]
        patterns = unpack(masks, self._structure.cells, self._template.table.n_cells)
        return SmallBatch(patterns, totals, np.array(OUTCOMES)[codes], nodes)

    def decide(
        self,
        pattern: ArrayLike,
        values: ArrayLike,
        primary: ArrayLike,
        *,
        lpl: ArrayLike | None = None,
        upl: ArrayLike | None = None,
        spl: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        node_limit: int | None = None,
    ) -> SmallDecisions:
        """Decide for every table whether its canonical pattern is this one.

        Faster than to solve: the pattern is the one to beat, and patterns that beat it for
        earlier tables are tried first.

        Parameters
        ----------
        pattern : (n,) bool
        values, primary, lpl, upl, spl, cost, node_limit
            As for `solve_many`.

        Raises
        ------
        InputError
            As for `solve_many`.
        """
        mask = self._as_mask(pattern)
        given = CheckedTables(self, values, primary, (lpl, upl, spl), cost)
        codes = np.ones(given.count, dtype=np.int64)
        nodes = np.zeros(given.count, dtype=np.int64)
        pool = np.zeros(_POOL, dtype=np.uint64)
        for span, tables, _ in given.chunks():
            if mask is None:  # it suppresses a cell that must be published
                continue
            self._run("decide_many", tables, (mask, pool), node_limit, (codes[span], nodes[span]))
        return SmallDecisions(codes == 0, codes != 2, nodes)

    def gives(
        self, pattern: ArrayLike, values: ArrayLike, primary: ArrayLike, **options: Any
    ) -> Bools:
        """Tell for every table whether its canonical pattern is this one; see `decide`.

        Returns
        -------
        (t,) bool
        """
        return self.decide(pattern, values, primary, **{**options, "node_limit": None}).given

    def _run(
        self, name: str, tables: cases.Tables, known: tuple[Any, ...], node_limit: int | None,
        written: tuple[NDArray[Any], ...],
    ) -> None:  # fmt: skip
        """Run over the tables of a chunk: one by one in plain Python while that pays, then all.

        Of what is written the outcomes come last but one.
        """
        limit = NO_LIMIT if node_limit is None else node_limit
        count = len(tables.values)

        def run(part: slice, nodes: int, *, small: bool) -> None:
            KERNELS.run(
                name, self._structure.net, self._case, self._work, tables.part(part), *known,
                nodes, *(array[part] for array in written), small=small,
            )  # fmt: skip

        for t in range(count):
            if KERNELS.choose(small=count <= _PLAIN_TABLES) is not KERNELS.plain:
                run(slice(t, count), limit, small=False)
                return
            one = slice(t, t + 1)
            run(one, min(limit, _PLAIN_NODES), small=True)
            if limit > _PLAIN_NODES and OUTCOMES[written[-2][t]] == "limit":
                run(one, limit, small=False)

    def _as_mask(self, pattern: ArrayLike) -> np.uint64 | None:
        """Mask of a pattern, or None if it suppresses a cell that must be published."""
        flags = as_pattern(self._template.table, pattern)
        cells = self._structure.cells
        return None if flags.sum() > flags[cells].sum() else mask_of(flags[cells])


class CheckedTables:
    """Tables of a batch: checked, and cut into chunks for the compiled loop."""

    def __init__(
        self, solver: SmallSolver, values: ArrayLike, primary: ArrayLike,
        levels: tuple[ArrayLike | None, ...], cost: ArrayLike | None,
    ) -> None:  # fmt: skip
        problem = solver._template
        self._problem, self._structure = problem, solver._structure
        self._values = np.asarray(values)
        n = problem.table.n_cells
        if self._values.ndim != 2 or self._values.shape[1] != n:
            msg = f"values have shape {self._values.shape}; tables of {n} cells need (t, {n})"
            raise InputError(msg)
        self.count = len(self._values)
        if self._values.dtype.kind not in "iu":
            msg = f"values are {self._values.dtype}; give whole numbers of units"
            raise InputError(msg)
        self._primary = self._spread("primary", primary, problem.primary)
        self._levels = [
            self._spread(name, given, getattr(problem, name))
            for name, given in zip(("lpl", "upl", "spl"), levels, strict=True)
        ]
        self._cost = self._spread("cost", cost, problem.cost)

    def _spread(self, name: str, given: ArrayLike | None, default: NDArray[Any]) -> NDArray[Any]:
        array = np.asarray(default if given is None else given)
        if array.dtype.kind not in ("b" if default.dtype.kind == "b" else "iub"):
            msg = (
                f"{name} is {array.dtype}; give {'flags' if name == 'primary' else 'whole numbers'}"
            )
            raise InputError(msg)
        try:
            return np.broadcast_to(array, self._values.shape)
        except ValueError as error:
            msg = f"{name} has shape {array.shape}; it must broadcast to {self._values.shape}"
            raise InputError(msg) from error

    def chunks(self) -> Iterator[tuple[slice, cases.Tables, Ints]]:
        """Yield spans of tables, their suppressible cells, and the cost of x cells."""
        table, structure = self._problem.table, self._structure
        cells = structure.cells
        beforehand = self._problem.status == "x"
        bounds = np.stack([table.lower[cells], table.upper[cells]])
        for begin in range(0, self.count, _CHUNK):
            span = slice(begin, min(begin + _CHUNK, self.count))
            values, primary = self._values[span].astype(np.int64), self._primary[span]
            self._check(begin, values, primary)
            inner = np.ascontiguousarray(primary[:, cells])
            levels = np.stack([level[span][:, cells] for level in self._levels], axis=1)
            levels = levels.astype(np.int64)
            cost = np.ascontiguousarray(self._cost[span][:, cells].astype(np.int64))
            check_sizes(levels * inner[:, None, :], cost)
            extra = np.where(primary[:, beforehand], 0, self._cost[span][:, beforehand])
            tables = cases.Tables(
                np.ascontiguousarray(values[:, cells]), inner, levels, cost, bounds,
                structure.may, structure.beforehand,
            )  # fmt: skip
            yield span, tables, extra.sum(axis=1).astype(np.int64)

    def _check(self, begin: int, values: Ints, primary: Bools) -> None:
        table = self._problem.table
        fixed = self._problem.status == "z"
        wrong = np.abs(values) > MAX_VALUE
        for flags, words in (
            (wrong | (values < table.lower) | (values > table.upper), "lies outside its bounds"),
            (primary & fixed, "is primary and must be published"),
        ):
            if flags.any():
                t, i = np.argwhere(flags)[0].tolist()
                msg = f"cell {table.cell(i)} of table {begin + t} of the batch {words}"
                raise InputError(msg)
        sums = table.relations @ values.T
        if sums.any():
            row, t = np.argwhere(sums)[0].tolist()
            msg = f"table {begin + t} of the batch breaks {table.relation(row)}"
            raise InputError(msg)
