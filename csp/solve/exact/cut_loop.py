"""The cut loop: proven cheapest patterns by cuts, an integer program and exact audits.

Cuts first drive the linear relaxation; then the integer program proposes patterns, the attacker
answers with the cuts they violate, until a proposal survives the exact audit (Benders
decomposition; Fischetti and Salazar-Gonzalez 2000; Minami and Abe 2019, Definition 4).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from csp.clock import Clock, now
from csp.errors import OutOfTime, SolverError
from csp.highs import retries
from csp.problem.problem import Problem
from csp.solve.exact.guide import (
    PATIENCE,
    VERY_LARGE,
    audit_waiting,
    complete_pattern,
    first_patterns,
    improve,
    round_lp,
    subspaces_fail,
    subspaces_lead,
)
from csp.solve.exact.part_programs import improve_parts
from csp.solve.exact.root_cuts import tighten
from csp.solve.exact.state import Run, accept_or_cut, cut_rounds, survivors
from csp.solve.exact.tiebreak import break_ties
from csp.solve.exact.tree import branch
from csp.solve.exact.unions import union_cuts_beforehand
from csp.solve.fallback import grace
from csp.solve.large.engine import begins, solve_large
from csp.solve.large.relaxation import Relaxation
from csp.solve.result import ProgressCallback, Suppression
from csp.solve.unprotectable import no_union_safe_pattern, unprotectable
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.field import Field

__all__ = ["solve_by_cuts"]

# Share of the time for first patterns: the rest must do to audit full suppression, if this has not
# been done.
_FIRST_PATTERNS = 0.5
_BETTER_PATTERNS = 0.7

# The share of the time for the audit of everything suppressed, where that comes first.
_EVERYTHING = 0.3

# The share of the time for witnesses in parts of the table, where these come first.
_LOCAL_SHARE = 0.7
_LOCAL_TIMES = 2.0

# Rounds of the cut phase after which its point guides a search: a good incumbent early excludes
# most cells of a large table.
_GUIDED_ROUNDS = (3, 6, 12, 24)

# Share of the gap that a cell may take up to be in the first integer programs, and the number of
# cells up to which a program is easy.
_FIRST_SHARE = 1 / 16
_LEAST_SHARE = 1e-4
_SMALL_PROGRAM = 1000

# The share of the time for a bound where subspaces lead: the gap stays wide, and to search on for
# half of the time costs a twentieth of the bound of hier13 and gains as much of its pattern.
_SHARE_OF_DEEP = 0.1

# The share of the time after which cuts give way to what tightens them and to searches: they raise
# the bound of toy3dsarah by less from the 140th to the 200th second than these in 20.
_SHARE_OF_CUTS = 0.5

# Shares of the time used so far that searches for patterns get before and after the relaxation is
# tightened. Below the small gap a tree is expected to end; above it they get more, this share of
# what is left. A wide gap of a large table is not closed by bounds, and patience pays. Tiny tables
# need no programs to find patterns.
_SHARE_EARLY = 0.2
_SHARE_BEFORE = 0.5
_SHARE_BEFORE_LARGE = 0.1
_SHARE_AFTER = 0.25
_SMALL_GAP = 0.05
_WIDE_GAP = 0.2
_WIDE_TABLE = 1000
_SHARE_OF_REST = 0.4
_SHARE_OF_SEARCH = 0.8
_SHARE_OF_BOUND = 0.4
_SMALL_TABLE = 400


def solve_by_cuts(
    problem: Problem, *, clock: Clock, gap: float, integer: bool, seed: int,
    progress: ProgressCallback | None, tree: bool | None = None,
) -> Suppression:  # fmt: skip
    """Solve a problem by cuts; see `csp.suppress` for the parameters.

    Parameters
    ----------
    tree : bool, optional
        Whether the gap is closed by branch and cut rather than by integer programs. By default
        the structure decides: relaxations of networks are nearly integral, so that few programs
        do; those of other tables leave a gap, and the tree is kept.

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
    tree = run.net is None if tree is None else tree
    stopped = run.ended_by(partial(_phases, run, tree=tree))
    if run.audit is None and run.refused is not None:
        raise run.refused
    stats = {
        "attacker_problems": run.separator.solved,
        "cuts": len(run.master.cuts),
        "solver_retries": retries() - tries,
    }
    return run.result("branch" if tree else "cuts", stopped, stats, canonical=stopped == "done")


