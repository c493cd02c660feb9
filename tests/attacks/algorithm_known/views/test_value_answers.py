"""Remembered answers of a mechanism about values, against asking about each in its place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.algorithm_known.views import value_answers
from attacks.algorithm_known.views.public_view import PublicView
from attacks.algorithm_known.views.value_answers import ValueAnswers
from csp import Mechanism, MinFrequency, Release, Table, Zero

MECHANISMS = {
    "counts": Mechanism(MinFrequency(4), width=3, margins="publish"),
    "zeros": Mechanism(
        MinFrequency(3, zero_sensitive=True), width=2, strict=True, margins="publish"
    ),
    "value": Mechanism(MinFrequency(5), width=4, cost="value", margins="publish"),
    "two rules": Mechanism(MinFrequency(3) | Zero(2), width=2, margins="publish"),
    "fractions": Mechanism(MinFrequency(4), width=3, integer=False, margins="publish"),
}


def asked_one_by_one(view: PublicView) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Primary, levels and costs of all values, by a table for each value of each cell."""
    mechanism, table = view.mechanism, view.table
    width = int((view.upper - view.lower).max()) + 1
    primary = np.zeros((len(view.cells), width), bool)
    levels = np.zeros((3, len(view.cells), width), np.int64)
    cost = np.zeros((len(view.cells), width), np.int64)
    alone = table.replace(relations=table.relations[:0])
    for k, cell in enumerate(view.cells.tolist()):
        for t in range(width):
            values = table.values.copy()
            values[cell] = min(view.lower[k] + t, view.upper[k])
            one = alone.replace(values=values)
            problem = mechanism.requirements(one, mechanism.public_cells(table))
            primary[k, t] = problem.primary[cell]
            if problem.primary[cell]:
                levels[:, k, t] = problem.lpl[cell], problem.upl[cell], problem.spl[cell]
            cost[k, t] = mechanism.costs(one)[0][cell]
    return primary, levels, cost


def check(view: PublicView) -> None:
    rules = view.value_rules
    assert rules is not None
    found = rules.primary, rules.levels, rules.cost
    for answer, wanted in zip(found, asked_one_by_one(view), strict=True):
        np.testing.assert_array_equal(answer, wanted)


@pytest.mark.parametrize("name", MECHANISMS)
@given(tables=st.lists(st.tuples(*[st.integers(0, 12)] * 6), min_size=1, max_size=3))
def test_remembered_answers_are_those_of_each_value_in_its_place(
    name: str, tables: list[tuple[int, ...]]
) -> None:
    mechanism = MECHANISMS[name]
    answers = ValueAnswers(mechanism)
    for numbers in tables:  # each of them finds what is remembered of those before
        table = Table.from_array(np.array(numbers).reshape(2, 3))
        check(PublicView.of(Release.of(table, ~table.margins), mechanism, answers=answers))


def test_a_larger_value_than_any_before_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_answers, "_FIRST_VALUES", 2)
    mechanism = MECHANISMS["counts"]
    answers = ValueAnswers(mechanism)
    for top in (5, 40):
        table = Table.from_array(np.array([[1, top, 2], [top, 2, top], [2, top, 1]]))
        check(PublicView.of(Release.of(table, ~table.margins), mechanism, answers=answers))
