"""The compiled search for small networks against brute force, the cut loop and itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import csp
from csp import InputError, MinFrequency, Problem, Progress, Table, Unprotectable, audit
from csp.clock import Clock
from csp.compiled import at_once
from csp.exact import UNBOUNDED
from csp.solve import suppress
from csp.solve.small import batch, slices
from csp.solve.small.batch import SmallSolver
from csp.solve.small.kernels import KERNELS
from csp.solve.small.one import SmallAnswer, SmallSearch
from instances import synthetic
from tests.support import oracles
from tests.support.shared import examples, uncompiled
from tests.support.small import solve_small
from tests.support.strategies import (
    cube,
    frequency_2d,
    negative_tables,
    problems,
    small_tables,
    sparse_tables,
)

NETWORKS = st.one_of(frequency_2d(), sparse_tables(), negative_tables())


def counts(side: int, seed: int, spl: int = 5, *, by_value: bool = False) -> Problem:
    table = synthetic.frequency_2d(side, side, seed)
    return Problem.of(
        table,
        (table.values < 5) & ~table.margins,
        spl=spl,
        cost=table.values if by_value else 1,
        publish=table.margins,
    )


def is_canonical(problem: Problem, answer: SmallAnswer) -> None:
    best = oracles.best_pattern(problem)
    if best is None:
        assert answer.outcome == "infeasible"
        assert answer.pattern is None
        assert answer.cost is None
    else:
        assert answer.outcome == "proven"
        assert answer.pattern is not None
        assert answer.pattern.tolist() == list(best)
        assert answer.cost == answer.bound == oracles.pattern_cost(problem, best)


# ---- the canonical pattern -------------------------------------------------------------------


@examples(300)
@given(problems(NETWORKS))
def test_search_equals_brute_force(problem: Problem) -> None:
    is_canonical(problem, solve_small(problem))


@examples(100)
@given(problems(small_tables(), max_free=5))
def test_networks_in_larger_tables_equal_brute_force(problem: Problem) -> None:
    try:
        answer = solve_small(problem)
    except InputError:
        assume(False)
    is_canonical(problem, answer)


@st.composite
def any_networks(draw: st.DrawFn) -> Problem:
    """Cells between arbitrary relations with arbitrary signs; several parts, loose ends."""
    nodes, cells = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    matrix = np.zeros((nodes, cells), dtype=np.int64)
    for j in range(cells):
        ends = draw(st.lists(st.integers(0, nodes - 1), max_size=2, unique=True))
        for sign, i in zip((1, -1), ends, strict=False):
            matrix[i, j] = sign
    flip = np.array([draw(st.sampled_from([1, -1])) for _ in range(nodes)])
    numbers = st.lists(st.integers(0, 6), min_size=cells, max_size=cells)
    up, down = np.array(draw(numbers)), np.array(draw(numbers))
    endless = np.array([draw(st.sampled_from([False, False, True])) for _ in range(cells)])
    table = Table(
        np.zeros(cells, dtype=np.int64),
        csr_array(matrix * flip[:, None]),
        -down,
        np.where(endless, UNBOUNDED, up),
        tuple((str(j),) for j in range(cells)),
    )
    status = np.array([draw(st.sampled_from("ssssuuxwz")) for _ in range(cells)])
    return Problem(
        table, status == "u",
        np.minimum(draw(numbers), down), np.minimum(draw(numbers), table.upper), draw(numbers),
        draw(numbers), status,
    )  # fmt: skip


@examples(300)
@given(any_networks())
def test_any_network_equals_brute_force(problem: Problem) -> None:
    is_canonical(problem, solve_small(problem))


@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize(("side", "seed", "spl"), [(5, 1, 8), (6, 2, 5), (6, 3, 8), (7, 4, 8)])
def test_search_equals_cut_loop(side: int, seed: int, spl: int, by_value: bool) -> None:
    problem = counts(side, seed, spl, by_value=by_value)
    by_cuts, found = suppress(problem, method="cuts"), suppress(problem, method="small")
    assert found.method == "small"
    assert found.proven
    assert found.canonical
    assert found.pattern.tolist() == by_cuts.pattern.tolist()
    assert found.cost == found.bound == by_cuts.cost


def test_suppressible_margins_equal_cut_loop() -> None:
    table = synthetic.frequency_2d(4, 5, 11)
    problem = Problem.of(table, table.values < 7, lpl=1, upl=7, spl=9, cost=table.values)
    small, cuts = suppress(problem, method="small"), suppress(problem, method="cuts")
    assert small.pattern.tolist() == cuts.pattern.tolist()
    # Interval ends of networks are whole numbers, so the integer attacker is the same one.
    whole = suppress(problem, method="small", integer=True)
    assert whole.pattern.tolist() == cuts.pattern.tolist()


@examples(50)
@given(problems(NETWORKS), st.randoms(use_true_random=False))
def test_order_and_sign_of_relations_do_not_matter(problem: Problem, random) -> None:
    rows = problem.table.relations.shape[0]
    order = random.sample(range(rows), rows)
    signs = np.array([random.choice([1, -1]) for _ in range(rows)])
    relations = csr_array(problem.table.relations[order].multiply(signs[:, None]))
    turned = replace(problem, table=problem.table.replace(relations=relations))
    one, other = solve_small(problem), solve_small(turned)
    assert one.outcome == other.outcome
    if one.pattern is not None:
        assert one.pattern.tolist() == other.pattern.tolist()


# ---- compiled and plain ----------------------------------------------------------------------


def test_compiled_equals_plain() -> None:
    @examples(60)
    @given(st.one_of(problems(NETWORKS, max_free=16), any_networks()))
    def same(problem: Problem) -> None:
        with at_once():
            fast = solve_small(problem)
        with uncompiled(KERNELS):
            slow = solve_small(problem)
        assert (fast.outcome, fast.cost, fast.bound, fast.nodes) == (
            slow.outcome, slow.cost, slow.bound, slow.nodes,
        )  # fmt: skip
        if fast.pattern is not None and slow.pattern is not None:
            assert fast.pattern.tolist() == slow.pattern.tolist()

    same()


def test_compiled_batches_equal_plain() -> None:
    values, primary, template = drawn_tables(5, 12, 3)
    solver = SmallSolver(template)
    with at_once():
        fast = solver.solve_many(values, primary)
        decided = solver.decide(fast.patterns[3], values, primary)
    with uncompiled(KERNELS):
        slow = solver.solve_many(values, primary)
        again = solver.decide(fast.patterns[3], values, primary)
    assert slow.patterns.tolist() == fast.patterns.tolist()
    assert slow.nodes.tolist() == fast.nodes.tolist()
    assert again.given.tolist() == decided.given.tolist()
    assert again.nodes.tolist() == decided.nodes.tolist()


@pytest.mark.parametrize("nodes", [0, 2, 10])
@pytest.mark.parametrize("limit", [None, 9])
def test_batches_begun_plainly_end_as_if_compiled(
    nodes: int, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, primary, template = drawn_tables(5, 20, 5)
    solver = SmallSolver(template)
    with at_once():
        fast = solver.solve_many(values, primary, node_limit=limit)
        decided = solver.decide(fast.patterns[3], values, primary, node_limit=limit)
    monkeypatch.setattr(batch, "_PLAIN_NODES", nodes)
    with uncompiled(KERNELS):
        slow = solver.solve_many(values, primary, node_limit=limit)
        again = solver.decide(fast.patterns[3], values, primary, node_limit=limit)
    assert slow.patterns.tolist() == fast.patterns.tolist()
    assert slow.outcome.tolist() == fast.outcome.tolist()
    assert slow.nodes.tolist() == fast.nodes.tolist()
    assert again.given.tolist() == decided.given.tolist()
    assert again.decided.tolist() == decided.decided.tolist()
    assert again.nodes.tolist() == decided.nodes.tolist()


# ---- batches ---------------------------------------------------------------------------------


def drawn_tables(side: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, Problem]:
    """Counts of one shape, their primary cells, and a template without any."""
    tables = [synthetic.frequency_2d(side, side, 1000 * seed + i) for i in range(count)]
    values = np.stack([t.values for t in tables])
    margins = tables[0].margins
    template = Problem.of(tables[0], np.zeros_like(margins), spl=5, publish=margins)
    return values, (values < 5) & ~margins, template


@examples(40)
@given(st.data())
def test_batch_equals_one_by_one(data: st.DataObject) -> None:
    template = data.draw(problems(NETWORKS))
    table = template.table
    n = table.n_cells
    may = np.flatnonzero(template.status != "z").tolist()
    inner = np.flatnonzero(~table.margins)
    several, flags = [], []
    for _ in range(data.draw(st.integers(1, 5))):
        sums = data.draw(st.lists(st.integers(0, 9), min_size=len(inner), max_size=len(inner)))
        side = len({table.labels[i][0] for i in inner})
        drawn = cube(np.array(sums).reshape(side, -1)).values
        # Values between the template's and others of its shape keep every relation.
        fits = np.all((drawn >= table.lower) & (drawn <= table.upper))
        several.append(drawn if fits else table.values)
        chosen = data.draw(st.lists(st.sampled_from(may), max_size=3))
        flags.append(np.isin(np.arange(n), chosen))
    values, primary = np.stack(several), np.stack(flags)
    room = np.stack([values - table.lower, table.upper - values])
    lpl, upl = np.minimum(template.lpl, room[0]), np.minimum(template.upl, room[1])
    hint = data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    solver = SmallSolver(template)
    batch = solver.solve_many(values, primary, lpl=lpl, upl=upl, hint=hint)
    for t in range(len(values)):
        status = np.where(primary[t], "u", np.where(template.status == "u", "s", template.status))
        own = replace(
            template, table=table.replace(values=values[t]), primary=primary[t], status=status,
            lpl=lpl[t], upl=upl[t],
        )  # fmt: skip
        answer = solve_small(own)
        assert batch.outcome[t] == answer.outcome
        assert batch.cost[t] == (-1 if answer.cost is None else answer.cost)
        if answer.pattern is not None:
            assert batch.patterns[t].tolist() == answer.pattern.tolist()
    for pattern in [*batch.patterns, template.free | template.forced]:
        given_ = solver.gives(pattern, values, primary, lpl=lpl, upl=upl)
        same = (batch.patterns == pattern).all(axis=1) & (batch.outcome == "proven")
        assert given_.tolist() == same.tolist()


def test_decisions_equal_full_solutions() -> None:
    values, primary, template = drawn_tables(4, 300, 1)
    # Few primary cells, so that tables share their answers.
    primary &= np.arange(primary.shape[1]) < 6
    solver = SmallSolver(template)
    batch = solver.solve_many(values, primary)
    assert (batch.outcome == "proven").all()
    patterns = np.unique(batch.patterns, axis=0)
    assert len(patterns) < 200
    # Costs that differ from table to table make a pattern win here and lose there.
    for cost in (1, values, values % 3, np.random.default_rng(1).integers(0, 3, values.shape)):
        batch = solver.solve_many(values, primary, cost=cost)
        for pattern in np.concatenate([patterns, batch.patterns[:20]]):
            decided = solver.decide(pattern, values, primary, cost=cost)
            assert decided.decided.all()
            assert decided.given.tolist() == (batch.patterns == pattern).all(axis=1).tolist()


def test_hints_change_no_answer() -> None:
    values, primary, template = drawn_tables(4, 100, 8)
    primary &= np.arange(primary.shape[1]) < 8
    solver = SmallSolver(template)
    for cost in (1, values):
        batch = solver.solve_many(values, primary, cost=cost)
        for hint in [*batch.patterns[:20], template.free, ~template.free]:
            again = solver.solve_many(values, primary, cost=cost, hint=hint)
            assert again.patterns.tolist() == batch.patterns.tolist()
            assert again.cost.tolist() == batch.cost.tolist()


def test_cells_suppressed_beforehand_cost_unless_they_are_primary() -> None:
    table = synthetic.frequency_2d(3, 3, 1)
    status = np.where(table.margins, "z", "s")
    status[[0, 1]] = "x", "w"
    n = table.n_cells
    nothing = np.zeros(n, dtype=np.int64)
    template = Problem(
        table, np.zeros(n, bool), nothing, nothing, nothing, 10 ** np.arange(n), status
    )
    solver = SmallSolver(template)
    primary = np.zeros((3, n), dtype=bool)
    primary[1, 0] = primary[2, 1] = True
    batch = solver.solve_many(np.tile(table.values, (3, 1)), primary)
    assert batch.cost.tolist() == [1, 0, 1]
    assert batch.patterns[:, :2].all()
    assert not batch.patterns[:, 2:].any()


def test_chunks_of_a_long_batch_are_independent() -> None:
    values, primary, template = drawn_tables(3, 20, 2)
    solver = SmallSolver(template)
    short = solver.solve_many(values, primary, cost=values)
    times = 300
    long = solver.solve_many(
        np.tile(values, (times, 1)), np.tile(primary, (times, 1)), cost=np.tile(values, (times, 1))
    )
    assert np.array_equal(long.patterns, np.tile(short.patterns, (times, 1)))
    assert np.array_equal(long.cost, np.tile(short.cost, times))


def test_a_pattern_that_suppresses_a_published_cell_is_never_given() -> None:
    values, primary, template = drawn_tables(3, 5, 4)
    solver = SmallSolver(template)
    assert not solver.gives(np.ones(values.shape[1], bool), values, primary).any()


# ---- limits ----------------------------------------------------------------------------------


@examples(60)
@given(problems(NETWORKS, max_free=9), st.integers(0, 12))
def test_limits_are_honest(problem: Problem, limit: int) -> None:
    full, cut = solve_small(problem), solve_small(problem, node_limit=limit)
    assert cut.nodes <= limit
    if cut.outcome != "limit":
        assert (cut.outcome, cut.cost) == (full.outcome, full.cost)
        return
    assert full.nodes > limit
    if full.cost is not None:
        assert cut.bound <= full.cost
    if cut.pattern is not None:
        assert cut.cost is not None
        assert cut.cost >= cut.bound
        assert cut.cost == oracles.pattern_cost(problem, cut.pattern)
        assert audit(problem, cut.pattern).safe


def test_batches_say_which_tables_hit_the_limit() -> None:
    values, primary, template = drawn_tables(5, 40, 5)
    solver = SmallSolver(template)
    full, cut = solver.solve_many(values, primary), solver.solve_many(values, primary, node_limit=9)
    late = full.nodes > 9
    assert 0 < late.sum() < 40
    assert ((cut.outcome == "limit") == late).all()
    assert np.array_equal(cut.patterns[~late], full.patterns[~late])
    decided = solver.decide(full.patterns[0], values, primary, node_limit=0)
    assert not decided.decided[0]
    assert not decided.given.any()


def test_deadline_progress_and_callback() -> None:
    problem = counts(6, 3, 8)
    assert solve_small(problem, clock=Clock(0.0)).outcome == "limit"
    seen: list[Progress] = []
    suppress(problem, method="small", progress=seen.append)
    assert seen[0].phase == "protectable"
    assert seen[0].bound == 0


def test_time_gap_and_interrupt_keep_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = counts(7, 4, 8)
    best = suppress(problem, method="small")

    monkeypatch.setattr(slices, "SLICE", 30)
    timed = suppress(problem, method="small", time_limit=1e-9)
    assert timed.stopped == "time"
    wide = suppress(problem, method="small", gap=0.99)
    assert wide.stopped == "gap"

    def stop(progress: Progress) -> None:
        if progress.best is not None:
            raise KeyboardInterrupt

    broken = suppress(problem, method="small", progress=stop)
    assert broken.stopped == "interrupt"
    for early in (timed, wide, broken):
        assert early.bound <= best.cost <= early.cost
        assert not early.canonical
        assert audit(problem, early.pattern).safe

    monkeypatch.setattr(slices, "SLICE", 1)
    everything = suppress(problem, method="small", time_limit=1e-9)
    assert everything.stopped == "time"
    assert everything.pattern.tolist() == (problem.free | problem.forced).tolist()

    def stop_early(_: Progress) -> None:
        raise KeyboardInterrupt

    broken = suppress(problem, method="small", progress=stop_early)
    assert broken.stopped == "interrupt"
    assert broken.pattern.tolist() == everything.pattern.tolist()


def test_search_in_slices_is_the_search() -> None:
    problem = counts(6, 3, 8)
    whole, pieces = SmallSearch(problem), SmallSearch(problem)
    with at_once():
        assert whole.step(10**9)
    while not pieces.step(1):
        assert pieces.answer().outcome == "limit"
    one, other = whole.answer(), pieces.answer()
    assert one.nodes == other.nodes
    assert one.pattern is not None
    assert other.pattern is not None
    assert one.pattern.tolist() == other.pattern.tolist()


# ---- what is refused -------------------------------------------------------------------------


def test_what_cannot_be_protected_is_explained_like_elsewhere() -> None:
    table = Table.from_array([[1, 20], [30, 40]])
    problem = Problem.of(table, table.values == 1, spl=50, publish=table.margins)
    words = []
    for method in ("small", "cuts"):
        with pytest.raises(Unprotectable) as caught:
            suppress(problem, method=method)
        words.append((str(caught.value), caught.value.interval, caught.value.relations))
    assert words[0] == words[1]


def test_refusals_name_the_reason() -> None:
    table = synthetic.frequency_2d(9, 9, 1)
    with pytest.raises(InputError, match="up to 64 cells"):
        suppress(Problem.of(table, table.values < 3, spl=3), method="small")
    deep = synthetic.frequency_nd((2, 2, 2), 1)
    with pytest.raises(InputError, match="network"):
        suppress(Problem.of(deep, deep.values < 3, spl=3), method="small")
    small = counts(3, 1)
    with pytest.raises(InputError, match="singletons"):
        suppress(replace(small, singletons=np.ones(16, bool)), method="small")
    with pytest.raises(InputError, match="sums"):
        suppress(replace(small, union_rule=MinFrequency(3, width=1)), method="small")
    with pytest.raises(InputError, match="levels"):
        suppress(replace(small, spl=np.full(16, 2**61)), method="small")
    with pytest.raises(InputError, match="add up"):
        suppress(replace(small, cost=np.full(16, 2**60)), method="small")


def test_64_cells_fit_and_sums_near_the_limits_are_exact() -> None:
    table = synthetic.frequency_2d(8, 8, 5)
    cost = np.where(np.arange(81) % 2, 2**54, 2**54 - 1)
    problem = Problem.of(
        table, (table.values < 5) & ~table.margins, spl=5, cost=cost, publish=table.margins
    )
    found = solve_small(problem)
    assert found.outcome == "proven"
    assert found.cost == oracles.pattern_cost(problem, found.pattern)
    with pytest.raises(InputError, match="breaks"):
        SmallSolver(problem).solve_many(table.values[None] + 1, problem.primary[None])


def test_wrong_batches_are_refused() -> None:
    values, primary, template = drawn_tables(3, 2, 6)
    solver = SmallSolver(template)
    with pytest.raises(InputError, match="need"):
        solver.solve_many(values[:, 1:], primary)
    with pytest.raises(InputError, match="whole numbers"):
        solver.solve_many(values.astype(float), primary)
    with pytest.raises(InputError, match="broadcast"):
        solver.solve_many(values, primary[:, :3])
    with pytest.raises(InputError, match="flags"):
        solver.solve_many(values, values)
    with pytest.raises(InputError, match="must be published"):
        solver.solve_many(values, np.ones_like(primary))
    with pytest.raises(InputError, match="outside its bounds"):
        solver.solve_many(-values, primary)
    with pytest.raises(InputError, match="levels"):
        solver.solve_many(values, primary, spl=-1)
    with pytest.raises(InputError, match="costs"):
        solver.solve_many(values, primary, cost=-1)
    with pytest.raises(InputError, match="shape"):
        solver.gives([True], values, primary)


def test_nothing_to_choose_and_nothing_to_protect() -> None:
    table = synthetic.frequency_2d(2, 2, 1)
    for publish in (True, False):
        found = csp.suppress(Problem.of(table, False, publish=publish), method="small")
        assert not found.pattern.any()
        assert found.proven


def test_reprs_hold_no_amounts() -> None:
    values, primary, template = drawn_tables(3, 2, 7)
    solver = SmallSolver(template)
    batch = solver.solve_many(values, primary, cost=values)
    assert repr(batch) == "SmallBatch(2 tables, 2 proven)"
    assert repr(solver) == "SmallSolver(9 cells)"
    assert str(solve_small(counts(3, 1))).startswith("SmallAnswer(proven, ")
