"""A job as it was read: tables with their sources, the mechanism, the solver and the outputs."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.io.inputs import hierarchy_of, read_rules, text_file
from cellveil.io.source import Source
from cellveil.jobs.batch import read_batch
from cellveil.jobs.keys import DATA, SECTIONS, checked
from cellveil.jobs.record import record_path
from csp.errors import InputError, phrase
from csp.formats.reading import MAX_DESCRIPTION_BYTES, chunks, read_text
from csp.mechanism import Mechanism

__all__ = ["Job", "TableJob", "is_outside", "naming", "read_job"]

_AS_GIVEN = (
    *("value", "contributor", "weight", "aggregated", "count", "negative", "decimals", "missing"),
    *("absent_zero", "memory", "empty", "apriori_unknown", "sheet", "shadow"),
)
"""Keys of [data] that a source takes as they are."""

_SPECIAL = {"rda": "layout", "sep": "separator", "na": "not_available", "primary": "by_hand"}

_OPTIONS = {f"--{option}" for option in _SPECIAL} | {
    f"--{key.name.replace('_', '-')}" for keys in SECTIONS.values() for key in keys
}
"""Options whose work a key of a job does."""

_NAME = re.compile(r"[^\w.+ -]")

_LONGEST = 200
"""Bytes of a name made of columns: file systems take 255, its ending included."""


@dataclass(frozen=True, slots=True)
class TableJob:
    """One table of a job: its name, and where it comes from."""

    name: str
    source: Source

    @property
    def of(self) -> tuple[Any, ...]:
        """Equal for tables over the same records and values, which share cells.

        How codes and signs are read does not matter: an attacker has the cells.
        """
        s = self.source
        columns = (s.value, s.contributor, s.weight, s.shadow)
        return (s.sheet, columns, s.aggregated)


@dataclass(frozen=True, slots=True)
class Job:
    """What a job file asks for: sections as they were written.

    Notes say what is done otherwise than a batch file says; `record` is where the internal record
    of a run goes.
    """

    path: Path
    tables: tuple[TableJob, ...]
    rules: Mapping[str, Any]
    solver: Mapping[str, Any]
    output: Mapping[str, Any]
    record: Path
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where results go."""
        return self.path.parent / str(self.output.get("folder", "published"))

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files that are read, each once."""
        found = [self.path]
        for table in self.tables:
            source = table.source
            found.append(source.data)
            found += [path for path in (source.rda, source.apriori) if path is not None]
            found += [Path(hierarchy_of(text, source.by)[1]) for text in source.hierarchy]
        if "by_hand" in self.rules:
            found.append(self.path.parent / self.rules["by_hand"])
        return tuple(dict.fromkeys(found))

    @property
    def groups(self) -> tuple[tuple[TableJob, ...], ...]:
        """Tables that are protected together, in the order of the file."""
        places = {Path(os.path.realpath(table.source.data)) for table in self.tables}
        found: dict[tuple[Any, ...], list[TableJob]] = {}
        for table in self.tables:
            place = Path(os.path.realpath(table.source.data))
            # The same records under another name, or packed, share cells as well.
            data = _content(place) if len(places) > 1 else ""
            found.setdefault((data, *table.of), []).append(table)
        return tuple(tuple(group) for group in found.values())

    def mechanism(self, by: tuple[str, ...]) -> Mechanism:
        """Return the mechanism; cells named by hand have the dimensions `by`."""
        named = any(t.source.apriori is not None or t.source.tab for t in self.tables)
        options = {k: v for k, v in self.rules.items() if k not in ("sensitive", "by_hand")}
        hand = self.rules.get("by_hand")
        rule, _ = read_rules(
            self.rules["sensitive"], None if hand is None else self.path.parent / hand, by,
            named=named,
        )  # fmt: skip
        return Mechanism(rule, **options)


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
    job = Job(
        path,
        tuple(tables),
        given["rules"],
        given["solver"],
        given["output"],
        record_path(path),
        notes,
    )
    if "by_hand" not in given["rules"]:
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
        return tomllib.loads(read_text(path, most=MAX_DESCRIPTION_BYTES))
    except RecursionError:
        refuse(f"{str(path)!r} is not a job: brackets are nested too deeply")
    except ValueError as error:  # a number of thousands of digits is one too
        msg = f"{str(path)!r} is not a TOML file: {error}"
        raise InputError(msg) from error


def _source(folder: Path, given: Mapping[str, Any], one: Mapping[str, Any]) -> Source:
    own = {key.name for key in DATA}
    data = {**given["data"], **{k: v for k, v in one.items() if k in own}}
    if "file" not in data:
        refuse('no data; add file = "..." to [data] or to the table')
    by = tuple(one["by"])
    dimensions = {name for table in given["table"] for name in table["by"]}
    unknown = [n for n in (*given["totals"], *given["hierarchies"]) if n not in dimensions]
    if unknown:
        refuse(f"{unknown[0]!r} of [hierarchies] or [totals] is not a dimension of any table")
    path = folder / data["file"]
    missing = data.get("not_available")
    files: dict[str, Any] = {
        "rda": folder / data["layout"] if "layout" in data else None,
        "apriori": folder / data["apriori"] if "apriori" in data else None,
        "text": text_file(
            path, data.get("separator"), data.get("decimal"), data.get("encoding"),
            None if missing is None else ",".join(missing),
        ),
        "hierarchy": tuple(
            f"{name}={folder / file}"
            for name, trees in given["hierarchies"].items() if name in by
            for file in ([trees] if isinstance(trees, str) else trees)
        ),
    }  # fmt: skip
    _, looked_at = read_rules(_without_hand(given["rules"]["sensitive"]), None, by)
    return Source(
        path, by, keep=looked_at, top=tuple(data.get("top", ())),
        tolerance=str(data.get("tolerance", 0)),
        total=tuple(f"{n}={code}" for n, code in given["totals"].items() if n in by),
        **files, **{key: data[key] for key in _AS_GIVEN if key in data},
    )  # fmt: skip


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
        words = re.sub(r"--([a-z][a-z-]*)", lambda m: _key(m[1]), error.in_options(_OPTIONS))
        msg = f"{', table '.join(places)}: {words}"
        raise InputError(msg) from error


def _key(option: str) -> str:
    """Key that stands for an option of the command line."""
    return _SPECIAL.get(option, option.replace("-", "_"))
