"""The command ``python -m studies matching``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.front import folder_for
from cellveil.render.screen import say
from studies.options import numbers_of, split

_LARGER = (8,)
"""Sides of further tables on which attacks are timed."""


def matching(
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of all results.")
    ] = Path("attack-evaluation"),
    *,
    scenarios: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Separated by commas.", show_default="all"),
    ] = None,
    sides: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Rows and columns of the tables.")
    ] = "4,5,6,7",
    tables: Annotated[int, typer.Option(metavar="NUMBER", help="For each scenario and size.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the tables.")] = 0,
    limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="For each attack.")] = 60.0,
    jobs: Annotated[int, typer.Option(metavar="NUMBER", help="Processes; -1 for all cores.")] = 1,
    timings: Annotated[
        int, typer.Option(metavar="NUMBER", help="Tables of each size to time attacks on.")
    ] = 50,
    plots: Annotated[bool, typer.Option(help="Draw figures 6 to 8 (needs matplotlib).")] = True,
    show: Annotated[bool, typer.Option("--list", help="List scenarios, run none.")] = False,
) -> None:
    """Repeat the experiments of Minami and Abe (2019) under every scenario.

    A scenario settles what the paper leaves open.

    An experiment that was ended goes on where it stopped. Writes trials.jsonl, tables and cells
    (.csv, .parquet, .json), evaluation.md and the figures.
    """
    from cellveil.render.progress import Bar
    from studies.matching.page import page
    from studies.matching.results import write_results
    from studies.matching.scenarios import SCENARIOS
    from studies.matching.trials import run_trials, timing

    if show:
        for name, scenario in SCENARIOS.items():
            typer.echo(f"{name}: {scenario.words}")
        return
    names = tuple(SCENARIOS) if scenarios is None else split(scenarios)
    sizes = numbers_of(sides, "--sides")
    folder_for(out)
    with Bar("trials") as bar:
        trials = run_trials(
            out / "trials.jsonl", scenarios=names, sides=sizes, tables=tables, seed=seed,
            limit=limit, jobs=jobs, progress=bar,
        )  # fmt: skip
        measured = [
            timing(side, index, seed) for side in (*sizes, *_LARGER) for index in range(timings)
        ]
    drawn = write_results(out, trials, plots=plots)
    command = _command(names, sizes, tables, seed, scenarios) + (
        "" if limit is None else f" --limit {limit:g}"
    )
    text = page(trials, timings=measured, command=command, figures=drawn)
    (out / "evaluation.md").write_text(text, encoding="utf-8")
    say(f"{len(trials)} trials; read {out / 'evaluation.md'}.")


def parameters(
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Page of the results.")
    ] = Path("secret-parameters.md"),
    *,
    series: Annotated[int, typer.Option(metavar="NUMBER", help="Series of releases.")] = 20,
    releases: Annotated[int, typer.Option(metavar="NUMBER", help="Releases in each.")] = 12,
    side: Annotated[int, typer.Option(metavar="NUMBER", help="Rows and columns of a table.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the tables.")] = 0,
) -> None:
    """Show how soon releases disclose a secret threshold and width (Minami and Abe 2019, 2.5)."""
    from cellveil.render.progress import Bar
    from studies.matching.secret_parameters import erosion, page
    from studies.pages import write_page

    found = []
    with Bar("series attacked") as bar:
        for index in range(series):
            bar(index, series)
            found.append(erosion(index, releases=releases, side=side, seed=seed))
    command = f"python -m studies parameters --series {series} --releases {releases}"
    write_page(out, page(found, side=side, command=f"{command} --side {side} --seed {seed}"))
    say(f"Wrote {out}.")


def _command(
    names: tuple[str, ...], sizes: tuple[int, ...], tables: int, seed: int, scenarios: str | None
) -> str:
    chosen = "" if scenarios is None else f" --scenarios {','.join(names)}"
    return (
        f"python -m studies matching --sides {','.join(map(str, sizes))} --tables {tables} "
        f"--seed {seed}{chosen}"
    )
