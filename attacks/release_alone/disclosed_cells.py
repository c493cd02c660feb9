"""Cells that a release discloses: by linear algebra, by bounds, or as whole numbers.

A cell that is a combination of published relations is known to anyone who can solve linear
equations, whatever the bounds are. Bounds and whole numbers narrow further; for patterns that are
no network, linear programs can call a cell wider than it is for who knows that cells are whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from attacks.release_alone.bound_proofs import Proof, as_floats, ends, shortened
from csp.attacker.view import View, components
from csp.clock import UNLIMITED, Clock
from csp.exact import Bools, Floats, Ints
from csp.release.completion import complete
from csp.release.release import Release
from csp.sparse import entries
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Disclosure:
    """What an outsider can compute of the suppressed cells of a release.

    Attributes
    ----------
    release : Release
    cells : (k,) int64
        Suppressed cells.
    lower, upper : (k,) float64
        Feasibility interval over rational tables, in units; infinite where there is no end.
    whole_lower, whole_upper : (k,) float64
        The same over tables of whole units; NaN if they were not asked for.
    linear : (k,) bool
        The value follows from the published ones by linear algebra alone.
    exact : (k,) bool
        The rational interval is a point (linear ones included): bounds disclose the value as well.
    whole : (k,) bool
        The whole-number interval is a point (those of `exact` included).
    narrower : (k,) bool
        The whole-number interval is narrower than the rational one.
    proved : (k,) bool
        Every end is proved by a combination of relations. Whole-number ends inside the rational
        ones otherwise rest on a tree search; `attacks.explain` can check them by exhaustion.
    proofs : tuple of Proof or None
        For linear ones: the combination of relations that equals the cell.
    """

    release: Release
    cells: Ints
    lower: Floats
    upper: Floats
    whole_lower: Floats
    whole_upper: Floats
    linear: Bools
    exact: Bools
    whole: Bools
    narrower: Bools
    proved: Bools
    proofs: tuple[Proof | None, ...]

    def __repr__(self) -> str:
        return (
            f"Disclosure({len(self.cells)} suppressed cells: {int(self.linear.sum())} known by "
            f"linear algebra, {int((self.exact & ~self.linear).sum())} more by bounds, "
            f"{int((self.whole & ~self.exact).sum())} more as whole numbers)"
        )


def disclosed(
    release: Release, *, integer: bool = True, time_limit: float | None = None
) -> Disclosure:
    """Find the cells that a release discloses, and the interval of every other one.

    Parameters
    ----------
    release : Release
    integer : bool
        Whether the attacker knows that cells are whole units, so that tables of whole units are
        looked at too. Beyond networks, that takes cells with less than 10**9 units of room.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Disclosure

    Raises
    ------
    InputError
        If nothing is suppressed, or no table is consistent with the release.
    OutOfTime
        If the time limit passed before every cell was judged.
    CertificateError
        If an end cannot be made exact.

    Examples
    --------
    Three cells of which two share a row and two a column: each is known.

    >>> import numpy as np
    >>> from csp import Table
    >>> from csp.release.release import Release
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[[0, 0, 1], [0, 1, 0]] = True
    >>> disclosed(Release.of(table, pattern.ravel()))
    Disclosure(3 suppressed cells: 3 known by linear algebra, 0 more by bounds, 0 more as \
whole numbers)
    """
    clock = Clock.of(time_limit)
    table = complete(release, time_limit=clock.seconds)
    return disclosed_of(release, table, integer=integer, clock=clock)


def disclosed_of(release: Release, table: Table, *, integer: bool, clock: Clock) -> Disclosure:
    """Do as `disclosed`, with a table that is known to be consistent."""
    rational, whole = ends(table, release.pattern, integer=integer, clock=clock)
    cells = np.flatnonzero(release.pattern)
    wide, tight = ([found[i] for i in cells.tolist()] for found in (rational, whole))
    exact = np.array([one.known for one in wide])
    proofs = _proofs(release, cells[exact], components(table, release.pattern), clock)
    lower, upper = as_floats(wide)
    whole_lower, whole_upper = as_floats(tight) if integer else np.full((2, len(cells)), np.nan)
    both = list(zip(wide, tight, strict=True))
    flags = (
        np.array([i in proofs for i in cells.tolist()]),
        exact,
        np.array([one.known for one in tight]),
        np.array([one.pair != other.pair for one, other in both]),
        np.array([one.proved and other.proved for one, other in both]),
    )
    for array in (cells, lower, upper, whole_lower, whole_upper, *flags):
        array.flags.writeable = False
    return Disclosure(
        release, cells, lower, upper, whole_lower, whole_upper, *flags,
        tuple(proofs.get(i) for i in cells.tolist()),
    )  # fmt: skip


def _proofs(
    release: Release, candidates: Ints, views: list[View], clock: Clock
) -> dict[int, Proof]:
    """Find the combinations behind cells that linear algebra gives, among those without room."""
    found: dict[int, Proof] = {}
    for view in views:
        inside = np.isin(view.cells, candidates)
        # A cell that can move is in no row space: most parts need no elimination at all.
        if not inside.any():
            continue
        for j, (factors, divisor) in determined(view.matrix, clock).items():
            cell = int(view.cells[j])
            proof = combination(view, [cell], factors, divisor)
            found[cell] = shortened(release, proof, view, bounds=False, clock=clock)
    return found


def combination(view: View, cells: Iterable[int], factors: dict[int, int], divisor: int) -> Proof:
    """Proof that a sum of cells equals a combination of relations, by their rows in the view."""
    return Proof.of(cells, 1, {int(view.rows[r]): v for r, v in factors.items()}, divisor)


def determined(matrix: Any, clock: Clock = UNLIMITED) -> dict[int, tuple[dict[int, int], int]]:
    """Columns whose unit vector is a combination of the rows, each with that combination.

    Of each, the multipliers of rows of a matrix (r, k) csr_array of int, and the positive divisor.
    In the reduced echelon form a unit vector is in the row space exactly if it is one of the rows:
    its coefficients are its entries at the pivot columns. Rows are kept whole and short.
    """
    k = matrix.shape[1]
    # Beyond the k columns, a row says how often each of the given rows is in it.
    rows = [{c: v for c, v in entries(matrix, i) if v} | {k + i: 1} for i in range(matrix.shape[0])]
    width = [len(row) - 1 for row in rows]
    holders: dict[int, set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for c in row:
            holders[c].add(i)
    waiting = {i for i, columns in enumerate(width) if columns}
    while waiting:
        clock.check()
        # Short rows first, and columns that few other rows hold: little fills in.
        i = min(waiting, key=lambda row: (width[row], row))
        waiting.discard(i)
        pivot = min((c for c in rows[i] if c < k), key=lambda c: (len(holders[c]), c))
        for other in sorted(holders[pivot] - {i}):
            clear(rows, holders, other, i, pivot)
            width[other] = sum(c < k for c in rows[other])
            if not width[other]:
                waiting.discard(other)
    units = {}
    for row, columns in zip(rows, width, strict=True):
        if columns == 1:
            c = min(row)
            value = row.pop(c)
            sign = 1 if value > 0 else -1
            units[c] = ({i - k: sign * v for i, v in row.items()}, abs(value))
    return dict(sorted(units.items()))


def mixed(one: dict[int, int], x: int, two: dict[int, int], y: int) -> dict[int, int]:
    """Sum of two sparse rows, x times the one and y times the other."""
    found = {c: x * v for c, v in one.items()}
    for c, v in two.items():
        found[c] = found.get(c, 0) + y * v
    return {c: v for c, v in found.items() if v}


def clear(
    rows: list[dict[int, int]], holders: dict[int, set[int]], other: int, i: int, pivot: int,
    k: int | None = None,
) -> None:  # fmt: skip
    """Take a pivot column out of another row, in whole numbers; `holders` are of k columns."""
    a, b = rows[i][pivot], rows[other][pivot]
    common = gcd(a, b)
    kept = mixed(rows[other], a // common, rows[i], -b // common)
    shared = gcd(*kept.values())
    if shared > 1:
        kept = {c: v // shared for c, v in kept.items()}
    for c in rows[other].keys() - kept.keys():
        holders[c].discard(other)
    for c in kept.keys() - rows[other].keys():
        if k is None or c < k:
            holders[c].add(other)
    rows[other] = kept
