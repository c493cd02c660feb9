"""The command line: real runs, exit codes, whole files or none, and no suppressed value."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from decimal import Decimal
from importlib.metadata import requires
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import csp
import instances
from cellveil.cli.app import app
from cellveil.cli.installation.doctor import MODULES, checks
from csp import read_jj, write_jj
from csp.tables.argus import read_microdata
from tests.support.commands import commands
from tests.support.shared import ROOT, shared_data

RULES = "P(10,1)|FREQ(3,10)"

SURVEY = """\
region,sector,firm,turnover
N,A,e1,7777777
N,A,e2,31313
N,B,e3,400444
N,B,e4,500555
N,B,e5,450333
S,A,e6,320777
S,A,e7,330888
S,A,e8,350999
S,B,e9,310222
S,B,e10,340111
S,B,e11,350666
"""

BY = ["--by", "region,sector"]
VALUE = [*BY, "--value", "turnover", "--contributor", "firm", "--rules", RULES]

CELLS = """\
region,sector,value,count,top
N,A,7,1,7
N,B,60,5,20
N,Total,67,6,20
S,A,50,5,20
S,B,70,5,30
S,Total,120,10,30
Total,A,57,6,20
Total,B,130,10,30
Total,Total,187,16,30
"""

AGGREGATED = [*BY, "--aggregated", "--value", "value"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("survey.csv").write_text(SURVEY)
    Path("cells.csv").write_text(CELLS)
    return tmp_path


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def process(*words, path=(), code=0, timeout=120):
    """Run the command in a process of its own, away from the repository."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, path), str(ROOT)])}
    env["PYTHONSAFEPATH"] = "1"  # files of others in that folder are not modules
    done = subprocess.run(
        [sys.executable, "-m", "cellveil", *map(str, words)],
        capture_output=True, text=True, encoding="utf-8", env=env, timeout=timeout, check=False,
        cwd=tempfile.gettempdir(),
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:  # noqa: PTH123, RUF100
        return list(csv.DictReader(file))


# ---- protect -------------------------------------------------------------------------------------


def test_protect_writes_what_the_api_gives(folder):
    result = run("protect", "survey.csv", *VALUE, "-o", "out.csv", "--summary", "s.json",
                 "--intervals")  # fmt: skip
    table = csp.Table.from_microdata(
        pd.read_csv("survey.csv"), ["region", "sector"], "turnover", contributor="firm"
    )
    protected = csp.protect(table, RULES)
    frame = protected.to_frame(intervals=True)
    written = rows("out.csv")
    assert [row["status"] for row in written] == frame.status.tolist()
    for row, value, low, high in zip(written, frame.value, frame.lower, frame.upper, strict=True):
        assert (row["value"] == "") == pd.isna(value)
        assert row["value"] == "" or float(row["value"]) == value
        assert (float(row["lower"]), float(row["upper"])) == (low, high)
    facts = json.loads(Path("s.json").read_text())
    assert facts["safe"]
    assert facts["proven"]
    assert "cost" not in facts
    assert facts.pop("files") == {
        "out.csv": hashlib.sha256(Path("out.csv").read_bytes()).hexdigest()
    }
    assert facts.keys() == protected.summary().keys()
    assert "Audited safe" in result.stderr
    assert "Proven optimum" in result.stderr
    assert result.stdout == ""


def test_results_are_the_same_in_every_format(folder):
    for name in ("out.csv", "out.csv.gz", "out.parquet"):
        run("protect", "survey.csv", *VALUE, "--intervals", "-o", name)
    plain = Path("out.csv").read_text()
    assert gzip.decompress(Path("out.csv.gz").read_bytes()).decode() == plain
    with duckdb.connect() as connection:
        found = connection.read_parquet("out.parquet")
        assert found.columns == plain.splitlines()[0].split(",")
        records = found.fetchall()
    assert len(records) == 9
    for row, record in zip(rows("out.csv"), records, strict=True):
        assert record[2] == (int(row["value"]) if row["value"] else None)
        assert record[4] is (row["published"] == "true")
        assert float(row["upper"]) == record[6]
    assert sorted(p.name for p in folder.iterdir()) == [
        "cells.csv", "out.csv", "out.csv.gz", "out.parquet", "survey.csv",
    ]  # fmt: skip


def test_without_a_file_the_table_is_printed_as_csv_into_a_pipe(folder):
    run("protect", "survey.csv", *VALUE, "-o", "out.csv")
    assert run("protect", "survey.csv", *VALUE).stdout == Path("out.csv").read_text()


def test_counts_parquet_and_options(folder):
    pd.read_csv("survey.csv").to_parquet("survey.parquet")
    words = ["--rules", "FREQ(3)", "--margins", "publish", "--width", "2", "--unions"]
    one = run("protect", "survey.csv", *BY, *words)
    two = run("protect", "survey.parquet", *BY, *words)
    assert one.stdout == two.stdout
    assert "at width 2" in one.stderr
    assert "--unions" not in one.stderr


def test_records_within_memory_and_without_empty_cells(folder):
    one = run("protect", "survey.csv", *VALUE)
    two = run("protect", "survey.csv", *VALUE, "--memory", "9GB")
    assert one.stdout == two.stdout
    Path("german.csv").write_text(SURVEY.replace(",", ";"))
    said = run("protect", "german.csv", *VALUE, "--memory", "9GB")
    assert said.stdout == one.stdout
    assert "separated by semicolons" in said.stderr
    Path("few.csv").write_text(SURVEY.replace("S,B", "S,C"))
    words = ["protect", "few.csv", *BY, "--rules", "FREQ(2)", "--width", "1"]
    kept, dropped = (run(*words, *more).stdout for more in ((), ("--drop-empty",)))
    assert "S,B" in kept
    assert "S,B" not in dropped
    assert run(*words, "--keep-empty").stdout == kept


def test_hierarchies_and_singletons(folder):
    demo, tree = instances.path("demo.csv"), instances.path("demo.hrc")
    words = ["--by", "region,sector", "--value", "turnover", "--contributor", "enterprise",
             "--hierarchy", f"region={tree}", "--rules", RULES]  # fmt: skip
    result = run("protect", demo, *words, "-o", "out.csv")
    ours = csp.protect(instances.load("demo"), RULES)
    assert [row["published"] == "false" for row in rows("out.csv")] == ours.pattern.tolist()
    assert "98 cells by region x sector" in result.stderr
    guarded = run("protect", demo, *words, "--singletons", "-o", "out.csv")
    assert "only contributor of another cell" in guarded.stderr


def test_aggregated_tables(folder):
    words = ["--count", "count", "--top", "top", "--rules", "FREQ(3,10)", "-o", "out.csv"]
    run("protect", "cells.csv", *AGGREGATED, *words)
    hidden = {(r["region"], r["sector"]) for r in rows("out.csv") if r["status"] == "x"}
    assert ("N", "A") in hidden
    assert len(hidden) >= 4


def test_cells_sensitive_by_hand(folder):
    Path("hand.csv").write_text("sector,region\nB,S\nTotal,N\n")
    words = [*BY, "--value", "turnover", "--rules", "MAN(20)"]
    run("protect", "survey.csv", *words, "--primary", "hand.csv", "-o", "out.csv")
    hidden = {(r["region"], r["sector"]) for r in rows("out.csv") if r["status"] == "x"}
    assert {("S", "B"), ("N", "Total")} < hidden
    assert "--primary" in run("protect", "survey.csv", *words, code=2).stderr
    Path("hand.csv").write_text("sector,region\nC,S\n")
    failed = run("protect", "survey.csv", *words, "--primary", "hand.csv", code=2)
    assert "(region=S, sector=C)" in failed.stderr


def test_cells_named_by_hand_are_read_as_carefully_as_data(folder):
    words = [*BY, "--value", "turnover", "--rules", "MAN(20)", "--primary"]
    Path("h1.csv").write_text("region,sector\nN,A\n")
    Path("h[1].csv").write_text("region,sector\nS,B\n")
    Path("region=N").mkdir()
    Path("region=N/h.csv").write_text("region;sector\nS;B\n")
    for name in ("h[1].csv", "region=N/h.csv"):
        run("protect", "survey.csv", *words, name, "-o", "out.csv")
        hidden = {(r["region"], r["sector"]) for r in rows("out.csv") if r["status"] == "x"}
        assert ("S", "B") in hidden
        told = run("protect", "survey.csv", *words, name, "--reveal").stdout
        assert [line.split(",")[:2] for line in told.splitlines() if ",u," in line] == [["S", "B"]]
    for text, what in (
        ("region,sector\nN,Z\n", "no cell (region=N, sector=Z)"),
        ("region,sector\nN,A,\n", "row 1: the row ends with a separator"),
        ("region,sector\n", "names no cells"),
        ("region\nN\n", "no column 'sector'"),
    ):
        Path("hand.csv").write_text(text)
        assert what in run("protect", "survey.csv", *words, "hand.csv", code=2).stderr
    assert "is a folder" in run("protect", "survey.csv", *words, "region=N", code=2).stderr


def test_cells_named_by_hand_have_the_encoding_of_the_data(folder):
    Path("eu.csv").write_bytes("region;v\nKöln;5\nBonn;7\nUlm;9\n".encode("cp1252"))
    Path("hand.csv").write_bytes("region\nKöln\n".encode("cp1252"))
    words = ["--by", "region", "--value", "v", "--rules", "MAN(20)", "--encoding", "cp1252"]
    told = run("protect", "eu.csv", *words, "--primary", "hand.csv", "--reveal").stdout
    assert "Köln,5,u," in told
    pd.DataFrame({"region": ["Köln"]}).to_parquet("hand.parquet")
    assert run("protect", "eu.csv", *words, "--primary", "hand.parquet", "--reveal").stdout == told


def test_columns_that_differ_in_case_are_not_written_as_parquet(folder):
    Path("case.csv").write_text("a,A\nx,y\nx,z\n")
    words = ["protect", "case.csv", "--by", "a,A", "--rules", "FREQ(1,5)", "-o"]
    assert "differ in case only" in run(*words, "o.parquet", code=2).stderr
    assert not Path("o.parquet").exists()
    run(*words, "o.csv")
    assert Path("o.csv").read_text().startswith("a,A,value")


def test_equal_records_are_added_up_and_the_help_says_so(folder):
    Path("twice.csv").write_text("r,f,v\nN,f1,10\nN,f1,10\nN,f2,7\nS,f3,5\n")
    words = ["--by", "r", "--value", "v", "--contributor", "f", "--rules", "NK(1,99)"]
    assert "Total,32," in run("protect", "twice.csv", *words).stdout
    assert "N,27," in run("protect", "twice.csv", *words, "--reveal").stdout
    told = " ".join(run("protect", "--help").stdout.replace("│", " ").split())
    assert "all its records in a cell are added up, equal ones too" in told
    assert "NK(1,75)" in told


def test_rules_that_look_far_get_the_contributions_they_need(folder):
    run("protect", "survey.csv", *BY, "--value", "turnover", "--rules", "NK(7,99)", "-o", "o.csv")


def test_an_interrupt_keeps_the_best_pattern(folder, monkeypatch):
    from cellveil.render import progress

    def interrupt(meter, state):
        if state.best is not None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(progress.Meter, "__call__", interrupt)
    result = run("protect", "survey.csv", *VALUE, "-o", "out.csv", code=130)
    assert "Interrupted: this is the best audited pattern so far" in result.stderr
    assert Path("out.csv").exists()


def test_an_interrupt_before_any_pattern_writes_nothing(folder, monkeypatch):
    from cellveil.io import inputs

    def interrupt(source, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "read_table", interrupt)
    result = run("protect", "survey.csv", *VALUE, "-o", "out.csv", code=130)
    assert "nothing was written" in result.stderr
    assert not Path("out.csv").exists()


# ---- suppress and audit --------------------------------------------------------------------------


def test_suppress_and_audit_a_jj_file(folder):
    problem = instances.load("figure2")
    write_jj(problem, "in.jj.gz")
    run("suppress", "in.jj.gz", "-o", "p.csv", "--summary", "s.json")
    letters = [row["status"] for row in rows("p.csv")]
    assert letters.count("x") == 4
    assert "u" not in letters
    assert "cost" not in json.loads(Path("s.json").read_text())
    found = csp.suppress(problem)
    assert [letter == "x" for letter in letters] == found.pattern.tolist()
    assert run("suppress", "in.jj.gz").stdout == Path("p.csv").read_text()

    safe = run("audit", "in.jj.gz", "p.csv", "-o", "iv.csv", "--summary", "a.json")
    assert "Audited safe" in safe.stdout
    assert json.loads(Path("a.json").read_text())["violations"] == []
    _, upper = csp.intervals(problem.table, found.pattern)
    assert [float(row["upper"]) for row in rows("iv.csv")] == upper.tolist()

    revealed = run("suppress", "in.jj.gz", "-o", "out.jj", "--reveal")
    assert "Cost 3" in revealed.stderr
    assert read_jj("out.jj").status.tolist().count("x") == 3
    run("audit", "out.jj")
    run("audit", "in.jj.gz", "out.jj", "--integer")
    run("suppress", "in.jj.gz", "-o", "again.csv", "--reveal", "--method", "ilp")
    assert [row["status"] for row in rows("again.csv")].count("u") == 1


def test_an_unsafe_pattern_is_told_in_words(folder):
    write_jj(instances.load("figure2"), "in.jj")
    result = run("audit", "in.jj", "-o", "iv.csv", "--summary", "a.json", code=1)
    assert "Unsafe" in result.stdout
    assert "cell 0 can be worked out exactly" in result.stdout
    assert not Path("iv.csv").exists()
    assert not json.loads(Path("a.json").read_text())["safe"]
    run("audit", "in.jj", "-o", "iv.csv", "--reveal", code=1)
    assert Path("iv.csv").exists()


def test_what_protect_writes_can_be_audited(folder):
    run("protect", "survey.csv", *VALUE, "--jj", "out.jj", "--reveal")
    run("audit", "out.jj")
    Path("p.csv").write_text("id,status\n" + "".join(f"{i},s\n" for i in range(9)))
    assert "must be suppressed" in run("audit", "out.jj", "p.csv", code=1).stdout


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("id,status\n99,x\n", "row 1: no cell has id '99'"),
        ("id,status\n0,x\n0,s\n", "already stands in row 1"),
        ("id,status\n0,q\n", "'q' of id '0'"),
        ("id,status\n0,x\n", "has no row for cell id '1'"),
        ("cell,status\n0,x\n", "no column 'id'"),
    ],
)
def test_bad_patterns(folder, text, what):
    write_jj(instances.load("figure2"), "in.jj")
    Path("p.csv").write_text(text)
    assert what in run("audit", "in.jj", "p.csv", code=2).stderr


