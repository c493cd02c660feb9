"""Groups of the swap: by V-MDAV, by chance, and joined until values are diverse or close."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp.errors import InputError
from microagg.partitions.methods.vmdav import vmdav_labels
from microagg.scaling import scaled
from microagg.swapping.grouping import Grouping
from tests.support.shared import examples


@st.composite
def files(draw):
    n = draw(st.integers(6, 16))
    column = st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(lambda c: len(set(c)) > 1)
    return {name: draw(column) for name in ("age", "size", "pay", "tax")}


def members(labels):
    return [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]


def assert_swapped_within(masked, file, name, k):
    groups = members(masked.partitions[name].labels)
    assert min(map(len, groups)) >= k
    for group in groups:
        assert sorted(masked.column(name)[group]) == sorted(np.array(file[name])[group])


def distance(values, everyone):
    """Earth mover's distance to the file, neighbouring values one step apart (Li and others)."""
    ranks = sorted(set(everyone))
    if len(ranks) == 1:
        return Fraction(0)
    total = running = Fraction(0)
    for value in ranks[:-1]:
        running += Fraction(values.count(value), len(values))
        running -= Fraction(everyone.count(value), len(everyone))
        total += abs(running)
    return total / (len(ranks) - 1)


@examples(60)
@given(files(), st.integers(2, 3), st.sampled_from(["informed", "uninformed"]), st.data())
def test_groups_are_what_was_asked_for(file, k, intruders, data):
    l = data.draw(st.sampled_from([None, 1, 2, 3]))  # noqa: E741
    t = data.draw(st.sampled_from([None, Fraction(1, 5), 0]))
    groups = data.draw(st.sampled_from(["mdav", "vmdav", "random"]))
    ask = {"confidential": ["pay", "tax"], "intruders": intruders, "groups": groups, "seed": 1}

    def holds(values, everyone):
        diverse = not l or len(set(values)) >= l
        return diverse and (t is None or distance(values, everyone) <= t)

    if not all(holds(file[name], file[name]) for name in ("pay", "tax")):
        with pytest.raises(InputError, match="ask for a smaller l"):
            microagg.mdav_swap(file, k, l=l, t=t, **ask)
        return
    masked = microagg.mdav_swap(file, k, l=l, t=t, **ask)
    plain = microagg.mdav_swap(file, k, **ask)
    for name in ("pay", "tax"):
        assert_swapped_within(masked, file, name, k)
        for group in members(masked.partitions[name].labels):
            assert holds([file[name][i] for i in group], file[name])
    first = masked.partitions["pay"].labels
    before = plain.partitions["pay"].labels
    assert masked.proved["pay"] is bool((first == before).all())
    assert all(len({first[i] for i in group}) == 1 for group in members(before))


@examples(15)
@given(files(), st.integers(2, 3), st.sampled_from([0, 0.2, 1.1]))
def test_vmdav_makes_the_groups(file, k, gamma):
    masked = microagg.mdav_swap(
        file, k, confidential=["pay"], quasi_identifiers=["age", "size"], groups="vmdav",
        gamma=gamma, seed=1,
    )  # fmt: skip
    points = scaled(microagg.read_records(file, ["age", "size"]), "standardise")
    labels = masked.partitions["pay"].labels
    assert (labels == vmdav_labels(points, k, gamma)).all()
    assert masked.partitions["pay"].method == "V-MDAV"


def test_groups_by_chance_have_k_records_and_every_partition_is_as_likely():
    found = {}
    for seed in range(3000):
        labels = Grouping(2, "random").labels(np.zeros((4, 1)), np.random.default_rng(seed))
        assert np.bincount(labels).tolist() == [2, 2]
        key = tuple(labels == labels[0])
        found[key] = found.get(key, 0) + 1
    assert len(found) == 3
    assert min(found.values()) > 900  # a third of 3,000, less four deviations
    sizes = Grouping(3, "random").labels(np.zeros((11, 1)), np.random.default_rng(0))
    assert sorted(np.bincount(sizes)) == [3, 3, 5]


def test_joined_groups_keep_one_in_k_and_no_more():
    # Records 0, 1 and 2, 3, 4 are near each other; two of five values are 5. That everything was
    # joined says that both are in the first group: its values are known. A link is right with
    # probability 1/2, which is one in k and not one in five.
    points, values, k = np.array([[0.0], [0.1], [9.0], [9.1], [9.2]]), [5, 5, 1, 2, 3], 2
    grouping = Grouping(k, l=2)
    start = np.array([0, 0, 1, 1, 1])
    weight = {}
    for had in permutations(range(5)):  # the entry that each record had
        column = np.array([values[e] for e in had], float)
        labels = grouping.widened(start, points, {"pay": column})
        for published in permutations(range(5)):
            if (labels[[had.index(e) for e in published]] == labels).all():
                chance = Fraction(1, math.prod(math.factorial(s) for s in np.bincount(labels)))
                weight.setdefault((published, int(labels.max())), {})[had] = chance
    ways = next(w for (_, last), w in weight.items() if last == 0)
    total = sum(ways.values())
    link = max(
        sum(c for had, c in ways.items() if had[i] == e) / total for i in range(5) for e in range(5)
    )
    known = sum(c for had, c in ways.items() if values[had[0]] == 5) / total
    assert (link, known) == (Fraction(1, k), 1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"groups": "nearest"}, "'nearest' is not one of mdav, vmdav, random"),
        ({"l": 1.5}, "whole number of at least 1"),
        ({"l": 0}, "whole number of at least 1"),
        ({"t": 2}, "from 0 to 1"),
        ({"l": 4}, "'pay' has 3 different values"),
    ],
)
def test_bad_choices(ask, message):
    file = {"age": [1, 2, 3, 4, 5, 6], "pay": [1, 2, 3, 1, 2, 3]}
    with pytest.raises(InputError, match=message):
        microagg.mdav_swap(file, 2, confidential=["pay"], seed=1, **ask)
