"""Better patterns by integer programs over a part of the table; the rest of the best one stays.

What the relaxation says of a whole table with a wide gap is vague, and an integer program over all
of it is long. A few suppressed cells and all that share a relation with one of them make a program
of a hundred cells that ends at once, and the pool of cuts knows most of what it may not do (large
neighbourhood search; Shaw 1998).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from csp.clock import Clock
from csp.exact import Bools, Floats, Ints
from csp.solve.exact.separation import accept_or_cut
from csp.solve.exact.state import PART_CELLS, Run

# How many times more cells are drawn after a program that ended, and how many times fewer after one
# that did not.
_WIDER, _NARROWER = 1.02, 1.2

# Weight in drawing of a cell that the relaxation suppresses wholly; one it publishes weighs 1 more.
_SURE = 0.1

# Cost of a cell in drawing at least.
_LEAST = 1e-9

# Limits of a part, and parts in a row without gain after which none is expected.
_LIMITED = {"mip_max_nodes": 300}
_SECONDS = 1.0
_PATIENCE = 150

# Largest cost, in steps that a program is to tell apart.
_FINE = 2.0**24


def improve_parts(run: Run, until: Clock) -> None:
    """Offer patterns that differ from the best one in a part of the table, while that pays.

    Parameters
    ----------
    run : Run
        With an incumbent.
    until : Clock
        When to stop; before that only after a program over all cells, or many parts in a row, that
        found nothing.
    """
    rng = run.rng
    relations = csr_array(run.problem.table.relations)
    columns = csc_array(relations)
    wide = run.part_width
    x = run.master.relax().x
    doubt = np.ones(len(run.problem.free)) if x is None else 1 + _SURE - x
    fruitless, begun = 0, run.best_cost
    while fruitless < _PATIENCE and not until.over and not run.close_enough:
        assert run.best is not None
        chosen = np.flatnonzero(run.best & run.problem.free)
        size = int(wide + rng.random())
        if size < len(chosen):
            odds = _odds(doubt[chosen], run.problem.cost[chosen])
            drawn = rng.choice(chosen, size, replace=False, p=odds)
            part = _around(drawn, relations, columns)
        else:
            part = np.ones(len(run.best), dtype=bool)
        before = run.best_cost
        ended = _improve(run, part, until)
        if ended and not run.alive[~part].any():
            break
        fruitless = 0 if run.best_cost != before else fruitless + 1
        run.part_width = wide = wide * _WIDER if ended else max(wide / _NARROWER, PART_CELLS)
    run.parts_rest = run.best_cost == begun


def _odds(doubt: Floats, cost: Ints) -> Floats:
    """Odds of cells in drawing, half of them by what a cell costs: a few may cost nearly all."""
    worth = doubt * np.maximum(cost, _LEAST)
    return np.asarray((doubt / doubt.sum() + worth / worth.sum()) / 2)


def _around(cells: Ints, relations: csr_array, columns: csc_array) -> Bools:
    """Cells that share a relation with one of some cells."""
    rows = np.unique(columns[:, cells].indices)
    part = np.zeros(relations.shape[1], dtype=bool)
    part[relations[rows].indices] = True
    return part


def _improve(run: Run, part: Bools, until: Clock) -> bool:
    """Solve programs over a part until one finds a cheaper safe pattern, or there is none.

    Of patterns as cheap as the best one, that which shares the fewest cells with it takes its
    place: other parts can be improved from there. Return whether the programs ended within the
    limits.
    """
    best, before = run.best, run.best_cost
    assert best is not None
    assert before is not None
    kept = best & run.problem.free & ~part
    step, cost = _aim(run, best & run.alive & part)
    until = until.within(_SECONDS)
    while not until.over:
        answer = run.master.search(
            cost, candidates=run.alive & part, kept=kept, step=step, start=best, clock=until,
            options=_LIMITED,
        )  # fmt: skip
        ended = answer.status not in ("limit", "large")
        if answer.x is None or until.over:
            return ended
        pattern = answer.x > 0.5
        if run.cost_of(pattern) > before or (pattern == best).all():
            return ended
        result = accept_or_cut(run, pattern)
        if result is not None:
            if run.cost_of(pattern) == before:
                run.take(result)
            run.report("parts")
            return ended
    return False


def _aim(run: Run, best: Bools) -> tuple[float, Floats]:
    """Put so little more on the best cells of a part that it only decides between equal costs.

    Returns
    -------
    step : float
        By how much two values differ at least.
    cost : (n,) float64
    """
    cost = run.problem.cost.astype(np.float64)
    little = run.step / 2.0 ** int(best.sum()).bit_length()
    if cost.max(initial=0.0) > _FINE * little:
        return run.step, cost  # The solver would not tell it, and few patterns cost the same.
    return little, cost + little * best
