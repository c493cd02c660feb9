"""From the words of a command line to tables, rules and patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cellveil.front import refuse
from cellveil.io.crosstables import read_cross
from cellveil.io.recoding import read_recodings, recoded_records, recoded_table
from cellveil.io.sheets.reading import Sheet, open_sheet
from cellveil.render.screen import say
from cellveil.requests.requirements import Requirements
from cellveil.requests.source import Source, is_workbook
from csp.errors import InputError
from csp.exact import Bools
from csp.formats.apriori import Statement, read_apriori
from csp.formats.delimited import TextFile
from csp.formats.kinds import kind_of
from csp.formats.layout import Metadata, read_metadata
from csp.formats.reading import regular_file
from csp.formats.recodings import Recoding
from csp.mechanism import Mechanism
from csp.problem.jj import read_jj
from csp.problem.problem import Problem
from csp.rules import Rule, parse_rules
from csp.rules.base import parts_of
from csp.rules.concentration import Concentration
from csp.tables import argus
from csp.tables.codes import Labels, cell_name, text_codes
from csp.tables.columns import column_names, read_columns
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import InOrder
from csp.tables.hierarchies.totals import DEFAULT, total_codes
from csp.tables.link import link
from csp.tables.microdata.contributions import Stage
from csp.tables.microdata.repeats import telling_names
from csp.tables.patterns import STATUS, as_pattern
from csp.tables.sources.files import WholeFile
from csp.tables.table import Table

LOOKED_AT = 20_000_000
"""Bytes up to which a file is read once more for a column that may name contributors."""


def read_table(
    source: Source,
    progress: Callable[[str], None] | None = None,
    records: Sheet | WholeFile | None = None,
    joins: Mapping[str, Recoding] = MappingProxyType({}),
) -> Table:
    """Table of a file.

    `progress` is called with what is being done to records that are read within ``--memory``.
    `records` are those of the file, where they have been read already. `joins` says which codes
    become one in columns of which the source says nothing of the kind.

    Raises
    ------
    InputError
        For anything that csp cannot read as a table; file, row, column or code are named.
    """
    regular_file(source.data)
    data: Any = source.text
    total = totals_of(source)
    roots, _ = total_codes(total, source.by)
    choices = _hierarchies(source, roots)
    recodings = {**joins, **read_recodings(source.recode, source.by)}
    if source.cross is not None:
        found = read_cross(source, {name: trees[0] for name, trees in choices.items()}, total)
        return recoded_table(found, recodings)
    by, value, count, top = source.by, source.value, source.count, source.top
    shadow = source.shadow
    layout: Metadata | None = None
    if source.tab:
        assert source.rda is not None
        layout = read_metadata(source.rda)
        cells = argus.read_table_data(source.data, layout, by, value, roots)
        data, by, value = cells.columns, cells.by, cells.value
        count, shadow = count or cells.count, None if top else cells.shadow
        shadow, top = source.shadow or shadow, top or cells.top
    elif source.rda is not None:
        data, layout = argus.read_microdata(source.data, source.rda)
    elif is_workbook(source.data):
        sheet = records if isinstance(records, Sheet) else open_sheet(source.data, source.sheet)
        if sheet.note:
            say(sheet.note)
        data = sheet.columns(*_wanted(source))
    elif source.memory is None:
        data = _said(source, data if records is None else records)
    if source.aggregated or source.tab:
        assert value is not None
        hierarchies = {name: trees[0] for name, trees in choices.items()}
        known = set() if layout is None else {variable.name for variable in layout.variables}
        for name in by:
            if layout is not None and name in known and name not in hierarchies:
                hierarchies |= argus.hierarchies(layout, data, [name], roots[name])
        found = Table.from_frame(
            _as_printed(data, source), by, value, count=count, top=top, shadow=shadow,
            hierarchies=hierarchies, total=total,
            decimals=source.decimals, round=source.round,
            absent="zero" if source.absent_zero else "error",
            tolerance=source.tolerance, negative=source.negative,
        )  # fmt: skip
        return recoded_table(found, recodings)
    if recodings:
        data = _in_memory(data, *_wanted(source))
        for name in recodings:
            if layout is not None and name not in choices:
                declared = argus.hierarchies(layout, data, [name], roots[name])
                choices |= {column: [tree] for column, tree in declared.items()}
        data, choices = recoded_records(data, recodings, choices)
    if layout is not None:
        data = (data, layout)
    tables = [
        Table.from_microdata(
            data, source.by, source.value, contributor=source.contributor, weight=source.weight,
            shadow=shadow, hierarchies=dict(zip(choices, trees, strict=True)),
            negative=source.negative, top=source.reads, decimals=source.decimals, total=total,
            missing=source.missing, missing_values=source.missing_values, round=source.round,
            empty=source.empty, memory=source.memory,
            progress=lambda stage: _told(stage, progress),
        )
        for trees in product(*choices.values())
    ]  # fmt: skip
    return tables[0] if len(tables) == 1 else _in_order(link(*tables), source.by)


def _as_printed(data: Any, source: Source) -> Any:
    """Cells of a file whose codes come out in the order in which they came in."""
    return InOrder(_in_memory(data, *_wanted(source)))


def _in_memory(data: Any, names: Sequence[str], numbers: Sequence[str]) -> Mapping[str, Any]:
    """Columns of a file, unless they are read already."""
    if isinstance(data, Mapping):
        return data
    return dict(zip(names, read_columns(data, names, numbers).arrays, strict=True))


def read_records(
    source: Source, given: Mapping[str, Hierarchy] = MappingProxyType({})
) -> tuple[Any, dict[str, Hierarchy]]:
    """Return records as `csp.inspect` takes them, and the hierarchies of their columns.

    These are those that are `given` or that the layout declares, of codes that are joined too.

    Raises
    ------
    InputError
        For a file that cannot be read; file and line are named.
    """
    data: Any = source.text
    found: dict[str, Hierarchy] = {}
    if source.rda is not None:
        data, layout = argus.read_microdata(source.data, source.rda)
        roots, _ = total_codes(totals_of(source), source.by)
        known = {variable.name for variable in layout.variables} & {*source.by}
        for name in sorted(known):
            found |= argus.hierarchies(layout, data, [name], roots[name])
    elif is_workbook(source.data):
        numbers = [name for name in (source.value, source.weight, source.shadow) if name]
        sheet = open_sheet(source.data, source.sheet)
        if sheet.note:
            say(sheet.note)
        data = sheet.columns(numbers=numbers)
    found |= given
    recodings = read_recodings(source.recode, source.by)
    if recodings:
        if not isinstance(data, Mapping):
            data = _in_memory(data, column_names(data), _wanted(source)[1])
        data, trees = recoded_records(data, recodings, {name: [t] for name, t in found.items()})
        found = {name: several[0] for name, several in trees.items()}
    return data, found


def totals_of(source: Source) -> str | dict[str, str] | None:
    """Code of the total: one for all dimensions, or some for one dimension each."""
    found: dict[str, str] = {}
    for text in source.total:
        name, equals, code = text.partition("=")
        if equals and name not in source.by:
            refuse(f"--total {text!r} names {name!r}, but the columns are {', '.join(source.by)}")
        if not equals:
            if len(source.total) > 1:
                refuse(f"--total {text!r}: with several, each is COLUMN=CODE for a column of --by")
            return text
        if name in found:
            refuse(f"--total names {name!r} twice; a dimension has one total")
        found[name] = code
    return found or None


def _in_order(table: Table, by: Sequence[str]) -> Table:
    """Return the same table with its dimensions in another order."""
    order = [table.names.index(name) for name in by]
    return table.replace(
        names=tuple(by), roots=tuple(table.roots[d] for d in order),
        labels=Labels.of(table.labels).turned(order),
    )  # fmt: skip


def read_known(source: Source, table: Table) -> tuple[Statement, ...]:
    """Return what is known beforehand of single cells of a source's table."""
    found: tuple[Statement, ...] = ()
    if source.tab:
        assert source.rda is not None
        roots = dict(zip(table.names, table.roots, strict=True))
        cells = argus.read_table_data(source.data, source.rda, source.by, source.value, roots)
        found = cells.statements
    if source.apriori is not None:
        found += read_apriori(source.apriori, len(source.by), source.apriori_separator)
    if source.apriori_unknown == "skip":
        labels = Labels.of(table.labels)
        named = [tuple(c or r for c, r in zip(s.codes, table.roots, strict=True)) for s in found]
        there = [labels.find(label) >= 0 for label in named]
        if not all(there):
            first = there.index(False)
            say(
                f"Of the a-priori information {there.count(False):,} of {len(there):,} lines are "
                f"passed over, as the table has no such cell; the first is {found[first].word} of "
                f"{cell_name(table.names, named[first])}."
            )
        found = tuple(s for s, known in zip(found, there, strict=True) if known)
    return found


