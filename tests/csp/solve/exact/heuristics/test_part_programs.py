"""Integer programs over parts of a table: what they keep, what they find, when they end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

from csp import Problem, Table
from csp.clock import UNLIMITED, Clock
from csp.solve.exact.heuristics import part_programs
from csp.solve.exact.heuristics.part_programs import improve_parts
from csp.solve.exact.state import Run
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_3d, hierarchical_tables, linked_tables, problems

TABLES = st.one_of(frequency_3d(), linked_tables(), hierarchical_tables())


def started(problem: Problem, seed: int = 0, clock: Clock = UNLIMITED) -> Run | None:
    """A run whose best pattern is everything; None if not even that is safe."""
    run = Run(problem, clock, 0.0, False, seed, None)
    run.try_incumbent(problem.forced | problem.free)
    return None if run.best is None else run


def test_programs_over_growing_parts_end_with_a_cheapest_pattern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part_programs, "_WIDER", 1.5)
    improved = []

    @examples(40)
    @given(problems(TABLES, max_free=9), st.integers(1, 3), st.integers(0, 3))
    def check(problem: Problem, top: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        problem = replace(problem, cost=rng.integers(1, top + 1, problem.table.n_cells))
        run = started(problem, seed)
        if run is None:
            assert oracles.best_pattern(problem) is None
            return
        assert run.best is not None
        before = oracles.pattern_cost(problem, run.best)
        improve_parts(run, UNLIMITED)
        assert oracles.is_safe(problem, run.best)
        best = oracles.best_pattern(problem)
        assert best is not None
        least = oracles.pattern_cost(problem, best)
        assert oracles.pattern_cost(problem, run.best) == run.best_cost == least
        improved.append(before > least)

    check()
    assert any(improved)


def test_a_program_changes_cells_of_its_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = []
    plain = part_programs._improve

    def watched(run: Run, part: Any, until: Clock) -> bool:
        before = run.best
        assert before is not None
        found = plain(run, part, until)
        assert run.best is not None
        assert (run.best[~part] == before[~part]).all()
        changed.append(int((run.best != before).sum()))
        return found

    monkeypatch.setattr(part_programs, "_improve", watched)
    monkeypatch.setattr(part_programs, "_WIDER", 1.5)

    @examples(20)
    @given(problems(frequency_3d(), max_free=12))
    def check(problem: Problem) -> None:
        run = started(problem)
        if run is not None:
            improve_parts(run, UNLIMITED)

    check()
    assert any(changed)


def test_of_equally_cheap_patterns_one_that_shares_few_cells_takes_the_place_of_the_best() -> None:
    table = Table.from_array([[3, 9, 5], [8, 7, 4], [6, 5, 9]])
    problem = Problem.of(table, np.arange(table.n_cells) == 0, lpl=1, upl=1)
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    rectangle = np.isin(np.arange(table.n_cells), [0, 1, 4, 5])
    run.try_incumbent(rectangle)
    for _ in range(30):
        assert part_programs._improve(run, np.ones(table.n_cells, bool), UNLIMITED)
        assert run.best is not None
        assert oracles.is_safe(problem, run.best)
        assert run.best_cost == 3
        if (run.best & rectangle).sum() == 1:
            break
    else:
        pytest.fail("the best pattern did not change")


@examples(30)
@given(problems(TABLES), st.data())
def test_a_part_is_all_that_shares_a_relation(problem: Problem, data: st.DataObject) -> None:
    table = problem.table
    cells = data.draw(
        st.lists(st.integers(0, table.n_cells - 1), min_size=1, max_size=3, unique=True)
    )
    relations = csr_array(table.relations)
    part = part_programs._around(np.array(cells), relations, csc_array(relations))
    expected = {j for row in oracles.rows_of(table) if set(cells) & row.keys() for j in row}
    assert set(np.flatnonzero(part).tolist()) == expected


def test_no_time_changes_nothing() -> None:
    table = Table.from_array([[3, 9], [8, 7]])
    problem = Problem.of(table, np.arange(table.n_cells) == 0, lpl=1, upl=1)
    run = started(problem)
    assert run is not None
    assert run.best is not None
    before = run.best.tolist()
    improve_parts(run, Clock(0.0))
    assert run.best.tolist() == before


def test_search_without_a_time_limit_ends_after_parts_without_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Table.from_array([[3, 9, 5, 7], [8, 7, 4, 6], [6, 5, 9, 3], [4, 8, 6, 5]])
    run = started(Problem.of(table, np.arange(table.n_cells) == 0, lpl=1, upl=1))
    assert run is not None
    tried = []
    monkeypatch.setattr(part_programs, "_PATIENCE", 4)
    monkeypatch.setattr(part_programs, "_improve", lambda *_: tried.append(1))
    improve_parts(run, UNLIMITED)
    assert len(tried) == 4
