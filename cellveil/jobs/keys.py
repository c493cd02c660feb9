"""What may stand in a job: sections, keys, what each takes, and what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from decimal import Decimal
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

from cellveil.front import refuse
from cellveil.io.results import FORMATS
from cellveil.requests.option import Field, fields_of, option, values_of
from cellveil.requests.outputs import House, Shown
from cellveil.requests.requirements import Requirements
from cellveil.requests.search import Search
from cellveil.requests.source import Source


@dataclass(frozen=True, slots=True)
class File:
    """Data of a job."""

    file: Path = option(
        "Records: .csv, .parquet, .xlsx, .asc, .tab.", "", '"survey.csv"', default=MISSING
    )


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a job."""

    name: str = option("Of its files.", "", '"region-sector"', default=MISSING)
    by: tuple[str, ...] = option(
        "Columns of the dimensions.", "", '["region", "sector"]', default=MISSING
    )


@dataclass(frozen=True, slots=True)
class Folder:
    """What a job writes, and what is shown."""

    folder: str = option("Where results go.", "", '"published"', default="published")
    format: tuple[str, ...] = option(
        "Of tables, one or several.",
        "",
        '["csv", "sdmx"]',
        default=("csv",),
        choices=tuple(FORMATS),
    )
    structure: str | None = option("Dataflow of SDMX, AGENCY:ID(VERSION).", "", '"ESTAT:NAMA(1.0)"')
    report: bool = option("An HTML page to read.", "", "true", default=False)
    history: str | None = option(
        "Folder for the release of each run: what the last one suppressed stays so, all are "
        "attacked together, what changed is said.",
        "",
        '"history"',
    )
    house: House = House()
    shown: Shown = Shown()

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", tuple(dict.fromkeys(self.format)))


def _keys(*requests: type) -> tuple[Field, ...]:
    return tuple(
        field
        for request in requests
        for field in fields_of(request)
        if field.option.example and field.kind != "by column"
    )


DATA = _keys(File, Source)

SECTIONS: dict[str, tuple[Field, ...]] = {
    "data": DATA,
    "table": (*_keys(Table), *DATA),
    "rules": _keys(Requirements),
    "solver": _keys(Search),
    "output": _keys(Folder),
}
"""Sections that hold keys; `FREE` ones hold columns."""

KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "names": (list, 'a list of texts, such as ["region", "sector"]'),
    "repeated": (list, 'a list of texts, such as ["one", "two"]'),
    "amount": ((int, float, Decimal), "a number"),
    "number": ((int, float, Decimal), "a number"),
    "whole": (int, "a whole number"),
    "flag": (bool, "true or false"),
}
"""Types of TOML by the kind of a field, and their names; others are text."""

FREE = {
    field.key: field
    for request in (Source, Requirements)
    for field in fields_of(request) if field.kind == "by column"
}  # fmt: skip
"""Sections whose keys are columns."""

NEEDED = {"table": ("by",), "rules": ("sensitive",)}


