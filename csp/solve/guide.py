"""Where patterns come from: first ones, ones that a relaxation suggests, and better ones.

Networks have cheapest paths (`csp.solve.network`), other tables repair by witnesses, rerouting and
large neighbourhoods. Whatever is found is offered to the run, which audits it exactly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from csp.solve.cleaning import clean
from csp.solve.neighbourhood import neighbourhood
from csp.solve.network import clean_paths, suppress_paths
from csp.solve.repair import construct
from csp.solve.reroute import reroute
from csp.solve.run import Run
from csp.solve.witness import WitnessPool

__all__ = ["completed", "first_patterns", "guided", "improved"]

_TRUST = (1.0, 0.9, 0.5)
_PATIENCE = 25


def first_patterns(run: Run) -> None:
    """Offer patterns that need no relaxation."""
    _offer(run, run.problem.cost.astype(np.float64), run.deadline)
    if run.net is None and run.best is not None:
        _offer(run, run.problem.cost.astype(np.float64), run.deadline, order="small")


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
    for trust in trusts:
        if run.close_enough or run.left <= 0:
            return
        _offer(run, run.problem.cost * (1 - trust * x), run.soft_deadline)


def completed(run: Run, pattern: NDArray[np.bool_], x: NDArray[np.float64] | None = None) -> None:
    """Offer a safe pattern near one that is not.

    Parameters
    ----------
    run : Run
    pattern : (n,) bool
    x : (n,) float64, optional
        A point of the relaxation that says which other cells are likely.
    """
    share = np.zeros(len(pattern)) if x is None else x
    _offer(run, run.problem.cost * (1 - 0.9 * share), run.deadline, begin=pattern)


def improved(run: Run, until: float, patience: int = _PATIENCE) -> None:
    """Search around the best pattern; for tables that are no networks.

    Parameters
    ----------
    run : Run
    until : float
        `time.monotonic` value at which to stop.
    patience : int
        Stop after so many steps without gain.
    """
    start = run.pool
    if start is None or run.net is not None:
        return
    searches: list[Iterator[WitnessPool]] = []
    if len(run.problem.table.values) >= 400:
        searches.append(
            neighbourhood(
                run.router.space, deadline=until, seed=run.seed, start=start, router=run.router,
                patience=patience,
            )
        )  # fmt: skip
    searches.append(
        reroute(start, deadline=until, seed=run.seed, router=run.router, patience=4 * patience)
    )
    for search in searches:
        for pool in search:
            _take(run, pool)
            run.tell("improved")
            if run.close_enough or time.monotonic() > until:
                return


def _offer(
    run: Run, weights: NDArray[np.float64], deadline: float, *, order: str = "need",
    begin: NDArray[np.bool_] | None = None,
) -> None:  # fmt: skip
    """Offer the pattern that is cheapest, more or less, where cells cost the weights."""
    cost = run.problem.cost.astype(np.float64)
    if run.net is None:
        if begin is not None:
            weights = np.where(begin, 1e-3 * weights, weights)
        share = np.divide(weights, cost, out=np.ones(len(cost)), where=cost > 0)
        for symmetric in (True, False):
            found = construct(
                run.problem, order=order, weights=np.maximum(share, 1e-3), deadline=deadline,
                seed=run.seed, router=run.router, symmetric=symmetric,
            )  # fmt: skip
            if isinstance(found, WitnessPool):
                _take(run, found)
        return
    path = suppress_paths(run.net, weights, deadline=deadline, begin=begin)
    if isinstance(path, np.ndarray):
        path = clean_paths(run.net, path, cost)
        if path is not None:
            run.offer_cheaper(path)


def _take(run: Run, pool: WitnessPool) -> None:
    """Offer a pool's pattern, without the cells that it can spare, and keep the best pool."""
    pattern = pool.pattern()
    if run.best_cost is None or run.cost_of(pattern) < 1.2 * run.best_cost:
        pattern = clean(run.problem, run.separator, pattern, deadline=_soon(run))
    before = run.best_cost
    run.offer_cheaper(pattern)
    if run.best_cost != before:
        run.pool = pool


def _soon(run: Run) -> float:
    """Give the cleaning of one pattern a small part of the time."""
    return time.monotonic() + min(5.0, 0.05 * run.left)
