"""Tighter relaxations: cuts that the solver derives at the root of the integer program.

Capacity cuts alone leave a wide gap where several cells share the work of a requirement (three-way
tables: up to a quarter of the optimum). Rounding combinations of them closes much of it, and
every later node, program and bound profits.
"""

from __future__ import annotations

from csp.clock import Clock
from csp.solve.exact.heuristics.construction import complete_pattern
from csp.solve.exact.separation import accept_or_cut, cut_rounds, survivors
from csp.solve.exact.state import Run

# Share of the gap that a round must close: much of it where a tree with its own combinations of
# rows follows (more of the solver's cuts make nodes slow), little on networks.
_QUICK, _WORTH = 0.15, 0.03
_ROUNDS = 25


def root_cuts(run: Run, until: Clock) -> None:
    """Add the cuts that the solver derives at the root, and capacity cuts that are violated then.

    Ends when rounds close little of the gap; on networks, where nothing else combines rows, when
    two in a row close next to nothing.
    """
    worth, patience = (_QUICK, 0) if run.net is None else (_WORTH, 1)
    fruitless = 0
    for _ in range(_ROUNDS):
        if run.best_cost is None or run.close_enough or until.over or fruitless > patience:
            return
        spare = run.best_cost - run.constant
        gap = run.best_cost - run.bound
        answer, cuts = run.master.root(survivors(run, spare), run.step, until)
        run.raise_bound(answer.bound)
        if answer.x is not None and run.would_be_best(answer.x > 0.5):
            # The solver's solution is cheaper than any safe pattern known: unsafe, or a find.
            pattern = answer.x > 0.5
            if accept_or_cut(run, pattern) is None:
                complete_pattern(run, pattern, run.master.relax().x, until)
        elif answer.status == "optimal":
            run.close()
            return
        # What also holds for patterns as cheap as the incumbent can serve until the end.
        run.master.add([cut for cut in cuts if cut.below > spare])
        for relaxed in cut_rounds(run, until=until):
            run.raise_bound(relaxed.bound)
        run.fix_by_reduced_cost(run.master.relax())
        run.report("tightened")
        assert run.best_cost is not None
        fruitless = fruitless + 1 if run.best_cost - run.bound > (1 - worth) * gap else 0
