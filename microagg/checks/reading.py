"""Masked files read for a check: which published values are equal, and which are missing.

Of what makes masked files only the reading of files is shared (`csp.tables.columns`), so that a
mistake in making groups cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import exact
from csp.tables.columns import column_names, named_columns, read_columns
from csp.tables.hierarchies.coding import missing_owner
from csp.tables.units import is_missing
from microagg.records import Frozen, Ints

__all__ = ["Attribute", "classes_of", "fraction_of", "read_attributes", "read_roles"]

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
    values: tuple[Any, ...]
    numeric: bool

    @property
    def gaps(self) -> int:
        """Number of missing values."""
        return int((self.codes < 0).sum())


def read_roles(
    data: Any,
    quasi_identifiers: Sequence[str] | None,
    confidential: Sequence[str] | str,
    contributor: str | Sequence[Any] | None = None,
) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...], Ints | None]:
    """Read quasi-identifiers, by default all others, confidential attributes, and contributors."""
    data = named_columns(data)
    names = column_names(data)
    hidden = _listed(confidential, "confidential")
    own = contributor if isinstance(contributor, str) else None
    if quasi_identifiers is None:
        keys = tuple(name for name in names if name not in hidden and name != own)
    else:
        keys = _listed(quasi_identifiers, "quasi_identifiers")
    both = [name for name in keys if name in hidden]
    if both:
        msg = f"{both[0]!r} is named as quasi-identifier and as confidential; choose one role"
        raise InputError(msg)
    if not keys:
        msg = "there is no quasi-identifier; name at least one"
        raise InputError(msg)
    if own in (*keys, *hidden):
        role = "confidential" if own in hidden else "quasi-identifier"
        msg = f"{own!r} is named as {role} and as contributor; choose one role"
        raise InputError(msg)
    found = read_attributes(data, [*keys, *hidden], numbers=hidden)
    people = None if contributor is None else _people(data, contributor, len(found[0].codes))
    return found[: len(keys)], found[len(keys) :], people


def _people(data: Any, contributor: str | Sequence[Any], n: int) -> Ints:
    """Who each record belongs to, by number."""
    name = contributor if isinstance(contributor, str) else "contributor"
    source = data if isinstance(contributor, str) else {name: contributor}
    codes = read_attributes(source, [name])[0].codes
    if len(codes) != n:
        msg = (
            f"contributor= has {len(codes)} identifiers for {n} records; give the name of a "
            "column, or one identifier for each record"
        )
        raise InputError(msg)
    if (codes < 0).any():
        raise missing_owner(int(np.argmax(codes < 0)) + 1, name)
    return codes


def read_attributes(
    data: Any, names: Sequence[str], *, numbers: Sequence[str] = ()
) -> tuple[Attribute, ...]:
    """Read attributes of a published file.

    In those named as numbers, text that is a number counts as the number. Elsewhere two texts are
    two published values, also if they write the same number.
    """
    columns = read_columns(named_columns(data), names).arrays
    if len(columns[0]) == 0:
        msg = "the file has no records"
        raise InputError(msg)
    pairs = zip(names, columns, strict=True)
    return tuple(_attribute(name, column, parse=name in numbers) for name, column in pairs)


def classes_of(attributes: Sequence[Attribute]) -> Ints:
    """Class of each record, shape (n,): equal published values, missing equal to missing.

    Classes are numbered in the order of their first records.
    """
    codes = np.column_stack([attribute.codes for attribute in attributes])
    _, first, which = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[which.ravel()], np.int64)


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
        return Attribute(name, codes, tuple(exact(v) for v in values.tolist()), numeric=True)
    known: dict[Any, int] = {}
    codes = np.empty(len(column), np.int64)
    for i, item in enumerate(column.tolist()):
        if is_missing(item) or (isinstance(item, str) and item.strip().lower() in BLANKS):
            codes[i] = -1
            continue
        key = item.strip() if isinstance(item, str) else _number(item, i, name)
        codes[i] = known.setdefault(key, len(known))
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
