"""Sums, counts and largest contributions of every cell with records, from the records.

A contributor who reports to one inner cell only is one contribution of equal size in every margin
above it: of such contributors the inner cells' counts, sums and largest contributions are enough,
and they are carried up dimension by dimension. Contributors of several inner cells are summed anew
in every margin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from csp.exact import Ints
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.microdata.combinations import (
    KEYS,
    Largest,
    Sums,
    axes_of,
    check_combinations,
    first_of,
    starts_of,
)
from csp.tables.microdata.contributions import Wanted
from csp.tables.microdata.records import Records, Size, batches

_MOST_FLOORS = 2**22
"""Combinations up to which the least of the largest contributions is kept for each."""

_MOST_PAIRS = 2**22
"""Pairs of a cell and a contributor, about, that are summed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Cells with at least one record.

    Attributes
    ----------
    places : (n,) int64
        Position of each cell among all combinations of codes in C order, ascending.
    values : (n,) int64
        Sum of weight times amount, in units of ``10**-scale``.
    rows : (n,) int64
        Number of records.
    contributors : Contributors or None
        None in a table of plain counts.
    trees : tuple of Hierarchy
    scale : int
    library : str
        Of the caller's frame.
    records : int
        How many there are, where all of them were in memory.
    """

    places: Ints
    values: Ints
    rows: Ints
    contributors: Contributors | None
    trees: tuple[Hierarchy, ...]
    scale: int
    library: str = ""
    records: int = 0


_Known = tuple[dict[bool, Sums], dict[bool, Largest]]
"""Sums and largest contributions of a side; see `_Side`."""


class _Side:
    """Contributions of one sign, as the rules see them.

    Attributes
    ----------
    sums : mapping of bool to Sums
        Number, weight and weighted sum of contributions. True: of those who contribute to one
        inner cell only, by inner cell; False: of all others, by cell, margins included.
    largest : mapping of bool to Largest
        The largest of both.
    """

    def __init__(self, top: int, combinations: int) -> None:
        self._top, self._combinations = top, combinations
        # By place the least of the largest contributions known, below which others do not count.
        self._floor: dict[bool, Ints] = {}
        self.sums = dict.fromkeys((True, False), Sums.none(3))
        self.largest = dict.fromkeys((True, False), Largest.none())

    def add(self, found: Largest, *, inner: bool) -> None:
        """Add contributions, each of another contributor within its cell."""
        ones = np.ones(len(found.places), np.int64)
        columns = np.stack([ones, found.weight, found.weight * found.amount])
        sums, floor = Sums.of(found.places, columns), self._floor.get(inner)
        if floor is not None:
            found = found.take(found.amount >= floor[found.places])
        self.sums[inner] = self.sums[inner].plus(sums)
        largest = self.largest[inner].plus(found.best(self._top), self._top)
        self.largest[inner] = largest
        if self._combinations <= _MOST_FLOORS:
            floor = np.full(self._combinations, np.iinfo(np.int64).min)
            last = largest.places[self._top - 1 :] == largest.places[: -self._top + 1 or None]
            floor[largest.places[self._top - 1 :][last]] = largest.amount[self._top - 1 :][last]
            self._floor[inner] = floor

    def known(self, first: int) -> _Known:
        """Return all that was added, contributors numbered from here on."""
        raised = {
            inner: largest._replace(owner=largest.owner + first)
            for inner, largest in self.largest.items()
        }
        return dict(self.sums), raised

    def join(self, known: _Known) -> None:
        """Add what was added elsewhere."""
        for inner, sums in known[0].items():
            self.sums[inner] = self.sums[inner].plus(sums)
            self.largest[inner] = self.largest[inner].plus(known[1][inner], self._top)


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What a `Tally` knows of some batches, to be joined with others in another process."""

    sums: Sums
    sides: tuple[_Known, ...]
    smallest: int
    size: Size
    owned: bool  # whether records have contributors


