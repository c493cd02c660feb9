"""Capacity cuts in rounds, and what relations ask by themselves before them."""

from __future__ import annotations

from csp.clock import Clock
from csp.problem.singletons import Attackers
from csp.solve.exact.heuristics.construction import round_lp
from csp.solve.exact.separation import cut_rounds
from csp.solve.exact.state import Run
from csp.solve.exact.unions import union_cuts_beforehand
from csp.solve.large.relaxation import Relaxation
from csp.solve.witnesses.field import Field

# Rounds of cuts on a network after which its point guides a search: a good incumbent early
# excludes most cells of a large table.
_GUIDED_ROUNDS = (3, 6, 12, 24)


def bound_by_relations(run: Run, until: Clock) -> None:
    """Take the cuts that relations ask by themselves: most of what rounds find in that time.

    They are the only ones before a pattern is audited that look at lone contributors.
    """
    relaxation = None if run.local is None else run.local.relaxation
    if relaxation is None:
        attackers = Attackers(run.problem) if run.problem.alone.any() else None
        relaxation = Relaxation(Field(run.problem), until, attackers)
    relaxed = relaxation.solve(clock=until)
    run.related = True
    run.raise_bound(relaxed.bound)
    run.master.add(list(relaxed.cuts))


def cut_sums(run: Run, _: Clock) -> None:
    """Add the cuts for sums of suppressed cells that can be told beforehand."""
    run.master.add(union_cuts_beforehand(run.problem))


def cut_relaxation(run: Run, until: Clock) -> None:
    """Drive the linear relaxation with cuts."""
    for turn, answer in enumerate(cut_rounds(run, until=until), 1):
        run.raise_bound(answer.bound)
        run.report("cuts")
        if run.net is not None and answer.x is not None and turn in _GUIDED_ROUNDS:
            round_lp(run, answer.x, (0.9,))
            run.report("guided")
        run.fix_by_reduced_cost(answer)
        if run.close_enough:
            return
    run.cut_short = until.over
    if not run.clock.over:
        run.raise_bound(run.master.relax().bound)