def _phases(run: Run, *, tree: bool) -> str:
    """Go through all phases and say what ended them; "done" if the pattern is canonical."""
    _begin(run)
    _linear_phase(run)
    # A better incumbent leaves fewer cells to what follows.
    large = run.problem.table.n_cells >= VERY_LARGE
    if run.begun_locally:
        improve_parts(run, run.clock.part(_SHARE_EARLY))
        run.fix_by_reduced_cost(run.master.relax())
        run.report("parts")
    else:
        _improve_for(run, _SHARE_BEFORE_LARGE if large else _SHARE_BEFORE)
    # A long search for patterns must not take the bound's best means away.
    if not _stays_wide(run):
        tighten(run, max(run.soft_clock, run.clock.part(_SHARE_OF_BOUND)))
    unique = False
    if not run.close_enough:
        _improving_phase(run)
        if tree:
            unique = branch(run)
        else:
            _integer_phase(run)
        run.report("branch" if tree else "search")
    if run.best_cost == run.bound:
        outcome = "done" if unique else break_ties(run)
        run.report("tie-break")
        return outcome
    if run.clock.over:
        return "time"
    return "gap" if run.close_enough else "precision"


def _begin(run: Run) -> None:
    """Find a first safe pattern, or the cell that no pattern protects.

    Safety grows with the pattern: what is not safe with everything suppressed that may be, never
    is. Only the rule for sums of suppressed cells may fail there and hold for a smaller pattern.
    """
    problem = run.problem
    clock = run.clock
    settled = False
    if _has_parts(run):
        try:
            settled = _begin_locally(run)
        except OutOfTime:
            pass
        except SolverError as error:  # there are other ways to a pattern
            run.note(str(error))
    if not settled and run.net is None and problem.table.n_cells >= VERY_LARGE:
        # Better patterns of such tables take a while, and may not be found in time.
        with suppress(OutOfTime):
            _suppress_everything(run, _EVERYTHING)
            run.report("start")
    run.clock = clock.part(_FIRST_PATTERNS if run.best is None else _BETTER_PATTERNS)
    with suppress(OutOfTime):
        if not settled and not run.clock.over:
            first_patterns(run)
    run.clock = clock
    with suppress(OutOfTime):
        audit_waiting(run)
    if run.best is None:
        # Full suppression is better than nothing, even a little late.
        run.clock = Clock(clock.end + grace(clock.end - run.began))
        _suppress_everything(run)
        run.clock = clock
    run.master.add(union_cuts_beforehand(problem))
    run.report("start")


def _suppress_everything(run: Run, share: float = 1.0) -> None:
    """Offer the pattern of all cells that may be suppressed, for a share of the time.

    Raises
    ------
    Unprotectable
        If not even that keeps the levels.
    OutOfTime
    """
    result = run.try_incumbent(run.problem.forced | run.problem.free, share=share)
    if result is not None and any(v.kind != "union" for v in result.violations):
        raise unprotectable(run.problem, result)


def _has_parts(run: Run) -> bool:
    """Whether witnesses in parts of the table come first.

    Against lone contributors they always do: the other searches know the outsider only.
    """
    problem = run.problem
    if problem.alone.any():
        return problem.union_rule is None and Axes(problem.table).regular
    return run.net is None and begins(problem, integer=run.integer)


def _begin_locally(run: Run) -> bool:
    """Take the pattern and the bound of the engine for large tables; say if it served all cells."""
    found = solve_large(
        run.problem, clock=run.clock.part(_LOCAL_SHARE), gap=run.gap, integer=run.integer,
        seed=run.seed, progress=run.progress, last=False,
        as_long=np.inf if run.problem.alone.any() else _LOCAL_TIMES,
    )  # fmt: skip
    assert found.audit is not None
    for text in found.notes:
        run.note(text)
    run.take(found.audit)
    run.master.prefer(found.pattern)
    run.bound = max(run.bound, found.bound)
    run.begun_locally = run.net is None and not run.problem.alone.any()
    run.report("start")
    if found.stopped == "interrupt":
        raise KeyboardInterrupt
    return not found.stats.get("rescued", 1)


def _linear_phase(run: Run) -> None:
    """Drive the linear relaxation with cuts, and let it guide the search for patterns."""
    x, turn = None, 0
    deep = run.clock.part(_SHARE_OF_DEEP)
    until = run.until(_SHARE_OF_CUTS) if run.net is None else run.soft_clock
    if _stays_wide(run):
        # What relations ask by themselves is most of what cuts find in that time, or more.
        relaxed = Relaxation(Field(run.problem), deep).solve(clock=deep)
        run.raise_bound(relaxed.bound)
        run.master.add(list(relaxed.cuts))
        run.report("relations")
    for answer in cut_rounds(run, until=until):
        run.raise_bound(answer.bound)
        x, turn = answer.x, turn + 1
        run.report("cuts")
        if run.net is not None and x is not None and turn in _GUIDED_ROUNDS:
            round_lp(run, x, (0.9,))
            run.report("guided")
        run.fix_by_reduced_cost(answer)
        if run.close_enough or (deep.over and _stays_wide(run)):
            return
    run.cut_short = until.over
    if run.clock.over:
        return
    answer = run.master.relax()
    if answer.x is not None:
        run.raise_bound(answer.bound)
        x = answer.x
    if run.begun_locally or subspaces_lead(run):
        return
    if x is not None and not run.clock.over and not run.close_enough:
        round_lp(run, x) if run.net is not None else round_lp(run, x, (0.9,))
        run.report("guided")
        run.fix_by_reduced_cost(answer)


