"""Tables of arrays: cells in C order with margins last, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from csp import UNBOUNDED, Contributors, Hierarchy, InputError, Mechanism, Table
from csp.errors import NotAdditive
from csp.tables.units import NotUnits, to_units


def with_margins(a):
    for axis in range(a.ndim):
        a = np.concatenate([a, a.sum(axis=axis, keepdims=True)], axis=axis)
    return a


arrays = hnp.array_shapes(min_dims=1, max_dims=4, max_side=4).flatmap(
    lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(-99, 99))
)


@given(arrays)
def test_margins_are_computed_and_checked(a):
    full = with_margins(a)
    negative = "allow" if (full < 0).any() else "error"
    table = Table.from_array(a, negative=negative)
    assert np.array_equal(table.values, full.ravel())
    again = Table.from_array(full, margins=False, negative=negative)
    assert again.labels == table.labels
    assert np.array_equal(again.values, table.values)
    assert (again.relations != table.relations).nnz == 0
    assert table.roots == ("Total",) * a.ndim
    bound = -UNBOUNDED if negative == "allow" else 0
    assert set(table.lower.tolist()) == {bound}
    # Every label's value is the sum of the array over the axes at their total.
    for label, value in zip(table.labels, table.values.tolist(), strict=True):
        index = tuple(slice(None) if c == "Total" else int(c) - 1 for c in label)
        assert a[index].sum() == value


@given(arrays, st.integers(0, 10**6))
def test_one_wrong_cell_is_not_additive(a, pick):
    full = with_margins(a)
    full.ravel()[pick % full.size] += 1
    with pytest.raises(NotAdditive):
        Table.from_array(full, margins=False, negative="allow")


@pytest.mark.parametrize("inner", [[[1, 2], [3, 4]], [[-1, 2], [3, 4]]])
def test_lower_bounds_are_stated_and_not_found(inner):
    """A bound that the data decide would say that a suppressed cell is negative."""
    table = Table.from_array(inner, negative="allow")
    assert set(table.lower.tolist()) == {-UNBOUNDED}
    if inner[0][0] < 0:
        with pytest.raises(InputError, match=r"cell \(d1=1, d2=1\) is negative.*negative='allow'"):
            Table.from_array(inner)


def test_hierarchies_and_codes():
    region = Hierarchy.from_dict({"N": ["1", "2"], "S": ["3"]})
    table = Table.from_array(
        [[1, 2], [3, 4], [5, 6]],
        names=["region", "sex"],
        codes=[["1", "2", "3"], ["f", "m"]],
        hierarchies={"region": region},
    )
    values = dict(zip(table.labels, table.values.tolist(), strict=True))
    assert values["N", "f"] == 4
    assert values["S", "m"] == 6
    assert values["Total", "Total"] == 21
    again = Table.from_array(
        table.values.reshape(6, 3), margins=False, names=["region", "sex"],
        hierarchies={"region": region},
    )  # fmt: skip
    assert np.array_equal(again.values, table.values)


def test_contributors_and_decimals_pass_through():
    zero = np.zeros(2, np.int64)
    who = Contributors(zero, zero.copy(), np.zeros((2, 1), np.int64))
    table = Table.from_array([0.1], decimals=1, contributors=who)
    assert table.contributors is who
    assert table.values.tolist() == [1, 1]
    assert table.scale == 1


def test_values_of_contributors_are_not_counts_whatever_they_are():
    """All contributions are 1: who is alone in a cell still subtracts it."""
    inner = np.array([[1, 2, 9], [2, 1, 9], [9, 9, 9]])
    values = with_margins(inner).ravel()
    top = (values[:, None] > np.arange(3)).astype(np.int64)
    table = Table.from_array(inner, contributors=Contributors(values, values.copy(), top))
    assert not table.counts
    labels = {"r": [row for row, _ in table.labels], "c": [column for _, column in table.labels]}
    listed = labels | {"v": values, "n": values, "a": top[:, 0], "b": top[:, 1], "d": top[:, 2]}
    same = Table.from_frame(
        listed, by=["r", "c"], value="v", count="n", top=["a", "b", "d"], total="Total"
    )
    mechanism = Mechanism("P(10,1)")
    for one in (table, Table(**{name: getattr(table, name) for name in MADE_OF})):
        found = mechanism.protect(one)
        assert found.summary()["guards"] == ["outsider", "singletons"]
        assert not found.summary()["integer_attacker"]
        assert not found.release.of_counts
        assert np.array_equal(found.pattern, mechanism.protect(same).pattern)


MADE_OF = ("values", "relations", "lower", "upper", "labels", "contributors", "names", "roots")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Table.from_array([[1, np.nan]]), ["[0, 1]", "missing"]),
        (lambda: Table.from_array([1.5]), ["[0]", "decimals"]),
        (lambda: Table.from_array([[1.0], [0.125]], decimals=2), ["[1, 0]", "2 decimal places"]),
        (lambda: Table.from_array([2.0**60]), ["[0]", "2**53"]),
        (lambda: Table.from_array(np.array([2**63], np.uint64)), ["[0]", "2**53"]),
        (lambda: Table.from_array([2**53, 2**53]), ["margins", "2**53"]),
        (lambda: Table.from_array([]), ["(0,)"]),
        (lambda: Table.from_array(5), ["()"]),
        (lambda: Table.from_array([1], names=["a", "b"]), ["1 different names"]),
        (lambda: Table.from_array([[1]], names=["a", "a"]), ["2 different names"]),
        (lambda: Table.from_array([1, 2], codes=[["a"]]), ["length 2", "1 codes"]),
        (lambda: Table.from_array([1, 2], codes=[["a", "b"], ["c"]]), ["2 lists"]),
        (lambda: Table.from_array([1], margins=False), ["length 1", "total"]),
        (lambda: Table.from_array([1], hierarchies={"x": Hierarchy.flat("a")}), ["'x'", "d1"]),
        (
            lambda: Table.from_array([1], codes=[["b"]], hierarchies={"d1": Hierarchy.flat("a")}),
            ["'d1'", "in order"],
        ),
        (lambda: Table.from_array(["x"]), ["[0]", "decimal number"]),
    ],
)
def test_refusals_name_the_place(build, words):
    with pytest.raises(InputError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


# ---- units: exact or not at all ------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-(2**53), 2**53), st.integers(0, 9)), min_size=1))
def test_floats_text_and_fractions_agree(parts):
    texts = [f"{'-' if m < 0 else ''}{abs(m)}e-{d}" for m, d in parts]
    floats = [float(text) for text in texts]
    wanted = [Fraction(repr(x)) for x in floats]  # the shortest text of the float
    finest = min(d for d in range(99) if all((f * 10**d).denominator == 1 for f in wanted))
    if finest > 9 or any(abs(f) * 10**finest > 2**53 for f in wanted):
        with pytest.raises(NotUnits):
            to_units(np.array(floats))
        return
    units, scale = to_units(np.array(floats))
    assert scale == finest
    assert [Fraction(u, 10**scale) for u in units.tolist()] == wanted


@given(st.lists(st.decimals(-(10**6), 10**6, places=3), min_size=1))
def test_decimals_as_text_and_objects(numbers):
    plain = to_units(np.array(numbers, dtype=object))
    text = to_units(np.array([f" {n:+f}" for n in numbers], dtype=object))
    short = to_units(np.array([f"{n:E}" for n in numbers], dtype=object), decimals=3)
    assert [Fraction(u, 10 ** plain[1]) for u in plain[0].tolist()] == [*map(Fraction, numbers)]
    assert plain[1] == text[1]
    assert plain[0].tolist() == text[0].tolist()
    assert [Fraction(u, 1000) for u in short[0].tolist()] == [*map(Fraction, numbers)]


@pytest.mark.parametrize(
    "bad", ["1,5", "", "1_000", "0x1", "nan", "inf", "1e999", "٣.٥x", "-", ".", None, np.nan]
)
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(NotUnits) as caught:
        to_units(np.array([1, bad], dtype=object))
    assert caught.value.index == 1


def test_fractions_are_read_exactly_or_refused_as_numbers():
    numbers = np.array([Fraction(1, 2), Fraction(-3, 8), Fraction(20), 1, "0.25"], object)
    units, scale = to_units(numbers)
    assert (units.tolist(), scale) == ([500, -375, 20000, 1000, 250], 3)
    for endless in (Fraction(1, 3), Fraction(1, 2**10)):
        with pytest.raises(NotUnits, match="the number has more than 9 decimal places") as caught:
            to_units(np.array([1, endless], object))
        assert caught.value.long
    with pytest.raises(NotUnits, match="more than 2 decimal places"):
        to_units(numbers, 2)
    assert to_units(np.array([Fraction(2, 3), Fraction(1, 8)], object), 2, rounded=True)[
        0
    ].tolist() == [67, 12]
    with pytest.raises(NotUnits, match=r"beyond 2\*\*53"):
        to_units(np.array([Fraction(2**60 + 1, 2)], object))


def test_narrow_floats_stand_for_their_own_shortest_text():
    units, scale = to_units(np.array([0.1, 2.5], np.float32))
    assert (units.tolist(), scale) == ([1, 25], 1)


def test_long_floats_are_read_by_their_shortest_text():
    # Doubles here are an eighth apart, so two numbers of tenths may share one.
    floats = [8e14 + k / 8 for k in range(4000)]
    short = [x for x in floats if len(repr(x).partition(".")[2]) == 1]
    units, scale = to_units(np.array(short))
    assert len(short) > 1000
    assert [Fraction(u, 10**scale) for u in units.tolist()] == [Fraction(repr(x)) for x in short]


@pytest.mark.parametrize("decimals", [None, 0, 1])
def test_the_advice_on_decimals_of_an_array_can_be_followed(decimals):
    array = np.array([[1.25, 2.0]])
    with pytest.raises(
        InputError, match=r"entry \[0, 0\].*decimals=, or round the array"
    ) as caught:
        Table.from_array(array, decimals=decimals)
    assert "round=True" not in str(caught.value)
    assert Table.from_array(array, decimals=2).values.tolist()[0] == 125
    assert Table.from_array(np.round(array), decimals=decimals).scale == (decimals or 0)
