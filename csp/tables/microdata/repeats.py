"""A column that looks like the name of who reports, where records were taken for persons.

In a panel one firm or person has several records. If nobody says so, each counts as a contributor
of its own, and rules and k are kept by records only. Where records are tabulated or masked without
a contributor, a note therefore names a column that may hold them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.tables.codes import numbered_owners
from csp.tables.sources.source import ColumnSource

EACH = "each record counts as one contributor"
"""What is said where none is named."""

_MOST = 200_000
"""Records above which no column is looked for: it would take longer than it is worth."""

_WIDEST = 200
"""The same for columns."""

_NAME = re.compile(
    r"(business|company|contributor|customer|employee|employer|enterprise|establishment|firm|"
    r"holding|household|individual|owner|patient|person|respondent|taxpayer|unit)?"
    r"(id|ids|ident|identifier|key|no|nr|num|number|nummer|pid|uid)?"
)
_KINDS = frozenset((str, int))
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLAIN = re.compile(r"[+-]?[0-9]+")
_DATE_OR_DECIMAL = re.compile(r"[+-]?[0-9]+[.,/:-][0-9.,/:eE+-]*([ T][0-9:.]+)?")

_TELLING = 10
"""A column with a telling name has at least one value for so many records: a panel of ten waves."""

_OTHER = 2
"""The same for any other column."""

_FIRST = 2_000
"""Records that are looked at first."""


def repeats_note(source: ColumnSource, apart: Collection[str], records: int) -> str:
    """Say that records are taken for contributors, and which column may name them; "" if none.

    Parameters
    ----------
    source, apart, records
        As for `repeating_identifier`.
    """
    name = repeating_identifier(source, apart, records)
    return "" if name is None else f"{EACH}; {name!r} repeats: contributor={name!r}?"


def repeating_identifier(source: ColumnSource, apart: Collection[str], records: int) -> str | None:
    """Find a column that may say who each record belongs to, where some have several.

    Columns with a telling name come first ("id", "firm", "person_nr"), then others of text, in the
    order of the data. The column has a value in every record, fewer different ones than records,
    and at least one for every two records, or for every ten if its name is telling. Dates and
    numbers with decimals are none, nor are numbers whose name does not tell: they may be amounts.

    Parameters
    ----------
    source : ColumnSource
        What lies elsewhere (a relation, a lazy frame) is not looked at, and of a file only columns
        with a telling name, since each is read once more.
    apart : collection of str
        Columns that have a role already.
    records : int
        How many there are; too many are not looked at.

    Returns
    -------
    str or None
    """
    if records > _MOST:
        return None
    if source.place == "elsewhere":
        return None
    names = [name for name in source.names if name not in apart]
    telling = telling_names(names)
    others = [] if source.place == "file" else [name for name in names if name not in telling]
    for name, column in _read(source, [*telling, *others][:_WIDEST]):
        if _identifies(column, telling=name in telling):
            return name
    return None


def telling_names(names: Sequence[str]) -> list[str]:
    """Names of columns that may tell persons or firms apart."""
    return [name for name in names if isinstance(name, str) and _is_telling(name)]


def _read(source: ColumnSource, names: list[str]) -> Iterator[tuple[str, NDArray[Any]]]:
    for name in names:
        try:
            yield name, source.read([name], ()).arrays[0]
        except InputError:  # it is not asked for, so what is wrong with it is nobody's trouble
            continue


def _is_telling(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    return bool(words) and _NAME.fullmatch(words[-1]) is not None


def _identifies(column: NDArray[Any], *, telling: bool) -> bool:
    n = len(column)
    if column.dtype.kind not in "iuOU" or n < _TELLING:
        return False
    most = _TELLING if telling else _OTHER
    first = column[:_FIRST].tolist()
    if not _KINDS.issuperset(map(type, first)) or len(set(first)) * most < len(first):
        return False  # cheap, and right for most
    whole = column.dtype.kind in "iu"
    if not whole:
        entries = column.tolist()
        if not _KINDS.issuperset(map(type, entries)):
            return False
        texts = [str(entry).strip() for entry in entries]
        if any(map(_DATE_OR_DECIMAL.fullmatch, texts)):
            return False
        whole = all(map(_PLAIN.fullmatch, texts))
    if whole and not telling:
        return False
    different, _, gap = numbered_owners(np.asarray(column))
    return gap < 0 and different < n <= different * most