def _is_wide(run: Run) -> bool:
    """Whether the gap is wide, so that better patterns are worth more than a better bound."""
    return run.best_cost is not None and run.best_cost - run.bound > _WIDE_GAP * run.best_cost


def _stays_wide(run: Run) -> bool:
    """Whether the gap is wide and cuts do not close it: on deep hierarchies, or in their time."""
    return _is_wide(run) and (subspaces_lead(run) or run.cut_short)


def _improve_for(run: Run, share: float) -> None:
    """Search for better patterns for a share of the time used so far; not on networks."""
    if run.best_cost is None or run.net is not None or run.close_enough or run.clock.over:
        return
    if subspaces_fail(run):  # programs over parts come later
        return
    until, patience = min(_as_long(run, share), run.soft_clock), 5
    if _is_wide(run) and run.problem.table.n_cells >= _WIDE_TABLE:
        until, patience = max(until, run.clock.part(_SHARE_OF_SEARCH)), 100
    improve(run, until, patience)
    run.report("improved")


def _improving_phase(run: Run) -> None:
    """Search for better patterns before the gap is closed from below.

    A small gap will be closed by the tree, which finds patterns on the way: the search gets no
    more than a share of the time that has gone into the bound. A tree that will not be closed
    within the time limit is worth less than a good pattern.
    """
    if run.best_cost is None or run.net is not None or run.clock.over:
        return
    until = _as_long(run, _SHARE_AFTER)
    if run.best_cost - run.bound > _SMALL_GAP * run.best_cost:
        until = max(until, run.clock.part(_SHARE_OF_REST))
    large = run.problem.table.n_cells >= VERY_LARGE
    patience: int | None = PATIENCE
    if (large or subspaces_lead(run) or _stays_wide(run)) and run.clock.end < np.inf:
        # A tree seldom ends there, and where subspaces lead it hardly moves the bound.
        until = max(until, run.clock.part(_SHARE_OF_SEARCH))
        patience = None if subspaces_lead(run) else patience
    until = min(until, run.clock)
    if run.problem.table.n_cells >= _SMALL_TABLE and not subspaces_lead(run):
        improve_parts(run, until)
        run.report("parts")
    improve(run, until, patience)
    run.fix_by_reduced_cost(run.master.relax())
    run.report("improved")


def _as_long(run: Run, share: float) -> Clock:
    """Return a clock for a share of the time used so far."""
    return run.clock.within(share * (now() - run.began))


def _integer_phase(run: Run) -> None:
    """Close the gap by integer programs and cuts, until proof, gap or time.

    Programs over few promising cells come first: they are quick, and the incumbents that they
    find exclude most other cells from the last program, which proves the bound.
    """
    problem = run.problem
    share, fits = _FIRST_SHARE, False
    while not run.close_enough and not run.clock.over:
        # A row that limits the cost to less than the incumbent's would prune as well as the
        # incumbent does as a start, but it invites trouble where costs span many magnitudes.
        better = None if run.best_cost is None else run.best_cost - run.step - run.constant
        candidates = survivors(run, better)
        whole = better is None or candidates.sum() <= _SMALL_PROGRAM
        if whole:
            share = 1.0
        if share < 1:
            candidates = survivors(run, better, share)
        answer = run.master.search(
            problem.cost.astype(np.float64),
            candidates=candidates if run.best is None else candidates | (run.best & problem.free),
            start=run.best,
            step=run.step,
            clock=run.clock,
        )
        if answer.status == "large":
            # Fewer cells take less; what they give may exclude enough of the others.
            if whole or fits or share < _LEAST_SHARE:
                return
            share /= 4
            continue
        fits = True
        if share < 1:
            found = None if answer.x is None else run.cost_of(answer.x > 0.5)
            if found is None or (run.best_cost is not None and found >= run.best_cost):
                share = min(1.0, 4 * share)
                continue
            fits = False
        elif answer.status == "infeasible":
            if run.best is None:
                raise run.refused or no_union_safe_pattern(problem)
            return  # the incumbent satisfies every cut: only the solver's tolerances say no
        else:
            run.raise_bound(answer.bound)
        run.report("search")
        if answer.x is None:
            return
        pattern = answer.x > 0.5
        best = run.best_cost
        proved = share == 1 and answer.status == "optimal" and best is not None
        if proved and best is not None and run.cost_of(pattern) >= best:
            # The cheapest pattern that satisfies the cuts costs no less than the incumbent.
            run.close()
            return
        if run.close_enough:
            return
        known = len(run.master.cuts)
        if accept_or_cut(run, pattern) is not None:
            if answer.status == "doubtful" and len(run.master.cuts) == known:
                return
        else:
            answer = run.master.relax()
            complete_pattern(run, pattern, answer.x)
        run.fix_by_reduced_cost(run.master.relax())
