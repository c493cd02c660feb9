"""Cuts of combinations: brute force over patterns says that they hold and lose no optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Hierarchy, MinFrequency, Problem, Table, Unprotectable, suppress
from csp.clock import UNLIMITED
from csp.exact import UNBOUNDED
from csp.solve.exact import schedule
from csp.solve.exact.separators import combinations
from csp.solve.exact.separators.combinations import Combinations
from csp.solve.exact.state import Run
from csp.solve.kernel import KernelForm
from tests.csp.solve.test_cuts import check_cut, minimal, points, safe_patterns
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, frequency_3d, hierarchical_tables, problems


def combinations_of(problem: Problem, alive: np.ndarray | None = None) -> Combinations:
    form = KernelForm.of(problem, alive)
    assert form is not None
    return Combinations(form)


@examples(60)
@given(problems(max_free=8, max_primary=4, singletons=None), st.data())
def test_cuts_are_violated_and_hold_for_every_minimal_safe_pattern(
    problem: Problem, data: st.DataObject
) -> None:
    safe = safe_patterns(problem)
    smallest = minimal(safe)
    found = combinations_of(problem)
    for cut in found.couplings():
        check_cut(problem, cut, None, safe if len(cut.cells) == 1 else smallest)
    for _ in range(3):
        x = data.draw(points(problem))
        for cut in found.cuts(x, UNLIMITED):
            # Those of what must move in any case hold for every safe pattern.
            check_cut(problem, cut, x, smallest if cut.right == 0 else safe)


@examples(100)
@given(problems(max_free=7, max_primary=4, singletons=None), st.data())
def test_whatever_multipliers_are_suggested_the_cut_holds(
    problem: Problem, data: st.DataObject
) -> None:
    """Forced classes, narrow bounds and both directions included, whatever a point asks for."""
    found = combinations_of(problem)
    safe = safe_patterns(problem)
    smallest = minimal(safe)
    c = found.form.n_classes
    x = data.draw(points(problem))
    least, largest = found.form.least(x), found.form.largest(x)
    share = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 0.3331, 2.0])
    for k in np.flatnonzero(found.form.needy | found.form.choosable).tolist():
        weights = np.array(data.draw(st.lists(share, min_size=c, max_size=c)))
        weights[k] = 0.0
        exact = found._exact(k, weights)
        cut = None if exact is None else found._cut(k, *exact, x, least, largest)
        if cut is not None:
            check_cut(problem, cut, None, safe if found.form.needy[k] else smallest)


@examples(40)
@given(
    problems(st.one_of(frequency_3d(), hierarchical_tables()), max_free=9, max_primary=3),
    st.data(),
)
def test_cuts_hold_where_cells_are_known_to_be_published(
    problem: Problem, data: st.DataObject
) -> None:
    n = problem.table.n_cells
    alive = problem.free & np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    inside = [p for p in safe_patterns(problem) if not (p & problem.free & ~alive).any()]
    smallest = minimal(inside)
    found = combinations_of(problem, alive)
    for _ in range(3):
        x = np.where(alive | problem.forced, data.draw(points(problem)), 0.0)
        for cut in (*found.couplings(), *found.cuts(x, UNLIMITED)):
            check_cut(problem, cut, None, smallest)
            assert alive[cut.cells].all()


@examples(40)
@given(problems(max_free=8, max_primary=3), st.data())
def test_unsafe_or_wasteful_patterns_of_wide_bounds_are_cut_off(
    problem: Problem, data: st.DataObject
) -> None:
    """Where no bound stops a cell, a pattern is minimal and safe exactly if no cut excludes it."""
    table = problem.table
    far = np.int64(10**6)
    open_ = replace(
        problem, table=table.replace(lower=table.values - far, upper=table.values + far)
    )
    found = combinations_of(open_)
    smallest = minimal(safe_patterns(open_))
    assume(smallest)
    for _ in range(3):
        pattern = data.draw(points(open_)) >= 0.5
        x = pattern.astype(float)
        cuts = [c for c in (*found.couplings(), *found.cuts(x, UNLIMITED)) if c.slack(x) < -1e-6]
        if any((pattern == p).all() for p in smallest):
            assert not cuts
        elif not any((p <= pattern).all() for p in smallest):
            assert cuts


def always(patch: pytest.MonkeyPatch) -> None:
    """Have combinations searched on every table that is not a network."""
    patch.setattr(combinations, "_pays", lambda _, dimensions: dimensions > 0)
    phases = tuple(
        replace(p, when=lambda _: True, until=lambda run: run.clock)
        if p.name.startswith("combinations")
        else p
        for p in schedule.BRANCH.phases
    )
    patch.setattr(schedule, "BRANCH", replace(schedule.BRANCH, phases=phases))


@pytest.mark.parametrize("kind", ["singletons", "integer", "outsider"])
def test_the_preferred_optimum_stays_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    tables = st.one_of(frequency_3d(), hierarchical_tables())
    drawn = problems(
        None if kind == "outsider" else tables, max_free=9, max_primary=3,
        singletons=kind == "singletons",
    )  # fmt: skip

    @examples(25)
    @given(drawn)
    def check(problem: Problem) -> None:
        integer = kind == "integer"
        try:
            found = suppress(problem, method="branch", integer=integer)
        except Unprotectable:
            assert oracles.best_pattern(problem) is None or integer
            return
        assert found.proven
        if not integer:
            best = oracles.best_pattern(problem)
            assert best is not None
            assert found.cost == oracles.pattern_cost(problem, best)
            if found.canonical:
                assert found.pattern.tolist() == list(best)
        monkeypatch.setattr(combinations, "_pays", lambda *_: False)
        without = suppress(problem, method="branch", integer=integer)
        monkeypatch.setattr(combinations, "_pays", lambda _, dimensions: dimensions > 0)
        assert (without.cost, without.pattern.tolist()) == (found.cost, found.pattern.tolist())

    check()


def deep(seed: int, side: int = 2, levels: int = 2) -> Problem:
    """Three hierarchies of some levels, costs by value."""
    codes: list[str] = []
    children: list[list[int]] = []

    def grow(level: int) -> int:
        below = [grow(level - 1) for _ in range(side)] if level else []
        codes.append(f"c{len(codes):03}")
        children.append(below)
        return len(codes) - 1

    grow(levels)
    parents = {child: node for node, below in enumerate(children) for child in below}
    tree = Hierarchy(tuple(codes), tuple(parents.get(i, -1) for i in range(len(codes))))
    rng = np.random.default_rng(seed)
    inner = np.abs(rng.normal(15, 10, (side**levels,) * 3)).astype(np.int64)
    table = cube(inner, [tree] * 3)
    primary = (table.values < 4) & (table.values > 0)
    return Problem.of(table, primary, lpl=1, upl=1, cost=np.maximum(table.values, 1))


def minimal_pattern(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Publish cell after cell as long as every primary cell can move; no bound stops any.

    What the published cells determine is published too, so that the pattern is minimal.
    """
    relations = problem.table.relations.toarray().astype(float)
    _, sizes, vectors = np.linalg.svd(relations)
    free_to_move = vectors[int((sizes > 1e-9).sum()) :].T
    must = np.flatnonzero(problem.status == "z")
    for i in (*must, *rng.permutation(np.flatnonzero(problem.free))):
        row = free_to_move[i]
        if np.linalg.norm(row) > 1e-7:
            at = int(np.argmax(np.abs(row)))
            fewer = np.delete(free_to_move - np.outer(free_to_move[:, at], row / row[at]), at, 1)
            if (np.linalg.norm(fewer[problem.primary], axis=1) > 1e-7).all():
                free_to_move = fewer
    assert (np.linalg.norm(free_to_move[must], axis=1) < 1e-7).all()
    return np.asarray(problem.primary | (np.linalg.norm(free_to_move, axis=1) > 1e-7))


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_cuts_hold_for_many_minimal_patterns_of_larger_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = deep(seed)
    table, far = drawn.table, np.int64(10**6)
    problem = replace(
        drawn, table=table.replace(lower=table.values - far, upper=table.values + far)
    )
    # Some cells are out already, so that others determine one another.
    out = ~minimal_pattern(problem, rng) & (rng.random(table.n_cells) < 0.25 * seed)
    problem = problem.publishing(out)
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    separator = combinations_of(problem)
    run.master.add(separator.couplings())
    for _ in range(3):
        answer = run.master.relax()
        assert answer.x is not None
        run.master.add(separator.cuts(answer.x, UNLIMITED) + run.cutter.bridgeless(answer.x))
    cuts = [cut for cut in run.master.cuts if cut.kind == "combination"]
    assert len([cut for cut in cuts if cut.right == 0]) > 5
    assert len([cut for cut in cuts if cut.right == 1]) > 5
    tight = np.zeros(len(cuts), dtype=bool)
    for _ in range(15):
        pattern = minimal_pattern(problem, rng)
        assert answer.bound <= problem.cost[pattern & problem.free].sum()
        slack = np.array([cut.slack(pattern.astype(float)) for cut in cuts])
        assert slack.min() >= -1e-9
        tight |= slack < 1e-9
    # Patterns come as near as cuts allow: none of these could ask for more.
    assert tight.mean() > 0.5


