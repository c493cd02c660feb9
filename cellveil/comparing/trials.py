"""One method on one table: its pattern, the verdict of the audit, and what an attack finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from attacks.algorithm_known.matching_attack import matching
from attacks.algorithm_known.matching_results import Matching
from cellveil.comparing.modular import modular
from csp.audits.audit import Audit, judge
from csp.audits.intervals import intervals
from csp.audits.violations import Violation
from csp.clock import Clock
from csp.errors import CellveilError
from csp.exact import Bools, Floats
from csp.mechanism import Mechanism
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.solve import Suppression, suppress
from csp.solve.own_patterns import OwnMethod, pattern_of
from csp.solve.result import cost_of, in_measure
from csp.tables.table import Table

MODULAR = "modular"
"""Word for `cellveil.comparing.modular.modular`."""

Method = str | OwnMethod

TALLY = ("attacked", "attacked_primary", "unsafe", "unsafe_primary", "undecided")
"""What is counted of an attack."""

_WITHOUT_SEED = ("ilp", "small")

_UNFINISHED = "not attacked: the search ended before its canonical optimum, wherever it was then"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trial:
    """What came of one method on one table.

    Attributes
    ----------
    table, method : str
    cells, primary : int or None
        Of the table; None if no problem could be posed.
    pattern : (n,) bool or None
        As the method gave it; None if it gave none.
    secondary : int or None
        Suppressed cells that are not primary.
    cost : float or None
        Of the secondary cells, as a number of the measure.
    bound : float or None
        No safe pattern costs less, by all methods of the study together.
    safe : bool or None
        By the exact audit; None if there is no pattern, or no verdict in time.
    violations : tuple of Violation
    seconds, cpu : float or None
        Wall and CPU time of the method, its own audit and proof included.
    widths : (p,) float64
        Width of the feasibility interval of each primary cell that is suppressed, in numbers of
        the measure; NaN where it is not known.
    attacked : Matching or None
        The matching attack on the release.
    sensitive : (k,) bool or None
        Which of the attacked cells are primary.
    reason : str
        Why there is no pattern, no verdict or no attack; empty if there is.
    """

    table: str
    method: str
    cells: int | None = None
    primary: int | None = None
    pattern: Bools | None = None
    secondary: int | None = None
    cost: float | None = None
    bound: float | None = None
    safe: bool | None = None
    violations: tuple[Violation, ...] = ()
    seconds: float | None = None
    cpu: float | None = None
    widths: Floats | None = None
    attacked: Matching | None = None
    sensitive: Bools | None = None
    reason: str = ""

    def __repr__(self) -> str:
        word = {True: "safe", False: "unsafe", None: "not judged"}[self.safe]
        return f"Trial({self.method} on {self.table}: {word})"

    @property
    def gap(self) -> float | None:
        """``(cost - bound) / cost`` of a safe pattern; 0 if it is proved to be cheapest."""
        if not self.safe or self.cost is None or self.bound is None:
            return None
        return (self.cost - self.bound) / self.cost if self.cost > 0 else 0.0

    @property
    def narrowest(self) -> float | None:
        """Width of the narrowest interval of a primary cell."""
        known = np.empty(0) if self.widths is None else self.widths[~np.isnan(self.widths)]
        return float(known.min()) if len(known) else None

    @property
    def effective(self) -> Floats:
        """Widths that the attack leaves primary cells, (p,), in numbers of the measure."""
        if self.attacked is None or self.sensitive is None:
            return np.empty(0)
        found = self.attacked
        return np.asarray(found.width[self.sensitive] / 10.0**found.release.scale)

    def tally(self) -> dict[str, int | None]:
        """Cells that were attacked, those of them proved unsafe, and those that were not judged."""
        if self.attacked is None or self.sensitive is None:
            return dict.fromkeys(TALLY)
        marks = np.zeros(len(self.attacked.release.pattern), bool)
        marks[self.attacked.cells] = self.sensitive
        found = self.attacked.tally(marks)
        return {
            "attacked": found["cells"],
            "attacked_primary": found["primary"],
            "unsafe": found["unsafe"],
            "unsafe_primary": found["unsafe_primary"],
            "undecided": found["undecided"] + found["not_judged"],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is asked of every trial; see `cellveil.comparing.own_methods.study`."""

    mechanism: Mechanism
    attack: str | None
    time_limit: float | None
    seed: int


