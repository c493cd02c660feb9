"""Cheap improvements of a safe pattern."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from csp.problem import Problem
from csp.solve.separation import Separator

__all__ = ["clean"]


def clean(
    problem: Problem, separator: Separator, pattern: NDArray[np.bool_], *, deadline: float
) -> NDArray[np.bool_]:
    """Publish secondary cells one by one, dearest first, while all requirements hold.

    Parameters
    ----------
    problem : Problem
    separator : Separator
    pattern : (n,) bool
    deadline : float
        `time.monotonic` value at which to stop.

    Returns
    -------
    (n,) bool
        A part of the pattern; the pattern itself if it misses a requirement. Requirements are
        judged in floats here: the caller audits the result.
    """
    x = pattern.astype(np.float64)
    if separator.misses(x, whole=True, deadline=deadline, most=1):
        return pattern
    secondary = np.flatnonzero(pattern & problem.free)
    order = secondary[np.lexsort((-secondary, -problem.cost[secondary]))]
    for i in order:
        if time.monotonic() > deadline:
            break
        x[i] = 0.0
        if separator.misses(x, whole=True, deadline=np.inf, most=1):
            x[i] = 1.0
    return np.asarray(x > 0.5)
