"""Integer maximum flows in compiled code: one push, the interval ends of many cells, orientation.

All functions are plain Python that numba compiles; run uncompiled they are the oracle of the
compiled ones. A cell is an arc between two nodes; half-arc h < k leaves the tail of cell h,
half-arc h >= k leaves the head of cell h - k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from csp.compiled import Kernels
from csp.exact import Bools, Ints

KERNELS = Kernels(__name__, "push", "grown", "ends", "orient")


class Graph(NamedTuple):
    """Cells as arcs from tail to head, and how far each may move up and down: (k,) int64 each."""

    tail: Ints
    head: Ints
    up: Ints
    down: Ints


class HalfArcs(NamedTuple):
    """Adjacency of a network.

    Attributes
    ----------
    start : (nodes + 1,) int64
        Half-arcs of node v are ``half[start[v]:start[v + 1]]``.
    half, to : (2k,) int64
        Half-arcs and the node that each leads to.
    """

    start: Ints
    half: Ints
    to: Ints


class Targets(NamedTuple):
    """Cells that are to move, no cell twice in one direction; (t,) int64 each.

    Attributes
    ----------
    cell, sign
        Positions among the cells, and directions (1 or -1).
    enough
        Units after which a target need not be followed.
    """

    cell: Ints
    sign: Ints
    enough: Ints


class Work(NamedTuple):
    """A flow so far, and room to work in.

    Attributes
    ----------
    flow : (k,) int64
    touched : (k + 1,) int64
        Cells whose flow was changed.
    seen : (k,) bool
        Which cells are in `touched` already.
    scratch : (5, nodes) int64
        After a push short of its limit, ``scratch[0] >= 0`` is the source side of a minimum cut.
    """

    flow: Ints
    touched: Ints
    seen: Bools
    scratch: Ints


def working_space(k: int, nodes: int) -> Work:
    """Return a flow of nothing among so many cells and nodes; what takes it leaves it so."""
    return Work(
        np.zeros(k, np.int64), np.empty(k + 1, np.int64), np.zeros(k, np.bool_),
        np.empty((5, nodes), np.int64),
    )  # fmt: skip


def push(
    arcs: HalfArcs, up: Ints, down: Ints, work: Work,
    source: int, sink: int, banned: int, limit: int, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Push up to `limit` units from source to sink by Dinic's method, without cell `banned`.

    Parameters
    ----------
    arcs : HalfArcs
    up, down : (k,) int64
        Capacities of the cells forwards and backwards.
    work : Work
        Read and written: the flow so far, and the cells whose flow was changed.
    source, sink, banned, limit : int
        `banned` may be -1 for none.
    count : int
        Cells in ``work.touched`` so far.

    Returns
    -------
    pushed, count : int
    """
    start, half, to = arcs
    flow, touched, seen, scratch = work
    k = len(up)
    nodes = len(start) - 1
    level, queue, at, via, path = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    total = 0
    while total < limit:
        for v in range(nodes):
            level[v] = -1
            at[v] = start[v]
        level[source] = 0
        queue[0] = source
        first, last = 0, 1
        while first < last and level[sink] < 0:
            v = queue[first]
            first += 1
            for e in range(start[v], start[v + 1]):
                w = to[e]
                if level[w] >= 0:
                    continue
                h = half[e]
                cell = h if h < k else h - k
                left = up[cell] - flow[cell] if h < k else down[cell] + flow[cell]
                if left > 0 and cell != banned:
                    level[w] = level[v] + 1
                    queue[last] = w
                    last += 1
        if level[sink] < 0:
            return total, count
        depth = 0
        v = source
        while total < limit:
            if v == sink:
                step = limit - total
                for d in range(depth):
                    h = via[d]
                    left = up[h] - flow[h] if h < k else down[h - k] + flow[h - k]
                    step = min(step, left)
                for d in range(depth):
                    h = via[d]
                    cell = h if h < k else h - k
                    flow[cell] += step if h < k else -step
                    if not seen[cell]:
                        seen[cell] = True
                        touched[count] = cell
                        count += 1
                total += step
                depth = 0
                v = source
                continue
            moved = False
            while at[v] < start[v + 1]:
                e = at[v]
                h = half[e]
                cell = h if h < k else h - k
                left = up[cell] - flow[cell] if h < k else down[cell] + flow[cell]
                if left > 0 and level[to[e]] == level[v] + 1 and cell != banned:
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
    return total, count


