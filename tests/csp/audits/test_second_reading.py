"""The second reading by hand, and beside the library on random files of every form."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import InputError, Mechanism, Table
from csp.audits.second_reading import Columns, parents_of, reread, rows_of
from csp.audits.second_reading.people import read
from csp.audits.second_reading.rules import Need, needs
from csp.release.release import Release
from tests.second_reading.cases import OF_CELLS, SOURCES, Case, Data, draw, rows
from tests.second_reading.compare import compare
from tests.support.shared import examples


def needed(data: Data, columns: Columns, rules: str, **more: Any) -> dict[tuple[str, ...], Need]:
    reading = read(data, columns)
    bounds = (0 if columns.negative == "error" else None, None)
    return needs(reading, reading.cells, rules, bounds=dict.fromkeys(reading.cells, bounds), **more)


def levels(data: Data, columns: Columns, rules: str, **more: Any) -> dict[str, tuple[int, ...]]:
    """Levels (down, up, width) of sensitive cells in a table of one dimension."""
    found = needed(data, columns, rules, **more)
    return {label[0]: (n.down, n.up, n.width) for label, n in found.items()}


def release(data: Data, columns: Columns, hidden: Sequence[Sequence[str]], **more: Any) -> Release:
    """A release in which these cells are suppressed, made without the library's reading."""
    reading = read(data, columns)
    labels = sorted({*reading.cells, *(tuple(label) for label in hidden)})
    n = len(labels)
    gone = np.array([label in {tuple(h) for h in hidden} for label in labels])
    values = np.array([reading.cell(label).value for label in labels], dtype=np.int64)
    low = 0 if columns.negative == "error" else -csp.UNBOUNDED
    facts: dict[str, Any] = {
        "published": np.where(gone, 0, values), "pattern": gone, "relations": None,
        "lower": np.full(n, low), "upper": np.full(n, csp.UNBOUNDED), "labels": labels,
        "scale": reading.scale, "names": columns.names,
        "roots": tuple(columns.root(name) for name in columns.names),
    }  # fmt: skip
    return Release(**(facts | more))


# ---- contributions -------------------------------------------------------------------------------

ONE = Columns((("a",),), "v", "who")


def test_records_of_one_contributor_are_one_contribution() -> None:
    data = rows("a v who", "x 30 f", "x 30 f", "x 40 g", "x 5 h", "y 9 f", "y 9 g", "y 9 h")
    # 105 - 60 - 40 = 5 of the 6 that are 10 % of 60; as four contributions 105 - 40 - 30 = 35.
    assert levels(data, ONE, "P(10,1)") == {"x": (1, 1, 0)}
    assert levels(data, replace(ONE, contributor=None), "P(10,1)") == {}
    # In the total f has 69, g 49, h 14.
    assert read(data, ONE).cells["Total",].sides[0].top == (69, 49, 14)
    assert read(data, ONE).cells["Total",].count == 3


@pytest.mark.parametrize(
    ("negative", "level"),
    [
        ("abs", 3),  # 60, 50, 3 of 113: 113 - 110 = 3 of 6
        ("shift", 11),  # less -60: 110, 63, 0 of 173: nothing of 11
        ("split", 6),  # 50 and 3: nothing of 5; 60 alone: nothing of 6
    ],
)
def test_negative_contributions_in_three_ways(negative: str, level: int) -> None:
    data = rows("a v who", "x -60 f", "x 50 g", "x 3 h", *(f"y 1 p{i}" for i in range(9)))
    columns = replace(ONE, negative=negative)
    assert levels(data, columns, "P(10,1)")["x"] == (level, level, 0)
    with pytest.raises(InputError, match="row 1: the value is negative"):
        read(data, ONE)


def test_a_shift_is_one_for_all_tables() -> None:
    data = rows("a b v who", "x p 5 f", "y p -20 f", "x q 7 g", "y q -2 h")
    reading = read(data, Columns((("a",), ("b",)), "v", "who", negative="shift"))
    # f has 5 and -20 in the rows of a, -15 in p: everything is counted from -20.
    assert reading.cells["x", "Total"].sides[0].top == (27, 25)
    assert reading.cells["Total", "p"].sides[0].top == (5,)


