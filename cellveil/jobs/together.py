"""All releases of the same data attacked together, as far as they may be of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NoReturn

import numpy as np

from attacks.release_alone.several_releases import (
    Differencing,
    differencing,
    releases_alike,
    union_of,
)
from cellveil.front import refuse
from csp.clock import Clock
from csp.errors import InputError, OutOfTime
from csp.exact import UNBOUNDED, Bools, Ints
from csp.mechanism import Protected
from csp.release.completion import agreeing
from csp.release.release import Release
from csp.tables.codes import Labels, cell_name


def places_of(old: Release, new: Release) -> Ints | None:
    """Place of each cell of a new release in an old one, -1 for none.

    Two cells are the same if their labels agree once dimensions at their total are dropped. None
    if a dimension that only one of the releases has lacks a total.
    """
    old, new = releases_alike([old, new])
    roots = dict(zip(old.names, old.roots, strict=True))
    mine = dict(zip(new.names, new.roots, strict=True))
    lacking = [roots[name] for name in old.names if name not in mine]
    more = [name for name in new.names if name not in roots]
    if not all(lacking) or not all(mine[name] for name in more):
        return None
    labels = Labels.of(new.labels)
    codes = np.zeros((len(labels), len(old.names)), np.int32)
    categories: list[Sequence[str]] = []
    for k, name in enumerate(old.names):
        if name in mine:
            j = new.names.index(name)
            codes[:, k] = labels.codes[:, j]
            categories.append(labels.categories[j])
        else:
            categories.append((roots[name],))
    at = Labels.of(old.labels).places(Labels(codes, categories))
    for name in more:
        at[np.array(labels.column(new.names.index(name)), object) != mine[name]] = -1
    return at


def differ(old: Release, new: Release, at: Ints) -> Bools:
    """Cells of a new release that both publish, with different values."""
    there = np.where(at >= 0, at, 0)
    both = (at >= 0) & ~new.pattern & ~old.pattern[there]
    scale = max(old.scale, new.scale)
    one = old.published[there] * 10 ** (scale - old.scale)
    return np.asarray(both & (one != new.published * 10 ** (scale - new.scale)), bool)


def cells_words(count: int) -> str:
    """Write a number of cells."""
    return f"{count:,} {'cell' if count == 1 else 'cells'}"


@dataclass(frozen=True, slots=True, eq=False)
class Required:
    """How far intervals of the sensitive cells of a release must reach, in its units.

    Attributes
    ----------
    cells : (k,) int64
    values : (k,) int64
    lower, upper, sliding : (k,) int64
        Distances below and above the value, and the least width.
    scale : int
    """

    cells: Ints
    values: Ints
    lower: Ints
    upper: Ints
    sliding: Ints
    scale: int

    @classmethod
    def of(cls, protected: Protected) -> Required:
        """Levels of the problem that a pattern solves."""
        problem = protected.problem
        cells = np.flatnonzero(problem.primary & protected.pattern)
        levels = (problem.lpl[cells], problem.upl[cells], problem.spl[cells])
        return cls(cells, protected.table.values[cells], *levels, protected.table.scale)


def attacked_together(
    past: Sequence[Release], whose: Sequence[str], new: Release, clock: Clock,
    required: Required | None = None,
) -> list[str]:  # fmt: skip
    """Attack a release together with earlier ones, and say what came of it.

    Of an earlier release that publishes other values only those relations are used whose cells
    have the same values in both, as far as both publish them; and where most values differ, only
    those with two values or more that are the same and not 0.

    Parameters
    ----------
    past : sequence of Release
        The oldest first.
    whose : sequence of str
        Their files.
    new : Release
    clock : Clock
    required : Required, optional
        What the rules ask for its sensitive cells.

    Returns
    -------
    list of str
        Sentences.

    Raises
    ------
    InputError
        If a suppressed cell can be worked out, or the interval of a sensitive one is narrower than
        is required.
    OutOfTime
        If the time limit passed.
    """
    parts = [_part_of(old, new, name) for old, name in zip(past, whose, strict=True)]
    usable = [part for part in parts if part is not None]
    try:
        sets, others, lines = _consistent(usable, new, clock)
        others += len(parts) - len(usable)
        if others:
            few = "release is" if others == 1 else "releases are"
            lines.append(
                f"{others} earlier {few} of other data or codes: no sum has the values of this "
                "release, or those that have contradict it. Not attacked together."
            )
        for chosen in sets:
            lines += _attack(chosen, new, clock, required)
    except OutOfTime as error:
        msg = (
            "time ran out before this release was attacked together with the earlier ones of its "
            "history, so nothing is published; allow more time (time_limit), or take earlier "
            "releases out of the history"
        )
        raise OutOfTime(msg) from error
    return lines


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What an earlier release has that may be of the same data, and how many cells are not."""

    release: Release
    others: int
    name: str


