"""Small networks: the canonical pattern by compiled search.

The search (`csp.solve.small.search`) is exact in integers: flows decide safety, cuts drive the
search. Networks make the integer attacker and the rational one the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.attacker.flow import Network, as_network
from csp.attacker.view import View
from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.problem.problem import Problem
from csp.solve.small import many as cases
from csp.solve.small.flow import MOST, Net, Work
from csp.solve.small.kernels import KERNELS

SLICE = 5000
"""Nodes between two looks at the clock: some hundredths of a second."""

PLAIN_SLICE = 20
"""The same in plain Python."""

NO_LIMIT = 2**62
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
    pattern: Bools | None
    cost: int | None
    bound: int
    nodes: int

    def __repr__(self) -> str:
        return f"SmallAnswer({self.outcome}, {self.nodes} nodes)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Structure:
    """What tables of one structure share; cells are those that may be suppressed."""

    cells: Ints
    net: Net
    may: np.uint64
    beforehand: np.uint64


def structure_of(problem: Problem, network: Network | None = None) -> Structure:
    """Read a problem as a small network.

    Parameters
    ----------
    problem : Problem
    network : Network, optional
        That of all cells of the table, if it is one and known.

    Raises
    ------
    InputError
        If it is none; the message says why.
    """
    if problem.alone.any() or problem.union_rule is not None:
        what = "singletons" if problem.alone.any() else "a rule for sums of suppressed cells"
        msg = f"method 'small' does not take {what}; use method 'cuts'"
        raise InputError(msg)
    hidden = problem.free | problem.forced
    if hidden.sum() > MOST:
        msg = (
            f"method 'small' takes up to {MOST} cells that need not be published, and here are "
            f"{hidden.sum()}; use method 'cuts'"
        )
        raise InputError(msg)
    cells = np.flatnonzero(hidden)
    net = net_of(View.of(problem.table, hidden)) if network is None else part_of(network, cells)
    if net is None:
        msg = (
            "method 'small' needs a network: every cell that need not be published in at most two "
            "relations, with coefficients +1 and -1; use method 'cuts'"
        )
        raise InputError(msg)
    letters = problem.status[cells]
    return Structure(
        cells,
        net,
        mask_of(np.isin(letters, ("s", "u"))),
        mask_of(np.isin(letters, ("x", "w"))),
    )


def net_of(view: View) -> Net | None:
    """Network of up to 64 cells, or None if they are not one."""
    network = as_network(view)
    if network is None:
        return None
    return _packed(np.stack([network.tail, network.head]), len(view.rows))


def part_of(network: Network, cells: Ints) -> Net:
    """Network of up to 64 cells of a larger one; `net_of` gives the same for a view of them."""
    ends = np.stack([network.tail[cells], network.head[cells]])
    met = np.zeros(len(network.sign) + 1, dtype=bool)
    met[ends] = True
    met[-1] = True  # The outside stays the last node.
    return _packed((np.cumsum(met) - 1)[ends], int(met.sum()) - 1)


def _packed(ends: Ints, lines: int) -> Net:
    star = np.zeros((2, lines + 1), dtype=np.uint64)
    for a in range(2):
        np.bitwise_or.at(star[a], ends[a], _bits(ends.shape[1]))
    return Net(ends, star, lines)


def _bits(k: int) -> NDArray[np.uint64]:
    return np.uint64(1) << np.arange(k, dtype=np.uint64)


def mask_of(flags: Bools) -> np.uint64:
    """Pack flags of up to 64 cells into a mask."""
    return np.uint64(sum(1 << i for i in np.flatnonzero(flags).tolist()))


def unpack(masks: NDArray[np.uint64], cells: Ints, n: int) -> Bools:
    """Patterns over the whole table from masks."""
    out = np.zeros((len(masks), n), dtype=bool)
    out[:, cells] = (masks[:, None] & _bits(len(cells))) != 0
    return out


class SmallSearch:
    """Search for the canonical pattern of one problem, a number of nodes at a time.

    Raises
    ------
    InputError
        If the problem is not a small network, or numbers are too large.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._structure = structure = structure_of(problem)
        table, cells = problem.table, structure.cells
        levels = np.stack([problem.lpl, problem.upl, problem.spl])[:, cells]
        check_sizes(levels * problem.primary[cells], problem.cost[None, cells])
        self._case, self._work = cases.room_for_work(structure.net.star.shape[1])
        cases.fill(
            structure.net, self._case, table.values[cells],
            np.stack([table.lower[cells], table.upper[cells]]),
            problem.primary[cells], levels, problem.cost[cells],
            structure.may, structure.beforehand,
        )  # fmt: skip
        cases.start(self._case, self._work)
        self._constant = sum(problem.cost[problem.status == "x"].tolist())

    def begin_with(self, pattern: Bools) -> None:
        """Take a safe pattern (n,) as the one to beat, without cells that cannot move."""
        may, must, _ = self._case.marks
        start = mask_of(pattern[self._structure.cells]) & (may | must)
        self._work.state[1] = cases.chosen_cost(self._case, start)
        self._work.best[0] = start

    @property
    def slice(self) -> int:
        """Nodes that take some hundredths of a second."""
        return PLAIN_SLICE if KERNELS.choose(small=True) is KERNELS.plain else SLICE

    def step(self, nodes: int) -> bool:
        """Go on for at most `nodes` nodes; True once the search is complete."""
        net, case, work = self._structure.net, self._case, self._work
        while nodes > 0:
            # Plain work is done in pieces, so that compiling begins when it pays.
            plain = KERNELS.choose(small=True) is KERNELS.plain
            piece = min(nodes, PLAIN_SLICE) if plain else nodes
            if KERNELS.run("search", net, case, work, piece, small=True):
                return True
            nodes -= piece
        return False

    def answer(self) -> SmallAnswer:
        """Return what has been found so far."""
        state = self._work.state
        done, found = state[0] == 0, state[1] >= 0
        pattern = cost = None
        if found:
            pattern = unpack(self._work.best, self._structure.cells, self._problem.table.n_cells)[0]
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


def check_sizes(levels: Ints, cost: Ints) -> None:
    """Keep every sum of the search within int64."""
    if levels.size and (levels.min() < 0 or levels.max() >= _HIGHEST_LEVEL):
        msg = f"method 'small' needs levels from 0 to 2**{_HIGHEST_LEVEL.bit_length() - 1} - 1"
        raise InputError(msg)
    if cost.size and (cost.min() < 0 or cost.sum(axis=1, dtype=np.float64).max() >= 2.0**61):
        msg = "method 'small' needs costs that are not negative and add up to less than 2**61"
        raise InputError(msg)
