"""How likely intruders are right, against all permutations, all candidates, and many runs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from microagg.swapping import moves
from microagg.swapping.linkage import group_linkage
from tests.support import oracles_swapping as oracles
from tests.support.shared import examples


@st.composite
def groupings(draw, most=6):
    """Labels of few records, and any values."""
    n = draw(st.integers(1, most))
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return labels, draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


# ---- the closed form --------------------------------------------------------------------------


@given(groupings())
def test_one_in_the_size_of_the_group_is_the_best_link(file):
    labels, values = file
    found = group_linkage(np.array(labels), np.array(values))
    n = len(labels)
    assert found.worst == oracles.best_link(n, range(n), oracles.uniform(labels))
    for i, probability in enumerate(found.probability):
        assert probability == pytest.approx(1 / labels.count(labels[i]))
    right = [sum(i == s for i, s in enumerate(a)) for a in oracles.arrangements(labels)]
    assert found.mean == Fraction(sum(right), len(right) * n)


@given(groupings(5), st.data())
def test_a_sample_is_no_easier_to_link(file, data):
    labels = file[0]
    n = len(labels)
    some = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    part = oracles.best_link(n, sorted(some), oracles.uniform(labels))
    assert part == max(Fraction(1, labels.count(labels[i])) for i in some)


@given(groupings())
def test_the_commonest_value_of_the_group_is_the_best_guess(file):
    labels, values = file
    found = group_linkage(np.array(labels), np.array(values, object))
    ways = list(oracles.arrangements(labels))
    expected = []
    for i in range(len(labels)):
        # What record i had, when the published file is the one at hand: any arrangement back.
        back = Counter(values[a[i]] for a in ways)
        expected.append(Fraction(max(back.values()), len(ways)))
    assert found.value_probability.tolist() == pytest.approx([float(p) for p in expected])
    assert found.value_worst == max(expected)
    assert found.value_mean == sum(expected) / len(expected)
    assert found.known == sum(p == 1 for p in expected)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_permutation_without_fixed_points_breaks_the_bound(size):
    labels = [0] * size + [1] * size if size < 4 else [0] * size
    n = len(labels)
    assert oracles.best_link(n, range(n), oracles.uniform(labels)) == Fraction(1, size)
    assert oracles.best_link(n, range(n), oracles.deranged(labels)) == Fraction(1, size - 1)


# ---- simulation -------------------------------------------------------------------------------

RUNS = 600


def shares_right(swap, column, guesses):
    """Share of runs in which a value of the masked file is given to its owner, by record."""
    right = np.zeros((len(guesses), len(column)))
    for seed in range(RUNS):
        masked = np.asarray(swap(seed).column("pay"), float)
        right += masked[np.array(guesses)] == column
    return right / RUNS


def deranged_permutation(labels, generator):
    """A permutation of each group without fixed points: what must not be done."""
    while True:
        source = PERMUTED(labels, generator)
        if (source != np.arange(len(labels))).all():
            return source


PERMUTED = moves.permuted
PAY = np.array([3.0, 14, 15, 92, 65, 35])
AGE = np.array([20.0, 21, 22, 60, 61, 62])
STRATEGIES = ([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], [1, 0, 2, 3, 5, 4])
"""Whose published value each is taken to be."""


@pytest.mark.parametrize("method", ["uninformed", "informed", "individual ranking"])
def test_no_guess_is_right_more_often_than_the_bound(method):
    def swap(seed):
        if method == "individual ranking":
            return microagg.ir_swap({"pay": PAY, "age": AGE}, 3, confidential=["pay"], seed=seed)
        return microagg.mdav_swap(
            {"pay": PAY, "age": AGE}, 3, confidential=["pay"], intruders=method, seed=seed
        )

    bound = microagg.linkage_probability(swap(0))["pay"]
    assert bound.worst == Fraction(1, 3)
    guesses = STRATEGIES
    if method == "individual ranking":  # groups are of neighbours in pay, not in age
        low = np.argsort(PAY)
        guesses = [low[np.array(g)][np.argsort(low)] for g in STRATEGIES]
    noise = 5 * np.sqrt(1 / 3 * 2 / 3 / RUNS)
    assert np.abs(shares_right(swap, PAY, guesses) - bound.probability).max() < noise
    with mock.patch.object(moves, "permuted", deranged_permutation):
        assert shares_right(swap, PAY, guesses).max() > 1 / 3 + noise


# ---- informed intruders who know the mechanism --------------------------------------------------


@st.composite
def small_files(draw, quasi, confidential, n=4):
    columns = [draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)) for _ in range(quasi)]
    different = st.lists(st.integers(0, 20), min_size=n, max_size=n, unique=True)
    return columns + [draw(different) for _ in range(confidential)]


def worst_link(columns, quasi, place, order, k, some):
    """Over some of the files that may be published."""
    files = [f for f, _ in oracles.published_files(columns, quasi, order, k)]
    chosen = random.Random(0).sample(files, min(some, len(files)))
    return max(oracles.informed_best(columns, f, quasi, place, order, k) for f in chosen)


@examples(20)
@given(small_files(1, 2), st.integers(0, 1))
def test_forward_groups_keep_the_bound(columns, place):
    assert worst_link(columns, 1, place, "forward", 2, 3) <= Fraction(1, 2)


@examples(6)
@given(small_files(0, 2), st.integers(0, 1))
def test_forward_groups_keep_the_bound_without_quasi_identifiers(columns, place):
    assert worst_link(columns, 0, place, "forward", 2, 2) <= Fraction(1, 2)


@examples(15)
@given(small_files(1, 2))
def test_sequential_groups_keep_the_bound_for_the_first_attribute(columns):
    assert worst_link(columns, 1, 0, "sequential", 2, 3) <= Fraction(1, 2)


FIVE = [[11, 3, 17, 8, 0], [5, 19, 2, 12, 7]]


@pytest.mark.parametrize(("order", "place"), [("sequential", 1), ("simultaneous", 0)])
def test_groups_made_of_an_attribute_betray_it(order, place):
    assert worst_link(FIVE, 0, place, order, 2, 20) > Fraction(1, 2)


@examples(8)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_ranking_keeps_the_bound_with_ties(column):
    assert worst_link([column], 0, 0, "shuffled", 2, 3) <= Fraction(1, 2)


def test_ranking_by_row_betrays_ties():
    # The 2 is grouped with the first 1: where it is in the last row, it has always been there.
    column = [1, 1, 1, 2]
    assert worst_link([column], 0, 0, "rank", 2, 9) == 1
    assert worst_link([column], 0, 0, "shuffled", 2, 9) <= Fraction(1, 2)


def test_ties_are_broken_as_the_enumeration_says():
    column = [1, 1, 1, 2]
    runs = 800
    found = Counter(
        tuple(microagg.ir_swap({"x": column}, 2, seed=seed).column("x").tolist())
        for seed in range(runs)
    )
    for place in range(4):
        after = [1] * 4
        after[place] = 2
        wanted = float(oracles.shuffled_chance(column, after, 2))
        assert wanted == pytest.approx(1 / 2 if place == 3 else 1 / 6)
        noise = 5 * (wanted * (1 - wanted) / runs) ** 0.5
        assert found[tuple(after)] / runs == pytest.approx(wanted, abs=noise)


FILE = {"age": AGE, "pay": PAY, "tax": PAY**2 % 11, "rent": AGE**2 % 7}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"order": "sequential"}, [True, False]),
        ({"order": "simultaneous"}, [False, False]),
        ({"order": "forward"}, [True, True]),
        ({"intruders": "uninformed"}, [True, True]),
    ],
)
def test_what_is_proved_is_said(how, expected):
    assert_proved(how, expected)


def test_the_order_that_is_proved_is_the_default():
    assert_proved({}, [True, True])


@pytest.mark.parametrize("label", ["", "forward", "informed, sequential", "uninformed"])
def test_labels_prove_nothing(label):
    masked = microagg.mdav_swap(FILE, 2, confidential=["pay", "tax"], order="sequential", seed=1)
    for change in ({"variant": label}, {"method": label}):
        found = microagg.linkage_probability(replace(masked, **change))
        assert [one.proved for one in found.parts] == [True, False]
    safe = microagg.mdav_swap(FILE, 2, confidential=["pay", "tax"], seed=1)
    assert microagg.linkage_probability(replace(safe, variant=label)).proved


def assert_proved(how, expected):
    masked = microagg.mdav_swap(FILE, 2, confidential=["pay", "tax"], seed=1, **how)
    found = microagg.linkage_probability(masked)
    assert [one.proved for one in found.parts] == expected
    assert found.proved == all(expected)
    assert [row["proved"] for row in masked.summary()["linkage"]] == expected
    alone = microagg.mdav_swap(FILE, 2, confidential=["pay"], seed=1, **how)
    assert microagg.linkage_probability(alone).proved
    assert microagg.linkage_probability(
        microagg.ir_swap(FILE, 2, confidential=["pay", "tax"])
    ).proved


def test_classes_of_equal_means_are_one():
    # Both groups of x have the mean 5: four records are alike.
    data = {"x": [4.0, 6, 0, 10, 90, 91]}
    labels = np.array([0, 0, 1, 1, 2, 2])
    with mock.patch("microagg.swapping.methods.mdav_labels", return_value=labels):
        masked = microagg.mdav_id(data, 2)
    found = microagg.linkage_probability(masked)
    assert found["x"].probability.tolist() == [0.25] * 4 + [0.5] * 2
    assert found.worst == Fraction(1, 2)
    assert found["x"].value_mean == found["x"].mean == Fraction(2, 6)


def test_confidential_values_of_classes():
    data = {"x": [1.0, 2, 3, 11, 12, 13], "y": [7, 7, 7, 7, 8, 9]}
    masked = microagg.mdav_id(data, 3, confidential=["y"])
    found = microagg.linkage_probability(masked)["y"]
    assert found.value_probability.tolist() == pytest.approx([1, 1, 1, 1 / 3, 1 / 3, 1 / 3])
    assert (found.value_mean, found.known, found.value_worst) == (Fraction(2, 3), 3, 1)