# ---- what cannot be protected --------------------------------------------------------------------


def test_unprotectable_names_cell_and_relations(folder):
    words = ["protect", "survey.csv", *VALUE, "--margins", "publish", "--width", "99999999"]
    result = run(*words, "-o", "out.csv", code=1)
    assert "cell (region=N, sector=A) cannot be protected" in result.stderr
    assert "(region=N, sector=Total) = sum of" in result.stderr
    assert "best interval is" not in result.stderr
    assert not Path("out.csv").exists()
    assert "best interval is from" in run(*words, "--reveal", code=1).stderr


def test_unprotectable_jj(folder):
    table = csp.Table.from_array([7, 8])
    write_jj(csp.Problem.of(table, [True, False, False], spl=99, publish=table.margins), "in.jj")
    assert "cannot be protected" in run("suppress", "in.jj", "-o", "p.csv", code=1).stderr
    assert not Path("p.csv").exists()


# ---- bad input -----------------------------------------------------------------------------------


def survey(**changes):
    """Rows of the survey with some replaced; row 1 is the first below the header."""
    lines = SURVEY.splitlines()
    for number, line in changes.items():
        lines[int(number[1:])] = line
    return "\n".join(lines) + "\n"


def cells(old, new):
    assert old in CELLS
    return CELLS.replace(old, new)


