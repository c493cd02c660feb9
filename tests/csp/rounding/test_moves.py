"""Cells that one move takes to their bounds have these as their intervals, by enumeration."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Hierarchy, Mechanism, Table, audit_rounding, round_table
from csp.errors import InputError, Unroundable
from csp.rounding import rounding_audit
from csp.rounding.moves import inner_sums, reached
from tests.support.oracles import integer_interval
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, small_tables

BREAKDOWNS = Table(
    np.array([1, 5, 2, 4, 6]), csr_array([[1, 1, 0, 0, -1], [0, 0, 1, 1, -1]]),
    np.zeros(5, int), np.full(5, 99), [(c,) for c in "abcdt"],
)  # fmt: skip
"""A total that is divided in two ways: moving one of its parts alone breaks the other sum."""


@examples(25)
@given(st.one_of(small_tables(), st.just(BREAKDOWNS)), st.integers(2, 3), st.booleans())
def test_bounds_that_are_called_reached_are_ends_of_intervals(table, base, small) -> None:
    try:
        found = round_table(table, base, small=small)
    except (Unroundable, InputError):  # small counts of tables with negative or divided cells
        return
    release = found.release
    low, high = reached(table, found.values, release)
    near = table.replace(lower=release.lower, upper=release.upper)
    assert not ((low | high) & ~release.pattern).any()
    for i in np.flatnonzero(low | high)[:4].tolist():
        ends = integer_interval(near, release.pattern, i)
        assert not low[i] or ends[0] == release.lower[i]
        assert not high[i] or ends[1] == release.upper[i]


def test_a_part_of_a_total_that_is_divided_in_two_ways_does_not_move_alone() -> None:
    found = round_table(BREAKDOWNS, 5)
    low, high = reached(BREAKDOWNS, found.values, found.release)
    assert not high.any()
    assert (low == (found.values == found.release.lower)).all()


def test_no_program_runs_for_a_table_that_is_rounded_within_a_base(monkeypatch) -> None:
    """Of hierarchies with 10,000 cells these take a minute."""
    tree = Hierarchy(("a1", "a2", "a", "b", "all"), (2, 2, 4, 4, -1))
    table = Table.from_array(
        np.random.default_rng(2).integers(0, 12, (3, 3)), names=["x", "y"],
        hierarchies={"x": tree, "y": tree},
    )  # fmt: skip
    found = round_table(table, 5)
    monkeypatch.delattr(rounding_audit, "intervals")
    judged = audit_rounding(found, Mechanism(lambda t: np.ones(t.n_cells, bool), width=3))
    assert (judged.lower == np.maximum(0, found.values - 4)).all()
    assert (judged.upper == found.values + 4).all()
    assert judged.safe


@examples(20)
@given(frequency_2d())
def test_inner_cells_are_summed_to_all_others(table) -> None:
    sums = inner_sums(table)
    assert sums is not None
    assert (sums @ table.values[~table.margins] == table.values).all()
    assert not (table.relations @ sums).toarray().any()


def test_cells_that_count_twice_are_not_sums() -> None:
    table = Table(
        np.array([1, 2]), csr_array([[2, -1]]), np.zeros(2, int), np.full(2, 9), [("a",), ("b",)]
    )
    assert inner_sums(table) is None
    found = round_table(table, 2)
    assert not any(one.any() for one in reached(table, found.values, found.release))
