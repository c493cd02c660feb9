"""The figures of an original file and of a masked one side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Floats
from microagg.comparisons.propensity import propensity_of
from microagg.comparisons.reading import TwoFiles, read_two
from microagg.comparisons.regression import regressions_of
from microagg.comparisons.result import Utility

QUANTILES = (0.05, 0.25, 0.75, 0.95)
"""Beside the median."""


def utility(
    original: Any,
    masked: Any,
    attributes: Sequence[str] | None = None,
    *,
    quantiles: Sequence[float] = QUANTILES,
    regressions: Mapping[str, Sequence[str] | str] | None = None,
    propensity: bool = False,
) -> Utility:
    """Compare what a masked file says with what the original says, whatever tool masked it.

    Rows need not be in the same order, nor be as many: every figure is one of a whole file. All of
    them are functions of the original values, and not for publication.

    Parameters
    ----------
    original : (n, d) array, data frame, mapping of columns, path, or Records
    masked : the same, or a result of a masking
        With columns of the same names.
    attributes : sequence of str, optional
        Columns of numbers to compare; by default all that are numbers in both files.
    quantiles : sequence of float
        Between 0 and 1, beside the median.
    regressions : mapping of str to sequence of str, optional
        By its response, the columns that explain it: ``{"wage": ["school", "age"]}``. By ordinary
        least squares, with an intercept, over the records that have all values.
    propensity : bool
        Whether a logistic regression on all columns, their squares and products tells the records
        of both files apart; needs scikit-learn.

    Returns
    -------
    Utility

    Raises
    ------
    InputError
        If the files have no column of numbers in common, an attribute is unknown or not of
        numbers, a quantile is not between 0 and 1, a regression cannot be estimated, or
        scikit-learn is asked for and missing.

    References
    ----------
    A. F. Karr et al. (2006) for the overlap of confidence intervals; M.-J. Woo et al. (2009) and
    J. Snoke et al. (2018) for the propensity score.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 30, 31, 35], "sex": [*"fmfmfm"]}
    >>> found = microagg.utility(data, microagg.mdav(data, 3, attributes=["pay"]))
    >>> found
    Utility(pay of 6 original and 6 masked records; to_frame() has the figures, for internal use)
    >>> float(found.distances[0])
    0.3333333333333333
    """
    shares = tuple(quantiles)
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            msg = f"quantiles must be numbers from 0 to 1, not {share!r}"
            raise InputError(msg)
    files = read_two(original, masked, attributes)
    return compared(files, shares, regressions, propensity=propensity)


def compared(
    files: TwoFiles,
    shares: Sequence[float] = QUANTILES,
    regressions: Mapping[str, Sequence[str] | str] | None = None,
    *,
    propensity: bool = False,
) -> Utility:
    """Compare two files that have been read; see `utility`."""
    one, two = files.original, files.masked
    missing = np.column_stack([np.isnan(one).sum(axis=0), np.isnan(two).sum(axis=0)])
    return Utility(
        files.names, files.left_out, (len(one), len(two)), missing.astype(np.int64),
        ("mean", "sd", "median", *(f"q{100 * share:02.4g}" for share in shares)),
        _statistics(one, shares), _statistics(two, shares),
        np.array([_distance(a, b) for a, b in zip(one.T, two.T, strict=True)]),
        _correlations(one), _correlations(two), tuple(regressions_of(files, regressions)),
        propensity_of(files) if propensity else None, files.library,
    )  # fmt: skip


def _statistics(values: Floats, shares: Sequence[float]) -> Floats:
    """Mean, standard deviation, median and quantiles of each column, shape (d, s)."""
    rows = []
    for column in values.T:
        there = column[np.isfinite(column)]
        if not len(there):
            rows.append([np.nan] * (3 + len(shares)))
            continue
        spread = there.std(ddof=1) if len(there) > 1 else np.nan
        rows.append([there.mean(), spread, *np.quantile(there, (0.5, *shares))])
    return np.array(rows, np.float64)


def _distance(one: Floats, two: Floats) -> float:
    """Largest difference of two empirical distribution functions; NaN if one is of nothing."""
    one, two = (np.sort(part[np.isfinite(part)]) for part in (one, two))
    if not len(one) or not len(two):
        return float("nan")
    places = np.concatenate([one, two])
    below = [np.searchsorted(part, places, side="right") for part in (one, two)]
    gap = int(np.abs(below[0] * len(two) - below[1] * len(one)).max())
    return gap / (len(one) * len(two))


def _correlations(values: Floats) -> Floats:
    """Correlations over the records that have both values, shape (d, d)."""
    d = values.shape[1]
    found = np.full((d, d), np.nan)
    for i in range(d):
        for j in range(i, d):
            pair = values[:, [i, j]]
            pair = pair[np.isfinite(pair).all(axis=1)]
            if len(pair) < 2 or (np.ptp(pair, axis=0) == 0).any():
                continue
            rows = (pair - pair.mean(axis=0)).T
            rows = rows / np.abs(rows).max(axis=1, keepdims=True)
            length = np.sqrt((rows**2).sum(axis=1))
            found[i, j] = found[j, i] = float(rows[0] @ rows[1] / (length[0] * length[1]))
    return found
