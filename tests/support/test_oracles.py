"""The oracles against each other and against figures worked by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.problem.problem import Problem
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, frequency_2d, problems, small_tables

FIGURE = [[7, 11, 60], [10, 60, 11], [60, 12, 60]]  # Minami and Abe 2019, Figure 2


def figure_pattern() -> np.ndarray:
    pattern = np.zeros((4, 4), dtype=bool)
    pattern[:2, :2] = True
    return pattern.ravel()


def test_figure_2_of_paper_003() -> None:
    table = cube(np.array(FIGURE))
    assert oracles.integer_interval(table, figure_pattern(), 0) == (0, 17)
    assert oracles.rational_interval(table, figure_pattern(), 0) == (0, 17)
    assert len(list(oracles.integer_tables(table, figure_pattern()))) == 18


def test_known_neighbour_gives_the_cell_away() -> None:
    table = cube(np.array(FIGURE))
    assert oracles.rational_interval(table, figure_pattern(), 0, known=(1,)) == (7, 7)


def test_best_pattern_of_figure_2_is_the_printed_one() -> None:
    table = cube(np.array(FIGURE))
    primary = np.arange(16) == 0
    problem = Problem.of(table, primary, spl=10, publish=table.margins)
    assert oracles.best_pattern(problem) == tuple(figure_pattern())


def test_unprotectable_is_none() -> None:
    table = cube(np.array([[1, 0], [5, 6]]))
    problem = Problem.of(table, np.arange(9) == 0, spl=100, publish=table.margins)
    assert oracles.best_pattern(problem) is None


def test_unbounded_ends_are_none() -> None:
    table = cube(np.array([[1, 2], [3, 4]]))
    assert oracles.rational_interval(table, [True] * 9, 0) == (0, None)


@given(frequency_2d(max_side=2, high=6), st.lists(st.booleans(), min_size=9, max_size=9))
@examples(60)
def test_integer_tables_equal_plain_enumeration(table, flags) -> None:
    pattern = np.array(flags) & ~table.margins
    found = set(oracles.integer_tables(table, pattern))
    most = int(table.values.max())
    free = np.flatnonzero(pattern)
    expected = set()
    for values in product(range(most + 1), repeat=len(free)):
        candidate = table.values.copy()
        candidate[free] = values
        if not np.any(table.relations @ candidate):
            expected.add(tuple(int(v) for v in candidate))
    assert found == expected


@given(small_tables(), st.data())
@examples(80)
def test_rational_interval_contains_truth_and_agrees_with_a_solver(table, data) -> None:
    from scipy.optimize import linprog

    n = table.n_cells
    pattern = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    cell = data.draw(st.integers(0, n - 1))
    low, high = oracles.rational_interval(table, pattern, cell)
    value = int(table.values[cell])
    assert low is None or low <= value
    assert high is None or high >= value
    ends = [
        (v, v) if not flag else (lo, None if hi >= 2**62 else hi)
        for flag, v, lo, hi in zip(pattern, table.values, table.lower, table.upper, strict=True)
    ]
    for sign, end in ((1, low), (-1, high)):
        cost = sign * np.eye(n)[cell]
        answer = linprog(
            cost,
            A_eq=table.relations.toarray(),
            b_eq=np.zeros(table.relations.shape[0]),
            bounds=ends,
        )
        if end is None:
            assert answer.status in (3, 4)
        else:
            assert isinstance(end, Fraction)
            assert sign * answer.fun == pytest.approx(float(end), abs=1e-6)


@given(problems(max_free=5))
@examples(40)
def test_best_pattern_equals_the_plain_loop(problem) -> None:
    free = np.flatnonzero(problem.free)
    best = None
    for flags in product([False, True], repeat=len(free)):
        pattern = problem.forced.copy()
        pattern[free] = flags
        if oracles.is_safe(problem, pattern):
            rank = (
                oracles.pattern_cost(problem, pattern),
                sum(1 << int(i) for i in np.flatnonzero(pattern)),
            )
            best = rank if best is None else min(best, rank)
    found = oracles.best_pattern(problem)
    if best is None:
        assert found is None
    else:
        assert found is not None
        assert best == (
            oracles.pattern_cost(problem, found),
            sum(1 << i for i, flag in enumerate(found) if flag),
        )


@given(problems(singletons=None))
@examples(40)
def test_problems_build(problem) -> None:
    assert problem.primary.any()
    assert int(problem.free.sum()) <= 9
