"""What an attacker learns of a rounded table who knows that the closest one was published.

A true table is possible if no additive table of multiples next to its values is closer to it than
the published one. Moving from the published table to another one costs, cell by cell, what the move
adds to the distance, so it is enough to look at the moves that no smaller one is part of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attacks.fibre import kernel_walk
from attacks.fibre.consistent_tables import Fibre, Part, check_size
from csp.clock import Clock
from csp.errors import InputError, argument
from csp.exact import Bools, Floats, Ints
from csp.names.calls import expect, named_errors, whole_number
from csp.release.release import Release
from csp.rounding.controlled import round_table
from csp.rounding.rounded import Rounded

_BLOCK = 4096
_NODES = 50_000

_MOVES = 20_000
"""Moves between rounded tables that are looked at."""

_RUN = 2_000
"""Tables to which several rounded ones are equally close that are rounded again."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unrounding:
    """What the public learns of a rounded table, with and without knowing the method.

    Attributes
    ----------
    release : Release
    tables : int
        Tables of whole units that add up and are near enough to the published one.
    left : int
        Those of them that the method would have published so.
    lower, upper : (n,) int64
        Least and largest value of each cell in any of these, in units.
    alone : (n, 2) int64
        The same from the release alone.
    tied : int
        Tables among those left to which another rounded table is as close, and that were not
        rounded again to see which one is taken.
    """

    release: Release
    tables: int
    left: int
    lower: Ints
    upper: Ints
    alone: Ints
    tied: int

    @property
    def known(self) -> Bools:
        """Cells that can be worked out exactly, shape (n,)."""
        return np.asarray((self.lower == self.upper) & self.release.pattern)

    @property
    def narrowed(self) -> Bools:
        """Cells of which knowing the method tells more than the release does, shape (n,)."""
        low, high = self.alone.T
        return np.asarray((self.lower > low) | (self.upper < high))

    def __repr__(self) -> str:
        return f"Unrounding({self.left:,} of {self.tables:,} consistent tables left)"

    def text(self) -> str:
        """Say in words what knowing the method tells."""
        known, narrowed = int(self.known.sum()), int(self.narrowed.sum())
        return (
            f"{self.tables:,} tables of whole units are consistent with the published one; the "
            f"method publishes it for {self.left:,} of them. "
            f"That narrows {narrowed:,} of {int(self.release.pattern.sum()):,} cells; {known:,} "
            "can be worked out exactly."
        )


@named_errors
def undo_rounding(
    rounded: Rounded, *, max_tables: int = 1_000_000, time_limit: float | None = None
) -> Unrounding:
    """Rule out the tables that would have been rounded otherwise.

    Only what is published is looked at. Where a key chose among the rounded tables, none can be
    ruled out: every table near enough could have led to the published one (`csp.round_table`).

    Parameters
    ----------
    rounded : Rounded
    max_tables : int
        Most tables to list.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Unrounding

    Raises
    ------
    InputError
        If more tables are consistent with what is published, or cells went further than to the
        multiples next to them.
    OutOfTime
        If the time limit passed first.

    Notes
    -----
    A table whose values are all less than half a base from the published ones is one of those left,
    for then no other multiple is closer to any cell. So knowing the method narrows no cell of a
    cross table below that.

    Examples
    --------
    >>> from csp import Table, round_table
    >>> rounded = round_table(Table.from_array([[1, 4], [5, 2]]), 3)
    >>> undo_rounding(rounded)
    Unrounding(81 of 217 consistent tables left)
    """
    expect(rounded, Rounded, "rounded")
    whole_number("max_tables", max_tables)
    clock = Clock.of(time_limit)
    if rounded.reach >= rounded.base:
        msg = (
            "cells went further than to the multiples next to them, and which ones is not "
            "published; only tables that were rounded to these can be undone"
        )
        raise InputError(msg)
    if not (rounded.proven or rounded.keyed):
        msg = (
            "the table was not proved the closest one, as the time ran out; what is excluded by "
            "knowing the method would then be wrong"
        )
        raise InputError(msg)
    release, base = rounded.release, rounded.base
    fibre = Fibre(release, release.table(rounded.values))
    alone = np.stack([release.lower, release.upper], axis=1)
    alone[fibre.cells] = np.stack([fibre.lower, fibre.upper], axis=1)
    mend = f"take a smaller table, or a larger {argument('max_tables')}"
    check_size(fibre, max_tables, clock, mend)
    if rounded.keyed:
        size = fibre.count() or 0
        lower, upper = alone.T.copy()
        return Unrounding(release, size, size, lower, upper, alone, 0)
    published = rounded.values[fibre.cells]
    moves = []
    if not rounded.small:
        moves = [_moves(part, published[part.cells], clock) for part in fibre.parts]
    found = _Left(rounded, fibre)
    for block in fibre.blocks(time_limit=clock.seconds):
        clock.check("every consistent table was looked at")
        if rounded.small:  # what may move depends on the true table: each is rounded again
            found.add(block, np.ones(len(block), dtype=bool))
            continue
        kept, tied = np.ones(len(block), bool), np.zeros(len(block), bool)
        for part, some in zip(fibre.parts, moves, strict=True):
            least = _cheapest(block[:, part.cells] - published[part.cells], some, base)
            kept &= least >= 0
            tied |= least == 0
        found.add(block[kept], tied[kept])
    return found.result(alone)


