"""Integer programs over all cuts found so far, and cuts for what they propose, in turn."""

from __future__ import annotations

import numpy as np

from csp.clock import Clock
from csp.solve.exact.heuristics.construction import complete_pattern
from csp.solve.exact.separation import accept_or_cut, survivors
from csp.solve.exact.state import Run
from csp.solve.unprotectable import no_union_safe_pattern


def search_programs(run: Run, _: Clock) -> None:
    """Close the gap by integer programs and cuts, until proof, gap or time."""
    problem = run.problem
    while not run.close_enough and not run.clock.over:
        # A row that limits the cost to less than the incumbent's would prune as well as the
        # incumbent does as a start, but it invites trouble where costs span many magnitudes.
        better = None if run.best_cost is None else run.best_cost - run.step - run.constant
        candidates = survivors(run, better)
        answer = run.master.search(
            problem.cost.astype(np.float64),
            candidates=candidates if run.best is None else candidates | (run.best & problem.free),
            start=run.best,
            step=run.step,
            clock=run.clock,
        )
        if answer.status == "large":
            return
        if answer.status == "infeasible":
            if run.best is None:
                raise run.refused or no_union_safe_pattern(problem)
            return  # the incumbent satisfies every cut: only the solver's tolerances say no
        run.raise_bound(answer.bound)
        run.report("search")
        if answer.x is None:
            return
        pattern = answer.x > 0.5
        best = run.best_cost
        if answer.status == "optimal" and best is not None and run.cost_of(pattern) >= best:
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
