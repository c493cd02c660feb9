"""A first pattern: one requirement after the other, each served by the cheapest local witness."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from csp.attacker.lp import LpEngine
from csp.attacker.view import components
from csp.clock import UNLIMITED, Clock
from csp.errors import SolverError
from csp.exact import Floats, Ints
from csp.solve.witnesses.axes import Axes, Tops
from csp.solve.witnesses.block import Block, Way
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.field import Field, Witness, movable

# Blocks kept: neighbours in the order of work share them.
_BLOCKS = 64

# Cells of the parts of a block that are tried before the whole of it: for linear programs, and for
# integer programs, which are slow. And of the largest block that is tried before the whole table.
_MOST = (1200,)
_MOST_WHOLE = (150, 400)
_LARGEST = 5_000

# Cells of the smallest cycle through two relations either way, and steps upwards after which a
# block is the whole table.
_CYCLE, _ALL = 4, 64

# Witnesses after which it is seen how many of them cost nothing, and the share of these from which
# many requirements are tried at once (household-4941: first pattern in 4.4 s in place of 10.8).
_WINDOW = 64
_MOSTLY = 7 / 8


class Builder:
    """Finds witnesses for requirements, in blocks round their cells that grow as needed.

    Parameters
    ----------
    field : Field
    axes : Axes, optional
        Without them the one block is the whole table.
    local : bool
        Whether linear programs keep to blocks; integer programs do wherever there are axes.
    both : bool
        Whether a direction that serves a cell both ways is looked for first.

    Attributes
    ----------
    clock : Clock
        Set from search to search, like the others.
    compared : int
        Blocks that hold a witness, of which the cheapest is taken.
    programs : int
        At most for a witness in a block (see `Block.cheapest`).
    """

    def __init__(
        self, field: Field, axes: Axes | None, *, local: bool = True, both: bool = True
    ) -> None:
        self._field, self._axes, self._both = field, axes, both
        self.clock, self.compared, self.programs = UNLIMITED, 1, 2
        self._blocks: dict[Tops, Block] = {}
        self._local = local and axes is not None
        if not self._local:
            self._whole_table = Block(field, np.arange(len(field.open)))
        if axes is None:
            return
        d = axes.codes.shape[1]
        single = [tuple(int(i == k) for i in range(d)) for k in range(d)]
        wider = [tuple(1 + int(i == k) for i in range(d)) for k in range(d)]
        self._growths = [(0,) * d, *single, (1,) * d, *wider, (2,) * d, (_ALL,) * d]

    def __repr__(self) -> str:
        return f"Builder({len(self._blocks)} blocks)"

    def _block(self, axes: Axes, tops: Tops) -> Block:
        block = self._blocks.get(tops)
        if block is None:
            if len(self._blocks) >= _BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            block = self._blocks[tops] = Block(self._field, axes.within(tops))
        return block

    def _blocks_around(self, p: int, price: Floats, *, whole: bool) -> Iterator[Block]:
        """Yield blocks round a cell that hold it, larger and larger ones."""
        axes, seen = self._axes, set()
        if axes is None or not (self._local or whole):
            if p in self._whole_table:
                yield self._whole_table
            return
        room, last = self._field.both, np.empty(0, np.int64)
        for growth in self._growths:
            tops = axes.around(p, growth)
            if tops in seen:
                continue
            seen.add(tops)
            size = axes.size(tops)
            for most in _MOST_WHOLE if whole else _MOST:
                if size > 2 * most:
                    block = Block(self._field, axes.near(p, tops, price, room, most))
                    if p in block:
                        yield block
            if size <= _LARGEST or growth == self._growths[-1]:
                block = self._block(axes, tops)
                # What can move may be all the same though more could.
                if p in block and not np.array_equal(block.cells, last):
                    last = block.cells
                    yield block

    def order(self, rows: Ints) -> list[int]:
        """Sort requirements by home block, the largest needs first."""
        field, cell = self._field, self._field.cell[rows]
        keys = np.zeros(len(rows), np.int64)
        if self._axes is not None and self._local:
            around = self._axes.around
            home = {p: around(p, self._growths[0]) for p in np.unique(cell).tolist()}
            number = {tops: i for i, tops in enumerate(dict.fromkeys(home.values()))}
            keys[:] = [number[home[p]] for p in cell.tolist()]
        by_home = np.lexsort((field.kind[rows], cell, -field.need[rows], keys))
        order: list[int] = rows[by_home].tolist()
        return order

    def witness(
        self, r: int, price: Floats, banned: Ints | None = None, limit: float = np.inf,
    ) -> Witness | None:  # fmt: skip
        """Cheapest witness of one requirement in the first blocks that have one.

        Parameters
        ----------
        r : int
        price : (n,) float64
            0 where a cell is suppressed anyway.
        banned : (b,) int64, optional
            Cells that must stay.
        limit : float
            Of the price; a more expensive witness is none.
        """
        for whole in (False, True) if self._field.integer else (False,):
            one = self._first(r, price, banned, whole=whole)
            if one is not None:
                return one if float(price[one.cells].sum()) < limit else None
        return None

    def _first(self, r: int, price: Floats, banned: Ints | None, *, whole: bool) -> Witness | None:
        field = self._field
        p, rises = int(field.cell[r]), bool(field.kind[r] == 0)
        far, back = int(field.rise[p]), int(field.fall[p])
        if not rises:
            far, back = back, far
        ways = (
            [Way(rises, far, back), Way(rises, far, 0)]
            if back and self._both and not whole
            else [Way(rises, far, 0)]
        )
        best: Witness | None = None
        paid, found = np.inf, 0
        for block in self._blocks_around(p, price, whole=whole):
            for way in ways:
                self.clock.check("a pattern was found")
                one = block.cheapest(
                    p, way, price, self.clock, banned=banned, whole=whole, programs=self.programs
                )
                if one is not None and r in field.served(one):
                    found += 1
                    cost = float(price[one.cells].sum())
                    if cost < paid:
                        best, paid = one, cost
                    break
            if best is not None and (found >= self.compared or paid == 0):
                break
        return best

    def serve(self, book: Book, rows: Iterable[int], price: Floats) -> list[int]:
        """Take witnesses into use until requirements are settled.

        Parameters
        ----------
        book : Book
        rows : iterable of int
            Requirements.
        price : (n,) float64
            Of every cell that is not suppressed anyway; set to 0 for those that now are.

        Returns
        -------
        list of int
            Requirements that no block settles.

        Raises
        ------
        OutOfTime
        """
        failed = []
        free, recent = 0, 0
        window = _WINDOW
        for r in rows:
            while (left := book.left(r)) is None or left:
                one = self._against(book, r, left, price)
                if one is None:
                    failed.append(r)
                    break
                free += not price[one.cells].any()
                recent += 1
                book.add(one)
                price[one.cells] = 0.0
            if recent >= window:
                if free >= _MOSTLY * recent:
                    # The pattern is nearly enough: few programs settle what it can.
                    with suppress(SolverError):  # one after the other will do
                        serve_together(book, self.clock)
                    window *= 2
                free, recent = 0, 0
        return failed

    def _against(
        self, book: Book, r: int, left: frozenset[int] | None, price: Floats
    ) -> Witness | None:
        """Witness for a requirement that is not met yet, or not against some attackers."""
        if not left or book.attackers is None:
            return self.witness(r, price)
        knows = [book.attackers.knows[a] for a in sorted(left)]
        one = self.witness(r, price, np.unique(np.concatenate(knows)))
        if one is None and len(knows) > 1:
            # What they know together may leave no way, what each of them knows may.
            one = next((w for k in knows if (w := self.witness(r, price, k)) is not None), None)
        return one


def serve_together(book: Book, clock: Clock) -> None:
    """Take witnesses that move only suppressed cells, each of which meets many requirements.

    They cost nothing. Where most cells are sensitive, few programs settle nearly all of a table
    before anything else is suppressed.

    Raises
    ------
    OutOfTime
    """
    field = book.field
    cells, _ = movable(field.columns, np.flatnonzero(book.pattern() & field.open))
    unmet = np.array([book.left(r) is None for r in range(len(field.cell))], dtype=bool)
    moving = np.zeros(len(field.open), dtype=bool)
    moving[cells] = True
    for part in components(field.problem.table, moving):
        if len(part.cells) < _CYCLE:
            continue
        at = np.minimum(np.searchsorted(part.cells, field.cell), len(part.cells) - 1)
        here = np.flatnonzero((part.cells[at] == field.cell) & unmet)
        if not len(here):
            continue
        view = replace(part, up=field.up[part.cells], down=field.down[part.cells])
        signs = np.where(field.kind[here] == 0, 1, -1)
        engine = LpEngine(view, whole=field.integer)
        for found in engine.shared(at[here], signs, field.need[here], clock):
            if found.steps.dtype != object:  # else beyond machine integers
                steps = found.steps // np.gcd.reduce(found.steps)
                book.add(field.along(part.cells[found.moved], steps))


def prune(book: Book, price: Floats) -> None:
    """Take out witnesses that are not needed, those that save most first."""

    def saves(number: int) -> float:
        cells = book.witnesses[number].cells
        return float(price[cells[book.used[cells] == 1]].sum())

    heap = [(-saves(i), i) for i in book.witnesses if book.spare(i)]
    heapq.heapify(heap)
    while heap:
        value, i = heapq.heappop(heap)
        if not book.spare(i):
            continue
        now = -saves(i)
        if now > value:
            heapq.heappush(heap, (now, i))
        else:
            book.remove(i)
