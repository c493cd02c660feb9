"""What respondents stand for: weights are added exactly, and rounded once, half up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import MinFrequency, Table, link, protect
from csp.rules.base import numbers_of
from csp.rules.unions import every_union_sensitive

records = st.lists(
    st.tuples(
        st.sampled_from("xy"), st.integers(-20, 20), st.sampled_from(["1", "1.5", "2.25", "0.5"])
    ),
    min_size=1,
    max_size=12,
)


def wanted(rows) -> int:
    return int(sum((Fraction(w) for *_, w in rows), Fraction(0)) + Fraction(1, 2))


@given(records, st.sampled_from(["abs", "shift", "split"]))
def test_numbers_are_those_of_all_weights_together(rows, negative: str) -> None:
    codes, values, weights = zip(*rows, strict=True)
    data = {"a": codes, "v": values, "w": weights}
    table = Table.from_microdata(data, ["a"], "v", weight="w", negative=negative)
    assert table.contributors is not None
    found = numbers_of(table.contributors, weighted=True)
    for (code,), number in zip(table.labels, found.tolist(), strict=True):
        assert number == wanted([row for row in rows if code in ("Total", row[0])])


@pytest.mark.parametrize("negative", ["abs", "shift", "split"])
def test_two_halves_are_one(negative: str) -> None:
    data = {"a": [*"xxyyyyyy"], "v": [40, -40] + [9] * 6, "w": ["1.5"] * 2 + ["1"] * 6}
    table = Table.from_microdata(data, ["a"], "v", weight="w", negative=negative)
    found = protect(table, MinFrequency(4, weighted=True, width=5), singletons=False)
    assert found.problem.primary.tolist() == [True, False, False]


def test_a_sum_of_cells_stands_for_what_they_stand_for_together() -> None:
    data = {"a": [*"xyz"], "v": [1, 2, 3], "w": ["1.5", "1.5", "9"]}
    table = Table.from_microdata(data, ["a"], "v", weight="w")
    assert every_union_sensitive(MinFrequency(4, weighted=True, width=5), table, [0])([0, 1])


def test_linked_tables_may_have_weights_of_other_decimals() -> None:
    data = {"a": [*"xxy"], "b": [*"ppq"], "v": [1, 2, 3], "w": ["1.5", "1.5", "2"]}
    one = Table.from_microdata(data, ["a"], "v", weight="w")
    other = Table.from_microdata(data | {"w": ["1.50", "1.50", "2.00"]}, ["b"], "v", weight="w")
    people = link(one, other).contributors
    assert people is not None
    assert sorted(numbers_of(people, weighted=True).tolist()) == [2, 2, 3, 3, 5]
