"""A job as it was read: tables with their sources, the mechanism, the solver and the outputs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from cellveil.front import refuse
from cellveil.io.inputs import hierarchy_of, mechanism_of, read_rules
from cellveil.jobs.batch import read_batch
from cellveil.jobs.keys import (
    DATA,
    FREE,
    OPTIONS,
    SECTIONS,
    Folder,
    checked,
    in_keys,
    taken,
)
from cellveil.jobs.record import record_path
from cellveil.requests.option import made
from cellveil.requests.requirements import Requirements
from cellveil.requests.search import Search
from cellveil.requests.source import Source
from csp.errors import InputError, phrase
from csp.formats.reading import MAX_DESCRIPTION_BYTES, chunks, read_text
from csp.mechanism import Mechanism

T = TypeVar("T")

_NAME = re.compile(r"[^\w.+ -]")

_LONGEST = 200
"""Bytes of a name made of columns: file systems take 255, its ending included."""


@dataclass(frozen=True, slots=True)
class TableJob:
    """One table of a job: its name, and where it comes from."""

    name: str
    source: Source

    @property
    def cells(self) -> tuple[Any, ...]:
        """Equal for tables of the same values, over the same records, which share cells.

        How codes and signs are read does not matter: an attacker has the cells.
        """
        s = self.source
        return (s.sheet, s.value, s.weight, s.aggregated, s.cross)

    @property
    def judged(self) -> dict[str, str | None]:
        """Columns that say how the cells are judged, and not what they are."""
        return {"contributor": self.source.contributor, "shadow": self.source.shadow}


@dataclass(frozen=True, slots=True)
class Job:
    """What a job file asks for.

    Notes say what is done otherwise than a batch file says; `record` is where the internal record
    of a run goes.
    """

    path: Path
    tables: tuple[TableJob, ...]
    asked: Requirements
    search: Search
    output: Folder
    record: Path
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where results go."""
        return self.path.parent / self.output.folder

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files that are read, each once."""
        found = [self.path]
        for table in self.tables:
            source = table.source
            found.append(source.data)
            found += [path for path in (source.rda, source.apriori) if path is not None]
            named = [hierarchy_of(text, source.by)[1] for text in source.hierarchy + source.recode]
            found += [Path(name) for name in named if not name.isdecimal()]
        found += [one for one in (self.asked.primary, self.asked.earlier.keep) if one is not None]
        found += [Path(text.partition("=")[2]) for text in self.asked.earlier.keep_codes]
        return tuple(dict.fromkeys(found))

    @property
    def groups(self) -> tuple[tuple[TableJob, ...], ...]:
        """Tables that are protected together, in the order of the file.

        Raises
        ------
        InputError
            If tables of the same values are judged by different columns: they share cells, and
            cannot be linked.
        """
        places = {Path(os.path.realpath(table.source.data)) for table in self.tables}
        found: dict[tuple[Any, ...], list[TableJob]] = {}
        for table in self.tables:
            place = Path(os.path.realpath(table.source.data))
            # The same records under another name, or packed, share cells as well.
            data = _content(place) if len(places) > 1 else ""
            group = found.setdefault((data, *table.cells), [])
            for key, column in table.judged.items():
                if group and column != group[0].judged[key]:
                    refuse(
                        f"{self.path.name}: tables {group[0].name!r} and {table.name!r} are of the "
                        f"same values and differ in {key!r}, so they share cells and cannot be "
                        "protected together; say it once, in [data]"
                    )
            group.append(table)
        return tuple(tuple(group) for group in found.values())

    def mechanism(self, by: tuple[str, ...]) -> Mechanism:
        """Return the mechanism; cells named by hand have the dimensions `by`."""
        named = any(t.source.apriori is not None or t.source.tab for t in self.tables)
        return mechanism_of(self.asked, by, named=named)[0]


def read_job(path: Path, *, anywhere: bool = False) -> Job:
    """Read a job, in TOML or a τ-ARGUS batch file (.arb), and check what needs no data.

    Its results go below the folder of the job, or with `anywhere` wherever it says: a job that
    somebody else wrote must not overwrite files elsewhere.

    Raises
    ------
    InputError
        If the file cannot be read or is not TOML, or for a wrong section, key or value: file,
        section and key are named.
    """
    batch = path.suffix.lower() == ".arb"
    raw, notes = read_batch(path) if batch else (_toml(path), ())
    where = path.name
    given = checked(raw, where)
    target = str(given["output"].get("folder", "published"))
    if not anywhere and is_outside(target):
        refuse(
            f"{where}, [output]: the folder {target!r} lies outside that of the job; name one "
            "below it, or allow it with " + phrase("read_job(path, anywhere=True)", "--anywhere")
        )
    history = given["output"].get("history")
    if history is not None and is_outside(history):
        refuse(f"{where}, [output]: the history {history!r} lies outside the folder of the job")
    tables: list[TableJob] = []
    for number, one in enumerate(given["table"], 1):
        name = one.get("name", _file_name("-".join(one["by"])))
        if _NAME.search(name) or name.startswith("."):
            refuse(f"{where}, table {number}: name {name!r} cannot be that of a file; use letters")
        if name in [table.name for table in tables]:
            refuse(
                f"{where}, table {number}: there are two tables {name!r}; give each its own name"
            )
        with naming(where, name):
            tables.append(TableJob(name, _source(path.parent, given, one)))

    def of(request: type[T], name: str, **more: Any) -> T:
        with naming(f"{where}, [{name}]"):
            return made(request, taken(given[name], SECTIONS[name], path.parent) | more)

    codes = tuple(f"{name}={path.parent / file}" for name, file in given["keep_codes"].items())
    asked = of(Requirements, "rules", keep_codes=codes)
    job = Job(
        path, tuple(tables), asked, of(Search, "solver"), of(Folder, "output"), record_path(path),
        notes,
    )  # fmt: skip
    if job.output.history is None:
        with naming(f"{where}, [rules]"):
            asked.earlier.check()
    if asked.primary is None:
        with naming(f"{where}, [rules]"):
            job.mechanism(tables[0].source.by)
    return job


def _content(path: Path) -> str:
    """SHA-256 of what a file holds, unpacked; its name where it cannot be read."""
    try:
        found = path.stat()
    except OSError:
        return str(path)
    return _hashed(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _hashed(path: Path, size: int, time: int) -> str:
    del size, time  # a file that changes is hashed anew
    known = sha256()
    try:
        for chunk in chunks(path):
            known.update(chunk)
    except InputError:
        return str(path)
    return known.hexdigest()


def is_outside(folder: str) -> bool:
    """Whether a folder of results is not below that of its job."""
    return Path(folder).is_absolute() or ".." in Path(folder).parts


def _file_name(text: str) -> str:
    """Name of the files of a table that has none of its own: columns may have any name."""
    safe = _NAME.sub("_", text).lstrip(".")
    return safe.encode()[:_LONGEST].decode(errors="ignore").rstrip(" .") or "table"


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = read_text(path, most=MAX_DESCRIPTION_BYTES)
        return tomllib.loads(text, parse_float=Decimal)  # as it was written
    except RecursionError:
        refuse(f"{str(path)!r} is not a job: brackets are nested too deeply")
    except ValueError as error:  # a number of thousands of digits is one too
        msg = f"{str(path)!r} is not a TOML file: {error}"
        raise InputError(msg) from error


def _source(folder: Path, given: Mapping[str, Any], one: Mapping[str, Any]) -> Source:
    data = taken({**given["data"], **one}, DATA, folder)
    if "file" not in data:
        refuse('no data; add file = "..." to [data] or to the table')
    by = tuple(one["by"])
    dimensions = {name for table in given["table"] for name in table["by"]}
    named = [name for section in FREE for name in given[section]]
    unknown = [name for name in named if name not in dimensions]
    if unknown:
        refuse(
            f"{unknown[0]!r} is not a dimension of any table; it stands in "
            + " or ".join(f"[{section}]" for section in FREE if unknown[0] in given[section])
        )
    trees = tuple(
        f"{name}={folder / file}"
        for name, files in given["hierarchies"].items() if name in by
        for file in ([files] if isinstance(files, str) else files)
    )  # fmt: skip
    totals = tuple(f"{name}={code}" for name, code in given["totals"].items() if name in by)
    recodes = tuple(
        f"{name}={file if file.isdecimal() else folder / file}"
        for name, file in given["recode"].items() if name in by
    )  # fmt: skip
    _, reads = read_rules(_without_hand(given["rules"]["sensitive"]), None, by)
    own = {"data": data.pop("file"), "by": by, "hierarchy": trees, "total": totals, "reads": reads}
    own["recode"] = recodes
    return made(Source, data | own)


def _without_hand(rules: str) -> str:
    """Rules that look at contributions: cells named by hand do not."""
    parts = [part for part in rules.split("|") if not part.strip().upper().startswith("MAN")]
    return "|".join(parts) or "FREQ(1,0)"


@contextmanager
def naming(*places: str) -> Iterator[None]:
    """Name the job and the table in an error, and keys instead of options."""
    try:
        yield
    except InputError as error:
        msg = f"{', table '.join(places)}: {in_keys(error.in_options(OPTIONS))}"
        raise InputError(msg) from error