def grown(array: Ints, used: int, needed: int) -> Ints:
    """Return the array, or a longer one that begins with what is used of it."""
    size = len(array)
    if needed <= size:
        return array
    while size < needed:
        size *= 2
    longer = np.empty(size, np.int64)
    longer[:used] = array[:used]
    return longer


def ends(
    arcs: HalfArcs, graph: Graph, targets: Targets, first: int, last: int, served: Ints,
    reach: Ints, work: Work,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:  # fmt: skip
    """Find how far each of the targets ``first .. last - 1`` can move in its direction.

    A flow found for one target also serves every other target that it moves far enough.

    Parameters
    ----------
    arcs : HalfArcs
    graph : Graph
    targets : Targets
    first, last : int
    served : (t,) int64
        Read and written: number of the flow (within this call) that serves a target; -1 for
        none yet, -2 for one that an earlier call has served.
    reach : (t,) int64
        Written: how far each target moves.
    work : Work

    Returns
    -------
    begin : (flows + 1,) int64
        Flow f moves the cells ``cells[begin[f]:begin[f + 1]]`` by `steps`.
    cells, steps : int64 arrays
    cut_begin : (flows + 1,) int64
        Nodes on the source side of the cut that proves flow f maximal; empty if none is needed.
    cut_nodes : int64 array
    """
    tail, head, up, down = graph
    target, signs, enough = targets
    k, nodes = len(up), len(arcs.start) - 1
    flow, touched, seen, scratch = work
    number = np.full((2, k), -1, np.int64)
    for t in range(len(target)):
        number[0 if signs[t] > 0 else 1, target[t]] = t
    begin = np.zeros(last - first + 1, np.int64)
    cut_begin = np.zeros(last - first + 1, np.int64)
    cells = np.empty(64, np.int64)
    steps = np.empty(64, np.int64)
    cut_nodes = np.empty(64, np.int64)
    flows, used, cut_used = 0, 0, 0
    for t in range(first, last):
        if served[t] != -1:
            continue
        j, sign = target[t], signs[t]
        limit = min(up[j] if sign > 0 else down[j], enough[t])
        count = 0
        pushed = limit
        if tail[j] != head[j]:
            source, sink = (head[j], tail[j]) if sign > 0 else (tail[j], head[j])
            pushed, count = push(arcs, up, down, work, source, sink, j, limit, count)
            if pushed < limit:
                cut_nodes = grown(cut_nodes, cut_used, cut_used + nodes)
                for v in range(nodes):
                    if scratch[0, v] >= 0:
                        cut_nodes[cut_used] = v
                        cut_used += 1
        flow[j] = sign * pushed
        touched[count] = j
        count += 1
        cells, steps = grown(cells, used, used + count), grown(steps, used, used + count)
        for i in range(count):
            cell = touched[i]
            if flow[cell] != 0:
                cells[used] = cell
                steps[used] = flow[cell]
                used += 1
                other = number[0 if flow[cell] > 0 else 1, cell]
                if other >= 0 and served[other] == -1 and abs(flow[cell]) >= enough[other]:
                    served[other] = flows
                    reach[other] = abs(flow[cell])
            flow[cell] = 0
            seen[cell] = False
        served[t] = flows
        reach[t] = pushed
        flows += 1
        begin[flows] = used
        cut_begin[flows] = cut_used
    return (
        begin[: flows + 1],
        cells[:used],
        steps[:used],
        cut_begin[: flows + 1],
        cut_nodes[:cut_used],
    )


def orient(start: Ints, neighbour: Ints, turn: Ints, sign: Ints) -> bool:
    """Find signs of nodes with ``sign[a] * turn == sign[b]`` on every edge.

    Parameters
    ----------
    start : (nodes + 1,) int64
    neighbour, turn : (2e,) int64
        Edges of node v are ``start[v] .. start[v + 1] - 1``.
    sign : (nodes,) int64
        All zero; written.

    Returns
    -------
    bool
        False if there are no such signs.
    """
    stack = np.empty(len(sign) + 1, np.int64)
    for root in range(len(sign)):
        if sign[root] != 0:
            continue
        sign[root] = 1
        stack[0] = root
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            for k in range(start[node], start[node + 1]):
                wanted = sign[node] * turn[k]
                other = neighbour[k]
                if sign[other] == 0:
                    sign[other] = wanted
                    stack[size] = other
                    size += 1
                elif sign[other] != wanted:
                    return False
    return True
