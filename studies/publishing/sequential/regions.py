"""Regions of a small network: sets of cells whose tables can be listed, and patterns inside them.

All of this is read off the structure alone: it is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attacks.fibre.shapes import network_of
from csp.errors import InputError
from csp.solve.small.flow import Net
from csp.tables.table import Table

_MOST_NODES = 16
_MOST_CELLS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """All cells between some relations.

    Attributes
    ----------
    cells : (c,) int64
        Positions among the cells that may be suppressed, sorted.
    ends : (2, c) int64
        Tail and head of each cell, numbered from 0.
    """

    cells: NDArray[np.int64]
    ends: NDArray[np.int64]

    def widths(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """How wide the sums of the region leave each cell, if it is a full rectangle.

        For a region of another shape the number is a guess.

        Parameters
        ----------
        x : (t, k) int64
            Cells that may be suppressed.

        Returns
        -------
        (t, c) int64
        """
        inner = x[:, self.cells]
        sums = []
        for a in range(2):
            each = np.zeros((len(x), int(self.ends[a].max()) + 1), dtype=np.int64)
            for j, v in enumerate(self.ends[a].tolist()):
                each[:, v] += inner[:, j]
            sums.append(each[:, self.ends[a]])
        surplus = sums[0] + sums[1] - inner.sum(axis=1)[:, None]
        return np.asarray(np.minimum(sums[0], sums[1]) - np.maximum(surplus, 0))


def dimension(net: Net, cells: NDArray[np.int64]) -> int:
    """Dimension of the integer kernel of some cells: how many can be set freely.

    Parameters
    ----------
    net : Net
    cells : (k,) int64
    """
    root = np.arange(net.star.shape[1])

    def top(v: int) -> int:
        while root[v] != v:
            v = int(root[v])
        return v

    free = 0
    for e in cells.tolist():
        u, v = top(int(net.ends[0, e])), top(int(net.ends[1, e]))
        if u == v:
            free += 1
        else:
            root[u] = v
    return free


def regions(table: Table, free: NDArray[np.int64], reach: int) -> list[Region]:
    """List the largest regions of bounded dimension.

    A region is made of all cells between some relations; in a two-way table, of some rows and some
    columns. Those that lie in another one are left out.

    Parameters
    ----------
    table : Table
        Relations; its values are not used.
    free : (k,) int64
        Cells that may be suppressed; ties are broken in this order.
    reach : int
        Largest dimension of the kernel of a region.

    Returns
    -------
    list of Region
        Those with most cells first, equal ones by their smallest cells.

    Raises
    ------
    InputError
        If the cells are not a network, or it has too many relations.
    """
    flags = np.zeros(table.n_cells, dtype=bool)
    flags[free] = True
    net = network_of(table, flags)
    if net is None:
        msg = "the cells that may be suppressed do not form a network of at most 64 cells"
        raise InputError(msg)
    # The network lists cells by their number.
    place = np.argsort(np.argsort(free))
    ends = net.ends[:, place]
    net = Net(np.ascontiguousarray(ends), net.star, net.lines)
    nodes = net.star.shape[1]
    used = np.unique(ends)
    if len(used) > _MOST_NODES:
        msg = f"{len(used)} relations hold cells that may be suppressed; at most {_MOST_NODES}"
        raise InputError(msg)
    found: dict[tuple[int, ...], set[int]] = {}
    for count in range(1, len(used) + 1):
        for chosen in combinations(used.tolist(), count):
            inside = np.zeros(nodes, dtype=bool)
            inside[list(chosen)] = True
            cells = np.flatnonzero(inside[ends[0]] & inside[ends[1]])
            if 0 < dimension(net, cells) <= reach:
                found[tuple(cells.tolist())] = set(cells.tolist())
    ordered = sorted(found, key=lambda cells: (-len(cells), cells))
    largest: list[tuple[int, ...]] = []
    for one in ordered:
        if not any(found[one] < found[other] for other in largest):
            largest.append(one)
    return [
        Region(np.array(cells, dtype=np.int64), np.ascontiguousarray(ends[:, list(cells)]))
        for cells in largest
    ]


def bridgeless(
    table: Table, free: NDArray[np.int64], region: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Patterns of a region in which every cell can move: by size, then by binary number.

    A cell that no cycle of suppressed cells passes through has only one value left, so it protects
    nothing.

    Parameters
    ----------
    table, free
        As `regions`.
    region : (c,) int64
        Positions in `free`.

    Returns
    -------
    list of (s,) int64
        Positions in `free`.

    Raises
    ------
    InputError
        If the region has too many cells.
    """
    if len(region) > _MOST_CELLS:
        msg = (
            f"a region has {len(region)} cells; up to {_MOST_CELLS} are tried, give a shorter reach"
        )
        raise InputError(msg)
    flags = np.zeros(table.n_cells, dtype=bool)
    flags[free] = True
    net = network_of(table, flags)
    assert net is not None
    place = np.argsort(np.argsort(free))
    net = Net(np.ascontiguousarray(net.ends[:, place]), net.star, net.lines)
    ends = net.ends
    out: list[NDArray[np.int64]] = []
    # Binary numbers count the lowest cells least, so they run backwards through the cells.
    for size in range(2, len(region) + 1):
        patterns = sorted(combinations(region.tolist(), size), key=lambda cells: cells[::-1])
        out.extend(
            np.array(cells, dtype=np.int64)
            for cells in patterns
            if _degrees_allow(ends, cells) and _all_on_cycles(net, cells)
        )
    return out


def _degrees_allow(ends: NDArray[np.int64], cells: tuple[int, ...]) -> bool:
    """Whether no relation has exactly one of the cells (quick to see)."""
    counts: dict[int, int] = {}
    for e in cells:
        for v in ends[:, e].tolist():
            counts[v] = counts.get(v, 0) + 1
    return all(c > 1 for c in counts.values())


def _all_on_cycles(net: Net, cells: tuple[int, ...]) -> bool:
    whole = dimension(net, np.array(cells, dtype=np.int64))
    for i in range(len(cells)):
        rest = np.array(cells[:i] + cells[i + 1 :], dtype=np.int64)
        if dimension(net, rest) == whole:
            return False
    return True
