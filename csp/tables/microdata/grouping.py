"""Sums, counts and largest contributions of every cell with records, from the records.

A contributor who reports to one inner cell only is one contribution of equal size in every margin
above it: of such contributors the inner cells' counts, sums and largest contributions are enough,
and they are carried up dimension by dimension. Contributors of several inner cells are summed anew
in every margin. Records come in batches, each contributor's in one of them, so that no more than a
batch is in memory beside the cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.memory import check_memory
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy

__all__ = [
    "MAX_BATCH",
    "Grouped",
    "Partial",
    "Records",
    "Tally",
    "batches",
    "check_combinations",
    "group",
]

# Transformed contributions and their weighted sums must stay inside int64.
_LIMIT = 2.0**62

MAX_BATCH = 2**22
"""Most records of one batch."""

_MOST_COMBINATIONS = 2**40
"""Most combinations of codes: with a number below `MAX_BATCH` they stay inside int64."""

_MOST_FLOORS = 2**22
"""Combinations up to which the least of the largest contributions is kept for each."""

_KEYS = 2**62
"""Numbers made of a place and something else stay below it."""

_DENSE = 2**16
"""Places up to which an array of one number for each is taken without looking at how many occur."""

_MOST_PAIRS = 2**22
"""Pairs of a cell and a contributor, about, that are summed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Microdata as integers.

    Attributes
    ----------
    positions : tuple of (n,) int64
        For each dimension, the position of the record's code in the hierarchy (a leaf).
    amount : (n,) int64
        Contribution of each record.
    weight : (n,) int64
        Weight in units of ``10**-weight_scale``, positive.
    weight_scale : int
    contributor : (n,) int64 or None
        Who the record belongs to; None if every record is its own contributor.
    """

    positions: tuple[NDArray[np.int64], ...]
    amount: NDArray[np.int64]
    weight: NDArray[np.int64]
    weight_scale: int
    contributor: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Cells with at least one record.

    Attributes
    ----------
    places : (n,) int64
        Position of each cell among all combinations of codes in C order, ascending.
    values : (n,) int64
        Sum of weight times amount, in units of ``10**-weight_scale`` of the amounts' unit.
    rows : (n,) int64
        Number of records.
    contributors : Contributors or None
        None if no contributions were to be kept.
    """

    places: NDArray[np.int64]
    values: NDArray[np.int64]
    rows: NDArray[np.int64]
    contributors: Contributors | None


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


def group(
    records: Records, hierarchies: Sequence[Hierarchy], *, negative: str, top: int
) -> Grouped:
    """Tabulate records over the cross product of hierarchies.

    Every cell, also a margin, is computed from the records below it; sums are of integers.

    Parameters
    ----------
    records : Records
    hierarchies : sequence of Hierarchy
        One for each dimension.
    negative : {"error", "abs", "shift", "split"}
        What becomes of negative contributions; "error" promises that there are none.
    top : int
        How many of the largest contributions to keep; 0 looks at no contributions at all.

    Raises
    ------
    InputError
        If sums are beyond 2**62 units, or there are more than 2**40 combinations of codes.
    """
    tally = Tally(hierarchies, negative, top)
    for batch in batches(records):
        tally.add(batch)
    return tally.result()


def batches(records: Records) -> Iterator[Records]:
    """Batches of records that split no contributor, if that is possible."""
    n = len(records.amount)
    if n <= MAX_BATCH:
        yield records
        return
    order = None if records.contributor is None else np.argsort(records.contributor, kind="stable")
    start = 0
    while start < n:
        stop = min(start + MAX_BATCH, n)
        if order is not None and records.contributor is not None and stop < n:
            owner = records.contributor[order[start:]]
            first = int(np.searchsorted(owner, owner[stop - start]))
            stop = start + (first or int(np.searchsorted(owner, owner[0], side="right")))
        taken = slice(start, stop) if order is None else order[start:stop]
        owners = None if records.contributor is None else records.contributor[taken]
        yield Records(
            tuple(position[taken] for position in records.positions),
            records.amount[taken],
            records.weight[taken],
            records.weight_scale,
            owners,
        )
        start = stop


