"""Lower bounds on costs that no rounding pushes above the true cost."""

from __future__ import annotations

import numpy as np

from csp.exact import Floats


def safe_bound(
    right: Floats,
    y: Floats,
    reduced: Floats,
    lower: Floats | float = 0.0,
    upper: Floats | float = 1.0,
) -> float:
    """Lower bound on ``cost x`` over ``A x >= right`` and ``lower <= x <= upper``.

    Any non-negative multipliers `y` give one for a cover (``0 <= A <= right``), with the reduced
    costs ``cost - A' y``, so that the solver's tolerances cannot push it above a true cost
    (Neumaier and Shcherbina 2004). What the sums may lose by rounding is taken off.
    """
    at = np.where(reduced > 0, lower, upper)
    size = np.abs(right) @ y + np.abs(reduced) @ np.abs(at)
    noise = (len(right) + len(reduced)) * np.finfo(np.float64).eps * size
    return float(right @ y + reduced @ at - noise)
