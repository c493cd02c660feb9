"""Heuristics for large tables: what they call safe is safe, and every yield is cheaper."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings

import csp
from csp import Problem, Unprotectable, audit, suppress
from csp.attacker.exact import is_deviation, rationalise
from csp.attacker.view import View, room
from csp.numbers import UNBOUNDED
from csp.solve.repair import ORDERS, Unmet, construct
from csp.solve.reroute import reroute
from csp.solve.space import Space, tighten
from csp.solve.witness import WitnessPool, along
from instances import synthetic
from tests import oracles
from tests.strategies import problems


def everything(problem: Problem) -> np.ndarray:
    return problem.forced | problem.free


def protectable(problem: Problem) -> bool:
    return audit(problem, everything(problem), only_primary=True).safe


def cost(problem: Problem, pattern: np.ndarray) -> int:
    return int(problem.cost[pattern & problem.free].sum())


def cube_problem(shape: tuple[int, ...] = (6, 5, 4), seed: int = 1) -> Problem:
    table = synthetic.frequency_nd(shape, seed)
    primary = (table.values < 5) & ~table.margins
    level = np.minimum(table.values, 2)
    return Problem.of(table, primary, lpl=level, upl=2, cost=np.maximum(table.values, 1))


# ---- rooms -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(problems())
def test_tightened_rooms_hold_every_interval(problem: Problem) -> None:
    up, down = tighten(problem)
    pattern = everything(problem)
    wide_up, wide_down = room(problem.table)
    for i in np.flatnonzero(pattern).tolist():
        assert up[i] <= (np.inf if wide_up[i] >= UNBOUNDED else wide_up[i])
        assert down[i] <= (np.inf if wide_down[i] >= UNBOUNDED else wide_down[i])
        low, high = oracles.rational_interval(problem.table, pattern, i)
        value = int(problem.table.values[i])
        assert up[i] >= (np.inf if high is None else float(high - value) * (1 - 1e-9))
        assert down[i] >= (np.inf if low is None else float(value - low) * (1 - 1e-9))
    assert not up[~pattern].any()
    assert not down[~pattern].any()


# ---- construction ----------------------------------------------------------------------------


@settings(max_examples=150)
@given(problems(max_primary=4))
def test_construct_is_safe_wherever_full_suppression_is(problem: Problem) -> None:
    found = construct(problem)
    if isinstance(found, Unmet):
        assert not found.late
        assert not protectable(problem)
        with pytest.raises(Unprotectable):
            suppress(problem, method="cuts")
        return
    assert not len(found.missing())
    pattern = found.pattern()
    assert audit(problem, pattern, only_primary=True).safe
    assert not (pattern & ~everything(problem)).any()
    assert (
        found.cost()
        == cost(problem, pattern)
        >= cost(problem, suppress(problem, method="cuts").pattern)
    )


@settings(max_examples=60)
@given(problems(max_primary=4))
def test_every_witness_is_a_deviation_in_exact_numbers(problem: Problem) -> None:
    found = construct(problem)
    if isinstance(found, Unmet):
        return
    up, down = room(problem.table)
    for member in found.members:
        rows = np.flatnonzero(np.diff(problem.table.relations[:, member.cells].indptr))
        view = View(
            member.cells, rows, problem.table.relations[:, member.cells][rows],
            up[member.cells], down[member.cells],
        )  # fmt: skip
        for step in member.steps:
            exact = [n for n in rationalise(step) if is_deviation(view, *n)]
            assert exact, "no rational vector near the witness keeps relations and bounds"


@settings(max_examples=30)
@given(problems(max_primary=4))
def test_every_order_is_safe(problem: Problem) -> None:
    found = [construct(problem, order=order, seed=3) for order in ORDERS]
    bad = [isinstance(f, Unmet) for f in found]
    assert all(bad) or not any(bad)
    for pool in found:
        assert isinstance(pool, Unmet) or audit(problem, pool.pattern(), only_primary=True).safe


def test_weights_steer_the_choice() -> None:
    table = csp.Table.from_array(np.full((4, 4), 50))
    problem = Problem.of(table, np.arange(25) == 0, lpl=5, upl=5, publish=table.margins)
    dear = np.ones(25)
    dear[[1, 5, 6]] = 50.0
    pool = construct(problem, weights=dear)
    assert isinstance(pool, WitnessPool)
    assert pool.cost() == 3
    assert not pool.pattern()[[1, 5, 6]].any()


def test_unknown_order_is_refused() -> None:
    with pytest.raises(ValueError, match="need, small"):
        construct(cube_problem(), order="best")


def test_no_time_leaves_a_requirement_unmet() -> None:
    missing = construct(cube_problem(), deadline=time.monotonic() - 1)
    assert isinstance(missing, Unmet)
    assert missing.late


# ---- pools -----------------------------------------------------------------------------------


def test_a_pool_keeps_what_avoids_a_cell_and_drops_what_is_spare() -> None:
    table = csp.Table.from_array(np.full((3, 3), 50))
    problem = Problem.of(table, np.arange(16) == 0, lpl=5, upl=5, publish=table.margins)
    space = Space.of(problem)
    square = np.zeros((2, 16))
    square[0, [0, 5]], square[0, [1, 4]] = 1, -1
    square[1, [0, 10]], square[1, [2, 8]] = 1, -1
    pool = WitnessPool(space, (along(space, z) for z in square))
    assert not len(pool.missing())
    assert pool.cost() == 6
    assert len(pool.prune()) == 1
    assert len(pool.without(np.array([5]))) == 1
    assert len(pool.inside(pool.without(np.array([5])).pattern())) == 1
    assert len(pool.without(np.array([0])).missing()) == 2


# ---- searches --------------------------------------------------------------------------------


def check_search(problem: Problem, start: WitnessPool, steps: list[WitnessPool]) -> None:
    last = start.cost()
    for pool in steps:
        assert not len(pool.missing())
        pattern = pool.pattern()
        assert cost(problem, pattern) == pool.cost() < last
        last = pool.cost()
        assert audit(problem, pattern, only_primary=True).safe


@settings(max_examples=60)
@given(problems(max_primary=4))
def test_rerouting_yields_cheaper_safe_patterns(problem: Problem) -> None:
    start = construct(problem)
    if isinstance(start, Unmet):
        return
    check_search(problem, start, list(reroute(start, deadline=np.inf, patience=15)))


def test_rerouting_is_repeatable_and_improves() -> None:
    start = construct(cube_problem())
    assert isinstance(start, WitnessPool)
    runs = [list(reroute(start, deadline=np.inf, seed=4, patience=60)) for _ in range(2)]
    assert runs[0]
    assert [p.pattern().tolist() for p in runs[0]] == [p.pattern().tolist() for p in runs[1]]
    check_search(cube_problem(), start, runs[0])


def test_searches_keep_the_deadline() -> None:
    start = construct(cube_problem((8, 7, 6)))
    assert isinstance(start, WitnessPool)
    for search in (reroute,):
        began = time.monotonic()
        for _ in itertools.islice(search(start, deadline=began + 0.5), 10**6):
            pass
        assert time.monotonic() - began < 1.5
