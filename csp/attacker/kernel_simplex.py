"""Whether a pattern keeps levels in many tables: the simplex method in whole numbers, compiled.

In kernel form the deviations of the few cells of a pattern are whole combinations of those of as
many cells as its kernel has dimensions. All tables that agree in their relations share that form,
so that thousands of them are judged without a model or a solver for each. Pivots divide exactly
(Bareiss 1968), so that every answer is exact; where numbers grow large, or only whole deviations
count and fractions say nothing, there is none, and an audit has to tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from csp.attacker.null_space import null_space
from csp.compiled import Kernels
from csp.exact import UNBOUNDED, Bools, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MISSES, KEEPS, UNDECIDED = 0, 1, 2
"""Whether a pattern keeps all levels of a table."""

_ENTRY, _ROOM, _WAY = 2**18, 2**24, 2**44
"""Entries of a form, rooms and levels, and ways to a bound times the divisor, up to which products
of two of these with an entry stay below 2**62. (A cell without one bound may be far from the other
one.)"""

_NARROW = 2
"""Largest levels that a cell may move where a deviation in fractions was found and no whole one."""

_SMALL = 3_000
"""Entries of a form times tables up to which plain Python takes some hundredths of a second."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelForm:
    """The kernel of the relations within some cells.

    Deviation i is ``matrix[i] @ z[columns] / divisor``, where z are the deviations of all cells.
    """

    cells: Ints  # (m,)
    matrix: Ints  # (m, d)
    columns: Ints  # (d,) places among the cells
    divisor: int

    @classmethod
    def of(cls, relations: csr_array, pattern: Bools) -> KernelForm | None:
        """Form of the cells of a pattern; None if its numbers are large."""
        cells = np.flatnonzero(pattern)
        found = null_space(relations[:, cells], np.arange(len(cells)))
        if found is None:
            return None
        basis, axes = found
        matrix = np.ascontiguousarray(basis.toarray())
        divisor = 1
        for column, row in enumerate(axes.tolist()):
            divisor = KERNELS.run(
                "pivot", matrix, divisor, row, column, small=matrix.size <= _SMALL
            )
            if not divisor:
                return None
        return cls(cells, matrix, axes, int(divisor))

    def judge(
        self, values: Ints, lower: Ints, upper: Ints,
        primary: Bools, levels: Ints, *, integer: bool,
    ) -> Ints:  # fmt: skip
        """Say of each table whether the pattern keeps the levels of its primary cells.

        Parameters
        ----------
        values : (t, n) int64
            All cells of the tables, in units; they keep all relations.
        lower, upper : (n,) int64
            Bounds that the attacker knows; `csp.exact.UNBOUNDED` for none.
        primary : (t, n) bool
            Cells of the pattern.
        levels : (3, t, n) int64
            Lower, upper and sliding protection levels.
        integer : bool
            Whether the attacker knows that cells are whole units.

        Returns
        -------
        (t,) int64
            `MISSES`, `KEEPS` or `UNDECIDED`.
        """
        inside = values[:, self.cells]
        asked = np.where(primary[:, self.cells], levels[:, :, self.cells], 0)
        down = np.where(lower[self.cells] <= -UNBOUNDED, -1, inside - lower[self.cells])
        up = np.where(upper[self.cells] >= UNBOUNDED, -1, upper[self.cells] - inside)
        most = np.maximum(down.max(axis=1, initial=0), up.max(axis=1, initial=0))
        large = np.maximum(most, asked.max(axis=(0, 2), initial=0)) > _ROOM
        verdicts = np.full(len(values), UNDECIDED)
        near = np.flatnonzero(~large)
        verdicts[near] = self._judge(down[near], up[near], asked[:, near], integer=integer)
        # Within a narrow box more of the ends are whole, and those count in the wide one as well.
        open_cases = near[verdicts[near] == UNDECIDED]
        cap = _NARROW * asked[:, open_cases].max(axis=(0, 2), initial=0)[:, None]
        down, up = (
            np.where((way < 0) | (way > cap), cap, way)
            for way in (down[open_cases], up[open_cases])
        )
        again = self._judge(down, up, asked[:, open_cases], integer=integer)
        verdicts[open_cases[again == KEEPS]] = KEEPS
        return verdicts

    def _judge(self, down: Ints, up: Ints, asked: Ints, *, integer: bool) -> Ints:
        """Verdicts (t,) by rooms (t, m), -1 for no end, and levels (3, t, m)."""
        found = np.empty(len(down), np.int64)
        if len(down):
            KERNELS.run(
                "judge_all", self.matrix, self.columns, self.divisor, down, up,
                np.ascontiguousarray(asked), int(integer), found,
                small=self.matrix.size * len(down) <= _SMALL,
            )  # fmt: skip
        return found


def pivot(matrix: Any, divisor: int, row: int, column: int) -> int:
    """Let the cell of a row take the place of that of a column.

    Returns
    -------
    int
        The new divisor; 0 if an entry is too large to go on.
    """
    size = matrix[row, column]
    sign = 1 if size > 0 else -1
    most = abs(size)
    for i in range(matrix.shape[0]):
        if i != row:
            held = matrix[i, column]
            for j in range(matrix.shape[1]):
                if j != column and (matrix[i, j] != 0 or held != 0):
                    turned = matrix[i, j] * size - held * matrix[row, j]
                    if divisor != 1:
                        turned //= divisor
                    matrix[i, j] = sign * turned
                    most = max(most, abs(matrix[i, j]))
            matrix[i, column] = sign * held
            most = max(most, abs(held))
    for j in range(matrix.shape[1]):
        matrix[row, j] = 0
    matrix[row, column] = abs(size)
    return abs(size) if most <= _ENTRY else 0


