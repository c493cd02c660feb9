"""Rounding measured: what is counted of a run is what can be checked of its table."""

from __future__ import annotations

import numpy as np

from benchmarks import rounding
from csp import round_table


def test_facts_of_a_run_are_those_of_its_table() -> None:
    table = rounding.TABLES["6 x 6 x 6"]()
    values = round_table(table, rounding.BASE).values
    found = rounding.ours("6 x 6 x 6")
    assert found["cells"] == 7**3
    assert found["distance"] == np.abs(values - table.values).sum()
    assert found["fits"]
    assert found["proven"]


def test_a_table_that_does_not_fit_is_seen() -> None:
    table = rounding.TABLES["6 x 6 x 6"]()
    values = round_table(table, rounding.BASE).values.copy()
    for change in (1, rounding.BASE, 2 * rounding.BASE):
        wrong = values.copy()
        wrong[0] += change
        assert not rounding._facts(table, wrong, 0.0, proven=False)["fits"]