def _part_of(old: Release, new: Release, name: str) -> _Part | None:
    """Part of a release that may be of the data of another; None if nothing is."""
    at = places_of(old, new)
    if at is None or not (at >= 0).any():
        return None
    other = differ(old, new, at)
    count = int(other.sum())
    if not count:
        return _Part(old, 0, name)
    wrong, right = np.zeros((2, len(old.pattern)), bool)
    wrong[at[other]] = True
    both = (at >= 0) & ~new.pattern & ~other
    both[both] = ~old.pattern[at[both]] & (new.published[both] != 0)
    right[at[both]] = True
    entries = abs(old.relations)
    used = np.asarray(entries @ wrong.astype(np.int64) == 0)
    if count > int(right.sum()):  # most differ: one value in common may be a coincidence
        used &= np.asarray(entries @ right.astype(np.int64) > 1)
    relations = old.relations[np.flatnonzero(used)]
    held = np.zeros(len(old.pattern), bool)
    held[relations.indices] = True
    if not held.any():
        return None
    # A cell of no such relation may be of other data: nothing is taken from it.
    part = replace(
        old, relations=relations, pattern=old.pattern | ~held,
        published=np.where(held, old.published, 0),
        lower=np.where(held, old.lower, -UNBOUNDED), upper=np.where(held, old.upper, UNBOUNDED),
    )  # fmt: skip
    return _Part(part, count, name)


def _consistent(
    parts: Sequence[_Part], new: Release, clock: Clock
) -> tuple[list[list[_Part]], int, list[str]]:
    """Sort earlier releases into sets that can be of the data of a new one and of each other.

    Returned are also how many contradict the new one, and why others cannot be compared.
    """
    sets: list[list[_Part]] = []
    others, lines = 0, []
    for part in reversed(parts):  # the newest first: what is revised is nearest to it
        try:
            alone = union_of([part.release, new])[1]
        except InputError as error:
            lines.append(f"{part.name} is not attacked together with this release: {error}.")
            continue
        if not _possible(alone, clock):
            others += 1
            continue
        for chosen in sets:
            if _agree([*(one.release for one in chosen), part.release, new], clock):
                chosen.insert(0, part)
                break
        else:
            sets.append([part])
    return sets, others, lines


def _agree(releases: Sequence[Release], clock: Clock) -> bool:
    """Whether releases can all be of the same data."""
    try:
        union = union_of(releases)[1]
    except InputError:
        return False
    return _possible(union, clock)


def _possible(release: Release, clock: Clock) -> bool:
    """Whether a table has what a release says."""
    try:
        agreeing(release, clock)
    except InputError:
        return False
    return True


def _attack(
    parts: Sequence[_Part], new: Release, clock: Clock, required: Required | None
) -> list[str]:
    """Attack releases that can be of the same data."""
    releases = [part.release for part in parts]
    if not any(one.pattern.any() for one in (*releases, new)):
        return []
    few = "release" if len(parts) == 1 else f"{len(parts)} releases"
    found = differencing([*releases, new], time_limit=clock.seconds)
    shown = np.array([bool(one) for one in found.publishers], bool)
    mine = np.isin(found.cells, found.places[-1][np.flatnonzero(new.pattern)])
    names = [part.name for part in parts]
    # What follows from one release alone was judged by its own audit.
    alone = (found.alone_lower == found.alone_upper).any(axis=0)
    hidden = ~shown & ~alone
    exact = (found.lower == found.upper) & hidden
    # Cells that an earlier table withholds, and this one does not have, count as well.
    gone = ~mine & ~np.isin(found.cells, found.places[-1])
    narrow, of_one = _too_narrow(found, shown, required)
    for wrong, how in (
        (exact & (mine | gone), "can be worked out"),
        (narrow, "can be narrowed below what the rules require"),
    ):
        if wrong.any():
            last = ", ".join(names[-3:]) + (" and others" * (len(names) > 3))
            _refuse(found, wrong, how, last, found.cells[shown & mine], new)
    lines = [
        f"{part.name} has other values in {cells_words(part.others)}; its sums of other cells were "
        "attacked together with this release."
        for part in parts if part.others
    ]  # fmt: skip
    before = int((shown & mine).sum())
    words = f"No suppressed cell can be worked out exactly from the earlier {few} and this one"
    if by_one := int((alone & ~shown & mine).sum()):
        words += f", except {by_one:,} that can be from one of them alone"
    if of_one:
        words += (
            "; 1 sensitive cell has a narrower interval than the rules require from one of them "
            "alone" if of_one == 1
            else f"; {of_one:,} sensitive cells have narrower intervals than the rules require "
            "from one of them alone"
        )  # fmt: skip
    if before:
        words += (
            "; 1 cell that is suppressed now was published before" if before == 1
            else f"; {before:,} cells that are suppressed now were published before"
        )  # fmt: skip
    return [*lines, f"{words}."]


