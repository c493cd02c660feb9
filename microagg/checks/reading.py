"""Masked files read for a check: which published values are equal, and which are missing.

Of what makes masked files only the reading of files is shared (`csp.tables.columns`), so that a
mistake in making groups cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Ints, exact
from csp.tables.codes import missing_owner
from csp.tables.columns import records_source, source_of
from csp.tables.microdata.repeats import repeats_note
from csp.tables.units import is_missing
from microagg.records import Frozen

BLANKS = frozenset({"", "na", "nan", "<na>", "nat", "null", "none"})
"""Text that stands for a missing value, as the readers of numbers take it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attribute(Frozen):
    """One attribute of a published file.

    Codes, (n,), are equal for equal values and -1 where the value is missing; for numbers they
    ascend with the values. The value of each code is an exact number (Fraction), or text; an
    attribute is numeric if every value that is there is a number.
    """

    name: str
    codes: Ints
    values: Sequence[Any]
    numeric: bool

    @property
    def gaps(self) -> int:
        """Number of missing values."""
        return int((self.codes < 0).sum())


@dataclass(frozen=True, slots=True)
class _Exact(Sequence[Fraction]):
    """Numbers that become exact when they are asked for: nobody asks for those of most columns."""

    numbers: list[Any]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        return exact(self.numbers[place])


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """What an intruder may know of the records of a published file, and what it wants to learn.

    People, (n,), number who each record belongs to; None if each is a person of its own. The note
    names a column that may say it, if one was looked for.
    """

    keys: tuple[Attribute, ...]
    confidential: tuple[Attribute, ...]
    people: Ints | None = None
    note: str = ""

    @cached_property
    def classes(self) -> Ints:
        """Class of each record, shape (n,): equal published values, missing equal to missing.

        Classes are numbered in the order of their first records.
        """
        which = np.zeros(len(self.keys[0].codes), np.int64)
        for codes in (key.codes + 1 for key in self.keys):  # numbered anew: there are at most n
            both = which * (int(codes.max()) + 1) + codes
            _, first, which = np.unique(both, return_index=True, return_inverse=True)
        place = np.empty(len(first), np.int64)
        place[np.argsort(first)] = np.arange(len(first))
        return np.asarray(place[which.ravel()], np.int64)


def read_published(
    data: Any,
    quasi_identifiers: Sequence[str] | None,
    confidential: Sequence[str] | str,
    contributor: str | Sequence[Any] | None = None,
    *,
    noted: bool = False,
) -> Published:
    """Read quasi-identifiers, by default all others, confidential attributes, and contributors."""
    plain = isinstance(data, np.ndarray)
    source = records_source(data)
    hidden = _listed(confidential, "confidential")
    own = (contributor,) if isinstance(contributor, str) else ()
    if quasi_identifiers is None:
        keys = tuple(name for name in source.names if name not in (*hidden, *own))
    else:
        keys = _listed(quasi_identifiers, "quasi_identifiers")
    both = [name for name in keys if name in hidden]
    if both:
        msg = f"{both[0]!r} is named as quasi-identifier and as confidential; choose one role"
        raise InputError(msg)
    if not keys:
        msg = "there is no quasi-identifier; name at least one"
        raise InputError(msg)
    for name in own:
        if name in (*keys, *hidden):
            role = "confidential" if name in hidden else "quasi-identifier"
            msg = f"{name!r} is named as {role} and as contributor; choose one role"
            raise InputError(msg)
    found = read_attributes(source, [*keys, *hidden, *own], numbers=hidden)
    n, people = len(found[0].codes), _by_text(found[-1]) if own else None
    if contributor is not None and people is None:
        people = _by_text(read_attributes({"contributor": contributor}, ["contributor"])[0])
        if len(people.codes) != n:
            msg = (
                f"contributor= has {len(people.codes)} identifiers for {n} records; give the name "
                "of a column, or one identifier for each record"
            )
            raise InputError(msg)
    if people is not None and people.gaps:
        raise missing_owner(int(np.argmax(people.codes < 0)) + 1, people.name)
    asks = noted and people is None and not plain
    note = repeats_note(source, {*keys, *hidden}, n) if asks else ""
    codes = None if people is None else people.codes
    return Published(found[: len(keys)], found[len(keys) : len(keys) + len(hidden)], codes, note)


