"""Published figures that cannot all be true: the fewest relations found that rule each other out.

If no table has all that is published, some combination of relations says so by itself: with the
worst bound of each cell put in, it is not 0 (Farkas' lemma). The combination comes from a linear
program that lets each relation be off as little as possible; relations that are not needed are
then left out one by one, and what remains is checked in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attacks.descriptions import cell_name, number, relation_name
from csp.attacker.exact import rationalise
from csp.attacker.view import graph_parts
from csp.clock import Clock
from csp.exact import UNBOUNDED, Floats, Ints
from csp.highs import Model, Status
from csp.release.release import Release
from csp.sparse import entries, row_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST = 40
"""Relations of a contradiction up to which each is tried without."""

_LISTED = 100
"""Contradictions that are looked for."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contradiction:
    """Relations that cannot all hold with what is published.

    Attributes
    ----------
    release : Release
    rows : tuple of int
        Relations; none of them can be left out, where there are at most 40.
    multipliers : tuple of int
        How often each is taken off to show it: what remains is positive, whatever the cells are.
    amount : Fraction
        By how much published figures would have to change in all, in units.
    """

    release: Release
    rows: tuple[int, ...]
    multipliers: tuple[int, ...]
    amount: Fraction

    def __repr__(self) -> str:
        return f"Contradiction({len(self.rows)} relations)"

    def text(self) -> str:
        """Say which relations contradict each other, and by how much; all of it is published."""
        names = [relation_name(self.release, row) for row in self.rows[:6]]
        more = f" and {len(self.rows) - 6} more" if len(self.rows) > 6 else ""
        off = number(self.amount, self.release.scale)
        if len(self.rows) == 1:
            members, signs = row_of(self.release.relations, self.rows[0])
            totals = members[signs < 0]
            which = f" into {cell_name(self.release, int(totals[0]))}" if len(totals) == 1 else ""
            return f"{names[0]} does not add up{which}: it is off by {off}"
        return f"{', '.join(names)}{more} contradict each other by {off}"


def contradictions(
    release: Release, *, time_limit: float | None = None
) -> tuple[Contradiction, ...]:
    """Find what of a release cannot be true; empty if some table of any numbers has all of it.

    Parameters
    ----------
    release : Release
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    tuple of Contradiction
        At most 100, of relations that have no cell in common with those of another one, or that
        remain when the relations found before are left out.

    Raises
    ------
    OutOfTime
        If the time limit passed before it was known whether there are any.

    Examples
    --------
    >>> from csp import Release
    >>> rows = [["", "a", "b", "Total"], ["N", 1, 2, 4], ["S", "[c]", 5, 9], ["Total", 5, 7, 13]]
    >>> for one in contradictions(Release.from_frame(rows)):
    ...     print(one.text())
    row rows=N does not add up into (rows=N, columns=Total): it is off by 1
    row rows=Total does not add up into (rows=Total, columns=Total): it is off by 1
    """
    clock = Clock.of(time_limit)
    left = np.ones(release.relations.shape[0], dtype=bool)
    found: list[Contradiction] = []
    for one in _alone(release):
        found.append(one)
        left[list(one.rows)] = False
    while len(found) < _LISTED:
        new = _together(release, np.flatnonzero(left), clock)
        if not new:
            break
        for one in new:
            left[list(one.rows)] = False
        found += new
    return tuple(found[:_LISTED])


def _alone(release: Release) -> list[Contradiction]:
    """Relations whose published cells leave the suppressed ones no room."""
    least, most = _reach(release, np.arange(release.relations.shape[0]))
    found = []
    for row in np.flatnonzero((least > 0) | (most < 0)).tolist()[:_LISTED]:
        amount = Fraction(int(least[row] if least[row] > 0 else -most[row]))
        found.append(Contradiction(release, (row,), (-1 if least[row] > 0 else 1,), amount))
    return found


def _known(release: Release) -> tuple[Ints, Ints]:
    """Least and largest value of each cell."""
    low = np.where(release.pattern, release.lower, release.published)
    high = np.where(release.pattern, release.upper, release.published)
    return low, high


