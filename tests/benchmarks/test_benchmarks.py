"""The benchmark: frozen problems, whole files, resumed runs, and what goes wrong as an outcome."""

from __future__ import annotations

import csv
import signal
import sys
import textwrap
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import argus, page, peers, posed, results, run, worker
from benchmarks.command import app
from benchmarks.frozen import FROZEN
from benchmarks.goals import Goal, contradictions, missed, seconds_text
from benchmarks.specs import GROUPS, Spec, choose, digest, specs
from cellveil import signals
from cellveil.comparing.modular import trees_of
from csp import audit, suppress
from csp.errors import InputError
from tests.support.schedules import replace_phases

SAFE = peers.Run(
    "ours", "proven", 2.0, 2.1, 1.9, value=10, bound=Fraction(10), proven=True, suppressed=4,
    unsafe=0, memory=100.0,
)  # fmt: skip


def spec_of(name, **changes):
    return Spec(name, "tiny", partial(posed.frequency, 4, 4), Goal(proven=True), **changes)


LARGE = {
    "fs-1000x1000",
    "fs-1000x1000-15s",
    "values-53172",
    "values-294861",
    "values-866576",
    "sparse",
    "five-way-52020",
}
ONE, TWO = spec_of("one"), spec_of("two", peers=())


class Fake:
    """Stands in for the processes; remembers what it was asked."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def __call__(self, solver, problem, time_limit, **options):
        self.asked.append((solver, time_limit))
        answer = self.answers.get(solver, SAFE)
        if isinstance(answer, BaseException):
            raise answer
        return replace(answer, solver=solver)


@pytest.fixture
def fake(monkeypatch):
    stand_in = Fake()
    monkeypatch.setattr(peers, "run", stand_in)
    return stand_in


def rows_of(folder):
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def bench(*words, code=0):
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


# ---- the registry --------------------------------------------------------------------------------


def test_problems_are_frozen():
    registry = specs()
    assert {spec.path for spec in registry} == set(FROZEN)
    assert len({spec.path for spec in registry}) == len(registry)
    assert {spec.group for spec in registry} == set(GROUPS)
    seen = {}
    for spec in registry:
        if not spec.absent:
            poser = repr(spec.build)
            if spec.name in LARGE:
                continue  # these take their time; a run checks them as well
            if poser not in seen:
                seen[poser] = digest(spec, spec.build())
            assert seen[poser] == FROZEN[spec.path], spec.path


def test_a_fingerprint_tells_problems_apart():
    problem = ONE.build()
    first = digest(ONE, problem)
    assert first == digest(ONE, ONE.build())
    for name in ("lpl", "upl", "spl", "cost"):
        changed = getattr(problem, name).copy()
        changed[np.flatnonzero(problem.primary)[0]] += -1 if name == "lpl" else 1
        assert digest(ONE, replace(problem, **{name: changed})) != first
    other = replace(problem.table, upper=problem.table.upper + 1)
    assert digest(ONE, replace(problem, table=other)) != first
    batch = replace(ONE, build=partial(posed.small_template, 4, by_value=False), task="batch")
    assert digest(batch, batch.build()) != digest(replace(batch, task="suppress"), batch.build())


def test_absent_instances_are_told(tmp_path, monkeypatch):
    (tmp_path / "instances").mkdir()
    monkeypatch.setenv("CELLVEIL_DATA", str(tmp_path))
    absent = [spec for spec in specs() if spec.absent]
    assert {spec.group for spec in absent} == {"jj"}
    assert len(absent) == 22
    with pytest.raises(InputError, match=r"--data or CELLVEIL_DATA"):
        absent[0].build()
    monkeypatch.delenv("CELLVEIL_DATA")
    assert [spec for spec in specs(tmp_path) if spec.absent]
    with pytest.raises(InputError, match="no folder 'instances'"):
        specs(tmp_path / "instances")


def test_choice():
    registry = specs()
    assert choose(registry) == registry
    assert {spec.group for spec in choose(registry, ["2d", "3d"])} == {"2d", "3d"}
    assert [s.path for s in choose(registry, ["fs/fs-100x100", "sparse-20x20"])] == [
        "sparse/sparse-20x20", "fs/fs-100x100",
    ]  # fmt: skip
    assert {s.name for s in choose(registry, ["2d"], ["*-50x50"])} == {
        "frequency-50x50", "sliding-50x50",
    }  # fmt: skip
    assert {s.group for s in choose(registry, [], ["*/frequency-*"])} >= {"tiny", "2d", "3d"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["2dd"], "nearest: 2d"),
        (["2d/frequency-21x20"], "nearest: 2d/frequency-20x20"),
        (["qqqqqqqq"], "groups: tiny, 2d"),
        (["2d", "--only", "frequncy-20x20"], "nearest: frequency-20x20"),
        (["--peers", "gurobi"], "no solver 'gurobi'"),
        (["--peers", "ours:none"], "'none' is not one of"),
        (["--peers", ","], "names no solver"),
        (["--peers", "mine"], "--solver NAME=FILE.py:FUNCTION"),
        (["--solver", "mine"], "mine=heuristic.py:greedy"),
        (["--solver", "mine=none.py:greedy"], "no file 'none.py'"),
        (["--time-limit", "0"], "positive"),
        (["--data", "nowhere"], "no folder 'instances'"),
    ],
)
def test_unknown_words_are_bad_input(words, said, tmp_path):
    result = bench(*words, "--out", tmp_path / "none", code=2)
    assert said in result.stderr
    assert not (tmp_path / "none").exists()


def test_list_shows_everything_and_runs_nothing(tmp_path, monkeypatch, fake):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instances").mkdir()
    monkeypatch.setenv("CELLVEIL_DATA", str(tmp_path))
    lines = bench("--list").stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(GROUPS)
    assert len(lines) == len(GROUPS) + len(FROZEN)
    row = next(line for line in lines if "jj/table7 " in line)
    assert "not slower than argus" in row
    assert "absent" in row
    assert fake.asked == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["instances"]


# ---- the loop ------------------------------------------------------------------------------------


def test_results_and_resume(tmp_path, fake):
    fake.answers["argus"] = replace(SAFE, outcome="time limit", proven=False, bound=Fraction(19, 2))
    both = (ONE, TWO)
    outcome = run.benchmark(both, both, tmp_path)
    assert [(r.path, r.run.solver) for r in outcome.rows] == [
        ("tiny/one", "ours"), ("tiny/one", "argus"), ("tiny/two", "ours"),
    ]  # fmt: skip
    assert (outcome.wrong, outcome.missed, outcome.absent) == ([], [], [])
    assert len(fake.asked) == 3
    assert results.read_rows(tmp_path / "results.csv") == outcome.rows
    said = rows_of(tmp_path)
    assert tuple(said[0]) == results.COLUMNS
    assert said[1]["gap"] == "0.05"
    run.benchmark(both, both, tmp_path)
    assert len(fake.asked) == 3
    run.benchmark(both, both, tmp_path, time_limit=5)  # another limit is another question
    assert fake.asked[3:] == [("ours", 5.0), ("argus", 5.0), ("ours", 5.0)]
    run.benchmark([TWO], both, tmp_path, time_limit=5, fresh=True)
    assert len(fake.asked) == 7
    assert len(rows_of(tmp_path)) == 3


def test_stale_rows_are_done_again_and_marked(tmp_path, fake):
    both = (ONE, TWO)
    run.benchmark(both, both, tmp_path)
    assert "†" not in (tmp_path / "results.md").read_text(encoding="utf-8")
    path = tmp_path / "results.csv"
    rows = results.read_rows(path)
    assert all(row.current for row in rows)
    results.write_rows(path, [replace(row, versions="cellveil 0.0.1") for row in rows])
    run.benchmark([ONE], both, tmp_path)
    assert len(fake.asked) == 5  # both of the first spec; the second was not asked for
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert [line.split(" ")[1] for line in text.splitlines() if "†<br>" in line] == ["two"]
    results.write_rows(path, [replace(row, digest="0") for row in results.read_rows(path)])
    run.benchmark([ONE], both, tmp_path)
    assert len(fake.asked) == 7


def test_short_runs_are_repeated_and_the_fastest_counts(tmp_path, monkeypatch):
    times = iter([0.3, 0.1, 0.2])
    monkeypatch.setattr(peers, "run", lambda *a, **k: replace(SAFE, cpu=next(times)))
    outcome = run.benchmark([TWO], [TWO], tmp_path)
    assert outcome.rows[0].run.cpu == 0.1
    assert next(times, None) is None


def test_repeated_runs_that_differ_are_wrong(tmp_path, monkeypatch):
    short = replace(SAFE, cpu=0.2)
    crash = peers.Run("ours", "crashed (SIGABRT)", cpu=0.1)
    for other, value, words in (
        (replace(short, unsafe=1), 10, "1 primary cells are unsafe"),
        (replace(short, value=11), 11, "repeated runs differ"),
        (replace(short, value=9), 10, "repeated runs differ"),
        (crash, None, "crashed (SIGABRT)"),
    ):
        answers = iter([short, other])
        monkeypatch.setattr(peers, "run", lambda *a, it=answers, **k: next(it))
        outcome = run.benchmark([TWO], [TWO], tmp_path, fresh=True)
        assert outcome.rows[0].run.value == value
        assert any(words in said for said in outcome.wrong)


def test_interrupt_keeps_what_is_done(tmp_path, fake):
    fake.answers["argus"] = KeyboardInterrupt()
    both = (ONE, TWO)
    outcome = run.benchmark(both, both, tmp_path)
    assert outcome.interrupted
    assert [row["solver"] for row in rows_of(tmp_path)] == ["ours"]
    assert "| one |" in (tmp_path / "results.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.csv", "results.md"]
    del fake.answers["argus"]
    assert len(run.benchmark(both, both, tmp_path).rows) == 3
    assert [solver for solver, _ in fake.asked] == ["ours", "argus", "argus", "ours"]


def test_interrupt_of_the_command(tmp_path, monkeypatch, fake):
    fake.answers["argus"] = KeyboardInterrupt()
    assert "goes on from here" in bench("tiny", "--out", tmp_path, code=130).stderr
    assert len(rows_of(tmp_path)) == 1

    def terminate(*_args, **_options):
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(peers, "run", terminate)
    with signals.taken():
        bench("tiny", "--out", tmp_path, code=143)
    assert signal.getsignal(signal.SIGTERM) == before
    assert signals.exit_code() == 130  # of whatever is interrupted next


def test_broken_files_are_told(tmp_path, fake):
    path = tmp_path / "results.csv"
    path.write_text("a,b\n1,2\n")
    assert "not a file of benchmark results" in bench("tiny", "--out", tmp_path, code=2).stderr
    path.write_text(",".join(results.COLUMNS) + "\n" + "x," * (len(results.COLUMNS) - 1) + "\n")
    assert "line 2" in bench("tiny", "--out", tmp_path, code=2).stderr
    assert "--out" in bench("tiny", "--out", path, code=2).output or fake.asked == []


def test_absent_specs_are_on_the_page(tmp_path, fake):
    gone = spec_of("gone", absent="there is no instances/gone.jj.gz in the data folder")
    outcome = run.benchmark([gone, TWO], [gone, TWO], tmp_path)
    assert len(outcome.absent) == 1
    assert len(fake.asked) == 1
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| gone | absent |" in text
    assert "gone.jj.gz" in text


def test_solvers_fit_the_task():
    assert run.solvers_of(ONE) == ["ours", "argus"]
    assert run.solvers_of(ONE, ["ilp", "ours:branch"]) == ["ilp", "ours:branch"]
    everything = ["ours", "argus", "modular", "ilp"]
    assert run.solvers_of(spec_of("b", task="batch"), everything) == ["ours", "ilp"]
    assert run.solvers_of(spec_of("a", task="audit"), everything) == ["ours"]
    found = peers.expand(["ilp:*", "ours"])
    assert "ilp:HiGHS" in found
    assert found[-1] == "ours"


def test_a_phase_can_be_left_out_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "without:tree" in peers.expand(["without:*"])
    for name in ("without", "without:trees"):
        with pytest.raises(InputError, match="is not one of"):
            peers.expand([name])
    begun: list[str] = []
    replace_phases(monkeypatch, {"first patterns": lambda *_: begun.append("first")})
    monkeypatch.setattr(worker, "_warm_up", lambda _: None)
    for solver in ("ours", "without:first patterns"):
        job = worker.Job(solver, posed.frequency(5, 5), "auto", 60.0)
        assert worker.perform(job, Path(), lambda: None).found.proven
    assert begun == ["first"]


# ---- what is wrong, what is missed ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"ours": replace(SAFE, unsafe=2)}, "ours is wrong: 2 primary cells are unsafe"),
        ({"ours": replace(SAFE, value=9, bound=Fraction(9))}, "argus is wrong: it calls 10"),
        ({"argus": replace(SAFE, value=9, proven=False)}, "ours is wrong: its bound 10"),
        ({"ours": peers.Run("ours", "crashed (SIGSEGV)")}, "ours crashed (SIGSEGV)"),
    ],
)
def test_a_wrong_result_ends_the_command_with_1(answers, said, tmp_path, fake):
    fake.answers.update(answers)
    result = bench("2d/frequency-20x20", "--peers", "ours,argus", "--out", tmp_path, code=1)
    assert f"WRONG: 2d/frequency-20x20: {said}" in result.stderr
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "## Wrong" in text
    assert ("**UNSAFE: 2 cells**" in text) == bool(answers.get("ours", SAFE).unsafe)


def test_contradictions():
    assert contradictions(SAFE, {"argus": SAFE}, (10, 10)) == []
    cheap = replace(SAFE, value=9, bound=Fraction(9))
    assert "known bound 10" in contradictions(cheap, {}, (10, 12))[0]
    dear = replace(SAFE, value=13, bound=Fraction(13))
    assert "above the known cost 12" in contradictions(dear, {}, (10, 12))[0]
    # An unsafe pattern of a peer says nothing: it solved another problem.
    assert contradictions(SAFE, {"argus": replace(SAFE, value=5, unsafe=3)}) == []
    assert contradictions(SAFE, {"argus": replace(SAFE, value=5, unsafe=None)}) == []
    # A claim of a float solver is taken to a millionth.
    large = replace(SAFE, value=10**9, bound=Fraction(10**9))
    close = replace(large, value=10**9 + 100, bound=Fraction(10**9 + 100))
    assert contradictions(large, {"argus": close}) == []
    assert contradictions(large, {"argus": replace(close, value=10**9 + 10**4)})


def test_goals():
    half = replace(SAFE, proven=False, bound=Fraction(5), value=10)
    cases = [
        (Goal(proven=True), SAFE, {}, []),
        (Goal(proven=True), half, {}, ["not proven"]),
        (Goal(), replace(SAFE, unsafe=3), {}, ["unsafe: 3 cells"]),
        (Goal(), replace(SAFE, unsafe=None), {}, ["not audited"]),
        (Goal(), peers.Run("ours", "failed"), {}, ["no pattern"]),
        (Goal(within=1), SAFE, {}, ["2 s (2 times)"]),
        (Goal(within=2), SAFE, {}, []),
        (Goal(gap=0.5), half, {}, []),
        (Goal(gap=0.05), half, {}, ["gap 50.00 %"]),
        (Goal(at_most=8), SAFE, {}, ["value 25 % above"]),
        (Goal(tighter=(5, 10)), half, {}, ["value not below 10", "bound not above 5"]),
        (Goal(tighter=(4, 11)), half, {}, []),
        (Goal(faster_than="argus"), SAFE, {}, ["argus was not run"]),
        (Goal(faster_than="argus"), SAFE, {"argus": replace(SAFE, cpu=1.0)},
         ["2 times the CPU of argus"]),
        (Goal(faster_than="argus"), SAFE, {"argus": peers.Run("argus", "crashed")}, []),
        (Goal(below="modular"), SAFE, {"modular": replace(half, value=11)}, []),
        (Goal(below="modular"), SAFE, {"modular": replace(half, unsafe=2)},
         ["10 against 10 of modular, unsafe for 2 cells"]),
        (Goal(agree=True), SAFE, {"ilp": replace(SAFE, value=11)}, ["ilp says 11"]),
        (Goal(memory=50), SAFE, {}, ["100 MB"]),
    ]  # fmt: skip
    for goal, ours, others, words in cases:
        assert missed(goal, ours, others) == words, str(goal)
    assert str(Goal(within=1e-5)) == "audited, within 10 µs"
    assert [seconds_text(x) for x in (0.0123, 2.5, 1234.0)] == ["12.3 ms", "2.5 s", "1234 s"]


def test_ratios_are_told_apart_by_session(tmp_path, fake):
    fake.answers["argus"] = replace(SAFE, cpu=5.0)
    rows = run.benchmark([ONE], [ONE], tmp_path).rows
    assert "5 s (2.5×)" in page.page(rows, [ONE], {})
    later = [rows[0], replace(rows[1], session="later")]
    assert "5 s (~2.5×)" in page.page(later, [ONE], {})


# ---- the processes -------------------------------------------------------------------------------


def attended(tmp_path, code, patience=30.0):
    script = f"import os, pathlib, signal, sys, time\n{textwrap.dedent(code)}"
    return peers.attend([sys.executable, "-c", script], tmp_path, patience)


def test_a_crash_is_an_outcome(tmp_path):
    found = attended(
        tmp_path,
        """
        pathlib.Path("started").write_text("0.0")
        os.kill(os.getpid(), signal.SIGSEGV)
        """,
    )
    assert isinstance(found, peers.Run)
    assert found.outcome == "crashed (SIGSEGV)"
    assert found.value is None


def test_an_error_is_an_outcome(tmp_path):
    found = attended(tmp_path, "sys.exit('no such thing')")
    assert isinstance(found, peers.Run)
    assert found.outcome == "failed: no such thing"
    assert attended(tmp_path, "sys.exit(3)").outcome == "failed (exit code 3)"


def test_a_time_out_is_an_outcome_and_ends_the_process(tmp_path):
    found = attended(
        tmp_path,
        """
        import subprocess
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path("child").write_text(str(child.pid))
        pathlib.Path("started").write_text("0.0")
        time.sleep(60)
        """,
        patience=0.2,
    )
    assert isinstance(found, peers.Run)
    assert found.outcome == "time limit, no answer"
    assert found.wall < 5
    stat = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    for _ in range(200):  # a killed process takes a moment to die, and longer to be reaped
        if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] in "ZX":
            return
        time.sleep(0.05)
    pytest.fail("the child of an ended process still runs")


def test_a_missing_package_is_an_outcome(tmp_path, monkeypatch):
    for name in ("pytauargus", "pytauargus._tauargus", "pytauargus.batch", "pytauargus.engine"):
        monkeypatch.setitem(sys.modules, name, None)
    problem = posed.frequency(4, 4)
    for solver in ("argus", "modular", "ilp:NO_SUCH"):
        answer = worker.perform(worker.Job(solver, problem, "auto", 5.0), tmp_path, lambda: None)
        assert answer.found.pattern is None
        assert answer.found.words.startswith("not installed: ")


def test_a_problem_the_solver_cannot_take_is_an_outcome(tmp_path):
    pytest.importorskip("pytauargus")
    problem = posed.linked_tables(3, 2, 2)
    answer = worker.perform(worker.Job("modular", problem, "auto", 5.0), tmp_path, lambda: None)
    assert answer.found.words == "not run: the table is not a full cross of hierarchies"


def test_our_answer_of_a_process_is_that_of_the_library():
    problem = posed.frequency(5, 5)
    found = peers.run("ours:ilp", problem, 60.0)
    assert found.outcome.startswith("proven")
    assert found.unsafe == 0
    assert found.value == suppress(problem).cost == found.bound
    assert found.cpu > 0
    assert found.wall > 0


def test_unsafe_patterns_are_counted():
    problem = posed.frequency(5, 5)
    pattern = problem.primary.copy()
    answer = worker.Answer(
        argus.Found(pattern, None, proven=True, words="proven"), 0.1, 0.1, None, None
    )
    job = worker.Job("argus", problem, "auto", 5.0)
    judged = peers._judged(job, answer)
    violations = audit(problem, pattern, only_primary=True).violations
    assert judged.unsafe == len({v.cells[0] for v in violations}) > 0
    assert judged.value == 0


def test_trees_are_read_off_the_relations():
    problem = posed.count_tree(((2, 2), (3,)))
    rows, columns = trees_of(problem.table)
    assert len(rows) == 6
    assert len(columns) == 3
    assert set(columns.values()) == {problem.table.roots[1]}


# ---- solvers of one's own ------------------------------------------------------------------------


def test_a_function_of_ones_own_is_a_solver(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("beside.py").write_text("LETTER = 'z'\n")
    Path("heuristic.py").write_text(
        textwrap.dedent(
            """
            from beside import LETTER

            def everything(problem):
                return problem.status != LETTER

            def only(problem):
                return problem.primary

            def broken(problem):
                raise ZeroDivisionError("mine")

            def nothing(problem):
                return None
            """
        )
    )
    spec = "tiny/frequency-5x5"
    words = [f"--solver={name}=heuristic.py:{name}" for name in ("everything", "only", "broken")]
    words += ["--solver=none=heuristic.py:nothing", "--solver=gone=heuristic.py:gone"]
    bench(spec, *words, "--out", "out")
    rows = {row.run.solver: row.run for row in results.read_rows(Path("out/results.csv"))}
    (one,) = choose(specs(), [spec])
    problem = one.build()
    best = rows["ours"]
    whole = rows["own:everything=heuristic.py:everything"]
    free = problem.status == "s"
    assert whole.value == sum(problem.cost[free].tolist()) > best.value
    assert (whole.outcome, whole.proven, whole.bound, whole.unsafe) == ("done", False, None, 0)
    assert whole.suppressed == int((problem.status != "z").sum())
    only = rows["own:only=heuristic.py:only"]
    report = audit(problem, problem.primary)
    assert only.unsafe == len({violation.cells[0] for violation in report.violations}) > 0
    assert rows["own:broken=heuristic.py:broken"].outcome == "failed: ZeroDivisionError: mine"
    assert "returned None" in rows["own:none=heuristic.py:nothing"].outcome
    assert "no function 'gone'" in rows["own:gone=heuristic.py:gone"].outcome
    assert "own:only=heuristic.py:only" in Path("out/results.md").read_text()
    # A changed file is another solver: its rows are not kept.
    words = [spec, "--solver=everything=heuristic.py:everything", "--out", "out"]
    assert bench(*words).stderr.count("(kept)") == 2
    Path("heuristic.py").write_text(Path("heuristic.py").read_text() + "\n# changed\n")
    assert bench(*words).stderr.count("(kept)") == 1
