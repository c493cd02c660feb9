"""The command ``python -m studies publishing``: publishing rules side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cellveil.front import folder_for
from cellveil.render.screen import say
from studies.options import numbers_of, split

if TYPE_CHECKING:
    from csp.tables.table import Table
    from studies.publishing.trials import PublishingTrial

RULES = (
    "plain,uniform,exponential:2,widened:16,sequential,coins:0.05,coins:0.1,coins:0.2,"
    "keyed:0.05,keyed:0.1,keyed:0.2,decoys:0.02,decoys:0.05,decoys:0.1,decoys:0.2"
)
"""Rules compared unless others are asked for."""


def publishing(
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of all results.")
    ] = Path("defence-evaluation"),
    *,
    rules: Annotated[
        str, typer.Option("--rules", metavar="NAMES", help="Publishing rules; see --list.")
    ] = RULES,
    scenarios: Annotated[
        str, typer.Option(metavar="NAMES", help="Scenarios of Minami and Abe (2019).")
    ] = "plain",
    sides: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Rows and columns of drawn tables.")
    ] = "4,5,6,7",
    tables: Annotated[int, typer.Option(metavar="NUMBER", help="For each scenario and size.")] = 50,
    coins: Annotated[
        int, typer.Option(metavar="NUMBER", help="Draws of coins or keys for each table.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of tables and coins.")] = 0,
    posterior_up_to: Annotated[
        int,
        typer.Option(metavar="SIDE", help="Posteriors up to this size; beyond, supports alone."),
    ] = 5,
    table: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Table of counts, one row per cell; once for each."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="With --table: its dimensions.")
    ] = None,
    value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --table: its counts.")
    ] = None,
    threshold: Annotated[
        int, typer.Option(metavar="NUMBER", help="With --table: counts below it are sensitive.")
    ] = 3,
    series: Annotated[
        int, typer.Option(metavar="NUMBER", help="Tables to publish more than once; 0 for none.")
    ] = 20,
    jobs: Annotated[int, typer.Option(metavar="NUMBER", help="Processes; -1 for all cores.")] = 1,
    plots: Annotated[bool, typer.Option(help="Draw the curve (needs matplotlib).")] = True,
    show: Annotated[bool, typer.Option("--list", help="List publishing rules, run none.")] = False,
) -> None:
    """Compare what publishing rules cost, and what they disclose to an attacker who knows them.

    Only coins and keys are secret. An experiment that was ended goes on where it stopped. Writes
    trials.jsonl, cells (.csv, .parquet), rule-summaries.csv, defences.md and the curve.
    """
    from cellveil.render.progress import Bar
    from studies.publishing.combined_releases import joint_risks
    from studies.publishing.page import write_publishing
    from studies.publishing.rules import KINDS, publishing_rule
    from studies.publishing.trials import run_publishing_trials

    if show:
        for word, (words, parameter, _) in KINDS.items():
            typer.echo(f"{word}{f':{parameter.upper()}' if parameter else ''}: {words}")
        return
    names, sizes = split(rules), numbers_of(sides, "--sides")
    for name in names:
        publishing_rule(name)
    real = _real_tables(table or [], by, value)
    folder_for(out)
    with Bar("trials") as bar:
        trials = run_publishing_trials(
            out / "trials.jsonl", rules=names, scenarios=split(scenarios), sides=sizes,
            tables=tables, coins=coins, seed=seed, posterior_up_to=posterior_up_to, jobs=jobs,
            progress=bar,
        )  # fmt: skip
    joint = joint_risks(series, seed=seed) if series else []
    own = _on_real(names, real, threshold, coins)
    command = (
        f"python -m studies publishing --sides {sides} --tables {tables} --coins {coins} "
        f"--seed {seed} --posterior-up-to {posterior_up_to} --series {series}"
    )
    command += "" if scenarios == "plain" else f" --scenarios {scenarios}"
    command += "" if rules == RULES else f" --rules {rules}"
    for path in table or []:
        command += f" --table {path.name}"
    command += f" --by {by} --value {value} --threshold {threshold}" if table else ""
    write_publishing(out, trials, own, joint, command=command, plots=plots, width=threshold)
    say(f"{len(trials) + len(own)} trials; read {out / 'defences.md'}.")


def _real_tables(paths: list[Path], by: str | None, value: str | None) -> dict[str, Table]:
    """Read tables of the user's own before anything else is done."""
    if not paths:
        return {}
    from cellveil.io.inputs import read_table, split_names
    from cellveil.requests.source import Source
    from csp.errors import InputError

    if by is None or value is None:
        msg = "--table needs --by COLUMNS and --value COLUMN"
        raise InputError(msg)
    names = split_names(by, "--by")
    found = {
        path.stem: read_table(Source(path, names, value, count=value, aggregated=True))
        for path in paths
    }
    if len(found) < len(paths):
        msg = "--table: two files have the same name; rename one, since results go by names"
        raise InputError(msg)
    return found


def _on_real(
    rules: tuple[str, ...], tables: dict[str, Table], threshold: int, coins: int
) -> list[PublishingTrial]:
    """Trials on tables of the user's own; every consistent table is equally probable beforehand."""
    from attacks.bayes.priors import uniform
    from cellveil.render.progress import Bar
    from csp.mechanism import Mechanism
    from csp.rules import MinFrequency
    from studies.publishing.rules import publishing_rule
    from studies.publishing.trials import try_on

    mechanism = Mechanism(MinFrequency(threshold), width=threshold, margins="publish")
    chosen = [publishing_rule(rule) for rule in rules]
    wanted = [
        (name, one, coin)
        for name in tables for one in chosen for coin in range(coins if one.randomised else 1)
    ]  # fmt: skip
    found = []
    with Bar("real tables") as bar:
        for done, (name, one, coin) in enumerate(wanted):
            bar(done, len(wanted))
            found.append(
                try_on(
                    one, mechanism, tables[name], name=name, group=name, prior=uniform, coin=coin,
                    limit=500, draws=300,
                )
            )  # fmt: skip
        bar(len(wanted), len(wanted))
    return found