class Tally:
    """Cells of records that come in parts, over the cross product of hierarchies.

    Every cell, also a margin, is computed from the records below it; sums are of integers.

    Parameters
    ----------
    wanted : Wanted
    trees : sequence of Hierarchy
        One for each dimension.
    pairs : int, optional
        Pairs of a cell and a contributor, about, that are summed at once.

    Raises
    ------
    InputError
        If there are more than 2**40 combinations of codes.
    """

    def __init__(
        self, wanted: Wanted, trees: Sequence[Hierarchy], pairs: int | None = None
    ) -> None:
        self._pairs = _MOST_PAIRS if pairs is None else min(pairs, _MOST_PAIRS)
        self._trees = tuple(trees)
        self._combinations = check_combinations(trees)
        self._axes = axes_of(trees)
        self._negative, self._top, self._counted = wanted.negative, wanted.kept, wanted.counted
        self._weighted = wanted.weight is not None
        self._sums = Sums.none(2)
        sides = 0 if not self._top else 2 if self._negative == "split" else 1
        self._sides = [_Side(self._top, self._combinations) for _ in range(sides)]
        self._smallest = 0
        self._size = Size()
        self._owned = self._numbered = False

    def add(self, records: Records) -> None:
        """Add records.

        Parameters
        ----------
        records : Records
            All records of every contributor that has one among them; without contributors, any.

        Raises
        ------
        InputError
            If sums are beyond 2**62 units.
        """
        # Who has no name is told apart by the place of the record, in every table of these records.
        self._numbered = records.contributor is None and records.place is not None
        for batch in batches(records):
            self._add(batch)

    def _add(self, records: Records) -> None:
        self._size = self._size.with_records(records)
        self._size.check()
        self._owned = records.contributor is not None
        leaf, amount = records.leaf, records.amount
        weight, owner = records.weight, records.contributor
        columns = np.stack([weight * amount, np.ones_like(leaf)])
        self._sums = self._sums.plus(Sums.of(leaf, columns))
        if not self._sides:
            return
        if owner is None:
            numbers = np.full_like(leaf, -1) if records.place is None else records.place
            self._contribute(Largest(leaf, amount, numbers, weight), inner=True)
            return
        if (int(owner.max()) + 1) * self._combinations < KEYS:
            order = np.argsort(owner * self._combinations + leaf)
        else:
            order = np.lexsort((leaf, owner))
        leaf, owner, amount, weight = leaf[order], owner[order], amount[order], weight[order]
        start = np.flatnonzero(
            np.concatenate([[True], (leaf[1:] != leaf[:-1]) | (owner[1:] != owner[:-1])])
        )
        parts = Largest(
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

    def result(self, scale: int) -> Found:
        """All cells with records, margins included.

        Parameters
        ----------
        scale : int
            Decimals of the amounts.

        Raises
        ------
        InputError
            If sums are beyond 2**62 units.
        """
        shift = self._smallest if self._negative == "shift" else 0
        self._size.check(-shift)
        inner = self._sums.places
        # Whether weights were named decides, and not what they are: that is not public.
        sides = [] if self._counted and not self._weighted else self._sides
        columns = [self._sums.columns, *(side.sums[True].at(inner) for side in sides)]
        cells = Sums(inner, np.concatenate(columns)).carried_up(self._axes)
        people: Contributors | None = None
        for number, side in reversed(list(enumerate(sides))):
            sums = cells.columns[2 + 3 * number : 5 + 3 * number] + side.sums[False].at(
                cells.places
            )
            largest = side.largest[True].carried_up(self._axes, self._combinations, self._top)
            largest = largest.plus(side.largest[False], self._top)
            people = self._people(cells.places, sums, largest, shift, people)
        scale += self._size.weight_scale
        return Found(cells.places, cells.columns[0], cells.columns[1], people, self._trees, scale)

    def _contribute(self, found: Largest, *, inner: bool) -> None:
        """Add contributions with their signs as the rules shall see them."""
        if not len(found.places):
            return
        self._smallest = min(self._smallest, int(found.amount.min()))
        amount = found.amount
        if self._negative == "split":
            first, second = self._sides
            first.add(found.take(amount >= 0), inner=inner)
            below = found.take(amount < 0)
            second.add(below._replace(amount=-below.amount), inner=inner)
            return
        if self._negative == "abs":
            found = found._replace(amount=np.abs(amount))
        self._sides[0].add(found, inner=inner)

    def _blocks(self, parts: Largest) -> Iterator[Largest]:
        """Contributions in blocks of whole contributors."""
        if not len(parts.places):
            return
        pairs = np.ones(len(parts.places), np.int64)
        for axis in self._axes:
            pairs *= axis.length[axis.code(parts.places)]
        before = np.cumsum(pairs) - pairs
        start = starts_of(parts.owner)
        block = before[start] // self._pairs
        edges = [*start[starts_of(block)].tolist(), len(parts.places)]
        for begin, end in pairwise(edges):
            yield parts.take(np.arange(begin, end))

    def _spread(self, parts: Largest) -> Largest:
        """Sum contributors of several inner cells anew in every cell above these."""
        start = starts_of(parts.owner)
        owners, n = parts.owner[start], len(start)
        local = np.repeat(np.arange(n), np.diff(start, append=len(parts.owner)))
        places, source = parts.places, np.arange(len(parts.places))
        for axis in self._axes:
            again, places = axis.up(places)
            source = source[again]
        key = places * n + local[source]
        order = np.argsort(key)
        start = starts_of(key[order])
        place, owner = np.divmod(key[order][start], n)
        source = source[order]
        amount = np.add.reduceat(parts.amount[source], start)
        return Largest(place, amount, owners[owner], parts.weight[source][start])

    def _people(
        self,
        places: Ints,
        sums: Ints,
        largest: Largest,
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
            ids=ids if self._owned or self._numbered else None,
            opposite=opposite,
            weighted=None if not self._weighted else weight.copy(),
            shift=shift * unit,
            weight_scale=self._size.weight_scale,
        )


def _filled(
    rows: Ints, largest: Largest, n: int, top: int, unit: int, shift: int
) -> tuple[Ints, Ints]:
    """Arrays (n, top) of contributions and contributors, each repeated by its rounded weight."""
    copies = np.clip((2 * largest.weight + unit) // (2 * unit), 1, top)
    if (copies > 1).any():
        source = np.repeat(np.arange(len(rows)), copies)
        source = source[first_of(rows[source], top)]
        rows, largest = rows[source], largest.take(source)
    start = starts_of(rows)
    column = np.arange(len(rows)) - np.repeat(start, np.diff(start, append=len(rows)))
    tops = np.zeros((n, top), np.int64)
    ids = np.full((n, top), -1, np.int64)
    tops[rows, column] = largest.amount - shift
    ids[rows, column] = largest.owner
    return tops, ids
