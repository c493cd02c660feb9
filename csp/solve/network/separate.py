"""Requirements that a point misses on a network, by maximum flows in compiled code.

Separation on a network is exact: a requirement is missed if and only if a minimum cut on the
suppressed share of the cells says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from csp.attacker import maxflow
from csp.attacker.flow import Network, half_arcs
from csp.attacker.maxflow import Graph, HalfArcs, Work, push, working_space
from csp.clock import Clock
from csp.compiled import Kernels
from csp.exact import Floats, Ints
from csp.solve.cuts import CutFactory, Side
from csp.solve.network.network import HiddenNetwork
from csp.solve.network.node_cuts import Arcs
from csp.solve.network.paths import Wanted

KERNELS = Kernels(__name__, "reach_sink", "find_misses", given=maxflow.KERNELS)

_SMALL = 20_000
"""Cells times requirements up to which plain Python takes about a tenth of a second at most."""

_SUPPORT = 1e-9


def find_misses(
    arcs: HalfArcs, graph: Graph, share: Ints, one: int, wanted: Wanted, work: Work, begin: int,
    end: int, most: int,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:  # fmt: skip
    """Find the requirements among ``begin .. end - 1`` that a point misses.

    Parameters
    ----------
    arcs, graph
        The support.
    share : (k,) int64
        The point, in parts of `one`. If `one` is 1 the point is a pattern and cells move by all
        their room; otherwise no cell counts for more than the need.
    one : int
    wanted : Wanted
    work : Work
    begin, end : int
    most : int
        Stop after this many.

    Returns
    -------
    missed, sides : (v,) int64
        Requirement, and direction of each of its cuts (1 or -1); a width missed has two entries.
    cut_begin : (v + 1,) int64
    near : (v,) int64
    cut_nodes : int64 array
        Source sides of two minimum cuts, the one nearest to the source (from ``cut_begin[v]`` to
        ``near[v]``) and the one nearest to the sink (from there to ``cut_begin[v + 1]``); both
        are empty where the cell's own room is the limit.
    """
    tail, head, up, down = graph
    cell, kind, need = wanted
    k, nodes = len(up), len(arcs.start) - 1
    flow, touched, seen, scratch = work
    most_up, most_down = np.empty(k, np.int64), np.empty(k, np.int64)
    missed = np.empty(2 * (end - begin), np.int64)
    sides = np.empty(2 * (end - begin), np.int64)
    cut_begin = np.zeros(2 * (end - begin) + 1, np.int64)
    near = np.zeros(2 * (end - begin), np.int64)
    cut_nodes = np.empty(64, np.int64)
    found, used, violated = 0, 0, 0
    last_need = -1
    for r in range(begin, end):
        if violated >= most:
            break
        j = cell[r]
        if one == 1:
            if last_need < 0:
                for i in range(k):
                    most_up[i], most_down[i] = up[i] * share[i], down[i] * share[i]
        elif need[r] != last_need:
            for i in range(k):
                most_up[i] = min(up[i], need[r]) * share[i]
                most_down[i] = min(down[i], need[r]) * share[i]
        last_need = need[r]
        todo = need[r] * one
        before, before_used = found, used
        for turn in range(2):
            if (kind[r] == 0 and turn == 1) or (kind[r] == 1 and turn == 0) or todo <= 0:
                continue
            limit = min(todo, most_up[j] if turn == 0 else most_down[j])
            pushed = limit
            source, sink = (head[j], tail[j]) if turn == 0 else (tail[j], head[j])
            if source != sink:
                pushed, count = push(arcs, most_up, most_down, work, source, sink, j, limit, 0)
                if pushed < limit:
                    while used + 2 * nodes > len(cut_nodes):
                        wider = np.empty(2 * len(cut_nodes), np.int64)
                        wider[:used] = cut_nodes[:used]
                        cut_nodes = wider
                    for v in range(nodes):
                        if scratch[0, v] >= 0:
                            cut_nodes[used] = v
                            used += 1
                    near[found] = used
                    reach_sink(arcs, most_up, most_down, work, sink, j)
                    for v in range(nodes):
                        if scratch[0, v] < 0:
                            cut_nodes[used] = v
                            used += 1
                for i in range(count):
                    flow[touched[i]] = 0
                    seen[touched[i]] = False
            if pushed == limit:
                near[found] = used
            missed[found] = r
            sides[found] = 1 if turn == 0 else -1
            found += 1
            cut_begin[found] = used
            todo -= pushed
        # Rounding of shares may lose one part for each cell of a cut.
        if todo <= (0 if one == 1 else k):
            found, used = before, before_used
        else:
            violated += 1
    return missed[:found], sides[:found], cut_begin[: found + 1], near[:found], cut_nodes[:used]


def reach_sink(arcs: HalfArcs, up: Ints, down: Ints, work: Work, sink: int, banned: int) -> None:
    """Mark the nodes from which more could still flow to the sink: 0 in ``scratch[0]``, else -1."""
    start, half, to = arcs
    flow, level, queue = work.flow, work.scratch[0], work.scratch[1]
    k = len(up)
    level[:] = -1
    level[sink] = 0
    queue[0] = sink
    at, last = 0, 1
    while at < last:
        v = queue[at]
        at += 1
        for e in range(start[v], start[v + 1]):
            w = to[e]
            h = half[e]
            cell = h if h < k else h - k
            # The half-arc leads from v to w; what matters is the room from w to v.
            left = down[cell] + flow[cell] if h < k else up[cell] - flow[cell]
            if level[w] < 0 and left > 0 and cell != banned:
                level[w] = 0
                queue[last] = w
                last += 1


class FlowSeparator:
    """Finds violated capacity cuts of a problem that is a network; see `Separator`.

    Parameters
    ----------
    net : HiddenNetwork
    cutter : CutFactory
    compact : bool
        Whether cuts are kept as nodes rather than cell by cell (see `csp.solve.network.node_cuts`).
    """

    def __init__(self, net: HiddenNetwork, cutter: CutFactory, *, compact: bool = False) -> None:
        self._net, self._cutter = net, cutter
        largest = int(net.needs.need.max(initial=1))
        arcs = Arcs(net) if compact else None
        self._arcs = arcs if arcs is not None and largest <= arcs.largest_level else None
        self._one = 1 << max(0, min(20, 58 - largest.bit_length()))
        self._closed = net.closed
        self.solved = 0

    def misses(
        self, x: Floats, *, whole: bool, clock: Clock, most: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Find the requirements that a point misses; see `Separator.misses`."""
        net = self._net
        support = np.flatnonzero(x[net.cells] > _SUPPORT)
        place = np.full(len(net.cells), -1, np.int64)
        place[support] = np.arange(len(support))
        network = Network(net.network.tail[support], net.network.head[support], net.network.sign)
        one = 1 if whole else self._one
        share = np.floor(np.clip(x[net.cells[support]], 0, 1) * one + 0.5 / self._one)
        needs = net.needs.at(place[net.needs.cell])
        fixed = (
            half_arcs(network, net.nodes),
            Graph(network.tail, network.head, net.up[support], net.down[support]),
            share.astype(np.int64), one, Wanted(needs.cell, needs.kind, needs.need),
            working_space(len(support), net.nodes),
        )  # fmt: skip
        out: list[tuple[Any, ...]] = []
        width = max(16, 20_000_000 // (len(support) + net.nodes))
        for begin in range(0, len(needs), width):
            if clock.over or (most is not None and len(out) >= most):
                break
            end = min(begin + width, len(needs))
            left = end - begin if most is None else most - len(out)
            self.solved += end - begin
            small = len(support) * (end - begin) <= _SMALL
            found = KERNELS.run("find_misses", *fixed, begin, end, left, small=small)
            out += self._cuts(x, found, clock, whole=whole)
        return out

    def _cuts(self, x: Floats, found: Any, clock: Clock, *, whole: bool) -> list[tuple[Any, ...]]:
        missed, signs, cut_begin, near, cut_nodes = found
        net, out = self._net, []
        sides: tuple[list[Any], list[Any]] = ([], [])
        among = (x,) if self._arcs is None else (x, self._arcs.support(x))
        for v, r in enumerate(missed.tolist()):
            borders = (cut_begin[v], near[v], cut_begin[v + 1])
            for side, begin, end in zip(sides, borders, borders[1:], strict=False):
                side.append((int(signs[v]), *self._potential(cut_nodes[begin:end])))
            if v + 1 < len(missed) and missed[v + 1] == r:
                continue
            if clock.over:
                break
            cuts = []
            for side in sides:
                cut = self._cut(int(net.needs.cell[r]), int(net.needs.need[r]), side)
                if cut is not None and cut.slack(*among) < -1e-6:
                    cuts.append(cut)
            sides = ([], [])
            # Shares are rounded down: a point may seem to miss a little, which no cut confirms.
            if cuts or whole:
                out.append(tuple(cuts))
        return out

    def _cut(self, p: int, need: int, sides: list[tuple[int, int, Ints]]) -> Any:
        """Cut of some directions, each with a sign and its nodes; see `Arcs.cut`."""
        if self._arcs is not None:
            return self._arcs.cut(p, need, sides)
        net = self._net
        as_rows: list[Side] = [
            (direction, net.rows[nodes], sign * net.network.sign[nodes], 1)
            for direction, sign, nodes in sides
        ]
        return self._cutter.capacity(int(net.cells[p]), need, as_rows)

    def _potential(self, cut: Ints) -> tuple[int, Ints]:
        """Sign and nodes of a cut, by its smaller side where both will do."""
        inside = np.zeros(self._net.nodes, dtype=bool)
        inside[cut] = True
        outside = inside[-1]
        if self._closed:
            inside[-1] = False
            outside = 2 * int(inside.sum()) > self._net.nodes - 1
        if outside:
            return 1, np.flatnonzero(~inside[:-1])
        return -1, np.flatnonzero(inside[:-1])
