"""Pages reproduced: what differs is shown, times are left aside, and missing files are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from studies.claims.rerun import StudyPage, differences, made_again, study_pages
from studies.command import app
from tests.support.shared import ROOT

QUICK = "parameters --series 1 --releases 1 --side 3 --seed 0"


def test_pages_name_the_commands_that_make_them() -> None:
    found = {one.path.name: one.words[0] for one in study_pages(ROOT / "docs")}
    assert found == {
        "aggregates-study.md": "aggregates",
        "compliance-study.md": "compliance",
        "defence-study.md": "publishing",
        "disclosure-study.md": "disclosure",
        "matching-experiments.md": "matching",
        "microaggregation-timings.md": "timings",
        "secret-parameters.md": "parameters",
        "swapping-study.md": "swapping",
    }


def test_what_changed_on_a_page_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "small.md"
    page.write_text(made_again(StudyPage(page, tuple(QUICK.split())), None), encoding="utf-8")
    words = ["check", "--pages", "parameters", "--docs", str(tmp_path)]
    old = page.read_text(encoding="utf-8")
    row = next(line for line in old.splitlines() if line.startswith("| 1 |"))
    new = old.replace(row, row.replace("| 1 |", "| 7 |"))
    # The command gives the same page every time, and so not this one.
    assert differences(old, new) == [f"-{row}", f"+{row.replace('| 1 |', '| 7 |')}"]
    page.write_text(new, encoding="utf-8")
    other = CliRunner().invoke(app, words)
    assert other.exit_code == 1
    assert "small.md: 2 lines differ" in other.output
    assert row in other.output.replace("\n", "")
    unknown = CliRunner().invoke(app, ["check", "--pages", "swapping", "--docs", str(tmp_path)])
    assert unknown.exit_code == 2
    assert "made by a study 'swapping'; there are parameters" in " ".join(unknown.output.split())


def test_commands_without_their_files_are_not_run(tmp_path: Path) -> None:
    plain = StudyPage(tmp_path, ("timings", "--data", "FOLDER"))
    tables = StudyPage(tmp_path, ("publishing", "--table", "a.csv", "--table", "b.csv"))
    (tmp_path / "a.csv").touch()
    assert plain.lacks(None) == tables.lacks(None) == "--data FOLDER"
    assert plain.lacks(tmp_path) == ""
    assert tables.lacks(tmp_path) == "b.csv"
    assert StudyPage(tmp_path, tuple(QUICK.split())).lacks(None) == ""


TIMED = """Made by `python -m studies x`. Python 3.11.7, numpy 2.4, Linux x86_64. Two files.

CPU seconds in brackets.

| k | loss | CPU s |
|---|---|---|
| 2 | 0.5 (0.31) | 1.2 |

| k | loss |
|---|---|
| 3 | 0.4 (7 s) |

CPU milliseconds by engine.

| cells | attacked | search |
|---|---|---|
| 16 | 39 | 0.5 / 0.1 |
"""


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("(0.31)", "(0.29)", 0),
        ("(7 s)", "(8.5 s)", 0),
        ("| 1.2 |", "| 1.3 |", 0),
        ("0.5 / 0.1", "0.6 / 0.1", 0),
        ("3.11.7", "3.12.1", 0),
        ("Two files", "Three files", 2),
        ("0.5 (0.31)", "0.6 (0.31)", 2),
        ("| 16 | 39", "| 16 | 38", 2),
    ],
)
def test_times_and_versions_are_left_aside(old: str, new: str, count: int) -> None:
    changed = TIMED.replace(old, new)
    assert changed != TIMED
    assert len(differences(TIMED, changed)) == count
