"""Linear relaxations of some dozens of cells, compiled: the dual simplex method on a dictionary.

``min cost x`` over ``rows @ x >= right`` with ``low <= x <= high``. The dictionary writes the basic
variables as combinations of as many others as there are cells. All cells have two bounds, so that
it stays dual feasible whichever cells a search fixes and frees again, and every relaxation starts
from the last one. Bounds on costs rest on multipliers alone (`weigh`), whatever rounding did to the
dictionary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.compiled import Kernels
from csp.exact import Floats, Ints

OPTIMAL, INFEASIBLE, OVER, LIMIT = 0, 1, 2, 3
"""How a relaxation ended: solved, without a solution, above the cutoff, or cut short."""

_NEAR = 1e-9
"""What counts as zero in reduced costs and entries."""

_OUTSIDE = 1e-7
"""How far a variable has to be outside its bounds to be moved."""


class Dictionary(NamedTuple):
    """A relaxation and its dictionary, for n cells and up to c rows.

    Variables are the cells, and for each row what it has beyond its right side.
    """

    cost: Floats  # (n,) never negative
    rows: Floats  # (c, n)
    right: Floats  # (c,)
    low: Floats  # (n,) 0 or 1
    high: Floats  # (n,) 0 or 1
    body: Floats  # (c, n) basic variables by the others
    basic: Ints  # (c,) variable of each line
    beside: Ints  # (n,) variable of each column
    place: Ints  # (n + c,) column of a variable, or minus its line, less one
    value: Floats  # (n + c,)
    price: Floats  # (n,) reduced cost of each column
    size: Ints  # (1,) rows that there are

    @classmethod
    def of(cls, cost: Floats, most: int) -> Dictionary:
        """Relaxation without rows, where all cells are at 0."""
        n = len(cost)
        return cls(
            cost, np.zeros((most, n)), np.zeros(most), np.zeros(n), np.ones(n),
            np.zeros((most, n)), np.zeros(most, np.int64), np.arange(n),
            np.arange(n + most), np.zeros(n + most), cost.copy(), np.zeros(1, np.int64),
        )  # fmt: skip

    def roomier(self, most: int) -> Dictionary:
        """Return the same with room for so many rows."""
        new = self.of(self.cost, most)
        for before, after in zip(self, new, strict=True):
            after[: len(before)] = before
        return new


def shift(lp: Any, column: int, by: float) -> None:
    """Move the variable of a column; the basic ones follow."""
    body, basic, value = lp.body, lp.basic, lp.value
    value[lp.beside[column]] += by
    for i in range(lp.size[0]):
        if body[i, column] != 0.0:
            value[basic[i]] += body[i, column] * by


def exchange(lp: Any, line: int, column: int) -> None:
    """Let the variable of a column take the place of that of a line."""
    body, price = lp.body, lp.price
    n = len(price)
    size = body[line, column]
    for k in range(n):
        body[line, k] = -body[line, k] / size
    body[line, column] = 1.0 / size
    # A copy, which no line can overlap: then four entries at a time are added.
    pivot = body[line].copy()
    held = price[column]
    price[column] = 0.0
    for k in range(n):
        price[k] += held * pivot[k]
    for i in range(lp.size[0]):
        held = body[i, column]
        if i != line and held != 0.0:
            body[i, column] = 0.0
            for k in range(n):
                body[i, k] += held * pivot[k]
    one, other = lp.basic[line], lp.beside[column]
    lp.basic[line], lp.beside[column] = other, one
    lp.place[one], lp.place[other] = column, -line - 1


def add_row(lp: Any, weights: Any, right: float) -> None:
    """Add ``weights @ x >= right``."""
    n, r = len(lp.price), lp.size[0]
    body, value = lp.body, lp.value
    lp.size[0] = r + 1
    lp.right[r] = right
    lp.basic[r], lp.place[n + r] = n + r, -r - 1
    made = np.zeros(n)
    total = -right
    for k in range(n):
        weight = weights[k]
        lp.rows[r, k] = weight
        if weight != 0.0:
            total += weight * value[k]
            at = lp.place[k]
            if at >= 0:
                made[at] += weight
            else:
                for j in range(n):
                    made[j] += weight * body[-at - 1, j]
    for k in range(n):
        body[r, k] = made[k]
    value[n + r] = total


def add_rows(lp: Any, weights: Any, right: Any) -> None:
    """Add rows ``weights @ x >= right``."""
    for r in range(len(right)):
        add_row(lp, weights[r], right[r])


def drop(lp: Any, gone: Any) -> None:
    """Drop those of some rows that have a line."""
    n, kept = len(lp.price), 0
    for i in range(lp.size[0]):
        at = lp.place[n + i]
        if at >= 0 or not gone[i]:
            if kept != i:
                for k in range(n):
                    lp.rows[kept, k] = lp.rows[i, k]
                lp.right[kept] = lp.right[i]
                lp.value[n + kept] = lp.value[n + i]
                lp.place[n + kept] = at
                if at >= 0:
                    lp.beside[at] = n + kept
                else:
                    lp.basic[-at - 1] = n + kept
            kept += 1
        else:
            lp.basic[-at - 1] = -1
    lines = 0
    for i in range(lp.size[0]):
        v = lp.basic[i]
        if v >= 0:
            lp.basic[lines], lp.place[v] = v, -lines - 1
            if lines != i:
                for k in range(n):
                    lp.body[lines, k] = lp.body[i, k]
            lines += 1
    lp.size[0] = kept


def steadiest(lp: Any, gone: Any, cell: int) -> int:
    """Line of a row that is to leave, with the largest weight of a cell; -1 if none is left."""
    n, best, line = len(lp.price), 1e-7, -1
    for i in range(lp.size[0]):
        if gone[i] and lp.basic[i] == n + i and abs(lp.body[i, cell]) > best:
            best, line = abs(lp.body[i, cell]), i
    return line


def rebuild(lp: Any) -> None:
    """Make the dictionary anew from the rows, without the rounding of all that went before."""
    n, m = len(lp.price), lp.size[0]
    inside = np.zeros(n, np.bool_)
    for i in range(m):
        if lp.basic[i] < n:
            inside[lp.basic[i]] = True
    gone = np.zeros(m, np.bool_)
    for j in range(n):
        if lp.beside[j] >= n:
            gone[lp.beside[j] - n] = True
    for j in range(n):
        lp.beside[j], lp.place[j], lp.price[j] = j, j, lp.cost[j]
        if not inside[j]:
            lp.value[j] = lp.low[j] if lp.value[j] < 0.5 * (lp.low[j] + lp.high[j]) else lp.high[j]
        else:
            lp.value[j] = lp.low[j]
    for i in range(m):
        lp.basic[i], lp.place[n + i] = n + i, -i - 1
        total = -lp.right[i]
        for k in range(n):
            lp.body[i, k] = lp.rows[i, k]
            total += lp.rows[i, k] * lp.value[k]
        lp.value[n + i] = total
    for k in range(n):
        if inside[k]:
            line = steadiest(lp, gone, k)
            if line >= 0:
                by = -lp.value[n + line] / lp.body[line, k]
                shift(lp, k, by)
                lp.value[n + line] = 0.0
                exchange(lp, line, k)


def fix(lp: Any, cell: int, low: float, high: float) -> None:
    """Set the bounds of a cell."""
    lp.low[cell], lp.high[cell] = low, high
    column = lp.place[cell]
    if column >= 0:
        to = min(max(lp.value[cell], low), high)
        if to != lp.value[cell]:
            shift(lp, column, to - lp.value[cell])


def set_bounds(lp: Any, low: Any, high: Any) -> None:
    """Set the bounds of all cells."""
    for k in range(len(low)):
        if lp.low[k] != low[k] or lp.high[k] != high[k]:
            fix(lp, k, low[k], high[k])


def settle(lp: Any) -> None:
    """Bring the variables of all columns to the bound that their reduced costs ask for."""
    n = len(lp.price)
    for j in range(n):
        v = lp.beside[j]
        if v >= n:
            lp.price[j] = max(lp.price[j], 0.0)
        else:
            to = lp.value[v]
            if lp.price[j] < -_NEAR:
                to = lp.high[v]
            elif lp.price[j] > _NEAR:
                to = lp.low[v]
            if to != lp.value[v]:
                shift(lp, j, to - lp.value[v])


def leaving(lp: Any) -> int:
    """Line outside its bounds, plus one; negative above the upper one, 0 if none is.

    The one that is furthest outside by the length of its line (Forrest and Goldfarb 1992): that
    takes half of the exchanges which the one furthest outside takes.
    """
    n, worst, found = len(lp.price), 0.0, 0
    body = lp.body
    for i in range(lp.size[0]):
        v = lp.basic[i]
        at = lp.value[v]
        if v >= n:
            short, sign = -at, 1
        elif lp.low[v] - at > at - lp.high[v]:
            short, sign = lp.low[v] - at, 1
        else:
            short, sign = at - lp.high[v], -1
        if short > _OUTSIDE:
            size = 1.0
            for k in range(n):
                size += body[i, k] * body[i, k]
            if short * short > worst * size:
                worst, found = short * short / size, sign * (i + 1)
    return found


def entering(lp: Any, line: int, sign: int, missing: float, flipped: Any) -> int:
    """Column that takes the place of a line, or -1; `flipped` are those that change bounds first.

    A cell that cannot mend the line even at its other bound goes there (Maros 2003).
    """
    n, body, price, count, size = len(lp.price), lp.body, lp.price, 0, 0
    able = np.empty(n, np.int64)
    for j in range(n):
        slope = sign * body[line, j]
        if abs(slope) <= _NEAR:
            continue
        v = lp.beside[j]
        if v >= n:
            helps = slope > 0
        else:
            helps = lp.low[v] < lp.high[v] and (slope > 0) == (lp.value[v] < 0.5)
        if helps:
            able[size] = j
            size += 1
    while True:
        best, steep, at = np.inf, 0.0, -1
        for i in range(size):
            slope = abs(body[line, able[i]])
            ratio = abs(price[able[i]]) / slope
            if ratio < best - _NEAR or (ratio <= best + _NEAR and slope > steep):
                best, steep, at = min(best, ratio), slope, i
        if at < 0:
            flipped[n] = count
            return -1
        if lp.beside[able[at]] >= n or missing - steep <= _OUTSIDE:
            flipped[n] = count
            return int(able[at])
        missing -= steep
        flipped[count] = able[at]
        count += 1
        size -= 1
        able[at] = able[size]


def solve(lp: Any, cutoff: float, most: int) -> Any:
    """Solve the relaxation from where it stands.

    Returns
    -------
    status : int
    line : int
        Of an infeasible relaxation, the line that says so, plus one; negative as for `leaving`.
    """
    n = len(lp.price)
    flipped = np.zeros(n + 1, np.int64)
    settle(lp)
    for _ in range(most):
        total = 0.0
        for k in range(n):
            total += lp.cost[k] * lp.value[k]
        # A little beyond it, so that the multipliers can prove it.
        if total > cutoff + _OUTSIDE * (1.0 + cutoff):
            return OVER, 0
        found = leaving(lp)
        if found == 0:
            return OPTIMAL, 0
        line, sign = abs(found) - 1, 1 if found > 0 else -1
        v = lp.basic[line]
        end = 0.0
        if v < n:
            end = lp.low[v] if sign > 0 else lp.high[v]
        missing = abs(end - lp.value[v])
        column = entering(lp, line, sign, missing, flipped)
        if column < 0:
            return INFEASIBLE, found
        for f in range(flipped[n]):
            w = lp.beside[flipped[f]]
            shift(lp, flipped[f], lp.low[w] + lp.high[w] - 2.0 * lp.value[w])
        shift(lp, column, (end - lp.value[v]) / lp.body[line, column])
        lp.value[v] = end
        exchange(lp, line, column)
    return LIMIT, 0


def weigh(lp: Any, line: int, reduced: Any) -> float:
    """Lower bound on the costs of all x within the bounds, by the multipliers of the dictionary.

    For the line of an infeasible relaxation, on zero costs: a positive bound is a proof. `reduced`
    (n,) becomes the reduced costs. What sums may lose by rounding is taken off (Neumaier and
    Shcherbina 2004).
    """
    n = len(lp.price)
    bound, size = 0.0, 0.0
    for k in range(n):
        reduced[k] = lp.cost[k] if line == 0 else 0.0
    for j in range(n + 1):
        if j < n:
            r = lp.beside[j] - n
            y = lp.price[j]
            if line != 0:
                y = -lp.body[abs(line) - 1, j] * (1 if line > 0 else -1)
        else:
            r = -1 if line == 0 else lp.basic[abs(line) - 1] - n
            y = 1.0
        if r >= 0 and y > 0.0:
            bound += y * lp.right[r]
            size += y * abs(lp.right[r])
            for k in range(n):
                reduced[k] -= y * lp.rows[r, k]
    for k in range(n):
        worth = reduced[k] * (lp.low[k] if reduced[k] > 0.0 else lp.high[k])
        bound += worth
        size += abs(worth)
    return bound - 1e-12 * size


KERNELS = Kernels(
    __name__, "shift", "exchange", "add_row", "add_rows", "drop", "steadiest", "rebuild", "fix",
    "set_bounds", "settle", "leaving", "entering", "solve", "weigh",
)  # fmt: skip
