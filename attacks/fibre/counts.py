"""Counting whole-number solutions without listing them, and drawing them uniformly.

Cells are decided one after the other; two partial tables that leave the same right-hand sides have
equally many completions, so each such state is counted once (dynamic programming).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from csp.attacker.elimination import entries
from csp.clock import UNLIMITED, Clock

__all__ = ["Counter", "TooMany"]


_TURNS = 1024
"""Values between two looks at the clock."""


class TooMany(Exception):
    """More partial sums than the limit."""


class Counter:
    """Number of solutions of ``M x = b`` with ``lower <= x <= upper``, by partial sums.

    `right` is b; at most `max_states` states are kept.

    Raises
    ------
    TooMany
        If there are more, or the time ran out.
    """

    def __init__(
        self, matrix: csr_array, right: NDArray[np.int64], lower: NDArray[np.int64],
        upper: NDArray[np.int64], max_states: int, clock: Clock = UNLIMITED,
    ) -> None:  # fmt: skip
        columns = matrix.T.tocsr()
        self._rows = [entries(columns, cell) for cell in range(matrix.shape[1])]
        self._lower, self._upper = lower.tolist(), upper.tolist()
        self.order = _order(self._rows, matrix.shape[0])
        # What the cells that are still to come can add to each row.
        self._rest = self._ranges(matrix.shape[0])
        states: set[tuple[int, ...]] = {tuple(right.tolist())}
        forward = [states]
        kept = 1
        for step in range(len(self.order)):
            following: set[tuple[int, ...]] = set()
            for state in states:
                low, high = self._range(step, state)
                if high - low >= max_states:
                    raise TooMany
                for _, after in self._children(step, state, clock):
                    following.add(after)
                    if kept + len(following) > max_states:
                        raise TooMany
            states = following
            kept += len(states)
            forward.append(states)
        ways = {state: int(not any(state)) for state in states}
        self._layers = [ways]
        for step in reversed(range(len(self.order))):
            before: dict[tuple[int, ...], int] = {}
            for state in forward[step]:
                before[state] = sum(ways[after] for _, after in self._children(step, state, clock))
            ways = before
            self._layers.append(ways)
        self._layers.reverse()
        self._first = tuple(right.tolist())
        self.total = self._layers[0][self._first]

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one solution (k,); all are equally likely."""
        x = np.zeros(len(self.order), dtype=np.int64)
        state = self._first
        for step, cell in enumerate(self.order):
            left = _below(rng, self._layers[step][state])
            for value, after in self._children(step, state):
                ways = self._layers[step + 1][after]
                if left < ways:
                    x[cell], state = value, after
                    break
                left -= ways
        return x

    def _range(self, step: int, state: tuple[int, ...]) -> tuple[int, int]:
        """Values of the next cell that the later ones can make up for."""
        cell = self.order[step]
        low, high = self._lower[cell], self._upper[cell]
        for r, v in self._rows[cell]:
            # state[r] - v * x must be within what the later cells can add.
            least, most = self._rest[step + 1][r]
            a, b = state[r] - most, state[r] - least
            if v < 0:
                a, b, v = -b, -a, -v
            low, high = max(low, -(-a // v)), min(high, b // v)
        return low, high

    def _children(
        self, step: int, state: tuple[int, ...], clock: Clock = UNLIMITED
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield values of the next cell, and what they leave of the right-hand sides."""
        rows = self._rows[self.order[step]]
        low, high = self._range(step, state)
        for value in range(low, high + 1):
            if (value - low) % _TURNS == 0 and clock.over:
                raise TooMany
            after = list(state)
            for r, v in rows:
                after[r] -= v * value
            yield value, tuple(after)

    def _ranges(self, m: int) -> list[list[tuple[int, int]]]:
        ranges = [[(0, 0)] * m]
        for cell in reversed(self.order):
            now = list(ranges[-1])
            for r, v in self._rows[cell]:
                ends = sorted((v * self._lower[cell], v * self._upper[cell]))
                now[r] = (now[r][0] + ends[0], now[r][1] + ends[1])
            ranges.append(now)
        return ranges[::-1]


def _order(columns: list[list[tuple[int, int]]], m: int) -> list[int]:
    """Cells such that few of m relations are begun and not ended at any time."""
    rows_of = [{r for r, _ in column} for column in columns]
    left = [sum(r in rows for rows in rows_of) for r in range(m)]
    begun: set[int] = set()
    cells = set(range(len(rows_of)))
    order = []
    while cells:
        # Fewest new rows begun, then most rows ended, then the first.
        best = min(
            cells,
            key=lambda c: (
                len(rows_of[c] - begun) - sum(left[r] == 1 for r in rows_of[c]), c,
            ),
        )  # fmt: skip
        cells.discard(best)
        order.append(best)
        begun |= rows_of[best]
        for r in rows_of[best]:
            left[r] -= 1
    return order


def _below(rng: np.random.Generator, total: int) -> int:
    """Draw a whole number below `total`, however large that is."""
    bits = total.bit_length()
    while True:
        words = -(-bits // 32)
        number = 0
        for word in rng.integers(0, 2**32, size=words, dtype=np.uint64).tolist():
            number = number << 32 | word
        number >>= 32 * words - bits
        if number < total:
            return number
