"""The simplest deviations of a cross table: boxes that move only their corners.

Two codes in every dimension span ``2**d`` cells. Adding and subtracting the same amount in turn
leaves every margin as it is. A margin of a dimension may take the place of one of its codes: then
both change the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from csp.exact import Ints
from csp.tables.codes import Labels
from csp.tables.table import Table

Box = tuple[Ints, Ints]
_Partners = tuple[Ints, Ints]

# Dimensions of a box, and cells of the grid of codes.
_MOST_DIMENSIONS = 6
_MOST_PLACES = 4_000_000


class Boxes:
    """Boxes through the cells of one table, found from its labels and checked in integers.

    Parameters
    ----------
    table : Table
        Any table; one that is not a cross table has no boxes.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        labels = Labels.of(table.labels).in_order()
        d = len(labels.categories)
        self._shape = [len(codes) for codes in labels.categories]
        places = prod(self._shape)
        self._usable = 1 <= d <= _MOST_DIMENSIONS and places <= _MOST_PLACES
        if not self._usable:
            return
        self._code = labels.codes.astype(np.int64)
        self._stride = np.cumprod([1, *self._shape[:-1]]).astype(np.int64)
        self._at = np.full(places, -1, np.int64)
        self._at[self._code @ self._stride] = np.arange(table.n_cells)
        self._partners = [self._partners_of(k) for k in range(d)]

    def __repr__(self) -> str:
        return f"Boxes({self._table!r})"

    def _partners_of(self, k: int) -> list[_Partners]:
        """Codes of a dimension that balance each of its codes, and with which sign."""
        relations, size = self._table.relations, self._shape[k]
        row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
        code = self._code[relations.indices, k]
        first = code[relations.indptr[:-1]]
        varies = np.zeros(relations.shape[0], bool)
        varies[row[code != first[row]]] = True
        parents: list[set[int]] = [set() for _ in range(size)]
        for r in np.flatnonzero(varies).tolist():
            span = slice(relations.indptr[r], relations.indptr[r + 1])
            inside, signs = code[span], relations.data[span]
            totals = set(inside[signs < 0].tolist())
            for part in set(inside[signs > 0].tolist()):
                parents[part] |= totals
        split = set().union(*parents)
        found = []
        for c in range(size):
            others: list[int] = []
            ways: list[int] = []
            for other in range(size):
                if other == c:
                    continue
                pair = {c, other}
                siblings = not pair & split and parents[c] == parents[other]
                if siblings or any(
                    parents[a] == {b} and not parents[b] and a not in split
                    for a, b in ((c, other), (other, c))
                ):
                    others.append(other)
                    ways.append(-1 if siblings else 1)
            found.append((np.array(others, np.int64), np.array(ways, np.int64)))
        return found

    def through(
        self, p: int, most: int, up: Ints, down: Ints, boxes: int = 20_000,
    ) -> list[Box | None]:  # fmt: skip
        """Find boxes that move a cell far down and far up, within the room of every cell.

        Parameters
        ----------
        p : int
        most : int
            No further than this.
        up, down : (n,) int64
            Room of each cell; 0 where it must not move.
        boxes : int
            How many are looked at.

        Returns
        -------
        [down, up]
            Each a pair of ``(2**d,)`` arrays, cells and steps; None if no box moves the cell.
        """
        grid = self._grid(p, most, up, down, boxes)
        if grid is None:
            return [None, None]
        return [
            self._box(p, sign, grid[0], int(np.argmax(limit)), int(limit.max()))
            for sign, limit in zip((-1, 1), grid[1], strict=True)
        ]

    def _grid(
        self, p: int, most: int, up: Ints, down: Ints, boxes: int
    ) -> tuple[list[_Partners], list[Ints]] | None:
        """How far boxes move a cell down and up, one axis for the other codes of a dimension."""
        if not self._usable:
            return None
        rooms = [min(most, int(down[p])), min(most, int(up[p]))]
        partners = [self._partners[k][c] for k, c in enumerate(self._code[p].tolist())]
        if max(rooms) <= 0 or not all(len(codes) for codes, _ in partners):
            return None
        partners = _fewer(partners, p, boxes)
        low, high = (np.full((1,) * len(partners), v, np.int64) for v in rooms)
        for cell, way in self._corners(p, partners):
            there = cell >= 0
            rise, fall = np.where(there, up[cell], 0), np.where(there, down[cell], 0)
            high = np.minimum(high, np.where(way > 0, rise, fall))
            low = np.minimum(low, np.where(way > 0, fall, rise))
        return partners, [low, high]

    def _corners(self, p: int, partners: list[_Partners]) -> Iterator[tuple[Ints, Ints]]:
        """Cells (-1 where there is none) at each corner but the first, and which way they move."""
        d = len(partners)
        own = self._code[p] * self._stride
        others = [
            (codes * self._stride[k] - own[k]).reshape([-1 if i == k else 1 for i in range(d)])
            for k, (codes, _) in enumerate(partners)
        ]
        signs = [
            way.reshape([-1 if i == k else 1 for i in range(d)])
            for k, (_, way) in enumerate(partners)
        ]
        corners: list[tuple[Any, Any]] = [(np.full((1,) * d, own.sum()), np.ones((1,) * d, int))]
        for k in range(d):
            corners += [(place + others[k], way * signs[k]) for place, way in corners]
        for place, way in corners[1:]:
            yield self._at[place], way

    def _box(
        self, p: int, sign: int, partners: list[_Partners], best: int, amount: int
    ) -> Box | None:
        """One box of a grid, if it moves at all."""
        if amount <= 0:
            return None
        index = np.unravel_index(best, tuple(len(codes) for codes, _ in partners))
        one = [
            (codes[i : i + 1], way[i : i + 1])
            for (codes, way), i in zip(partners, index, strict=True)
        ]
        found = [(p, 1), *((int(c.item()), int(w.item())) for c, w in self._corners(p, one))]
        found.sort()
        cells = np.array([c for c, _ in found], np.int64)
        steps = np.array([sign * amount * w for _, w in found], np.int64)
        return (cells, steps) if self._balanced(cells, steps) else None

    def _balanced(self, cells: Ints, steps: Ints) -> bool:
        """Whether a deviation leaves every relation as it is (weights are not looked for above)."""
        z = np.zeros(self._table.n_cells, np.int64)
        z[cells] = np.sign(steps)
        return not (self._table.relations @ z).any()


def _fewer(partners: list[_Partners], p: int, boxes: int) -> list[_Partners]:
    """Leave out codes, other ones for other cells, until there are not too many boxes."""
    size = [len(codes) for codes, _ in partners]
    while int(np.prod(size)) > boxes:
        size[int(np.argmax(size))] -= 1
    kept = []
    for (codes, signs), length in zip(partners, size, strict=True):
        index = np.sort((np.arange(length) + p) % len(codes))
        kept.append((codes[index], signs[index]))
    return kept
