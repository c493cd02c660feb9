"""Misreadings planted in the library one by one, each of which the second reading finds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cellveil.io.inputs import read_table
from cellveil.requests.source import Source
from csp import InputError, Mechanism, Problem, Table, Unprotectable
from csp.audits.second_reading import Columns, by_layout, layout_of, reread
from csp.audits.second_reading.people import read
from csp.problem import singletons
from csp.release.release import Release
from csp.tables import argus
from tests.second_reading.cases import Case, Data, rows
from tests.second_reading.compare import compare, everything
from tests.second_reading.forms import form_of

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]

AGREE = "Read twice, both agree"


def audited(case: Case) -> str:
    """Protect a case, and return what the second reading says first."""
    options = {k: v for k, v in case.mechanism.items() if k not in ("rules", "cost")}
    with tempfile.TemporaryDirectory() as name:
        form = form_of(case, Path(name))
        records, columns, apriori = form.again()
        again = partial(
            reread, records=records, columns=columns, rules=case.mechanism["rules"],
            apriori=apriori, **options,
        )  # fmt: skip
        table = form.table()
        try:
            found = Mechanism(**case.mechanism).protect(table, apriori=form.known(table))
        except Unprotectable:
            safe = again(everything(table, read(records, columns))).safe
            return "falsely refused" if safe else AGREE
        return again(found.release).lines()[0]


# ---- how the library is made to misread ----------------------------------------------------------


def options_of(change: Callable[[Data, dict[str, Any]], object]) -> Plant:
    """Tabulate other records, or other columns, than were given."""
    true = Table.from_microdata

    def misread(data: Any, by: Any, value: Any = None, **options: Any) -> Table:
        given = {name: list(column) for name, column in data.items()}
        options["value"] = value
        change(given, options)
        return true(given, list(by), **options)

    return lambda patch: patch.setattr(Table, "from_microdata", staticmethod(misread))


def table_of(change: Callable[[Table], Table], name: str = "from_microdata") -> Plant:
    """Tabulate rightly, and change the table."""
    true = getattr(Table, name)

    def misread(*given: Any, **options: Any) -> Table:
        return change(true(*given, **options))

    return lambda patch: patch.setattr(Table, name, staticmethod(misread))


def people_of(change: Callable[[Any], Any], name: str = "from_microdata") -> Plant:
    return table_of(lambda table: table.replace(contributors=change(table.contributors)), name)


def drop_record(data: Data, _: Any) -> None:
    for column in data.values():
        column.pop()


def tell_two_apart(people: Any) -> Any:
    """Give the negative contributions of a firm another identifier than its positive ones."""
    other = people.opposite
    ids = np.where(other.ids < 0, other.ids, other.ids + 1000)
    return replace(people, opposite=replace(other, ids=ids))


def levels_of_0(patch: Patch) -> None:
    true = Mechanism.amended

    def misread(self: Mechanism, *given: Any) -> Problem:
        found = true(self, *given)
        return replace(found, spl=np.zeros_like(found.spl))

    patch.setattr(Mechanism, "amended", misread)


def pattern_by_position(patch: Patch) -> None:
    """Take a pattern in the order of sorted labels for one in the order of the cells."""
    true = Release.of

    def misread(table: Table, pattern: Any, **options: Any) -> Release:
        order = sorted(range(table.n_cells), key=lambda cell: table.labels[cell][::-1])
        return true(table, np.asarray(pattern)[order], **options)

    patch.setattr(Release, "of", staticmethod(misread))


# ---- data ----------------------------------------------------------------------------------------

SURVEY = rows(
    "region sector firm turnover staff w",
    "N A f1 500 5 1", "N B f2 400 4 2", "N C f3 30 9 1", "N C f4 40 8 3", "N C f5 50 7 1",
    "S A f6 300 6 2", "S B f7 350 5 1", "S C f8 60 3 1", "S C f9 70 2 1", "S C f9 50 1 1",
    "S C f10 45 11 2", "N A f2 -20 2 2",
)  # fmt: skip
MEANT = Columns((("region", "sector"),), "turnover", "firm", negative="abs")
FULL = [(r, s, f"{r}{s}{i}", 30 + i) for r in "ab" for s in "xyz" for i in range(5)]


def case_of(data: Data, columns: Columns, rules: str, source: str = "frame", **more: Any) -> Case:
    apriori = more.pop("apriori", ())
    return Case(data, columns, {"rules": rules, **more}, source, apriori=apriori, dice=4)


def full(where: str = "", who: str = "") -> Data:
    """Two by three cells of five firms; in one cell all records belong to `who`."""
    lines = (f"{r} {s} {v} {who if who and r + s == where else f}" for r, s, f, v in FULL)
    return rows("r s v who", *lines)


def of_shadow() -> Data:
    small = ["99", "1", "1", "1", "1"]
    data = full()
    data["z"] = [small[i % 5] if i < 5 else "40" for i in range(len(data["v"]))]
    return data


SURVEYED = case_of(SURVEY, MEANT, "P(10,1)|FREQ(3,10)")
NAMED = Columns((("r", "s"),), "v", "who")
SPLIT = case_of(
    rows(
        "r s v who", "r x -30 f", "r y 70 f", "r z 45 g",
        *(f"r t {30 + i} p{i}" for i in range(6)),
        *(f"q{k} {s} {30 + i} {s}{i}" for k in "12" for s in "xyzt" for i in range(6)),
    ),
    replace(NAMED, negative="split"), "P(10,1)",
)  # fmt: skip
LINKED = case_of(
    rows(
        "a b v", "A1 B1 60", "A2 B2 45",
        *(f"A{k} B{k - 1} 3{i}" for k in (3, 4) for i in range(5)),
    ),
    Columns((("a",), ("b",)), "v"), "P(10,1)",
)  # fmt: skip
ZEROS = case_of(
    rows(
        "r s v t n",
        "a x 80 80 1", "a y 60 9 9", "a z 0 0 0", "a Total 140 80 10",
        "b x 50 9 7", "b y 0 0 0", "b z 40 9 8", "b Total 90 9 15",
        "Total x 130 80 8", "Total y 60 9 9", "Total z 40 9 8", "Total Total 230 80 25",
    ),
    Columns((("r", "s"),), "v", rows="cells", count="n", top=("t",)), "FREQ(3,10)", cost="value",
)  # fmt: skip
COUNTED = case_of(
    rows("r v n", "a 80 2", "b 60 9", "c 40 8", "Total 180 19"),
    Columns((("r",),), "v", rows="cells", count="n"), "FREQ(3,10)", "tab",
)  # fmt: skip
EQUAL = case_of(
    rows(
        "act size form v n",
        "X 1 Total 50 1", "X 2 Total 900 1", "X Total Total 950 2", "X Total L 950 2",
        "Y 1 Total 70 5", "Y 2 Total 80 5", "Y Total Total 150 10", "Y Total L 90 5",
        "Y Total M 60 5", "Total 1 Total 120 6", "Total 2 Total 980 6", "Total Total L 1040 7",
        "Total Total M 60 5", "Total Total Total 1100 12",
    ),
    Columns((("act", "size"), ("act", "form")), "v", rows="cells", count="n"), "FREQ(3,10)",
)  # fmt: skip
ONES = case_of(
    rows(
        "r s v who", "r x 1 f", "r y 1 g", *(f"r z 1 p{i}" for i in range(4)),
        *(f"q {s} 1 {s}{i}" for s in "xyz" for i in range(4)),
    ),
    NAMED, "FREQ(3,10)",
)  # fmt: skip
NOTHING = ((("a", "x"), "u", ()), (("a", "x"), "pl", ("0", "0")))


@dataclass(frozen=True)
class Misreading:
    """A case, what makes the library misread it, and words of the second reading."""

    case: Case
    plant: Plant
    words: str = "The second reading differs: cell ("


PUBLISHED = "is sensitive by P(10,1) and is published"
NARROW = "keeps too narrow an interval for"

PLANTED = {
    "the shadow is ignored": Misreading(
        case_of(of_shadow(), replace(NAMED, shadow="z"), "P(10,1)"),
        options_of(lambda _, options: options.update(shadow=None)), PUBLISHED,
    ),
    "a row of value 0 and count 0 is a partner": Misreading(
        ZEROS, table_of(lambda table: table.replace(structural=None), "from_frame"), NARROW,
    ),
    "a sensitive cell has levels of 0": Misreading(
        case_of(full(), NAMED, "P(10,1)|MAN(0)", apriori=NOTHING), levels_of_0, NARROW,
    ),
    "one firm with both signs is two": Misreading(SPLIT, people_of(tell_two_apart), NARROW),
    "one respondent of linked tables is two": Misreading(
        LINKED, people_of(lambda people: replace(people, ids=None)), NARROW,
    ),
    "records are contributors": Misreading(
        case_of(full("by", "big"), NAMED, "P(10,1)"),
        options_of(lambda _, options: options.update(contributor=None)), PUBLISHED,
    ),
    "columns are swapped": Misreading(
        SURVEYED, options_of(lambda _, options: options.update(value="staff"))
    ),
    "the column of frequencies is the value": Misreading(
        COUNTED,
        lambda patch: patch.setattr(argus, "_response", lambda *_: "n"),
    ),
    "a record is left out": Misreading(SURVEYED, options_of(drop_record)),
    "a sign is dropped": Misreading(
        SURVEYED,
        options_of(lambda data, _: data.update(turnover=[x.strip("-") for x in data["turnover"]])),
    ),
    "labels are swapped": Misreading(
        SURVEYED,
        options_of(lambda data, _: data.update(
            sector=[{"A": "C", "C": "A"}.get(code, code) for code in data["sector"]]
        )),
    ),
    "weights are ignored": Misreading(
        replace(SURVEYED, columns=replace(MEANT, weight="w")),
        options_of(lambda _, options: options.update(weight=None)),
    ),
    "a cell that equals a total is a stranger's": Misreading(
        EQUAL, lambda patch: patch.setattr(singletons, "_only_parts", lambda *_: {}),
        "falsely refused",
    ),
    "a pattern is taken by position": Misreading(
        case_of(full("by", "big"), NAMED, "P(10,1)"), pattern_by_position, NARROW
    ),
    "values of 1 are taken for counts, in which nobody is alone": Misreading(
        ONES, lambda patch: patch.setattr(Mechanism, "guards_singletons", lambda *_: False),
        NARROW,
    ),
}  # fmt: skip


@pytest.mark.parametrize("one", PLANTED.values(), ids=PLANTED.keys())
def test_a_misreading_is_found(monkeypatch: Patch, one: Misreading) -> None:
    assert audited(one.case).startswith(AGREE)
    assert compare(one.case).findings == ()
    one.plant(monkeypatch)
    assert one.words in audited(one.case)


# ---- what both refuse ----------------------------------------------------------------------------

TAB = '<SEPARATOR> ";"\nR\n<RECODEABLE>\nV\n<NUMERIC>\n'
REFUSED: dict[str, tuple[str, str, str, Plant, str]] = {
    "thousands are decimals": (
        "r.asc", TAB, "a;1,000\nb;12,000\nc;250\n",
        lambda patch: patch.setattr(argus, "_check_thousands", lambda *_: None),
        "may have decimals, or separators of thousands",
    ),
    "the second column of a role is taken": (
        "r.tab", f"{TAB}N\n<FREQUENCY>\nH\n<FREQUENCY>\n", "A;50;9;1\nB;60;9;2\nTotal;110;18;3\n",
        lambda patch: patch.setattr(argus, "_only", lambda meta, flags: next(
            (v.name for v in reversed(meta.variables) if v.flags & flags), None)),
        "two variables <FREQUENCY>",
    ),
    "listed contributions are counted": (
        "r.tab", f"{TAB}T\n<MAXSCORE>\nU\n<MAXSCORE>\n",
        "A;100;55;44\nB;300;30;29\nTotal;400;55;44\n",
        people_of(lambda people: replace(people, counted=True), "from_frame"),
        "needs the number of contributors",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_both_refuse_is_refused_where_one_misreads_it(
    monkeypatch: Patch, tmp_path: Path, name: str
) -> None:
    file, layout, lines, plant, words = REFUSED[name]
    (tmp_path / "r.rda").write_text(layout)
    (tmp_path / file).write_text(lines)
    source = Source(tmp_path / file, ("R",), "V", rda=tmp_path / "r.rda")

    def protect() -> Release:
        return Mechanism("FREQ(3,10)").protect(read_table(source)).release

    with pytest.raises(InputError):
        protect()
    plant(monkeypatch)
    release = protect()

    def again() -> None:
        layout = layout_of(tmp_path / "r.rda")
        records, columns, _ = by_layout(tmp_path / file, layout, Columns((("R",),), "V"))
        reread(release, records, columns, "FREQ(3,10)")

    with pytest.raises(InputError, match=words):
        again()


def test_the_library_refuses_a_value_without_contributors() -> None:
    data = rows("r v n", "a 50 0", "b 60 9", "Total 110 9")
    with pytest.raises(InputError):
        Mechanism("FREQ(3,10)").protect(Table.from_frame(data, ["r"], "v", count="n"))