def _told(stage: Stage, progress: Callable[[str], None] | None) -> None:
    if stage.note:
        say(stage.note)
    if progress is not None:
        counted = f", batch {stage.done + 1} of {stage.total}" if stage.total else ""
        progress(f"tabulating: {stage.words}{counted}")


def _said(source: Source, file: Any) -> Any:
    """Read the columns of a text file, and say how it was read where that was found out."""
    if kind_of(source.data) != "text":
        return file
    names, numbers = _wanted(source)
    columns = read_columns(file, names, numbers)
    if columns.note:
        say(columns.note)
    return dict(zip(names, columns.arrays, strict=True)) | _identifiers(source, file, names)


def _identifiers(source: Source, file: Any, names: Sequence[str]) -> dict[str, Any]:
    """Columns whose names say that they may tell contributors apart, where none is named."""
    found: dict[str, Any] = {}
    if source.contributor is None and not source.aggregated:
        small = isinstance(file, WholeFile) or source.data.stat().st_size < LOOKED_AT
        for name in telling_names(column_names(file)) if small else ():
            if name not in names:
                with suppress(InputError):  # nobody asked for it
                    found[name] = read_columns(file, [name], ()).arrays[0]
    return found


def _wanted(source: Source) -> tuple[list[str], list[str]]:
    """Columns that a source needs, and those of them that hold numbers."""
    given = (source.value, source.weight, source.shadow, source.count, *source.top)
    numbers = [name for name in given if name is not None]
    names = dict.fromkeys([*source.by, *numbers, *filter(None, [source.contributor])])
    return list(names), numbers


