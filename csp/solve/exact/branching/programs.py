"""Integer programs over all cuts found so far, and cuts for what they propose, in turn."""

from __future__ import annotations

import numpy as np

from csp.clock import Clock
from csp.solve.exact.heuristics.construction import complete_pattern
from csp.solve.exact.separation import accept_or_cut, survivors
from csp.solve.exact.state import Run
from csp.solve.unprotectable import no_union_safe_pattern

__all__ = ["search_programs"]

# Share of the gap that a cell may take up to be in the first integer programs, and the number of
# cells up to which a program is easy.
_FIRST_SHARE = 1 / 16
_LEAST_SHARE = 1e-4
_SMALL_PROGRAM = 1000


def search_programs(run: Run, _: Clock) -> None:
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
