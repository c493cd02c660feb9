"""What one release gives away to an adversary who knows the publishing rule and a prior.

Support and posterior are two questions. The support asks which values are possible at all; the
posterior how probable they are. A rule that makes everything barely possible passes the first and
fails the second, so both are measured, beside the posterior of somebody who knows the release and
nothing of the rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks.bayes import Prior, PriorWeights, shortest_interval
from attacks.defences.asking import Asked
from attacks.defences.base import Publisher
from attacks.fibre import Fibre
from attacks.sampling import draw
from csp.clock import UNLIMITED, Clock
from csp.release import Release
from csp.table import Table

__all__ = ["MASS", "CellRisk", "Risk", "risk_of"]

MASS = 0.95
"""Posterior mass that an interval must hold."""

_BEFORE = "a release was measured"
_FEWEST = 30


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
    aware, naive : int
        Width of the shortest interval with 95 percent of the posterior, with knowledge of the
        rule and without.
    likeliest : float
        Posterior probability of its most probable value.
    primary, naive_primary : float
        Posterior probability that it is primary, with knowledge of the rule and without.
    """

    feasible: int
    support: int | None
    aware: int | None = None
    naive: int | None = None
    likeliest: float | None = None
    primary: float | None = None
    naive_primary: float | None = None


@dataclass(frozen=True, slots=True)
class Risk:
    """What is known of the primary cells of one release.

    Attributes
    ----------
    cells : tuple of CellRisk
    fibre : int or None
        Tables that fit; None if there are too many to count.
    effective : float or None
        Effective number of weighted draws, if tables were drawn.
    """

    cells: tuple[CellRisk, ...]
    fibre: int | None
    effective: float | None


def risk_of(
    rule: Publisher, asked: Asked, table: Table, pattern: NDArray[np.bool_], prior: Prior, *,
    limit: int = 20_000, draws: int = 1000, seed: int = 0, clock: Clock = UNLIMITED,
) -> Risk:  # fmt: skip
    """Measure one release.

    Parameters
    ----------
    rule : Publisher
    asked : Asked
        The mechanism, to be asked which cells are primary.
    table : Table
        The true one; adversaries see what `pattern` leaves of it.
    pattern : (n,) bool
    prior : callable
        See `attacks.bayes.posterior`.
    limit : int
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
    listed = size is not None and size <= limit
    if listed:
        found = np.vstack(list(fibre.blocks(time_limit=clock.seconds)))
    else:
        found = draw(fibre, draws, seed, time_limit=clock.seconds).tables
        clock.check(_BEFORE)
    tables = np.repeat(table.values[None], len(found), axis=0)
    tables[:, fibre.cells] = found
    logs = PriorWeights(table, fibre.cells, fibre.lower, fibre.upper, prior)(found)
    naive = np.exp(logs - logs.max())
    chance = rule.likelihood(pattern, tables, clock=clock)
    aware = naive * chance
    sensitive = asked.requirements(tables)[0][:, fibre.cells]
    primary = asked.requirements(table.values[None])[0][0]
    total = float(aware.sum())
    effective = None if listed else (total**2 / float((aware**2).sum()) if total else 0.0)
    if effective is not None and effective < _FEWEST:
        # Too few of the drawn tables are published like this to tell their distribution.
        spans = (fibre.upper - fibre.lower)[primary[fibre.cells]].tolist()
        return Risk(tuple(CellRisk(span, None) for span in spans), size, effective)
    cells = []
    for e in np.flatnonzero(primary[fibre.cells]).tolist():
        values, column = found[:, e], sensitive[:, e]
        possible = values[chance > 0]
        known, before = (_chances(values, weights) for weights in (aware, naive))
        cells.append(
            CellRisk(
                int(fibre.upper[e] - fibre.lower[e]),
                int(possible.max() - possible.min()) if listed else None,
                _width(*known),
                _width(*before),
                float(known[1].max()),
                float(aware[column].sum() / aware.sum()),
                float(naive[column].sum() / naive.sum()),
            )
        )
    return Risk(tuple(cells), size, effective)


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
