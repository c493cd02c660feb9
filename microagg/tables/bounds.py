"""Publicly known bounds of a record's value in each attribute."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from csp.errors import InputError
from csp.exact import UNBOUNDED, Number, exact
from microagg.records import Ints, Records

__all__ = ["known_bounds"]


def known_bounds(
    records: Records, given: Mapping[str, tuple[Number | None, Number | None]]
) -> tuple[Ints, Ints]:
    """Least and largest value in units, shape (d,) each; unbounded where nothing is known.

    Of attributes that are not given, all that is known is that one without a negative value has
    none.

    Raises
    ------
    InputError
        If an attribute is unknown, its ends are not in order, or a value lies outside.
    """
    low = np.where(records.units.min(axis=0) >= 0, 0, -UNBOUNDED)
    high = np.full(len(records.names), UNBOUNDED, np.int64)
    unit = 10**records.scale
    for name, ends in given.items():
        if name not in records.names:
            msg = f"bounds: there is no attribute {name!r}; there are {', '.join(records.names)}"
            raise InputError(msg)
        j = records.names.index(name)
        least, most = (None if end is None else exact(end) * unit for end in (*ends, None)[:2])
        if len(ends) != 2 or (least is not None and most is not None and least > most):
            msg = f"bounds of {name!r} must be the least and the largest value of a record"
            raise InputError(msg)
        low[j] = -UNBOUNDED if least is None else int(-(-least // 1))
        high[j] = UNBOUNDED if most is None else int(most // 1)
        wrong = (records.units[:, j] < low[j]) | (records.units[:, j] > high[j])
        if wrong.any():
            msg = (
                f"row {int(np.argmax(wrong)) + 1}, attribute {name!r}: the value lies outside the "
                f"bounds given ({int(wrong.sum())} such rows); bounds must hold for every record"
            )
            raise InputError(msg)
    return low, high
