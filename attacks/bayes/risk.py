"""What one release discloses to an attacker who knows the publishing rule and a prior.

Support and posterior are two questions. The support asks which values are possible at all; the
posterior how probable they are. A rule that makes everything barely possible passes the first and
fails the second, so both are measured, beside the posterior of an attacker who knows the release
but not the rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attacks.bayes.posterior import ValueWeights, shortest_interval
from attacks.bayes.priors import Prior, PriorWeights
from attacks.bayes.rule_table import RuleTable
from attacks.fibre.consistent_tables import Fibre
from attacks.fibre.samples import draw
from csp.clock import UNLIMITED, Clock
from csp.exact import Bools, Floats, Ints
from csp.release.release import Release
from csp.tables.table import Table

MASS = 0.95
"""Posterior mass that an interval must hold."""

_BEFORE = "a release was measured"
_FEWEST = 30


class HasLikelihood(Protocol):
    """A publishing rule whose probabilities are known, such as `attacks.bayes.decoys.DecoyRule`."""

    def likelihood(self, pattern: Bools, values: Ints, *, clock: Clock = UNLIMITED) -> Floats:
        """Probability, up to a common factor, that each of many whole tables has this pattern."""
        ...


@dataclass(frozen=True, slots=True)
class CellRisk:
    """What is known of one primary cell, with knowledge of the rule and without.

    A posterior is None where none was asked for, or drawn tables are worth fewer than 30
    independent ones. The support is None where tables were drawn, since draws miss rare ones.
    """

    feasible: int  # width of its feasibility interval
    support: int | None  # width of the hull of its possible values
    with_rule: int | None = None  # width of the shortest interval with 95 percent of the posterior
    without_rule: int | None = None
    max_posterior: float | None = None  # probability of its most probable value, with the rule
    primary: float | None = None  # posterior probability that it is primary
    primary_without_rule: float | None = None


@dataclass(frozen=True, slots=True)
class Risk:
    """What is known of the primary cells of one release."""

    cells: tuple[CellRisk, ...]
    fibre: int | None  # consistent tables; None if there are too many to count
    effective: float | None  # effective number of weighted draws, if tables were drawn


def risk_of(
    rule: HasLikelihood, rules: RuleTable, table: Table, pattern: Bools, prior: Prior, *,
    max_tables: int = 20_000, draws: int = 1000, seed: int = 0, clock: Clock = UNLIMITED,
) -> Risk:  # fmt: skip
    """Measure one release: what attackers see of the true table under a pattern.

    `rules` tell which cells are primary. Beyond `max_tables` consistent tables, some are drawn.

    Raises
    ------
    OutOfTime
        If the time runs out first.
    """
    fibre = Fibre(Release.of(table, pattern), table, time_limit=clock.seconds)
    size = fibre.count(time_limit=clock.seconds)
    clock.check(_BEFORE)
    listed = size is not None and size <= max_tables
    if listed:
        found = np.vstack(list(fibre.blocks(time_limit=clock.seconds)))
    else:
        found = draw(fibre, draws, seed, time_limit=clock.seconds).tables
        clock.check(_BEFORE)
    tables = np.repeat(table.values[None], len(found), axis=0)
    tables[:, fibre.cells] = found
    logs = PriorWeights(table, fibre.cells, fibre.lower, fibre.upper, prior)(found)
    chance = rule.likelihood(pattern, tables, clock=clock)
    sensitive = rules.requirements(tables)[0][:, fibre.cells]
    known, before = (ValueWeights(fibre.lower, fibre.upper) for _ in range(2))
    with np.errstate(divide="ignore"):
        known.add(found, logs + np.log(chance), sensitive)
    before.add(found, logs, sensitive)
    effective = None if listed else known.effective
    primary = rules.requirements(table.values[None])[0][0]
    places = np.flatnonzero(primary[fibre.cells]).tolist()
    spans = (fibre.upper - fibre.lower).tolist()
    if not places or (effective is not None and effective < _FEWEST):
        # Too few of the drawn tables are published like this to tell their distribution.
        return Risk(tuple(CellRisk(spans[e], None) for e in places), size, effective)
    possible = found[chance > 0]
    with_rule, without_rule = known.shares(), before.shares()
    is_primary, was_primary = known.sensitive(), before.sensitive()
    cells = [
        CellRisk(
            spans[e], int(np.ptp(possible[:, e])) if listed else None, _width(with_rule[e]),
            _width(without_rule[e]), float(with_rule[e].max()), float(is_primary[e]),
            float(was_primary[e]),
        )
        for e in places
    ]  # fmt: skip
    return Risk(tuple(cells), size, effective)


def unsafe_shares(cells: Sequence[CellRisk], width: int) -> tuple[float, float]:
    """Share of cells with 95 percent of the posterior in an interval narrower than a width.

    With the rule and without; NaN if no cell has a posterior. Cells without one are left out.
    """
    known = [cell for cell in cells if cell.with_rule is not None]
    if not known:
        return math.nan, math.nan
    narrow = sum(cell.with_rule < width for cell in known if cell.with_rule is not None)
    before = sum(cell.without_rule < width for cell in known if cell.without_rule is not None)
    return narrow / len(known), before / len(known)


def _width(chance: Floats) -> int:
    low, high = shortest_interval(np.arange(len(chance)), chance, MASS)
    return high - low
