"""First patterns of witnesses: safe wherever a pattern can be, exact, and in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from benchmarks import posed
from csp import Problem, Unprotectable, audit, suppress
from csp.clock import UNLIMITED, Clock, now
from csp.errors import OutOfTime, SolverError
from csp.problem.singletons import Attackers
from csp.solve.exact.state import Run
from csp.solve.witnesses import construct
from csp.solve.witnesses.block import Block
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import serve_together
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import cost, cube_problem, everything, is_witness, served


def plain(problem: Problem, book: Any, rows: list[int]) -> list[int]:
    """Requirements that ask for no more than a level up or down, whatever a sliding one shares."""
    field, levels = book.field, (problem.upl, problem.lpl)
    return [r for r in rows if field.need[r] <= levels[field.kind[r]][field.cell[r]]]


@examples(200)
@given(problems(max_primary=4), st.booleans())
def test_patterns_are_safe_wherever_full_suppression_is(problem: Problem, integer: bool) -> None:
    _, book, failed = served(problem, integer=integer)
    protectable = audit(problem, everything(problem), only_primary=True, integer=integer).safe
    if not failed:
        pattern = book.pattern()
        assert protectable
        assert audit(problem, pattern, only_primary=True, integer=integer).safe
        assert not (pattern & ~everything(problem)).any()
        assert book.cost() == cost(problem, pattern)
    # Of a sliding level another share than the even one may be what a cell can do.
    if plain(problem, book, failed):
        assert not protectable


def test_integer_programs_keep_to_parts_of_a_cube(monkeypatch: Any) -> None:
    solution, sizes = Block._solution, []

    def noted(self: Block, model: Any, clock: Clock, *, whole: bool) -> Any:
        if whole:
            sizes.append(len(self.cells))
        return solution(self, model, clock, whole=whole)

    monkeypatch.setattr(Block, "_solution", noted)
    problem = posed.cube(8, 8, 8)
    run = Run(problem, UNLIMITED, 0.0, integer=True, seed=0, progress=None)
    book, builder = Book(run.arrays), run.builder
    builder.clock = Clock(now() + 20)
    rows = builder.order(np.arange(len(run.arrays.need)))
    assert not builder.serve(book, rows, run.arrays.price.copy())
    assert all(w.forward[1] == w.back[1] == 1 for w in book.witnesses.values())
    assert all(is_witness(problem, witness) for witness in book.witnesses.values())
    assert 0 < max(sizes) < problem.table.n_cells / 2


@examples(40)
@given(problems(max_primary=3))
def test_patterns_cost_no_less_than_the_cheapest(problem: Problem) -> None:
    _, book, failed = served(problem)
    best = oracles.best_pattern(problem)
    if not failed:
        assert best is not None
        assert oracles.is_safe(problem, book.pattern())
        assert book.cost() >= cost(problem, best)
    elif plain(problem, book, failed):
        assert best is None
        with pytest.raises(Unprotectable):
            suppress(problem, method="cuts")


@examples(100)
@given(problems(max_primary=4, singletons=None), st.booleans())
def test_every_witness_is_a_deviation_in_exact_numbers(problem: Problem, integer: bool) -> None:
    _, book, _ = served(problem, integer=integer, attackers=Attackers(problem))
    for witness in book.witnesses.values():
        assert is_witness(problem, witness)
        assert not integer or witness.forward[1] == witness.back[1] == 1


@examples(60)
@given(problems(max_primary=4, singletons=True))
def test_patterns_withstand_contributors_who_know_cells(problem: Problem) -> None:
    _, book, failed = served(problem, attackers=Attackers(problem))
    if not failed:
        assert oracles.is_safe(problem, book.pattern())


@examples(30)
@given(problems(max_primary=4))
def test_every_order_is_safe(problem: Problem) -> None:
    builder, first, failed = served(problem)
    rows = np.arange(len(first.field.need))
    assert sorted(builder.order(rows)) == rows.tolist()
    for order in (rows, rows[::-1], np.random.default_rng(3).permutation(rows)):
        _, book, left = served(problem, order=order.tolist())
        assert bool(left) == bool(failed)
        assert left or audit(problem, book.pattern(), only_primary=True).safe


def test_the_largest_needs_come_first() -> None:
    builder, book, _ = served(cube_problem())
    order = builder.order(np.arange(len(book.field.need)))
    assert book.field.need[order].tolist() == sorted(book.field.need.tolist(), reverse=True)


def test_prices_steer_the_choice() -> None:
    table = csp.Table.from_array(np.full((4, 4), 50))
    problem = Problem.of(table, np.arange(25) == 0, lpl=5, upl=5, publish=table.margins)
    dear = np.where(problem.free, 1.0, 0.0)
    dear[[1, 5, 6]] = 50.0
    _, book, failed = served(problem, price=dear)
    assert not failed
    assert book.cost() == 3
    assert not book.pattern()[[1, 5, 6]].any()


def test_what_is_suppressed_costs_nothing_to_the_next() -> None:
    builder, book, failed = served(cube_problem())
    assert not failed
    price = book.field.price.copy()
    rows = np.arange(len(book.field.need))
    assert builder.serve(book, rows.tolist(), price) == []
    # All is settled: nothing was taken, nothing paid.
    assert (price == book.field.price).all()
    again = construct.Book(book.field)
    assert builder.serve(again, rows.tolist(), price) == []
    assert (price[again.used > 0] == 0).all()
    assert (price[again.used == 0] == book.field.price[again.used == 0]).all()


def test_without_time_there_is_no_pattern() -> None:
    builder, book, _ = served(cube_problem())
    builder.clock = Clock(now() - 1)
    begun = construct.Book(book.field)
    with pytest.raises(OutOfTime):
        builder.serve(begun, range(len(book.field.need)), book.field.price.copy())
    assert not begun.settled(0)


@examples(60)
@given(problems(max_primary=4), st.booleans())
def test_what_is_served_together_moves_suppressed_cells_only(
    problem: Problem, integer: bool
) -> None:
    _, full, _ = served(problem, integer=integer)
    book = construct.Book(full.field)
    for witness in list(full.witnesses.values())[:1]:
        book.add(witness)
    before = book.pattern()
    serve_together(book, UNLIMITED)
    assert (book.pattern() == before).all()
    assert all(is_witness(problem, witness) for witness in book.witnesses.values())


def test_what_is_suppressed_is_tried_at_once_where_witnesses_are_free(monkeypatch: Any) -> None:
    problem = posed.office(((6,), (5,), (3,)), 150, rule="FREQ(4)", counts=True)
    monkeypatch.setattr(construct, "_WINDOW", 2)
    monkeypatch.setattr(construct, "_MOSTLY", 0.5)
    true, calls = construct.serve_together, []

    def watched(book: Any, clock: Any) -> None:
        calls.append(len(book.witnesses))
        if len(calls) % 2:
            raise SolverError("none")
        true(book, clock)

    monkeypatch.setattr(construct, "serve_together", watched)
    _, book, failed = served(problem, integer=True)
    assert not failed
    assert len(calls) > 1
    assert audit(problem, book.pattern(), integer=True, only_primary=True).safe
