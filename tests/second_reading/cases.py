"""Random files with what their columns mean, protected by the library and read a second time."""

from __future__ import annotations

import csv
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import csp
from csp.audits.second_reading import Columns, reread, rows_of
from csp.audits.second_reading.people import Reading, read
from csp.audits.second_reading.rules import needs
from csp.errors import CellveilError, InputError, OutOfTime, Unprotectable
from csp.release.release import Release
from csp.release_file import read_release, write_release

__all__ = ["Case", "Outcome", "compare", "draw", "everything", "table_of"]


@dataclass(frozen=True)
class Case:
    """A file, the meaning of its columns, and how it is protected."""

    data: Mapping[str, Sequence[Any]]
    columns: Columns
    mechanism: Mapping[str, Any]
    source: str = "frame"
    empty: str | None = None
    hierarchies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows = zip(*self.data.values(), strict=True)
        lines = [",".join(self.data), *(",".join(map(str, row)) for row in rows)]
        return (
            f"Case({self.columns}, {dict(self.mechanism)}, source={self.source!r}, "
            f"empty={self.empty!r})\n" + "\n".join(f"    {line}" for line in lines)
        )


@dataclass(frozen=True)
class Outcome:
    """What became of a case: "protected", "refused" or "bad input"; and what was found."""

    what: str
    findings: tuple[str, ...] = ()


# ---- drawing -------------------------------------------------------------------------------------


def _tree(rng: Random, codes: Sequence[str], name: str) -> dict[str, str]:
    """Hierarchy in two levels; some codes stay right below the total."""
    groups = [f"{name}X", f"{name}Y", f"{name}Z"][: rng.randint(1, 3)]
    parents = {code: rng.choice([*groups, ""]) for code in codes}
    return parents | {group: "" for group in groups if group in parents.values()}


SOURCES = ("frame", "shuffled", "pandas", "polars", "csv", "csv", "memory", "parquet")
"""A mapping, the same in another order, frames, text, text within a bound of memory, Parquet."""

STYLES: tuple[tuple[str, ...], ...] = (
    ("1", "01", "001", "1.0"),
    ("1", "2", "10", "-1"),
    ("x", "X", "x ", " x"),
    ("\u00e9", "e\u0301", "e", "E"),
    ("true", "True", "1", "yes"),
    ("1e5", "100000", "1E5", "inf"),
    ("2020-01-01", "2020-1-1", "01.01.2020", "20200101"),
    ("a,b", 'a"b', "a;b", "a|b"),
    ("-", ".", "_", "#"),
    ("Total1", "total", "TOTAL", "Totals"),
    ("=1", "@x", "+1", "'x"),
)
"""Codes that a reader might take for one another, or for something else than a text."""


def _values(rng: Random, n: int, negative: str, places: int) -> list[str]:
    sizes = rng.choice([(0, 9), (1, 60), (0, 1000), (5, 20)])
    found = []
    for _ in range(n):
        number = rng.randint(*sizes) * (10 if rng.random() < 0.1 else 1)
        if negative != "error" and rng.random() < 0.25:
            number = -number
        found.append(f"{number / 10**places:.{places}f}")
    return found


def _rules(rng: Random, *, counts: bool, plain: bool) -> str:
    kinds = [
        ["P(10,1)", "P(25,2)", "P(10,40,1)"],
        ["NK(1,75)", "NK(2,85)"],
        ["FREQ(3,10)", "FREQ(2,30)", "FREQ(4,10)"],
    ]
    if counts and not plain:
        return rng.choice(kinds[2])
    if counts:
        return rng.choice(["FREQ(3)", "FREQ(5)", "FREQ(3,40)", "FREQ(4)|ZERO(2)"])
    chosen = [rng.choice(words) for words in rng.sample(kinds, rng.randint(1, 3))]
    if rng.random() < 0.15:
        chosen.append("ZERO(5)")
    return "|".join(chosen)


