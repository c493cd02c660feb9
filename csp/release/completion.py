"""One whole-number table that agrees with a release: where attacks of an outsider begin.

Any completion will do: what can be inferred from a release does not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, SolverError
from csp.exact import UNBOUNDED, Floats, Ints
from csp.highs import Model, Status
from csp.release.release import Release
from csp.sparse import row_of
from csp.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ROUNDS = 6

# Suppressed cells up to which the program for them takes a millisecond.
_SMALL = 64

ONLY_FRACTIONS = (
    "no table of whole numbers is consistent with the release, only fractions are; a published "
    "value or the scale must be wrong"
)
"""What is said of a release that leaves no whole number to some cell."""


def complete(release: Release, *, time_limit: float | None = None) -> Table:
    """Find a table that agrees with everything published.

    Parameters
    ----------
    release : Release
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Table
        Without contributors.

    Raises
    ------
    InputError
        If nothing is suppressed, a published cell contradicts its bounds or a relation, or no
        table of whole numbers fits.
    OutOfTime
        If the time limit passed first.
    SolverError
        If the solver's answer could not be made exact.
    """
    from scipy.sparse import csr_array

    clock = Clock.of(time_limit)
    hidden = np.flatnonzero(release.pattern)
    check_published(release)
    matrix = csr_array(release.relations[:, hidden])
    right = -(release.relations @ np.where(release.pattern, 0, release.published))
    rows = np.flatnonzero(np.diff(matrix.indptr))
    matrix, right = csr_array(matrix[rows]), right[rows]
    lower, upper = release.lower[hidden], release.upper[hidden]
    x = np.clip(np.zeros(len(hidden), dtype=np.int64), lower, upper)
    # A float answer to large numbers is off by a few units: solve again for what is missing.
    for _ in range(_ROUNDS):
        clock.check("a table that agrees with the release was found")
        missing = right - matrix @ x
        if not missing.any():
            return release.table(x)
        step = _solve(matrix, missing, lower, upper, x, clock, whole=True)
        if step is None:
            raise _no_table(matrix, right, lower, upper, clock)
        x = np.clip(x + np.rint(step).astype(np.int64), lower, upper)
    msg = "the solver found no exact completion of the release; scale the values down"
    raise SolverError(msg)


def agreeing(release: Release, clock: Clock = UNLIMITED) -> Table:
    """Do as `complete`, also if nothing is suppressed: then the release is the table."""
    if release.pattern.any():
        return complete(release, time_limit=clock.seconds)
    return release.table(release.published)


def check_published(release: Release) -> None:
    """Refuse a release whose published values alone cannot be true.

    Raises
    ------
    InputError
        If nothing is suppressed, or a published cell contradicts its bounds or a relation.
    """
    if not release.pattern.any():
        msg = "the release has no suppressed cell, so there is nothing to attack"
        raise InputError(msg)
    open_cells = ~release.pattern
    wrong = open_cells & ((release.published < release.lower) | (release.published > release.upper))
    if wrong.any():
        i = int(np.argmax(wrong))
        msg = f"published cell {release.labels[i]} lies outside its own bounds; correct the release"
        raise InputError(msg)
    off = release.relations @ np.where(release.pattern, 0, release.published)
    counts = np.diff(release.relations[:, np.flatnonzero(release.pattern)].indptr)
    for row in np.flatnonzero((counts == 0) & (off != 0)).tolist():
        msg = (
            f"the published values of relation {row + 1} contradict each other by {abs(off[row])} "
            f"units: {_words(release, row)}; correct the release"
        )
        raise InputError(msg)


def _words(release: Release, row: int) -> str:
    cells = row_of(release.relations, row)[0].tolist()
    return ", ".join(str(release.labels[c]) for c in cells[:4]) + (" ..." if len(cells) > 4 else "")


def _no_table(matrix: csr_array, right: Ints, lower: Ints, upper: Ints, clock: Clock) -> InputError:
    none = np.zeros(len(lower), dtype=np.int64)
    if _solve(matrix, right, lower, upper, none, clock, whole=False) is not None:
        return InputError(ONLY_FRACTIONS)
    return InputError(
        "no table is consistent with the release: its published values contradict the relations "
        "or bounds of the suppressed cells; a published margin must be wrong"
    )


def _solve(
    matrix: csr_array, right: Ints, lower: Ints, upper: Ints, x: Ints, clock: Clock, *, whole: bool,
) -> Floats | None:  # fmt: skip

    low = np.where(lower <= -UNBOUNDED, -np.inf, lower - x).astype(np.float64)
    high = np.where(upper >= UNBOUNDED, np.inf, upper - x).astype(np.float64)
    given = right.astype(np.float64)
    model = Model().load(
        cost=np.zeros(len(x)), lower=low, upper=high, rows=matrix, row_lower=given,
        row_upper=given, integer=whole,
    )  # fmt: skip
    # A small program ends before a thread for it would have begun.
    status = model.solve(clock, interruptible=len(x) > _SMALL)
    if status == Status.INFEASIBLE:
        return None
    if status == Status.LIMIT:
        clock.check("a table that agrees with the release was found")
    if status != Status.OPTIMAL:
        msg = f"the search for a completion of the release ended with status {status}"
        raise SolverError(msg)
    return model.values
