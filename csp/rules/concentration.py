"""Concentration rules: who can estimate a contribution from a published total.

Each rule compares two exact quantities of a cell, ``ratio * strong`` and ``weak``; the cell is
sensitive where the first is larger, and the difference is the protection level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, NoContributors, phrase
from csp.exact import Number, exact, number_text
from csp.rules.base import Rule, percent_text, set_parameter, sides_of
from csp.rules.sensitivity import Sensitivity
from csp.tables.contributors import Contributors

if TYPE_CHECKING:
    from csp.tables.table import Table

__all__ = ["PQ", "Dominance", "PPercent"]


@dataclass(frozen=True, slots=True, repr=False)
class Dominance(Rule):
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

    def __post_init__(self) -> None:
        set_parameter(self, "n", whole=True)
        set_parameter(self, "k", most=100)

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the table has no contributors, or fewer than n of the largest are known.
        """
        n, ratio = int(self.n), 100 / exact(self.k)

        def excess(side: Contributors) -> tuple[NDArray[Any], int]:
            wide = _roomy(side, ratio)
            return _difference(wide(side.top)[:, :n].sum(axis=1), wide(side.total), ratio)

        return _either_side(table, self, n, excess)

    def __str__(self) -> str:
        k = percent_text(self.k)
        # Fewer percent than contributors would be read as the two in the wrong order.
        return f"NK({self.n},{k}%)" if 1 <= exact(self.k) < exact(self.n) else f"NK({self.n},{k})"


@dataclass(frozen=True, slots=True, repr=False)
class PPercent(Rule):
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

    def __post_init__(self) -> None:
        set_parameter(self, "p")
        set_parameter(self, "n", whole=True)

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the table has no contributors, or fewer than n + 1 of the largest are known.
        """
        return _ambiguity(table, self, int(self.n), exact(self.p) / 100)

    def __str__(self) -> str:
        return f"P({percent_text(self.p)},{self.n})"


@dataclass(frozen=True, slots=True, repr=False)
class PQ(Rule):
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

    def __post_init__(self) -> None:
        set_parameter(self, "p")
        set_parameter(self, "q", most=100)
        set_parameter(self, "n", whole=True)
        if exact(self.p) >= exact(self.q):
            msg = f"PQ needs p < q, got p={number_text(self.p)}, q={number_text(self.q)}"
            raise InputError(msg)

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the table has no contributors, or fewer than n + 1 of the largest are known.
        """
        return _ambiguity(table, self, int(self.n), exact(self.p) / exact(self.q))

    def __str__(self) -> str:
        return f"P({percent_text(self.p)},{percent_text(self.q)},{self.n})"


def _ambiguity(table: Table, rule: Rule, n: int, ratio: Fraction) -> Sensitivity:
    """Compare the largest contribution with what n others cannot subtract from the total."""

    def excess(side: Contributors) -> tuple[NDArray[Any], int]:
        wide = _roomy(side, ratio)
        top = wide(side.top)
        unknown = wide(side.total) - top[:, : n + 1].sum(axis=1)
        return _difference(top[:, 0], unknown, ratio)

    return _either_side(table, rule, n + 1, excess)


def _either_side(
    table: Table,
    rule: Rule,
    needed: int,
    excess: Callable[[Contributors], tuple[NDArray[Any], int]],
) -> Sensitivity:
    if table.contributors is None:
        msg = f"{rule} needs the largest contributions of each cell; " + phrase(
            f"tabulate microdata with a value and top={needed}, or give the table contributors=",
            "give the records, with --value and --contributor, or the columns of --top",
        )
        raise NoContributors(msg)
    found = []
    for side in sides_of(table.contributors):
        if side.top.shape[1] < needed:
            msg = (
                f"{rule} needs the {needed} largest contributions of each cell and the table "
                f"holds {side.top.shape[1]}; "
                + phrase(f"tabulate with top={needed}", f"name {needed} columns with --top")
            )
            raise InputError(msg)
        difference, unit = excess(side)
        mask = np.asarray(difference > 0, dtype=bool)
        found.append(Sensitivity.of(table, mask, level=-(-difference // unit)))
    first, *others = found
    for other in others:
        first = first | other
    return first


def _roomy(side: Contributors, ratio: Fraction) -> Callable[[NDArray[np.int64]], NDArray[Any]]:
    """Return a conversion to a type in which the comparison cannot overflow."""
    largest = max((int(abs(a).max()) for a in (side.total, side.top) if a.size), default=0)
    terms = (side.top.shape[1] + 2) * (ratio.numerator + ratio.denominator)
    kind = np.int64 if largest * terms < 2**62 else object
    return lambda array: array.astype(kind)


def _difference(
    strong: NDArray[Any], weak: NDArray[Any], ratio: Fraction
) -> tuple[NDArray[Any], int]:
    """``ratio * strong - weak`` as numerators over one positive denominator."""
    return strong * ratio.numerator - weak * ratio.denominator, ratio.denominator
