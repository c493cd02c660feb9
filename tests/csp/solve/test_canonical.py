"""One answer: the same labelled cells for any order of rows, columns and cells, and any seed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Contributors, Problem, Table, Unprotectable, suppress
from csp.solve.exact.branching import tiebreak
from csp.solve.order import label_order, reordered
from csp.tables.link import link
from instances import synthetic
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, problems, small_tables

METHODS = ("auto", "cuts", "branch")


def moved(problem: Problem, order: np.ndarray, relation_order: np.ndarray) -> Problem:
    """The same problem with cells and relations in another order; labels move along."""
    table = problem.table
    people = table.contributors
    return Problem(
        table.replace(
            values=table.values[order],
            relations=csr_array(table.relations[relation_order][:, order]),
            lower=table.lower[order],
            upper=table.upper[order],
            labels=tuple(table.labels[i] for i in order),
            contributors=people
            and type(people)(
                people.count[order], people.total[order], people.top[order], people.ids[order]
            ),
        ),
        problem.primary[order],
        problem.lpl[order],
        problem.upl[order],
        problem.spl[order],
        problem.cost[order],
        problem.status[order],
        singletons=problem.alone[order],
    )


def pattern_of(problem: Problem, method: str, seed: int = 0) -> np.ndarray | None:
    try:
        found = suppress(problem, method=method, seed=seed)
    except Unprotectable:
        return None
    assert found.canonical
    return found.pattern


@examples(15)
@given(problems(small_tables(), max_free=10, max_primary=4, singletons=None), st.data())
def test_order_and_sign_of_relations_and_seeds_change_nothing(
    problem: Problem, data: st.DataObject
) -> None:
    m = problem.table.relations.shape[0]
    order = np.array(data.draw(st.permutations(range(m))))
    turned = replace(
        problem, table=problem.table.replace(relations=csr_array(problem.table.relations[order]))
    )
    patterns = [
        None if found is None else found.tolist()
        for one in (problem, turned)
        for method in METHODS
        for found in [pattern_of(one, method, data.draw(st.integers(0, 2**31 - 1)))]
    ]
    assert all(p == patterns[0] for p in patterns)


@examples(15)
@given(problems(small_tables(), max_free=10, max_primary=4, singletons=None), st.data())
def test_the_order_of_cells_changes_nothing(problem: Problem, data: st.DataObject) -> None:
    # One cost and low levels: many patterns are equally cheap.
    tied = replace(
        problem, cost=np.ones_like(problem.cost),
        **{name: np.minimum(getattr(problem, name), 1) for name in ("lpl", "upl", "spl")},
    )  # fmt: skip
    order = np.array(data.draw(st.permutations(range(problem.table.n_cells))))
    rows = np.array(data.draw(st.permutations(range(problem.table.relations.shape[0]))))
    other = moved(tied, order, rows)
    for method in (*METHODS, "ilp"):
        one, two = pattern_of(tied, method), pattern_of(other, method)
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert (one[order] == two).all()


@examples(15)
@given(problems(small_tables(), max_free=10, max_primary=4, singletons=None), st.data())
def test_without_ties_the_order_of_cells_changes_nothing(
    problem: Problem, data: st.DataObject
) -> None:
    n = problem.table.n_cells
    # No two patterns have one cost, and the cheapest is among those that were cheapest before.
    weight = 1 << np.array(data.draw(st.permutations(range(n))))
    alone = replace(problem, cost=problem.cost * 2**n + weight)
    order = np.array(data.draw(st.permutations(range(n))))
    rows = np.array(data.draw(st.permutations(range(problem.table.relations.shape[0]))))
    other = moved(alone, order, rows)
    for method in ("cuts", "branch"):
        one, two = pattern_of(alone, method), pattern_of(other, method)
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert (one[order] == two).all()


def cheapest_patterns(problem: Problem) -> Iterator[tuple[bool, ...]]:
    """All safe patterns of least cost."""
    best = oracles.best_pattern(problem)
    if best is None:
        return
    least = oracles.pattern_cost(problem, best)
    free = np.flatnonzero(problem.free).tolist()
    for flags in itertools.product((False, True), repeat=len(free)):
        pattern = problem.forced.copy()
        pattern[free] = flags
        if oracles.pattern_cost(problem, pattern) == least and oracles.is_safe(problem, pattern):
            yield tuple(pattern.tolist())


@pytest.mark.parametrize("method", METHODS)
def test_large_tables_take_the_least_total_of_hashed_labels(method: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(tiebreak, "BINARY_UP_TO", 0)

    @examples(15)
    @given(problems(small_tables(), max_free=7, max_primary=4), st.data())
    def check(problem: Problem, data: st.DataObject) -> None:
        all_best = list(cheapest_patterns(problem))
        found = pattern_of(problem, method, data.draw(st.integers(0, 99)))
        if found is None:
            assert not all_best
            return
        weights = tiebreak.label_hash(problem, np.arange(problem.table.n_cells))
        totals = sorted((int(weights[list(p)].sum()), p) for p in all_best)
        assume(len(totals) < 2 or totals[0][0] < totals[1][0])
        assert tuple(found.tolist()) == totals[0][1]
        order = np.array(data.draw(st.permutations(range(problem.table.n_cells))))
        rows = np.array(data.draw(st.permutations(range(problem.table.relations.shape[0]))))
        again = pattern_of(moved(problem, order, rows), method)
        assert again is not None
        assert (found[order] == again).all()

    check()


def few_primaries(table: Table, count: int, seed: int, cost: Any = 1) -> Problem:
    rng = np.random.default_rng(seed)
    inner = np.flatnonzero(~table.margins & (table.values > 0))
    primary = np.isin(np.arange(table.n_cells), rng.choice(inner, count, replace=False))
    level = np.where(primary, np.maximum(1, table.values // 5), 0)
    return Problem.of(
        table, primary, lpl=level, upl=level, spl=3 * level, cost=cost, publish=table.margins
    )


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 3)])
def test_many_cheapest_patterns_and_any_order_of_cells(shape: tuple[int, ...]) -> None:
    table = cube(np.full(shape, 9))
    problem = Problem.of(table, np.arange(table.n_cells) == 1, lpl=3, upl=3, publish=table.margins)
    rng = np.random.default_rng(5)
    for method in METHODS:
        pattern = pattern_of(problem, method)
        assert pattern is not None
        order = rng.permutation(table.n_cells)
        rows = rng.permutation(table.relations.shape[0])
        again = pattern_of(moved(problem, order, rows), method)
        assert again is not None
        assert (pattern[order] == again).all()


@pytest.mark.parametrize("shape", [(45, 45), (12, 12, 12)])
def test_tables_of_more_than_two_thousand_cells_move_with_their_labels(
    shape: tuple[int, ...],
) -> None:
    values = np.random.default_rng(sum(shape)).integers(20, 90, shape)
    table = cube(values)
    assert table.n_cells > tiebreak.BINARY_UP_TO
    problem = few_primaries(table, 5, 3)
    rng = np.random.default_rng(8)
    other = moved(
        problem, order := rng.permutation(table.n_cells),
        rng.permutation(table.relations.shape[0]),
    )  # fmt: skip
    first, second = suppress(problem, time_limit=60), suppress(other, seed=7, time_limit=60)
    assert first.canonical
    assert second.canonical
    assert (first.pattern[order] == second.pattern).all()


def test_methods_that_know_no_labels_call_no_answer_about_a_large_table_canonical() -> None:
    table = cube(np.full((45, 45), 50))
    block = np.zeros((46, 46), dtype=bool)
    block[:6, :6] = True
    primary = np.arange(table.n_cells) == 0
    problem = Problem.of(table, primary, lpl=5, upl=5, publish=~block.ravel())
    found = {method: suppress(problem, method=method) for method in ("cuts", "small", "ilp")}
    assert {one.cost for one in found.values()} == {3}
    canonical = [one.pattern.tolist() for one in found.values() if one.canonical]
    assert found["cuts"].canonical
    assert all(pattern == canonical[0] for pattern in canonical)


# ---- where tables come from --------------------------------------------------------------------


def labelled(problem: Problem) -> set[tuple[str, ...]]:
    pattern = suppress(problem).pattern
    return {problem.table.labels[i] for i in np.flatnonzero(pattern)}


def small_counts(table: Table) -> Problem:
    return Problem.of(table, (table.values < 4) & ~table.margins, spl=4, publish=table.margins)


def test_rows_of_a_frame_and_of_records_in_any_order() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    size = 260
    records = pandas.DataFrame(
        {"a": rng.choice(list("pqrstu"), size), "b": rng.choice(list("vwxyz"), size)}
    )
    cells = records.groupby(["a", "b"], as_index=False).size().rename(columns={"size": "value"})
    answers = []
    for seed in range(3):
        mixed = records.sample(frac=1, random_state=seed)[["b", "a"] if seed % 2 else ["a", "b"]]
        rows = cells.sample(frac=1, random_state=seed)
        answers.append(
            (
                labelled(small_counts(Table.from_microdata(mixed, ["a", "b"]))),
                labelled(small_counts(Table.from_frame(rows, ["a", "b"], value="value"))),
            )
        )
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0][0]) > 4


def test_linked_tables_in_any_order() -> None:
    units = synthetic.frequency_nd((4, 3, 3), 6).values.reshape(5, 4, 4)[:4, :3, :3]
    one = Table.from_array(units.sum(axis=2), names=["region", "sex"])
    two = Table.from_array(units.sum(axis=1), names=["region", "age"])
    assert labelled(small_counts(link(one, two))) == labelled(small_counts(link(two, one)))


@examples(30)
@given(problems(small_tables(), max_free=10, max_primary=4), st.data())
def test_a_problem_brought_into_another_order_says_the_same(
    problem: Problem, data: st.DataObject
) -> None:
    table = problem.table
    n = table.n_cells
    people = Contributors(
        np.arange(n), np.arange(n) * 7, np.arange(2 * n).reshape(n, 2),
        opposite=Contributors(np.arange(n), np.arange(n), np.arange(n)[:, None]),
    )  # fmt: skip
    told = replace(problem, table=table.replace(contributors=people, structural=table.values == 0))
    order = np.array(data.draw(st.permutations(range(n))))
    other = reordered(told, order)
    assert other.table.labels == tuple(table.labels[i] for i in order)
    assert (other.table.values == table.values[order]).all()
    for name in ("primary", "lpl", "upl", "spl", "cost", "status", "alone"):
        assert (getattr(other, name) == getattr(told, name)[order]).all()
    back = reordered(other, np.argsort(order)).table
    assert (back.relations != table.relations).nnz == 0
    assert (back.lower == table.lower).all()
    assert (back.upper == table.upper).all()
    assert (back.structural == told.table.structural).all()
    assert back.contributors is not None
    assert back.contributors.opposite is not None
    for one, two in ((back.contributors, people), (back.contributors.opposite, people.opposite)):
        for name in ("count", "total", "top"):
            assert (getattr(one, name) == getattr(two, name)).all()
    ranked = label_order(other.table)
    assert [other.table.labels[i] for i in ranked] == [table.labels[i] for i in label_order(table)]
