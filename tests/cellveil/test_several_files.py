"""Several files protected by one command: as one by one, and one that fails costs no other."""

from __future__ import annotations

import csv
import io
import json
import signal
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import cellveil.cli.tables.several
from tests.cellveil.test_app import SURVEY, VALUE, rows, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(SURVEY)
    Path("b.tsv").write_text(SURVEY.replace("N,", "W,").replace(",", "\t"))
    Path("bad.csv").write_text(SURVEY.replace("31313", "3131x3"))
    with duckdb.connect() as connection:
        connection.execute("COPY (FROM 'a.csv') TO 'c.parquet'")
    return tmp_path


def overview(result):
    return {row["table"]: row for row in csv.DictReader(io.StringIO(result.stdout))}


@pytest.mark.parametrize("workers", [1, 2])
def test_each_is_published_as_by_itself(folder, workers):
    result = run("protect", "a.csv", "b.tsv", "c.parquet", *VALUE, "-o", "out", "--intervals",
                 "--summary", "all.json", "--workers", workers)  # fmt: skip
    assert sorted(p.name for p in Path("out").iterdir()) == ["a.csv", "b.csv", "c.parquet"]
    facts = json.loads(Path("all.json").read_text())
    for name, published in (("a.csv", "a.csv"), ("b.tsv", "b.csv"), ("c.parquet", "c.parquet")):
        alone = f"alone-{published}"
        run("protect", name, *VALUE, "-o", alone, "--intervals", "--summary", "alone.json")
        assert Path("out", published).read_bytes() == Path(alone).read_bytes()
        one = json.loads(Path("alone.json").read_text())
        assert list(facts[name]["files"].values()) == list(one["files"].values())
        drop = ("files", "seconds")
        assert [facts[name].pop(k) and one.pop(k) for k in drop]
        assert facts[name] == one
    shown = overview(result)
    assert list(shown) == ["a.csv", "b.tsv", "c.parquet"]
    assert shown["a.csv"]["cells"] == "9"
    assert shown["a.csv"]["suppressed"] == "4"
    assert "cost" not in shown["a.csv"]
    assert "Wrote 3 of 3 tables into out." in result.stderr
    run("protect", "a.csv", *VALUE, "--reveal", "-o", "true.csv")
    hidden = [row["value"] for row in rows("true.csv") if row["published"] == "false"]
    assert len(hidden) == 4
    for text in (result.output, Path("all.json").read_text(), Path("out/a.csv").read_text()):
        assert not [value for value in [*hidden, "7777777", "31313"] if value in text]


def test_one_that_fails_costs_no_other(folder):
    words = ["protect", "bad.csv", "a.csv", "none.csv", *VALUE, "-o", "out"]
    result = run(*words, "--summary", "all.json", code=2)
    assert [p.name for p in Path("out").iterdir()] == ["a.csv"]
    shown = overview(result)
    wrong = "row 2, column 'turnover': the text is not a decimal number"
    assert shown["bad.csv"]["error"].startswith(wrong)
    assert f"bad.csv: {wrong}" in result.stderr
    assert shown["none.csv"]["error"] == "there is no file 'none.csv'"
    assert not shown["a.csv"]["error"]
    facts = json.loads(Path("all.json").read_text())
    assert facts["bad.csv"] == {"error": shown["bad.csv"]["error"]}
    assert facts["a.csv"]["safe"]
    assert "3131x3" not in result.output
    run("protect", "bad.csv", "none.csv", *VALUE, "-o", "out", code=2)


def test_the_exit_code_is_the_highest_of_a_table(folder):
    alone = "region,sector,firm,turnover\nN,A,e1,5\n"
    Path("alone.csv").write_text(alone)
    words = [*VALUE, "--margins", "publish", "-o", "out"]
    result = run("protect", "a.csv", "alone.csv", *words, code=1)
    assert "alone.csv: cell" in result.stderr
    assert "cannot be protected" in result.stderr
    assert rows("out/a.csv")
    assert run("protect", "alone.csv", "a.csv", "bad.csv", *words, code=2)


def test_an_interrupt_keeps_what_is_done(folder, monkeypatch):
    def press(bar, done, wanted):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cellveil.cli.tables.several.Bar, "__call__", press)
    result = run("protect", "a.csv", "b.tsv", *VALUE, "-o", "out", code=130)
    assert [p.name for p in Path("out").iterdir()] == ["a.csv"]
    assert overview(result)["b.tsv"]["error"] == "interrupted before this table was protected"
    assert "Wrote 1 of 2 tables" in result.stderr


def test_what_is_shown_with_reveal(folder):
    result = run("protect", "a.csv", "c.parquet", *VALUE, "-o", "out", "--reveal")
    assert overview(result)["a.csv"]["primary"] == "2"
    assert overview(result)["a.csv"]["cost"] == "2"
    assert "7809090" in Path("out/a.csv").read_text()
    assert pd.read_parquet("out/c.parquet")["value"].notna().all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x/a.csv", "-o", "out"], "'x/a.csv' would both be published as 'out/a.csv'; rename one"),
        (["a.txt", "-o", "out"], "'a.csv' and 'a.txt' would both be published as 'out/a.csv'"),
        (["c.parquet"], "published in a folder; name one with -o"),
        (["c.parquet", "-o", "out.csv"], "published in a folder; name one with -o"),
        (["c.parquet", "-o", "bad.csv"], "published in a folder; name one with -o"),
        (["c.parquet", "-o", "."], "'a.csv' would overwrite a file that is read"),
        (["c.parquet", "-o", "out", "--keep", "r.json"], "--keep: for one table only"),
        (["c.parquet", "-o", "out", "--jj", "p.jj", "--reveal"], "--jj: for one table only"),
        (["c.parquet", "-o", "out", "--release", "r.json"], "--release: for one table only"),
        (["c.parquet", "-o", "out", "--summary", "s.csv"], "--summary 's.csv' must end with .json"),
        (["c.parquet", "-o", "a.csv/out"], "cannot make the folder 'a.csv/out'"),
    ],
)
def test_what_is_refused(folder, words, message):
    result = run("protect", "a.csv", *words, *VALUE, code=2)
    assert message in result.stderr
    assert not result.stdout
    assert not list(folder.glob("out/*"))


def test_workers_do_not_change_a_single_table(folder):
    one = run("protect", "a.csv", *VALUE)
    assert run("protect", "a.csv", *VALUE, "--workers", 2).stdout == one.stdout
    run("protect", "a.csv", *VALUE, "--workers", 0, code=2)
