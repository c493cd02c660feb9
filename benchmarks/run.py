"""The loop: specs by solvers, one at a time, results on disk after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import peers
from benchmarks.frozen import FROZEN
from benchmarks.goals import DIFFER, contradictions, missed
from benchmarks.page import write_page
from benchmarks.peers import Run
from benchmarks.results import Row, machine, read_rows, versions, write_rows
from benchmarks.specs import Spec, digest
from csp.errors import InputError
from csp.problem.problem import Problem

_REPEATS = 3
_SHORT = 1.0
"""CPU seconds below which a run is repeated: such times vary with what else the machine does."""


class Watch:
    """Is told what the loop does; this one says nothing."""

    def begin(self, spec: Spec, solver: str, place: int, total: int) -> None:
        """Hear that a run begins, the `place`-th of `total`."""

    def end(self, spec: Spec, row: Row, *, kept: bool) -> None:
        """Hear that a run has ended, or is kept from before."""

    def note(self, words: str) -> None:
        """Hear of something that is not a run."""


@dataclass(slots=True)
class Outcome:
    """What a benchmark came to.

    Attributes
    ----------
    rows : list of Row
        Of the specs and solvers asked for, kept ones included.
    wrong : list of str
        Contradictions, each with its spec: see `benchmarks.goals.contradictions`.
    missed : list of str
        Targets missed, each with its spec.
    absent : list of str
        Specs that could not be posed.
    interrupted : bool
        Whether it was ended by Ctrl-C. What had been done is on disk.
    """

    rows: list[Row] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    interrupted: bool = False


def solvers_of(spec: Spec, asked: Sequence[str] | None = None) -> list[str]:
    """Solvers to run on a spec: those asked for, or ours and the spec's peers.

    Batches are for ours and integer programs in PuLP, audits for ours.

    Raises
    ------
    InputError
        For an unknown solver.
    """
    names = peers.expand(asked if asked is not None else ("ours", *spec.peers))
    able = {"suppress": peers.BASES, "batch": ("ours", "ilp"), "audit": ("ours",)}[spec.task]
    return [name for name in names if name.partition(":")[0] in able]


def benchmark(
    chosen: Sequence[Spec],
    registry: Sequence[Spec],
    folder: Path,
    *,
    solvers: Sequence[str] | None = None,
    time_limit: float | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Run specs by solvers, one at a time, and keep the results in a folder.

    results.csv is rewritten after every run, results.md with it. A run that results.csv holds
    already, of the same problem and limit by the same versions on the same machine, is not done
    again.

    Parameters
    ----------
    chosen : sequence of Spec
        What to run.
    registry : sequence of Spec
        All specs, for the words on the page.
    folder : Path
        Made if it does not exist.
    solvers : sequence of str, optional
        By the names of `benchmarks.peers`; ours and each spec's own peers by default.
    time_limit : float, optional
        Seconds, instead of the specs' own.
    fresh : bool
        Do everything again that is chosen.
    watch : Watch, optional

    Returns
    -------
    Outcome

    Raises
    ------
    InputError
        For an unknown solver, or a folder or file that cannot be used.
    """
    watch = watch or Watch()
    plan = [(spec, solvers_of(spec, solvers)) for spec in chosen]
    folder = _made(folder)
    keep = Keep(folder, tuple(registry))
    if fresh:
        asked = {(spec.path, name) for spec, names in plan for name in names}
        keep.rows = {key: row for key, row in keep.rows.items() if key not in asked}
    total, place = sum(len(names) for _, names in plan), 0
    session = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    outcome = Outcome()
    try:
        for spec, names in plan:
            if spec.absent:
                outcome.absent.append(f"{spec.path}: {spec.absent}")
                watch.note(f"{spec.path} is absent: {spec.absent}")
                keep.absent[spec.path] = spec.absent
                place += len(names)
                continue
            if names:
                _one_spec(spec, names, time_limit, session, keep, outcome, watch, (place, total))
            place += len(names)
    except KeyboardInterrupt:
        outcome.interrupted = True
    keep.save()
    return outcome


class Keep:
    """Rows by spec and solver, and their files."""

    def __init__(self, folder: Path, registry: tuple[Spec, ...]) -> None:
        self.table, self.page = folder / "results.csv", folder / "results.md"
        self.registry = registry
        self.rows = {row.key: row for row in read_rows(self.table)}
        self.absent: dict[str, str] = {}

    def add(self, row: Row) -> None:
        """Take a row in place of an older one, and write the files."""
        self.rows[row.key] = row
        self.save()

    def save(self) -> None:
        """Write the files, rows in the order of the registry."""
        order = {spec.path: i for i, spec in enumerate(self.registry)}
        rows = sorted(self.rows.values(), key=lambda row: order.get(row.path, len(order)))
        write_rows(self.table, rows)
        write_page(self.page, rows, self.registry, self.absent)


def _one_spec(
    spec: Spec,
    names: list[str],
    time_limit: float | None,
    session: str,
    keep: Keep,
    outcome: Outcome,
    watch: Watch,
    place: tuple[int, int],
) -> None:
    problem = spec.build()
    found = digest(spec, problem)
    if spec.path in FROZEN and FROZEN[spec.path] != found:
        watch.note(f"{spec.path} is not the frozen problem here: do not compare its figures")
    limit = float(spec.time_limit if time_limit is None else time_limit)
    runs: dict[str, Run] = {}
    try:
        for i, name in enumerate(names):
            row = keep.rows.get((spec.path, name))
            kept = row is not None and row.same(found, spec.method, limit)
            if row is None or not kept:
                watch.begin(spec, name, place[0] + i + 1, place[1])
                run = _steady(name, spec, problem, limit)
                row = Row(
                    spec.group, spec.name, spec.method, limit, found, problem.table.n_cells,
                    int(problem.primary.sum()), problem.cost_scale, session, versions(name),
                    machine(), run,
                )  # fmt: skip
                keep.add(row)
            runs[name] = row.run
            outcome.rows.append(row)
            watch.end(spec, row, kept=kept)
    finally:
        # What is wrong is said even when the rest was interrupted.
        _judge(spec, runs, outcome)


def _steady(name: str, spec: Spec, problem: Problem, limit: float) -> Run:
    """Run a solver, and short runs three times, of which the fastest counts.

    If the answers differ, the worst of them counts, and its outcome says so.
    """
    best: Run | None = None
    for _ in range(_REPEATS):
        run = peers.run(
            name, problem, limit, method=spec.method, task=spec.task, tables=spec.tables
        )
        answered = (run.outcome, run.value, run.unsafe)
        if best is not None and answered != (best.outcome, best.value, best.unsafe):
            worst = max(best, run, key=lambda r: (r.value is None, r.unsafe or 0, r.value or 0))
            return replace(worst, outcome=f"{worst.outcome}; {DIFFER}")
        if best is None or (run.cpu or 0.0) < (best.cpu or 0.0):
            best = run
        if spec.task == "batch" or run.cpu is None or not run.cpu < _SHORT:
            break
    assert best is not None
    return best


def _judge(spec: Spec, runs: dict[str, Run], outcome: Outcome) -> None:
    for name, run in runs.items():
        if name.partition(":")[0] != "ours":
            continue
        others = {other: found for other, found in runs.items() if other != name}
        outcome.wrong += [
            f"{spec.path}: {words}" for words in contradictions(run, others, spec.known)
        ]
        if name == "ours":
            outcome.missed += [f"{spec.path}: {words}" for words in missed(spec.goal, run, others)]


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot make the folder {str(folder)!r}: {error.strerror}"
        raise InputError(msg) from error
    return folder
