"""Match tests that carry proofs from candidate to candidate say what a run for each says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attacks.algorithm_known import match_tests
from attacks.algorithm_known.match_tests import SolverTest, published_as
from attacks.algorithm_known.views.public_view import PublicView
from attacks.fibre.consistent_tables import Fibre
from csp import InputError, Mechanism, MinFrequency, Table, Unprotectable
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, frequency_3d, hierarchical_tables

small_counts = st.one_of(
    frequency_2d(max_side=4, high=6), frequency_3d(high=5), hierarchical_tables(high=5)
)
mechanisms = st.builds(
    Mechanism,
    st.builds(MinFrequency, st.integers(2, 3)),
    width=st.integers(2, 4),
    strict=st.booleans(),
    cost=st.sampled_from(["unit", "value"]),
    margins=st.sampled_from(["publish", "suppress"]),
    integer=st.booleans(),
    unions=st.booleans(),
)


def view_of(table: Table, mechanism: Mechanism) -> PublicView:
    try:
        release = mechanism.protect(table).release
        assume(release.pattern.any())
        return PublicView.of(release, mechanism)
    except Unprotectable:
        assume(False)
    except InputError as error:  # some tables have infinitely many beside them
        assume("no end in one direction" not in str(error))
        raise
    raise AssertionError


def candidates(view: PublicView, most: int) -> list[np.ndarray]:
    count = Fibre(view.release, view.table).count()
    assume(count is not None and count <= most)
    return list(Fibre(view.release, view.table))


@examples(15)
@given(table=small_counts, mechanism=mechanisms)
def test_verdicts_are_those_of_a_run_for_each_candidate(table: Table, mechanism: Mechanism) -> None:
    view = view_of(table, mechanism)
    test = SolverTest(view)
    for x in candidates(view, 15):
        assert test.matches(x) == published_as(view, x)


@examples(40)
@given(table=frequency_2d(max_side=3, high=6), integer=st.booleans())
def test_verdicts_equal_brute_force_over_all_patterns(table: Table, integer: bool) -> None:
    mechanism = Mechanism(MinFrequency(3), width=3, margins="publish", integer=integer)
    view = view_of(table, mechanism)
    test = SolverTest(view)
    for x in candidates(view, 12):
        problem = mechanism.problem(view.release.table(x))
        # Relations of two-way tables lose nothing over whole numbers.
        best = oracles.best_pattern(problem)
        assert test.matches(x) == (best == tuple(view.release.pattern.tolist()))


@examples(25)
@given(table=small_counts, mechanism=mechanisms)
def test_tables_that_known_patterns_exclude_are_published_otherwise(
    table: Table, mechanism: Mechanism
) -> None:
    view = view_of(table, mechanism)
    test = SolverTest(view)
    tables = np.array(candidates(view, 15))
    for x in tables[::3]:
        test.matches(x)
    for x in tables[test.excludes(tables)]:
        assert not published_as(view, x)


def test_few_candidates_need_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cube most candidates are decided by what was proved of others."""
    values = np.abs(np.rint(np.random.default_rng(5).normal(8, 6, (3, 3, 3)))).astype(int)
    mechanism = Mechanism(MinFrequency(3), width=3, margins="publish")
    view = PublicView.of(mechanism.protect(Table.from_array(values)).release, mechanism)
    calls: list[int] = []

    def counted(*given: Any, **options: Any) -> Any:
        calls.append(1)
        return plain(*given, **options)

    plain = match_tests.PreferredPattern
    monkeypatch.setattr(match_tests, "PreferredPattern", counted)
    test = SolverTest(view)
    tables = list(Fibre(view.release, view.table))
    flags = [test.matches(x) for x in tables]
    assert len(tables) == 24
    assert flags == [published_as(view, x) for x in tables]
    assert 0 < len(calls) < len(tables) / 2
