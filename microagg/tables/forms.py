"""Rules that clustering can obey.

Clustering under a rule asks it of millions of groups, so it is asked in whole numbers without a
table (`csp.rules.concentration.Form`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.rules import MinFrequency, Rule
from csp.rules.base import as_rule, parts_of
from csp.rules.concentration import Concentration, Form


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
        return max((form.reads for form in self.forms), default=1)

    def sensitive(self, top: NDArray[Any], total: NDArray[Any]) -> Bools:
        """Whether cells are sensitive to some form; top (..., m) descending, total (...)."""
        found = np.zeros(np.shape(total), dtype=bool)
        for form in self.forms:
            found |= form.strong(top) > form.unit * total
        return found

    def check_range(self, contributions: Ints) -> None:
        """Refuse contributions whose comparison could overflow 64 bits."""
        total = float(np.abs(contributions.astype(np.float64)).sum(axis=0).max(initial=0.0))
        factor = max(
            (max(form.unit, form.first) * (form.reads + 1) for form in self.forms), default=1
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
        if not isinstance(part, Concentration):
            msg = (
                f"{part} cannot steer a clustering, which needs dominance (NK), p% or pq rules (P) "
                "and minimum frequencies (FREQ); use "
                f"{argument('method', 'suppress', option='--comply suppress')} for it"
            )
            raise InputError(msg)
        forms.append(part.form)
    return Forms(whole, tuple(forms), frequency)


def largest_read(rule: Rule | str) -> int:
    """How many of the largest contributions a rule reads; five for a rule of the user's own."""
    found = 1
    for part in parts_of(rule):
        if isinstance(part, Concentration):
            found = max(found, part.form.reads)
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
