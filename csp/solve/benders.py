"""The cut loop: proven cheapest patterns by cuts, an integer program and exact audits.

Cuts first drive the linear relaxation; then the integer program proposes patterns, the attacker
answers with the cuts they violate, until a proposal survives the exact audit (Benders
decomposition; Fischetti and Salazar-Gonzalez 2000; paper 003, Definition 4).
"""

from __future__ import annotations

import time

import numpy as np

from csp.errors import OutOfTime, SolverError, Unprotectable
from csp.problem import Problem
from csp.solve.branch import branch
from csp.solve.explain import unprotectable
from csp.solve.guide import completed, first_patterns, guided, improved
from csp.solve.result import ProgressCallback, Suppression
from csp.solve.run import Run, answer_pattern, contenders, drive
from csp.solve.tiebreak import break_ties
from csp.solve.unions import union_cuts_beforehand

__all__ = ["solve_by_cuts"]

# Rounds of the cut phase after which its point guides a search: a good incumbent early excludes
# most cells of a large table.
_GUIDED_ROUNDS = (3, 6, 12, 24)

# Share of the gap that a cell may take up to be in the first integer programs, and the number of
# cells up to which a program is no trouble.
_FIRST_SHARE = 1 / 16
_SMALL_PROGRAM = 1000

# The same for programs that only look for patterns.
_CORE_SHARE = 1 / 8
_CORE_NODES = 200


