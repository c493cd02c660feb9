"""The commands of ``python -m studies``: files, runs that go on, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from studies.command import app
from studies.matching.page import page
from studies.matching.trials import run_trials, timing
from studies.publishing.trials import load_publishing_trials
from tests.support.shared import ROOT

COUNTS = "row,column,count\n" + "\n".join(
    f"{r},{c},{v}"
    for r, line in zip("abc", ([3, 20, 30], [20, 25, 40], [21, 29, 19]), strict=True)
    for c, v in zip("xyz", line, strict=True)
)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def run_words(*words: str) -> Result:
    return run(*(word for part in words for word in part.split()))


def test_studies_have_a_program_of_their_own() -> None:
    root = ROOT
    done = subprocess.run(
        [sys.executable, "-m", "studies", "publishing", "--list"],
        capture_output=True, text=True, check=True, timeout=120, cwd=root,
    )  # fmt: skip
    assert "decoys:RATE: " in done.stdout
    for name in ("matching", "publishing", "disclosure", "swapping", "timings"):
        assert name in run("--help").stdout


def test_experiments_write_every_file_and_go_on(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    words = ("matching", "-o", out, "--sides", "4", "--scenarios", "plain,positive",
             "--timings", 1)  # fmt: skip
    first = run(*words, "--tables", 4)
    assert first.exit_code == 0, first.stderr
    for name in (
        "trials.jsonl", "tables.csv", "tables.parquet", "tables.json", "cells.csv",
        "cells.parquet", "cells.json", "evaluation.md", "figure-6.png", "figure-7.png",
        "figure-8.png",
    ):  # fmt: skip
        assert (out / name).stat().st_size > 0
    lines = (out / "trials.jsonl").read_text().splitlines()
    assert len(lines) == 8
    assert run(*words, "--tables", 5).exit_code == 0
    assert (out / "trials.jsonl").read_text().splitlines()[:8] == lines
    assert len(duckdb.sql(f"select * from '{out / 'tables.parquet'}'").fetchall()) == 10
    text = (out / "evaluation.md").read_text()
    assert "--tables 5 --seed 0 --scenarios plain,positive" in text
    small = run(
        "matching", "-o", tmp_path / "small", "--sides", "2", "--scenarios", "plain",
        "--tables", 1, "--timings", 1,
    )  # fmt: skip
    assert small.exit_code == 0, small.stderr
    listed = run("matching", "--list")
    assert "lift-strict-values: lift; sensitive 1 to 4; wider than 8" in listed.stdout


def test_experiments_with_wrong_options(tmp_path: Path) -> None:
    words = ("matching", "-o", tmp_path / "out", "--no-plots")
    for sides in ("3,x", "\u0663", "3,\u00b2", "1_0", "9" * 5000):
        for command in (words, ("publishing", *words[1:])):
            refused = run(*command, "--sides", sides)
            assert refused.exit_code == 2
            assert "must be whole numbers" in refused.stderr.replace("\n", " ")
    assert run(*words, "--scenarios", "none").exit_code == 2
    assert run(*words, "--sides", "1").exit_code == 2


def test_a_page_of_very_few_trials_has_no_holes(tmp_path: Path) -> None:
    trials = run_trials(tmp_path / "t.jsonl", scenarios=["clip"], sides=[2], tables=1)
    text = page(trials, timings=[timing(2, 0, 0), timing(3, 0, 0)], command="x", figures=[])
    assert "| clip |" in text
    assert "nan" not in text


def test_comparison_goes_on_and_writes_its_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path
    (folder / "counts.csv").write_text(COUNTS)
    words = "publishing -o d --sides 3,4 --tables 2 --rules plain,decoys:0.1 --series 1 --no-plots"
    first = run_words(words, "--posterior-up-to 3")
    assert first.exit_code == 0, first.output
    store = folder / "d" / "trials.jsonl"
    before = store.read_text()
    trials = load_publishing_trials(store)
    assert len(trials) == 8
    assert {t.group for t in trials} == {"plain 9", "plain 16"}
    assert all(c.with_rule is None for t in trials if t.group == "plain 16" for c in t.cells)
    # The last trial was cut off while it was written: it is run again, to the same end.
    store.write_text(before[:-40])
    real = "--table counts.csv --by row,column --value count --threshold 5"
    again = run_words(words, "--posterior-up-to 3", real)
    assert again.exit_code == 0, again.output
    same = [(t.rule, t.table, t.coin) for t in load_publishing_trials(store)]
    assert same == [(t.rule, t.table, t.coin) for t in trials]
    page = (folder / "d" / "defences.md").read_text()
    assert "### counts" in page
    assert "Releases that are combined" in page
    assert "nan" not in page
    none = run_words(words, "--posterior-up-to 3", real.replace("5", "3"))
    assert none.exit_code == 0
    page = (folder / "d" / "defences.md").read_text()
    assert "without primary cells" in page
    assert "nan" not in page
    decoys = [t for t in trials if t.rule == "decoys:0.1"]
    assert all(c.support == c.feasible >= 8 for t in decoys for c in t.cells)
    assert run_words("publishing -o e --rules guess").exit_code == 2
    assert (
        run_words("publishing -o e --table counts.csv --tables 1 --sides 3 --series 0").exit_code
        == 2
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("disclosure", "uci_iris.csv"),
        ("compliance", "uci_iris.csv"),
        ("aggregates", "uci_ipums_la_income7.csv.gz"),
        ("swapping", "sdcMicro_EIA.csv"),
    ],
)
def test_studies_name_the_files_they_miss(tmp_path, name, file):
    words = [name, "--data", str(tmp_path), "-o", str(tmp_path / "out")]
    result = run(*words)
    assert result.exit_code == 2
    assert file in result.output
    assert not (tmp_path / "out").exists()
