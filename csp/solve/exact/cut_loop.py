"""The cut loop: proven cheapest patterns by cuts, an integer program and exact audits.

Cuts first drive the linear relaxation; then the integer program proposes patterns, the attacker
answers with the cuts they violate, until a proposal survives the exact audit (Benders
decomposition; Fischetti and Salazar-Gonzalez 2000; Minami and Abe 2019, Definition 4). What is done
in which order, and for how long, is in `csp.solve.exact.schedule`; this is its driver.
"""

from __future__ import annotations

from functools import partial

from csp.audits.audit import Audit
from csp.clock import Clock
from csp.errors import OutOfTime
from csp.highs import retries
from csp.problem.problem import Problem
from csp.solve.exact.branching.tiebreak import break_ties
from csp.solve.exact.schedule import Phase, Schedule, schedule_of
from csp.solve.exact.state import Run
from csp.solve.result import ProgressCallback, Suppression


def solve_by_cuts(
    problem: Problem, *, clock: Clock, gap: float, integer: bool, seed: int,
    progress: ProgressCallback | None, method: str = "auto", start: Audit | None = None,
) -> Suppression:  # fmt: skip
    """Solve a problem by cuts; see `csp.suppress` for the parameters.

    `start` is the audit of a safe pattern to begin with.

    Raises
    ------
    Unprotectable
        If a primary cell misses its levels even with everything suppressed.
    OutOfTime
        If the time ran out before any safe pattern was known.
    KeyboardInterrupt
        If interrupted before any safe pattern was known; later an interrupt ends the run with
        the best pattern.
    """
    tries = retries()
    run = Run(problem, clock, gap, integer, seed, progress)
    if start is not None:
        run.begin_with(start)
    schedule = schedule_of(method, run)
    stopped = run.ended_by(partial(_follow_all, run, schedule))
    if run.audit is None and run.refused is not None:
        raise run.refused
    stats = {
        "attacker_problems": run.separator.solved,
        "cuts": len(run.master.cuts),
        "solver_retries": retries() - tries,
    }
    return run.result(schedule.method, stopped, stats, canonical=stopped == "done")


def _follow_all(run: Run, schedule: Schedule) -> str:
    """Go through all phases and say what ended them; "done" if the pattern is canonical."""
    _follow_each(run, schedule.first)
    goes_on = True
    while goes_on and not (run.close_enough or run.limit.over):
        run.begin_round()
        before = run.bound, run.best_cost
        _follow_each(run, schedule.rounds)
        # A round that gained nothing and left half of its time has nothing more to try.
        gained = (run.bound, run.best_cost) != before
        goes_on = run.limit.limits and (gained or run.until(0.5).over)
    run.end_rounds()
    if run.best_cost == run.bound:
        outcome = "done" if run.canonical else break_ties(run)
        run.report("tie-break")
        return outcome
    if run.limit.over:
        return "time"
    return "gap" if run.close_enough else "precision"


def _follow_each(run: Run, phases: tuple[Phase, ...]) -> None:
    for phase in phases:
        if not run.close_enough:
            follow(run, phase)


def follow(run: Run, phase: Phase) -> None:
    """Do what a phase of the schedule does, if it applies and has time."""
    if phase.name in run.without or not phase.when(run):
        return
    until = phase.until(run)
    if until.over:
        return
    try:
        phase.work(run, until)
    except OutOfTime:
        if phase.role != "heuristic" and run.limit.over:
            raise
    run.report(phase.stage)
