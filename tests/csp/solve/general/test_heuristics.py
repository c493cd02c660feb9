"""Subspaces in which all primary cells move: the tableau, descents, and searches by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import Problem, audit, suppress
from csp.clock import UNLIMITED, Clock, now
from csp.compiled import at_once
from csp.solve.general import tableau
from csp.solve.general.descent import Part, descend
from csp.solve.general.neighbourhood import Neighbourhood
from csp.solve.general.rooms import reaching
from csp.solve.general.tableau import KERNELS, Tableau, null_basis, pivot
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Field
from tests.support.shared import examples, kept_limit
from tests.support.strategies import problems
from tests.support.witnesses import cost, cube_problem, everything, is_witness, served

Pattern = np.ndarray[Any, Any]

# ---- the tableau -----------------------------------------------------------------------------


@examples(60)
@given(problems(), st.integers(0, 2**20))
def test_the_tableau_spans_the_null_space(problem: Problem, seed: int) -> None:
    field = Field(problem, together=True)
    basis, cells = null_basis(field)
    movable = np.flatnonzero(field.open)
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
        assert not tableau.matrix[~field.open].any()
    before = tableau.matrix.copy()
    tableau.refresh()
    assert np.allclose(before, tableau.matrix)


def test_where_there_is_no_exact_kernel_nothing_is_searched(monkeypatch: Any) -> None:
    problem = cube_problem()
    assert [*neighbourhood(problem).run(clock=Clock(now() + 20), patience=3)]
    monkeypatch.setattr(tableau, "null_space", lambda *_: None)
    assert not [*neighbourhood(problem).run(clock=Clock(now() + 20), patience=3)]


@examples(40)
@given(st.integers(0, 2**20))
def test_an_exchange_solves_for_another_cell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=(8, 4)).astype(float)
    row, column = int(rng.integers(8)), int(rng.integers(4))
    if matrix[row, column] == 0:
        return
    # z = T y: with y'_j = z_r in place of y_j the same deviations come out.
    change = np.eye(4)
    change[column] = matrix[row]
    plain, compiled = matrix.copy(), matrix.copy()
    KERNELS.plain["pivot_rows"](plain, row, column)
    with at_once():
        pivot(compiled, row, column)
    assert np.array_equal(plain, compiled)
    assert np.allclose(plain @ change, matrix)


@examples(20)
@given(st.integers(0, 2**20))
def test_noise_is_noticed_and_goes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    basis = np.concatenate([np.eye(3), rng.integers(-2, 3, size=(5, 3))]).astype(float)
    tableau = Tableau(basis, np.arange(3))
    row = int(np.argmax(np.abs(basis[3:, 0]))) + 3
    if basis[row, 0] == 0:
        return
    tableau.exchange(row, 0)
    assert not tableau.is_noisy()
    true = tableau.matrix.copy()
    for column in range(3):
        tableau.matrix[:] = true
        tableau.matrix[7, column] += 1e-5
        tableau._exchanged = True
        assert tableau.is_noisy()
    assert tableau.refresh()
    assert not tableau.is_noisy()
    assert np.allclose(tableau.matrix, true, atol=1e-12)


@examples(60)
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
    scaled, trouble = matrix / room[:, None], np.zeros(len(targets))
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
    known = larger @ rng.normal(size=(k + 2, 3))
    safe = all(f > s for f, s in zip(far, share, strict=True))
    for start in (None, known / np.abs(known).max(axis=0)):
        found = reaching(scaled, targets, share, trouble, known=start)
        assert (found is not None) == safe
        if found is not None:
            assert np.abs(found).max() <= 1 + 1e-9
            assert (np.abs(found[targets]).max(axis=1) >= share * (1 - 1e-9)).all()
            y, *_ = np.linalg.lstsq(scaled, found, rcond=None)
            assert np.allclose(scaled @ y, found)


@examples(60)
@given(st.integers(0, 2**20))
def test_what_is_published_first_stays_at_rest(seed: int) -> None:
    from scipy.linalg import null_space

    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=(14, 6)).astype(float)
    price, room = rng.uniform(1, 9, size=14), rng.uniform(1, 5, size=14)
    targets = np.array([0, 1])
    first = np.isin(np.arange(14), rng.choice(np.arange(2, 14), 3, replace=False))
    part = Part(
        matrix, price, np.arange(14) < 2, 1 / room, targets, np.array([0.5, 0.8]), np.zeros(2)
    )
    rest = matrix @ null_space(matrix[first])
    rest[np.abs(rest) < 1e-12] = 0.0
    if reaching(rest / room[:, None], targets, part.share, np.zeros(2)) is None:
        return
    end = descend(part, price, rng, first=first)
    assert end is not None
    assert not end.span[first].any()
    moving = end.span.any(axis=1)
    assert end.cost == pytest.approx(price[moving].sum())
    assert end.cost <= price[np.abs(rest).max(axis=1) > 1e-9].sum() + 1e-6
    assert all(
        max(abs(z[t]) for z in end.vectors) >= share - 1e-9
        for t, share in zip(targets, part.share, strict=True)
    )


def test_a_descent_that_has_to_be_checked_step_by_step_gets_its_own_time() -> None:
    # One cell moves as far as it must only if both others move as far as they may.
    matrix = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    part = Part(
        matrix, np.array([0.0, 3.0, 4.0]), np.array([True, False, False]),
        np.array([1.0, 2.0, 2.0]), np.array([0]), np.ones(1), np.zeros(1),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    end = descend(part, part.price, rng)
    assert end is not None
    assert end.cost == 7
    assert part.tight
    assert descend(part, part.price, rng, tight=Clock(now() - 1)) is None
    # Rooms of two decide nothing: half of the dimensions go before they are looked at.
    part.inverse[:] = 0.5
    end = descend(part, part.price, rng, tight=Clock(now() - 1))
    assert end is not None
    assert end.cost == 3
    assert not part.tight


# ---- searches --------------------------------------------------------------------------------


def neighbourhood(problem: Problem, seed: int = 0, *, integer: bool = False) -> Neighbourhood:
    field = Field(problem, integer=integer, together=True)
    return Neighbourhood(field, Builder(field, None, both=False), seed)


def check_search(
    problem: Problem, least: float, books: list[Book], *, integer: bool = False
) -> None:
    """Each pattern is safe by witnesses in exact numbers, and cheaper than the one before."""
    for book in books:
        assert all(book.settled(r) for r in range(len(book.field.need)))
        assert all(is_witness(problem, witness) for witness in book.witnesses.values())
        pattern = book.pattern()
        assert cost(problem, pattern) == book.cost() < least
        least = book.cost()
        assert not (pattern & ~everything(problem)).any()
        assert audit(problem, pattern, only_primary=True, integer=integer).safe


@examples(80)
@given(problems(max_primary=4), st.booleans())
def test_neighbourhoods_yield_cheaper_safe_patterns(problem: Problem, integer: bool) -> None:
    _, start, failed = served(problem, integer=integer)
    if not failed:
        books = neighbourhood(problem, integer=integer).run(
            clock=UNLIMITED, start=start.pattern(), patience=15
        )
        check_search(problem, start.cost(), list(books), integer=integer)
    books = neighbourhood(problem, integer=integer).run(clock=UNLIMITED, patience=15)
    check_search(problem, np.inf, list(books), integer=integer)


@examples(15)
@given(problems(max_primary=4), st.integers(0, 3))
def test_a_search_taken_up_again_yields_cheaper_safe_patterns(problem: Problem, seed: int) -> None:
    rows = np.arange(len(Field(problem, together=True).need))
    _, best, failed = served(problem, order=np.random.default_rng(seed).permutation(rows).tolist())
    if failed:
        return
    search = neighbourhood(problem, seed)
    for patience in (1, 5, 5):
        books = list(search.run(clock=UNLIMITED, start=best.pattern(), patience=patience))
        check_search(problem, best.cost(), books)
        best = books[-1] if books else best
    # Past the deadline nothing is begun.
    assert not list(search.run(clock=Clock(now() - 1), start=best.pattern()))


def test_neighbourhoods_improve_a_first_pattern() -> None:
    problem = cube_problem()
    _, start, _ = served(problem)
    books = list(neighbourhood(problem, 0).run(clock=UNLIMITED, start=start.pattern(), patience=60))
    assert books
    check_search(problem, start.cost(), books)


@pytest.mark.parametrize("started", [True, False])
def test_searches_keep_the_deadline(started: bool) -> None:
    problem = cube_problem((8, 7, 6))
    _, start, _ = served(problem)
    search = neighbourhood(problem)
    with kept_limit(0.5):
        begin = start.pattern() if started else None
        books = list(search.run(clock=Clock(now() + 0.5), start=begin))
    check_search(problem, start.cost() if started else np.inf, books)


def test_what_completes_the_last_pattern_has_its_own_time() -> None:
    problem = cube_problem()
    end = Clock(now() - 1)
    assert not list(neighbourhood(problem).run(clock=UNLIMITED, finish=end, patience=1))
    first = next(neighbourhood(problem).run(clock=UNLIMITED, finish=UNLIMITED, patience=1))
    check_search(problem, np.inf, [first])


def test_neighbourhoods_are_repeatable_and_come_near_the_optimum_of_a_cube() -> None:
    problem = cube_problem((4, 4, 3), 3)

    def patterns(seed: int) -> list[list[bool]]:
        books = neighbourhood(problem, seed).run(clock=UNLIMITED, patience=150)
        return [book.pattern().tolist() for book in books]

    one, two = patterns(2), patterns(2)
    assert one == two
    best = suppress(problem, method="cuts", time_limit=3).bound
    assert best <= cost(problem, one[-1]) <= 1.5 * best


def test_a_subspace_is_cut_down_to_one_cheap_circuit() -> None:
    table = csp.Table.from_array(np.full((5, 5), 50))
    problem = Problem.of(table, np.arange(36) == 0, lpl=5, upl=5, publish=table.margins)
    *_, last = neighbourhood(problem).run(clock=UNLIMITED, patience=1)
    assert last.cost() == 3
    assert len(last.witnesses) == 1