def checked(job: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check sections, keys and kinds of a job of the file `where`; all sections are returned.

    Raises
    ------
    InputError
        For anything unknown (with the nearest right spelling), missing, or of the wrong kind.
    """
    known = [*SECTIONS, *FREE]
    for name in job:
        if name not in known:
            refuse(f"{where}: [{name}] is not a section; {_nearest(name, known)}")
    found: dict[str, Any] = {name: {} for name in known} | dict(job)
    tables = found["table"] or []
    if isinstance(tables, Mapping):
        tables = [tables]
    if not isinstance(tables, list):
        refuse(f"{where}: table must be a section, [[table]] with by = [...]")
    found["table"] = tables
    if not tables:
        refuse(f"{where}: there is no table; add [[table]] with by = [...]")
    for name, keys in SECTIONS.items():
        several = enumerate(tables, 1) if name == "table" else [(0, found[name])]
        for number, section in several:
            called = f"{where}, table {number}" if number else f"{where}, [{name}]"
            _check_section(section, keys, NEEDED.get(name, ()), called)
    for name in FREE:
        _check_section(found[name], None, (), f"{where}, [{name}]")
    return found


def _check_section(
    section: Any, keys: tuple[Field, ...] | None, needed: tuple[str, ...], where: str
) -> None:
    if not isinstance(section, Mapping):
        refuse(f"{where} must hold keys, such as name = value")
    known = {} if keys is None else {key.key: key for key in keys}
    for name, given in section.items():
        if keys is not None and name not in known:
            refuse(f"{where}: {name!r} is not a key; {_nearest(name, known)}")
        several = isinstance(given, list) and where.endswith("[hierarchies]")
        kind = "names" if several else _kind(known[name]) if name in known else "text"
        choices = known[name].choices if name in known else ()
        _check_value(given, kind, choices, f"{where}: {name!r}")
    for name in needed:
        if name not in section:
            refuse(f"{where}: {name!r} is missing; add {name} = {known[name].option.example}")


def _kind(field: Field) -> str:
    """Kind of a field in a job, where a switch that turns nothing else is a flag."""
    if field.kind == "switch":
        return "choice" if field.option.turns else "flag"
    return field.kind


def _check_value(given: Any, kind: str, choices: tuple[str, ...], where: str) -> None:
    if kind == "names" and choices and isinstance(given, str):
        given = [given]
    types, words = KINDS.get(kind, (str, "text in quotes"))
    right = isinstance(given, types) and isinstance(given, bool) == (kind == "flag")
    if kind in ("names", "repeated") and right:
        right = bool(given) and all(isinstance(text, str) for text in given)
    if not right:
        shown = str(given) if isinstance(given, Decimal) else repr(given)
        refuse(f"{where} must be {words}, not {shown}")
    for one in given if kind == "names" else [given]:
        if choices and one not in choices:
            refuse(f"{where} is {one!r}; it must be one of {', '.join(choices)}")


def taken(section: Mapping[str, Any], keys: tuple[Field, ...], folder: Path) -> dict[str, Any]:
    """Fields of requests from a section that was checked; paths are seen from `folder`."""
    known = {key.key: key for key in keys}
    found = {}
    for name, given in section.items():
        if name not in known:
            continue
        match known[name].kind:
            case "file":
                given = folder / given
            case "amount":
                given = str(given)
            case "number":
                given = float(given)
            case "repeated":
                given = tuple(given)
            case "names":
                given = (given,) if isinstance(given, str) else tuple(given)
                if known[name].option.blanks:
                    given = tuple(text for text in given if text.strip())
        found[known[name].name] = given
    return found


def written(request: Any, keys: tuple[Field, ...]) -> dict[str, Any]:
    """Keys of a section that ask for a request: what `taken` makes of them is the same again.

    Only what differs from what is done where nothing is said.
    """
    values = values_of(request)
    return {
        key.key: _toml(values[key.name], key.kind)
        for key in keys if key.name in values and values[key.name] != key.default
    }  # fmt: skip


def _toml(value: Any, kind: str) -> Any:
    if kind == "amount":
        return Decimal(value)
    if kind == "file":
        return str(value.resolve())
    if isinstance(value, tuple):
        return list(value) or [""]  # nothing but the empty text
    return value


_OPTIONS = {
    flag.lstrip("-"): field.key
    for keys in SECTIONS.values() for field in keys for flag in field.flags
} | {field.flags[0].lstrip("-"): name for name, field in FREE.items()}  # fmt: skip

OPTIONS = frozenset(f"--{option}" for option in _OPTIONS)
"""Options of the command line whose work a key of a job does."""


def in_keys(words: str) -> str:
    """Words of a message or of an option with keys of a job in place of options."""
    return re.sub(r"--([a-z][a-z-]*)", lambda m: _OPTIONS.get(m[1], m[1].replace("-", "_")), words)


def _nearest(name: str, known: Any) -> str:
    near = get_close_matches(name, list(known), 1, 0.5)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"


def template() -> str:
    """Job with every key: what must be there as an example, the rest as comments."""
    lines = [
        "# A job of cellveil: run it with  cellveil run FILE",
        "# Paths are seen from the folder of this file. Tables of the same data are linked: they",
        "# share cells, and are protected and audited together.",
    ]
    given = {"data": ("file",), "table": ("name", "by"), "rules": ("sensitive",)}
    given |= {"output": ("folder", "report")}
    order = ("data", *FREE, "table", "rules", "solver", "output")
    for name in order:
        head = "[[table]]" if name == "table" else f"[{name}]"
        lines += ["", head]
        if name in FREE:
            lines += _commented(f"# region = {FREE[name].option.example}", FREE[name])
            continue
        if name == "table":
            lines.append("# one for each table; keys of [data] may stand here too, for one table")
        for key in SECTIONS[name]:
            if name == "table" and key in DATA:
                continue
            mark = "" if key.key in given.get(name, ()) else "# "
            lines += _commented(f"{mark}{key.key} = {key.option.example}", key)
    return "\n".join(lines) + "\n"


def _commented(text: str, key: Field) -> list[str]:
    """Line of a key with what it means beside it."""
    words = wrap(in_keys(key.option.words), 55)
    return [f"{part:<42} # {line}" for part, line in zip_longest((text,), words, fillvalue="")]
