"""Patterns that a point of the relaxation suggests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.solve.heuristic import clean, complete
from csp.solve.network import clean_paths, suppress_paths
from csp.solve.run import Run

__all__ = ["completed", "guided"]

_TRUST = (1.0, 0.9, 0.5)


def guided(run: Run, x: NDArray[np.float64], trusts: tuple[float, ...] = _TRUST) -> None:
    """Offer the patterns of a search that finds cells cheaper the more the point holds of them.

    Parameters
    ----------
    run : Run
    x : (n,) float64
        A point of the relaxation.
    trusts : tuple of float
        By how much a cell that the point holds wholly is cheaper; one search each.
    """
    cost = run.problem.cost.astype(np.float64)
    if run.net is None:
        pattern = complete(run.separator, x > 1e-7, run.witnesses, deadline=run.soft_deadline)
        if run.offer(pattern).safe and run.best is not None and not run.close_enough:
            run.offer(clean(run.problem, run.separator, run.best, deadline=run.deadline))
        return
    for trust in trusts:
        found = suppress_paths(run.net, cost * (1 - trust * x), deadline=run.soft_deadline)
        if not isinstance(found, np.ndarray):
            return
        found = clean_paths(run.net, found, cost)
        if found is not None:
            run.offer_cheaper(found)
        if run.close_enough:
            return


def completed(run: Run, pattern: NDArray[np.bool_]) -> None:
    """Offer a safe pattern near one that is not."""
    cost = run.problem.cost.astype(np.float64)
    support = run.master.relax().x
    if run.net is None:
        if support is not None:
            wide = pattern | (support > 1e-7)
            run.offer_cheaper(clean(run.problem, run.separator, wide, deadline=run.deadline))
        return
    share = np.zeros(len(cost)) if support is None else support
    found = suppress_paths(run.net, cost * (1 - 0.9 * share), deadline=run.deadline, begin=pattern)
    if isinstance(found, np.ndarray):
        found = clean_paths(run.net, found, cost)
        if found is not None:
            run.offer_cheaper(found)
