"""Stopped runs: the best audited pattern with an honest bound, or a plain refusal; whole files."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import InputError, Problem, Suppression, Unprotectable, audit, mechanism
from csp.clock import now
from csp.errors import OutOfTime
from csp.highs import interrupts
from csp.solve import suppress
from csp.solve.small import slices
from instances import synthetic
from tests.support import oracles
from tests.support.shared import ROOT, examples
from tests.support.strategies import problems, small_tables


def check_honest(problem: Problem, found: Suppression, optimum: int) -> None:
    """Safe by a second audit, its cost right, the optimum between bound and cost."""
    assert audit(problem, found.pattern).safe
    assert found.cost == oracles.pattern_cost(problem, found.pattern)
    assert found.bound <= optimum <= found.cost
    assert found.proven == (found.bound == found.cost)
    assert not found.canonical or (found.proven and found.stopped == "done")
    assert not found.pattern[problem.status == "z"].any()
    assert found.pattern[problem.forced].all()


class Presser:
    """Progress callback that interrupts at its n-th call."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, _: csp.Progress) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["auto", "branch", "small"])
def test_an_interrupt_at_any_call_leaves_the_truth(method: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(slices, "SLICE", 3)

    @examples(25)
    @given(problems(small_tables(), max_free=8, max_primary=4, singletons=None), st.integers(1, 12))
    def check(problem: Problem, call: int) -> None:
        best = oracles.best_pattern(problem)
        press = Presser(call)
        try:
            found = suppress(problem, method=method, progress=press)
        except InputError:
            assert method == "small"
            return
        except Unprotectable:
            assert best is None
            return
        except KeyboardInterrupt:
            assert press.left <= 0
            return
        assert best is not None
        assert (found.stopped == "interrupt") == (press.left <= 0)
        check_honest(problem, found, oracles.pattern_cost(problem, best))

    check()


@pytest.mark.parametrize("method", ["auto", "branch", "small", "ilp"])
def test_no_time_at_all_leaves_the_truth(method: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(slices, "SLICE", 3)

    @examples(20)
    @given(
        problems(small_tables(), max_free=8, max_primary=4, singletons=None),
        st.floats(1e-9, 0.03),
    )
    def check(problem: Problem, limit: float) -> None:
        best = oracles.best_pattern(problem)
        try:
            found = suppress(problem, method=method, time_limit=limit)
        except InputError:
            assert method == "small"
            return
        except Unprotectable:
            assert best is None
            return
        except OutOfTime:
            return
        assert best is not None
        check_honest(problem, found, oracles.pattern_cost(problem, best))

    check()


def problem_of(shape: tuple[int, ...]) -> Problem:
    table = synthetic.frequency_nd(shape, 3)
    primary = (table.values < 3) & (table.values > 0) & ~table.margins
    cost = np.maximum(table.values, 1)
    return Problem.of(table, primary, lpl=1, upl=2, spl=3, cost=cost, publish=table.margins)


@pytest.mark.parametrize("limit", [0.001, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("method", ["auto", "branch"])
@pytest.mark.parametrize("shape", [(9, 9), (4, 4, 4)])
def test_tiny_limits_on_larger_tables(shape: tuple[int, ...], method: str, limit: float) -> None:
    problem = problem_of(shape)
    optimum = suppress(problem, method="cuts").cost
    began = now()
    try:
        found = suppress(problem, method=method, time_limit=limit)
    except OutOfTime:
        return
    finally:
        assert now() - began < limit + 2
    check_honest(problem, found, optimum)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
@pytest.mark.parametrize("method", ["cuts", "branch"])
def test_a_real_interrupt_at_any_moment_leaves_the_truth(method: str) -> None:
    problem = problem_of((4, 4, 4))
    began = now()
    optimum = suppress(problem, method="cuts").cost
    whole = now() - began

    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    stopped = 0
    try:
        for part in np.linspace(0.05, 0.9, 4):
            signal.setitimer(signal.ITIMER_REAL, part * whole)
            try:
                found = suppress(problem, method=method)
            except KeyboardInterrupt:
                continue
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            stopped += found.stopped == "interrupt"
            check_honest(problem, found, optimum)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_runs_in_several_threads_do_not_meet() -> None:
    problem = problem_of((4, 4, 4))
    alone = suppress(problem)
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(suppress, [problem] * 3))
    for found in together:
        assert found.pattern.tolist() == alone.pattern.tolist()
        assert found.canonical


@pytest.mark.parametrize("call", ["start", "wait"])
def test_an_interrupt_while_the_solver_starts_leaves_it_usable(call: str, monkeypatch: Any) -> None:
    problem = problem_of((4, 4, 4))
    # Its integer programs run in a thread.
    whole = suppress(problem, method="cuts")
    pressed = []

    def press(moment: str) -> None:
        if moment == call and not pressed:
            pressed.append(True)
            raise KeyboardInterrupt

    def start(work: Any, words: Any) -> None:
        _thread.start_new_thread(work, words)
        press("start")

    class Lock:
        def __init__(self) -> None:
            lock = _thread.allocate_lock()
            self.release, self._real = lock.release, lock

        def acquire(self, timeout: float = -1) -> bool:
            answer = self._real.acquire(timeout=timeout)
            if timeout > 0:
                press("wait")
            return answer

        def __enter__(self) -> None:
            self._real.acquire()

        def __exit__(self, *_: Any) -> None:
            self._real.release()

    with monkeypatch.context() as patch:
        patch.setattr(
            interrupts, "_thread", SimpleNamespace(start_new_thread=start, allocate_lock=Lock)
        )
        found = suppress(problem, method="cuts")
    assert pressed
    assert found.stopped == "interrupt"
    check_honest(problem, found, whole.cost)
    assert suppress(problem, method="cuts").pattern.tolist() == whole.pattern.tolist()


# ---- killed ------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path

moment = sys.argv.pop(1)

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "pattern":
    from cellveil.render import progress
    def once(meter, state):
        if state.best is not None:
            die()
    progress.Meter.__call__ = once
elif moment == "writing":
    import csv
    class Half:
        def __init__(self, out, *words, **options):
            self.out, self.real, self.rows = out, csv.writer.__wrapped__(out, *words, **options), 0
        def writerow(self, row):
            self.real.writerow(row)
            self.rows += 1
            if self.rows == 4:
                self.out.out.flush()
                die()
        def writerows(self, rows):
            for row in rows:
                self.writerow(row)
    real = csv.writer
    def writer(*words, **options):
        return Half(*words, **options)
    writer.__wrapped__ = real
    csv.writer = writer
elif moment == "replacing":
    Path.replace = die
from cellveil.__main__ import main
sys.argv[0] = "cellveil"
main()
"""

SURVEY = "region,sector,firm,turnover\n" + "".join(
    f"R{i % 5},S{(i * 7 + i // 5) % 4},e{i},{1000003 + 7919 * i * (1 + i % 3)}\n" for i in range(70)
)
PROTECT = ["protect", "survey.csv", "--by", "region,sector", "--value", "turnover"]
PROTECT += ["--contributor", "firm", "--rules", "P(10,1)|FREQ(3,10)", "-o", "out.csv"]


def launch(folder: Path, moment: str) -> int:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, moment, *PROTECT],
        capture_output=True, cwd=folder, env=env, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_killed_run_leaves_no_half_file(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(SURVEY)
    assert launch(tmp_path, "never") == 0
    whole = (tmp_path / "out.csv").read_text()
    assert whole.count("\n") > 20
    out = tmp_path / "out.csv"
    for moment, old in (("pattern", None), ("writing", "what was there\n"), ("replacing", None)):
        out.unlink()
        if old is not None:
            out.write_text(old)
        assert launch(tmp_path, moment) == -signal.SIGKILL, moment
        assert (out.read_text() if out.exists() else None) == old
        out.touch()
    # What a kill while writing leaves behind is a draft by another name, and part of the release.
    for draft in tmp_path.glob(".out.csv.*.part"):
        assert whole.startswith(draft.read_text())
        draft.unlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "survey.csv"]


def test_who_interrupts_does_not_wait_for_all_intervals() -> None:
    table = synthetic.frequency_nd((4, 4, 4), 3)
    with mock.patch("csp.mechanism.follow", wraps=mechanism.follow) as follow:
        for call in range(1, 30):
            try:
                found = csp.Mechanism("FREQ(3)").protect(table, progress=Presser(call))
            except KeyboardInterrupt:
                continue
            if found.suppression.stopped == "interrupt" and follow.called:
                break
    assert found.suppression.stopped == "interrupt"
    assert follow.call_args.kwargs["clock"].left <= 5
