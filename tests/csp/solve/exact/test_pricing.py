"""Large networks: cuts as nodes, columns as they are needed, rows that leave. Same answers."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from csp import Problem, suppress
from csp.audits.audit import audit
from csp.clock import UNLIMITED
from csp.errors import Unprotectable
from csp.solve.cuts import Cut, CutFactory
from csp.solve.exact import master
from csp.solve.exact import relaxation as pricing
from csp.solve.exact import state as run
from csp.solve.exact.master import Master
from csp.solve.exact.relaxation import Relaxation, entries
from csp.solve.exact.separation import cut_rounds
from csp.solve.exact.state import Run
from csp.solve.network import node_cuts as flowcuts
from csp.solve.network.network import HiddenNetwork
from csp.solve.network.node_cuts import Arcs, FlowCut, subtract_prices
from csp.solve.network.separate import FlowSeparator
from csp.solve.result import Suppression
from tests.csp.solve.test_cuts import NETWORKS, points
from tests.csp.solve.test_small import counts
from tests.support.shared import examples
from tests.support.strategies import problems, sparse_tables


def net_of(problem: Problem) -> HiddenNetwork:
    net = HiddenNetwork.of(problem)
    assert net is not None
    return net


# ---- cuts as nodes ---------------------------------------------------------------------------


@examples(40)
@given(NETWORKS, st.data())
def test_cuts_kept_as_nodes_equal_cuts_kept_cell_by_cell(
    problem: Problem, data: st.DataObject
) -> None:
    net, cutter = net_of(problem), CutFactory(problem)
    wide, compact = FlowSeparator(net, cutter), FlowSeparator(net, cutter, compact=True)
    for whole in (False, True):
        x = data.draw(points(problem))
        x = (x >= 0.5).astype(float) if whole else x
        one = wide.misses(x, whole=whole, clock=UNLIMITED)
        other = compact.misses(x, whole=whole, clock=UNLIMITED)
        assert list(map(len, one)) == list(map(len, other))
        for a, b in zip(chain(*one), chain(*other), strict=True):
            assert isinstance(b, FlowCut)
            assert (a.cells.tolist(), a.right) == (b.cells.tolist(), b.right)
            assert a.weights.tolist() == b.weights.tolist()
            assert a.slack(x) == pytest.approx(b.slack(x))


@examples(40)
@given(NETWORKS, st.data())
def test_any_set_of_nodes_gives_the_cut_of_its_multipliers(
    problem: Problem, data: st.DataObject
) -> None:
    net, cutter = net_of(problem), CutFactory(problem)
    assume(len(net.needs))
    arcs = Arcs(net)
    r = data.draw(st.integers(0, len(net.needs) - 1))
    p, need = int(net.needs.cell[r]), int(net.needs.need[r])
    directions = [(1,), (-1,), (1, -1)][int(net.needs.kind[r])]
    sides = []
    for direction in directions:
        inside = data.draw(st.lists(st.booleans(), min_size=net.nodes - 1, max_size=net.nodes - 1))
        sides.append((direction, data.draw(st.sampled_from([1, -1])), np.flatnonzero(inside)))
    compact = arcs.cut(p, need, sides)
    wide = cutter.capacity(
        int(net.cells[p]), need,
        [(d, net.rows[v], sign * net.network.sign[v], 1) for d, sign, v in sides],
    )  # fmt: skip
    assert (compact is None) == (wide is None)
    if compact is not None and wide is not None:
        assert compact.cells.tolist() == wide.cells.tolist()
        assert compact.weights.tolist() == wide.weights.tolist()


@examples(40)
@given(NETWORKS, st.data())
def test_prices_are_weights_times_multipliers(problem: Problem, data: st.DataObject) -> None:
    net = net_of(problem)
    compact = FlowSeparator(net, CutFactory(problem), compact=True)
    x = data.draw(points(problem))
    cuts: list[Any] = [*chain(*compact.misses(x, whole=False, clock=UNLIMITED))]
    assume(cuts)
    price = np.array(data.draw(st.lists(st.floats(0, 9), min_size=len(cuts), max_size=len(cuts))))
    cost = problem.cost[net.cells].astype(float)
    position = np.arange(len(net.cells))
    expected = cost - sum(y * cut.at(net.cells) for y, cut in zip(price, cuts, strict=True))
    assert subtract_prices(cost, position, cuts, price) == pytest.approx(expected)
    # A few nodes at a time, and uncompiled.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flowcuts, "_SPREAD", 1)
        patch.setitem(vars(flowcuts.KERNELS), "compiled", flowcuts.KERNELS.plain)
        assert subtract_prices(cost, position, cuts, price) == pytest.approx(expected)


# ---- the relaxation --------------------------------------------------------------------------


def eager(patch: pytest.MonkeyPatch, *, columns: int = 1, age: int = 1) -> None:
    """Let large tables begin at once: one column at a time, and rows leave at once."""
    patch.setattr(run, "PRICED_FROM", 0)
    patch.setattr(pricing, "_FIRST_COLUMNS", 0)
    patch.setattr(pricing, "_COLUMNS_AT_ONCE", columns)
    patch.setattr(pricing, "_AGE", age)
    patch.setattr(pricing, "_ROWS_AT_ONCE", 1)


@examples(40)
@given(NETWORKS, st.data())
def test_the_relaxation_has_the_same_optimum_with_few_columns(
    problem: Problem, data: st.DataObject
) -> None:
    net, cutter = net_of(problem), CutFactory(problem)
    separator = FlowSeparator(net, cutter, compact=True)
    whole, priced = Master(problem), Master(problem, priced=True)
    with pytest.MonkeyPatch.context() as patch:
        # Rows that leave are seen to below: here both relaxations hold the same cuts.
        eager(patch, columns=data.draw(st.integers(1, 3)), age=10**6)
        if data.draw(st.booleans()):
            priced.prefer(problem.free)
        for _ in range(3):
            x = data.draw(points(problem))
            cuts: list[Any] = cutter.bridgeless(x)
            cuts += chain(*separator.misses(x, whole=False, clock=UNLIMITED))
            assert whole.add(cuts) == priced.add(cuts)
            objective = None
            if data.draw(st.booleans()):
                objective = np.array(
                    data.draw(st.lists(
                        st.integers(0, 50), min_size=len(x), max_size=len(x)
                    )), float,
                )  # fmt: skip
            one, other = whole.relax(objective), priced.relax(objective)
            assert one.status == other.status
            if one.x is None or other.x is None:
                continue
            assert other.bound == pytest.approx(one.bound, abs=1e-5)
            cost = problem.cost if objective is None else objective
            assert (other.x * cost)[problem.free].sum() == pytest.approx(one.bound, abs=1e-5)
            assert all(cut.slack(other.x) > -1e-6 for cut in whole.cuts)
            # The bound with its reduced costs holds at any point that keeps the cuts.
            assert other.reduced is not None
            value = (one.x * cost)[problem.free].sum()
            assert value >= other.bound + np.maximum(other.reduced, 0) @ (
                one.x * problem.free
            ) - 1e-5 * (1 + abs(value))


def test_rows_leave_and_come_back_for_good() -> None:
    # min x + 3 y: the second row asks for x = 0.8, which leaves the first one loose.
    cells = np.array([3, 8], np.int64)
    relaxation = Relaxation(cells, 10, np.array([1.0, 3.0]), 1.0, 0, UNLIMITED, priced=True)
    loose = Cut(cells, np.array([1.0, 1.0]), 0.5, "capacity")
    tight = Cut(cells, np.array([1.0, 0.5]), 0.8, "capacity")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "_AGE", 2)
        patch.setattr(pricing, "_ROWS_AT_ONCE", 1)
        relaxation.add([loose, tight])
        assert relaxation.solve().bound == pytest.approx(0.8)
        assert relaxation.rows == [loose, tight]
        assert relaxation.solve().bound == pytest.approx(0.8)
        assert relaxation.rows == [tight]
        assert not relaxation.revive(tight.key)
        assert relaxation.revive(loose.key)
        assert not relaxation.revive(loose.key)
        assert relaxation.held == [tight, loose]
        for _ in range(5):
            assert relaxation.solve().bound == pytest.approx(0.8)
        assert relaxation.rows == [tight, loose]


@pytest.mark.parametrize("side", [6, 10, 15])
def test_the_cut_phase_ends_at_the_same_bound(side: int) -> None:
    problem = counts(side, side, by_value=True)
    bounds, dropped = [], 0
    for large in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if large:
                eager(patch, columns=5)
            state = Run(problem, UNLIMITED, 0.0, integer=False, seed=0, progress=None)
            bounds.append(max(answer.bound for answer in cut_rounds(state)))
            if large:
                dropped = len(state.master.cuts) - len(state.master.rows)
    assert bounds[0] == pytest.approx(bounds[1])
    assert dropped


# ---- whole solves ----------------------------------------------------------------------------


def outcome(problem: Problem, method: str) -> Suppression | None:
    try:
        return suppress(problem, method=method)
    except Unprotectable:
        return None


@pytest.mark.parametrize("method", ["cuts", "branch"])
def test_large_and_small_ways_give_one_pattern(method: str) -> None:
    @examples(40)
    @given(NETWORKS, st.integers(1, 3))
    def check(problem: Problem, columns: int) -> None:
        one = outcome(problem, method)
        with pytest.MonkeyPatch.context() as patch:
            eager(patch, columns=columns)
            other = outcome(problem, method)
        same_answer(one, other)

    check()


@examples(5)
@given(problems(sparse_tables(), singletons=None))
def test_larger_sparse_tables_give_one_pattern(problem: Problem) -> None:
    assume(HiddenNetwork.of(problem) is not None)
    one = outcome(problem, "cuts")
    with pytest.MonkeyPatch.context() as patch:
        eager(patch)
        other = outcome(problem, "cuts")
    same_answer(one, other)


@pytest.mark.parametrize("side", [10, 20, 30])
def test_counts_give_one_pattern(side: int) -> None:
    problem = counts(side, side, by_value=True)
    one = suppress(problem, method="cuts")
    with pytest.MonkeyPatch.context() as patch:
        eager(patch, columns=50)
        other = suppress(problem, method="cuts")
    assert one.proven
    same_answer(one, other)


def same_answer(one: Suppression | None, other: Suppression | None) -> None:
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    assert (one.cost, one.bound, one.proven) == (other.cost, other.bound, other.proven)
    if one.canonical and other.canonical:
        assert (one.pattern == other.pattern).all()
    assert one.canonical == other.canonical


@pytest.mark.parametrize("most", [0, 200, 1000])
def test_programs_that_are_too_large_leave_an_honest_gap(most: int) -> None:
    problem = counts(20, 1)
    best = suppress(problem, method="cuts")
    with pytest.MonkeyPatch.context() as patch:
        eager(patch, columns=50)
        patch.setattr(master, "_PROGRAM", most)
        found = suppress(problem, method="cuts")
    assert audit(problem, found.pattern).safe
    assert found.bound <= best.cost <= found.cost
    assert found.proven or found.stopped == "precision"


@examples(20)
@given(NETWORKS, st.data())
def test_entries_stop_where_they_are_too_many(problem: Problem, data: st.DataObject) -> None:
    compact = FlowSeparator(net_of(problem), CutFactory(problem), compact=True)
    x = data.draw(points(problem))
    cuts: list[Any] = [*chain(*compact.misses(x, whole=False, clock=UNLIMITED))]
    cells = np.flatnonzero(problem.free)
    matrix = entries(cuts, cells, len(x))
    assert (matrix.toarray() == np.array([c.at(cells) for c in cuts]).reshape(matrix.shape)).all()
    assert entries(cuts, cells, len(x), matrix.nnz) is not None
    if matrix.nnz:
        assert entries(cuts, cells, len(x), matrix.nnz - 1) is None
