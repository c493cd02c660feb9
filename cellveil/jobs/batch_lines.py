"""The lines of τ-ARGUS batch files (.arb): what each verb asks for, or why it cannot be had."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Any

from cellveil.front import refuse
from csp.formats.apriori import SEPARATORS
from csp.formats.reading import MAX_DESCRIPTION_BYTES, read_text

_VERB = re.compile(r"<(\w+)>\s*(.*)")
_FILE = re.compile(r'"([^"]*)"|(\S+)')
_TABLE = re.compile(r'((?:"[^"]+"\s*)+)\|([^|]*)(?:\|([^|]*))?(?:\|([^|,]*))?(?:,(.*))?')
_CALL = re.compile(r"(\w+)\s*\(([^()]*)\)")
_APRIORI = re.compile(
    r'("[^"]*"|[^,]+?)\s*,\s*([0-9]{1,9})\s*,\s*"(.)"\s*(?:,\s*([01]?)\s*(?:,\s*([01]?))?)?'
)
_WRITE = re.compile(r'\(\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*,([^,]*),\s*("[^"]*"|[^")]+?)\s*\)')
_RECODE = re.compile(r'([0-9]{1,9})\s*,\s*("[^"]*"|[^,]+?)\s*,\s*("[^"]*"|[^,]+?)')
_OPTION = re.compile(r"[A-Z]{2}[+-]")

_REFUSED = {
    "COVER": "cover tables are not made; link the tables in one batch file",
    "ANCO": "ANCO is not known; take the line out",
    "JJ": "JJ problems are solved with 'cellveil suppress FILE.jj'",
    "CLEAR": "one batch file is one job; split it there",
}
_SAID = {
    "LOGBOOK": "no logbook is written; NAME.result.json beside the results has the facts",
    "GOINTERACTIVE": "no window is opened",
    "VERSIONINFO": "versions are in NAME.result.json beside the results",
    "SOLVER": "HiGHS is the solver",
}
_METHODS = {
    "RND": "rounds",
    "CTA": "adjusts values",
    "CKM": "adds noise by cell keys",
}
_FORMS = {1: "csv", 2: "csv", 3: "csv", 4: "argus"}
_FORM_REFUSED = {
    5: "holds suppressed values; set reveal = true in a job ('cellveil init --from')",
    6: "is a JJ file; write it with 'cellveil protect --jj'",
    7: "is of cell keys, which are not used",
}


@dataclass(slots=True)
class BatchTable:
    """What the lines said of one table so far."""

    by: list[str]
    value: str
    cost: str
    where: str
    rules: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    recode: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Batch:
    """What the lines said so far."""

    path: Path
    data: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    read: str = ""
    tables: list[BatchTable] = field(default_factory=list)
    suppressed: list[tuple[int, bool | None]] = field(default_factory=list)
    time_limit: float | None = None
    forms: dict[str, None] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_lines(path: Path) -> Batch:
    """Read the verbs of a batch file, one after the other."""
    batch = Batch(path)
    text = read_text(path, windows=True, most=MAX_DESCRIPTION_BYTES)
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.replace("\t", " ").strip(" \x1a")
        if not line or line.startswith(("//", "\\\\")):
            continue
        where = f"{path.name}, line {number}"
        found = _VERB.fullmatch(line)
        if found is None:
            refuse(f'{where}: a line must begin with a verb such as <OPENMICRODATA> "data.asc"')
        verb = {"APRIORY": "APRIORI"}.get(found[1].upper(), found[1].upper())
        if verb == "COMMENT":
            continue
        where = f"{where}, <{verb}>"
        if verb in _SAID:
            batch.notes.append(f"{where}: {_SAID[verb]}")
        elif verb in _VERBS:
            _VERBS[verb](batch, found[2].strip(), where)
        else:
            known = ", ".join([*_VERBS, *_SAID])
            refuse(f"{where}: {_REFUSED.get(verb, f'is not a verb; there are {known}')}")
    return batch


# ---- verbs ---------------------------------------------------------------------------------------


def _open(batch: Batch, rest: str, where: str, kind: str) -> None:
    if batch.kind:
        refuse(f"{where}: a second file of data; write one batch file for each")
    batch.kind, batch.data["file"] = kind, _near(batch.path, _name(rest, where))
    if kind == "table" and not batch.data["file"].lower().endswith(".tab"):
        refuse(f"{where}: {batch.data['file']!r} must end with .tab; rename it")


def _metadata(batch: Batch, rest: str, where: str) -> None:
    if not batch.kind:
        refuse(f"{where} stands before the data; open that first")
    if "layout" in batch.data:
        refuse(f"{where}: a second layout of the data; leave one out")
    batch.data["layout"] = _near(batch.path, _name(rest, where))


def _specify(batch: Batch, rest: str, where: str) -> None:
    found = _TABLE.fullmatch(rest)
    if found is None or "layout" not in batch.data:
        refuse(
            f'{where}: a table is "Variable""Variable"|"Response"|"Shadow"|"Cost", after '
            "<OPENMETADATA>"
        )
    response, shadow, cost = ((found[i] or "").strip().strip('"') for i in (2, 3, 4))
    power = (found[5] or "").strip()
    if power not in ("", "1"):
        refuse(f"{where}: costs to the power {power} are not known; leave it out")
    table = BatchTable(re.findall(r'"([^"]+)"', found[1]), response, cost, where)
    if shadow not in ("", response):
        table.keys["shadow"] = shadow
    batch.tables.append(table)


def _safety(batch: Batch, rest: str, where: str) -> None:
    if not batch.tables:
        refuse(f"{where} stands before <SPECIFYTABLE>; specify a table first")
    if batch.tables[-1].rules:
        refuse(f"{where}: a second line of rules for this table; join the two by |")
    batch.tables[-1].rules = re.sub(r"\s", "", rest).upper()


def _read(batch: Batch, rest: str, where: str, kind: str) -> None:
    if batch.kind != kind:
        other = "<OPENMICRODATA>" if kind == "records" else "<OPENTABLEDATA>"
        refuse(f"{where} is for data that {other} opened")
    if rest[:1] == "2":
        refuse(f"{where}: tables that do not add up are refused; correct the table and write 0")
    if rest[:1] == "1":
        batch.notes.append(
            f"{where}: missing totals are computed only where all are missing and there are values "
            "alone; numbers of contributors do not add up"
        )
    batch.read = where


def _apriori(batch: Batch, rest: str, where: str) -> None:
    found = _APRIORI.fullmatch(rest)
    if found is None:
        refuse(f'{where} is "FILE", table number, "separator", ignore errors (0 or 1), 0')
    table = _table(batch, int(found[2]), where)
    if found[5] == "1":
        refuse(f"{where}: trivial levels are not expanded; write a line for each cell, and 0")
    if found[3] not in SEPARATORS:
        refuse(f"{where}: separator {found[3]!r} is not ; , | or a tab")
    if "apriori" in table.keys:
        refuse(f"{where}: a second a-priori file of this table; join the two")
    table.keys["apriori"] = _near(batch.path, found[1].strip('"'))
    if found[4] != "0":
        table.keys["apriori_unknown"] = "skip"


def _recode(batch: Batch, rest: str, where: str) -> None:
    found = _RECODE.fullmatch(rest)
    if found is None:
        refuse(f'{where} is table number, "Variable", "FILE.grc" or a level')
    if batch.kind == "table":
        refuse(f"{where}: tables are not recoded here, as in tau-ARGUS; recode the records")
    table = _table(batch, int(found[1]), where)
    variable, file = (found[i].strip().strip('"') for i in (2, 3))
    named = next((name for name in table.by if name.lower() == variable.lower()), None)
    if named is None:
        refuse(f"{where}: table {found[1]} has no variable {variable!r}; it has {table.by}")
    if named in table.recode:
        refuse(f"{where}: {named!r} of this table is recoded before; leave one line out")
    table.recode[named] = file if file.isdecimal() else _near(batch.path, file)


def _suppress(batch: Batch, rest: str, where: str) -> None:
    found = _CALL.fullmatch(rest)
    if found is None:
        refuse(f"{where} is METHOD(table, ...), such as MOD(1,5,1,1,1)")
    method = found[1].upper()
    if method in _METHODS:
        refuse(
            f"{where}: {method} {_METHODS[method]}, and cellveil suppresses; take OPT, MOD, GH or "
            "NET"
        )
    given = [part.strip() for part in found[2].split(",")]
    numbers = [
        float(part) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", part) else None for part in given
    ]
    if any(n is None and part for n, part in zip(numbers, given, strict=True)):
        refuse(f"{where}: {found[2]!r} must be numbers with commas between them")
    number = int(numbers[0] or 0)
    if number:
        _table(batch, number, where)
    more = [n or 0 for n in numbers[1:]]
    singles: bool | None = None
    most = {"GH": 3, "MOD": 7, "OPT": 1, "NET": 0}
    if method not in most or len(more) > most[method]:
        what = f"{len(numbers)} numbers" if method in most else "not a method"
        refuse(
            f"{where}: {found[0]!r}: {what}; write OPT(table,minutes), MOD(...), GH(...) or "
            "NET(table)"
        )
    if method == "GH":
        if more and more[0] not in (0, 100):
            refuse(
                f"{where}: a priori bounds of {given[1]} percent are not obeyed; write 100, or set "
                "what an outsider knows (lower, upper) in Python"
            )
        singles = bool(more[2]) if len(more) > 2 else None
    elif method == "MOD":
        if any(more[4:]):
            refuse(f"{where}: limits on the costs of margins are not obeyed; leave them out")
        singles = any(more[1:4]) if len(more) > 1 else None
        if more and more[0]:
            batch.notes.append(f"{where}: minutes for a subtable limit nothing here; see [solver]")
    elif method == "OPT" and more and more[0]:
        batch.time_limit = max(batch.time_limit or 0.0, 60 * more[0])
    batch.suppressed.append((number, singles))


def _write(batch: Batch, rest: str, where: str) -> None:
    found = _WRITE.fullmatch(rest)
    if found is None:
        refuse(f'{where} is (table, type, options, "FILE"), such as (1,4,AS+,"safe.csv")')
    table, kind = _table(batch, int(found[1]), where), int(found[2])
    if kind not in _FORMS:
        refuse(f"{where}: type {kind} {_FORM_REFUSED.get(kind, 'is not known; there are 1 to 4')}")
    options = re.sub(r"[\s|]", "", found[3].upper())
    if _OPTION.sub("", options):
        refuse(f"{where}: options {found[3].strip()!r} are not written like AS+SE-")
    if "SE+" in options:
        batch.notes.append(f"{where}: SE+: empty cells have their rows all the same")
    name = found[4].strip('"')
    given = PureWindowsPath(name)
    foreign = bool(given.drive)
    batch.folders["published" if foreign else given.parent.as_posix()] = None
    batch.forms[_FORMS[kind]] = None
    if table.keys.setdefault("name", given.stem) != given.stem:
        refuse(
            f"{where}: this table is written as {table.keys['name']!r} before; a job has one name "
            "for it"
        )
    batch.notes.append(f"{where}: written as {given.stem}.{'sbs' if kind == 4 else 'csv'}")


_VERBS: Mapping[str, Any] = {
    "OPENMICRODATA": lambda batch, rest, where: _open(batch, rest, where, "records"),
    "OPENTABLEDATA": lambda batch, rest, where: _open(batch, rest, where, "table"),
    "OPENMETADATA": _metadata,
    "SPECIFYTABLE": _specify,
    "SAFETYRULE": _safety,
    "READMICRODATA": lambda batch, rest, where: _read(batch, rest, where, "records"),
    "READTABLE": lambda batch, rest, where: _read(batch, rest, where, "table"),
    "APRIORI": _apriori,
    "RECODE": _recode,
    "SUPPRESS": _suppress,
    "WRITETABLE": _write,
}


def _table(batch: Batch, number: int, where: str) -> BatchTable:
    if not 1 <= number <= len(batch.tables):
        refuse(f"{where}: table {number}, but {len(batch.tables)} are specified before this line")
    return batch.tables[number - 1]


def _name(rest: str, where: str) -> str:
    found = _FILE.fullmatch(rest)
    if found is None:
        refuse(f'{where} needs the name of a file, such as "data.asc"')
    return found[1] or found[2] or ""


def _near(batch: Path, name: str) -> str:
    """File as it is named if it is there, else of the same name beside the batch file."""
    plain = name.replace("\\", "/")
    try:
        there = (batch.parent / plain).is_file()
    except OSError:  # no name of a file: reading it says why
        there = False
    return plain if there else PureWindowsPath(name).name
