"""Walk through all consistent tables along the vectors of the integer kernel.

Minami and Abe (2019), Section 3.2: every solution is a fixed one plus an integer combination of
kernel vectors. Coefficients are chosen one after the other, depth first, each within the range that
the bounds of the cells leave it. The functions are plain Python that numba compiles (`KERNELS`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attacks.fibre.kernel_basis import check_whole
from attacks.fibre.projections import echelon, project
from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.exact import Ints

DEPTH, NODES, KEPT = 0, 1, 2

_FEW_NODES, _FEW_ENTRIES = 100, 1000
"""Nodes, and entries of inequalities, that plain Python goes through in a hundredth of a second."""

_FAR = np.int64(2**62)


class Walk(NamedTuple):
    """All tables ``x + sum_j lambda_j b_j`` within bounds, and where a walk through them stands."""

    basis: Ints  # (d, k) echelon basis of the kernel, one vector a row
    points: Ints  # (d, k) the table before each coefficient is chosen
    chosen: Ints  # (d,) next value of each coefficient
    last: Ints  # (d,) its last value
    left: Ints  # (m, d) this and the next two bound each coefficient; see `Bounds`
    right: Ints  # (m,)
    begin: Ints  # (d + 1,)
    kept: Ints  # (c, k) tables found
    state: Ints  # (3,) depth (-1: over), nodes, rows of `kept` in use


def set_range(w: Walk, t: int) -> bool:
    """Range of a coefficient, once the ones before it are chosen; False if it is empty.

    The next values are one further than the ones chosen.
    """
    low, high = -_FAR, _FAR
    for i in range(w.begin[t], w.begin[t + 1]):
        rest = w.right[i]
        for j in range(t):
            rest -= w.left[i, j] * (w.chosen[j] - 1)
        v = w.left[i, t]
        if v > 0:
            high = min(high, rest // v)
        else:
            low = max(low, -(rest // -v))
    w.chosen[t] = low
    w.last[t] = high
    return bool(low <= high)


def walk(w: Walk, nodes: int) -> None:
    """Go on for some nodes, or until `kept` is full or the walk is over."""
    final = len(w.basis) - 1
    if final < 0 and w.state[DEPTH] == 0:
        w.kept[0] = w.points[0]
        w.state[KEPT] = 1
        w.state[DEPTH] = -1
    end = w.state[NODES] + nodes
    while w.state[DEPTH] >= 0 and w.state[NODES] < end:
        t = w.state[DEPTH]
        if t == final:
            while w.chosen[t] <= w.last[t]:
                if w.state[KEPT] == len(w.kept):
                    return
                w.kept[w.state[KEPT]] = w.points[t] + w.chosen[t] * w.basis[t]
                w.state[KEPT] += 1
                w.chosen[t] += 1
            w.state[DEPTH] = t - 1
            continue
        if w.chosen[t] > w.last[t]:
            w.state[DEPTH] = t - 1
            continue
        w.state[NODES] += 1
        w.points[t + 1] = w.points[t] + w.chosen[t] * w.basis[t]
        w.chosen[t] += 1
        if set_range(w, t + 1):
            w.state[DEPTH] = t + 1


def start(
    vectors: Ints, origin: Ints, lower: Ints, upper: Ints, kept: int, clock: Clock = UNLIMITED
) -> Walk:
    """Walk from its beginning; it is over (depth -1) if there is no table for certain.

    `vectors` (k, d) are a basis of the integer kernel; `origin` satisfies the relations, within
    the bounds, which are finite, or not. The walk pauses when `kept` tables are collected.

    Raises
    ------
    InputError
        If numbers are so large that 64 bits do not hold what is computed with them.
    CertificateError
        If the basis does not generate the whole kernel.
    OutOfTime
        If the time runs out first.
    """
    check_whole(vectors)
    narrow_first = np.argsort(upper - lower, kind="stable")
    basis = echelon(vectors, narrow_first.tolist())
    clock.check("the kernel was in echelon form")
    bounds = project(basis, origin, lower, upper, clock)
    d, k = len(basis), len(origin)
    points = np.zeros((max(d, 1), k), dtype=np.int64)
    points[0] = origin
    search = Walk(
        np.array(basis, dtype=np.int64).reshape(d, k), points, np.zeros(d, dtype=np.int64),
        np.zeros(d, dtype=np.int64), bounds.left, bounds.right, bounds.start,
        np.zeros((kept, k), dtype=np.int64), np.zeros(3, dtype=np.int64),
    )  # fmt: skip
    if not bounds.possible or (d and not set_range(search, 0)):
        search.state[DEPTH] = -1
    return search


def go_on(search: Walk, nodes: int) -> None:
    """Walk on until it is over, `kept` is full, or `nodes` nodes have been seen.

    A small walk goes on uncompiled as long as that pays, a few nodes at a time.
    """
    small = search.left.size <= _FEW_ENTRIES
    KERNELS.run("walk", search, min(nodes, _FEW_NODES) if small else nodes, small=small)


def tables_of(search: Walk, nodes: int, clock: Clock) -> Iterator[Ints]:
    """Yield the tables of a walk in blocks (t, k); between them it goes on for some nodes.

    Raises
    ------
    OutOfTime
        If the time runs out first.
    """
    while search.state[DEPTH] >= 0:
        clock.check("every table was listed")
        go_on(search, nodes)
        count = int(search.state[KEPT])
        if count:
            yield search.kept[:count].copy()
            search.state[KEPT] = 0


KERNELS = Kernels(__name__, "set_range", "walk")