def place_of(matrix: Any, at: Any, row: int) -> int:
    """Deviation of a cell, times the divisor."""
    total = 0
    for j in range(len(at)):
        total += matrix[row, j] * at[j]
    return total


def is_whole(matrix: Any, divisor: int, at: Any) -> bool:
    """Whether every cell deviates by whole units."""
    if divisor == 1:
        return True
    rest = 0
    for i in range(matrix.shape[0]):
        rest += place_of(matrix, at, i) % divisor
    return rest == 0


def enter(matrix: Any, columns: Any, at: Any, down: Any, up: Any, row: int, sign: int,
          careful: int) -> int:  # fmt: skip
    """Column whose cell is to move, plus one, and negative if downwards; 0 if none is left.

    The steepest; with `careful` the first cell of all, which never cycles (Bland 1977).
    """
    best, found = 0, 0
    for j in range(len(at)):
        slope = sign * matrix[row, j]
        cell = columns[j]
        worth = 0
        if slope > 0 and (up[cell] < 0 or at[j] < up[cell]):
            worth = slope
        elif slope < 0 and (down[cell] < 0 or at[j] > -down[cell]):
            worth = -slope
        if worth > 0:
            if careful:
                worth = matrix.shape[0] - cell
            if worth > best:
                best, found = worth, j + 1 if slope > 0 else -j - 1
    return found


def climb(
    matrix: Any, divisor: int, columns: Any, at: Any, down: Any, up: Any, row: int, sign: int,
    need: int, whole: int,
) -> Any:  # fmt: skip
    """Move a cell in a direction until it has gone far enough, or goes no further.

    Returns
    -------
    divisor : int
        0 if the numbers became too large.
    reach : int
        How far it went, times the divisor; no more than it has to.
    best : int
        How far it went by a deviation in whole units.
    """
    m, best, careful = matrix.shape[0], 0, 0
    for _ in range(1000):
        # Nothing moves at the beginning: it can always stay where it is.
        place = sign * place_of(matrix, at, row)
        reach = min(max(0, place), need * divisor)
        if place > best * divisor and is_whole(matrix, divisor, at):
            best = place // divisor
        if best >= need or (not whole and reach >= need * divisor):
            return divisor, reach, best
        entering = enter(matrix, columns, at, down, up, row, sign, careful)
        if entering == 0:
            return divisor, reach, best
        j, turn = abs(entering) - 1, 1 if entering > 0 else -1
        cell = columns[j]
        # The nearest bound: that of the cell itself, or of a cell that moves with it.
        leaving, ends = -1, 0
        far, size = -1, 1
        if turn > 0 and up[cell] >= 0:
            far, leaving, ends = up[cell] - at[j], cell, up[cell]
        elif turn < 0 and down[cell] >= 0:
            far, leaving, ends = at[j] + down[cell], cell, -down[cell]
        for i in range(m):
            slope = turn * matrix[i, j]
            if i == cell or slope == 0 or (up[i] < 0 if slope > 0 else down[i] < 0):
                continue
            place = place_of(matrix, at, i)
            room = up[i] * divisor - place if slope > 0 else down[i] * divisor + place
            if room > _WAY:
                return 0, 0, 0
            steep = abs(slope)
            if far < 0 or room * size < far * steep:
                far, size, leaving, ends = room, steep, i, up[i] if slope > 0 else -down[i]
        if leaving < 0:
            # Nothing stops it: in whole steps as well, from a whole place.
            return divisor, need * divisor, need if is_whole(matrix, divisor, at) else best
        careful = 1 if far == 0 else careful
        at[j] = ends
        if leaving != cell:
            divisor = pivot(matrix, divisor, leaving, j)
            columns[j] = leaving
            if divisor == 0:
                return 0, 0, 0
    return 0, 0, 0


def judge_one(
    matrix: Any, columns: Any, divisor: int, at: Any, down: Any, up: Any, asked: Any, whole: int
) -> int:
    """Verdict on one table; everything but the levels and the rooms is changed."""
    for i in range(matrix.shape[0]):
        lpl, upl, spl = asked[0, i], asked[1, i], asked[2, i]
        if lpl == 0 and upl == 0 and spl == 0:
            continue
        divisor, rise, up_whole = climb(
            matrix, divisor, columns, at, down, up, i, 1, max(upl, spl), whole
        )
        if divisor == 0:
            return 2
        above = divisor
        left = spl - (up_whole if whole else rise // above)
        divisor, fall, down_whole = climb(
            matrix, divisor, columns, at, down, up, i, -1, max(lpl, left), whole
        )
        if divisor == 0:
            return 2
        if whole:
            most_up, most_down = rise // above, fall // divisor
            if most_up < upl or most_down < lpl or most_up + most_down < spl:
                return 0
            if up_whole < upl or down_whole < lpl or up_whole + down_whole < spl:
                return 2
        elif (
            rise < upl * above or fall < lpl * divisor
            or rise * divisor + fall * above < spl * above * divisor
        ):  # fmt: skip
            return 0
    return 1


def judge_all(
    matrix: Any, columns: Any, divisor: int, down: Any, up: Any, asked: Any, whole: int,
    verdicts: Any,
) -> None:  # fmt: skip
    """Verdicts on all tables, each from the same form."""
    for t in range(len(verdicts)):
        at = np.zeros(len(columns), np.int64)
        verdicts[t] = judge_one(
            matrix.copy(), columns.copy(), divisor, at, down[t], up[t], asked[:, t], whole
        )


KERNELS = Kernels(
    __name__, "pivot", "place_of", "is_whole", "enter", "climb", "judge_one", "judge_all"
)
