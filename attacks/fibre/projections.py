"""Ranges of the coefficients of kernel vectors: nested, by elimination, in exact integers.

Every consistent table is ``x + sum_j lambda_j b_j``. In an echelon basis each vector moves a cell
of its own that no later one moves, so coefficients are decided one after the other; what the cells
allow is projected onto the first few of them, for each number of them (Fourier and Motzkin).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from operator import mul
from typing import NamedTuple

import numpy as np

from csp.attacker.integer_matrices import inverse
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.exact import Ints

_MOST_PAIRS = 100
"""Pairs of inequalities that one elimination combines at most; the ranges are wider beyond. (2,000
save no node on squares of 9 to 25 cells and cubes of 27 to 52, and take ten times as long.)"""

_FAR = 2**62
"""What is computed in 64 bits stays below this."""


class Bounds(NamedTuple):
    """Inequalities ``sum_l left[i, l] lambda_l <= right[i]`` that bound one coefficient each.

    Rows of coefficient t have entries at 0 to t only, and one at t.
    """

    left: Ints  # (m, d)
    right: Ints  # (m,)
    start: Ints  # (d + 1,) where the rows of each coefficient begin
    possible: bool  # False if the cells leave no table, not even of fractions


def echelon(basis: Ints, order: Iterable[int]) -> list[list[int]]:
    """Basis of the same lattice in which each vector moves a cell that no later one moves.

    Unimodular steps only (column Hermite form, but for the entries before the pivots). The columns
    of a basis (k, d) are independent; cells are settled in the order given. Returns d rows of k.
    """
    done: list[list[int]] = []
    rest = [[int(v) for v in column] for column in basis.T]
    for cell in order:
        while True:
            moving = [v for v in rest if v[cell]]
            if not moving:
                break
            # Sparse vectors first: they fill the others least.
            pivot = min(moving, key=lambda v: (abs(v[cell]), sum(map(bool, v))))
            if len(moving) == 1:
                done.append(pivot if pivot[cell] > 0 else [-v for v in pivot])
                rest = [v for v in rest if v is not pivot]
                break
            for vector in moving:
                if vector is not pivot:
                    times = vector[cell] // pivot[cell]
                    vector[:] = [a - times * b for a, b in zip(vector, pivot, strict=True)]
    return done


@dataclass(frozen=True, slots=True)
class _Inequality:
    """``left @ lambda <= right``, and the bounds of cells that it was made of, as a bit mask."""

    left: tuple[int, ...]
    right: int
    made_of: int

    @property
    def parts(self) -> int:
        return self.made_of.bit_count()


def project(
    basis: list[list[int]], origin: Ints, lower: Ints, upper: Ints, clock: Clock = UNLIMITED
) -> Bounds:
    """Project what the cells allow onto the first coefficients, for each number of them.

    Every inequality holds for all tables within the ranges, so none is lost; where too many would
    have to be combined, ranges are wider than they could be. The basis is that of `echelon`.

    Raises
    ------
    InputError
        If numbers are so large that 64 bits do not hold what is computed with them.
    OutOfTime
        If the time runs out first.
    """
    ends = list(zip(*(v.tolist() for v in (origin, lower, upper)), strict=True))
    most = _largest_coefficients(basis, ends)
    for i, (x, _, _) in enumerate(ends):
        if abs(x) + sum(abs(v[i]) * m for v, m in zip(basis, most, strict=True)) >= _FAR:
            msg = "the values of suppressed cells are too large to list tables; scale them down"
            raise InputError(msg)
    d, possible = len(basis), True
    # The tightest for each left side.
    found: dict[tuple[int, ...], _Inequality] = {}
    for i, (x, low, high) in enumerate(ends):
        left = tuple(vector[i] for vector in basis)
        if any(left):
            _keep(found, _rounded(left, high - x, 1 << 2 * i))
            _keep(found, _rounded(tuple(-v for v in left), x - low, 2 << 2 * i))
        else:
            possible &= low <= x <= high
    levels: list[list[_Inequality]] = [[] for _ in range(d)]
    for t in reversed(range(d)):
        clock.check("the ranges of coefficients were known")
        above = _fewest(v for v in found.values() if v.left[t] > 0)
        below = _fewest(v for v in found.values() if v.left[t] < 0)
        levels[t] = [*above, *below]
        found = {left: v for left, v in found.items() if not left[t]}
        if len(above) * len(below) > _MOST_PAIRS:
            above = above[: max(math.isqrt(_MOST_PAIRS), _MOST_PAIRS // len(below))]
            below = below[: _MOST_PAIRS // len(above)]
        for a, b in product(above, below):
            made_of = a.made_of | b.made_of
            # After s eliminations a bound made of more than s + 1 others is redundant (Chernikov).
            if made_of.bit_count() > d - t + 1:
                continue
            p, n = a.left[t], -b.left[t]
            left = tuple(n * v + p * w for v, w in zip(a.left, b.left, strict=True))
            if not any(left):
                possible &= n * a.right + p * b.right >= 0
            else:
                new = _rounded(left, n * a.right + p * b.right, made_of)
                if _fits(new, most):
                    _keep(found, new)
    rows = [v for level in levels for v in level]
    return Bounds(
        np.array([v.left for v in rows], dtype=np.int64).reshape(len(rows), d),
        np.array([v.right for v in rows], dtype=np.int64),
        np.cumsum([0, *map(len, levels)]).astype(np.int64),
        possible,
    )


def _largest_coefficients(basis: list[list[int]], ends: list[tuple[int, int, int]]) -> list[int]:
    """How large each coefficient can be while the cells that settle them keep their bounds."""
    d = len(basis)
    if not d:
        return []
    # Each vector's own cell is the first that it moves and the ones after it do not.
    own: list[int] = []
    for t, vector in enumerate(basis):
        later = basis[t + 1 :]
        own.append(next(i for i, v in enumerate(vector) if v and not any(w[i] for w in later)))
    coefficients = inverse([[vector[i] for vector in basis] for i in own])
    reach = [max(abs(high - x), abs(x - low)) for x, low, high in (ends[i] for i in own)]
    return [math.ceil(sum(map(mul, map(abs, row), reach))) for row in coefficients]


def _rounded(left: tuple[int, ...], right: int, made_of: int) -> _Inequality:
    """Divide by the common divisor; for whole coefficients the right side may be rounded down."""
    divisor = math.gcd(*left)
    return _Inequality(tuple(v // divisor for v in left), right // divisor, made_of)


def _keep(found: dict[tuple[int, ...], _Inequality], new: _Inequality) -> None:
    """Add an inequality unless one as tight is there."""
    old = found.get(new.left)
    if old is None or new.right < old.right:
        found[new.left] = new


def _fewest(found: Iterable[_Inequality]) -> list[_Inequality]:
    """Put those made of the fewest bounds first."""
    return sorted(found, key=lambda v: (v.parts, sum(map(abs, v.left))))


def _fits(v: _Inequality, most: list[int]) -> bool:
    """Whether 64 bits hold what a walk computes with an inequality."""
    return abs(v.right) + sum(abs(a) * m for a, m in zip(v.left, most, strict=True)) < _FAR
