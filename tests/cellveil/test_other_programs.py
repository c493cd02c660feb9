"""Files of other programs, through the front door: commands and jobs read and write them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.inputs import read_table
from cellveil.jobs.job import read_job
from cellveil.jobs.run import run_job
from cellveil.requests.source import Source
from csp import InputError

SURVEY = ["--by", "region,sector", "--value", "pay", "--contributor", "firm"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder with records, a hierarchy and a-priori information."""
    cells = [(r, s, z) for r in ("N1", "N2", "S") for s in "ABC" for z in ("big", "small")] * 3
    rows = [f"{r},{s},{z},f{i},{7 * i % 90 + 1}" for i, (r, s, z) in enumerate(cells)]
    rows += ["N1,A,big,x,4000", "S,B,small,y,3000"]
    (tmp_path / "survey.csv").write_text("region,sector,size,firm,pay\n" + "\n".join(rows) + "\n")
    (tmp_path / "region.hrc").write_text("North\n@N1\n@N2\nS\n")
    (tmp_path / "cells.hst").write_text("N2,B,u\n,C,p\nN2,A,c,50\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.output


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_priori_information_in_commands_and_jobs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ["--rules", "NK(1,75)|MAN(10)", "--hierarchy", "region=region.hrc"]
    call("protect", "survey.csv", *SURVEY, *rules, "--apriori", "cells.hst", "-o", "one.csv")
    status = {(row["region"], row["sector"]): row["status"] for row in rows_of(folder / "one.csv")}
    assert status["N2", "B"] == "x"
    assert status["Total", "C"] == "z"
    (folder / "more.hst").write_text((folder / "cells.hst").read_text() + "X,A,u\n")
    job = folder / "job.toml"
    job.write_text(
        '[data]\nfile = "survey.csv"\nvalue = "pay"\ncontributor = "firm"\n'
        'apriori_unknown = "skip"\n'
        '[hierarchies]\nregion = "region.hrc"\n'
        '[[table]]\nby = ["region", "sector"]\napriori = "more.hst"\n'
        '[[table]]\nby = ["size", "region"]\n'
        '[rules]\nsensitive = "NK(1,75)|MAN(10)"\n'
    )
    (done,) = run_job(read_job(job))
    said = " ".join(capsys.readouterr().err.split())
    assert "1 of 4 lines are passed over" in said
    assert "the first is u of (region=X, sector=A)" in said
    problem = done.protected.problem
    at = {label: i for i, label in enumerate(problem.table.labels)}
    names = problem.table.names
    label = {"region": "N2", "sector": "B", "size": "Total"}
    assert problem.status[at[tuple(label[n] for n in names)]] == "u"
    label = {"region": "N2", "sector": "A", "size": "Total"}
    assert problem.cost[at[tuple(label[n] for n in names)]] == 50
    job.write_text(job.read_text().replace('apriori_unknown = "skip"\n', ""))
    with pytest.raises(Exception, match=r"more.hst, line 4: no cell"):
        run_job(read_job(job))


def test_a_table_of_tau_argus_with_its_statuses(folder: Path) -> None:
    (folder / "t.rda").write_text(
        '<SEPARATOR> ";"\n<SAFE> "s"\n<UNSAFE> "u"\n<PROTECT> "p"\nA\n <RECODABLE>\n'
        "B\n <RECODABLE>\nv\n <NUMERIC>\nn\n <FREQUENCY>\nst\n <STATUS>\n"
    )
    cells = {(a, b): (a + 2) * (b + 3) * 10 for a in range(3) for b in range(3)}
    lines = [
        f"{a};{b};{v};9;{'u' if (a, b) == (1, 1) else 'p' if (a, b) == (2, 2) else 's'}"
        for (a, b), v in cells.items()
    ]
    lines += [f"{a};;{sum(cells[a, b] for b in range(3))};9;s" for a in range(3)]
    lines += [f";{b};{sum(cells[a, b] for a in range(3))};9;s" for b in range(3)]
    lines += [f"Total;Total;{sum(cells.values())};9;s"]
    (folder / "t.tab").write_text("\n".join(lines) + "\n")
    call("protect", "t.tab", "--rda", "t.rda", "--rules", "MAN(10)", "-o", "out.csv")
    status = {(row["A"], row["B"]): row["status"] for row in rows_of(folder / "out.csv")}
    assert status["1", "1"] == "x"
    assert status["2", "2"] == "z"
    assert sum(letter == "x" for letter in status.values()) == 4
    (folder / "u.tab").write_text((folder / "t.tab").read_text().replace("Total;Total", ";All"))
    words = ["--rda", "t.rda", "--rules", "MAN(10)", "--total", "All", "-o", "all.csv"]
    call("protect", "u.tab", *words)
    text = (folder / "out.csv").read_text()
    assert (folder / "all.csv").read_text() == text.replace("Total", "All")
    (folder / "job.toml").write_text(
        '[data]\nfile = "t.tab"\nlayout = "t.rda"\n[[table]]\nby = ["B", "A"]\n'
        '[rules]\nsensitive = "MAN(10)"\n'
    )
    (done,) = run_job(read_job(folder / "job.toml"))
    assert done.protected.problem.table.names == ("B", "A")
    assert int(done.protected.pattern.sum()) == 4


def test_aggregates_that_overlap_are_protected_as_one(folder: Path) -> None:
    (folder / "other.hrc").write_text("Coast\n@N2\n@S\nN1\n")
    (folder / "job.toml").write_text(
        '[data]\nfile = "survey.csv"\nvalue = "pay"\ncontributor = "firm"\n'
        '[hierarchies]\nregion = ["region.hrc", "other.hrc"]\n'
        '[[table]]\nby = ["sector", "region"]\n[rules]\nsensitive = "NK(1,75)|FREQ(3,10)"\n'
    )
    (done,) = run_job(read_job(folder / "job.toml"))
    table = done.protected.table
    assert table.names == ("sector", "region")
    at = {label: int(table.values[i]) for i, label in enumerate(table.labels)}
    for sector in ("A", "B", "C", "Total"):
        one, two, three = (at[sector, region] for region in ("N1", "N2", "S"))
        assert at[sector, "North"] == one + two
        assert at[sector, "Coast"] == two + three
        assert at[sector, "Total"] == one + two + three
    assert len(at) == 4 * 6
    assert table.relations.shape[0] == 6 + 4 * 4
    words = ["--by", "sector,region", "--value", "pay", "--contributor", "firm", "-o", "one.csv"]
    words += ["--hierarchy", "region=region.hrc", "--hierarchy", "region=other.hrc"]
    call("protect", "survey.csv", *words, "--rules", "NK(1,75)|FREQ(3,10)")
    published = folder / "published" / "sector-region.csv"
    assert (folder / "one.csv").read_bytes() == published.read_bytes()
    (folder / "t.csv").write_text("a,v\nN1,1\n")
    with pytest.raises(InputError, match="need the records, not cells"):
        read_table(Source(folder / "t.csv", ("a",), "v", hierarchy=("a=region.hrc", "a=other.hrc"),
                          aggregated=True))  # fmt: skip
