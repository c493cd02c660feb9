"""Entries of columns of numbers: read as floats or whole units, and which of them are missing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, phrase
from csp.exact import Bools, Floats, Ints
from csp.tables.units import MAX_DECIMALS, NotUnits, is_gap, to_units

MISSING = {
    "error": "refused, with row and column",
    "drop": "records that lack a value are left out",
    "own": "records that lack the same values form clusters of their own, and stay without them",
}
"""What may be done about missing values of attributes that are masked."""

_LARGEST = 2.0**500
_PLAIN = frozenset("0123456789+-.eEinfaINFA \t")

BLANKS = frozenset({"", "na", "nan", "<na>", "nat", "none", "null"})
"""Text that stands for a missing number."""


def gaps_of(column: NDArray[Any]) -> Bools:
    """Tell which entries are missing, shape (n,); an infinite number is not."""
    if column.dtype.kind in "biu":
        return np.zeros(len(column), bool)
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    entries = column.tolist()
    return np.fromiter((str(item).strip().lower() in BLANKS for item in entries), bool, len(column))


def filled(column: NDArray[Any], gaps: Bools, name: str) -> NDArray[Any]:
    """Put the first value that is there where one is missing, so that a column is one of numbers.

    Raises
    ------
    InputError
        If there is none.
    """
    if not gaps.any():
        return column
    if gaps.all():
        msg = f"column {name!r} has no values; leave it out"
        raise InputError(msg)
    whole = column.copy()
    whole[gaps] = column[int(np.argmin(gaps))]
    return whole


def floats_of(column: NDArray[Any], name: str) -> Floats:
    """Read a column of numbers as floats.

    Raises
    ------
    InputError
        If an entry is missing, infinite or not a number (row and column named), or squares of
        deviations would not be floats.
    """
    numbers = _read_floats(column, name)
    large = np.abs(numbers) > _LARGEST
    if large.any():
        raise wrong_entry(int(np.argmax(large)), name, "is beyond 2**500; give it in a larger unit")
    if len(numbers) and 0 < np.ptp(numbers) < 1 / _LARGEST:
        msg = f"the values of column {name!r} differ by less than 2**-500; give a smaller unit"
        raise InputError(msg)
    return numbers


def _read_floats(column: NDArray[Any], name: str) -> Floats:
    if column.dtype.kind in "biuf":
        numbers = column.astype(np.float64)
        where = np.flatnonzero(~np.isfinite(numbers))
        if len(where):
            what = "is missing or infinite; fill it or drop the record"
            raise wrong_entry(int(where[0]), name, what)
        return numbers
    items = column.tolist()
    if _PLAIN.issuperset("".join(item for item in items if isinstance(item, str))):
        with suppress(TypeError, ValueError):
            numbers = np.fromiter(map(float, items), np.float64, len(items))
            if np.isfinite(numbers).all():
                return numbers
    numbers = np.empty(len(column))
    for i, item in enumerate(items):  # one by one, to tell which is wrong
        try:
            if isinstance(item, str) and not _PLAIN.issuperset(item):
                raise ValueError  # noqa: TRY301 (digits of other scripts, underscores)
            numbers[i] = float(item)
        except (TypeError, ValueError):
            missing = str(item).strip().lower() in BLANKS
            what = "is missing" if missing else "is not a number"
            raise wrong_entry(i, name, f"{what}; correct it or leave the column out") from None
        if not np.isfinite(numbers[i]):
            raise wrong_entry(i, name, "is missing or infinite; fill it or drop the record")
    return numbers


def units_of(column: NDArray[Any], name: str, decimals: int | None) -> tuple[Ints, int]:
    """Read a column as whole units of ``10**-scale``, and the scale; refused as above."""
    try:
        return to_units(column, decimals)
    except NotUnits as error:
        reason = error.reason
        if error.long:
            reads = phrase(
                "microagg.read_records(data, decimals=2, round=True) rounds all of them, and every "
                "function takes what it returns",
                "--decimals 2 --round rounds all of them",
            )
            most = MAX_DECIMALS if decimals is None else decimals
            reason = f"it has more than {most} decimal places; {reads}"
        raise wrong_entry(error.index, name, f"cannot be taken exactly: {reason}") from None


def rounded_entries(column: NDArray[Any], name: str, decimals: int) -> Floats:
    """Round the entries of a column, ties to even; missing ones stay NaN."""
    here = np.flatnonzero(~is_gap(column))
    found = np.full(len(column), np.nan)
    try:
        units, _ = to_units(column[here], decimals, rounded=True)
    except NotUnits as error:
        raise wrong_entry(
            int(here[error.index]), name, f"cannot be taken: {error.reason}"
        ) from None
    found[here] = units / 10.0**decimals
    return found


def wrong_entry(row: int, name: str, what: str) -> InputError:
    """Name the row, counted from 1, and the column of an entry that cannot be taken."""
    return InputError(f"row {row + 1}, column {name!r}: the entry {what}")
