"""Random decoys by brute force over everything, written from the theorem alone.

Small tables only: all completions by naive loops, the widths of all patterns from these
completions, the cheapest pattern by trying all of them, the probability of a pattern by adding up
all sets of coins. Only attributes of tables and problems are read; whole numbers and fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from tests.support.oracles import places, rows_of

__all__ = ["Impossible", "Public", "chance", "completions", "hulls", "outcomes", "published"]

NO_END = 2**62


class Impossible(Exception):
    """No pattern keeps the promises."""


# ---- all consistent tables ------------------------------------------------------------------


def completions(table: Any, pattern: Sequence[Any]) -> list[tuple[int, ...]]:
    """All whole-number tables that agree with the cells outside the pattern, by nested loops.

    A cell that comes last in some relation is computed from it, the others run through all values
    up to the smallest total above them.
    """
    values = [int(v) for v in table.values]
    lower = [int(v) for v in table.lower]
    rows = [row for row in rows_of(table) if any(pattern[i] for i in row)]
    ends = _ends(table, pattern, rows)
    hidden = [i for i in range(len(values)) if pattern[i]]
    last = {max(i for i in row if pattern[i]): row for row in reversed(rows)}
    closing = {i: [r for r in rows if max(j for j in r if pattern[j]) == i] for i in hidden}
    found: list[tuple[int, ...]] = []

    def fill(k: int) -> None:
        if k == len(hidden):
            found.append(tuple(values))
            return
        i = hidden[k]
        for v in _tried(i):
            values[i] = v
            if lower[i] <= v <= ends[i] and all(
                sum(c * values[j] for j, c in row.items()) == 0 for row in closing[i]
            ):
                fill(k + 1)

    def _tried(i: int) -> Iterator[int]:
        if i not in last:
            yield from range(lower[i], ends[i] + 1)
            return
        rest = -sum(c * values[j] for j, c in last[i].items() if j != i)
        if rest % last[i][i] == 0:
            yield rest // last[i][i]

    fill(0)
    return found


def _ends(table: Any, pattern: Sequence[Any], rows: list[dict[int, int]]) -> list[int]:
    """Upper bounds of cells: a part is at most its total, a total at most the sum of its parts."""
    ends = [
        int(u) if flag else int(v)
        for u, v, flag in zip(table.upper, table.values, pattern, strict=True)
    ]
    for _ in range(2 * len(ends)):
        for row in rows:
            totals = [i for i, c in row.items() if c < 0]
            parts = [i for i, c in row.items() if c > 0]
            assert len(totals) == 1, "one total each"
            assert all(abs(c) == 1 for c in row.values()), "plain sums"
            assert all(table.lower[i] >= 0 for i in row), "no negative cells"
            for i in parts:
                ends[i] = min(ends[i], ends[totals[0]])
            ends[totals[0]] = min(ends[totals[0]], sum(ends[i] for i in parts))
    assert all(end < NO_END for end in ends), "the oracle needs a bound for every cell"
    return ends


def hulls(tables: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Smallest and largest value of each cell over some tables."""
    return [(min(column), max(column)) for column in zip(*tables, strict=True)]


# ---- what everybody knows -------------------------------------------------------------------


class Public:
    """What is known of a mechanism over count tables, and the widths of all patterns.

    Parameters
    ----------
    table : Table
        Any table with the same relations, bounds and values outside `may`.
    may : sequence of bool
        Cells that may be suppressed.
    sensitive : callable
        Whether a value makes a cell primary.
    width : int
        Every primary cell, and every suppressed one, must be that wide.
    """

    def __init__(
        self, table: Any, may: Sequence[Any], sensitive: Callable[[int], bool], width: int
    ) -> None:
        self.cells = [i for i, flag in enumerate(may) if flag]
        self.sensitive, self.width = sensitive, width
        order = places(table)
        self.worth = [2 ** order[i] for i in self.cells]
        self.everything = completions(table, may)
        self._wide: dict[tuple[int, tuple[int, ...]], int] = {}

    def number(self, pattern: Sequence[Any]) -> int:
        """Pattern as a set of bits, one for each cell that may be suppressed."""
        return sum(1 << k for k, i in enumerate(self.cells) if pattern[i])

    def primary(self, x: Sequence[int]) -> int:
        return sum(1 << k for k, i in enumerate(self.cells) if self.sensitive(int(x[i])))

    def fibre(self, x: Sequence[int], y: int) -> list[tuple[int, ...]]:
        """Tables that agree with x in all cells outside y."""
        off = [i for k, i in enumerate(self.cells) if not y >> k & 1]
        return [z for z in self.everything if all(z[i] == x[i] for i in off)]

    def wide(self, x: Sequence[int], y: int) -> int:
        """Suppressed cells of y whose values are far enough apart over the fibre."""
        key = y, tuple(int(x[i]) for k, i in enumerate(self.cells) if not y >> k & 1)
        if key not in self._wide:
            ends = hulls(self.fibre(x, y))
            self._wide[key] = sum(
                1 << k
                for k, i in enumerate(self.cells)
                if y >> k & 1 and ends[i][1] - ends[i][0] >= self.width
            )
        return self._wide[key]


