"""Calls that cannot be right: a named error that says what to write."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import csp
from csp import InputError, Mechanism, Problem, Table, audit, intervals, link, protect, suppress

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
        (lambda: link([TABLE, TABLE]), "table 1 must be a Table, got list"),
    ],
)
def test_misuse_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(
    "witnesses",
    [
        "x", 3, [1], np.zeros((2, 3)), [np.zeros(9)], [(np.full(9, 1.5), 1)],
        [(np.ones(3, int), 1)], [(np.ones(9, int), "2")], [(np.ones(9, int), 0.5)],
        [(np.ones(9, bool), 1)], [(np.ones(9, int), 1), None],
    ],
)  # fmt: skip
def test_witnesses_are_pairs_of_whole_numbers(witnesses):
    problem = Problem.of(TABLE, np.arange(9) == 0, spl=1)
    with pytest.raises(InputError, match="a pair: 9 whole numbers, one for each cell"):
        audit(problem, ~TABLE.margins, witnesses=witnesses)


def test_witnesses_that_prove_nothing_are_left_aside():
    problem = Problem.of(TABLE, np.arange(9) == 0, spl=1, publish=TABLE.margins)
    plain = audit(problem, ~TABLE.margins)
    step = np.array([1, -1, 0, -1, 1, 0, 0, 0, 0])
    for z in (step, -step, step.tolist(), np.ones(9, int), np.full(9, 2**62)):
        for scale in (1, 0, -1, 2**50):
            found = audit(problem, ~TABLE.margins, witnesses=[(z, scale)])
            assert found.safe == plain.safe
            assert (found.lower == plain.lower).all()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (Table.from_microdata, {"contributor", "weight", "hierarchies", "top", "total"}),
        (Table.from_frame, {"count", "top", "hierarchies", "absent", "tolerance"}),
        (protect, {"margins", "singletons", "width", "time_limit"}),
        (Mechanism, {"margins", "singletons", "width", "defence"}),
    ],
)
def test_signatures_name_every_option(call, names):
    """What an editor shows; behind ``**options`` nobody finds them."""
    known = inspect.signature(call).parameters
    assert names <= set(known)
    assert not [p for p in known.values() if p.kind is p.VAR_KEYWORD]


def test_a_right_call_is_not_touched():
    assert protect(TABLE, "FREQ(2)", width=1).audit.safe
    assert Mechanism(rules="FREQ(2)", width=1).width == 1
    assert csp.protect.__doc__ is not None