def hierarchy_of(text: str, names: Collection[str]) -> tuple[str, str]:
    """Column and file of ``COLUMN=FILE``; a column of `names` may have that sign in its name."""
    column = max((name for name in names if text.startswith(f"{name}=")), key=len, default=None)
    if column is not None:
        return column, text[len(column) + 1 :].strip()
    name, _, path = (part.strip() for part in text.partition("="))
    return name, path


def read_hierarchies(
    given: Sequence[str], roots: Mapping[str, str] = MappingProxyType({})
) -> dict[str, dict[Path, Hierarchy]]:
    """Hierarchies of each column, one or several, from ``COLUMN=FILE``; roots name their totals."""
    found: dict[str, dict[Path, Hierarchy]] = {}
    for i, text in enumerate(given):
        name, path = hierarchy_of(text, roots)
        if not name or not path:
            refuse(f"--hierarchy {text!r} is not COLUMN=FILE, such as Region=region.hrc")
        if text in given[:i]:
            refuse(f"--hierarchy names {text!r} twice; leave one out, or give another file")
        tree = Hierarchy.from_hrc(Path(path), total=roots.get(name, DEFAULT))
        found.setdefault(name, {})[Path(path)] = tree
    return found


def _hierarchies(source: Source, roots: dict[str, str]) -> dict[str, list[Hierarchy]]:
    """Return the hierarchies of each column, one or several."""
    read = read_hierarchies(source.hierarchy, roots)
    found = {name: list(trees.values()) for name, trees in read.items()}
    several = [name for name, trees in found.items() if len(trees) > 1]
    if several and (source.aggregated or source.tab or source.cross):
        refuse(
            f"--hierarchy names {several[0]!r} twice: several hierarchies of a column need the "
            "records, not cells; link tables of one hierarchy each (csp.link)"
        )
    return found


def split_names(text: str, option: str, such: str = "Size,Region") -> tuple[str, ...]:
    """Names in a list with commas, by default of columns; an empty name is refused."""
    names = tuple(name.strip() for name in text.split(","))
    if "" in names:
        refuse(f"{option} {text!r} has an empty name; write it like {such}")
    return names


