"""Attributes made comparable before distances are taken."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Floats, exact
from csp.names.calls import check_choice
from microagg.records import Records

SCALES = {
    "none": "as they are: the attribute with the largest numbers decides",
    "standardise": "divided by the standard deviation, the usual choice",
    "variance": "divided by the variance, as in Torra and Navarro-Arribas (2023)",
    "range": "divided by the range, so that every attribute runs from 0 to 1",
}
"""Ways to make attributes comparable."""

OR_KEEP = f"leave it out, or keep it with {argument('constant', 'keep')}"
"""What can be done about constant attributes."""


def refuse_constant(records: Records, why: str, mend: str) -> None:
    """Refuse attributes of one value: name the first, say why, and what to do about it."""
    if records.constant.any():
        j = int(np.argmax(records.constant))
        differs = False
        what = f"is constant ({int(records.constant.sum())} such)"
        with suppress(InputError):  # of too many digits
            differs = len(set(map(exact, records.columns[j].tolist()))) > 1
        if differs:
            what = "differs only beyond the 16 digits with which distances are taken"
            mend = "subtract a number from all its values"
        msg = f"attribute {records.names[j]!r} {what}, {why}; {mend}"
        raise InputError(msg)


def spreads(records: Records, scale: str) -> Floats:
    """Spread of each attribute, by which it is divided, shape (d,)."""
    values = records.values
    if scale == "none":
        return np.ones(values.shape[1])
    if scale == "range":
        return np.asarray(np.ptp(values, axis=0))
    return np.asarray(values.std(axis=0) if scale == "standardise" else values.std(axis=0) ** 2)


def scaled(records: Records, scale: str, *, constant: str = "error") -> Floats:
    """Points between which distances are taken, shape (n, d), C-contiguous.

    Attributes are also moved to mean 0 (or minimum 0 for "range"), which changes no distance,
    unless the scale is "none". An attribute that has one value only is refused ("error"), or adds
    nothing to any distance ("keep").
    """
    check_choice("scale", scale, SCALES)
    check_choice("constant", constant, ("error", "keep"))
    if constant == "error":
        refuse_constant(records, "so it cannot tell records apart", OR_KEEP)
    values, flat = records.values, records.constant
    if scale == "none":
        return np.ascontiguousarray(values)
    origin = values.min(axis=0) if scale == "range" else values.mean(axis=0)
    # What rounding leaves of the deviations of a constant must not be blown up to size one.
    points: Floats = (values - origin) / np.where(flat, 1.0, spreads(records, scale))
    points[:, flat] = 0.0
    return np.ascontiguousarray(points)


def scaled_with_gaps(records: Records, scale: str) -> Floats:
    """Points as `scaled` makes them of the values that are there, NaN where one is missing."""
    if records.gaps is None:
        return scaled(records, scale, constant="keep")
    points = np.full(records.gaps.shape, np.nan)
    for j, name in enumerate(records.names):
        rows = np.flatnonzero(~records.gaps[:, j])
        part = records.part(rows, [name])
        points[rows, j] = scaled(part, scale, constant="keep")[:, 0]
    return points
