"""The verb that looks at data before it is protected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from cellveil.cli import options
from cellveil.cli.answers import finish, noted, terminal
from cellveil.cli.options import option
from cellveil.cli.tables.dimensions import refuse_empty, refuse_unnamed, tab_dimensions
from cellveil.cli.tables.joinings import joinings
from cellveil.cli.taking import Rest, taking
from cellveil.front import refuse
from cellveil.io.crosstables import recognise
from cellveil.io.files import check_outputs
from cellveil.io.inputs import (
    hierarchy_of,
    read_hierarchies,
    read_records,
    read_table,
    split_names,
    totals_of,
)
from cellveil.jobs.draft import draft
from cellveil.jobs.keys import DATA, written
from cellveil.render.screen import printable, say
from cellveil.requests.option import flags_given
from cellveil.requests.outputs import Facts
from cellveil.requests.source import Source
from csp.formats.files import Together
from csp.rules.inspection import Inspection, inspect_tables, is_fine
from csp.rules.inspection import inspect as look
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.totals import total_codes


@taking
def inspect(
    data: options.TableFile,
    *,
    by: Annotated[
        list[str] | None,
        option(
            "Dimensions of a table: Size,Region; once for each table.",
            "COLUMNS",
            default="those of a cross table or of a .tab; else columns alone are described",
        ),
    ] = None,
    source: Rest[Source],
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

    $ cellveil inspect survey.csv --by region,sector --job job.toml

    For the office, and not for publication: it counts what a release does not tell. The job that
    --job writes has the first of the rules.
    """
    wanted = [split_names(text, "--by") for text in by or ()]
    table = None if len(wanted) > 1 else recognise(data, wanted[0] if by else None, source.own)
    known = {} if table is None else {"cross": table.cross}
    wanted = wanted if table is None else [table.by]
    for line in () if table is None else (table.guess, *table.own):
        if line:
            say(line)
    if not wanted and source(data=data).tab:
        wanted = [tab_dimensions(data, source.own["rda"])]
    sources = [source(data=data, by=one, **known) for one in wanted]
    names = {name for one in wanted for name in one}
    whole = source(data=data, by=tuple(sorted(names)), **known)
    if not wanted:
        refuse_empty(data)
        if job is not None or rules or whole.aggregated:
            refuse_unnamed(data)
        if more := flags_given(whole, _OF_TABLES):
            refuse(f"{', '.join(more)}: for a table; name its dimensions with --by, or leave out")
    trees = [hierarchy_of(text, names)[1] for text in whole.hierarchy]
    check_outputs({"--summary": summary}, [data, job, whole.rda, *map(Path, trees)])
    if job is not None and job.suffix != ".toml":
        refuse(f"--job {str(job)!r} must end with .toml")
    if job is not None and job.exists():
        refuse(f"{str(job)!r} is there already; choose another name, or delete it")
    if job is None and (more := flags_given(whole, _LATER)):
        refuse(f"{', '.join(more)}: for 'cellveil protect'; leave out, or write a job with --job")
    found, records, given = _found(sources, whole, rules or None)
    facts = asdict(found)
    texts = {} if job is None else _job_texts(job, whole, records, found, given)

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
    advice = [*_advice(found)]
    if sources:
        first = next(iter(found.tables[0].sensitive))
        advice += (line for one in sources for line in joinings(one, first))
    else:
        following = _first_dimensions(found, whole)
    finish(facts, [*advice, following], show=lambda: _show(found), to=Facts(summary), write=write)


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


_OF_TABLES = ("missing", "total", "weight", "shadow", "hierarchy", "recode")
"""Fields of the data that say nothing of columns alone."""

_LATER = ("memory", "empty", "apriori", "apriori_unknown")
"""Fields of the data that matter when the table is protected, and stand in the job."""


