"""Random files with what their columns mean and how they are protected."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from csp.audits.second_reading import Columns
from csp.audits.second_reading.files import Statement
from csp.audits.second_reading.people import read

__all__ = ["OF_CELLS", "SOURCES", "Case", "Data", "draw", "rows"]

Data = dict[str, list[Any]]


def rows(header: str, *lines: str) -> Data:
    """Columns of a small file, written as its rows."""
    entries = [line.split() for line in lines]
    return {name: [line[i] for line in entries] for i, name in enumerate(header.split())}


@dataclass(frozen=True)
class Case:
    """A file, the meaning of its columns, and how it is protected.

    `source` is the form in which the library reads it, `dice` what decides how that is written.
    """

    data: Mapping[str, Sequence[Any]]
    columns: Columns
    mechanism: Mapping[str, Any]
    source: str = "frame"
    empty: str | None = None
    apriori: Sequence[Statement] = ()
    dice: int = 0

    def __repr__(self) -> str:
        rows = zip(*self.data.values(), strict=True)
        lines = [",".join(self.data), *(",".join(map(str, row)) for row in rows)]
        return (
            f"Case({self.columns}, {dict(self.mechanism)}, source={self.source!r}, "
            f"empty={self.empty!r}, apriori={self.apriori}, dice={self.dice})\n"
            + "\n".join(f"    {line}" for line in lines)
        )

    def absent_zero(self) -> bool:
        """Whether inner cells stand without their margins, so that these are computed."""
        columns = self.columns
        return columns.rows == "cells" and not any(
            code == columns.root(name) for name in columns.names for code in self.data[name]
        )


SOURCES = (
    *("frame", "shuffled", "pandas", "polars", "csv", "csv", "csv", "memory", "parquet"),
    *("xlsx", "fixed", "free", "free"),
)
"""Forms of records: a mapping, the same in another order, frames, text, text within a bound of
memory, Parquet, a workbook, and text in columns or separated with a layout."""

OF_CELLS = ("frame", "pandas", "polars", "csv", "csv", "parquet", "xlsx", *["tab"] * 5)
"""Forms of rows of cells; "tab" has a layout, in columns or separated."""

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
    ("2023", "2024", "2025", "2026"),
    ("A B", "A  B", "AB", "A_B"),
)
"""Codes that a reader might take for one another, or for something else than a text."""


def _tree(rng: Random, codes: Sequence[str], name: str) -> dict[str, str]:
    """Hierarchy in two levels; some codes stay right below the total."""
    groups = [f"{name}X", f"{name}Y", f"{name}Z"][: rng.randint(1, 3)]
    parents = {code.strip(): rng.choice([*groups, ""]) for code in codes}
    return parents | {group: "" for group in groups if group in parents.values()}


def _digits(codes: Sequence[str]) -> dict[str, str]:
    """Hierarchy of codes by their first digits; a digit of its own for the level above."""
    return {code: code[0] for code in codes} | {code[0]: "" for code in codes}


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


def _codes(
    rng: Random, names: Sequence[str], n: int
) -> tuple[dict[str, list[Any]], dict[str, list[dict[str, str]]]]:
    """Codes of each dimension, and hierarchies of some: one, one by digits, or two that overlap."""
    skew = rng.choice([1, 2])
    data: dict[str, list[Any]] = {}
    trees: dict[str, list[dict[str, str]]] = {}
    for name in names:
        codes, kind = [f"{name}{i}" for i in range(rng.randint(2, 4))], rng.random()
        if kind < 0.15:
            codes = list(rng.choice(STYLES))[: len(codes)]
        elif kind < 0.22:
            codes = ["11", "12", "21", "22"][: len(codes)]
        data[name] = [codes[int(rng.random() ** skew * len(codes))] for _ in range(n)]
        if 0.15 <= kind < 0.22:
            trees[name] = [_digits(sorted(set(data[name])))]
        elif rng.random() < 0.35:
            trees[name] = [_tree(rng, codes, name)]
            if rng.random() < 0.2:
                trees[name].append(_tree(rng, codes, name.upper()))
    return data, trees


def draw(rng: Random, kind: str | None = None) -> Case:
    """Draw a case of "records", of "cells", or either."""
    kind = kind or ("cells" if rng.random() < 0.3 else "records")
    n = rng.randint(3, 24)
    names = ["a", "b", "c"][: rng.randint(1, 3)]
    by: list[list[str]] = [names]
    if len(names) > 1 and rng.random() < 0.35:
        by = [list(pair) for pair in itertools.combinations(names, len(names) - 1)]
        by = by[: rng.randint(2, len(by))]
    counts = rng.random() < 0.25
    data, trees = _codes(rng, names, n)
    if len(by) > 1:
        trees = {name: found[:1] for name, found in trees.items()}
    negative, places, who, weight, shadow = "error", 0, rng.random() < 0.7, None, None
    bare = kind == "cells" and not counts and len(by) == 1 and rng.random() < 0.15
    if bare or (kind == "records" and not counts and rng.random() < 0.4):
        negative = rng.choice(["abs", "shift", "split"])
    if not counts:
        places = rng.choice([0, 0, 0, 1, 1, 2, 2, 3])
        data["v"] = ["1"] * n if rng.random() < 0.1 else _values(rng, n, negative, places)
        if not bare and rng.random() < 0.2:
            shadow = "s"
            data["s"] = _values(rng, n, negative, rng.choice([0, 0, 1]))
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
    if len(names) < 3 and len(by) == 1 and rng.random() < 0.1:
        _repeat(rng, data, names, negative, places)
    missing = None
    if rng.random() < 0.08:
        flat = [name for name in names if name not in trees]
        missing = "?" if flat else None
        for name in flat[:1]:
            data[name] = [None if rng.random() < 0.2 else code for code in data[name]]
    total = {}
    if rng.random() < 0.25:
        total = {name: rng.choice(["All", "T", "0", "_T", "Total"]) for name in names}
    plain = counts and not who and not weight
    mechanism = _mechanism(rng, counts=counts, plain=plain, weight=bool(weight))
    columns = Columns(
        tuple(map(tuple, by)), None if counts else "v", "who" if who else None, weight, shadow,
        hierarchies=trees, negative=negative, total=total, missing=missing,
        decimals=places if mechanism.get("integer") and not counts else None,
    )  # fmt: skip
    case = Case(
        data, columns, mechanism, rng.choice(SOURCES), rng.choice([None, None, "keep", "drop"]),
        dice=rng.randrange(2**32),
    )  # fmt: skip
    if kind == "cells":
        case = _as_cells(case, rng, bare=bare)
    if bare or (len(by) == 1 and rng.random() < 0.2):
        case = _known(case, rng)
    return case


def _repeat(
    rng: Random, data: dict[str, list[Any]], names: list[str], negative: str, places: int
) -> None:
    """Make a panel of it: each record once in each period, with other values."""
    n = len(data[names[0]])
    for name, column in data.items():
        again = _values(rng, n, negative, places) if name == "v" else column
        data[name] = [*column, *again]
    names.append("p")
    data["p"] = ["2025"] * n + ["2026"] * n


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


def _as_cells(case: Case, rng: Random, *, bare: bool) -> Case:
    """The same file added up by hand: one row a cell, margins included.

    `bare` cells have values alone, which may be negative.
    """
    columns = replace(
        case.columns,
        hierarchies={name: trees[:1] for name, trees in (case.columns.hierarchies or {}).items()},
    )
    who = None if columns.counts else columns.contributor  # numbers of persons do not add up
    reading = read(case.data, replace(columns, contributor=who))
    names = columns.names
    every = sorted(
        {
            label
            for table in columns.by
            for label in itertools.product(
                *(reading.codes[n] if n in table else (columns.root(n),) for n in names)
            )
        }
    )
    inner_only = columns.counts and len(columns.by) == 1 and rng.random() < 0.4
    rows = []
    how = rng.choice(["zero", "absent", "some"])
    for label in every:
        cell = reading.cell(label)
        place = zip(names, label, strict=True)
        inner = not any(tree.get(code) for n, code in place for tree in reading.children[n])
        skipped = how == "absent" or (how == "some" and rng.random() < 0.5)
        if (cell.count == 0 and inner and skipped) or (inner_only and not inner):
            continue
        top = [*(x for side in cell.sides for x in side.top), 0, 0, 0][:3]
        numbers = [_text(cell.value, reading.scale), *(_text(x, reading.seen) for x in top)]
        seen = sum(side.total for side in cell.sides)
        rows.append((*label, *numbers, cell.count, _text(seen, reading.seen)))
    rng.shuffle(rows)
    header = [*names, "v", "t1", "t2", "t3", "n", "s"]
    data: dict[str, list[Any]] = {h: [row[i] for row in rows] for i, h in enumerate(header)}
    value, count, top = "v", "n", ("t1", "t2", "t3")
    if columns.counts:
        value, top = "n", ()
    elif bare:
        count, top = "", ()
    kept = [*names, value, *top, *filter(None, [count, columns.shadow])]
    forms = OF_CELLS if len(columns.by) == 1 else OF_CELLS[:3]
    mechanism = dict(case.mechanism)
    if bare:
        mechanism |= {"rules": "MAN(20)", "singletons": None}
    return replace(
        case,
        data={h: data[h] for h in dict.fromkeys(kept)},
        mechanism=mechanism,
        columns=Columns(
            columns.by, value, rows="cells", count=count or None, top=top, shadow=columns.shadow,
            decimals=columns.decimals, hierarchies=columns.hierarchies, total=columns.total,
            negative="allow" if bare else "error",
        ),
        source=rng.choice(forms),
    )  # fmt: skip


def _text(number: int, scale: int) -> str:
    return f"{number / 10**scale:.{scale}f}"


def _known(case: Case, rng: Random) -> Case:
    """Let some cells be known beforehand: unsafe, safe, public, suppressed, dear, with levels."""
    reading = read(case.data, case.columns)
    labels = [label for label in sorted(reading.cells) if not reading.empty(label)]
    if case.mechanism.get("margins") == "publish":
        totals = {total for total, _ in reading.sums(sorted(reading.cells))}
        labels = [label for label in labels if label not in totals]
    found: list[Statement] = []
    for label in rng.sample(labels, min(len(labels), rng.randint(1, 4))):
        blank = tuple(
            "" if code == case.columns.root(name) and rng.random() < 0.5 else code
            for name, code in zip(case.columns.names, label, strict=True)
        )
        word = rng.choice(["u", "u", "s", "p", "m", ""]) if found else "u"
        if word:
            found.append((blank, word, ()))
        if word == "u" and rng.random() < 0.4:
            most = abs(reading.cell(label).value) // 10**reading.scale
            found.append((blank, "pl", (str(rng.randint(0, min(9, most))), str(rng.randint(0, 9)))))
        if not word or rng.random() < 0.3:
            found.append((blank, "c", (str(rng.randint(1, 50)),)))
    rules = case.mechanism["rules"]
    if "MAN" not in rules:
        rules += f"|MAN({rng.choice([0, 5, 20])})"
    return replace(case, mechanism={**case.mechanism, "rules": rules}, apriori=tuple(found))
