"""Cheaper patterns: one suppressed cell at a time is published, and what needed it served anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.errors import OutOfTime
from csp.solve.large.book import Book
from csp.solve.large.construct import Builder

__all__ = ["drop_cells"]


def drop_cells(
    book: Book, builder: Builder, price: NDArray[np.float64], clock: Clock, rng: np.random.Generator
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
    gained = False
    cells = np.flatnonzero((book.used > 0) & (price > 0))
    # Cells that few witnesses move are the quickest to try, and the likeliest to go.
    for cell in cells[np.lexsort((rng.random(len(cells)), book.used[cells]))].tolist():
        if clock.over:
            break
        if book.used[cell]:
            gained |= _without(book, builder, price, cell)
    return gained


def _without(book: Book, builder: Builder, price: NDArray[np.float64], cell: int) -> bool:
    """Publish a cell if the requirements that need it can be served for no more."""
    gone = book.through(cell)
    if book.used[cell] > len(gone):
        return False  # claims that are kept for good move it
    lost = sorted({r for i in gone for r in book.meets(i) if not book.settled(r, gone)})
    old = {i: book.witnesses[i] for i in gone}
    before = book.used > 0
    for i in gone:
        book.remove(i)
    saved = float(price[before & (book.used == 0)].sum())
    now = np.where(book.used > 0, 0.0, price)
    # Freed cells cost their price again, and those that were never used as well.
    new: list[int] = []
    paid, done = 0.0, True
    banned = np.array([cell])
    for r in lost:
        while done and not book.settled(r):
            left = book.left(r)
            held = banned
            if left and book.attackers is not None:
                held = np.unique(np.concatenate([banned, *(book.attackers.knows[a] for a in left)]))
            try:
                one = builder.witness(r, now, held, limit=saved - paid + 1e-9)
            except OutOfTime:
                one = None  # the sweep ends after this cell, which stays
            if one is None:
                done = False
                break
            paid += float(now[one.cells].sum())
            now[one.cells] = 0.0
            new.append(book.add(one))
        if not done:
            break
    if done:
        return paid < saved - 1e-9
    for i in new:
        book.remove(i)
    for i, witness in old.items():
        book.add(witness, i)
    return False
