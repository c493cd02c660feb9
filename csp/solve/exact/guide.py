"""Where patterns come from: first ones, ones that a relaxation suggests, and better ones.

Networks have cheapest paths (`csp.solve.network.network`), other tables repair by witnesses,
rerouting and large neighbourhoods. Whatever is found is offered to the run, which audits it
exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock, now
from csp.errors import OutOfTime
from csp.solve.exact.state import Run
from csp.solve.general.construct import construct
from csp.solve.general.local_search import reroute
from csp.solve.general.witness import WitnessPool
from csp.solve.network.cleaning import clean
from csp.solve.network.network import clean_paths, suppress_paths

__all__ = [
    "VERY_LARGE",
    "audit_waiting",
    "completed",
    "first_patterns",
    "guided",
    "improved",
    "subspaces_fail",
    "subspaces_lead",
]

_TRUST = (1.0, 0.9, 0.5)
_PATIENCE = 25

# Number of cells from which subspaces are searched, and from which this is done before anything is
# known of the bound; how many of their (quick) steps count as one of patience.
_LARGE = 400
VERY_LARGE = 1800
_STEPS = 8

# Their number of cells times dimensions (at least) up to which subspaces are searched.
_MOST_ENTRIES = 12_000_000

# The time for first patterns one requirement after the other (seconds, and share of what is
# left), for subspaces where this found one or none, and for what completes the last of these.
_FIRST_SECONDS = 20.0
_FIRST_SHARE = 0.1
_EARLY_SHARE = 0.2
_EARLY_SECONDS = 15.0
_LATER_SHARE = 0.8
_FINISH_SHARE = 0.25
_AUDIT_SHARE = 0.3

# What succeeded last in a search for better patterns, subspaces or rerouting, gets this share.
_LEADING = 0.8


def first_patterns(run: Run) -> None:
    """Offer patterns that need no relaxation."""
    weights = run.problem.cost.astype(np.float64)
    # On very large tables better patterns follow before this one is cleaned.
    tidy = run.problem.table.n_cells < VERY_LARGE
    if not _is_large(run):
        _offer(run, weights, run.clock, tidy=tidy)
        return
    until = run.clock.part(_FIRST_SHARE).within(_FIRST_SECONDS)
    begun, began = WitnessPool(run.router.space), now()
    _offer(run, weights, until, tidy=tidy, pool=begun)
    missing = len(begun.missing())
    served = len(begun.space.need) - missing
    # The first requirements take longest: later ones find witnesses there.
    ends_in_time = missing * (now() - began) <= served * run.clock.left
    if run.pool is None and ends_in_time:
        _offer(run, weights, run.clock, tidy=tidy, pool=begun)
    if run.pool is None or run.problem.table.n_cells >= VERY_LARGE:
        until = run.clock.part(_LATER_SHARE)
        if run.pool is not None:
            until = run.clock.part(_EARLY_SHARE).within(_EARLY_SECONDS)
        before = run.best_cost
        _subspaces(run, until, 5 * _PATIENCE)
        gained = run.best_cost != before
        run.subspace_share = _LEADING if gained or not ends_in_time else 1 - _LEADING
    if run.pool is None and ends_in_time:
        _offer(run, weights, run.clock, pool=begun)


def audit_waiting(run: Run) -> None:
    """Offer once more, with the time there is now, the last pattern whose audit did not end."""
    pool, run.waiting = run.waiting, None
    if pool is not None:
        _take(run, pool)


def _subspaces(run: Run, until: Clock, patience: int) -> None:
    """Search subspaces for a while; see `improved`."""
    if until.over:
        return  # to set the search up takes a while of its own
    finish = (
        Clock(until.end + _FINISH_SHARE * (run.clock.end - until.end))
        if until < UNLIMITED
        else until
    )
    search = run.neighbourhood.run(
        clock=until, finish=finish, start=run.pool, patience=_STEPS * patience
    )
    # A descent leaves little to spare, and to look for it takes long on very large tables.
    _take_all(run, search, until, tidy=run.problem.table.n_cells < VERY_LARGE)


def _is_large(run: Run) -> bool:
    """Whether subspaces in which all primary cells move are worth a search."""
    n = run.problem.table.n_cells
    if run.net is not None or n < _LARGE:
        return False
    space = run.router.space
    return n * (int(space.open.sum()) - space.relations.shape[0]) <= _MOST_ENTRIES


def subspaces_lead(run: Run) -> bool:
    """Whether subspaces gave better patterns than repairs did, on a very large table."""
    return run.problem.table.n_cells >= VERY_LARGE and run.subspace_share == _LEADING


def subspaces_fail(run: Run) -> bool:
    """Whether the search of subspaces has given nothing so far, or less than rerouting did."""
    return run.subspace_share <= 1 - _LEADING


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
        latest = max(run.soft_clock, run.clock.part(_AUDIT_SHARE))
        _offer(run, run.problem.cost * (1 - trust * x), latest)


def completed(
    run: Run, pattern: NDArray[np.bool_], x: NDArray[np.float64] | None = None,
    until: Clock = UNLIMITED,
) -> None:  # fmt: skip
    """Offer a safe pattern near one that is not.

    Parameters
    ----------
    run : Run
    pattern : (n,) bool
    x : (n,) float64, optional
        A point of the relaxation that says which other cells are likely.
    until : Clock
        When to give up.
    """
    share = np.zeros(len(pattern)) if x is None else x
    _offer(run, run.problem.cost * (1 - 0.9 * share), min(until, run.clock), begin=pattern)


def improved(run: Run, until: Clock, patience: int = _PATIENCE) -> None:
    """Search around the best pattern; for tables that are not networks.

    Parameters
    ----------
    run : Run
    until : Clock
        When to stop.
    patience : int
        Stop after this many steps without gain.
    """
    until = min(until, run.clock)
    if run.net is not None:
        return
    if _is_large(run):
        before = run.best_cost
        _subspaces(run, until.part(run.subspace_share), patience)
        run.subspace_share = _LEADING if run.best_cost != before else run.subspace_share
    if run.pool is not None and not run.close_enough and not until.over:
        before = run.best_cost
        search = reroute(
            run.pool, clock=until, seed=run.seed, router=run.router, patience=4 * patience
        )
        _take_all(run, search, until)
        run.subspace_share = 1 - _LEADING if run.best_cost != before else run.subspace_share


def _take_all(run: Run, search: Iterator[WitnessPool], until: Clock, *, tidy: bool = True) -> None:
    """Offer what a search finds, each pattern as soon as it is found."""
    last = None
    for pool in search:
        last = pool
        _take(run, pool)
        run.tell("improved")
        if run.close_enough or until.over:
            break
    if last is not None and tidy:
        _tidy(run, last)


def _offer(
    run: Run, weights: NDArray[np.float64], clock: Clock, *,
    begin: NDArray[np.bool_] | None = None, tidy: bool = True, pool: WitnessPool | None = None,
) -> None:  # fmt: skip
    """Offer the pattern that is cheapest, more or less, where cells cost the weights."""
    cost = run.problem.cost.astype(np.float64)
    if run.net is None:
        if begin is not None:
            weights = np.where(begin, 1e-3 * weights, weights)
        share = np.divide(weights, cost, out=np.ones(len(cost)), where=cost > 0)
        found = construct(
            run.problem, weights=np.maximum(share, 1e-3), clock=clock, seed=run.seed,
            router=run.router, symmetric=False, pool=pool,
        )  # fmt: skip
        if isinstance(found, WitnessPool):
            _take(run, found)
            if tidy:
                _tidy(run, found)
        return
    path = suppress_paths(run.net, weights, clock=clock, begin=begin)
    if isinstance(path, np.ndarray):
        path = clean_paths(run.net, path, cost)
        if path is not None:
            run.offer_cheaper(path)


def _take(run: Run, pool: WitnessPool) -> None:
    """Offer a pool's pattern, and keep the best pool."""
    before = run.best_cost
    try:
        run.offer_cheaper(pool.pattern(), pool, _AUDIT_SHARE if run.best is not None else 0.9)
    except OutOfTime:
        # Without exact witnesses an audit can be long, and the next pattern may have them.
        run.waiting = pool
        if run.left <= 0:
            raise
    if run.best_cost != before:
        run.pool, run.waiting = pool, None


def _tidy(run: Run, pool: WitnessPool) -> None:
    """Offer a pool's pattern without the cells that it can spare, if it is a good one."""
    pattern = pool.pattern()
    if run.best_cost is not None and run.cost_of(pattern) < 1.2 * run.best_cost:
        pattern = clean(run.problem, run.separator, pattern, clock=_soon(run))
        run.offer_cheaper(pattern, pool)


def _soon(run: Run) -> Clock:
    """Give the cleaning of one pattern a small part of the time."""
    return run.clock.part(0.05).within(5.0)
