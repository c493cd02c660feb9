"""Data that were once read in another sense than meant, with the right values by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from csp import (
    InputError,
    Mechanism,
    Problem,
    Table,
    apply_apriori,
    audit,
    inspect,
    intervals,
    link,
    parse_rules,
    protect,
    read_jj,
    suppress,
)
from csp.formats.apriori import Statement
from csp.rules import MinFrequency


def hidden(table: Table, pattern: np.ndarray) -> set[tuple[str, ...]]:
    return {table.labels[i] for i in np.flatnonzero(pattern)}


def columns(names: str, rows: list[tuple]) -> dict[str, list]:
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


# ---- shadow variables ------------------------------------------------------------------------

# One firm has 9 of the 10 of the shadow behind a1, b1; the others share 20 of 100 and 30 of 100.
SHADOW = [
    ("a1", "b1", 100, 5, 9, 1, 10), ("a1", "b2", 100, 5, 30, 20, 100),
    ("a2", "b1", 100, 5, 30, 20, 100), ("a2", "b2", 100, 5, 30, 20, 100),
    ("a1", "T", 200, 10, 30, 20, 110), ("a2", "T", 200, 10, 30, 30, 200),
    ("T", "b1", 200, 10, 30, 20, 110), ("T", "b2", 200, 10, 30, 30, 200),
    ("T", "T", 400, 20, 30, 30, 310),
]  # fmt: skip
LAYOUT = """<SEPARATOR> ";"
A <RECODEABLE> <TOTCODE> "T"
B <RECODEABLE> <TOTCODE> "T"
resp <NUMERIC>
freq <FREQUENCY>
m1 <MAXSCORE>
m2 <MAXSCORE>
shad <NUMERIC> <SHADOW>
""".replace(" <", "\n<")


def test_rules_judge_the_shadow_and_levels_are_shares_of_the_cell():
    data = columns("A B v n t1 t2 s", SHADOW)
    table = Table.from_frame(
        data, ["A", "B"], "v", count="n", top=["t1", "t2"], shadow="s", total="T"
    )
    found = Mechanism("P(10,1)").problem(table)
    assert hidden(table, found.primary) == {("a1", "b1")}
    # 10 % of 9 less what is left, 0, is 0.9 of 10: 9 of 100.
    assert found.upl[found.primary].tolist() == found.lpl[found.primary].tolist() == [9]
    assert hidden(table, protect(table, "P(10,1)").pattern) == {
        ("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"),
    }  # fmt: skip
    response = Table.from_frame(data, ["A", "B"], "v", count="n", top=["t1", "t2"], total="T")
    assert not protect(response, "P(10,1)").pattern.any()


@pytest.mark.parametrize("way", ["protect", "run", "batch"])
def test_a_layout_with_a_shadow_is_obeyed(tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    Path("t.rda").write_text(LAYOUT)
    Path("t.tab").write_text("".join(";".join(map(str, row)) + "\n" for row in SHADOW))
    if way == "protect":
        words = ["protect", "t.tab", "--rda", "t.rda", "--rules", "P(10,1)", "-o", "out.csv"]
        place = Path("out.csv")
    elif way == "run":
        Path("j.toml").write_text(
            '[data]\nfile = "t.tab"\nlayout = "t.rda"\n[[table]]\nname = "t"\nby = ["A", "B"]\n'
            '[rules]\nsensitive = "P(10,1)"\n'
        )
        words, place = ["run", "j.toml"], Path("published/t.csv")
    else:
        Path("j.arb").write_text(
            '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n'
            '<SPECIFYTABLE> "A""B"|"resp"|"shad"|"-2"\n<SAFETYRULE> P(10,1)\n<READTABLE>\n'
            '<SUPPRESS> MOD(1,5,1,1,1)\n<WRITETABLE> (1,2,,"t.csv")\n'
        )
        words, place = ["run", "j.arb"], Path("t.csv")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    lines = place.read_text().splitlines()
    assert sum(line.startswith("a1,b1,,") for line in lines) == 1


def test_a_shadow_of_records_is_judged_contributor_by_contributor():
    rows = [("x", f"f{i}", 20, s) for i, s in enumerate([9, 1, 0, 0, 0])]
    rows += [("y", f"g{i}", 20, 20) for i in range(5)] + [("z", f"h{i}", 20, 20) for i in range(5)]
    table = Table.from_microdata(columns("a f v s", rows), ["a"], "v", contributor="f", shadow="s")
    found = Mechanism("P(10,1)").problem(table)
    assert hidden(table, found.primary) == {("x",)}
    assert table.values[table.position(("x",))] == 100
    assert found.upl[table.position(("x",))] == 9  # 0.9 of 10, of a cell of 100


# ---- empty cells and contradictions ----------------------------------------------------------

EMPTY = [
    ("a", "x", 520, 2, 500, 20), ("a", "y", 90, 9, 20, 20), ("a", "z", 0, 0, 0, 0),
    ("b", "x", 70, 7, 20, 20), ("b", "y", 0, 0, 0, 0), ("b", "z", 75, 7, 20, 20),
    ("a", "T", 610, 11, 500, 20), ("b", "T", 145, 14, 20, 20), ("T", "x", 590, 9, 500, 20),
    ("T", "y", 90, 9, 20, 20), ("T", "z", 75, 7, 20, 20), ("T", "T", 755, 25, 500, 20),
]  # fmt: skip


def test_a_row_with_count_0_is_empty_and_no_partner():
    """With az = by = 0 known, ax would follow: 610 - (90 - 0)."""
    table = Table.from_frame(
        columns("r s v n t1 t2", EMPTY), ["r", "s"], "v", count="n", top=["t1", "t2"], total="T"
    )
    found = protect(table, "P(10,1)|FREQ(3,10)", cost="value")
    assert not {("a", "z"), ("b", "y")} & hidden(table, found.pattern)
    lower, upper = intervals(table, found.pattern)
    at = table.position(("a", "x"))
    assert lower[at] < 520 < upper[at]
    absent = [row for row in EMPTY if row[3]]
    again = Table.from_frame(
        columns("r s v n t1 t2", absent), ["r", "s"], "v", count="n", top=["t1", "t2"], total="T"
    )
    assert (protect(again, "P(10,1)|FREQ(3,10)", cost="value").pattern == found.pattern).all()


def test_a_value_without_contributors_is_refused_by_its_row():
    rows = [("x", 50, 0), ("y", 60, 9), ("T", 110, 9)]
    with pytest.raises(InputError, match="row 1: it has no contributors, and a value other than 0"):
        Table.from_frame(columns("r v n", rows), ["r"], "v", count="n", total="T")


def test_a_sensitive_cell_without_a_value_is_refused_by_its_line(tmp_path):
    from csp.tables import argus

    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\nR\n<RECODEABLE>\nV\n<NUMERIC>\nN\n<FREQUENCY>\nS\n<STATUS>\n'
    )
    (tmp_path / "t.tab").write_text("A;-;-;U\nB;20;5;S\nT;20;5;S\n")
    with pytest.raises(InputError, match=r"t\.tab, line 1: status U of a cell without a value"):
        argus.read_table_data(tmp_path / "t.tab", tmp_path / "t.rda", total={"R": "T"})


def test_a_second_column_of_one_role_is_refused(tmp_path):
    from csp.tables import argus

    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\nR\n<RECODEABLE>\nV\n<NUMERIC>\nN\n<FREQUENCY>\nH\n<FREQUENCY>\n'
    )
    (tmp_path / "t.tab").write_text("A;5;5;1\nT;5;5;1\n")
    with pytest.raises(InputError, match="'N' and 'H' as <FREQUENCY>, and a table takes one"):
        argus.read_table_data(tmp_path / "t.tab", tmp_path / "t.rda")


def test_thousands_are_not_read_as_decimals(tmp_path):
    from csp.tables import argus

    layout = tmp_path / "r.rda"
    layout.write_text('<SEPARATOR> ";"\nR\n<RECODEABLE>\nV\n<NUMERIC>\n')
    data = tmp_path / "r.asc"
    data.write_text("a;1,000\nb;12,000\nc;250\n")
    with pytest.raises(InputError, match=r"r\.asc, line 1: the separator of 'V'"):
        argus.read_microdata(data, layout)
    data.write_text("a;1,000\nb;12,5\n")  # decimals, since one of them can be nothing else
    assert argus.read_microdata(data, layout)[0]["V"].tolist() == ["1.000", "12.5"]
    layout.write_text(layout.read_text() + "<DECIMALS> 3\n")
    data.write_text("a;1,000\n")
    assert argus.read_microdata(data, layout)[0]["V"].tolist() == ["1.000"]


def test_listed_contributions_are_no_count():
    rows = [("A", 100, 55, 44), ("B", 300, 30, 29), ("C", 400, 40, 39), ("T", 800, 55, 44)]
    table = Table.from_frame(columns("r v a b", rows), ["r"], "v", top=["a", "b"], total="T")
    with pytest.raises(InputError, match=r"lists the 2 largest contributions only.*count="):
        MinFrequency(3)(table)
    assert not MinFrequency(2, width=5)(table).primary.any()


def test_a_cell_whose_contributions_are_not_listed_is_not_empty():
    rows = [("A", 50, 0), ("B", 60, 20), ("C", 0, 0), ("T", 110, 20)]
    table = Table.from_frame(columns("r v t", rows), ["r"], "v", top=["t"], total="T")
    assert table.structural is not None
    assert not table.structural.any()
    counted = columns("r v t n", [(*row, 3 * (row[1] > 0)) for row in rows[:3]] + [(*rows[3], 6)])
    table = Table.from_frame(counted, ["r"], "v", count="n", top=["t"], total="T")
    assert [table.labels[i] for i in np.flatnonzero(table.structural)] == [("C",)]


# ---- levels ----------------------------------------------------------------------------------


def test_levels_of_0_still_hide_the_cell():
    table = Table.from_array([[100, 100], [90, 90]])
    problem = Problem.of(table, np.zeros(9, bool))
    first = [Statement(("1", "1"), "u"), Statement(("1", "1"), "pl", (0, 0))]
    posed = apply_apriori(problem, first, margin=10)
    assert posed.spl[0] == 1
    alone = np.arange(9) == 0
    assert not audit(posed, alone).safe  # 100 = 200 - 100


def test_a_zero_may_be_named_as_sensitive():
    """Its lower level cannot reach below what is known beforehand."""
    table = Table.from_array([[0, 5, 7], [6, 8, 9]])
    posed = apply_apriori(
        Mechanism("FREQ(1,5)").problem(table),
        [Statement(("1", "1"), "u")], margin=10,
    )  # fmt: skip
    assert (posed.lpl[0], posed.upl[0]) == (0, 1)


# ---- contributors ----------------------------------------------------------------------------


def test_a_firm_alone_in_a_negative_and_a_positive_cell_is_one():
    """r,C follows for firm 1 from r,Total, r,D and its own -40 and 60."""
    rows = [("r", "A", "1", -40), ("r", "B", "1", 60), ("r", "C", "2", 50)]
    rows += [("r", "D", f"d{i}", 30 + i) for i in range(6)]
    rows += [(r, c, f"{r}{c}{i}", 30 + i) for r in "stu" for c in "ABCD" for i in range(6)]
    data = columns("row col firm v", rows)
    table = Table.from_microdata(data, ["row", "col"], "v", contributor="firm", negative="split")
    found = protect(table, "P(10,1)")
    gone = hidden(table, found.pattern)
    row = {c for r, c in gone if r == "r"}
    # What firm 1 does not know must leave r,C at least one more unknown cell in its row.
    assert "C" in row
    assert row & {"D", "Total"}


LONE = columns(
    "a b v", [("A1", "B1", 50), ("A2", "B2", 40)]
    + [(a, b, v) for a in ("A3", "A4") for b in ("B2", "B3") for v in range(30, 35)],
)  # fmt: skip


def test_records_without_a_name_are_told_apart_in_linked_tables(tmp_path):
    """The respondent of record 1 knows A1 and B1: Total - 640 - 50 would be A2."""
    named = LONE | {"f": [f"f{i}" for i in range(22)]}
    with_names = link(*(Table.from_microdata(named, [d], "v", contributor="f") for d in "ab"))
    without = link(*(Table.from_microdata(LONE, [d], "v") for d in "ab"))
    path = tmp_path / "lone.csv"
    lines = ["a,b,v", *(",".join(map(str, r)) for r in zip(*LONE.values(), strict=True))]
    path.write_text("\n".join(lines))
    beyond = link(*(Table.from_microdata(path, [d], "v", memory="4GB") for d in "ab"))
    wanted = {("A1", "Total"), ("A2", "Total"), ("A3", "Total"), ("Total", "B1"), ("Total", "B2")}
    for table in (with_names, without, beyond):
        assert hidden(table, protect(table, "P(10,1)").pattern) == wanted


def test_cells_whose_contributors_nobody_names_say_so_when_linked():
    one = Table.from_frame(columns("a v n", [("x", 5, 1), ("T", 5, 1)]), ["a"], "v", count="n",
                           total="T")  # fmt: skip
    two = Table.from_frame(columns("b v n", [("y", 5, 1), ("T", 5, 1)]), ["b"], "v", count="n",
                           total="T")  # fmt: skip
    assert "counts as two" in link(one, two).notes[-1]


def test_a_cell_equal_to_a_total_is_its_contributors_too():
    """X,L is all of X,Total, above X,2 where a firm is alone: the rule judges that cell."""
    rows = [("X", "1", "L", 50, "e"), ("X", "2", "L", 3000, "g")]
    rows += [
        (a, s, f, 30 + k, f"{a}{s}{f}{k}")
        for a in "YZ" for s in "12" for f in "LM" for k in range(6)
    ]  # fmt: skip
    data = columns("act size form v firm", rows)

    def cells(by: list[str]) -> Table:
        whole = Table.from_microdata(data, by, "v", contributor="firm")
        assert whole.contributors is not None
        return whole.replace(
            contributors=type(whole.contributors)(
                whole.contributors.count.copy(),
                whole.contributors.total.copy(),
                whole.contributors.top.copy(),
            )
        )

    table = link(cells(["act", "size"]), cells(["act", "form"]))
    found = protect(table, "FREQ(3,10)|NK(1,85)")
    assert found.guards == ("outsider", "singletons")
    assert {a for a, *_ in hidden(table, found.pattern)} >= {"X"}


def test_one_shift_for_all_linked_tables():
    """Firms add up otherwise in each table: x: 9 less 7, p: the same firm with 5 and 9."""
    rows = [("x", "p", "1", 5), ("x", "q", "2", -7), ("y", "p", "1", 9), ("y", "q", "2", 3),
            ("z", "p", "1", -2)]  # fmt: skip
    data = columns("a b f v", rows)
    tables = [Table.from_microdata(data, [d], "v", contributor="f", negative="shift") for d in "ab"]
    assert [t.contributors.shift for t in tables] == [-7, -4]
    whole = link(*tables)
    assert whole.contributors.shift == -7
    at = whole.position(("Total", "p"))
    assert whole.contributors.top[at, 0] == 12 + 7  # firm 1 has 5 + 9 - 2 in p


# ---- jobs ------------------------------------------------------------------------------------

DIS = "a,b,c,f,v\n" + "".join(
    f"{row},f{i},{v}\n" for i, (row, v) in enumerate(
        [("a2,b1,c1", 20), ("a3,b2,c2", 44), ("a3,b2,c1", 13), ("a1,b2,c1", 22), ("a1,b2,c2", 58),
         ("a3,b2,c1", 28), ("a3,b1,c1", 33), ("a1,b1,c1", 21), ("a1,b2,c1", 11), ("a3,b1,c1", 28),
         ("a2,b1,c2", 39), ("a1,b1,c2", 30), ("a3,b1,c2", 47), ("a1,b2,c1", 24), ("a2,b1,c2", 38),
         ("a2,b1,c1", 47), ("a2,b1,c2", 55), ("a1,b2,c2", 28)])
)  # fmt: skip


@pytest.mark.parametrize(
    "line", ["", 'missing = "unknown"', 'file = "link.csv"', 'file = "copy.csv"',
             'file = "packed.csv.gz"', 'file = "../data/d.csv"'],
)  # fmt: skip
def test_tables_of_the_same_records_are_linked_whatever_they_are_called(tmp_path, line):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "d.csv").write_text(DIS)
    (folder / "copy.csv").write_text(DIS)
    (folder / "link.csv").symlink_to(folder / "d.csv")
    (folder / "packed.csv.gz").write_bytes(gzip.compress(DIS.encode()))
    job = folder / "j.toml"
    job.write_text(
        '[data]\nfile = "d.csv"\nvalue = "v"\ncontributor = "f"\n[[table]]\nname = "ta"\n'
        f'by = ["a", "b"]\n[[table]]\nname = "tb"\nby = ["a", "c"]\n{line}\n'
        '[rules]\nsensitive = "P(10,1)|FREQ(3,10)"\n'
    )
    result = CliRunner().invoke(app, ["run", str(job)])
    assert result.exit_code == 0, result.output
    assert "ta and tb: linked, since they are of the same data: 20 cells" in result.output
    facts = json.loads((folder / "published" / "j.result.json").read_text())
    assert [one["names"] for one in facts["tables"]] == [["ta", "tb"]]
    rows = [line.split(",") for line in (folder / "published" / "ta.csv").read_text().splitlines()]
    known = {(a, b): v for a, b, v, *_ in rows[1:]}
    cross = [line.split(",") for line in (folder / "published" / "tb.csv").read_text().splitlines()]
    totals = {(a, c): v for a, c, v, *_ in cross[1:]}
    # a1,b1 is two firms: it must not follow from a1,Total less a1,b2.
    assert not (known["a1", "b2"] and totals["a1", "Total"])


def test_signs_are_read_alike_in_tables_of_the_same_data(tmp_path):
    (tmp_path / "d.csv").write_text(DIS)
    job = tmp_path / "j.toml"
    job.write_text(
        '[data]\nfile = "d.csv"\nvalue = "v"\ncontributor = "f"\n[[table]]\nby = ["a", "b"]\n'
        '[[table]]\nby = ["a", "c"]\nnegative = "abs"\n[rules]\nsensitive = "P(10,1)"\n'
    )
    result = CliRunner().invoke(app, ["run", str(job)])
    assert result.exit_code == 2
    assert "differ in 'negative' (abs, error)" in result.output


# ---- labelled patterns -----------------------------------------------------------------------


def test_a_pattern_with_labels_is_put_in_the_order_of_the_cells():
    table = Table.from_array([[5, 100, 110], [105, 5, 95]], names=["r", "c"])
    pattern = protect(table, "FREQ(6,10)").pattern
    series = pd.Series(pattern, index=pd.MultiIndex.from_tuples(list(table.labels)))
    mixed = series.sample(frac=1, random_state=3)
    problem = Mechanism("FREQ(6,10)").problem(table)
    assert audit(problem, mixed).safe
    one, two = intervals(table, mixed), intervals(table, pattern)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    with pytest.raises(InputError, match="is not a cell; its levels must be r, c"):
        audit(problem, mixed.rename(index={"1": "9"}))
    with pytest.raises(InputError, match="not each of the 12 cells once"):
        audit(problem, mixed.iloc[:-1])
    with pytest.raises(InputError, match="the pattern is a frame"):
        audit(problem, series.to_frame("x"))


# ---- messages ----------------------------------------------------------------------------------


def test_counts_are_whole_numbers_of_respondents():
    rows = [("A", 50, 2.28), ("B", 60, 9), ("T", 110, 11.28)]
    with pytest.raises(InputError, match=r"row 1: the count in column 'n' is not a whole number"):
        Table.from_frame(columns("r v n", rows), ["r"], "v", count="n", total="T")


def test_a_point_alone_is_no_number():
    rows = [("A", "."), ("B", "60"), ("T", "60")]
    with pytest.raises(InputError, match=r"row 1, column 'v': '\.' is not a number; leave a cell"):
        Table.from_frame(columns("r v", rows), ["r"], "v", total="T")


def test_codes_of_a_hierarchy_may_have_another_unicode_form():
    from csp import Hierarchy

    tree = Hierarchy.from_dict({"North": ["I\u0302le", "b"]})  # a letter and its accent apart
    data = {"r": ["\u00cele", "b"], "v": [1, 2]}
    table = Table.from_microdata(data, ["r"], "v", hierarchies={"r": tree})
    assert table.labels[0] == ("\u00cele",)


# ---- words of other programs, and what a verdict does not cover -------------------------------


def test_levels_of_0_in_a_jj_file_still_hide_the_cell(tmp_path):
    """Alone, 'u' would follow from its row: 30 - 20."""
    lines = ["0", "9"]
    values = [10, 20, 30, 40, 50, 90, 50, 70, 120]
    lines += [f"{i} {v} 1 {'u' if not i else 's'} 0 500 0 0 0" for i, v in enumerate(values)]
    rows = [(2, 0, 1), (5, 3, 4), (8, 6, 7), (6, 0, 3), (7, 1, 4), (8, 2, 5)]
    lines += ["6", *(f"0 3 : {t} (-1) {a} (1) {b} (1)" for t, a, b in rows)]
    (tmp_path / "t.jj").write_text("\n".join(lines) + "\n")
    problem = read_jj(tmp_path / "t.jj")
    assert problem.spl.tolist() == [1] + [0] * 8
    assert suppress(problem).pattern.sum() == 4


def test_a_place_of_a_rule_with_0_percent_is_no_rule():
    with pytest.raises(InputError, match="P number 3 is a rule for holdings"):
        parse_rules("P(0,1)|P(0,1)|P(20,1)")
    assert str(parse_rules("P(0,1)|P(20,1)")) == "P(20,1)"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("P(10,1)|MIS(1)", "p in an a-priori file"),
        ("REQ(10,10,10)", "MAN(margin) and by_hand"),
        ("NK(3,75)|NK(0,0)|NK(1,75)", "with the holding as contributor and"),
    ],
)
def test_a_batch_file_is_answered_in_its_words(tmp_path, monkeypatch, rules, words):
    monkeypatch.chdir(tmp_path)
    Path("t.rda").write_text(LAYOUT)
    Path("t.tab").write_text("".join(";".join(map(str, row)) + "\n" for row in SHADOW))
    Path("j.arb").write_text(
        '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "A""B"|"resp"||"-2"\n'
        f'<SAFETYRULE> {rules}\n<READTABLE> 1\n<SUPPRESS> MOD(1,5,1,1,1)\n<WRITETABLE> (1,2,,"t")\n'
    )
    result = CliRunner().invoke(app, ["run", "j.arb"])
    assert result.exit_code == 2
    told = " ".join(result.output.split())
    assert words in told
    assert not any(python in told for python in ("Table.from", "publish=", "attribute ", "frame"))


def test_cells_withheld_by_hand_are_said_not_to_be_protected():
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    known = [Statement(("1", "3"), "m")]
    found = protect(table, "FREQ(8,10)", apriori=known)
    assert any("withheld, not protected" in note for note in found.table.notes)
    other = protect(table, "FREQ(8,10)", apriori=[Statement(("1", "3"), "c", (5,))])
    assert not any("not protected" in note for note in other.table.notes)


def test_two_geographies_are_noticed():
    """M1 is G1 and two persons of G2: their difference is two persons."""
    towns = ["M1"] * 52 + ["M2"] * 60 + ["M3"] * 80
    squares = ["G1"] * 50 + ["G2"] * 62 + ["G3"] * 30 + ["G4"] * 50
    data = {"town": towns, "square": squares, "sex": ["f", "m"] * 96}
    found = inspect(data, [["town"], ["square"]])
    assert [p for p in found.problems if "'square' lie within one code of 'town'" in p]
    assert not inspect(data, [["town", "square"]]).problems
    assert not inspect(data, [["town"], ["sex"]]).problems


def test_what_is_no_number_is_named_by_its_row_in_an_inspection():
    data = {"a": ["x", None, "x", "y"], "v": ["1", "2", "many", "3"]}
    with pytest.raises(InputError, match="row 3, column 'v'"):
        inspect(data, ["a"], "v")


# ---- layouts and links -------------------------------------------------------------------------


def test_a_linked_shadow_keeps_its_units():
    """Values of table b have a decimal, those of a none; the shadow is 30 in both."""
    one = columns("a v n t s", [("x", 3, 3, 9, 20), ("y", 1, 3, 5, 10), ("T", 4, 6, 9, 30)])
    two = columns("b v n t s", [("p", 2.5, 3, 8, 18), ("q", 1.5, 3, 9, 12), ("T", 4, 6, 9, 30)])
    table = link(*(
        Table.from_frame(data, [by], "v", count="n", top=["t"], shadow="s", total="T")
        for by, data in (("a", one), ("b", two))
    ))  # fmt: skip
    assert table.values[table.position(("x", "T"))] == 30
    assert table.contributors.total[table.position(("T", "T"))] == 30
    assert table.contributors.top[table.position(("T", "q")), 0] == 9
    found = Mechanism("NK(1,70)").problem(table)
    assert hidden(table, found.primary) == {("T", "q")}
    # 9 / 0.7 - 12 = 0.86 of 12 is 0.107 of 1.5, in tenths.
    assert found.upl[found.primary].tolist() == [2]


def test_blank_codes_have_their_code_where_a_layout_names_the_total(tmp_path):
    from csp.tables import argus

    layout = '<SEPARATOR> ";"\nR\n<RECODEABLE>\n<TOTCODE> "All"\nV\n<NUMERIC>\n'
    (tmp_path / "r.rda").write_text(layout)
    (tmp_path / "r.asc").write_text("a;1\n;2\nb;4\n;8\n")
    data = argus.read_microdata(tmp_path / "r.asc", tmp_path / "r.rda")
    table = Table.from_microdata(data, ["R"], "V", missing="?")
    values = dict(zip(table.labels, table.values.tolist(), strict=True))
    assert values == {("?",): 10, ("a",): 1, ("b",): 4, ("All",): 15}
    with pytest.raises(InputError, match="missing"):
        Table.from_microdata(data, ["R"], "V")


def test_a_table_with_a_layout_may_be_negative(tmp_path):
    """Its layout tells which column holds the cells, so they are no counts without --value."""
    layout = '<SEPARATOR> ";"\nR\n<RECODEABLE>\nV\n<NUMERIC>\nS\n<STATUS>\n'
    (tmp_path / "r.rda").write_text(layout)
    (tmp_path / "r.tab").write_text("a;-5;U\nb;20;S\nc;7;S\nTotal;22;S\n")
    words = ["protect", str(tmp_path / "r.tab"), "--rda", str(tmp_path / "r.rda"), "--rules",
             "MAN(20)", "--negative", "allow", "--decimals", "1"]  # fmt: skip
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "-5" not in result.output
