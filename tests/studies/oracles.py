"""Brute force for two-way tables of counts with published margins, in plain Python.

Shares no code with the project: tables are tuples of tuples, patterns are sets of (row, column).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

__all__ = ["completions", "hulls_reach", "minimal_patterns", "naive_fixpoint", "primaries", "safe"]

Grid = tuple[tuple[int, ...], ...]
Cells = frozenset[tuple[int, int]]


def completions(grid: Grid, pattern: Cells) -> Iterator[Grid]:
    """All tables with the same margins and the same values off the pattern."""
    rows = [
        sum(grid[i][j] for j in range(len(grid[0])) if (i, j) in pattern) for i in range(len(grid))
    ]
    columns = [
        sum(grid[i][j] for i in range(len(grid)) if (i, j) in pattern) for j in range(len(grid[0]))
    ]
    order = sorted(pattern)
    values: dict[tuple[int, int], int] = {}

    def fill(k: int) -> Iterator[Grid]:
        if k == len(order):
            if not any(rows) and not any(columns):
                yield tuple(
                    tuple(values.get((i, j), v) for j, v in enumerate(row))
                    for i, row in enumerate(grid)
                )
            return
        i, j = order[k]
        last_of_row = not any(a == i for a, _ in order[k + 1 :])
        low = rows[i] if last_of_row else 0
        for v in range(low, min(rows[i], columns[j]) + 1):
            values[i, j] = v
            rows[i] -= v
            columns[j] -= v
            yield from fill(k + 1)
            rows[i] += v
            columns[j] += v

    yield from fill(0)


def primaries(grid: Grid, threshold: int) -> Cells:
    return frozenset(
        (i, j) for i, row in enumerate(grid) for j, v in enumerate(row) if v < threshold
    )


def hulls_reach(tables: list[Grid], cells: Cells, width: int) -> bool:
    """Whether each cell has values at least so far apart in the tables."""
    return all(
        max(t[i][j] for t in tables) - min(t[i][j] for t in tables) >= width for i, j in cells
    )


def safe(grid: Grid, pattern: Cells, threshold: int, width: int) -> bool:
    mine = primaries(grid, threshold)
    return mine <= pattern and hulls_reach(list(completions(grid, pattern)), mine, width)


def all_patterns(grid: Grid) -> list[Cells]:
    """By size, then by the number in which cell i (row by row) is worth 2**i."""
    wide = len(grid[0])
    cells = [(i, j) for i in range(len(grid)) for j in range(wide)]
    sets = chain.from_iterable(combinations(cells, r) for r in range(len(cells) + 1))
    return sorted(
        map(frozenset, sets), key=lambda y: (len(y), sum(2 ** (i * wide + j) for i, j in y))
    )


def minimal_patterns(grid: Grid, threshold: int, width: int) -> list[Cells]:
    """All safe patterns without a safe one inside, in the order of `all_patterns`."""
    found: list[Cells] = []
    for y in all_patterns(grid):
        if not any(small <= y for small in found) and safe(grid, y, threshold, width):
            found.append(y)
    return found


def naive_fixpoint(grid: Grid, threshold: int, width: int) -> dict[Grid, Cells]:
    """Published pattern of every table with the margins of this one, by turns of all patterns.

    For tables that are a single region: those without primary cells, and those in which the margins
    leave a primary cell too little room, take no part.
    """
    everything = frozenset((i, j) for i in range(len(grid)) for j in range(len(grid[0])))
    rows = [sum(row) for row in grid]
    columns = [sum(column) for column in zip(*grid, strict=True)]
    total = sum(rows)

    def takes_part(t: Grid) -> bool:
        mine = primaries(t, threshold)
        room = (min(rows[i], columns[j]) - max(0, rows[i] + columns[j] - total) for i, j in mine)
        return bool(mine) and all(r >= width for r in room)

    left = [t for t in completions(grid, everything) if takes_part(t)]
    out: dict[Grid, Cells] = {}
    for y in all_patterns(grid):
        sets: dict[tuple[int, ...], list[Grid]] = {}
        for t in left:
            off = tuple(v for i, row in enumerate(t) for j, v in enumerate(row) if (i, j) not in y)
            sets.setdefault(off, []).append(t)
        for members in sets.values():
            while True:
                stay = [
                    t
                    for t in members
                    if primaries(t, threshold) <= y
                    and hulls_reach(members, primaries(t, threshold), width)
                ]
                if len(stay) == len(members):
                    break
                members = stay
            out |= dict.fromkeys(members, y)
        left = [t for t in left if t not in out]
    return out
