"""Bounds of cells by one relation at a time, with a log from which each of them follows again.

All coefficients are 1 or -1, so that bounds stay whole numbers: what is found holds for fractions
too. Relations are looked at again when a bound of one of their cells has moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.errors import CertificateError, InputError
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Ints
from csp.sparse import entries

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KERNELS = Kernels(__name__, "implied", "sums", "tighten", "follow")

GIVEN = -1
"""Stands in the log for a bound that a combination of relations gives."""

_SMALL = 2000
"""Relations of a call that may run uncompiled."""

_MOVES = 400
"""How often an end may move: ends that close in on each other unit by unit are left to others."""

_LOOKS = 20_000_000
"""Entries of relations that are read between two looks at the clock."""


class Entries(NamedTuple):
    """Relations, entry by entry: those of each relation, and the relations of each cell."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    signs: Ints
    right: Ints
    cell_start: NDArray[np.int32]
    cell_rows: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """Relations between withheld cells: ``matrix @ x == right``.

    Attributes
    ----------
    matrix : (r, k) csr_array of int64
        Entries 1 and -1.
    columns : (k, r) csr_array
        The transpose.
    right : (r,) int64
    """

    matrix: csr_array
    columns: csr_array
    right: Ints

    @classmethod
    def of(cls, matrix: csr_array, right: Ints) -> System:
        """Keep a matrix and its transpose."""
        from scipy.sparse import csr_array

        return cls(csr_array(matrix), csr_array(matrix.T), right)

    @property
    def entries(self) -> Entries:
        """The relations as loops take them."""
        m, c = self.matrix, self.columns
        return Entries(m.indptr, m.indices, m.data, self.right, c.indptr, c.indices)


@dataclass(frozen=True, slots=True)
class Step:
    """One move of a bound: which relation moved which end of which cell."""

    cell: int
    side: int  # 0 for the lower end, 1 for the upper one
    row: int  # `GIVEN` for a combination of relations