def draw(rng: Random, kind: str | None = None) -> Case:
    """Draw a case of "records", of "cells", or either."""
    kind = kind or ("cells" if rng.random() < 0.25 else "records")
    n = rng.randint(3, 24)
    names = ["a", "b", "c"][: rng.randint(1, 3)]
    by: list[list[str]] = [names]
    if len(names) > 1 and rng.random() < 0.4:
        by = [list(pair) for pair in itertools.combinations(names, len(names) - 1)]
        by = by[: rng.randint(2, len(by))]
    counts = rng.random() < 0.25
    skew = rng.choice([1, 2])
    data: dict[str, list[Any]] = {}
    trees: dict[str, list[dict[str, str]]] = {}
    for name in names:
        codes = [f"{name}{i}" for i in range(rng.randint(2, 4))]
        if rng.random() < 0.15:
            codes = list(rng.choice(STYLES))[: len(codes)]
        data[name] = [codes[int(rng.random() ** skew * len(codes))] for _ in range(n)]
        if rng.random() < 0.35:
            trees[name] = [_tree(rng, codes, name)]
    negative, places, who, weight = "error", 0, rng.random() < 0.7, None
    if kind == "records" and not counts and rng.random() < 0.4:
        modes = ["abs", "shift", "split"]
        negative = rng.choice(modes)
    if not counts:
        places = rng.choice([0, 0, 1, 2])
        data["v"] = ["1"] * n if rng.random() < 0.1 else _values(rng, n, negative, places)
    if rng.random() < 0.1:
        ids = [one for style in STYLES for one in style]
        people = [rng.choice(ids[: rng.choice([4, 8, len(ids)])]) for _ in range(n)]
    else:
        people = [f"f{rng.randint(0, max(2, n * 2 // 3))}" for _ in range(n)]
    if kind == "records" and rng.random() < 0.25:
        weight = "w"
        every = {one: rng.choice(["1", "2", "3", "1.5", "2.25", "7"]) for one in people}
        data["w"] = [every[p] if who else rng.choice(["1", "2", "1.5"]) for p in people]
    if who:
        data["who"] = people
    plain = counts and not who and not weight
    mechanism = _mechanism(rng, counts=counts, plain=plain, weight=bool(weight))
    columns = Columns(
        tuple(map(tuple, by)), None if counts else "v", "who" if who else None, weight,
        hierarchies=trees, negative=negative,
        decimals=places if mechanism.get("integer") and not counts else None,
    )  # fmt: skip
    case = Case(
        data, columns, mechanism, rng.choice(SOURCES),
        rng.choice([None, None, "keep", "drop"]),
    )  # fmt: skip
    return _as_cells(case, rng) if kind == "cells" else case


def _mechanism(rng: Random, *, counts: bool, plain: bool, weight: bool) -> dict[str, Any]:
    mechanism: dict[str, Any] = {"rules": _rules(rng, counts=counts, plain=plain)}
    if rng.random() < 0.25:
        mechanism |= {"width": rng.choice([1, 2, 10]), "strict": rng.random() < 0.3}
    if rng.random() < 0.2:
        mechanism["margins"] = "publish"
    if rng.random() < 0.25:
        mechanism["cost"] = "value"
    if counts and not plain:
        mechanism |= {
            "singletons": rng.random() < 0.7,
            "integer": not weight and rng.random() < 0.5,
        }
    elif rng.random() < 0.3:
        mechanism["singletons"] = rng.random() < (0.5 if counts else 0.3)
    if not counts and rng.random() < 0.15 and not weight:
        mechanism["integer"] = rng.random() < 0.5
    return mechanism


