"""The command ``python -m benchmarks``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellveil.front import UNSAFE, FrontCommand
from cellveil.render.screen import say
from cellveil.signals import exit_code

if TYPE_CHECKING:
    from benchmarks.run import Outcome
    from benchmarks.specs import Spec

app = typer.Typer(
    name="benchmarks",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.command(cls=FrontCommand)
def bench(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP|GROUP/SPEC]...", help="What to run; all by default.", show_default=False
        ),
    ] = None,
    *,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Of these, specs whose name fits: 'frequency-*'."),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(
            metavar="SOLVERS",
            help="ours, ours:METHOD, argus, modular, ilp, ilp:SOLVER, ilp:*, without:PHASE, "
            "without:*; separated by commas.",
            show_default="ours and those each spec names",
        ),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE.py:FUNCTION",
            help="A function of your own that takes a problem and returns its pattern, beside "
            "ours or those that --peers names.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="For each solver.", show_default="what each spec names"
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of results.csv and results.md.")
    ] = Path("benchmark"),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of public data, with the folder instances.",
            show_default="CELLVEIL_DATA",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List specs and targets, run none.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do again what is done already.")] = False,
    debug: Annotated[bool, typer.Option(help="Show tracebacks of errors.")] = False,
) -> None:
    """Measure cellveil and its peers on frozen problems.

    A run that was ended goes on where it stopped. Exit codes: 0 nothing wrong, 1 one of our
    results is unsafe or contradicts a proof or a known optimum, 2 bad input.
    """
    del debug  # read by the class of the command
    from benchmarks.own import PREFIX
    from benchmarks.peers import expand
    from benchmarks.run import benchmark
    from benchmarks.specs import choose, specs
    from csp.errors import InputError

    if time_limit is not None and not time_limit > 0:
        msg = f"--time-limit must be a positive number of seconds, got {time_limit:g}"
        raise InputError(msg)
    registry = specs(data)
    chosen = choose(registry, what or (), only or ())
    names = None
    if peers is not None:
        names = expand([name.strip() for name in peers.split(",") if name.strip()])
        if not names:
            msg = "--peers names no solver"
            raise InputError(msg)
    if solver:
        names = [*(names or ["ours"]), *expand([f"{PREFIX}:{one}" for one in solver])]
    if show:
        for line in listing(chosen, names):
            typer.echo(line)
        return
    with _watch() as watch:
        outcome = benchmark(
            chosen, registry, out, solvers=names, time_limit=time_limit, fresh=fresh, watch=watch
        )
    _conclude(outcome, out)


def listing(chosen: Sequence[Spec], solvers: Sequence[str] | None) -> Iterator[str]:
    """Lines of ``--list``: specs by group, with limit, solvers and target."""
    from benchmarks.run import solvers_of

    group = ""
    for spec in chosen:
        if spec.group != group:
            group = spec.group
            yield group
        names = ",".join(solvers_of(spec, solvers))
        absent = f"; absent: {spec.absent}" if spec.absent else ""
        yield f"  {spec.path} ({spec.time_limit:g} s; {names}): {spec.target}{absent}"


def _conclude(outcome: Outcome, out: Path) -> None:
    for words in outcome.missed:
        say(f"Target missed: {words}")
    for words in outcome.wrong:
        say(f"WRONG: {words}")
    absent = f", specs absent: {len(outcome.absent)}" if outcome.absent else ""
    say(
        f"{len(outcome.rows)} results in {out / 'results.csv'} and {out / 'results.md'}; "
        f"targets missed: {len(outcome.missed)}, contradictions: {len(outcome.wrong)}{absent}."
    )
    if outcome.interrupted:
        say("Interrupted; the same command goes on from here.")
        raise typer.Exit(UNSAFE if outcome.wrong else exit_code())
    if outcome.wrong:
        raise typer.Exit(UNSAFE)


@contextmanager
def _watch() -> Iterator[Any]:
    """Lines of finished runs; on a terminal, also what is running and how far it is."""
    from benchmarks.page import run_words
    from benchmarks.run import Watch

    class Lines(Watch):
        """One line for each run that has ended."""

        def end(self, spec: Any, row: Any, *, kept: bool) -> None:
            unsafe = f"UNSAFE: {row.run.unsafe} cells; " if row.run.unsafe else ""
            before = " (kept)" if kept else ""
            words = run_words(row.run, row.scale)
            self.note(f"{spec.path} {row.run.solver}: {unsafe}{words}{before}")

        def note(self, words: str) -> None:
            say(words)

    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, markup=False, highlight=False)
    columns = (
        BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        class Bar(Lines):
            """Lines above a bar."""

            def begin(self, spec: Any, solver: str, place: int, total: int) -> None:
                words = f"{spec.path} {solver} (limit {spec.time_limit:g} s)"
                bar.update(task, description=words, total=total, completed=place - 1)

            def note(self, words: str) -> None:
                console.print(words)

        yield Bar()
