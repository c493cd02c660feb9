"""Tighter relaxations: cuts that the integer program's root derives, in turn with our own.

Capacity cuts alone leave a wide gap where several cells share the work of a requirement (three-way
tables: up to a quarter of the optimum). Rounding combinations of them closes much of it, and
every later node, program and bound profits.
"""

from __future__ import annotations

from csp.clock import Clock
from csp.solve.exact.guide import completed
from csp.solve.exact.state import Run, answer_pattern, contenders, drive

__all__ = ["tighten"]

_WORTH = 0.03
_ROUNDS = 25


def tighten(run: Run, until: Clock) -> None:
    """Add rounded cuts and the capacity cuts that are violated then, while the bound rises.

    Parameters
    ----------
    run : Run
        After its cut phase, with an incumbent.
    until : Clock
        When to stop.
    """
    fruitless = 0
    for _ in range(_ROUNDS):
        if run.best_cost is None or run.close_enough or until.over or fruitless > 1:
            return
        spare = run.best_cost - run.constant
        gap = run.best_cost - run.bound
        answer, cuts = run.master.root(contenders(run, spare), run.step, until)
        run.raise_bound(answer.bound)
        if answer.x is not None and run.cost_of(answer.x > 0.5) < run.best_cost:
            # The solver's solution is cheaper than any safe pattern known: unsafe, or a find.
            pattern = answer.x > 0.5
            if answer_pattern(run, pattern) is None:
                completed(run, pattern, run.master.relax().x, until)
        elif answer.word == "optimal":
            run.close()
            return
        # What also holds for patterns as cheap as the incumbent can serve until the end.
        run.master.add([cut for cut in cuts if cut.below > spare])
        for relaxed in drive(run, until=until):
            run.raise_bound(relaxed.bound)
        run.narrow(run.master.relax())
        run.tell("tightened")
        assert run.best_cost is not None
        fruitless = fruitless + 1 if run.best_cost - run.bound > (1 - _WORTH) * gap else 0
