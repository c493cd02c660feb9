"""Whether the first row of numbers is a header: a row of cells must not be lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError, Release

HEAD = ["Region", "Farms", "Trade", "All"]
BODY = [["Elm", "[c]", "[c]", 90], ["Fir", "[c]", "[c]", 60]]
SIZES = ["Tiny", "Small", "Middling", "Large"]
UNITS = ["", "persons", "", ""]


@given(
    first=st.sampled_from(
        [["1-4", "5-9", 13], ["1-4", "5-9", "10-14"], [2010, 2011, 2012], [2020, 2010, 2005],
         [1, 2, 3], ["[c]", "", 13], ["", "", 13], ["[c]", "[c]", "[c]"], ["<5", "5-9", "10+"]]
    ),
    between=st.sampled_from([[], [UNITS], [[]], [[], []], [UNITS, []], [["", "No.", "t", "No."]]]),
    label=st.sampled_from(["Ash", "Ages Ago", "1", "Class of its own"]),
)  # fmt: skip
def test_a_row_with_a_label_below_a_whole_header_is_one_of_cells(first, between, label) -> None:
    release = Release.from_frame([HEAD, *between, [label, *first], *BODY])
    assert len(release.pattern) == 9
    assert {code for code, _ in release.labels} == {label, "Elm", "Fir"}


@pytest.mark.parametrize(
    "head",
    [
        [["", "Men", "", "Women", ""], ["Region", "0-14", "15+", "0-14", "15+"]],
        [["Sex", "Men", "Men", "Women", "Women"], ["Region", "0-14", "15+", "0-14", "15+"]],
        [["Region", *SIZES], ["Employees", "1-4", "5-9", "10-49", "50+"]],
        [["Region", *SIZES], ["Size class (persons)", "1-4", "5-9", "10-49", "50+"]],
        [["Region", *SIZES], ["", "1-4", "5-9", "10-49", "50+"]],
        [["Region", *SIZES], ["Year", 2021, 2021, 2021, 2021]],
        [["Region", *SIZES], ["", "1 000", "1 000", "1 000", "t"]],
        [["Population"], [], ["Region", "0-4", "5-9", "10-49", "50+"]],
    ],
)  # fmt: skip
def test_steps_and_units_stay_headers(head) -> None:
    rows = [*head, ["Elm", "[c]", 4, 3, 9], ["Fir", "[c]", 1, 3, 8]]
    release = Release.from_frame(rows)
    assert (len(release.pattern), int(release.pattern.sum())) == (8, 2)


@pytest.mark.parametrize("first", [[12, 83, 95], ["hush", 83, 95], ["[c]", "[c]", 95]])
def test_numbers_without_a_label_below_a_whole_header_are_asked_about(first) -> None:
    with pytest.raises(InputError, match="row 2: numbers without a label, below a header"):
        Release.from_frame([HEAD, ["", *first], *BODY])


def test_ranges_that_may_be_classes_are_asked_about() -> None:
    rows = [["", "Few", "Some"], ["Region", "1-9", "10+"], ["N", 1, 2], ["S", 3, 4]]
    with pytest.raises(InputError, match="row 2: these ranges may be a row of cells or classes"):
        Release.from_frame(rows)


def test_rows_whose_labels_count_are_not_numbers_of_columns() -> None:
    rows = [["District", "Farms", "Trade"], [1, 2, 3], [2, "[c]", 6], [3, 4, "[c]"]]
    assert len(Release.from_frame(rows).pattern) == 6


def test_a_unit_that_stands_once_below_two_header_rows_is_that_of_all() -> None:
    head = [["", "Men", "", "Women", ""], ["Region", "Full", "All", "Full", "All"]]
    body = [["Elm", 3, 5, "[c]", 9], ["Fir", "[c]", 7, 3, 8]]
    plain = Release.from_frame([*head, *body])
    united = Release.from_frame([*head, ["", "persons", "", "", ""], *body])
    assert united.names == plain.names
    assert [*united.labels] == [*plain.labels]
    assert united.pattern.tolist() == plain.pattern.tolist()


def test_a_first_row_with_few_numbers_below_a_header_of_ranges() -> None:
    rows = [["No.", "0-14", "15-64", "65+"], [1, "", "", 7], [2, 11, 9, 4], [3, 2, "[c]", 0]]
    release = Release.from_frame(rows)
    assert (len(release.pattern), int(release.pattern.sum())) == (9, 3)
    rows = [["Region", *"ABCDEF"], ["Ash", *[""] * 5, 12], ["Elm", 1, 2, 3, 4, 5, 6]]
    assert len(Release.from_frame(rows).pattern) == 12


def test_ranges_beside_labels_that_stand_once_are_cells() -> None:
    rows = [["Region", "Sex", "Farms", "Trade"], ["Ash", "Men", "1-4", 13],
            ["", "Women", "5-9", "[c]"], ["Elm", "Men", "10-19", 4],
            ["", "Women", 90, 8]]  # fmt: skip
    release = Release.from_frame(rows)
    assert release.names == ("Region", "Sex", "columns")
    assert len(release.pattern) == 8


def test_a_total_among_years_leaves_them_labels() -> None:
    rows = [["Region", "Year", "Farms", "Trade"], ["Ash", 2021, 4, 13], ["Ash", 2022, "[c]", 3],
            ["Ash", "Total", 9, 16], ["Elm", 2021, 3, 4], ["Elm", 2022, 5, 6],
            ["Elm", "Total", 8, 10]]  # fmt: skip
    assert Release.from_frame(rows).names == ("Region", "Year", "columns")
