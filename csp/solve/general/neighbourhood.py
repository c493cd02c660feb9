"""Large-neighbourhood search in which all primary cells move together.

Where rooms are wide against the needs (counts and sums in deep hierarchies), one subspace of few
dimensions protects everything, and what is suppressed is what moves in it. The search opens some
published cells again, which adds dimensions, and publishes as much as it can (`descend`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime, Unprotectable
from csp.exact import Bools, Floats, Ints
from csp.solve.general.descent import Descent, Part, descend
from csp.solve.general.tableau import Tableau, null_basis
from csp.solve.general.whole_vectors import Subspace, witnesses_along
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder, prune
from csp.solve.witnesses.field import Field
from csp.solve.witnesses.rescue import rescue

# Dimensions that a step adds at most. With 12 in place of 100 patterns of hier13, hier13x13x7d and
# hier13x13x13a are 6, 3 and 9 percent more expensive after 20 s.
_OPENED = 100
_SLACK = 0.01
_CYCLE = 100

# Exchanges, as a share of the dimensions, above which a tableau is computed anew instead: one takes
# 0.9 ms on two5in6 (534 dimensions) and a new tableau 170, on hier13 (126) 0.09 and 6.6.
_ANEW = 0.4

# Entries of a tableau up to which several descents from the whole space are quick, and their number
# at most. On larger ones with tight rooms such a descent gets a share of the time, some seconds at
# most: one from a pattern does better (table3: 8.87 million after 11 s, 9.44 after 58).
_LARGE = 1_500_000
_DESCENTS = 6
_TIGHT, _TIGHT_SECONDS = 0.2, 10.0


class Neighbourhood:
    """Opens some published cells, publishes as much as possible, and keeps what is cheaper.

    It can be taken up again where it stopped.

    Parameters
    ----------
    field : Field
        Of all primary cells together.
    builder : Builder
        For the requirements that no direction serves both ways.
    seed : int

    Attributes
    ----------
    gave_up : bool
        Whether a descent from the whole space took too long because rooms are tight.
    """

    def __init__(self, field: Field, builder: Builder, seed: int = 0) -> None:
        self._field, self._builder = field, builder
        self._rng = np.random.default_rng(seed)
        self._clock = self._finish = UNLIMITED
        room = field.both.astype(np.float64)
        need = np.maximum(field.rise, field.fall) * field.problem.primary
        self._primary = need > 0
        self._inverse = np.divide(1.0, room, out=np.zeros(len(room)), where=room > 0)
        # An endless room is cut off: the search must be able to aim at every primary cell.
        self._inverse = np.maximum(self._inverse, 1e-3 / max(float(need.max(initial=1.0)), 1.0))
        self._targets = np.flatnonzero(self._primary & (room >= need))
        self._share = (need * self._inverse)[self._targets]
        self._trouble = np.zeros(len(self._targets))
        basis, cells = null_basis(field)
        self._still = (room <= 0) & ~self._primary
        self._tableau = Tableau(basis, cells)
        self._shut = np.zeros(len(cells), bool)
        self._open = np.zeros(len(cells), bool)
        self._current = self._best = self._tried = self._lowest = np.inf
        self._idle = 0
        self._ready = self.gave_up = False
        self._shut_still()

    def __repr__(self) -> str:
        return f"Neighbourhood({self._tableau!r})"

    def run(
        self, *, clock: Clock, start: Bools | None = None, patience: int | None = None,
        finish: Clock | None = None,
    ) -> Iterator[Book]:  # fmt: skip
        """Search on.

        Parameters
        ----------
        clock : Clock
            When to stop.
        start : (n,) bool, optional
            A safe pattern. Only cheaper ones are yielded; the search starts from it if its own
            first patterns are more expensive.
        patience : int, optional
            Stop after this many steps in a row without gain (by default never).
        finish : Clock, optional
            When, by `csp.clock.now`, witnesses for a pattern found at the deadline are
            complete (by default the clock).

        Yields
        ------
        Book
            Settles every requirement, and its pattern is strictly cheaper than the last one.
        """
        self._clock, self._finish = clock, clock if finish is None else finish
        free = self._field.problem.free
        costs = self._field.problem.cost
        least = np.inf if start is None else int(sum(costs[start & free].tolist()))
        for book in self._begin(start, least):
            if book.cost() < least:
                least = book.cost()
                yield book
        idle = 0
        while self._ready and not clock.over and (patience is None or idle < patience):
            idle += 1
            for book in self._step():
                if book.cost() < least:
                    least, idle = book.cost(), 0
                    yield book

    # ---- steps ---------------------------------------------------------------------------------

    def _begin(self, start: Bools | None, cost: float) -> Iterator[Book]:
        """Descend from the whole space a few times, and from a given pattern."""
        n, d = self._tableau.matrix.shape
        columns = np.flatnonzero(~self._shut)
        if not len(columns) or not len(self._targets):
            return
        again = 0 if self._ready else int(np.clip(_LARGE / (n * d), 1, _DESCENTS))
        none = np.zeros(n, bool)
        for k in range(again):
            if self._clock.over:
                return
            tight = UNLIMITED if start is None else self._tight_clock()
            yield from self._try(columns, 0.2 * (k > 0), none, self._best, tight=tight)
        if start is not None and cost < self._best:
            yield from self._try(columns, 0.0, none, cost, first=~start)

    def _step(self) -> Iterator[Book]:
        """Open a few columns and descend; after long without gain begin a new cycle."""
        self._idle += 1
        if self._tableau.is_noisy() and not self._tableau.refresh():
            self._shut_still()
            self._idle = _CYCLE + 1
        if self._idle > _CYCLE or not self._open.any():
            before, self._idle = self._lowest, 0
            self._lowest = self._tried = np.inf
            spread = float(self._rng.choice([0.2, 0.4]))
            none, columns = np.zeros(len(self._still), bool), np.flatnonzero(~self._shut)
            yield from self._try(columns, spread, none, np.inf, tight=self._tight_clock())
            if np.isinf(self._lowest):  # it was given up: go on from where the search is
                self._lowest = before
            return
        rng, matrix = self._rng, self._tableau.matrix
        opened = np.flatnonzero(self._open)
        view = matrix[:, opened]
        moving: Bools = np.asarray(view.any(axis=1))
        secondary = np.flatnonzero(moving & (self._field.price > 0))
        if not len(secondary):
            # Nothing left to save; and a space without secondaries costs nothing.
            self._ready = False
            return
        favourite = np.zeros(len(moving), bool)
        target = int(rng.choice(secondary))
        favourite[target] = rng.random() < 0.5
        closed = np.flatnonzero(~self._open & ~self._shut)
        if rng.random() < 0.5:
            closed = self._related(target, view, closed)
        if len(closed) > _OPENED:
            closed = rng.choice(closed, _OPENED, replace=False)
        k = int(rng.integers(1, _OPENED + 1))
        if len(closed) > k:
            added = np.where(moving, 0.0, self._field.price) @ (matrix[:, closed] != 0)
            share = 1 / (added + self._current * 1e-3 + 1e-9)
            closed = rng.choice(closed, k, replace=False, p=share / share.sum())
        columns = np.concatenate([opened, closed])
        noise = float(rng.choice([0.0, 0.2, 0.5]))
        slack = _SLACK * 2.0 ** (2 * self._idle // _CYCLE)
        limit = max(self._current, self._lowest * (1 + slack * rng.random()))
        yield from self._try(columns, noise, favourite, limit)

    def _tight_clock(self) -> Clock:
        """When to give up a descent from the whole space if rooms are tight."""
        if self._tableau.matrix.size < _LARGE:
            return UNLIMITED
        return self._clock.part(_TIGHT).within(_TIGHT_SECONDS)

    def _shut_still(self) -> None:
        """Publish what cannot move both ways, for good."""
        matrix = self._tableau.matrix
        self._shut[:] = self._open[:] = False
        for cell in np.flatnonzero(self._still & matrix.any(axis=1)).tolist():
            row = np.where(self._shut, 0.0, np.abs(matrix[cell]))
            if row.max(initial=0.0) > 1e-6:
                column = int(np.argmax(row))
                self._tableau.exchange(cell, column)
                self._shut[column] = True

    def _related(self, target: int, view: Floats, closed: Ints) -> Ints:
        """Columns that can part a cell from primary cells that move along with it."""
        x, y = (view @ self._rng.normal(size=view.shape[1]) for _ in range(2))
        bound = np.abs(x * y[target] - y * x[target]) < 1e-9 * (1 + np.abs(x * y[target]))
        along_with = np.flatnonzero(bound & self._primary)
        if len(along_with) > 3:
            along_with = self._rng.choice(along_with, 3, replace=False)
        useful = self._tableau.matrix[np.ix_(along_with, closed)].any(axis=0)
        return closed[useful] if useful.any() else closed

    def _try(
        self, columns: Ints, noise: float, favourite: Bools,
        limit: float, *, first: Bools | None = None, tight: Clock = UNLIMITED,
    ) -> Iterator[Book]:  # fmt: skip
        field, matrix = self._field, self._tableau.matrix[:, columns]
        rows = np.flatnonzero(matrix.any(axis=1))
        place = np.full(len(matrix), -1)
        place[rows] = np.arange(len(rows))
        where = place[self._targets]
        if (where < 0).any():
            return
        matrix = np.ascontiguousarray(matrix[rows])
        part = Part(
            matrix, field.price[rows], self._primary[rows], self._inverse[rows], where,
            self._share, self._trouble, bool((matrix == np.rint(matrix)).all()),
        )  # fmt: skip
        weight = part.price * np.exp(self._rng.normal(size=len(rows)) * noise)
        weight[favourite[rows]] += 1e30
        begin = None if first is None else first[rows]
        end = descend(
            part, weight, self._rng, limit=limit, clock=self._clock, first=begin, tight=tight
        )
        if end is None:
            self.gave_up = self.gave_up or (part.tight and tight.over)
            return
        if end.cost < self._lowest:
            self._lowest, self._idle = end.cost, 0
        if end.cost < min(self._best, self._tried):
            self._tried = end.cost
            book = self._book(end, rows, place[self._tableau.cells[columns[end.open]]])
            if book is not None:
                self._best, self._tried = end.cost, np.inf
                yield book
        if not self._clock.over:
            self._accept(end, rows, columns)

    def _accept(self, end: Descent, rows: Ints, columns: Ints) -> None:
        self._ready, self._current = True, end.cost
        if len(end.exchanges) > _ANEW * len(self._tableau.cells):
            cells = self._tableau.cells.copy()
            for row, column in end.exchanges:
                cells[columns[column]] = rows[row]
            if not self._tableau.become(cells):
                self._shut_still()
                return
        else:
            for row, column in end.exchanges:
                self._tableau.exchange(int(rows[row]), int(columns[column]))
        self._open[:] = False
        self._open[columns[end.open]] = True

    def _book(self, end: Descent, rows: Ints, pivots: Ints) -> Book | None:
        """Witnesses of a descent, completed where one room is smaller than the need."""
        field = self._field
        inside = np.flatnonzero(end.span.any(axis=1))
        place = np.full(len(rows), -1)
        place[inside] = np.arange(len(inside))
        cells = rows[inside]
        subspace = Subspace(field, cells, end.span[inside], place[pivots])
        vectors = [vector[inside] / self._inverse[cells] for vector in end.vectors]
        for z in vectors:
            z[np.abs(z) < 1e-9 * float(np.abs(z).max())] = 0.0
            if np.abs(subspace.relations @ z).max(initial=0.0) > 1e-7 * float(np.abs(z).max()):
                return None
        book = Book.of(field, witnesses_along(subspace, vectors, self._finish))
        missing = np.array([r for r in range(len(field.need)) if not book.settled(r)], np.int64)
        if len(missing):
            builder = self._builder
            builder.clock = self._finish
            price = np.where(book.used > 0, 0.0, field.price)
            try:
                rescue(book, builder.serve(book, builder.order(missing), price), self._finish)
            except (CertificateError, OutOfTime, Unprotectable):  # other searches tell why
                return None
        prune(book, field.price)
        return book
