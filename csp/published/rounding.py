"""Rounded numbers of a published table: the base is told, or guessed where it heals the sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from csp.exact import Bools, Ints, number_text

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BASES = (1000, 500, 100, 50, 10, 5, 3)
"""Bases of rounding that are recognised."""

_ENOUGH = 12
"""Published numbers, not 0, that must all be multiples of a base."""

_FEWEST = 3
"""Sums that must be off, and not all by one cell, before the last digit is taken for rounded."""

_SHARE = 10
"""Of so many sums one must be off: those of rounded numbers often are."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """How far true numbers may be from published ones.

    Attributes
    ----------
    slack : int
        In units.
    finer : bool
        Whether these are units of one decimal place more than the numbers have.
    note : str
        What was guessed.
    """

    slack: int
    finer: bool = False
    note: str = ""


def told_slack(base: Fraction | None, tolerance: Fraction, scale: int) -> Rounding:
    """Slack that the reader states: a base of rounding, a tolerance, or the larger of both.

    Numbers that are rounded to their last digit are within half of it; others, which may have been
    rounded at random, are less than the base away.
    """
    if base is None or base > Fraction(1, 10**scale):
        less = 0 if base is None else base - Fraction(1, 10**scale)
        return Rounding(int(max(tolerance, less) * 10**scale))
    return Rounding(int(max(tolerance, base / 2) * 10 ** (scale + 1)), finer=True)


def guessed(values: Ints, hidden: Bools, relations: csr_array, scale: int) -> Rounding | None:
    """Guess how numbers are rounded that do not add up; None unless that heals all their sums.

    Parameters
    ----------
    values : (n,) int64
        In units of ``10**-scale``.
    hidden : (n,) bool
        Cells that are not published.
    relations : (m, n) csr_array
    scale : int
    """
    shown = values[~hidden]
    whole = (abs(relations) @ hidden.astype(np.int64)) == 0
    if int((shown != 0).sum()) < _ENOUGH or not whole.any():
        return None
    within = relations[np.flatnonzero(whole)]
    off = np.abs(within @ values)
    terms = np.diff(within.indptr)
    wrong = off > 0
    if not wrong.any():
        return None
    filled = np.unique(shown[shown != 0])

    def heals(most: Callable[[Ints], Ints]) -> bool:
        return bool((off <= most(terms)).all())

    base = next((b for b in _BASES if not (filled % (b * 10**scale)).any()), 0)
    if base and not scale and len(filled) >= 3 and heals(lambda k: (base - 1) * k):
        return Rounding(base - 1, note=(
            f"all published numbers are multiples of {base} and do not add up: they are read as "
            f"rounded to {base}"
        ))  # fmt: skip
    through = np.bincount(within[np.flatnonzero(wrong)].indices, minlength=len(values)).max()
    count = int(wrong.sum())
    often = count >= _FEWEST and int(through) < count and _SHARE * count >= len(off)
    if often and heals(lambda k: k // 2):
        digit = number_text(Fraction(1, 10**scale))
        return Rounding(5, finer=True, note=(
            f"{count} of {len(off)} published sums are off, each by no more than rounding "
            f"explains: numbers are read as rounded to {digit}"
        ))  # fmt: skip
    return None
