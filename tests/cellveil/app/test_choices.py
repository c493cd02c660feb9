"""What was chosen makes a job that runs, and says what the library says."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

import csp
import instances
from cellveil.app.choices import Choices, Rules, columns_of, looked_at, safe_name
from cellveil.app.work import Work
from cellveil.jobs.job import read_job
from cellveil.jobs.run import run_job
from csp.solve.result import Progress

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
    found = looked_at(chosen)
    assert list(found.tables[0].sensitive.values()) == [int(expected.problem.primary.sum())]
    assert found.tables[0].cells == table.n_cells


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
     (".hidden", "hidden"), ("a;b.csv", "a_b.csv")],
)  # fmt: skip
def test_names_of_uploads_lead_nowhere(given: str, kept: str) -> None:
    assert safe_name(given) == kept


def test_a_name_of_nothing_is_refused() -> None:
    with pytest.raises(csp.InputError, match="not the name of a file"):
        safe_name("../..")


def test_columns_of_text_and_of_sheets(chosen: Choices, tmp_path: Path) -> None:
    names = ("region", "sector", "enterprise", "turnover")
    assert columns_of(chosen.data) == names
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(list(names))
    book.active.append(["N1", "A", "f", 3])
    book.save(tmp_path / "survey.xlsx")
    assert columns_of(tmp_path / "survey.xlsx") == names


# ---- the job beside the page ---------------------------------------------------------------------


def test_a_job_runs_and_is_over(chosen: Choices, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(chosen.job())
    work = Work(read_job(tmp_path / "job.toml"))
    work.join(60)
    assert work.state.over
    assert work.state.error is None
    assert work.state.done[0].protected.audit.safe


def test_stopping_reaches_the_search_which_keeps_its_best(chosen: Choices, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(chosen.job())
    asked, reached = threading.Event(), threading.Event()

    def run(job, *, phase, progress):
        progress(Progress("start", 0, None, 0.0))
        reached.set()
        assert asked.wait(30)
        return run_job(job, phase=phase, progress=progress)

    work = Work(read_job(tmp_path / "job.toml"), run)
    assert reached.wait(30)
    work.stop()
    asked.set()
    work.join(60)
    state = work.state
    assert state.over
    assert state.stopped
    if state.error is None:  # a pattern was there already
        assert state.done[0].protected.audit.safe
        assert state.done[0].protected.suppression.stopped == "interrupt"
    else:
        assert "stopped" in str(state.error)


def test_what_goes_wrong_is_kept_for_the_page(chosen: Choices, tmp_path: Path) -> None:
    text = replace(chosen, value="turnove").job()
    (tmp_path / "job.toml").write_text(text)
    work = Work(read_job(tmp_path / "job.toml"))
    work.join(60)
    assert isinstance(work.state.error, csp.InputError)
    assert "turnove" in str(work.state.error)
    assert not (tmp_path / "published").exists()
