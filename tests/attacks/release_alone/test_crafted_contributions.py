"""Lies of insiders against all reports on a grid, with the rules written out anew."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import attacks
import microagg
from csp.errors import InputError
from tests.support.shared import examples

Rule = tuple[str, int, int]

FAR = 10**9


def text(rule: Rule) -> str:
    name, a, b = rule
    return {"NK": f"NK({b},{a})", "P": f"P({a},{b})", "PQ": f"P({a},80,{b})"}[name]


def passes(rule: Rule, reports: list[int]) -> bool:
    name, a, b = rule
    y = sorted(reports, reverse=True)
    if name == "NK":
        return 100 * sum(y[:b]) <= a * sum(y)
    rest = sum(y[b + 1 :])
    return rest * (100 if name == "P" else 80) >= a * y[0]


RULES = st.one_of(
    st.tuples(st.just("NK"), st.integers(40, 95), st.integers(1, 3)),
    st.tuples(st.just("P"), st.integers(1, 90), st.integers(1, 3)),
    st.tuples(st.just("PQ"), st.integers(1, 70), st.integers(1, 3)),
)
AMOUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=5)


@examples(50)
@given(st.lists(RULES, min_size=1, max_size=2), AMOUNTS, st.integers(0, 20))
def test_reports_are_found_that_get_a_cell_published(
    rules: list[Rule], others: list[int], own: int
) -> None:
    found = attacks.crafted_contribution("|".join(map(text, rules)), others, own)
    for report in range(60):
        said = any(low <= report <= (FAR if high is None else high) for low, high in found.reports)
        assert said == all(passes(rule, [*others, report]) for rule in rules)
    assert found.published == all(passes(rule, [*others, own]) for rule in rules)
    if max(others):
        assert found.error == Fraction(sum(others) - max(others), max(others))


@examples(100)
@given(st.lists(RULES, min_size=1, max_size=2), AMOUNTS.filter(any), st.integers(1, 2))
def test_no_lie_leaves_less_than_the_bound(
    rules: list[Rule], others: list[int], insiders: int
) -> None:
    least = attacks.error_despite_lies("|".join(map(text, rules)), insiders)
    for lies in product(range(0, 25, 1 if insiders == 1 else 3), repeat=insiders):
        if all(passes(rule, [*others, *lies]) for rule in rules):
            assert Fraction(sum(others) - max(others), max(others)) >= least


@pytest.mark.parametrize(
    ("rule", "others", "lies"),
    [
        ("NK(1,60)", [100], [80]),
        ("NK(2,70)", [100], [100, 100]),
        ("P(10,1)", [100], [50, 50]),
        ("P(30,80,1)", [100], [50, 50]),
    ],
)
def test_rules_for_fewer_insiders_leave_nothing(
    rule: str, others: list[int], lies: list[int]
) -> None:
    # The lies get the cell published, and the rest is the largest contribution itself.
    assert attacks.error_despite_lies(rule, len(lies)) == 0
    found = attacks.crafted_contribution(rule, [*others, *lies[:-1]], 0)
    assert any(low <= lies[-1] <= (FAR if high is None else high) for low, high in found.reports)


def test_crafted_records_take_a_victim_into_their_cluster() -> None:
    # Two records with the victim's age make a cluster with it: its mean tells the victim's pay,
    # though it has three records. The p% rule for two insiders does not let it pass.
    honest = {"age": [20, 21, 22, 60, 70, 71, 72], "pay": [30, 31, 33, 95, 32, 34, 35]}
    lies = {"age": [60, 60], "pay": [60, 60]}
    file = {name: honest[name] + lies[name] for name in honest}
    partition = microagg.mdav({"age": file["age"]}, 3)
    mine = partition.labels == partition.labels[3]
    assert mine.nonzero()[0].tolist() == [3, 7, 8]
    told = sum(p for p, m in zip(file["pay"], mine, strict=True) if m) - sum(lies["pay"])
    assert told == honest["pay"][3]
    assert attacks.error_despite_lies("P(10,2)", 2) == Fraction(1, 10)
    with_pay = microagg.Partition.of(microagg.read_records(file), partition.labels, 3, "MDAV")
    found = microagg.disclosure(file, with_pay, "P(10,2)")
    assert found.sensitive[partition.labels[3], 1]


@pytest.mark.parametrize(
    ("others", "own", "message"),
    [([], 1, "no other"), ([1, -1], 1, "not negative"), ([1], 0.5, "whole numbers")],
)
def test_bad_contributions(others: Any, own: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        attacks.crafted_contribution("P(10,1)", others, own)


def test_insiders_are_counted() -> None:
    with pytest.raises(InputError, match="from 1 on, not 0"):
        attacks.error_despite_lies("P(10,1)", 0)


def test_no_amount_is_printed() -> None:
    assert "67" not in repr(attacks.crafted_contribution("NK(1,60)", [100], 10))
