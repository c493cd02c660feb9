"""The command ``cellveil attack matching``: real runs, files, values only when asked for."""

from __future__ import annotations

import csv
import io
import json
import signal
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from attacks.algorithm_known.matching_attack import matching
from attacks.algorithm_known.network_search import NetworkSearch
from cellveil.cli.app import app
from csp import Mechanism, MinFrequency, Table
from csp.release_file import read_release, write_release

MECHANISM = Mechanism(MinFrequency(5, zero_sensitive=True), width=8, margins="publish")

# Counts such that an attack leaves some cells safe, and some not.
INNER = [[4, 21, 16, 23], [3, 14, 11, 14], [31, 33, 12, 13], [23, 17, 15, 2]]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def release(tmp_path: Path) -> Path:
    protected = MECHANISM.protect(Table.from_array(INNER))
    return write_release(protected.release, tmp_path / "release.json", MECHANISM)[0]


def test_the_table_shows_widths_and_verdicts_but_no_value(release: Path, tmp_path: Path) -> None:
    given, known = read_release(release)
    assert known is not None
    found = matching(given, known)
    result = run("attack", "matching", release, "--summary", tmp_path / "s.json")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["verdict"] for row in rows] == found.verdict.tolist()
    assert [int(row["width"]) for row in rows] == found.width.tolist()
    assert set(rows[0]) == {
        "d1", "d2", "feasible", "width", "primary", "verdict",
    }  # fmt: skip
    assert result.exit_code == (0 if (found.verdict == "proved safe").all() else 1)
    facts = json.loads((tmp_path / "s.json").read_text())
    assert facts["suppressed"] == len(rows)
    assert facts["proved safe"] + facts["proved unsafe"] + facts["undecided"] == len(rows)
    assert "suppressed cells" in result.stderr


def test_values_show_when_asked_for(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.parquet"
    result = run("attack", "matching", release, "--method", "values", "--reveal", "-o", out)
    assert result.exit_code in (0, 1)
    rows = duckdb.sql(f"select * from '{out}'").fetchdf()
    given, known = read_release(release)
    assert known is not None
    found = matching(given, known, method="values")
    assert found.values is not None
    assert rows["lower"].astype(int).tolist() == found.lower.tolist()
    for text, values in zip(rows["values"], found.values, strict=True):
        told = []
        for run_of_values in text.split():
            ends = [int(end) for end in run_of_values.split("..")]
            told += range(ends[0], ends[-1] + 1)
        assert told == values.tolist()


def test_an_interrupted_attack_shows_what_it_had_found(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetworkSearch, "step", lambda _: signal.raise_signal(signal.SIGINT))
    result = run("attack", "matching", release)
    assert result.exit_code == 130
    assert "The attack was interrupted" in result.stderr
    assert {row["verdict"] for row in csv.DictReader(io.StringIO(result.stdout))} == {"undecided"}


def test_a_mechanism_of_ones_own(release: Path, tmp_path: Path) -> None:
    facts = json.loads(release.read_text())
    told = facts.pop("mechanism")
    release.write_text(json.dumps(facts))
    result = run("attack", "matching", release)
    assert result.exit_code == 2
    assert "give --mechanism FILE" in result.stderr
    known = tmp_path / "mechanism.json"
    known.write_text(json.dumps(told))
    assert run("attack", "matching", release, "--mechanism", known).exit_code in (0, 1)
    known.write_text("[]")
    assert run("attack", "matching", release, "--mechanism", known).exit_code == 2
    known.write_text("{")
    assert "not JSON" in run("attack", "matching", release, "--mechanism", known).stderr
    known.write_text(json.dumps({**told, "rules": "FREQ(30)"}))
    wrong = run("attack", "matching", release, "--mechanism", known)
    assert wrong.exit_code == 2
    assert "cannot have produced the release" in wrong.stderr.replace("\n", " ")


def test_whether_a_list_holds_counts_is_asked_where_a_rule_depends_on_it(
    release: Path, tmp_path: Path
) -> None:
    known = tmp_path / "mechanism.json"
    known.write_text(json.dumps(json.loads(release.read_text())["mechanism"]))
    alone = tmp_path / "list.csv"
    alone.write_bytes(release.with_suffix(".csv").read_bytes())
    told = ("attack", "matching", alone, "--mechanism", known)
    asked = run(*told)
    assert asked.exit_code == 2
    assert "--cells counts" in asked.stderr
    assert run(*told, "--cells", "values").exit_code == 2
    found = run(*told, "--cells", "counts")
    assert found.stdout == run("attack", "matching", release).stdout
    sums = run("attack", "report", alone, "--mechanism", known)
    assert "whether they are sensitive is seen where" in sums.stdout + sums.stderr


def test_a_file_of_an_earlier_build_is_told_what_its_cells_are(release: Path) -> None:
    facts = json.loads(release.read_text())
    known = run("attack", "matching", release).stdout
    wrong = run("attack", "matching", release, "--cells", "values")
    assert wrong.exit_code == 2
    assert "says that its cells are something else" in wrong.stderr
    del facts["of_counts"]
    release.write_text(json.dumps(facts))
    assert "--cells counts" in run("attack", "matching", release).stderr
    assert run("attack", "matching", release, "--cells", "counts").stdout == known


def test_protect_writes_what_attack_reads(tmp_path: Path) -> None:
    rows = ["row,column"]
    for r, line in enumerate(INNER):
        for c, count in enumerate(line):
            rows += [f"{r},{c}"] * count
    data = tmp_path / "records.csv"
    data.write_text("\n".join(rows) + "\n")
    path = tmp_path / "public.json"
    options = ("--by", "row,column", "--rules", "FREQ(5,zero=1)", "--width", 8)
    made = run("protect", data, *options, "--margins", "publish", "--release", path)
    assert made.exit_code == 0, made.stderr
    assert run("attack", "matching", path).exit_code in (0, 1)
    secret = {str(v) for v in np.array(INNER).ravel().tolist() if v > 20}
    given, _ = read_release(path)
    published = {str(v) for v in given.published.tolist()}
    assert secret - published
    text = path.with_suffix(".csv").read_text()
    cells = {row["value"] for row in csv.DictReader(io.StringIO(text))}
    assert not (secret - published) & cells
