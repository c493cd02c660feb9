"""Means of floating-point columns, rounded once.

The centre of a set of records decides which record is farthest from it, so a centre that depended
on the order of additions would make partitions depend on it, too. Here sums are integers: Python's
own for few records, and digits of 32 bits in compiled code. Any order of adding and removing
records gives the same sum, and a mean is the floating-point number nearest to the rational one
(ties to even).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from csp.exact import Floats

MOST_RECORDS = 2**30
"""Up to this many records, a digit without carries fits 64 bits, and so does a remainder."""


def whole(values: Floats) -> tuple[list[int], int]:
    """Write finite numbers as integers times the largest power of two that measures them all.

    That power is named by its exponent.
    """
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1
    odd = mantissas >> np.maximum(zeros, 0)
    units = exponents.astype(np.int64) - 53 + zeros
    unit = int(units[odd != 0].min(initial=2000))
    shifts = np.where(odd != 0, units - unit, 0).tolist()
    return [v << s for v, s in zip(odd.tolist(), shifts, strict=True)], unit


def ratio(total: int, unit: int, count: int) -> float:
    """Divide ``total * 2**unit`` by a count, rounded once (as division of integers is)."""
    return (total << unit) / count if unit >= 0 else total / (count << -unit)


def exact_mean(points: Floats) -> Floats:
    """Mean of records, shape (n, d), each attribute rounded once."""
    found = np.empty(points.shape[1])
    for j, column in enumerate(points.T):
        # Mantissas with the same exponent are added up in two parts that fit 64 bits.
        fractions, exponents = np.frexp(column)
        mantissas = np.ldexp(fractions, 53).astype(np.int64)
        least = int(exponents.min())
        high, low = np.zeros((2, int(exponents.max()) - least + 1), np.int64)
        np.add.at(high, exponents - least, mantissas >> 32)
        np.add.at(low, exponents - least, mantissas & 0xFFFFFFFF)
        parts = enumerate(zip(high.tolist(), low.tolist(), strict=True))
        total = sum(((h << 32) + rest) << shift for shift, (h, rest) in parts)
        found[j] = ratio(total, least - 53, len(column))
    return found


class Sums(NamedTuple):
    """Sums of the columns of some records, for compiled code.

    The lowest digit of column j counts units of 2**(base[j] - 1074); the highest of the digits, (d,
    w), holds the sign. Bits, (n, d), are all records, their floating-point numbers read as
    integers.
    """

    base: Any
    digits: Any
    bits: Any
    spare: Any


def empty_sums(points: Floats) -> Sums:
    """Allocate sums that hold any selection of these records: (n, d), finite."""
    bits = points.view(np.int64)
    exponents = (bits >> 52) & 0x7FF
    # Subnormal numbers have the unit of the smallest normal ones.
    shift = np.maximum(exponents, 1) - 1
    used = points != 0
    none = ~used.any(axis=0)
    base = np.where(used, shift, 2048).min(axis=0, initial=2048)
    top = np.where(used, shift, 0).max(axis=0, initial=0)
    base[none] = 0
    top[none] = 0
    span = int((top - base).max(initial=0)) + 53 + 31
    digits = np.zeros((points.shape[1], span // 32 + 2), np.int64)
    return Sums(base.astype(np.int64), digits, bits, np.empty(digits.shape[1], np.int64))


def add(sums: Sums, row: int, sign: int) -> None:
    """Add a record (sign 1) to the sums or remove it (sign -1)."""
    digits, base, bits = sums.digits, sums.base, sums.bits[row]
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


def add_all(sums: Sums) -> None:
    """Add all records."""
    for row in range(len(sums.bits)):
        add(sums, row, 1)


def means(sums: Sums, count: int, out: Any) -> None:
    """Divide the sums by a count from 1 to `MOST_RECORDS`, each quotient rounded once.

    Carries are brought up in place; the sums stay what they are.
    """
    for j in range(len(out)):
        out[j] = quotient(sums.digits[j], sums.base[j], count, sums.spare)


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
