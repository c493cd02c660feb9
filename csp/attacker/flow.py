"""Exact intervals by integer maximum flow, where the relations form a network.

Two-way margins, and many parts of larger tables, give every suppressed cell at most two relations
with coefficients +1 or -1. Then deviations are circulations, interval ends are integers (the
matrix is totally unimodular), and a minimum cut proves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.maxflow import KERNELS, Graph, HalfArcs, Targets, working_space
from csp.attacker.view import NOTHING, Extreme, View
from csp.clock import UNLIMITED, Clock
from csp.exact import Floats, Ints

# Capacity that stands for none: twice it still fits int64, so residuals cannot overflow.
ENDLESS = 2**60

_SMALL = 20_000
"""Cells times targets up to which plain Python takes about a tenth of a second at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Every cell an arc between two nodes; node r is relation r, the last node is the outside.

    Attributes
    ----------
    tail, head : (k,) int64
        A positive deviation of the cell flows from tail to head.
    sign : (r,) int64
        +1 or -1: orientation given to each relation so that each cell leaves one node and
        enters another.
    """

    tail: Ints
    head: Ints
    sign: Ints


def as_network(view: View) -> Network | None:
    """Read a part of a pattern as a network, or None if it is not one.

    Returns
    -------
    Network or None
        None if a cell lies in more than two relations, has a coefficient other than +1 or -1,
        or no orientation of the relations exists.
    """
    from scipy.sparse import csc_array

    columns = csc_array(view.matrix)
    columns.sort_indices()
    degree = np.diff(columns.indptr)
    if (degree.size and degree.max() > 2) or np.any(np.abs(columns.data) != 1):
        return None
    r = view.matrix.shape[0]
    first = columns.indptr[:-1]
    pairs = degree == 2
    a, b = columns.indices[first[pairs]], columns.indices[first[pairs] + 1]
    # Two relations must be oriented alike where the cell's signs differ, opposite where not.
    flip = np.where(columns.data[first[pairs]] == columns.data[first[pairs] + 1], -1, 1)
    sign = np.zeros(r, dtype=np.int64)
    neighbours = _neighbours(r, a, b, flip)
    if not KERNELS.run("orient", *neighbours, sign, small=len(a) <= _SMALL):
        return None
    tail = np.full(len(degree), r, dtype=np.int64)
    head = np.full(len(degree), r, dtype=np.int64)
    owner = np.repeat(np.arange(len(degree)), degree)
    leaves = columns.data * sign[columns.indices] > 0
    tail[owner[leaves]] = columns.indices[leaves]
    head[owner[~leaves]] = columns.indices[~leaves]
    return Network(tail, head, sign)


def _neighbours(r: int, a: NDArray[Any], b: NDArray[Any], flip: Ints) -> tuple[Ints, Ints, Ints]:
    """Adjacency of the relations: where each one's begin, the neighbours, and how they turn."""
    both_a, both_b = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(both_a, kind="stable")
    start = np.searchsorted(both_a[order], np.arange(r + 1)).astype(np.int64)
    return start, both_b[order].astype(np.int64), np.concatenate([flip, flip])[order]


class FlowEngine:
    """Interval ends of the cells of a network part, by blocking flows in compiled code."""

    def __init__(self, view: View, network: Network) -> None:
        self._view, self._network = view, network
        self._arcs = half_arcs(network, view.matrix.shape[0] + 1)
        up, down = np.minimum(view.up, ENDLESS), np.minimum(view.down, ENDLESS)
        self._graph = Graph(network.tail, network.head, up, down)

    def ends(
        self,
        targets: Ints,
        signs: Ints,
        enough: Ints | None = None,
        clock: Clock = UNLIMITED,
    ) -> list[Extreme]:
        """Furthest deviation of each target in its direction; see `csp.attacker.Engine`."""
        n = len(self._graph.up)
        work = working_space(n, len(self._arcs.start) - 1)
        limits = np.full(len(targets), ENDLESS) if enough is None else np.minimum(enough, ENDLESS)
        served, reach = np.full(len(targets), -1), np.zeros(len(targets), np.int64)
        found: list[Extreme | None] = [None] * len(targets)
        # A slice of about ten million steps, so that the clock is seen in time.
        width = max(8, 10_000_000 // (n + 1))
        for first in range(0, len(targets), width):
            clock.check()
            last = min(first + width, len(targets))
            pools = KERNELS.run(
                "ends", self._arcs, self._graph, Targets(targets, signs, limits),
                first, last, served, reach, work, small=n * (last - first) <= _SMALL,
            )  # fmt: skip
            self._collect(found, pools, targets, signs, limits, served, reach)
        return [e for e in found if e is not None]

    def extreme(self, j: int, sign: int, enough: int | None = None) -> Extreme:
        """Furthest deviation of one cell; see `ends`."""
        limit = None if enough is None else np.array([enough])
        return self.ends(np.array([j]), np.array([sign]), limit)[0]

    def _collect(
        self, found: list[Extreme | None], pools: Any, targets: Ints, signs: Ints, limits: Ints,
        served: Ints, reach: Ints,
    ) -> None:  # fmt: skip
        """Turn the pools of one slice into answers."""
        begin, cells, steps, cut_begin, cut_nodes = pools
        new = np.flatnonzero(served >= 0)
        moved = np.split(cells, begin[1:-1])
        far = np.split(steps, begin[1:-1])
        room = np.where(signs > 0, self._graph.up[targets], self._graph.down[targets])
        for t in new.tolist():
            f, j, r = int(served[t]), int(targets[t]), int(reach[t])
            if r >= ENDLESS:
                found[t] = self._endless(j, int(signs[t]))
                continue
            # A flow for another target, or one that stopped where it was enough, proves no end.
            cut = cut_nodes[cut_begin[f] : cut_begin[f + 1]]
            own = min(int(room[t]), int(limits[t]))
            exact = r < own if len(cut) else r == int(room[t])
            rows, multipliers = self._proof(cut) if exact and len(cut) else (NOTHING, NOTHING)
            found[t] = Extreme(Fraction(r), moved[f], far[f], 1, rows, multipliers, 1, exact)
        served[new] = -2

    def _proof(self, cut: Ints) -> tuple[Ints, Ints]:
        """Row multipliers of a minimum cut, zero at the outside node."""
        potential = np.zeros(self._view.matrix.shape[0] + 1, np.int64)
        potential[cut] = 1
        potential -= potential[-1]
        rows = np.flatnonzero(potential[:-1])
        return rows, -potential[rows] * self._network.sign[rows]

    def _endless(self, j: int, sign: int) -> Extreme:
        ray = FlowEngine(self._view.recession(), self._network).extreme(j, sign)
        return Extreme(None, ray.moved, ray.steps, 1)


def half_arcs(network: Network, nodes: int, weights: Floats | None = None) -> HalfArcs:
    """Adjacency of a network as `csp.attacker.maxflow.push` reads it.

    Parameters
    ----------
    network : Network
    nodes : int
    weights : (k,) float64, optional
        Of the cells: half-arcs of a node begin with the cheapest.
    """
    ends = np.concatenate([network.tail, network.head])
    if weights is None:
        order = np.argsort(ends, kind="stable")
    else:
        order = np.lexsort((np.tile(weights, 2), ends))
    start = np.searchsorted(ends[order], np.arange(nodes + 1)).astype(np.int64)
    to = np.concatenate([network.head, network.tail])[order].astype(np.int64)
    return HalfArcs(start, order.astype(np.int64), to)
