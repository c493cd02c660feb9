"""What a page has done apart from it: reading, looking, grouping, protecting.

A task names its file, and its answer holds counts, names and words: no value of the data.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.app.choices import Choices
from cellveil.app.work.comparisons import Compare, compared
from cellveil.app.work.publications import (
    Examine,
    Interpret,
    Recognise,
    examine,
    interpret,
    recognise,
)
from cellveil.app.work.records import Records
from cellveil.jobs.job import read_job
from cellveil.jobs.run import run_job
from csp.release_file import write_release
from csp.rules.inspection import Inspection, inspect, inspect_tables
from csp.solve import Progress
from csp.tables.hierarchies.hierarchy import Hierarchy

JOB = "job.toml"
"""Name of the job of a page, in the folder of its data."""


@dataclass(frozen=True, slots=True)
class Tell:
    """How a task says how far it is: in words, and by the progress of a search."""

    phase: Callable[[str], None]
    search: Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Read:
    """Read a file of records or a cross table, and answer its `Columns`."""

    data: Path


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of records; or dimensions of a cross table, of "counts" or "values"."""

    names: tuple[str, ...]
    cross: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Look at the records with these choices, and answer what was `Found`."""

    choices: Choices


@dataclass(frozen=True, slots=True)
class Found:
    """What `csp.inspect` finds, and a sentence that says how a text file was read."""

    facts: Inspection
    note: str


@dataclass(frozen=True, slots=True)
class Tree:
    """Read a hierarchy, and answer whether it is one by not failing."""

    file: Path


@dataclass(frozen=True, slots=True)
class Group:
    """Write hierarchies of columns that lie within others: chains, and files to be written."""

    data: Path
    chains: Mapping[Path, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Protect:
    """Run the job that lies beside the data, and answer its `Outcome`."""

    data: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: in words, and the files of its table and of its release."""

    words: str
    files: tuple[Path, ...]
    release: tuple[Path, ...]

    def file(self, suffix: str) -> Path:
        """File of the table or its report by the end of its name."""
        return next(file for file in self.files if file.name.endswith(suffix))


def perform(task: Any, records: Records, tell: Tell) -> Any:
    """Do a task; `records` are kept from one to the next.

    Raises
    ------
    CellveilError, OSError
        For files that cannot be read, choices that do not fit them, and tables that cannot be
        protected.
    """
    match task:
        case Read(data):
            kept = records.of(data, tell.phase)
            return Columns(kept.names, kept.cross, kept.note((), ()) if kept.cross else "")
        case Look(choices):
            return _look(choices, records, tell)
        case Tree(file):
            return Hierarchy.from_hrc(file).depth >= 0
        case Group(data, chains):
            kept = records.of(data, tell.phase)
            for file, chain in chains.items():
                tree = Hierarchy.from_columns(kept.for_numbers(()), chain)
                file.write_text(tree.to_hrc(), encoding="utf-8")
            return None
        case Protect(data):
            return _protect(data, records, tell)
        case Compare():
            return compared(task, records, tell.phase)
        case Recognise(data):
            tell.phase("looking at the file")
            return recognise(data)
        case Interpret():
            tell.phase("reading the table")
            return interpret(task, records)
        case Examine():
            tell.phase("working out what anyone can")
            return examine(task, records)
    msg = f"{type(task).__name__} is not a task"
    raise TypeError(msg)


def _look(choices: Choices, records: Records, tell: Tell) -> Found:
    kept = records.of(choices.data, tell.phase)
    tell.phase("counting cells")
    trees = {
        name: Hierarchy.from_hrc(path)
        for name, path in choices.hierarchies.items()
        if name in choices.by
    }
    rules = [choices.rules.text(values=choices.value is not None)]
    source = choices.source
    columns = (source.value, source.weight, source.shadow, source.count, *source.top)
    numbers = [name for name in columns if name is not None]
    if source.aggregated or source.cross:
        facts = inspect_tables([kept.table(source)], rules)
    else:
        facts = inspect(
            kept.for_numbers(numbers), source.by, source.value, contributor=source.contributor,
            weight=source.weight, shadow=source.shadow, missing=source.missing,
            negative=None if source.negative == "error" else source.negative,
            decimals=source.decimals, hierarchies=trees or None, rules=rules,
        )  # fmt: skip
    return Found(facts, kept.note([*choices.by, *numbers], numbers))


def _protect(data: Path, records: Records, tell: Tell) -> Outcome:
    kept = records.of(data, tell.phase)
    job = read_job(data.parent / JOB)
    (done,) = run_job(job, phase=tell.phase, progress=tell.search, tabulate=kept.table)
    release = data.parent / "release"
    shutil.rmtree(release, ignore_errors=True)
    release.mkdir()
    write_release(done.protected.release, release / "release.json", done.protected.mechanism)
    return Outcome(done.words, done.files, tuple(sorted(release.iterdir())))