def _moves(part: Part, published: Ints, clock: Clock) -> Ints:
    """Vectors of -1, 0 and 1 over the cells that keep the relations, (v, k): the smallest ones.

    Raises
    ------
    InputError
        If there are too many.
    """
    one = np.ones(len(published), np.int64)
    search = kernel_walk.start(part.kernel, 0 * one, -one, one, _BLOCK)
    listed: list[Ints] = []
    for block in kernel_walk.tables_of(search, _NODES, clock):
        listed.append(block)
        if sum(map(len, listed)) > _MOVES:
            msg = (
                f"there are more than {_MOVES} ways from one rounded table to the next; only "
                "smaller tables can be undone"
            )
            raise InputError(msg)
    every = np.concatenate(listed)
    every = every[np.argsort(np.abs(every).sum(axis=1), kind="stable")][1:]  # not the zero
    kept = np.empty((0, len(published)), np.int64)
    for move in every:
        # A smaller move of the same signs within this one makes it superfluous.
        if not ((kept == 0) | (kept == move)).all(axis=1).any():
            kept = np.vstack([kept, move])
    return kept


def _cheapest(off: Ints, moves: Ints, base: int) -> Floats:
    """Least that a move adds to the distance of each of some tables, infinite where none can be.

    `off` (t, k) is how far the true values lie above the published ones. A cell may go up by a base
    where it lies above, which adds base - 2 off to the distance, and likewise down.
    """
    if not len(moves):
        return np.full(len(off), np.inf)
    never = float(4 * base * off.shape[1])
    up = np.where(off > 0, base - 2.0 * off, never)
    down = np.where(off < 0, base + 2.0 * off, never)
    ups, downs = (moves > 0).astype(float), (moves < 0).astype(float)
    added = up @ ups.T + down @ downs.T
    return np.asarray(np.where(added > never / 2, np.inf, added).min(axis=1))


class _Left:
    """Tables that were not ruled out: how many, and between what ends."""

    def __init__(self, rounded: Rounded, fibre: Fibre) -> None:
        self._rounded, self._fibre, self._run = rounded, fibre, 0
        self._sides: list[Ints] = []
        self._count = self._tied = 0

    def add(self, block: Ints, tied: Bools) -> None:
        """Add tables, after rounding those again that are as close to another rounded table."""
        keep = np.ones(len(block), dtype=bool)
        for i in np.flatnonzero(tied).tolist():
            if self._run >= _RUN:
                self._tied += 1
                continue
            self._run += 1
            table = self._rounded.release.table(block[i])
            bare = table.replace(lower=self._rounded.table.lower, upper=self._rounded.table.upper)
            again = round_table(bare, self._rounded.base_text, small=self._rounded.small)
            keep[i] = bool((again.values == self._rounded.values).all())
        if keep.any():
            some = block[keep]
            self._count += len(some)
            self._sides.append(np.stack([some.min(axis=0), some.max(axis=0)]))

    def result(self, alone: Ints) -> Unrounding:
        """Put together what was found."""
        if not self._sides:
            msg = "no table would have been rounded to the published one by this method"
            raise InputError(msg)
        sides, cells = np.stack(self._sides), self._fibre.cells
        lower, upper = alone.T.copy()
        lower[cells], upper[cells] = sides[:, 0].min(axis=0), sides[:, 1].max(axis=0)
        size = self._fibre.count() or 0
        return Unrounding(self._rounded.release, size, self._count, lower, upper, alone, self._tied)
