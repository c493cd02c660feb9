"""What is known of single cells: its meaning, line by line, against plain rules."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Decoys, InputError, Key, Mechanism, Table, apply_apriori, audit, protect
from csp.formats.apriori import Statement

TABLE = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
CELL = st.sampled_from(TABLE.labels)
NUMBER = st.decimals(0, 5, places=2)


@given(
    st.dictionaries(CELL, st.sampled_from("supm"), max_size=6),
    st.dictionaries(CELL, NUMBER.filter(bool), max_size=3),
    st.dictionaries(CELL, st.tuples(NUMBER, NUMBER), max_size=3),
    st.randoms(use_true_random=False),
)
def test_each_statement_does_what_it_says_in_any_order(status, costs, levels, random) -> None:
    before = Mechanism("FREQ(11,10)").problem(TABLE)
    primary = {
        label
        for i, label in enumerate(TABLE.labels)
        if status.get(label, "") == "u"
        or (before.primary[i] and status.get(label, "") not in ("s", "p"))
    }
    levels = {label: pair for label, pair in levels.items() if label in primary}
    lines = [Statement(label, word) for label, word in status.items()]
    lines += [Statement(label, "c", (cost,)) for label, cost in costs.items()]
    lines += [Statement(label, "pl", pair) for label, pair in levels.items()]
    random.shuffle(lines)
    after = apply_apriori(before, lines, margin=10)
    for i, label in enumerate(TABLE.labels):
        said = status.get(label, "")
        assert after.primary[i] == (label in primary)
        letter = "u" if label in primary else {"p": "z", "m": "x"}.get(said, "s")
        assert after.status[i] == letter
        cost = Fraction(int(after.cost[i]), 10**after.cost_scale)
        assert cost == Fraction(costs.get(label, Decimal(1)))
        if label in levels:
            assert (after.lpl[i], after.upl[i]) == tuple(ceil(n) for n in levels[label])
        elif label in primary and before.primary[i]:
            assert (after.lpl[i], after.upl[i]) == (before.lpl[i], before.upl[i])
        elif label in primary:
            assert after.lpl[i] == after.upl[i] == ceil(Fraction(int(TABLE.values[i]), 10))


def test_the_pattern_obeys_them() -> None:
    lines = [
        Statement(("1", "1"), "s"),
        Statement(("2", "2"), "u"),
        Statement(("3", "3"), "m"),
        Statement(("", "2"), "p"),
        Statement(("2", "3"), "c", (Decimal(100),)),
    ]
    found = protect(TABLE, "FREQ(8,10)|MAN(20)", apriori=lines)
    hidden = {TABLE.labels[i] for i in np.flatnonzero(found.pattern)}
    assert {("2", "2"), ("3", "3")} <= hidden
    assert not {("Total", "2"), ("2", "3")} & hidden
    (note,) = found.summary()["notes"]
    assert "do not bind cells that a-priori information calls safe or public" in note
    judged = audit(found.problem, found.pattern)
    place = TABLE.position(("2", "2"))
    assert judged.safe
    assert judged.upper[place] >= 72
    assert judged.lower[place] <= 48


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([Statement(("9", "1"), "u", where="f, line 3")], "^f, line 3: no cell"),
        ([Statement(("1",), "u")], "1 codes for a table of 2 dimensions"),
        ([Statement(("2", "2"), "u", where="f, line 1")], "line 1: .*without a protection level"),
        ([Statement(("2", "2"), "pl", (Decimal(1), Decimal(1)))], "which is not sensitive"),
        (
            [
                Statement(("1", "1"), "u", where="line 1"),
                Statement(("1", "1"), "s", where="line 2"),
            ],
            "line 2 contradicts line 1",
        ),
        ([Statement(("1", "1"), "pl", (Decimal(99), Decimal(1)))], "reaches beyond its lower"),
        ([Statement(("1", "1"), "pl", (Decimal(0), Decimal("1e99")))], "wider than any cell"),
        ([Statement(("1", "1"), "c", (Decimal("1e99"),))], "does not fit into 62 bits"),
    ],
)
def test_what_cannot_be_is_named(lines, words) -> None:
    with pytest.raises(InputError, match=words):
        apply_apriori(Mechanism("FREQ(8,10)").problem(TABLE), lines)


def test_public_margins_cannot_be_hidden_and_decoys_know_no_cells_named_beforehand(
    tmp_path,
) -> None:
    total = [Statement(("", ""), "u")]
    with pytest.raises(InputError, match="must be published"):
        protect(TABLE, "MAN(10)", margins="publish", apriori=total)
    key = Key.create(tmp_path / "key")
    with pytest.raises(InputError, match="decoys hide which cells the rules found"):
        protect(TABLE, "FREQ(8,10)", width=5, defence=Decoys("0.1", key), apriori=total)


def test_the_width_of_the_mechanism_protects_a_cell_named_beforehand() -> None:
    found = protect(TABLE, "MAN()", width=30, apriori=[Statement(("2", "2"), "u")])
    judged, place = audit(found.problem, found.pattern), TABLE.position(("2", "2"))
    assert judged.upper[place] - judged.lower[place] >= 30
