"""Local search over witnesses: ban some cells, route around them, keep what is cheaper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.solve.general.construct import serve
from csp.solve.general.witness import WitnessPool
from csp.solve.general.witness_lp import Router

__all__ = ["reroute"]


def reroute(
    pool: WitnessPool,
    *,
    clock: Clock,
    seed: int = 0,
    router: Router | None = None,
    patience: int | None = None,
) -> Iterator[WitnessPool]:
    """Ban one secondary cell, or all those of one relation, and route around them.

    Every step drops the witnesses that use a banned cell and serves anew, within what is left of
    the pattern where that is possible, what they served. The most expensive cells come first,
    then any.

    Parameters
    ----------
    pool : WitnessPool
        Serves every requirement.
    clock : Clock
        When to stop.
    seed : int
    router : Router, optional
        One of the same space, to save building it.
    patience : int, optional
        Stop after this many steps in a row without gain (by default never).

    Yields
    ------
    WitnessPool
        Serves every requirement, and its pattern is strictly cheaper than the last one. Judged in
        floats: the caller audits the pattern.
    """
    space = pool.space
    router = router or Router(space, seed)
    rng = np.random.default_rng(seed)
    best, least = pool, pool.cost()
    idle, tried = 0, np.zeros(len(space.up), bool)
    while not clock.over and (patience is None or idle < patience):
        pattern = best.pattern()
        secondary = np.flatnonzero(pattern & (space.price > 0))
        if not len(secondary):
            return
        target = _target(space.price, secondary, tried, rng)
        tried[target] = True
        cells = np.array([target])
        if rng.random() < 0.5:
            cells = _neighbours(best, target, secondary, rng)
        answer = _around(router, best, cells, least, rng, clock)
        idle += 1
        if answer is not None and answer.cost() < least:
            best, least, idle = answer, answer.cost(), 0
            yield best


def _target(
    price: NDArray[np.float64], secondary: NDArray[np.int64], tried: NDArray[np.bool_],
    rng: np.random.Generator,
) -> int:  # fmt: skip
    """Pick the most expensive cell not tried yet; after that any, costly ones more often."""
    fresh = secondary[~tried[secondary]]
    if len(fresh):
        return int(fresh[np.argmax(price[fresh])])
    share = np.sqrt(price[secondary])
    return int(rng.choice(secondary, p=share / share.sum()))


def _neighbours(
    pool: WitnessPool, target: int, secondary: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Find the secondary cells in one relation of a cell."""
    space = pool.space
    span = slice(*space.columns.indptr[target : target + 2])
    rows = space.columns.indices[span]
    if not len(rows):
        return np.array([target])
    row = int(rng.choice(rows))
    inside = space.relations.indices[slice(*space.relations.indptr[row : row + 2])]
    return np.intersect1d(inside, secondary)


def _around(
    router: Router, pool: WitnessPool, cells: NDArray[np.int64], least: int,
    rng: np.random.Generator, clock: Clock,
) -> WitnessPool | None:  # fmt: skip
    rest = pool.without(cells)
    banned = np.zeros(len(pool.space.up), bool)
    banned[cells] = True
    rank = rest.missing()
    if rng.random() < 0.5:
        rank = rng.permutation(rank)
    served = serve(
        router,
        rest,
        rank,
        banned=banned,
        budget=least,
        clock=clock,
        symmetric=bool(rng.random() < 0.5),
    )
    return rest.prune() if served else None
