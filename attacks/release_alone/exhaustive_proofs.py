"""Exhaustive proof that no table of whole units goes beyond an end."""

from __future__ import annotations

from math import ceil, floor

import numpy as np
from scipy.sparse import csr_array

from attacks.fibre import kernel_walk
from attacks.fibre.kernel_basis import kernel
from attacks.release_alone.bound_proofs import ends
from csp.attacker.view import components
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.release.completion import complete
from csp.release.release import Release

_NODES = 20_000


def none_beyond(release: Release, cell: int, end: int, sign: int, clock: Clock = UNLIMITED) -> bool:
    """Whether no consistent table has a suppressed cell above an end, or below it by the sign.

    Ranges come from claims checked in integers; inside them every branch is searched.

    Raises
    ------
    InputError
        If a cell connected with this one has no end in one direction, so that no search ends.
    OutOfTime
        If the time runs out.
    """
    table = complete(release, time_limit=clock.seconds)
    (view,) = (v for v in components(table, release.pattern) if cell in v.cells)
    rational, _ = ends(
        table, release.pattern, integer=False, cells=view.cells.tolist(), clock=clock
    )
    lower = np.zeros(len(view.cells), dtype=np.int64)
    upper, endless = lower.copy(), np.zeros(len(view.cells), dtype=bool)
    for k, i in enumerate(view.cells.tolist()):
        low, high = rational[i].pair
        # An end without a proof would cut tables off.
        if low is None or high is None or not rational[i].proved:
            endless[k] = True
        else:
            lower[k], upper[k] = ceil(low), floor(high)
    k = int(np.searchsorted(view.cells, cell))
    if endless[k]:
        raise _endless(release, cell)
    if sign > 0:
        lower[k] = max(int(lower[k]), end + 1)
    else:
        upper[k] = min(int(upper[k]), end - 1)
    if (lower > upper).any():
        return True
    # Leaving out relations that hold an endless cell leaves more tables, never fewer.
    touched = np.diff(csr_array(view.matrix[:, np.flatnonzero(endless)]).indptr) > 0
    kept, rows = np.flatnonzero(~endless), np.flatnonzero(~touched)
    matrix = csr_array(view.matrix[rows][:, kept])
    origin = table.values[view.cells[kept]]
    search = kernel_walk.start(kernel(matrix), origin, lower[kept], upper[kept], 1)
    if next(kernel_walk.tables_of(search, _NODES, clock), None) is None:
        return True
    if endless.any():
        raise _endless(release, int(view.cells[np.argmax(endless)]))
    return False


def _endless(release: Release, cell: int) -> InputError:
    return InputError(
        f"cell {release.labels[cell]} has no proved end in one direction, so tables of whole units "
        "cannot be searched through; give the table bounds (lower=, upper=)"
    )
