"""Strata, missing values and kept columns of ``cellveil microdata microaggregate``."""

from __future__ import annotations

import csv
import json
from collections import defaultdict

import numpy as np
import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app

RNG = np.random.default_rng(7)
WHO = np.repeat(np.arange(60), 4)
ROWS = [
    {
        "nr": str(who),
        "ethn": "b" if who < 3 else "h" if who < 25 else "o",
        "area": "nsw"[int(RNG.integers(3))],
        "union": "yes" if RNG.random() < 0.05 else "no",
        "school": "" if i in (5, 77) else str(8 + who % 9),
        "wage": f"{RNG.lognormal(2, 0.4):.2f}",
    }
    for i, who in enumerate(WHO.tolist())
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "panel.csv"
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(ROWS[0]))
        out.writeheader()
        out.writerows(ROWS)
    return path


def run(*words):
    return CliRunner().invoke(app, ["microdata", "microaggregate", *map(str, words)])


@pytest.mark.parametrize(("missing", "lost"), [("drop", {5, 77}), ("own", set())])
def test_one_command_gives_k_persons_with_mixed_keys(data, tmp_path, missing, lost):
    out, page, facts = (tmp_path / name for name in ("masked.csv", "page.html", "facts.json"))
    result = run(
        data, "-k", 5, "--attributes", "school,wage", "--within", "ethn,area", "--keep", "union",
        "--contributor", "nr", "--missing", missing, "-o", out, "--report", page,
        "--summary", facts,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    given = [row for i, row in enumerate(ROWS) if i not in lost]
    assert list(rows[0]) == ["school", "wage", "ethn", "area", "union"]
    assert [row["union"] for row in rows] == [row["union"] for row in given]
    persons, unions = defaultdict(set), defaultdict(list)
    for before, row in zip(given, rows, strict=True):
        key = tuple(row[name] for name in ("school", "wage", "ethn", "area"))
        persons[key].add(before["nr"])
        unions[key].append(row["union"])
        assert before["ethn"] in row["ethn"].split("|")
        assert before["area"] in row["area"].split("|")
        assert before["school"] or not row["school"]
    assert min(map(len, persons.values())) >= 5
    assert any("|" in row["ethn"] for row in rows)  # b has three persons
    told = json.loads(facts.read_text())
    assert told["within"] == ["ethn", "area"]
    assert told.get("lacking_records", 0) == len(lost)
    assert ("2 records left out" in result.output) == bool(lost)
    known = sum(len(group) for group in unions.values() if len(set(group)) == 1)
    assert told["kept"] == {"union": known}
    assert f"union of {known}" in result.output.replace("\n", " ")
    shown, page_facts = page.read_text(), json.loads(page.with_suffix(".json").read_text())
    assert page_facts["kept"] == told["kept"]
    assert page_facts["notes"] == told["notes"]
    assert "Which columns stand beside the means" in shown
    assert f'<th scope="row">union</th><td class="number">{known}</td>' in shown
    assert "strata of equal ethn, area" in shown
    assert told["notes"][0] in shown.replace("&#x27;", "'")


def test_missing_values_are_refused_by_default(data):
    result = run(data, "-k", 5, "--attributes", "school,wage", "--contributor", "nr")
    assert result.exit_code == 2
    assert "column 'school'" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--within", "ethn", "--rules", "P(10)", "--comply", "merge"), "take --comply suppress"),
        (("--within", "ethn", "--rules", "P(10)", "--comply", "suppress", "--most", "9"), "--most"),
        (("--missing", "own", "--rules", "P(10)"), "take --missing drop"),
        (("--within", "etn"), "--within: there is no column 'etn'"),
        (("--within", "wage"), "--within names 'wage' and --attributes too"),
        (("--within", "nr", "--contributor", "nr"), "--within names 'nr' and --contributor too"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(data, words, said):
    result = run(data, "-k", 5, "--attributes", "school,wage", *words)
    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ")


def test_suppressed_means_keep_their_strata(data, tmp_path):
    out = tmp_path / "masked.csv"
    result = run(
        data, "-k", 5, "--attributes", "wage", "--within", "ethn", "--rules", "P(10)", "--comply",
        "suppress", "--contributor", "nr", "--missing", "drop", "-o", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for before, row in zip(ROWS, rows, strict=True):
        assert before["ethn"] in row["ethn"].split("|")


def test_columns_of_codes_are_kept_out_of_the_attributes(data, tmp_path):
    out = tmp_path / "masked.csv"
    result = run(
        data, "-k", 5, "--within", "ethn,area", "--keep", "union,ethn", "--contributor", "nr",
        "--missing", "drop", "-o", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    with out.open(newline="") as file:
        assert next(csv.reader(file)) == ["school", "wage", "ethn", "area", "union"]


@pytest.mark.parametrize(
    ("aggregate", "words"), [("median", "weighted median"), ("mean", "weighted mean")]
)
def test_weights_and_medians(data, tmp_path, aggregate, words):
    out, page = tmp_path / "masked.csv", tmp_path / "page.html"
    result = run(
        data, "-k", 5, "--attributes", "wage", "--within", "ethn", "--weight", "nr", "--aggregate",
        aggregate, "-o", out, "--report", page, "--reveal",
    )  # fmt: skip
    assert result.exit_code == 2  # the first number is 0
    assert "a weight must be above 0" in result.output
    data.write_text(data.read_text().replace("\n0,", "\n60,"))
    result = run(
        data, "-k", 5, "--attributes", "wage", "--within", "ethn", "--weight", "nr", "--aggregate",
        aggregate, "-o", out, "--report", page, "--reveal",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert f"published of a cluster is the {words}." in result.output.replace("\n", " ")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    groups, lost = defaultdict(list), 0.0
    wages = np.array([float(row["wage"]) for row in ROWS])
    for before, row in zip(ROWS, rows, strict=True):
        weight = int(before["nr"]) or 60
        groups[row["wage"], row["ethn"]] += [float(before["wage"])] * weight
        lost += (float(before["wage"]) - float(row["wage"])) ** 2
    for (shown, _), repeated in groups.items():
        figure = np.median(repeated) if aggregate == "median" else np.mean(repeated)
        assert float(shown) == pytest.approx(figure)
    facts = json.loads(page.with_suffix(".json").read_text())
    assert facts["aggregate"] == words
    assert facts["loss_by_attribute"]["wage"] == pytest.approx(100 * lost / len(ROWS) / wages.var())
    refused = run(data, "-k", 5, "--weight", "nr", "--rules", "P(10)", "--attributes", "wage")
    assert "--rules judge plain means; leave --weight out" in refused.output.replace("\n", " ")
