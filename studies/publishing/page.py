"""The page about publishing rules, from trials alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from cellveil.io.files import write_columns
from studies.matching.scenarios import WIDTH
from studies.pages import grid, machine, write_page, write_rows
from studies.publishing.combined_releases import SCHEDULES, SERIES_RATE, JointRisk
from studies.publishing.comparison import RuleSummary, rule_summaries, tidy_publishing
from studies.publishing.rules import KINDS
from studies.publishing.trials import PublishingTrial

_CURVE = "cost-of-safety.png"


def write_publishing(
    folder: Path, trials: Sequence[PublishingTrial], real: Sequence[PublishingTrial],
    joint: Sequence[JointRisk], *, command: str, plots: bool, width: int,
) -> None:  # fmt: skip
    """Write cells, summaries of the rules, page and curve.

    Parameters
    ----------
    folder : Path
    trials : sequence of PublishingTrial
        On drawn tables.
    real : sequence of PublishingTrial
        On tables of the user's own, whose cells are promised `width`.
    joint : sequence of JointRisk
        Releases that are combined.
    command : str
        What makes the same trials.
    plots : bool
    width : int
    """
    columns = tidy_publishing([*trials, *real])
    for ending in (".csv", ".parquet"):
        write_columns(folder / f"cells{ending}", columns)
    drawn, own = rule_summaries(trials, WIDTH), rule_summaries(real, width)
    write_rows(folder / "rule-summaries.csv", [asdict(one) for one in (*drawn, *own)])
    curve = plots and _draw(folder / _CURVE, drawn)
    write_page(folder / "defences.md", _lines(drawn, own, joint, command, width, curve=curve))


def _lines(
    drawn: Sequence[RuleSummary], own: Sequence[RuleSummary], joint: Sequence[JointRisk],
    command: str, width: int, *, curve: bool,
) -> Iterator[str]:  # fmt: skip
    yield "# Publishing rules and what they disclose"
    yield ""
    yield (
        "Tables drawn as by Minami and Abe (2019, Section 4.1), published by one rule after the "
        "other. The attacker knows the rule and the distribution of the tables; coins and keys "
        f"are secret. A primary cell is promised an interval of width {WIDTH}."
    )
    yield ""
    yield f"Made by `{command}`. {machine()}."
    yield ""
    yield from (f"* `{word}`: {words}" for word, (words, _, _) in KINDS.items())
    yield ""
    yield (
        "Columns: cells suppressed beyond the cheapest pattern in tables with primary cells (in "
        "brackets: in all tables), and the share of the value that they take; share of primary "
        "cells whose possible values span less than the width (support; where tables had to be "
        "drawn, for decoys alone, by their theorem); share whose shortest "
        "interval with 95 % of the posterior is narrower, with its standard error, and in "
        "brackets the same without knowledge of the rule; share with a "
        "value of at least half of the posterior; mean probability that a primary cell is one, "
        "with and without knowledge of the rule."
    )
    for group in dict.fromkeys(one.group for one in drawn):
        yield from _table(group, [one for one in drawn if one.group == group])
    if curve:
        yield ""
        yield f"![Cost of safety]({_CURVE})"
    if joint:
        yield from _joint(joint)
    if own:
        yield ""
        yield "## Real tables"
        yield ""
        yield (
            f"Promised width {width}; every consistent table is equally probable beforehand. Where "
            "more than 500 fit, 300 were drawn."
        )
        for group in dict.fromkeys(one.group for one in own):
            yield from _table(group, [one for one in own if one.group == group])


def _joint(joint: Sequence[JointRisk]) -> Iterator[str]:
    yield ""
    yield "## Releases that are combined"
    yield ""
    yield (
        f"Tables with 25 cells, decoys at rate {SERIES_RATE}. *again*: one table published several "
        "times. *over time*: every cell changes by at most 1 from period to period, and every "
        "attacker knows that. *overlapping*: two tables of the same people that share the margin "
        "of regions, which may be suppressed. Primary cells are counted in every release in which "
        "they are primary; unsafe: all releases together leave an interval narrower than "
        f"{WIDTH}."
    )
    yield ""
    header = ("releases", "schedule", "releases of a table", "suppressed in a release",
              "primary cells", "unsafe", "known exactly")  # fmt: skip
    yield from grid(
        header,
        (
            (one.kind, SCHEDULES[one.schedule], one.releases, f"{one.suppressed:.2f}",
             one.primary, one.unsafe, one.known)
            for one in joint
        ),
    )  # fmt: skip


def _table(group: str, rows: Sequence[RuleSummary]) -> Iterator[str]:
    first = rows[0]
    yield ""
    yield f"### {group} cells" if group[-1].isdigit() and " " in group else f"### {group}"
    yield ""
    cheapest = f"; the cheapest pattern has {first.plain:.2f} cells" if first.primary else ""
    yield (
        f"{first.tables} releases of `{first.rule}` with {first.primary} primary cells{cheapest} "
        "on average where there are any."
        if first.primary
        else f"{first.tables} releases of `{first.rule}` without primary cells."
    )
    yield ""
    header = (
        "rule", "releases", "extra cells (all tables)", "extra value", "support-unsafe",
        "posterior-unsafe (without rule)", "value named", "primary named (without rule)",
    )  # fmt: skip
    yield from grid(header, ([*_row(one)] for one in rows))


def _row(one: RuleSummary) -> Iterator[str]:
    yield f"`{one.rule}`"
    # Tables that the rule cannot publish at all are no small matter.
    yield f"{one.tables}" + (f", {one.unprotectable} not published" if one.unprotectable else "")
    if not one.tables:
        yield from ("", "", "", "", "", "")
        return
    yield f"{one.extra:+.2f} ({one.extra_all:+.2f})" if one.primary else f"({one.extra_all:+.2f})"
    yield f"{100 * one.extra_value:+.1f} %" if one.primary else ""
    yield _share(one.support_unsafe)
    if math.isnan(one.posterior_unsafe):
        yield from ("", "", "")
        return
    error = "" if math.isnan(one.error) else f" ± {one.error:.3f}"
    lacking = f", {one.missing} cells unknown" if one.missing else ""
    yield f"{one.posterior_unsafe:.3f}{error} ({one.unsafe_without_rule:.3f}){lacking}"
    yield _share(one.named)
    yield f"{one.sensitive:.2f} ({one.sensitive_without_rule:.2f})"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _draw(path: Path, found: Sequence[RuleSummary]) -> bool:
    """Draw the posterior against the cost, one line per family; False without matplotlib."""
    from studies.figures import Panel, can_draw, draw

    known = [one for one in found if not math.isnan(one.posterior_unsafe)]
    if not can_draw() or not known:
        return False
    panels = []
    for group in dict.fromkeys(one.group for one in known):
        rows = [one for one in known if one.group == group]
        families: dict[str, list[RuleSummary]] = {}
        for one in rows:
            families.setdefault(one.rule.partition(":")[0], []).append(one)
        series = {
            word: (
                [one.extra for one in sorted(members, key=lambda m: m.extra)],
                [one.posterior_unsafe for one in sorted(members, key=lambda m: m.extra)],
            )
            for word, members in families.items()
        }
        title = f"{group} cells"
        panels.append(Panel(title, "extra suppressed cells", "posterior-unsafe", series, top=1.0))
    draw(path, panels)
    return True
