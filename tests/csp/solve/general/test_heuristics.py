"""Heuristics for large tables: what they call safe is safe, and every yield is cheaper."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import csp
from csp import Problem, Unprotectable, audit, suppress
from csp.attacker.elimination import determined
from csp.attacker.exact import is_deviation, rationalise
from csp.attacker.view import View, room
from csp.clock import UNLIMITED, Clock, now
from csp.compiled import at_once
from csp.exact import UNBOUNDED
from csp.solve.general.construct import construct
from csp.solve.general.descent import Part, protecting
from csp.solve.general.local_search import reroute
from csp.solve.general.neighbourhood import Neighbourhood, neighbourhood
from csp.solve.general.space import Space, tighten
from csp.solve.general.tableau import ZERO, Tableau, eliminate, eliminate_rows, null_basis
from csp.solve.general.witness import WitnessPool, along
from instances import synthetic
from tests.support import oracles
from tests.support.shared import kept_limit
from tests.support.strategies import problems


def everything(problem: Problem) -> np.ndarray:
    return problem.forced | problem.free


def protectable(problem: Problem) -> bool:
    return audit(problem, everything(problem), only_primary=True).safe


def cost(problem: Problem, pattern: np.ndarray) -> int:
    return int(problem.cost[pattern & problem.free].sum())


def cube_problem(shape: tuple[int, ...] = (6, 5, 4), seed: int = 1) -> Problem:
    table = synthetic.frequency_nd(shape, seed)
    primary = (table.values < 5) & ~table.margins
    level = np.minimum(table.values, 2)
    return Problem.of(table, primary, lpl=level, upl=2, cost=np.maximum(table.values, 1))


# ---- rooms -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(problems())
def test_tightened_rooms_hold_every_interval(problem: Problem) -> None:
    up, down = tighten(problem)
    pattern = everything(problem)
    wide_up, wide_down = room(problem.table)
    for i in np.flatnonzero(pattern).tolist():
        assert up[i] <= (np.inf if wide_up[i] >= UNBOUNDED else wide_up[i])
        assert down[i] <= (np.inf if wide_down[i] >= UNBOUNDED else wide_down[i])
        low, high = oracles.rational_interval(problem.table, pattern, i)
        value = int(problem.table.values[i])
        assert up[i] >= (np.inf if high is None else float(high - value) * (1 - 1e-9))
        assert down[i] >= (np.inf if low is None else float(value - low) * (1 - 1e-9))
    assert not up[~pattern].any()
    assert not down[~pattern].any()


# ---- construction ----------------------------------------------------------------------------


@settings(max_examples=150)
@given(problems(max_primary=4))
def test_construct_is_safe_wherever_full_suppression_is(problem: Problem) -> None:
    found = construct(problem)
    if found is None:
        assert not protectable(problem)
        with pytest.raises(Unprotectable):
            suppress(problem, method="cuts")
        return
    assert not len(found.missing())
    pattern = found.pattern()
    assert audit(problem, pattern, only_primary=True).safe
    assert not (pattern & ~everything(problem)).any()
    assert (
        found.cost()
        == cost(problem, pattern)
        >= cost(problem, suppress(problem, method="cuts").pattern)
    )


@settings(max_examples=60)
@given(problems(max_primary=4))
def test_every_witness_is_a_deviation_in_exact_numbers(problem: Problem) -> None:
    found = construct(problem)
    if found is None:
        return
    up, down = room(problem.table)
    for member in found.members:
        rows = np.flatnonzero(np.diff(problem.table.relations[:, member.cells].indptr))
        view = View(
            member.cells, rows, problem.table.relations[:, member.cells][rows],
            up[member.cells], down[member.cells],
        )  # fmt: skip
        for step in member.steps:
            # Coefficients of two in several relations bring in further powers of two.
            many = 64 * 27720
            near = [*rationalise(step), (np.rint(step * many).astype(np.int64), many)]
            # A step that stops a little short of a bound is a multiple of a simple one.
            least = np.abs(step[step != 0]).min() if step.any() else 1.0
            near += [
                (simple << 20, int(np.ceil(divisor / least * 1.0001 * 2**20)))
                for simple, divisor in rationalise(step / least)
            ]
            exact = [n for n in near if is_deviation(view, *n)]
            assert exact, "no rational vector near the witness keeps relations and bounds"


@settings(max_examples=30)
@given(problems(max_primary=4))
def test_every_order_is_safe(problem: Problem) -> None:
    many = len(Space.of(problem).need)
    orders = [np.arange(many), np.arange(many)[::-1], np.random.default_rng(3).permutation(many)]
    found = [construct(problem, rank=rank) for rank in orders]
    assert all(pool is None for pool in found) or None not in found
    for pool in found:
        assert pool is None or audit(problem, pool.pattern(), only_primary=True).safe


def test_weights_steer_the_choice() -> None:
    table = csp.Table.from_array(np.full((4, 4), 50))
    problem = Problem.of(table, np.arange(25) == 0, lpl=5, upl=5, publish=table.margins)
    dear = np.ones(25)
    dear[[1, 5, 6]] = 50.0
    pool = construct(problem, weights=dear)
    assert isinstance(pool, WitnessPool)
    assert pool.cost() == 3
    assert not pool.pattern()[[1, 5, 6]].any()


def test_without_time_there_is_no_pattern() -> None:
    assert construct(cube_problem(), clock=Clock(now() - 1)) is None


# ---- pools -----------------------------------------------------------------------------------


def test_a_pool_keeps_what_avoids_a_cell_and_drops_what_is_spare() -> None:
    table = csp.Table.from_array(np.full((3, 3), 50))
    problem = Problem.of(table, np.arange(16) == 0, lpl=5, upl=5, publish=table.margins)
    space = Space.of(problem)
    square = np.zeros((2, 16))
    square[0, [0, 5]], square[0, [1, 4]] = 1, -1
    square[1, [0, 10]], square[1, [2, 8]] = 1, -1
    pool = WitnessPool(space, (along(space, z) for z in square))
    assert not len(pool.missing())
    assert pool.cost() == 6
    assert len(pool.prune()) == 1
    assert len(pool.without(np.array([5]))) == 1
    assert len(pool.inside(pool.without(np.array([5])).pattern())) == 1
    assert len(pool.without(np.array([0])).missing()) == 2


# ---- searches --------------------------------------------------------------------------------


def check_search(problem: Problem, start: WitnessPool, steps: list[WitnessPool]) -> None:
    last = start.cost()
    for pool in steps:
        assert not len(pool.missing())
        pattern = pool.pattern()
        assert cost(problem, pattern) == pool.cost() < last
        last = pool.cost()
        assert audit(problem, pattern, only_primary=True).safe


@settings(max_examples=60)
@given(problems(max_primary=4))
def test_rerouting_yields_cheaper_safe_patterns(problem: Problem) -> None:
    start = construct(problem)
    if start is None:
        return
    check_search(problem, start, list(reroute(start, clock=UNLIMITED, patience=15)))


def test_rerouting_is_repeatable_and_improves() -> None:
    start = construct(cube_problem())
    assert isinstance(start, WitnessPool)
    runs = [list(reroute(start, clock=UNLIMITED, seed=4, patience=60)) for _ in range(2)]
    assert runs[0]
    assert [p.pattern().tolist() for p in runs[0]] == [p.pattern().tolist() for p in runs[1]]
    check_search(cube_problem(), start, runs[0])


def test_searches_keep_the_deadline() -> None:
    start = construct(cube_problem((8, 7, 6)))
    assert isinstance(start, WitnessPool)
    space = start.space
    for search in (
        lambda end: reroute(start, clock=Clock(end)),
        lambda end: neighbourhood(space, clock=Clock(end), start=start),
        lambda end: neighbourhood(space, clock=Clock(end)),
    ):
        with kept_limit(0.5):
            for _ in search(now() + 0.5):
                pass


# ---- subspaces -------------------------------------------------------------------------------


@settings(max_examples=60)
@given(problems(), st.integers(0, 2**20))
def test_the_tableau_spans_the_null_space(problem: Problem, seed: int) -> None:
    space = Space.of(problem)
    basis, cells = null_basis(space)
    movable = np.flatnonzero(space.open)
    relations = problem.table.relations.toarray()
    assert basis.shape[1] == len(movable) - np.linalg.matrix_rank(relations[:, movable])
    tableau = Tableau(basis, cells)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        column = int(rng.integers(basis.shape[1])) if basis.shape[1] else 0
        able = np.flatnonzero(np.abs(tableau.matrix[:, column]) > 1e-6) if basis.size else []
        if len(able):
            tableau.exchange(int(rng.choice(able)), column)
        assert np.allclose(relations @ tableau.matrix, 0)
        assert np.allclose(tableau.matrix[tableau.cells], np.eye(len(cells)))
        assert not tableau.matrix[~space.open].any()
    before = tableau.matrix.copy()
    tableau.refresh()
    assert np.allclose(before, tableau.matrix)


@settings(max_examples=40)
@given(st.integers(0, 2**20))
def test_compiled_elimination_equals_its_plain_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=(8, 4)).astype(float)
    row, column = int(rng.integers(8)), int(rng.integers(4))
    keep = rng.random(8) < 0.3
    if matrix[row, column] == 0:
        return
    side = matrix[:, column] / matrix[row, column]
    expected = matrix - np.outer(side, matrix[row])
    expected[row], expected[:, column] = matrix[row], matrix[:, column]
    others = np.delete(expected, column, axis=1)
    rests = keep & (matrix[:, column] != 0) & (np.arange(8) != row) & ~others.any(axis=1)
    plain, compiled = matrix.copy(), matrix.copy()
    answer = eliminate_rows(plain, row, column, keep, ZERO)
    with at_once():
        assert answer == eliminate(compiled, row, column, keep) == (not rests.any())
    assert np.array_equal(plain, compiled)
    assert np.allclose(plain, expected if answer else matrix)


@settings(max_examples=60)
@given(st.integers(0, 2**20), st.integers(1, 4))
def test_vectors_protect_wherever_a_linear_program_says_so(seed: int, k: int) -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=(12, k)).astype(float)
    targets = np.flatnonzero(matrix.any(axis=1))[:3]
    if np.linalg.matrix_rank(matrix) < k:
        return
    room = rng.uniform(1, 5, size=12)
    share = rng.uniform(0.3, 1.0, size=len(targets))
    part = Part(
        matrix, np.ones(12), np.zeros(12, bool), 1 / room, targets, share, np.zeros(len(targets))
    )
    far = [
        -linprog(
            -matrix[t],
            A_ub=np.vstack([matrix, -matrix]), b_ub=np.tile(room, 2), bounds=(None, None),
        ).fun / room[t]
        for t in targets
    ]  # fmt: skip
    if any(abs(f - s) < 1e-6 for f, s in zip(far, share, strict=True)):
        return
    # Vectors of a larger subspace may show the way; they change no verdict.
    larger = np.column_stack([matrix, rng.integers(-2, 3, size=(12, 2))]) / room[:, None]
    known = [z / np.abs(z).max() for z in (larger @ rng.normal(size=(k + 2, 3))).T]
    for found in (protecting(part, matrix), protecting(part, matrix, known=known)):
        assert (found is not None) == all(f > s for f, s in zip(far, share, strict=True))
    for vector in found or []:
        assert np.abs(vector).max() <= 1 + 1e-9
        y, *_ = np.linalg.lstsq(matrix / room[:, None], vector, rcond=None)
        assert np.allclose(matrix / room[:, None] @ y, vector)


@settings(max_examples=80)
@given(problems(max_primary=4))
def test_neighbourhoods_yield_cheaper_safe_patterns(problem: Problem) -> None:
    start = construct(problem)
    if start is None:
        return
    for given_start in (start, None):
        steps = list(neighbourhood(start.space, clock=UNLIMITED, start=given_start, patience=15))
        for pool in steps:
            check_search(problem, pool, [])
        if given_start is not None:
            check_search(problem, start, steps)
        for before, after in itertools.pairwise(steps):
            check_search(problem, before, [after])


@settings(max_examples=15)
@given(problems(max_primary=4), st.integers(0, 3))
def test_a_search_taken_up_again_yields_cheaper_safe_patterns(problem: Problem, seed: int) -> None:
    start = construct(
        problem, rank=np.random.default_rng(seed).permutation(len(Space.of(problem).need))
    )
    if start is None:
        return
    search = Neighbourhood(start.space, seed)
    best = start
    for patience in (1, 5, 5):
        steps = list(search.run(clock=UNLIMITED, start=best, patience=patience))
        check_search(problem, best, steps)
        best = steps[-1] if steps else best
    # Past the deadline nothing is begun.
    assert not list(search.run(clock=Clock(now() - 1), start=best))


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


def test_neighbourhoods_are_repeatable_and_reach_the_optimum_of_a_cube() -> None:
    problem = cube_problem((4, 4, 3), 3)
    space = Space.of(problem)
    runs = [list(neighbourhood(space, clock=UNLIMITED, seed=2, patience=150)) for _ in range(2)]
    assert [p.pattern().tolist() for p in runs[0]] == [p.pattern().tolist() for p in runs[1]]
    best = suppress(problem, method="cuts", time_limit=3).bound
    assert best <= runs[0][-1].cost() <= 1.5 * best


def test_a_subspace_is_cut_down_to_one_cheap_circuit() -> None:
    table = csp.Table.from_array(np.full((5, 5), 50))
    problem = Problem.of(table, np.arange(36) == 0, lpl=5, upl=5, publish=table.margins)
    *_, last = neighbourhood(Space.of(problem), clock=UNLIMITED, patience=1)
    assert last.cost() == 3
