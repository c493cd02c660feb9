"""Batch files of τ-ARGUS: the job they mean, the same as in TOML, and what cannot be obeyed."""

from __future__ import annotations

import csv
import importlib.util
import random
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.files import result_columns
from cellveil.io.results import write_result
from cellveil.jobs.batch import read_batch
from cellveil.jobs.job import read_job
from cellveil.jobs.run import run_job
from cellveil.requests.search import Limit, Search
from csp import InputError, Table, audit, parse_rules, protect
from csp.tables import argus

BATCH = """\
// made by hand
<OPENMICRODATA>   "C:\\Users\\me\\survey.asc"
<OPENMETADATA>    survey.rda
<SPECIFYTABLE>    "Region""Size"|"Value"||"-2"
<SAFETYRULE>      P(10,1) | FREQ(3, 10)|NK(0,0)
<READMICRODATA>
<APRIORI>         "cells.hst",1,",",0,0
<SUPPRESS>        MOD(1,5,1,1,1)
<WRITETABLE>      (1,4,AS+SE+,"out\\safe.csv")
<GOINTERACTIVE>
"""

PEER = pytest.mark.skipif(
    importlib.util.find_spec("pytauargus") is None, reason="pytauargus is not installed"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # the peer leaves its working files where it is run
    draw = random.Random(5)
    codes = [(draw.choice(["N1", "N2", "S1"]), draw.choice("abc")) for _ in range(45)]
    lines = [f"{r} {s} {draw.randint(1, 30) ** 3 / 10:7.1f}" for r, s in codes]
    (tmp_path / "survey.asc").write_text("\n".join(lines) + "\n")
    (tmp_path / "survey.rda").write_text(
        'Region 1 2\n <RECODEABLE>\n <TOTCODE> "Total"\nSize 4 1\n <RECODEABLE>\n'
        ' <TOTCODE> "Total"\nValue 6 7\n <NUMERIC>\n <DECIMALS> 1\n'
    )
    (tmp_path / "cells.hst").write_text("N1,a,u\nS1,c,p\n")
    (tmp_path / "job.arb").write_text(BATCH)
    return tmp_path


def test_a_batch_file_is_a_job(folder: Path) -> None:
    sections, notes = read_batch(folder / "job.arb")
    assert sections == {
        "data": {"file": "survey.asc", "layout": "survey.rda"},
        "table": [
            {"name": "safe", "apriori": "cells.hst", "by": ["Region", "Size"], "value": "Value"}
        ],
        "rules": {"sensitive": "P(10,1)|FREQ(3,10)|NK(0,0)|MAN(20)", "cost": "unit"},
        "output": {"folder": "out", "format": ["argus"]},
    }
    assert [note.partition(":")[0] for note in notes] == [
        "job.arb, line 8, <SUPPRESS>",
        "job.arb, line 9, <WRITETABLE>",
        "job.arb, line 9, <WRITETABLE>",
        "job.arb, line 10, <GOINTERACTIVE>",
    ]


def test_it_runs_and_as_toml_gives_the_same_table(folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "more").mkdir()
    runs = (["run", "job.arb"], ["init", "more/job.toml", "--from", "job.arb"])
    for words in (*runs, ["run", "--anywhere", "more/job.toml"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        assert ("Next: cellveil run --anywhere more/job.toml" in result.output) == (
            words == runs[1]
        )
        assert ("SE+: empty cells" in result.output) == (words == runs[0])
    written = (folder / "out" / "safe.sbs").read_bytes()
    text = (folder / "more" / "job.toml").read_text()
    assert tomllib.loads(text)["output"]["folder"] == "../out"
    assert "# job.arb, line 9, <WRITETABLE>: SE+" in text
    assert (folder / "out" / "safe.sbs").read_bytes() == written
    rows = {(r, s): status for r, s, _, _, status in csv.reader(written.decode().splitlines())}
    assert rows["N1", "a"] == "D"
    assert rows["S1", "c"] == "V"


@PEER
@pytest.mark.parametrize("rules", ["P(10,1)|FREQ(4,30)", "NK(2,70)|MAN(10)"])
def test_another_program_finds_the_same_sensitive_cells_in_the_same_batch(
    folder: Path, rules: str
) -> None:
    from pytauargus.arb import micro_arb
    from pytauargus.engine import run_batch

    def write(kind: str, out: str) -> None:
        micro_arb(
            str(folder / "job.arb"), str(folder / "survey.asc"), str(folder / "survey.rda"),
            ["Region", "Size"], response_var="Value", safety_rules=rules,
            suppress="MOD(1,5,1,1,1)", output_names=[str(folder / out)], output_type=kind,
            output_options="AS+", apriori=[str(folder / "cells.hst")],
        )  # fmt: skip

    write("4", "theirs.csv")
    run_batch(folder / "job.arb")
    theirs = {}
    for line in csv.reader((folder / "theirs.csv").read_text().splitlines()):
        theirs[line[0], line[1]] = (line[2], line[4])
    write("4", "ours.csv")
    (done,) = run_job(read_job(folder / "job.arb", anywhere=True))
    table, problem = done.protected.table, done.protected.problem
    sensitive = {label for i, label in enumerate(table.labels) if problem.primary[i]}
    assert 2 < len(sensitive) < table.n_cells
    assert sensitive == {label for label, (_, s) in theirs.items() if s not in ("V", "D")}
    assert {label: float(v) for label, (v, _) in theirs.items()} == {
        label: v / 10**table.scale
        for label, v in zip(table.labels, table.values.tolist(), strict=True)
    }
    # Ours costs no more, and theirs, which knows the same cells, is judged by the same audit.
    pattern = [theirs[label][1] != "V" for label in table.labels]
    assert problem.cost[done.protected.pattern].sum() <= problem.cost[pattern].sum() or (
        not audit(problem, pattern).safe
    )


@PEER
def test_another_program_obeys_the_a_priori_file_of_a_pattern(folder: Path) -> None:
    """As rtauargus carries the pattern of one table over to the next."""
    from pytauargus.engine import run_batch

    table = Table.from_microdata(
        argus.read_microdata(folder / "survey.asc", folder / "survey.rda"),
        ["Region", "Size"],
        "Value",
    )
    found = protect(table, "P(15,1)|FREQ(5,30)")
    assert found.pattern.sum() > 3
    write_result(folder / "cells.hst", found, result_columns(found))
    text = BATCH.replace("C:\\Users\\me\\", "").replace("out\\safe", "safe")
    text = text.replace("P(10,1) | FREQ(3, 10)|NK(0,0)", "MAN(10)")
    (folder / "job.arb").write_text(text)
    run_batch(folder / "job.arb")
    lines = csv.reader((folder / "safe.csv").read_text().splitlines())
    theirs = {(line[0], line[1]) for line in lines if line[4] == "B"}
    assert theirs == {table.labels[i] for i in found.pattern.nonzero()[0]}


def test_a_table_and_its_statuses(folder: Path) -> None:
    (folder / "t.rda").write_text(
        '<SEPARATOR> ";"\nA\n <RECODEABLE>\nB\n <RECODEABLE>\nv\n <NUMERIC>\nn\n <FREQUENCY>\n'
        "st\n <STATUS>\n"
    )
    cells = {(a, b): (a + 2) * (b + 3) * 10 for a in "12" for b in "12" for a in [int(a)]
             for b in [int(b)]}  # fmt: skip
    lines = [f"{a};{b};{v};9;{'U' if (a, b) == (1, 1) else 'S'}" for (a, b), v in cells.items()]
    lines += [f"{a};;{sum(cells[a, b] for b in (1, 2))};9;S" for a in (1, 2)]
    lines += [f";{b};{sum(cells[a, b] for a in (1, 2))};9;S" for b in (1, 2)]
    lines += [f";;{sum(cells.values())};9;S"]
    (folder / "t.tab").write_text("\n".join(lines) + "\n")
    (folder / "t.arb").write_text(
        '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "B""A"|"v"||\n'
        "<SAFETYRULE>\n<READTABLE>\n<SUPPRESS> OPT(1,2)\n"
    )
    job = read_job(folder / "t.arb")
    assert job.asked.rules == "MAN(20)"
    assert job.search == Search(limit=Limit(120.0))
    (done,) = run_job(job)
    assert int(done.protected.pattern.sum()) == 4
    assert done.protected.problem.primary[done.protected.table.position(("1", "1"))]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("FREQ(0,10)", "line 3, <SPECIFYTABLE>: 'FREQ.*needs n above 0, got 0"),
        ("NK(0,0)|MIS(0)", "holds no rule"),
        ("NK(4,85)|P(10,)", "'P\\(10,\\)'"),
        ("WGT(2)", "WGT"),
    ],
)
def test_rules_that_cannot_be_read_are_named_before_a_job_is_written(
    folder: Path, rules: str, words: str
) -> None:
    (folder / "job.arb").write_text(
        '<OPENMICRODATA> "survey.asc"\n<OPENMETADATA> "survey.rda"\n'
        f'<SPECIFYTABLE> "Region"|"<freq>"||"-2"\n<SAFETYRULE> {rules}\n'
        '<READMICRODATA>\n<SUPPRESS> GH(0,100)\n<WRITETABLE> (1,2,,"one.csv")\n'
    )
    with pytest.raises(InputError, match=words):
        read_batch(folder / "job.arb")


def test_linked_tables_and_frequencies(folder: Path) -> None:
    (folder / "job.arb").write_text(
        '<OPENMICRODATA> "survey.asc"\n<OPENMETADATA> "survey.rda"\n'
        '<SPECIFYTABLE> "Region"|"<freq>"||"-2"\n<SAFETYRULE> FREQ(16,10)\n'
        '<SPECIFYTABLE> "Region""Size"|<freq>||-2\n<SAFETYRULE> freq(16,10)\n'
        "<READMICRODATA>\n<SUPPRESS> GH(0,100)\n"
        '<WRITETABLE> (1,2,,"one.csv")\n<WRITETABLE> (2,3,AS+,"two.csv")\n'
    )
    (done,) = run_job(read_job(folder / "job.arb", anywhere=True))
    assert done.names == ("one", "two")
    data = [line.split() for line in (folder / "survey.asc").read_text().splitlines()]
    columns = dict(zip(("Region", "Size"), list(zip(*data, strict=True))[:2], strict=True))
    counts = Table.from_microdata(columns, ["Region", "Size"])
    expected = parse_rules("FREQ(16,10)")(counts).primary
    assert sorted(done.protected.table.labels) == sorted(counts.labels)
    for i, label in enumerate(counts.labels):
        place = done.protected.table.position(label)
        assert done.protected.problem.primary[place] == expected[i]
    assert {path.name for path in done.files} == {"one.csv", "two.csv"}


WRONG = [
    ("<GOINTERACTIVE>", "<PRINT> 1", r"line 10, <PRINT>: is not a verb; there are OPENMICRODATA"),
    ("<GOINTERACTIVE>", "print", "line 10: a line must begin with a verb"),
    ("<GOINTERACTIVE>", "<RECODE> 1, Colour, 2", "<RECODE>: table 1 has no variable 'Colour'"),
    ("<GOINTERACTIVE>", "<RECODE> Size", "<RECODE> is table number"),
    ("MOD(1,5,1,1,1)", "RND(1,5)", "<SUPPRESS>: RND rounds"),
    ("MOD(1,5,1,1,1)", "CTA(1)", "<SUPPRESS>: CTA adjusts values"),
    ("MOD(1,5,1,1,1)", "TRY(1)", "not a method"),
    ("MOD(1,5,1,1,1)", "GH(1,75)", "a priori bounds of 75 percent"),
    ("MOD(1,5,1,1,1)", "MOD(1,5,1,1,1,2)", "limits on the costs of margins"),
    ("MOD(1,5,1,1,1)", "MOD(2,5)", "table 2, but 1 are specified"),
    ("MOD(1,5,1,1,1)", "MOD(1,x)", "must be numbers"),
    ("<SUPPRESS>        MOD(1,5,1,1,1)\n", "", "has no <SUPPRESS>"),
    ("<READMICRODATA>", "<READTABLE>", "is for data that <OPENTABLEDATA> opened"),
    ("<READMICRODATA>\n", "", "has no <READMICRODATA>"),
    ("(1,4,AS+SE+", "(1,5,", "type 5 holds suppressed values"),
    ("(1,4,AS+SE+", "(1,4,what", "options 'what' are not written like"),
    ('"Value"||"-2"', '"Value"||"-3"', "cost '-3' is not known"),
    ('"Value"||"-2"', '"Value"||"-2",0.5', "costs to the power 0.5"),
    ('1,",",0,0', '1,",",0,1', "trivial levels are not expanded"),
    ("P(10,1)", "WGT(1)|P(10,1)", "the layout has no <WEIGHT>"),
    ("P(10,1)", "REQ(1,2,3)", "REQ protects contributors"),
    ("<OPENMETADATA>    survey.rda\n", "", "after <OPENMETADATA>"),
    ("<READMICRODATA>", "<SAFETYRULE> FREQ(3,10)\n<READMICRODATA>", "a second line of rules"),
    ("<READMICRODATA>", "<OPENMETADATA> other.rda\n<READMICRODATA>", "a second layout"),
    ("<APRIORI>", "<RECODE> 1, Region, 1\n<RECODE> 1, Region, 2\n<APRIORI>", "recoded before"),
    ("<GOINTERACTIVE>", '<WRITETABLE> (1,4,AS+,"out\\b.csv")', "is written as 'safe' before"),
    (
        "<READMICRODATA>",
        '<SPECIFYTABLE> "Size"|"Value"||"-2"\n<SAFETYRULE> P(20,1)\n<READMICRODATA>',
        "line 4.* and .*line 6.* have different rules",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_what_cannot_be_obeyed_is_named(folder: Path, old: str, new: str, words: str) -> None:
    assert old in BATCH
    text = BATCH.replace(old, new)
    if "different rules" in words:
        text = text.replace("<APRIORI>", "<SUPPRESS> MOD(2,5)\n<APRIORI>")
    (folder / "job.arb").write_text(text)
    with pytest.raises(InputError, match=words):
        read_job(folder / "job.arb")
    assert not (folder / "out").exists()
