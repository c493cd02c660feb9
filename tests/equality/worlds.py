"""Small files of data, each with others that agree with what is published of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from csp import Table
from tests.support import oracles

Files = Mapping[str, str]


@dataclass(frozen=True)
class World:
    """A command on data.

    `base` are its arguments, `published` the files that an attacker has, `files` the files of data,
    one mapping for each that may be the true one. `before` are commands that make what it reads,
    `random` files that are drawn by coins, of which any may come of each file of data. With
    `refused`, nothing is published, and what is said of that is compared.
    """

    name: str
    command: tuple[str, ...]
    base: tuple[str, ...]
    published: tuple[str, ...]
    files: tuple[Files, ...]
    before: tuple[tuple[str, ...], ...] = ()
    random: tuple[str, ...] = ()
    refused: bool = False


def csv_text(header: str, rows: Sequence[Sequence[Any]]) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def neighbours(
    inner: Sequence[Sequence[int]], hidden: Callable[[Table], Any], most: int
) -> list[np.ndarray]:
    """Inner cells of tables that agree with the cells that are not hidden, the given one first."""
    table = Table.from_array(inner)
    shape = np.shape(inner)
    flags = np.asarray(hidden(table), dtype=bool)
    found = []
    for values in oracles.integer_tables(table, flags):
        cells = np.array(values).reshape(shape[0] + 1, shape[1] + 1)[:-1, :-1]
        found.append(cells)
    found.sort(key=lambda cells: int(np.abs(cells - np.array(inner)).sum()))
    assert (found[0] == np.array(inner)).all()
    step = max(1, len(found) // most)
    return found[::step][:most]


# ---- tables of counts --------------------------------------------------------------------------

COUNTS = ((3, 2, 9, 8), (2, 3, 8, 9), (9, 8, 9, 9))


def _persons(cells: np.ndarray) -> Files:
    rows = [
        (f"r{i}", f"c{j}") for (i, j), count in np.ndenumerate(cells) for _ in range(int(count))
    ]
    # Rows of one order, whatever the counts, would tell where the counts differ.
    return {"data.csv": csv_text("r,c", sorted(rows)), "key": KEY, "joined": "r0,r2\n"}


def _crossed(cells: np.ndarray) -> Files:
    full = _with_margins(cells)
    heads = [f"c{j}" for j in range(full.shape[1] - 1)] + ["Total"]
    names = [f"r{i}" for i in range(full.shape[0] - 1)] + ["Total"]
    rows = [[name, *(n or "" for n in row)] for name, row in zip(names, full.tolist(), strict=True)]
    return {"data.csv": "Persons\n\n" + csv_text(",".join(["r", *heads]), rows)}


EMPTY = ((4, 0, 9, 8), (0, 4, 8, 9), (9, 8, 9, 9))
"""Counts of a cross table, in which cells without anybody are empty."""


KEY = "8f3a61c2d97e04b5162ca8d3e7f09b4431d86a5c7b20ef9d4a61578cb3e2f019\n"

_COUNTED = ("data.csv", "--by", "r,c", "--rules", "FREQ(4)", "--width", "3")


def _counts(most: int) -> Iterator[World]:
    def block(table: Table) -> Any:
        flags = np.zeros((4, 5), dtype=bool)
        flags[:2, :2] = True
        return flags.ravel()

    files = tuple(_persons(cells) for cells in neighbours(COUNTS, block, most))
    outputs = ("-o", "out.csv", "--release", "rel.json", "--summary", "s.json")
    yield World(
        "counts", ("protect",), (*_COUNTED, "--margins", "publish", *outputs),
        ("rel.csv",), files,
    )  # fmt: skip
    crossed = tuple(_crossed(cells) for cells in neighbours(EMPTY, block, most))
    yield World(
        "a cross table", ("protect",),
        ("data.csv", "--rules", "FREQ(5)|ZERO(1)", "--width", "3", "--margins", "publish", *outputs,
         "--report", "page.html", "--by", "r,c"),
        ("rel.csv",), crossed,
    )  # fmt: skip
    yield World(
        "counts with decoys", ("protect",),
        (*_COUNTED, "--margins", "publish", "--defence", "decoys:0.2", "--key-file", "key",
         "--report", "page.html", *outputs),
        ("rel.csv",), files,
    )  # fmt: skip
    yield World(
        "a job", ("run",), ("job.toml", "--summary", "s.json"),
        ("published/one.csv", "published/two.csv"),
        tuple({**one, "job.toml": JOB} for one in files),
    )  # fmt: skip
    near = tuple(_persons(np.reshape(cells, (2, 3))) for cells in NEAR[:most])
    rounded = ("data.csv", "--by", "r,c", "--base", "5", "-o", "out.csv", "--summary", "s.json")
    yield World("rounded counts", ("round",), rounded, ("out.csv",), near)
    keyed = (*rounded, "--key-file", "key", "--table-id", "may")
    yield World("rounded by a key", ("round",), keyed, ("out.csv",), near)
    low = tuple(_persons(np.reshape(cells, (2, 3))) for cells in LOW[:most])
    yield World("small counts rounded", ("round",), (*rounded, "--small"), ("out.csv",), low)
    first = (("protect", *_COUNTED, "--margins", "publish", *outputs),)
    for words in RELEASED:
        yield World(
            " ".join(words), words, ("rel.json", *(("rel.json",) if "joint" in words else ()),
             *(("again.json",) if words == ("diff",) else ()),
             *(("-o", "page.html") if words == ("report",) else ("--summary", "t.json"))),
            ("out.csv",), files,
            before=(
                *first,
                ("protect", *_COUNTED, "--margins", "publish", "--release", "again.json"),
            ),
        )  # fmt: skip


NEAR = ([7, 10, 5, 11, 5, 1], [7, 10, 5, 11, 6, 0], [7, 10, 6, 10, 5, 2], [7, 10, 6, 11, 5, 0])
"""Inner cells of tables that have one closest rounding to multiples of 5."""

LOW = ([7, 10, 5, 11, 5, 1], [7, 10, 5, 11, 5, 2], [7, 10, 5, 11, 5, 0])
"""Inner cells of tables whose small counts, of 1 and 2, go to 0."""

RELAXED = (
    (0, 1, 1, 0, 1, 1, 1, 0), (1, 0, 0, 1, 0, 1, 1, 0), (1, 1, 1, 0, 0, 1, 1, 0),
    (0, 2, 1, 0, 1, 0, 1, 1),
)  # fmt: skip
"""Inner cells of tables of 2 x 2 x 2 with one result, in which cells go further than base 2."""


RELEASED = (
    ("report",), ("diff",), ("attack", "report"), ("attack", "matching"), ("attack", "posterior"),
    ("attack", "explain"), ("attack", "insiders"), ("attack", "joint"),
)  # fmt: skip

EARLY = (
    ((5, 6, 9, 11), (0, 1, 9, 11), (2, 3, 10, 5)), ((5, 4, 11, 11), (0, 3, 7, 11), (2, 3, 10, 5)),
    ((2, 6, 12, 11), (0, 4, 6, 11), (5, 0, 10, 5)), ((3, 8, 9, 11), (0, 1, 9, 11), (4, 1, 10, 5)),
)  # fmt: skip
"""One release; a search that may stop within a quarter of the optimum proves it for some."""


def _early(most: int) -> Iterator[World]:
    yield World(
        "a search that may stop", ("protect",),
        ("data.csv", "--by", "r,c", "--rules", "FREQ(5)", "--width", "4", "--margins", "publish",
         "--gap", "0.25", "--method", "branch", "--report", "page.html", "-o", "out.csv",
         "--release", "rel.json", "--summary", "s.json"),
        ("rel.csv",), tuple(_persons(np.array(cells)) for cells in EARLY[:most]),
    )  # fmt: skip


JOB = """
[data]
file = "data.csv"
[[table]]
name = "one"
by = ["r", "c"]
[[table]]
name = "two"
by = ["c"]
[rules]
sensitive = "FREQ(4)"
width = 3
margins = "publish"
[solver]
gap = 0.2
[output]
format = ["csv", "xlsx", "sdmx", "sdctable", "apriori", "parquet"]
intervals = true
report = true
attacks = true
"""


# ---- tables of values --------------------------------------------------------------------------

VALUES = ((5, 105, 110, 60), (105, 5, 95, 70), (80, 90, 100, 110))


def _with_margins(cells: np.ndarray) -> np.ndarray:
    down = np.vstack([cells, cells.sum(axis=0)])
    return np.hstack([down, down.sum(axis=1, keepdims=True)])


def _written(number: Any) -> str:
    return f"{number:g}"


def _cells(cells: np.ndarray) -> Files:
    full = _with_margins(cells)
    rows = [
        (f"r{i}" if i < 3 else "Total", f"c{j}" if j < 4 else "Total", _written(value))
        for (i, j), value in np.ndenumerate(full)
    ]
    return {"data.csv": csv_text("r,c,v", rows), "hand.csv": "r,c\nr0,c0\n"}


def _moved(cells: Sequence[Sequence[int]], step: float) -> np.ndarray:
    """The same margins, and the same cells but for four."""
    found = np.array(cells, dtype=float)
    found[:2, :2] += [[step, -step], [-step, step]]
    return found


def _values(most: int) -> Iterator[World]:
    steps = (0, 0.5, 3, -4, 12.25, 40, 90)[:most]
    files = tuple(_cells(_moved(VALUES, step)) for step in steps)
    words = (
        "data.csv", "--aggregated", "--by", "r,c", "--value", "v", "--rules", "MAN(20)",
        "--primary", "hand.csv", "-o", "out.csv", "--release", "rel.json", "--summary", "s.json",
    )  # fmt: skip
    yield World("cells", ("protect",), words, ("rel.csv",), files)
    below = tuple(_cells(_moved(VALUES, step)) for step in (0, -7, 3.5, -60)[:most])
    yield World(
        "cells that may be negative", ("protect",), (*words, "--negative", "allow"),
        ("rel.csv",), below,
    )  # fmt: skip


def _firms(step: float, decimal: float) -> Files:
    """Nine cells of firms; the four corners are sensitive, and differ in what is hidden."""
    rows: list[tuple[Any, ...]] = []
    for i, j in product(range(3), range(3)):
        base = 40 + 7 * i + 11 * j
        parts = [base, base - 3, base - 5, base - 9]
        if i < 2 and j < 2:
            sign = 1 if i == j else -1
            parts = [900 + sign * step, 20 - decimal, 10 + decimal]
        rows += [(f"r{i}", f"c{j}", f"f{i}{j}{n}", _written(part)) for n, part in enumerate(parts)]
    return {"data.csv": csv_text("r,c,firm,v", rows), "key": KEY}


def _records(most: int) -> Iterator[World]:
    pairs = ((0, 0), (0, 0.5), (3, 0), (-25, 0.25), (40, 1), (11.5, 0))[:most]
    yield World(
        "records", ("protect",),
        ("data.csv", "--by", "r,c", "--value", "v", "--contributor", "firm", "--rules",
         "P(10,1)|FREQ(3,10)", "-o", "out.csv", "--release", "rel.json", "--summary", "s.json",
         "--report", "page.html"),
        ("rel.csv",), tuple(_firms(*pair) for pair in pairs),
    )  # fmt: skip


def _weights(first: float) -> Files:
    """Persons with weights: hidden cells of two, whose weights add up to two."""
    rows: list[tuple[Any, ...]] = []
    for i, j in product(range(3), range(3)):
        pair = i < 2 and j < 2
        weights = [first, 2 - first] if pair else [1] * (8 + i + j)
        rows += [(f"r{i}", f"c{j}", _written(w)) for w in weights]
    return {"data.csv": csv_text("r,c,w", rows)}


def _owned(step: int) -> Files:
    """Cells with the number of their contributors, whose hidden values differ."""
    inner = np.array(VALUES) * 10
    inner[:2, :2] += np.array([[step, -step], [-step, step]])
    people = np.full((3, 4), 9)
    people[0, 0] = 2
    both = zip(_with_margins(inner).ravel(), _with_margins(people).ravel(), strict=True)
    rows = [
        (f"r{n // 5}" if n < 15 else "Total", f"c{n % 5}" if n % 5 < 4 else "Total", value, count)
        for n, (value, count) in enumerate(both)
    ]
    return {"data.csv": csv_text("r,c,v,n", rows)}


def _further(most: int) -> Iterator[World]:
    outputs = ("-o", "out.csv", "--release", "rel.json", "--summary", "s.json", "--report",
               "page.html")  # fmt: skip
    yield World(
        "weights", ("protect",),
        ("data.csv", "--by", "r,c", "--weight", "w", "--rules", "FREQ(3,10)", *outputs),
        ("rel.csv",), tuple(_weights(first) for first in (1, 1.5, 0.75)[:most]),
    )  # fmt: skip
    yield World(
        "cells with contributors", ("protect",),
        ("data.csv", "--aggregated", "--by", "r,c", "--value", "v", "--count", "n", "--rules",
         "FREQ(3,10)", *outputs),
        ("rel.csv",), tuple(_owned(step) for step in (0, 3, -8, 20)[:most]),
    )  # fmt: skip
    rounded = tuple(
        {**one, "data.csv": one["data.csv"].replace("Total,Total,1035", f"Total,Total,{total}")}
        for one, total in zip([_cells(np.array(VALUES))] * 2, ("1035", "1034"), strict=True)
    )
    yield World(
        "margins off by rounding", ("protect",),
        ("data.csv", "--aggregated", "--by", "r,c", "--value", "v", "--tolerance", "2", "--rules",
         "MAN(20)", "--primary", "hand.csv", *outputs),
        ("rel.csv",), rounded[:most],
    )  # fmt: skip
    pieces = tuple(
        {"data.csv": one["data.csv"].replace(",", ";").replace(".", ",")}
        for one in (_firms(0, 0), _firms(0, 0.5), _firms(3, 0))
    )
    yield World(
        "decimal commas", ("protect",),
        ("data.csv", "--by", "r,c", "--value", "v", "--contributor", "firm", "--rules",
         "P(10,1)|FREQ(3,10)", *outputs),
        ("rel.csv",), pieces[:most],
    )  # fmt: skip


# ---- problems in JJ files ----------------------------------------------------------------------


def _posed(step: float) -> Files:
    from csp import Problem
    from csp.problem.jj import write_jj

    table = Table.from_array(_moved(VALUES, step), decimals=int(step % 1 > 0))
    primary = np.zeros(20, dtype=bool)
    primary[0] = True
    problem = Problem.of(table, primary, lpl=np.where(primary, 4, 0), upl=np.where(primary, 4, 0))
    with TemporaryDirectory() as folder:
        place = Path(folder) / "posed.jj"
        write_jj(problem, place)
        return {"posed.jj": place.read_text()}


def _problems(most: int) -> Iterator[World]:
    files = tuple(_posed(step) for step in (0, 0.5, 20, 55)[:most])
    ask = ("posed.jj", "-o", "out.csv", "--summary", "s.json")
    yield World("a problem", ("suppress",), ask, ("out.csv",), files)
    yield World(
        "a pattern", ("audit",),
        ("posed.jj", "pattern.csv", "-o", "ends.csv", "--summary", "t.json"),
        ("pattern.csv",), files, before=(("suppress", "posed.jj", "-o", "pattern.csv"),),
    )  # fmt: skip


# ---- microdata -----------------------------------------------------------------------------------


def _masked(most: int) -> Iterator[World]:
    # Sums of each half are kept, so that the means are.
    halves = [
        ((7, 18, 35), (1001, 1008, 1021)), ((15, 20, 25), (1001, 1008, 1021)),
        ((19, 20, 21), (1009, 1010, 1011)), ((7, 18, 35), (1000, 1010, 1020)),
        ((5, 20, 35), (995, 1005, 1030)), ((10, 20, 30), (1002, 1009, 1019)),
    ][:most]  # fmt: skip
    files = tuple(
        {
            "data.csv": csv_text(
                "x,y,g,firm",
                [(v, 50 + n, "ab"[n % 2], "pqrpqr"[n]) for n, v in enumerate((*low, *high))],
            )
        }
        for low, high in halves
    )
    ask = ("data.csv", "-k", "3", "--attributes", "x", "--keep", "g", "-o", "out.csv",
           "--summary", "s.json", "--report", "page.html")  # fmt: skip
    for command in (("microdata", "microaggregate"), ("microaggregate",)):
        yield World(" ".join(command), command, ask, ("out.csv",), files)
    yield World("judged", command, (*ask, "--rules", "P(1)"), ("out.csv",), files)
    unsafe = tuple(
        {"data.csv": csv_text("x,y,g", [(v, 50 + n, "ab"[n % 2]) for n, v in enumerate(values)])}
        for values in ((1, 2, 57, 1001, 1008, 1021), (1, 2, 57, 500, 510, 2020))
    )
    yield World(
        "refused", command, (*ask, "--rules", "P(30)"), (), unsafe[:most], refused=True
    )  # fmt: skip
    judged = (*ask, "--rules", "P(1)", "--comply")
    for way in ("merge", "grow", "suppress", "drop", "optimise"):
        yield World(f"comply by {way}", command, (*judged, way), ("out.csv",), files)
    low = [[(10, 20), (11, 24)], [(10, 24), (11, 20)], [(11, 20), (10, 24)]]
    high = [[(40, 50), (42, 53)], [(40, 53), (42, 50)], [(42, 50), (40, 53)]]
    ranges = tuple({"data.csv": csv_text("a,b", [*one, *two])} for one, two in product(low, high))[
        :most
    ]
    yield World(
        "ranges", ("microdata", "anonymise"),
        ("data.csv", "-k", "2", "-o", "out.csv", "--summary", "s.json"), ("out.csv",), ranges,
    )  # fmt: skip
    swapped = tuple(
        {"data.csv": csv_text("a,b", zip((1, 2, 3, 101, 102, 103), (*low, *high), strict=True))}
        for low, high in product(((5, 6, 7), (7, 5, 6), (5, 7, 6)), ((1, 2, 9), (9, 2, 1)))
    )[:most]
    yield World(
        "swapped values", ("microdata", "swap"),
        ("data.csv", "-k", "3", "--confidential", "b", "-o", "out.csv", "--summary", "s.json"),
        (), swapped, random=("out.csv",),
    )  # fmt: skip
    yield World(
        "a masked file", ("microdata", "check"),
        ("out.csv", "--quasi-identifiers", "x", "--confidential", "g", "--summary", "t.json"),
        ("out.csv",), files, before=(("microdata", "microaggregate", *ask[:-2]),),
    )  # fmt: skip
    masking = ("microdata", "microaggregate", *ask[:-4])
    yield World(
        "a masked file compared", ("microdata", "utility"),
        ("data.csv", "out.csv", "--summary", "t.json"), ("out.csv",), files, before=(masking,),
    )  # fmt: skip
    yield World(
        "a masked file on a page", ("microdata", "report"),
        ("data.csv", "out.csv", "--quasi-identifiers", "x", "-o", "judged.html"), ("out.csv",),
        files, before=(masking,),
    )  # fmt: skip


def worlds(most: int) -> Iterator[World]:
    """All worlds, with up to `most` files that agree, each."""
    yield from _counts(most)
    yield from _early(most)
    yield from _values(most)
    yield from _records(most)
    yield from _further(most)
    yield from _problems(most)
    yield from _masked(most)