def read_attributes(
    data: Any, names: Sequence[str], *, numbers: Sequence[str] = ()
) -> tuple[Attribute, ...]:
    """Read attributes of a published file.

    In those named as numbers, text that is a number counts as the number. Elsewhere two texts are
    two published values, also if they write the same number.
    """
    source = source_of(data)
    columns = source.read(names, source.as_they_stand).arrays
    if len(columns[0]) == 0:
        msg = "the file has no records"
        raise InputError(msg)
    pairs = zip(names, columns, strict=True)
    return tuple(_attribute(name, column, parse=name in numbers) for name, column in pairs)


def _listed(names: Sequence[str] | str, role: str) -> tuple[str, ...]:
    chosen = (names,) if isinstance(names, str) else tuple(names)
    twice = [name for i, name in enumerate(chosen) if name in chosen[:i]]
    if twice:
        msg = f"{role} names {twice[0]!r} twice; name each attribute once"
        raise InputError(msg)
    return chosen


def _attribute(name: str, column: NDArray[Any], *, parse: bool) -> Attribute:
    if column.dtype.kind in "iuf":
        gone = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)
        if column.dtype.kind == "f" and np.isinf(column).any():
            raise _infinite(int(np.argmax(np.isinf(column))), name)
        values, which = np.unique(column[~gone], return_inverse=True)
        codes = np.full(len(column), -1, np.int64)
        codes[~gone] = which
        return Attribute(name, codes, _Exact(values.tolist()), numeric=True)
    known: dict[Any, int] = {}
    entries = column.tolist()
    if not parse and len({kind in (bool, np.bool_) for kind in set(map(type, entries))}) > 1:
        # Python takes True for 1, but a file that is published has both.
        entries = [str(item) if isinstance(item, (bool, np.bool_)) else item for item in entries]
    first, which = _entries(entries)
    found = np.empty(len(first), np.int64)
    for code, row in enumerate(first):
        item = entries[row]
        if is_missing(item) or (isinstance(item, str) and item.strip().lower() in BLANKS):
            found[code] = -1
            continue
        key = item.strip() if isinstance(item, str) else _number(item, row, name)
        # Of what must differ, what looks alike is one; of what must agree, it is two.
        key = normalize("NFC", key) if parse and isinstance(key, str) else key
        found[code] = known.setdefault(key, len(known))
    codes = found[which]
    items: list[Any] = list(known)
    numeric = not any(isinstance(item, str) for item in items)
    if parse and not numeric:
        try:
            items, numeric = [exact(item) for item in items], True
        except InputError:
            items = [str(item) for item in items]
    elif not numeric:  # text and numbers in one column are told apart as they are
        return Attribute(name, codes, tuple(str(item) for item in items), numeric=False)
    ranked = sorted(set(items))
    place = {value: code for code, value in enumerate(ranked)}
    new = np.array([place[item] for item in items] + [-1], np.int64)
    return Attribute(name, new[codes], tuple(ranked), numeric=numeric)


def _entries(entries: list[Any]) -> tuple[list[int], Ints]:
    """First row of each different entry, in the order of the rows, and which one each row has.

    Only of texts and plain numbers equal ones are one: others may look different all the same.
    """
    if not set(map(type, entries)) <= {str, int, float, type(None)}:
        return list(range(len(entries))), np.arange(len(entries))
    number: dict[Any, int] = {}
    first: list[int] = []
    which = np.empty(len(entries), np.int64)
    for row, entry in enumerate(zip(map(type, entries), entries, strict=True)):
        place = which[row] = number.setdefault(entry, len(number))
        if place == len(first):
            first.append(row)
    return first, which


def _by_text(people: Attribute) -> Attribute:
    """Contributors by the text of their identifiers: 1 and "1" are one, in any form of Unicode."""
    texts = [normalize("NFC", str(value)) for value in people.values]
    different, which = np.unique(np.array(texts, object), return_inverse=True)
    codes = np.append(which, -1).astype(np.int64)[people.codes]
    return Attribute(people.name, codes, tuple(different.tolist()), numeric=False)


def _number(item: Any, row: int, name: str) -> Any:
    """Exact number of an object, or its text if it is none."""
    try:
        return exact(int(item) if isinstance(item, (bool, np.bool_)) else item)
    except InputError:
        pass
    if str(item).lower() in {"inf", "-inf", "infinity", "-infinity"}:
        raise _infinite(row, name)
    return str(item).strip()


def _infinite(row: int, name: str) -> InputError:
    return InputError(f"row {row + 1}, column {name!r}: the number is infinite; correct the file")


def fraction_of(number: Any, what: str) -> Fraction:
    """Exact number of a threshold, which is not a truth value."""
    if isinstance(number, bool):
        msg = f"{what} must be a number, not {number!r}"
        raise InputError(msg)
    return exact(number)