HRC = ["--hierarchy", "region=region.hrc"]
COUNTS = [*AGGREGATED, "--count", "count", "--rules", "FREQ(3,10)"]

BAD = {
    "non-additive frame": (cells("S,Total,120", "S,Total,121"), COUNTS, "region=S, sector=Total"),
    "missing count": (cells("N,B,60,5", "N,B,60,"), COUNTS, "row 2"),
    "negative count": (cells("N,B,60,5", "N,B,60,-5"), COUNTS, "row 2"),
    "missing margin": (cells("S,Total,120,10,30\n", ""), COUNTS, "region=S, sector=Total"),
    "duplicate cell": (CELLS + "S,A,50,5,20\n", COUNTS, "rows 4 and 10"),
    "nan": (survey(r3="N,B,e3,nan"), VALUE, "row 3"),
    "infinite": (survey(r3="N,B,e3,inf"), VALUE, "row 3"),
    "no number": (survey(r3="N,B,e3,much"), VALUE, "row 3"),
    "negative value": (survey(r3="N,B,e3,-5"), VALUE, "row 3"),
    "missing code": (survey(r3=",B,e3,5"), VALUE, "row 3"),
    "empty table": ("region,sector,firm,turnover\n", VALUE, "no records"),
    "empty file": ("", VALUE, "data.csv"),
    "code not in hierarchy": (survey(r3="W,B,e3,5"), [*VALUE, *HRC], "row 3: code 'W'"),
    "unknown rule": (SURVEY, [*BY, "--rules", "P(10,1)|FOO(3)"], "'FOO(3)' at character 9"),
    "rule without number": (SURVEY, [*BY, "--rules", "P(x,1)"], "'x' is not a number"),
    "unknown column": (SURVEY, ["--by", "regoin", "--rules", "FREQ(3)"], "did you mean 'region'"),
    "empty name": (SURVEY, ["--by", "region,", "--rules", "FREQ(3)"], "empty name"),
    "dimension twice": (SURVEY, ["--by", "region,region", "--rules", "FREQ(3)"], "'region' twice"),
    "negative width": (SURVEY, [*VALUE, "--width", "-3"], "width must be at least 0"),
    "width no number": (SURVEY, [*VALUE, "--width", "wide"], "'wide'"),
    "width too wide": (SURVEY, [*VALUE, "--width", "1e30"], "wider than any cell"),
    "width beyond reading": (SURVEY, [*VALUE, "--width", "1e-999999999"], "more than 400 digits"),
    "width in other digits": (SURVEY, [*VALUE, "--width", "\u0663"], "not a finite number"),
    "superscript width": (SURVEY, [*VALUE, "--width", "\u00b2"], "not a finite number"),
    "limit in other digits": (SURVEY, [*VALUE, "--time-limit", "\u0663"], "--time-limit"),
    "decimals in other digits": (SURVEY, [*VALUE, "--decimals", "\u0662"], "--decimals"),
    "rule in other digits": (SURVEY, [*BY, "--rules", "FREQ(\u0663)"], "is not a number"),
    "rule beyond reading": (SURVEY, [*BY, "--rules", "P(1e999999999,1)"], "is not a number"),
    "swapped rule": (SURVEY, [*BY, "--rules", "NK(75,1)"], "did you mean NK(1,75)"),
    "value in other digits": (survey(r3="N,B,e3,\u0661\u0662"), VALUE, "row 3"),
    "long value": (survey(r3="N,B,e3," + "9" * 5000), VALUE, "row 3, column 'turnover'"),
    "row with one more field": (survey(r3="N,B,e3,5,"), VALUE, "row 3: the row ends with"),
    "too few largest": (
        CELLS, [*AGGREGATED, "--top", "top", "--rules", "P(10,1)"], "name 2 columns with --top",
    ),
    "no width": (SURVEY, [*BY, "--value", "turnover", "--rules", "FREQ(9)"], "--width, or a m"),
    "off by rounding": (cells("N,B,60", "N,B,60.01"), COUNTS, "give --tolerance"),
    "strict alone": (SURVEY, [*VALUE, "--strict"], "width"),
    "unknown method": (SURVEY, [*VALUE, "--method", "magic"], "'magic'"),
    "unknown cost": (SURVEY, [*VALUE, "--cost", "weight"], "weight"),
    "gap out of range": (SURVEY, [*VALUE, "--gap", "2"], "gap"),
    "time limit": (SURVEY, [*VALUE, "--time-limit", "-1"], "--time-limit must be"),
    "hierarchy without file": (SURVEY, [*VALUE, "--hierarchy", "region"], "COLUMN=FILE"),
    "hierarchy of another column": (SURVEY, [*VALUE, "--hierarchy", "x=region.hrc"], "'x'"),
    "hierarchy twice": (SURVEY, [*VALUE, *HRC, *HRC], "twice"),
    "memory of a table": (CELLS, [*COUNTS, "--memory", "2GB"], "--memory"),
    "empty cells of a table": (CELLS, [*COUNTS, "--drop-empty"], "--drop-empty"),
    "no size": (SURVEY, [*VALUE, "--memory", "much"], "memory 'much' is not a size"),
    "too little memory": (SURVEY, [*VALUE, "--memory", "1MB"], "--memory leaves"),
    "missing code within memory": (survey(r3=",B,e3,5"), [*VALUE, "--memory", "9GB"], "row 3"),
    "count without aggregated": (SURVEY, [*VALUE, "--count", "turnover"], "--count"),
    "weights of a table": (CELLS, [*COUNTS, "--weight", "count"], "--weight"),
    "aggregated without value": (CELLS, [*BY, "--aggregated", "--rules", "FREQ(3)"], "--value"),
    "no rules": (SURVEY, BY, "--rules"),
    "reserved name": (CELLS, ["--by", "value", "--rules", "FREQ(3)"], "column 'value'"),
    "jj without reveal": (SURVEY, [*VALUE, "--jj", "out.jj"], "--reveal"),
    "jj of singletons": (
        SURVEY,
        [*VALUE, "--jj", "out.jj", "--reveal", "--singletons"],
        "cannot hold --singletons",
    ),
    "decimals": (survey(r3="N,B,e3,1.234"), [*VALUE, "--decimals", "2"], "row 3"),
    "codes of no release": (SURVEY, [*VALUE, "--keep-codes", "x=y"], "--keep-codes is for --keep"),
    "marks of no release": (SURVEY, [*VALUE, "--keep-marks", "uk"], "--keep-marks is for --keep"),
    "title of a list": (SURVEY, [*VALUE, "--title", "T"], "--title stands on the sheet"),
    "footnote of a list": (SURVEY, [*VALUE, "--footnote", "F"], "--footnote stands on the sheet"),
    "other separator": (SURVEY, [*VALUE, "--sep", ";"], "seems to be several; declare --sep ,"),
    "tolerance of records": (SURVEY, [*VALUE, "--tolerance", "1"], "for tables of cells"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("N,A\n", "'hand.csv' (--primary): there is no column 'region'"),
        ("region,sector\nNN,A\n", "region has no code 'NN' (codes are compared as text)"),
        ("region,sector\nN,Totl\n", "sector has no code 'Totl' (codes are compared as text); did"),
    ],
)
def test_cells_by_hand_that_are_not_there_are_named(folder, text, what):
    Path("data.csv").write_text(SURVEY)
    Path("hand.csv").write_text(text)
    words = [*BY, "--value", "turnover", "--rules", "P(10,1)|MAN(10)", "--contributor", "firm"]
    assert what in run("protect", "data.csv", *words, "--primary", "hand.csv", code=2).stderr


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_leaves_nothing(folder, case):
    text, words, what = BAD[case]
    Path("data.csv").write_text(text)
    Path("region.hrc").write_text("N\nS\n")
    before = sorted(folder.iterdir())
    result = run("protect", "data.csv", *words, "-o", "out.csv", "--summary", "s.json", code=2)
    assert what in result.stderr
    assert result.stdout == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("N\n@@N1\n", "line 2"),
        ("N\n@S\nS\n", "line 3: code 'S' already stands in line 2"),  # its own uncle: a cycle
        ("N\n@\n", "line 2"),
        ("", "no codes"),
    ],
)
def test_malformed_hierarchy(folder, text, what):
    Path("region.hrc").write_text(text)
    assert what in run("protect", "survey.csv", *VALUE, *HRC, "-o", "out.csv", code=2).stderr
    assert not Path("out.csv").exists()


