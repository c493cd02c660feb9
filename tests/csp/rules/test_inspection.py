"""What an inspection counts, against the records themselves."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp.errors import InputError
from tests.support.shared import examples


def cells(data: dict[str, list[Any]], by: tuple[str, ...], value: str) -> list[list[int]]:
    """Contributions of every cell, margins included."""
    codes = [[*sorted(set(data[name])), None] for name in by]
    rows = list(zip(*(data[name] for name in by), strict=True))
    return [
        [
            amount
            for row, amount in zip(rows, data[value], strict=True)
            if all(c is None or c == r for c, r in zip(label, row, strict=True))
        ]
        for label in product(*codes)
    ]


def is_sensitive(rule: str, amounts: list[int]) -> bool:
    y = [*sorted(amounts, reverse=True), 0, 0, 0]
    if rule.startswith("FREQ"):
        return 0 < len(amounts) < 3
    if rule.startswith("NK"):
        return 4 * y[0] > 3 * sum(y)
    return Fraction(sum(y) - y[0] - y[1]) < Fraction(y[0], 10)


@st.composite
def files(draw: st.DrawFn) -> dict[str, list[Any]]:
    n = draw(st.integers(4, 20))
    towns = draw(st.lists(st.sampled_from("abcdef"), min_size=n, max_size=n))
    land = {town: draw(st.sampled_from("xyz")) for town in "abcdef"}
    part = {code: draw(st.sampled_from("NS")) for code in "xyz"}
    return {
        "town": towns,
        "land": [land[town] for town in towns],
        "part": [part[land[town]] for town in towns],
        "size": draw(st.lists(st.sampled_from("12"), min_size=n, max_size=n)),
        "pay": draw(st.lists(st.integers(0, 40), min_size=n, max_size=n)),
    }


def groups(data: dict[str, list[Any]], fine: str, coarse: str) -> bool:
    pairs = set(zip(data[fine], data[coarse], strict=True))
    return len(pairs) == len(set(data[fine])) > len(set(data[coarse])) > 1


@examples(60)
@given(files())
def test_counts_are_those_of_the_records(data: dict[str, list[Any]]) -> None:
    rules = ["P(10,1)", "NK(1,75)", "FREQ(3,10)"]
    found = csp.inspect(data, [["town", "size"], ["land"]], "pay", rules=rules)
    assert found.records == len(data["pay"])
    assert found.linked == ((("town", "size"), ("land",)),)
    for table in found.tables:
        contributions = cells(data, table.by, "pay")
        assert table.cells == len(contributions)
        counts = [len(amounts) for amounts in contributions]
        assert (table.empty, table.single, table.double) == tuple(map(counts.count, (0, 1, 2)))
        for rule in rules:
            marked = sum(is_sensitive(rule, amounts) for amounts in contributions)
            assert table.sensitive[rule] == marked
    for column in found.columns:
        assert column.codes == len(set(data[column.name]))
        assert column.missing == 0
        above = column.within
        for coarse, fine in pairwise((*above, column.name)):
            assert groups(data, fine, coarse)
        if column.name == "town" and column.codes <= found.records // 2:
            wanted = [other for other in ("part", "land") if groups(data, "town", other)]
            assert bool(above) == bool(wanted) or groups(data, "town", "size")
    for name, chain in found.hierarchies.items():
        assert chain[-1] == name
        tree = csp.Hierarchy.from_columns(data, chain)
        again = csp.inspect(data, [name], "pay", hierarchies={name: tree})
        assert again.hierarchies == {}


def test_counts_of_records_and_several_reports_of_one_contributor() -> None:
    data = {"a": ["x", "x", "x", "y"], "who": [1, 1, 2, 3], "pay": [1, 2, 3, 4]}
    one = csp.inspect(data, ["a"], "pay", contributor="who").tables[0]
    assert (one.single, one.double) == (1, 1)
    counted = csp.inspect(data, ["a"]).tables[0]
    assert list(counted.sensitive) == ["FREQ(3,10)", "FREQ(5,10)", "FREQ(10,10)"]
    assert list(counted.sensitive.values()) == [1, 3, 3]


def test_contributors_of_negative_values_are_counted() -> None:
    data = {"a": [*"xxxxyyyz"], "pay": [-5, -7, -9, -4, 5, -6, -8, 3]}
    for negative in ("split", "abs", "shift"):
        table = csp.inspect(data, ["a"], "pay", negative=negative).tables[0]
        assert (table.empty, table.single, table.double) == (0, 1, 0)


def test_problems_are_named_and_left_out() -> None:
    data = {"a": ["x", None, "x", "y", "y"], "pay": [1, 2, -3, None, 5]}
    found = csp.inspect(data, ["a"], "pay")
    said = " | ".join(found.problems)
    assert "1 records have no 'a'" in said
    assert "1 records have no 'pay'" in said
    assert "1 values of 'pay' are negative" in said
    assert found.tables[0].single == 1
    many = {"a": [str(i) for i in range(200)], "b": ["x"] * 200}
    assert any("'a' has 200 codes" in words for words in csp.inspect(many, ["a"]).problems)


def test_contributors_who_differ_by_capitals_or_blanks_only_are_named() -> None:
    """P(10) with two contributors of 5 is unsafe with one of 10: so it matters who is the same."""
    data = {"a": ["x", "x", "x", "y"], "who": ["Acme  Ltd", "B", "acme ltd", "C"], "pay": [1] * 4}
    (said,) = csp.inspect(data, ["a"], "pay", contributor="who").problems
    assert (
        "1 contributor differs from another in 'who' by capitals or blanks only (rows 1 and" in said
    )
    assert "and 3)" in said
    assert "acme" not in said.lower()
    data["who"] = ["Acme", "B", "Acme", "01"]
    assert not csp.inspect(data, ["a"], "pay", contributor="who").problems


def test_data_without_records_is_refused() -> None:
    with pytest.raises(InputError, match="no records"):
        csp.inspect({"a": [], "pay": []}, ["a"], "pay")


def test_no_value_is_kept() -> None:
    data = {"a": ["x", "y"] * 3, "pay": [98761, 98762, 98763, 98764, 98765, 98766]}
    found = csp.inspect(data, ["a"], "pay")
    assert "9876" not in repr(found) + str(found.tables) + str(found.columns) + str(found.problems)


@pytest.mark.parametrize(
    ("by", "value", "message"),
    [
        ([[]], None, "no dimension"),
        (["b"], None, "no column 'b'"),
        (["a"], "c", "c"),
        (["a"], "a", "row 1, column .a.: the text is not a decimal"),
    ],
)
def test_bad_columns(by: list[str], value: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        csp.inspect({"a": ["x", "y"]}, by, value)


def test_columns_are_described_without_a_table() -> None:
    data = {"town": [*"aabbc", ""], "land": [*"xxxxyy"], "pay": [1, 2, 3, 4, 4, 60]}
    found = csp.inspect(data)
    assert (found.records, found.tables, found.linked, found.problems) == (6, (), (), ())
    facts = [(c.name, c.codes, c.missing, c.numbers) for c in found.columns]
    assert facts == [("town", 3, 1, False), ("land", 2, 0, False), ("pay", 5, 0, True)]


def test_data_without_columns_is_refused() -> None:
    with pytest.raises(InputError, match="no records"):
        csp.inspect({})


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**20), 10**20).map(str),
            st.decimals(allow_nan=False, allow_infinity=False, places=3).map("{:f}".format),
            st.text(min_size=1, max_size=6).filter(str.strip),
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_columns_of_numbers_are_those_that_python_reads(texts: list[str]) -> None:
    def is_number(text: str) -> bool:
        try:
            return Decimal(text.strip().replace(",", ".")).is_finite() and "_" not in text
        except ArithmeticError:
            return False

    (column,) = csp.inspect({"c": texts}).columns
    assert column.numbers == all(map(is_number, texts))
