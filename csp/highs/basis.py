"""A basis of the simplex method, and where its columns and rows are."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Position(IntEnum):
    """Where a column or row of a basis is; the numbers are those of HiGHS."""

    LOWER = 0
    """At its lower bound."""
    BASIC = 1
    UPPER = 2
    """At its upper bound."""
    ZERO = 3
    """Free, at 0."""
    NONBASIC = 4
    """Not basic; HiGHS chooses the bound."""


class Basis:
    """A basis of the simplex method, as `Model.basis` returns and `Model.set_basis` takes it."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        """The ``highspy.HighsBasis``."""

    @property
    def columns(self) -> NDArray[np.int8]:
        """`Position` of each column."""
        return np.array(list(map(int, self.raw.col_status)), np.int8)

    @property
    def rows(self) -> NDArray[np.int8]:
        """`Position` of each row."""
        return np.array(list(map(int, self.raw.row_status)), np.int8)

    def without_rows(self, rows: Collection[int]) -> Basis:
        """Return the basis that is left when basic rows are deleted."""
        import highspy

        kept = highspy.HighsBasis()
        kept.col_status = self.raw.col_status
        kept.row_status = [s for r, s in enumerate(self.raw.row_status) if r not in rows]
        kept.valid, kept.alien = True, False
        return Basis(kept)