JJ = """\
0
3
0 7 1 u 0 20 5 5 0
1 8 1 s 0 20 0 0 0
2 15 1 s 0 20 0 0 0
1
0 3 : 0 (1) 1 (1) 2 (-1)
"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("1 8 1 s 0", "1 8 1 q 0", "line 4"),
        ("0 3 : 0", "0 4 : 0", "line 7"),
        ("2 15 1", "2 16 1", "line 7"),
        ("0 7 1 u 0 20 5 5 0", "0 7 1 u 0 20 8 5 0", "line 3"),
        ("1 8 1 s", "1 8 99999999999999999999999 s", "line 4"),
        ("0\n3\n", "0\n4\n", "line 6"),
        ("1 8 1 s 0", "0 8 1 s 0", "line 4: id 0 occurs twice"),
    ],
)
def test_malformed_jj(folder, old, new, what):
    assert old in JJ
    Path("in.jj").write_text(JJ.replace(old, new, 1))
    for command in ("suppress", "audit"):
        assert what in run(command, "in.jj", "-o", "out.csv", code=2).stderr
        assert not Path("out.csv").exists()


def test_results_that_cannot_be_written_are_refused_before_any_work(folder, monkeypatch):
    from cellveil.io import inputs

    def never(source, progress):
        raise AssertionError

    monkeypatch.setattr(inputs, "read_table", never)
    Path("folder.csv").mkdir()
    for words, what in (
        (["-o", "nowhere/out.csv"], "cannot write 'nowhere/out.csv'"),
        (["-o", "folder.csv"], "is not a file"),
        (["-o", "out.xls"], ".csv or .csv.gz or .parquet or .xlsx"),
        (["-o", "survey.csv"], "would overwrite"),
        (["-o", "out.csv", "--summary", "nowhere/s.json"], "cannot write 'nowhere/s.json'"),
        (["--summary", "s.json", "--jj", "x.jj", "--reveal", "-o", "./x.jj"], "must end with"),
    ):
        before = sorted(folder.iterdir())
        assert what in run("protect", "survey.csv", *VALUE, *words, code=2).stderr
        assert sorted(folder.iterdir()) == before


def test_missing_files(folder):
    for words in (
        ["protect", "gone.csv", *VALUE],
        ["protect", "survey.csv", *VALUE, "--hierarchy", "region=gone.hrc"],
        ["protect", "gone.asc", *VALUE],
        ["protect", "survey.csv", *VALUE, "--rda", "gone.rda"],
        ["suppress", "gone.jj"],
        ["audit", "gone.jj"],
        ["audit", "survey.csv"],
        ["nothing"],
    ):
        run(*words, code=2)


def test_debug_shows_where(folder):
    result = CliRunner().invoke(app, ["--debug", "suppress", "gone.jj"])
    assert isinstance(result.exception, csp.InputError)


def test_an_unforeseen_error_does_not_quote_data(folder, monkeypatch):
    from cellveil.io import inputs

    kinds = ((KeyError, "KeyError", 3), (csp.errors.CertificateError, "nothing is released", 3))
    for kind, words, code in kinds:

        def broken(source, progress, kind=kind):
            msg = "7777777"
            raise kind(msg)

        monkeypatch.setattr(inputs, "read_table", broken)
        result = run("protect", "survey.csv", *VALUE, "-o", "out.csv", code=code)
        assert words in result.stderr
        assert "7777777" not in result.output
        assert not Path("out.csv").exists()


# ---- leaks ---------------------------------------------------------------------------------------


ALWAYS = {"7777777", "31313", "7809090"}
"""The sensitive cell and its contributors: suppressed under any pattern."""


def secrets_of(table, pattern):
    """Texts of suppressed values and of what stands behind the sensitive one."""
    numbers = {*table.values[pattern].tolist(), *map(int, ALWAYS)}
    return {str(n) for n in numbers} | {f"{n:,}" for n in numbers}


def spoken(result, folder, inputs):
    """All that a run left behind: what it said, and every file."""
    texts = [result.output]
    for path in folder.iterdir():
        if path.name in inputs or path.is_dir():
            continue
        if path.suffix == ".parquet":
            with duckdb.connect() as connection:
                texts.append(str(connection.read_parquet(str(path)).fetchall()))
        elif path.suffix == ".gz":
            texts.append(gzip.decompress(path.read_bytes()).decode())
        else:
            texts.append(path.read_text())
    return "\n".join(texts)


VARIANTS = [
    ([], {}),
    (["--intervals", "-o", "a.csv", "--summary", "a.json"], {}),
    (["--intervals", "-o", "a.parquet"], {}),
    (["-o", "a.csv.gz", "--method", "ilp", "--solver", "highs"], {}),
    (["--jj", "b.jj"], {}),
    (["--decimals", "-1"], {}),
    (["--cost", "value", "--summary", "a.json"], {"cost": "value"}),
    (["--margins", "publish"], {"margins": "publish"}),
    (["--width", "99999999"], {"width": 99999999}),
    (["--margins", "publish", "--width", "99999999"], None),
    (["--singletons"], {"singletons": True}),
    (["--unions"], {"unions": True}),
    (["--integer", "--intervals"], {"integer": True}),
]
"""Options of protect and the same in Python; None where nothing can protect the table."""


def leaks(words, folder, inputs, secrets):
    result = CliRunner().invoke(app, words)
    assert result.exit_code in (0, 1, 2)
    said = spoken(result, folder, inputs)
    return [s for s in secrets if s in said]


@pytest.mark.parametrize(("words", "options"), VARIANTS, ids=lambda x: " ".join(x or ()))
def test_protect_gives_no_suppressed_value_away(folder, words, options):
    table = csp.Table.from_microdata(
        "survey.csv", ["region", "sector"], "turnover", contributor="firm"
    )
    pattern = np.zeros(9, dtype=bool)
    if options is not None:
        pattern = csp.protect(table, RULES, **options).pattern
    base = ["protect", "survey.csv", *VALUE, *words]
    inputs = {"survey.csv", "cells.csv"}
    assert not leaks(base, folder, inputs, secrets_of(table, pattern))
    if options is not None and "-o" not in words and words[:1] not in (["--jj"], ["--decimals"]):
        assert leaks([*base, "--reveal"], folder, inputs, {"7809090"})  # the search does find


@pytest.mark.parametrize("cost", ["unit", "value"])
def test_jj_commands_give_no_suppressed_value_away(folder, cost):
    table = csp.Table.from_microdata(
        "survey.csv", ["region", "sector"], "turnover", contributor="firm"
    )
    protected = csp.protect(table, RULES, cost=cost)
    problem = protected.problem
    patterns = {
        "safe": protected.pattern,
        "open": np.zeros(9, dtype=bool),
        "known": problem.primary,
        "one": np.arange(9) == 0,
    }
    write_jj(problem, "in.jj")
    for name, pattern in patterns.items():
        lines = [f"{i},{'x' if gone else 's'}" for i, gone in enumerate(pattern.tolist())]
        Path(f"{name}.csv").write_text("\n".join(["id,status", *lines]) + "\n")
    tight = csp.Problem.of(
        table, problem.primary, spl=10**9, publish=table.margins & ~problem.primary
    )
    write_jj(tight, "tight.jj")
    inputs = {path.name for path in folder.iterdir()}
    runs = [
        ["suppress", "in.jj", "-o", "c.csv", "--summary", "c.json"],
        ["suppress", "in.jj", "-o", "c.jj"],
        ["suppress", "in.jj", "--method", "ilp"],
        ["suppress", "tight.jj"],
        ["audit", "in.jj"],
        ["audit", "tight.jj", "known.csv"],
        *(
            ["audit", "in.jj", f"{name}.csv", *more, "-o", f"{name}-iv.csv", "--summary", "s.json"]
            for name in patterns
            for more in ([], ["--integer"])
        ),
    ]
    secrets = secrets_of(table, protected.pattern)
    for words in runs:
        assert not leaks(words, folder, inputs, secrets), words
    assert leaks(
        ["audit", "in.jj", "known.csv", "--reveal", "-o", "z.csv"], folder, inputs, secrets
    )


def test_amounts_that_tell_a_cell_are_left_out(folder):
    """A cell of 7 under a lower bound of 0 has 7 units of room below it."""
    table = csp.Table.from_array([[7, 60], [60, 61]])
    problem = csp.Problem.of(table, table.values == 7, spl=150, publish=table.margins)
    write_jj(problem, "in.jj")
    for words in (["suppress", "in.jj"], ["audit", "in.jj"]):
        result = run(*words, code=1)
        assert "150" not in result.output
        assert " 7 " not in result.output.replace("cell 0", "")


# ---- terminal, processes, doctor -----------------------------------------------------------------


def test_demo_shows_table_intervals_and_guarantee():
    result = run("demo")
    for words in ("North", "×", "at most", "Audited safe", "Proven optimum", "cellveil protect"):
        assert words in result.stdout
    table = instances.load("demo")
    assert isinstance(table, csp.Table)
    hidden = csp.protect(table, RULES).pattern
    inner = {f"{v:,}" for v in table.values[hidden].tolist() if v > 999}
    assert not [text for text in inner if text in result.stdout]


@pytest.mark.parametrize("width", [40, 60, 81, 100])
def test_tables_fit_the_terminal_or_become_lists(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("demo")
    assert "14,833" in result.stdout  # no number is broken
    assert "29,161" in result.stdout


def test_help_and_version_in_a_process(tmp_path):
    assert process("--version").stdout.startswith("cellveil ")
    for words in ([], ["protect"], ["suppress"], ["audit"], ["demo"], ["doctor"]):
        assert "Usage" in process(*words, "--help").stdout
    assert "Usage" in process(code=2).stdout + process(code=2).stderr
    assert process("protect", code=2).stderr


def test_demo_needs_no_data_frame_library(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules.update(pandas=None, polars=None, pyarrow=None)\n"
    )
    assert "Audited safe" in process("demo", path=[tmp_path]).stdout
    (tmp_path / "survey.csv").write_text(SURVEY)
    out = tmp_path / "out.parquet"
    process("protect", tmp_path / "survey.csv", *VALUE, "-o", out, path=[tmp_path])
    assert out.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_table(folder):
    import pty

    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "cellveil", "protect", "survey.csv", *VALUE],
        stdout=slave, stderr=slave, env=env,
    ) as running:  # fmt: skip
        os.close(slave)
        said = b""
        while True:
            try:
                chunk = os.read(master, 4096)
            except OSError:  # Linux's way to say that the other end is closed
                break
            if not chunk:
                break
            said += chunk
        os.close(master)
        assert running.wait(60) == 0
    text = said.decode()
    assert "×" in text
    assert "region,sector" not in text
    assert "Audited safe" in text


def test_a_broken_pipe_is_quiet(folder):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "cellveil", "protect", "survey.csv", *VALUE],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
        running.wait(60)
    assert "Traceback" not in said


def test_doctor_is_content_here():
    result = run("doctor")
    assert "All is well" in result.stdout
    assert "same proven optimum" in result.stdout
    assert "data frames: " in result.stdout
    assert {check.state for check in checks()} <= {"ok", "warning"}


def test_doctor_finds_another_csp(tmp_path):
    """Another project's csp in front of ours: everything but doctor points to doctor."""
    (tmp_path / "csp").mkdir()
    (tmp_path / "csp" / "__init__.py").write_text("__version__ = '0.19.1'\n")
    info = tmp_path / "csp-0.19.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: csp\nVersion: 0.19.1\n")
    (info / "RECORD").write_text("csp/__init__.py,,\n")
    said = process("doctor", path=[tmp_path], code=1).stdout
    assert "problem" in said
    assert "installed by csp" in said
    assert "virtual environment" in said
    assert "cellveil doctor" in process("protect", "x", *VALUE, path=[tmp_path], code=3).stderr


