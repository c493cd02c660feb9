"""Posteriors against sums over brute-force matches, and draws against lists."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import normal_counts, posterior, uniform
from attacks.algorithm_known import network_enumeration
from attacks.algorithm_known.matches import match_test_of
from attacks.algorithm_known.matching_attack import matching
from attacks.algorithm_known.network_enumeration import HULL, MATCHES, VALUES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.public_view import PublicView
from attacks.fibre.consistent_tables import Fibre
from attacks.fibre.samples import KERNELS, draw, moves_of, run_chain
from csp import InputError, Mechanism, MinFrequency, Table
from csp.compiled import at_once
from csp.release.release import Release
from tests.attacks.algorithm_known.test_matching_attack import (
    MECHANISM,
    Options,
    attacked,
    brute,
    full_of,
    options,
    ordinary,
)
from tests.support import oracles
from tests.support.shared import examples, uncompiled
from tests.support.strategies import cube, frequency_2d, frequency_3d, sparse_tables


def skewed(values: np.ndarray) -> np.ndarray:
    """Log weights that differ from value to value."""
    return np.asarray(np.log(1.0 + values % 5) - 0.1 * values)


@examples(8)
@given(
    options(integer=True, margins="publish"),
    st.one_of(frequency_2d(high=7), sparse_tables(), frequency_3d(high=4)),
    st.booleans(),
)
def test_posteriors_are_sums_over_matches(chosen: Options, table: Table, flat: bool) -> None:
    release, mechanism = attacked(chosen, table, 10)
    prior = uniform if flat else skewed
    found = posterior(release, mechanism, prior=prior)
    assert found.exact
    inner = [i for i in range(table.n_cells) if not table.margins[i]]

    def weight(full: tuple[int, ...]) -> float:
        return math.exp(
            sum(float(prior(np.array([full[i]]))[0]) for i in inner if release.pattern[i])
        )

    matches = [full_of(release, x) for x in brute(chosen, release, table)]
    everything = [tuple(t) for t in oracles.integer_tables(table, release.pattern)]
    whole = {True: sum(map(weight, matches)), False: sum(map(weight, everything))}
    assert found.weight == pytest.approx(whole[True] / whole[False])
    for e, cell in enumerate(found.cells.tolist()):
        for value, aware, naive in zip(
            found.values[e], found.probability[e], found.naive[e], strict=True
        ):
            for chance, tables, key in ((aware, matches, True), (naive, everything, False)):
                share = sum(weight(t) for t in tables if t[cell] == value) / whole[key]
                assert chance == pytest.approx(share, abs=1e-12)
        sensitive = sum(
            weight(t) for t in matches
            if chosen.asked(t[cell])[0] and cell in inner
        )  # fmt: skip
        assert found.sensitive[e] == pytest.approx(sensitive / whole[True], abs=1e-12)


@examples(40)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 100))
def test_shortest_intervals_are_the_shortest(weights: list[int], percent: int) -> None:
    from attacks.bayes.posterior import shortest_interval

    if not any(weights):
        weights = [*weights, 1]
    total = sum(weights)
    low, high = shortest_interval(np.arange(len(weights)), np.array(weights) / total, percent / 100)
    runs = [
        (b - a, a, b)
        for a, b in itertools.combinations_with_replacement(range(len(weights)), 2)
        if 100 * sum(weights[a : b + 1]) >= percent * total
    ]
    assert (high - low, low, high) == min(runs)


def test_the_prior_of_absolute_rounded_normals_sums_to_one() -> None:
    weights = np.exp(normal_counts(15, 10)(np.arange(200)))
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    draws = np.abs(np.rint(np.random.default_rng(0).normal(15, 10, 200_000))).astype(int)
    shares = np.bincount(draws, minlength=200)[:30] / len(draws)
    assert np.abs(shares - weights[:30]).max() < 0.004


def test_the_prior_of_large_counts_keeps_its_digits() -> None:
    from decimal import Decimal, getcontext

    getcontext().prec = 60

    def tail(z: Decimal) -> Decimal:
        """Upper tail of the normal distribution for large z, by its continued fraction."""
        value = z
        for k in range(400, 0, -1):
            value = z + k / value
        return (-z * z / 2).exp() / value / Decimal("2.506628274631000502415765284811045253")

    for count in (95, 98, 100, 120, 400):
        ends = [(Decimal(count) + h - 15) / 10 for h in (Decimal("-0.5"), Decimal("0.5"))]
        truth = (tail(ends[0]) - tail(ends[1])).ln()
        found = normal_counts(15, 10)(np.array([count]))[0]
        assert found == pytest.approx(float(truth), rel=1e-9)


def test_left_out_is_a_bound() -> None:
    table = cube(np.array([[5, 9, 6], [8, 3, 9], [7, 7, 2]]))
    mechanism = Mechanism(MinFrequency(9, zero_sensitive=True), width=2, margins="publish")
    protected = mechanism.protect(table)
    fibre = Fibre(protected.release)
    matches = {tuple(x.tolist()) for x in np.vstack(list(match_tables_of(protected, mechanism)))}
    size = fibre.count()
    assert size is not None
    missed = 0
    for seed in range(40):
        found = matching(protected.release, mechanism, method="sample", draws=200, seed=seed)
        assert found.left_out is not None
        outside = sum(
            any(v < a or v > b for v, a, b in zip(x, found.lower, found.upper, strict=True))
            for x in matches
        )
        missed += outside / size > found.left_out
    # Two expected at most; nine would be a chance of less than one in ten thousand.
    assert missed < 9


def match_tables_of(protected: Any, mechanism: Mechanism) -> Any:
    return match_test_of(PublicView.of(protected.release, mechanism)).listed()


def test_drawn_posteriors_come_close() -> None:
    release = MECHANISM.protect(ordinary(5, 4)).release
    exact = posterior(release, MECHANISM, prior=normal_counts(15, 10))
    drawn = posterior(release, MECHANISM, prior=normal_counts(15, 10), draws=4000, seed=5)
    assert not drawn.exact
    assert drawn.effective is not None
    error = 5 / math.sqrt(drawn.effective)
    for one, two in zip(exact.probability, drawn.probability, strict=True):
        assert np.abs(one - two).max() < error
    low, high = exact.shortest()
    assert (low <= exact.mode).all()
    assert (exact.mode <= high).all()


def test_priors_and_limits_that_leave_nothing_are_refused() -> None:
    release = MECHANISM.protect(ordinary(5, 4)).release
    with pytest.raises(InputError, match="no weight to any table"):
        posterior(release, MECHANISM, prior=lambda v: np.full(len(v), -np.inf))
    with pytest.raises(InputError, match="one log weight"):
        posterior(release, MECHANISM, prior=lambda v: np.zeros(3))
    with pytest.raises(InputError, match="give draws="):
        posterior(release, MECHANISM, max_tables=2)
    for wrong in ({"draws": 0}, {"draws": -1}, {"draws": 1.5}, {"seed": -1}, {"max_tables": "9"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be a whole number"):
            posterior(release, MECHANISM, **wrong)  # type: ignore[arg-type]
    for unknown in ("normal", None):
        with pytest.raises(InputError, match="prior must be uniform, normal_counts"):
            posterior(release, MECHANISM, prior=unknown)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one log weight"):
        posterior(release, MECHANISM, prior=lambda v: np.full(len(v), "a"))
    with pytest.raises(InputError, match="above 0 and at most 1"):
        posterior(release, MECHANISM).shortest(1.5)


# ---- draws -------------------------------------------------------------------------------------


@examples(25)
@given(st.one_of(frequency_2d(high=6), sparse_tables(), frequency_3d(high=3)), st.data())
def test_chains_stay_in_the_fibre_and_along_cycles_reach_all_of_it(
    table: Table, data: st.DataObject
) -> None:
    n = table.n_cells
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    flags &= ~table.margins
    flags[0] = True
    fibre = Fibre(Release.of(table, flags))
    size = fibre.count()
    assert size is not None
    moves, connected = moves_of(fibre)
    part = table.relations[:, fibre.cells]
    assert not (part @ moves.T).any()
    if not len(moves) or size > 150:
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    steps = 400 * size
    which, where = rng.integers(0, len(moves), steps), rng.random(steps)
    out = [np.zeros((steps // 2, len(fibre.cells)), dtype=np.int64) for _ in range(2)]
    for run, kept in zip((run_chain, KERNELS.compiled["run_chain"]), out, strict=True):
        start = fibre.table.values[fibre.cells].copy()
        short = 40 if run is run_chain else steps
        run(start, moves, fibre.lower, fibre.upper, which[:short], where[:short], 2, kept)
    assert (out[0][:20] == out[1][:20]).all()
    met = {tuple(x) for x in out[1].tolist()}
    assert met <= {tuple(x.tolist()) for x in fibre}
    if connected:
        assert len(met) == size


def test_chains_are_uniform_and_know_their_worth() -> None:
    table = cube(np.array([[4, 3, 2], [1, 5, 3], [2, 2, 4]]))
    fibre = Fibre(Release.of(table, ~table.margins))
    size = fibre.count()
    assert size is not None
    uncounted = Fibre(fibre.release)
    drawn = draw(uncounted, 40_000, seed=3, max_states=1)
    assert drawn.connected
    assert not drawn.exact
    assert drawn.effective > 20_000
    mean = drawn.tables.mean(axis=0)
    listed = np.array(list(fibre))
    error = 5 * listed.std(axis=0) / math.sqrt(drawn.effective)
    assert (np.abs(mean - listed.mean(axis=0)) < error).all()
    slow = draw(uncounted, 200, seed=3, max_states=1)
    assert slow.effective <= 200
    assert uncounted.count(max_states=1) is None
    assert uncounted.count() == size


@examples(10)
@given(options(integer=True, margins="publish"), frequency_2d(high=9))
def test_tables_judged_beforehand(chosen: Options, table: Table) -> None:
    release, mechanism = attacked(chosen, table, 80)
    read = PublicView.of(release, mechanism)
    tables = np.array(list(Fibre(release)))
    search = NetworkSearch(read, MATCHES)
    while not search.step(10**6):
        pass
    matches = {tuple(x) for x in search.taken().tolist()}
    for plain in (True, False):
        with uncompiled(network_enumeration.KERNELS) if plain else at_once():
            verdicts = NetworkSearch(read, MATCHES).test(tables)
        assert {tuple(x) for x in tables[verdicts].tolist()} == matches
    for mode in (VALUES, HULL):
        fresh, told = NetworkSearch(read, mode), NetworkSearch(read, mode)
        told.test(tables[::3])
        while not fresh.step(10**6):
            pass
        while not told.step(10**6):
            pass
        assert (fresh.seen == told.seen).all()


def test_sampled_attacks_prove_safe_cells_only() -> None:
    rng, met = np.random.default_rng(8), 0
    for _ in range(12):
        table = Table.from_array(np.abs(np.rint(rng.normal(15, 10, (5, 5)))).astype(int))
        protected = MECHANISM.protect(table)
        if not protected.pattern.any():
            continue
        whole = matching(protected.release, MECHANISM)
        found = matching(protected.release, MECHANISM, method="sample", draws=200)
        if found.matched:
            assert (found.lower >= whole.lower).all()
            assert (found.upper <= whole.upper).all()
            met += 1
        else:  # in the largest fibre 262 of 87,321 tables are matches
            assert (found.lower == found.feasible_lower).all()
            assert (found.upper == found.feasible_upper).all()
        assert set(found.verdict) <= {"proved safe", "undecided"}
        assert (whole.verdict[found.verdict == "proved safe"] == "proved safe").all()
        # Never less than with no match outside in half of the draws: 1 - 0.05 ** (1 / 100).
        assert found.left_out is not None
        assert found.left_out >= 1 - 0.05 ** (1 / 100) - 1e-12
    assert met >= 10


def test_tables_too_large_for_masks_get_three_valued_answers() -> None:
    table = ordinary(9, 2)
    mechanism = Mechanism(MinFrequency(30), width=4, margins="publish")
    protected = mechanism.protect(table, time_limit=20)
    assert protected.pattern.sum() > 64
    found = matching(protected.release, mechanism, time_limit=3, draws=50)
    assert found.method in ("auto", "sample")
    assert found.complete or set(found.verdict) <= {"proved safe", "undecided"}