def test_weights_repeat_contributions_but_not_respondents() -> None:
    data = rows("a v who w", "x 100 f 3", "x 5 g 1", "y 100 h 1", "y 5 i 1")
    columns = replace(ONE, weight="w")
    assert read(data, columns).cells["x",].value == 305
    # Of x two of the three that f stands for leave 105; in y nothing is left of 10.
    assert levels(data, columns, "P(10,1)") == {"y": (10, 10, 0)}
    assert set(levels(data, columns, "FREQ(3,10)")) == {"x", "y"}
    data["w"] = ["3", "2", "1", "1"]
    data["who"] = ["f", "f", "h", "i"]
    with pytest.raises(InputError, match="row 2: its contributor has another weight"):
        read(data, columns)


def test_decimals_are_units() -> None:
    data = rows("a v who w", "x 0.10 f 1.5", "x 0.25 g 1", "y 3 h 2")
    reading = read(data, replace(ONE, weight="w"))
    assert (reading.scale, reading.cells["x",].value) == (3, 400)
    assert read({"a": ["x"], "v": [0.1], "who": [1]}, ONE).scale == 1


# ---- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "level"),
    [
        ("P(10,1)", (5, 5, 0)),  # 100 - 80 - 17 = 3 of 8
        ("P(10,2)", (8, 8, 0)),  # nothing is left beside three
        ("P(10,50,1)", (13, 13, 0)),  # 16 - 3
        ("NK(1,75)", (7, 7, 0)),  # 80 / 0.75 - 100 = 6.67
        ("NK(2,97)", None),  # a tie is safe
        ("NK(2,96)", (2, 2, 0)),  # 97 / 0.96 - 100 = 1.04
        ("FREQ(4,10)", (10, 10, 0)),
        ("FREQ(4,0)", (1, 1, 0)),
        ("FREQ(3,10)", None),
        ("FREQ(4,width=20)", (0, 0, 20)),
        ("FREQ(4)", (0, 0, 1)),  # sensitive, and at least not known exactly
        ("P(10,1)|FREQ(4,10)", (10, 10, 0)),
        ("P(0,0)|NK(1,75)", (7, 7, 0)),
        ("ZERO(4)", None),
    ],
)
def test_rules_by_hand(rules: str, level: tuple[int, ...] | None) -> None:
    data = rows("a v who", "x 80 f", "x 17 g", "x 3 h", *(f"y 50 p{i}" for i in range(9)))
    assert levels(data, ONE, rules).get("x") == level


def test_zeros_widths_and_cells_named_by_hand() -> None:
    data = rows("a v who", "x 0 f", "x 0 g", "y 30 h", "y 40 i")
    assert levels(data, ONE, "ZERO(4)") == {"x": (0, 4, 0)}
    assert levels(data, replace(ONE, negative="abs"), "ZERO(4)") == {"x": (4, 4, 0)}
    named = [("y",)]
    assert levels(data, ONE, "MAN(20)", named=named) == {"y": (14, 14, 0)}
    assert levels(data, ONE, "MAN(0)", named=named) == {"y": (1, 1, 0)}
    assert levels(data, ONE, "MAN(20)", named=named, width=9) == {"y": (14, 14, 9)}
    assert levels(data, ONE, "MAN(20)", named=named, width=9, strict=True)["y"] == (14, 14, 10)
    with pytest.raises(InputError, match=r"does not know the rule REQ"):
        levels(data, ONE, "REQ(1,2,3)")


def test_counts_have_the_width_of_their_threshold() -> None:
    data = rows("a", "x", "x", "y", "y", "y", "y")
    columns = Columns((("a",),))
    assert levels(data, columns, "FREQ(3)") == {"x": (0, 0, 3)}
    tree = {"x": "", "y": "", "z": ""}
    counted = replace(columns, hierarchies={"a": [tree]})
    reading = read(data, counted)
    every = [("x",), ("y",), ("z",), ("Total",)]
    zero = needs(reading, every, "FREQ(3,zero=1)", bounds=dict.fromkeys(every, (0, None)))
    assert set(zero) == {("x",), ("z",)}  # in a table of counts nobody knows that z is empty
    valued = replace(reading, columns=replace(counted, value="v"))
    assert set(needs(valued, every, "FREQ(3,zero=1)", bounds=dict.fromkeys(every, (0, None)))) == {
        ("x",)
    }


