"""The page of a masked file, and the command that writes it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app

RNG = np.random.default_rng(9)
AGE = RNG.integers(20, 70, 40)
COLUMNS = {
    "nr": np.repeat(np.arange(20), 2).tolist(),
    "age": AGE.tolist(),
    "pay": (2 * AGE + RNG.integers(0, 9, 40)).tolist(),
    "<b>ill": RNG.choice(["yes", "no"], 40).tolist(),
    "town": RNG.choice(["x", "y"], 40, p=[0.9, 0.1]).tolist(),
}
ORDER = np.argsort(AGE, kind="stable")
MEANS = {name: np.empty(40) for name in ("age", "pay")}
for rows in np.split(ORDER, 8):
    for name, column in MEANS.items():
        column[rows] = np.mean(np.array(COLUMNS[name])[rows])
MASKED = {**{n: c.tolist() for n, c in MEANS.items()}, "<b>ill": COLUMNS["<b>ill"],
          "town": COLUMNS["town"]}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    paths = []
    for name, columns in (("people", COLUMNS), ("masked", MASKED)):
        path = tmp_path / f"{name}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
        paths.append(path)
    return paths


def run(*words):
    return CliRunner().invoke(app, ["microdata", "report", *map(str, words)])


WORDS = ("--quasi-identifiers", "age,pay", "--confidential", "<b>ill", "--contributor", "nr")


def test_the_page_says_what_the_rows_say(files, tmp_path):
    page = tmp_path / "page.html"
    found = run(*files, *WORDS, "-k", 2, "-o", page, "--reveal")
    assert found.exit_code == 0, found.output
    facts = json.loads(page.with_suffix(".json").read_text())
    classes = [np.flatnonzero(MEANS["age"] == mean) for mean in set(MEANS["age"].tolist())]
    persons = [len({COLUMNS["nr"][i] for i in rows}) for rows in classes]
    assert facts["anonymity"]["k"] == min(persons)
    sizes = Counter(map(len, classes))
    assert facts["class_sizes"] == {str(size): count for size, count in sizes.items()}
    known = {
        name: sum(len(r) for r in classes if len({COLUMNS[name][i] for i in r}) == 1)
        for name in ("<b>ill", "town")
    }
    text = page.read_text()
    shown = dict(re.findall(r'<th scope="row">([^<]*)</th><td class="number">([^<]*)</td>', text))
    assert shown["town (kept)"] == str(known["town"])
    assert f"town of {known['town']}" in found.output.replace("\n", " ")
    assert f"{np.mean(COLUMNS['pay']):.5g}" in text
    assert f"{np.corrcoef(COLUMNS['age'], COLUMNS['pay'])[0, 1]:.5g}" in text
    assert "are expected to be right" in text
    assert "Internal." in text
    assert "<b>ill" not in text  # names of columns are text
    assert "&lt;b&gt;ill" in text
    assert run(*files, *WORDS, "-k", 6, "-o", page).exit_code == 1


def test_without_reveal_the_page_is_that_of_the_masked_file(files):
    page, said = files[1].with_name("masked.report.html"), []
    for factor in (1, 2):
        with files[0].open("w", newline="") as file:
            changed = {**COLUMNS, "pay": [factor * p + 1 for p in COLUMNS["pay"]]}
            csv.writer(file).writerows([list(changed), *zip(*changed.values(), strict=True)])
        found = run(*files, *WORDS)
        assert found.exit_code == 0, found.output
        said.append((found.output, page.read_text(), page.with_suffix(".json").read_text()))
    assert said[0] == said[1]
    assert "Internal." not in said[0][1]
    assert "linkage" not in json.loads(said[0][2])


def test_what_cannot_be_reported_is_refused(files, tmp_path):
    for words, said in (
        (("--quasi-identifiers", "wage"), "'wage'"),
        (("-o", tmp_path / "page.txt"), ".html"),
        (("-k", 0), "-k must be a whole number"),
        (("--contributor", "who"), "'who'"),
    ):
        found = run(*files, *words)
        assert found.exit_code == 2, words
        assert said in found.output.replace("\n", " ")
