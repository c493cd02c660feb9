"""Exact numbers at the border: decimal text and floats in, integers of one unit inside."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError

__all__ = ["MAX_VALUE", "UNBOUNDED", "ceil_fraction", "exact", "units_text", "units_to_numbers"]

UNBOUNDED = 2**62
"""Stands for "no upper bound" (negated: no lower bound) in integer bound arrays."""

MAX_VALUE = 2**53
"""Largest cell value, in units: beyond it a float solver would round integers."""


def exact(number: Any) -> Fraction:
    """Return the number a user means: 0.1 is one tenth, not the nearest binary fraction.

    Raises
    ------
    InputError
        If it is not a finite number.
    """
    if isinstance(number, Fraction):
        return number
    try:
        if isinstance(number, (int, np.integer)):
            return Fraction(int(number))
        if isinstance(number, (float, np.floating)):
            return Fraction(Decimal(repr(float(number))))
        return Fraction(Decimal(str(number).strip()))
    except (InvalidOperation, ValueError, OverflowError) as error:
        msg = f"{number!r} is not a finite number"
        raise InputError(msg) from error


def ceil_fraction(number: Fraction) -> int:
    """Smallest integer not below an exact number."""
    return -((-number.numerator) // number.denominator)


def units_text(units: int, scale: int) -> str:
    """Decimal text of an integer number of units of ``10**-scale``."""
    return f"{Decimal(units).scaleb(-scale):f}" if scale else str(units)


def units_to_numbers(units: NDArray[np.int64], scale: int) -> NDArray[Any]:
    """Values as numbers for people: int64 for scale 0, otherwise float64."""
    return units if scale == 0 else units / 10.0**scale
