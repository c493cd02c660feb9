"""The k nearest of many candidates, kept in a heap with the worst of them on top.

Candidates are ordered by squared distance, then by row, so that every set of k nearest is
unique. The heap is two arrays of at least k entries and a count kept by the caller.
"""

from __future__ import annotations

from typing import Any

__all__ = ["offer", "worse"]


def worse(distance: float, row: int, than: float, than_row: int) -> bool:
    """Whether a candidate comes after another."""
    return distance > than or (distance == than and row > than_row)


def offer(distances: Any, rows: Any, size: int, k: int, distance: float, row: int) -> int:
    """Add a candidate; where the heap is full, the worst of all leaves.

    Parameters
    ----------
    distances : (k,) float64
        Heap with its worst entry first.
    rows : (k,) int64
        Rows of the entries.
    size : int
        Entries so far.
    k : int
        Entries at most.
    distance : float
        Squared distance of the candidate.
    row : int
        Its row.

    Returns
    -------
    int
        Entries now.
    """
    if size < k:
        at = size
        while at > 0:
            above = (at - 1) >> 1
            if not worse(distance, row, distances[above], rows[above]):
                break
            distances[at], rows[at] = distances[above], rows[above]
            at = above
        distances[at], rows[at] = distance, row
        return size + 1
    if not worse(distances[0], rows[0], distance, row):
        return size
    at = 0
    while True:
        below = 2 * at + 1
        if below >= k:
            break
        if below + 1 < k and worse(
            distances[below + 1], rows[below + 1], distances[below], rows[below]
        ):
            below += 1
        if not worse(distances[below], rows[below], distance, row):
            break
        distances[at], rows[at] = distances[below], rows[below]
        at = below
    distances[at], rows[at] = distance, row
    return size
