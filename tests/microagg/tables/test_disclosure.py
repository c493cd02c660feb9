"""Sensitive cells of partitions, against equations (1) and (2) of Torra and Navarro-Arribas."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import microagg
from csp import InputError, parse_rules
from microagg.tables.forms import forms_of
from studies.microdata.disclosure import partition_of
from tests.support.oracles_clusters import sensitive, text, unsafe_cells
from tests.support.shared import examples, shared_data

RULES = st.lists(
    st.one_of(
        st.tuples(st.just("NK"), st.integers(1, 3), st.integers(30, 100)),
        st.tuples(st.just("P"), st.integers(1, 150)),
        st.tuples(st.just("PQ"), st.integers(1, 49), st.integers(50, 100)),
        st.tuples(st.just("FREQ"), st.integers(2, 5)),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda rule: rule[0],
)
LABELS = st.permutations([0, 0, 0, 1, 1, 1, 1, 2, 2])
SMALL = st.sampled_from([0, 1, 2, 3, 5, 10, 30, 100])


@examples(150)
@given(arrays(np.int64, (9, 2), elements=SMALL), LABELS, RULES)
def test_sensitive_cells_are_those_of_the_equations(units, labels, rules):
    partition = microagg.Partition.of(microagg.read_records(units), labels, 2, "by hand")
    words = "|".join(map(text, rules))
    found = microagg.disclosure(units, partition, words)
    expected = unsafe_cells(units, labels, rules)
    assert {(int(c), int(j)) for c, j in np.argwhere(found.sensitive)} == expected
    assert found.count == len(expected)
    assert found.share == len(expected) / 6
    assert sum(found.by_attribute.values()) == found.count
    assert found.clusters.tolist() == sorted({c for c, _ in expected})


@examples(100)
@given(
    arrays(np.int64, (9, 2), elements=st.integers(-20, 20)),
    LABELS,
    RULES,
    st.sampled_from(["abs", "shift", "split"]),
)
def test_modes_for_negative_values_do_what_they_say(units, labels, rules, negative):
    rules = [rule for rule in rules if rule[0] != "FREQ"] or [("P", 60)]
    partition = microagg.Partition.of(microagg.read_records(units), labels, 2, "by hand")
    found = microagg.disclosure(
        units, partition, "|".join(map(text, rules)), negative=negative
    ).sensitive
    expected = unsafe_cells(units, labels, rules, negative)
    assert {(int(c), int(j)) for c, j in np.argwhere(found)} == expected


@examples(100)
@given(arrays(np.int64, (6, 1), elements=st.integers(-9, 30)), RULES)
def test_raw_formulas_stand_as_printed(units, rules):
    rules = [rule for rule in rules if rule[0] != "FREQ"] or [("NK", 1, 60)]
    partition = microagg.Partition.of(microagg.read_records(units), [0] * 6, 6, "by hand")
    found = microagg.disclosure(units, partition, "|".join(map(text, rules)), negative="raw")
    values = [int(v) for v in units[:, 0]]
    expected = False
    for rule in rules:
        if rule[0] == "NK":  # equation (1) is a quotient
            _, n, k = rule
            part = sum(sorted(values, reverse=True)[:n])
            expected |= sum(values) != 0 and Fraction(part, sum(values)) > Fraction(k, 100)
        else:
            expected |= sensitive(values, rule)
    assert bool(found.count) == expected


@examples(150)
@given(st.lists(SMALL, min_size=1, max_size=6), RULES)
def test_forms_agree_with_the_rules_and_know_when_nothing_can_pass(values, rules):
    words = "|".join(map(text, [rule for rule in rules if rule[0] != "FREQ"] or [("P", 60)]))
    forms = forms_of(words)
    units = np.array(values)[:, None]
    partition = microagg.Partition.of(microagg.read_records(units), [0] * len(values), 1, "x")
    top = np.sort(np.array(values))[::-1]
    judged = bool(forms.sensitive(top, np.array(top.sum())))
    assert judged == bool(microagg.disclosure(units, partition, words).count)
    if len(values) < forms.least and sum(values):
        assert judged
    equal = np.full(forms.least, 7)
    assert not forms.sensitive(equal, np.array(equal.sum()))


def test_ties_with_the_threshold_are_not_sensitive():
    # 3 of 5 is exactly 60 %; as floats, (0.1 + 0.2) / 0.5 exceeds 0.6.
    data = {"x": ["0.1", "0.2", "0.2"]}
    whole = microagg.Partition.of(microagg.read_records(data), [0, 0, 0], 3, "whole")
    assert microagg.disclosure(data, whole, "NK(1,40)").count == 0
    assert microagg.disclosure(data, whole, "NK(1,39.999)").count == 1
    data = {"x": ["0.1", "0.2", "0.1", "0.1"]}
    whole = microagg.Partition.of(microagg.read_records(data), [0] * 4, 4, "whole")
    assert (0.1 + 0.2) / 0.5 > 0.6
    assert microagg.disclosure(data, whole, "NK(2,60)").count == 0


def test_vacuous_rules_are_marked():
    data = {"x": [5, 5, 5, 5]}
    pairs = microagg.Partition.of(microagg.read_records(data), [0, 0, 1, 1], 2, "pairs")
    assert microagg.disclosure(data, pairs, "NK(2,60)").vacuous
    assert microagg.disclosure(data, pairs, "P(60)").vacuous
    assert microagg.disclosure(data, pairs, "P(60)").count == 2
    assert not microagg.disclosure(data, pairs, "NK(1,60)").vacuous
    own = parse_rules("P(60)") | (lambda table: table.values < 0)
    assert microagg.disclosure(data, pairs, own).vacuous


def test_bad_input_is_refused():
    data = {"x": [5, -5, 5, 5]}
    pairs = microagg.Partition.of(microagg.read_records(data), [0, 0, 1, 1], 2, "pairs")
    with pytest.raises(InputError, match=r"row 2, attribute 'x': the value is negative .1 such"):
        microagg.disclosure(data, pairs, "P(60)")
    with pytest.raises(InputError, match="not one of error, abs"):
        microagg.disclosure(data, pairs, "P(60)", negative="ignore")
    with pytest.raises(InputError, match="partition is of 4 records and the data has 3"):
        microagg.disclosure({"x": [1, 2, 3]}, pairs, "P(60)")


def test_correspondence_of_figure_1():
    shares = ["0.5", "0.6", "0.7", "0.8", "1"]
    assert [float(microagg.corresponding_p(r)) for r in shares] == pytest.approx(
        [1, 2 / 3, 3 / 7, 1 / 4, 0]
    )
    with pytest.raises(InputError, match="above 0"):
        microagg.corresponding_p(0)


# Table 2 of Torra and Navarro-Arribas (2023). Its heads are swapped (the left block is iris), its
# "dominance rule" is
# (2, 0.6), and for k = 1 it prints 0 for the p% rule, where its Equation 2 calls each value above 0
# sensitive.
IRIS = [750, 375, 250, 10, 4, 1, 1, 0, 0], [0, 375, 13, 0, 1, 0, 1, 0, 0]
ABALONE = [37591, 18791, 12519, 473, 44, 6, 5, 5, 5], [0, 18782, 909, 10, 6, 5, 5, 4, 4]


@pytest.mark.parametrize(
    ("name", "coded", "codes", "printed", "exact"),
    [
        ("iris", "class", "Iris-setosa Iris-versicolor Iris-virginica", IRIS,
         {("NK", 4): 8, ("P", 1): 750}),
        ("abalone", "sex", "M F I", ABALONE, {("P", 5): 5, ("P", 1): 37591}),
    ],
)  # fmt: skip
def test_table_2_of_paper_001_in_exact_arithmetic(name, coded, codes, printed, exact):
    with shared_data("microdata", f"uci_{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    number = {code: str(i + 1) for i, code in enumerate(codes.split())}
    data = {column: [row[column] for row in rows] for column in rows[0]}
    data[coded] = [number[code] for code in data[coded]]
    records = microagg.read_records(data)
    for k in range(1, 10):
        partition = partition_of(records, k, "MDAV")
        for word, rule, column in (("NK", "NK(2,60)", 0), ("P", "P(60)", 1)):
            found = microagg.disclosure(records, partition, rule).count
            assert found == exact.get((word, k), printed[column][k - 1]), (word, k)


def test_a_rule_that_reads_more_than_memory_holds_is_refused() -> None:
    data = {"pay": list(range(9))}
    with pytest.raises(InputError, match="a rule reads 1000000000000 contributions"):
        microagg.disclosure(data, microagg.mdav(data, 3), "NK(1000000000000,50%)")


@pytest.mark.parametrize("ks", [2, "2", ["2"], [None], [1]])
def test_a_curve_is_of_several_whole_numbers(ks) -> None:
    with pytest.raises(InputError, match=r"ks must be (several|a) whole number"):
        microagg.k_curve({"pay": list(range(9))}, ks=ks)