def tried(task: Task, table: Table, method: Method, names: tuple[str, str]) -> Trial:
    """Run a method on a table, audit its pattern and attack the release.

    What goes wrong is the reason of a trial, whatever the method raises; KeyboardInterrupt is not
    caught.
    """
    trial = Trial(*names, cells=table.n_cells)
    try:
        problem = task.mechanism.problem(table)
    except CellveilError as error:
        return replace(trial, reason=_words(error))
    trial = replace(trial, primary=int(problem.primary.sum()))
    wall, cpu = time.perf_counter(), time.process_time()

    def timed(one: Trial) -> Trial:
        return replace(one, seconds=time.perf_counter() - wall, cpu=time.process_time() - cpu)

    try:
        found = _searched(task, problem, method)
        pattern = pattern_of(problem, _called(task, method)) if found is None else found.pattern
    except Exception as error:  # noqa: BLE001, RUF100 (a method of the user's own may raise any)
        return replace(timed(trial), reason=_words(error))
    trial = timed(trial)
    bound = cost_of(problem, problem.forced) if found is None else found.bound
    trial = replace(
        trial, pattern=pattern, cost=in_measure(cost_of(problem, pattern), problem),
        bound=in_measure(bound, problem), secondary=int((pattern & ~problem.primary).sum()),
    )  # fmt: skip
    trial = _judged(task, problem, trial, None if found is None else found.audit)
    if task.attack is None:
        return trial
    if found is not None and not found.canonical:
        # What a search gives that is cut short depends on the machine.
        return replace(trial, reason=_joined(trial.reason, _UNFINISHED))
    return _attacked(task, problem, trial, method)


def _searched(task: Task, problem: Problem, method: Method) -> Suppression | None:
    """Run a method of the library's; None for others."""
    if not isinstance(method, str) or method == MODULAR:
        return None
    found = suppress(
        problem, method=method, time_limit=task.time_limit,
        integer=task.mechanism.attacker_is_integer(problem.table),
        seed=0 if method.partition(":")[0] in _WITHOUT_SEED else task.seed,
    )  # fmt: skip
    if found.stopped == "interrupt":
        raise KeyboardInterrupt
    return found


def _called(task: Task, method: Method) -> OwnMethod:
    """Give a method that is not a search of the library's as a function."""
    if callable(method):
        return method

    def in_parts(problem: Problem) -> Bools:
        integer = task.mechanism.attacker_is_integer(problem.table)
        return modular(problem, integer=integer, clock=Clock.of(task.time_limit))

    return in_parts


def _judged(task: Task, problem: Problem, trial: Trial, audited: Audit | None) -> Trial:
    """Add the verdict of the audit and the widths of primary cells."""
    pattern, integer = trial.pattern, task.mechanism.attacker_is_integer(problem.table)
    assert pattern is not None
    cells = np.flatnonzero(pattern & problem.primary)
    widths = np.full(len(cells), np.nan)
    try:
        clock = Clock.of(task.time_limit)
        if audited is None:
            audited = judge(problem, pattern, integer=integer, clock=clock)
        trial = replace(trial, safe=audited.safe, violations=audited.violations)
        found = intervals(
            problem.table, pattern, integer=integer, cells=cells, time_limit=clock.seconds
        )
        widths = (found.upper - found.lower)[cells] / 10.0**problem.table.scale
    except CellveilError as error:
        trial = replace(trial, reason=_words(error))
    return replace(trial, widths=widths)


def _attacked(task: Task, problem: Problem, trial: Trial, method: Method) -> Trial:
    """Add the matching attack, by an attacker who has the method."""
    assert trial.pattern is not None
    if not trial.pattern.any():
        return trial
    known: Mechanism | Callable[[Table], Any] = task.mechanism
    width = None
    if not isinstance(method, str) or method == MODULAR:
        known = _program(task, _called(task, method))
        units = task.mechanism.uniform_width(problem.table)
        width = None if units is None else Fraction(units, 10**problem.table.scale)
    release = Release.of(problem.table, trial.pattern)
    try:
        found = matching(release, known, width=width, time_limit=task.time_limit, seed=task.seed)
    except Exception as error:  # noqa: BLE001, RUF100 (the method runs on every table)
        return replace(trial, reason=_joined(trial.reason, f"not attacked: {_words(error)}"))
    if found.interrupted:
        raise KeyboardInterrupt
    return replace(trial, attacked=found, sensitive=problem.primary[found.cells])


def _program(task: Task, method: OwnMethod) -> Callable[[Table], Any]:
    """Give the pattern that a method publishes of a table: what an attacker runs."""

    def program(table: Table) -> Any:
        return pattern_of(task.mechanism.problem(table), method)

    return program


def _words(error: BaseException) -> str:
    kind = type(error).__name__
    return f"{kind}: {error}" if str(error) else kind


def _joined(first: str, second: str) -> str:
    return f"{first}; {second}" if first else second
