"""What was once misread, through each door it can come in by: the command and a job.

The values by hand are those of `tests/csp/test_readings.py`.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.files import write_columns
from csp import Release, Table
from csp.audits.second_reading.files import rows_of
from tests.csp.test_readings import EMPTY, LONE
from tests.support.shared import examples

SPLIT = [("r", "A", "1", -40), ("r", "B", "1", 60), ("r", "C", "2", 50)]
SPLIT += [("r", "D", f"d{i}", 30 + i) for i in range(6)]
SPLIT += [(r, c, f"{r}{c}{i}", 30 + i) for r in "stu" for c in "ABCD" for i in range(6)]
SQUARE = [("a", "x", 100, 9), ("a", "y", 100, 9), ("b", "x", 90, 9), ("b", "y", 90, 9)]
SQUARE += [("a", "T", 200, 18), ("b", "T", 180, 18), ("T", "x", 190, 18), ("T", "y", 190, 18)]
SQUARE += [("T", "T", 380, 36)]
CELLS = {"aggregated": True, "value": "v", "totals": {"r": "T", "s": "T"}}


@pytest.fixture(params=["protect", "run"])
def door(request, tmp_path, monkeypatch):
    """Protect a file by r and s: statuses by label if that ends well, and all that was said."""
    monkeypatch.chdir(tmp_path)

    def opened(head, rows, rules, keys):
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        Path("t.csv").write_text(f"{head}\n{text}")
        return asked("t.csv", rules, keys)

    def asked(file, rules, keys, by="r,s"):
        keys = dict(keys)
        totals, cost = keys.pop("totals", {}), keys.pop("cost", "unit")
        if request.param == "protect":
            words = ["protect", file, "--by", by, "--rules", rules, "-o", "out.csv"]
            words += ["--cost", cost]
            for name, code in totals.items():
                words += ["--total", f"{name}={code}"]
            for key, value in keys.items():
                flag = {"layout": "--rda"}.get(key, f"--{key}")
                shown = ",".join(value) if isinstance(value, list) else str(value)
                words += [flag] if value is True else [flag, shown]
        else:
            lines = ["[data]", f'file = "{file}"']
            lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
            lines += ["[totals]", *(f'{name} = "{code}"' for name, code in totals.items())]
            lines += ["[[table]]", 'name = "out"', f"by = {json.dumps(by.split(','))}"]
            lines += ["[rules]", f'sensitive = "{rules}"', f'cost = "{cost}"']
            lines += ["[output]", 'folder = "out"']
            Path("j.toml").write_text("\n".join(lines) + "\n")
            words = ["run", "j.toml"]
        result = CliRunner().invoke(app, words)
        said = " ".join(result.output.split())
        if result.exit_code:
            assert result.exit_code == 2, said
            return {}, said
        place = Path("out.csv") if request.param == "protect" else Path("out/out.csv")
        with place.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        return {tuple(row[name] for name in by.split(",")): row["status"] for row in rows}, said

    opened.file = asked
    return opened


def test_a_row_with_count_0_is_no_partner(door):
    keys = CELLS | {"count": "n", "top": ["t1", "t2"], "cost": "value"}
    found, _ = door("r,s,v,n,t1,t2", EMPTY, "P(10,1)|FREQ(3,10)", keys)
    assert found["a", "x"] == "x"
    assert "x" not in (found["a", "z"], found["b", "y"])


def test_a_value_without_contributors_is_refused_by_its_row(door):
    rows = [("a", "x", 50, 0), *SQUARE[1:]]
    found, said = door("r,s,v,n", rows, "FREQ(3,10)", CELLS | {"count": "n"})
    assert not found
    assert "row 1" in said


@pytest.mark.parametrize("level", ["a,x,u\na,x,pl,0,0\n", "a,x,u\n"])
def test_a_cell_named_beforehand_is_not_hidden_alone(door, level):
    """Alone, a,x would follow: 200 - 100."""
    Path("c.hst").write_text(level)
    keys = CELLS | {"count": "n", "apriori": "c.hst"}
    found, _ = door("r,s,v,n", SQUARE, "FREQ(3,10)|MAN(10)", keys)
    assert sorted(found.values()).count("x") == 4


def test_a_zero_may_be_named_as_sensitive(door):
    rows = [
        ("A", "x", 0),
        ("A", "y", 5),
        ("A", "z", 7),
        ("B", "x", 6),
        ("B", "y", 8),
        ("B", "z", 9),
    ]
    Path("c.hst").write_text("A,x,u\n")
    keys = {"aggregated": True, "value": "v", "count": "v", "apriori": "c.hst"}
    found, _ = door("r,s,v", rows, "MAN(10)", keys)
    assert found["A", "x"] == "x"
    assert list(found.values()).count("x") >= 4


def test_a_firm_on_both_sides_is_one(door):
    keys = {"value": "v", "contributor": "f", "negative": "split"}
    found, _ = door("r,s,f,v", SPLIT, "P(10,1)", keys)
    assert found["r", "C"] == "x"
    assert "x" in (found["r", "D"], found["r", "Total"])


def test_listed_contributions_are_no_count(door):
    rows = [(*row[:3], row[2] // 2) for row in SQUARE]
    found, said = door("r,s,v,t1", rows, "FREQ(3,10)", CELLS | {"top": ["t1"]})
    assert not found
    assert "FREQ" in said


def test_records_count_as_contributors_and_this_is_said(door):
    rows = [(r, s, f"p{i // 2}", 5) for r in "ab" for s in "xy" for i in range(10)]
    found, said = door("r,s,firm,v", rows, "FREQ(3,10)", {"value": "v"})
    assert found
    assert "ach record counts as one contributor" in said


ASC = "r 1 1\n<RECODEABLE>\ns 2 1\n<RECODEABLE>\nv 3 5\n<NUMERIC>\n"
TAB = '<SEPARATOR> ";"\nr\n<RECODEABLE>\ns\n<RECODEABLE>\nv\n<NUMERIC>\nn\n<FREQUENCY>\n'


@pytest.mark.parametrize(
    ("file", "layout", "lines", "words"),
    [
        ("t.asc", ASC, "ax1,000\nby2,000\n", "thousand"),
        ("t.tab", TAB + "m\n<FREQUENCY>\n", "a;x;5;5;5\n", "FREQUENCY"),
        ("t.tab", TAB + "u\n<STATUS>\n", "a;x;;;U\na;y;5;5;S\n", "line 1"),
        ("t.tab", TAB + 'q\n<REQUEST> "1" "2"\n', "a;x;5;5;1\n", "<REQUEST>"),
    ],
    ids=["thousands", "two frequencies", "U without a value", "requests"],
)
def test_what_cannot_be_told_is_refused(door, file, layout, lines, words):
    Path("l.rda").write_text(layout)
    Path(file).write_text(lines)
    keys = {"layout": "l.rda", "value": "v"} if file.endswith(".asc") else {"layout": "l.rda"}
    found, said = door.file(file, "FREQ(3,10)", keys)
    assert not found
    assert words in said


def test_linked_records_are_told_apart_in_a_job(tmp_path, monkeypatch):
    """The respondent of record 1 knows A1 and B1: Total - 640 - 50 would be A2."""
    monkeypatch.chdir(tmp_path)
    lines = ["a,b,v", *(",".join(map(str, r)) for r in zip(*LONE.values(), strict=True))]
    Path("d.csv").write_text("\n".join(lines) + "\n")
    Path("j.toml").write_text(
        '[data]\nfile = "d.csv"\nvalue = "v"\n[[table]]\nname = "a"\nby = ["a"]\n[[table]]\n'
        'name = "b"\nby = ["b"]\n[rules]\nsensitive = "FREQ(2,10)"\n'
    )
    result = CliRunner().invoke(app, ["run", "j.toml"])
    assert result.exit_code == 0, result.output
    gone = set()
    for name in "ab":
        with Path(f"published/{name}.csv").open(newline="") as text:
            gone |= {row[name] for row in csv.DictReader(text) if row["status"] == "x"}
    assert {"A1", "A2", "B1"} <= gone
    assert gone & {"A3", "A4"}  # else A2 would follow


FIRMS = [("X", "1", "L", 50, "e"), ("X", "2", "L", 3000, "g")] + [
    (a, s, f, 30 + k, f"{a}{s}{f}{k}")
    for a in "YZ" for s in "12" for f in "LM" for k in range(6)
]  # fmt: skip


@pytest.mark.parametrize("extra", ["", 'contributor = "firm"\n', 'negative = "shift"\n'])
def test_linked_tables_of_records_can_be_protected_in_a_job(tmp_path, monkeypatch, extra):
    """X has two firms, each alone in a size and both of form L: its cells are withheld in both."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(",".join(map(str, row)) + "\n" for row in FIRMS)
    Path("d.csv").write_text("act,size,form,v,firm\n" + rows)
    Path("j.toml").write_text(
        f'[data]\nfile = "d.csv"\nvalue = "v"\n{extra}'
        '[[table]]\nname = "size"\nby = ["act", "size"]\n'
        '[[table]]\nname = "form"\nby = ["act", "form"]\n'
        '[rules]\nsensitive = "FREQ(3,10)|NK(1,85)"\n'
    )
    result = CliRunner().invoke(app, ["run", "j.toml"])
    assert result.exit_code == 0, result.output
    assert "linked" in result.output
    for name in ("size", "form"):
        with Path(f"published/{name}.csv").open(newline="") as text:
            hidden = {(r["act"], r[name]) for r in csv.DictReader(text) if r["status"] == "x"}
        assert ("X", "L" if name == "form" else "1") in hidden
        assert {act for act, _ in hidden} > {"X"}  # X,Total would follow from the other acts


