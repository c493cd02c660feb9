"""Patterns for networks by cheapest paths, in compiled code.

A cell of a network can move by as much as flow can be sent around it. Where the suppressed cells
do not carry enough, the cheapest path through the others is suppressed as well (Castro 2007 calls
such heuristics for positive tables shortest-path heuristics). All functions are plain Python that
numba compiles.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from csp.attacker.maxflow import Graph
from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints

KERNELS = Kernels(
    __name__, "hide", "augment", "send", "settle", "cheapest", "holds", "construct", "clean",
)  # fmt: skip


class Wanted(NamedTuple):
    """Requirements: position of the cell; 0 up, 1 down, 2 both together; units. (r,) int64 each."""

    cell: Ints
    kind: Ints
    need: Ints


class Suppressed(NamedTuple):
    """Which cells are suppressed, and lists of their half-arcs by node; read and written.

    Attributes
    ----------
    hidden, listed : (k,) bool
        Suppressed cells; cells in the lists.
    first : (nodes,) int64
    after : (2k,) int64
    """

    hidden: Bools
    listed: Bools
    first: Ints
    after: Ints


class Work(NamedTuple):
    """Graph to work in: a flow, the cells that it touched, the way that it is sent.

    Attributes
    ----------
    flow, touched : (k,), (k + 1,) int64
    seen : (k,) bool
        Which cells are in `touched` already.
    used : (2k + 2,) int64
        Cells with flow in one direction or the other.
    via, queue : (nodes,) int64
        Half-arc that leads to each node; nodes to look at.
    distance : (nodes,) float64
    """

    flow: Ints
    seen: Bools
    touched: Ints
    used: Ints
    via: Ints
    queue: Ints
    distance: Floats


def working_space(k: int, nodes: int) -> Work:
    """Return arrays for so many cells and nodes, without flow; whatever takes them leaves none."""
    return Work(
        np.zeros(k, np.int64), np.zeros(k, np.bool_), np.empty(k + 1, np.int64),
        np.empty(2 * k + 2, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64),
        np.empty(nodes, np.float64),
    )  # fmt: skip


def hide(cell: int, graph: Graph, lists: Suppressed) -> None:
    """Suppress a cell: enter its two half-arcs into the lists of suppressed ones."""
    tail, head = graph.tail, graph.head
    hidden, listed, first, after = lists
    k = len(tail)
    hidden[cell] = True
    if not listed[cell]:
        listed[cell] = True
        after[cell] = first[tail[cell]]
        first[tail[cell]] = cell
        after[k + cell] = first[head[cell]]
        first[head[cell]] = k + cell


def send(
    source: int, sink: int, banned: int, limit: int, graph: Graph, lists: Suppressed, work: Work,
    count: int,
) -> tuple[int, int]:  # fmt: skip
    """Push up to `limit` more units through suppressed cells along shortest paths.

    Returns
    -------
    pushed, count : int
        `count` is the new number of touched cells.
    """
    tail, head, up, down = graph
    hidden, first, after = lists.hidden, lists.first, lists.after
    flow, via, queue = work.flow, work.via, work.queue
    k = len(up)
    total = 0
    while total < limit:
        via[:] = -1
        via[source] = -2
        queue[0] = source
        at, last = 0, 1
        while at < last and via[sink] == -1:
            v = queue[at]
            at += 1
            h = first[v]
            while h >= 0:
                cell = h if h < k else h - k
                if hidden[cell] and cell != banned:
                    left = up[cell] - flow[cell] if h < k else down[cell] + flow[cell]
                    w = head[cell] if h < k else tail[cell]
                    if left > 0 and via[w] == -1:
                        via[w] = h
                        queue[last] = w
                        last += 1
                h = after[h]
        if via[sink] == -1:
            break
        step = limit - total
        v = sink
        while v != source:
            h = via[v]
            left = up[h] - flow[h] if h < k else down[h - k] + flow[h - k]
            step = min(step, left)
            v = tail[h] if h < k else head[h - k]
        count = augment(source, sink, step, graph, work, count)
        total += step
    return total, count


def augment(source: int, sink: int, step: int, graph: Graph, work: Work, count: int) -> int:
    """Add a step along the path that `via` holds; returns the number of touched cells."""
    tail, head = graph.tail, graph.head
    flow, seen, touched, via = work.flow, work.seen, work.touched, work.via
    k = len(tail)
    v = sink
    while v != source:
        h = via[v]
        cell = h if h < k else h - k
        flow[cell] += step if h < k else -step
        if not seen[cell]:
            seen[cell] = True
            touched[count] = cell
            count += 1
        v = tail[cell] if h < k else head[cell]
    return count


def settle(count: int, work: Work, kept: int) -> int:
    """Take all flow back; append the cells that it went through to `used`, and count these."""
    flow, seen, touched, used = work.flow, work.seen, work.touched, work.used
    for i in range(count):
        if flow[touched[i]] != 0:
            used[kept] = touched[i]
            kept += 1
        flow[touched[i]] = 0
        seen[touched[i]] = False
    return kept


def cheapest(
    source: int, sink: int, banned: int, least: int, start: Ints, half: Ints, weight: Floats,
    graph: Graph, lists: Suppressed, work: Work,
) -> int:  # fmt: skip
    """Cheapest path on which every cell can still move by `least`; suppressed cells cost nothing.

    Half-arcs of a node are in the order of their weight, so a node is left as soon as its next
    cell would lead further than the sink is known to be.

    Returns
    -------
    int
        Units that the path can carry (0 if there is none); the path is in `via`.
    """
    tail, head, up, down = graph
    hidden, first, after = lists.hidden, lists.first, lists.after
    flow, via, distance = work.flow, work.via, work.distance
    k = len(up)
    distance[:] = np.inf
    via[:] = -1
    distance[source] = 0.0
    heap = [(0.0, source)]
    while len(heap) > 0:
        far, v = heapq.heappop(heap)
        if far > distance[v]:
            continue
        if v == sink:
            break
        h = first[v]
        while h >= 0:
            cell = h if h < k else h - k
            if hidden[cell] and cell != banned:
                left = up[cell] - flow[cell] if h < k else down[cell] + flow[cell]
                w = head[cell] if h < k else tail[cell]
                if left >= least and far < distance[w]:
                    distance[w] = far
                    via[w] = h
                    heapq.heappush(heap, (far, w))
            h = after[h]
        for e in range(start[v], start[v + 1]):
            h = half[e]
            cell = h if h < k else h - k
            further = far + weight[cell]
            if further >= distance[sink]:
                break
            if hidden[cell] or cell == banned:
                continue
            w = head[cell] if h < k else tail[cell]
            if further < distance[w]:
                left = up[cell] if h < k else down[cell]
                if left >= least:
                    distance[w] = further
                    via[w] = h
                    heapq.heappush(heap, (further, w))
    if via[sink] == -1:
        return 0
    carried: int = up[0] * 0 + 2**61
    v = sink
    while v != source:
        h = via[v]
        left = up[h] - flow[h] if h < k else down[h - k] + flow[h - k]
        carried = min(carried, left)
        v = tail[h] if h < k else head[h - k]
    return carried


def construct(
    start: Ints, half: Ints, weight: Floats, graph: Graph,
    wanted: Wanted, begin: int, end: int, lists: Suppressed, work: Work,
) -> int:  # fmt: skip
    """Suppress cheapest paths until requirements ``begin .. end - 1`` hold.

    Parameters
    ----------
    start, half, weight : (nodes + 1,) int64, (2k,) int64, (k,) float64
        Half-arcs of each node in the order of their weight.
    graph : Graph
    wanted : Wanted
    begin, end : int
    lists : Suppressed
        Read and written.
    work : Work

    Returns
    -------
    int
        Number of a requirement that cannot hold; -1 if all hold.
    """
    tail, head, up, down = graph
    cell, kind, need = wanted
    hidden = lists.hidden
    k = len(up)
    via = work.via
    for r in range(begin, end):
        j = cell[r]
        todo = need[r]
        # One direction after the other; a width may be made up of both.
        for turn in range(2):
            if (kind[r] == 0 and turn == 1) or (kind[r] == 1 and turn == 0):
                continue
            limit = min(todo, up[j] if turn == 0 else down[j])
            if kind[r] == 2 and turn == 0 and tail[j] != head[j]:
                # What the suppressed cells give downwards need not be bought upwards.
                given, count = send(tail[j], head[j], j, min(todo, down[j]), graph, lists, work, 0)
                settle(count, work, 0)
                limit = min(limit, max(todo - given, 0))
            if tail[j] == head[j]:
                todo -= limit
                continue
            source, sink = (head[j], tail[j]) if turn == 0 else (tail[j], head[j])
            pushed, count = send(source, sink, j, limit, graph, lists, work, 0)
            while pushed < limit:
                least = limit - pushed
                carried = cheapest(source, sink, j, least, start, half, weight, graph, lists, work)
                if carried == 0 and least > 1:
                    carried = cheapest(source, sink, j, 1, start, half, weight, graph, lists, work)
                if carried == 0:
                    break
                step = min(carried, limit - pushed)
                v = sink
                while v != source:
                    h = via[v]
                    c = h if h < k else h - k
                    if not hidden[c]:
                        hide(c, graph, lists)
                    v = tail[c] if h < k else head[c]
                count = augment(source, sink, step, graph, work, count)
                pushed += step
            todo -= pushed
            settle(count, work, 0)
            if kind[r] != 2:
                break
        # Downwards counted before, or upwards only now: a width is measured anew.
        if todo > 0 and (kind[r] != 2 or holds(j, kind[r], need[r], graph, lists, work) < 0):
            return r
    return -1


def holds(j: int, kind: int, need: int, graph: Graph, lists: Suppressed, work: Work) -> int:
    """Find cells (into `used`) that show a requirement to hold; their number, or -1."""
    tail, head, up, down = graph
    todo = need
    kept = 0
    for turn in range(2):
        if (kind == 0 and turn == 1) or (kind == 1 and turn == 0) or todo <= 0:
            continue
        limit = min(todo, up[j] if turn == 0 else down[j])
        if tail[j] == head[j]:
            todo -= limit
            continue
        source, sink = (head[j], tail[j]) if turn == 0 else (tail[j], head[j])
        pushed, count = send(source, sink, j, limit, graph, lists, work, 0)
        todo -= pushed
        kept = settle(count, work, kept)
    return kept if todo <= 0 else -1


def clean(graph: Graph, wanted: Wanted, order: Ints, lists: Suppressed, work: Work) -> bool:
    """Publish cells in the given order where every requirement still holds.

    Each requirement keeps the cells of a flow that shows that it holds; only those that use a
    cell are looked at when it goes.

    Parameters
    ----------
    order : (s,) int64
        Cells to try.

    Returns
    -------
    bool
        False if some requirement did not hold from the start; then nothing is changed.
    """
    cell, kind, need = wanted
    hidden = lists.hidden
    used = work.used
    uses = [used[:0].copy() for _ in range(len(cell))]
    for trial in range(-1, len(order)):
        if trial >= 0:
            hidden[order[trial]] = False
        again = [(0, used[:0].copy()) for _ in range(0)]
        holding = True
        for r in range(len(cell)):
            if trial >= 0 and order[trial] not in uses[r]:
                continue
            kept = holds(cell[r], kind[r], need[r], graph, lists, work)
            if kept < 0:
                holding = False
                break
            again.append((r, used[:kept].copy()))
        if holding:
            for r, cells in again:
                uses[r] = cells
        elif trial < 0:
            return False
        else:
            hidden[order[trial]] = True
    return True
