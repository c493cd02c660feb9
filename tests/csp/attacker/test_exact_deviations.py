"""Deviations given by some of their cells, against Gauss elimination in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp.attacker import elimination
from csp.attacker.elimination import determined
from csp.clock import Clock, now
from tests.support.shared import examples


def solve(matrix: np.ndarray, known: list[int], values: list[int]) -> list[Fraction] | None:
    """The vector with these values in the null space; None if there is none or many."""
    k = matrix.shape[1]
    unit = [[Fraction(int(j == p)) for j in range(k)] for p in known]
    rows = [[Fraction(int(a)) for a in row] for row in matrix] + unit
    right = [Fraction(0)] * len(matrix) + [Fraction(v) for v in values]
    at = 0
    for j in range(k):
        pivot = next((i for i in range(at, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        right[at], right[pivot] = right[pivot], right[at]
        for i in range(len(rows)):
            if i != at and rows[i][j]:
                share = rows[i][j] / rows[at][j]
                rows[i] = [a - share * b for a, b in zip(rows[i], rows[at], strict=True)]
                right[i] -= share * right[at]
        at += 1
    if any(right[at:]):
        return None
    return [right[j] / rows[j][j] for j in range(k)]


@examples(200)
@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 3))
def test_pivots_determine_what_fractions_say(seed: int, wide: bool, long: int) -> None:
    rng = np.random.default_rng(seed)
    k, r = int(rng.integers(1, 9)), int(rng.integers(0, 9))
    matrix = rng.integers(-3 if wide else -1, 4 if wide else 2, (r, k))
    matrix *= rng.random((r, k)) < 0.6
    # Redundant relations come with every table.
    matrix = np.concatenate([matrix, matrix[: r // 2] + matrix[r - r // 2 :]])
    pivots = np.sort(rng.permutation(k)[: int(rng.integers(0, k + 1))])
    values = rng.integers(-5, 6, (len(pivots), 2))
    expected = [solve(matrix, pivots.tolist(), values[:, c].tolist()) for c in (0, 1)]
    with pytest.MonkeyPatch.context() as patch:
        # From no elimination at all, so that all is left to dense arithmetic, to much of it.
        patch.setattr(elimination, "_LONG", (0, 1, 3, 60)[long])
        answer = determined(csr_array(matrix), pivots, values)
    if None in expected:
        assert answer is None
        return
    assert answer is not None
    z, divisor = answer
    assert divisor > 0
    for c in (0, 1):
        assert [Fraction(int(a), divisor) for a in z[:, c]] == expected[c]


def test_what_cannot_end_in_time_is_not_begun() -> None:
    matrix = csr_array(np.array([[2, 3, 1], [3, -2, 1]]))
    values = np.array([[13]])
    assert determined(matrix, np.array([2]), values) is not None
    assert determined(matrix, np.array([2]), values, Clock(now() - 1)) is None


def test_denominators_may_outgrow_floats() -> None:
    k = 70
    matrix = np.zeros((k - 1, k), np.int64)
    matrix[np.arange(k - 1), np.arange(k - 1)] = 1
    matrix[np.arange(k - 1), np.arange(1, k)] = -2
    found = determined(csr_array(matrix), np.array([0]), np.array([[1]]))
    assert found is not None
    numerators, divisor = found
    assert [Fraction(int(a), divisor) for a in numerators[:, 0]] == [
        Fraction(1, 2**i) for i in range(k)
    ]
