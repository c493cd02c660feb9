"""Exchanges of witnesses: never dearer, never unsafe, and undone wholly where they fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import Problem, audit
from csp.clock import UNLIMITED, Clock, now
from csp.problem.singletons import Attackers
from csp.solve.witnesses import exchange as module
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder, prune
from csp.solve.witnesses.exchange import drop_cells, exchange
from tests.support import oracles
from tests.support.shared import examples, kept_limit
from tests.support.strategies import problems
from tests.support.witnesses import cost, cube_problem, is_witness, served


def state(book: Book) -> tuple[Any, ...]:
    """All that a book knows, witnesses by identity."""
    return (
        {number: id(witness) for number, witness in book.witnesses.items()},
        {number: book.meets(number) for number in book.witnesses},
        book.used.tolist(),
        [book.serving(r) for r in range(len(book.field.need))],
        [book.left(r) for r in range(len(book.field.need))],
        [book.through(cell) for cell in range(len(book.used))],
        [book.spare(number) for number in sorted(book.witnesses)],
    )


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@examples(80)
@given(
    problems(max_primary=4, singletons=None), st.integers(0, 99), st.booleans(), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_exchanges_save_what_they_say_or_leave_the_book_as_it_was(
    problem: Problem, seed: int, integer: bool, banned: bool, guarded: bool
) -> None:
    attackers = Attackers(problem) if guarded else None
    builder, book, failed = served(problem, integer=integer, attackers=attackers)
    settled = {r for r in range(len(book.field.need)) if book.settled(r)}
    assert settled.isdisjoint(failed)
    price = book.field.price
    offered = list(book.witnesses.values())[:1]
    for turn in range(6):
        cells = np.flatnonzero((book.used > 0) & (price > 0))
        if not len(cells):
            break
        published = np.sort(rng(seed + turn).permutation(cells)[: 1 + turn % 2])
        before, paid = state(book), cost(problem, book.pattern())
        saved = exchange(
            book, builder, price, published, banned=banned,
            offered=offered if turn == 3 and not banned else (),
            chosen=cells[:2] if turn == 4 else None,
        )  # fmt: skip
        if saved is None:
            assert state(book) == before
        else:
            assert cost(problem, book.pattern()) == paid - saved
            assert not (banned and book.used[published].any())
        assert {r for r in range(len(book.field.need)) if book.settled(r)} >= settled
    assert all(is_witness(problem, witness) for witness in book.witnesses.values())
    if not failed and not integer and (guarded or problem.singletons is None):
        assert oracles.is_safe(problem, book.pattern())


def square() -> tuple[Book, Builder]:
    """Four by four cells of which the first is sensitive, served at a price for the cheapest."""
    table = csp.Table.from_array(np.full((4, 4), 50))
    problem = Problem.of(table, np.arange(25) == 0, lpl=5, upl=5, publish=table.margins)
    builder, book, failed = served(problem)
    assert not failed
    assert len(book.witnesses) == 1
    return book, builder


def test_a_cheaper_way_is_taken_and_a_dearer_one_is_not() -> None:
    book, builder = square()
    used = np.flatnonzero(book.used)[1:]
    dear = book.field.price.copy()
    dear[used] = 3.0
    before = state(book)
    for cells, price in (
        ([int(used[0])], np.where(book.used > 0, 1.0, 9.0) * (dear > 0)),  # all else is dearer
        (np.flatnonzero(dear > 0).tolist(), dear),  # nothing is left
    ):
        assert exchange(book, builder, price, np.array(cells)) is None
        assert state(book) == before
    assert exchange(book, builder, dear, used) == 6.0
    assert state(book) != before
    assert not book.used[used].any()
    assert book.settled(0)
    assert book.settled(1)


def test_an_exchange_without_time_is_undone() -> None:
    book, builder = square()
    before = state(book)
    builder.clock = Clock(now() - 1)
    assert exchange(book, builder, book.field.price, np.flatnonzero(book.used)[1:]) is None
    assert state(book) == before


@examples(60)
@given(problems(max_primary=4), st.integers(0, 9))
def test_sweeps_never_make_a_pattern_dearer_or_unsafe(problem: Problem, seed: int) -> None:
    builder, book, failed = served(problem)
    price, generator = book.field.price, rng(seed)
    for _ in range(3):
        before = cost(problem, book.pattern())
        gained = drop_cells(book, builder, price, UNLIMITED, generator)
        after = cost(problem, book.pattern())
        assert gained == (after < before)
        assert after <= before
    prune(book, price)
    assert cost(problem, book.pattern()) <= after
    assert all(is_witness(problem, witness) for witness in book.witnesses.values())
    if not failed:
        assert audit(problem, book.pattern(), only_primary=True).safe


def sweeps(problem: Problem, seed: int) -> list[list[bool]]:
    """Patterns of three sweeps."""
    builder, book, failed = served(problem)
    assert not failed
    generator, patterns = rng(seed), [book.pattern().tolist()]
    for _ in range(3):
        drop_cells(book, builder, book.field.price, UNLIMITED, generator)
        patterns.append(book.pattern().tolist())
        assert audit(problem, book.pattern(), only_primary=True).safe
    return patterns


def test_sweeps_are_repeatable_and_improve() -> None:
    problem = cube_problem()
    one, two = (sweeps(problem, 4) for _ in range(2))
    assert one == two
    costs = [cost(problem, pattern) for pattern in one]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_cells_are_tried_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = cube_problem((4, 3, 3))
    builder, book, _ = served(problem)
    tried: list[list[int]] = []

    def refused(book: Book, builder: Builder, price: Any, published: Any) -> None:
        tried.append(published.tolist())

    monkeypatch.setattr(module, "exchange", refused)
    price = book.field.price
    assert not drop_cells(book, builder, price, UNLIMITED, rng())
    saving = [cell for cell in range(problem.table.n_cells) if book.used[cell] and price[cell]]
    assert sorted(tried) == [[cell] for cell in saving]


def test_cells_that_cost_most_for_what_they_serve_are_tried_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder, book, _ = served(cube_problem((4, 3, 3)))
    tried: list[int] = []
    monkeypatch.setattr(module, "exchange", lambda *given: tried.extend(given[3].tolist()))
    saving = np.flatnonzero(book.used * book.field.price)
    dear = int(saving[np.argmax(book.used[saving])])
    for factor, first in ((1000.0, True), (1e-6, False)):
        price = np.ones(len(book.used))
        price[dear] = factor
        drop_cells(book, builder, price, UNLIMITED, rng())
        place = tried.index(dear)
        assert place == (0 if first else len(tried) - 1)
        tried.clear()


def test_sweeps_keep_the_deadline() -> None:
    builder, book, _ = served(cube_problem((8, 7, 6)))
    before = state(book)
    assert not drop_cells(book, builder, book.field.price, Clock(now() - 1), rng())
    assert state(book) == before
    with kept_limit(0.5):
        builder.clock = Clock(now() + 0.5)
        drop_cells(book, builder, book.field.price, builder.clock, rng())
    assert all(book.settled(r) for r in range(len(book.field.need)))
