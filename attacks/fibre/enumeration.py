"""Depth-first search over the whole-number solutions of any relations, with narrowing ranges.

Each cell has a range; relations narrow it (interval propagation), and the cell with the fewest
values left is tried next. The functions are plain Python that numba compiles (`KERNELS`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels

__all__ = ["DEPTH", "KEPT", "NODES", "System", "go_on", "start"]

DEPTH, NODES, KEPT = 0, 1, 2

_FEW_CELLS, _FEW_VALUES, _FEW_NODES = 25, 1000, 100
"""Sizes up to which plain Python takes about a tenth of a second."""


class System(NamedTuple):
    """Relations ``M x = b`` over k cells, and where a search stands.

    Attributes
    ----------
    row_start, row_cell, row_value : CSR arrays of M
    cell_start, cell_row : rows of each cell
    right : (r,) int64
    ranges : (d, 2, k) int64
        Least and largest value of each cell, at each depth.
    branch : (d, 2) int64
        Cell tried at each depth, and its next value.
    kept : (c, k) int64
        Solutions found.
    queue : (r + 1,) int64
    queued : (r,) bool
    state : (3,) int64
        Depth (-1: over), nodes, rows of `kept` in use.
    """

    row_start: NDArray[np.int64]
    row_cell: NDArray[np.int64]
    row_value: NDArray[np.int64]
    cell_start: NDArray[np.int64]
    cell_row: NDArray[np.int64]
    right: NDArray[np.int64]
    ranges: NDArray[np.int64]
    branch: NDArray[np.int64]
    kept: NDArray[np.int64]
    queue: NDArray[np.int64]
    queued: NDArray[np.bool_]
    state: NDArray[np.int64]


def narrow(s: System, depth: int, first: int) -> bool:
    """Narrow all ranges at a depth after a change of cell `first` (-1: of all).

    False if a range is empty.
    """
    low, high = s.ranges[depth, 0], s.ranges[depth, 1]
    size = len(s.queue)
    head, count = 0, 0
    if first < 0:
        for r in range(len(s.right)):
            s.queue[count] = r
            s.queued[r] = True
            count += 1
    else:
        for i in range(s.cell_start[first], s.cell_start[first + 1]):
            s.queue[count] = s.cell_row[i]
            s.queued[s.cell_row[i]] = True
            count += 1
    good = True
    while count > 0:
        r = s.queue[head]
        head = head + 1 if head + 1 < size else 0
        count -= 1
        s.queued[r] = False
        if not good:
            continue
        # What the other cells of the row leave: right side less their least and largest sum.
        least, most = np.int64(0), np.int64(0)
        for i in range(s.row_start[r], s.row_start[r + 1]):
            c, v = s.row_cell[i], s.row_value[i]
            if v > 0:
                least += v * low[c]
                most += v * high[c]
            else:
                least += v * high[c]
                most += v * low[c]
        if least > s.right[r] or most < s.right[r]:
            good = False
            continue
        for i in range(s.row_start[r], s.row_start[r + 1]):
            c, v = s.row_cell[i], s.row_value[i]
            if v > 0:
                top = s.right[r] - (least - v * low[c])
                bottom = s.right[r] - (most - v * high[c])
            else:
                top = s.right[r] - (least - v * high[c])
                bottom = s.right[r] - (most - v * low[c])
                top, bottom = -bottom, -top
                v = -v
            # bottom <= v * x <= top
            new_low, new_high = -(-bottom // v), top // v
            changed = False
            if new_low > low[c]:
                low[c] = new_low
                changed = True
            if new_high < high[c]:
                high[c] = new_high
                changed = True
            if low[c] > high[c]:
                good = False
                break
            if changed:
                for j in range(s.cell_start[c], s.cell_start[c + 1]):
                    other = s.cell_row[j]
                    if not s.queued[other]:
                        s.queued[other] = True
                        place = head + count
                        s.queue[place if place < size else place - size] = other
                        count += 1
                # The sums of this row have changed: read it again.
                break
    return good


def pick(s: System, depth: int) -> int:
    """Undecided cell with the fewest values left; -1 if all are decided."""
    best, fewest = -1, np.int64(0)
    for c in range(s.ranges.shape[2]):
        width = s.ranges[depth, 1, c] - s.ranges[depth, 0, c]
        if width > 0 and (best < 0 or width < fewest):
            best, fewest = c, width
    return best


def enumerate_system(s: System, nodes: int) -> None:
    """Go on for some nodes, or until `kept` is full or the search is over."""
    last = s.state[NODES] + nodes
    while s.state[DEPTH] >= 0 and s.state[NODES] < last:
        d = s.state[DEPTH]
        cell = s.branch[d, 0]
        if cell < 0:
            if s.state[KEPT] == len(s.kept):
                return
            s.state[NODES] += 1
            cell = pick(s, d)
            if cell < 0:
                s.kept[s.state[KEPT]] = s.ranges[d, 0]
                s.state[KEPT] += 1
                s.state[DEPTH] = d - 1
                continue
            s.branch[d, 0] = cell
            s.branch[d, 1] = s.ranges[d, 0, cell]
        value = s.branch[d, 1]
        if value > s.ranges[d, 1, cell]:
            s.state[DEPTH] = d - 1
            continue
        s.branch[d, 1] = value + 1
        s.ranges[d + 1] = s.ranges[d]
        s.ranges[d + 1, 0, cell] = value
        s.ranges[d + 1, 1, cell] = value
        if narrow(s, d + 1, cell):
            s.branch[d + 1, 0] = -1
            s.state[DEPTH] = d + 1


def start(
    matrix: Any, right: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64],
    kept: int,
) -> System:  # fmt: skip
    """Search from its beginning; it is over (depth -1) if there is no solution for certain.

    Parameters
    ----------
    matrix : (r, k) csr_array of int64
    right : (r,) int64
    lower, upper : (k,) int64
        Finite, and so small that no row sum overflows.
    kept : int
        Solutions to collect before the search pauses.
    """
    columns = matrix.tocsc()
    r, k = matrix.shape
    ranges = np.zeros((k + 1, 2, k), dtype=np.int64)
    ranges[0] = lower, upper
    branch = np.full((k + 1, 2), -1, dtype=np.int64)
    search = System(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data.astype(np.int64),
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int64),
        right.astype(np.int64),
        ranges,
        branch,
        np.zeros((kept, k), dtype=np.int64),
        np.zeros(r + 1, dtype=np.int64),
        np.zeros(r, dtype=np.bool_),
        np.zeros(3, dtype=np.int64),
    )
    if not KERNELS.run("narrow", search, 0, -1, small=_is_small(search)):
        search.state[DEPTH] = -1
    return search


def go_on(search: System, nodes: int) -> None:
    """Search on until it is over, `kept` is full, or `nodes` nodes have been seen.

    A small system is searched uncompiled as long as that pays, a few nodes at a time.
    """
    small = _is_small(search)
    if small:
        nodes = min(nodes, _FEW_NODES)
    KERNELS.run("enumerate_system", search, nodes, small=small)


def _is_small(search: System) -> bool:
    """Whether there are few cells, none with many values: narrowing may take a step for each."""
    widths = search.ranges[0, 1] - search.ranges[0, 0]
    return len(widths) <= _FEW_CELLS and bool((widths <= _FEW_VALUES).all())


KERNELS = Kernels(__name__, "narrow", "pick", "enumerate_system")
