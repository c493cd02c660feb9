"""Concentration rules as one comparison: weights on the largest contributions against the total.

Dominance, the p% rule and the pq rule all call a cell sensitive exactly if
``w1*x1 + .. + wm*xm > T`` for its m largest contributions and weights that never rise. Clustering
under a rule asks this of millions of groups, so it is asked in whole numbers without a table.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import exact
from csp.rules import PQ, Dominance, MinFrequency, PPercent, Rule
from csp.rules.base import as_rule, parts_of
from microagg.records import Bools, Ints

__all__ = ["Form", "Forms", "forms_of", "largest_read", "strictest"]


@dataclass(frozen=True, slots=True)
class Form:
    """Sensitive if ``weights @ top > unit * total``, where weights never rise."""

    weights: tuple[int, ...]
    unit: int

    def sensitive(self, top: NDArray[Any], total: NDArray[Any]) -> Bools:
        """Whether cells are sensitive; top (..., m) descending, total (...)."""
        m = min(len(self.weights), top.shape[-1])
        strong = top[..., :m] @ np.array(self.weights[:m], dtype=top.dtype)
        return np.asarray(strong > self.unit * total)

    @property
    def smallest(self) -> int:
        """Least number of contributors with which a cell that is not empty can pass.

        Equal contributions are the safest: weights never rise, so by Chebyshev's sum inequality
        ``w @ x >= (w1 + .. + wt) * T / t`` for t contributors.
        """
        t = 1
        while sum(self.weights[:t]) > self.unit * t:
            t += 1
        return t


@dataclass(frozen=True, slots=True)
class Forms:
    """A rule that clustering can obey: concentration rules and a least number of records."""

    rule: Rule
    forms: tuple[Form, ...]
    frequency: int

    @property
    def least(self) -> int:
        """Least number of records with which a cell that is not empty can pass."""
        return max(self.frequency, *(form.smallest for form in self.forms), 1)

    @property
    def reads(self) -> int:
        """How many of the largest contributions the forms read."""
        return max((len(form.weights) for form in self.forms), default=1)

    def sensitive(self, top: NDArray[Any], total: NDArray[Any]) -> Bools:
        """Whether cells are sensitive to some form; top (..., m) descending, total (...)."""
        found = np.zeros(np.shape(total), dtype=bool)
        for form in self.forms:
            found |= form.sensitive(top, total)
        return found

    def check_range(self, contributions: Ints) -> None:
        """Refuse contributions whose comparison could overflow 64 bits."""
        total = float(np.abs(contributions.astype(np.float64)).sum(axis=0).max(initial=0.0))
        factor = max(
            (max(f.unit, *f.weights) * (len(f.weights) + 1) for f in self.forms), default=1
        )
        if total * factor > 2.0**62:
            msg = (
                "the sum of an attribute is too large to judge the rule in 64 bits; use fewer "
                f"decimals ({argument('decimals')}), a larger unit, or simpler "
                "parameters of the rule"
            )
            raise InputError(msg)


def forms_of(rule: Rule | str) -> Forms:
    """Write dominance, p%, pq and minimum frequency, or several, as forms; refuse others."""
    whole = as_rule(rule)
    forms, frequency = [], 1
    for part in parts_of(whole):
        if isinstance(part, MinFrequency):
            frequency = max(frequency, int(part.n))
            continue
        if isinstance(part, Dominance):
            ratio, others = 100 / exact(part.k), int(part.n) - 1
            form = _form(ratio, ratio, others)
        elif isinstance(part, PPercent):
            form = _form(1 + exact(part.p) / 100, Fraction(1), int(part.n))
        elif isinstance(part, PQ):
            form = _form(1 + exact(part.p) / exact(part.q), Fraction(1), int(part.n))
        else:
            msg = (
                f"{part} cannot steer a clustering, which needs dominance (NK), p% or pq rules (P) "
                "and minimum frequencies (FREQ); use "
                f"{argument('method', 'suppress', option='--comply suppress')} for it"
            )
            raise InputError(msg)
        forms.append(form)
    return Forms(whole, tuple(forms), frequency)


def largest_read(rule: Rule | str) -> int:
    """How many of the largest contributions a rule reads; five for a rule of the user's own."""
    found = 1
    for part in parts_of(rule):
        if isinstance(part, Dominance):
            found = max(found, int(part.n))
        elif isinstance(part, PPercent | PQ):
            found = max(found, int(part.n) + 1)
        elif not isinstance(part, MinFrequency):
            found = max(found, 5)
    return found


def strictest(rule: Rule) -> tuple[int, Rule]:
    """Least records with which a cell that is not empty can pass, and the part that asks for them.

    A rule of the user's own may do anything.
    """
    least = 1, rule
    for part in parts_of(rule):
        with suppress(InputError):
            least = max(least, (forms_of(part).least, part), key=lambda found: found[0])
    return least


def _form(first: Fraction, other: Fraction, others: int) -> Form:
    unit = int(np.lcm(first.denominator, other.denominator))
    return Form((int(first * unit), *(int(other * unit),) * others), unit)
