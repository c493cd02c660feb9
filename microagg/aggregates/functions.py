"""What an attacker knows of a record: sums, averages, weighted sums and functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any

import numpy as np

from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, Ints, exact
from csp.names.calls import check_known
from microagg.aggregates.spreads import (
    LARGEST,
    range_ends,
    range_of,
    variance_ends,
    variance_of,
)


@dataclass(frozen=True)
class Linear:
    """Weighted sum of the attributes.

    Attributes
    ----------
    name : str
    weights : tuple of Fraction
        One an attribute, as meant.
    """

    name: str
    weights: tuple[Fraction, ...]

    @cached_property
    def whole(self) -> Ints:
        """Smallest whole numbers in the ratio of the weights, shape (d,).

        Records compare by them as by the weights: f enters only by order, equality and relative
        distance.

        Raises
        ------
        InputError
            If they are beyond 2**53.
        """
        common = lcm(*(w.denominator for w in self.weights))
        numbers = [int(w * common) for w in self.weights]
        shared = gcd(*numbers)
        if max(map(abs, numbers)) // shared > MAX_VALUE:
            msg = "the weights of f have too many digits; round them"
            raise InputError(msg)
        return np.array([number // shared for number in numbers], np.int64)

    def values(self, rows: Ints) -> Ints:
        """Values of records, shape (n,), in units over the weights' common denominator."""
        return np.asarray(rows @ self.whole, np.int64)

    def ends(self, lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
        """Smallest and largest value of records known by ranges, each of shape (n,)."""
        plus, minus = np.maximum(self.whole, 0), np.minimum(self.whole, 0)
        return lower @ plus + upper @ minus, upper @ plus + lower @ minus

    def check(self, rows: Ints) -> None:
        """Refuse data whose sums would not fit.

        Raises
        ------
        InputError
        """
        top = int(np.abs(rows).max(initial=0))
        if top * sum(abs(int(w)) for w in self.whole) >= LARGEST:
            msg = f"values of {self.name} may exceed 2**61 units; use fewer decimals"
            raise InputError(msg)


@dataclass(frozen=True)
class Monotone:
    """A function of the user that moves one way in every attribute.

    Attributes
    ----------
    function : callable
        Takes an (m, d) int64 array of records, in units of the data, and returns m whole numbers,
        each depending on its own row alone. Over real numbers it must be continuous and
        monotone in every attribute, so that the ranges of a record give f the range between its
        values at two corners, without gaps.
    directions : tuple of int, optional
        +1 where f does not fall as the attribute grows, -1 where it does not rise. Without it,
        +1 for every attribute.
    name : str
        For reports.
    """

    function: Callable[[Ints], Any]
    directions: tuple[int, ...] = ()
    name: str = "function"

    def values(self, rows: Ints) -> Ints:
        """Values of records, shape (n,).

        Raises
        ------
        InputError
            If the function does not return one whole number below 2**61 for each row.
        """
        return _whole_values(self.function(rows.copy()), len(rows), self.name)

    def ends(self, lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
        """Smallest and largest value of records known by ranges, each of shape (n,)."""
        rising = np.ones(lower.shape[1], bool)
        if self.directions:
            rising = np.array(self.directions) > 0
        return self.values(np.where(rising, lower, upper)), self.values(
            np.where(rising, upper, lower)
        )

    def check(self, rows: Ints) -> None:
        """Refuse directions that do not fit the data.

        Raises
        ------
        InputError
        """
        wrong = [s for s in self.directions if s not in {1, -1}]
        if wrong or (self.directions and len(self.directions) != rows.shape[1]):
            msg = (
                f"directions of {self.name} must be +1 or -1 for each of the {rows.shape[1]} "
                f"attributes, not {self.directions}"
            )
            raise InputError(msg)


@dataclass(frozen=True)
class Continuous:
    """A continuous function that moves either way, with its own bounds over ranges.

    Attributes
    ----------
    function : callable
        Takes an (m, d) int64 array of records, in units of the data, and returns m whole numbers,
        each depending on its own row alone. Over real numbers it must be continuous, so that it
        takes every value between two that it takes over the ranges of a record.
    bounds : callable
        Takes the lower and the upper ends of such records, two (m, d) int64 arrays, and returns
        the smallest and the largest whole value that the function takes over the ranges of each
        record. A number beyond what it takes would let records count as candidates that are none.
    name : str
        For reports.

    Notes
    -----
    A function that is monotone where the data lies is better given as `Monotone`: a ratio of
    positive attributes, ``Monotone(lambda rows: 1000 * rows[:, 0] // rows[:, 1], (1, -1))``, rises
    with one and falls with the other, and rounding down keeps every whole value between.
    """

    function: Callable[[Ints], Any]
    bounds: Callable[[Ints, Ints], Any]
    name: str = "function"

    def values(self, rows: Ints) -> Ints:
        """Values of records, shape (n,); see `Monotone.values`."""
        return _whole_values(self.function(rows.copy()), len(rows), self.name)

    def ends(self, lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
        """Smallest and largest value of records known by ranges, each of shape (n,)."""
        low, high = self.bounds(lower.copy(), upper.copy())
        return (
            _whole_values(low, len(lower), f"the lower bound of {self.name}"),
            _whole_values(high, len(lower), f"the upper bound of {self.name}"),
        )

    def check(self, rows: Ints) -> None:
        """Refuse data for which the function has no values.

        Raises
        ------
        InputError
        """
        self.values(rows)


RANGE = Continuous(range_of, range_ends, "range")
VARIANCE = Continuous(variance_of, variance_ends, "variance")

Aggregate = Linear | Monotone | Continuous


def _whole_values(returned: Any, n: int, name: str) -> Ints:
    given = np.asarray(returned)
    if given.shape != (n,) or given.dtype.kind not in "biufO":
        msg = (
            f"{name} must return one whole number for each of the {n} rows it is "
            f"given; it returned an array of shape {given.shape} and type {given.dtype}"
        )
        raise InputError(msg)
    if given.dtype.kind in "fO":
        wrong = [not _is_whole(v) for v in given.tolist()]
        if any(wrong):
            msg = f"row {wrong.index(True) + 1}: {name} did not return a whole number; scale it"
            raise InputError(msg)
    limit = 2**53 if given.dtype.kind == "f" else LARGEST
    found = [int(v) for v in given.tolist()] if given.dtype.kind == "O" else given
    if n and (max(found) >= limit or min(found) <= -limit):
        msg = f"{name} returned a number beyond {limit}; use a larger unit"
        raise InputError(msg)
    return np.asarray(found, np.int64)


def read_aggregates(
    f: Any, names: Sequence[str], diverse: Mapping[str, int] | None = None
) -> tuple[Aggregate, ...]:
    """Read which aggregates a caller names, the most important first; see `aggregate_anonymise`."""
    several = isinstance(f, (list, tuple)) and f and not all(_is_number(part) for part in f)
    found = tuple(_read(part, names) for part in (f if several else [f]))
    if diverse and len(found) > 1:
        msg = f"{argument('diverse')} is for one aggregate; f names {len(found)}"
        raise InputError(msg)
    return found


def read_tolerance(d: Any) -> Fraction:
    """Share of its size within which an aggregate is known, at least 0 and below 1."""
    share = exact(d)
    if not 0 <= share < 1:
        msg = f"{phrase('d', '--within')} must be at least 0 and below 1, not {d!r}"
        raise InputError(msg)
    return share


def reach(values: Ints, d: Fraction) -> Ints:
    """How far whole values may lie from each given one: the floor of d times its size."""
    size = np.abs(values)
    if int(size.max(initial=0)) * d.numerator < LARGEST:
        return size * d.numerator // d.denominator
    whole = [int(v) * d.numerator // d.denominator for v in size.tolist()]
    return np.array(whole, np.int64)


def _read(f: Any, names: Sequence[str]) -> Aggregate:
    count = len(names)
    if isinstance(f, (Monotone, Continuous)):
        return f
    if isinstance(f, str):
        if f == "sum":
            return Linear(f, (Fraction(1),) * count)
        if f == "average":
            return Linear(f, (Fraction(1, count),) * count)
        if f in ("range", "variance"):
            return RANGE if f == "range" else VARIANCE
    elif isinstance(f, Mapping):
        check_known("f", f, names)
        return _weighted([f.get(name, 0) for name in names])
    elif isinstance(f, (Sequence, np.ndarray)) and all(map(_is_number, f)):
        if len(f) != count:
            msg = f"f has {len(f)} weights for {count} attributes ({', '.join(names)})"
            raise InputError(msg)
        return _weighted(list(f))
    elif callable(f):
        return Monotone(f, name=str(getattr(f, "__name__", "function")))
    others = phrase(
        "'sum', 'average', 'range', 'variance', weights (by name or one an attribute), a function "
        "of an (m, d) array, or a list of several of these",
        "sum, average, range or variance",
    )
    msg = f"{phrase('f =', '--known')} {f!r} is not understood; give {others}"
    raise InputError(msg)


def _weighted(weights: Sequence[Any]) -> Linear:
    found = tuple(exact(w) for w in weights)
    if not any(found):
        msg = "every weight of f is 0; give at least one that is not"
        raise InputError(msg)
    return Linear("weighted sum", found)


def _is_number(part: Any) -> bool:
    if isinstance(part, (bool, Mapping)) or callable(part):
        return False
    try:
        exact(part)
    except InputError:
        return False
    return True


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, (int, np.integer))
