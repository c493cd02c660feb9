"""cellveil inspect: what it prints, and that the job it writes runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.jobs.job import read_job
from csp import Hierarchy


@pytest.fixture
def data(tmp_path: Path) -> Path:
    land = {"a": "North", "b": "North", "c": "South", "d": "South"}
    rows = [
        f"{town},{land[town]},{sector},{98700 + i}"
        for i, (town, sector) in enumerate([(t, s) for t in land for s in "xyz"] * 4)
    ]
    path = tmp_path / "survey.csv"
    path.write_text("town,wide land,sector,pay\n" + "\n".join(rows) + "\n")
    return path


def run(*words: object) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.output


def test_the_job_runs_as_it_stands(data: Path) -> None:
    job = data.parent / "job.toml"
    said = run("inspect", data, "--by", "town,sector", "--by", "sector", "--value", "pay",
               "--job", job, "--rules", "P(15,1)")  # fmt: skip
    assert "987" not in said
    assert "sensitive by P(15,1)" in said
    assert "town can have a hierarchy of the columns wide land, town" in said
    tree = Hierarchy.from_hrc(data.parent / "town.hrc")
    assert tree == Hierarchy.from_columns(data, ["wide land", "town"])
    read = read_job(job)
    assert [table.source.by for table in read.tables] == [("town", "sector"), ("sector",)]
    assert read.rules["sensitive"] == "P(15,1)"
    assert "audited safe" in run("run", job)
    assert (data.parent / "published" / "town-sector.csv").exists()


def test_names_of_columns_stay_within_a_comment(data: Path) -> None:
    strange = data.parent / "strange.csv"
    strange.write_text('"a\n[evil]",pay\nx,1\ny,2\n')
    job = data.parent / "job.toml"
    run("inspect", strange, "--by", "a\n[evil]", "--value", "pay", "--job", job)
    text = job.read_text()
    assert text.startswith("# a [evil]: ")
    assert tomllib.loads(text)["table"] == [{"by": ["a\n[evil]"]}]


def test_nothing_is_overwritten(data: Path) -> None:
    job = data.parent / "job.toml"
    (data.parent / "town.hrc").write_text("mine")
    ask = ["inspect", str(data), "--by", "town", "--job", str(job)]
    facts = data.parent / "facts.json"
    assert CliRunner().invoke(app, [*ask, "--summary", str(facts)]).exit_code == 2
    assert not job.exists()
    assert not facts.exists()
    (data.parent / "town.hrc").unlink()
    run(*ask)
    assert CliRunner().invoke(app, ask).exit_code == 2
    assert CliRunner().invoke(app, [*ask[:-1], "job.txt"]).exit_code == 2
