"""Experiments: many tables published by one rule after the other, each release measured.

The attacker knows the rule and the prior from which the tables were drawn; only coins and keys
are secret. True tables are known here, so that their primary cells can be followed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.matching_attack import matching
from attacks.bayes.priors import Prior, normal_counts
from attacks.bayes.risk import CellRisk, Risk, risk_of
from csp.clock import UNLIMITED, Clock
from csp.decoys.decoys import Decoys
from csp.errors import InputError
from csp.mechanism import Mechanism
from csp.release.release import Release
from csp.tables.table import Table
from studies.matching.scenarios import DEVIATION, MEAN, SCENARIOS, draw_table
from studies.publishing.pattern_table import PatternTable
from studies.publishing.rules import PublishingRule, publishing_rule
from studies.stored_trials import load_records, run_missing

_VERSION = "publishing 1"
"""Another number wherever the same arguments of `publishing_trial` give another trial."""
_SMALL, _LISTED, _LISTED_BEYOND, _DRAWN = 4, 3000, 500, 300


@dataclass(frozen=True, slots=True)
class PublishingTrial:
    """One table published by one rule.

    Attributes
    ----------
    rule : str
        Name as `studies.publishing.rules.publishing_rule` takes it.
    table : str
        Name of the table; of the experiments: scenario, side, number, seed.
    group : str
        Tables that are reported together.
    coin : int
        Number of the draw of coins.
    outcome : {"published", "no primary", "unprotectable"}
    suppressed, plain : int
        Suppressed cells, and those of the cheapest safe pattern.
    value, plain_value : float
        Share of the sum of all cells that may be suppressed which these hide.
    cells : tuple of CellRisk
        Primary cells.
    fibre : int or None
        Consistent tables, if they were counted.
    effective : float or None
        Effective number of weighted draws, if tables were drawn.
    seconds : float
        CPU seconds.
    """

    rule: str
    table: str
    group: str
    coin: int
    outcome: str
    suppressed: int = 0
    plain: int = 0
    value: float = 0.0
    plain_value: float = 0.0
    cells: tuple[CellRisk, ...] = ()
    fibre: int | None = None
    effective: float | None = None
    seconds: float = 0.0


def try_on(
    one: PublishingRule, mechanism: Mechanism, table: Table, *, name: str, group: str, prior: Prior,
    coin: int = 0, posterior: bool = True, limit: int = 20_000, draws: int = 1000,
    clock: Clock = UNLIMITED,
) -> PublishingTrial:  # fmt: skip
    """Publish a table by a rule and measure what that discloses.

    Parameters
    ----------
    one : PublishingRule
    mechanism : Mechanism
        Without a defence.
    table : Table
        Of a small structure.
    name, group : str
        For the record.
    prior : callable
        See `attacks.posterior`.
    coin : int
        Number of the draw of coins; another number, other coins.
    posterior : bool
        Whether to compute posteriors; if not, only supports, by the matching attack.
    limit, draws : int
        See `attacks.bayes.risk.risk_of`.
    clock : Clock

    Returns
    -------
    PublishingTrial

    Raises
    ------
    OutOfTime
        If the time runs out first.
    """
    began = time.process_time()
    clock.check("a table was published and measured")
    rules = PatternTable(mechanism, table)
    base, safe = rules.patterns_of(table.values[None])
    if not safe[0]:
        return PublishingTrial(one.name, name, group, coin, "unprotectable")
    rule = one.build(mechanism, table)
    rng = np.random.default_rng([coin, *name.encode()])
    pattern = rule.publish(table.values, rng)
    if pattern is None:
        return PublishingTrial(one.name, name, group, coin, "unprotectable")
    # Only cells with a secret are followed, but every table costs.
    primary = rules.requirements(table.values[None])[0][0]
    outcome = "published" if primary.any() else "no primary"
    found = Risk((), None, None)
    if primary.any() and posterior:
        found = risk_of(
            rule,
            rules,
            table,
            pattern,
            prior,
            max_tables=limit,
            draws=draws,
            seed=coin,
            clock=clock,
        )
        if one.decoys is not None:
            # By the theorem of decoys; drawn tables and drawn coins would not show it.
            full = tuple(replace(cell, support=cell.feasible) for cell in found.cells)
            found = replace(found, cells=full)
    elif primary.any():
        found = _supports(one.decoys, mechanism, table, pattern, primary)
    return PublishingTrial(
        one.name, name, group, coin, outcome, int(pattern.sum()), int(base[0].sum()),
        _share(table, rules.free, pattern), _share(table, rules.free, base[0]),
        found.cells, found.fibre, found.effective, time.process_time() - began,
    )  # fmt: skip


def _supports(
    decoys: Decoys | None, mechanism: Mechanism, table: Table, pattern: NDArray[np.bool_],
    primary: NDArray[np.bool_],
) -> Risk:  # fmt: skip
    """Widths of supports alone, by the matching attack (which plain patterns and decoys have)."""
    found = matching(Release.of(table, pattern), replace(mechanism, defence=decoys))
    cells = np.flatnonzero(primary[found.cells]).tolist()
    feasible = found.feasible_upper - found.feasible_lower
    return Risk(tuple(CellRisk(int(feasible[e]), int(found.width[e])) for e in cells), None, None)


def _share(table: Table, free: NDArray[np.bool_], pattern: NDArray[np.bool_]) -> float:
    sizes = np.abs(table.values).astype(np.float64)
    return float(sizes[pattern].sum() / max(1.0, sizes[free].sum()))


def publishing_trial(
    rule: str, scenario: str, side: int, index: int, seed: int, coin: int, *,
    posterior: bool = True,
) -> PublishingTrial:  # fmt: skip
    """One table of the experiments of Minami and Abe (2019) under one rule.

    Parameters
    ----------
    rule : str
        See `studies.publishing.rules.publishing_rule`.
    scenario, side, index, seed
        See `studies.matching.scenarios.draw_table`.
    coin : int
    posterior : bool
        Whether to compute posteriors.

    Raises
    ------
    InputError
        For unknown rules and scenarios.
    """
    if scenario not in SCENARIOS:
        msg = f"scenario {scenario!r} is not one of {', '.join(SCENARIOS)}"
        raise InputError(msg)
    setup = SCENARIOS[scenario]
    return try_on(
        publishing_rule(rule), setup.mechanism, draw_table(setup, side, index, seed),
        name=_name(scenario, side, index, seed), group=f"{scenario} {side * side}",
        prior=normal_counts(MEAN, DEVIATION), coin=coin, posterior=posterior,
        limit=_LISTED if side <= _SMALL else _LISTED_BEYOND, draws=_DRAWN,
    )  # fmt: skip


def _name(scenario: str, side: int, index: int, seed: int) -> str:
    return f"{scenario} {side} {index} {seed}"


def run_publishing_trials(
    store: Path, *, rules: Sequence[str], scenarios: Sequence[str], sides: Sequence[int],
    tables: int, coins: int = 1, seed: int = 0, posterior_up_to: int = 5, jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[PublishingTrial]:  # fmt: skip
    """Run the trials that a file does not hold yet, and add them to it.

    Parameters
    ----------
    store : Path
        One trial a line (JSON), written as soon as it is there.
    rules, scenarios : sequence of str
    sides : sequence of int
    tables : int
        For each scenario and side.
    coins : int
        Draws of coins for each table, of rules that have any.
    seed : int
    posterior_up_to : int
        Side up to which posteriors are computed; beyond, only supports, and only for plain
        patterns and decoys.
    jobs : int
        Processes.
    progress : callable, optional
        Called with trials done and trials wanted.

    Returns
    -------
    list of PublishingTrial
        All that were asked for, in order.

    Raises
    ------
    InputError
        For numbers out of range, unknown names, a file that holds something else, and one that
        another process writes.
    """
    for name, number in (("tables", tables), ("coins", coins)):
        if number < 1:
            msg = f"{name} must be at least 1, got {number}"
            raise InputError(msg)
    wanted = [
        {
            "rule": one.name, "scenario": scenario, "side": side, "index": index, "seed": seed,
            "coin": coin, "posterior": side <= posterior_up_to,
        }
        for scenario in scenarios
        for side in sides
        for one in map(publishing_rule, rules)
        if side <= posterior_up_to or one.decoys is not None or one.name == "plain"
        for index in range(tables)
        for coin in range(coins if one.randomised else 1)
    ]  # fmt: skip
    return run_missing(
        store, wanted, publishing_trial, _trial_of, version=_VERSION, jobs=jobs, progress=progress
    )


def load_publishing_trials(store: Path) -> list[PublishingTrial]:
    """Read trials from a file; see `studies.stored_trials.load_records`."""
    return load_records(store, _trial_of, _VERSION)


def _trial_of(facts: dict[str, Any]) -> PublishingTrial:
    cells = tuple(CellRisk(**cell) for cell in facts.pop("cells"))
    return PublishingTrial(**facts, cells=cells)
