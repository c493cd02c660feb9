"""Rounded tables are additive, near and closest, and judged rightly: by enumeration.

`pytest --hypothesis-profile=thousands tests/csp/rounding/test_controlled.py` tries 10,000 tables.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import (
    Contributors,
    Hierarchy,
    Key,
    Manual,
    Mechanism,
    Table,
    audit_rounding,
    round_table,
)
from csp.errors import InputError, Unroundable
from tests.support.oracles import completions, integer_interval, integer_tables, rows_of
from tests.support.shared import examples
from tests.support.strategies import (
    frequency_2d,
    frequency_3d,
    hierarchical_tables,
    small_tables,
)

KEY = Key(bytes(range(32)))


def choices(table, base: int, further: int = 0):
    """Every additive table, in bases, of multiples next to the values or `further` away."""
    rows = [(row, 0) for row in rows_of(table)]
    domain = {}
    for i, value in enumerate(table.values.tolist()):
        low, high = value // base - further, -(-value // base) + further
        if table.structural is not None and table.structural[i]:
            low = high = 0
        domain[i] = (max(low, int(table.lower[i]) // base), high)
    for found in completions(rows, domain):
        yield [found.get(i, domain[i][0]) for i in range(len(table.values))]


def far(table, base: int, found) -> tuple[int, int]:
    """How many cells leave their two multiples, and the sum of the differences."""
    off = [abs(base * q - v) for q, v in zip(found, table.values.tolist(), strict=True)]
    return sum(one >= base for one in off), sum(off)


@examples(100)
@given(small_tables(), st.integers(2, 7))
def test_rounded_tables_are_additive_near_and_closest(table, base: int) -> None:
    strict = [far(table, base, one) for one in choices(table, base)]
    try:
        found = round_table(table, base)
    except Unroundable:
        assert not strict
        assert not any(True for _ in choices(table, base, 1))
        return
    assert not (found.values % base).any()
    assert not (table.relations @ found.values).any()
    assert found.proven
    got = far(table, base, (found.values // base).tolist())
    best = min(strict) if strict else min(far(table, base, one) for one in choices(table, base, 1))
    assert got == best
    assert int(found.relaxed.sum()) == got[0]
    assert found.distance == got[1]
    assert found.bound == (got[1] if strict else None)
    release = found.release
    assert ((release.lower <= table.values) & (table.values <= release.upper)).all()
    assert (release.upper - release.lower <= 2 * found.reach).all()


@examples(30)
@given(small_tables(), st.integers(2, 4), st.binary(min_size=20, max_size=20))
def test_a_key_rounds_within_the_base_where_that_is_possible(table, base: int, raw: bytes) -> None:
    assume(len(set(raw)) >= 8)
    try:
        found = round_table(table, base, key=Key(raw))
    except Unroundable:
        return
    assert not (table.relations @ found.values).any()
    assert not (found.values % base).any()
    if not found.relaxed.any():
        assert (np.abs(found.values - table.values) < base).all()
    again = round_table(table, base, key=Key(raw))
    assert (found.values == again.values).all()


@examples(10)
@given(small_tables(), st.integers(2, 3), st.integers(1, 8), st.data())
def test_sensitive_cells_are_judged_by_the_joint_interval(table, base, width, data) -> None:
    small = [data.draw(st.booleans()) for _ in range(table.n_cells)]
    try:
        found = round_table(table, base)
    except Unroundable:
        return
    mechanism = Mechanism(lambda _: np.array(small), width=width, singletons=False)
    judged = audit_rounding(found, mechanism)
    release = found.release
    near = table.replace(lower=release.lower, upper=release.upper)
    asked = mechanism.problem(table)
    for i in np.flatnonzero(judged.sensitive).tolist():
        low, high = integer_interval(near, release.pattern, i)
        assert (low, high) == (judged.lower[i], judged.upper[i])
        value = int(table.values[i])
        short = (
            value - low < asked.lpl[i] or high - value < asked.upl[i] or high - low < asked.spl[i]
        )
        assert bool(judged.narrow[i]) == short
        assert bool(judged.known[i]) == (low == high)


@examples(8)
@given(
    st.one_of(frequency_2d(), frequency_3d(high=4), hierarchical_tables()), st.integers(2, 3),
    st.data(),
)  # fmt: skip
def test_an_additive_rounding_leaves_every_cell_its_whole_interval(table, base, data) -> None:
    """Moving an inner cell moves its totals alike: nothing but the bounds narrows a cell."""
    found = round_table(table, base)
    if found.relaxed.any():
        return
    release = found.release
    near = table.replace(lower=release.lower, upper=release.upper)
    for i in data.draw(st.sets(st.integers(0, table.n_cells - 1), min_size=4, max_size=4)):
        low, high = integer_interval(near, release.pattern, i)
        value = int(found.values[i])
        assert (low, high) == (max(0, value - base + 1), value + base - 1)


def test_every_table_that_a_keyed_rounding_leaves_can_lead_to_it() -> None:
    """Some numbers between -base and base make the published table the only closest one."""
    table = Table.from_array([[1, 4], [5, 2]])
    base = 3
    found = round_table(table, base, key=KEY)
    release = found.release
    near = table.replace(lower=release.lower, upper=release.upper)
    for values in integer_tables(near, release.pattern):
        other = table.replace(values=np.array(values))
        asked = [
            (-1 if base * q > v else 1) - (base - 2 * (v % base)) if v % base else 0
            for q, v in zip((found.values // base).tolist(), values, strict=True)
        ]
        assert all(abs(coin) <= base for coin in asked)
        cost = {
            tuple(one): sum(
                (base * q > v) * (base - 2 * (v % base) + coin)
                for q, v, coin in zip(one, values, asked, strict=True)
            )
            for one in choices(other, base)
        }
        best = min(cost.values())
        closest = [one for one, worth in cost.items() if worth == best]
        assert closest == [tuple((found.values // base).tolist())]


def test_a_three_way_table_without_a_rounding_is_relaxed_and_says_so() -> None:
    table = Table.from_array([[[1, 1], [1, 1]], [[0, 1], [1, 0]]])
    assert not any(True for _ in choices(table, 2))
    found = round_table(table, 2)
    assert int(found.relaxed.sum()) == 1
    assert found.reach == 3
    assert "two bases" in repr(found)
    assert len(found.summary(reveal=True)["relaxed"]) == 1
    assert "relaxed" not in found.summary()
    assert (found.release.upper == found.values + 3).all()


def test_a_cell_without_relations_that_lies_in_the_middle_is_rounded() -> None:
    """It costs nothing either way, so that the integer program does not hold it."""
    table = Table(
        np.array([1, 1, 2]), csr_array(np.array([[2, 0, -1]])), np.zeros(3, int),
        np.full(3, 9), [("a",), ("b",), ("c",)],
    )  # fmt: skip
    found = round_table(table, 2)
    assert found.values[[0, 2]].tolist() in ([0, 0], [2, 4])
    assert found.values[1] in (0, 2)


def test_what_has_no_rounding_within_two_bases_is_an_error() -> None:
    """13 times a multiple of 5 is 0 or 65, and the cell is 13."""
    table = Table(
        np.array([1, 13]), csr_array(np.array([[13, -1]])), np.zeros(2, int), np.full(2, 99),
        [("a",), ("b",)],
    )  # fmt: skip
    with pytest.raises(Unroundable, match="less than two bases"):
        round_table(table, 5)


def test_decimals_are_rounded_in_their_units() -> None:
    table = Table.from_array([[1.5, 2.25], [0.75, 3.5]], decimals=2)
    found = round_table(table, "0.5")
    assert (found.values % 50 == 0).all()
    assert found.base == 50
    assert found.reach == 49
    frame = found.to_frame("pandas")
    assert frame["value"].max() == 8.0
    assert list(frame.columns) == ["d1", "d2", "value", "lower", "upper"]


@pytest.mark.parametrize("base", [1, 0, -5, 2.5, "x"])
def test_a_base_that_cannot_be_is_refused(base) -> None:
    with pytest.raises(InputError):
        round_table(Table.from_array([[1, 2], [3, 4]]), base)


def test_decimals_that_nobody_stated_are_refused() -> None:
    table = Table.from_frame({"r": ["a", "b", "Total"], "v": [1.5, 2.0, 3.5]}, ["r"], "v")
    assert table.scale == 1
    with pytest.raises(InputError, match="decimal places that nobody stated"):
        round_table(table, 2)


def test_a_base_above_every_width_is_enough_and_none_is_for_a_level_below() -> None:
    rng = np.random.default_rng(4)
    for width in (3, 6, 9):
        table = Table.from_array(rng.integers(0, 15, (4, 4)))
        judged = audit_rounding(round_table(table, width + 1), Mechanism("FREQ(3)", width=width))
        assert judged.safe
        assert (judged.upper - judged.lower)[judged.sensitive].min(initial=99) >= width
    table = Table.from_array([4, 30])
    rounded = round_table(table, 5)
    assert rounded.values.tolist() == [5, 30, 35]
    judged = audit_rounding(rounded, Mechanism(Manual([("1",)], margin=100)))
    assert (judged.lower[0], judged.upper[0]) == (1, 9)
    assert judged.narrow.tolist() == [True, False, False]  # 100 percent of 4 is asked for below


def test_a_contributor_who_is_alone_in_a_cell_knows_it() -> None:
    """Of 1 + 12 = 13 to base 10 (0 + 10 = 10), its contributor knows that 1 is at most 7."""
    people = Contributors(
        count=np.array([3, 1, 4]), total=np.array([1, 12, 13]),
        top=np.array([[1, 0], [12, 0], [12, 1]]),
    )  # fmt: skip
    table = Table.from_array([1, 12], contributors=people, decimals=0)
    found = round_table(table, 10)
    assert found.values.tolist() == [0, 10, 10]
    rule = Manual([("1",)], width=8)
    outsider = audit_rounding(found, Mechanism(rule, singletons=False))
    assert (outsider.lower[0], outsider.upper[0]) == (0, 9)
    assert outsider.safe
    insider = audit_rounding(found, Mechanism(rule, singletons=True))
    assert insider.narrow.tolist() == [True, False, False]
    assert insider.guards == ("outsider", "singletons")


def test_a_hierarchy_in_both_dimensions() -> None:
    tree = Hierarchy(("a1", "a2", "a", "b", "all"), (2, 2, 4, 4, -1))
    rng = np.random.default_rng(3)
    for _ in range(30):
        table = Table.from_array(
            rng.integers(0, 9, (3, 3)), names=["x", "y"], hierarchies={"x": tree, "y": tree}
        )
        found = round_table(table, 4)
        best = min(far(table, 4, one) for one in choices(table, 4))
        assert (0, found.distance) == best


def test_counts_are_said_without_values() -> None:
    found = round_table(Table.from_array([[1, 17], [23, 2]]), 10)
    judged = audit_rounding(found, "FREQ(3,300)")
    assert found.summary().keys() == {
        "dimensions", "cells", "base", "bases", "random", "small",
    }  # fmt: skip
    for text in (repr(found), found._repr_html_(), repr(judged), *judged.sentences()):
        for value, place in product(("17", "23", "43"), (" ", ">", ",")):
            assert f"{place}{value}" not in text
