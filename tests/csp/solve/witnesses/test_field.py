"""Rooms, levels and witnesses of a problem, against fractions and Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

from csp import Problem, Table
from csp.solve.witnesses.field import Field, followed, movable, tighten
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import cube_problem, ends, everything


def true_rooms(problem: Problem, cell: int) -> tuple[int | None, int | None]:
    """What the bounds of a cell leave above and below its value; None for no bound."""
    low, high = oracles.bounds_of(problem.table, cell)
    value = int(problem.table.values[cell])
    return None if high is None else high - value, None if low is None else value - low


@examples(40)
@given(problems())
def test_tightened_rooms_hold_every_interval(problem: Problem) -> None:
    sides = tighten(problem)
    pattern = everything(problem)
    for i in np.flatnonzero(pattern).tolist():
        low, high = oracles.rational_interval(problem.table, pattern, i)
        value = int(problem.table.values[i])
        reach = None if high is None else high - value, None if low is None else value - low
        for side, far, most in zip(sides, reach, true_rooms(problem, i), strict=True):
            assert side[i] <= (np.inf if most is None else most)
            assert side[i] >= (np.inf if far is None else float(far) * (1 - 1e-9))
    for side in sides:
        assert not side[~pattern].any()


@examples(60)
@given(problems())
def test_rooms_of_all_cells_together_are_whole_and_lose_no_deviation(problem: Problem) -> None:
    field, pattern = Field(problem, together=True), everything(problem)
    largest = max(
        int(level[problem.primary].max()) for level in (problem.lpl, problem.upl, problem.spl)
    )
    for i in np.flatnonzero(pattern).tolist():
        low, high = oracles.rational_interval(problem.table, pattern, i)
        value = int(problem.table.values[i])
        reach = None if high is None else high - value, None if low is None else value - low
        sides = int(field.up[i]), int(field.down[i])
        for side, far, most in zip(sides, reach, true_rooms(problem, i), strict=True):
            assert 0 <= side <= (side if most is None else most)
            # What is further than many times the largest level serves nothing.
            assert side >= min(100 * largest, 100 * largest if far is None else far)
    for side in (field.up, field.down):
        assert not side[~pattern].any()


def test_rooms_of_all_cells_together_never_exceed_true_ones_that_floats_round() -> None:
    # As a float 2**54 - 1 is one more.
    far = np.full(2, 2**53)
    table = Table(far - 1, csr_array(np.array([[1, -1]])), -far, far, (("a",), ("b",)))
    problem = Problem.of(table, [True, False], lpl=2**52)
    field = Field(problem, together=True)
    assert field.down.tolist() == [2**54 - 1] * 2
    assert field.up.max() <= 1


@examples(100)
@given(problems(), st.booleans())
def test_needs_keep_every_level_and_are_shared_as_far_as_a_cell_can_fall(
    problem: Problem, together: bool
) -> None:
    field = Field(problem, together=together)
    for p in np.flatnonzero(problem.primary).tolist():
        rise, fall = int(field.rise[p]), int(field.fall[p])
        lpl, upl, spl = (int(level[p]) for level in (problem.lpl, problem.upl, problem.spl))
        assert rise >= upl
        assert fall >= lpl
        assert rise + fall >= spl
        # No more than that, and more of a fall than the even share only where it cannot rise.
        assert rise + fall == max(spl, rise + lpl, upl + fall)
        assert fall <= max(lpl, spl // 2) or rise == max(upl, int(field.up[p]))
        rows = range(int(field.first[p]), int(field.first[p + 1]))
        asked = {int(field.kind[r]): int(field.need[r]) for r in rows}
        assert asked == {kind: need for kind, need in ((0, rise), (1, fall)) if need}
        assert all(field.cell[r] == p for r in rows)
    assert set(field.cell.tolist()) <= set(np.flatnonzero(problem.primary).tolist())


@examples(200)
@given(problems(max_primary=4), st.data(), st.booleans(), st.booleans())
def test_directions_go_as_far_as_rooms_allow_and_serve_what_fractions_say(
    problem: Problem, data: st.DataObject, integer: bool, huge: bool
) -> None:
    field = Field(problem, integer=integer, together=True)
    able = np.flatnonzero(field.open)
    if not len(able):
        return
    cells = np.array(sorted(data.draw(st.sets(st.sampled_from(able.tolist()), min_size=1))))
    sizes = st.integers(1, 2**70 if huge else 12)
    numbers = data.draw(
        st.lists(st.tuples(sizes, st.sampled_from([-1, 1])), min_size=len(cells),
                 max_size=len(cells))
    )  # fmt: skip
    steps = np.array([size * sign for size, sign in numbers], dtype=object if huge else np.int64)
    witness = field.along(cells, steps)
    for sign, (top, bottom) in ((1, witness.forward), (-1, witness.back)):
        furthest = min(
            Fraction(int(field.up[c] if sign * s > 0 else field.down[c]), abs(s))
            for c, s in zip(cells.tolist(), steps.tolist(), strict=True)
        )
        assert Fraction(top, bottom) == (int(furthest) if integer else furthest)
        assert type(top) is type(bottom) is int
    ways = ends(witness)
    met = []
    for r, (p, kind, need) in enumerate(
        zip(field.cell.tolist(), field.kind.tolist(), field.need.tolist(), strict=True)
    ):
        if max((-1 if kind else 1) * end.get(p, Fraction(0)) for end in ways) >= need:
            met.append(r)
    assert field.served(witness).tolist() == met


@given(st.integers(0, 2**32 - 1))
def test_cells_that_cannot_move_are_peeled_one_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6), rng.integers(1, 9)
    matrix = rng.integers(-1, 2, (m, n)) * (rng.random((m, n)) < 0.6)
    cells = np.flatnonzero(rng.random(n) < 0.8)
    left = set(cells.tolist())
    while alone := {
        j for row in matrix for j in left if row[j] and sum(bool(row[i]) for i in left) == 1
    }:
        left -= alone
    found, part = movable(csc_array(matrix), cells)
    assert found.tolist() == sorted(left)
    kept = matrix[:, found]
    assert part.toarray().tolist() == kept[kept.any(axis=1)].tolist()


@pytest.mark.parametrize("integer", [False, True])
def test_a_price_is_nought_where_a_cell_has_to_be_suppressed(integer: bool) -> None:
    problem = cube_problem()
    field = Field(problem, integer=integer, together=True)
    assert field.price.tolist() == np.where(problem.free, problem.cost, 0).tolist()
    assert field.middle == np.median([p for p in field.price.tolist() if p])


@examples(60)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 40), st.integers(0, 40)), min_size=1))
def test_a_vector_is_followed_either_way_until_a_room_ends(
    cells: list[tuple[int, int, int]],
) -> None:
    cells = [(step or 1, up, down) for step, up, down in cells]
    ahead = min(Fraction(up if step > 0 else down, abs(step)) for step, up, down in cells)
    behind = min(Fraction(down if step > 0 else up, abs(step)) for step, up, down in cells)
    rise, fall = followed(*np.array(cells).T)
    for i, (step, _, _) in enumerate(cells):
        sides = (ahead, behind) if step > 0 else (behind, ahead)
        assert (rise[i], fall[i]) == pytest.approx([float(abs(step) * far) for far in sides])