def _found(
    sources: Sequence[Source], whole: Source, rules: Sequence[str] | None
) -> tuple[Inspection, Any, dict[str, Path]]:
    """Return what was found, the records, and the files of the hierarchies that were given."""
    total = totals_of(whole)
    roots, _ = total_codes(total, whole.by)
    given = _single(read_hierarchies(whole.hierarchy, roots), set(whole.by))
    files = {name: path for name, (path, _) in given.items()}
    if whole.aggregated or whole.tab or whole.cross:
        return inspect_tables([read_table(source) for source in sources], rules), None, files
    records, trees = read_records(whole, {name: tree for name, (_, tree) in given.items()})
    found = look(
        records, [source.by for source in sources], whole.value, contributor=whole.contributor,
        weight=whole.weight, shadow=whole.shadow, missing=whole.missing, rules=rules, total=total,
        missing_values=None if whole.missing_values == "error" else whole.missing_values,
        negative=None if whole.negative == "error" else whole.negative, decimals=whole.decimals,
        round=whole.round,
        hierarchies=trees,
    )  # fmt: skip
    return found, records, files


def _job_texts(
    job: Path, source: Source, records: Any, found: Inspection, given: dict[str, Path]
) -> dict[Path, str]:
    """Text of each file of the job: hierarchies that were not `given`, then the job itself."""
    keys = written(source, DATA)
    if source.value is not None and any("negative" in words for words in found.problems):
        keys.setdefault("negative", "abs")
    if any("missing=" in words for words in found.problems):
        keys.setdefault("missing", "unknown")
    if any("missing_values=" in words for words in found.problems):
        keys.setdefault("missing_values", "drop")
    trees = {n: Hierarchy.from_columns(records, chain) for n, chain in found.hierarchies.items()}
    places = {name: job.parent / (re.sub(r"[^\w-]", "_", name) + ".hrc") for name in trees}
    taken = [path for path in places.values() if path.exists()]
    if taken:
        refuse(f"{str(taken[0])!r} is there already; move it, or put the job into another folder")
    total = totals_of(source) or {}
    first = next(iter(found.tables[0].sensitive))
    text = draft(
        found, source.data, folder=job.parent, rules=first, options=keys,
        hierarchies=given | places,
        totals=dict.fromkeys(source.by, total) if isinstance(total, str) else total,
        recode=dict(hierarchy_of(text, source.by) for text in source.recode),
    )  # fmt: skip
    return {places[name]: tree.to_hrc() for name, tree in trees.items()} | {job: text}


def _show(found: Inspection) -> None:
    console = terminal()
    owners = "" if found.contributors is None else f", {found.contributors:,} contributors"
    if not found.columns:
        console.print(f"{found.records:,} cells")
    else:
        console.print(f"{found.records:,} records{owners}")
    grid = _grid(("column", "codes", "missing", "kind", "lies within"))
    for column in found.columns:
        grid.add_row(
            Text(printable(column.name)), f"{column.codes:,}", f"{column.missing:,}",
            "numbers" if column.numbers else "texts",
            Text(printable(" > ".join(column.within))),
        )  # fmt: skip
    if found.columns:
        console.print(grid)
    if not found.tables:
        return
    grid = _grid(("", *(printable(" x ".join(table.by)) for table in found.tables)))
    told: dict[str, list[int | None]] = {
        "cells, margins included": [table.cells for table in found.tables],
        "  without contributors": [table.empty for table in found.tables],
        "  with one": [table.single for table in found.tables],
        "  with two": [table.double for table in found.tables],
    }
    for rule in found.tables[0].sensitive:
        told[f"sensitive by {rule}"] = [table.sensitive[rule] for table in found.tables]
    for words, counts in told.items():
        grid.add_row(words, *("" if count is None else f"{count:,}" for count in counts))
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
    largest = max((table.cells for table in found.tables), default=0)
    if largest > 50_000:
        yield f"{largest:,} cells: expect a safe pattern in a minute or so, a good one in ten."


def _first_dimensions(found: Inspection, source: Source) -> str:
    """Say that dimensions are to be named, by the example of the first columns that may be some."""
    taken = (source.value, source.contributor, source.weight, source.shadow)
    few = [
        column.name for column in found.columns
        if column.codes > 1 and column.name not in taken and not is_fine(column, found.records)
    ]  # fmt: skip
    example = f", as in --by {','.join(few[:2])}" if few else ""
    return f"Name the dimensions of a table{example}, to see what rules would mark."


def _grid(heads: tuple[str, ...]) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, head in enumerate(heads):
        left = number == 0 or head in ("kind", "lies within")
        grid.add_column(head, justify="left" if left else "right", overflow="fold")
    return grid
