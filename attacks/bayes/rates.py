"""The smallest rate of decoys that reaches a target for the posterior on given tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.bayes.decoys import DecoyRule
from attacks.bayes.priors import Prior, uniform
from attacks.bayes.risk import CellRisk, risk_of, unsafe_shares
from attacks.bayes.rule_table import RuleTable
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Number
from csp.mechanism import Mechanism
from csp.names.calls import expect, whole_number
from csp.tables.table import Table

RATES: tuple[Number, ...] = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.5")
"""Few and round: the rate that is chosen discloses little about the table it was chosen for."""


@dataclass(frozen=True, slots=True)
class RatePoint:
    """What one rate costs and reaches, on average over keys.

    Attributes
    ----------
    rate : Number
    extra : float
        Cells suppressed beyond the cheapest pattern.
    posterior_unsafe : float
        Share of primary cells whose shortest interval with 95 percent of the posterior is narrower
        than the width; NaN if there are no primary cells.
    unsafe_without_rule : float
        The same for an attacker who does not know the rule: no defence does better.
    releases : int
        Releases that were measured, those without primary cells among them.
    """

    rate: Number
    extra: float
    posterior_unsafe: float
    unsafe_without_rule: float
    releases: int


@dataclass(frozen=True, slots=True)
class RateChoice:
    """A rate with the curve that led to it.

    Attributes
    ----------
    rate : Number or None
        Smallest rate tried that reaches the target; None if none does.
    target : float
    curve : tuple of RatePoint
        Every rate tried, in increasing order, up to the chosen one.
    """

    rate: Number | None
    target: float
    curve: tuple[RatePoint, ...]


def choose_rate(
    mechanism: Mechanism,
    *tables: Table,
    target: float,
    rates: Sequence[Number] = RATES,
    keys: int = 8,
    prior: Prior = uniform,
    max_tables: int = 2000,
    draws: int = 500,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RateChoice:
    """Find the smallest rate that keeps the share of posterior-unsafe primary cells at a target.

    Parameters
    ----------
    mechanism : Mechanism
        With decoys; their rate and key are not used. One width for all primary cells.
    *tables : Table
        Small networks of counts of one structure or several: the table itself, or others like it.
        A published rate that was chosen for a table discloses something about that table; last
        year's table, or tables drawn from what is publicly known, disclose nothing.
    target : float
        Between 0 and 1: largest share, on average over keys, of primary cells whose shortest
        interval with 95 percent of the posterior is narrower than the width.
    rates : sequence of Number
        Tried in increasing order.
    keys : int
        Keys drawn for each table and rate.
    prior : callable
        See `attacks.posterior`.
    max_tables, draws : int
        See `attacks.bayes.risk.risk_of`.
    time_limit : float, optional
        Wall seconds.
    progress : callable, optional
        Called with releases measured and releases at most.

    Returns
    -------
    RateChoice

    Raises
    ------
    InputError
        If the mechanism has no decoys, or its primary cells need different widths; if a number is
        out of range; if a table is not a small network of counts.
    OutOfTime
        If the time limit passed before a rate was chosen or all were tried.

    Examples
    --------
    >>> from csp import Decoys, Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[2, 11, 20], [10, 12, 11], [14, 12, 9]])
    >>> mechanism = Mechanism(MinFrequency(5), width=8, margins="publish", defence=Decoys(0.1))
    >>> choice = choose_rate(mechanism, table, target=0.9, keys=2)
    >>> choice.rate, len(choice.curve)
    ('0.01', 1)
    """
    clock = Clock.of(time_limit)
    expect(mechanism, Mechanism, "mechanism")
    if mechanism.defence is None:
        msg = "the mechanism has no decoys; give Mechanism(..., defence=Decoys(0.1))"
        raise InputError(msg)
    if not tables or not rates:
        msg = f"choose_rate needs {'rates' if tables else 'a table'} to try"
        raise InputError(msg)
    if not 0 <= target < 1:
        msg = (
            f"target must be at least 0 and below 1, got {target!r}; 0.1 leaves one primary cell "
            "in ten unsafe"
        )
        raise InputError(msg)
    for name, number in (("keys", keys), ("draws", draws), ("max_tables", max_tables)):
        whole_number(name, number)
    widths = {mechanism.uniform_width(table) for table in tables}
    if len(widths) != 1 or None in widths:
        msg = "the tables need one width for all primary cells; give Mechanism(width=)"
        raise InputError(msg)
    width = widths.pop() or 0
    ordered = [replace(mechanism.defence, rate=rate).public for rate in rates]
    ordered.sort(key=lambda decoys: float(decoys.exact_rate))
    bare = replace(mechanism, defence=None)
    whole = len(ordered) * len(tables) * keys
    curve: list[RatePoint] = []
    done = 0
    for decoys in ordered:
        defended = replace(mechanism, defence=decoys)
        extra: list[int] = []
        cells: list[CellRisk] = []
        releases = 0
        for number, table in enumerate(tables):
            clock.check("a table was published and measured")
            rules = RuleTable(bare, table)
            cheapest, protectable = rules.patterns_of(table.values[None])
            rule = DecoyRule(defended, table) if protectable[0] else None
            has_primary = bool(rules.requirements(table.values[None])[0].any())
            for key in range(keys):
                pattern = None
                if rule is not None:
                    clock.check("a table was published and measured")
                    # Keys depend on their number and the table's, and on nothing else.
                    rng = np.random.default_rng([key, *str(number).encode()])
                    pattern = rule.publish(table.values, rng)
                if rule is not None and pattern is not None:
                    releases += 1
                    if has_primary:
                        extra.append(int(pattern.sum()) - int(cheapest[0].sum()))
                        cells += risk_of(
                            rule, rules, table, pattern, prior, max_tables=max_tables, draws=draws,
                            seed=key, clock=clock,
                        ).cells  # fmt: skip
                done += 1
                if progress is not None:
                    progress(done, whole)
        unsafe, before = unsafe_shares(cells, width)
        mean = math.fsum(extra) / len(extra) if extra else math.nan
        curve.append(RatePoint(decoys.rate, mean, unsafe, before, releases))
        if math.isnan(unsafe) or unsafe <= target:
            return RateChoice(decoys.rate, target, tuple(curve))
    return RateChoice(None, target, tuple(curve))
