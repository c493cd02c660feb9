"""Zero-half cuts: violated by the point, kept by every 0-1 point that keeps the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from csp import suppress
from csp.clock import UNLIMITED
from csp.compiled import at_once
from csp.solve.cuts import Cut
from csp.solve.exact.branching.node_relaxation import NodeRelaxation
from csp.solve.exact.zero_half import KERNELS, zero_half
from tests.csp.solve.exact.separators.test_root_cuts import cube
from tests.support.schedules import run_before, work_of
from tests.support.shared import examples, uncompiled

CELLS = np.array([2, 3, 5, 7, 8, 11, 12])


def rows_of(weights: list[list[float]], right: list[float]) -> list[Cut]:
    cuts = []
    for row, side in zip(weights, right, strict=True):
        used = np.flatnonzero(row)
        kind = "bridgeless" if -1.0 in row else "capacity"
        cuts.append(Cut(CELLS[used], np.array(row)[used], side, kind))
    return cuts


def found_at(cuts: list[Cut], weights: list[list[float]], x: np.ndarray) -> list[Cut]:
    right = np.array([cut.right for cut in cuts])
    return zero_half(cuts, csr_array(np.array(weights)), right, CELLS, x, 20)


WEIGHTS = st.sampled_from([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 1 / 3, 0.7])


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[list[float]], list[float]]:
    """Rows as requirements give them, and one that asks for company."""
    weights = draw(
        st.lists(st.lists(WEIGHTS, min_size=7, max_size=7).filter(any), min_size=2, max_size=9)
    )
    right = [draw(st.sampled_from([1.0, 1.0, 1.0, 2.0])) for _ in weights]
    lone = draw(st.permutations([-1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
    return [*weights, list(lone)], [*right, 0.0]


@examples(80)
@given(systems(), st.lists(st.integers(0, 4), min_size=7, max_size=7))
def test_cells_at_0_have_no_say_in_which_rows_are_combined(
    system: tuple[list[list[float]], list[float]], quarters: list[int]
) -> None:
    weights, right = system
    x = np.array(quarters) / 4
    held = np.flatnonzero(x)
    found = found_at(rows_of(weights, right), weights, x)
    part = np.where(x > 0, weights, 0.0).tolist()
    other = found_at(rows_of(part, right), part, x)
    for one in other:
        assert any(
            one.right == cut.right
            and np.array_equal(one.weights, cut.weights[np.isin(cut.cells, CELLS[held])])
            for cut in found
        )


@examples(150)
@given(systems(), st.lists(st.integers(1, 9), min_size=7, max_size=7))
def test_cuts_are_violated_and_hold_for_all_that_keep_the_rows(
    system: tuple[list[list[float]], list[float]], cost: list[int]
) -> None:
    weights, right = system
    rows, cuts = np.array(weights), rows_of(weights, right)
    solved = linprog(cost, A_ub=-rows, b_ub=-np.array(right), bounds=(0, 1))
    if solved.x is None:
        return
    x = np.clip(solved.x, 0.0, 1.0)
    full = np.zeros(20)
    full[CELLS] = x
    runs = []
    for plain in (True, False):
        with uncompiled(KERNELS) if plain else at_once():
            runs.append(found_at(cuts, weights, x))
    assert [cut.key for cut in runs[0]] == [cut.key for cut in runs[1]]
    whole = [np.array(bits) for bits in itertools.product((0.0, 1.0), repeat=7)]
    kept = [bits for bits in whole if (rows @ bits >= np.array(right) - 1e-9).all()]
    for cut in runs[0]:
        assert cut.kind == "rounded"
        assert (cut.weights == np.rint(cut.weights)).all()
        assert cut.slack(full) < -0.02
        for bits in kept:
            point = np.zeros(20)
            point[CELLS] = bits
            assert cut.slack(point) >= 0


def test_three_rows_that_share_cells_in_pairs_need_two_cells() -> None:
    weights = [[1.0, 1, 0, 0, 0, 0, 0], [0.0, 1, 1, 0, 0, 0, 0], [1.0, 0, 1, 0, 0, 0, 0]]
    cuts = rows_of(weights, [1.0, 1.0, 1.0])
    (cut,) = found_at(cuts, weights, np.array([0.5, 0.5, 0.5, 0, 0, 0, 0]))
    assert cut.cells.tolist() == [2, 3, 5]
    assert cut.weights.tolist() == [1, 1, 1]
    assert cut.right == 2


@pytest.mark.parametrize("kind", ["tie", "budget"])
def test_rows_that_do_not_hold_for_all_patterns_take_no_part(kind: str) -> None:
    weights = [[1.0, 1, 0, 0, 0, 0, 0], [0.0, 1, 1, 0, 0, 0, 0], [1.0, 0, 1, 0, 0, 0, 0]]
    cuts = rows_of(weights, [1.0, 1.0, 1.0])
    cuts[1] = Cut(cuts[1].cells, cuts[1].weights, 1.0, kind)
    assert not found_at(cuts, weights, np.array([0.5, 0.5, 0.5, 0, 0, 0, 0]))


def test_what_limits_a_row_limits_its_combinations() -> None:
    weights = [[1.0, 1, 0, 0, 0, 0, 0], [0.0, 1, 1, 0, 0, 0, 0], [1.0, 0, 1, 0, 0, 0, 0]]
    cuts = rows_of(weights, [1.0, 1.0, 1.0])
    cuts[2] = Cut(cuts[2].cells, cuts[2].weights, 1.0, "rounded", below=40.0)
    (cut,) = found_at(cuts, weights, np.array([0.5, 0.5, 0.5, 0, 0, 0, 0]))
    assert cut.below == 40


@pytest.mark.parametrize(("seed", "cost"), [(5, 209), (7, 174)])
def test_combined_rows_raise_the_bound_and_leave_the_optimum(seed: int, cost: int) -> None:
    problem = cube((4, 4, 4), seed)
    best = suppress(problem)
    assert best.cost == cost  # as method "ilp" found in 8 and 9 s
    run = run_before(problem, "cuts")
    run.try_incumbent(best.pattern)  # what no pattern as cheap as this one holds is left out
    work_of("cuts")(run, UNLIMITED)
    lp = NodeRelaxation(problem, run.alive, run.master.cuts, 0)
    lower, upper = np.zeros(len(lp.cells)), np.ones(len(lp.cells))
    bounds, found = [], []
    while len(bounds) < 9:
        point = lp.solve_node(lower, upper, np.inf, UNLIMITED)
        assert point is not None
        bounds.append(point.bound)
        rounded = lp.combined(lp.full(point.x), 200)
        if not rounded:
            break
        found += rounded
        lp.enter(rounded)
    assert found
    assert bounds[-1] > bounds[0]
    assert run.constant + bounds[-1] <= best.cost
    for cut in found:
        assert cut.slack(best.pattern.astype(float)) >= 0
