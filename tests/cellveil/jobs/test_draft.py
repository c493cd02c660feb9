"""cellveil inspect: what it prints, and that the job it writes runs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.jobs.job import read_job
from csp import Hierarchy, Table


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
    assert read.asked.rules == "P(15,1)"
    assert "audited safe" in run("run", job)
    assert (data.parent / "published" / "town-sector.csv").exists()


def test_the_job_does_not_depend_on_what_is_sensitive(data: Path) -> None:
    texts = []
    for rules in ("P(99,1)", "P(1,1)"):
        job = data.parent / "job.toml"
        for name in ("job.toml", "town.hrc"):
            (data.parent / name).unlink(missing_ok=True)
        run("inspect", data, "--by", "town,sector", "--value", "pay", "--job", job,
            "--rules", rules)  # fmt: skip
        texts.append(job.read_text().replace(rules, "RULES"))
    assert texts[0] == texts[1]
    assert "marked" not in texts[0]


def test_hierarchies_there_are_go_into_the_facts_and_into_the_job(data: Path) -> None:
    tree = Hierarchy.from_columns(data, ["wide land", "town"])
    (data.parent / "towns.hrc").write_text(tree.to_hrc())
    folder = data.parent / "jobs"
    folder.mkdir()
    job, facts = folder / "job.toml", folder / "facts.json"
    said = run("inspect", data, "--by", "town,sector", "--value", "pay", "--hierarchy",
               f"town={data.parent / 'towns.hrc'}", "--job", job, "--summary", facts)  # fmt: skip
    assert "can have a hierarchy" not in said
    table = Table.from_microdata(data, ["town", "sector"], "pay", hierarchies={"town": tree})
    assert json.loads(facts.read_text())["tables"][0]["cells"] == table.n_cells == 28
    told = tomllib.loads(job.read_text())
    # Seen from the job, so that the whole folder can move.
    assert told["data"]["file"] == "../survey.csv"
    assert told["hierarchies"] == {"town": "../towns.hrc"}
    assert job.read_text().startswith("# town x sector: 28 cells\n")
    (moved := data.parent / "moved").mkdir()
    for path in (data, data.parent / "towns.hrc", folder):
        path.rename(moved / path.name)
    assert "audited safe" in run("run", moved / "jobs" / "job.toml")


def test_a_hierarchy_is_one_of_a_dimension(data: Path) -> None:
    (data.parent / "t.hrc").write_text("a\nb\nc\nd\n")
    (data.parent / "u.hrc").write_text("a\nb\nc\nd\n")
    both = [f"town={data.parent / name}.hrc" for name in "tu"]
    for words, message in {
        ("--by", "sector", "--hierarchy", both[0]): "'town', which is not a dimension",
        ("--by", "town", "--hierarchy", both[0], "--hierarchy", both[1]): "'town' twice",
        ("--by", "town", "--hierarchy", "town"): "is not COLUMN=FILE",
    }.items():
        found = CliRunner().invoke(app, ["inspect", str(data), *words])
        assert found.exit_code == 2
        assert message in found.output


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


CELLS = """\
N;A;100;1;100
N;B;600;9;90
S;A;500;8;90
S;B;700;9;95
N;T;700;10;100
S;T;1200;17;95
T;A;600;9;100
T;B;1300;18;95
T;T;1900;27;100
"""
LAYOUT = """\
<SEPARATOR> ";"
r
<RECODEABLE>
<TOTCODE> "T"
s
<RECODEABLE>
<TOTCODE> "T"
v
<NUMERIC>
n
<FREQUENCY>
m
<MAXSCORE>
"""


@pytest.mark.parametrize("kind", ["csv", "tab"])
def test_cells_are_looked_at_and_the_job_runs(tmp_path: Path, kind: str) -> None:
    """N, A has one contributor and is sensitive to both rules; no other cell is."""
    data, job, facts = (tmp_path / name for name in (f"cells.{kind}", "job.toml", "facts.json"))
    given = ["--rules", "NK(1,75)", "--rules", "FREQ(3,10)"]
    if kind == "csv":
        given += [
            "--by",
            "r,s",
            "--aggregated",
            "--value",
            "v",
            "--count",
            "n",
            "--top",
            "m",
            "--total",
            "T",
        ]
    else:
        (tmp_path / "t.rda").write_text(LAYOUT)
        given += ["--rda", tmp_path / "t.rda"]
    data.write_text(("r;s;v;n;m\n" if kind == "csv" else "") + CELLS)
    run("inspect", data, *given, "--summary", facts)
    table = json.loads(facts.read_text())["tables"][0]
    assert (table["cells"], table["empty"], table["single"]) == (9, 0, 1)
    assert table["sensitive"] == {"NK(1,75)": 1, "FREQ(3,10)": 1}
    run("inspect", data, *given, "--job", job)
    assert "audited safe" in run("run", job)


def test_records_of_a_layout_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "d.rda").write_text("r 1 1\n<RECODEABLE>\nv 2 3\n<NUMERIC>\n")
    (tmp_path / "d.asc").write_text("".join(f"{r}{v:>3}\n" for r in "NS" for v in (100, 2, 3, 4)))
    said = run("inspect", tmp_path / "d.asc", "--rda", tmp_path / "d.rda", "--by", "r", "--value",
               "v", "--rules", "P(10,1)")  # fmt: skip
    # 9 - 4 of the others are left for the largest, 100: less than 10.
    assert "8 records" in said
    assert [line.split()[-1] for line in said.splitlines() if "P(10,1)" in line] == ["2"]


def test_what_is_for_protecting_needs_a_job(data: Path) -> None:
    words = ["inspect", str(data), "--by", "town", "--memory", "4GB"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 2
    assert "--memory: for 'cellveil protect'" in found.output
    run(*words, "--job", data.parent / "job.toml")
    assert tomllib.loads((data.parent / "job.toml").read_text())["data"]["memory"] == "4GB"


def test_without_dimensions_the_columns_are_described(data: Path) -> None:
    said = run("inspect", data)
    assert "48 records" in said
    rows = {line.split("  ")[0].strip(): line.split() for line in said.splitlines() if line}
    assert rows["town"][1:4] == ["4", "0", "texts"]
    assert rows["pay"][1:4] == ["48", "0", "numbers"]
    assert "as in --by town,wide land" in said
    assert "987" not in said
    for option in ("--missing", "--total", "--weight", "--shadow", "--hierarchy", "--recode"):
        refused = CliRunner().invoke(app, ["inspect", str(data), option, "pay=pay"])
        assert refused.exit_code == 2
        assert f"{option}: for a table" in refused.output
    for more in (["--rules", "P(15,1)"], ["--job", data.parent / "job.toml"]):
        refused = CliRunner().invoke(app, ["inspect", str(data), *map(str, more)])
        assert refused.exit_code == 2
        assert "--by is missing" in refused.output