def by_column(
    given: list[str] | None, option: str, read: Callable[[str], Any], stands: str = "NUMBER"
) -> dict[str, Any] | None:
    """Numbers, or what else stands there, by column: ``COLUMN=NUMBER``; None without any."""
    if not given:
        return None
    found: dict[str, Any] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        if not equals or not name or not number or name in found:
            refuse(f"{option} takes COLUMN={stands}, each column once, not {text!r}")
        try:
            found[name] = read(number)
        except InputError as error:
            msg = f"{option} {name}: {error}"
            raise InputError(msg) from None
    return found


def read_rules(
    text: str,
    primary: Path | None,
    by: Sequence[str],
    encoding: str | None = None,
    *,
    named: bool = False,
) -> tuple[Rule, int]:
    """Rules of a text, and how many of the largest contributions they look at (5 at least).

    The file of cells has the encoding of the data, if that is declared. With `named`, MAN(...)
    may also speak of cells that a-priori information names; otherwise it needs the file.
    """
    if primary is None and not named and re.search(r"\bMAN\s*\(", text, re.IGNORECASE):
        refuse("MAN(...) is for cells named by hand; name them in a file (--primary or --apriori)")
    labels: list[tuple[str, ...]] = []
    if primary is not None:
        declared = encoding if kind_of(primary) == "text" else None
        try:
            columns = read_columns(TextFile(primary, encoding=declared), by).arrays
        except InputError as error:
            msg = f"{str(primary)!r} (--primary): {error.template}"
            raise InputError(msg) from error
        labels = list(zip(*(text_codes(column) for column in columns), strict=True))
        if not labels:
            refuse(
                f"{str(primary)!r} names no cells; give one row per cell, or leave out --primary"
            )
    rule = parse_rules(text, manual=labels)
    read = [part.form.reads for part in parts_of(rule) if isinstance(part, Concentration)]
    return rule, max(5, *read, 0)


def mechanism_of(
    asked: Requirements, by: Sequence[str], encoding: str | None = None, *, named: bool,
    defence: Any = None,
) -> tuple[Mechanism, int]:  # fmt: skip
    """Mechanism that is asked for, and how many contributions its rules look at.

    As `read_rules`: cells named by hand have the dimensions `by`.
    """
    rule, reads = read_rules(asked.rules, asked.primary, by, encoding, named=named)
    return Mechanism(
        rule, cost=asked.cost, unions=asked.unions, defence=defence, **asdict(asked.guards)
    ), reads


def is_jj(path: Path) -> bool:
    """Whether a name ends with .jj or .jj.gz."""
    return path.name.lower().endswith((".jj", ".jj.gz"))


def read_pattern(path: Path | None, problem: Problem) -> Bools:
    """Suppressed cells (status u, x or w) of a problem that came from a JJ file.

    The file has columns id and status, or is a JJ file with the same ids; without one the status of
    the problem itself counts.

    Raises
    ------
    InputError
        For ids that are unknown, occur twice or are missing, and unknown letters (row named).
    """
    if path is None:
        return problem.forced
    if is_jj(path):
        other = read_jj(path)
        codes = [label[0] for label in other.table.labels]
        letters = other.status.tolist()
    else:
        columns = read_columns(path, ["id", "status"]).arrays
        codes, letters = text_codes(columns[0]), text_codes(columns[1])
    ids = [label[0] for label in problem.table.labels]
    known = set(ids)
    status: dict[str, str] = {}
    for row, (code, letter) in enumerate(zip(codes, letters, strict=True), start=1):
        where = f"{str(path)!r}, row {row}"
        if code not in known:
            refuse(f"{where}: no cell has id {code!r}")
        if code in status:
            first = list(status).index(code) + 1
            refuse(f"{where}: id {code!r} already stands in row {first}; name each cell once")
        if letter not in STATUS:
            refuse(f"{where}: status {letter!r} of id {code!r} is not one of {', '.join(STATUS)}")
        status[code] = letter
    for code in ids:
        if code not in status:
            refuse(f"{str(path)!r} has no row for cell id {code!r}; it must name every cell")
    return as_pattern(problem.table, [status[code] for code in ids])
