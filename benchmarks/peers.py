"""Every solver behind one call: a problem and a time limit in, a `Run` out.

Solvers are named ``ours`` (or ``ours:METHOD``), ``argus`` (pytauargus, optimal), ``modular``
(pytauargus, HiTaS), ``ilp`` (the PuLP program with HiGHS), ``ilp:NAME`` (with another solver of
PuLP), ``without:NAME``, ours without a phase or separator of its schedule, and
``own:NAME=FILE.py:FUNCTION``, a function of one's own (`benchmarks.own`). Each run is a process of
its own: a crash, a time-out or a missing package is an outcome, and memory and CPU can be compared.
Every pattern is judged by our exact audit.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks import own
from benchmarks.argus import Found, minutes
from benchmarks.posed import batch_of, of_batch
from benchmarks.worker import SAMPLE, Answer, Job, pulp_solvers
from csp import audit
from csp.errors import CellveilError, InputError, OutOfTime
from csp.problem.problem import Problem
from csp.solve import METHODS
from csp.solve.exact.schedule import NAMES

BASES = ("ours", "argus", "modular", "ilp", "without", own.PREFIX)
"""Kinds of solver."""

_CHILD = "from benchmarks.worker import main; main()"

_START = 900.0
"""Wall seconds a process may take to read its job and compile."""

_AUDIT = 600.0
"""Wall seconds for the audit of an answer."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one solver did with one problem.

    Attributes
    ----------
    solver : str
    outcome : str
        "proven", "time limit", "crashed (SIGSEGV)", "not installed: ...", and the like.
    cpu, wall : float or None
        Seconds, reading and compiling left out; None if nothing was run. For a batch, of one
        table on average.
    proof : float or None
        Wall seconds until the optimum was proved, the choice among the cheapest left out.
    value : int or None
        Cost of the secondary cells, in units of the problem's cost; None without a pattern. For
        a batch, the sum over its first tables.
    bound : Fraction or None
        No safe pattern costs less, the solver says.
    proven : bool
        Whether the solver says that its pattern is cheapest.
    suppressed : int or None
        Suppressed cells, primary ones included.
    unsafe : int or None
        Primary cells that miss their levels, by our audit; None without a pattern, or if the
        audit did not end.
    memory : float or None
        High-water mark in MB.
    """

    solver: str
    outcome: str
    cpu: float | None = None
    wall: float | None = None
    proof: float | None = None
    value: int | None = None
    bound: Fraction | None = None
    proven: bool = False
    suppressed: int | None = None
    unsafe: int | None = None
    memory: float | None = None

    @property
    def gap(self) -> float | None:
        """Distance of the value from the bound, relative to the value."""
        if self.value is None or self.bound is None:
            return None
        return float((self.value - self.bound) / self.value) if self.value > 0 else 0.0


def expand(names: Sequence[str]) -> list[str]:
    """Solvers by name, with ``ilp:*`` and ``without:*`` replaced by all that there are.

    Raises
    ------
    InputError
        For an unknown solver, an unknown method or phase of ours, or a function whose file is not
        there.
    """
    known = {"ours": ("method", METHODS), "without": ("phase", NAMES)}
    found: list[str] = []
    for name in names:
        base, _, rest = name.partition(":")
        if base not in BASES or (rest and base in ("argus", "modular")):
            msg = (
                f"there is no solver {name!r}; there are {', '.join(BASES)} (a function of your "
                f"own: --solver {own.FORM})"
            )
            raise InputError(msg)
        if base == own.PREFIX:
            found.append(own.checked(name))
            continue
        if rest == "*" and base != "ours":
            found += [f"{base}:{one}" for one in (pulp_solvers() if base == "ilp" else NAMES)]
            continue
        kind, able = known.get(base, ("", ()))
        if kind and rest not in able and name != "ours":
            msg = f"{kind} {rest!r} is not one of {', '.join(able)}"
            raise InputError(msg)
        found.append(name)
    return list(dict.fromkeys(found))


def run(
    solver: str,
    problem: Problem,
    time_limit: float,
    *,
    method: str = "auto",
    task: str = "suppress",
    tables: int = 1,
) -> Run:
    """Run a solver in a process of its own, and audit its answer.

    Parameters
    ----------
    solver : str
        One of those `expand` gives.
    problem : Problem
    time_limit : float
        Wall seconds. The process is ended a little after it; τ-ARGUS counts in minutes, so its
        limit is rounded up.
    method : str
        Method of ours, unless the solver names one.
    task, tables
        See `benchmarks.specs.Spec`.

    Returns
    -------
    Run
    """
    there = own.resolved(solver) if solver.startswith(f"{own.PREFIX}:") else solver
    job = Job(there, problem, method, time_limit, task, tables)
    with tempfile.TemporaryDirectory(prefix="cellveil-benchmarks-") as name:
        folder = Path(name)
        with (folder / "job.pickle").open("wb") as file:
            pickle.dump(job, file, protocol=pickle.HIGHEST_PROTOCOL)
        command = [sys.executable, "-c", _CHILD, str(folder)]
        ended = attend(command, folder, _patience(solver, time_limit))
        if isinstance(ended, Run):
            return replace(ended, solver=solver)
    return replace(_judged(job, ended), solver=solver)


def attend(command: Sequence[str], folder: Path, patience: float) -> Answer | Run:
    """Start a process, wait for its answer, and end it when its time is up.

    Parameters
    ----------
    command : sequence of str
        What to run; see `benchmarks.worker` for the files it leaves.
    folder : Path
        Its working directory.
    patience : float
        Wall seconds from the file "started" on.

    Returns
    -------
    Answer, or the Run of a process that left none
    """
    house = str(Path(__file__).resolve().parents[1])
    paths = os.pathsep.join(filter(None, [house, os.environ.get("PYTHONPATH", "")]))
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = _ended_cpu()
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            list(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env={**os.environ, **single, "PYTHONPATH": paths}, start_new_session=True,
        )  # fmt: skip
        began = time.monotonic()
        started: float | None = None
        late = False
        try:
            while process.poll() is None and not late:
                now = time.monotonic()
                if started is None and (folder / "started").exists():
                    started = now
                late = now > (began + _START if started is None else started + patience)
                time.sleep(0.02)
        finally:
            _end(process)
    wall = None if started is None else time.monotonic() - started
    if (folder / "answer.pickle").exists():
        with (folder / "answer.pickle").open("rb") as file:
            answer: Answer = pickle.load(file)  # noqa: S301, RUF100 (our own process wrote it)
        return answer
    if late:
        # CPU is unknown: what processes of its own have used dies with them.
        words = "time limit, no answer" if started is not None else "did not get ready in time"
        return Run("", words, wall=wall)
    cpu = None
    if started is not None:
        cpu = _ended_cpu() - before - float((folder / "started").read_text())
    return Run("", _how_it_ended(process.returncode, folder / "said"), cpu=cpu, wall=wall)


# ---- inside --------------------------------------------------------------------------------------


def _patience(solver: str, time_limit: float) -> float:
    """When to end a process: generously where the solver keeps the limit itself.

    τ-ARGUS has been seen to answer after 1.4 times its limit.
    """
    base, _, name = solver.partition(":")
    if base in ("argus", "modular"):
        return 90.0 * minutes(time_limit) + 30.0
    if base == own.PREFIX or (base == "ilp" and name not in ("", "HiGHS")):
        return time_limit + 2.0
    return 1.5 * time_limit + 30.0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started (a solver of PuLP is a process of its own)."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _how_it_ended(code: int, said: Path) -> str:
    if code < 0:
        return f"crashed ({signal.Signals(-code).name})"
    lines = said.read_text(errors="replace").strip().splitlines()
    return f"failed: {lines[-1][:200]}" if lines else f"failed (exit code {code})"


def _ended_cpu() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return float("nan")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _judged(job: Job, answer: Answer) -> Run:
    """Judge an answer: its cost, counted by us, and its unsafe cells."""
    found = answer.found
    if found.pattern is None:
        return Run(job.solver, found.words, answer.cpu or None, answer.wall or None)
    problems, patterns = [job.problem], [found.pattern]
    if job.task == "batch":
        drawn = zip(*batch_of(job.problem, SAMPLE), strict=True)
        problems = [of_batch(job.problem, *table) for table in drawn]
        patterns = list(found.pattern)
    words, value, unsafe = found.words, 0, 0
    for problem, pattern in zip(problems, patterns, strict=True):
        counted = pattern & np.isin(problem.status, ("s", "x"))
        value += int(sum(problem.cost[counted].tolist()))
        try:
            unsafe += _unsafe_cells(problem, found, pattern)
        except (OutOfTime, CellveilError) as error:
            return _run(job, answer, f"{words}; audit: {type(error).__name__}", value, None)
    return _run(job, answer, words, value, unsafe)


def _run(job: Job, answer: Answer, words: str, value: int, unsafe: int | None) -> Run:
    found = answer.found
    assert found.pattern is not None
    measured = job.task != "audit"
    return Run(
        job.solver, words, answer.cpu, answer.wall, answer.proof,
        value=value if measured else None,
        bound=Fraction(value) if found.proven else found.bound,
        proven=found.proven, suppressed=int(found.pattern.sum()), unsafe=unsafe,
        memory=answer.memory,
    )  # fmt: skip


def _unsafe_cells(problem: Problem, found: Found, pattern: np.typing.NDArray[np.bool_]) -> int:
    if found.words.startswith("safe"):
        return 0  # the task was the audit itself
    result = audit(problem, pattern, only_primary=True, time_limit=_AUDIT)
    return len({v.cells[0] for v in result.violations})
