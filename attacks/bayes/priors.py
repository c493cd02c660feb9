"""How probable the values of a cell are before anything is published."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from csp.errors import InputError
from csp.exact import Floats, Ints
from csp.tables.table import Table

Prior = Callable[[Ints], Floats]
"""Log prior weights of values of one inner cell; cells are independent beforehand."""


def uniform(values: Ints) -> Floats:
    """All values are equally probable beforehand."""
    return np.zeros(len(values))


def normal_counts(mean: float, deviation: float) -> Prior:
    """Prior of counts that are absolute values of rounded normal numbers.

    The experiments of Minami and Abe (2019) draw their tables so.

    Parameters
    ----------
    mean, deviation : float

    Raises
    ------
    InputError
        If the deviation is not positive.
    """
    if not deviation > 0:
        msg = f"deviation must be above 0, got {deviation!r}"
        raise InputError(msg)

    def weights(values: Ints) -> Floats:
        from scipy.special import log_ndtr

        def log_mass(v: Floats) -> Floats:
            # In the lower tail and in logarithms, or the far ends would be lost to rounding.
            far = -np.abs(v - mean)
            top, bottom = (log_ndtr((far + half) / deviation) for half in (0.5, -0.5))
            return np.asarray(top + np.log1p(-np.exp(bottom - top)))

        x = values.astype(np.float64)
        return np.asarray(np.where(x > 0, np.logaddexp(log_mass(x), log_mass(-x)), log_mass(x)))

    return weights


class PriorWeights:
    """Log prior weights of the tables consistent with a release, of which `table` is one.

    Suppressed cells (k,) have their feasible values from `lower` to `upper`.

    Raises
    ------
    InputError
        If the prior is not a function, or gives anything else than one log weight for each value.
    """

    def __init__(self, table: Table, cells: Ints, lower: Ints, upper: Ints, prior: Prior) -> None:
        if not callable(prior):
            msg = (
                "prior must be uniform, normal_counts(mean, deviation) or a function of an int64 "
                f"array, not {prior!r}"
            )
            raise InputError(msg)
        self._lower = lower
        self._inner = np.flatnonzero(~table.margins[cells])
        self._tables = []
        for e in self._inner.tolist():
            values = np.arange(lower[e], upper[e] + 1)
            given = np.asarray(prior(values))
            numbers = given.dtype.kind in "biuf"
            found = given.astype(np.float64) if numbers else np.full(1, np.nan)
            if found.shape != values.shape or np.isnan(found).any() or (found == np.inf).any():
                msg = "the prior must give one log weight, finite or -inf, for each value"
                raise InputError(msg)
            self._tables.append(found)

    def __call__(self, tables: Ints) -> Floats:
        """Log weights of (t, k) values of the suppressed cells: (t,)."""
        out = np.zeros(len(tables))
        for e, weights in zip(self._inner.tolist(), self._tables, strict=True):
            out += weights[tables[:, e] - self._lower[e]]
        return out
