"""The verb that looks at data before it is protected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from cellveil.cli import options
from cellveil.cli.answers import finish, noted, terminal
from cellveil.cli.options import argument, option
from cellveil.front import refuse
from cellveil.render.screen import printable

if TYPE_CHECKING:
    from csp.formats.files import Together
    from csp.rules.inspection import Inspection
    from csp.tables.hierarchies.hierarchy import Hierarchy

__all__ = ["inspect"]


def inspect(
    data: Annotated[Path, argument("Records: .csv, .csv.gz, .parquet or .xlsx.", "DATA")],
    *,
    by: Annotated[
        list[str], option("Dimensions of a table: Size,Region; once for each table.", "COLUMNS")
    ],
    value: options.Value = None,
    contributor: options.Contributor = None,
    weight: options.Weight = None,
    hierarchy: Annotated[
        list[str] | None, option("Hierarchy of a column (.hrc); once for each.", "COLUMN=FILE")
    ] = None,
    sheet: options.Sheet = None,
    rules: Annotated[
        list[str] | None, option("Rules to try, in tau-ARGUS's words; once for each.", "RULES")
    ] = None,
    job: Annotated[
        Path | None,
        option("Write a job (.toml) that runs, and hierarchies that were found.", "FILE"),
    ] = None,
    summary: options.Summary = None,
) -> None:
    """Look at data before protecting it: codes, nested columns, what rules would mark.

    For the office, and not for publication: it counts what a release does not tell. The job that
    --job writes has the first of the rules.
    """
    from cellveil.io.files import check_outputs
    from cellveil.io.inputs import read_hierarchies, split_names
    from cellveil.io.sheets import records_of
    from csp.rules.inspection import inspect as look

    read = [Path(text.partition("=")[2].strip()) for text in hierarchy or ()]
    check_outputs({"--summary": summary}, [data, job, *read])
    wanted = [split_names(text, "--by") for text in by]
    given = _single(read_hierarchies(hierarchy or ()), {name for one in wanted for name in one})
    if job is not None and job.suffix != ".toml":
        refuse(f"--job {str(job)!r} must end with .toml")
    if job is not None and job.exists():
        refuse(f"{str(job)!r} is there already; choose another name, or delete it")
    records = records_of(data, (value, weight), sheet)
    found = look(
        records, wanted, value, contributor=contributor, weight=weight, rules=rules or None,
        hierarchies={name: tree for name, (_, tree) in given.items()},
    )  # fmt: skip
    facts = asdict(found)
    texts: dict[Path, str] = {}
    if job is not None:
        keys = {"sheet": sheet, "value": value, "contributor": contributor, "weight": weight}
        if value is not None and any("negative" in words for words in found.problems):
            keys["negative"] = "abs"
        if any("missing=" in words for words in found.problems):
            keys["missing"] = "unknown"
        texts = _job_texts(
            job, data, records, found, keys, {n: path for n, (path, _) in given.items()}
        )

    def write(files: Together) -> list[Path]:
        for path, text in texts.items():
            with files.writer(path) as out:
                out.write(text)
        return list(texts)

    following = (
        "--job FILE.toml writes this as a job for 'cellveil run'."
        if job is None
        else f"The job runs with: cellveil run {job}"
    )
    finish(
        facts, [*_advice(found), following], show=lambda: _show(found), summary=summary, write=write
    )


def _single(
    read: dict[str, dict[Path, Hierarchy]], dimensions: set[str]
) -> dict[str, tuple[Path, Hierarchy]]:
    """Return the hierarchy of each column, and its file."""
    for name, trees in read.items():
        if name not in dimensions:
            refuse(f"--hierarchy names {name!r}, which is not a dimension of --by; leave it out")
        if len(trees) > 1:
            refuse(f"--hierarchy names {name!r} twice; look at the tables of each on its own")
    return {name: next(iter(trees.items())) for name, trees in read.items()}


def _job_texts(
    job: Path, data: Path, records: Any, found: Inspection, options: dict[str, Any],
    given: dict[str, Path],
) -> dict[Path, str]:  # fmt: skip
    """Text of each file of the job: hierarchies that were not `given`, then the job itself."""
    from cellveil.jobs.draft import draft
    from csp.tables.hierarchies.hierarchy import Hierarchy

    trees = {n: Hierarchy.from_columns(records, chain) for n, chain in found.hierarchies.items()}
    places = {name: job.parent / (re.sub(r"[^\w-]", "_", name) + ".hrc") for name in trees}
    taken = [path for path in places.values() if path.exists()]
    if taken:
        refuse(f"{str(taken[0])!r} is there already; move it, or put the job into another folder")
    first = next(iter(found.tables[0].sensitive))
    text = draft(
        found, data, folder=job.parent, rules=first, options=options, hierarchies=given | places
    )
    return {places[name]: tree.to_hrc() for name, tree in trees.items()} | {job: text}


def _show(found: Inspection) -> None:
    console = terminal()
    owners = "" if found.contributors is None else f", {found.contributors:,} contributors"
    console.print(f"{found.records:,} records{owners}")
    grid = _grid(("column", "codes", "missing", "lies within"))
    for column in found.columns:
        grid.add_row(
            Text(printable(column.name)), f"{column.codes:,}", f"{column.missing:,}",
            Text(printable(" > ".join(column.within))),
        )  # fmt: skip
    console.print(grid)
    grid = _grid(("", *(printable(" x ".join(table.by)) for table in found.tables)))
    told = {
        "cells, margins included": [table.cells for table in found.tables],
        "  without contributors": [table.empty for table in found.tables],
        "  with one": [table.single for table in found.tables],
        "  with two": [table.double for table in found.tables],
    } | {
        f"sensitive by {rule}": [table.sensitive[rule] for table in found.tables]
        for rule in found.tables[0].sensitive
    }
    for words, counts in told.items():
        grid.add_row(words, *(f"{count:,}" for count in counts))
    console.print(grid)


def _advice(found: Inspection) -> Iterator[str]:
    """Say what to do with what was found."""
    for name, chain in found.hierarchies.items():
        columns = ", ".join(chain)
        yield f"{name} can have a hierarchy of the columns {columns}: --job writes it."
    for one, two in found.linked:
        yield (
            f"{' x '.join(one)} and {' x '.join(two)} share cells: protect them together, as one "
            "job does."
        )
    for words in found.problems:
        yield noted(words)
    largest = max(table.cells for table in found.tables)
    if largest > 50_000:
        yield f"{largest:,} cells: expect a safe pattern in a minute or so, a good one in ten."


def _grid(heads: tuple[str, ...]) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, head in enumerate(heads):
        left = number == 0 or head == "lies within"
        grid.add_column(head, justify="left" if left else "right", overflow="fold")
    return grid
