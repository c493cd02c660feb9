"""Can records of two files be told apart? The propensity score mean squared error.

M.-J. Woo, J. P. Reiter, A. Oganian and A. F. Karr, Global measures of data utility for microdata
masked for disclosure limitation, Journal of Privacy and Confidentiality 1 (2009); J. Snoke,
G. M. Raab, B. Nowok, C. Dibben and A. Slavković, General and specific utility measures for
synthetic data, Journal of the Royal Statistical Society A 181 (2018).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from csp.errors import InputError
from csp.exact import Floats
from microagg.comparisons.reading import TwoFiles


@dataclass(frozen=True, slots=True, repr=False)
class Propensity:
    """How well a logistic regression tells masked records from original ones.

    Attributes
    ----------
    records : (int, int)
        Records of the original and of the masked file that have all values.
    pmse : float
        Mean squared difference of the predicted chance of being a masked record from the share of
        masked records: 0 if they cannot be told apart, 1/4 at most for files of equal size.
    expected : float
        What it is on average where the masked records are drawn from a model that is right (Snoke
        and others 2018).
    """

    records: tuple[int, int]
    pmse: float
    expected: float

    def __repr__(self) -> str:
        return "Propensity(pmse and expected, for internal use)"

    @property
    def ratio(self) -> float:
        """The error as a multiple of what is expected."""
        return self.pmse / self.expected if self.expected else 1.0


def propensity_of(files: TwoFiles) -> Propensity:
    """Predict by scikit-learn what is masked: from all attributes, their squares and products.

    Without these a file with the means of the original could not be told apart from it.

    Raises
    ------
    InputError
        If scikit-learn is not installed, or a file has no complete record.
    """
    if find_spec("sklearn") is None:
        msg = (
            "the propensity score needs scikit-learn; pip install 'cellveil[utility]', or leave "
            "it out"
        )
        raise InputError(msg)
    from sklearn.linear_model import LogisticRegression

    parts = [part[np.isfinite(part).all(axis=1)] for part in (files.original, files.masked)]
    n, m = (len(part) for part in parts)
    if not n or not m:
        which = "masked file" if n else "original"
        msg = f"no record of the {which} has all values that are compared; name fewer attributes"
        raise InputError(msg)
    masked = np.repeat([0, 1], [n, m])
    share = m / (n + m)
    points = _second_order(np.vstack(parts))
    slopes = int(np.linalg.matrix_rank(points))
    expected = slopes * (1 - share) ** 2 * share / (n + m)
    if not slopes:
        return Propensity((n, m), 0.0, expected)
    # Without a penalty. Files that are told apart for certain have no best coefficients: then it
    # ends with the most steps, and the chances are close to 0 and 1 as they should be.
    model = LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances = model.fit(points, masked).predict_proba(points)[:, 1]
    error = float(((chances - share) ** 2).mean())
    return Propensity((n, m), error, expected)


def _second_order(values: Floats) -> Floats:
    """Attributes, squares and products of two, standardised; what is constant left out."""
    first = _standardised(values)
    rows, columns = np.triu_indices(first.shape[1])
    return _standardised(np.column_stack([first, first[:, rows] * first[:, columns]]))


def _standardised(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    told = spread > 1e-12 * np.maximum(np.abs(values).max(axis=0, initial=0.0), 1e-300)
    return np.asarray(centred[:, told] / spread[told])
