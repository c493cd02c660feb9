"""Attributes of unequal importance and candidates of different values, by the definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from csp.compiled import at_once
from csp.errors import InputError, Unprotectable
from microagg.aggregates import METHODS, aggregate_anonymise, is_aggregate_anonymous
from microagg.aggregates.functions import read_aggregates
from microagg.aggregates.generalise import _all_together, _Step, generalise
from tests.microagg.aggregates.test_aggregates import (
    TABLE_1,
    TABLE_3,
    boxes,
    by_figure,
    corners,
    files,
    given_as,
    weigh,
)
from tests.support.shared import examples

LETTERS = ["a", "b", "c", ""]


def candidates(X, lower, upper, f, d):
    """Rows that may be each record for someone who knows its f."""
    spans = [corners(f, low, high) for low, high in zip(lower, upper, strict=True)]
    for row in X:
        v = weigh(f, row)
        a, b = v - d * abs(v), v + d * abs(v)
        yield [i for i, (low, high) in enumerate(spans) if low <= b and high >= a]


def with_letters(X, letters):
    columns = {f"a{j + 1}": X[:, j].tolist() for j in range(X.shape[1])}
    return columns | {"disease": letters}


@examples(120)
@given(files(), st.sampled_from(METHODS), st.data())
def test_candidates_of_every_record_have_different_values(file, method, data):
    X, k, (f,), d = file
    letters = data.draw(st.lists(st.sampled_from(LETTERS), min_size=len(X), max_size=len(X)))
    least = data.draw(st.integers(2, 3))
    assume(len(set(letters) - {""}) >= least)
    table, f_ = with_letters(X, letters), given_as(f, X.shape[1])
    found = aggregate_anonymise(table, k, f_, d, method=method, diverse={"disease": least})
    assert found.names == tuple(f"a{j + 1}" for j in range(X.shape[1]))
    assert (found.lower <= X).all()
    assert (found.upper >= X).all()
    met = list(candidates(X, found.lower, found.upper, f, d))
    values = [len({letters[i] for i in rows} - {""}) for rows in met]
    assert min(map(len, met)) >= k
    assert min(values) >= least
    assert found.diverse == (("disease", least, min(values)),)
    assert is_aggregate_anonymous(table, found, k, f_, d, diverse={"disease": least})


@examples(80)
@given(boxes(), st.data())
def test_verifier_counts_values_as_the_definition(file, data):
    X, lower, upper, _, (f,), d = file
    letters = data.draw(st.lists(st.sampled_from(LETTERS), min_size=len(X), max_size=len(X)))
    assume(len(set(letters) - {""}) >= 2)
    met = candidates(X, lower, upper, f, d)
    fewest = min(len({letters[i] for i in rows} - {""}) for rows in met)
    found = is_aggregate_anonymous(
        with_letters(X, letters), (lower, upper), 1, given_as(f, X.shape[1]), d,
        diverse={"disease": 2},
    )  # fmt: skip
    assert found == (fewest >= 2)


def test_who_is_anonymous_among_the_equally_ill_is_found_out():
    incomes = {"pay": [10, 20, 30, 40, 50, 60], "rent": [50, 40, 30, 20, 10, 0]}
    table = incomes | {"disease": ["flu", "flu", "flu", "cold", "flu", "flu"]}
    alike = {"pay": [10, 10, 30, 30], "rent": [5, 5, 5, 5]}
    ill = alike | {"disease": ["flu", "flu", "flu", "cold"]}
    assert aggregate_anonymise(table, 2, diverse={"disease": 2}).ncp == 0  # one sum for all
    assert aggregate_anonymise(alike, 2).ncp == 0
    assert aggregate_anonymise(ill, 2, diverse={"disease": 2}).ncp > 0
    with pytest.raises(Unprotectable, match="has 2 values"):
        aggregate_anonymise(ill, 2, diverse={"disease": 3})
    with pytest.raises(InputError, match="one aggregate"):
        aggregate_anonymise(ill, 2, ["sum", "average"], diverse={"disease": 2})


COSTS = st.lists(st.integers(0, 7), min_size=4, max_size=4).filter(lambda c: c[0] + c[1] > 0)


@examples(80)
@given(files(), COSTS, st.data())
def test_ranges_are_those_of_the_figure_with_costs(file, costs, data):
    X, _, (f,), d = file
    f = "sum" if f == "largest" else f
    costs = costs[: X.shape[1]]
    labels = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=len(X), max_size=len(X))))
    lower, upper = X.copy(), X.copy()
    for c in range(3):
        if (labels == c).any():
            lower[labels == c], upper[labels == c] = by_figure(X[labels == c], f, d, costs)
    aggregates = read_aggregates(given_as(f, X.shape[1]), [f"a{j}" for j in range(X.shape[1])])
    whole = np.array(costs, np.int64)
    with at_once():
        found = generalise(X, labels, aggregates, d, costs=whole)
    plain = generalise(X, labels, aggregates, d, costs=whole)
    order = np.flatnonzero(labels >= 0)
    order = order[np.argsort(labels[order], kind="stable")]
    joint = X.copy(), X.copy()
    if len(order):
        step = _Step(X[order], labels[order], aggregates)
        joint = _all_together(step, order, *joint, d, whole, None)
    for ends in (found, plain, joint):
        np.testing.assert_array_equal(ends[0], lower)
        np.testing.assert_array_equal(ends[1], upper)


@examples(80)
@given(files(), COSTS, st.sampled_from(METHODS))
def test_penalties_are_weighted_means(file, costs, method):
    X, k, (f,), d = file
    costs = costs[: X.shape[1]]
    f = given_as(f, X.shape[1])
    importance = {f"a{j + 1}": c for j, c in enumerate(costs)}
    found = aggregate_anonymise(X, k, f, d, method=method, importance=importance)
    assert found.fewest >= k
    widths = (found.upper - found.lower).tolist()
    common, own = int(X.max() - X.min()), np.ptp(X, axis=0).tolist()
    together = apart = Fraction(0)
    for row in widths:
        for width, cost, size in zip(row, costs, own, strict=True):
            together += Fraction(cost * width, common) if common else 0
            apart += Fraction(cost * width, size) if size else 0
    assert found.ncp == pytest.approx(float(together / (len(X) * sum(costs))))
    assert found.ncp_per_attribute == pytest.approx(float(apart / (len(X) * sum(costs))))
    if method == "best":
        others = [aggregate_anonymise(X, k, f, d, method=m, importance=importance).ncp
                  for m in METHODS]  # fmt: skip
        assert found.ncp == min(others)


def test_equal_importance_changes_nothing_and_unequal_chooses_others():
    random = np.random.default_rng(2)
    X = random.integers(0, 40, (60, 3))
    plain = aggregate_anonymise(X, 4, d="0.3", method="aggranon")
    halves = dict.fromkeys(["a1", "a2", "a3"], "0.5")
    same = aggregate_anonymise(X, 4, d="0.3", method="aggranon", importance=halves)
    np.testing.assert_array_equal(plain.lower, same.lower)
    assert plain.ncp == same.ncp
    # Table I of the paper: Paul and Mark are hidden by their salary or by their other income.
    plain, dear = (
        aggregate_anonymise(TABLE_1, 2, method="aggranon", importance=importance)
        for importance in (None, {"a1": 5})
    )
    assert (plain.upper - plain.lower)[2:].tolist() == [[10, 0, 0]] * 2
    assert (dear.upper - dear.lower).tolist() == [[0, 0, 5]] * 2 + [[0, 0, 10]] * 2
    np.testing.assert_array_equal(dear.lower[2:], TABLE_3[0][2:])
    assert dear.ncp == pytest.approx(30 / (4 * 7 * 200))
    assert dear.summary()["importance"] == ["5", "1", "1"]
    for wrong in ({"a9": 1}, {"a1": -1}, dict.fromkeys(["a1", "a2", "a3"], 0)):
        with pytest.raises(InputError, match="importance"):
            aggregate_anonymise(X, 4, importance=wrong)
