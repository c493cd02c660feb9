"""The attacker's linear program over a few dozen cells, in kernel form, compiled.

Relations leave the deviations of most cells to those of few others. Among 70 cells of a pattern of
counts in three ways some fifteen are free, and an exchange of the simplex method takes a thousand
additions. Nothing moves at the beginning, which keeps all bounds, so that any dictionary is a start
for any program. Answers are floating point numbers: what rests on them has to be put in again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.compiled import Kernels
from csp.exact import Floats, Ints

_NEAR = 1e-9
"""What counts as zero in entries, prices and ways."""

_FAR = 1e30
"""Beyond any way that is finite."""

_STEPS = 1000
"""Exchanges after which the deviation found so far is the answer."""

_SMALL = 500
"""Entries up to which plain Python takes a millisecond."""


class KernelProgram(NamedTuple):
    """Relations of some cells, solved for some of these.

    Deviations of the cells in `basic` are ``body`` times those of the cells `beside` them. At
    first, when the former were `first`, each line was a sum of relations by the weights `made`.
    """

    body: Floats  # (r, d)
    basic: Ints  # (r,)
    beside: Ints  # (d,)
    first: Ints  # (r,)
    made: Floats  # (r, m)

    @classmethod
    def of(cls, relations: Floats) -> KernelProgram:
        """Program of the cells of a dense matrix (m, k)."""
        m, k = relations.shape
        relations = np.array(relations, np.float64, order="C")
        made, basic = np.eye(m), np.full(m, -1)
        KERNELS.run("eliminate", relations, made, basic, small=relations.size <= _SMALL)
        kept = np.flatnonzero(basic >= 0)
        basic = basic[kept]
        others = np.ones(k, np.bool_)
        others[basic] = False
        body = -relations[kept][:, others]
        return cls(
            np.ascontiguousarray(body), basic, np.flatnonzero(others), basic.copy(), made[kept]
        )

    def push(self, aim: Floats, up: Floats, down: Floats) -> tuple[Floats, Floats]:
        """Maximise a sum of deviations.

        Parameters
        ----------
        aim : (k,) float64
            Weight of each cell.
        up, down : (k,) float64
            How far each cell can move; the sum must be bounded.

        Returns
        -------
        z : (k,) float64
            Deviations.
        multipliers : (m,) float64
            Of the relations: by these the bounds allow no larger sum.
        """
        z, price = np.zeros(len(aim)), np.zeros(len(self.beside))
        KERNELS.run("maximise", self, aim, up, down, z, price, small=self.body.size <= _SMALL)
        # What the prices do not say is a sum of relations, which the first dictionary states.
        rest = aim.copy()
        rest[self.beside] -= price
        return z, rest[self.first] @ self.made


def eliminate(matrix: Any, made: Any, basic: Any) -> None:
    """Solve each relation for a cell, and put that into all others; -1 for what follows."""
    m, k = matrix.shape
    for i in range(m):
        largest, found = 1e-7, -1
        for j in range(k):
            if abs(matrix[i, j]) > largest + _NEAR:
                largest, found = abs(matrix[i, j]), j
        basic[i] = found
        if found < 0:
            continue
        size = matrix[i, found]
        for j in range(k):
            matrix[i, j] /= size
        for j in range(m):
            made[i, j] /= size
        # Copies, which no line can overlap: then four entries at a time are added.
        line, sums = matrix[i].copy(), made[i].copy()
        for t in range(m):
            held = matrix[t, found]
            if t != i and held != 0.0:
                for j in range(k):
                    matrix[t, j] -= held * line[j]
                matrix[t, found] = 0.0
                for j in range(m):
                    made[t, j] -= held * sums[j]


def steepest(program: Any, price: Any, z: Any, up: Any, down: Any, careful: int) -> int:
    """Column whose cell is to move, the one of the largest price; -1 if none helps.

    With `careful` the first cell of all, which never cycles (Bland 1977).
    """
    best, found = _NEAR, -1
    for j in range(len(price)):
        cell = program.beside[j]
        room = up[cell] - z[cell] if price[j] > 0 else z[cell] + down[cell]
        if room > _NEAR and abs(price[j]) > _NEAR:
            worth = 1.0 * (len(z) - cell) if careful else abs(price[j])
            if worth > best:
                best, found = worth, j
    return found


def nearest(program: Any, column: int, turn: float, z: Any, up: Any, down: Any) -> Any:
    """How far the cell of a column can move, and the line that stops it; -1 for its own bound."""
    cell = program.beside[column]
    far = up[cell] - z[cell] if turn > 0 else z[cell] + down[cell]
    size, line = 0.0, -1
    for i in range(len(program.basic)):
        slope = turn * program.body[i, column]
        if abs(slope) > _NEAR:
            one = program.basic[i]
            room = up[one] - z[one] if slope > 0 else z[one] + down[one]
            step = max(room, 0.0) / abs(slope)
            if step < far - _NEAR or (line >= 0 and step < far + _NEAR and abs(slope) > size):
                far, size, line = min(far, step), abs(slope), i
    return far, line


def exchange(program: Any, line: int, column: int, price: Any) -> None:
    """Let the cell of a column take the place of that of a line."""
    body = program.body
    size = body[line, column]
    for j in range(len(price)):
        body[line, j] = -body[line, j] / size
    body[line, column] = 1.0 / size
    pivot = body[line].copy()
    held = price[column]
    price[column] = 0.0
    for j in range(len(price)):
        price[j] += held * pivot[j]
    for i in range(len(program.basic)):
        held = body[i, column]
        if i != line and held != 0.0:
            body[i, column] = 0.0
            for j in range(len(price)):
                body[i, j] += held * pivot[j]
    one = program.basic[line]
    program.basic[line] = program.beside[column]
    program.beside[column] = one


def maximise(program: Any, aim: Any, up: Any, down: Any, z: Any, price: Any) -> None:
    """Maximise ``aim @ z`` from ``z = 0`` on; `price` becomes the weights of what is beside."""
    for j in range(len(price)):
        price[j] = aim[program.beside[j]]
    for i in range(len(program.basic)):
        weight = aim[program.basic[i]]
        if weight != 0.0:
            for j in range(len(price)):
                price[j] += weight * program.body[i, j]
    careful = 0
    for _ in range(_STEPS):
        column = steepest(program, price, z, up, down, careful)
        if column < 0:
            return
        turn = 1.0 if price[column] > 0 else -1.0
        far, line = nearest(program, column, turn, z, up, down)
        if far > _FAR:
            return
        careful = 1 if far <= _NEAR else careful
        z[program.beside[column]] += turn * far
        for i in range(len(program.basic)):
            z[program.basic[i]] += turn * far * program.body[i, column]
        if line >= 0:
            exchange(program, line, column, price)


KERNELS = Kernels(__name__, "eliminate", "steepest", "nearest", "exchange", "maximise")
