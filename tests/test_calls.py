"""Calls that cannot be right: a named error that says what to write."""

from __future__ import annotations

import pandas as pd
import pytest

import csp
from csp import InputError, Mechanism, Table, audit, intervals, protect, suppress

TABLE = Table.from_array([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: protect(pd.DataFrame(), "P(10)"), "got DataFrame.*from_microdata"),
        (lambda: Mechanism("FREQ(2)").protect([1, 2]), "table must be a Table, got list"),
        (lambda: audit(TABLE, [True] * 9), "problem must be a Problem, got Table; pose one"),
        (lambda: suppress(TABLE), "problem must be a Problem, got Table"),
        (lambda: intervals(TABLE.values, []), "table must be a Table, got ndarray"),
        (lambda: audit(TABLE), "audit: missing a required argument: 'pattern'"),
        (lambda: protect(TABLE), "missing a required argument: 'rules'"),
        (lambda: protect(TABLE, "FREQ(2)", singleton=True), "did you mean 'singletons'"),
        (lambda: protect(TABLE, "FREQ(2)", timelimit=3), "did you mean 'time_limit'"),
        (lambda: Mechanism("FREQ(2)", singelton=True), "Mechanism has no.*'singletons'"),
        (lambda: Mechanism("FREQ(2)").protect(TABLE, kep=1), "did you mean 'keep'"),
        (lambda: Table.from_microdata({"a": ["x"]}, ["a"], total=0), "must be a code such as"),
        (lambda: Table.from_microdata({"a": ["x"]}, ["a"], hierarchy={}), "'hierarchies'"),
        (lambda: Table.from_frame({"a": ["x"]}, ["a"], counts="n"), "'count'"),
        (lambda: Table.from_array([[1], [2, 3]]), "different lengths"),
    ],
)
def test_misuse_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_a_right_call_is_not_touched():
    assert protect(TABLE, "FREQ(2)", width=1).audit.safe
    assert Mechanism(rules="FREQ(2)", width=1).width == 1
    assert csp.protect.__doc__ is not None
