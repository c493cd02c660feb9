"""Mondrian against a recursive definition in plain Python, and its losses on IPUMS."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp.compiled import at_once
from csp.errors import InputError
from microagg.partitions.methods import mondrian
from microagg.partitions.methods.mondrian import CUTS, mondrian_labels
from tests.support.shared import examples, shared_data


def by_definition(points, k, cut, widths):
    """Clusters as lists of rows, lower parts first; every cut written out."""
    rows = [tuple(Fraction(float(x)) for x in row) for row in points]
    d = len(rows[0])

    def width(part, a):
        column = [rows[i][a] for i in part]
        return max(column) - min(column)

    whole = [width(range(len(rows)), a) if widths == "relative" else 1 for a in range(d)]

    def divide(part):
        if len(part) >= 2 * k:
            relative = [width(part, a) / whole[a] if whole[a] else Fraction(0) for a in range(d)]
            for a in sorted(range(d), key=lambda a: -relative[a]):
                lower = cut_across(part, a) if relative[a] or cut == "relaxed" else None
                if lower:
                    upper = [i for i in part if i not in set(lower)]
                    return divide(lower) + divide(upper)
        return [part]

    def cut_across(part, a):
        column = sorted(rows[i][a] for i in part)
        if cut == "relaxed":
            first = sorted(part, key=lambda i: (rows[i][a], i))[: len(part) // 2]
            return sorted(first)
        values = sorted(set(column))[:-1]
        if cut == "median":
            values = [column[(len(part) - 1) // 2]]
        lowers = [[i for i in part if rows[i][a] <= v] for v in values]
        allowed = [x for x in lowers if len(x) >= k and len(part) - len(x) >= k]
        return min(allowed, key=lambda x: (abs(2 * len(x) - len(part)), len(x)), default=None)

    return divide(list(range(len(rows))))


@st.composite
def files(draw):
    n, d = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    top = draw(st.sampled_from([1, 3, 100]))
    cell = st.integers(-top, top)
    points = draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n))
    widths = draw(st.sampled_from(["relative", "absolute"]))
    # Fourths keep every width exact in floats, so that the fractions decide alike.
    return np.array(points, float) / 4, draw(st.integers(1, n)), draw(st.sampled_from(CUTS)), widths


@examples(120)
@given(files())
def test_labels_are_those_of_the_definition(file):
    points, k, cut, widths = file
    with at_once():
        labels = mondrian_labels(points, k, cut=cut, relative=widths == "relative")
    clusters = by_definition(points, k, cut, widths)
    assert [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)] == clusters
    assert min(map(len, clusters)) >= k
    if cut == "relaxed":
        assert max(map(len, clusters)) < max(2 * k, len(clusters[0]) + 1)
    np.testing.assert_array_equal(
        mondrian.mondrian(points, k, CUTS.index(cut), widths == "relative"), labels
    )


def test_ties_stop_the_median_but_not_the_others():
    points = np.array([[0.0]] * 6 + [[1.0]] * 2)
    assert mondrian_labels(points, 2, cut="median").max() == 1
    points = np.array([[0.0]] * 2 + [[1.0]] * 6)
    assert mondrian_labels(points, 2, cut="median").max() == 0
    assert np.bincount(mondrian_labels(points, 2, cut="nearest")).tolist() == [2, 6]
    assert np.bincount(mondrian_labels(points, 2, cut="relaxed")).tolist() == [2, 2, 2, 2]


def test_widths_decide_which_attribute_is_cut():
    points = np.array([[0.0, 0], [1, 40], [1, 0], [0, 41]])
    assert mondrian_labels(points, 2, relative=False).tolist() == [0, 1, 0, 1]
    assert mondrian_labels(points, 2, relative=True).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("points", "k", "cut", "says"),
    [
        (np.zeros((3, 1)), 0, "nearest", "at least 2"),
        (np.zeros((3, 1)), 4, "nearest", "k = 4 is more than the 3"),
        (np.array([[0.0], [np.nan]]), 2, "nearest", "row 2"),
        (np.zeros((3, 1)), 2, "middle", "median, nearest, relaxed"),
    ],
)
def test_wrong_input(points, k, cut, says):
    with pytest.raises(InputError, match=says):
        microagg.mondrian(points, k, cut=cut, constant="keep")


# Loss over the common domain on IPUMS with each reading of the cut: which one stalls on ties
# decides whether k^f-anonymity looks better than k-anonymity in Gkountouna and others (2013), of
# IPUMS with seven incomes.
LOSS = {
    "median": {2: 1.54e-1, 10: 1.55e-1, 50: 1.55e-1},
    "nearest": {2: 7.28e-5, 10: 3.66e-4, 50: 2.79e-2},
    "relaxed": {2: 1.98e-4, 10: 1.13e-3, 50: 2.94e-3},
}


@pytest.mark.parametrize("cut", CUTS)
def test_loss_on_ipums(cut):
    path = shared_data("microdata", "uci_ipums_la_income7.csv.gz")
    X = pd.read_csv(path).drop(columns="YEAR").to_numpy(np.int64)
    for k, loss in LOSS[cut].items():
        labels = mondrian_labels(X.astype(float), k, cut=cut)
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        sizes = np.bincount(labels)
        assert sizes.min() >= k
        widths = np.maximum.reduceat(X[order], starts) - np.minimum.reduceat(X[order], starts)
        found = float((widths.sum(axis=1) * sizes).sum() / X.size / (X.max() - X.min()))
        assert found == pytest.approx(loss, rel=5e-3)
