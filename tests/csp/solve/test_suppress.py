"""Optima and canonical patterns against brute force over all patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
import instances
from csp import InputError, MinFrequency, Problem, Table, Unprotectable, audit, ilp
from csp.solve import suppress
from csp.solve.exact.branching import tiebreak
from instances import synthetic
from tests.support import oracles
from tests.support.shared import examples, shared_data
from tests.support.strategies import frequency_2d, frequency_3d, problems


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


@examples(200)
@given(problems(singletons=None))
def test_cut_loop_equals_brute_force(problem: Problem) -> None:
    check(problem, "cuts", oracles.best_pattern(problem))


@examples(25)
@given(problems(singletons=None, max_free=7))
def test_integer_programs_equal_brute_force(problem: Problem) -> None:
    check(problem, "ilp", oracles.best_pattern(problem))


@examples(40)
@given(st.data())
def test_interval_program_equals_enumeration(data: st.DataObject) -> None:
    table = data.draw(frequency_2d())
    flags = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    pattern = np.array(data.draw(flags)) & ~table.margins
    cells = np.flatnonzero(pattern)[:2]
    lower, upper = ilp.intervals(table, pattern, cells=cells)
    for i in cells.tolist():
        assert (lower[i], upper[i]) == oracles.integer_interval(table, pattern, i)
    assert np.isnan(np.delete(lower, cells)).all()


# ---- further promises ------------------------------------------------------------------------


def integer_safe(problem: Problem) -> Callable[[tuple[bool, ...]], bool]:
    def safe(pattern: tuple[bool, ...]) -> bool:
        for p in np.flatnonzero(problem.primary).tolist():
            low, high = oracles.integer_interval(problem.table, pattern, p)
            value = int(problem.table.values[p])
            if low is not None and value - low < problem.lpl[p]:
                return False
            if high is not None and high - value < problem.upl[p]:
                return False
            if low is not None and high is not None and high - low < problem.spl[p]:
                return False
        return True

    return safe


@examples(40)
@given(problems(frequency_3d(high=4), max_free=6, margins=False, extras=False))
def test_integer_attacker_equals_brute_force(problem: Problem) -> None:
    best = oracles.best_pattern(problem, also=integer_safe(problem))
    for method in ("cuts", "ilp"):
        if best is None:
            with pytest.raises(Unprotectable):
                suppress(problem, method=method, integer=True)
        else:
            assert suppress(problem, method=method, integer=True).pattern.tolist() == list(best)


def sums_pass(problem: Problem, n: int) -> Callable[[tuple[bool, ...]], bool]:
    """No relation publishes a sum of moving cells with fewer than n contributors, but some."""
    table = problem.table

    def safe(pattern: tuple[bool, ...]) -> bool:
        moving = set()
        for i in range(table.n_cells):
            if pattern[i]:
                low, high = oracles.rational_interval(table, pattern, i)
                if low is None or high is None or low < high:
                    moving.add(i)
        for row in oracles.rows_of(table):
            inside = [i for i in row if i in moving]
            one_side = len({row[i] > 0 for i in inside}) == 1
            if one_side and len(inside) > 1 and 0 < sum(table.values[i] for i in inside) < n:
                return False
        return True

    return safe


@examples(100)
@given(problems(frequency_2d(high=6), max_free=7), st.integers(2, 12))
def test_sums_of_suppressed_cells_equal_brute_force(problem: Problem, n: int) -> None:
    guarded = replace(problem, union_rule=MinFrequency(n, width=1))
    best = oracles.best_pattern(problem, also=sums_pass(problem, n))
    for method in ("cuts", "ilp"):
        if best is None:
            with pytest.raises(Unprotectable):
                suppress(guarded, method=method)
        else:
            found = suppress(guarded, method=method)
            assert found.cost == oracles.pattern_cost(problem, best)
            assert found.pattern.tolist() == list(best)


# ---- one answer ------------------------------------------------------------------------------


def frequency_problem(size: int, seed: int, cost: str = "unit") -> Problem:
    table = synthetic.frequency_2d(size, size, seed)
    primary = (table.values < 5) & ~table.margins
    value = np.maximum(table.values, 1) if cost == "value" else 1
    return Problem.of(table, primary, spl=8, cost=value, publish=table.margins)


@pytest.mark.parametrize("cost", ["unit", "value"])
def test_every_seed_gives_the_same_pattern(cost: str) -> None:
    problem = frequency_problem(8, 3, cost)
    patterns = {suppress(problem, seed=seed).pattern.tobytes() for seed in range(4)}
    assert len(patterns) == 1


def test_permuted_relations_give_the_same_pattern() -> None:
    from scipy.sparse import csr_array

    problem = frequency_problem(8, 5)
    order = np.random.default_rng(0).permutation(problem.table.relations.shape[0])
    relations = csr_array(problem.table.relations[order])
    other = replace(problem, table=problem.table.replace(relations=relations))
    assert (suppress(problem).pattern == suppress(other).pattern).all()


def test_permuted_records_give_the_same_pattern() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pandas.DataFrame(
        {"a": rng.choice(list("pqrstu"), 400), "b": rng.choice(list("vwxyz"), 400)}
    )
    patterns = set()
    for _ in range(3):
        frame = frame.sample(frac=1, random_state=int(rng.integers(99)))
        protected = csp.protect(csp.Table.from_microdata(frame, ["a", "b"]), MinFrequency(12))
        patterns.add(protected.pattern.tobytes())
    assert len(patterns) == 1


def test_large_tables_break_ties_by_label_and_not_by_order(monkeypatch: Any) -> None:
    monkeypatch.setattr(tiebreak, "BINARY_UP_TO", 10)
    table = synthetic.frequency_2d(7, 7, 11)
    problem = Problem.of(table, (table.values < 6) & ~table.margins, spl=8, publish=table.margins)
    order = np.random.default_rng(1).permutation(table.n_cells)
    moved = Table(
        table.values[order], table.relations[:, order], table.lower[order], table.upper[order],
        tuple(table.labels[i] for i in order), names=table.names, roots=table.roots,
    )  # fmt: skip
    other = Problem.of(moved, problem.primary[order], spl=8, publish=(problem.status == "z")[order])
    found, again = suppress(problem), suppress(other)
    assert found.canonical
    assert again.canonical
    assert (found.pattern[order] == again.pattern).all()
    assert found.cost == suppress(problem, method="ilp").cost


# ---- limits ----------------------------------------------------------------------------------


def hard_problem() -> Problem:
    table = synthetic.frequency_nd((5, 5, 4), 1)
    primary = (table.values < 5) & ~table.margins
    return Problem.of(table, primary, spl=8, publish=table.margins)


def test_time_limit_gives_an_audited_pattern_with_an_honest_bound() -> None:
    problem = hard_problem()
    best = suppress(problem, time_limit=1.0)
    assert audit(problem, best.pattern).safe
    assert best.bound <= best.cost
    assert best.gap == pytest.approx((best.cost - best.bound) / best.cost)
    if not best.proven:
        assert best.stopped == "time"
        assert not best.canonical


def test_gap_limit_stops_early_within_the_gap() -> None:
    problem = frequency_problem(12, 1, "value")
    exact = suppress(problem)
    loose = suppress(problem, gap=0.5)
    assert loose.gap <= 0.5
    assert loose.bound <= exact.cost <= loose.cost
    assert audit(problem, loose.pattern).safe


@pytest.mark.parametrize("call", [2, 3, 5, 8])
def test_an_interrupt_keeps_the_best_pattern(call: int) -> None:
    problem = frequency_problem(10, 4, "value")
    calls = []

    def press(progress: csp.Progress) -> None:
        calls.append(progress)
        if len(calls) == call:
            raise KeyboardInterrupt

    found = suppress(problem, progress=press)
    assert audit(problem, found.pattern).safe
    assert found.bound <= suppress(problem).cost <= found.cost
    if len(calls) == call:
        assert found.stopped == "interrupt"
        assert not found.canonical


def test_bounds_and_costs_of_progress_close_in() -> None:
    seen: list[csp.Progress] = []
    suppress(frequency_problem(10, 4, "value"), progress=seen.append)
    bounds = [p.bound for p in seen]
    costs = [p.best for p in seen if p.best is not None]
    assert bounds == sorted(bounds)
    assert costs == sorted(costs, reverse=True)
    assert seen[-1].gap == 0


def test_progress_prints_no_cost() -> None:
    shown = repr(csp.Progress("cuts", 7654321, 7654399, 0.5))
    assert "76543" not in shown


def test_unprotectable_names_cell_and_relations_but_no_value() -> None:
    table = Table.from_array([[770077, 5], [3, 2]])
    problem = Problem.of(
        table, np.arange(9) == 0, spl=9, publish=table.margins | (table.values == 5)
    )
    with pytest.raises(Unprotectable, match=r"d1=1, d2=1.*cannot be protected") as error:
        suppress(problem)
    assert error.value.cell == ("1", "1")
    assert error.value.interval == (770077, 770077)
    assert (error.value.need, error.value.attained) == (9, 0)
    assert any("d1=1, d2=Total" in r for r in error.value.relations)
    assert "770077" not in str(error.value)
    assert "770077" not in repr(error.value)


def test_bad_options_are_named() -> None:
    problem = frequency_problem(4, 1)
    for options in ({"method": "magic"}, {"gap": 1.5}, {"time_limit": 0}):
        with pytest.raises(InputError, match=next(iter(options))):
            suppress(problem, **options)  # type: ignore[arg-type]


def test_costs_of_many_magnitudes_are_still_minimal() -> None:
    # One pattern is cheaper by one unit in a billion: a float solver alone overlooks it.
    table = Table.from_array(np.full((2, 3), 50))
    cost = np.full(12, 10**9)
    cost[[2, 6]] = 10**9 - 1
    problem = Problem.of(table, np.arange(12) == 0, spl=5, cost=cost, publish=table.margins)
    found = suppress(problem)
    assert found.cost == 3 * 10**9 - 2
    assert found.pattern[[0, 2, 4, 6]].all()


@pytest.mark.parametrize("digits", [7, 8, 9, 12])
def test_large_values_as_costs(digits: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a = 10**digits + rng.integers(0, 50, (5, 5)) * 10 ** max(0, digits - 6)
        a[0, 0] = 5
        table = Table.from_array(a)
        primary = np.arange(table.n_cells) == 0
        found = suppress(
            Problem.of(table, primary, lpl=1, upl=1, cost=table.values, publish=table.margins)
        )
        # One cell, symmetric need: the cheapest rectangle through it.
        least = min(a[0, j] + a[i, 0] + a[i, j] for i in range(1, 5) for j in range(1, 5))
        assert found.cost == least
        assert found.bound <= found.cost


def test_stored_zeros_in_relations_mean_nothing() -> None:
    from scipy.sparse import csr_array

    indptr = np.array([0, 3, 5])
    stored = (np.array([1, -1, 0, 1, -1]), np.array([0, 1, 2, 2, 3]), indptr)
    table = Table(
        np.array([5, 5, 3, 3]), csr_array(stored, shape=(2, 4)), np.zeros(4),
        np.full(4, csp.UNBOUNDED), tuple((c,) for c in "abcd"),
    )  # fmt: skip
    assert suppress(Problem.of(table, [False, False, False, True], spl=2)).cost == 1
    with pytest.raises(InputError, match="whole"):
        table.replace(values=np.array([5.5, 5.5, 3, 3]))


def test_many_cheapest_patterns_of_a_large_table() -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(20, 90, (46, 46))
    a.ravel()[rng.choice(46 * 46, 6, replace=False)] = 2
    table = Table.from_array(a)
    assert table.n_cells > tiebreak.BINARY_UP_TO
    primary = (table.values < 5) & ~table.margins
    problem = Problem.of(table, primary, spl=8, publish=table.margins)
    first, second = (suppress(problem, seed=s, time_limit=60) for s in (0, 1))
    assert first.canonical
    assert second.canonical
    assert (first.pattern == second.pattern).all()


# ---- published optima ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "optimum"),
    [("targus", 2033155), ("table8", 103), ("osorio", 13), ("cbs", 403), ("dale", 256)],
)
def test_optima_proved_by_branch_and_cut_of_tau_argus(name: str, optimum: int) -> None:
    problem = csp.read_jj(shared_data("instances", f"{name}.jj.gz"))
    found = suppress(problem)
    assert found.proven
    assert found.canonical
    assert found.cost == optimum
    assert audit(problem, found.pattern, only_primary=True).safe


# ---- users' cases ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linked", "ones", "three_singletons", "union", "zeros_and_ones"])
def test_the_naive_pattern_leaks_and_ours_does_not(name: str) -> None:
    problem = instances.load(name)
    assert isinstance(problem, Problem)
    assert not audit(problem, instances.naive_pattern(name)).safe
    found = suppress(problem)
    assert found.proven
    assert audit(problem, found.pattern).safe
    if problem.union_rule is None:
        assert not oracles.is_safe(problem, instances.naive_pattern(name))
        assert oracles.is_safe(problem, found.pattern)
