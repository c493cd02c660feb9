"""Arguments that cannot be right are refused by name, before any work, and never by a traceback."""

from __future__ import annotations

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import undo_rounding
from cellveil import Noise, compare
from csp import Mechanism, Table, audit_rounding, noisy_table, round_table
from csp.errors import CellveilError, InputError
from tests.support.shared import examples

TABLE = Table.from_array([[1, 20], [30, 90]])
ROWS = {name: [label[d] for label in TABLE.labels] for d, name in enumerate(TABLE.names)}
ROWS["n"] = TABLE.values.tolist()
RULES = Mechanism("FREQ(5)", width=3)
ROUNDED = round_table(TABLE, 5)

JUNK = st.sampled_from([
    None, True, False, -1, 0, 1, 3, 2.5, math.nan, math.inf, -math.inf, "", "x", "5", "-1", "1e999",
    b"5", [], [1], ["x"], {}, {"n": [1]}, (), object(), 10**400, 1j, TABLE, len,
])  # fmt: skip
"""Of every type, some of them right for some arguments."""

CALLS = {
    "round_table": (
        round_table, {"table": TABLE, "base": 5},
        ("table", "base", "small", "key", "name", "solver", "time_limit"),
    ),
    "audit_rounding": (
        audit_rounding, {"published": ROUNDED, "rules": RULES}, ("published", "time_limit"),
    ),
    "noisy_table": (
        noisy_table, {"table": TABLE, "data": ROWS, "value": "n", "reach": 2},
        ("table", "value", "reach"),
    ),
    "compare": (
        compare, {"table": TABLE, "rules": RULES, "methods": ["round:5"], "attack": False},
        ("table", "methods", "key", "name", "attack", "time_limit"),
    ),
    "undo_rounding": (
        undo_rounding, {"rounded": ROUNDED, "max_tables": 10}, ("rounded", "max_tables",
                                                                "time_limit"),
    ),
    "Noise": (Noise, {"name": "a", "data": ROWS, "value": "n", "reach": 2}, ("name", "value")),
}  # fmt: skip


@examples(150)
@given(st.sampled_from(sorted(CALLS)), st.data())
def test_a_wrong_argument_is_an_error_that_names_it(called: str, data) -> None:
    function, right, names = CALLS[called]
    name = data.draw(st.sampled_from(names))
    value = data.draw(JUNK)
    said = ""
    try:
        function(**(right | {name: value}))
    except CellveilError as error:
        said = str(error)
    named = name in said or "time limit" in said or "there is no column" in said
    if called == "undo_rounding":  # ten tables are too few, and the message says so
        named = named or "max_tables" in said
    assert not said or named


@pytest.mark.parametrize("rules", [None, 5, "x", "FREQ(", [], object()])
@pytest.mark.parametrize("function", [
    partial(audit_rounding, ROUNDED), partial(compare, TABLE),
])  # fmt: skip
def test_rules_that_are_none_are_refused(function, rules) -> None:
    with pytest.raises(InputError):
        function(rules)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": 5}, "name must be a str, got int"),
        ({"solver": "bogus"}, "does not find a solver 'bogus' here; it finds"),
        ({"solver": 3}, "solver must be the name of a solver"),
        ({"small": "yes"}, "small must be True or False, got 'yes'"),
        ({"base": None}, "base must be a finite number, got None"),
        ({"base": True}, "base must be a finite number, got True"),
    ],
)  # fmt: skip
def test_arguments_of_a_rounding(options, words: str) -> None:
    with pytest.raises(InputError, match=words):
        round_table(**({"table": TABLE, "base": 5} | options))


def test_how_far_noise_may_be_cannot_be_negative() -> None:
    with pytest.raises(InputError, match=r"reach says how far .* cannot be negative, got -1; give"):
        noisy_table(TABLE, ROWS, "n", -1)
    with pytest.raises(InputError, match=r"row 2: far says how far .* got '?-3"):
        noisy_table(TABLE, ROWS | {"far": [1, -3, *[1] * 7]}, "n", "far")
    with pytest.raises(InputError, match="row 3: n must be a finite number"):
        noisy_table(TABLE, ROWS | {"n": [1, 20, "many", *[1] * 6]}, "n", 500)


def test_sums_of_suppressed_cells_are_not_asked_of_rounded_tables() -> None:
    mechanism = Mechanism("P(10,1)", unions=True)
    for call in (partial(audit_rounding, ROUNDED), partial(compare, TABLE, methods=["round:5"])):
        with pytest.raises(InputError, match="unions=True is for sums of suppressed cells"):
            call(rules=mechanism)


@pytest.mark.parametrize(
    "twice", [("round:5", "round:5.0"), ("random:3:small", "random:03:small"),
              ("intervals:2", "intervals:2.00"), ("suppress", "suppress")],
)  # fmt: skip
def test_a_method_that_is_written_in_two_ways_is_one(twice) -> None:
    with pytest.raises(InputError, match="names one method twice among"):
        compare(TABLE, RULES, twice)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("round:1", "methods=, round:1: base must be a whole number and at least 2, got '1'"),
        ("round:x", "methods=, round:x: base must be a finite number, got 'x'"),
        ("random:0", "methods=, random:0: base must be"),
        ("intervals:0", "methods=, intervals:0: the grid of intervals must be"),
        ("intervals:x", "methods=, intervals:x"),
        ("round:3:tiny", "methods=: 'round:3:tiny' is not one of"),
        (Noise("cell key", ROWS, "n", -2), "methods=, cell key: reach says how far"),
        (Noise("cell key", ROWS, "m", 2), "methods=, cell key: .*m"),
    ],
)  # fmt: skip
def test_methods_are_read_before_the_first_is_tried(monkeypatch, method, words: str) -> None:
    from cellveil.comparing.ways import Trials

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Trials, "tried", never)
    with pytest.raises(InputError, match=words):
        compare(TABLE, RULES, ["suppress", method])
