"""Posteriors over matchings against lists of all of them, and the claims of the paper on them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.errors import InputError, OutOfTime
from microagg.intruders import linkage_posterior, matchings
from tests.support.shared import examples


def by_hand(weights: list[list[Any]]) -> list[list[Fraction]] | None:
    """Posterior of every link, from the list of all matchings; None if there is none."""
    persons, records = len(weights), len(weights[0])
    found = [[Fraction(0)] * records for _ in weights]
    for matching in permutations(range(persons), records):
        weight = math.prod(Fraction(weights[i][j]) for j, i in enumerate(matching))
        for j, i in enumerate(matching):
            found[i][j] += weight
    total = sum(row[0] for row in found)
    return [[share / total for share in row] for row in found] if total else None


@st.composite
def likelihoods(draw: st.DrawFn) -> list[list[Any]]:
    persons = draw(st.integers(1, 5))
    records = draw(st.integers(1, persons))
    entry = st.one_of(st.integers(0, 3), st.sampled_from([0.25, 0.1, Fraction(1, 3)]))
    return [[draw(entry) for _ in range(records)] for _ in range(persons)]


@examples(200)
@given(likelihoods())
def test_posteriors_are_those_of_all_matchings(weights: list[list[Any]]) -> None:
    expected = by_hand(weights)
    shape = (len(weights), len(weights[0]))

    def together(matching: tuple[int, ...]) -> Fraction:
        return math.prod(
            (Fraction(weights[i][j]) for j, i in enumerate(matching)), start=Fraction(1)
        )

    if expected is None:
        for given_as in (weights, together):
            with pytest.raises(InputError):
                linkage_posterior(given_as, shape)
        return
    for given_as in (weights, together):
        found = linkage_posterior(given_as, shape)
        assert found.error == 0
        assert found.probability.tolist() == expected
        assert found.worst == max(max(row) for row in expected)
        assert found.released.tolist() == [sum(row) for row in expected]
        for k in range(1, 6):
            assert found.is_anonymous(k) is (found.worst <= Fraction(1, k))


def test_a_group_of_a_swap_hides_each_record_among_all_of_it() -> None:
    weights = np.zeros((305, 305), int)
    weights[:300, :300] = weights[300:, 300:] = 1
    found = linkage_posterior(weights)
    assert found.error == 0
    assert (found.probability[:300, :300] == Fraction(1, 300)).all()
    assert (found.probability[300:, 300:] == Fraction(1, 5)).all()
    assert not found.probability[:300, 300:].any()


def test_publishing_fewer_records_can_tell_more() -> None:
    # Soria-Comas and Domingo-Ferrer, section IV-A: who is safe where all records are published is
    # so where a sample is. That is so for a swap. In general it is not: 0.9 where it was 0.5.
    weights = [[Fraction(45, 100), Fraction(45, 100)], [Fraction(5, 100), Fraction(5, 100)]]
    assert linkage_posterior(weights).worst == Fraction(1, 2)
    assert linkage_posterior([row[:1] for row in weights]).worst == Fraction(9, 10)


def test_random_groups_hide_each_record_among_k_and_not_among_all() -> None:
    # The same section: random groups give probabilistic |T|-anonymity, as anybody's values may be
    # swapped with anybody's. They may, but a record shows its own with probability 1 / k.
    n, k = 4, 2
    weight: dict[tuple[int, ...], int] = {}
    for first in combinations(range(n), k):
        second = [i for i in range(n) if i not in first]
        for one in permutations(first):
            for two in permutations(second):
                source = dict(zip(first, one, strict=True)) | dict(zip(second, two, strict=True))
                key = tuple(source[i] for i in range(n))
                weight[key] = weight.get(key, 0) + 1
    found = linkage_posterior(lambda persons: weight.get(persons, 0), (n, n))
    own = np.eye(n, dtype=bool)
    assert (found.probability[own] == Fraction(1, k)).all()
    assert (found.probability[~own] == Fraction(1, 6)).all()
    assert found.is_anonymous(k)
    assert not found.is_anonymous(n)


def test_draws_meet_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    for persons, records in ((6, 6), (7, 4)):
        places = rng.normal(size=persons)
        weights = np.exp(-2 * (places[:, None] - places[:records] - 0.1) ** 2)
        weights[0, 1] = 0
        exact = linkage_posterior(weights)
        with monkeypatch.context() as small:
            small.setattr(matchings, "EXACT", 0)
            drawn = linkage_posterior(weights, draws=1000, seed=1)
        assert exact.error == 0
        assert 0 < drawn.error < 0.08
        assert np.abs(drawn.probability - exact.probability.astype(float)).max() < drawn.error
        assert drawn.is_anonymous(1)
        assert drawn.is_anonymous(persons) is False
        with monkeypatch.context() as small:
            small.setattr(matchings, "EXACT", 0)
            with pytest.raises(OutOfTime, match="of 2,000 matchings"):
                linkage_posterior(weights, draws=2000, time_limit=1e-9)


def test_bounds_of_draws_never_promise_more_than_there_is() -> None:
    # Huber and Law (2008), Lemma 1: chances of the persons for one record add up to 1 at most.
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n = int(rng.integers(1, 7))
        square = rng.random((n, n)) ** rng.integers(1, 6) * (rng.random((n, n)) < 0.8)
        bounds = matchings._bound(square.sum(axis=1)) / math.e
        after = matchings._bound(square[:, 1:].sum(axis=1)) / math.e
        rest = sum(square[i, 0] * np.delete(after, i).prod() for i in range(n))
        assert rest <= bounds.prod() * (1 + 1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1, 2]], "2 records of 1 persons"),
        ([[1], [-1]], "person 1 and record 0"),
        ([[1, math.nan], [1, 1]], "person 0 and record 1"),
        ([[1, 0], [1, 0]], "record 1 cannot be of any person"),
        ([[0, 0, 1], [0, 0, 1], [1, 1, 1]], "no matching"),
        ([1, 2], "persons by records"),
        ([[None]], "person 0 and record 0 must be a finite number of at least 0, got None"),
        ([["a"]], "got 'a'"),
    ],
)
def test_what_is_no_likelihood_is_refused(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        linkage_posterior(weights)


def test_functions_of_too_many_matchings_are_refused() -> None:
    with pytest.raises(InputError, match="3,628,800 matchings"):
        linkage_posterior(lambda _: 1, (10, 10))
    with pytest.raises(InputError, match="shape"):
        linkage_posterior(lambda _: 1)
    with pytest.raises(InputError, match=r"shape must be two numbers, \(persons, records\)"):
        linkage_posterior(lambda _: 1, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"persons \(0,\) must be a finite number"):
        linkage_posterior(lambda _: None, (2, 1))
    narrow = linkage_posterior(lambda persons: np.float32(persons[0] + 1), (2, 1))
    assert narrow.worst == Fraction(2, 3)
    with pytest.raises(InputError, match="draws must be a whole number"):
        linkage_posterior([[1]], draws=0)
