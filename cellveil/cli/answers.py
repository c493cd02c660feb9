"""What commands do with their results: print them, write them, and say what was written."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import typer

from cellveil.front import SAFE, UNSAFE, refuse
from cellveil.io.files import write_columns, write_csv, write_json
from cellveil.io.published import read_public
from cellveil.render.plots import MOST_ROWS, plot_gap, plot_intervals, plot_map, save
from cellveil.render.screen import manner, printable, say
from cellveil.render.tables import intervals_grid, published_grid
from cellveil.requests.outputs import Facts
from cellveil.signals import exit_code, interrupted
from csp.formats.files import written_together
from csp.formats.reading import MAX_DESCRIPTION_BYTES, read_json
from csp.mechanism import Mechanism
from csp.release_file import write_protected
from csp.tables.cross.layout import cross_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from cellveil.requests.publication import Publication
    from csp.formats.files import Together
    from csp.mechanism import Protected
    from csp.release.release import Release
    from csp.solve import Progress

_PYTHON = re.compile(r"contributor='([^']*)'\?$")


def noted(note: str, *, options: bool = True) -> str:
    """Make a sentence of a note, in the words of the command line if it has the option."""
    if options:
        note = _PYTHON.sub(lambda found: f"--contributor {shlex.quote(found[1])}?", note)
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith('?') else '.'}"


_NOWHERE = Facts()


class Destination(Protocol):
    """Request that names the files of a result."""

    @property
    def output(self) -> Path | None:
        """What is found, in columns."""

    @property
    def summary(self) -> Path | None:
        """Facts about it."""


def finish(
    facts: dict[str, Any],
    lines: Iterable[str] = (),
    *,
    safe: bool = True,
    worst: int = SAFE,
    columns: Mapping[str, Sequence[Any]] | None = None,
    show: Callable[[], object] | None = None,
    speak: Callable[[str], None] = say,
    to: Destination = _NOWHERE,
    write: Callable[[Together], Sequence[Path]] | None = None,
    hashed: bool = False,
    save: Callable[[Path, Mapping[str, Sequence[Any]], Together], None] = write_columns,
) -> NoReturn:
    """End a command: write its files, give its result, say what that means, and exit.

    `to` names the files: --summary writes the facts (`hashed`: with the SHA-256 of what -o names)
    and --json prints them; -o writes the columns, by `save`. `write` writes further files together
    with these, and returns their paths. Without -o `show` prints the result for the eye, by default
    the columns; `speak` says the lines. The exit code is that of an interrupt, or 1 where the
    result is not `safe`, or the `worst` of several results.
    """
    output, summary = to.output, to.summary
    with written_together() as files:
        if output is not None and columns is not None:
            save(output, columns, files)
        further = () if write is None else write(files)
        if hashed:
            facts["files"] = hashes([] if output is None else [output], files)
        if summary is not None:
            write_json(summary, facts, files)
    if show is None and columns is not None:
        show = partial(print_columns, columns)
    if manner.get().json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    elif output is None and show is not None:
        show()
    for line in lines:
        speak(line)
    written = [str(path) for path in (output, summary, *further) if path is not None]
    if written:
        say(f"Wrote {', '.join(written)}.")
    raise typer.Exit(exit_code() if interrupted() else worst if safe else UNSAFE)


def read_mechanism(path: Path) -> Mechanism:
    """Read what is known of an algorithm, from JSON."""
    return Mechanism.from_dict(read_json(path, "a mechanism", MAX_DESCRIPTION_BYTES))


def read_attacked(
    release: Path, given: Path | None, publication: Publication
) -> tuple[Release, Mechanism]:
    """Read a release and the mechanism that is known: a given file's, or what the release tells."""
    found, told = read_public(release, publication)
    if given is not None:
        return found, read_mechanism(given)
    if told is None:
        refuse(f"{str(release)!r} does not state its mechanism; give --mechanism FILE")
    return found, told


def print_columns(columns: Mapping[str, Sequence[Any]]) -> None:
    """Print columns: laid out on a terminal, comma-separated text into a pipe.

    The last column may hold a verdict: what is proved unsafe, or known, is red, what is undecided
    yellow.
    """
    if not sys.stdout.isatty():
        write_csv(sys.stdout, columns)
        return
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    for name, column in columns.items():
        numbers = all(_is_number(item) for item in column)
        head = printable(name).replace("_", " ")  # may break there
        grid.add_column(head, justify="right" if numbers else "left", overflow="fold")
    red, yellow = ("proved unsafe", "known", "published"), ("undecided", "narrower")
    for row in zip(*columns.values(), strict=True):
        style = "red" if row[-1] in red else "yellow" if row[-1] in yellow else ""
        texts = ("" if item is None else printable(str(item)) for item in row)
        grid.add_row(*map(Text, texts), style=style)
    terminal().print(grid)


def _is_number(item: Any) -> bool:
    text = "" if item is None else str(item).removeprefix("-").replace(".", "", 1).replace(",", "")
    return not text or text.isdecimal() or text == "inf"


def needs_reveal(option: str, path: Path | None, *, reveal: bool) -> None:
    """Refuse an output that holds every cell value unless the user asked for that."""
    if path is not None and not reveal:
        refuse(
            f"{option} {str(path)!r}: a JJ file holds every cell value, suppressed ones too; "
            "add --reveal to write it"
        )


def save_release(path: Path, result: Any, files: Together) -> None:
    """With the mechanism, where it can be told: an adversary is assumed to know it."""
    if not write_protected(result, path, files=files):
        say(f"{path} does not tell the mechanism: its rules name single cells.")


def draw_result(
    folder: Path, result: Protected, trace: Sequence[Progress], files: Together, *, reveal: bool
) -> list[Path]:
    """Draw a protected table into a folder, and return the files that were written.

    What there is nothing to draw of is left out.
    """
    figures: dict[str, Figure] = {}
    layout = cross_table(result.release)
    if max(len(layout.rows), len(layout.columns)) <= MOST_ROWS:
        figures["map"] = plot_map(result, reveal=reveal)
    else:
        say(f"No map: it would have more than {MOST_ROWS} rows or columns.")
    if result.pattern.any():
        figures["intervals"] = plot_intervals(result, reveal=reveal)
    if reveal and any(now.best is not None for now in trace):  # its steps are those of hidden costs
        figures["gap"] = plot_gap(trace)
    for name, figure in figures.items():
        save(figure, folder / f"{name}.svg", files)
    return [folder / f"{name}.svg" for name in figures]


def hashes(paths: Sequence[Path], files: Together) -> dict[str, str]:
    """SHA-256 of files written together, by name, so that readers see which belong together."""
    return {path.name: files.sha256(path) for path in paths}


def print_result(
    result: Any, columns: Any, *, reveal: bool, intervals: bool, long: bool = False
) -> None:
    """Table for the eye on a terminal, comma-separated text for a pipe."""
    if not sys.stdout.isatty():
        print_columns(columns)
        return

    console = terminal()
    console.print(published_grid(result, console, reveal=reveal, long=long))
    if intervals:
        console.print(intervals_grid(result))


def terminal() -> Console:
    """Return a console that prints text as it is."""
    from rich.console import Console

    return Console(highlight=False, markup=False)