# ---- dimensions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
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
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    line: NDArray[np.int64]

    def code(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Code of each combination in this dimension."""
        return places // self.stride % self.size

    def up(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a position in `places` and a combination it adds up into along this dimension.

        Every combination is among those that it adds up into.
        """
        code = self.code(places)
        copies = self.length[code]
        source = np.repeat(np.arange(len(places)), copies)
        within = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
        above = self.line[np.repeat(self.start[code], copies) + within]
        return source, np.repeat(places - code * self.stride, copies) + above * self.stride


def _axes(hierarchies: Sequence[Hierarchy]) -> list[_Axis]:
    shape = [len(tree.codes) for tree in hierarchies]
    found = []
    for k, tree in enumerate(hierarchies):
        lines = [(i, *tree.ancestors(i)) for i in range(len(tree.codes))]
        length = np.array([len(line) for line in lines], np.int64)
        found.append(
            _Axis(
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
class _Sums:
    """Additive numbers of some combinations.

    Attributes
    ----------
    places : (n,) int64
        Ascending, each once.
    columns : (k, n) int64
    """

    places: NDArray[np.int64]
    columns: NDArray[np.int64]

    @classmethod
    def none(cls, k: int) -> _Sums:
        """No combinations, of k columns."""
        return cls(np.zeros(0, np.int64), np.zeros((k, 0), np.int64))

    @classmethod
    def of(cls, places: NDArray[np.int64], columns: NDArray[np.int64]) -> _Sums:
        """Sum columns by place."""
        if len(places) and int(places.max()) < min(_DENSE + 2 * len(places), 2**27):
            return cls._counted(places, columns)
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        start = _starts(ordered)
        if not len(start):
            return cls(ordered, columns)
        return cls(ordered[start], np.add.reduceat(columns[:, order], start, axis=1))

    @classmethod
    def _counted(cls, places: NDArray[np.int64], columns: NDArray[np.int64]) -> _Sums:
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

    def plus(self, other: _Sums) -> _Sums:
        """Sum of both."""
        if not len(self.places) or not len(other.places):
            return self if len(self.places) else other
        return _Sums.of(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.columns, other.columns], axis=1),
        )

    def carried_up(self, axes: Sequence[_Axis]) -> _Sums:
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
            found = _Sums.of(above, found.columns[:, source])
        return found

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns at some ascending places, all of these among them; 0 at the others."""
        found = np.zeros((len(self.columns), len(places)), np.int64)
        found[:, np.searchsorted(places, self.places)] = self.columns
        return found


def _starts(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run of equal numbers begins."""
    if not len(ordered):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


# ---- largest contributions -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Largest:
    """Contributions, ordered by place and then from the largest down.

    Attributes
    ----------
    places, amount, owner, weight : (n,) int64
    """

    places: NDArray[np.int64]
    amount: NDArray[np.int64]
    owner: NDArray[np.int64]
    weight: NDArray[np.int64]

    @classmethod
    def none(cls) -> _Largest:
        """No contributions."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    def take(self, kept: NDArray[np.int64] | NDArray[np.bool_]) -> _Largest:
        """Return some of them."""
        return _Largest(self.places[kept], self.amount[kept], self.owner[kept], self.weight[kept])

    def numbered(self, first: int) -> _Largest:
        """Return them with the numbers of contributors raised."""
        return _Largest(self.places, self.amount, self.owner + first, self.weight)

    def ranked(self) -> _Largest:
        """Return them from the largest down, whatever their place.

        Equal contributions are told apart by their contributor, so no order of rows shows.
        """
        high, low = int(self.amount.max()), int(self.amount.min())
        owners = int(self.owner.max()) + 2
        if (high - low + 1) * owners < _KEYS:
            return self.take(np.argsort((high - self.amount) * owners + (self.owner + 1)))
        return self.take(np.lexsort((self.owner, -self.amount)))

    def best(self, top: int) -> _Largest:
        """Keep the largest ones of each place."""
        n = len(self.places)
        if not n:
            return self
        if (int(self.places.max()) + 1) * n >= _KEYS:
            order = np.lexsort((self.owner, -self.amount, self.places))
            return self.take(order[_first(self.places[order], top)])
        # A place and a rank among all contributions make one number, which is all that is sorted.
        ranked = self.ranked()
        keys = ranked.places * n + np.arange(n)
        keys.sort()
        return ranked.take(keys[_first(keys // n, top)] % n)

    def carried_up(self, axes: Sequence[_Axis], combinations: int, top: int) -> _Largest:
        """Largest contributions of all combinations that inner ones add up into.

        Each is one contribution wherever it counts, so the largest ones of the parts are enough.
        """
        n = len(self.places)
        if not n:
            return self
        if combinations * n >= _KEYS:
            found = self
            for axis in axes:
                source, above = axis.up(found.places)
                part = found.take(source)
                found = _Largest(above, part.amount, part.owner, part.weight).best(top)
            return found
        ranked = self.ranked()
        keys = ranked.places * n + np.arange(n)
        for axis in axes:
            places, rank = np.divmod(keys, n)
            source, above = axis.up(places)
            keys = above * n + rank[source]
            keys.sort()
            keys = keys[_first(keys // n, top)]
        places, rank = np.divmod(keys, n)
        found = ranked.take(rank)
        return _Largest(places, found.amount, found.owner, found.weight)

    def plus(self, other: _Largest, top: int) -> _Largest:
        """Largest of both."""
        if not len(self.places) or not len(other.places):
            return self if len(self.places) else other
        return _Largest(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.amount, other.amount]),
            np.concatenate([self.owner, other.owner]),
            np.concatenate([self.weight, other.weight]),
        ).best(top)


def _first(ordered: NDArray[np.int64], top: int) -> NDArray[np.bool_]:
    """Mark the first ones of each run of equal numbers."""
    kept = np.ones(len(ordered), dtype=bool)
    kept[top:] = ordered[top:] != ordered[:-top]
    return kept


# ---- all of it -----------------------------------------------------------------------------------


class _Side:
    """Contributions of one sign, as the rules see them.

    Attributes
    ----------
    inner, apart : _Sums
        Number, weight and weighted sum of contributions: of those who contribute to one inner cell
        only, by inner cell; of all others, by cell, margins included.
    inner_largest, apart_largest : _Largest
        The largest of both.
    """

    def __init__(self, top: int, combinations: int) -> None:
        self._top, self._combinations = top, combinations
        # By place the least of the largest contributions known, below which others do not count.
        self._floor: dict[bool, NDArray[np.int64]] = {}
        self.inner = self.apart = _Sums.none(3)
        self.inner_largest = self.apart_largest = _Largest.none()

    def add(self, found: _Largest, *, inner: bool) -> None:
        """Add contributions, each of another contributor within its cell."""
        ones = np.ones(len(found.places), np.int64)
        columns = np.stack([ones, found.weight, found.weight * found.amount])
        sums, floor = _Sums.of(found.places, columns), self._floor.get(inner)
        if floor is not None:
            found = found.take(found.amount >= floor[found.places])
        largest = found.best(self._top)
        if inner:
            self.inner = self.inner.plus(sums)
            self.inner_largest = largest = self.inner_largest.plus(largest, self._top)
        else:
            self.apart = self.apart.plus(sums)
            self.apart_largest = largest = self.apart_largest.plus(largest, self._top)
        if self._combinations <= _MOST_FLOORS:
            floor = np.full(self._combinations, np.iinfo(np.int64).min)
            last = largest.places[self._top - 1 :] == largest.places[: -self._top + 1 or None]
            floor[largest.places[self._top - 1 :][last]] = largest.amount[self._top - 1 :][last]
            self._floor[inner] = floor

    def known(self, first: int) -> tuple[_Sums, _Sums, _Largest, _Largest]:
        """Return all that was added, contributors numbered from here on."""
        largest = self.inner_largest.numbered(first), self.apart_largest.numbered(first)
        return self.inner, self.apart, *largest

    def join(self, known: tuple[_Sums, _Sums, _Largest, _Largest]) -> None:
        """Add what was added elsewhere."""
        inner, apart, inner_largest, apart_largest = known
        self.inner, self.apart = self.inner.plus(inner), self.apart.plus(apart)
        self.inner_largest = self.inner_largest.plus(inner_largest, self._top)
        self.apart_largest = self.apart_largest.plus(apart_largest, self._top)


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What a `Tally` knows of some batches, to be joined with others in another process.

    Attributes
    ----------
    sums : _Sums
    sides : tuple
        See `_Side.known`.
    smallest : int
    size : _Size
    owned : bool
        Whether records have contributors.
    """

    sums: _Sums
    sides: tuple[tuple[_Sums, _Sums, _Largest, _Largest], ...]
    smallest: int
    size: _Size
    owned: bool


class Tally:
    """Cells of records that come in batches.

    Parameters
    ----------
    hierarchies, negative, top
        See `group`.
    pairs : int, optional
        Pairs of a cell and a contributor, about, that are summed at once.

    Raises
    ------
    InputError
        If there are more than 2**40 combinations of codes.
    """

    def __init__(
        self, hierarchies: Sequence[Hierarchy], negative: str, top: int, pairs: int | None = None
    ) -> None:
        self._pairs = _MOST_PAIRS if pairs is None else min(pairs, _MOST_PAIRS)
        self._combinations = check_combinations(hierarchies)
        self._shape = tuple(len(tree.codes) for tree in hierarchies)
        self._axes = _axes(hierarchies)
        self._negative, self._top = negative, top
        self._sums = _Sums.none(2)
        sides = 0 if not top else 2 if negative == "split" else 1
        self._sides = [_Side(top, self._combinations) for _ in range(sides)]
        self._smallest = 0
        self._size = _Size()
        self._owned = False

    def add(self, records: Records) -> None:
        """Add a batch of records.

        Parameters
        ----------
        records : Records
            All records of every contributor that has one among them; without contributors, any.

        Raises
        ------
        InputError
            If sums are beyond 2**62 units.
        """
        self._size = self._size.with_records(records)
        self._size.check()
        self._owned = records.contributor is not None
        leaf = np.ravel_multi_index(records.positions, self._shape)
        amount, weight, owner = records.amount, records.weight, records.contributor
        columns = np.stack([weight * amount, np.ones_like(leaf)])
        self._sums = self._sums.plus(_Sums.of(leaf, columns))
        if not self._sides:
            return
        if owner is None:
            self._contribute(_Largest(leaf, amount, np.full_like(leaf, -1), weight), inner=True)
            return
        if (int(owner.max()) + 1) * self._combinations < _KEYS:
            order = np.argsort(owner * self._combinations + leaf)
        else:
            order = np.lexsort((leaf, owner))
        leaf, owner, amount, weight = leaf[order], owner[order], amount[order], weight[order]
        start = np.flatnonzero(
            np.concatenate([[True], (leaf[1:] != leaf[:-1]) | (owner[1:] != owner[:-1])])
        )
        parts = _Largest(
            leaf[start],
            np.add.reduceat(amount, start),
            owner[start],
            np.minimum.reduceat(weight, start),
        )
        change = parts.owner[1:] != parts.owner[:-1]
        single = np.concatenate([[True], change]) & np.concatenate([change, [True]])
        self._contribute(parts.take(single), inner=True)
        for block in self._blocks(parts.take(~single)):
            self._contribute(self._spread(block), inner=False)

    def partial(self, first: int = 0) -> Partial:
        """Return what is known so far, cells and none of the records.

        Parameters
        ----------
        first : int
            What is added to the numbers of contributors.
        """
        sides = tuple(side.known(first if self._owned else 0) for side in self._sides)
        return Partial(self._sums, sides, self._smallest, self._size, self._owned)

    def join(self, other: Partial) -> None:
        """Add batches that were added up elsewhere, with the same options.

        Parameters
        ----------
        other : Partial
            None of its contributors has records here, nor the number of one.

        Raises
        ------
        InputError
            If sums are beyond 2**62 units.
        """
        self._size = self._size.joined(other.size, owned=other.owned)
        self._size.check()
        self._owned = other.owned
        self._sums = self._sums.plus(other.sums)
        self._smallest = min(self._smallest, other.smallest)
        for side, known in zip(self._sides, other.sides, strict=True):
            side.join(known)

    @property
    def unweighted(self) -> bool:
        """Whether every weight was one so far."""
        return self._size.unweighted

    def result(self) -> Grouped:
        """All cells with records, margins included.

        Raises
        ------
        InputError
            If sums are beyond 2**62 units.
        """
        shift = self._smallest if self._negative == "shift" else 0
        self._size.check(-shift)
        inner = self._sums.places
        columns = [self._sums.columns, *(side.inner.at(inner) for side in self._sides)]
        cells = _Sums(inner, np.concatenate(columns)).carried_up(self._axes)
        people: Contributors | None = None
        for number, side in reversed(list(enumerate(self._sides))):
            sums = cells.columns[2 + 3 * number : 5 + 3 * number] + side.apart.at(cells.places)
            largest = side.inner_largest.carried_up(self._axes, self._combinations, self._top)
            largest = largest.plus(side.apart_largest, self._top)
            people = self._people(cells.places, sums, largest, shift, people)
        return Grouped(cells.places, cells.columns[0], cells.columns[1], people)

    def _contribute(self, found: _Largest, *, inner: bool) -> None:
        """Add contributions with their signs as the rules shall see them."""
        if not len(found.places):
            return
        self._smallest = min(self._smallest, int(found.amount.min()))
        amount = found.amount
        if self._negative == "split":
            first, second = self._sides
            first.add(found.take(amount >= 0), inner=inner)
            below = found.take(amount < 0)
            second.add(
                _Largest(below.places, -below.amount, below.owner, below.weight), inner=inner
            )
            return
        if self._negative == "abs":
            found = _Largest(found.places, np.abs(amount), found.owner, found.weight)
        self._sides[0].add(found, inner=inner)

    def _blocks(self, parts: _Largest) -> Iterator[_Largest]:
        """Contributions in blocks of whole contributors."""
        if not len(parts.places):
            return
        pairs = np.ones(len(parts.places), np.int64)
        for axis in self._axes:
            pairs *= axis.length[axis.code(parts.places)]
        before = np.cumsum(pairs) - pairs
        start = _starts(parts.owner)
        block = before[start] // self._pairs
        edges = [*start[_starts(block)].tolist(), len(parts.places)]
        for begin, end in pairwise(edges):
            yield parts.take(np.arange(begin, end))

    def _spread(self, parts: _Largest) -> _Largest:
        """Sum contributors of several inner cells anew in every cell above these."""
        start = _starts(parts.owner)
        owners, n = parts.owner[start], len(start)
        local = np.repeat(np.arange(n), np.diff(start, append=len(parts.owner)))
        places, source = parts.places, np.arange(len(parts.places))
        for axis in self._axes:
            again, places = axis.up(places)
            source = source[again]
        key = places * n + local[source]
        order = np.argsort(key)
        start = _starts(key[order])
        place, owner = np.divmod(key[order][start], n)
        source = source[order]
        amount = np.add.reduceat(parts.amount[source], start)
        return _Largest(place, amount, owners[owner], parts.weight[source][start])

    def _people(
        self,
        places: NDArray[np.int64],
        sums: NDArray[np.int64],
        largest: _Largest,
        shift: int,
        opposite: Contributors | None,
    ) -> Contributors:
        count, weight, total = sums
        unit = 10**self._size.weight_scale
        rows = np.searchsorted(places, largest.places)
        tops, ids = _filled(rows, largest, len(places), self._top, unit, shift)
        return Contributors(
            count=count,
            total=total - shift * weight,
            top=tops * unit,
            ids=ids if self._owned else None,
            opposite=opposite,
            weighted=None if self._size.unweighted else (2 * weight + unit) // (2 * unit),
        )


def _filled(
    rows: NDArray[np.int64], largest: _Largest, n: int, top: int, unit: int, shift: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arrays (n, top) of contributions and contributors, each repeated by its rounded weight."""
    copies = np.clip((2 * largest.weight + unit) // (2 * unit), 1, top)
    if (copies > 1).any():
        source = np.repeat(np.arange(len(rows)), copies)
        source = source[_first(rows[source], top)]
        rows, largest = rows[source], largest.take(source)
    start = _starts(rows)
    column = np.arange(len(rows)) - np.repeat(start, np.diff(start, append=len(rows)))
    tops = np.zeros((n, top), np.int64)
    ids = np.full((n, top), -1, np.int64)
    tops[rows, column] = largest.amount - shift
    ids[rows, column] = largest.owner
    return tops, ids


@dataclass(frozen=True, slots=True)
class _Size:
    """How large sums of the records can become, in floats.

    The largest sum of any cell is at most that of all records, each moved by the shift.

    Attributes
    ----------
    weighted, weight : float
        Sum of weights times absolute amounts, and of weights.
    amount, n : float
        Sum of absolute amounts where contributors have several records, the largest one otherwise;
        with how many records, or 1.
    weight_scale : int
    unweighted : bool
        Whether every weight is one.
    """

    weighted: float = 0.0
    weight: float = 0.0
    amount: float = 0.0
    n: float = 0.0
    weight_scale: int = 0
    unweighted: bool = True

    def with_records(self, records: Records) -> _Size:
        """Return the size with more records."""
        amount = np.abs(records.amount).astype(np.float64)
        weight = records.weight.astype(np.float64)
        owned = records.contributor is not None
        found = _Size(
            float((weight * amount).sum()),
            float(weight.sum()),
            float(amount.sum()) if owned else float(amount.max(initial=0)),
            float(len(amount)),
            records.weight_scale,
            bool((records.weight == 10**records.weight_scale).all()),
        )
        return self.joined(found, owned=owned)

    def joined(self, other: _Size, *, owned: bool) -> _Size:
        """Return the size of both."""
        return _Size(
            self.weighted + other.weighted,
            self.weight + other.weight,
            self.amount + other.amount if owned else max(self.amount, other.amount),
            self.n + other.n if owned else 1.0,
            other.weight_scale,
            self.unweighted and other.unweighted,
        )

    def check(self, shift: int = 0) -> None:
        """Refuse what could overflow int64, before any arithmetic on it."""
        if self.weighted + shift * self.weight > _LIMIT or 4 * self.weight > _LIMIT:
            msg = (
                "the sum of the contributions is beyond 2**62 units; use fewer decimals (of values "
                "or weights) or a larger unit"
            )
            raise InputError(msg)
        # A single contribution stands at the scale of weight times value, whatever its own weight.
        if (self.amount + shift * self.n) * 10.0**self.weight_scale > _LIMIT:
            msg = "a contribution is beyond 2**62 units; use fewer decimals (of values or weights)"
            raise InputError(msg)