@dataclass(slots=True, eq=False)
class Bounds:
    """Bounds of cells and how they came about.

    Attributes
    ----------
    system : System
    lower, upper : (k,) int64
        Closest that are known; `UNBOUNDED` for none.
    first : (2, k) int64
        Those that are known beforehand.
    unfinished : int
        Ends that moved so often that they were left where they are.
    """

    system: System
    lower: Ints
    upper: Ints
    first: Ints = field(init=False)
    unfinished: int = 0
    _log: list[Ints] = field(default_factory=list)
    _moves: NDArray[np.int32] = field(init=False)
    _cap: int = field(init=False)

    def __post_init__(self) -> None:
        widest = int(np.diff(self.system.matrix.indptr).max(initial=0))
        # Sums of a relation stay within 64 bits; a bound beyond that counts as none.
        self._cap = min(MAX_VALUE, 2**61 // (widest + 1))
        self.lower = np.where(self.lower < -self._cap, -UNBOUNDED, self.lower)
        self.upper = np.where(self.upper > self._cap, UNBOUNDED, self.upper)
        self.first = np.array([self.lower, self.upper])
        self._moves = np.zeros(2 * len(self.lower), np.int32)

    @property
    def fixed(self) -> Bools:
        """Cells whose ends have met."""
        return np.asarray(self.lower == self.upper)

    def log(self) -> Ints:
        """All moves in order, (steps, 3): twice the cell plus the side, the relation, the bound."""
        return np.concatenate([np.zeros((0, 3), np.int64), *self._log])

    def give(self, cells: Ints, values: Ints) -> Ints:
        """Take over values that combinations of relations give; returns the relations to look at.

        Raises
        ------
        InputError
            If a value lies outside the bounds.
        """
        wrong = (values < self.lower[cells]) | (values > self.upper[cells])
        if wrong.any():
            raise _contradiction()
        for side, ends in ((0, self.lower), (1, self.upper)):
            moved = ends[cells] != values
            ends[cells[moved]] = values[moved]
            part = np.column_stack(
                [2 * cells[moved] + side, np.full(int(moved.sum()), GIVEN), values[moved]]
            )
            self._log.append(part.astype(np.int64))
        found: Ints = np.unique(self.system.columns[cells].indices).astype(np.int64)
        return found

    def propagate(self, rows: Ints | None = None, clock: Clock = UNLIMITED) -> None:
        """Tighten bounds until no relation moves one.

        Parameters
        ----------
        rows : (q,) int64, optional
            Relations to begin with; all by default.
        clock : Clock
            Whatever is found when it is over stays.

        Raises
        ------
        InputError
            If the bounds of a cell exclude each other.
        """
        matrix = self.system.matrix
        r = matrix.shape[0]
        waiting = np.zeros(r, bool)
        ring = np.zeros(r + 1, np.int64)
        rows = np.arange(r) if rows is None else rows
        ring[: len(rows)] = rows
        waiting[rows] = True
        state = np.array([0, len(rows), 0, 0], np.int64)  # head, tail, logged, left as they are
        room = max(1000, len(self.lower) // 2, 3 * int(np.diff(matrix.indptr).max(initial=0)))
        while True:
            log = np.zeros((room, 3), np.int64)
            state[2] = 0
            end = KERNELS.run(
                "tighten", self.system.entries, self.lower, self.upper, ring, waiting, state, log,
                self._moves, self._cap, _LOOKS, small=r <= _SMALL,
            )  # fmt: skip
            self._log.append(log[: state[2]].copy())
            if end == 2:
                raise _contradiction()
            if end == 0 or clock.over:
                break
        self.unfinished = int((self._moves >= _MOVES).sum())

    def check(self) -> None:
        """Follow the log from the first bounds on, in whole numbers, and compare.

        Values that combinations give are taken from the log; their proofs are checked apart.

        Raises
        ------
        CertificateError
            If a bound does not follow, or the last ones differ.
        """
        lower, upper = self.first[0].copy(), self.first[1].copy()
        log = self.log()
        bad = KERNELS.run(
            "follow", self.system.entries, lower, upper, log, small=len(log) <= _SMALL
        )
        if bad >= 0 or (lower != self.lower).any() or (upper != self.upper).any():
            msg = f"step {bad + 1} of the bounds does not follow from its relation"
            raise CertificateError(msg)

    def chain(self, cell: int, most: int = 1000) -> tuple[Step, ...]:
        """Say from which relations, one after another, the bounds of a cell follow.

        Parameters
        ----------
        cell : int
        most : int
            Steps up to which a chain is returned; () for a longer one.
        """
        log, matrix = self.log(), self.system.matrix
        order = np.argsort(log[:, 0], kind="stable")
        keys = log[order, 0]

        def last(key: int, before: int) -> int:
            low, high = np.searchsorted(keys, [key, key + 1])
            at = int(np.searchsorted(order[low:high], before)) - 1
            return int(order[low + at]) if at >= 0 else -1

        wanted = [last(2 * cell + side, len(log)) for side in (0, 1)]
        needed: set[int] = set()
        while wanted:
            at = wanted.pop()
            if at < 0 or at in needed:
                continue
            needed.add(at)
            if len(needed) > most:
                return ()
            key, row, _ = log[at].tolist()
            if row == GIVEN:
                continue
            own, members = key // 2, entries(matrix, row)
            mine = dict(members)[own]
            for other, sign in members:
                if other != own:
                    # An upper end needs lower ends of cells on the same side of the equation.
                    side = (key % 2) ^ (1 if sign == mine else 0)
                    wanted.append(last(2 * other + side, at))
        steps = (log[at].tolist() for at in sorted(needed))
        return tuple(Step(key // 2, key % 2, row) for key, row, _ in steps)


def _contradiction() -> InputError:
    return InputError(
        "no table is consistent with the release: its published values contradict the relations "
        "or bounds of the suppressed cells; a published margin must be wrong"
    )


# ---- loops ---------------------------------------------------------------------------------------


def implied(
    indices: NDArray[np.int32], signs: Ints, start: int, stop: int, right: int,
    lower: Ints, upper: Ints, at: int, side: int,
) -> int:  # fmt: skip
    """Bound of the cell at one place of a relation; 2**62 with the sign of the side for none."""
    # sign * x = right - rest: an upper end of x takes the least rest if its sign is 1.
    none = UNBOUNDED if side == 1 else -UNBOUNDED
    least = (side == 1) == (signs[at] > 0)
    rest = 0
    for e in range(start, stop):
        if e == at:
            continue
        low = least == (signs[e] > 0)
        end = lower[indices[e]] if low else upper[indices[e]]
        if end == (-UNBOUNDED if low else UNBOUNDED):
            return none
        rest += signs[e] * end
    return int(signs[at] * (right - rest))


def sums(
    indices: NDArray[np.int32], signs: Ints, start: int, stop: int, lower: Ints, upper: Ints,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Least and largest left side of a relation, and how many terms without end each leaves out."""
    low = high = 0
    open_low = open_high = 0
    for e in range(start, stop):
        a, b = lower[indices[e]], upper[indices[e]]
        if signs[e] < 0:
            a, b = -b, -a
        if a == -UNBOUNDED:
            open_low += 1
        else:
            low += a
        if b == UNBOUNDED:
            open_high += 1
        else:
            high += b
    return low, open_low, high, open_high


def tighten(
    entries: Entries, lower: Ints, upper: Ints, ring: Ints, waiting: Bools, state: Ints, log: Ints,
    moves: NDArray[np.int32], cap: int, looks: int,
) -> int:  # fmt: skip
    """Work the ring of waiting relations off: 0 done, 1 to be called again, 2 contradiction."""
    indptr, indices, signs, right, cell_start, cell_rows = entries
    size = len(ring)
    while state[0] != state[1]:
        row = ring[state[0]]
        start, stop = indptr[row], indptr[row + 1]
        if looks <= 0 or state[2] + 2 * (stop - start) > len(log):
            return 1
        looks -= stop - start
        state[0] = (state[0] + 1) % size
        waiting[row] = False
        low, open_low, high, open_high = sums(indices, signs, start, stop, lower, upper)
        for e in range(start, stop):
            cell = indices[e]
            a, b = lower[cell], upper[cell]
            if signs[e] < 0:
                a, b = -b, -a
            new_a, new_b = a, b
            if open_low == 0 or (open_low == 1 and a == -UNBOUNDED):
                end = right[row] - (low if a == -UNBOUNDED else low - a)
                if end < b and abs(end) <= cap:
                    new_b = end
            if open_high == 0 or (open_high == 1 and b == UNBOUNDED):
                end = right[row] - (high if b == UNBOUNDED else high - b)
                if end > a and abs(end) <= cap:
                    new_a = end
            if new_a == a and new_b == b:
                continue
            moved = False
            for kind in range(2):
                new, old = (new_a, a) if kind == 0 else (new_b, b)
                side = kind if signs[e] > 0 else 1 - kind
                key = 2 * cell + side
                if new == old:
                    continue
                if moves[key] >= _MOVES and new_a < new_b:
                    continue
                moves[key] += 1
                moved = True
                if side == 0:
                    lower[cell] = signs[e] * new
                else:
                    upper[cell] = signs[e] * new
                log[state[2], 0] = key
                log[state[2], 1] = row
                log[state[2], 2] = signs[e] * new
                state[2] += 1
                # The sums follow, so that later cells see what is known by now.
                if kind == 0:
                    if old == -UNBOUNDED:
                        open_low -= 1
                        low += new
                    else:
                        low += new - old
                elif old == UNBOUNDED:
                    open_high -= 1
                    high += new
                else:
                    high += new - old
            if lower[cell] > upper[cell]:
                return 2
            if moved:
                for c in range(cell_start[cell], cell_start[cell + 1]):
                    other = cell_rows[c]
                    if other != row and not waiting[other]:
                        waiting[other] = True
                        ring[state[1]] = other
                        state[1] = (state[1] + 1) % size
        if (open_low == 0 and low > right[row]) or (open_high == 0 and high < right[row]):
            return 2
    return 0


def follow(entries: Entries, lower: Ints, upper: Ints, log: Ints) -> int:
    """Make the moves of a log; returns the first that its relation does not give, or -1."""
    indptr, indices, signs, right, _, _ = entries
    for step in range(len(log)):
        key, row, new = log[step, 0], log[step, 1], log[step, 2]
        cell, side = key // 2, key % 2
        if row >= 0:
            start, stop = indptr[row], indptr[row + 1]
            at = -1
            for e in range(start, stop):
                if indices[e] == cell:
                    at = e
            if at < 0 or new != implied(
                indices, signs, start, stop, right[row], lower, upper, at, side
            ):
                return step
        if side == 0:
            lower[cell] = new
        else:
            upper[cell] = new
    return -1