def solve_by_cuts(
    problem: Problem, *, time_limit: float | None, gap: float, integer: bool, seed: int,
    progress: ProgressCallback | None, tree: bool = False,
) -> Suppression:  # fmt: skip
    """Solve a problem by the cut loop; see `csp.suppress` for the parameters.

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
    deadline = time.monotonic() + (np.inf if time_limit is None else time_limit)
    run = Run(problem, deadline, gap, integer, seed, progress)
    stopped, canonical = "done", False
    try:
        _begin(run)
        _linear_phase(run)
        _improving_phase(run)
        if tree and run.net is None and not run.close_enough and run.left > 0:
            branch(run)
        else:
            _integer_phase(run)
        if run.best_cost == run.bound:
            stopped = break_ties(run)
            canonical = stopped == "done"
        elif run.left <= 0:
            stopped = "time"
        else:
            stopped = "gap" if run.close_enough else "precision"
    except OutOfTime:
        stopped = "time"
    except SolverError:
        # A safe pattern is worth more than the reason why no better one was found.
        if run.best is None:
            raise
        stopped = "precision"
    except KeyboardInterrupt:
        if run.best is None:
            raise
        stopped = "interrupt"
    if run.best is None or run.best_cost is None:
        msg = "no safe pattern was found in the time given; allow more time"
        raise OutOfTime(msg)
    pattern = run.best.copy()
    pattern.flags.writeable = False
    proven = run.bound == run.best_cost
    return Suppression(
        pattern=pattern,
        cost=run.best_cost,
        bound=run.bound,
        gap=0.0 if proven else (run.best_cost - run.bound) / run.best_cost,
        proven=proven,
        canonical=canonical,
        seconds=time.monotonic() - run.began,
        method="cuts",
        stopped=stopped,
        stats={
            "attacker_problems": run.separator.solved,
            "cuts": len(run.master.cuts),
            "audits": run.audits,
        },
        phases=dict(run.seconds),
    )


def _begin(run: Run) -> None:
    """Find a first safe pattern, or the cell that no pattern protects.

    Safety grows with the pattern: what is not safe with everything suppressed that may be, never
    is. Only the rule for sums of suppressed cells may fail there and hold for a smaller pattern.
    """
    problem = run.problem
    first_patterns(run)
    if run.best is None:
        result = run.offer(problem.forced | problem.free)
        if any(v.kind != "union" for v in result.violations):
            raise unprotectable(problem, result)
    run.master.add(union_cuts_beforehand(problem))
    run.tell("start")


def _linear_phase(run: Run) -> None:
    """Drive the linear relaxation with cuts, and let it guide the search for patterns."""
    x, turn = None, 0
    for answer in drive(run):
        run.raise_bound(answer.bound)
        x, turn = answer.x, turn + 1
        run.tell("cuts")
        if run.net is not None and x is not None and turn in _GUIDED_ROUNDS:
            guided(run, x, (0.9,))
            run.tell("guided")
        run.narrow(answer)
        if run.close_enough:
            return
    answer = run.master.relax()
    if answer.x is not None:
        run.raise_bound(answer.bound)
        x = answer.x
    if x is not None and run.left > 0 and not run.close_enough:
        guided(run, x)
        run.tell("guided")
        run.narrow(answer)


def _improving_phase(run: Run) -> None:
    """Search for better patterns before the gap is closed from below.

    Under a time limit large tables get a good part of it, since their tree will not be closed.
    """
    if run.net is not None or run.close_enough or run.left <= 0:
        return
    until = np.inf
    if run.deadline < np.inf:
        until = time.monotonic() + 0.6 * run.left
    _core_programs(run, min(until, time.monotonic() + 0.3 * run.left))
    improved(run, until)
    run.narrow(run.master.relax())
    run.tell("improved")


def _core_programs(run: Run, until: float) -> None:
    """Integer programs over the cells that the relaxation likes best, for their patterns only."""
    share, fruitless = _CORE_SHARE, 0
    while fruitless < 4 and time.monotonic() < until and not run.close_enough:
        assert run.best_cost is not None
        answer = run.master.search(
            run.problem.cost.astype(np.float64),
            candidates=contenders(run, run.best_cost - run.step - run.constant, share),
            step=run.step,
            time_limit=None if until == np.inf else until - time.monotonic(),
            most_nodes=_CORE_NODES,
        )
        run.tell("core")
        if answer.x is None:
            share, fruitless = 2 * share, fruitless + 1
            continue
        before = run.best_cost
        pattern = answer.x > 0.5
        if answer_pattern(run, pattern) is None:
            completed(run, pattern, run.master.relax().x)
        fruitless = 0 if run.best_cost < before else fruitless + 1


def _integer_phase(run: Run) -> None:
    """Close the gap by integer programs and cuts, until proof, gap or time.

    Programs over few promising cells come first: they are quick, and the incumbents that they
    find exclude most other cells from the last program, which proves the bound.
    """
    problem = run.problem
    share = _FIRST_SHARE
    while not run.close_enough and run.left > 0:
        # A row that limits the cost to less than the incumbent's would prune as well as the
        # incumbent does as a start, but it invites trouble where costs span many magnitudes.
        better = None if run.best_cost is None else run.best_cost - run.step - run.constant
        candidates = contenders(run, better)
        if better is None or candidates.sum() <= _SMALL_PROGRAM:
            share = 1.0
        if share < 1:
            candidates = contenders(run, better, share)
        answer = run.master.search(
            problem.cost.astype(np.float64),
            candidates=candidates if run.best is None else candidates | (run.best & problem.free),
            start=run.best,
            step=run.step,
            time_limit=None if run.left == np.inf else run.left,
        )
        if share < 1:
            if answer.x is None or run.cost_of(answer.x > 0.5) >= (run.best_cost or 0):
                share = min(1.0, 4 * share)
                continue
        elif answer.word == "infeasible":
            if run.best is None:
                raise _no_union_safe_pattern(problem)
            return  # the incumbent satisfies every cut: only the solver's tolerances say no
        else:
            run.raise_bound(answer.bound)
        run.tell("search")
        if answer.x is None:
            return
        pattern = answer.x > 0.5
        best = run.best_cost
        if share == 1 and answer.word == "optimal" and best is not None:
            # The cheapest pattern that satisfies the cuts costs no less than the incumbent.
            run.bound = best if run.cost_of(pattern) >= best else run.bound
        if run.close_enough:
            return
        known = len(run.master.cuts)
        if answer_pattern(run, pattern) is not None:
            if answer.word == "doubtful" and len(run.master.cuts) == known:
                return
        else:
            answer = run.master.relax()
            completed(run, pattern, answer.x)
        run.narrow(run.master.relax())


def _no_union_safe_pattern(problem: Problem) -> Unprotectable:
    msg = (
        "every pattern publishes a sensitive sum of suppressed cells; let margins be suppressed, "
        "merge categories, or drop unions=True"
    )
    return Unprotectable(msg)
