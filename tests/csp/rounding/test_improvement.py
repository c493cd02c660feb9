"""Choices improved a few codes at a time stay additive, and the whole program still proves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from csp import Table, highs, round_table
from csp.clock import UNLIMITED, Clock
from csp.errors import OutOfTime
from csp.rounding import programs
from csp.rounding.improvement import improve, some_choice
from csp.rounding.neighbours import Neighbours
from instances import synthetic
from tests.csp.rounding.test_controlled import choices, far
from tests.support.shared import examples
from tests.support.strategies import frequency_3d, hierarchical_tables


@examples(15)
@given(st.one_of(frequency_3d(high=6), hierarchical_tables()), st.integers(2, 5))
def test_an_improved_choice_is_additive_and_no_more_expensive(table, base: int) -> None:
    near = Neighbours.of(table, base)
    assume(len(near.cells))
    first = some_choice(near, near.cost, UNLIMITED)
    strict = [far(table, base, one) for one in choices(table, base)]
    assert (first is None) == (not strict)
    if first is None:
        return
    better = first.copy()
    improve(near, near.cost, better, UNLIMITED)
    values = near.values(better)
    assert not (table.relations @ values).any()
    assert (np.abs(values - table.values) < base).all()
    least = int(near.rest.sum())
    assert min(strict)[1] <= least + near.cost @ better <= least + near.cost @ first


def test_a_choice_far_from_the_best_is_improved() -> None:
    """Begun from one for the opposite costs, what is left of its excess is less than a fifth."""
    table = synthetic.frequency_nd((7, 7, 7), 4)
    near = Neighbours.of(table, 5)
    first = some_choice(near, -near.cost, UNLIMITED)
    assert first is not None
    best = round_table(table, 5)
    assert best.proven
    better = first.copy()
    improve(near, near.cost, better, Clock.of(60))
    off = [int(near.rest.sum() + near.cost @ one) - best.distance for one in (first, better)]
    assert 0 <= 5 * off[1] < off[0]


def test_a_choice_is_kept_where_the_solver_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = Neighbours.of(synthetic.frequency_nd((3, 3, 3), 4), 5)
    first = some_choice(near, -near.cost, UNLIMITED)
    assert first is not None

    def lost(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(highs, "run_interruptibly", lost)
    kept = first.copy()
    improve(near, near.cost, kept, Clock.of(5))
    assert kept.tolist() == first.tolist()


@examples(15)
@given(frequency_3d(high=6), st.integers(2, 5))
def test_the_program_goes_on_from_it_to_the_optimum(table, base: int) -> None:
    before = programs._MANY
    near = Neighbours.of(table, base)
    assume(len(near.cells))
    programs._MANY = 0
    try:
        found = programs.chosen(near, near.cost, None, UNLIMITED)
    finally:
        programs._MANY = before
    strict = [far(table, base, one) for one in choices(table, base)]
    assert (found is None) == (not strict)
    if found is not None:
        assert found.proven
        assert np.abs(found.values - table.values).sum() == min(strict)[1]


@pytest.mark.parametrize("where", ["improve", "solve"])
def test_an_interrupt_keeps_the_choice_that_there_is(monkeypatch, where: str) -> None:
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    table = synthetic.frequency_nd((6, 6, 6), 2)
    monkeypatch.setattr(programs, where, interrupt)
    monkeypatch.setattr(programs, "_MANY", 0)
    found = round_table(table, 5)
    assert not found.proven
    assert not (table.relations @ found.values).any()
    assert (np.abs(found.values - table.values) < 5).all()
    assert (found.values % 5 == 0).all()
    # Before there is a choice, nothing can be kept.
    monkeypatch.setattr(programs, "some_choice", interrupt)
    with pytest.raises(KeyboardInterrupt):
        round_table(table, 5)


def test_a_table_without_any_choice_has_none_to_begin_with() -> None:
    near = Neighbours.of(Table.from_array([[[1, 1], [1, 1]], [[0, 1], [1, 0]]]), 2)
    assert some_choice(near, near.cost, UNLIMITED) is None


@pytest.mark.parametrize("many", [0, 10**9])
def test_a_bound_is_stated_where_the_time_ends_first(monkeypatch, many: int) -> None:
    monkeypatch.setattr(programs, "_MANY", many)
    found = round_table(synthetic.frequency_nd((12, 12, 12), 1), 5, time_limit=2)
    assert not found.proven
    assert found.bound is not None
    assert found.bound <= found.distance < 1.6 * found.bound