def _reach(release: Release, rows: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """Least and largest value of the sides of relations, exactly where both have an end."""
    matrix = release.relations[rows].tocoo()
    low, high = (side.astype(object) for side in _known(release))
    row, cells = matrix.coords
    data = matrix.data.astype(object)
    ends = np.where(data > 0, data * low[cells], data * high[cells])
    tops = np.where(data > 0, data * high[cells], data * low[cells])
    endless = 2**61
    least, most = np.zeros((2, len(rows)), dtype=object)
    np.add.at(least, row, ends)
    np.add.at(most, row, tops)
    free_down, free_up = np.zeros((2, len(rows)), dtype=bool)
    np.logical_or.at(free_down, row, np.abs(ends) >= endless)
    np.logical_or.at(free_up, row, np.abs(tops) >= endless)
    return np.where(free_down, -1, least), np.where(free_up, 1, most)


def _together(release: Release, rows: Ints, clock: Clock) -> list[Contradiction]:
    """Find contradictions of several relations, one in each part of them."""
    matrix: csr_array = release.relations[rows]
    answer = _elastic(release, matrix, clock)
    if answer is None:
        return []
    multipliers = answer
    used = np.flatnonzero(np.abs(multipliers) > 1e-7)
    found = []
    for _, part in graph_parts(_open_part(release, matrix[used])):
        within = used[part]
        kept = _needed(release, rows, within, clock)
        one = _proved(release, rows[kept], clock)
        if one is not None:
            found.append(one)
    if not found and len(used):  # what floats suggest and whole numbers do not confirm
        one = _proved(release, rows[used], clock)
        found = [] if one is None else [one]
    return found


def _open_part(release: Release, matrix: csr_array) -> csr_array:
    """Columns of cells that are not published exactly: they alone join relations."""
    from scipy.sparse import csr_array as array

    low, high = _known(release)
    return array(matrix[:, np.flatnonzero(low < high)])


def _elastic(release: Release, matrix: csr_array, clock: Clock) -> Floats | None:
    """Multipliers that show how far relations must be off in all; None if they need not be."""
    from scipy.sparse import csr_array as array
    from scipy.sparse import eye_array, hstack

    low, high = _known(release)
    cells = np.flatnonzero(low < high)
    fixed = np.flatnonzero(low == high)
    right = -(matrix[:, fixed] @ low[fixed]).astype(np.float64)
    m = matrix.shape[0]
    unit = max(1.0, float(np.abs(right).max(initial=0)) / 1e6)
    ends = (
        np.where(np.abs(side[cells]) >= UNBOUNDED, sign * np.inf, side[cells] / unit)
        for side, sign in ((low, -1), (high, 1))
    )
    least, most = ends
    eye = eye_array(m)
    rows = array(hstack([matrix[:, cells].astype(np.float64), eye, -eye], format="csr"))
    model = Model().load(
        cost=np.concatenate([np.zeros(len(cells)), np.ones(2 * m)]),
        lower=np.concatenate([least, np.zeros(2 * m)]),
        upper=np.concatenate([most, np.full(2 * m, np.inf)]),
        rows=rows, row_lower=right / unit, row_upper=right / unit,
    )  # fmt: skip
    status = model.solve(clock, interruptible=True)
    if status == Status.LIMIT:
        clock.check("it was known whether the published figures can all be true")
    if status != Status.OPTIMAL or model.objective * unit < 1e-4:
        return None
    return np.asarray(model.solution.row_dual, dtype=np.float64)


def _needed(release: Release, rows: Ints, within: Ints, clock: Clock) -> Ints:
    """Leave relations out as long as the others contradict each other without them."""
    kept = list(within)
    if len(kept) > _MOST:
        return within
    for row in list(within):
        fewer = np.array([other for other in kept if other != row], np.int64)
        if len(fewer) and _elastic(release, release.relations[rows[fewer]], clock) is not None:
            kept.remove(row)
    return np.array(kept, np.int64)


def _proved(release: Release, rows: Ints, clock: Clock) -> Contradiction | None:
    """Contradiction of these relations, checked in whole numbers; None if there is none."""
    answer = _elastic(release, release.relations[rows], clock)
    if answer is None:
        return None
    for numerators, divisor in rationalise(answer):
        least = _combined(release, rows, numerators)
        if least is not None and least > 0:
            used = np.flatnonzero(numerators).tolist()
            return Contradiction(
                release, tuple(rows[used].tolist()), tuple(int(numerators[i]) for i in used),
                Fraction(least, divisor),
            )  # fmt: skip
    return None


def _combined(release: Release, rows: Ints, numerators: Ints) -> int | None:
    """Least value of minus a combination of relations; None if it has none.

    The combination is 0 in every table, so that a positive one shows that there is none.
    """
    low, high = _known(release)
    total: dict[int, int] = {}
    for row, factor in zip(rows.tolist(), numerators.tolist(), strict=True):
        for cell, a in entries(release.relations, row):
            total[cell] = total.get(cell, 0) - int(factor) * a
    least = 0
    for cell, weight in total.items():
        end = int(low[cell] if weight > 0 else high[cell])
        if weight and abs(end) >= UNBOUNDED:
            return None
        least += weight * end
    return least