def test_rules_and_levels_look_at_the_shadow() -> None:
    data = rows("a v s who", "x 50 90 f", "x 50 10 g", "x 50 1 h", "y 99 5 i", "y 9 5 j", "y 9 5 k")
    columns = replace(ONE, shadow="s")
    # Of 101 one is left of nine in x: 8 are missing, 11.9 of 150. In y five are left of 0.5.
    assert levels(data, columns, "P(10,1)") == {"x": (12, 12, 0)}
    assert read(data, columns).cells["x",].value == 150
    assert "y" in levels(data, ONE, "P(10,1)|NK(1,80)")
    table = rows("a v n s t", "x 150 3 101 90", "y 117 3 15 5", "Total 267 6 116 90")
    cells = Columns((("a",),), "v", shadow="s", rows="cells", count="n", top=("t",))
    assert levels(table, cells, "NK(1,80)") == {"x": (18, 18, 0)}  # 90 / 0.8 - 101 = 11.5 of 101


# ---- cells in rows -------------------------------------------------------------------------------

CELLS = Columns((("r", "s"),), "v", rows="cells", count="n")
EMPTY = rows(
    "r s v n",
    "a x 80 1", "a y 60 9", "a z 0 0", "a Total 140 10",
    "b x 50 7", "b y 0 0", "b z 40 8", "b Total 90 15",
    "Total x 130 8", "Total y 60 9", "Total z 40 8", "Total Total 230 25",
)  # fmt: skip
THROUGH_ZEROS = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("b", "y"), ("b", "z")]


