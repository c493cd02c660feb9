"""A first safe pattern for tables of any structure, one requirement after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.problem.problem import Problem
from csp.solve.general.space import Space
from csp.solve.general.witness import WitnessPool
from csp.solve.general.witness_lp import Router

__all__ = ["construct", "serve"]


def construct(
    problem: Problem,
    *,
    rank: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
    clock: Clock = UNLIMITED,
    seed: int = 0,
    router: Router | None = None,
    symmetric: bool = True,
    pool: WitnessPool | None = None,
) -> WitnessPool | None:
    """Find a safe pattern by repairing one requirement after the other.

    Parameters
    ----------
    problem : Problem
    rank : (r,) int64, optional
        The requirements in the order in which they are seen to; by default the largest first.
    weights : (n,) float64, optional
        Multipliers of the costs, for instance ``1 - alpha * x`` at a point of a relaxation.
    clock : Clock
        When to stop.
    seed : int
    router : Router, optional
        One of the same problem, to save building it.
    symmetric : bool
        See `Router.route`.
    pool : WitnessPool, optional
        Witnesses to begin with; it is changed in place, so that a search which ran out of time
        can be taken up again.

    Returns
    -------
    WitnessPool or None
        Witnesses for all requirements, none of them spare; None if some requirement has none, or
        the time ran out. Judged in floats: the caller audits the pattern.
    """
    router = router or Router(Space.of(problem), seed)
    space = router.space
    rank = np.arange(len(space.need)) if rank is None else rank
    weight = space.weight if weights is None else space.weight * weights
    pool = WitnessPool(space) if pool is None else pool
    served = serve(router, pool, rank, weight=weight, clock=clock, symmetric=symmetric)
    return pool.prune() if served else None


def serve(
    router: Router,
    pool: WitnessPool,
    rank: NDArray[np.int64],
    *,
    clock: Clock,
    weight: NDArray[np.float64] | None = None,
    banned: NDArray[np.bool_] | None = None,
    budget: float = np.inf,
    again: bool = True,
    symmetric: bool = True,
) -> bool:
    """Add witnesses to a pool until it serves all requirements in `rank`.

    Parameters
    ----------
    router : Router
    pool : WitnessPool
        Changed in place.
    rank : (k,) int64
        Requirements, in the order in which they are seen to.
    clock : Clock
    weight, banned, again, symmetric
        See `Router.route`.
    budget : float
        Stop (as if there were no witness) once the pattern costs this much.

    Returns
    -------
    bool
        Whether all are served.
    """
    for r in rank.tolist():
        if pool.serves(r):
            continue
        found = router.route(
            r,
            pool.pattern(),
            clock=clock,
            weight=weight,
            banned=banned,
            again=again,
            symmetric=symmetric,
        )
        if found is not None and found.serves[r]:
            pool.add(found)
        if not pool.serves(r) or pool.cost() >= budget:
            return False
    return True
