"""Cheap improvement of safe patterns: publish what they can spare."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.clock import Clock
from csp.problem.problem import Problem
from csp.solve.general.separate import Separator
from csp.solve.network.separate import FlowSeparator

__all__ = ["clean"]


def clean(
    problem: Problem,
    separator: Separator | FlowSeparator,
    pattern: NDArray[np.bool_],
    *,
    clock: Clock,
) -> NDArray[np.bool_]:
    """Publish secondary cells one by one, most expensive first, while all requirements hold.

    Parameters
    ----------
    problem : Problem
    separator : Separator
    pattern : (n,) bool
    clock : Clock
        When to stop.

    Returns
    -------
    (n,) bool
        A part of the pattern; the pattern itself if it misses a requirement. Requirements are
        judged in floats here: the caller audits the result.
    """
    x = pattern.astype(np.float64)
    if separator.misses(x, whole=True, clock=clock, most=1) or clock.over:
        return pattern
    secondary = np.flatnonzero(pattern & problem.free)
    order = secondary[np.lexsort((-secondary, -problem.cost[secondary]))]
    for i in order:
        x[i] = 0.0
        missed = separator.misses(x, whole=True, clock=clock, most=1)
        # Past the time nothing found means nothing: the check was cut short.
        if missed or clock.over:
            x[i] = 1.0
        if clock.over:
            break
    return np.asarray(x > 0.5)