def test_doctor_names_a_library_for_frames_where_there_is_none(monkeypatch):
    from cellveil.cli.installation import doctor

    real = doctor.metadata.version

    def version(name):
        if name in ("pandas", "polars", "pyarrow"):
            raise doctor.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    found = [check for check in checks() if "data frames" in check.words]
    assert [check.state for check in found] == ["warning"]
    assert "pip install pandas" in found[0].words


@pytest.mark.parametrize("release", ["1.14.0", "1.16.0"])
def test_doctor_warns_of_wrong_optima(release, monkeypatch):
    from cellveil.cli.installation import doctor

    real = doctor.metadata.version
    monkeypatch.setattr(
        doctor.metadata, "version", lambda name: release if name == "highspy" else real(name)
    )
    found = [check for check in checks() if "highspy" in check.words]
    assert [check.state for check in found] == ["problem"]
    assert "wrong optima" in found[0].words
    assert f"!={release}" in found[0].words  # the newest release may be the wrong one


def no_csv(monkeypatch):
    def connect(*_, **__):
        raise OSError("no sniffing today")

    monkeypatch.setattr("duckdb.connect", connect)


def no_class_of_errors(monkeypatch):
    """As in narwhals before 1.25."""
    monkeypatch.delattr("narwhals.exceptions.NarwhalsError")


