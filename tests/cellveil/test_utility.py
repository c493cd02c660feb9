"""The command ``cellveil microdata utility``."""

from __future__ import annotations

import csv
import json
import statistics

import numpy as np
import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app

RNG = np.random.default_rng(3)
AGE = RNG.integers(20, 70, 40).tolist()
PAY = [round(float(3 * a + RNG.normal(0, 9)), 2) for a in AGE]
MEANS = {"age": np.sort(AGE).reshape(8, 5).mean(axis=1).repeat(5).tolist()}
MEANS["pay"] = np.sort(PAY).reshape(8, 5).mean(axis=1).repeat(5).tolist()


@pytest.fixture
def files(tmp_path):
    paths = []
    for name, columns in (("original", {"age": AGE, "pay": PAY}), ("masked", MEANS)):
        path = tmp_path / f"{name}.csv"
        with path.open("w", newline="") as file:
            rows = zip(*columns.values(), ["x"] * 40, strict=True)
            csv.writer(file).writerows([[*columns, "sex"], *rows])
        paths.append(path)
    return paths


def run(*words):
    return CliRunner().invoke(app, ["microdata", "utility", *map(str, words)])


def test_with_reveal_both_files_are_shown(files, tmp_path):
    out, facts = tmp_path / "table.csv", tmp_path / "facts.json"
    result = run(*files, "--reveal", "--regress", "pay=age", "-o", out, "--summary", facts)
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        rows = {(row["column"], row["figure"]): row for row in csv.DictReader(file)}
    for name, column in (("age", AGE), ("pay", PAY)):
        for word, figure in (
            ("mean", statistics.fmean), ("sd", statistics.stdev), ("median", statistics.median)
        ):  # fmt: skip
            assert float(rows[name, word]["original"]) == pytest.approx(figure(column), rel=1e-5)
            assert float(rows[name, word]["masked"]) == pytest.approx(figure(MEANS[name]), rel=1e-5)
    told = json.loads(facts.read_text())
    (pair,) = told["correlations"]
    assert pair["original"] == pytest.approx(np.corrcoef(AGE, PAY)[0, 1])
    assert pair["masked"] == pytest.approx(np.corrcoef(MEANS["age"], MEANS["pay"])[0, 1])
    slope = np.polyfit(AGE, PAY, 1)[0]
    assert told["regressions"][1]["original"] == pytest.approx(slope)
    assert f"age {slope:.6g} to" in result.output.replace("\n", " ")
    assert "not numbers: sex" in result.output


def test_without_reveal_nothing_depends_on_the_original(files, tmp_path):
    said = []
    for factor in (1, 3):
        with files[0].open("w", newline="") as file:
            rows = [(a * factor, p + factor, "x") for a, p in zip(AGE, PAY, strict=True)]
            csv.writer(file).writerows([("age", "pay", "sex"), *rows])
        out, facts = tmp_path / f"{factor}.csv", tmp_path / f"{factor}.json"
        result = run(*files, "--regress", "pay=age", "-o", out, "--summary", facts)
        assert result.exit_code == 0, result.output
        words = result.output.partition("Wrote")[0]
        said.append((words, out.read_text(), facts.read_text()))
    assert said[0] == said[1]
    assert "--reveal" in said[0][0]
    assert f"age,mean,{statistics.fmean(MEANS['age']):.6g}" in said[0][1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--attributes", "wage"), "--attributes names 'wage', which is not among the columns of"),
        (("--regress", "pay"), "--regress takes COLUMN=COLUMNS"),
        (("--regress", "pay=wage"), "names 'wage'"),
    ],
)
def test_what_cannot_be_compared_is_refused(files, words, said):
    result = run(*files, *words)
    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ")
