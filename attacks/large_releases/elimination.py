"""Exact elimination of sparse rows of whole numbers."""

from __future__ import annotations

import heapq
from collections import defaultdict

from attacks.release_alone.disclosed_cells import clear
from csp.clock import Clock

Row = dict[int, int]
"""Coefficients by column; none of them 0."""


def echelon_rows(
    rows: list[Row], clock: Clock, k: int | None = None
) -> tuple[dict[int, Row], bool]:
    """Bring sparse rows into reduced echelon form, short rows and rare columns first.

    Parameters
    ----------
    rows : list of dict
        Coefficients by column; changed in place.
    clock : Clock
    k : int, optional
        Columns from here on are carried along and are never pivots.

    Returns
    -------
    rows : dict of int to dict
        By their pivots.
    whole : bool
        Whether the time sufficed for all of them.
    """

    def width(row: Row) -> int:
        return len(row) if k is None else sum(c < k for c in row)

    holders: dict[int, set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for c in row:
            if k is None or c < k:
                holders[c].add(i)
    heap = [(width(row), i) for i, row in enumerate(rows)]
    heapq.heapify(heap)
    done: dict[int, int] = {}
    used: set[int] = set()
    while heap:
        size, i = heapq.heappop(heap)
        if i in used or size != width(rows[i]) or not size:
            continue
        if clock.over:
            return {pivot: rows[at] for pivot, at in done.items()}, False
        used.add(i)
        pivot = min((c for c in rows[i] if k is None or c < k), key=lambda c: (len(holders[c]), c))
        done[pivot] = i
        for other in sorted(holders[pivot] - {i}):
            clear(rows, holders, other, i, pivot, k)
            if other not in used:
                heapq.heappush(heap, (width(rows[other]), other))
    return {pivot: rows[at] for pivot, at in done.items()}, True
