"""Concentration rules: who can estimate a contribution from a published total.

Dominance, the p% rule and the pq rule all call a cell sensitive exactly if
``w1*x1 + .. + wm*xm > T`` for its m largest contributions and weights that never rise (`Form`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, NoContributors, phrase
from csp.exact import Ints, Number, exact, number_text
from csp.rules.base import Rule, percent_text, set_parameter, sides_of
from csp.rules.sensitivity import Sensitivity
from csp.rules.words import Word
from csp.tables.table import Table


@dataclass(frozen=True, slots=True)
class Form:
    """Sensitive if ``first*x1 + other*(x2+..+xm) > unit*T``, where first >= other >= unit.

    Attributes
    ----------
    first, other : int
        Weights of the largest contribution and of those after it.
    reads : int
        How many of the largest contributions have a weight: m.
    unit : int
    """

    first: int
    other: int
    reads: int
    unit: int

    @classmethod
    def of(cls, first: Fraction, other: Fraction, reads: int) -> Form:
        """Return the form with these weights in a unit of 1."""
        unit = lcm(first.denominator, other.denominator)
        return cls(int(first * unit), int(other * unit), reads, unit)

    @property
    def weights(self) -> tuple[int, ...]:
        """Weights of all contributions that have one."""
        return (self.first, *(self.other,) * (self.reads - 1))

    def strong(self, top: NDArray[Any]) -> NDArray[Any]:
        """Left side, shape (...), for top (..., k) descending."""
        weights = np.full(min(self.reads, top.shape[-1]), self.other, dtype=top.dtype)
        weights[:1] = self.first
        return np.asarray(top[..., : len(weights)] @ weights)

    @property
    def smallest(self) -> int:
        """Least number of contributors with which a cell that is not empty can pass.

        Equal contributions are the safest: weights never rise, so by Chebyshev's sum inequality
        ``w @ x >= (w1 + .. + wt) * T / t`` for t contributors. No weight is below the unit, so
        they pass either whatever their number, or only where all weights have a contributor.
        """
        if self.first <= self.unit:
            return 1
        return -(-(self.first + self.other * (self.reads - 1)) // self.unit)


class Concentration(Rule):
    """A rule that has a form; the upper level is the difference of its sides over the unit."""

    __slots__ = ()

    @property
    @abstractmethod
    def form(self) -> Form:
        """Weights of the largest contributions that it reads."""

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the table has no contributors, or fewer of the largest are known than are read.
        """
        form, needed = self.form, self.form.reads
        if table.contributors is None:
            msg = f"{self} needs the largest contributions of each cell; " + phrase(
                f"tabulate microdata with a value and top={needed}, or give the table "
                "contributors=",
                "give the records, with --value and --contributor, or the columns of --top",
            )
            raise NoContributors(msg)
        found = []
        for side in sides_of(table.contributors):
            if side.top.shape[1] < needed:
                msg = (
                    f"{self} needs the {needed} largest contributions of each cell and the table "
                    f"holds {side.top.shape[1]}; "
                    + phrase(f"tabulate with top={needed}", f"name {needed} columns with --top")
                )
                raise InputError(msg)
            largest = max((int(abs(a).max()) for a in (side.total, side.top) if a.size), default=0)
            # A type in which the comparison cannot overflow.
            most = max(largest, 1) * (form.first + form.other * form.reads + form.unit)
            kind = np.int64 if most < 2**62 else object
            difference = form.strong(side.top.astype(kind)) - form.unit * side.total.astype(kind)
            mask = np.asarray(difference > 0, dtype=bool)
            level = -(-difference // form.unit)
            if side.shadow:
                level = _carried(table, difference, form.unit, side.total)
            found.append(Sensitivity.of(table, mask, level=level))
        return reduce(or_, found)


def _carried(table: Table, difference: NDArray[Any], unit: int, total: Ints) -> NDArray[Any]:
    """Levels of a shadow variable as the same shares of the cells, rounded up, at least a unit."""
    size, whole = np.abs(table.values).astype(object), np.maximum(total, 1).astype(object)
    level: NDArray[Any] = np.maximum(1, -(-difference.astype(object) * size // (unit * whole)))
    return level


@dataclass(frozen=True, slots=True, repr=False)
class Dominance(Concentration):
    """The n largest contributors have more than k percent of the total.

    Equation 1 of Torra and Navarro-Arribas (2023).

    Sensitive if ``100*(x1+..+xn) > k*T``; the upper level is ``100*(x1+..+xn)/k - T``.

    Attributes
    ----------
    n : int
    k : Number
        Percent, above 0 and at most 100.
    """

    n: Number
    k: Number

    word = Word("NK(n,k)", percent=(1,), holding=2)

    def __post_init__(self) -> None:
        set_parameter(self, "n", whole=True)
        set_parameter(self, "k", most=100, percent=True)

    @property
    def form(self) -> Form:
        """Each of the n largest with 100/k."""
        return Form.of(100 / exact(self.k), 100 / exact(self.k), int(self.n))

    def __str__(self) -> str:
        k = percent_text(self.k)
        # Fewer percent than contributors would be read as the two in the wrong order.
        return f"NK({self.n},{k}%)" if 1 <= exact(self.k) < exact(self.n) else f"NK({self.n},{k})"


@dataclass(frozen=True, slots=True, repr=False)
class PPercent(Concentration):
    """Some contributors can estimate the largest within p percent.

    Equation 2 of Torra and Navarro-Arribas (2023).

    Sensitive if ``T - x1 - (x2+..+x[n+1]) < p/100 * x1``; the upper level is the difference.

    Attributes
    ----------
    p : Number
        Percent, above 0.
    n : int
        How many contributors pool what they know.
    """

    p: Number
    n: Number = 1

    word = Word("P(p,n)", optional=1, percent=(0,), zeros=(0,), holding=2)

    def __post_init__(self) -> None:
        set_parameter(self, "p", percent=True)
        set_parameter(self, "n", whole=True)

    @property
    def form(self) -> Form:
        """The largest with 1 + p/100, n others as they are."""
        return Form.of(1 + exact(self.p) / 100, Fraction(1), int(self.n) + 1)

    def __str__(self) -> str:
        return f"P({percent_text(self.p)},{self.n})"


@dataclass(frozen=True, slots=True, repr=False)
class PQ(Concentration):
    """The p percent rule when outsiders already know each contribution within q percent.

    Sensitive if ``(T - x1 - (x2+..+x[n+1])) * q < p * x1``; the upper level is
    ``p/q * x1 - (T - x1 - ..)``.

    Attributes
    ----------
    p, q : Number
        Percent, ``0 < p < q <= 100``.
    n : int
        How many contributors pool what they know.
    """

    p: Number
    q: Number
    n: Number = 1

    word = Word("P(p,q,n)", percent=(0, 1), zeros=(0,), holding=2)

    def __post_init__(self) -> None:
        set_parameter(self, "p", percent=True)
        set_parameter(self, "q", most=100)
        set_parameter(self, "n", whole=True)
        if exact(self.p) >= exact(self.q):
            msg = f"PQ needs p < q, got p={number_text(self.p)}, q={number_text(self.q)}"
            raise InputError(msg)

    @property
    def form(self) -> Form:
        """The largest with 1 + p/q, n others as they are."""
        return Form.of(1 + exact(self.p) / exact(self.q), Fraction(1), int(self.n) + 1)

    def __str__(self) -> str:
        return f"P({percent_text(self.p)},{percent_text(self.q)},{self.n})"
