"""Branch and cut: what its end proves, on trees that small tables would not need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Problem, Table, Unprotectable, suppress
from csp.clock import Clock
from csp.rules import MinFrequency
from csp.solve.exact.branching import node_relaxation
from csp.solve.exact.branching import tree as branch
from csp.solve.exact.state import Run
from tests.support import oracles
from tests.support.schedules import replace_phases, work_of
from tests.support.shared import examples
from tests.support.strategies import (
    frequency_2d,
    frequency_3d,
    hierarchical_tables,
    linked_tables,
    problems,
)

TABLES = st.one_of(frequency_3d(), linked_tables(), hierarchical_tables(), frequency_2d())


@pytest.fixture
def bare_tree(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Nothing but the tree, which sees ties and forgets rows at once; what it said of ties."""
    said: list[bool] = []

    def noted(run: Run, until: Clock) -> None:
        branch.branch(run, until)
        said.append(run.canonical)

    works = {name: work_of(name) for name in ("first patterns", "everything", "sums")}
    replace_phases(monkeypatch, {**works, "tree": noted}, only=True)
    monkeypatch.setattr(branch, "_DISTINCT", 1)
    monkeypatch.setattr(branch, "_NARROWER", 1.0)
    monkeypatch.setattr(node_relaxation, "_OLD", 1)
    monkeypatch.setattr(node_relaxation, "_LEAVING", 0.0)
    return said


def test_the_end_of_a_tree_proves_the_preferred_pattern(bare_tree: list[bool]) -> None:
    @examples(60)
    @given(problems(TABLES, max_free=9), st.integers(1, 3), st.integers(0, 3))
    def check(problem: Problem, top: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        problem = replace(problem, cost=rng.integers(1, top + 1, problem.table.n_cells))
        best = oracles.best_pattern(problem)
        if best is None:
            with pytest.raises(Unprotectable):
                suppress(problem, method="branch", seed=seed)
            return
        found = suppress(problem, method="branch", seed=seed)
        assert found.proven
        assert found.canonical
        assert found.pattern.tolist() == list(best)

    check()
    assert any(bare_tree)  # some of them without another search among the cheapest


@pytest.mark.parametrize("seed", range(6))
def test_all_methods_refuse_tables_without_a_pattern_that_hides_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = Table.from_array(rng.integers(1, 6, (2, 2, 3)).tolist())
    primary = np.zeros(table.n_cells, bool)
    primary[rng.choice(np.flatnonzero(~table.margins), 2, replace=False)] = True
    problem = Problem.of(table, primary, upl=1, lpl=1, publish=table.margins)
    problem = replace(problem, union_rule=MinFrequency(39, width=1))
    for method in ("cuts", "branch", "auto"):
        with pytest.raises(Unprotectable):
            suppress(problem, method=method)
