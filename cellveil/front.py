"""What the commands say, and how what goes wrong becomes one message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from cellveil.render.screen import Manner, manner, say
from cellveil.signals import exit_code, taken

SAFE, UNSAFE, BAD_INPUT, NO_ANSWER = 0, 1, 2, 3


class Front(TyperGroup):
    """Turns what goes wrong on purpose into one message and an exit code."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the arguments."""
        try:
            return super().make_context(*args, **options)
        except Exception as error:
            with suppress(ImportError):
                _shorten(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        before = manner.set(Manner())
        try:
            with taken(), _answering(ctx, lambda: self.commands.get(ctx.invoked_subcommand)):
                return super().invoke(ctx)
        finally:
            manner.reset(before)


class FrontCommand(TyperCommand):
    """The same for a program that is one command."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        with taken(), _answering(ctx, lambda: self):
            return super().invoke(ctx)


def made_ready(command: Any, name: str) -> Any:
    """Give a command, or all of a group, --quiet, and those that have --summary also --json."""
    command.name = name
    for leaf in _leaves(command) if hasattr(command, "commands") else [command]:
        leaf.params += _switches(json="summary" in {param.name for param in leaf.params})
        # An example is one line, to be copied: the mark keeps the parser from wrapping it.
        leaf.help = (leaf.help or "").replace("\n\n$ ", "\n\n\b\n$ ")
        leaf.parse_args = _checking(leaf)
    return command


def _checking(leaf: Any) -> Callable[[Any, list[str]], Any]:
    """Return how a command reads its arguments, where some would be misread in silence.

    Of several the last would count. Switches may come back: they say the same again, or the
    opposite. An empty name of a file would be that of the folder here.
    """
    parse = leaf.parse_args

    def read(ctx: Any, args: list[str]) -> Any:
        given, _, order = leaf.make_parser(ctx).parse_args([*args])
        for param in leaf.params:
            option = param.opts[0].startswith("-")
            kind, value = param.type_descriptor.annotation, given.get(param.name)
            if Path in (kind, *get_args(kind)) and "" in (
                value if isinstance(value, (list, tuple)) else [value]
            ):
                shown = " or ".join(param.opts) if option else param.metavar
                refuse(f"there is no file '': the name given for {shown} is empty")
            single = option and not (param.multiple or param.is_flag or param.count)
            if single and sum(one is param for one in order) > 1:
                refuse(f"{' or '.join(param.opts)} is given several times and takes one; keep one")
        return parse(ctx, args)

    return read


def _leaves(group: Any) -> Iterator[Any]:
    for below in group.commands.values():
        if hasattr(below, "commands"):
            yield from _leaves(below)
        else:
            yield below


def _switches(*, json: bool) -> list[Any]:
    """Options that change how a command speaks, and not what it does."""
    lender = typer.Typer(add_completion=False)
    lender.command()(_lend)
    wanted = ("quiet", "json") if json else ("quiet",)
    return [param for param in typer.main.get_command(lender).params if param.name in wanted]


def _switch(name: str, words: str) -> Any:
    """Option that sets one trait of the manner."""

    def turn(on: bool) -> None:  # noqa: FBT001 (the parser's call)
        if on:
            manner.set(replace(manner.get(), **{name: True}))

    return typer.Option(f"--{name}", expose_value=False, callback=turn, help=words)


def _lend(
    *,
    quiet: Annotated[bool, _switch("quiet", "Only errors on stderr.")] = False,
    json: Annotated[
        bool,
        _switch("json", "Facts as JSON on stdout, as in --summary, in place of the table."),
    ] = False,
) -> None:
    """Lend its options to other commands; it is never run."""
    del quiet, json


@contextmanager
def _answering(ctx: Any, command: Callable[[], Any]) -> Iterator[None]:
    """Answer errors and interrupts of a command that runs inside; it is known at its end only."""
    debug = bool(ctx.params.get("debug"))
    written: list[str] = []  # fills with the files that this command writes
    with suppress(ImportError):
        from csp.formats.files import names_taken

        names_taken.set(written)
    try:
        yield
        sys.stdout.flush()  # a full disk shows here, and not after the last word
    except typer.Exit as exit_:
        if _flushed():
            raise
        raise typer.Exit(exit_.exit_code or BAD_INPUT) from None
    except typer.Abort:
        raise
    except KeyboardInterrupt:
        if written:
            say(f"Interrupted after these files were written: {', '.join(written)}.")
        else:
            say("Interrupted before there was a result; nothing was written.")
        raise typer.Exit(exit_code()) from None
    except Exception as error:
        if debug:
            raise
        _flushed()
        program = ctx.find_root().info_name or "cellveil"
        found = message_of(error, options_of(command()), program=program)
        if found is None:
            _name_owners(error, ctx.find_root().command)
            _say_what_is_missing(error)
            _shorten(error)
            raise
        message, code = found
        if not isinstance(error, BrokenPipeError):  # who stops reading needs no word
            say(f"Error: {message}")
        raise typer.Exit(code) from None


def _shorten(error: Exception) -> None:
    """Cut a message of the parser that quotes what was typed at length."""
    from csp.errors import shortened

    if isinstance(getattr(error, "message", None), str):
        error.message = shortened(error.message)  # type: ignore[attr-defined]


def _name_owners(error: Any, program: Any) -> None:
    """Have an unknown option that other commands know name these, in place of its neighbours."""
    option = getattr(error, "option_name", None)
    if not hasattr(error, "possibilities") or option is None:
        return
    owners = [name for name, command in _named(program) if option in options_of(command)]
    if owners:
        *more, last = owners
        error.message = f"{option} is an option of {', '.join(more)}{' and ' if more else ''}{last}"
        error.possibilities = None


def _say_what_is_missing(error: Any) -> None:
    """Have a required option that was not given say what it is, as help does."""
    words = getattr(getattr(error, "param", None), "help", None)
    if type(error).__name__ == "MissingParameter" and words:
        error.message = words


def _named(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Commands that help lists, with the names by which they are called."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _named(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}", command


def options_of(command: Any) -> set[str]:
    """Options of a command, or of all in a group."""
    found: set[str] = set()
    for below in getattr(command, "commands", {}).values():
        found |= options_of(below)
    for param in command.params if command is not None else ():
        found |= {*param.opts, *param.secondary_opts}
    return found


def _flushed() -> bool:
    """Whether everything written to standard output has arrived; if not, nothing more is tried."""
    try:
        sys.stdout.flush()
    except OSError:
        # The interpreter flushes again at its end, and would fail with an exit code of its own.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def message_of(
    error: Exception, options: set[str], *, program: str = "cellveil"
) -> tuple[str, int] | None:
    """Message and exit code for an error; None for the parser's own, which it shows itself."""
    if hasattr(error, "exit_code"):  # usage errors of the parser
        return None
    try:
        from csp.errors import CellveilError, CertificateError, InputError, SolverError
    except ImportError:
        return "csp cannot be imported, or is another project's; run 'cellveil doctor'", NO_ANSWER
    if isinstance(error, InputError):
        return error.in_options(options), BAD_INPUT
    if isinstance(error, CertificateError):
        # Its message may say by how much a cell misses its level, which tells the cell.
        words = "the result could not be proved safe, so nothing is released; please report"
        return words, NO_ANSWER
    if isinstance(error, SolverError):  # the time limit is one
        return str(error), NO_ANSWER
    if isinstance(error, CellveilError):
        return error.in_options(options), UNSAFE
    if isinstance(error, OSError) and error.filename is None:
        return f"cannot write the result: {error.strerror or 'it is closed'}", BAD_INPUT
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return (
            "the data needs more memory than there is; give fewer records or columns, or one row "
            "a cell with --aggregated",
            BAD_INPUT,
        )
    # An unforeseen message may quote a cell, so only its kind is shown. It says nothing of a table,
    # so its exit code is not that of an unsafe one.
    kind = type(error).__name__
    return (
        f"{kind} inside cellveil; '{program} --debug ...' shows where. Please report it.",
        NO_ANSWER,
    )


@contextmanager
def explained(table: Any, *, reveal: bool, defended: bool = False) -> Iterator[None]:
    """Reword an Unprotectable: its amounts would tell the cell."""
    from csp.errors import Unprotectable

    try:
        yield
    except Unprotectable as error:
        if not error.cell:
            raise
        cell = table.cell(table.position(error.cell))
        rest = len(error.relations) - 3
        shown = "; ".join(error.relations[:3]) + (f"; and {rest} more" if rest > 0 else "")
        msg = (
            f"cell {cell} cannot be protected, even with everything suppressed that may be. "
            f"Blocked by {shown or 'its own bounds'}. Let more cells be suppressed (margins, cells "
            "that must be published), lower the level, or merge categories"
        )
        if defended:
            msg += " (with decoys every suppressed cell must be as wide as --defence asks)"
        if reveal and error.interval is not None:
            low, high = (None if end is None else float(str(end)) for end in error.interval)
            # Errors of broken installations come by here, too.
            from cellveil.render.tables import ends_words

            msg += f". Its best interval is {ends_words(low, high, table.scale)}"
        elif not reveal:
            msg += "; --reveal shows its best interval"
        raise Unprotectable(
            msg, cell=error.cell, interval=error.interval, relations=error.relations
        ) from error


def refuse(why: str) -> NoReturn:
    """Refuse what was asked for by an `InputError`; csp may be another project's until then."""
    from csp.errors import InputError

    raise InputError(why)


def check_folder(path: Path) -> None:
    """Check before any work that a folder of results is there or can be made; it is not made.

    Raises
    ------
    InputError
        If another file has its name, or its place cannot be written to.
    """
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not there.is_dir():
        refuse(f"cannot make the folder {str(path)!r}: {str(there)!r} is a file")
    if not os.access(there, os.W_OK | os.X_OK):
        refuse(f"cannot make the folder {str(path)!r}: {str(there)!r} cannot be written to")


def folder_for(path: Path) -> None:
    """Make the folder of results, unless it is there; an `InputError` if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(f"cannot make the folder {str(path)!r}: {error.strerror or error}")
