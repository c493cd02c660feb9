"""Attributes made comparable before distances are taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.calls import check_choice
from csp.errors import InputError, argument
from microagg.records import Records

__all__ = ["SCALES", "scaled"]

SCALES = {
    "none": "as they are: the attribute with the largest numbers decides",
    "standardise": "divided by the standard deviation, the usual choice",
    "variance": "divided by the variance, as in Torra and Navarro-Arribas (2023)",
    "range": "divided by the range, so that every attribute runs from 0 to 1",
}
"""Ways to make attributes comparable."""


def scaled(records: Records, scale: str, *, constant: str = "error") -> NDArray[np.float64]:
    """Points between which distances are taken.

    Parameters
    ----------
    records : Records
    scale : str
        One of `SCALES`. Attributes are also moved to mean 0 (or minimum 0 for "range"), which
        changes no distance, unless the scale is "none".
    constant : {"error", "keep"}
        What to do about an attribute that has one value only, whose spread is 0: refuse it, or
        keep it, where it adds nothing to any distance.

    Returns
    -------
    (n, d) float64, C-contiguous

    Raises
    ------
    InputError
        If the scale is unknown, or an attribute is constant and that is not allowed (named).
    """
    check_choice("scale", scale, SCALES)
    if constant not in ("error", "keep"):
        msg = f"constant must be 'error' or 'keep', got {constant!r}"
        raise InputError(msg)
    values = records.values
    flat = values.min(axis=0) == values.max(axis=0)
    if flat.any() and constant == "error":
        name = records.names[int(np.argmax(flat))]
        msg = (
            f"attribute {name!r} is constant ({int(flat.sum())} such), so it cannot tell records "
            f"apart; leave it out, or keep it with {argument('constant', 'keep')}"
        )
        raise InputError(msg)
    if scale == "none":
        return np.ascontiguousarray(values)
    if scale == "range":
        origin, spread = values.min(axis=0), np.ptp(values, axis=0)
    else:
        # What rounding leaves of the deviations of a constant must not be blown up to size one.
        origin, spread = values.mean(axis=0), values.std(axis=0)
        if scale == "variance":
            spread = spread**2
    points: NDArray[np.float64] = (values - origin) / np.where(flat, 1.0, spread)
    points[:, flat] = 0.0
    return np.ascontiguousarray(points)
