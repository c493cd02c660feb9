"""Small programs for one witness, and the whole numbers along their vertices."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

import csp
from csp import Problem
from csp.solve.witnesses.block import Block, Way, whole_steps
from csp.solve.witnesses.field import Field
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import ends, is_witness

SUM = csr_array(np.array([[1, 1, -1]]))
"""One relation: two parts and their total."""


def ratios(steps: np.ndarray) -> list[Fraction]:
    return [Fraction(int(step), int(steps[0])) for step in steps]


@examples(200)
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_whole_units_whose_ratios_are_not_simple_come_back_as_they_are(a: int, b: int) -> None:
    # A fraction near a / b keeps the relation as well: to hold it is not to be proportional.
    steps = whole_steps(SUM, np.array([a, b, a + b], dtype=float))
    assert steps is not None
    assert ratios(steps) == [1, Fraction(b, a), Fraction(a + b, a)]


@examples(200)
@given(st.integers(1, 2000), st.integers(1, 10**4), st.floats(1e-3, 1e4))
def test_whole_ratios_whose_units_are_not_whole_come_back(a: int, b: int, unit: float) -> None:
    relation = csr_array(np.array([[a, b, -1]]))
    steps = whole_steps(relation, unit * np.array([1, 1, a + b], dtype=float))
    assert steps is not None
    assert steps.tolist() == [1, 1, a + b]


@examples(100)
@given(st.lists(st.integers(-9, 9).filter(bool), min_size=2, max_size=6), st.integers(1, 12))
def test_small_denominators_come_back_divided_by_what_all_share(
    parts: list[int], divisor: int
) -> None:
    whole = np.array([*parts, sum(parts)])
    if not whole[-1]:
        return
    relation = csr_array(np.array([[1] * len(parts) + [-1]]))
    steps = whole_steps(relation, whole / divisor)
    assert steps is not None
    assert steps.tolist() == (whole // gcd(*whole.tolist())).tolist()


def test_steps_of_too_many_bits_for_floats_are_found_by_elimination() -> None:
    # By products of primes; one cell is all that the relations leave open.
    matrix = np.zeros((4, 5), np.int64)
    for r, (a, b) in enumerate([(101, 103), (109, 107), (113, 127), (137, 131)]):
        matrix[r, [r, r + 1]] = a, -b
    exact = [Fraction(1)]
    for a, b in [(101, 103), (109, 107), (113, 127), (137, 131)]:
        exact.append(exact[-1] * a / b)
    steps = whole_steps(csr_array(matrix), np.array([float(x) for x in exact]))
    assert steps is not None
    assert ratios(steps) == exact


@pytest.mark.parametrize("z", [[1.0, 1.0, 1.5], [np.sqrt(2), 1.0, np.sqrt(2)]])
def test_what_no_relation_allows_is_no_vertex(z: list[float]) -> None:
    assert whole_steps(SUM, np.array(z)) is None


def furthest(problem: Problem, field: Field, cell: int, sign: int) -> float:
    """How far a cell can go within the rooms, by scipy."""
    cost = np.zeros(problem.table.n_cells)
    cost[cell] = -sign
    found = linprog(
        cost, A_eq=problem.table.relations.toarray(),
        b_eq=np.zeros(problem.table.relations.shape[0]),
        bounds=np.stack([-field.down, field.up], axis=1),
    )  # fmt: skip
    return -float(found.fun)


@examples(100)
@given(problems(max_primary=2), st.booleans(), st.integers(1, 6))
def test_a_block_has_a_witness_where_a_linear_program_has(
    problem: Problem, rises: bool, far: int
) -> None:
    field = Field(problem, together=True)
    block = Block(field, np.arange(problem.table.n_cells))
    for cell in np.flatnonzero(problem.primary).tolist():
        most = furthest(problem, field, cell, 1 if rises else -1)
        if abs(most - far) < 1e-6 * far and most != far:
            continue
        found = block.cheapest(cell, Way(rises, far, 0), field.price) if cell in block else None
        assert (found is not None) == (most >= far)
        if found is not None:
            assert is_witness(problem, found)
            assert max((1 if rises else -1) * end[cell] for end in ends(found)) >= far


@examples(100)
@given(problems(max_primary=2), st.integers(1, 4), st.integers(1, 4))
def test_a_way_back_is_as_long_as_asked(problem: Problem, far: int, back: int) -> None:
    field = Field(problem, together=True)
    block = Block(field, np.arange(problem.table.n_cells))
    for cell in np.flatnonzero(problem.primary).tolist():
        found = block.cheapest(cell, Way(True, far, back), field.price) if cell in block else None
        if found is not None:
            moved = [end[cell] for end in ends(found)]
            assert max(moved) >= far
            assert -min(moved) >= back


def square() -> tuple[Problem, Field, Block]:
    """Four by four cells of fifty each, the first of them sensitive; margins stay."""
    table = csp.Table.from_array(np.full((4, 4), 50))
    problem = Problem.of(table, np.arange(25) == 0, lpl=5, upl=5, publish=table.margins)
    field = Field(problem, together=True)
    return problem, field, Block(field, np.arange(25))


def test_banned_cells_stay() -> None:
    _, field, block = square()
    banned = np.array([1, 2, 5])
    found = block.cheapest(0, Way(True, 5, 5), field.price, banned=banned)
    assert found is not None
    assert not np.isin(found.cells, banned).any()
    assert len(found.cells) == 4
    assert block.cheapest(0, Way(True, 5, 5), field.price, banned=np.array([1, 2, 3])) is None


def test_cells_that_must_be_published_are_in_no_block() -> None:
    problem, _, block = square()
    assert [cell in block for cell in range(25)] == (~problem.table.margins).tolist()


def test_whole_units_are_whole() -> None:
    # 2 a = 3 b: in whole units a moves by three at least.
    table = csp.Table(
        np.array([6, 4]), csr_array(np.array([[2, -3]])), np.zeros(2, np.int64),
        np.full(2, 60), (("a",), ("b",)),
    )  # fmt: skip
    problem = Problem.of(table, [True, False], lpl=1, upl=1)
    field = Field(problem, integer=True, together=True)
    found = Block(field, np.arange(2)).cheapest(0, Way(True, 1, 0), field.price, whole=True)
    assert found is None  # exactly one unit has no whole answer
    found = Block(field, np.arange(2)).cheapest(0, Way(True, 3, 0), field.price, whole=True)
    assert found is not None
    assert abs(found.steps).tolist() == [3, 2]