LIKE_FORMULAS = ["-unknown-", "+North", "'-x", "''=y", "@z", "-5", "5", "O'Brien", "-", "=1", "'-5"]
"""Codes that a spreadsheet would take for formulas or numbers, and some that it would not."""


@examples(30)
@given(st.lists(st.tuples(*[st.sampled_from(LIKE_FORMULAS)] * 2), min_size=2, max_size=12))
def test_codes_of_files_that_were_written_here_are_those_that_were_meant(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    """The oracle is the data in memory, which no apostrophe has been put to."""
    data = {"r": [r for r, _ in pairs], "who": [w for _, w in pairs], "v": [1] * len(pairs)}
    path = tmp_path_factory.mktemp("f") / "d.csv"
    write_columns(path, data)
    asked = {"value": "v", "contributor": "who", "total": "all"}
    meant = Table.from_microdata(data, ["r"], **asked)
    for memory in (None, "4GB"):
        found = Table.from_microdata(path, ["r"], memory=memory, **asked)
        assert list(found.labels) == list(meant.labels)
        assert found.contributors.count.tolist() == meant.contributors.count.tolist()
    again = rows_of(path, numbers=["v"])
    assert [again["r"], again["who"]] == [data["r"], data["who"]]
    cells = {"r": list(dict.fromkeys(data["r"])), "v": [*range(len(set(data["r"])))]}
    write_columns(path, cells)
    one, two = (Table.from_frame(x, ["r"], "v", total="all") for x in (path, cells))
    assert list(one.labels) == list(two.labels)
    assert {*cells["r"]} <= {code for (code,) in Release.from_frame(path, ["r"], "v").labels}


@pytest.mark.parametrize("memory", [None, "4GB"])
@pytest.mark.parametrize("codes", [["'-x", "-x", "-y"], ["'-5", "-5", "a"]])
def test_an_apostrophe_is_part_of_a_code_where_others_go_without(tmp_path, memory, codes) -> None:
    """Codes that differ by it alone stay apart, numbers too."""
    path = tmp_path / "d.csv"
    path.write_text("r,v\n" + "".join(f"{code},{v}\n" for v, code in enumerate(codes, 1)))
    found = Table.from_microdata(path, ["r"], "v", memory=memory)
    assert {code for (code,) in found.labels} == {*codes, "Total"}
    assert rows_of(path, numbers=["v"])["r"] == codes
    assert (codes[0],) in Release.from_frame(path, ["r"], "v").labels
