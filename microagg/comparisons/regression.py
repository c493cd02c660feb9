"""A linear regression in two files, and how far its coefficients agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from csp.errors import InputError, argument
from csp.exact import Floats
from csp.names.calls import check_known
from microagg.comparisons.reading import TwoFiles
from microagg.records import Frozen

INTERCEPT = "(intercept)"
LEVEL = 0.95
"""Of the confidence intervals."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regression(Frozen):
    """A regression by ordinary least squares, with an intercept, in both files.

    Attributes
    ----------
    response : str
    terms : tuple of str
        The intercept, then the explanatory attributes; c of them.
    records : (int, int)
        Records of the original and of the masked file that have all values.
    original, masked : (c,) float64
        Coefficients.
    original_errors, masked_errors : (c,) float64
        Their standard errors, under equal variances.
    overlap : (c,) float64
        How far the 95 % confidence intervals of a coefficient overlap, as a share of both, from 0
        to 1 (Karr and others 2006; 0 where they are apart).
    """

    response: str
    terms: tuple[str, ...]
    records: tuple[int, int]
    original: Floats
    masked: Floats
    original_errors: Floats
    masked_errors: Floats
    overlap: Floats

    def __repr__(self) -> str:
        return f"Regression({self.response} on {', '.join(self.terms[1:])})"


def regressions_of(
    files: TwoFiles, asked: Mapping[str, Sequence[str] | str] | None
) -> Iterator[Regression]:
    """Estimate the regressions that are asked for, by response.

    Raises
    ------
    InputError
        If an attribute is not compared, explains itself, or follows from the others, or there are
        too few records.
    """
    here = argument("regressions", option="--regress")
    if asked is not None and (
        not isinstance(asked, Mapping)
        or not all(isinstance(given, Iterable) for given in asked.values())
    ):
        msg = (
            f"{here} must say which columns explain each response, such as "
            f"{{'pay': ['age', 'rent']}}, not {asked!r}"
        )
        raise InputError(msg)
    for response, given in (asked or {}).items():
        explained = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
        columns = [response, *explained]
        check_known(here, columns, files.names, "columns of numbers")
        if response in explained or not explained:
            what = "is explained by itself" if explained else "has nothing that explains it"
            msg = f"{here}: {response!r} {what}; name other columns"
            raise InputError(msg)
        places = [files.names.index(name) for name in columns]
        found = []
        for which, values in (("original", files.original), ("masked file", files.masked)):
            part = values[:, places]
            part = part[np.isfinite(part).all(axis=1)]
            found.append(
                (len(part), *least_squares(part[:, 1:], part[:, 0], f"{response} in the {which}"))
            )
        (n, one, one_errors), (m, two, two_errors) = found
        overlap = interval_overlap(_interval(one, one_errors, n), _interval(two, two_errors, m))
        yield Regression(
            response, (INTERCEPT, *explained), (n, m), one, two, one_errors, two_errors, overlap
        )


def least_squares(X: Floats, y: Floats, what: str) -> tuple[Floats, Floats]:
    """Coefficients with an intercept, and their standard errors, shape (c,) each."""
    n, c = len(X), X.shape[1] + 1
    if n <= c:
        msg = f"regression of {what}: {n} complete records for {c} coefficients; it takes more"
        raise InputError(msg)
    # Centred and in units of one: numbers of different size must not decide what is dependent.
    centre, middle = X.mean(axis=0), y.mean()
    spread = np.sqrt(((X - centre) ** 2).sum(axis=0))
    flat = spread <= 1e-12 * np.sqrt(n) * np.abs(X).max(axis=0, initial=0.0)
    Z = (X - centre) / np.where(flat, 1.0, spread)
    q, r = np.linalg.qr(Z)
    if flat.any() or (np.abs(np.diag(r)) < 1e-10).any():
        msg = (
            f"regression of {what}: an explanatory column is constant or follows from the others; "
            "leave it out"
        )
        raise InputError(msg)
    inverse = np.linalg.inv(r)
    slopes = inverse @ (q.T @ (y - middle))
    residual = y - middle - Z @ slopes
    variance = float(residual @ residual) / (n - c)
    inverse = inverse / spread[:, None]
    slopes = slopes / spread
    covariance = variance * (inverse @ inverse.T)
    first = middle - centre @ slopes
    error = variance / n + centre @ covariance @ centre
    return np.array([first, *slopes]), np.sqrt(np.array([error, *np.diag(covariance)]))


def _interval(coefficients: Floats, errors: Floats, n: int) -> tuple[Floats, Floats]:
    """Lower and upper ends of confidence intervals."""
    wide = float(stdtrit(n - len(coefficients), (1 + LEVEL) / 2)) * errors
    return coefficients - wide, coefficients + wide


def interval_overlap(one: tuple[Floats, Floats], two: tuple[Floats, Floats]) -> Floats:
    """Mean of the shares of both intervals that they have in common; equal points are all of it."""
    shared = np.minimum(one[1], two[1]) - np.maximum(one[0], two[0])
    found = np.zeros(len(shared))
    for low, high in (one, two):
        wide = high - low
        share = np.where(wide > 0, np.maximum(shared, 0.0) / np.where(wide > 0, wide, 1.0), 0.0)
        found += np.where((wide == 0) & (shared >= 0), 1.0, share)
    return found / 2
