"""Numbers of any kind as integers of one decimal unit, exactly or not at all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument, subject
from csp.exact import MAX_DIGITS, MAX_VALUE, UNBOUNDED, Bools, Floats, Ints, read_decimal

MAX_DECIMALS = 9
"""Most decimal places that are looked for when the caller names none."""

MOST_DECIMALS = 15
"""Most that a caller may name: digits of 2**53 units."""

# Up to 15 significant digits a decimal and the float nearest to it determine each other, so the
# scaled float rounds to the digits of the shortest decimal text of that float.
_DIGITS = 15
_SAFE = 10**_DIGITS

_ULPS = 4
"""Units in the last place by which a few sums and products of floats go wrong."""

_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_SIGNS = re.compile(r"[0-9.+-]*")
_PLAIN = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")


class NotUnits(InputError):
    """A number that cannot become units; callers say in which row or cell it stands.

    Attributes
    ----------
    index : int
        Position of the number in the flat input, from 0.
    reason : str
        What is wrong with it and what to do, without its value.
    in_weight : str
        The same where the number is a sampling weight, whose decimals nobody states.
    missing : bool
        Whether there is no number at all.
    long : bool
        Whether the number has too many decimals.
    """

    def __init__(
        self, index: int, reason: str, *, in_weight: str = "", missing: bool = False,
        long: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(f"position {index + 1}: {reason}")
        self.index = index
        self.reason = reason
        self.in_weight = in_weight or reason
        self.missing = missing
        self.long = long


def column_units(
    column: NDArray[Any],
    name: str,
    decimals: int | None = None,
    rows: Ints | None = None,
    *,
    weights: bool = False,
    rounded: bool = False,
) -> tuple[Ints, int]:
    """Units of a column of data, and their scale; see `to_units`.

    Parameters
    ----------
    column : (n,) array
    name : str
    decimals : int, optional
    rows : (n,) int64, optional
        Row of each entry, from 0, where these are some of the rows only.
    weights : bool
        Whether these are sampling weights.
    rounded : bool
        Whether numbers may be rounded to `decimals`.

    Raises
    ------
    InputError
        Naming row and column.
    """
    try:
        return to_units(column, decimals, rounded=rounded)
    except NotUnits as error:
        row = error.index if rows is None else int(rows[error.index])
        reason = error.in_weight if weights else error.reason
        msg = f"row {row + 1}, column {name!r}: {reason}"
        raise InputError(msg) from error


def check_rounding(decimals: int | None, *, rounded: bool) -> None:
    """Refuse rounding to decimals that nobody stated.

    Raises
    ------
    InputError
    """
    if rounded and decimals is None:
        msg = (
            f"{argument('round', value=True, option='--round')} needs the decimals to round to; "
            f"give them with {argument('decimals', 2)}"
        )
        raise InputError(msg)


def to_units(
    numbers: NDArray[Any], decimals: int | None = None, *, rounded: bool = False
) -> tuple[Ints, int]:
    """Integers of ``10**-scale`` that equal the given numbers exactly.

    A float stands for its shortest decimal text: 0.1 is one tenth. Text is read as a decimal
    number with a point. With `decimals` given, the error of computed floats is taken off: a float
    (or its text) that lies within four units in its last place of a number with that many decimals
    is that number, as 0.1 + 0.2 is 0.3 at ``decimals=2``.

    Parameters
    ----------
    numbers : (n,) array
        Integers, floats, or objects: Python numbers, Decimal, Fraction, text; None and NaN are
        missing.
    decimals : int, optional
        Decimal places of the unit. None finds the smallest number of places, at most
        `MAX_DECIMALS`, at which every number is whole.
    rounded : bool
        Whether numbers with more decimals are rounded to these, ties to even, as the decimal
        text of a float says.

    Returns
    -------
    units : (n,) int64
    scale : int
        `decimals`, or the places found.

    Raises
    ------
    NotUnits
        At the first number that is missing, not finite, not a number, not whole at the unit, or
        beyond 2**53 units.
    """
    if decimals is not None and not 0 <= decimals <= MOST_DECIMALS:
        msg = f"{subject('decimals')} must be from 0 to {MOST_DECIMALS}, not {decimals}"
        raise InputError(msg)
    array = unmasked(numbers).ravel()
    if array.dtype.kind in "biu":
        whole, places = array, np.zeros(len(array), np.int64)
        beyond = (whole > MAX_VALUE) | (whole < -MAX_VALUE) if array.dtype.kind != "b" else None
        if beyond is not None and beyond.any():
            raise _too_large(int(np.argmax(beyond)), 0)
        mantissa = whole.astype(np.int64)
    elif array.dtype == np.float64:
        mantissa, places = _from_floats(array, decimals, rounded=rounded)
    else:
        mantissa, places = _from_objects(array, decimals, rounded=rounded)
    scale = int(places.max(initial=0)) if decimals is None else decimals
    return _rescale(mantissa, places, scale), scale


def finer(arrays: Iterable[Ints], scale: int, finest: int, what: str) -> list[Ints]:
    """Values and bounds in a finer unit than theirs; where there is no bound, there is none.

    Raises
    ------
    InputError
        If one does not fit into 2**53 units then.
    """
    factor, found = 10 ** (finest - scale), []
    for array in arrays:
        bounded = np.abs(array) < UNBOUNDED
        if (np.abs(array[bounded]) > MAX_VALUE // factor).any():
            msg = (
                f"{what} has {scale} decimal places and does not fit into 2**53 units at {finest} "
                "places, the finest of all; use fewer decimals there"
            )
            raise InputError(msg)
        found.append(np.where(bounded, np.where(bounded, array, 0) * factor, array))
    return found


def unmasked(array: Any) -> NDArray[Any]:
    """Array with None where a masked array hides an entry, which numpy would forget."""
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        if not hidden.any():
            return np.asarray(array.data)
        plain = np.array(array.data, dtype=object)
        plain[hidden] = None
        return plain
    return np.asarray(array)


def is_missing(item: Any) -> bool:
    """Whether an object stands for no value: None, NaN, and the gaps of pandas."""
    if isinstance(item, (str, int)):
        return False
    if isinstance(item, float):
        return item != item  # NaN, and no other float
    gap = item is None or getattr(item, "is_valid", True) is False  # a scalar of pyarrow
    return gap or str(item) in {"nan", "NaT", "<NA>"}


GAPS = frozenset({"", "na", "nan", "null", "none", "<na>"})
"""Texts that stand for no number, in small letters."""


def is_gap(column: NDArray[Any]) -> Bools:
    """Which entries of a column of numbers are missing; infinite ones are not."""
    array = unmasked(column)
    if array.dtype.kind in "biu":
        return np.zeros(len(array), bool)
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    return np.array(
        [
            item.strip().lower() in GAPS if isinstance(item, str) else is_missing(item)
            for item in array.tolist()
        ],
        bool,
    )


def _from_floats(
    array: Floats, decimals: int | None, *, rounded: bool = False
) -> tuple[Ints, Ints]:
    finite = np.isfinite(array)
    if not finite.all():
        first = int(np.argmin(finite))
        raise _missing(first, gap=bool(np.isnan(array[first])))
    mantissa = np.zeros(len(array), np.int64)
    places = np.full(len(array), -1, np.int64)
    left = np.arange(len(array))
    for d in range((MAX_DECIMALS if decimals is None else decimals) + 1):
        x = array[left]
        scaled = np.rint(x * 10.0**d)
        back = scaled / 10.0**d
        # The last place of all is the stated one: there a few units of rounding are taken off.
        near = _ULPS * np.spacing(np.abs(x)) if d == decimals else 0.0
        fits = (np.abs(scaled) < _SAFE) & (np.abs(back - x) <= near)
        mantissa[left[fits]] = scaled[fits].astype(np.int64)
        places[left[fits]] = d
        left = left[~fits]
        if not len(left):
            break
    if rounded and decimals is not None:
        left = left[~_rounded(array, left, decimals, mantissa, places)]
    for i in left:  # long or fractional beyond the places: decide on the decimal text
        mantissa[i], places[i] = _parse(repr(float(array[i])), int(i), decimals, rounded=rounded)
    return mantissa, places


def _rounded(array: Floats, left: Ints, decimals: int, mantissa: Ints, places: Ints) -> Bools:
    """Round those of some floats that lie far from halfway between two units; which these are."""
    scaled = array[left] * 10.0**decimals
    whole = np.rint(scaled)
    # A text of 17 digits and the product of the float differ by far less than this.
    clear = (np.abs(np.abs(scaled - whole) - 0.5) > 1e-3) & (np.abs(scaled) < 10.0**11)
    mantissa[left[clear]] = whole[clear].astype(np.int64)
    places[left[clear]] = decimals
    return clear


def _from_objects(
    array: NDArray[Any], decimals: int | None, *, rounded: bool = False
) -> tuple[Ints, Ints]:
    floats = _as_floats(array)
    if floats is not None:
        return _from_floats(floats, decimals, rounded=rounded)
    mantissa = np.zeros(len(array), np.int64)
    places = np.zeros(len(array), np.int64)
    known: dict[str, tuple[int, int]] = {}
    for i, item in enumerate(array):
        if is_missing(item):
            raise _missing(i)
        if isinstance(item, Fraction):
            mantissa[i], places[i] = _from_fraction(item, i, decimals, rounded=rounded)
            continue
        text = item if isinstance(item, str) else _text(item)
        found = known.get(text)
        if found is None:
            found = known[text] = _parse(text, i, decimals, rounded=rounded)
        mantissa[i], places[i] = found
    return mantissa, places


def _as_floats(array: NDArray[Any]) -> Floats | None:
    """Objects as floats that stand for the same numbers, if all are of such kinds; else None."""
    items = array.tolist() if array.dtype.kind in "OU" else []
    kinds = set(map(type, items))
    if kinds == {str}:
        # A point and a sign are counted as digits too, so there are never more than floats keep.
        if max(map(len, items)) > _DIGITS or not _SIGNS.fullmatch("".join(items)):
            return None
    elif not kinds or not kinds <= {float, int}:
        return None
    try:
        found = np.fromiter(map(float, items), np.float64, len(items))
    except (ValueError, OverflowError):  # of "1-2", or nothing: its own text tells what is wrong
        return None
    return found if (np.abs(found) < _SAFE).all() else None  # not if one is missing


def _from_fraction(
    number: Fraction, index: int, decimals: int | None, *, rounded: bool
) -> tuple[int, int]:
    """Digits and decimal places of a fraction, trailing zeros dropped."""
    places = MAX_DECIMALS if decimals is None else decimals
    units = number * 10**places
    if units.denominator != 1 and not (rounded and decimals is not None):
        raise _too_long(index, decimals)
    digits = round(units)
    while places and digits % 10 == 0:
        digits, places = digits // 10, places - 1
    if abs(digits) > MAX_VALUE:
        raise _too_large(index, places)
    return digits, places


def _text(item: Any) -> str:
    return str(int(item)) if isinstance(item, (bool, np.bool_)) else str(item)


def _parse(
    text: str, index: int, decimals: int | None, *, rounded: bool = False
) -> tuple[int, int]:
    """Digits and decimal places of a decimal text, trailing zeros dropped."""
    text = text.strip()
    match = _PLAIN.fullmatch(text) if len(text) <= MAX_DIGITS else None
    if match and (match[2] or match[3]):
        fraction = (match[3] or "").rstrip("0")
        digits, places = int((match[2] + fraction) or "0"), len(fraction)
        digits = -digits if match[1] == "-" else digits
    else:
        digits, places = _parse_slow(text, index)
    limit = MAX_DECIMALS if decimals is None else decimals
    if places > limit:
        units = None if decimals is None else _without_error(digits, places, decimals)
        if units is None and rounded and decimals is not None:
            units = round(Fraction(digits, 10 ** (places - decimals)))
        if units is not None:
            if abs(units) > MAX_VALUE:
                raise _too_large(index, decimals or 0)
            return units, decimals or 0
        raise _too_long(index, decimals)
    if abs(digits) > MAX_VALUE:
        raise _too_large(index, places)
    return digits, places


def _without_error(digits: int, places: int, decimals: int) -> int | None:
    """Units of a number that is the text of a float a few units in the last place off."""
    if not 10**15 <= abs(digits) < 10**17 or places > 2 * MAX_DECIMALS:
        return None  # not the text of a computed float, which has 16 or 17 digits
    x = digits / 10**places
    units = round(x * 10.0**decimals)
    near = abs(units / 10.0**decimals - x) <= _ULPS * math.ulp(x)
    return units if near and abs(units) < _SAFE else None


def _parse_slow(text: str, index: int) -> tuple[int, int]:
    """Numbers with an exponent, and everything that is not a number."""
    if text.lower() in {*GAPS, "inf", "-inf", "infinity"}:
        raise _missing(index, gap=text.lower() in GAPS)
    try:
        number = read_decimal(text)
    except InputError:
        reason = "the text is not a decimal number; write it with a point, like 12.34"
        if text == ".":
            reason = "'.' is not a number; leave a cell without a value blank or write '-'"
        elif _COMMA.fullmatch(text):
            reason += f", or declare the comma ({argument('decimal', ',')})"
        elif len(text) > MAX_DIGITS:
            reason = f"the number has more than {MAX_DIGITS} digits; shorten it"
        raise NotUnits(index, reason) from None
    sign, digits, exponent = number.as_tuple()
    exponent = int(exponent)  # a finite number has no letter there
    mantissa = int("".join(map(str, digits)))
    if mantissa == 0:
        return 0, 0
    if exponent > 20:
        raise _too_large(index, 0)
    while exponent < 0 and mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    mantissa *= 10 ** max(exponent, 0)
    return -mantissa if sign else mantissa, max(-exponent, 0)


def _rescale(mantissa: Ints, places: Ints, scale: int) -> Ints:
    factor = np.power(np.int64(10), scale - places)
    beyond = np.abs(mantissa) > MAX_VALUE // factor
    if beyond.any():
        raise _too_large(int(np.argmax(beyond)), scale)
    return mantissa * factor


def _missing(index: int, *, gap: bool = True) -> NotUnits:
    reason = "the number is infinite; correct it, or leave the row out"
    if gap:
        reason = "the number is missing (empty or NaN); fill it or drop it"
    return NotUnits(index, reason, missing=gap)


def _too_long(index: int, decimals: int | None) -> NotUnits:
    option = argument("round", value=True, option="--round")
    fix = f"{option} rounds numbers to that many"
    if decimals is None:
        fix = (
            f"say how many count ({argument('decimals', 2)}); where numbers have more than "
            f"the error of computing, {option} beside it rounds them"
        )
    what = f"has more than {MAX_DECIMALS if decimals is None else decimals} decimal places"
    return NotUnits(
        index, f"the number {what}; {fix}",
        in_weight=f"the weight {what}; round the weights, to 6 places for instance", long=True,
    )  # fmt: skip


def _too_large(index: int, scale: int) -> NotUnits:
    unit = f" units of 10**-{scale}" if scale else ""
    reason = f"the number is beyond 2**53{unit}; use fewer decimals or a larger unit"
    return NotUnits(index, reason)
