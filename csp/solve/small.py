"""Small networks: the canonical pattern by compiled search, one table or many of one structure.

The search (`csp.solve.hitting`) is exact in integers: flows decide safety, cuts drive the search.
Networks make the integer attacker and the rational one the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.attacker.flow import as_network
from csp.attacker.view import View
from csp.errors import InputError
from csp.numbers import MAX_VALUE
from csp.problem import Problem
from csp.solve import hitting
from csp.solve.bitflow import MOST, Net, Work

__all__ = ["SmallAnswer", "SmallBatch", "SmallDecisions", "SmallSearch", "SmallSolver",
           "solve_small"]  # fmt: skip

SLICE = 5000
"""Nodes between two looks at the clock: some hundredths of a second."""

_CHUNK = 4096
_POOL = 32
_ALL = 2**62
_HIGHEST_LEVEL = 2**60
OUTCOMES = ("proven", "infeasible", "limit")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SmallAnswer:
    """What a search found for one problem.

    Attributes
    ----------
    outcome : {"proven", "infeasible", "limit"}
        "proven": the pattern is the canonical one. "infeasible": some primary cell misses its
        levels even with everything suppressed. "limit": nodes or time ran out.
    pattern : (n,) bool or None
        Best safe pattern found.
    cost : int or None
        Cost of its secondary cells.
    bound : int
        No safe pattern costs less.
    nodes : int
    """

    outcome: str
    pattern: NDArray[np.bool_] | None
    cost: int | None
    bound: int
    nodes: int

    def __repr__(self) -> str:
        return f"SmallAnswer({self.outcome}, {self.nodes} nodes)"


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

    patterns: NDArray[np.bool_]
    cost: NDArray[np.int64]
    outcome: NDArray[np.str_]
    nodes: NDArray[np.int64]

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

    given: NDArray[np.bool_]
    decided: NDArray[np.bool_]
    nodes: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Structure:
    """What tables of one structure share; cells are those that may be suppressed."""

    cells: NDArray[np.int64]
    net: Net
    may: np.uint64
    beforehand: np.uint64


def _structure(problem: Problem) -> _Structure:
    """Read a problem as a small network.

    Raises
    ------
    InputError
        If it is none; the message says why.
    """
    from scipy.sparse import csr_array

    if problem.singletons.any() or problem.union_rule is not None:
        what = "singletons" if problem.singletons.any() else "a rule for sums of suppressed cells"
        msg = f"method 'small' knows no {what}; use method 'cuts'"
        raise InputError(msg)
    cells = np.flatnonzero(problem.free | problem.forced)
    if len(cells) > MOST:
        msg = (
            f"method 'small' takes up to {MOST} cells that need not be published, and here are "
            f"{len(cells)}; use method 'cuts'"
        )
        raise InputError(msg)
    part = csr_array(problem.table.relations[:, cells])
    rows = np.flatnonzero(np.diff(part.indptr))
    none = np.zeros(len(cells), dtype=np.int64)
    network = as_network(View(cells, rows, csr_array(part[rows]), none, none))
    if network is None:
        msg = (
            "method 'small' needs a network: every cell that need not be published in at most two "
            "relations, with coefficients +1 and -1; use method 'cuts'"
        )
        raise InputError(msg)
    star = np.zeros((2, len(rows) + 1), dtype=np.uint64)
    ends = np.ascontiguousarray(np.stack([network.tail, network.head]))
    for a in range(2):
        np.bitwise_or.at(star[a], ends[a], _bits(len(cells)))
    letters = problem.status[cells]
    return _Structure(
        cells,
        Net(ends, star, len(rows)),
        _mask(np.isin(letters, ("s", "u"))),
        _mask(np.isin(letters, ("x", "w"))),
    )


def _bits(k: int) -> NDArray[np.uint64]:
    return np.uint64(1) << np.arange(k, dtype=np.uint64)


def _mask(flags: NDArray[np.bool_]) -> np.uint64:
    return np.uint64(sum(1 << i for i in np.flatnonzero(flags).tolist()))


def _unpack(masks: NDArray[np.uint64], cells: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Patterns over the whole table from masks."""
    out = np.zeros((len(masks), n), dtype=bool)
    out[:, cells] = (masks[:, None] & _bits(len(cells))) != 0
    return out


