"""Range, variance and ratio as background knowledge, against all places where a record may lie."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.errors import InputError
from microagg.aggregates import (
    Continuous,
    Monotone,
    aggregate_anonymise,
    candidate_counts,
    is_aggregate_anonymous,
)
from microagg.aggregates.functions import RANGE, VARIANCE
from microagg.intruders import candidates_of
from tests.microagg.aggregates.test_aggregates import boxes, files
from tests.support.shared import examples

SPREADS = st.sampled_from(["range", "variance"])


def value(f, row):
    row = [Fraction(int(x)) for x in row]
    if f == "range":
        return max(row) - min(row)
    mean = sum(row) / len(row)
    return len(row) * sum((x - mean) ** 2 for x in row)


def ends(f, low, high):
    """Least and largest value over a box, by what holds where they are attained.

    The largest is at a corner. Where the variance is least, every attribute is at an end or at the
    mean, and then those at ends have that mean. Where the range is least, every attribute is at
    an end of some range, or inside of the others.
    """
    box = [(int(a), int(b)) for a, b in zip(low, high, strict=True)]
    most = max(value(f, corner) for corner in product(*box))
    places = []
    if f == "range":
        marks = sorted({x for pair in box for x in pair})
        places = product(*([m for m in marks if a <= m <= b] for a, b in box))
        return min(value(f, place) for place in places), most
    for states in product("lum", repeat=len(box)):
        fixed = [x["lu".index(s)] for x, s in zip(box, states, strict=True) if s != "m"]
        means = [Fraction(sum(fixed), len(fixed))] if fixed else [Fraction(a) for a, _ in box]
        for mean in means:
            place = [mean if s == "m" else x["lu".index(s)]
                     for x, s in zip(box, states, strict=True)]  # fmt: skip
            if all(a <= p <= b for p, (a, b) in zip(place, box, strict=True)):
                deviation = Fraction(sum(place), len(place))
                places.append(len(place) * sum((p - deviation) ** 2 for p in place))
    return min(places), most


@examples(120)
@given(boxes(attributes=4, rows=4, values=(3, 9)), SPREADS)
def test_bounds_of_the_search_are_exact(file, f):
    _, lower, upper, *_ = file
    low, high = (RANGE if f == "range" else VARIANCE).ends(lower, upper)
    for a, b, x, y in zip(lower, upper, low.tolist(), high.tolist(), strict=True):
        least, most = ends(f, a, b)
        assert x == -(-least // 1)
        assert y == most


def counted(X, lower, upper, f, d):
    spans = [ends(f, low, high) for low, high in zip(lower, upper, strict=True)]
    counts = []
    for row in X:
        v = value(f, row)
        counts.append(sum(low <= v + d * v and high >= v - d * v for low, high in spans))
    return counts


@examples(100)
@given(boxes(attributes=4, rows=6, values=(3, 9)), SPREADS)
def test_verifier_counts_as_the_definition_or_fewer(file, f):
    X, lower, upper, _, _, d = file
    counts = counted(X, lower, upper, f, d)
    found = candidate_counts(X, (lower, upper), f, d).tolist()
    assert all(a <= b for a, b in zip(found, counts, strict=True))
    if f == "range" or d == 0:
        assert found == counts


@examples(80)
@given(files(attributes=4, rows=9), SPREADS)
def test_k_candidates_are_left(file, f):
    X, k, _, d = file
    found = aggregate_anonymise(X, k, f, d)
    assert (found.lower <= X).all()
    assert (found.upper >= X).all()
    assert min(counted(X, found.lower, found.upper, f, d)) >= found.fewest >= k
    assert is_aggregate_anonymous(X, found, k, f, d)
    assert found.aggregates == (f,)
    assert found.residual is None


@examples(25)
@given(files(attributes=3, rows=6, values=(2, 4)), SPREADS)
def test_with_a_sum_a_completion_fits_both(file, f):
    X, k, _, d = file
    found = aggregate_anonymise(X, k, ["sum", f], d)
    certain = candidate_counts(X, found, ["sum", f], d)
    assert certain.min() >= k
    for row, count in zip(X, certain.tolist(), strict=True):
        fits = 0
        for low, high in zip(found.lower, found.upper, strict=True):
            cells = product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
            fits += any(
                abs(sum(c) - row.sum()) <= d * abs(row.sum())
                and abs(value(f, c) - value(f, row)) <= d * value(f, row)
                for c in cells
            )
        assert count <= fits


def test_a_ratio_is_monotone_where_attributes_are_positive():
    random = np.random.default_rng(4)
    X = random.integers(1, 30, (12, 2))
    ratio = Monotone(lambda rows: 1000 * rows[:, 0] // rows[:, 1], (1, -1), "ratio")
    found = aggregate_anonymise(X, 3, ratio)
    assert found.fewest >= 3
    for row in X:
        known = 1000 * int(row[0]) // int(row[1])
        fits = 0
        for low, high in zip(found.lower.tolist(), found.upper.tolist(), strict=True):
            fits += 1000 * low[0] // high[1] <= known <= 1000 * high[0] // low[1]
        assert fits >= 3


def gaps(rows):
    """Sum of the distances of all pairs: continuous, and neither rising nor falling."""
    return sum(abs(rows[:, i] - rows[:, j]) for i, j in combinations(range(rows.shape[1]), 2))


def test_functions_of_the_user_with_bounds():
    def bounds(lower, upper):
        d = lower.shape[1]
        grid = [np.where(np.array(c), upper, lower) for c in product((0, 1), repeat=d)]
        values = np.stack([gaps(rows) for rows in grid])
        meeting = lower.max(axis=1) <= upper.min(axis=1)
        return np.where(meeting, 0, values.min(axis=0)), values.max(axis=0)

    X = np.random.default_rng(5).integers(0, 9, (14, 2))
    found = aggregate_anonymise(X, 3, Continuous(gaps, bounds, "gaps"))
    assert found.fewest >= 3
    assert min(counted(X, found.lower, found.upper, "range", Fraction(0))) >= 3
    wrong = Continuous(gaps, lambda a, b: (gaps(a), gaps(a)), "gaps")
    with pytest.raises(InputError, match=r"outside its own bounds|candidates"):
        aggregate_anonymise(X, 3, wrong, method="mondrian")


@pytest.mark.parametrize("f", ["range", "variance"])
def test_an_attacker_names_it_in_the_measure_of_the_data(f):
    X = np.random.default_rng(6).integers(0, 99, (15, 3)) / 4
    found = aggregate_anonymise(X, 3, f)
    counts = candidate_counts(X, found, f)
    for i, row in enumerate(X):
        exact = [Fraction(float(x)) for x in row]
        mean = sum(exact) / 3
        spread = sum((x - mean) ** 2 for x in exact) / 3
        met = candidates_of(found, max(exact) - min(exact) if f == "range" else spread, f)
        assert i in met
        assert len(met) == counts[i]


def test_limits_are_named():
    with pytest.raises(InputError, match="fewer decimals"):
        aggregate_anonymise(np.array([[2**31, 0, 1], [1, 2, 2**31]]), 2, "variance")
    wide = np.arange(26).reshape(2, 13) ** 2
    with pytest.raises(InputError, match="more than 12 generalised"):
        aggregate_anonymise(wide, 2, "variance", method="mondrian")
    assert aggregate_anonymise(wide, 2, "range").fewest == 2
