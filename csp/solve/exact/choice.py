"""A choice of cells that satisfies rows, compiled: repair of one, and depth-first search.

For some dozens of cells and some hundreds of rows an integer program spends most of its time on
its own preparation. Where there is a choice, it is mostly found by repair: of a row that fails,
the cell is turned that mends most, and rows that go on failing weigh more (Luteberget and Sartor
2023). Otherwise a search tells whether there is one. A row forces what it cannot do without, the
next cell is taken from the row that failed most often for the cells it has left (the weighted
degree of Boussemart, Hemery, Lecoutre and Sais 2004), and bounds come in as rows: costs, and what
reduced costs say of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels

__all__ = ["FOUND", "GAVE_UP", "KERNELS", "NONE", "choose"]

NONE, FOUND, GAVE_UP = 0, 1, 2

_FAR = 2**62
"""What sums over a row must stay below."""

_SMALL = 20
"""Nodes up to which plain Python takes some hundredths of a second."""


def choose(
    rows: NDArray[np.int64], right: NDArray[np.int64], x: NDArray[np.int8], most: int,
    *, near: NDArray[np.bool_] | None = None, flips: int = 0,
) -> tuple[int, NDArray[np.bool_]]:  # fmt: skip
    """Find a vector of zeros and ones with ``rows @ x >= right``.

    Parameters
    ----------
    rows : (m, n) int64
    right : (m,) int64
    x : (n,) int8
        0 or 1 where it is settled beforehand, -1 elsewhere.
    most : int
        Nodes of the search; 0 for none.
    near : (n,) bool, optional
        Where repair begins; by default at no cell.
    flips : int
        Cells that repair turns at most.

    Returns
    -------
    status : int
        `FOUND`, `NONE` if there is none, `GAVE_UP` if nodes did not suffice or numbers are too
        large for 64 bits.
    x : (n,) bool

    Examples
    --------
    Two of three cells, the first of them only with the second:

    >>> import numpy as np
    >>> rows = np.array([[1, 1, 1], [-1, 1, 0], [0, -1, 0]])
    >>> status, x = choose(rows, np.array([2, 0, 0]), np.full(3, -1, np.int8), 100)
    >>> status == NONE
    True
    """
    sizes = np.abs(rows.astype(np.float64)).sum(axis=1) + np.abs(right.astype(np.float64))
    if (sizes >= _FAR).any():
        return GAVE_UP, x > 0
    m, n = rows.shape
    held = rows != 0
    place, cell = np.nonzero(held)
    cell_t, place_t = np.nonzero(held.T)
    row_ends = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int64)
    cell_ends = np.concatenate([[0], np.cumsum(held.sum(axis=0))]).astype(np.int64)
    by_row = row_ends, cell.astype(np.int64), rows[place, cell]
    by_cell = cell_ends, place_t.astype(np.int64), rows[place_t, cell_t]
    largest = np.abs(rows).max(axis=1, initial=0)
    if flips:
        y = np.where(x < 0, 0 if near is None else near, x).astype(np.int8)
        status = KERNELS.run(
            "repair", *by_row, *by_cell, -right, np.maximum(largest, 1).astype(np.float64),
            x < 0, y, np.ones(m), np.zeros((2, m), np.int64), np.zeros(n, np.int64), flips,
            small=flips <= _SMALL,
        )  # fmt: skip
        if status == FOUND:
            return FOUND, y == 1
    if not most:
        return GAVE_UP, x == 1
    x = x.copy()
    status = KERNELS.run(
        "search", *by_row, *by_cell, right, largest, x,
        np.zeros(m, np.int64), np.zeros(m, np.int64), np.ones(m),
        np.zeros(n, np.int64), np.zeros((n + 1, 3), np.int64), most,
        small=most <= _SMALL,
    )  # fmt: skip
    return int(status), x == 1


def repair(
    row_ends: Any, cells: Any, row_weights: Any, cell_ends: Any, held_by: Any, weights: Any,
    slack: Any, largest: Any, open_cells: Any, x: Any, penalty: Any, failing: Any, turned: Any,
    most: int,
) -> int:  # fmt: skip
    """Turn cells one by one until no row fails; `x` holds the choice from beginning to end.

    `slack` is what a row comes to, less its right side. `failing` lists the rows below 0, and holds
    the place of each in that list, plus one; `turned` says in which step a cell was turned last.
    """
    many, state = 0, 1
    for row in range(len(slack)):
        for at in range(row_ends[row], row_ends[row + 1]):
            if x[cells[at]] == 1:
                slack[row] += row_weights[at]
        if slack[row] < 0:
            failing[0, many] = row
            many += 1
            failing[1, row] = many
    for step in range(1, most + 1):
        if many == 0:
            return 1
        state = (state * 1103515245 + 12345) % 2147483648
        row = failing[0, (state >> 8) % many]
        best, chosen = 0.0, -1
        for at in range(row_ends[row], row_ends[row + 1]):
            cell = cells[at]
            if open_cells[cell] and (row_weights[at] > 0) == (x[cell] == 0):
                gain = 0.0
                for near in range(cell_ends[cell], cell_ends[cell + 1]):
                    other = held_by[near]
                    before = slack[other]
                    after = before + (weights[near] if x[cell] == 0 else -weights[near])
                    if before < 0 or after < 0:
                        change = (min(after, 0) - min(before, 0)) / largest[other]
                        gain += penalty[other] * change
                if chosen < 0 or gain > best or (gain == best and turned[cell] < turned[chosen]):
                    best, chosen = gain, cell
        if chosen < 0:
            return 2
        if best <= 0:
            for i in range(many):
                penalty[failing[0, i]] += 1.0
        turned[chosen] = step
        sign = 1 if x[chosen] == 0 else -1
        x[chosen] = 1 - x[chosen]
        for near in range(cell_ends[chosen], cell_ends[chosen + 1]):
            other = held_by[near]
            slack[other] += sign * weights[near]
            if slack[other] < 0 and failing[1, other] == 0:
                failing[0, many] = other
                many += 1
                failing[1, other] = many
            elif slack[other] >= 0 and failing[1, other] > 0:
                many -= 1
                last = failing[0, many]
                failing[0, failing[1, other] - 1] = last
                failing[1, last] = failing[1, other]
                failing[1, other] = 0
    return 1 if many == 0 else 2


def enter(
    cell: int, value: int, x: Any, cell_ends: Any, held_by: Any, weights: Any, low: Any, high: Any
) -> None:
    """Settle a cell: what its rows lack at least and at best follows."""
    x[cell] = value
    for at in range(cell_ends[cell], cell_ends[cell + 1]):
        weight = weights[at]
        if (weight > 0) == (value == 1):
            low[held_by[at]] += abs(weight)
        else:
            high[held_by[at]] -= abs(weight)


def leave(
    cell: int, x: Any, cell_ends: Any, held_by: Any, weights: Any, low: Any, high: Any
) -> None:
    """Take back what `enter` did."""
    value = x[cell]
    x[cell] = -1
    for at in range(cell_ends[cell], cell_ends[cell + 1]):
        weight = weights[at]
        if (weight > 0) == (value == 1):
            low[held_by[at]] -= abs(weight)
        else:
            high[held_by[at]] += abs(weight)


def force(
    row: int, row_ends: Any, cells: Any, row_weights: Any, x: Any, cell_ends: Any, held_by: Any,
    weights: Any, low: Any, high: Any, trail: Any, length: int,
) -> int:  # fmt: skip
    """Settle the cells that a row cannot do without; returns the length of the trail."""
    for at in range(row_ends[row], row_ends[row + 1]):
        cell, weight = cells[at], row_weights[at]
        if x[cell] < 0 and high[row] < abs(weight):
            enter(cell, 1 if weight > 0 else 0, x, cell_ends, held_by, weights, low, high)
            trail[length] = cell
            length += 1
    return length


def pick(row_ends: Any, cells: Any, x: Any, low: Any, failures: Any) -> int:
    """Row that is not satisfied yet, with most failures for each cell left; -1 if all are."""
    best, found = -1.0, -1
    for row in range(len(low)):
        if low[row] < 0:
            left = 0
            for at in range(row_ends[row], row_ends[row + 1]):
                if x[cells[at]] < 0:
                    left += 1
            if failures[row] > best * left:
                best, found = failures[row] / left, row
    return found


def search(
    row_ends: Any, cells: Any, row_weights: Any, cell_ends: Any, held_by: Any, weights: Any,
    right: Any, largest: Any, x: Any, low: Any, high: Any, failures: Any, trail: Any,
    levels: Any, most: int,
) -> int:  # fmt: skip
    """Search; `x` holds what was found.

    `low` and `high` are the least and the largest that a row can still come to, less its right
    side: it is satisfied from 0 on, and fails below. `levels` keep, for each choice, its cell,
    whether it was turned, and the length of the trail before it.
    """
    m = len(right)
    for row in range(m):
        for at in range(row_ends[row], row_ends[row + 1]):
            weight, value = row_weights[at], x[cells[at]]
            if value == 1 or (value < 0 and weight < 0):
                low[row] += weight
            if value == 1 or (value < 0 and weight > 0):
                high[row] += weight
        low[row] -= right[row]
        high[row] -= right[row]
    level, length, done, nodes, failed = 0, 0, 0, 0, -1
    for row in range(m):
        if high[row] < 0:
            return 0
        if high[row] < largest[row]:
            length = force(
                row, row_ends, cells, row_weights, x, cell_ends, held_by, weights, low, high,
                trail, length,
            )  # fmt: skip
    while True:
        while done < length and failed < 0:
            cell = trail[done]
            done += 1
            for at in range(cell_ends[cell], cell_ends[cell + 1]):
                row = held_by[at]
                if high[row] < 0:
                    failed = row
                    break
                if high[row] < largest[row]:
                    length = force(
                        row, row_ends, cells, row_weights, x, cell_ends, held_by, weights, low,
                        high, trail, length,
                    )  # fmt: skip
        if failed < 0:
            row = pick(row_ends, cells, x, low, failures)
            if row < 0:
                return 1
            nodes += 1
            if nodes > most:
                return 2
            best, chosen, value = -1.0, -1, 0
            for at in range(row_ends[row], row_ends[row + 1]):
                cell = cells[at]
                if x[cell] < 0:
                    score = 0.0
                    for near in range(cell_ends[cell], cell_ends[cell + 1]):
                        if low[held_by[near]] < 0:
                            score += failures[held_by[near]]
                    if score > best:
                        best, chosen, value = score, cell, 1 if row_weights[at] > 0 else 0
            levels[level, 0], levels[level, 1], levels[level, 2] = chosen, 0, length
            level += 1
        else:
            failures[failed] += 1.0
            failed = -1
            while level > 0 and levels[level - 1, 1] == 1:
                level -= 1
            if level == 0:
                return 0
            chosen, value = levels[level - 1, 0], 1 - x[levels[level - 1, 0]]
            levels[level - 1, 1] = 1
            while length > levels[level - 1, 2]:
                length -= 1
                leave(trail[length], x, cell_ends, held_by, weights, low, high)
        enter(chosen, value, x, cell_ends, held_by, weights, low, high)
        trail[length] = chosen
        done = length
        length += 1


KERNELS = Kernels(__name__, "repair", "enter", "leave", "force", "pick", "search")
