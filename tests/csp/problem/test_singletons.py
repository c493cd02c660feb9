"""Contributors who are alone in cells, and sums of cells: who knows what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import (
    Contributors,
    Dominance,
    InputError,
    MinFrequency,
    Problem,
    Table,
    Unprotectable,
    Zero,
    audit,
    protect,
    suppress,
)
from csp.problem.singletons import insiders
from csp.rules import union_sensitive
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_3d, magnitude_tables, problems

# Firm f2 is alone in (1, 1) and in (2, 2); firms f1, f3 and f4 fill the others.
FIRMS = {
    "a": ["1", "1", "1", "2", "2", "2", "2"],
    "b": ["1", "2", "2", "1", "1", "2", "1"],
    "firm": ["f2", "f1", "f3", "f1", "f3", "f2", "f4"],
    "v": [40, 30, 28, 33, 31, 50, 29],
}


def test_a_contributor_alone_in_two_cells_knows_both() -> None:
    table = Table.from_microdata(FIRMS, ["a", "b"], "v", contributor="firm")
    one, two = table.position(("1", "1")), table.position(("2", "2"))
    other = table.position(("1", "2"))
    problem = Problem.of(
        table,
        np.isin(np.arange(9), [other]),
        spl=2,
        publish=table.margins,
        singletons=table.contributors.count == 1,  # type: ignore[union-attr]
    )
    (insider,) = insiders(problem)
    assert insider.knows == (one, two)
    assert insider.takes_part == frozenset()
    # In a two by two pattern an attacker who knows two opposite cells knows them all.
    with pytest.raises(Unprotectable, match="from the contributor of cell"):
        suppress(problem)
    report = audit(problem, ~table.margins)
    assert report.violations[0].cells == (other, one, two)


def test_a_contributor_who_takes_part_in_a_cell_is_no_outsider_to_it() -> None:
    """Firm f1 is alone in (1, 1) and one of two in (2, 2), which the p% rule judges for it."""
    firms = {
        "a": ["1", "1", "2", "2", "2", "1"],
        "b": ["1", "2", "1", "2", "2", "2"],
        "firm": ["f1", "f2", "f3", "f1", "f4", "f5"],
        "v": [40, 30, 33, 50, 9, 20],
    }
    table = Table.from_microdata(firms, ["a", "b"], "v", contributor="firm")
    here, there = table.position(("2", "2")), table.position(("1", "2"))
    primary = np.isin(np.arange(9), [here, there])
    single = np.arange(9) == table.position(("1", "1"))
    problem = Problem.of(table, primary, spl=2, publish=table.margins, singletons=single)
    (insider,) = insiders(problem)
    assert insider.takes_part == {here}
    unnamed = table.replace(contributors=replace(table.contributors, ids=None))
    (insider,) = insiders(replace(problem, table=unnamed))
    assert insider.takes_part == frozenset()
    # Only (1, 2) fails: (1, 1) is known to f1, so its row tells it.
    assert {v.cells[0] for v in audit(problem, ~table.margins).violations} == {there}


@examples(40)
@given(problems(magnitude_tables(), singletons=True, max_free=6))
def test_what_cannot_be_protected_is_unsafe_with_everything_suppressed(problem: Problem) -> None:
    everything = problem.forced | problem.free
    try:
        found = suppress(problem)
    except Unprotectable:
        assert not oracles.is_safe(problem, everything)
    else:
        assert oracles.is_safe(problem, everything)
        assert oracles.is_safe(problem, found.pattern)


def test_a_margin_with_one_contributor_gives_away_all_below_it() -> None:
    table = Table.from_array([[1, 0, 0], [3, 4, 5]])
    single = np.array([label == ("1", "Total") for label in table.labels])
    problem = Problem.of(table, np.arange(12) == 5, spl=1, singletons=single)
    (insider,) = insiders(problem)
    assert set(insider.knows) == {table.position(("1", c)) for c in ("1", "2", "3", "Total")}


@examples(80)
@given(problems(magnitude_tables(), singletons=True, max_free=6))
def test_audits_know_what_contributors_know(problem: Problem) -> None:
    pattern = problem.forced | problem.free
    assert audit(problem, pattern).safe == oracles.is_safe(problem, pattern)
    short = audit(problem, pattern, only_primary=True)
    assert short.safe == oracles.is_safe(problem, pattern)


@examples(60)
@given(problems(frequency_3d(high=4), extras=False), st.integers(2, 9), st.booleans())
def test_short_and_full_audits_agree_on_sums(problem: Problem, n: int, integer: bool) -> None:
    guarded = replace(problem, union_rule=MinFrequency(n, width=1))
    pattern = problem.forced | problem.free
    full = audit(guarded, pattern, integer=integer)
    assert full.safe == audit(guarded, pattern, integer=integer, only_primary=True).safe


def one_cell(count: int, total: int, top: list[int], ids: list[int]) -> Table:
    from scipy.sparse import csr_array

    people = Contributors(np.array([count]), np.array([total]), np.array([top]), np.array([ids]))
    return Table(
        np.array([total]), csr_array((0, 1), dtype=np.int64), np.array([0]), np.array([10**6]),
        (("c",),), contributors=people,
    )  # fmt: skip


def test_a_contributor_weighted_three_is_three_in_a_sum_too() -> None:
    table = one_cell(9, 90, [10, 10, 10, 10], [4, 4, 4, 7])
    for rule in (Dominance(1, 40), MinFrequency(8, width=1), Dominance(2, "22.3")):
        assert union_sensitive(rule, table, [0]) == bool(rule(table).primary[0])
    assert not union_sensitive(Dominance(1, 40), table, [0])


def test_the_zero_rule_ignores_sums_without_contributors() -> None:
    people = Contributors(np.array([0, 0, 5, 5]), np.array([0, 0, 9, 9]), np.zeros((4, 1), int))
    table = Table.from_array([0, 0, 9], contributors=people)
    assert not Zero(1)(table).primary.any()
    assert not union_sensitive(Zero(1), table, [0, 1])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"top": [15, 5, 15]}, "row 1.*more than its value"),
        ({"top": [6, 5, 5]}, "row 3.*smaller largest"),
        ({"n": [5, 7, 4]}, "row 3.*fewer contributors"),
        ({"n": [5, 7, 99]}, "row 3.*more contributors"),
        ({"n": [0, 7, 7]}, "row 1.*fewer contributors than contributions"),
        ({"n": [1, 7, 8]}, "row 1.*all of them listed, add up to less"),
    ],
)
def test_contradictory_contributors_are_refused(changes: dict[str, list[int]], word: str) -> None:
    columns = {
        "a": ["x", "y", "Total"], "v": [10, 20, 30], "n": [5, 7, 12], "top": [6, 5, 6],
    }  # fmt: skip
    Table.from_frame(columns, ["a"], "v", count="n", top=["top"])
    with pytest.raises(InputError, match=word):
        Table.from_frame(columns | changes, ["a"], "v", count="n", top=["top"])


def test_protected_tables_withstand_each_contributor() -> None:
    rng = np.random.default_rng(7)
    records = {
        "a": rng.choice(list("pqrs"), 60).tolist(),
        "b": rng.choice(list("wxyz"), 60).tolist(),
        "firm": rng.integers(0, 25, 60).astype(str).tolist(),
        "v": rng.integers(1, 200, 60).tolist(),
    }
    table = Table.from_microdata(records, ["a", "b"], "v", contributor="firm")
    try:
        found = protect(table, "P(10,1)", singletons=True, time_limit=20)
    except Unprotectable:
        pytest.skip("this draw cannot be protected")
    assert oracles.is_safe(found.problem, found.pattern)


def test_a_table_with_many_lone_contributors_is_guarded_without_suppressing_everything() -> None:
    """Searches that know the outsider only ended with everything suppressed, 1,492 of 1,521."""
    rng = np.random.default_rng(1)
    n = 700
    records = {f"d{i}": rng.integers(0, k, n).astype(str).tolist() for i, k in enumerate((6, 6, 4))}
    records["v"] = (np.round(rng.lognormal(4, 1.6, n)).astype(int) + 1).tolist()
    records["f"] = [f"e{i}" for i in range(n)]
    table = Table.from_microdata(records, ["d0", "d1", "d2"], "v", contributor="f")
    found = protect(table, "P(10,1)|FREQ(3,10)", gap=0.6)
    assert found.problem.alone.any()
    assert found.guards == ("outsider", "singletons")
    unguarded = protect(table, "P(10,1)|FREQ(3,10)", singletons=False, gap=0.1)
    assert unguarded.suppression.cost <= found.suppression.cost < found.problem.free.sum() / 3
    assert not audit(found.problem, unguarded.pattern).safe