def _too_narrow(found: Differencing, shown: Bools, required: Required | None) -> tuple[Bools, int]:
    """Sensitive cells whose joint intervals are too narrow, and how many are from one release."""
    narrow = np.zeros(len(found.cells), bool)
    if required is None or not len(required.cells):
        return narrow, 0
    unit = Fraction(10) ** (found.release.scale - required.scale)
    place = {cell: k for k, cell in enumerate(found.cells.tolist())}
    count = 0
    for i, cell in enumerate(found.places[-1][required.cells].tolist()):
        k = place[cell]
        value, below, above, wide = (
            unit * int(array[i])
            for array in (required.values, required.lower, required.upper, required.sliding)
        )

        def fails(
            low: float, high: float, need: tuple[Fraction, ...] = (value, below, above, wide)
        ) -> bool:
            return low > need[0] - need[1] or high < need[0] + need[2] or high - low < need[3]

        if shown[k] or not fails(found.lower[k], found.upper[k]):
            continue
        before = zip(found.alone_lower[:-1, k], found.alone_upper[:-1, k], strict=True)
        if any(fails(low, high) for low, high in before):  # NaN, where it is not there, never fails
            count += 1
        else:
            narrow[k] = True
    return narrow, count


_LISTED = 12
"""Cells that a message lists."""


def _refuse(
    found: Differencing, wrong: Bools, how: str, whose: str, known: Ints, new: Release,
) -> NoReturn:  # fmt: skip
    """Refuse to publish what discloses with earlier releases, and say how to mend it.

    What was published before is known. A pattern that hides it again relies on it in vain: stated
    as published, it leaves the solver to find others.
    """
    union = found.release
    cell = cell_name(union.names, union.labels[int(found.cells[np.argmax(wrong)])])
    count = int(wrong.sum())
    cells = "1 suppressed cell" if count == 1 else f"{count:,} suppressed cells"
    take = "or take the earlier release out of the history"
    places = np.flatnonzero(np.isin(found.places[-1], known)).tolist()
    if places:
        lines = ["".join(f"{code}," for code in new.labels[i]) + "p" for i in places]
        more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
        few = "1 cell" if len(lines) == 1 else f"{len(lines):,} cells"
        mend = (
            f"The pattern relies on {few} that {'was' if len(lines) == 1 else 'were'} published "
            "before; keep them published, so that others are suppressed, by an a-priori file "
            f"(apriori in [data]) with the lines {'; '.join(lines[:_LISTED])}{more}"
        )
    else:
        mend = (
            "What this release publishes and the earlier one did not have discloses it; name "
            f"{_sums(found, wrong, new)} in by_hand, with MAN(10) among the rules"
        )
    refuse(
        f"together with {whose} of the history, {cells} {how}, the first {cell}; nothing is "
        f"published. {mend}, {take}"
    )


def _sums(found: Differencing, wrong: Bools, new: Release) -> str:
    """Name cells that only the new release publishes, of sums that have a cell which is known."""
    union = found.release
    cell = int(found.cells[np.argmax(wrong)])
    own = {*found.places[-1][np.flatnonzero(~new.pattern)].tolist()}
    last, hidden = len(found.places) - 1, {*found.cells.tolist()}
    for place in found.places[:-1]:
        own -= {*place.tolist()} - hidden
    for c, by in zip(found.cells.tolist(), found.publishers, strict=True):
        own -= {c} if any(r < last for r in by) else set()
    rows = np.flatnonzero(union.relations[:, [cell]].toarray().ravel())
    beside = [int(c) for row in rows for c in union.relations[[row]].indices if int(c) in own]
    named = [cell_name(union.names, union.labels[c]) for c in dict.fromkeys(beside)]
    return ", ".join(named[:3]) or "the sums that are new in this release"
