"""What the cells that must be published predict of the others: public, hence not a secret.

The prediction fits all relations and is as even as they allow (an entropy projection; in a
two-way table with published margins it is row total times column total over the grand total).
Only sums, products and square roots are used, in a fixed order, so that every machine computes
the same numbers.
"""

from __future__ import annotations

import math

import numpy as np

from csp.exact import Bools, Floats
from csp.sparse import entries
from csp.tables.table import Table

_ROUNDS = 30


def predicted(table: Table, known: Bools) -> Floats:
    """Predict the cells of a table from some of them.

    Parameters
    ----------
    table : Table
        Values of other cells than the known ones are not read.
    known : (n,) bool

    Returns
    -------
    (n,) float64
        In units; known cells as they are. Where no relation has a known cell, 1 throughout.

    Examples
    --------
    >>> from csp import Table
    >>> table = Table.from_array([[1, 3], [9, 7]])
    >>> predicted(table, table.margins)[:2].tolist(), predicted(table, table.margins)[3:5].tolist()
    ([2.0, 2.0], [8.0, 8.0])
    """
    guess = [float(v) if k else 1.0 for v, k in zip(table.values.tolist(), known, strict=True)]
    if not known.any():
        return np.array(guess)
    rows = _rows(table, known)
    for _ in range(_ROUNDS):
        for up, down, fixed in rows:
            wanted = -math.fsum(sign * guess[i] for i, sign in fixed)
            _project(guess, up, down, wanted)
    return np.array(guess)


def _rows(table: Table, known: Bools) -> list[tuple[list[int], list[int], list[tuple[int, int]]]]:
    """Unknown cells with +1 and with -1, and known cells, of every relation that has both kinds.

    Relations with other coefficients are left out: they may predict less well, never more.
    """
    rows = []
    for row in range(table.relations.shape[0]):
        pairs = entries(table.relations, row)
        free = [(i, s) for i, s in pairs if not known[i]]
        if free and all(abs(s) == 1 for _, s in free):
            fixed = [(i, s) for i, s in pairs if known[i]]
            up, down = ([i for i, s in free if s == sign] for sign in (1, -1))
            rows.append((up, down, fixed))
    return rows


def _project(guess: list[float], up: list[int], down: list[int], wanted: float) -> None:
    """Multiply some cells and divide others by one factor, so that their difference is `wanted`."""
    plus, minus = (math.fsum(guess[i] for i in cells) for cells in (up, down))
    if plus <= 0 and minus <= 0:
        return
    if minus <= 0:
        factor = max(wanted, 0.0) / plus
    elif plus <= 0:
        # Divided by the factor, so that an unwanted sign leaves nothing.
        for i in down:
            guess[i] *= max(-wanted, 0.0) / minus
        return
    else:
        factor = (wanted + math.sqrt(wanted * wanted + 4 * plus * minus)) / (2 * plus)
        if factor <= 0:
            return
        for i in down:
            guess[i] /= factor
    for i in up:
        guess[i] *= factor
