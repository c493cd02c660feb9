"""Sums among published numbers: whether those of a dimension hold, and which hold beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from csp.exact import Bools, Floats, Ints
from csp.published.sums.dimensions import Dimension, parts_of

LEAST = 3
"""Sums that must hold, and none fail, before codes are taken for parts of another by themselves."""

_MOST = 150
"""Codes up to which runs are tried: beyond, a hierarchy is not printed as a list."""

_CHANCES = 10
"""How much less likely than one in all runs an accident must be, where numbers are rounded."""


def checked_sums(dimension: Dimension, values: Ints, shown: Bools, slack: int) -> tuple[int, int]:
    """Count the sums of a dimension that can be checked, and those of them that do not hold.

    Parameters
    ----------
    dimension : Dimension
    values, shown : (k, lines) int64 and bool
        Of each code in all combinations of the other dimensions.
    slack : int
        By how much each number may be off.
    """
    checked = failed = 0
    for position, parts in _sums_of(dimension, len(values)):
        whole = shown[position] & shown[parts].all(axis=0)
        off = np.abs(values[parts].sum(axis=0) - values[position])
        # That nothing adds up to nothing tells of no structure.
        checked += int((whole & (values[[position, *parts]] != 0).any(axis=0)).sum())
        failed += int((off[whole] > slack * (len(parts) + 1)).sum())
    return checked, failed


def _sums_of(dimension: Dimension, k: int) -> Iterator[tuple[int, Ints]]:
    """Yield the position of each sum whose codes are all in the table, and those of its parts."""
    for position in np.unique(dimension.parent[dimension.parent >= 0]).tolist():
        parts = np.flatnonzero(dimension.parent == position)
        if position < k and (parts < k).all():
            yield position, parts


def misfit(dimension: Dimension, values: Ints, shown: Bools) -> float:
    """Mean square by which the sums of a dimension are off, for each of the numbers in them.

    Parameters
    ----------
    dimension, values, shown
        As for `checked_sums`; at least one sum is published whole.
    """
    squares = [
        _off(values, shown, position, parts) ** 2 / (len(parts) + 1)
        for position, parts in _sums_of(dimension, len(values))
    ]
    return float(np.concatenate(squares).mean())


def exceeded(dimension: Dimension, values: Ints, shown: Bools, slack: int) -> bool:
    """Whether published parts of a sum are more than it, where none is negative.

    Parameters
    ----------
    dimension, values, shown, slack
        As for `checked_sums`.
    """
    k = len(values)
    for position in np.unique(dimension.parent[dimension.parent >= 0]).tolist():
        parts = np.flatnonzero(dimension.parent[:k] == position)
        if position < k:
            over = (values * shown)[parts].sum(axis=0) - values[position]
            off = slack * (shown[parts].sum(axis=0) + 1)
            if (over > off)[shown[position]].any():
                return True
    return False


def found(
    codes: Sequence[str], values: Ints, shown: Bools, slack: int,
    likely: Collection[int] = (), least: int = LEAST,
) -> tuple[Dimension, int] | None:  # fmt: skip
    """Find totals by adding up runs of neighbours; None if there are none.

    A code is the total of the codes right before or right after it if that holds wherever all of
    them are published, in `least` lines or more of which not all are 0; of several, the shortest
    run counts. Rounded numbers must be so large that chance does not explain it. Runs are nested or
    apart, as in a printed table. For positions of codes that are `likely` to be totals by their
    names one line is enough, and the longest run up to the next such code counts.

    Returns
    -------
    Dimension, int
        And how many sums support it.
    """
    k = len(codes)
    if k > _MOST:
        return None
    parents: dict[int, int] = {}
    support = 0
    # Short runs first, and again after each find, so that a total of subtotals finds these alone.
    # The only code with the name of a total is that of all, and subtotals have other names; of
    # several some are subtotals.
    length, named = 2, 2 if len(likely) > 1 else k
    while length <= k:
        sides = _Sides(k, parents, likely)
        run = _of_named(values, shown, sides, slack) if length == named else None
        if run is None and length < k:
            run = _run(values, shown, sides, length, slack, least)
        length = length + 1 if run is None else 2
        if run is not None:
            parts, position, held = run
            parents |= dict.fromkeys(parts, position)
            support += held
    if not parents:
        return None
    above = {codes[i]: codes[p] for i, p in parents.items()}
    return parts_of(codes, above), support


_Found = tuple[list[int], int, int]
"""Parts, the code that is their sum, and the lines in which that holds."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """Codes beside those that may be totals, as far as parts have been found.

    `likely` are positions of codes with the name of a total.
    """

    k: int
    parents: Mapping[int, int]
    likely: Collection[int]

    @property
    def named(self) -> list[int]:
        """Positions of codes with the name of a total whose parts are not known."""
        return sorted({*self.likely}.difference(self.parents.values()))

    @property
    def others(self) -> list[int]:
        """Positions of all other codes whose parts are not known."""
        return sorted({*range(self.k)}.difference(self.parents.values(), self.likely))

    def of(self, position: int) -> Iterator[list[int]]:
        """Yield what is part of nothing after a code, and before it, up to what it is a part of."""
        top = position
        while top in self.parents:
            top = self.parents[top]
        for side in (range(position + 1, self.k), range(position - 1, -1, -1)):
            yield _before([i for i in side if i not in self.parents], {top})


def _before(side: Sequence[int], ends: Collection[int]) -> list[int]:
    return list(takewhile(lambda i: i not in ends, side))


def _run(
    values: Ints, shown: Bools, sides: _Sides, length: int, slack: int, least: int
) -> _Found | None:
    """Find a code that is the sum of so many neighbours."""
    for position in sides.others:
        for side in sides.of(position):
            parts = side[:length]
            held, sums = _held(values, shown, position, parts, slack)
            if len(parts) == length and len(sums) >= least and _telling(sums, parts, slack, sides):
                return parts, position, held
    return None


def _of_named(values: Ints, shown: Bools, sides: _Sides, slack: int) -> _Found | None:
    """Find the parts of a code with the name of a total, among those up to the next such code.

    A part that is 0 wherever all are published leaves the sum as it is: the longest run counts, if
    all that are longer fail in some line. Of rounded numbers several runs may fit: all codes up to
    the next total count, if they fit best.
    """
    for position in sides.named:
        fits = []
        for side in sides.of(position):
            block = _before(side, sides.named)
            runs = [block[:n] for n in range(2, len(block) + 1)]
            settled = True
            for parts in runs[::-1]:
                if len(_held(values, shown, position, parts, slack)[1]):
                    fits.append((parts == block, settled, parts))
                settled = settled and _fails(values, shown, position, parts, slack)
        if not fits:
            continue
        if slack:
            whole, settled, parts = min(
                fits, key=lambda fit: _misfit(values, shown, position, fit[2])
            )
        else:
            whole, settled, parts = max(fits, key=lambda fit: (fit[0], len(fit[2])))
        held, sums = _held(values, shown, position, parts, slack)
        some = not slack or (len(fits) == 1 and _telling(sums, parts, slack, sides))
        if whole or (some and settled):
            return parts, position, held
    return None


def _held(
    values: Ints, shown: Bools, position: int, parts: Sequence[int], slack: int
) -> tuple[int, Ints]:
    """Count the lines in which a sum holds, if it fails in none; and its values that are not 0."""
    whole = shown[position] & shown[parts].all(axis=0)
    telling = whole & (values[position] != 0)
    # Where one part is all there is, equality says little.
    filled = (values[parts] != 0).sum(axis=0)[telling].max(initial=0)
    if _fails(values, shown, position, parts, slack) or filled < 2:
        telling = np.zeros_like(telling)
    return int(whole.sum()), np.abs(values[position][telling])


def _fails(values: Ints, shown: Bools, position: int, parts: Sequence[int], slack: int) -> bool:
    """Whether a sum does not hold in some line that is published whole."""
    whole = shown[position] & shown[parts].all(axis=0)
    off = np.abs(values[parts].sum(axis=0) - values[position])
    return bool((off[whole] > slack * (len(parts) + 1)).any())


def _misfit(values: Ints, shown: Bools, position: int, parts: Sequence[int]) -> float:
    """Mean square by which a sum is off, to what rounding makes of as many numbers."""
    return float((_off(values, shown, position, parts) ** 2).mean()) / (len(parts) + 1)


def _off(values: Ints, shown: Bools, position: int, parts: Sequence[int] | Ints) -> Floats:
    """By how much a sum is off in each line that is published whole."""
    whole = shown[position] & shown[parts].all(axis=0)
    off: Floats = (values[parts].sum(axis=0) - values[position])[whole].astype(np.float64)
    return off


def _telling(sums: Ints, parts: Sequence[int], slack: int, sides: _Sides) -> bool:
    """Whether sums that may be off can hardly agree by chance in one of all runs.

    Small numbers that are rounded agree with most others: to base 5, 5 + 10 with 0 to 30.
    """
    if not slack:
        return True
    off = slack * (len(parts) + 1)
    chances = np.log(np.minimum(1.0, (2 * off + 1) / sums))
    return bool(chances.sum() < -np.log(_CHANCES * sides.k**2))
