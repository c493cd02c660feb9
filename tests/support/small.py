"""The whole search of a small network in one call."""

from collections.abc import Callable

from csp import Problem
from csp.clock import UNLIMITED, Clock
from csp.solve.small.one import NO_LIMIT, SLICE, SmallAnswer, SmallSearch

__all__ = ["solve_small"]


def solve_small(
    problem: Problem, *, node_limit: int = NO_LIMIT, clock: Clock = UNLIMITED,
    after: Callable[[SmallAnswer], bool] = lambda answer: False,
) -> SmallAnswer:  # fmt: skip
    """Search until the end, the limit of nodes, the clock, or until `after` a slice says so."""
    search = SmallSearch(problem)
    left = node_limit
    while left > 0 and not clock.over and not search.step(min(left, SLICE)):
        left -= SLICE
        if after(search.answer()):
            break
    return search.answer()
