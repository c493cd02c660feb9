"""The command ``cellveil compare``: one table published in several ways, judged by one audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cellveil.cli import options
from cellveil.cli.answers import finish, print_columns, terminal
from cellveil.cli.options import flag, option
from cellveil.cli.tables.defence import read_defence
from cellveil.cli.tables.dimensions import By, dimensions_of
from cellveil.cli.taking import Rest, taking
from cellveil.comparing.side_by_side import Comparison
from cellveil.comparing.side_by_side import compare as side_by_side
from cellveil.front import check_folder, folder_for
from cellveil.io import inputs
from cellveil.io.files import check_outputs
from cellveil.io.inputs import mechanism_of
from cellveil.render.figures import needs_matplotlib, save
from cellveil.render.progress import Meter
from cellveil.report.skeleton import write_page
from cellveil.report.ways import ways_page
from cellveil.requests.outputs import Compared
from cellveil.requests.requirements import Requirements
from cellveil.requests.search import Limit
from cellveil.requests.source import Source
from csp.decoys.key import Key
from csp.formats.files import Together

_INTERNAL = "Internal, not for publication: errors and room are worked out from true values."


@taking
def compare(
    data: options.TableFile,
    *,
    by: By = None,
    methods: Annotated[
        str,
        option(
            "Ways to publish, by commas: suppress, intervals, intervals:GRID, round:BASE (the "
            "closest additive table of multiples), random:BASE (one by a key), and either with "
            ":small behind it (counts below the base alone).",
            "METHODS",
        ),
    ] = "suppress,intervals,round:5",
    asked: Requirements,
    source: Rest[Source],
    attack: Annotated[
        bool,
        flag("Try what an attacker learns who knows the method.", "--attack/--no-attack"),
    ] = True,
    limit: Limit,
    files: Compared,
) -> None:
    """Publish one table in several ways, and judge them by one audit; which is best is not said.

    $ cellveil compare survey.csv --by region,sector --rules "FREQ(3,10)"

    For the office, and not for publication: errors, and how far sensitive cells are from their
    levels, are worked out from true values. The limit is for each method. Random rounding is
    that of 'cellveil round' with the same --key-file and --table-id, or by a new key.
    """
    shown = dimensions_of(data, by, source)
    names = shown["by"]
    wanted = inputs.split_names(methods, "--methods", "suppress,round:5")
    decoys = asked.decoys
    mechanism, reads, key = _mechanism(asked, names, source(data=data, **shown))
    read = source(data=data, reads=reads, **shown)
    check_outputs(
        {"-o": files.output, "--report": files.report, "--summary": files.summary},
        [data, read.rda, asked.primary, decoys.key_file],
    )
    if files.plots is not None:
        needs_matplotlib()
        check_folder(files.plots)
    clock = limit.started()
    with Meter("tabulating", clock.seconds) as meter:
        table = inputs.read_table(read, meter.phase)
        meter.phase("publishing in several ways")
        found = side_by_side(
            table,
            mechanism,
            wanted,
            key=key,
            name=decoys.table_id,
            attack=attack,
            time_limit=clock.seconds,
        )
    facts = {"internal": True, "methods": found.summary(), "levels": found.levels()}

    def write(together: Together) -> list[Path]:
        return _write(data, found, facts, files, together)

    finish(
        facts, [*found.text().splitlines(), _INTERNAL], columns=found.levels(), to=files,
        write=write, show=lambda: _show(found),
    )  # fmt: skip


def _mechanism(asked: Requirements, names: tuple[str, ...], source: Source) -> tuple[Any, int, Any]:
    """Mechanism, contributions that its rules look at, and the key of random rounding."""
    decoys = asked.decoys
    key = None if decoys.key_file is None else Key.read(decoys.key_file)
    defence = None
    if decoys.defence is not None or (decoys.table_id and key is None):
        defence = read_defence(decoys.defence, decoys.key_file, decoys.table_id)
    found, reads = mechanism_of(asked, names, source.written.encoding, named=False, defence=defence)
    return found, reads, key


def _write(
    data: Path, found: Comparison, facts: dict[str, Any], to: Compared, files: Together
) -> list[Path]:
    """Write the page and the picture; paths are returned."""
    written = []
    if to.plots is not None:
        folder_for(to.plots)
    if to.report is not None:
        title = data.name.partition(".")[0]
        write_page(to.report, ways_page(found, title), facts, files)
        written += [to.report, to.report.with_suffix(".json")]
    if to.plots is not None:
        place = to.plots / "methods.svg"
        save(found.plot(), place, files)
        written.append(place)
    return written


_SHOWN = {
    "withheld": "withheld", "changed": "changed", "mean_error": "mean error",
    "largest_error": "largest", "proven": "proved best", "sensitive": "sensitive",
    "short": "below level", "short_inside": "to insiders too", "known": "known",
    "narrowest": "narrowest", "wanted": "asked for",
}  # fmt: skip


def _show(found: Comparison) -> None:
    """Print one row a method: laid out on a terminal, comma-separated text into a pipe."""
    import sys

    from rich import box
    from rich.table import Table as Grid

    facts = found.summary()
    if not sys.stdout.isatty():
        columns: dict[str, list[Any]] = {"method": list(facts)}
        print_columns(columns | {name: [one[name] for one in facts.values()] for name in _SHOWN})
        return
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, head in enumerate(["method", *_SHOWN.values()]):
        grid.add_column(head, justify="right" if number else "left", overflow="fold")
    for method, one in facts.items():
        grid.add_row(method, *(_number(one[name]) for name in _SHOWN))
    terminal().print(grid)


def _number(value: float | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:,.6g}"
