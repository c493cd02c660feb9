"""Verdicts on many requirements at once, against brute force and against scipy's programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from csp import Problem
from csp.attacker import lp
from csp.audits.audit import judge
from csp.exact import UNBOUNDED
from instances import synthetic
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, frequency_3d, hierarchical_tables, problems


@pytest.fixture(params=["simplex", "interior", "interior again"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small programs be solved as large ones are."""
    if request.param != "simplex":
        monkeypatch.setattr(lp, "_LARGE", 0)
    if request.param == "interior again":
        monkeypatch.setattr(lp, "_MOST_STEPS", 0)
    monkeypatch.setattr(lp, "_FEW", 0)


@pytest.mark.usefixtures("solver")
@settings(
    examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.data())
def test_verdicts_on_several_cells_equal_brute_force(data: st.DataObject) -> None:
    tables = st.one_of(frequency_3d(), hierarchical_tables())
    problem = data.draw(problems(tables, max_primary=8, extras=False))
    flags = data.draw(st.lists(st.booleans(), min_size=problem.table.n_cells,
                               max_size=problem.table.n_cells))  # fmt: skip
    pattern = problem.forced | (problem.free & np.array(flags))
    assert judge(problem, pattern).safe == oracles.is_safe(problem, pattern)


def cross(sides: tuple[int, ...], seed: int, most: int) -> Problem:
    """Counts in three ways of which a fifth is sensitive, with a sliding level."""
    rng = np.random.default_rng(seed)
    table = cube(rng.integers(0, most, sides))
    primary = (table.values > 0) & (table.values < most / 5) & ~table.margins
    return Problem.of(table, primary, spl=most // 4, publish=table.margins)


def ends_by_scipy(problem: Problem, pattern: np.ndarray, p: int) -> tuple[float, float]:
    table, cells = problem.table, np.flatnonzero(pattern)
    rows = table.relations[:, cells].toarray()
    top = np.where(table.upper >= UNBOUNDED, np.inf, table.upper - table.values)[cells]
    bottom = (table.values - table.lower)[cells]
    bounds = list(zip(-bottom.astype(float), top.astype(float), strict=True))
    goal = (cells == p).astype(float)
    low, high = (
        linprog(way * goal, A_eq=rows, b_eq=np.zeros(len(rows)), bounds=bounds).fun * way
        for way in (1, -1)
    )
    return low, high


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("seed", [0, 1])
def test_violations_are_those_that_scipy_finds(seed: int) -> None:
    problem = cross((5, 5, 4), seed, 40)
    rng = np.random.default_rng(seed)
    pattern = problem.primary | (problem.free & (rng.random(problem.table.n_cells) < 0.6))
    found = judge(problem, pattern)
    hurt = set()
    for p in np.flatnonzero(problem.primary).tolist():
        low, high = ends_by_scipy(problem, pattern, p)
        if high - low < problem.spl[p] - 1e-6:
            hurt.add(p)
    assert {v.cells[0] for v in found.violations} == hurt
    assert hurt
    assert len(hurt) < problem.primary.sum()


@pytest.mark.usefixtures("solver")
def test_whole_tables_serve_many_cells_of_a_table_of_counts() -> None:
    problem = cross((6, 6, 5), 3, 20)
    everything = problem.primary | problem.free
    found = judge(problem, everything, integer=True)
    assert found.safe
    assert all(claim.denominator == 1 for claim in found.certificate)
    # Far fewer tables than cells.
    assert len({id(c.cells) for c in found.certificate}) < problem.primary.sum() / 2


def test_one_side_takes_what_the_other_cannot() -> None:
    # With all four inner cells suppressed the first falls by 1 at most, as its opposite does, and
    # rises by 20.
    table = cube(np.array([[6, 20], [20, 1]]))
    pattern = ~table.margins
    assert oracles.rational_interval(table, pattern, 0) == (5, 26)
    for level, safe in ((7, True), (21, True), (22, False)):
        problem = Problem.of(table, np.arange(9) == 0, spl=level, publish=table.margins)
        assert judge(problem, pattern).safe == safe


def test_a_deep_hierarchy_is_judged_by_few_tables() -> None:
    region, activity = synthetic.tree((4, 3), "r"), synthetic.tree((3, 3), "a")
    rng = np.random.default_rng(0)
    table = cube(
        rng.integers(1, 60, (len(region.leaves), len(activity.leaves), 3)),
        [region, activity, synthetic.tree((3,), "s")],
    )
    primary = (table.values < 8) & ~table.margins
    found = judge(Problem.of(table, primary, lpl=1, upl=3), np.ones(table.n_cells, bool))
    assert found.safe
    assert len({id(c.cells) for c in found.certificate}) < primary.sum() / 2