# ---- the mechanism --------------------------------------------------------------------------


def published(
    public: Public, x: Sequence[int], coins: int, cost: Sequence[int], *, strong: bool = True
) -> int:
    """Pattern of a table for given coins and costs (one for each cell of ``public.cells``).

    Parameters
    ----------
    strong : bool
        False: stop at the first safe pattern, whether or not its secondary cells are wide (what
        must not be done).

    Raises
    ------
    Impossible
        If a primary cell cannot be wide.
    """
    return _Patterns(public, x, cost).published(coins, strong=strong)


def outcomes(
    public: Public, x: Sequence[int], cost: Sequence[int], *, strong: bool = True
) -> dict[int, list[int]]:
    """Sets of coins by the pattern they lead to; -1 stands for no pattern."""
    patterns = _Patterns(public, x, cost)
    found: dict[int, list[int]] = {}
    for coins in range(1 << len(public.cells)):
        try:
            y = patterns.published(coins, strong=strong)
        except Impossible:
            y = -1
        found.setdefault(y, []).append(coins)
    return found


def chance(sets: Iterable[int], rates: Sequence[Fraction]) -> Fraction:
    """Probability that the coins, one of each rate, are one of these sets."""
    return sum(
        (prod(q if c >> k & 1 else 1 - q for k, q in enumerate(rates)) for c in sets), Fraction(0)
    )


class _Patterns:
    """All patterns of one table, cheapest first."""

    def __init__(self, public: Public, x: Sequence[int], cost: Sequence[int]) -> None:
        self.public, self.x = public, x
        self.all = (1 << len(public.cells)) - 1
        self.primary = public.primary(x)

        def order(y: int) -> tuple[int, int]:
            inside = [k for k in range(len(public.cells)) if y >> k & 1]
            return sum(int(cost[k]) for k in inside), sum(public.worth[k] for k in inside)

        self.ranked = sorted(range(self.all + 1), key=order)
        self.known: dict[tuple[int, int], int | None] = {}
        self.widths: dict[int, int] = {}

    def wide(self, y: int) -> int:
        if y not in self.widths:
            self.widths[y] = self.public.wide(self.x, y)
        return self.widths[y]

    def cheapest(self, required: int, closed: int) -> int | None:
        """Cheapest pattern with the required cells, all of them wide, and no closed one."""
        if (required, closed) not in self.known:
            self.known[required, closed] = next(
                (
                    y
                    for y in self.ranked
                    if not required & ~y and not closed & y and not required & ~self.wide(y)
                ),
                None,
            )
        return self.known[required, closed]

    def published(self, coins: int, *, strong: bool) -> int:
        decoys = coins & self.wide(self.all)
        required, closed = self.primary | decoys, 0
        while True:
            y = self.cheapest(required, closed)
            if y is None:
                # Cells that cannot be wide with all others suppressed: the first one is published.
                narrow = required & ~self.wide(self.all & ~closed)
                if narrow & self.primary:
                    raise Impossible
                first = min((k for k in range(len(self.public.cells)) if narrow >> k & 1),
                            key=lambda k: self.public.worth[k])  # fmt: skip
                closed |= 1 << first
                required = (self.primary | decoys) & ~closed
                continue
            if not strong or y == self.wide(y):
                return y
            required = y
