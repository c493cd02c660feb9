"""The process in which one solver runs once: it reads a job, answers, and says what it took.

The job is prepared and our compiled loops are warmed up first; then the file "started" is written
and the clock runs.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.argus import Found, prepare_modular, prepare_optimal
from benchmarks.own import PREFIX, prepare_own
from benchmarks.posed import batch_of, of_batch
from csp.clock import UNLIMITED, Clock
from csp.errors import CellveilError, OutOfTime
from csp.problem.problem import Problem

SAMPLE = 20
"""Tables of a batch whose cost is reported and whose patterns are audited."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What a process is to do: see `benchmarks.specs.Spec` for the fields."""

    solver: str
    problem: Problem
    method: str
    time_limit: float
    task: str = "suppress"
    tables: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a solver found, and what that took.

    Attributes
    ----------
    found : Found
        For a batch, its pattern has one row for each of the first `SAMPLE` tables.
    cpu, wall : float
        Seconds; of a batch, for one table on average.
    proof : float or None
        Wall seconds until the optimum was proved, the choice among the cheapest left out.
    memory : float or None
        High-water mark of the process in MB; None where the system does not tell.
    """

    found: Found
    cpu: float
    wall: float
    proof: float | None
    memory: float | None


Solve = Callable[[], tuple[Found, float | None, int]]
"""Returns what was found, seconds to the proof, and the number of tables done."""


def main() -> None:
    """Read the job in the folder named on the command line, and leave the answer there."""
    folder = Path(sys.argv[1])
    with (folder / "job.pickle").open("rb") as file:
        job = pickle.load(file)  # noqa: S301, RUF100 (our own parent wrote it)
    answer = perform(job, folder, lambda: _tell_start(folder))
    with (folder / "answer.draft").open("wb") as file:
        pickle.dump(answer, file)
    (folder / "answer.draft").rename(folder / "answer.pickle")


def perform(job: Job, folder: Path, start: Callable[[], None]) -> Answer:
    """Do a job; `start` is called when it has been prepared."""
    try:
        solve = _prepared(job, folder)
    except ModuleNotFoundError as error:
        return _nothing(f"not installed: {error.name}")
    except CellveilError as error:
        return _nothing(f"not run: {error}")
    start()
    wall, cpu = time.perf_counter(), _cpu_seconds()
    try:
        found, proof, tables = solve()
    except OutOfTime:
        found = Found(None, None, proven=False, words="time limit, no answer")
        proof, tables = None, 1
    except CellveilError as error:
        found = Found(None, None, proven=False, words=f"{type(error).__name__}: {error}")
        proof, tables = None, 1
    wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
    return Answer(found, cpu / tables, wall / tables, proof, _memory())


def pulp_solvers() -> list[str]:
    """Names of the solvers that PuLP finds on this machine."""
    import pulp

    return sorted(set(pulp.listSolvers(onlyAvailable=True)))


# ---- solvers -------------------------------------------------------------------------------------


def _prepared(job: Job, folder: Path) -> Solve:
    base, _, name = job.solver.partition(":")
    if job.task == "batch":
        return _our_batch(job) if base == "ours" else _their_batch(job, name)
    if base == "ours":
        return _our_audit(job) if job.task == "audit" else _ours(job, name or job.method)
    if base == "without":
        return _ours(job, job.method, frozenset({name}))
    if base == "ilp":
        return _ilp(job, name)
    if base == PREFIX:
        mine = prepare_own(job.solver, job.problem)
        return lambda: (mine(), None, 1)
    prepare = {"argus": prepare_optimal, "modular": prepare_modular}[base]
    run = prepare(job.problem, folder, job.time_limit)
    return lambda: (run(), None, 1)


def _ours(job: Job, method: str, without: frozenset[str] = frozenset()) -> Solve:
    from csp import suppress
    from csp.solve.incumbent import left_out

    _warm_up(method)

    def solve() -> tuple[Found, float | None, int]:
        with left_out(without):
            result = suppress(job.problem, method=method, time_limit=job.time_limit)
        proof = None
        if result.proven:
            ties = result.phases.get("tie-break", 0.0)
            proof = sum(result.phases.values()) - ties if result.phases else result.seconds
        words = "proven" if result.proven else {"time": "time limit"}.get(
            result.stopped, result.stopped
        )  # fmt: skip
        if result.proven and not result.canonical:
            words = "proven, not canonical"
        found = Found(result.pattern, Fraction(result.bound), proven=result.proven, words=words)
        return found, proof, 1

    return solve


def _our_audit(job: Job) -> Solve:
    """Audit a pattern that is found beforehand, any good one."""
    from csp import audit, suppress

    pattern = suppress(job.problem, time_limit=job.time_limit, gap=0.999).pattern

    def solve() -> tuple[Found, float | None, int]:
        result = audit(job.problem, pattern, only_primary=True)
        words = "safe" if result.safe else "unsafe"
        return Found(pattern, None, proven=False, words=words), None, 1

    return solve


def _our_batch(job: Job) -> Solve:
    from csp.solve.small.batch import SmallSolver

    values, primary, cost = batch_of(job.problem, job.tables)
    solver = SmallSolver(job.problem)
    solver.solve_many(values[:1], primary[:1], cost=cost[:1])  # compiles

    def solve() -> tuple[Found, float | None, int]:
        batch = solver.solve_many(values, primary, cost=cost)
        # That a table cannot be protected at all is proved as well.
        done = int((batch.outcome != "limit").sum())
        words = "proven" if done == len(values) else f"{done} of {len(values)} proven"
        hopeless = int((batch.outcome == "infeasible").sum())
        words += f" ({hopeless} unprotectable)" if hopeless else ""
        found = Found(batch.patterns[:SAMPLE], None, proven=done == len(values), words=words)
        return found, None, len(values)

    return solve


def _their_batch(job: Job, name: str) -> Solve:
    """Solve the first tables of a batch by integer programs in PuLP, one after the other."""
    from csp.solve.ilp.suppression import solve_by_ilp

    drawn = list(zip(*batch_of(job.problem, SAMPLE), strict=True))
    solve_by_ilp(of_batch(job.problem, *drawn[0]), solver=_pulp_solver(name), clock=UNLIMITED)

    def solve() -> tuple[Found, float | None, int]:
        patterns = []
        for values, primary, cost in drawn:
            problem = of_batch(job.problem, values, primary, cost)
            found = solve_by_ilp(problem, solver=_pulp_solver(name), clock=UNLIMITED)
            patterns.append(found.pattern)
        words = f"proven ({len(patterns)} tables)"
        return Found(np.stack(patterns), None, proven=True, words=words), None, len(patterns)

    return solve


def _ilp(job: Job, name: str) -> Solve:
    from csp.solve.ilp.suppression import solve_by_ilp

    _warm_up("ilp")
    # PuLP calls what a solver had at its time limit optimal. Only HiGHS tells the difference, so
    # other solvers get no limit of their own, and are ended from outside.
    limit = job.time_limit if name in ("", "HiGHS") else None
    solver = None if name in ("", "HiGHS") else _pulp_solver(name)

    def solve() -> tuple[Found, float | None, int]:
        result = solve_by_ilp(job.problem, clock=Clock.of(limit), solver=solver)
        found = Found(result.pattern, Fraction(result.bound), proven=True, words="proven")
        return found, None, 1

    return solve


def _pulp_solver(name: str) -> Any:
    """Solver of PuLP by name, silent, on one thread, to the last digit; None for the default."""
    if name in ("", "HiGHS"):
        return None
    import inspect

    import pulp

    if name not in pulp_solvers():
        raise ModuleNotFoundError(name=name)
    takes = inspect.signature(type(pulp.getSolver(name)).__init__).parameters
    wanted = {"msg": False, "threads": 1, "gapRel": 0.0}
    return pulp.getSolver(name, **{key: v for key, v in wanted.items() if key in takes})


# ---- what it takes -------------------------------------------------------------------------------


def _warm_up(method: str) -> None:
    """Load libraries and compiled loops on small tables of either kind."""
    from benchmarks.posed import cube, frequency
    from csp import suppress
    from csp.compiled import at_once
    from csp.solve.general.classes import Classes
    from csp.solve.general.tableau import pivot

    with at_once():  # loops that no small problem comes to
        pivot(np.eye(2), 0, 0)
        Classes(np.eye(2), np.zeros(2, bool), np.random.default_rng(0))
    if method in ("ilp", "small"):
        suppress(frequency(4, 4), method=method)
        return
    for problem in (frequency(4, 4), frequency(9, 9), cube(3, 4, 4)):
        suppress(problem, method=method, time_limit=60)


def _nothing(words: str) -> Answer:
    return Answer(Found(None, None, proven=False, words=words), 0.0, 0.0, None, None)


def _tell_start(folder: Path) -> None:
    (folder / "started.draft").write_text(repr(_cpu_seconds()))
    (folder / "started.draft").rename(folder / "started")


def _cpu_seconds() -> float:
    """CPU seconds of this process and of the solvers that it started and that have ended."""
    try:
        import resource
    except ImportError:  # not on Windows, where solvers of their own process are not counted
        return time.process_time()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _memory() -> float | None:
    status = Path("/proc", str(os.getpid()), "status")  # where the system is Linux
    if status.exists():
        # What resource reports begins with the memory of the process that started this one.
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)
