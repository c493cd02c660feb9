"""Combinations of codes by number: sums and largest contributions, and what they add up into.

A combination has one code in every dimension, and its place is its number in C order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.memory import check_memory

_MOST_COMBINATIONS = 2**40
"""Most combinations of codes: with the number of a record of a batch they stay inside int64."""

KEYS = 2**62
"""Numbers made of a place and something else stay below it."""

_DENSE = 2**16
"""Places up to which an array of one number for each is taken without looking at how many occur."""


def check_combinations(hierarchies: Sequence[Hierarchy]) -> int:
    """Return the number of combinations of codes.

    Raises
    ------
    InputError
        If there are more than 2**40.
    """
    found = prod(len(tree.codes) for tree in hierarchies)
    if found > _MOST_COMBINATIONS:
        msg = (
            f"the codes have {found} combinations, more than {_MOST_COMBINATIONS}; use fewer "
            "dimensions or codes"
        )
        raise InputError(msg)
    return found


# ---- dimensions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One dimension as arrays: every code with all codes above it.

    Attributes
    ----------
    stride, size : int
        Combinations are numbered in C order: code number times stride, summed over dimensions.
    start, length : (size,) int64
        Where in `line` a code stands, followed by what it adds up into, and how many these are.
    line : (k,) int64
    """

    stride: int
    size: int
    start: Ints
    length: Ints
    line: Ints

    def code(self, places: Ints) -> Ints:
        """Code of each combination in this dimension."""
        return places // self.stride % self.size

    def up(self, places: Ints) -> tuple[Ints, Ints]:
        """Pairs of a position in `places` and a combination it adds up into along this dimension.

        Every combination is among those that it adds up into.
        """
        code = self.code(places)
        copies = self.length[code]
        source = np.repeat(np.arange(len(places)), copies)
        within = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
        above = self.line[np.repeat(self.start[code], copies) + within]
        return source, np.repeat(places - code * self.stride, copies) + above * self.stride


def axes_of(hierarchies: Sequence[Hierarchy]) -> list[Axis]:
    """Dimensions as arrays, in the order of the hierarchies."""
    shape = [len(tree.codes) for tree in hierarchies]
    found = []
    for k, tree in enumerate(hierarchies):
        lines = [(i, *tree.ancestors(i)) for i in range(len(tree.codes))]
        length = np.array([len(line) for line in lines], np.int64)
        found.append(
            Axis(
                prod(shape[k + 1 :]),
                shape[k],
                np.cumsum(length) - length,
                length,
                np.array([code for line in lines for code in line], np.int64),
            )
        )
    return found


