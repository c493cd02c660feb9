"""When subspaces are searched for first patterns, and what is concluded from that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from csp import Problem, Table, clock
from csp.clock import UNLIMITED, Clock, now
from csp.solve.exact import schedule
from csp.solve.exact.heuristics import first_patterns, subspaces
from csp.solve.exact.heuristics.part_programs import improve_parts
from csp.solve.exact.state import Run
from csp.solve.general import neighbourhood
from tests.support.witnesses import cube_problem


def run_of(clock: Clock, patch: Any) -> Run:
    """A run that takes a small cube for a very large table."""
    patch.setattr(subspaces, "_LARGE", 0)
    for module in (subspaces, first_patterns):
        patch.setattr(module, "VERY_LARGE", 0)
    return Run(cube_problem(), clock, 0.0, integer=False, seed=0, progress=None)


def test_a_search_that_gains_leads_though_its_time_ends_in_an_audit(monkeypatch: Any) -> None:
    true, costs = Run.try_incumbent, []

    def slowly(self: Run, *given: Any, **named: Any) -> Any:
        result = true(self, *given, **named)
        costs.append(self.best_cost)
        if len(costs) > 1:
            # As if its audit had taken 100 s.
            monkeypatch.setattr(clock, "_left_out", clock._left_out - 100)
        return result

    monkeypatch.setattr(Run, "try_incumbent", slowly)
    monkeypatch.setattr(first_patterns, "_SUBSPACE_SECONDS", 60.0)
    run = run_of(Clock(now() + 600), monkeypatch)
    first_patterns.first_patterns(run, run.clock)
    assert len(costs) == 2
    assert costs[1] < costs[0]
    assert subspaces.subspaces_lead(run)


@pytest.mark.parametrize("gave_up", [False, True])
def test_subspaces_are_left_where_rooms_are_tight(gave_up: bool, monkeypatch: Any) -> None:
    def fruitless(self: neighbourhood.Neighbourhood, **_: Any) -> Iterator[Any]:
        self.gave_up = gave_up
        return iter(())

    monkeypatch.setattr(neighbourhood.Neighbourhood, "run", fruitless)
    run = run_of(Clock(now() + 600), monkeypatch)
    first_patterns.first_patterns(run, run.clock)
    assert subspaces.subspaces_fail(run) == gave_up
    assert not subspaces.subspaces_lead(run)


def test_where_there_was_no_time_subspaces_may_be_searched_later(monkeypatch: Any) -> None:
    monkeypatch.setattr(first_patterns, "_SUBSPACE_SECONDS", 0.0)
    monkeypatch.setattr(first_patterns, "_ENTRIES_A_SECOND", 10**9)
    run = run_of(Clock(now() + 600), monkeypatch)
    first_patterns.first_patterns(run, run.clock)
    assert not subspaces.subspaces_fail(run)


def test_without_a_limit_the_first_search_of_subspaces_ends(monkeypatch: Any) -> None:
    given: list[Clock] = []

    def noted(_: Run, until: Clock, __: int) -> bool:
        given.append(until)
        return False

    monkeypatch.setattr(first_patterns, "search_subspaces", noted)
    first_patterns.first_patterns(run_of(UNLIMITED, monkeypatch), UNLIMITED)
    assert [until.left for until in given] == [pytest.approx(60, abs=5)]


def test_parts_and_subspaces_take_turns_where_they_gain_nothing(monkeypatch: Any) -> None:
    def search(run: Run) -> list[str]:
        late = ("parts", "subspaces")
        return [
            each.name for each in schedule.BRANCH.rounds if each.name in late and each.when(run)
        ]

    monkeypatch.setattr(subspaces, "_LARGE", 0)
    monkeypatch.setattr(schedule, "_SMALL_TABLE", 0)
    table = Table.from_array(np.arange(1, 28).reshape(3, 3, 3))
    problem = Problem.of(table, np.arange(table.n_cells) == 0, spl=1)
    run = Run(problem, UNLIMITED, 0.0, integer=False, seed=0, progress=None)
    run.try_incumbent(run.problem.forced | run.problem.free)
    assert search(run) == ["parts"]
    improve_parts(run, UNLIMITED)  # to a cheapest pattern
    assert search(run) == ["parts"]
    run.bound = 0  # as if the gap were wide
    improve_parts(run, UNLIMITED)
    assert search(run) == ["subspaces"]
    subspaces.improve(run, Clock(now() + 600), patience=1)  # the early search takes no turn
    assert search(run) == ["subspaces"]
    subspaces.improve(run, Clock(now() + 1), patience=None)
    assert search(run) == ["parts"]


def test_a_tree_closes_the_gap_of_a_very_large_table_unless_it_is_wide(monkeypatch: Any) -> None:
    run = run_of(UNLIMITED, monkeypatch)
    monkeypatch.setattr(schedule, "VERY_LARGE", 0)
    run.try_incumbent(run.problem.forced | run.problem.free)
    run.subspace_share = subspaces.LEADING
    assert run.best_cost is not None
    for bound, tree in ((0, False), (run.best_cost - 1, True)):
        run.bound = bound
        applied = [phase.name for phase in schedule.BRANCH.rounds if phase.when(run)]
        assert ("tree" in applied, applied.count("subspaces")) == (tree, 1 if tree else 2)
