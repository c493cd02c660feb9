"""Cuts read from the root of an integer program, and witnesses handed to the audit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from csp import Problem, audit, suppress
from csp.attacker.exact import common_denominator
from csp.audits.audit import judge
from csp.clock import UNLIMITED, Clock
from csp.solve.exact.heuristics.subspaces import improve
from csp.solve.exact.separators.root_cuts import root_cuts
from csp.solve.general.neighbourhood import Neighbourhood
from instances import synthetic
from tests.support.independent_audit import unproved
from tests.support.schedules import run_before
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import is_witness, served


def cube(shape: tuple[int, int, int], seed: int) -> Problem:
    table = synthetic.frequency_nd(shape, seed)
    primary = (table.values < 5) & ~table.margins
    level = np.minimum(table.values, 2)
    return Problem.of(table, primary, lpl=level, upl=2, cost=np.maximum(table.values, 1))


def test_rounded_cuts_hold_for_safe_patterns_and_raise_the_bound() -> None:
    problem = cube((5, 5, 4), 1)
    run = run_before(problem, "root cuts")
    before = run.bound
    root_cuts(run, UNLIMITED)
    rounded = [cut for cut in run.master.cuts if cut.kind == "rounded"]
    assert rounded
    assert before < run.bound <= run.best_cost
    patterns = [suppress(problem).pattern]
    rng = np.random.default_rng(1)
    for _ in range(40):
        price = np.where(problem.free, rng.uniform(0.2, 2.0, problem.table.n_cells), 0.0)
        order = rng.permutation(len(run.arrays.need)).tolist()
        _, book, failed = served(problem, order=order, price=price)
        assert not failed
        patterns.append(book.pattern())
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
    run = run_before(problem, "root cuts")
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
    run = run_before(problem, "root cuts")
    root_cuts(run, UNLIMITED)
    cost = run.best_cost - run.constant
    assert all(cut.below > cost for cut in run.master.cuts)
    assert any(cut.below < np.inf for cut in run.master.cuts)
    run.master.forget_rounded(10**12)
    assert all(cut.below == np.inf for cut in run.master.cuts)


@examples(40)
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


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exact_witnesses_of_searches_are_deviations(seed: int) -> None:
    table = synthetic.hierarchical(seed, ((3, 3), (2, 4)))
    primary = (table.values < 5) & ~table.margins
    problem = Problem.of(
        table, primary, lpl=np.minimum(1, table.values), upl=1, cost=np.maximum(table.values, 1)
    )
    builder, book, failed = served(problem)
    assert not failed
    search = Neighbourhood(book.field, builder)
    books = [book, *search.run(clock=Clock.of(20), start=book.pattern(), patience=20)]
    for found in books:
        pattern, shown = found.pattern(), found.claims()
        assert found.witnesses
        assert all(is_witness(problem, witness) for witness in found.witnesses.values())
        claims = [claim for pairs in shown.values() for pair in pairs for claim in pair]
        assert unproved(problem, pattern, claims) == []
        assert judge(problem, pattern, shown=shown).safe


def test_a_common_denominator_is_found_where_there_is_one() -> None:
    assert common_denominator(np.array([[0.5, 1 / 3], [0.0, -7 / 4]])) == 12
    assert common_denominator(np.array([2.0, -3.0])) == 1


def test_improving_keeps_the_best_pattern() -> None:
    problem = cube((5, 5, 4), 2)
    run = run_before(problem, "relations")
    before = run.best_cost
    improve(run, Clock.of(2), patience=3)
    assert run.best_cost <= before
    assert audit(problem, run.best).safe