def test_an_empty_cell_is_no_partner_however_it_is_written() -> None:
    """Column y is 60 in cell (a, y) alone, so (a, x) is 140 - 60."""
    found = reread(release(EMPTY, CELLS, THROUGH_ZEROS), EMPTY, CELLS, "FREQ(3,10)")
    assert [e.label for e in found.exposures] == [("a", "x")]
    assert (found.exposures[0].down, found.exposures[0].up) == (0, 0)
    absent = {name: [v for v, n in zip(c, EMPTY["n"], strict=True) if n != "0"] for name, c in
              EMPTY.items()}  # fmt: skip
    assert reread(release(EMPTY, CELLS, THROUGH_ZEROS), absent, CELLS, "FREQ(3,10)").exposures
    through_totals = [("a", "x"), ("b", "x"), ("a", "Total"), ("b", "Total")]
    assert reread(release(EMPTY, CELLS, through_totals), EMPTY, CELLS, "FREQ(3,10)").safe


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a 50 0 0 0", "row 1: the cell has a value and no contributor"),
        ("a 50 3 10 20", "row 1: its largest contributions are not in descending order"),
        ("a 50 3 40 20", "row 1: its largest contributions add up to more than its value"),
        ("a 50 1 40 10", "row 1: it has more contributions than contributors"),
        ("a 50 2 40 9", "row 1: all of its contributors are listed, and add up to less"),
        ("b 50 9 9 9", r"row 2: cell \(b\) has a row already"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(row: str, words: str) -> None:
    data = rows("r v n t u", row, "b 60 9 9 8")
    columns = Columns((("r",),), "v", rows="cells", count="n", top=("t", "u"))
    with pytest.raises(InputError, match=words):
        read(data, columns)


def test_rules_need_what_rows_do_not_say() -> None:
    data = rows("r v t u", "a 100 55 44", "b 300 30 29", "Total 400 55 44")
    columns = Columns((("r",),), "v", rows="cells", top=("t", "u"))
    assert levels(data, columns, "P(10,1)") == {"a": (5, 5, 0)}  # 1 of 5.5, rounded up
    with pytest.raises(InputError, match="needs the number of contributors"):
        levels(data, columns, "FREQ(3,10)")
    with pytest.raises(InputError, match="needs the largest contributions"):
        levels(EMPTY, CELLS, "P(10,1)")


def test_rows_that_do_not_add_up_are_refused() -> None:
    data = rows("r v n", "a 50 4", "b 60 9", "Total 120 13")
    columns = replace(CELLS, by=(("r",),))
    with pytest.raises(InputError, match=r"cell \(Total\) is not the sum of its parts"):
        reread(release(data, columns, []), data, columns, "FREQ(3,10)")


def test_lone_cells_with_a_filled_cell_in_common_are_one_contributor() -> None:
    """Cells (a, x), (a, Total) and (Total, x) are of one person, who learns nothing of himself."""
    data = rows(
        "r s v n",
        "a x 50 1", "a y 0 0", "a Total 50 1", "b x 0 0", "b y 70 5", "b Total 70 5",
        "Total x 50 1", "Total y 70 5", "Total Total 120 6",
    )  # fmt: skip
    hidden = [
        ("a", "x"),
        ("a", "Total"),
        ("b", "y"),
        ("b", "Total"),
        ("Total", "x"),
        ("Total", "y"),
    ]
    found = reread(release(data, CELLS, hidden), data, CELLS, "FREQ(3,10)")
    assert found.safe
    assert found.attackers == 2  # an outsider and this one


# ---- attackers -----------------------------------------------------------------------------------


def test_two_contributors_alone_in_a_row_disclose_each_other() -> None:
    data = rows(
        "r s v who", "a x 80 f", "a y 60 g", *(f"a z 2{i} p{i}" for i in range(4)),
        *(f"b {s} 3{i} {s}{i}" for s in "xyz" for i in range(4)),
    )  # fmt: skip
    columns = Columns((("r", "s"),), "v", "who")
    square = [(r, s) for r in "ab" for s in "xy"]
    found = reread(release(data, columns, square), data, columns, "FREQ(3,10)")
    assert {(e.label, e.attacker) for e in found.exposures} == {
        (("a", "x"), "the only contributor of cell (a, y)"),
        (("a", "y"), "the only contributor of cell (a, x)"),
    }
    assert reread(
        release(data, columns, square), data, columns, "FREQ(3,10)", singletons=False
    ).safe
    wider = [(r, s) for r in "ab" for s in "xyz"]
    assert reread(release(data, columns, wider), data, columns, "FREQ(3,10)").safe


def test_whoever_is_alone_in_a_negative_and_a_positive_cell_is_one_person() -> None:
    """Contributor f knows -30 and 70 of row r, and subtracts both to learn the 45 of g."""
    data = rows(
        "r s v who", "r x -30 f", "r y 70 f", "r z 45 g", *(f"r t 2{i} p{i}" for i in range(4)),
        *(f"q {s} 3{i} {s}{i}" for s in "xyzt" for i in range(4)),
    )  # fmt: skip
    columns = Columns((("r", "s"),), "v", "who", negative="split")
    hidden = [(r, s) for r in ("r", "q", "Total") for s in "xyz"]
    found = reread(release(data, columns, hidden), data, columns, "P(10,1)")
    assert [(e.label, e.down, e.up) for e in found.exposures] == [(("r", "z"), 0, 0)]
    assert "45" not in found.exposures[0].words()
    assert "value 45 in [45, 45]" in found.exposures[0].words(reveal=True)


def test_a_record_is_one_respondent_in_all_linked_tables() -> None:
    """The first record is alone in a1 and in b1: total 175 less 90, 35 and 20 leaves a2's 30."""
    data = rows("a b v", "a1 b1 35", "a2 b2 30", *(f"a3 b2 2{i}" for i in range(4)))
    data["v"][-1] = "24"
    columns = Columns((("a",), ("b",)), "v")
    hidden = [("a1", "Total"), ("a2", "Total"), ("Total", "b1"), ("Total", "Total")]
    found = reread(release(data, columns, hidden), data, columns, "P(10,1)")
    assert ("a2", "Total") in {e.label for e in found.exposures}
    assert all(e.down == e.up == 0 for e in found.exposures if e.label == ("a2", "Total"))


def test_the_only_filled_part_of_a_total_is_the_total() -> None:
    """Of activity X all is in form L, so the firm alone in size 1 of X takes part in (X, L)."""
    data = rows(
        "act size form v n",
        "X 1 Total 50 1", "X 2 Total 900 1", "X Total Total 950 2", "X Total L 950 2",
        "Y 1 Total 70 5", "Y 2 Total 80 5", "Y Total Total 150 10", "Y Total L 90 5",
        "Y Total M 60 5", "Total 1 Total 120 6", "Total 2 Total 980 6", "Total Total L 1040 7",
        "Total Total M 60 5", "Total Total Total 1100 12",
    )  # fmt: skip
    columns = Columns((("act", "size"), ("act", "form")), "v", rows="cells", count="n")
    hidden = list(zip(data["act"], data["size"], data["form"], strict=True))
    found = reread(release(data, columns, hidden), data, columns, "FREQ(3,10)")
    assert found.safe


def test_hierarchies_bind_cells(tmp_path: Path) -> None:
    (tmp_path / "a.hrc").write_text("north\n@n1\n@n2\nsouth\n@s1\n@s2\n")
    tree = parents_of(tmp_path / "a.hrc")
    assert tree == {"north": "", "south": ""} | {
        "n1": "north", "n2": "north", "s1": "south", "s2": "south",
    }  # fmt: skip
    others = (f"{code} 2{i} {code}{i}" for code in ("n2", "s1", "s2") for i in range(4))
    data = rows("a v who", "n1 40 f", *others)
    columns = replace(ONE, hierarchies={"a": [tree]})
    over = reread(release(data, columns, [("n1",), ("s1",)]), data, columns, "P(10,1)")
    assert [e.down for e in over.exposures] == [0]  # north less n2
    assert reread(release(data, columns, [("n1",), ("n2",)]), data, columns, "P(10,1)").safe
    west = {"n1": "west", "s1": "west", "n2": "", "s2": "", "west": ""}
    overlapping = replace(columns, hierarchies={"a": [tree, west]})
    assert not reread(
        release(data, overlapping, [("n1",), ("n2",)]), data, overlapping, "P(10,1)"
    ).safe


def test_whole_numbers_are_narrower_where_the_attacker_knows_of_them() -> None:
    """Sums x+y and y+z are known, and x+z within one: x moves by halves, or not at all."""
    codes = dict.fromkeys("xyzw", "")
    pairs = [codes | {first: up, second: up, up: ""} for first, second, up in ("xyA", "yzB", "xzC")]
    columns = Columns((("a",),), hierarchies={"a": pairs})
    data = {"a": list("xyzwwwww")}
    shown = release(data, columns, [(code,) for code in "xyzwC"])
    at = shown.labels.index(("C",))
    low, high = shown.lower.copy(), shown.upper.copy()
    low[at], high[at] = 1, 3
    shown = replace(shown, lower=low, upper=high)
    assert reread(shown, data, columns, "FREQ(2,width=1)", integer=False).safe
    found = reread(shown, data, columns, "FREQ(2,width=1)")
    assert {e.label for e in found.exposures} == {("x",), ("y",), ("z",)}
    assert not any("whole units" in note for note in found.notes)


def test_many_cells_are_judged_in_fractions_and_this_is_said() -> None:
    data = {"a": [f"c{i}" for i in range(70) for _ in range(2)]}
    columns = Columns((("a",),))
    hidden = [(f"c{i}",) for i in range(70)]
    found = reread(release(data, columns, hidden), data, columns, "FREQ(3)")
    assert found.safe
    assert any("whole units was not considered" in note for note in found.notes)


def test_margins_that_are_public_are_not_judged() -> None:
    data = rows("a b v who", "a1 b1 5 f", "a1 b2 6 g", "a2 b1 70 h", "a2 b2 80 i")
    columns = Columns((("a", "b"),), "v", "who")
    hidden = [(a, b) for a in ("a1", "a2") for b in ("b1", "b2")]
    shown = release(data, columns, hidden)
    found = reread(shown, data, columns, "FREQ(3,10)", singletons=False)
    assert {e.label for e in found.exposures} >= {("a1", "Total"), ("Total", "b1")}
    assert all(e.published for e in found.exposures if "Total" in e.label)
    public = reread(shown, data, columns, "FREQ(3,0)", singletons=False, margins="publish")
    assert public.safe


# ---- what is published ---------------------------------------------------------------------------

SURVEY = rows(
    "region sector firm turnover staff",
    "N A f1 500 5", "N B f2 400 4", "N C f3 30 9", "N C f4 40 8", "N C f5 50 7", "S A f6 300 6",
    "S B f7 350 5", "S C f8 60 3", "S C f9 70 2", "S C f9 50 1", "S C f10 45 11", "N A f2 20 2",
)  # fmt: skip
MEANT = Columns((("region", "sector"),), "turnover", "firm")
RULES = "P(10,1)|FREQ(3,10)"


def protected(data: Any = SURVEY, columns: Columns = MEANT, **more: Any) -> Release:
    table = Table.from_microdata(
        data, list(columns.by[0]), columns.value, contributor=columns.contributor,
        weight=columns.weight, negative=columns.negative,
    )  # fmt: skip
    return Mechanism(RULES, **more).protect(table).release


def test_both_agree_on_a_release() -> None:
    found = reread(protected(), SURVEY, MEANT, RULES)
    assert found.agree
    assert found.safe
    assert found.lines() == ["Read twice, both agree: 12 cells."]


def test_another_value_is_told_and_a_sensitive_one_is_not_shown() -> None:
    shown = protected()
    at = {label: i for i, label in enumerate(shown.labels)}
    values = shown.published.copy()
    values[at["N", "Total"]] += 1
    found = reread(replace(shown, published=values), SURVEY, MEANT, RULES)
    assert "cell (N, Total) is published as 1041, and the records give 1040" in found.lines()[0]
    pattern = shown.pattern.copy()
    pattern[at["S", "B"]] = False
    found = reread(replace(shown, published=values, pattern=pattern), SURVEY, MEANT, RULES)
    plain, secret = " ".join(found.lines()), " ".join(found.lines(reveal=True))
    assert "cell (N, Total) is published as 1041, and the records give another value" in plain
    assert "cell (S, B) is published as 0, and the records give another value" in plain
    assert "350" not in plain
    assert "350" in secret


def test_cells_that_are_missing_or_unknown_are_told() -> None:
    shown = protected()
    labels = [("S", "D") if label == ("S", "C") else label for label in shown.labels]
    words = [
        d.words for d in reread(replace(shown, labels=labels), SURVEY, MEANT, RULES).differences
    ]
    assert "cell (S, C) has records, and the release has no such cell" in words
    assert "cell (S, D) is in the release, and its codes are not in the records" in words
    with pytest.raises(InputError, match="with total 'All'"):
        reread(replace(shown, roots=("All", "Total")), SURVEY, MEANT, RULES)


def test_what_was_protected_is_read_again_with_its_own_mechanism() -> None:
    table = Table.from_microdata(SURVEY, ["region", "sector"], "turnover", contributor="firm")
    rules = csp.parse_rules(RULES) | csp.Manual([("S", "C")], margin=20)
    protected = Mechanism(rules, width=2).protect(table)
    assert protected.pattern[table.position(("S", "C"))]
    assert protected.reread(SURVEY, MEANT).lines() == ["Read twice, both agree: 12 cells."]
    found = protected.reread(SURVEY | {"turnover": SURVEY["staff"]}, MEANT)
    assert not found.agree
    shown = replace(protected, release=release(SURVEY, MEANT, []))
    assert ("S", "C") in {e.label for e in shown.reread(SURVEY, MEANT).exposures}


def test_several_releases_are_read_together() -> None:
    """Each of two tables hides its cells; what one publishes of a cell they share, all know."""
    one = release(SURVEY, replace(MEANT, by=(("region",),)), [("N",), ("S",)])
    two = protected()
    both = replace(MEANT, by=(("region", "sector"), ("region",)))
    found = reread([one, two], SURVEY, both, RULES)
    assert found.agree
    assert found.safe == reread(two, SURVEY, MEANT, RULES).safe


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_files(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "survey.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(SURVEY)
        writer.writerows(zip(*SURVEY.values(), strict=True))
    assert rows_of(path) == SURVEY
    path.write_bytes(b"\xef\xbb\xbfa;v\r\nx;1,5\r\n;-\r\n")
    assert rows_of(path, decimal=",", na=["-"]) == {"a": ["x", None], "v": ["1.5", None]}
    path.write_text("a;v\n1,5;1,5\n2;12,000\n")
    assert rows_of(path, numbers=["v"]) == {"a": ["1,5", "2"], "v": ["1.5", "12.000"]}
    path.write_text("a;v\nx;1,000\ny;12,000\n")
    assert rows_of(path)["v"] == ["1,000", "12,000"]  # perhaps thousands
    path.write_text("a;v\nx\n")
    with pytest.raises(InputError, match="row 1 has another number of columns"):
        rows_of(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"turnover": "1,5"}, "row 1: the entry of 'turnover' is missing, or not a number"),
        ({"turnover": None}, "row 1: the entry of 'turnover' is missing"),
        ({"region": ""}, "row 1: the code of 'region' is missing"),
        ({"firm": None}, "row 1: the entry of 'firm' is missing"),
    ],
)
def test_entries_that_cannot_be_read_are_refused(change: Mapping[str, Any], words: str) -> None:
    data = {name: [change.get(name, c[0]), *c[1:]] for name, c in SURVEY.items()}
    with pytest.raises(InputError, match=words):
        read(data, MEANT)