def zeros_for_gaps(monkeypatch):
    """As duckdb before 2.0 reads masked arrays."""
    monkeypatch.setattr("cellveil.io.files._array", lambda _, column: np.array([0] * len(column)))


def other_release(monkeypatch):
    import cellveil.cli.installation.file_trial as trial

    read = trial.read_release

    def unlike(path):
        release, mechanism = read(path)
        return replace(release, pattern=~release.pattern), mechanism

    monkeypatch.setattr(trial, "read_release", unlike)


@pytest.mark.parametrize(
    ("breaks", "words"),
    [
        (no_csv, "no sniffing today"),
        (no_class_of_errors, "NarwhalsError"),
        (zeros_for_gaps, "does not leave suppressed values out"),
        (other_release, "a release is not read back"),
    ],
)
def test_doctor_finds_files_that_do_not_work(breaks, words, monkeypatch):
    breaks(monkeypatch)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "There are problems" in result.stdout
    assert [check.state for check in checks() if words in check.words] == ["problem"]


def test_doctor_alone_says_that_compiled_code_is_kept_nowhere(monkeypatch):
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    found = [check for check in checks() if "compiled loops" in check.words]
    assert [check.state for check in found] == ["warning"]
    assert "NUMBA_CACHE_DIR" in found[0].words


