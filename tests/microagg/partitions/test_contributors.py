"""Joining clusters until each has k contributors, against the definition in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp.clock import Clock
from csp.errors import OutOfTime
from microagg.partitions.contributors import joined_to_k
from tests.support.shared import examples


def definition(
    points: list[tuple[int, int]], labels: list[int], who: list[int], k: int
) -> list[set[int]]:
    groups = [{i for i, g in enumerate(labels) if g == label} for label in sorted(set(labels))]

    def mean(group: set[int]) -> list[Fraction]:
        return [Fraction(sum(points[i][j] for i in group), len(group)) for j in range(2)]

    def people(group: set[int]) -> int:
        return len({who[i] for i in group})

    while min(map(people, groups)) < k:
        few = min(range(len(groups)), key=lambda g: people(groups[g]))
        here = mean(groups[few])
        near = min(
            (g for g in range(len(groups)) if g != few),
            key=lambda g: sum((a - b) ** 2 for a, b in zip(here, mean(groups[g]), strict=True)),
        )
        groups[near] |= groups[few]
        del groups[few]
    return groups


@given(st.data())
@examples(150)
def test_against_the_definition(draws: st.DataObject) -> None:
    n = draws.draw(st.integers(2, 14))
    # So far apart that two means are hardly ever equally near, which rounding would decide.
    place = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))
    points = draws.draw(st.lists(place, min_size=n, max_size=n, unique=True))
    labels = draws.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    labels = np.unique(labels, return_inverse=True)[1].tolist()
    who = draws.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    k = draws.draw(st.integers(1, len(set(who))))
    points = [(x + 7919 * i * i, y + 104729 * i) for i, (x, y) in enumerate(points)]
    found = joined_to_k(np.array(points, float), np.array(labels), np.array(who), k)
    groups = [{i for i, g in enumerate(found.tolist()) if g == h} for h in range(found.max() + 1)]
    assert all(len({who[i] for i in group}) >= k for group in groups)
    whole = [{i for i, g in enumerate(labels) if g == h} for h in range(max(labels) + 1)]
    assert all(any(old <= new for new in groups) for old in whole)
    wanted = definition(points, labels, who, k)
    assert sorted(map(sorted, groups)) == sorted(map(sorted, wanted))


def test_by_hand() -> None:
    points = np.array([[0.0], [1], [10], [11], [30], [31]])
    labels = np.array([0, 0, 1, 1, 2, 2])
    who = np.array([7, 7, 1, 2, 3, 4])
    assert joined_to_k(points, labels, who, 2).tolist() == [0, 0, 0, 0, 1, 1]
    assert joined_to_k(points, labels, who, 3).tolist() == [0] * 6
    assert joined_to_k(points, labels, None, 2) is labels
    with pytest.raises(OutOfTime, match="every cluster had k contributors"):
        joined_to_k(points, labels, who, 3, Clock.of(1e-9))


def test_a_time_limit_is_kept() -> None:
    rng = np.random.default_rng(3)
    with pytest.raises(OutOfTime):
        microagg.mdav(rng.normal(size=(500, 2)), 3, contributor=rng.integers(0, 90, 500),
                      time_limit=1e-9)  # fmt: skip
