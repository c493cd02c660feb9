"""The search for a preferred pattern against brute force over all patterns."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attacks.algorithm_known import carried_proofs, preferred_pattern
from attacks.algorithm_known.carried_proofs import Carried
from attacks.algorithm_known.preferred_pattern import PreferredPattern, TooLong
from csp import Mechanism, MinFrequency, Table, audit
from csp.attacker import kernel_prices, kernel_simplex
from csp.clock import UNLIMITED, Clock
from csp.problem.problem import Problem
from csp.solve.exact import dual_simplex, pattern_tree
from csp.solve.exact.branching.tiebreak import prefers
from csp.solve.order import label_order, reordered
from tests.support import oracles
from tests.support.shared import examples, uncompiled
from tests.support.strategies import problems

ALL = tuple(
    module.KERNELS for module in (dual_simplex, kernel_prices, kernel_simplex, pattern_tree)
)


class Audits:
    """In place of forms of patterns: an audit, in fractions."""

    def keeps(self, problem: Problem, pattern: np.ndarray, clock: Clock) -> bool:
        return audit(problem, pattern, integer=False, only_primary=True).safe


def search(problem: Problem, pattern: np.ndarray, carried: Carried | None = None) -> Any:
    audits: Any = Audits()
    return PreferredPattern(problem, pattern, carried or Carried(problem, 10**6), audits, UNLIMITED)


def safe_patterns(problem: Problem) -> list[np.ndarray]:
    free, found = np.flatnonzero(problem.free), []
    for bits in product([False, True], repeat=len(free)):
        pattern = problem.forced.copy()
        pattern[free] = bits
        if oracles.is_safe(problem, pattern):
            found.append(pattern)
    return found


def worth(problem: Problem, pattern: np.ndarray) -> tuple[int, int]:
    number = sum(1 << i for i in np.flatnonzero(pattern).tolist())
    return oracles.pattern_cost(problem, pattern.tolist()), number


@examples(120)
@given(data=st.data())
def test_searches_find_a_preferred_pattern_where_there_is_one(data: st.DataObject) -> None:
    """From every safe pattern of small problems; prices are carried from search to search."""
    bare = data.draw(problems(max_free=6))
    problem = reordered(bare, label_order(bare.table))
    safe = safe_patterns(problem)
    assume(safe)
    best = min(worth(problem, pattern) for pattern in safe)
    carried = Carried(problem, 10**6)
    plain = data.draw(st.booleans())
    for pattern in data.draw(st.permutations(safe))[:4]:
        run = search(problem, pattern, carried)
        if not run.applies:
            continue
        if plain:
            with uncompiled(*ALL):
                found = run.run()
        else:
            found = run.run()
        if worth(problem, pattern) == best:
            assert found is None
        else:
            assert oracles.is_safe(problem, found)
            assert worth(problem, found) < worth(problem, pattern)


@examples(60)
@given(data=st.data())
def test_prices_of_one_problem_hold_for_other_tables(data: st.DataObject) -> None:
    """Inequalities noted for one problem, asked about another with the same relations."""
    problem = data.draw(problems(max_free=7))
    free, n = np.flatnonzero(problem.free), problem.table.n_cells
    carried = Carried(problem, 10**6)
    everything = problem.forced | problem.free
    assume(oracles.is_safe(problem, everything))
    run = search(problem, everything, carried)
    assume(run.applies)
    run.run()
    shift = np.zeros(n, dtype=np.int64)
    kernel = np.array(oracles.null_space(oracles.equations(problem.table, range(n)), range(n)))
    if kernel.size:
        row = kernel[:, data.draw(st.integers(0, kernel.shape[1] - 1))]
        whole = [int(v) for v in row] if all(v.denominator == 1 for v in row) else [0] * n
        shift = np.array(whole, dtype=np.int64)
    values = problem.table.values + shift
    assume((values >= problem.table.lower).all() and (values <= problem.table.upper).all())
    moved = problem.table.replace(values=values)
    levels = {
        name: np.where(problem.primary, data.draw(st.integers(0, 3)), 0)
        for name in ("lpl", "upl", "spl")
    }
    try:
        other = Problem(
            moved, problem.primary, levels["lpl"], levels["upl"], levels["spl"], problem.cost,
            problem.status,
        )  # fmt: skip
    except ValueError:
        assume(False)
    pattern = problem.forced.copy()
    pattern[free] = data.draw(st.lists(st.booleans(), min_size=len(free), max_size=len(free)))
    if oracles.is_safe(other, pattern):
        assert (carried.asked(other).pool @ pattern[free] >= 1 - 1e-12).all()


def cube(seed: int, width: int) -> tuple[Problem, np.ndarray]:
    """A problem of a 3x3x3 table and its published pattern, in the order of labels."""
    values = np.abs(np.rint(np.random.default_rng(seed).normal(15, 10, (3, 3, 3)))).astype(int)
    table, order = Table.from_array(values), label_order(Table.from_array(values))
    mechanism = Mechanism(MinFrequency(5, zero_sensitive=True), width=width, margins="publish")
    pattern = mechanism.protect(table).release.pattern
    return reordered(mechanism.problem(table), order), pattern[order]


@pytest.mark.parametrize("seed", [5, 6, 8])
def test_published_patterns_of_cubes_are_preferred(seed: int) -> None:
    """What `csp.suppress` publishes is preferred to all, and what it beats is beaten."""
    problem, pattern = cube(seed, 4)
    assert search(problem, pattern).run() is None
    larger = pattern.copy()
    larger[np.flatnonzero(problem.free & ~pattern)[-3:]] = True
    found = search(problem, larger).run()
    assert audit(problem, found, integer=False, only_primary=True).safe
    cost = [int(problem.cost[one].sum()) for one in (found, larger)]
    assert cost[0] < cost[1] or (cost[0] == cost[1] and prefers(problem, found, larger))


def test_searches_for_cubes_say_the_same_uncompiled() -> None:
    problem, pattern = cube(6, 4)
    compiled, plain = search(problem, pattern), search(problem, pattern)
    assert compiled.run() is None
    with uncompiled(*ALL):
        assert plain.run() is None
    assert np.array_equal(compiled._lp.value, plain._lp.value)
    assert np.array_equal(compiled._tree.stack, plain._tree.stack)


def test_long_searches_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, pattern = cube(6, 4)
    monkeypatch.setattr(preferred_pattern, "_NODES", 0)
    monkeypatch.setattr(preferred_pattern, "_AT_ONCE", 0)
    with pytest.raises(TooLong):
        search(problem, pattern).run()
    monkeypatch.setattr(carried_proofs, "_ENTRIES", 5)
    assert not search(problem, pattern).applies
