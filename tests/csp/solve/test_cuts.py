"""Cuts: violated by the point they are made for, satisfied by every safe pattern."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import csp
from csp import Problem
from csp.attacker import components, maxflow
from csp.attacker.flow import FlowEngine, as_network
from csp.attacker.lp import LpEngine
from csp.audits.audit import audit
from csp.clock import UNLIMITED, Clock
from csp.compiled import at_once
from csp.solve.cuts import Cut, CutFactory, cover_cut, no_good, outside_cut, round_up
from csp.solve.exact.separation import _cuts_of
from csp.solve.exact.state import Run
from csp.solve.general.separate import Separator
from csp.solve.network import paths, separate
from csp.solve.network.network import HiddenNetwork, clean_paths, suppress_paths
from csp.solve.network.separate import FlowSeparator
from tests.csp.solve.test_small import any_networks
from tests.support import oracles
from tests.support.shared import examples, uncompiled
from tests.support.strategies import (
    frequency_2d,
    frequency_3d,
    hierarchical_tables,
    linked_tables,
    negative_tables,
    problems,
    relation_tables,
    small_tables,
    sparse_tables,
)

NETWORKS = st.one_of(
    any_networks(),
    problems(
        st.one_of(frequency_2d(), sparse_tables(), negative_tables()), max_free=7, max_primary=4
    ),
)
OTHERS = problems(
    st.one_of(frequency_3d(), hierarchical_tables(), linked_tables(), relation_tables()),
    max_free=7, max_primary=4,
)  # fmt: skip


def safe_patterns(problem: Problem) -> list[np.ndarray]:
    """Every safe pattern; what lies inside an unsafe one is not asked."""
    forced = problem.forced
    free = np.flatnonzero(problem.free).tolist()
    unsafe: list[frozenset[int]] = []
    found = []
    for size in range(len(free), -1, -1):
        for chosen in itertools.combinations(free, size):
            if any(set(chosen) <= bad for bad in unsafe):
                continue
            pattern = forced.copy()
            pattern[list(chosen)] = True
            if oracles.is_safe(problem, pattern.tolist()):
                found.append(pattern)
            else:
                unsafe.append(frozenset(chosen))
    return found


def minimal(patterns: list[np.ndarray]) -> list[np.ndarray]:
    return [p for p in patterns if not any((q <= p).all() and (q != p).any() for q in patterns)]


def points(problem: Problem) -> st.SearchStrategy[np.ndarray]:
    """Points of the relaxation: forced cells at 1, cells that must be published at 0."""
    share = st.sampled_from([0.0, 0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 1.0])
    shares = st.lists(share, min_size=len(problem.primary), max_size=len(problem.primary))
    return shares.map(lambda x: np.where(problem.forced, 1.0, np.where(problem.free, x, 0.0)))


def check_cut(problem: Problem, cut: Cut, x: np.ndarray | None, safe: list[np.ndarray]) -> None:
    assert problem.free[cut.cells].all()
    assert (np.diff(cut.cells) > 0).all()
    if x is not None:
        assert cut.slack(x) < 0
    for pattern in safe:
        assert cut.slack(pattern.astype(float)) >= -1e-9 * max(1.0, abs(cut.right))


def separator_of(problem: Problem, cutter: CutFactory) -> Separator | FlowSeparator:
    net = HiddenNetwork.of(problem)
    return Separator(problem, cutter) if net is None else FlowSeparator(net, cutter)


@pytest.mark.parametrize("kind", ["networks", "others"])
def test_separated_cuts_are_violated_and_valid(kind: str) -> None:
    @examples(30)
    @given(NETWORKS if kind == "networks" else OTHERS, st.data())
    def check(problem: Problem, data: st.DataObject) -> None:
        safe = safe_patterns(problem)
        cutter = CutFactory(problem)
        separators: list[Any] = [separator_of(problem, cutter)]
        if isinstance(separators[0], FlowSeparator):
            separators.append(Separator(problem, cutter))
        for _ in range(3):
            x = data.draw(points(problem))
            for separator in separators:
                for cuts in separator.misses(x, whole=False, clock=UNLIMITED):
                    assert cuts
                    for cut in cuts:
                        check_cut(problem, cut, x, safe)
            for cut in cutter.bridgeless(x):
                check_cut(problem, cut, x, minimal(safe))

    check()


@pytest.mark.parametrize("kind", ["networks", "others"])
def test_a_pattern_misses_a_requirement_exactly_if_it_is_unsafe(kind: str) -> None:
    @examples(30)
    @given(NETWORKS if kind == "networks" else OTHERS, st.data())
    def check(problem: Problem, data: st.DataObject) -> None:
        safe = safe_patterns(problem)
        cutter = CutFactory(problem)
        separator = separator_of(problem, cutter)
        for _ in range(3):
            pattern = data.draw(points(problem)) >= 0.5
            x = pattern.astype(float)
            misses = separator.misses(x, whole=True, clock=UNLIMITED)
            assert bool(misses) != any((pattern == p).all() for p in safe)
            for cut in itertools.chain(*misses):
                check_cut(problem, cut, x, safe)

    check()


@examples(30)
@given(problems(max_free=7, singletons=None), st.data())
def test_cuts_of_an_audit_are_valid_and_exclude_the_pattern(
    problem: Problem, data: st.DataObject
) -> None:
    pattern = data.draw(points(problem)) >= 0.5
    result = audit(problem, pattern, only_primary=True)
    assume(not result.safe)
    run = Run(problem, UNLIMITED, 0.0, integer=False, seed=0, progress=None)
    safe = safe_patterns(problem)
    cuts = _cuts_of(run, pattern, result)
    for cut in cuts:
        check_cut(problem, cut, None, safe)


@examples(40)
@given(problems(small_tables(), max_free=7, singletons=None), st.data())
def test_any_multipliers_give_a_valid_cut(problem: Problem, data: st.DataObject) -> None:
    primaries = np.flatnonzero(problem.primary).tolist()
    p = data.draw(st.sampled_from(primaries))
    kind = data.draw(st.sampled_from(["up", "down", "slide"]))
    level = {"up": problem.upl, "down": problem.lpl, "slide": problem.spl}[kind]
    assume(level[p] > 0)
    known: tuple[int, ...] = ()
    if problem.alone.any():
        s = data.draw(st.sampled_from(np.flatnonzero(problem.alone).tolist()))
        inside, part_of = oracles.knowledge(problem, s)
        if p not in part_of:
            known = tuple(inside)
    m = problem.table.relations.shape[0]
    sides = []
    for sign in {"up": (1,), "down": (-1,), "slide": (1, -1)}[kind]:
        numbers = data.draw(st.lists(st.integers(-3, 3), min_size=m, max_size=m))
        rows = np.flatnonzero(numbers)
        divisor = data.draw(st.integers(1, 4))
        sides.append((sign, rows, np.array(numbers, dtype=np.int64)[rows], divisor))
    cut = CutFactory(problem).capacity(p, int(level[p]), sides, known)
    if cut is not None:
        check_cut(problem, cut, None, safe_patterns(problem))


# ---- compiled and plain ----------------------------------------------------------------------


def keys_of(misses: list[tuple[Any, ...]]) -> list[list[bytes]]:
    return [[cut.key for cut in cuts] for cuts in misses]


def test_compiled_separation_equals_its_plain_twin() -> None:
    @examples(30)
    @given(NETWORKS, st.data())
    def same(problem: Problem, data: st.DataObject) -> None:
        net = HiddenNetwork.of(problem)
        assert net is not None
        separator = FlowSeparator(net, CutFactory(problem))
        x = data.draw(points(problem))
        for whole in (False, True):
            point = (x >= 0.5).astype(float) if whole else x
            most = data.draw(st.none() | st.integers(1, 3))
            with at_once():
                fast = separator.misses(point, whole=whole, clock=UNLIMITED, most=most)
            with uncompiled(separate.KERNELS):
                slow = separator.misses(point, whole=whole, clock=UNLIMITED, most=most)
            assert keys_of(fast) == keys_of(slow)

    same()


def test_compiled_paths_equal_their_plain_twins() -> None:
    @examples(50)
    @given(NETWORKS, st.data())
    def same(problem: Problem, data: st.DataObject) -> None:
        net = HiddenNetwork.of(problem)
        assert net is not None
        price = st.floats(0, 100) | st.integers(0, 3).map(float)
        n = len(problem.primary)
        weights = np.array(data.draw(st.lists(price, min_size=n, max_size=n)))
        begin = data.draw(st.none() | points(problem).map(lambda x: x > 0.5))
        end = Clock.of(600)
        found = []
        for plain in (False, True):
            with uncompiled(paths.KERNELS) if plain else at_once():
                path = suppress_paths(net, weights, clock=end, begin=begin)
                rest = clean_paths(net, path, weights) if isinstance(path, np.ndarray) else None
            found.append((path, rest))
        assert all(
            np.array_equal(fast, slow) and type(fast) is type(slow)
            for fast, slow in zip(*found, strict=True)
        )
        path, rest = found[0]
        everything = problem.free | problem.forced
        if not isinstance(path, np.ndarray):
            assert not oracles.is_safe(problem, everything.tolist())
            return
        assert rest is not None
        assert oracles.is_safe(problem, path.tolist())
        assert oracles.is_safe(problem, rest.tolist())
        for i in np.flatnonzero(rest & problem.free).tolist():
            assert not oracles.is_safe(problem, (rest & (np.arange(n) != i)).tolist())

    same()


@examples(50)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 9))
def test_compiled_orientation_equals_its_plain_twin(seed: int, nodes: int, edges: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)
    turn = rng.choice([-1, 1], edges)
    ends = np.concatenate([one, two])
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[order], np.arange(nodes + 1)).astype(np.int64)
    lists = start, np.concatenate([two, one])[order], np.concatenate([turn, turn])[order]
    answers = []
    for run in (maxflow.orient, maxflow.KERNELS.compiled["orient"]):
        sign = np.zeros(nodes, np.int64)
        answers.append((bool(run(*lists, sign)), sign.tolist()))
    assert answers[0] == answers[1]
    found, signs = answers[0]
    edges_ = list(zip(one, two, turn, strict=True))
    all_signs = itertools.product((1, -1), repeat=nodes)
    fits = [s for s in all_signs if all(s[a] * t == s[b] for a, b, t in edges_)]
    assert found == bool(fits)
    assert not found or tuple(signs) in fits


@examples(30)
@given(any_networks(), st.data())
def test_engines_agree_on_any_network(problem: Problem, data: st.DataObject) -> None:
    pattern = data.draw(points(problem)) >= 0.5
    for view in components(problem.table, pattern):
        network_ = as_network(view)
        assert network_ is not None
        k = len(view.cells)
        targets, signs = np.tile(np.arange(k), 2), np.repeat([1, -1], k)
        ends = [
            [(e.reach, e.exact) for e in engine.ends(targets, signs)]
            for engine in (FlowEngine(view, network_), LpEngine(view))
        ]
        assert ends[0] == ends[1]


@pytest.mark.parametrize("exponent", range(40, 62))
def test_a_bound_some_roundings_too_high_is_not_rounded_past_the_optimum(exponent: int) -> None:
    optimum = 2**exponent + 1
    bound = float(optimum)
    for _ in range(3):
        bound = np.nextafter(bound, np.inf)
    assert optimum * (1 - 2**-49) <= round_up(bound, 1) <= optimum


def test_cuts_exclude_a_pattern_with_its_parts_or_alone_or_with_all_that_hold_it() -> None:
    problem = Problem.of(csp.Table.from_array([[5, 6], [7, 8]]), np.arange(9) == 0, upl=1)
    free = np.flatnonzero(problem.free)
    pattern = np.isin(np.arange(9), free[:4])
    for size in range(len(free) + 1):
        for chosen in itertools.combinations(free.tolist(), size):
            other = np.isin(np.arange(9), chosen)
            x = other.astype(float)
            assert (outside_cut(problem, pattern).slack(x) < 0) == (not (other & ~pattern).any())
            assert (no_good(problem, pattern).slack(x) < 0) == (other == pattern).all()
            assert (cover_cut(pattern).slack(x) < 0) == (not (pattern & ~other).any())
