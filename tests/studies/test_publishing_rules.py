"""Mechanisms to compare decoys with, against brute force over patterns and completions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from csp import InputError, Mechanism, MinFrequency, Problem, Table
from csp.errors import SolverError
from csp.solve.order import label_order
from studies.matching.scenarios import SCENARIOS, draw_table
from studies.publishing.minimal_patterns.patterns import MinimalPatterns
from studies.publishing.optimal import Plain, Widened
from studies.publishing.publisher import Publisher
from studies.publishing.randomised import Exponential, UniformOptimal
from studies.publishing.sequential.completions import Completions
from studies.publishing.sequential.fixpoint import SequentialFixpoint
from tests.studies import oracles as brute
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, negative_tables, problems, sparse_tables

NETWORKS = st.one_of(frequency_2d(), sparse_tables(), negative_tables())
COINS = np.random.default_rng(0)


def mechanism(threshold: int, width: int, **options) -> Mechanism:
    return Mechanism(
        MinFrequency(threshold, zero_sensitive=True, width=1),
        width=width,
        margins="publish",
        **options,
    )


@st.composite
def grids(draw, shapes=((2, 2), (2, 3), (3, 2), (3, 3)), high=5):
    rows, columns = draw(st.sampled_from(shapes))
    top = high if rows * columns < 9 else min(high, 3)
    row = st.tuples(*[st.integers(0, top)] * columns)
    return draw(st.tuples(*[row] * rows))


def table_of(grid) -> Table:
    return Table.from_array(np.array(grid), margins=True)


def flags_of(cells, grid) -> np.ndarray:
    flags = np.zeros((len(grid) + 1, len(grid[0]) + 1), dtype=bool)
    for i, j in cells:
        flags[i, j] = True
    return flags.ravel()


def cells_of(pattern, grid):
    return frozenset(zip(*np.nonzero(pattern.reshape(len(grid) + 1, -1)), strict=True))


# ---- minimal safe patterns -------------------------------------------------------------------


@examples(60)
@given(problems(NETWORKS, max_free=6), st.integers(0, 12))
def test_minimal_patterns_equal_brute_force(problem: Problem, slack: int) -> None:
    """Any levels, costs and status letters; safety by an exact simplex."""
    assume((np.diff(label_order(problem.table)) > 0).all())
    free = np.flatnonzero(problem.free).tolist()
    found: list[tuple[bool, ...]] = []
    for size in range(len(free) + 1):
        for extra in combinations(free, size):
            pattern = problem.forced.copy()
            pattern[list(extra)] = True
            inside = any(not (np.array(small) & ~pattern).any() for small in found)
            if not inside and oracles.is_safe(problem, tuple(pattern.tolist())):
                found.append(tuple(pattern.tolist()))
    costs = [oracles.pattern_cost(problem, y) for y in found]
    ranked = sorted(zip(costs, (y[::-1] for y in found), strict=True))
    expected = [y[::-1] for cost, y in ranked if cost <= ranked[0][0] + slack]
    solver = MinimalPatterns(problem)
    listed = solver.patterns(problem.table.values, problem.primary, slack)
    assert [tuple(row) for row in listed.tolist()] == expected
    for y, cost in zip(found, costs, strict=True):
        census = solver.census(y, problem.table.values[None], problem.primary[None], slack)
        if cost > ranked[0][0] + slack:
            assert census.excess[0] == -1
            continue
        assert census.excess[0] == cost - ranked[0][0]
        dearer = [c - ranked[0][0] for c, _ in ranked if c <= ranked[0][0] + slack]
        assert census.counts[0].tolist() == np.bincount(dearer, minlength=slack + 1).tolist()


def test_compiled_minimal_patterns_equal_plain_ones() -> None:
    scenario = SCENARIOS["plain"]
    tables = [draw_table(scenario, 4, i, 7) for i in range(12)]
    values = np.array([t.values for t in tables])
    primary = (values < 5) & ~tables[0].margins
    template = Problem.of(tables[0], np.zeros(25, bool), spl=8, publish=tables[0].margins)
    solver = MinimalPatterns(template)
    for got, want in zip(
        solver.first(values, primary, 3, 20),
        solver.first(values, primary, 3, 20, plain=True),
        strict=True,
    ):
        assert got.tolist() == want.tolist()
    pattern = solver.patterns(values[0], primary[0], 3)[-1]
    fast = solver.census(pattern, values, primary, 3)
    slow = solver.census(pattern, values, primary, 3, plain=True)
    assert (fast.excess >= 0).any()
    assert fast.excess.tolist() == slow.excess.tolist()
    assert fast.counts.tolist() == slow.counts.tolist()


def test_limits_raise_and_do_not_truncate() -> None:
    table = draw_table(SCENARIOS["plain"], 5, 1, 7)
    problem = SCENARIOS["plain"].mechanism.problem(table)
    count = len(MinimalPatterns(problem).patterns(table.values, problem.primary, 3))
    assert count > 20
    exact = MinimalPatterns(problem, room=count).patterns(table.values, problem.primary, 3)
    assert len(exact) == count
    with pytest.raises(SolverError, match="room=20"):
        MinimalPatterns(problem, room=20).patterns(table.values, problem.primary, 3)
    limited = MinimalPatterns(problem, node_limit=5)
    with pytest.raises(SolverError, match="node_limit=5"):
        limited.patterns(table.values, problem.primary, 3)
    with pytest.raises(SolverError, match="node_limit=5"):
        limited.census(exact[0], table.values[None], problem.primary[None], 3)


# ---- what is published, and how probable that is ---------------------------------------------


@examples(40)
@given(grids(), st.integers(1, 4), st.integers(1, 5), st.integers(0, 2), st.floats(0, 3))
def test_probabilities_equal_brute_force(grid, threshold, width, slack, epsilon) -> None:
    table = table_of(grid)
    found = brute.minimal_patterns(grid, threshold, width)
    wider = brute.minimal_patterns(grid, threshold, width + 1)
    rule = mechanism(threshold, width)
    least = len(found[0]) if found else 0
    weights = {y: np.exp(-epsilon * (len(y) - least)) for y in found if len(y) <= least + slack}
    cheapest = [y for y in found if len(y) == least]
    expected = [
        (Plain(rule, table), dict.fromkeys(found[:1], 1.0)),
        (Widened(rule, table, width=width + 1), dict.fromkeys(wider[:1], 1.0)),
        (UniformOptimal(rule, table), dict.fromkeys(cheapest, 1 / max(len(cheapest), 1))),
        (
            Exponential(rule, table, epsilon=epsilon, slack=slack),
            {y: w / sum(weights.values()) for y, w in weights.items()},
        ),
    ]
    for publisher, chances in expected:
        assert isinstance(publisher, Publisher)
        for y in {*found, *wider, *brute.all_patterns(grid)[::7]}:
            given_chance = publisher.likelihood(flags_of(y, grid), table.values[None])
            assert given_chance == pytest.approx([chances.get(y, 0.0)])
        drawn = publisher.publish(table.values, np.random.default_rng(1))
        assert (drawn is None) == (not chances)
        if drawn is not None:
            assert cells_of(drawn, grid) in chances


@examples(15)
@given(grids(), st.integers(1, 4), st.integers(1, 4))
def test_likelihoods_of_many_tables(grid, threshold, width) -> None:
    """The publisher is built from another table of the structure, and asked about many at once."""
    publisher = Exponential(
        mechanism(threshold, width), table_of(np.zeros_like(grid)), epsilon=1, slack=2
    )
    everything = frozenset((i, j) for i in range(len(grid)) for j in range(len(grid[0])))
    others = list(brute.completions(grid, everything))[:40]
    y = flags_of((brute.minimal_patterns(grid, threshold, width) or [everything])[-1], grid)
    values = np.array([table_of(other).values for other in others])
    together = publisher.likelihood(y, values)
    for other, chance in zip(others, together.tolist(), strict=True):
        found = brute.minimal_patterns(other, threshold, width)
        found = [p for p in found if len(p) <= len(found[0]) + 2]
        weights = {p: np.exp(-(len(p) - len(found[0]))) for p in found}
        share = weights.get(cells_of(y, grid), 0.0) / (sum(weights.values()) or 1)
        assert chance == pytest.approx(share)


def test_draws_follow_the_likelihood() -> None:
    table = table_of([[7, 11, 20], [10, 20, 11], [20, 12, 20]])
    publisher = Exponential(mechanism(10, 8), table, epsilon=0.5, slack=2)
    rng = np.random.default_rng(5)
    drawn = [publisher.publish(table.values, rng).tobytes() for _ in range(2000)]
    kinds = sorted(set(drawn))
    assert len(kinds) > 4
    chances = [
        publisher.likelihood(np.frombuffer(k, dtype=bool), table.values[None])[0] for k in kinds
    ]
    assert sum(chances) == pytest.approx(1)
    for kind, chance in zip(kinds, chances, strict=True):
        spread = np.sqrt(2000 * chance * (1 - chance))
        assert abs(drawn.count(kind) - 2000 * chance) < 5 * spread


def test_levels_of_a_rule_and_suppressible_margins() -> None:
    """Values far apart, levels from the rule itself, margins that may be suppressed."""
    table = table_of([[2, 30, 41], [25, 3, 38], [60, 44, 17]])
    for options in ({"margins": "suppress"}, {"margins": "suppress", "strict": True}):
        rule = Mechanism(MinFrequency(5, width=6), width=4, **options)
        want = rule.protect(table).pattern
        plain = Plain(rule, table.replace(values=np.zeros(16, np.int64)))
        got = plain.publish(table.values, COINS)
        assert got is not None
        assert got.tolist() == want.tolist()


def test_what_is_refused() -> None:
    table = table_of([[7, 11], [10, 20]])
    with pytest.raises(InputError, match="one cell"):
        Plain(Mechanism("P(10,1)", margins="publish"), table)
    with pytest.raises(InputError, match="cost"):
        Plain(mechanism(5, 8, cost="value"), table)
    with pytest.raises(InputError, match="shrink"):
        Widened(mechanism(5, 8), table, width=7)
    with pytest.raises(InputError, match="epsilon"):
        Exponential(mechanism(5, 8), table, epsilon=-1, slack=1)
    with pytest.raises(InputError, match="shape"):
        Plain(mechanism(5, 8), table).likelihood(np.zeros(4, bool), table.values[None])
    assert Widened(mechanism(5, 8), table, width="12").name == "width 12"


# ---- sequential fixpoints --------------------------------------------------------------------


@examples(40)
@given(grids(shapes=((2, 2), (2, 3), (3, 2), (2, 4), (3, 3))), st.data())
def test_completions_equal_brute_force(grid, data) -> None:
    cells = [(i, j) for i in range(len(grid)) for j in range(len(grid[0]))]
    y = frozenset(data.draw(st.sets(st.sampled_from(cells), min_size=1)))
    table, flags = table_of(grid), flags_of(y, grid)
    want = sorted(tuple(table_of(t).values.tolist()) for t in brute.completions(grid, y))
    got = Completions(table, len(want)).of(table.values, flags)
    assert sorted(map(tuple, got.tolist())) == want
    assert len(want) == 1 or Completions(table, len(want) - 1).of(table.values, flags) is None


@examples(25)
@given(grids(high=6, shapes=((2, 2), (2, 3), (3, 2))), st.integers(1, 4), st.integers(1, 6))
def test_fixpoints_of_one_region_equal_the_definition(grid, threshold, width) -> None:
    """Where the whole table is one region, written again without any of it."""
    reach = (len(grid) - 1) * (len(grid[0]) - 1)
    rule = SequentialFixpoint(mechanism(threshold, width), table_of(grid), reach=(reach,))
    expected = brute.naive_fixpoint(grid, threshold, width)
    everything = frozenset((i, j) for i in range(len(grid)) for j in range(len(grid[0])))
    for t in list(brute.completions(grid, everything))[::3]:
        found = rule.publish(table_of(t).values, COINS)
        if not brute.primaries(t, threshold):
            assert not found.any()
        else:
            want = expected.get(t)
            assert (None if found is None else cells_of(found, t)) == want


def replay(make, grid, threshold, width):
    """Run the rule on every completion of what it publishes; whether the class is self-safe.

    None if nothing is published or suppressed.
    """
    pattern = make(grid).publish(table_of(grid).values, COINS)
    if pattern is None or not pattern.any():
        return None
    others = list(brute.completions(grid, cells_of(pattern, grid)))
    same = []
    for other in others:
        # A publisher of its own for each table: nothing remembered can help.
        found = make(other).publish(table_of(other).values, COINS)
        if found is not None and (found == pattern).all():
            same.append(other)
    values = np.array([table_of(other).values for other in others])
    chance = make(grid).likelihood(pattern, values)
    assert [t for t, p in zip(others, chance.tolist(), strict=True) if p == 1] == same
    assert set(chance.tolist()) <= {0.0, 1.0}
    return all(brute.hulls_reach(same, brute.primaries(t, threshold), width) for t in same)


@examples(25)
@given(
    grids(shapes=((2, 3), (3, 2), (2, 4), (3, 3)), high=5),
    st.integers(1, 3),
    st.integers(2, 4),
    st.sampled_from([(1,), (1, 2), (2, 3)]),
    st.sampled_from([30, 1000]),
)
def test_fixpoints_are_safe_against_those_who_replay_them(grid, threshold, width, reach, cap):
    def make(other):
        rule = mechanism(threshold, width)
        return SequentialFixpoint(rule, table_of(other), reach=reach, cap=cap)

    assert replay(make, grid, threshold, width) in (None, True)


def test_the_replay_finds_plain_suppression_unsafe() -> None:
    grid = ((5, 2, 2), (6, 5, 4), (3, 6, 3))
    rule = mechanism(3, 4)
    assert replay(lambda g: Plain(rule, table_of(g)), grid, 3, 4) is False
    assert replay(lambda g: SequentialFixpoint(rule, table_of(g), reach=(2, 3)), grid, 3, 4) is True


def test_fixpoints_publish_most_tables_of_the_experiment() -> None:
    scenario = SCENARIOS["plain"]
    tables = [draw_table(scenario, 4, i, 0) for i in range(12)]
    rule = SequentialFixpoint(scenario.mechanism, tables[0])
    for table in tables:
        pattern = rule.publish(table.values, COINS)
        assert pattern is not None
        assert rule.likelihood(pattern, table.values[None]).tolist() == [1.0]
    # A cap leaves whole blocks alone.
    small = SequentialFixpoint(scenario.mechanism, tables[0], cap=100)
    assert small.publish(tables[1].values, COINS) is None
    assert small.likelihood(pattern, tables[1].values[None]).tolist() == [0.0]
