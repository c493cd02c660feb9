"""Cuts read from the root of an integer program, and witnesses handed to the audit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from csp import Problem, audit, suppress
from csp.attacker.exact import common_denominator
from csp.clock import UNLIMITED, Clock
from csp.solve.exact.cut_loop import _begin, _linear_phase
from csp.solve.exact.guide import improved
from csp.solve.exact.root_cuts import tighten
from csp.solve.exact.state import Run
from csp.solve.general.construct import construct
from csp.solve.general.neighbourhood import neighbourhood
from csp.solve.general.space import Space
from instances import synthetic
from tests.support.strategies import problems


def cube(shape: tuple[int, int, int], seed: int) -> Problem:
    table = synthetic.frequency_nd(shape, seed)
    primary = (table.values < 5) & ~table.margins
    level = np.minimum(table.values, 2)
    return Problem.of(table, primary, lpl=level, upl=2, cost=np.maximum(table.values, 1))


def test_rounded_cuts_hold_for_safe_patterns_and_raise_the_bound() -> None:
    problem = cube((5, 5, 4), 1)
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    _begin(run)
    _linear_phase(run)
    before = run.bound
    tighten(run, UNLIMITED)
    rounded = [cut for cut in run.master.cuts if cut.kind == "rounded"]
    assert rounded
    assert before < run.bound <= run.best_cost
    patterns = [suppress(problem).pattern]
    rng = np.random.default_rng(1)
    for seed in range(40):
        found = construct(
            problem, rank=rng.permutation(len(Space.of(problem).need)),
            weights=rng.uniform(0.2, 2.0, problem.table.n_cells), seed=seed,
        )  # fmt: skip
        assert found is not None
        patterns.append(found.pattern())
    checked = 0
    for pattern in patterns:
        cost = int(problem.cost[pattern & problem.free].sum())
        for cut in rounded:
            # Cells that no pattern as cheap as the incumbent holds have been left out of cuts.
            if cost < min(cut.below, run.best_cost + 1):
                checked += 1
                assert cut.slack(pattern.astype(float)) >= -1e-6
    assert checked >= len(rounded)  # the optimum at least


def test_rounded_cuts_hold_for_every_whole_point_of_the_pool() -> None:
    """The least left side over all choices that satisfy the other cuts, by another program."""
    problem = cube((5, 5, 4), 1)
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    _begin(run)
    _linear_phase(run)
    pool, free = list(run.master.cuts), np.flatnonzero(run.alive)
    _, cuts = run.master.root(run.alive, run.step)
    assert cuts
    rows = np.zeros((len(pool) + 1, problem.table.n_cells))
    for row, cut in zip(rows, pool, strict=False):
        row[cut.cells] = cut.weights
    rows[-1] = -problem.cost
    for cut in cuts[:6]:
        right = [c.right for c in pool] + [-cut.below if cut.below < np.inf else -np.inf]
        left = np.zeros(problem.table.n_cells)
        left[cut.cells] = cut.weights
        best = milp(
            left[free], integrality=np.ones(len(free)), bounds=Bounds(0, 1),
            constraints=LinearConstraint(rows[:, free], lb=right), options={"time_limit": 20},
        )  # fmt: skip
        # At the time limit the dual bound counts, which is the weaker claim for us to beat.
        least = best.fun if best.status == 0 else best.mip_dual_bound
        assert least >= cut.right - 1e-6


def test_rounded_cuts_that_may_exclude_a_tie_are_forgotten() -> None:
    problem = cube((5, 5, 4), 1)
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    _begin(run)
    _linear_phase(run)
    tighten(run, UNLIMITED)
    cost = run.best_cost - run.constant
    assert all(cut.below > cost for cut in run.master.cuts)
    assert any(cut.below < np.inf for cut in run.master.cuts)
    run.master.forget_rounded(10**12)
    assert all(cut.below == np.inf for cut in run.master.cuts)


@settings(max_examples=40)
@given(problems(), st.integers(0, 2**32 - 1))
def test_witnesses_never_change_a_verdict(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = problem.table.n_cells
    pattern = problem.forced | (problem.free & (rng.random(n) < 0.6))
    offered = [
        (rng.integers(-3, 4, n), 1),
        (np.where(pattern, rng.integers(-5, 6, n), 0), int(rng.integers(1, 9))),
        (np.where(pattern, 2**61, 0), 1),
    ]
    plain = audit(problem, pattern, only_primary=True)
    assert audit(problem, pattern, only_primary=True, witnesses=offered).safe == plain.safe


def integer_null(problem: Problem, steps: np.ndarray, scale: int) -> bool:
    """In Python integers: whether numerators over a denominator are a deviation."""
    relations, table = problem.table.relations.tocoo(), problem.table
    total = [0] * relations.shape[0]
    for r, c, v in zip(relations.row, relations.col, relations.data, strict=True):
        total[r] += int(v) * int(steps[c])
    sides = zip(table.values, steps, table.lower, table.upper, strict=True)
    inside = (int(b) * scale <= int(a) * scale + int(s) <= int(t) * scale for a, s, b, t in sides)
    return not any(total) and all(inside)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exact_witnesses_of_searches_are_deviations(seed: int) -> None:
    table = synthetic.hierarchical(seed, ((3, 3), (2, 4)))
    primary = (table.values < 5) & ~table.margins
    problem = Problem.of(
        table, primary, lpl=np.minimum(1, table.values), upl=1, cost=np.maximum(table.values, 1)
    )
    space = Space.of(problem)
    pools = [construct(problem)]
    pools += list(neighbourhood(space, clock=Clock.of(20), patience=20))
    some = 0
    for pool in pools:
        assert pool is not None
        pattern = pool.pattern()
        for steps, scale in pool.deviations(pattern):
            some += 1
            assert integer_null(problem, steps, scale)
            assert not steps[~pattern].any()
        assert audit(problem, pattern, witnesses=pool.deviations(pattern), only_primary=True).safe
    assert some > 0


def test_a_common_denominator_is_found_where_there_is_one() -> None:
    assert common_denominator(np.array([[0.5, 1 / 3], [0.0, -7 / 4]])) == 12
    assert common_denominator(np.array([2.0, -3.0])) == 1


def test_improving_keeps_the_best_pattern() -> None:
    problem = cube((5, 5, 4), 2)
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    _begin(run)
    before = run.best_cost
    improved(run, Clock.of(2), patience=3)
    assert run.best_cost <= before
    assert audit(problem, run.best).safe
