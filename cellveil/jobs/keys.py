"""What may stand in a job: sections, keys, what each takes, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from cellveil.front import refuse
from cellveil.io.results import FORMATS

__all__ = ["SECTIONS", "Key", "checked", "template"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a job: its kind, what it means, and an example in TOML for the template.

    It may have to be one of the `choices`; a list of such texts may be one text.
    """

    name: str
    kind: str
    words: str
    example: str
    choices: tuple[str, ...] = ()


KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "text": (str, "text in quotes"),
    "texts": (list, 'a list of texts, such as ["region", "sector"]'),
    "number": ((int, float), "a number"),
    "whole": (int, "a whole number"),
    "flag": (bool, "true or false"),
}

DATA = (
    Key("file", "text", "records: .csv, .parquet, .xlsx, .asc, .tab", '"survey.csv"'),
    Key("sheet", "text", "sheet of an Excel workbook", '"2026"'),
    Key("value", "text", "column to add up; without it records are counted", '"turnover"'),
    Key("contributor", "text", "column that says who reports", '"enterprise"'),
    Key("weight", "text", "column of sampling weights", '"weight"'),
    Key("shadow", "text", "column that rules judge in place of the value", '"employment"'),
    Key("layout", "text", "record layout of an .asc file (.rda)", '"survey.rda"'),
    Key("aggregated", "flag", "the data has one row per cell", "false"),
    Key("count", "text", "of aggregated data: column of contributors", '"firms"'),
    Key("top", "texts", "of aggregated data: columns of largest contributions", '["max1", "max2"]'),
    Key("absent_zero", "flag", "of aggregated data: cells without a row are 0", "false"),
    Key("tolerance", "number", "of aggregated data: how far margins may be off", "0"),
    Key(
        "negative",
        "text",
        "negative contributions; of aggregated data: allow",
        '"error"',
        ("error", "abs", "shift", "split", "allow"),
    ),
    Key("decimals", "whole", "decimal places of values", "2"),
    Key("missing", "text", "code for records that lack one", '"unknown"'),
    Key("separator", "text", "what separates columns", '";"'),
    Key("decimal", "text", "decimal mark", '","'),
    Key("encoding", "text", "encoding of a text file", '"cp1252"'),
    Key("not_available", "texts", "texts that stand for no value", '["NA", "."]'),
    Key("apriori", "text", "tau-ARGUS a-priori file (.hst) of a table", '"cells.hst"'),
    Key(
        "apriori_unknown",
        "text",
        "its lines about cells that are not there",
        '"error"',
        ("error", "skip"),
    ),
    Key("empty", "text", "combinations of codes without records", '"keep"', ("keep", "drop")),
    Key("memory", "text", "memory to take for records", '"2GB"'),
)

SECTIONS: dict[str, tuple[Key, ...]] = {
    "data": DATA,
    "table": (
        Key("name", "text", "of its files", '"region-sector"'),
        Key("by", "texts", "columns of the dimensions", '["region", "sector"]'),
        *DATA,
    ),
    "rules": (
        Key("sensitive", "text", "in tau-ARGUS's words", '"P(10,1)|FREQ(3,10)"'),
        Key("by_hand", "text", "file of cells named as sensitive, for MAN(...)", '"cells.csv"'),
        Key("width", "number", "least width of every sensitive cell's interval", "10"),
        Key("strict", "flag", "wider than the width", "false"),
        Key("cost", "text", "suppress few cells, or little value", '"unit"', ("unit", "value")),
        Key("margins", "text", "of margins", '"suppress"', ("suppress", "publish")),
        Key("singletons", "flag", "guard against lone contributors", "true"),
        Key("unions", "flag", "sums of suppressed cells must pass the rules", "false"),
        Key("integer", "flag", "the attacker knows that cells are whole units", "true"),
    ),
    "solver": (
        Key("method", "text", "auto, cuts, branch, large, small, ilp or ilp:NAME", '"auto"'),
        Key("time_limit", "number", "seconds for each table, or group of linked ones", "600"),
        Key("gap", "number", "stop within this share of the optimum", "0.01"),
    ),
    "output": (
        Key("folder", "text", "where results go", '"published"'),
        Key("format", "texts", "of tables, one or several", '["csv", "sdmx"]', tuple(FORMATS)),
        Key("structure", "text", "dataflow of SDMX, AGENCY:ID(VERSION)", '"ESTAT:NAMA(1.0)"'),
        Key("intervals", "flag", "add what can be inferred, in formats with room", "false"),
        Key("report", "flag", "an HTML page to read", "true"),
        Key("attacks", "flag", "run every attack that applies, for the report", "false"),
        Key("reveal", "flag", "show suppressed values: for internal use only", "false"),
    ),
}  # fmt: skip
"""Sections that hold keys; `hierarchies` and `totals` hold columns."""

FREE = {
    "hierarchies": ("file of a column's hierarchy (.hrc), or several", 'region = "region.hrc"'),
    "totals": ("code of a column's total", 'region = "Total"'),
}
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
    section: Any, keys: tuple[Key, ...] | None, needed: tuple[str, ...], where: str
) -> None:
    if not isinstance(section, Mapping):
        refuse(f"{where} must hold keys, such as name = value")
    known = {} if keys is None else {key.name: key for key in keys}
    for name, given in section.items():
        if keys is not None and name not in known:
            refuse(f"{where}: {name!r} is not a key; {_nearest(name, known)}")
        free = "texts" if isinstance(given, list) and where.endswith("[hierarchies]") else "text"
        _check_value(given, known.get(name, Key(name, free, "", "")), f"{where}: {name!r}")
    for name in needed:
        if name not in section:
            refuse(f"{where}: {name!r} is missing; add {name} = {known[name].example}")


def _check_value(given: Any, key: Key, where: str) -> None:
    if key.kind == "texts" and key.choices and isinstance(given, str):
        given = [given]
    kinds, words = KINDS[key.kind]
    right = isinstance(given, kinds) and isinstance(given, bool) == (key.kind == "flag")
    if key.kind == "texts" and right:
        right = bool(given) and all(isinstance(text, str) for text in given)
    if not right:
        refuse(f"{where} must be {words}, not {given!r}")
    for one in given if key.kind == "texts" else [given]:
        if key.choices and one not in key.choices:
            refuse(f"{where} is {one!r}; it must be one of {', '.join(key.choices)}")


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
    order = ("data", "hierarchies", "totals", "table", "rules", "solver", "output")
    for name in order:
        head = "[[table]]" if name == "table" else f"[{name}]"
        lines += ["", head]
        if name in FREE:
            words, example = FREE[name]
            lines.append(f"# {example:<40} # {words}")
            continue
        if name == "table":
            lines.append("# one for each table; keys of [data] may stand here too, for one table")
        for key in SECTIONS[name]:
            if name == "table" and key in DATA:
                continue
            mark = "" if key.name in given.get(name, ()) else "# "
            lines.append(f"{mark + key.name + ' = ' + key.example:<42} # {key.words}")
    return "\n".join(lines) + "\n"
