"""Cheaper patterns by exchange: some witnesses go, and what needed them is served anew for less."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from csp.clock import Clock
from csp.errors import OutOfTime
from csp.exact import Floats, Ints
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Witness

# Price of a cell that a region's program has chosen, as a share of its own.
_CHOSEN = 1e-3


def exchange(
    book: Book, builder: Builder, price: Floats, published: Ints, *,
    offered: Iterable[Witness] = (), chosen: Ints | None = None, banned: bool = True,
) -> float | None:  # fmt: skip
    """Publish some cells if the requirements that need them can be served for no more.

    Parameters
    ----------
    book : Book
        Unchanged if the exchange fails.
    builder : Builder
    price : (n,) float64
        Of each free cell; 0 at cells that every pattern suppresses.
    published : (b,) int64
        Cells whose witnesses go.
    offered : iterable of Witness
        Taken first.
    chosen : (c,) int64, optional
        Cells that new witnesses do well to move.
    banned : bool
        Whether new witnesses must not move published cells.

    Returns
    -------
    float or None
        What is saved, 0 or more; None if it fails.
    """
    gone = frozenset[int]().union(*(book.through(cell) for cell in published.tolist()))
    lost = sorted({r for i in gone for r in book.meets(i) if not book.settled(r, gone)})
    old = {i: book.witnesses[i] for i in gone}
    touched = np.unique(np.concatenate([np.empty(0, np.int64), *(w.cells for w in old.values())]))
    for i in gone:
        book.remove(i)
    saved = float(price[touched[book.used[touched] == 0]].sum())
    # Freed cells cost their price again, and those that were never used as well.
    now = np.where(book.used > 0, 0.0, price)
    if chosen is not None:
        now[chosen] *= _CHOSEN
    new: list[int] = []
    paid = 0.0

    def take(witness: Witness) -> None:
        nonlocal paid
        paid += float(price[witness.cells[book.used[witness.cells] == 0]].sum())
        now[witness.cells] = 0.0
        new.append(book.add(witness))

    for witness in offered:
        take(witness)
    stay = published if banned else np.empty(0, np.int64)
    for r in lost:
        while paid <= saved + 1e-9 and not book.settled(r):
            left = book.left(r)
            held = stay
            if left and book.attackers is not None:
                held = np.unique(np.concatenate([stay, *(book.attackers.knows[a] for a in left)]))
            try:
                one = builder.witness(r, now, held, limit=saved - paid + 1e-9)
            except OutOfTime:
                one = None  # the search ends after this exchange, which fails
            if one is None:
                paid = np.inf
            else:
                take(one)
        if paid > saved + 1e-9:
            break
    if paid <= saved + 1e-9:
        return max(saved - paid, 0.0)
    for i in new:
        book.remove(i)
    for i, witness in old.items():
        book.add(witness, i)
    return None


def drop_cells(
    book: Book, builder: Builder, price: Floats, clock: Clock, rng: np.random.Generator
) -> bool:
    """Try once for every suppressed cell to do without it; keep what costs no more.

    Parameters
    ----------
    book : Book
    builder : Builder
    price : (n,) float64
        Of each free cell; 0 at cells that every pattern suppresses.
    clock : Clock
        Where the time ends, the sweep ends.
    rng : numpy.random.Generator

    Returns
    -------
    bool
        Whether the pattern has become cheaper.
    """
    gained = 0.0
    cells = np.flatnonzero((book.used > 0) & (price > 0))
    # Cells that few witnesses move are the quickest to try, and the most likely to go; what a cell
    # costs may be gained.
    effort = book.used[cells] / price[cells]
    for cell in cells[np.lexsort((rng.random(len(cells)), effort))].tolist():
        if clock.over:
            break
        # Claims that are kept for good move a cell as well.
        if book.used[cell] and book.used[cell] == len(book.through(cell)):
            gained += exchange(book, builder, price, np.array([cell])) or 0.0
    return gained > 1e-9
