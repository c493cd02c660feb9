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

from csp.attacker.view import Extreme, View

__all__ = ["FlowEngine", "Network", "as_network", "max_flow_plain"]

# Capacity that stands for none: twice it still fits int64, so residuals cannot overflow.
ENDLESS = 2**60


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

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    sign: NDArray[np.int64]


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
    sign = _orient(r, a, b, flip)
    if sign is None:
        return None
    tail = np.full(len(degree), r, dtype=np.int64)
    head = np.full(len(degree), r, dtype=np.int64)
    owner = np.repeat(np.arange(len(degree)), degree)
    leaves = columns.data * sign[columns.indices] > 0
    tail[owner[leaves]] = columns.indices[leaves]
    head[owner[~leaves]] = columns.indices[~leaves]
    return Network(tail, head, sign)


def _orient(
    r: int, a: NDArray[Any], b: NDArray[Any], flip: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Signs of r nodes with sign[a] * flip == sign[b] on every edge, or None."""
    sign = np.zeros(r, dtype=np.int64)
    both_a, both_b = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(both_a, kind="stable")
    neighbour, turn = both_b[order], np.concatenate([flip, flip])[order]
    start = np.searchsorted(both_a[order], np.arange(r + 1))
    for root in range(r):
        if sign[root]:
            continue
        sign[root] = 1
        queue = [root]
        while queue:
            node = queue.pop()
            for k in range(start[node], start[node + 1]):
                wanted = sign[node] * turn[k]
                other = int(neighbour[k])
                if sign[other] == 0:
                    sign[other] = wanted
                    queue.append(other)
                elif sign[other] != wanted:
                    return None
    return sign


class FlowEngine:
    """Interval ends of the cells of a network part, by blocking flows in compiled code."""

    def __init__(self, view: View, network: Network) -> None:
        self._view, self._network = view, network
        nodes = view.matrix.shape[0] + 1
        ends = np.concatenate([network.tail, network.head])
        order = np.argsort(ends, kind="stable")
        k = len(network.tail)
        # Half-arc h < k leaves the tail of cell h; h >= k leaves the head of cell h - k.
        self._start = np.searchsorted(ends[order], np.arange(nodes + 1)).astype(np.int64)
        self._half = order.astype(np.int64)
        self._to = np.concatenate([network.head, network.tail])[order].astype(np.int64)
        self._nodes, self._k = nodes, k
        self._up, self._down = np.minimum(view.up, ENDLESS), np.minimum(view.down, ENDLESS)

    def extreme(self, j: int, sign: int, enough: int | None = None) -> Extreme:
        """Furthest deviation of cell j up (sign=1) or down (sign=-1); see `Extreme`.

        The search stops at `enough` units, and is then not exact.
        """
        view, network = self._view, self._network
        own = int(self._up[j] if sign > 0 else self._down[j])
        if enough is not None and enough < own:
            own = stopped_at = enough
        else:
            stopped_at = -1
        free = network.tail[j] == network.head[j]
        flow = np.zeros(self._k, dtype=np.int64)
        multipliers = np.zeros(len(view.rows), dtype=np.int64)
        if free:
            reach = own
        else:
            source, sink = network.head[j], network.tail[j]
            if sign < 0:
                source, sink = sink, source
            reached = np.zeros(self._nodes, dtype=np.bool_)
            reach = int(
                _compiled()(
                    self._start, self._half, self._to, self._up, self._down, flow,
                    int(source), int(sink), j, own, reached,
                )
            )  # fmt: skip
            if reach < own:
                potential = reached.astype(np.int64)
                potential -= potential[-1]
                multipliers = -potential[:-1] * network.sign
        if reach >= ENDLESS:
            ray = FlowEngine(self._view.recession(), self._network).extreme(j, sign)
            return Extreme(None, ray.witness, 1, None, 1, exact=False)
        flow[j] = sign * reach
        if reach == stopped_at:
            return Extreme(Fraction(reach), flow, 1, None, 1, exact=False)
        return Extreme(Fraction(reach), flow, 1, multipliers, 1, exact=True)


_kernel: Any = None


def _compiled() -> Any:
    """Compile `max_flow_plain` once; numba caches it on disk."""
    global _kernel
    if _kernel is None:
        import numba

        _kernel = numba.njit(cache=True)(max_flow_plain)
    return _kernel


def max_flow_plain(
    start: NDArray[np.int64],
    half: NDArray[np.int64],
    to: NDArray[np.int64],
    up: NDArray[np.int64],
    down: NDArray[np.int64],
    flow: NDArray[np.int64],
    source: int,
    sink: int,
    banned: int,
    limit: int,
    reached: NDArray[np.bool_],
) -> int:
    """Push up to `limit` units from source to sink by Dinic's method, without cell `banned`.

    Plain Python that numba compiles; run uncompiled it is the oracle of the compiled version.

    Parameters
    ----------
    start : (nodes + 1,) int64
        Half-arcs of node v are ``half[start[v]:start[v + 1]]``.
    half, to : (2k,) int64
        Half-arc h < k is cell h forwards, h >= k is cell h - k backwards; `to` is its end.
    up, down : (k,) int64
        Capacities of the cells forwards and backwards.
    flow : (k,) int64
        Written: the flow found.
    source, sink, banned, limit : int
    reached : (nodes,) bool
        Written if the limit is not reached: the source side of a minimum cut.

    Returns
    -------
    int
        Units pushed.
    """
    k = len(up)
    nodes = len(start) - 1
    level = np.empty(nodes, dtype=np.int64)
    queue = np.empty(nodes, dtype=np.int64)
    at = np.empty(nodes, dtype=np.int64)
    via = np.empty(nodes, dtype=np.int64)
    path = np.empty(nodes, dtype=np.int64)
    total = 0
    while total < limit:
        for v in range(nodes):
            level[v] = -1
            at[v] = start[v]
        level[source] = 0
        queue[0] = source
        first, last = 0, 1
        while first < last:
            v = queue[first]
            first += 1
            for e in range(start[v], start[v + 1]):
                h = half[e]
                cell = h if h < k else h - k
                left = up[cell] - flow[cell] if h < k else down[cell] + flow[cell]
                if cell != banned and left > 0 and level[to[e]] < 0:
                    level[to[e]] = level[v] + 1
                    queue[last] = to[e]
                    last += 1
        if level[sink] < 0:
            for v in range(nodes):
                reached[v] = level[v] >= 0
            return total
        depth = 0
        v = source
        while total < limit:
            if v == sink:
                push = limit - total
                for d in range(depth):
                    h = via[d]
                    left = up[h] - flow[h] if h < k else down[h - k] + flow[h - k]
                    push = min(push, left)
                for d in range(depth):
                    h = via[d]
                    if h < k:
                        flow[h] += push
                    else:
                        flow[h - k] -= push
                total += push
                depth = 0
                v = source
                continue
            moved = False
            while at[v] < start[v + 1]:
                e = at[v]
                h = half[e]
                cell = h if h < k else h - k
                left = up[cell] - flow[cell] if h < k else down[cell] + flow[cell]
                if cell != banned and left > 0 and level[to[e]] == level[v] + 1:
                    via[depth] = h
                    path[depth] = v
                    depth += 1
                    v = to[e]
                    moved = True
                    break
                at[v] += 1
            if not moved:
                if v == source:
                    break
                depth -= 1
                v = path[depth]
                at[v] += 1
    return total
