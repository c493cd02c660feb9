"""Intervals and audits against brute force that shares no code with them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import UNBOUNDED, InputError, Problem, Table
from csp.attacker import components, engine, maxflow
from csp.attacker.flow import FlowEngine, Network, as_network, half_arcs
from csp.attacker.lp import LpEngine
from csp.audits.audit import audit, follow, verified
from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import interval_claims, intervals
from csp.clock import Clock
from csp.errors import CertificateError
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, frequency_3d, problems, small_tables

FIGURE_2 = [[7, 11, 60], [10, 60, 11], [60, 12, 60]]  # Minami and Abe 2019, Figure 2


def patterns(table: Table) -> st.SearchStrategy[np.ndarray]:
    flags = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    return flags.map(lambda f: np.array(f))


def test_figure_2_of_paper_003_is_between_0_and_17_and_safe_at_10() -> None:
    table = Table.from_array(FIGURE_2)
    pattern = np.zeros((4, 4), dtype=bool)
    pattern[:2, :2] = True
    lower, upper = intervals(table, pattern.ravel())
    assert (lower[0], upper[0]) == (0, 17)
    primary = np.arange(16) == 0
    assert audit(Problem.of(table, primary, spl=10), pattern.ravel()).safe
    assert audit(Problem.of(table, primary, spl=17), pattern.ravel()).safe
    assert not audit(Problem.of(table, primary, spl=18), pattern.ravel()).safe


def test_what_one_who_knows_a_cell_cannot_rule_out_stands_where_the_time_is_over() -> None:
    table = Table.from_array(FIGURE_2)
    inner = ~np.asarray(table.margins)
    pair = interval_claims(table, inner, [0], known=(5,))[0]
    assert all(claim.known == (5,) for claim in pair)
    for level, safe in ((17, True), (10**6, False)):
        problem = Problem.of(table, np.arange(16) == 0, spl=level)
        judged = verified(problem, inner, pair, (), integer=False)
        found = follow(problem, judged, clock=Clock.of(1e-9))
        assert found.cut_short == "time"
        assert found.safe == safe
        assert (found.followed == ~inner).all()


@given(st.data())
def test_rational_intervals_equal_the_exact_simplex_oracle(data: st.DataObject) -> None:
    table = data.draw(small_tables())
    pattern = data.draw(patterns(table))
    ends = interval_claims(table, pattern, np.flatnonzero(pattern))
    for i in np.flatnonzero(pattern).tolist():
        low, high = oracles.rational_interval(table, pattern, i)
        value = int(table.values[i])
        assert ends[i][0].reach == (None if low is None else value - low)
        assert ends[i][1].reach == (None if high is None else high - value)
        assert all(end.exact or end.reach is None for end in ends[i])


@given(st.data())
def test_an_insider_sees_what_the_oracle_says(data: st.DataObject) -> None:
    table = data.draw(small_tables())
    pattern = data.draw(patterns(table))
    hidden = np.flatnonzero(pattern).tolist()
    if not hidden:
        return
    known = data.draw(st.sampled_from(hidden))
    ends = interval_claims(table, pattern, hidden, known=(known,))
    assert known not in ends
    for i in hidden:
        if i != known:
            low, high = oracles.rational_interval(table, pattern, i, (known,))
            value = int(table.values[i])
            assert ends[i][0].reach == (None if low is None else value - low)
            assert ends[i][1].reach == (None if high is None else high - value)


@examples(60)
@given(st.data())
def test_integer_intervals_equal_enumeration(data: st.DataObject) -> None:
    table = data.draw(small_tables())
    pattern = data.draw(patterns(table)) & ~table.margins
    lower, upper = intervals(table, pattern, integer=True)
    # A cell without end in fractions has none in whole numbers, and its tables cannot be listed.
    ends = {i: oracles.rational_interval(table, pattern, i) for i in np.flatnonzero(pattern)}
    for i, (low, high) in ends.items():
        assert (low is None, high is None) == (np.isinf(lower[i]), np.isinf(upper[i]))
    if any(None in end for end in ends.values()):
        return
    values = np.array(list(oracles.integer_tables(table, pattern)))
    assert (values.min(axis=0) == lower).all()
    assert (values.max(axis=0) == upper).all()


@given(st.data())
def test_flow_and_lp_engines_agree_on_networks(data: st.DataObject) -> None:
    table = data.draw(frequency_2d(max_side=4))
    pattern = data.draw(patterns(table))
    for view in components(table, pattern):
        network = as_network(view)
        assert network is not None
        assert isinstance(engine(view), FlowEngine)
        flow, lp = FlowEngine(view, network), LpEngine(view)
        for j in range(len(view.cells)):
            for sign in (1, -1):
                assert flow.extreme(j, sign).reach == lp.extreme(j, sign).reach


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 14))
def test_compiled_flows_equal_their_plain_twins(seed: int, nodes: int, arcs: int) -> None:
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, nodes, arcs), rng.integers(0, nodes, arcs)
    up, down = rng.integers(0, 9, arcs), rng.integers(0, 9, arcs)
    network = Network(tail, head, np.ones(nodes - 1, np.int64))
    targets, signs = np.tile(np.arange(arcs), 2), np.repeat([1, -1], arcs)
    enough = rng.integers(1, 9, 2 * arcs)
    results = []
    for run in (maxflow.ends, maxflow.KERNELS.compiled["ends"]):
        served, reach = np.full(2 * arcs, -1), np.zeros(2 * arcs, np.int64)
        pools = run(
            half_arcs(network, nodes), maxflow.Graph(tail, head, up, down),
            maxflow.Targets(targets, signs, enough), 0, 2 * arcs, served, reach,
            maxflow.working_space(arcs, nodes),
        )  # fmt: skip
        results.append([a.tolist() for a in (*pools, served, reach)])
    assert results[0] == results[1]


@given(st.data())
def test_ends_that_are_enough_are_reached_or_proved_short(data: st.DataObject) -> None:
    """Sharing witnesses and stopping early change no verdict, whichever engine it is."""
    table = data.draw(st.one_of(frequency_2d(max_side=4), frequency_3d()))
    pattern = data.draw(patterns(table))
    for view in components(table, pattern):
        k = len(view.cells)
        targets, signs = np.tile(np.arange(k), 2), np.repeat([1, -1], k)
        enough = np.array(data.draw(st.lists(st.integers(1, 9), min_size=2 * k, max_size=2 * k)))
        engines = [LpEngine(view), engine(view)]
        for attacker in engines:
            full = attacker.ends(targets, signs)
            for end, stop, need in zip(
                full, attacker.ends(targets, signs, enough), enough, strict=True
            ):
                short = end.reach is not None and end.reach < need
                assert short == (stop.reach is not None and stop.reach < need)
                assert not short or (stop.exact and stop.reach == end.reach)


@examples(150)
@given(problems(singletons=None), st.data())
def test_the_audit_verdict_equals_brute_force(problem: Problem, data: st.DataObject) -> None:
    pattern = data.draw(patterns(problem.table)) | problem.forced
    pattern &= problem.status != "z"
    assert audit(problem, pattern).safe == oracles.is_safe(problem, pattern)
    assert audit(problem, pattern, only_primary=True).safe == oracles.is_safe(problem, pattern)


def three_way() -> tuple[Table, np.ndarray]:
    table = Table.from_array(np.arange(8).reshape(2, 2, 2) + 1)
    return table, ~table.margins


def _changed(claim: Claim, **changes: object) -> Claim:
    return replace(claim, **changes)  # type: ignore[arg-type]


def test_a_certificate_with_a_broken_claim_is_refused() -> None:
    table, pattern = three_way()
    ends = interval_claims(table, pattern, np.flatnonzero(pattern))
    claim = next(c for pair in ends.values() for c in pair if c.reach)
    good = Certificate(table, pattern, (claim,))
    good.verify()
    assert claim.reach is not None
    for broken in (
        _changed(claim, reach=claim.reach + 1),
        _changed(claim, reach=claim.reach - Fraction(1, 2)),
        _changed(claim, steps=claim.steps * 2),
        _changed(claim, cells=claim.cells[1:], steps=claim.steps[1:]),
        _changed(claim, known=(int(claim.cells[-1]),)),
    ):
        with pytest.raises(CertificateError):
            Certificate(table, pattern, (broken,)).verify()


def test_forged_claims_are_refused() -> None:
    table = Table.from_array(FIGURE_2)
    pattern = np.zeros((4, 4), dtype=bool)
    pattern[:2, :2] = True
    low, high = interval_claims(table, pattern.ravel(), [0])[0]
    Certificate(table, pattern.ravel(), (low, high)).verify()
    none = np.empty(0, np.int64)
    bare = {"cells": none, "steps": none, "rows": none, "multipliers": none}
    four = np.array([0, 1, 4, 5])
    ring = np.array([1, -1, -1, 1])
    small = np.array([64, -64, -64, 64, 64, 64, 64], np.int8)
    forged: list[dict[str, object]] = [
        {**bare, "denominator": 0, "reach": Fraction(10**9), "exact": False},
        {**bare, "denominator": -1, "reach": Fraction(10**9), "exact": False},
        {**bare, "divisor": 0, "reach": Fraction(0)},
        {**bare, "sign": 0, "reach": Fraction(0)},
        {"sign": 2, "reach": Fraction(20), "exact": False},
        {**bare, "reach": None, "exact": False},
        {"reach": None, "exact": False},
        {"reach": float("nan"), "exact": False},
        {"reach": Fraction(-1)},
        {"reach": Fraction(20), "exact": False, "denominator": 1,
         "cells": np.tile(four, 2), "steps": np.tile(ring * 10, 2)},
        {"cells": np.arange(7), "steps": small, "exact": False},
        {"cells": four, "steps": ring * 10.0, "exact": False},
        {"cells": four, "steps": np.full(4, np.nan), "exact": False},
        {"cell": 2}, {"cell": -16}, {"cell": 99}, {"known": (0,)},
        {"cells": np.array([0, 1, 4, -11]), "steps": ring * 10},
        {"cells": four[:1], "steps": ring[:1] * 10, "exact": False},
        {"cells": four[:2], "steps": ring[:2] * 10, "exact": False},
        {"integer": True, "denominator": 2, "steps": high.steps * 2},
    ]  # fmt: skip
    for changes in forged:
        with pytest.raises(CertificateError):
            Certificate(table, pattern.ravel(), (_changed(high, **changes),)).verify()


@given(st.data())
def test_endless_intervals_come_with_a_ray(data: st.DataObject) -> None:
    table = data.draw(small_tables())
    pattern = data.draw(patterns(table))
    for pair in interval_claims(table, pattern, np.flatnonzero(pattern)).values():
        for claim in pair:
            if claim.reach is None:
                moved = np.zeros(table.n_cells, dtype=object)
                for times in (1, 10**6):
                    moved[claim.cells] = claim.steps * times
                    assert not (table.relations.toarray() @ moved).any()
                    inside = table.values * claim.denominator + moved
                    bounded = table.upper < UNBOUNDED
                    assert (inside >= table.lower * claim.denominator).all()
                    assert (inside <= table.upper * claim.denominator)[bounded].all()
                assert claim.sign * moved[claim.cell] > 0


def test_words_of_violations_hold_no_amounts() -> None:
    table = Table.from_array([[7, 654321], [654321, 77]])
    publish = table.margins
    problem = Problem.of(table, np.arange(9) == 0, upl=700000, publish=publish)
    report = audit(problem, ~publish)
    assert report.violations[0].attained == 654321
    assert "654321" not in report.violations[0].words
    assert "654321" not in repr(report.violations)
    assert "700000" not in report.violations[0].words


def test_fractional_ends_are_exact_and_integers_are_narrower() -> None:
    # Sums over pairs of a triangle: a + b, b + c, a + c leave nothing; weights 2 leave a half.
    from scipy.sparse import csr_array

    relations = csr_array(np.array([[2, 1, -1, 0], [0, 1, 1, -1]]))
    values = np.array([1, 1, 3, 4])
    table = Table(values, relations, np.zeros(4), np.full(4, 9), tuple((c,) for c in "abcd"))
    pattern = np.array([True, True, True, False])
    lower, upper = intervals(table, pattern)
    assert (lower[0], upper[0]) == (0, 2)
    assert (lower[1], upper[1]) == (0, 2)
    narrow = table.replace(upper=np.array([9, 1, 9, 9]))
    assert intervals(narrow, pattern)[0][0] == 1
    odd = table.replace(values=np.array([0, 2, 2, 4]), lower=np.array([0, 1, 0, 0]))
    low, high = intervals(odd, pattern)
    assert (low[0], high[0]) == (0, 1)
    tight = odd.replace(upper=np.array([9, 9, 3, 9]), lower=np.zeros(4))
    low, high = intervals(tight, pattern)
    assert (low[0], high[0]) == (0, 1)


def test_pattern_of_wrong_shape_is_named() -> None:
    table = Table.from_array(FIGURE_2)
    with pytest.raises(InputError, match="16 cells"):
        intervals(table, np.zeros(9, dtype=bool))


def test_misplaced_cells_are_violations() -> None:
    table = Table.from_array(FIGURE_2)
    problem = Problem.of(table, np.arange(16) == 0, spl=1, publish=table.margins)
    kinds = {v.kind for v in audit(problem, table.margins).violations}
    assert kinds == {"published", "suppressed"}


def test_whole_numbers_that_begin_behind_the_level_are_seen() -> None:
    """2 a + 3 b = 6 and b + d = 6: a is 0 or 3, so a level of 1 is kept and no a of 1 shows it."""
    relations = csr_array(np.array([[2, 3, -1, 0, 0], [0, 1, 0, 1, -2]]))
    labels = tuple((c,) for c in "abcde")
    values = np.array([0, 2, 6, 4, 3])
    table = Table(values, relations, np.zeros(5), np.full(5, UNBOUNDED), labels)
    hidden = np.array([True, True, False, True, False])
    for level in ({"spl": 1}, {"upl": 1}, {"upl": 3}):
        problem = Problem.of(table, np.arange(5) == 0, publish=~hidden, **level)
        assert audit(problem, hidden, integer=True, only_primary=True).safe
    beyond = Problem.of(table, np.arange(5) == 0, publish=~hidden, upl=4)
    assert not audit(beyond, hidden, integer=True, only_primary=True).safe
