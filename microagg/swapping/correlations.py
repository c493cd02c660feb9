"""What masking does to the correlations of confidential attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Floats
from microagg.records import read_records
from microagg.swapping.swapped import Swapped


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationLoss:
    """Correlations before and after.

    Attributes
    ----------
    names : tuple of str
        All attributes that were compared, the confidential ones last.
    confidential : tuple of str
    original, masked : (d, c) float64
        Correlation of every attribute with every confidential one.
    mean, std : float
        Of the absolute differences over the pairs of a confidential attribute with another one
        or with itself, each pair once: q c + c (c + 1) / 2 of them for q other attributes and c
        confidential ones. The c pairs of an attribute with itself add zeros.
    """

    names: tuple[str, ...]
    confidential: tuple[str, ...]
    original: Floats
    masked: Floats
    mean: float
    std: float

    def __repr__(self) -> str:
        return f"CorrelationLoss({self.entries} pairs, mean {self.mean:.3g}, std {self.std:.3g})"

    @property
    def entries(self) -> int:
        """Pairs that were averaged."""
        return int(pairs(len(self.names), len(self.confidential)).sum())

    @property
    def differences(self) -> Floats:
        """Absolute differences, shape (d, c)."""
        found: Floats = np.abs(self.masked - self.original)
        return found


def correlation_loss(
    original: Any,
    masked: Any,
    confidential: Sequence[str],
    *,
    attributes: Sequence[str] | None = None,
) -> CorrelationLoss:
    """Mean and standard deviation of what correlations to confidential attributes change by.

    Parameters
    ----------
    original : data
        As `microagg.read_records` takes it.
    masked : data or Swapped
        With the same rows and attributes.
    confidential : sequence of str
    attributes : sequence of str, optional
        Attributes to correlate them with, confidential ones included or not; by default the
        quasi-identifiers of a `Swapped`, else all of the original.

    Raises
    ------
    InputError
        If the files differ in their number of records, an attribute is unknown, or one is
        constant in either file, so that it has no correlation.

    Notes
    -----
    Soria-Comas and Domingo-Ferrer (2012), Tables X and XI. Their text does not say which pairs
    are averaged; with these the table of EIA comes out.
    """
    chosen = tuple(confidential)
    if not chosen or isinstance(confidential, str):
        msg = "name the confidential attributes in a list; at least one"
        raise InputError(msg)
    if attributes is None and isinstance(masked, Swapped):
        attributes = masked.quasi_identifiers
    wanted = None if attributes is None else tuple(dict.fromkeys((*attributes, *chosen)))
    before = read_records(original, wanted)
    names = (*(name for name in before.names if name not in chosen), *chosen)
    before = before.only(names)
    if isinstance(masked, Swapped):
        masked = masked.to_columns()
    after = read_records(masked, names)
    if after.n != before.n:
        msg = f"the original has {before.n} records, the masked file {after.n}"
        raise InputError(msg)
    count = len(chosen)
    one = correlations(standard_rows(before.values, names, "original"), count)
    two = correlations(standard_rows(after.values, names, "masked"), count)
    change = np.abs(two - one)[pairs(len(names), count)]
    return CorrelationLoss(names, chosen, one, two, float(change.mean()), float(change.std()))


def pairs(d: int, c: int) -> Bools:
    """Which entries of a (d, c) table of correlations are averaged, confidential ones last."""
    rows, columns = np.arange(d)[:, None], np.arange(d - c, d)
    return rows <= columns


def standard_rows(values: Floats, names: Sequence[str], which: str) -> Floats:
    """Attributes with mean 0 and length 1, one a row, shape (d, n); constant ones are refused."""
    flat = values.min(axis=0) == values.max(axis=0)
    if flat.any():
        name = names[int(np.argmax(flat))]
        msg = f"attribute {name!r} is constant in the {which} file: it has no correlations"
        raise InputError(msg)
    # Numbers of at most one keep squares of any finite data in range.
    rows = np.ascontiguousarray(values.T / np.abs(values).max(axis=0)[:, None])
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows


def correlations(rows: Floats, c: int) -> Floats:
    """Correlations of d standard rows with the last c of them, shape (d, c).

    Sums are taken in one order whatever the number of threads, which a matrix product of a
    library of linear algebra does not promise.
    """
    found: Floats = np.einsum("in,jn->ij", rows, rows[len(rows) - c :], optimize=False)
    return found
