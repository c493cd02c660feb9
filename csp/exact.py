"""Numbers: decimal text and floats at the border, exact integers of one unit in arrays inside."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Number = int | float | str | Decimal | Fraction
"""A parameter: read as the decimal number it shows, 0.1 as one tenth."""

UNBOUNDED = 2**62
"""Stands for "no upper bound" (negated: no lower bound) in integer bound arrays."""

MAX_VALUE = 2**53
"""Largest cell value, in units: beyond it a float solver would round integers."""


MAX_DIGITS = 400
"""Most digits of a number in text, and its largest exponent of ten: floats end at 308."""

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,9}))?", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)


def read_decimal(text: str) -> Decimal:
    """Return the number that a text writes in plain or exponential notation.

    Every text becomes a number here or in `read_whole`, so that a few letters cannot ask for
    hours of work.

    Raises
    ------
    InputError
        If it is not a finite number in ASCII digits, or has more than `MAX_DIGITS` digits or an
        exponent beyond them.
    """
    stripped = text.strip(" \t\r\n")
    match = _DECIMAL.fullmatch(stripped) if len(stripped) <= 2 * MAX_DIGITS else None
    if match is None:
        msg = f"{_shown(text)} is not a finite number"
        raise InputError(msg)
    number = Decimal(stripped) if abs(int(match[1] or 0)) <= MAX_DIGITS else None
    if number is None or len(number.as_tuple().digits) > MAX_DIGITS:
        msg = f"{_shown(text)} has more than {MAX_DIGITS} digits, or a larger exponent; shorten it"
        raise InputError(msg)
    return number


def read_whole(text: str) -> int:
    """Return the whole number that a text writes.

    Raises
    ------
    InputError
        If it is anything else than at most `MAX_DIGITS` ASCII digits, perhaps with a sign.
    """
    stripped = text.strip(" \t\r\n")
    if len(stripped) > MAX_DIGITS or not _WHOLE.fullmatch(stripped):
        msg = f"{_shown(text)} is not a whole number of at most {MAX_DIGITS} digits"
        raise InputError(msg)
    return int(stripped)


def read_fraction(text: str) -> Fraction:
    """Return the number that a text writes as a decimal, or as one over another: 1/3.

    Raises
    ------
    InputError
        As for `read_decimal`, and for a divisor of zero.
    """
    top, slash, bottom = text.partition("/")
    divisor = read_decimal(bottom) if slash else Decimal(1)
    if not divisor:
        msg = f"{_shown(text)} divides by zero"
        raise InputError(msg)
    return Fraction(read_decimal(top)) / Fraction(divisor)


def exact(number: Any) -> Fraction:
    """Return the number a user means: 0.1 is one tenth, not the nearest binary fraction.

    Raises
    ------
    InputError
        If it is not a finite number, or one of more than `MAX_DIGITS` digits.
    """
    if isinstance(number, Fraction):
        return number
    if isinstance(number, (int, np.integer)):
        return Fraction(int(number))
    if isinstance(number, (float, np.floating)):
        number = repr(float(number))
    return Fraction(read_decimal(str(number)))


def number_given(name: str, value: Any, kind: str = "number") -> Fraction:
    """Return an argument that has to be a finite number, exactly.

    Raises
    ------
    InputError
        If it is anything else; `kind` says what it has to be.
    """
    msg = f"{name} must be a finite {kind}, got {value!r}"
    if isinstance(value, bool):
        raise InputError(msg)
    try:
        return exact(value)
    except InputError:
        raise InputError(msg) from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


def ceil_fraction(number: Fraction) -> int:
    """Smallest integer not below an exact number."""
    return -((-number.numerator) // number.denominator)


def most_text(scale: int) -> str:
    """Largest cell value in words, in units of ``10**-scale``."""
    return f"2**53 units of 10**-{scale}" if scale else "2**53"


def units_text(units: int, scale: int) -> str:
    """Decimal text of an integer number of units of ``10**-scale``."""
    return f"{Decimal(units).scaleb(-scale):f}" if scale else str(units)


def grouped_text(units: int, scale: int) -> str:
    """Decimal text of units with commas between thousands, for people."""
    whole, point, rest = units_text(units, scale).partition(".")
    # A whole part of "-0" is kept: int() would lose its sign.
    return f"{int(whole):,}{point}{rest}" if whole not in ("-0", "") else whole + point + rest


def bounds_to_ends(bounds: Ints) -> Floats:
    """Bounds in units as floats, infinite where there is none (`UNBOUNDED`)."""
    ends = bounds.astype(np.float64)
    ends[np.abs(bounds) >= UNBOUNDED] *= np.inf
    return ends


def end_text(end: float, scale: int) -> str:
    """Decimal text of an interval's end; inf where there is none."""
    if math.isinf(end):
        return "inf" if end > 0 else "-inf"
    return units_text(int(end), scale) if end == int(end) else repr(end / 10**scale)


def units_to_numbers(units: Ints, scale: int) -> NDArray[Any]:
    """Values as numbers for people: int64 for scale 0, otherwise float64."""
    return units if scale == 0 else units / 10.0**scale


def number_text(number: Number) -> str:
    """Decimal text of an exact number, or a fraction where it has no finite decimals."""
    value = exact(number)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{value.numerator}/{value.denominator}"
    places = 0
    while value.denominator != 1:
        value *= 10
        places += 1
    digits = str(abs(value.numerator)).zfill(places + 1)
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text