def test_commands_compile_where_nothing_can_be_kept(tmp_path):
    """A read-only installation without a home, also for root, whom no folder refuses."""
    (tmp_path / "sitecustomize.py").write_text(
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from csp.compiled import Kernels\n"
        "choose = Kernels.choose\n"
        "Kernels.choose = lambda self, **_: choose(self, small=False)\n"
    )
    data = tmp_path / "records.csv"
    data.write_text("a,b\n" + "".join(f"{i},{i * i % 17}\n" for i in range(40)))
    done = process(
        "microdata", "microaggregate", data, "-k", "3", "--clusters", "mondrian", "-o",
        tmp_path / "out.csv", path=[tmp_path],
    )  # fmt: skip
    assert "NUMBA" not in done.stdout + done.stderr
    assert (tmp_path / "out.csv").exists()


# ---- the acceptance table ------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["P(10,1)|FREQ(3,10)", "NK(2,75)"])
def test_argus_test_data_from_both_doors(rules, tmp_path):
    data, layout = shared_data("tables", "tau_testW.asc.gz"), shared_data("tables", "Tau_TestW.rda")
    tree = shared_data("tables", "region2.hrc")
    out, facts = tmp_path / "out.csv", tmp_path / "s.json"
    run("protect", data, "--rda", layout, "--by", "Size,Region", "--value", "Var2", "--hierarchy",
        f"Region={tree}", "--rules", rules, "--cost", "value", "-o", out, "--summary", facts,
        "--intervals")  # fmt: skip
    table = csp.Table.from_microdata(read_microdata(data, layout), ["Size", "Region"], "Var2")
    protected = csp.protect(table, rules, cost="value")
    assert protected.audit.safe
    assert protected.suppression.proven
    assert protected.suppression.canonical
    summary = json.loads(facts.read_text())
    assert summary["safe"]
    assert summary["proven"]
    written = rows(out)
    assert [row["published"] == "false" for row in written] == protected.pattern.tolist()
    labels = [(row["Size"], row["Region"]) for row in written]
    assert labels == list(table.labels)

    with shared_data("tables", "Simple2D.txt").open(newline="") as file:
        theirs = {(s.strip(), r.strip()): v for s, r, v, _ in csv.reader(file)}
    compared = 0
    for row, label in zip(written, labels, strict=True):
        if row["value"] and theirs[label] != "-":
            assert Decimal(row["value"]) == Decimal(theirs[label])
            compared += 1
    assert compared > 90
    assert theirs["Total", "Total"] == "16847646.84"
    assert written[labels.index(("Total", "Total"))]["value"] == "16847646.84"
    exact = np.array([table.values[i] for i in np.flatnonzero(protected.pattern)])
    assert len(exact) > 10


