"""The commands ``cellveil attack posterior, explain, insiders, joint``, against every table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from cellveil.cli.app import app
from csp import Mechanism, MinFrequency, Table
from csp.release.release import Release
from csp.release_file import write_release
from tests.support import oracles

VALUES = np.array([[3, 12, 31], [14, 4, 40], [21, 29, 19]])
TABLE = Table.from_array(VALUES, names=["region", "size"])
MECHANISM = Mechanism(MinFrequency(5), width=10)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["attack", *map(str, words)])


def rows(found: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(found.stdout)))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = tmp_path / "r.json"
    write_release(MECHANISM.protect(TABLE).release, path, MECHANISM)
    return path


def matches() -> list[tuple[int, ...]]:
    """Tables that the mechanism publishes with this very pattern, by publishing them."""
    pattern = MECHANISM.protect(TABLE).release.pattern
    tables = oracles.integer_tables(TABLE, pattern)
    return [
        x for x in tables
        if (MECHANISM.protect(TABLE.replace(values=np.array(x))).pattern == pattern).all()
    ]  # fmt: skip


def test_posterior_counts_the_tables_that_are_published_so(release: Path) -> None:
    found = run("posterior", release, "--reveal")
    assert found.exit_code == 0, found.output
    kept = matches()
    assert len(kept) > 2
    for row in rows(found):
        cell = TABLE.position((row["region"], row["size"]))
        values = [x[cell] for x in kept]
        assert float(row["chance"]) == round(max(values.count(v) for v in values) / len(kept), 4)
        small = sum(0 < v < 5 for v in values)
        assert float(row["sensitive"]) == round(small / len(kept), 4)
        assert int(row["upper"]) - int(row["lower"]) == int(row["width"])
    shown = run("posterior", release)
    assert not {"lower", "upper", "value"} & set(rows(shown)[0])
    weighed = json.loads(run("posterior", release, "--prior", "normal:15,10", "--json").stdout)
    assert weighed["prior"] == "normal:15,10"
    assert run("posterior", release, "--prior", "normal:15").exit_code == 2


def test_explanations_name_relations_and_amounts_only_if_asked(release: Path) -> None:
    none = run("explain", release)
    assert none.exit_code == 0
    assert "disclose no suppressed cell" in none.stdout
    quiet = run("explain", release, "--cell", "1,1")
    assert "at most" not in quiet.stdout
    assert "bounded above" in quiet.stdout
    loud = run("explain", release, "--cell", "1,1", "--reveal")
    assert "at most 15" in loud.stdout
    assert run("explain", release, "--cell", "1,9").exit_code == 2
    assert "is published" in run("explain", release, "--cell", "3,3").stderr


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_cell_is_named_in_either_form(form: str, tmp_path: Path) -> None:
    table = Table.from_array([5, 7, 9], names=["r"], codes=[["Nö", "Sü", "Öst"]])
    write_release(Release.of(table, np.arange(4) < 2), tmp_path / "r.json")
    found = run("explain", tmp_path / "r.json", "--cell", normalize(form, "Nö"))
    assert found.exit_code == 0, found.stderr


def test_a_cell_alone_in_its_row_is_explained(tmp_path: Path) -> None:
    pattern = np.zeros(TABLE.n_cells, bool)
    pattern[TABLE.position(("1", "1"))] = True
    write_release(Release.of(TABLE, pattern), tmp_path / "bad.json")
    found = run("explain", tmp_path / "bad.json")
    assert found.exit_code == 1
    assert "is known" in found.stdout
    assert " 3" not in found.stdout
    assert "= 3," in run("explain", tmp_path / "bad.json", "--reveal").stdout


def test_insiders_infer_what_their_tables_leave(release: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    known.write_text("contributor,region,size,own,value\nf1,1,1,3,3\nf2,2,2,2,\n")
    found = run("insiders", release, "--knowledge", known, "--reveal")
    assert found.exit_code == 1
    pattern = MECHANISM.protect(TABLE).release.pattern
    fits = {
        "f1": lambda x: x[TABLE.position(("1", "1"))] == 3,
        "f2": lambda x: x[TABLE.position(("2", "2"))] >= 2,
    }
    seen = 0
    for row in rows(found):
        cell = TABLE.position((row["region"], row["size"]))
        values = [
            x[cell] for x in oracles.integer_tables(TABLE, pattern) if fits[row["contributor"]](x)
        ]
        assert (int(row["lower"]), int(row["upper"])) == (min(values), max(values))
        assert row["verdict"] == ("known" if min(values) == max(values) else "narrower")
        seen += row["verdict"] == "known"
    assert seen == 3
    facts = json.loads(run("insiders", release, "--knowledge", known, "--json").stdout)
    assert facts == {"contributors": 2, "contributors_who_learn_a_value": 1, "cells_known": 3,
                     "cells_narrower": 4}  # fmt: skip
    for text, message in (
        ("contributor,region,size,own\nf1,9,1,3\n", "row 1: the release has no cell (9, 1)"),
        ("contributor,region,size\nf1,1,1\n", "neither a column 'own' nor 'value'"),
    ):
        known.write_text(text)
        refused = run("insiders", release, "--knowledge", known)
        assert refused.exit_code == 2
        assert message in refused.stderr
    # A release has the decimals of its published cells; contributors may know more of their own.
    known.write_text("contributor,region,size,own\nf1,1,1,2.5\n")
    finer = run("insiders", release, "--knowledge", known, "--reveal", "-o", tmp_path / "o.csv")
    assert "units of 1 decimal places" in finer.stderr
    assert finer.exit_code in (0, 1)


def test_releases_together_disclose_what_each_suppresses(tmp_path: Path) -> None:
    paths = []
    for name, columns in (("old", "13"), ("new", "23")):
        pattern = np.zeros(TABLE.n_cells, bool)
        pattern[[TABLE.position((r, c)) for r in "12" for c in columns]] = True
        paths.append(tmp_path / f"{name}.json")
        write_release(Release.of(TABLE, pattern), paths[-1])
    found = run("joint", *paths)
    assert found.exit_code == 1
    told = {(row["region"], row["size"]): row for row in rows(found)}
    # Columns 1 and 2 are published by one release each; what is left of each row is column 3.
    assert {cell: row["verdict"] for cell, row in told.items()} == {
        (r, c): "known" if c == "3" else "published" for r in "12" for c in "123"
    }
    assert told["1", "1"]["published_in"] == "new.json"
    assert "31" not in found.stdout
    assert run("joint", paths[0]).exit_code == 2
