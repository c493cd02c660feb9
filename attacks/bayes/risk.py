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
from numpy.typing import NDArray

from attacks.bayes.posterior import shortest_interval
from attacks.bayes.priors import Prior, PriorWeights
from attacks.bayes.rule_table import RuleTable
from attacks.fibre.consistent_tables import Fibre
from attacks.fibre.samples import draw
from csp.clock import UNLIMITED, Clock
from csp.release.release import Release
from csp.tables.table import Table

__all__ = ["MASS", "CellRisk", "HasLikelihood", "Risk", "risk_of", "unsafe_shares"]

MASS = 0.95
"""Posterior mass that an interval must hold."""

_BEFORE = "a release was measured"
_FEWEST = 30


class HasLikelihood(Protocol):
    """A publishing rule whose probabilities are known, such as `attacks.bayes.decoys.DecoyRule`."""

    def likelihood(
        self,
        pattern: NDArray[np.bool_],
        values: NDArray[np.int64],
        *,
        clock: Clock = UNLIMITED,
    ) -> NDArray[np.float64]:
        """Probability, up to a common factor, that each of many tables has this pattern.

        Parameters
        ----------
        pattern : (n,) bool
        values : (t, n) int64
            Whole tables.
        clock : Clock

        Returns
        -------
        (t,) float64
        """
        ...


@dataclass(frozen=True, slots=True)
class CellRisk:
    """What is known of one primary cell.

    A posterior is None where none was asked for, or drawn tables are worth fewer than 30
    independent ones.

    Attributes
    ----------
    feasible : int
        Width of its feasibility interval.
    support : int or None
        Width of the hull of its possible values; None where tables were drawn, since draws miss
        rare ones.
    with_rule, without_rule : int or None
        Width of the shortest interval with 95 percent of the posterior, with knowledge of the
        rule and without.
    max_posterior : float or None
        Posterior probability of its most probable value.
    primary, primary_without_rule : float or None
        Posterior probability that it is primary, with knowledge of the rule and without.
    """

    feasible: int
    support: int | None
    with_rule: int | None = None
    without_rule: int | None = None
    max_posterior: float | None = None
    primary: float | None = None
    primary_without_rule: float | None = None


@dataclass(frozen=True, slots=True)
class Risk:
    """What is known of the primary cells of one release.

    Attributes
    ----------
    cells : tuple of CellRisk
    fibre : int or None
        Consistent tables; None if there are too many to count.
    effective : float or None
        Effective number of weighted draws, if tables were drawn.
    """

    cells: tuple[CellRisk, ...]
    fibre: int | None
    effective: float | None


def risk_of(
    rule: HasLikelihood, rules: RuleTable, table: Table, pattern: NDArray[np.bool_],
    prior: Prior, *, max_tables: int = 20_000, draws: int = 1000, seed: int = 0,
    clock: Clock = UNLIMITED,
) -> Risk:  # fmt: skip
    """Measure one release.

    Parameters
    ----------
    rule : HasLikelihood
    rules : RuleTable
        Tells which cells are primary.
    table : Table
        The true one; attackers see what `pattern` leaves of it.
    pattern : (n,) bool
    prior : callable
        See `attacks.posterior`.
    max_tables : int
        Tables to list at most; beyond, tables are drawn.
    draws, seed : int
    clock : Clock

    Returns
    -------
    Risk

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
    without = np.exp(logs - logs.max())
    chance = rule.likelihood(pattern, tables, clock=clock)
    given = without * chance
    sensitive = rules.requirements(tables)[0][:, fibre.cells]
    primary = rules.requirements(table.values[None])[0][0]
    total = float(given.sum())
    effective = None if listed else (total**2 / float((given**2).sum()) if total else 0.0)
    if effective is not None and effective < _FEWEST:
        # Too few of the drawn tables are published like this to tell their distribution.
        spans = (fibre.upper - fibre.lower)[primary[fibre.cells]].tolist()
        return Risk(tuple(CellRisk(span, None) for span in spans), size, effective)
    cells = []
    for e in np.flatnonzero(primary[fibre.cells]).tolist():
        values, column = found[:, e], sensitive[:, e]
        possible = values[chance > 0]
        known, before = (_chances(values, weights) for weights in (given, without))
        cells.append(
            CellRisk(
                int(fibre.upper[e] - fibre.lower[e]),
                int(possible.max() - possible.min()) if listed else None,
                _width(*known),
                _width(*before),
                float(known[1].max()),
                float(given[column].sum() / total),
                float(without[column].sum() / without.sum()),
            )
        )
    return Risk(tuple(cells), size, effective)


def unsafe_shares(cells: Sequence[CellRisk], width: int) -> tuple[float, float]:
    """Share of cells with 95 percent of the posterior in an interval narrower than a width.

    Parameters
    ----------
    cells : sequence of CellRisk
        Those without a posterior are left out.
    width : int

    Returns
    -------
    with_rule, without_rule : float
        NaN if no cell has a posterior.
    """
    known = [cell for cell in cells if cell.with_rule is not None]
    if not known:
        return math.nan, math.nan
    narrow = sum(cell.with_rule < width for cell in known if cell.with_rule is not None)
    before = sum(cell.without_rule < width for cell in known if cell.without_rule is not None)
    return narrow / len(known), before / len(known)


def _chances(
    values: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every value between the ends with its probability."""
    low = int(values.min())
    sums = np.bincount(values - low, weights)
    return low + np.arange(len(sums)), sums / sums.sum()


def _width(values: NDArray[np.int64], chance: NDArray[np.float64]) -> int:
    low, high = shortest_interval(values, chance, MASS)
    return high - low
