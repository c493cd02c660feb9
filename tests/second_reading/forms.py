"""A case in the form of its source: written by plain strings, read by the library and once more."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import polars as pl
from openpyxl import Workbook

import csp
from cellveil.io.inputs import read_known, read_table
from cellveil.requests.source import Source, Written
from csp.audits.second_reading import Columns, by_layout, layout_of, rows_of, statements_of
from csp.audits.second_reading.files import Statement
from csp.formats.apriori import read_apriori
from tests.second_reading.cases import Case

__all__ = ["Form", "form_of"]

NUMBERS = ("v", "w", "n", "s", "t1", "t2", "t3")
"""Columns of numbers."""

Rows = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Form:
    """A case as it was written.

    `table` has the library read it, and `known` what it says of single cells beforehand; `again`
    has it read by the second reading's own means: columns, their meaning, and what is known.
    """

    table: Callable[[], csp.Table]
    known: Callable[[csp.Table], Sequence[Any]]
    again: Callable[[], tuple[Rows, Columns, Sequence[Statement]]]


def form_of(case: Case, folder: Path) -> Form:
    """Write a case into a folder."""
    rng = Random(case.dice)
    if case.source in ("frame", "shuffled", "pandas", "polars") or not _hrc_holds(case):
        return _in_memory(case, folder, rng)
    data = case.data
    if case.source in ("csv", "memory", "parquet", "xlsx"):
        return _of_columns(case, _disguised(data, rng), folder, rng)
    return _of_layout(case, _disguised(data, rng), folder, rng)


def _disguised(data: Rows, rng: Random) -> dict[str, list[Any]]:
    """Rows in another order, columns too, and some that mean nothing between them."""
    n = len(next(iter(data.values())))
    order = list(range(n))
    if rng.random() < 0.5:
        rng.shuffle(order)
    found = {name: [column[i] for i in order] for name, column in data.items()}
    for name in rng.sample(["v_old", "who2", "note"], rng.randint(0, 2)):
        found[name] = [str(rng.randint(0, 99)) for _ in range(n)]
    names = list(found)
    rng.shuffle(names)
    top = iter(sorted(name for name in names if name in ("t1", "t2", "t3")))
    names = [next(top) if name in ("t1", "t2", "t3") else name for name in names]
    return {name: found[name] for name in names}


def _trees(case: Case) -> dict[str, list[Mapping[str, str]]]:
    return {name: list(found) for name, found in (case.columns.hierarchies or {}).items()}


def _hrc_holds(case: Case) -> bool:
    """Whether a hierarchy file can say it: its lead is "@"."""
    found = itertools.chain.from_iterable(_trees(case).values())
    return not any(code.startswith("@") or code != code.strip() for tree in found for code in tree)


# ---- in memory -----------------------------------------------------------------------------------


def _typed(data: Rows, rng: Random) -> dict[str, list[Any]]:
    """Numbers as numbers, and codes that are whole numbers sometimes as well."""
    found: dict[str, list[Any]] = {}
    for name, column in data.items():
        if name in NUMBERS:
            kind = float if any("." in str(x) for x in column) else int
            found[name] = [kind(x) for x in column]
        elif rng.random() < 0.5 and all(x is None or _canonical(x) for x in column):
            found[name] = [None if x is None else int(x) for x in column]
        else:
            found[name] = list(column)
    return found


def _canonical(text: str) -> bool:
    return text.isascii() and text.isdecimal() and str(int(text)) == text


def _in_memory(case: Case, folder: Path, rng: Random) -> Form:
    data: Any = {name: list(column) for name, column in case.data.items()}
    if case.source == "polars":
        data = pl.DataFrame(_typed(data, rng))
    elif case.source == "pandas":
        data = pd.DataFrame(_typed(data, rng))
        for name in case.columns.names if rng.random() < 0.2 else ():
            data[name] = data[name].astype("category")
    elif case.source == "shuffled":
        order = list(range(len(next(iter(data.values())))))
        rng.shuffle(order)
        data = {name: [column[i] for i in order] for name, column in data.items()}
    path = _hst(case.apriori, folder, rng)
    n = len(case.columns.names)
    return Form(
        partial(_linked, case, data),
        lambda _: read_apriori(path, n) if path else (),
        lambda: (case.data, case.columns, statements_of(path, n) if path else ()),
    )


def _linked(case: Case, data: Any) -> csp.Table:
    """Table of what is in memory: one for each `by` and each choice of hierarchies."""
    columns = case.columns
    # A category may be the sum of all others by chance; that it is none is said by naming totals.
    every = _trees(case)
    totals = {name: columns.root(name) for name in columns.names if name not in every}
    made = []
    for by in columns.by:
        own = {name: trees for name, trees in every.items() if name in by}
        for chosen in itertools.product(*own.values()):
            trees = {
                name: csp.Hierarchy.from_parents(
                    {c: p or columns.root(name) for c, p in tree.items()}, total=columns.root(name)
                )
                for name, tree in zip(own, chosen, strict=True)
            }
            total = {name: code for name, code in totals.items() if name in by}
            made.append(_table(case, data, by, trees, total))
    return made[0] if len(made) == 1 else csp.link(*made)


def _table(case: Case, data: Any, by: Sequence[str], trees: Any, total: Any) -> csp.Table:
    columns = case.columns
    if columns.rows == "cells":
        return csp.Table.from_frame(
            _at_totals(case, data, by), list(by), str(columns.value), count=columns.count,
            top=list(columns.top), shadow=columns.shadow, decimals=columns.decimals,
            hierarchies=trees, total=total, negative=columns.negative,
            absent="zero" if case.absent_zero() else "error",
        )  # fmt: skip
    return csp.Table.from_microdata(
        data, list(by), columns.value, contributor=columns.contributor, weight=columns.weight,
        shadow=columns.shadow, hierarchies=trees, negative=columns.negative, empty=case.empty,
        total=total, decimals=columns.decimals, missing=columns.missing,
    )  # fmt: skip


def _at_totals(case: Case, data: Any, by: Sequence[str]) -> Any:
    """Rows of one of several linked tables: those at the total of all other dimensions."""
    if len(case.columns.by) == 1:
        return data
    others = [name for name in case.columns.names if name not in by]
    keep = [
        i for i in range(len(case.data[by[0]]))
        if all(case.data[name][i] == case.columns.root(name) for name in others)
    ]  # fmt: skip
    return {name: [column[i] for i in keep] for name, column in case.data.items()}


# ---- files whose columns have names --------------------------------------------------------------


def _of_columns(case: Case, data: Rows, folder: Path, rng: Random) -> Form:
    kind = "parquet" if case.source == "memory" and rng.random() < 0.3 else case.source
    sheet, options = None, dict[str, Any]()
    if kind == "parquet":
        path = folder / "data.parquet"
        pl.DataFrame(_typed(data, rng)).write_parquet(path)
    elif kind == "xlsx":
        path, sheet = _workbook(data, folder, rng)
    else:
        path, options = _csv(data, folder, rng)
    written = Written()
    if options:
        # A decimal comma is found where it cannot separate thousands.
        said = options["decimal"] if rng.random() < 0.5 else None
        written = Written(options["separator"], said, options["encoding"])
    source = _source(case, path, folder, rng)
    source["written"] = replace(written, sheet=sheet)
    if case.source == "memory":
        source["memory"] = "4GB"
    numbers = [name for name in data if name in NUMBERS]
    thousands = any(
        re.fullmatch("-?[0-9]{1,3}[.][0-9]{3}", str(x)) for n in numbers for x in data[n]
    )
    if options and rng.random() < 0.5 and not thousands:
        options["decimal"] = None  # found by itself
    return _form(
        case, source,
        lambda: (rows_of(path, sheet=sheet, numbers=numbers, **options), case.columns, []),
    )  # fmt: skip


def _csv(data: Rows, folder: Path, rng: Random) -> tuple[Path, dict[str, Any]]:
    sign = rng.choice([",", ",", ";", "\t", "|"])
    decimal = "," if sign != "," and rng.random() < 0.5 else "."
    end, quoted = rng.choice(["\n", "\n", "\r\n"]), rng.random() < 0.2

    def field(text: str) -> str:
        if quoted or any(x in text for x in (sign, '"', "\n")) or text != text.strip():
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [sign.join(map(field, data))]
    for row in zip(*data.values(), strict=True):
        texts = (
            "" if x is None else str(x).replace(".", decimal) if name in NUMBERS else str(x)
            for name, x in zip(data, row, strict=True)
        )
        lines.append(sign.join(map(field, texts)))
    text = end.join(lines) + (end if rng.random() < 0.8 else "")
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "cp1252"])
    if encoding == "cp1252" and not _in_cp1252(text):
        encoding = "utf-8"
    content = text.encode(encoding)
    path = folder / "data.csv"
    if rng.random() < 0.2:
        path, content = folder / "data.csv.gz", gzip.compress(content)
    path.write_bytes(content)
    return path, {"separator": sign, "decimal": decimal, "encoding": encoding}


def _in_cp1252(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _workbook(data: Rows, folder: Path, rng: Random) -> tuple[Path, str | None]:
    book, sheet = Workbook(), None
    page: Any = book.active
    if rng.random() < 0.5:
        page["A1"], page["A2"] = "v", 1
        sheet = "2026"
        page = book.create_sheet(sheet)
    typed = _typed(data, rng)
    for at, (name, column) in enumerate(typed.items(), start=1):
        for row, entry in enumerate([name, *column], start=1):
            if entry is not None:
                cell = page.cell(row, at, entry)
                if isinstance(entry, str):
                    cell.data_type = "s"  # "=1" is a text too
    book.save(folder / "data.xlsx")
    return folder / "data.xlsx", sheet


# ---- files with layouts --------------------------------------------------------------------------


def _of_layout(case: Case, data: dict[str, list[Any]], folder: Path, rng: Random) -> Form:
    table = case.source == "tab"
    fixed = case.source == "fixed" or (table and rng.random() < 0.3)
    sign = rng.choice(";,|\t")
    decimal = "," if rng.random() < 0.4 else "."
    rest: Sequence[Statement] = case.apriori
    roles, letters = _roles(case), dict[str, str]()
    if table:
        letters = {"SAFE": "v", "UNSAFE": '"n"', "PROTECT": "o"} if rng.random() < 0.4 else {}
        data, roles, rest = _statuses(case, data, roles, letters, rng)
        _blank(case, data, rng)
    source = _source(replace(case, apriori=rest), folder / "data", folder, rng)
    tags, hierarchy = _declared(case, folder, rng)
    source["hierarchy"] = tuple(t for t in source["hierarchy"] if t.split("=")[0] in hierarchy)
    texts = {
        name: [
            "" if x is None else str(x).replace(".", decimal) if name in NUMBERS else str(x)
            for x in column
        ]
        for name, column in data.items()
    }  # fmt: skip
    lines, places = _fixed(texts, tags, rng) if fixed else (_separated(texts, sign), {})
    path = folder / ("data.tab" if table else "data.asc")
    text = "\n".join(lines) + "\n"
    encoding = "cp1252" if rng.random() < 0.3 and _in_cp1252(text) else "utf-8"
    path.write_bytes(text.replace("\n", rng.choice(["\n", "\r\n"])).encode(encoding))
    header = [] if fixed else [f'<SEPARATOR> "{sign}"']
    header += [f"<{tag}> {letter}" for tag, letter in letters.items()]
    for name, column in data.items():
        wide = f" {places[name]}" if fixed else ""
        header.append(f"{name}{wide}")
        header += [f"  {tag}" for tag in (*roles.get(name, ()), *tags.get(name, ()))]
        several = [x for x in column if x is not None and "." in str(x)]
        if name in NUMBERS and several and rng.random() < 0.7:
            header.append(f"  <DECIMALS> {len(str(several[0]).split('.')[1])}")
    rda = folder / "data.rda"
    rda.write_text("\n".join(header) + "\n", encoding="utf-8")
    source |= {"data": path, "rda": rda}
    meant = replace(
        case.columns, hierarchies={n: t for n, t in _trees(case).items() if n in hierarchy}
    )
    if table:  # its layout tells what its columns are
        by = case.columns.by if case.apriori or rng.random() < 0.5 else ()
        meant = Columns(by, hierarchies=meant.hierarchies, total=meant.total,
                        negative=meant.negative, decimals=meant.decimals)  # fmt: skip
        source |= {"by": case.columns.names, "value": None, "count": None, "top": (),
                   "shadow": None, "aggregated": False}  # fmt: skip
    return _form(case, source, lambda: by_layout(path, layout_of(rda), meant))


def _roles(case: Case) -> dict[str, list[str]]:
    columns = case.columns
    found = {name: ["<RECODEABLE>"] for name in columns.names}
    if columns.rows == "records":
        pairs = [(columns.value, "NUMERIC"), (columns.weight, "WEIGHT"),
                 (columns.contributor, "HOLDING")]  # fmt: skip
    else:
        pairs = [(columns.count, "FREQUENCY"), *((name, "MAXSCORE") for name in columns.top)]
        if columns.value != columns.count:
            pairs.append((columns.value, "NUMERIC"))
    found |= {name: [f"<{tag}>"] for name, tag in pairs if name is not None}
    if columns.shadow is not None:
        found[columns.shadow] = ["<NUMERIC>", "<SHADOW>"]
    return found


def _declared(case: Case, folder: Path, rng: Random) -> tuple[dict[str, list[str]], set[str]]:
    """Totals and hierarchies of the layout, and dimensions whose hierarchies it does not have."""
    tags: dict[str, list[str]] = {}
    left: set[str] = set()
    trees = _trees(case)
    for name in case.columns.names:
        root = case.columns.root(name)
        if root != "Total" or rng.random() < 0.5:
            tags[name] = [f'<TOTCODE> "{root}"']
        if name not in trees:
            continue
        tree = trees[name][0]
        if len(trees[name]) > 1 or rng.random() < 0.3:
            left.add(name)
        elif case.columns.rows == "records" and all(
            len(code) == 2 and tree.get(code) == code[0] for code in case.data[name]
        ):
            tags.setdefault(name, []).extend(["<HIERARCHICAL>", "<HIERLEVELS> 1 1"])
        else:
            lead = rng.choice(["@", "--"])
            _hrc(tree, folder / f"own_{name}.hrc", lead)
            tags.setdefault(name, []).extend(
                ["<HIERARCHICAL>", f'<HIERCODELIST> "C:\\tables\\own_{name}.hrc"',
                 f'<HIERLEADSTRING> "{lead}"']
            )  # fmt: skip
    return tags, left


def _fixed(
    texts: Rows, tags: Mapping[str, Sequence[str]], rng: Random
) -> tuple[list[str], dict[str, str]]:
    """Records in columns, and where each begins and how wide it is."""
    lines, places, at = [""] * len(next(iter(texts.values()))), {}, 1
    for name, column in texts.items():
        spare = 0 if any("LEVELS" in tag for tag in tags.get(name, ())) else rng.randint(0, 2)
        wide = max(1, *map(len, column)) + spare
        side = rng.choice([str.ljust, str.rjust])
        lines = [line + side(text, wide) for line, text in zip(lines, column, strict=True)]
        places[name] = f"{at} {wide}"
        at += wide
        gap = rng.randint(0, 1)
        lines, at = [line + " " * gap for line in lines], at + gap
    return lines, places


def _separated(texts: Rows, sign: str) -> list[str]:
    def field(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if sign in text or '"' in text else text

    return [sign.join(map(field, row)) for row in zip(*texts.values(), strict=True)]


def _statuses(
    case: Case,
    data: dict[str, list[Any]],
    roles: dict[str, list[str]],
    letters: Mapping[str, str],
    rng: Random,
) -> tuple[dict[str, list[Any]], dict[str, list[str]], list[Statement]]:
    """Columns of statuses, costs and levels for what is known beforehand; "s" has no letter."""
    names = case.columns.names
    said: dict[tuple[Any, ...], dict[str, tuple[str, ...]]] = {}
    for codes, word, numbers in case.apriori:
        pairs = zip(names, codes, strict=True)
        label = tuple(code or case.columns.root(name) for name, code in pairs)
        said.setdefault(label, {})[word] = numbers
    rows = [said.get(row, {}) for row in zip(*(data[name] for name in names), strict=True)]
    # Margins of inner cells have no row.
    rest = [one for one in case.apriori if one[1] == "s" or (case.absent_zero() and "" in one[0])]
    if not any(rows) and rng.random() < 0.6:
        return data, roles, list(case.apriori)
    own = {tag: letter.strip('"') for tag, letter in letters.items()}
    words = {"u": own.get("UNSAFE", "U"), "p": own.get("PROTECT", "P"), "m": "M"}
    safe = own.get("SAFE", rng.choice(["S", "s", ""]))
    data = data | {
        "status": [next((words[w] for w in row if w in words), safe) for row in rows],
        "cost": [row["c"][0] if "c" in row else "-" for row in rows],
        "low": [row["pl"][0] if "pl" in row else "" for row in rows],
        "high": [row["pl"][1] if "pl" in row else "" for row in rows],
    }
    roles |= {"status": ["<STATUS>"], "cost": ["<COSTVAR>"], "low": ["<LOWERPL>"],
              "high": ["<UPPERPL>"]}  # fmt: skip
    return data, roles, rest


def _blank(case: Case, data: dict[str, list[Any]], rng: Random) -> None:
    """Write totals as blank codes, and cells without contributors without a value."""
    columns = case.columns
    for name in columns.names:
        if rng.random() < 0.5:
            data[name] = ["" if code == columns.root(name) else code for code in data[name]]
    counts = data.get(columns.count or "", ())
    if columns.value != columns.count and rng.random() < 0.5:
        empty = rng.choice(["-", ""])
        blanks = [i for i, number in enumerate(counts) if int(number) == 0]
        for name in (columns.value, *columns.top):
            data[str(name)] = [empty if i in blanks else x for i, x in enumerate(data[str(name)])]


# ---- what goes beside them -----------------------------------------------------------------------


def _hrc(tree: Mapping[str, str], path: Path, lead: str = "@") -> Path:
    below: dict[str, list[str]] = {}
    for code, parent in tree.items():
        below.setdefault(parent, []).append(code)

    def lines(parent: str, depth: int) -> Iterable[str]:
        for code in below.get(parent, ()):
            yield lead * depth + code
            yield from lines(code, depth + 1)

    path.write_text("\n".join(lines("", 0)) + "\n", encoding="utf-8")
    return path


def _hst(statements: Sequence[Statement], folder: Path, rng: Random) -> Path | None:
    if not statements:
        return None
    every = "".join(code for one in statements for code in one[0])
    signs = [] if '"' in every else [sign for sign in ";,\t|" if sign not in every]
    if not signs:
        return None
    sign = rng.choice(signs)
    words = {"m": ["m", "ml"], "c": ["c", "w"], "u": ["u", "U"]}
    lines = [
        sign.join([*codes, rng.choice(words.get(word, [word])), *numbers])
        for codes, word, numbers in statements
    ]
    path = folder / "known.hst"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _source(case: Case, path: Path, folder: Path, rng: Random) -> dict[str, Any]:
    """Return the case in the words of the command line, but for `by`."""
    columns, trees = case.columns, _trees(case)
    files = [
        f"{name}={_hrc(tree, folder / f'{name}{i}.hrc')}"
        for name, found in trees.items() for i, tree in enumerate(found)
    ]  # fmt: skip
    cells = columns.rows == "cells"
    return {
        "data": path, "value": columns.value, "contributor": columns.contributor,
        "weight": columns.weight, "shadow": columns.shadow, "hierarchy": tuple(files),
        "aggregated": cells, "count": columns.count, "top": columns.top,
        "negative": columns.negative, "decimals": columns.decimals, "missing": columns.missing,
        "absent_zero": cells and case.absent_zero(), "empty": None if cells else case.empty,
        "apriori": _hst(case.apriori, folder, rng),
    }  # fmt: skip


def _form(
    case: Case,
    source: dict[str, Any],
    read: Callable[[], tuple[Rows, Columns, Sequence[Statement]]],
) -> Form:
    sources = []
    for by in case.columns.by:
        own = dict(source)
        own["by"] = tuple(by)
        own["total"] = tuple(f"{name}={case.columns.root(name)}" for name in by)
        own["hierarchy"] = tuple(t for t in own["hierarchy"] if t.split("=")[0] in by)
        sources.append(Source(**own))

    def table() -> csp.Table:
        with redirect_stderr(StringIO()):  # says how decimal commas were found
            made = [read_table(one) for one in sources]
        return made[0] if len(made) == 1 else csp.link(*made)

    path = sources[0].apriori

    def again() -> tuple[Rows, Columns, Sequence[Statement]]:
        records, columns, said = read()
        more = statements_of(path, len(case.columns.names)) if path else ()
        return records, columns, [*said, *more]

    return Form(table, lambda table: read_known(sources[0], table), again)
