"""What stays disclosed in a k^f-anonymous file: sums of generalised attributes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from microagg.aggregates.functions import Aggregate, Linear, reach
from microagg.aggregates.generalised import Residual
from microagg.records import Bools, Ints

__all__ = ["residual_disclosure"]


def residual_disclosure(
    units: Ints,
    lower: Ints,
    upper: Ints,
    classes: Ints,
    aggregates: Sequence[Aggregate],
    d: Fraction,
) -> Residual | None:
    """Count records of which aggregate knowledge discloses generalised values or their sum.

    Inside a class all exact parts are equal to one c, so that an attacker who knows f(t) learns the
    weighted sum f(t) - c of t's generalised attributes, unless records outside the class are
    candidates too. With one generalised attribute the sum is its value; with several aggregates
    the sums form linear equations that may determine values. Records whose f the attacker knows
    only within a tolerance of a unit or more are left out.

    None if an aggregate is a function of the user. With several aggregates, the counts are at least
    what is disclosed: candidates are counted for one aggregate at a time.
    """
    linear = [aggregate for aggregate in aggregates if isinstance(aggregate, Linear)]
    if len(linear) < len(aggregates):
        return None
    wide = lower < upper
    touched = wide.any(axis=1) & (classes >= 0)
    rows = np.flatnonzero(touched)
    if not len(rows):
        return Residual(0, 0, 0, 0)
    sizes = np.bincount(classes[classes >= 0])
    alone = np.zeros(len(units), bool)
    uniform = np.ones(len(sizes), bool)
    known = np.ones(len(units), bool)
    for aggregate in linear:
        v = aggregate.values(units)
        low, high = aggregate.ends(lower, upper)
        below = np.searchsorted(np.sort(low), v[rows], side="right")
        candidates = below - np.searchsorted(np.sort(high), v[rows], side="left")
        alone[rows] |= candidates == sizes[classes[rows]]
        uniform &= _uniform(low, classes, len(sizes)) & _uniform(high, classes, len(sizes))
        known &= reach(v, d) == 0
    disclosed = rows[alone[rows] & uniform[classes[rows]] & known[rows]]
    weights = [aggregate.weights for aggregate in linear]
    sums = values = 0
    for mask, count in zip(*np.unique(wide[disclosed], axis=0, return_counts=True), strict=True):
        sums += int(count) * any(
            any(w and m for w, m in zip(ws, mask, strict=True))
            and any(w and not m for w, m in zip(ws, mask, strict=True))
            for ws in weights
        )
        values += int(count) * _determines(weights, mask)
    single = int((wide.sum(axis=1)[rows] == 1).sum())
    return Residual(len(rows), single, sums, values)


def _uniform(numbers: Ints, classes: Ints, count: int) -> Bools:
    """For each class, whether all its records have the same number."""
    rows = np.flatnonzero(classes >= 0)
    first = np.zeros(count, np.int64)
    first[classes[rows]] = numbers[rows]
    uniform = np.ones(count, bool)
    uniform[classes[rows][numbers[rows] != first[classes[rows]]]] = False
    return uniform


def _determines(weights: Sequence[Sequence[Fraction]], mask: Bools) -> bool:
    """Whether weighted sums of the marked attributes fix the value of one of them."""
    from flint import fmpq, fmpq_mat

    marked = [[w for w, m in zip(ws, mask, strict=True) if m] for ws in weights]
    table = [[fmpq(w.numerator, w.denominator) for w in ws] for ws in marked]
    reduced, rank = fmpq_mat(table).rref()
    return any(sum(reduced[i, j] != 0 for j in range(reduced.ncols())) == 1 for i in range(rank))