# ---- sums ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Additive numbers of some combinations.

    Attributes
    ----------
    places : (n,) int64
        Ascending, each once.
    columns : (k, n) int64
    """

    places: Ints
    columns: Ints

    @classmethod
    def none(cls, k: int) -> Sums:
        """No combinations, of k columns."""
        return cls(np.zeros(0, np.int64), np.zeros((k, 0), np.int64))

    @classmethod
    def of(cls, places: Ints, columns: Ints) -> Sums:
        """Sum columns by place."""
        if len(places) and int(places.max()) < min(_DENSE + 2 * len(places), 2**27):
            return cls._counted(places, columns)
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        start = starts_of(ordered)
        if not len(start):
            return cls(ordered, columns)
        return cls(ordered[start], np.add.reduceat(columns[:, order], start, axis=1))

    @classmethod
    def _counted(cls, places: Ints, columns: Ints) -> Sums:
        """Sum columns by place without a sort, where places are not much more than numbers.

        Floats add whole numbers below 2**53 without error, so high and low bits are added apart:
        there are fewer than 2**27 numbers of 26 low bits, and the high ones of sums below 2**62
        have 36.
        """
        there = np.flatnonzero(np.bincount(places))
        sums = np.empty((len(columns), len(there)), np.int64)
        for k, column in enumerate(columns):
            high, low = column >> 26, column & (2**26 - 1)
            for shift, part in ((26, high), (0, low)):
                found = np.bincount(places, weights=part)[there].astype(np.int64) << shift
                sums[k] = found if shift else sums[k] + found
        return cls(there, sums)

    def plus(self, other: Sums) -> Sums:
        """Sum of both."""
        if not len(self.places) or not len(other.places):
            return self if len(self.places) else other
        return Sums.of(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.columns, other.columns], axis=1),
        )

    def carried_up(self, axes: Sequence[Axis]) -> Sums:
        """Return the sums of all combinations that these inner ones add up into."""
        found = self
        for axis in axes:
            pairs = int(axis.length[axis.code(found.places)].sum())
            check_memory(
                pairs * 8 * (4 + 2 * len(found.columns)),
                f"the table would have more than {len(found.places)} cells",
                "use fewer codes or dimensions, or codes of a coarser level of a hierarchy",
            )
            source, above = axis.up(found.places)
            found = Sums.of(above, found.columns[:, source])
        return found

    def at(self, places: Ints) -> Ints:
        """Columns at some ascending places, all of these among them; 0 at the others."""
        found = np.zeros((len(self.columns), len(places)), np.int64)
        found[:, np.searchsorted(places, self.places)] = self.columns
        return found


def starts_of(ordered: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return np.flatnonzero(first)


# ---- largest contributions -----------------------------------------------------------------------


class Largest(NamedTuple):
    """Contributions, ordered by place and then from the largest down.

    Attributes
    ----------
    places, amount, owner, weight : (n,) int64
    """

    places: Ints
    amount: Ints
    owner: Ints
    weight: Ints

    @classmethod
    def none(cls) -> Largest:
        """No contributions."""
        return cls(*np.zeros((4, 0), np.int64))

    def take(self, kept: Ints | Bools) -> Largest:
        """Return some of them."""
        return Largest(*(column[kept] for column in self))

    def ranked(self) -> Largest:
        """Return them from the largest down, whatever their place.

        Equal contributions are told apart by their contributor, so no order of rows shows.
        """
        high, low = int(self.amount.max()), int(self.amount.min())
        owners = int(self.owner.max()) + 2
        if (high - low + 1) * owners < KEYS:
            return self.take(np.argsort((high - self.amount) * owners + (self.owner + 1)))
        return self.take(np.lexsort((self.owner, -self.amount)))

    def best(self, top: int) -> Largest:
        """Keep the largest ones of each place."""
        n = len(self.places)
        if not n:
            return self
        if (int(self.places.max()) + 1) * n >= KEYS:
            order = np.lexsort((self.owner, -self.amount, self.places))
            return self.take(order[first_of(self.places[order], top)])
        # A place and a rank among all contributions make one number, which is all that is sorted.
        ranked = self.ranked()
        keys = ranked.places * n + np.arange(n)
        keys.sort()
        return ranked.take(keys[first_of(keys // n, top)] % n)

    def carried_up(self, axes: Sequence[Axis], combinations: int, top: int) -> Largest:
        """Largest contributions of all combinations that inner ones add up into.

        Each is one contribution wherever it counts, so the largest ones of the parts are enough.
        """
        n = len(self.places)
        if not n:
            return self
        if combinations * n >= KEYS:
            found = self
            for axis in axes:
                source, above = axis.up(found.places)
                found = found.take(source)._replace(places=above).best(top)
            return found
        ranked = self.ranked()
        keys = ranked.places * n + np.arange(n)
        for axis in axes:
            places, rank = np.divmod(keys, n)
            source, above = axis.up(places)
            keys = above * n + rank[source]
            keys.sort()
            keys = keys[first_of(keys // n, top)]
        places, rank = np.divmod(keys, n)
        return ranked.take(rank)._replace(places=places)

    def plus(self, other: Largest, top: int) -> Largest:
        """Largest of both."""
        if not len(self.places) or not len(other.places):
            return self if len(self.places) else other
        return Largest(*map(np.concatenate, zip(self, other, strict=True))).best(top)


def first_of(ordered: Ints, top: int) -> Bools:
    """Mark the first ones of each run of equal numbers."""
    kept = np.ones(len(ordered), dtype=bool)
    kept[top:] = ordered[top:] != ordered[:-top]
    return kept
