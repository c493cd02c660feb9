"""What was chosen makes a job that runs, and says what the library says."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from shutil import copy

import pytest

import csp
import instances
from cellveil.app.choices import Choices, Rules, free_name, safe_name, tree_name
from cellveil.app.further import further_sections, kinds
from cellveil.app.work.records import Records
from cellveil.app.work.tasks import Look, Tell, perform
from cellveil.jobs.job import read_job
from cellveil.jobs.run import run_job

RULES = Rules(3, (2, "80"), "10")


@pytest.fixture
def chosen(tmp_path: Path) -> Choices:
    data = Path(copy(instances.path("demo.csv"), tmp_path / "survey.csv"))
    tree = Path(copy(instances.path("demo.hrc"), tmp_path / "region.hrc"))
    return Choices(data, ("region", "sector"), "turnover", "enterprise",
                   hierarchies={"region": tree}, rules=RULES)  # fmt: skip


def test_rules_are_put_into_words() -> None:
    assert RULES.text(values=True) == "P(10,1)|NK(2,80)|FREQ(3,10)"
    # Counts have no contributions that could dominate.
    assert RULES.text(values=False) == "FREQ(3,10)"
    assert Rules(words=" NK(1,75) ").text(values=True) == "NK(1,75)"
    with pytest.raises(csp.InputError, match="at least one rule"):
        Rules(None, (1, "75"), None).text(values=False)
    with pytest.raises(csp.InputError):
        Rules(words="P(").text(values=True)


def test_the_job_does_what_the_library_does(chosen: Choices, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(chosen.job())
    (done,) = run_job(read_job(tmp_path / "job.toml"))
    hierarchy = csp.Hierarchy.from_hrc(tmp_path / "region.hrc")
    table = csp.Table.from_microdata(
        chosen.data, ["region", "sector"], "turnover", contributor="enterprise",
        hierarchies={"region": hierarchy},
    )  # fmt: skip
    expected = csp.protect(table, "P(10,1)|NK(2,80)|FREQ(3,10)")
    assert (done.protected.pattern == expected.pattern).all()
    assert (done.protected.release.published == expected.release.published).all()
    found = perform(Look(chosen), Records(), Tell(len, len)).facts
    assert list(found.tables[0].sensitive.values()) == [int(expected.problem.primary.sum())]
    assert found.tables[0].cells == table.n_cells


def test_how_a_text_file_was_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "german.csv").write_text("region;pay\n" + "N;1,5\n" * 5)
    chosen = Choices(tmp_path / "german.csv", ("region",), "pay")
    note = perform(Look(chosen), Records(), Tell(len, len)).note
    assert (
        note == "Read 'german.csv' as text separated by semicolons, with decimal commas or points."
    )


def test_options_without_a_place_of_their_own_are_in_the_job(chosen: Choices) -> None:
    given = {"further_shadow": "pay", "further_unions": True, "further_integer": "true",
             "further_width": "2.5", "further_top": "a, b", "further_empty": "", "further_gap": "0",
             "further_decimals": " 2 "}  # fmt: skip
    assert set(given) <= set(kinds())
    found = further_sections(given)
    assert found == {
        "data": {"shadow": "pay", "top": ["a", "b"], "decimals": 2},
        "rules": {"unions": True, "integer": True, "width": Decimal("2.5")},
        "solver": {"gap": 0},
    }
    job = tomllib.loads(replace(chosen, further=found).job())
    assert {"shadow": "pay", "decimals": 2}.items() <= job["data"].items()
    assert {"unions": True, "width": 2.5, "singletons": True}.items() <= job["rules"].items()
    with pytest.raises(csp.InputError, match="decimals: 'two' is not a number"):
        further_sections({"further_decimals": "two"})


def test_cells_are_looked_at_as_the_job_reads_them(tmp_path: Path) -> None:
    data = tmp_path / "cells.csv"
    data.write_text("a,v,n\nx,10,1\ny,50,9\nz,60,9\nTotal,120,19\n")
    further = {"data": {"aggregated": True, "count": "n"}}
    chosen = Choices(data, ("a",), "v", rules=Rules(3), further=further)
    found = perform(Look(chosen), Records(), Tell(len, len)).facts.tables[0]
    assert (found.cells, found.single, found.sensitive) == (4, 1, {"FREQ(3,10)": 1})


def test_every_choice_is_in_the_job(chosen: Choices) -> None:
    other = replace(
        chosen, weight="turnover", cost="value", margins="publish", singletons=False,
        negative="abs", missing="none", time_limit=5.0, attacks=True, formats=("csv", "xlsx"),
    )  # fmt: skip
    text = other.job()
    for line in (
        'weight = "turnover"', 'cost = "value"', 'margins = "publish"', "singletons = false",
        'negative = "abs"', 'missing = "none"', "time_limit = 5.0", "attacks = true",
        'format = ["csv", "xlsx"]', 'file = "survey.csv"', 'region = "region.hrc"',
    ):  # fmt: skip
        assert line in text
    counts = replace(chosen, value=None, contributor=None, by=("sector",)).job()
    assert "value" not in counts.partition("[rules]")[0]
    assert "hierarchies" not in counts
    assert "singletons" not in counts
    with pytest.raises(csp.InputError, match="at least one dimension"):
        replace(chosen, by=()).job()


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a.csv", "a.csv"), ("../../etc/passwd", "passwd"), ("C:\\data\\a b.csv", "a b.csv"),
     (".hidden", "hidden"), ("a;b <c> 'd'.csv", "a;b <c> 'd'.csv"), ("a\nb", "a_b")],
)  # fmt: skip
def test_names_of_uploads_lead_nowhere(given: str, kept: str) -> None:
    assert safe_name(given) == kept


def test_a_name_of_nothing_is_refused() -> None:
    with pytest.raises(csp.InputError, match="not the name of a file"):
        safe_name("../..")


def test_a_second_file_of_a_name_gets_another_name() -> None:
    assert free_name("tree.hrc", ("survey.csv",)) == "tree.hrc"
    assert free_name("tree.hrc", ("Tree.hrc", "tree-2.hrc")) == "tree-3.hrc"
    assert free_name("job.toml", ("job.toml", "published")) == "job-2.toml"


@pytest.mark.parametrize(
    ("column", "file"),
    [("region", "region.hrc"), ("a/b", "a_b.hrc"), ("../<x>", "_x_.hrc"), ("..", "column.hrc"),
     ("é" * 300, "é" * 50 + ".hrc")],
)  # fmt: skip
def test_a_column_of_any_name_has_a_file_for_its_hierarchy(column: str, file: str) -> None:
    assert tree_name(column).lstrip("_") == file.lstrip("_")
    assert safe_name(tree_name(column)) == tree_name(column)


def test_columns_of_text_and_of_sheets(chosen: Choices, tmp_path: Path) -> None:
    names = ("region", "sector", "enterprise", "turnover")
    assert Records().of(chosen.data).names == names
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(list(names))
    book.active.append(["N1", "A", "f", 3])
    book.save(tmp_path / "survey.xlsx")
    assert Records().of(tmp_path / "survey.xlsx").names == names


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("a\nx\n")
    (tmp_path / "survey.csv").symlink_to(tmp_path / "real.csv")
    records, told = Records(), []
    kept = records.of(tmp_path / "survey.csv", told.append)
    assert records.of(tmp_path / "survey.csv", told.append) is kept
    assert told == ["reading the records"]
    (tmp_path / "real.csv").write_text("a,b\nx,y\n")
    assert records.of(tmp_path / "survey.csv", told.append).names == ("a", "b")
