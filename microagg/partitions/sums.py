"""Sums of floating-point columns without rounding, and their means rounded once.

The centre of a set of records decides which record is farthest from it, so a centre that
depends on the order of additions would make partitions depend on it, too. Here a sum is an
integer written in digits of 32 bits: any order of adding and removing records gives the same
digits, and the mean is the floating-point number nearest to the rational one (ties to even).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_RECORDS", "add", "add_all", "digits_for", "means"]

MOST_RECORDS = 2**30
"""Up to so many records a digit that was not normalised fits 64 bits, and so does a remainder."""


def digits_for(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make empty sums that hold any selection of these records.

    Parameters
    ----------
    points : (n, d) float64
        Finite numbers.

    Returns
    -------
    base : (d,) int64
        The lowest digit of column j counts units of 2**(base[j] - 1074).
    digits : (d, w) int64
        Zeros; the highest digit holds the sign.
    """
    exponents = (points.view(np.int64) >> 52) & 0x7FF
    # Subnormal numbers have the unit of the smallest normal ones.
    shift = np.maximum(exponents, 1) - 1
    used = points != 0
    none = ~used.any(axis=0)
    base = np.where(used, shift, 2048).min(axis=0, initial=2048)
    top = np.where(used, shift, 0).max(axis=0, initial=0)
    base[none] = 0
    top[none] = 0
    span = int((top - base).max(initial=0)) + 53 + 31
    return base.astype(np.int64), np.zeros((points.shape[1], span // 32 + 2), np.int64)


def add(digits: Any, base: Any, bits: Any, sign: int) -> None:
    """Add a record (sign 1) to the sums or remove it (sign -1).

    Parameters
    ----------
    digits : (d, w) int64
    base : (d,) int64
    bits : (d,) int64
        The record's floating-point numbers, their bits read as integers.
    sign : int
    """
    for j in range(len(base)):
        word = bits[j]
        exponent = (word >> 52) & 0x7FF
        mantissa = word & 0xFFFFFFFFFFFFF
        if exponent > 0:
            mantissa |= 0x10000000000000
        else:
            exponent = 1
        if mantissa == 0:
            continue
        shift = exponent - 1 - base[j]
        first, within = shift >> 5, shift & 31
        low = (mantissa & 0xFFFFFFFF) << within
        high = (mantissa >> 32) << within
        s = -sign if word < 0 else sign
        digits[j, first] += s * (low & 0xFFFFFFFF)
        digits[j, first + 1] += s * ((low >> 32) + (high & 0xFFFFFFFF))
        digits[j, first + 2] += s * (high >> 32)


def add_all(digits: Any, base: Any, bits: Any) -> None:
    """Add all records, bits of shape (n, d)."""
    for row in range(len(bits)):
        add(digits, base, bits[row], 1)


def means(digits: Any, base: Any, count: int, spare: Any, out: Any) -> None:
    """Divide sums by a count, each quotient rounded once.

    Parameters
    ----------
    digits : (d, w) int64
        Carries are brought up in place; the sums stay what they are.
    base : (d,) int64
    count : int
        From 1 to `MOST_RECORDS`.
    spare : (w,) int64
        Scratch.
    out : (d,) float64
        Where the means go.
    """
    for j in range(len(base)):
        out[j] = quotient(digits[j], base[j], count, spare)


def quotient(digits: Any, base: int, count: int, spare: Any) -> float:
    """Divide one sum by a count: the nearest floating-point number."""
    w = len(digits)
    carry = digits[0] >> 32
    digits[0] &= 0xFFFFFFFF
    for i in range(1, w - 1):
        carry += digits[i]
        digits[i] = carry & 0xFFFFFFFF
        carry >>= 32
    digits[w - 1] += carry
    negative = digits[w - 1] < 0
    carry = digits[0] * 0
    for i in range(w):
        carry = carry - digits[i] if negative else carry + digits[i]
        spare[i] = carry & 0xFFFFFFFF
        carry >>= 32
    # Long division from the top, until three digits are known from the first that is not zero.
    rest = carry * 0
    found = 0
    q0 = q1 = q2 = rest
    i = w
    while found < 3:
        i -= 1
        digit = spare[i] if i >= 0 else carry * 0
        rest = (rest << 32) | digit
        part = rest // count
        rest -= part * count
        if found == 0 and part == 0:
            # Below the lowest digit, 31 bits of a count leave a first digit within two steps.
            if i < -4:
                return 0.0
            continue
        q0, q1, q2 = q1, q2, part
        found += 1
    sticky = rest != 0
    for lower in range(min(i, w) - 1, -1, -1):
        sticky = sticky or spare[lower] != 0
    left = 0
    while (q0 >> (31 - left)) == 0:
        left += 1
    a0 = ((q0 << left) & 0xFFFFFFFF) | (q1 >> (32 - left))
    a1 = ((q1 << left) & 0xFFFFFFFF) | (q2 >> (32 - left))
    sticky = sticky or ((q2 << left) & 0xFFFFFFFF) != 0 or (a1 & 3) != 0
    # 62 leading bits, of which a normal number keeps 53 and a subnormal one fewer.
    lead = (a0 << 30) | (a1 >> 2)
    exponent = base - 1074 + 32 * (i + 1) - left + 2
    drop = 9 + max(0, -1074 - (exponent + 9))
    if drop > 62:
        return 0.0
    kept = lead >> drop
    over = lead - (kept << drop)
    half = (lead * 0 + 1) << (drop - 1)
    if over > half or (over == half and (sticky or (kept & 1) == 1)):
        kept += 1
    value = math.ldexp(float(kept), int(exponent + drop))
    return -value if negative else value
