"""One answer among the cheapest: the same for any row order, thread count, seed or machine.

Small and medium tables: the pattern that is smallest when read as a binary number in which cell i
is worth 2**i (`csp.suppress` brings the cells into the order of their labels). Large tables: the
pattern of least total of a hash of the cells' labels.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

from csp.exact import Bools, Floats, Ints
from csp.problem.problem import Problem
from csp.solve.exact.separation import accept_or_cut, cut_rounds, exceeds_budget, survivors
from csp.solve.exact.state import Run
from csp.solve.order import BINARY_UP_TO

Outcome = Literal["done", "time", "precision", "cheaper"]

_CHUNK = 16


def break_ties(run: Run) -> str:
    """Replace the proven cheapest pattern by the preferred one among the cheapest.

    Returns
    -------
    {"done", "time", "precision"}
        "done": the pattern is the preferred one. "precision": the solver could not tell.
    """
    decide = _smallest_number if run.problem.table.n_cells <= BINARY_UP_TO else _smallest_hash
    while True:
        assert run.best_cost is not None
        run.master.forget_rounded(run.best_cost - run.constant)
        run.report("tie-break")
        outcome = decide(run)
        if outcome != "cheaper":
            return outcome
        # Limits on hash totals were those of the more expensive patterns.
        run.master.forget("budget")


def prefers(problem: Problem, one: Bools, other: Bools) -> bool:
    """Whether the first of two equally cheap patterns (n,) is the preferred one."""
    differ = np.flatnonzero(one != other)
    if not len(differ):
        return False
    if problem.table.n_cells <= BINARY_UP_TO:
        return not one[differ[-1]]
    weights = label_hash(problem, differ)
    return int(weights[one].sum()) < int(weights[other].sum())


def label_hash(problem: Problem, cells: Ints) -> Ints:
    """Pseudo-random weight of some cells in 1 .. 2**20, a function of their labels alone.

    It is 0 at all other cells of the result, (n,) int64.
    """
    out = np.zeros(problem.table.n_cells, dtype=np.int64)
    labels = problem.table.labels
    for i in cells.tolist():
        digest = hashlib.blake2b("\x1f".join(labels[i]).encode(), digest_size=8).digest()
        out[i] = 1 + (int.from_bytes(digest, "big") >> 44)
    return out


def _smallest_number(run: Run) -> Outcome:
    """Decide the cells from the highest down, sixteen at a time.

    Cells above the highest suppressed one are already as they should be, so a search is needed
    only where the incumbent has a bit to lose.
    """
    assert run.best is not None
    candidates = _candidates(run)
    kept = np.zeros(len(candidates), dtype=bool)
    undecided = np.flatnonzero(candidates)[::-1]
    while len(undecided):
        bits = run.best[undecided]
        if not bits.any():
            break
        first = int(np.argmax(bits))
        chunk = undecided[first : first + _CHUNK]
        candidates[undecided[:first]] = False
        objective = np.zeros(run.problem.table.n_cells)
        objective[chunk] = 2.0 ** np.arange(len(chunk))[::-1]
        outcome = _minimise(run, objective, candidates, kept)
        if outcome != "done":
            return outcome
        candidates[chunk] = False
        kept[chunk] = run.best[chunk]
        undecided = undecided[first + _CHUNK :]
    return "done"


def _smallest_hash(run: Run) -> Outcome:
    """Minimise the total of the hashes; two patterns of one total would be a rare chance."""
    assert run.best is not None
    candidates = _candidates(run)
    weights = label_hash(run.problem, np.flatnonzero(candidates))
    # Among very many cheapest patterns, cuts found at integer points alone lead nowhere: first
    # those of the relaxation in which cost decides, and the weights after it.
    least = float(weights[run.best & run.problem.free].sum() + 1)
    for _ in cut_rounds(run, run.problem.cost / run.step * least + weights):
        pass
    return _minimise(run, weights.astype(np.float64), candidates, np.zeros_like(candidates))


def _candidates(run: Run) -> Bools:
    """Free cells that may occur in a cheapest pattern."""
    assert run.best is not None
    assert run.best_cost is not None
    # The incumbent is one of the cheapest, but reduced costs are floats: keep it in any case.
    return survivors(run, run.best_cost - run.constant) | (run.best & run.problem.free)


def _minimise(run: Run, objective: Floats, candidates: Bools, kept: Bools) -> Outcome:
    """Least objective among the cheapest safe patterns; the incumbent is replaced by it.

    Returns
    -------
    {"done", "time", "precision", "cheaper"}
        "cheaper": costs too far apart for the solver had hidden a cheaper pattern, which is the
        incumbent now; everything decided so far must be decided anew.
    """
    assert run.best is not None
    assert run.best_cost is not None
    budget = run.best_cost - run.constant
    limits = [(run.problem.cost, budget)]
    while not run.clock.over:
        answer = run.master.search(
            objective,
            candidates=candidates,
            kept=kept,
            limits=limits,
            start=run.best,
            clock=run.clock,
        )
        if answer.x is None or answer.status == "limit":
            return "time" if answer.status == "limit" else "precision"
        pattern = answer.x > 0.5
        over = exceeds_budget(run, pattern, limits)
        if over == "cut off":
            continue
        if over == "stuck" or answer.status == "doubtful":
            return "precision"
        if objective[pattern].sum() >= objective[run.best].sum():
            return "done"
        result = accept_or_cut(run, pattern)
        if result is None:
            continue
        if run.cost_of(pattern) < budget + run.constant:
            return "cheaper"
        run.take(result)
        return "done"
    return "time"
