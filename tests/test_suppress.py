"""Optima and canonical patterns against brute force over all patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csp import Problem, Unprotectable
from csp.solve import suppress
from csp.solve.ilp import interval_ilp
from tests import oracles
from tests.strategies import frequency_2d, problems


def check(problem: Problem, method: str, best: tuple[bool, ...] | None) -> None:
    if best is None:
        with pytest.raises(Unprotectable):
            suppress(problem, method=method)
        return
    found = suppress(problem, method=method)
    assert found.cost == oracles.pattern_cost(problem, best) == found.bound
    assert found.proven
    assert found.canonical
    assert found.gap == 0
    assert found.pattern.tolist() == list(best)


@settings(max_examples=200, deadline=None)
@given(problems(singletons=None))
def test_cut_loop_equals_brute_force(problem: Problem) -> None:
    check(problem, "cuts", oracles.best_pattern(problem))


@settings(max_examples=25)
@given(problems(singletons=None, max_free=7))
def test_compact_program_equals_brute_force(problem: Problem) -> None:
    check(problem, "compact", oracles.best_pattern(problem))


@settings(max_examples=40)
@given(st.data())
def test_interval_program_equals_enumeration(data: st.DataObject) -> None:
    table = data.draw(frequency_2d())
    flags = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    pattern = np.array(data.draw(flags)) & ~table.margins
    for i in np.flatnonzero(pattern)[:2].tolist():
        assert interval_ilp(table, pattern, i) == oracles.integer_interval(table, pattern, i)