def test_forced_cells_count_as_far_as_they_can_move() -> None:
    """To rise by 5 takes 3 of the cell suppressed beforehand and 1 of each of the others."""
    values = np.array([10, 3, 1, 1, 15])
    relations = csr_array(np.array([[1, 1, 1, 1, -1]]))
    labels = tuple((name,) for name in "abcde")
    table = Table(values, relations, np.zeros(5, np.int64), np.full(5, UNBOUNDED), labels)
    problem = Problem.of(table, values == 10, upl=5, publish=values == 15)
    problem = problem.keeping(values == 3)
    found = combinations_of(problem)
    form, (p,) = found.form, np.flatnonzero(problem.primary)
    k = int(form.member[p])
    weights = np.where(np.arange(form.n_classes) == k, 0.0, -1.0)
    exact = found._exact(k, weights)
    assert exact is not None
    x = problem.forced.astype(float)
    cut = found._cut(k, *exact, x, form.least(x), form.largest(x))
    assert cut is not None
    assert table.values[cut.cells].tolist() == [1, 1]
    assert cut.weights.tolist() == [0.5, 0.5]


def test_nothing_is_combined_where_a_rule_looks_at_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "_pays", lambda *_: True)
    problem = deep(0)
    for rule in (None, MinFrequency(3)):
        run = Run(replace(problem, union_rule=rule), UNLIMITED, 0.0, False, 0, None)
        combinations.cut_combinations(run, UNLIMITED)
        assert bool(run.master.cuts) == (rule is None)
