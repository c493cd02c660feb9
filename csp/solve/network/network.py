"""The cells that a pattern may hide, as one network: heuristics and cuts work on it.

Only problems whose hidden cells all fit into one network have it: two-way margins, and whatever
else gives no cell more than two relations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csp.attacker.flow import ENDLESS, Network, as_network, half_arcs
from csp.attacker.maxflow import Graph
from csp.attacker.view import View
from csp.clock import Clock
from csp.exact import Bools, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import Needs
from csp.solve.network.paths import KERNELS, Suppressed, Wanted, working_space

_AT_ONCE = 16
"""Needs that are met between two looks at the clock."""

_WALKED = 200_000
"""Cells times needs at once up to which plain Python may begin: to compile takes some seconds."""

_SMALL = 10_000
"""Cells times requirements up to which plain Python takes about a tenth of a second at most."""


@dataclass(frozen=True, slots=True, eq=False)
class HiddenNetwork:
    """A problem whose hidden cells form a network.

    Attributes
    ----------
    cells : (k,) int64
        Cells that are or may be suppressed.
    rows : (r,) int64
        Their relations; node i is relation ``rows[i]``, the last node is the outside.
    network : Network
    up, down : (k,) int64
        Graph of each cell.
    needs : Needs
        Requirements; its cells are positions in `cells`.
    """

    problem: Problem
    cells: Ints
    rows: Ints
    network: Network
    up: Ints
    down: Ints
    needs: Needs

    @classmethod
    def of(cls, problem: Problem) -> HiddenNetwork | None:
        """Network of a problem; None if its hidden cells form none."""
        view = View.of(problem.table, problem.free | problem.forced)
        network = as_network(view)
        if network is None:
            return None
        place = np.full(problem.table.n_cells, -1, np.int64)
        place[view.cells] = np.arange(len(view.cells))
        # Flows are quick, and their cuts are nearly as sharp for both sides together: twice as many
        # requirements took sparse tables of 70 x 70 from 2.8 to 4.5 s.
        needs = Needs.of(problem, implied=False)
        return cls(
            problem, view.cells, view.rows, network,
            np.minimum(view.up, ENDLESS), np.minimum(view.down, ENDLESS),
            needs.at(place[needs.cell]),
        )  # fmt: skip

    @property
    def nodes(self) -> int:
        """Number of nodes, the outside included."""
        return len(self.rows) + 1

    @property
    def closed(self) -> bool:
        """Whether no cell leads to the outside."""
        outside = len(self.rows)
        return not ((self.network.tail == outside) ^ (self.network.head == outside)).any()


def suppress_paths(
    net: HiddenNetwork,
    weights: Floats,
    *,
    clock: Clock,
    begin: Bools | None = None,
) -> Bools | None:
    """Suppress cheapest paths until every requirement holds.

    Parameters
    ----------
    net : HiddenNetwork
    weights : (n,) float64
        Cost of each cell of the table, never negative.
    clock : Clock
    begin : (n,) bool, optional
        Pattern to start from.

    Returns
    -------
    (n,) bool or None
        The pattern; None if some levels cannot be reached, or the time ran out.
    """
    problem = net.problem
    # A little more for every cell prefers short paths among cheap ones.
    own = weights[net.cells]
    own = own + 1e-6 * max(1.0, float(np.median(own[own > 0])) if (own > 0).any() else 1.0)
    start, half, _ = half_arcs(net.network, net.nodes, own)
    small = len(net.cells) * min(len(net.needs), _AT_ONCE) <= _WALKED
    known = problem.forced if begin is None else problem.forced | begin
    graph = Graph(net.network.tail, net.network.head, net.up, net.down)
    lists = _suppressed(graph, net.nodes, np.flatnonzero(known[net.cells]), small=small)
    needs, work = net.needs.ordered(), working_space(len(net.cells), net.nodes)
    wanted = Wanted(needs.cell, needs.kind, needs.need)
    for at in range(0, len(needs), _AT_ONCE):
        if clock.over:
            return None
        missed = KERNELS.run(
            "construct", start, half, own, graph, wanted,
            at, min(at + _AT_ONCE, len(needs)), lists, work, small=small,
        )  # fmt: skip
        if missed >= 0:
            return None
    pattern = problem.forced.copy()
    pattern[net.cells[lists.hidden]] = True
    return pattern


def clean_paths(net: HiddenNetwork, pattern: Bools, weights: Floats) -> Bools | None:
    """Publish the cells of a pattern that no requirement misses, most expensive first.

    Returns
    -------
    (n,) bool or None
        A part of the pattern; None if the pattern itself misses a requirement.
    """
    inside = np.flatnonzero(pattern[net.cells])
    place = np.full(len(net.cells), -1, np.int64)
    place[inside] = np.arange(len(inside))
    small = len(inside) * len(net.needs) <= _SMALL
    its = net.network
    graph = Graph(its.tail[inside], its.head[inside], net.up[inside], net.down[inside])
    lists = _suppressed(graph, net.nodes, np.arange(len(inside)), small=small)
    free = np.flatnonzero(net.problem.free[net.cells[inside]])
    cells = net.cells[inside[free]]
    order = free[np.lexsort((-cells, -weights[cells]))]
    needs = net.needs.at(place[net.needs.cell])
    wanted = Wanted(needs.cell, needs.kind, needs.need)
    work = working_space(len(inside), net.nodes)
    if not KERNELS.run("clean", graph, wanted, order, lists, work, small=small):
        return None
    rest = net.problem.forced.copy()
    rest[net.cells[inside[lists.hidden]]] = True
    return rest


def _suppressed(graph: Graph, nodes: int, cells: Ints, *, small: bool) -> Suppressed:
    """Which cells are suppressed and listed, and lists of their half-arcs, as `hide` keeps them."""
    k = len(graph.tail)
    lists = Suppressed(
        np.zeros(k, dtype=bool), np.zeros(k, dtype=bool),
        np.full(nodes, -1, np.int64), np.full(2 * k, -1, np.int64),
    )  # fmt: skip
    hide = KERNELS.choose(small=small)["hide"]
    for i in cells.tolist():
        hide(i, graph, lists)
    return lists
