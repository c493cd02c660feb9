"""Tables drawn uniformly from a fibre: exactly where it can be counted, else by a Markov chain.

The chain goes along simple cycles of a network, which connect its whole fibre (they are its Graver
basis), or along vectors of the reduced kernel, for which that is not proved.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from attacks.fibre.consistent_tables import Fibre
from attacks.fibre.kernel_basis import kernel, with_pairs
from csp.attacker.flow import as_network
from csp.attacker.view import View
from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.exact import Floats, Ints

_CYCLES = 2000
_STEPS_EACH = 4
_DRAWN = 4096
"""Tables for which a chain draws its directions at once."""
_SPAN = 16
"""Tables that a chain keeps between two looks at the clock."""
_BEFORE = "a table was drawn"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Draws:
    """Tables drawn from a fibre.

    Attributes
    ----------
    tables : (t, k) int64
        Values of the suppressed cells.
    effective : float
        Number of independent draws that tell as much: t for exact draws; for a chain, t over the
        integrated autocorrelation time of the cell that mixes worst (an estimate).
    exact : bool
        Whether the draws are independent and uniform.
    connected : bool
        Whether the chain is known to reach every table.
    """

    tables: Ints
    effective: float
    exact: bool
    connected: bool

    def __repr__(self) -> str:
        way = "independent" if self.exact else f"worth {self.effective:.0f} independent ones"
        return f"Draws({len(self.tables)} tables, {way})"


def draw(
    fibre: Fibre,
    size: int,
    seed: int = 0,
    *,
    max_states: int = 200_000,
    time_limit: float | None = None,
) -> Draws:
    """Draw tables from a fibre.

    Parameters
    ----------
    fibre : Fibre
    size : int
    seed : int
    max_states : int
        Partial sums to keep for exact draws.
    time_limit : float, optional
        Wall seconds; then there are fewer tables.

    Returns
    -------
    Draws

    Raises
    ------
    OutOfTime
        If the time limit passed before the first table.
    """
    clock = Clock.of(time_limit)
    rng = np.random.default_rng(seed)
    # Counting is the better way, but must leave time for the other one.
    counters = fibre.counters(max_states, time_limit=clock.part(0.5).seconds)
    if counters is not None:
        tables = np.zeros((size, len(fibre.cells)), dtype=np.int64)
        done = size
        for part, counter in zip(fibre.parts, counters, strict=True):
            for t in range(done):
                if clock.over:
                    done = t
                    break
                tables[t, part.cells] = counter.draw(rng)
        if not done:
            clock.check(_BEFORE)
        return Draws(tables[:done], float(done), exact=True, connected=True)
    moves, connected = moves_of(fibre, clock)
    x = fibre.origin.copy()
    # The first tenth is thrown away: the chain has to forget where it began.
    _chained(fibre, moves, x, max(1, size // 10), rng, clock)
    tables = _chained(fibre, moves, x, size, rng, clock)
    moving = tables[:, fibre.lower < fibre.upper]
    return Draws(tables, _effective(moving), exact=False, connected=connected)


def _chained(
    fibre: Fibre, moves: Ints, x: Ints, size: int, rng: np.random.Generator, clock: Clock,
) -> Ints:  # fmt: skip
    """Go on along a chain from x, which changes, for some tables or until the time runs out.

    Raises
    ------
    OutOfTime
        If there is no time for the first table.
    """
    clock.check(_BEFORE)
    run = KERNELS.compiled["run_chain"]
    each = max(1, _STEPS_EACH * len(x))
    tables = np.zeros((size, len(x)), dtype=np.int64)
    for first in range(0, size, _DRAWN):
        drawn = min(_DRAWN, size - first)
        which = rng.integers(0, len(moves), size=drawn * each)
        where = rng.random(drawn * each)
        for begin in range(0, drawn, _SPAN):
            done = first + begin
            if done and clock.over:
                return tables[:done]
            steps = slice(begin * each, (begin + _SPAN) * each)
            run(x, moves, fibre.lower, fibre.upper, which[steps], where[steps], each, tables[done:])
    return tables


def moves_of(fibre: Fibre, clock: Clock = UNLIMITED) -> tuple[Ints, bool]:
    """Directions (m, k) of a chain, and whether they are known to connect the fibre."""
    view = View.of(fibre.table, fibre.release.pattern)
    cycles = _cycles(view, clock)
    if cycles is not None and len(cycles) <= _CYCLES:
        return np.array(cycles, dtype=np.int64).reshape(-1, len(fibre.cells)), True
    basis = kernel(fibre.release.relations, fibre.release.pattern)[fibre.cells]
    return with_pairs(basis), False


def _cycles(view: View, clock: Clock) -> list[Ints] | None:
    """List the simple cycles of a network; None if it is none, or there are very many."""
    import networkx as nx

    network = as_network(view)
    if network is None:
        return None
    k = len(view.cells)
    graph = nx.Graph()
    # A cell is a node of its own, so that cells side by side stay apart.
    for e in range(k):
        u, v = int(network.tail[e]), int(network.head[e])
        graph.add_edge(("row", u), ("cell", e))
        graph.add_edge(("cell", e), ("row", v))
    found = []
    # Cells that leave the network and come back at the same node are cycles of one cell.
    for e in np.flatnonzero(network.tail == network.head).tolist():
        alone = np.zeros(k, dtype=np.int64)
        alone[e] = 1
        found.append(alone)
    for cycle in itertools.islice(nx.simple_cycles(graph), _CYCLES + 1):
        clock.check(_BEFORE)
        vector = np.zeros(k, dtype=np.int64)
        turn = cycle.index(next(node for node in cycle if node[0] == "row"))
        nodes = cycle[turn:] + cycle[:turn]
        for i in range(0, len(nodes), 2):
            e = nodes[i + 1][1]
            vector[e] = 1 if network.tail[e] == nodes[i][1] else -1
        found.append(vector)
        if len(found) > _CYCLES:
            return None
    return found


def run_chain(
    x: Ints, moves: Ints, lower: Ints, upper: Ints, which: Ints, where: Floats, each: int,
    out: Ints,
) -> None:  # fmt: skip
    """Hit and run: a direction, then any of the steps that it allows (plain; see `KERNELS`).

    Of each step, `which` (s,) has the direction among the moves (m, k) and `where` the position
    within its range, in [0, 1). After `each` steps x, which changes, is written to the next row of
    `out`.
    """
    for s in range(len(which)):
        move = moves[which[s]]
        back, forth = np.int64(-(2**62)), np.int64(2**62)
        for e in range(len(x)):
            m = move[e]
            if m > 0:
                forth = min(forth, (upper[e] - x[e]) // m)
                back = max(back, -((x[e] - lower[e]) // m))
            elif m < 0:
                forth = min(forth, (x[e] - lower[e]) // -m)
                back = max(back, -((upper[e] - x[e]) // -m))
        step = back + np.int64(where[s] * (forth - back + 1))
        for e in range(len(x)):
            x[e] += step * move[e]
        if (s + 1) % each == 0:
            out[(s + 1) // each - 1] = x


def _effective(tables: Ints) -> float:
    """Effective sample size of the worst cell (initial positive sequence, Geyer 1992)."""
    size = len(tables)
    worst = float(size)
    for column in tables.T.astype(np.float64):
        centred = column - column.mean()
        if not centred.any():
            # A cell that could move and did not: the chain has told nothing about it.
            return 1.0
        # Autocovariances of all lags at once (padded, so that the ends do not meet).
        power = np.abs(np.fft.rfft(centred, 2 * size)) ** 2
        lags = np.fft.irfft(power, 2 * size)[:size]
        last = (size - 1) // 2 * 2
        pairs = (lags[:last:2] + lags[1:last:2]) / lags[0]
        end = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
        worst = min(worst, size / max(2 * float(pairs[:end].sum()) - 1, 1.0))
    return worst


KERNELS = Kernels(__name__, "run_chain")
