"""Codes of records as positions in hierarchies, and what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument, phrase
from csp.exact import Bools, Ints
from csp.formats.codes import plain_code
from csp.tables.codes import numbered_codes
from csp.tables.hierarchies.hierarchy import Hierarchy

# With this many records, no two of one category, a column is not a categorical variable.
_MANY = 1000

Finder = Callable[[Bools], tuple[int, int]]
"""First row, from 1, that has one of some marked entries of a column, and which entry that is."""


def first_row(marked: Bools) -> tuple[int, int]:
    """Find the first marked entry of a column whose entries are the records; see `Finder`."""
    entry = int(np.argmax(marked))
    return entry + 1, entry


def read_codes(
    column: NDArray[Any], name: str, missing: str | None, first: Finder = first_row
) -> tuple[list[str], Ints]:
    """Codes of a column, each once, and which of them each entry has.

    Parameters
    ----------
    column : (n,) array
    name : str
    missing : str or None
        Code in place of missing ones.
    first : callable
        See `Finder`; without it the entries are the records.

    Raises
    ------
    InputError
        If a code is missing and there is none in its place, or that is a code already.
    """
    found, number = numbered_codes(column)
    texts, given = list(found), plain_code(missing or "")
    if "" in texts:
        if not given:
            row, _ = first(number == texts.index(""))
            msg = (
                f"row {row}: the code in column {name!r} is missing; fill it, drop the record, or "
                f"give {argument('missing')} a code for such records"
            )
            raise InputError(msg)
        if given in texts:
            row, _ = first(number == texts.index(given))
            msg = (
                f"column {name!r} has the code {given!r} already (row {row}); give "
                f"{argument('missing')} another one, or records without a code would be counted "
                "there"
            )
            raise InputError(msg)
        texts = [text or given for text in texts]
    return texts, number


def positions_of(
    texts: Sequence[str],
    number: Ints,
    tree: Hierarchy,
    name: str,
    first: Finder = first_row,
    *,
    totals: bool = False,
) -> Ints:
    """Position of each entry's code in a hierarchy.

    Parameters
    ----------
    texts, number
        See `read_codes`.
    tree : Hierarchy
    name : str
    first : callable
        See `Finder`; without it the entries are the rows.
    totals : bool
        Whether codes may add up others.

    Raises
    ------
    InputError
        If a code is not in the hierarchy, or adds up others and must not.
    """
    place = {code: i for i, code in enumerate(tree.codes)}
    positions = np.array([place.get(code, -1) for code in texts], np.int64)
    wrong = positions < 0 if totals else ~np.isin(positions, tree.leaves)
    if wrong.any():
        row, entry = first(wrong[number])
        code = texts[int(number[entry])]
        if code in place:
            what = (
                "adds up other codes of the hierarchy; records need a code of its lowest level "
                "(or leave rows that are totals out)"
            )
        else:
            near = get_close_matches(code, tree.codes, 3)
            hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
            what = f"is not in its hierarchy; add it there or correct the row{hint}"
        msg = f"row {row}: code {code!r} of column {name!r} {what}"
        raise InputError(msg)
    return positions[number]


def check_repeats(codes: int, records: int, name: str) -> None:
    """Refuse an identifier in place of a dimension, before a table of its size is made.

    Raises
    ------
    InputError
    """
    if records >= _MANY and codes == records:
        msg = (
            f"column {name!r} has another code in each of the {records} records, so it tells "
            f"records apart and cannot be a dimension of a table; leave it out of {argument('by')}"
        )
        raise InputError(msg)


def missing_value(row: int, name: str | None, gaps: int = 1, records: int = 0) -> InputError:
    """Return the error for a record without a value, where none may lack one."""
    several = f", as in {gaps:,} of {records:,} records" if gaps > 1 else ""
    return InputError(
        f"row {row}, column {name!r}: the number is missing{several}; fill it, or leave records "
        f"without one out ({argument('missing_values', 'drop')})"
    )


def negative_value(row: int, name: str | None) -> InputError:
    """Return the error for a negative value where none is allowed."""
    others = phrase(", 'shift' or 'split'", ", shift or split")
    return InputError(
        f"row {row}: the value in column {name!r} is negative; correct it or choose "
        f"{argument('negative', 'abs')}{others}"
    )


def weight_not_positive(row: int, name: str | None) -> InputError:
    """Return the error for a weight that is not positive."""
    return InputError(
        f"row {row}: the weight in column {name!r} is not positive; correct or drop the record"
    )
