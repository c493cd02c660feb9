"""Counting whole-number solutions without listing them, and drawing them uniformly.

Cells are decided one after the other; two partial tables that leave the same right-hand sides have
equally many completions, so each such state is counted once (dynamic programming).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from csp.clock import UNLIMITED, Clock
from csp.exact import Ints
from csp.sparse import entries

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
        self, matrix: csr_array, right: Ints, lower: Ints,
        upper: Ints, max_states: int, clock: Clock = UNLIMITED,
    ) -> None:  # fmt: skip
        columns = matrix.T.tocsr()
        self._rows = [entries(columns, cell) for cell in range(matrix.shape[1])]
        self._lower, self._upper = lower.tolist(), upper.tolist()
        self.order = _order(self._rows, matrix.shape[0])
        # What the cells that are still to come can add to each row.
        self._rest = self._ranges(matrix.shape[0])
        # States of a layer have numbers. Of each, the least value of the next cell, and the
        # states that it and the next ones lead to.
        states = {tuple(right.tolist()): 0}
        self._steps: list[list[tuple[int, list[int]]]] = []
        kept = 1
        for step in range(len(self.order)):
            following: dict[tuple[int, ...], int] = {}
            layer = []
            for state in states:
                low, high = self._range(step, state)
                if high - low >= max_states:
                    raise TooMany
                after = []
                for child in self._children(step, state, low, high, clock):
                    after.append(following.setdefault(child, len(following)))
                    if kept + len(following) > max_states:
                        raise TooMany
                layer.append((low, after))
            self._steps.append(layer)
            states = following
            kept += len(states)
        ways = [int(not any(state)) for state in states]
        self._ways = [ways]
        for layer in reversed(self._steps):
            ways = [sum([ways[child] for child in after]) for _, after in layer]
            self._ways.append(ways)
        self._ways.reverse()
        self.total = self._ways[0][0]

    def draw(self, rng: np.random.Generator) -> Ints:
        """Draw one solution (k,); all are equally likely."""
        x = np.zeros(len(self.order), dtype=np.int64)
        # Its number among all; what is left of it is its number among those that begin alike.
        state, left = 0, _below(rng, self.total)
        for step, cell in enumerate(self.order):
            ways, (low, after) = self._ways[step + 1], self._steps[step][state]
            for value, child in enumerate(after, low):
                if left < ways[child]:
                    x[cell], state = value, child
                    break
                left -= ways[child]
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
        self, step: int, state: tuple[int, ...], low: int, high: int, clock: Clock
    ) -> Iterator[tuple[int, ...]]:
        """Yield what values of the next cell, one after the other, leave of right-hand sides."""
        rows = self._rows[self.order[step]]
        after = list(state)
        for r, v in rows:
            after[r] -= v * low
        for value in range(low, high + 1):
            if (value - low) % _TURNS == 0 and clock.over:
                raise TooMany
            yield tuple(after)
            for r, v in rows:
                after[r] -= v

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
