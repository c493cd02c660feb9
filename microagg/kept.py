"""Columns that are published as they are beside masked ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Ints
from csp.tables.codes import text_codes
from csp.tables.columns import source_of


def count_alone(values: Sequence[Any]) -> int:
    """Count the records whose value no other record has."""
    return sum(times == 1 for times in Counter(values).values())


def kept_columns(data: Any, names: Sequence[str], *, identifiers: bool) -> dict[str, list[str]]:
    """Columns of the data as text.

    Raises
    ------
    InputError
        If one tells most records apart: it says whose means stand beside it. `identifiers` allows
        that.
    """
    if not names:
        return {}
    source = source_of(data)
    arrays = source.read(names, source.as_they_stand).arrays
    return _texts(dict(zip(names, arrays, strict=True)), identifiers=identifiers)


def _texts(columns: Mapping[str, NDArray[Any]], *, identifiers: bool) -> dict[str, list[str]]:
    found = {name: list(text_codes(column)) for name, column in columns.items()}
    for name, codes in found.items() if not identifiers else ():
        alone = count_alone(codes)
        if 2 * alone >= len(codes):
            msg = (
                f"{argument('keep')} {name}: {alone} of {len(codes)} records have a value there "
                "that no other record has, so it identifies the record beside the means; leave the "
                f"column out, or add {argument('keep_identifiers', value=True)} if all of its "
                "values are known anyway"
            )
            raise InputError(msg)
    return found


def kept_beside(
    data: Any,
    masked: Collection[str],
    rows: tuple[int, Ints | None],
    *,
    identifiers: bool,
) -> Mapping[str, Any]:
    """Columns for the records of a masked file.

    Parameters
    ----------
    data : data frame or mapping of columns
    masked : collection of str
        Columns of the masked file.
    rows : (int, (m,) int64 or None)
        Records that were given, and those that are left; None for all.
    identifiers : bool

    Raises
    ------
    InputError
        As for `kept_columns`, for a column that is masked, or another number of rows.
    """
    if isinstance(data, (str, list, tuple)) and not hasattr(data, "dtype"):
        msg = (
            f"{argument('keep')} takes the columns that are published beside the masked ones, such "
            "as frame[['sector']], not their names alone"
        )
        raise InputError(msg)
    source = source_of(data)
    names = source.names
    both = [name for name in names if name in masked]
    if both:
        msg = f"column {both[0]!r} of {argument('keep')} is masked; leave it out"
        raise InputError(msg)
    arrays = source.read(names, source.as_they_stand).arrays
    columns = dict(zip(names, arrays, strict=True))
    _texts(columns, identifiers=identifiers)
    n, left = rows
    for name, column in columns.items():
        if len(column) != n:
            msg = (
                f"column {name!r} of {argument('keep')} has {len(column)} rows for {n} records; "
                "give those of the records that were masked, in their order"
            )
            raise InputError(msg)
    return {name: column if left is None else column[left] for name, column in columns.items()}
