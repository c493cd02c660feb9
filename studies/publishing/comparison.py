"""Publishing rules side by side: what protection costs, and what is disclosed in spite of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacks.bayes.risk import CellRisk, unsafe_shares
from studies.matching.scenarios import WIDTH
from studies.publishing.trials import PublishingTrial

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """One rule over the tables of one group; NaN where nothing was measured.

    Attributes
    ----------
    rule, group : str
    tables : int
        Tables published, those without a primary cell among them.
    unprotectable : int
    plain : float
        Suppressed cells of the cheapest safe pattern of tables with primary cells, on average.
    extra, extra_value : float
        Cells suppressed beyond that in tables with primary cells; and the share of the value of
        cells that may be suppressed which they take.
    extra_all : float
        Cells suppressed beyond that in all tables: decoys suppress where there is no secret, too.
    primary : int
        Primary cells followed, in all releases.
    support_unsafe : float
        Share whose possible values lie closer together than the width promised, among those of
        which they are known.
    posterior_unsafe, unsafe_without_rule : float
        Share whose shortest interval with 95 percent of the posterior is narrower than that, with
        knowledge of the rule and without.
    error : float
        Standard error of `posterior_unsafe`, by tables.
    named : float
        Share of which one value has at least half of the posterior.
    sensitive, sensitive_without_rule : float
        Mean posterior probability of primary cells that they are primary, with and without.
    drawn : int
        Releases measured on drawn tables.
    missing : int
        Primary cells whose posterior is not known.
    """

    rule: str
    group: str
    tables: int
    unprotectable: int
    plain: float
    extra: float
    extra_value: float
    extra_all: float
    primary: int
    support_unsafe: float
    posterior_unsafe: float
    unsafe_without_rule: float
    error: float
    named: float
    sensitive: float
    sensitive_without_rule: float
    drawn: int
    missing: int


def rule_summaries(trials: Sequence[PublishingTrial], width: int = WIDTH) -> list[RuleSummary]:
    """Compare rules, group by group, in the order in which they occur.

    Parameters
    ----------
    trials : sequence of PublishingTrial
    width : int
        Promised to every primary cell, in units.
    """
    groups: dict[tuple[str, str], list[PublishingTrial]] = {}
    for one in trials:
        groups.setdefault((one.group, one.rule), []).append(one)
    return [_summary(rule, group, found, width) for (group, rule), found in groups.items()]


def _summary(rule: str, group: str, trials: Sequence[PublishingTrial], width: int) -> RuleSummary:
    out = [t for t in trials if t.outcome != "unprotectable"]
    secret = [t for t in out if t.outcome == "published"]
    cells = [cell for t in out for cell in t.cells]
    known = [cell for cell in cells if cell.with_rule is not None]
    unsafe, before = unsafe_shares(cells, width)
    return RuleSummary(
        rule, group, len(out), len(trials) - len(out),
        _mean(t.plain for t in secret),
        _mean(t.suppressed - t.plain for t in secret),
        _mean(t.value - t.plain_value for t in secret),
        _mean(t.suppressed - t.plain for t in out),
        len(cells),
        _mean(cell.support < width for cell in cells if cell.support is not None),
        unsafe,
        before,
        _error(out, lambda cell: _narrow(cell, width)),
        _mean((cell.max_posterior or 0.0) >= _HALF for cell in known),
        _mean(cell.primary or 0.0 for cell in known),
        _mean(cell.primary_without_rule or 0.0 for cell in known),
        sum(t.effective is not None for t in out),
        len(cells) - len(known),
    )  # fmt: skip


def _narrow(cell: CellRisk, width: int) -> bool:
    return cell.with_rule is not None and cell.with_rule < width


def _mean(numbers: Iterable[float]) -> float:
    found = list(numbers)
    return math.fsum(found) / len(found) if found else math.nan


def _error(trials: Sequence[PublishingTrial], narrow: Callable[[CellRisk], bool]) -> float:
    """Compute the standard error of a ratio of sums over tables: their cells hang together."""
    pairs = np.array(
        [[sum(map(narrow, t.cells)), len(t.cells)] for t in trials if t.cells], dtype=float
    ).reshape(-1, 2)
    n = len(pairs)
    if n < 2 or not pairs[:, 1].sum():
        return math.nan
    ratio = pairs[:, 0].sum() / pairs[:, 1].sum()
    rest = pairs[:, 0] - ratio * pairs[:, 1]
    return float(np.sqrt(n / (n - 1) * (rest**2).sum()) / pairs[:, 1].sum())


def tidy_publishing(trials: Sequence[PublishingTrial]) -> dict[str, list[Any]]:
    """Columns with one row per primary cell, and one for each release without any."""
    facts = ("rule", "group", "table", "coin", "outcome", "suppressed", "plain", "value",
             "plain_value", "fibre", "effective")  # fmt: skip
    measures = (
        "feasible",
        "support",
        "with_rule",
        "without_rule",
        "max_posterior",
        "primary",
        "primary_without_rule",
    )
    rows = [(t, cell) for t in trials for cell in (t.cells or (None,))]
    columns: dict[str, list[Any]] = {name: [getattr(t, name) for t, _ in rows] for name in facts}
    for name in measures:
        columns[name] = [None if cell is None else getattr(cell, name) for _, cell in rows]
    return columns
