"""What stays suppressed, predictions from published cells, and the rates of coins."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Decoys, InputError, Key, Mechanism, MinFrequency, Problem, Table
from csp.decoys.proportional_fitting import predicted
from csp.release.release import Release
from tests.support.shared import examples

KEY = Key(bytes(range(32)))


def test_what_an_earlier_release_suppressed_stays_suppressed():
    first = Table.from_array([[2, 21, 16, 23], [30, 14, 11, 14], [31, 33, 12, 13], [23, 17, 15, 9]])
    second = Table.from_array(
        [[9, 21, 16, 23], [30, 14, 11, 14], [31, 33, 12, 13], [23, 17, 15, 9]]
    )
    plain = Mechanism(MinFrequency(5), width=8, margins="publish")
    for mechanism in (plain, replace(plain, defence=Decoys("0.05", KEY))):
        earlier = mechanism.protect(first)
        old = earlier.pattern
        new = mechanism.protect(second, keep=earlier.release)
        assert (new.pattern >= old).all()
        assert new.audit.safe
    assert not plain.protect(second).pattern.any()
    with pytest.raises(InputError, match="to stay suppressed, but must be published"):
        plain.protect(second, keep=Release.of(first, first.margins))
    with pytest.raises(InputError, match="matched by label"):
        plain.protect(second, keep=old)
    problem = Problem.of(second, np.zeros(25, bool), publish=second.margins)
    assert (problem.keeping(old).status[old] == "x").all()


@examples(40)
@given(st.lists(st.integers(0, 40), min_size=12, max_size=12).filter(sum), st.integers(0, 2))
def test_two_way_predictions_are_products_of_margins(cells, lean):
    inner = np.array(cells).reshape(3, 4)
    table = Table.from_array(inner)
    guess = predicted(table, table.margins).reshape(4, 5)[:-1, :-1]
    wanted = np.outer(inner.sum(axis=1), inner.sum(axis=0)) / inner.sum()
    np.testing.assert_allclose(guess, wanted, rtol=1e-9, atol=1e-9)
    # Hidden values play no part: another table with the same margins has the same rates.
    other = Table.from_array(inner + _turned(), negative="allow")
    decoys = Decoys("0.1", KEY, lean=lean)
    if (inner + _turned() >= 0).all():
        rates = [decoys.rates(t, t.margins, 5).tolist() for t in (table, other)]
        assert rates[0] == rates[1]
        coins = [decoys.coins(t, t.margins, 5).tolist() for t in (table, other)]
        assert coins[0] == coins[1]


def _turned():
    turned = np.zeros((3, 4), int)
    turned[:2, :2] = [[1, -1], [-1, 1]]
    return turned


def test_predictions_fit_relations_with_unknown_totals():
    table = Table.from_array([[5, 7, 1], [2, 9, 4]])
    known = np.zeros(table.n_cells, bool)
    known[table.position(("Total", "Total"))] = True
    guess = predicted(table, known)
    np.testing.assert_allclose(table.relations @ guess, 0, atol=1e-6)
    assert (predicted(table, known & False) == 1).all()


def test_rates_lean_to_cells_predicted_small_and_keep_their_mean():
    table = Table.from_array([[1, 2, 1], [50, 60, 70], [2, 1, 2]])
    rates = Decoys("0.1", lean=4).rates(table, table.margins, 8)
    inner = rates[~table.margins].reshape(3, 3)
    assert inner[0].min() > inner[1].max()
    assert Fraction(1, 160) <= inner.min()
    assert inner.max() <= 0.5
    even = Decoys("0.1", lean=0).rates(table, table.margins, 8)
    assert set(even.tolist()) == {0.1}
    assert set(Decoys("0.1").rates(table).tolist()) == {0.1}
    for wrong in (-1, 1.5, 21):
        with pytest.raises(InputError, match="lean"):
            Decoys("0.1", lean=wrong)
