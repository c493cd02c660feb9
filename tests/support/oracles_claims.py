"""What a claim about an interval means, put in with plain fractions and Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from csp import UNBOUNDED, Table
from csp.audits.claims import Claim

__all__ = ["holds"]


def _whole(*numbers: object) -> bool:
    return all(type(v) is int for v in numbers)


def _vector(places: np.ndarray, numbers: np.ndarray, length: int) -> dict[int, int] | None:
    """A sparse vector as a dict; None if it is not one."""
    where, given = places.tolist(), numbers.tolist()
    if places.dtype != np.int64 or not _whole(*given) or len(where) != len(given):
        return None
    if len(set(where)) != len(where):
        return None
    return dict(zip(where, given, strict=True)) if all(0 <= i < length for i in where) else None


def holds(claim: Claim, table: Table, pattern: np.ndarray) -> bool:
    """Whether a claim is in order, its witness a possible deviation, and its proof a proof."""
    n, matrix = table.n_cells, table.relations.toarray().tolist()
    numbers = (claim.cell, claim.sign, claim.denominator, claim.divisor, *claim.known)
    if not _whole(*numbers) or abs(claim.sign) != 1 or min(claim.denominator, claim.divisor) < 1:
        return False
    if not all(0 <= i < n for i in (claim.cell, *claim.known)):
        return False
    free = [bool(pattern[i]) and i not in claim.known for i in range(n)]
    if not free[claim.cell] or (claim.integer and claim.denominator != 1):
        return False
    if claim.reach is not None and not (isinstance(claim.reach, Fraction) and claim.reach >= 0):
        return False
    # The witness.
    steps = _vector(claim.cells, claim.steps, n)
    if steps is None or not all(free[i] for i in steps):
        return False
    z = [Fraction(steps.get(i, 0), claim.denominator) for i in range(n)]
    if any(sum(a * b for a, b in zip(row, z, strict=True)) for row in matrix):
        return False
    far = claim.sign * z[claim.cell]
    if not (far > 0 if claim.reach is None else far >= claim.reach):
        return False
    up = [None if u >= UNBOUNDED else u - v for u, v in zip(*_lists(table, "upper"), strict=True)]
    down = [
        None if b <= -UNBOUNDED else v - b for b, v in zip(*_lists(table, "lower"), strict=True)
    ]
    for i in range(n):
        limit = up[i] if z[i] > 0 else down[i]
        if z[i] and limit is not None and (claim.reach is None or abs(z[i]) > limit):
            return False
    if not claim.exact:
        return True
    # The proof.
    y = _vector(claim.rows, claim.multipliers, len(matrix))
    if y is None or claim.reach is None:
        return False
    bound = Fraction(0)
    for i in range(n):
        own = claim.sign if i == claim.cell else 0
        weight = own - sum(
            Fraction(y.get(r, 0), claim.divisor) * row[i] for r, row in enumerate(matrix)
        )
        limit = up[i] if weight > 0 else down[i]
        if free[i] and weight:
            if limit is None:
                return False
            bound += abs(weight) * limit
    return (bound // 1 if claim.integer else bound) <= claim.reach


def _lists(table: Table, bound: str) -> tuple[list[int], list[int]]:
    return getattr(table, bound).tolist(), table.values.tolist()
