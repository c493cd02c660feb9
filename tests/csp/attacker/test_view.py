"""What engines share: stretches of arrays, deviations in exact numbers, the largest room."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp.attacker.view import Deviation, largest_room, positions
from csp.exact import UNBOUNDED
from tests.support.shared import examples


@examples(50)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6))
def test_positions_of_stretches_are_their_ranges_one_after_the_other(
    stretches: list[tuple[int, int]],
) -> None:
    start = np.array([begin for begin, _ in stretches], np.int64)
    length = np.array([size for _, size in stretches], np.int64)
    at, which = positions(start, start + length)
    pairs = [(begin + i, k) for k, (begin, size) in enumerate(stretches) for i in range(size)]
    assert list(zip(at.tolist(), which.tolist(), strict=True)) == pairs


@examples(50)
@given(st.lists(st.integers(-3, 3) | st.just(2**70), max_size=8), st.integers(1, 5))
def test_a_deviation_keeps_the_cells_that_move(numbers: list[int], denominator: int) -> None:
    found = Deviation.of(np.array(numbers, dtype=object), denominator)
    assert found.moved.tolist() == [i for i, v in enumerate(numbers) if v]
    assert (found.steps.dtype == object) == (2**70 in numbers)
    for i, v in enumerate(numbers):
        for sign in (1, -1):
            assert found.reach(i, sign) == Fraction(sign * v, denominator)


def test_rooms_without_a_bound_are_not_the_largest() -> None:
    assert largest_room(np.array([3, UNBOUNDED]), np.array([5, 0])) == 5
    assert largest_room(np.array([UNBOUNDED]), np.empty(0, np.int64)) == 0