# ---- how text is written -------------------------------------------------------------------------


def test_european_files(folder: Path) -> None:
    rows = "Käse;1,5\nBrot;2,25\n" * 3
    Path("eu.csv").write_bytes(f"ware;umsatz\n{rows}".encode("cp1252"))
    words = ["protect", "eu.csv", "--by", "ware", "--value", "umsatz", "--rules", "FREQ(2,10)"]
    refused = run(*words, code=2)
    assert "--encoding cp1252" in refused.stderr
    done = run(*words, "--encoding", "cp1252")
    assert "separated by semicolons, with decimal commas" in done.stderr
    assert "Total,11.25" in done.stdout
    assert "Käse,4.50" in done.stdout
    said = run(*words, "--encoding", "cp1252", "--sep", ";", "--decimal", ",")
    assert said.stdout == done.stdout
    assert "Read" not in said.stderr
    Path("na.csv").write_text("r\tv\nNA\t1\nN\t2\n")
    words = ["protect", "na.csv", "--by", "r", "--rules", "FREQ(1,10)"]
    assert "--na NA" in run(*words, code=2).stderr
    assert "NA," in run(*words, "--na", "").stdout
    assert "none," in run(*words, "--na", "NA", "--missing", "none", "--sep", "tab").stdout
    assert "--missing" in run(*words, "--na", "NA", "--missing", "N", code=2).stderr


def test_how_text_is_written_is_for_text(folder: Path) -> None:
    import duckdb

    duckdb.sql("SELECT 'N' AS r").write_parquet("a.parquet")
    words = ["--by", "r", "--rules", "FREQ(1,10)", "--sep", ";"]
    assert "is not a text file" in run("protect", "a.parquet", *words, code=2).stderr
    Path("a.asc").write_text("N1\n")
    words += ["--rda", "a.rda"]
    assert "leave out --sep" in run("protect", "a.asc", *words, code=2).stderr


def test_a_release_spares_what_is_no_release(folder: Path) -> None:
    Path("prev.csv").write_text("mine\n")
    words = ["protect", "survey.csv", *VALUE]
    refused = run(*words, "--release", "prev.json", code=2)
    assert "'prev.csv', which is there" in refused.stderr
    assert Path("prev.csv").read_text() == "mine\n"
    done = run(*words, "--release", "next.json")
    assert "next.json, next.csv" in done.stderr
    run(*words, "--release", "next.json")


def test_escapes_of_labels_stay_text(folder: Path) -> None:
    Path("esc.csv").write_text("r,v\nN\x1b[2J,1\nS,x\x1b[2J\n")
    for words in (("--by", "r\x1b[2J"), ("--by", "r", "--hierarchy", "r=none\x1b.hrc")):
        done = run("protect", "esc.csv", *words, "--rules", "FREQ(9,10)", code=2)
        assert "\x1b" not in done.stderr
        assert "\\x1b" in done.stderr


def test_doctor_looks_for_every_package_that_is_needed() -> None:
    lines = requires("cellveil") or []
    needed = {re.split(r"[<>=!~; ]", line)[0] for line in lines if "extra ==" not in line}
    assert set(MODULES) == needed


def test_help_begins_with_an_example_that_the_command_takes() -> None:
    seen = 0
    for words, command in commands().items():
        said = (
            CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).output.splitlines()
        )
        assert max(map(len, said)) <= 80
        example = next(line for line in said[:8] if line.startswith("  $ "))
        program, *rest = shlex.split(example.removeprefix("  $ "))
        assert program == "cellveil"
        assert tuple(rest[: len(words)]) == words
        # Unknown options and missing ones are errors of the parser.
        with command.make_context(words[-1], rest[len(words) :]):
            seen += 1
    assert seen > 15


def test_without_the_extras_of_the_page_commands_help_and_refuse() -> None:
    """Shiny and uvicorn come with an extra; the program answers as well without them."""
    program = "\n".join(
        (
            "import sys",
            "from importlib import util",
            "found = util.find_spec",
            "util.find_spec = lambda name, *a: None if name == 'shiny' else found(name, *a)",
            "for name in ('shiny', 'uvicorn', 'starlette'):",
            "    sys.modules[name] = None",
            "from cellveil.cli.app import app",
            "app(sys.argv[1:])",
        )
    )

    def ended(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
        )

    assert ended("app", "--help").returncode == 0
    refused = ended("app")
    assert refused.returncode == 2
    assert "pip install 'cellveil[app]'" in refused.stderr
