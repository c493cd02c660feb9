"""Records of numbers: what microaggregation reads of a caller's data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Bools, Floats, Ints
from csp.names.calls import asked_as, check_choice, whole_number
from csp.tables.codes import owner_numbers
from csp.tables.columns import read_columns, records_source
from csp.tables.microdata.repeats import repeats_note
from csp.tables.sources.source import ColumnSource, check_names
from csp.tables.units import MOST_DECIMALS, check_rounding
from microagg.entries import (
    MISSING,
    filled,
    floats_of,
    gaps_of,
    rounded_entries,
    units_of,
    wrong_entry,
)


class Frozen:
    """Base of results: dataclasses whose arrays nobody can change."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for part in fields(self):  # type: ignore[arg-type]
            if isinstance(value := getattr(self, part.name), np.ndarray):
                value.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False)
class Kept(Frozen):
    """Records that are left of those that were given.

    Attributes
    ----------
    given : int
        How many were given.
    rows : (n,) int64
        The ones that are left, ascending.
    """

    given: int
    rows: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Numerical attributes of n records.

    Attributes
    ----------
    names : tuple of str
        Names of the d attributes; none twice.
    columns : tuple of (n,) arrays
        The attributes as given: integers, floats, text or decimals.
    decimals : int or None
        Decimal places of `units`; None takes as many as the data shows.
    library : str
        "pandas", "polars" or "pyarrow" if the data came as such a frame, otherwise "".
    note : str
        How a text file was read; see `csp.tables.sources.source.Columns`.
    index : pandas.Index or None
        Of the caller's frame, for frames that go back to the caller.
    contributor : (n,) int64 or None
        Who each record belongs to, by numbers from 0; None if every record is its own contributor.
    others : mapping of str to (n,) array
        Columns of any kind that are asked about and not masked.
    notes : tuple of str
        What to look at again: a column that may say who each record belongs to.
    kept : Kept or None
        Which of the records that were given these are; None for all.
    gaps : (n, d) bool or None
        Entries that are missing, where they may be; None if there are none. `columns` hold some
        value of the attribute there, and nothing that needs all values reads them.
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    decimals: int | None = None
    library: str = ""
    note: str = ""
    index: Any = None
    contributor: Ints | None = None
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kept: Kept | None = None
    gaps: Bools | None = None

    def __repr__(self) -> str:
        return f"Records({self.n} records, attributes {', '.join(self.names)})"

    @cached_property
    def n(self) -> int:
        """Number of records."""
        return len(self.columns[0])

    @cached_property
    def by_name(self) -> dict[str, NDArray[Any]]:
        """Attributes and other columns, by name."""
        return {**dict(zip(self.names, self.columns, strict=True)), **self.others}

    @cached_property
    def contributors(self) -> int:
        """Number of different contributors."""
        return self.n if self.contributor is None else len(np.unique(self.contributor))

    @cached_property
    def values(self) -> Floats:
        """Attributes as floats, shape (n, d).

        Raises
        ------
        InputError
            If one is missing, or not a number.
        """
        self._check_complete()
        return self.floats

    @cached_property
    def floats(self) -> Floats:
        """Attributes as floats, shape (n, d), with some value of the attribute at `gaps`."""
        found = np.empty((self.n, len(self.names)))
        for j, (name, column) in enumerate(zip(self.names, self.columns, strict=True)):
            found[:, j] = floats_of(column, name)
        found.flags.writeable = False
        return found

    @cached_property
    def exact(self) -> tuple[Ints, int]:
        """Attributes as whole units of ``10**-scale``, shape (n, d), and their common scale.

        Raises
        ------
        InputError
            If a number is not a multiple of the unit (row and column named), or missing.
        """
        self._check_complete()
        parts = [
            units_of(c, name, self.decimals)
            for name, c in zip(self.names, self.columns, strict=True)
        ]
        scale = max(places for _, places in parts)
        units = np.empty((self.n, len(self.names)), np.int64)
        for j, (name, column) in enumerate(zip(self.names, self.columns, strict=True)):
            part, places = parts[j]
            units[:, j] = part if places == scale else units_of(column, name, scale)[0]
        units.flags.writeable = False
        return units, scale

    @cached_property
    def constant(self) -> Bools:
        """Which attributes have one value only, shape (d,)."""
        return np.asarray(self.floats.min(axis=0) == self.floats.max(axis=0))

    @cached_property
    def units(self) -> Ints:
        """Attributes in units of ``10**-scale``, shape (n, d); see `exact`."""
        return self.exact[0]

    @cached_property
    def scale(self) -> int:
        """Decimal places of `units`."""
        return self.exact[1]

    def only(self, names: Sequence[str]) -> Records:
        """Return some of the attributes, in the order given.

        Raises
        ------
        InputError
            If one is unknown, or named twice.
        """
        chosen = _checked_names(names)
        if chosen == self.names:
            return self
        check_names(chosen, self.names)
        places = [self.names.index(name) for name in chosen]
        columns = tuple(self.columns[j] for j in places)
        gaps = None if self.gaps is None else _some_gaps(self.gaps[:, places])
        return replace(self, names=chosen, columns=columns, note="", gaps=gaps)

    def part(self, rows: Ints, names: Sequence[str]) -> Records:
        """Return some of the records and attributes, without the caller's index."""
        some = self.only(names)
        return replace(
            some, columns=tuple(column[rows] for column in some.columns), index=None,
            contributor=None if self.contributor is None else self.contributor[rows],
            others={}, kept=None, gaps=None if some.gaps is None else _some_gaps(some.gaps[rows]),
        )  # fmt: skip

    def _check_complete(self) -> None:
        if self.gaps is not None:
            row, j = np.argwhere(self.gaps)[0].tolist()
            raise wrong_entry(row, self.names[j], "is missing; fill it or drop the record")

    def at(self, rows: Ints) -> Records:
        """Return some of the records, with the decimal places of all."""
        columns = tuple(column[rows] for column in self.columns)
        index = None if self.index is None else self.index[rows]
        owners = None if self.contributor is None else self.contributor[rows]
        others = {name: column[rows] for name, column in self.others.items()}
        return Records(
            self.names, columns, self.scale, self.library, "", index, owners, others, self.notes
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordsOptions:
    """Data and which numerical attributes are read: the arguments of `microagg.read_records`.

    Attributes
    ----------
    data : (n, d) array, data frame, mapping of columns, path, or Records
        An array names its attributes a1, a2, ...; anything else as
        `csp.tables.columns.read_columns` takes it.
    attributes : sequence of str, optional
        Attributes wanted, in this order; by default all but the contributor and those in `diverse`.
    diverse : collection of str
        Columns of any kind that are read too, since their values must differ in every cluster (see
        `microagg.comply`).
    decimals : int, optional
        Decimal places of the data, where they are not to be found from it.
    contributor : str or sequence, optional
        Who each record belongs to, where one person or firm may have several: a column of the data,
        which is an identifier and so not an attribute, or n identifiers. Without it every record is
        a contributor of its own, unless `Records` say otherwise.
    missing : {"error", "drop", "own"}
        What is done about records that lack a value of an attribute: they are refused, left out
        (`kept` says which are left), or marked (`gaps`), for `microagg.mdav` and what is like it.
    round : bool
        Whether attributes with more decimals than `decimals` are rounded to these, ties to even:
        floats that were measured or computed cannot be judged exactly otherwise.
    """

    data: Any
    attributes: Sequence[str] | None = None
    _: KW_ONLY
    diverse: Collection[str] = ()
    decimals: int | None = None
    contributor: str | Sequence[Any] | None = None
    missing: str = "error"
    round: bool = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises
        ------
        InputError
        """
        check_choice("missing", self.missing, MISSING)
        check_apart(self.contributor, self.attributes)
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            msg = f"{argument('decimals')} must be from 0 to {MOST_DECIMALS}, not {self.decimals}"
            raise InputError(msg)
        check_rounding(self.decimals, rounded=self.round)

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns that are masked only if they are named: those in `diverse`, the contributor."""
        own = (self.contributor,) if isinstance(self.contributor, str) else ()
        return (*self.diverse, *own)

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """Attributes that are read of data with columns of these names.

        Raises
        ------
        InputError
            If there are none, or one is named twice.
        """
        if self.attributes is not None:
            return _checked_names(self.attributes)
        return _checked_names([name for name in names if name not in self.apart])


@asked_as(RecordsOptions)
def read_records(asked: RecordsOptions) -> Records:
    """Read numerical attributes of some data, each column once; takes what `RecordsOptions` does.

    Returns
    -------
    Records

    Raises
    ------
    InputError
        If there are no records or attributes, a name occurs twice or is unknown, an attribute holds
        something that is not a finite number (row and column named), or a record has no
        contributor.
    """
    if isinstance(asked.data, Records):
        return _some_of(asked.data, asked)
    return _read(records_source(asked.data), asked)


@asked_as(RecordsOptions)
def records_to_mask(asked: RecordsOptions) -> Records:
    """Read records that are to be masked; see `read_records`.

    If nobody says who a record belongs to, a column that may say it is noted; see `repeats_note`.
    """
    if isinstance(asked.data, Records):
        return _some_of(asked.data, asked)
    source = records_source(asked.data)
    records = _read(source, asked)
    if isinstance(asked.data, np.ndarray) or records.contributor is not None:
        return records
    given = records.n if records.kept is None else records.kept.given
    note = repeats_note(source, {*records.names, *asked.diverse}, given)
    return replace(records, notes=(note,)) if note else records


def _some_of(records: Records, asked: RecordsOptions) -> Records:
    """Choose some attributes of records that have been read, perhaps with another contributor."""
    check_names(asked.apart, tuple(records.by_name))
    some = records.only(asked.wanted(records.names))
    more = {n: records.by_name[n] for n in asked.diverse if n not in some.by_name}
    if more:
        some = replace(some, others={**some.others, **more})
    return _owned(some, asked.contributor, records.by_name)


def _read(source: ColumnSource, asked: RecordsOptions) -> Records:
    names, diverse, decimals = asked.wanted(source.names), asked.diverse, asked.decimals
    every = tuple(dict.fromkeys((*names, *asked.apart)))
    found = source.read(every, names)
    columns = dict(zip(every, found.arrays, strict=True))
    records = Records(
        names, found.arrays[: len(names)], decimals, found.library, found.note,
        source.index,
        others={name: columns[name] for name in diverse if name not in names},
    )  # fmt: skip
    if records.n == 0:
        msg = "the data has no records; give at least one"
        raise InputError(msg)
    records = _owned(records, asked.contributor, columns)
    if asked.missing != "error":
        records = _with_gaps(records, drop=asked.missing == "drop")
    if asked.round and decimals is not None:
        pairs = zip(records.columns, records.names, strict=True)
        columns_of = tuple(rounded_entries(column, name, decimals) for column, name in pairs)
        records = replace(records, columns=columns_of)
    try:
        _ = records.floats
    except InputError as error:
        if asked.attributes is not None:
            raise
        msg = (
            f"{error.template}; or name the numerical attributes to use "
            f"({argument('attributes')}), and key columns of text with {argument('within')}"
        )
        raise InputError(msg) from None
    return records


def _with_gaps(records: Records, *, drop: bool) -> Records:
    """Leave out the records that lack a value, or mark what is missing."""
    gaps = np.column_stack([gaps_of(column) for column in records.columns])
    if not gaps.any():
        return records
    if drop:
        rows = np.flatnonzero(~gaps.any(axis=1))
        if not len(rows):
            msg = "every record lacks a value of some attribute; leave out attributes"
            raise InputError(msg)
        left = records.part(rows, records.names)
        return replace(
            left, note=records.note, index=None if records.index is None else records.index[rows],
            others={name: column[rows] for name, column in records.others.items()},
            kept=Kept(records.n, rows),
        )  # fmt: skip
    trios = zip(records.columns, gaps.T, records.names, strict=True)
    gaps.flags.writeable = False
    return replace(records, columns=tuple(filled(*trio) for trio in trios), gaps=gaps)


def _some_gaps(gaps: Bools) -> Bools | None:
    return gaps if gaps.any() else None


def _owned(
    records: Records, contributor: str | Sequence[Any] | None, columns: Mapping[str, NDArray[Any]]
) -> Records:
    """Give the contributors of records numbers from 0, in the sorted order of their names."""
    if contributor is None:
        return records
    if isinstance(contributor, str):
        name, column = contributor, columns[contributor]
    else:
        name = "contributor"
        column = read_columns({name: contributor}, [name]).arrays[0]
        if len(column) != records.n:
            msg = (
                f"contributor= has {len(column)} identifiers for {records.n} records; give the "
                "name of a column, or one identifier for each record"
            )
            raise InputError(msg)
    number = owner_numbers(column, name)
    number.flags.writeable = False
    return replace(records, contributor=number, notes=())


def check_apart(contributor: str | Sequence[Any] | None, attributes: Sequence[str] | None) -> None:
    """Refuse a contributor that is to be masked too."""
    if isinstance(contributor, str) and contributor in (attributes or ()):
        msg = (
            f"{argument('contributor', contributor)} names an attribute too; an identifier is not "
            f"masked: leave it out of {argument('attributes')}"
        )
        raise InputError(msg)


def count_different(labels: Ints, codes: Ints) -> Ints:
    """Count the different codes in each of the groups 0, 1, ..., shape (c,)."""
    pairs = np.unique(np.column_stack([labels, codes]), axis=0)
    return np.bincount(pairs[:, 0], minlength=int(labels.max()) + 1).astype(np.int64)


def check_k(k: int, n: int, least: int = 1, contributors: int | None = None) -> int:
    """Return k, the least size of a group among n records, as an int.

    It is at least 2 where groups are to hide their members. Where several records may belong to one
    contributor, it is the least number of contributors among those there are.
    """
    alone = isinstance(k, Integral) and k == 1
    why = "; a group of 1 publishes its record as it is" if alone else ""
    found = whole_number("k", k, least, why)
    for most, what in ((n, "record"), (contributors, "contributor")):
        if most is not None and found > most:
            all_ = f"the {most} {what}s" if most != 1 else f"the only {what}"
            mend = f"give at most {most}" if most >= least else "too few to hide one among others"
            msg = f"k = {k} is more than {all_}; {mend}"
            raise InputError(msg)
    return found


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        msg = f"attributes must be a sequence of names, not the text {names!r}; put it in a list"
        raise InputError(msg)
    chosen = tuple(names)
    twice = next((name for i, name in enumerate(chosen) if name in chosen[:i]), None)
    if not chosen or twice is not None:
        what = "there are no attributes" if twice is None else f"attribute {twice!r} occurs twice"
        msg = f"{what}; name each attribute once"
        raise InputError(msg)
    return chosen