# ---- both readings -------------------------------------------------------------------------------


@pytest.mark.parametrize("source", sorted({*SOURCES, *OF_CELLS}))
@examples(10)
@given(st.integers(0, 2**32))
def test_both_readings_agree_on_random_files(source: str, seed: int) -> None:
    rng = Random(seed)
    case = draw(rng)
    while case.source != source:
        case = draw(rng)
    assert compare(case, gap=0.9).findings == (), f"seed {seed}: {case}"


def test_frames_hold_codes_as_texts() -> None:
    """A number is its shortest text, and blanks around a code do not count."""
    data = {"a": [1.0, " 1", 2, "x "], "v": [1, 2, 3, 4], "who": [7.0, "7", "8 ", None]}
    with pytest.raises(InputError, match="row 4: the entry of 'who' is missing"):
        read(data, ONE)
    reading = read({name: column[:3] for name, column in data.items()}, ONE)
    assert {label[0]: (c.value, c.count) for label, c in reading.cells.items()} == {
        "1": (3, 1), "2": (3, 1), "Total": (6, 2),
    }  # fmt: skip
    gone = {"a": [None, float("nan"), ""], "v": [1, 2, 3], "who": [1, 2, 3]}
    assert read(gone, replace(ONE, missing="none")).cells["none",].value == 6


def test_a_file_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("a,a ,v\nx,y,1\n")
    with pytest.raises(InputError, match="two columns have the same name"):
        rows_of(path)


def test_whole_numbers_without_bounds_are_followed() -> None:
    """HiGHS called 0 the optimum of a whole program whose cells move without end."""
    data = rows(
        "a b c v", "1 b1 c0 -9", "True b3 c3 7", "True b0 c1 3", "true b0 c0 3", "yes b2 c0 8",
        "1 b0 c0 5", "true b0 c1 1", "true b0 c0 0", "true b3 c0 5", "True b3 c2 -1",
        "true b0 c0 -2", "true b2 c2 -3", "true b0 c0 7", "true b0 c0 1", "true b3 c0 1",
        "true b0 c0 0", "true b0 c3 3", "true b1 c0 5", "True b0 c0 7", "True b1 c3 -4",
    )  # fmt: skip
    columns = Columns((("a", "b", "c"),), "v", negative="abs", decimals=0)
    case = Case(data, columns, {"rules": "FREQ(4,10)", "integer": True}, "pandas")
    assert compare(case).findings == ()
