"""Tasks are done one after another in a process that can be ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest

import cellveil
import csp
import instances
from cellveil.app.choices import Choices, Rules
from cellveil.app.ways import names_of
from cellveil.app.work.comparisons import Compare
from cellveil.app.work.tasks import JOB, Columns, Group, Look, Protect, Read, Tree
from cellveil.app.work.worker import GONE, STOPPED, Worker
from tests.cellveil.app.acts import act
from tests.support.shared import ROOT

LONG = 60.0


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    found = Worker(tmp_path, act)
    yield found
    found.close()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Worker]:
    found = Worker(tmp_path)
    yield found
    found.close()


def until(what: str, order) -> None:
    end = time.monotonic() + LONG
    while order.state.phase != what and not getattr(order.state, what, False):
        assert time.monotonic() < end
        assert not order.state.over, order.state
        time.sleep(0.01)


def test_tasks_are_done_in_their_order_and_by_one_process(worker: Worker) -> None:
    orders = [worker.ask(text) for text in ("a", "b", "c")]
    assert [order.wait(LONG).answer for order in orders] == [["a"], ["a", "b"], ["a", "b", "c"]]
    if os.name == "posix":
        assert worker.ask("modes").wait(LONG).answer == 0o077


def test_what_has_no_end_is_ended(worker: Worker) -> None:
    order, later = worker.ask("hang"), worker.ask("a")
    until("hanging", order)
    worker.stop(order)
    assert order.state.over
    assert order.state.error == STOPPED
    assert later.wait(LONG).answer == ["a"]  # in another process


def test_what_waits_is_taken_back(worker: Worker) -> None:
    order, later = worker.ask("hang"), worker.ask("a")
    worker.stop(later)
    assert later.state.over
    assert not order.state.over


def test_a_search_keeps_its_best(worker: Worker) -> None:
    order = worker.ask("search to the end")
    until("searching", order)
    worker.stop(order)
    assert order.wait(LONG).answer == "the best"
    assert order.state.stopped
    order = worker.ask("search")
    until("searching", order)
    worker.stop(order)
    assert "Stopped before there was a safe pattern" in order.wait(LONG).error


def test_a_process_that_dies_is_missed_and_replaced(worker: Worker) -> None:
    assert worker.ask("die").wait(LONG).error == GONE
    assert worker.ask("a").wait(LONG).answer == ["a"]


def test_a_failure_is_said_without_places(worker: Worker) -> None:
    assert worker.ask("fail").wait(LONG).error == "Error: 'evil.hrc', line 1: wrong."


def test_closing_ends_what_runs(worker: Worker) -> None:
    until("hanging", worker.ask("hang"))
    began = time.monotonic()
    worker.close()
    assert time.monotonic() - began < 5
    assert not worker.ask("a").state.over  # nothing begins any more


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked at in /proc")
def test_a_process_goes_with_the_program_that_was_killed(tmp_path: Path) -> None:
    text = (
        "import sys; from pathlib import Path; from cellveil.app.work.worker import Worker\n"
        "from tests.cellveil.app.acts import act\n"
        "if __name__ == '__main__':\n"
        "    worker = Worker(Path(sys.argv[1]), act); order = worker.ask('hang')\n"
        "    while order.state.phase != 'hanging': pass\n"
        "    print(worker._process.pid, flush=True); sys.stdin.read()\n"
    )
    (tmp_path / "program.py").write_text(text)
    program = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", tmp_path], stdout=subprocess.PIPE,
        stdin=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    with program:
        pid = int(program.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        program.kill()
    end = time.monotonic() + LONG
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        # A zombie that nobody waits for is over too.
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


# ---- the tasks themselves ------------------------------------------------------------------------


@pytest.fixture
def chosen(tmp_path: Path) -> Choices:
    (tmp_path / "1").mkdir()
    data = Path(copy(instances.path("demo.csv"), tmp_path / "1" / "survey.csv"))
    tree = Path(copy(instances.path("demo.hrc"), tmp_path / "1" / "region.hrc"))
    return Choices(data, ("region", "sector"), "turnover", "enterprise",
                   hierarchies={"region": tree}, rules=Rules(3, (2, "80"), "10"))  # fmt: skip


def test_from_reading_to_protecting_without_reading_again(real: Worker, chosen: Choices) -> None:
    table = csp.Table.from_microdata(
        chosen.data, ["region", "sector"], "turnover", contributor="enterprise",
        hierarchies={"region": csp.Hierarchy.from_hrc(chosen.hierarchies["region"])},
    )  # fmt: skip
    expected = csp.protect(table, chosen.rules.text(values=True))
    names = ("region", "sector", "enterprise", "turnover")
    assert real.ask(Read(chosen.data)).wait(LONG).answer == Columns(names)
    before = chosen.data.stat()
    chosen.data.write_bytes(b"x" * before.st_size)  # what was read is not read again
    os.utime(chosen.data, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = real.ask(Look(chosen)).wait(LONG).answer.facts
    assert list(found.tables[0].sensitive.values()) == [int(expected.problem.primary.sum())]
    (chosen.data.parent / JOB).write_text(chosen.job())
    done = real.ask(Protect(chosen.data)).wait(LONG)
    assert done.error == ""
    assert f"{expected.pattern.sum():,} suppressed" in done.answer.words
    assert {file.name for file in done.answer.release} == {"release.csv", "release.json"}
    assert done.answer.file(".csv").name == "region-sector.csv"
    if os.name == "posix":
        modes = {
            f.stat().st_mode & 0o077 for f in chosen.data.parent.rglob("*") if f != chosen.data
        }
        assert modes <= {0, 0o044}  # those that were copied here by the test


def test_ways_to_publish_are_set_side_by_side(real: Worker, chosen: Choices) -> None:
    ways = names_of("suppress, round:50,")
    assert ways == ("suppress", "round:50")
    done = real.ask(Compare(chosen.data, chosen.job(), ways)).wait(LONG)
    assert done.error == ""
    table = csp.Table.from_microdata(
        chosen.data, ["region", "sector"], "turnover", contributor="enterprise",
        hierarchies={"region": csp.Hierarchy.from_hrc(chosen.hierarchies["region"])},
    )  # fmt: skip
    facts = cellveil.compare(table, chosen.rules.text(values=True), ways).summary()
    page = done.answer.read_text(encoding="utf-8")
    assert "must not leave the office" in page
    for method, one in facts.items():
        cells = [one["withheld"], one["changed"], one["mean_error"], one["largest_error"],
                 one["sensitive"], one["short"]]  # fmt: skip
        row = "".join(f'<td class="number">{value:,.6g}</td>' for value in cells)
        assert f'<tr><th scope="row">{method}</th>{row}' in page
    wrong = real.ask(Compare(chosen.data, chosen.job(), ("swap",))).wait(LONG)
    assert "'swap' is not one of suppress" in wrong.error


def test_what_goes_wrong_is_said_in_words(real: Worker, chosen: Choices) -> None:
    wrong = chosen.data.with_name("evil.hrc")
    wrong.write_text("@@@x\n")
    error = real.ask(Tree(wrong)).wait(LONG).error
    assert "evil.hrc" in error
    assert str(chosen.data.parent) not in error
    assert "Evil" not in error
    error = real.ask(Read(chosen.data.with_name("gone.csv"))).wait(LONG).error
    assert "gone.csv" in error
    assert str(chosen.data.parent.parent) not in error


def test_columns_within_others_become_hierarchies(real: Worker, chosen: Choices) -> None:
    chosen.data.write_text("land,town,x\nN,a,1\nN,b,2\nS,c,3\n")
    file = chosen.data.with_name("town.hrc")
    assert real.ask(Group(chosen.data, {file: ("land", "town")})).wait(LONG).error == ""
    assert csp.Hierarchy.from_hrc(file).depth == 2
