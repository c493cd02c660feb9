"""Insiders who lie: which reports get a cell published, and what rules leave them to err by.

Internal attackers "could craft special data values" (Torra and Navarro-Arribas 2023, section 2.2).
Insiders know what they reported, and subtract it from the published total: they err about the
largest other contribution x by the sum S of all further ones, whatever they report. What a lie can
change is whether the cell is published. With y1 >= y2 >= ... the reported contributions, none
negative, and at most n insiders:

* The p% rule for n others publishes only if the sum R of all but the n + 1 largest reports is at
  least p y1. The n + 1 largest are together at least x and the insiders' reports, so R <= S; and
  x <= y1. So S >= R >= p y1 >= p x: lies gain nothing. The same holds for the pq rule with p / q.
* (n + 1, k)-dominance publishes only if the n + 1 largest, D, are at most a share k of the total:
  S >= R >= (1 - k) / k D >= (1 - k) / k x.
* (1, k)-dominance leaves nothing even to one insider, who reports as much as x; nor does a least
  number of contributors.

The same holds for cluster means of microaggregated records, however crafted records have steered
the clusters: insiders with m records must err as a rule for m insiders says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from csp.errors import InputError
from csp.exact import MAX_VALUE, UNBOUNDED, exact
from csp.rules import PQ, Dominance, PPercent, Rule
from csp.rules.base import AnyOf, as_rule
from csp.tables.contributors import Contributors
from csp.tables.table import Table

__all__ = ["CraftedContribution", "crafted_contribution", "error_despite_lies"]

_KNOWN = 16
"""Largest contributions that a rule may look at; those that are not there are 0."""


def error_despite_lies(rule: Rule | str, insiders: int = 1) -> Fraction:
    """Least error of insiders about the largest other contribution, whatever they report.

    Parameters
    ----------
    rule : Rule or str
        That every published cell, or cluster mean, passes.
    insiders : int
        Contributors, or records, that lie together.

    Returns
    -------
    Fraction
        As a share of that contribution; 0 if the rule leaves them nothing to err by. For
        contributions that are not negative.

    Raises
    ------
    InputError
        If the number of insiders is not a whole number from 1 on.

    Notes
    -----
    The proof is at the head of `attacks.release_alone.crafted_contributions`.

    Examples
    --------
    >>> import attacks
    >>> str(attacks.error_despite_lies("P(10,1)")), str(attacks.error_despite_lies("NK(2,80)"))
    ('1/10', '1/4')
    >>> str(attacks.error_despite_lies("NK(1,60)")), str(attacks.error_despite_lies("P(10,1)", 2))
    ('0', '0')
    """
    if isinstance(insiders, bool) or not isinstance(insiders, int) or insiders < 1:
        msg = f"insiders must be a whole number from 1 on, not {insiders!r}"
        raise InputError(msg)
    whole = as_rule(rule)
    found = Fraction(0)
    for part in whole.rules if isinstance(whole, AnyOf) else (whole,):
        if isinstance(part, PPercent) and int(part.n) >= insiders:
            found = max(found, exact(part.p) / 100)
        elif isinstance(part, PQ) and int(part.n) >= insiders:
            found = max(found, exact(part.p) / exact(part.q))
        elif isinstance(part, Dominance) and int(part.n) > insiders:
            found = max(found, 100 / exact(part.k) - 1)
    return found


@dataclass(frozen=True, slots=True, repr=False)
class CraftedContribution:
    """What one insider reaches by what it reports.

    Attributes
    ----------
    published : bool
        Whether the cell is published if the insider is honest.
    reports : tuple of (int, int or None)
        Ranges of reports with which it is published; None stands for no end.
    error : Fraction or None
        By how much the insider then errs about the largest other contribution, as a share of it.
        It is the same for all reports; None if there is nothing to err about.
    """

    published: bool
    reports: tuple[tuple[int, int | None], ...]
    error: Fraction | None

    def __repr__(self) -> str:
        honest = "published" if self.published else "not published"
        ways = "some lie" if self.gains else "no lie"
        return f"CraftedContribution({honest} if honest; {ways} gets it published)"

    @property
    def gains(self) -> bool:
        """Whether a lie gets the cell published that would not have been."""
        return bool(self.reports) and not self.published


def crafted_contribution(rule: Rule | str, others: Sequence[int], own: int) -> CraftedContribution:
    """Find every report of one insider with which a cell is published.

    Parameters
    ----------
    rule : Rule or str
        Dominance, p% and pq rules, and least numbers of contributors, also several.
    others : sequence of int
        Contributions of the others to the cell, not negative.
    own : int
        The insider's true contribution.

    Returns
    -------
    CraftedContribution
        For internal use: it holds the error, which tells a contribution.

    Raises
    ------
    InputError
        If a contribution is negative or not whole, or there is no other one.

    Notes
    -----
    Between two contributions of others a rule compares two quantities that are linear in the
    report, so that what passes it is a range that begins or ends there, and is found by halving.

    Examples
    --------
    A firm of 10 beside one of 100: the rule suppresses the cell. If the small one reports 80, it is
    published, and tells the large one exactly.

    >>> import attacks
    >>> found = attacks.crafted_contribution("NK(1,60)", [100], 10)
    >>> found.published, found.reports, found.error
    (False, ((67, 150),), Fraction(0, 1))
    """
    whole = as_rule(rule)
    given = [*others, own]
    if not others:
        msg = "there is no other contribution; give those of the others"
        raise InputError(msg)
    for amount in given:
        if isinstance(amount, bool) or int(amount) != amount or amount < 0:
            msg = "contributions must be whole numbers that are not negative"
            raise InputError(msg)
    known = [int(amount) for amount in others]
    parts = whole.rules if isinstance(whole, AnyOf) else (whole,)
    far = min(10**8 * (sum(known) + 1), MAX_VALUE // 2)
    breaks = sorted({0, *(a for a in known), *(a + 1 for a in known), far + 1})
    ranges: list[tuple[int, int]] = []
    for low, past in pairwise(breaks):
        found = (low, past - 1)
        for part in parts:
            found = _passing(part, known, *found)
        if found[0] > found[1]:
            continue
        if ranges and ranges[-1][1] + 1 == found[0]:
            found = (ranges.pop()[0], found[1])
        ranges.append(found)
    reports = tuple((low, None if high == far else high) for low, high in ranges)
    largest = max(known)
    error = Fraction(sum(known) - largest, largest) if largest else None
    return CraftedContribution(not _is_sensitive(whole, [*known, int(own)]), reports, error)


def _passing(rule: Rule, others: Sequence[int], low: int, high: int) -> tuple[int, int]:
    """Return the reports of a range that pass one rule; the first above the last if none does."""
    if low > high:
        return low, high
    first, last = (not _is_sensitive(rule, [*others, end]) for end in (low, high))
    if first == last:
        return (low, high) if first else (low, low - 1)
    inside, outside = (low, high) if first else (high, low)
    while abs(inside - outside) > 1:
        middle = (inside + outside) // 2
        if _is_sensitive(rule, [*others, middle]):
            outside = middle
        else:
            inside = middle
    return (low, inside) if first else (inside, high)


def _is_sensitive(rule: Rule, contributions: Sequence[int]) -> bool:
    """Judge one cell of these contributions."""
    from scipy.sparse import csr_array

    top = np.zeros((1, max(len(contributions), _KNOWN)), np.int64)
    top[0, : len(contributions)] = sorted(contributions, reverse=True)
    total = np.array([sum(contributions)])
    table = Table(
        total, csr_array((0, 1), dtype=np.int64), np.zeros(1, np.int64), np.array([UNBOUNDED]),
        [("cell",)], contributors=Contributors(np.array([len(contributions)]), total, top),
    )  # fmt: skip
    return bool(rule(table).primary[0])