class SmallSearch:
    """Search for the canonical pattern of one problem, a number of nodes at a time.

    Raises
    ------
    InputError
        If the problem is no small network, or numbers are too large.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._structure = structure = _structure(problem)
        table, cells = problem.table, structure.cells
        levels = np.stack([problem.lpl, problem.upl, problem.spl])[:, cells]
        _check_sizes(levels * problem.primary[cells], problem.cost[None, cells])
        self._case, self._work = hitting.room_for_work(structure.net.star.shape[1])
        hitting.fill(
            structure.net, self._case, table.values[cells],
            np.stack([table.lower[cells], table.upper[cells]]),
            problem.primary[cells], levels, problem.cost[cells],
            structure.may, structure.beforehand,
        )  # fmt: skip
        hitting.start(self._case, self._work)
        self._constant = sum(problem.cost[problem.status == "x"].tolist())

    def step(self, nodes: int) -> bool:
        """Go on for up to so many nodes; True once the search is complete."""
        search = hitting.compiled()["search"]
        return bool(search(self._structure.net, self._case, self._work, nodes))

    def answer(self) -> SmallAnswer:
        """Return what has been found so far."""
        state = self._work.state
        done, found = state[0] == 0, state[1] >= 0
        pattern = cost = None
        if found:
            pattern = _unpack(self._work.best, self._structure.cells, self._problem.table.n_cells)[
                0
            ]
            pattern.flags.writeable = False
            cost = int(state[1]) + self._constant
        return SmallAnswer(
            OUTCOMES[2 if not done else (0 if found else 1)],
            pattern,
            cost,
            _bound(self._work) + self._constant,
            int(state[2]),
        )


def _bound(work: Work) -> int:
    """Least cost that an open node may lead to, or the best pattern has."""
    bounds = work.price[: int(work.state[0]), 1].tolist()
    if work.state[1] >= 0:
        bounds.append(int(work.state[1]))
    return min(bounds, default=0)


def solve_small(
    problem: Problem,
    *,
    node_limit: int | None = None,
    deadline: float = np.inf,
    after: Callable[[SmallAnswer], bool] | None = None,
) -> SmallAnswer:
    """Search for the canonical pattern of one problem.

    The pattern has the least cost; among those, it is the smallest number in which cell i is
    worth 2**i.

    Parameters
    ----------
    problem : Problem
        Up to 64 cells that need not be published; their relations form a network.
    node_limit : int, optional
    deadline : float
        `time.monotonic` value at which to stop.
    after : callable, optional
        Called every few thousand nodes with the answer so far; True from it ends the search.

    Returns
    -------
    SmallAnswer

    Raises
    ------
    InputError
        If the problem is no small network; the message says why.
    """
    search = SmallSearch(problem)
    left = _ALL if node_limit is None else node_limit
    while left > 0 and time.monotonic() < deadline and not search.step(min(left, SLICE)):
        left -= SLICE
        if after is not None and after(search.answer()):
            break
    return search.answer()


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
        If it is no small network; the message says why.

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
        self._structure = _structure(template)
        self._case, self._work = hitting.room_for_work(self._structure.net.star.shape[1])

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

        Returns
        -------
        SmallBatch

        Raises
        ------
        InputError
            For wrong shapes, tables that break a relation or a bound, and primary cells that must
            be published.
        """
        first = np.uint64(0) if hint is None else self._as_mask(hint)
        if first is None:
            first = np.uint64(0)
        kernel = hitting.compiled()["solve_many"]
        given = _Tables(self, values, primary, (lpl, upl, spl), cost)
        masks = np.zeros(given.count, dtype=np.uint64)
        totals, codes, nodes = (np.zeros(given.count, dtype=np.int64) for _ in range(3))
        for span, arrays, constant in given.chunks():
            kernel(
                self._structure.net, self._case, self._work, *arrays,
                self._structure.may, self._structure.beforehand, first,
                _ALL if node_limit is None else node_limit,
                masks[span], totals[span], codes[span], nodes[span],
            )  # fmt: skip
            totals[span][totals[span] >= 0] += constant[totals[span] >= 0]
        patterns = _unpack(masks, self._structure.cells, self._template.table.n_cells)
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

        Returns
        -------
        SmallDecisions

        Raises
        ------
        InputError
            As for `solve_many`.
        """
        mask = self._as_mask(pattern)
        kernel = hitting.compiled()["decide_many"]
        given = _Tables(self, values, primary, (lpl, upl, spl), cost)
        codes = np.ones(given.count, dtype=np.int64)
        nodes = np.zeros(given.count, dtype=np.int64)
        pool = np.zeros(_POOL, dtype=np.uint64)
        for span, arrays, _ in given.chunks():
            if mask is None:  # it suppresses a cell that must be published
                continue
            kernel(
                self._structure.net, self._case, self._work, *arrays,
                self._structure.may, self._structure.beforehand, mask, pool,
                _ALL if node_limit is None else node_limit, codes[span], nodes[span],
            )  # fmt: skip
        return SmallDecisions(codes == 0, codes != 2, nodes)

    def gives(
        self, pattern: ArrayLike, values: ArrayLike, primary: ArrayLike, **options: Any
    ) -> NDArray[np.bool_]:
        """Tell for every table whether its canonical pattern is this one; see `decide`.

        Returns
        -------
        (t,) bool
        """
        return self.decide(pattern, values, primary, **{**options, "node_limit": None}).given

    def _as_mask(self, pattern: ArrayLike) -> np.uint64 | None:
        """Mask of a pattern, or None if it suppresses a cell that must be published."""
        flags = np.asarray(pattern, dtype=bool)
        n = self._template.table.n_cells
        if flags.shape != (n,):
            msg = f"the pattern has shape {flags.shape}; {n} cells need ({n},)"
            raise InputError(msg)
        cells = self._structure.cells
        return None if flags.sum() > flags[cells].sum() else _mask(flags[cells])


class _Tables:
    """Tables of a batch: checked, and cut into chunks for the compiled loop."""

    def __init__(
        self, solver: SmallSolver, values: ArrayLike, primary: ArrayLike,
        levels: tuple[ArrayLike | None, ...], cost: ArrayLike | None,
    ) -> None:  # fmt: skip
        problem = solver._template
        self._problem, self._cells = problem, solver._structure.cells
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

    def chunks(self) -> Iterator[tuple[slice, tuple[NDArray[Any], ...], NDArray[np.int64]]]:
        """Yield spans of tables with the arrays of the kernel and the cost of x cells."""
        table, cells = self._problem.table, self._cells
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
            _check_sizes(levels * inner[:, None, :], cost)
            extra = np.where(primary[:, beforehand], 0, self._cost[span][:, beforehand])
            arrays = (np.ascontiguousarray(values[:, cells]), bounds, inner, levels, cost)
            yield span, arrays, extra.sum(axis=1).astype(np.int64)

    def _check(self, begin: int, values: NDArray[np.int64], primary: NDArray[np.bool_]) -> None:
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


def _check_sizes(levels: NDArray[np.int64], cost: NDArray[np.int64]) -> None:
    """Keep every sum of the search within int64."""
    if levels.size and (levels.min() < 0 or levels.max() >= _HIGHEST_LEVEL):
        msg = f"method 'small' needs levels from 0 to 2**{_HIGHEST_LEVEL.bit_length() - 1} - 1"
        raise InputError(msg)
    if cost.size and (cost.min() < 0 or cost.sum(axis=1, dtype=np.float64).max() >= 2.0**61):
        msg = "method 'small' needs costs that are not negative and add up to less than 2**61"
        raise InputError(msg)
