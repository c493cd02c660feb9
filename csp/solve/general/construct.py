"""A first safe pattern for tables of any structure, one requirement after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.problem.problem import Problem
from csp.solve.general.space import KINDS, Space
from csp.solve.general.witness import WitnessPool
from csp.solve.general.witness_lp import Router

__all__ = ["ORDERS", "Unmet", "construct", "serve"]

ORDERS = ("need", "small", "weight", "random")


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement for which no witness was found.

    Attributes
    ----------
    cell : int
    kind : {"up", "down", "slide"}
    late : bool
        The time ran out; otherwise the linear program has no solution.
    """

    cell: int
    kind: str
    late: bool


def construct(
    problem: Problem,
    *,
    order: str = "need",
    weights: NDArray[np.float64] | None = None,
    clock: Clock = UNLIMITED,
    seed: int = 0,
    router: Router | None = None,
    symmetric: bool = True,
    pool: WitnessPool | None = None,
) -> WitnessPool | Unmet:
    """Find a safe pattern by repairing one requirement after the other.

    Parameters
    ----------
    problem : Problem
    order : {"need", "small", "weight", "random"}
        Which requirements come first: the largest, the smallest, those of dear cells, any.
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
    WitnessPool or Unmet
        Witnesses for all requirements, none of them spare; or the first requirement without.
        Judged in floats: the caller audits the pattern.

    Raises
    ------
    ValueError
        For an unknown order.
    """
    if order not in ORDERS:
        msg = f"order {order!r} is not one of {', '.join(ORDERS)}"
        raise ValueError(msg)
    router = router or Router(Space.of(problem), seed)
    space = router.space
    rank = np.arange(len(space.need))
    if order == "small":
        rank = rank[::-1]
    elif order == "weight":
        rank = np.argsort(-problem.cost[space.cell], kind="stable")
    elif order == "random":
        rank = np.random.default_rng(seed).permutation(len(space.need))
    weight = space.weight if weights is None else space.weight * weights
    pool = WitnessPool(space) if pool is None else pool
    missing = serve(router, pool, rank, weight=weight, clock=clock, symmetric=symmetric)
    return pool.prune() if missing is None else missing


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
) -> Unmet | None:
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
    Unmet or None
        None if all are served.
    """
    space = pool.space
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
            late = clock.over
            return Unmet(int(space.cell[r]), KINDS[int(space.kind[r])], late)
    return None