def _as_cells(case: Case, rng: Random) -> Case:
    """The same file added up by hand: one row a cell, margins included."""
    columns = case.columns
    who = None if columns.counts else columns.contributor  # numbers of persons do not add up
    reading = read(case.data, replace(columns, contributor=who))
    names = columns.names
    every = sorted(
        {
            label
            for table in columns.by
            for label in itertools.product(
                *(reading.codes[n] if n in table else ("Total",) for n in names)
            )
        }
    )
    rows = []
    how = rng.choice(["zero", "absent", "some"])
    for label in every:
        cell = reading.cell(label)
        place = zip(names, label, strict=True)
        inner = not any(tree.get(code) for n, code in place for tree in reading.children[n])
        if (
            cell.count == 0
            and inner
            and (how == "absent" or (how == "some" and rng.random() < 0.5))
        ):
            continue
        top = [*(x for side in cell.sides for x in side.top), 0, 0, 0][:3]
        unit = 10**reading.scale
        rows.append(
            (*label, *(f"{x / unit:.{reading.scale}f}" for x in (cell.value, *top)), cell.count)
        )
    rng.shuffle(rows)
    header = [*names, "v", "t1", "t2", "t3", "n"]
    data: dict[str, list[Any]] = {h: [row[i] for row in rows] for i, h in enumerate(header)}
    value, count = "v", "n"
    if columns.counts:
        data = {h: data[h] for h in [*names, "n"]}
        value = "n"
    return replace(
        case,
        data=data,
        columns=Columns(
            columns.by, value, rows="cells", count=count,
            top=() if columns.counts else ("t1", "t2", "t3"), decimals=columns.decimals,
            hierarchies=columns.hierarchies,
        ),
        source=rng.choice(["frame", "pandas", "csv"]),
    )  # fmt: skip


# ---- the library ---------------------------------------------------------------------------------


