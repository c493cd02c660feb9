"""Witnesses of sparse tables: two cells of the finest level that move against each other.

One cell rises by a unit with every total that it is part of, another falls likewise, and the totals
that both are part of stay. Where few combinations of codes occur, most of a product of subtrees is
missing, and such pairs are what there is: they are found among neighbours in the order of codes,
without a program. Where combinations do occur, witnesses of more cells cost less (see `construct`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.field import Field, Witness

KERNELS = Kernels(__name__, "climb", "survey", "apart", "how_far", "pair", "drop")


class Above(NamedTuple):
    """What cells add up to.

    Attributes
    ----------
    first : (n + 1,) int64
        Where the totals of each cell begin.
    total, row : (e,) int64
        The totals, and the relations that lead to them.
    """

    first: Ints
    total: Ints
    row: Ints


class Orders(NamedTuple):
    """Finest cells sorted by codes, in each order with another dimension in the last place.

    Attributes
    ----------
    place : (n, d) int64
        Position of each finest cell in each order; -1 for others.
    cells : (d, f) int64
    reach : int
        Neighbours looked at in each direction of each order.
    """

    place: Ints
    cells: Ints
    reach: int


class Wanted(NamedTuple):
    """By how much cells must be able to move, and by how much they can: (n,) int64 each."""

    need: Ints
    room: Ints


class Work(NamedTuple):
    """Room to work in, of two cells at a time.

    Attributes
    ----------
    stamp, cells : (2, n) int64
    tick : (1,) int64
    """

    stamp: Ints
    cells: Ints
    tick: Ints


# Neighbours looked at in each direction of each order of codes.
_REACH = 4

# Neighbours passed over at most, because they have too little room, for each one looked at.
FAR = 64

# Requirements between two looks at the clock.
_STRIDE = 20_000


def occupied(axes: Axes) -> float:
    """Share of the combinations of codes that are cells of the table."""
    sizes = [float(len(np.unique(axes.codes[:, k]))) for k in range(axes.codes.shape[1])]
    return float(len(axes.codes) / np.prod(sizes))


def swaps(field: Field, axes: Axes, price: Floats, clock: Clock = UNLIMITED) -> Iterator[Witness]:
    """Pairs of cells of the finest level that meet the requirements, none of which is spare.

    Coarse cells come first: what serves them serves many of the cells below them as well.

    Parameters
    ----------
    field : Field
    axes : Axes
        Regular.
    price : (n,) float64
        Of suppressing a cell; 0 where it is suppressed anyway.
    clock : Clock

    Yields
    ------
    Witness
        Exact; requirements that no pair serves are left to others.

    Raises
    ------
    OutOfTime
    """
    relations = field.relations
    if (np.abs(relations.data) != 1).any():
        return
    kernels, lattice = KERNELS.compiled, _Lattice(field, axes)
    n = len(field.open)
    need = np.maximum(field.rise, field.fall)
    need[field.first[1:] == field.first[:-1]] = 0
    room = np.minimum(field.up, field.down)
    work = Work(np.zeros((2, n), np.int64), np.empty((2, n), np.int64), np.zeros(1, np.int64))
    depth, inside = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    rows = np.zeros(relations.shape[0], np.int64)
    above = lattice.above
    kernels["survey"](lattice.finest, above, lattice.totals, room, rows, depth, inside, work)
    clock.check("a pattern was found")
    left = np.flatnonzero((need > 0) & (inside >= 0))
    left = left[np.lexsort((left, depth[left]))]
    orders, wanted = lattice.orders(), Wanted(need, room)
    price, served = price.copy(), np.zeros(n, np.int64)
    pairs, made = np.empty((len(left), 2), np.int64), 0
    for begin in range(0, len(left), _STRIDE):
        made = kernels["pair"](
            left[begin : begin + _STRIDE], inside, orders, above, wanted, price, served, pairs,
            made, work,
        )  # fmt: skip
        clock.check("a pattern was found")
    kept = np.ones(made, dtype=bool)
    kernels["drop"](pairs[:made], kept, above, wanted, served, work)
    for i, j in pairs[:made][kept].tolist():
        rising, falling = kernels["apart"](i, j, above, work)
        moved = np.concatenate([work.cells[0, :rising], work.cells[1, :falling]])
        steps = np.repeat([1, -1], [rising, falling])
        order = np.argsort(moved)
        yield field.along(moved[order], steps[order])


class _Lattice:
    """What adds up to what, cell by cell, and the cells of the finest level in several orders.

    Attributes
    ----------
    above : Above
    totals : (n,) int64
        Number of relations of which each cell is the total.
    finest : (f,) int64
        Cells that are not a total.
    """

    def __init__(self, field: Field, axes: Axes) -> None:
        relations, columns = field.relations, field.columns
        n = relations.shape[1]
        row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
        whole = np.empty(relations.shape[0], np.int64)
        whole[row[relations.data < 0]] = relations.indices[relations.data < 0]
        self.totals = np.bincount(whole, minlength=n)
        part = columns.data > 0
        cell = np.repeat(np.arange(n), np.diff(columns.indptr))[part]
        rows = columns.indices[part].astype(np.int64)
        self.above = Above(np.searchsorted(cell, np.arange(n + 1)), whole[rows], rows)
        self.finest = np.flatnonzero(self.totals == 0)
        self._axes = axes

    def orders(self) -> Orders:
        """Sort the finest cells by codes."""
        axes, finest = self._axes, self.finest
        d = axes.codes.shape[1]
        ranks = np.stack([_rank(axes, k)[axes.codes[finest, k]] for k in range(d)])
        orders = np.stack(
            [
                finest[np.lexsort((ranks[k], *(ranks[i] for i in range(d) if i != k)))]
                for k in range(d)
            ]
        )
        place = np.full((len(axes.codes), d), -1, np.int64)
        for k in range(d):
            place[orders[k], k] = np.arange(len(finest))
        return Orders(place, orders, _REACH)


def _rank(axes: Axes, k: int) -> Ints:
    """Place of each code of a dimension when trees are read from the top, branch by branch."""
    size = int(axes.codes[:, k].max()) + 1
    rank = np.full(size, -1, np.int64)
    stack = [code for code in range(size) if code not in axes.parents[k]][::-1]
    number = 0
    while stack:
        code = stack.pop()
        if rank[code] < 0:
            rank[code] = number
            number += 1
            stack += axes.children[k].get(code, ())[::-1]
    return rank


def climb(cell: int, side: int, above: Above, work: Work) -> int:
    """List a cell and every total that it is part of, stamped by a new tick; return how many."""
    first, total, _ = above
    stamp, cells, tick = work
    tick[0] += 1
    name = tick[0]
    size, at = 1, 0
    cells[side, 0] = cell
    stamp[side, cell] = name
    while at < size:
        c = cells[side, at]
        at += 1
        for e in range(first[c], first[c + 1]):
            t = total[e]
            if stamp[side, t] != name:
                stamp[side, t] = name
                cells[side, size] = t
                size += 1
    return size


def survey(
    finest: Ints, above: Above, totals: Ints, room: Ints, rows: Ints, depth: Ints, inside: Ints,
    work: Work,
) -> None:  # fmt: skip
    """Find for every cell the finest one inside it that has the most room.

    A finest cell whose totals do not all rise with it (where linked tables are not divided by the
    same dimensions) is left out. `depth` becomes the number of totals of a cell.
    """
    first, _, row = above
    _, cells, tick = work
    for cell in finest:
        size = climb(cell, 0, above, work)
        balanced = 0
        for at in range(size):
            c = cells[0, at]
            balanced += totals[c]
            for e in range(first[c], first[c + 1]):
                # Each relation has to gain as much in one part as its total does.
                balanced -= 1
                if rows[row[e]] == tick[0]:
                    balanced -= 1 << 40
                rows[row[e]] = tick[0]
        if balanced != 0:
            continue
        for at in range(size):
            c = cells[0, at]
            if inside[c] < 0 or room[cell] > room[inside[c]]:
                inside[c] = cell
    for c in range(len(inside)):
        if inside[c] >= 0:
            depth[c] = climb(c, 0, above, work)


def apart(i: int, j: int, above: Above, work: Work) -> tuple[int, int]:
    """List what one cell adds to and another does not, then the reverse; return both sizes."""
    stamp, cells, tick = work
    left = climb(i, 0, above, work)
    own = tick[0]
    right = climb(j, 1, above, work)
    rising = falling = 0
    for at in range(left):
        c = cells[0, at]
        if stamp[1, c] != tick[0]:
            cells[0, rising] = c
            rising += 1
    for at in range(right):
        c = cells[1, at]
        if stamp[0, c] != own:
            cells[1, falling] = c
            falling += 1
    return rising, falling


def how_far(rising: int, falling: int, room: Ints, cells: Ints) -> int:
    """How far the cells listed can move either way."""
    far: int = room[cells[0, 0]]
    for at in range(rising):
        far = min(far, room[cells[0, at]])
    for at in range(falling):
        far = min(far, room[cells[1, at]])
    return far


def pair(
    left: Ints, inside: Ints, orders: Orders, above: Above, wanted: Wanted, price: Floats,
    served: Ints, pairs: Ints, made: int, work: Work,
) -> int:  # fmt: skip
    """Serve one cell after the other by the cheapest pair among neighbours; count the pairs."""
    place, sorted_cells, reach = orders
    need, room = wanted
    stamp, cells, tick = work
    for c in left:
        if served[c] > 0:
            continue
        i = inside[c]
        best, least, fewest = -1, 0.0, 0
        for k in range(len(sorted_cells)):
            for turn in (-1, 1):
                at = place[i, k]
                seen = 0
                for _ in range(FAR * reach):
                    at += turn
                    if seen == reach or at < 0 or at >= sorted_cells.shape[1]:
                        break
                    j = sorted_cells[k, at]
                    # It has no place in the lattice, or too little room.
                    if inside[j] != j or room[j] < need[c]:
                        continue
                    rising, falling = apart(i, j, above, work)
                    if stamp[1, c] == tick[0]:
                        continue
                    seen += 1
                    if how_far(rising, falling, room, cells) < need[c]:
                        continue
                    paid = 0.0
                    for side in range(2):
                        for n in range(rising if side == 0 else falling):
                            paid += price[cells[side, n]]
                    if best < 0 or (paid, rising + falling) < (least, fewest):
                        best, least, fewest = j, paid, rising + falling
        if best < 0:
            continue
        rising, falling = apart(i, best, above, work)
        far = how_far(rising, falling, room, cells)
        for side in range(2):
            for n in range(rising if side == 0 else falling):
                one = cells[side, n]
                price[one] = 0.0
                if 0 < need[one] <= far:
                    served[one] += 1
        pairs[made, 0], pairs[made, 1] = i, best
        made += 1
    return made


def drop(pairs: Ints, kept: Bools, above: Above, wanted: Wanted, served: Ints, work: Work) -> None:
    """Leave out pairs whose cells are all served by others, in the order in which they came."""
    need, room = wanted
    cells = work.cells
    for p in range(len(pairs)):
        rising, falling = apart(pairs[p, 0], pairs[p, 1], above, work)
        far = how_far(rising, falling, room, cells)
        spare = True
        for change in range(2):
            if change == 1 and not spare:
                break
            for side in range(2):
                for n in range(rising if side == 0 else falling):
                    one = cells[side, n]
                    if 0 < need[one] <= far:
                        if change == 1:
                            served[one] -= 1
                        elif served[one] < 2:
                            spare = False
        kept[p] = not spare
