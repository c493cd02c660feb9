"""The command ``cellveil`` with its verbs.

Exit codes: 0 safe, 1 unsafe or unprotectable, 2 bad input, 3 no answer. Heavy modules are
imported inside the commands, so that help and version answer at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from cellveil.cli.answers import terminal
from cellveil.cli.jobs import init, run
from cellveil.cli.microdata.masking import microdata
from cellveil.cli.microdata.microaggregate import microaggregate
from cellveil.cli.options import flag
from cellveil.cli.page import page
from cellveil.cli.releases.attack import attack
from cellveil.cli.releases.diff import diff
from cellveil.cli.releases.report import report
from cellveil.cli.tables.compare import compare
from cellveil.cli.tables.defence import key
from cellveil.cli.tables.inspect import inspect
from cellveil.cli.tables.problems import audit, suppress
from cellveil.cli.tables.protect import protect
from cellveil.cli.tables.rounding import round_
from cellveil.front import SAFE, UNSAFE, Front
from cellveil.render.screen import say

__all__ = ["app"]


app = typer.Typer(
    name="cellveil",
    cls=Front,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables: cell values
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it with the flag)
    if wanted:
        from cellveil import __version__

        typer.echo(f"cellveil {__version__}")
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


for _verb in (protect, compare, inspect, run, diff, report, init, suppress, audit, key):
    app.command()(_verb)
app.command(hidden=True)(microaggregate)  # the name of 0.1; listed under `microdata`
app.command("round")(round_)
app.add_typer(attack)
app.add_typer(microdata)
app.command("app")(page)


@app.command()
def demo() -> None:
    """Protect and audit a bundled table, and show what that means.

    $ cellveil demo
    """
    from cellveil.cli.installation.demo import run_demo

    run_demo(terminal())


@app.command()
def doctor(
    *,
    compile_: Annotated[
        bool,
        flag(
            "Also compile everything that is compiled at first use: some minutes, once per "
            "installation, so that no later command has to wait.",
            "--compile",
        ),
    ] = False,
) -> None:
    """Check that this installation works: versions, name clashes, solvers, caches.

    $ cellveil doctor --compile
    """
    from cellveil.cli.installation.doctor import run_doctor

    if compile_:
        from cellveil.cli.installation.warm import compile_everything

        compile_everything(lambda work: say(f"Compiling what {work} need."))
    raise typer.Exit(SAFE if run_doctor() else UNSAFE)
