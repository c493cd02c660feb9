"""The least and largest whole number that each suppressed cell can be."""

from __future__ import annotations

import numpy as np

from attacks.fibre import kernel_walk
from attacks.fibre.kernel_basis import kernel
from csp.attacker import components
from csp.audits.intervals import intervals
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError
from csp.exact import Bools, Floats, Ints
from csp.tables.table import Table

_MOST_NODES = 200_000


def feasible(table: Table, pattern: Bools, clock: Clock = UNLIMITED) -> tuple[Ints, Ints]:
    """Least and largest whole number that each suppressed cell can be; proved.

    The table may be any completion of the release.

    Raises
    ------
    InputError
        If a cell has no end in one direction.
    CertificateError
        If the end of an interval cannot be proved.
    OutOfTime
        If the time runs out first.
    """
    cells = np.flatnonzero(pattern)
    low, high = _proved_ends(table, pattern, clock)
    endless = ~np.isfinite(low[cells]) | ~np.isfinite(high[cells])
    if endless.any():
        i = int(cells[np.argmax(endless)])
        msg = (
            f"suppressed cell {table.cell(i)} has no end in one direction, so infinitely many "
            "tables are consistent; give the table bounds (lower=, upper=)"
        )
        raise InputError(msg)
    return low[cells].astype(np.int64), high[cells].astype(np.int64)


def _proved_ends(table: Table, pattern: Bools, clock: Clock) -> tuple[Floats, Floats]:
    """Find ends over integers; where there is no linear proof, by an exhaustive search."""
    whole = intervals(table, pattern, integer=True, time_limit=clock.seconds)
    low, high = whole.lower.copy(), whole.upper.copy()
    doubtful = np.flatnonzero(~whole.exact.all(axis=1))
    if not len(doubtful) or not np.isfinite([low[pattern], high[pattern]]).all():
        return low, high
    outer = intervals(table, pattern, cells=doubtful, time_limit=clock.seconds).require_exact()
    # Proved bounds of every cell, to search within.
    room = np.stack([low, high]).astype(np.int64)
    room[0, doubtful] = np.ceil(outer.lower[doubtful])
    room[1, doubtful] = np.floor(outer.upper[doubtful])
    for view in components(table, pattern):
        vectors = kernel(view.matrix)
        origin = table.values[view.cells]
        for j in np.flatnonzero(np.isin(view.cells, doubtful)).tolist():
            i = int(view.cells[j])
            for side, ends in enumerate((low, high)):
                ranges = room[:, view.cells].copy()
                while not whole.exact[i, side]:
                    clock.check()
                    ranges[1 - side, j] = ends[i] + (1 if side else -1)
                    further = _solution(vectors, origin, ranges, table.cell(i))
                    if further is None:
                        break
                    ends[i] = further[j]
                room[side, i] = ends[i]
    return low, high


def _solution(vectors: Ints, origin: Ints, ranges: Ints, name: str) -> Ints | None:
    """One whole-number solution within ranges; None if there is none.

    Raises
    ------
    CertificateError
        If the search is too long.
    """
    if (ranges[0] > ranges[1]).any():
        return None
    search = kernel_walk.start(vectors, origin, ranges[0], ranges[1], 1)
    while search.state[kernel_walk.DEPTH] >= 0 and search.state[kernel_walk.NODES] < _MOST_NODES:
        kernel_walk.go_on(search, _MOST_NODES)
        if search.state[kernel_walk.KEPT]:
            return np.asarray(search.kept[0])
    if search.state[kernel_walk.DEPTH] >= 0:
        msg = f"no proof was found that the interval of cell {name} ends where it seems to"
        raise CertificateError(msg)
    return None