def _numeric(data: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {
        name: [float(x) if any("." in str(y) for y in column) else int(x) for x in column]
        if name in ("v", "w", "n", "t1", "t2", "t3") else list(column)
        for name, column in data.items()
    }  # fmt: skip


def _source(case: Case, folder: Path) -> Any:
    """The file in one of the forms that the library reads."""
    if case.source in ("csv", "memory"):
        path = folder / "data.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(case.data)
            writer.writerows(zip(*case.data.values(), strict=True))
        return path
    if case.source == "polars":
        return pl.DataFrame(_numeric(case.data))
    if case.source == "parquet":
        pl.DataFrame(_numeric(case.data)).write_parquet(folder / "data.parquet")
        return folder / "data.parquet"
    if case.source == "pandas":
        return pd.DataFrame(_numeric(case.data))
    if case.source == "shuffled":
        order = list(range(len(next(iter(case.data.values())))))
        Random(1).shuffle(order)
        return {name: [column[i] for i in order] for name, column in case.data.items()}
    return {name: list(column) for name, column in case.data.items()}


def _rows_of_table(case: Case, data: Any, by: Sequence[str]) -> Any:
    """Rows of one of several linked tables: those at the total of all other dimensions."""
    if len(case.columns.by) == 1:
        return data
    others = [name for name in case.columns.names if name not in by]
    keep = [
        i for i in range(len(case.data[by[0]]))
        if all(case.data[name][i] == "Total" for name in others)
    ]  # fmt: skip
    return {name: [column[i] for i in keep] for name, column in case.data.items()}


def table_of(case: Case, data: Any) -> csp.Table:
    """Table of the library."""
    columns = case.columns
    trees = {
        name: csp.Hierarchy.from_parents({c: p or "Total" for c, p in tree[0].items()})
        for name, tree in (columns.hierarchies or {}).items()
    }
    # A category may be the sum of all others by chance; that it is none is said by naming totals.
    totals = {name: columns.root(name) for name in columns.names if name not in trees}
    made = []
    for by in columns.by:
        own = {name: tree for name, tree in trees.items() if name in by}
        total = {name: code for name, code in totals.items() if name in by}
        if columns.rows == "cells":
            made.append(
                csp.Table.from_frame(
                    _rows_of_table(case, data, by),
                    list(by),
                    str(columns.value),
                    count=columns.count,
                    top=list(columns.top),
                    decimals=columns.decimals,
                    hierarchies=own,
                    total=total,
                )
            )
        else:
            made.append(
                csp.Table.from_microdata(
                    data,
                    list(by),
                    columns.value,
                    contributor=columns.contributor,
                    weight=columns.weight,
                    hierarchies=own,
                    negative=columns.negative,
                    empty=case.empty,
                    total=total,
                    decimals=columns.decimals,
                    memory="2GB" if case.source == "memory" else None,
                )
            )
    return made[0] if len(made) == 1 else csp.link(*made)


def everything(table: csp.Table, reading: Reading, *, margins: str) -> Release:
    """A release in which everything is suppressed that may be."""
    labels = _labels(table, reading)
    totals = {total for total, _ in reading.sums(labels)} if margins == "publish" else set()
    pattern = [not reading.empty(label) and label not in totals for label in labels]
    return Release.of(table, np.array(pattern))


def _labels(table: csp.Table, reading: Reading) -> list[tuple[str, ...]]:
    names = reading.columns.names
    at = [table.names.index(name) for name in names]
    return [tuple(label[i] for i in at) for label in table.labels]


def _other_levels(case: Case, problem: Any, reading: Reading) -> list[str]:
    """Cells that only one of both calls sensitive, or to which they give other levels."""
    table, mechanism = problem.table, case.mechanism
    labels = _labels(table, reading)
    totals = {total for total, _ in reading.sums(labels)}
    low = 0 if case.columns.negative == "error" else None
    own = needs(
        reading, labels, mechanism["rules"], width=mechanism.get("width"),
        strict=mechanism.get("strict", False), bounds=dict.fromkeys(labels, (low, None)),
        public=totals if mechanism.get("margins") == "publish" else (),
    )  # fmt: skip
    # Both in units of the finer scale.
    mine, theirs = (
        10 ** max(0, s) for s in (table.scale - reading.scale, reading.scale - table.scale)
    )
    found = []
    for i, label in enumerate(labels):
        need = own.get(label)
        if (need is not None) != bool(problem.primary[i]):
            found.append(f"{label}: sensitive by the {'second' if need else 'first'} reading only")
        elif need is not None:
            ours = tuple(x * mine for x in (need.down, need.up, need.width))
            others = tuple(int(x[i]) * theirs for x in (problem.lpl, problem.upl, problem.spl))
            if ours != others:
                found.append(f"{label}: levels {others} first, {ours} second (down, up, width)")
    return found


def _refused(case: Case, data: Any, why: InputError) -> Outcome:
    """What the second reading refuses, the first must refuse too."""
    try:
        table_of(case, data)
    except InputError as error:
        return Outcome(f"bad input: {str(error)[:300]}")
    return Outcome("bad input", (f"refused by the second reading only: {why}",))


def compare(case: Case, *, gap: float = 0.0) -> Outcome:
    """Protect a case by the library, and judge what came by the second reading."""
    with tempfile.TemporaryDirectory() as name:
        data = _source(case, Path(name))
        records = rows_of(data) if isinstance(data, Path) else case.data
        try:
            reading = read(records, case.columns)
        except InputError as error:
            return _refused(case, data, error)
        options = {k: v for k, v in case.mechanism.items() if k not in ("rules", "cost")}
        rules = case.mechanism["rules"]
        mechanism = csp.Mechanism(**case.mechanism)
        findings: list[str] = []
        try:
            table = table_of(case, data)
            problem = mechanism.problem(table)
            findings += _other_levels(case, problem, reading)
            protected = mechanism.protect(table, time_limit=20, gap=gap)
        except Unprotectable as error:
            full = everything(table, reading, margins=case.mechanism.get("margins", "suppress"))
            if reread(full, records, case.columns, rules, **options).safe:
                findings.append(f"falsely refused: {error}")
            return Outcome("refused", tuple(findings))
        except OutOfTime:
            return Outcome("out of time", tuple(findings))
        except InputError as error:
            return Outcome(f"bad input: {str(error)[:300]}", tuple(findings))
        except CellveilError as error:
            return Outcome("failed", (*findings, f"{type(error).__name__}: {error}"))
        stored = Path(name, "release.json")
        write_release(protected.release, stored)
        shown = read_release(stored)[0]
        again = reread(shown, records, case.columns, rules, **options)
    findings += [d.secret for d in again.differences]
    findings += [e.words(reveal=True) for e in again.exposures]
    return Outcome("protected", tuple(findings))
