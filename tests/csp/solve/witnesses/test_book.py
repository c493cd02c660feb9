"""Books of witnesses: what they settle, what is spare in them, and what they claim."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import Problem
from csp.audits.audit import judge
from csp.problem.singletons import Attackers
from csp.solve.witnesses.book import Book, _Claims
from csp.solve.witnesses.construct import prune
from csp.solve.witnesses.field import Field, Witness
from tests.support import oracles
from tests.support.independent_audit import unproved
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import cube_problem, ends, served, unserved


def square() -> tuple[Field, list[Witness]]:
    """Three by three cells of which the first is sensitive, and two ways round it."""
    table = csp.Table.from_array(np.full((3, 3), 50))
    problem = Problem.of(table, np.arange(16) == 0, lpl=5, upl=5, publish=table.margins)
    field, signs = Field(problem, together=True), np.array([1, -1, -1, 1])
    return field, [field.along(np.array(cells), signs) for cells in ([0, 1, 4, 5], [0, 2, 8, 10])]


def test_a_book_knows_what_moves_a_cell_and_drops_what_is_spare() -> None:
    field, both = square()
    book = Book.of(field, both)
    assert all(book.settled(r) for r in range(2))
    assert book.cost() == 6
    assert book.through(5) == {0}
    assert book.through(0) == book.serving(0) == book.serving(1) == {0, 1}
    assert np.flatnonzero(book.pattern()).tolist() == [0, 1, 2, 4, 5, 8, 10]
    assert book.spare(0)
    assert book.spare(1)
    book.remove(0)
    assert not book.spare(1)
    assert book.cost() == 3
    book.remove(1)
    assert not book.settled(0)
    assert book.left(0) is None
    assert np.flatnonzero(book.pattern()).tolist() == [0]
    # A witness may come back under its number, and new ones get others.
    assert book.add(both[1], 1) == 1
    assert book.add(both[0]) == 2
    assert book.meets(2) == [0, 1]


def test_pruning_takes_out_the_dearer_of_two() -> None:
    field, both = square()
    book, price = Book.of(field, both), field.price.copy()
    price[5] = 2.0
    prune(book, price)
    assert list(book.witnesses) == [1]


def attacked(problem: Problem, witnesses: Iterable[Witness]) -> dict[int, set[int]]:
    """Attackers who know a cell of every witness that settles a primary cell."""
    attackers, unsettled = Attackers(problem), {}
    kept = list(witnesses)
    for p in np.flatnonzero(problem.primary).tolist():
        unsettled[p] = set()
        for a, knows in enumerate(attackers.knows):
            ways = [e for w in kept for e in ends(w) if not set(w.cells) & set(knows)]
            if a not in attackers.exempt(p) and unserved(problem, p, ways):
                unsettled[p].add(a)
    return unsettled


@examples(80)
@given(problems(max_primary=4, singletons=None), st.integers(0, 99))
def test_what_is_settled_is_so_by_the_ends_of_witnesses(problem: Problem, seed: int) -> None:
    _, book, _ = served(problem, attackers=Attackers(problem))
    rng = np.random.default_rng(seed)
    for i in list(book.witnesses):
        if rng.random() < 0.3:
            book.remove(i)
    field = book.field
    attackers_left = attacked(problem, book.witnesses.values())
    ways = [end for witness in book.witnesses.values() for end in ends(witness)]
    for p in np.flatnonzero(problem.primary).tolist():
        rows = range(int(field.first[p]), int(field.first[p + 1]))
        if all(book.left(r) is not None for r in rows):
            assert not unserved(problem, p, ways)
        if all(book.settled(r) for r in rows):
            assert not attackers_left[p]


@examples(80)
@given(problems(max_primary=4), st.booleans())
def test_claims_hold_one_by_one_and_by_the_audit(problem: Problem, integer: bool) -> None:
    _, book, failed = served(problem, integer=integer)
    if failed:
        return
    pattern, shown = book.pattern(), book.claims()
    claims = [claim for pairs in shown.values() for pair in pairs for claim in pair]
    asked = problem.primary & (np.maximum(problem.lpl, problem.upl) + problem.spl > 0)
    assert set(shown) == set(np.flatnonzero(asked).tolist())
    lacking = unproved(problem, pattern, claims)
    assert not asked[lacking].any()
    assert not integer or all(claim.denominator == 1 for claim in claims)
    assert judge(problem, pattern, integer=integer, shown=shown).safe
    if not integer:
        assert oracles.is_safe(problem, pattern)


def test_claims_leave_nothing_to_follow() -> None:
    problem = cube_problem()
    _, book, failed = served(problem)
    assert not failed
    assert unproved(problem, book.pattern(), [
        claim for pairs in book.claims().values() for pair in pairs for claim in pair
    ]) == []  # fmt: skip


def test_claims_of_huge_steps_are_exact() -> None:
    steps = np.array([2**40, -(2**40)])
    claims = _Claims(Witness(np.array([3, 5]), steps, (2**40, 1), (2**30, 1)), integer=True)
    assert claims.claim(3, 1).reach == 2**80
    assert claims.claim(3, 1).steps.tolist() == [2**80, -(2**80)]
    assert claims.claim(3, -1).steps.tolist() == [-(2**70), 2**70]
