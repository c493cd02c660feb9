"""The command ``cellveil`` with its verbs.

Exit codes: 0 safe, 1 unsafe or unprotectable, 2 bad input, 3 no answer. A verb is imported when it
is called, so that help and version answer at once.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer

import cellveil
from cellveil.cli.options import flag
from cellveil.front import Front, made_ready


class Verb(NamedTuple):
    """Where a verb is, and what the list of all verbs says of it."""

    module: str
    name: str
    words: str  # none for one that is not listed


VERBS = MappingProxyType({
    "protect": Verb("tables.protect", "protect", "Protect a table and publish it."),
    "compare": Verb("tables.compare", "compare", "Judge several ways to publish a table."),
    "inspect": Verb("tables.inspect", "inspect", "Look at data before protecting it."),
    "run": Verb("jobs", "run", "Run jobs: tables that are made every month or year."),
    "diff": Verb("releases.diff", "diff", "Compare two releases of the same table."),
    "report": Verb("releases.report", "report", "Write one HTML page about a release."),
    "init": Verb("jobs", "init", "Write a job to be filled in."),
    "suppress": Verb("tables.problems", "suppress", "Suppress cells of a problem in a JJ file."),
    "audit": Verb("tables.problems", "audit", "Check what an outsider can infer from a table."),
    "key": Verb("tables.defence", "key", "Make a secret key for --defence."),
    "microaggregate": Verb("microdata.microaggregate", "microaggregate", ""),  # as in 0.1
    "round": Verb("tables.rounding", "round_", "Round all cells, so that sums still hold."),
    "attack": Verb("releases.attack", "attack", "Attack releases with all that is public."),
    "microdata": Verb("microdata.masking", "microdata", "Mask files of records, and check them."),
    "app": Verb("page", "page", "Open a page on which tables are protected by choosing."),
    "demo": Verb("installation.demo", "demo", "Protect and audit a bundled table."),
    "doctor": Verb("installation.doctor", "doctor", "Check that this installation works."),
})  # fmt: skip
"""In the order of the list."""


class _Commands(dict[str, Any]):
    """Commands by their names, each made when it is asked for."""

    def get(self, name: Any, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 (it is `get` itself)

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, Verb):
            found = _command(name, found)
            self[name] = found
        return found

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


def _command(name: str, verb: Verb) -> Any:
    found = getattr(import_module(f"cellveil.cli.{verb.module}"), verb.name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        alone.command(name, hidden=not verb.words)(found)
        found = alone
    return made_ready(typer.main.get_command(found), name)


class Program(Front):
    """The program: a list of verbs, of which one is read."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands(VERBS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs; nothing is imported for that."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.words) for name, verb in VERBS.items() if verb.words])


app = typer.Typer(
    name="cellveil",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables: cell values
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it with the flag)
    if wanted:
        typer.echo(f"cellveil {cellveil.__version__}")
        raise typer.Exit


@app.callback()
def front(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, flag("Show tracebacks of errors.", "--debug")] = False,
) -> None:
    """Protect statistical tables by cell suppression, and prove what remains hidden.

    Exit codes: 0 safe, 1 unsafe or unprotectable, 2 bad input, 3 no answer in time.
    """
    del version, debug  # read by their callback and by the group
