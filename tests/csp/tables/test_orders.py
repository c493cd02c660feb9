"""Codes that no hierarchy arranges: bands of numbers by their numbers, all others by their text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Hierarchy, Table
from csp.tables.hierarchies.orders import in_order

edges = st.lists(st.integers(0, 10**6), min_size=2, max_size=8, unique=True).map(sorted)


@given(
    edges,
    st.sampled_from(["{}-{}", "{} to {}", "{} \N{EN DASH} {}", "{}-{} years"]),
    st.sampled_from(["{}+", "{} and over", ">{}", ">= {}", "Over {}", "more than {}", "über {}"]),
    st.randoms(use_true_random=False),
)
def test_bands_come_by_where_they_begin(edges, band, open_band, random) -> None:
    wanted = [band.format(low, high - 1) for low, high in itertools.pairwise(edges)]
    wanted += [open_band.format(edges[-1]), "unknown"]
    drawn = random.sample(wanted, len(wanted))
    assert in_order(drawn) == wanted
    # An order that is given comes first.
    assert in_order(drawn, ["unknown"]) == ["unknown", *wanted[:-1]]


@given(st.lists(st.integers(0, 10**6), unique=True))
def test_numbers_come_by_their_size(numbers: list[int]) -> None:
    assert in_order(map(str, numbers)) == [*map(str, sorted(numbers))]


@pytest.mark.parametrize(
    "codes",
    [
        ["DE1", "DE11", "DE2"],
        ["01.11", "01.2", "02"],
        ["10.11", "10.2"],
        ["011", "0111", "02"],
        ["1 000-4 999", "500-999"],
        ["10 x", "2 y", "b7"],
        ["AB1", "AB10", "AB2"],
        ["Over1", "Over10", "Over2"],
        ["", "a", "b"],
    ],
)
def test_codes_of_classifications_come_by_their_text(codes: list[str]) -> None:
    assert in_order(reversed(codes)) == codes == sorted(codes)


def test_signs_decide_between_equal_numbers() -> None:
    assert in_order([">10", "10-19", "<10", "10"]) == ["<10", "10", "10-19", ">10"]


@pytest.mark.parametrize("first", ["Under 5", "up to 4", "less than 5", "bis 4", "unter 5"])
def test_words_say_on_which_side_a_band_lies(first) -> None:
    bands = [first, "5-9", "10-14", "at least 15", "Over 15"]
    assert in_order(sorted(bands)) == bands


def test_tables_and_hierarchies_have_that_order() -> None:
    rows = {
        "land": [*"bbaa"], "size": ["250+", "10-49", "1-9", "unknown"], "pay": [1, 2, 3, 4]
    }  # fmt: skip
    table = Table.from_microdata(rows, ["size"], "pay")
    assert [size for (size,) in table.labels] == ["1-9", "10-49", "250+", "unknown", "Total"]
    tree = Hierarchy.from_columns(rows, ["land", "size"])
    assert tree.to_hrc().split() == ["a", "@1-9", "@unknown", "b", "@10-49", "@250+"]


def test_siblings_are_sorted_among_themselves() -> None:
    """A code with a digit on another level says nothing of whether these are bands."""
    rows = {
        "group": ["SME 1", "SME 1", "Large", "Large"],
        "size": ["10-49", "1-9", "250+", "50-249"],
    }
    tree = Hierarchy.from_columns(rows, ["group", "size"])
    assert tree.to_hrc().split("\n")[:6] == [
        "Large", "@50-249", "@250+", "SME 1", "@1-9", "@10-49",
    ]  # fmt: skip
