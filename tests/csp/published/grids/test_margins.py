"""Tables that do not begin in the first column of their sheet, or have empty columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError, Release, read_crosstab
from csp.published.grids.grid import is_list, read_grid

SIGNED = [
    ["Region", "Farms", "Trade", "All"],
    ["Ash", 12, "[c]", 95],
    ["Elm", "[c]", "[c]", 90],
    ["Fir", "[c]", "[c]", 60],
]
LIST = [
    ["region", "sector", "n"],
    *([r, s, n] for r, s, n in zip("NNNSSSTTT", "ABTABTABT", "x58213568", strict=True)),
]
TWO_LABELS = [
    ["Region", "Sex", "2021", "2022", "All"],
    ["Ash", "Men", 12, "[c]", 95],
    ["", "Women", "[c]", "[c]", 90],
    ["Elm", "Men", 40, 20, 60],
    ["", "Women", 4, 2, 6],
]
TWO_HEADERS = [
    ["", "Men", "", "Women", ""],
    ["Region", "2021", "2022", "2021", "2022"],
    ["Ash", 12, "[c]", 5, 9],
    ["Elm", "[c]", "[c]", 3, 8],
]
YEARS = [["Year", "Farms", "All"], [2019, 4, "[c]"], [2020, "[c]", 90]]


def meaning(rows: Any) -> tuple[Any, ...]:
    release = Release.from_frame(rows, withheld=["x"])
    cells = zip(release.labels, release.pattern, release.published, strict=True)
    return release.names, {label: None if gone else int(n) for label, gone, n in cells}


@given(
    table=st.sampled_from([SIGNED, LIST, TWO_LABELS, TWO_HEADERS, YEARS]),
    before=st.integers(0, 3), behind=st.integers(0, 2), titled=st.booleans(), noted=st.booleans(),
    data=st.data(),
)  # fmt: skip
def test_empty_columns_change_nothing(table, before, behind, titled, noted, data) -> None:
    width = len(table[0])
    # Below a title a list is read by its labels, as a cross table is; between, headings may span.
    titled = titled and table is not LIST
    between = data.draw(st.integers(0, width - 1)) if table is not TWO_HEADERS else 0
    rows = [
        [*[None] * before, *row[:between], *[""] * (before > 1), *row[between:], *[""] * behind]
        for row in table
    ]
    above = [["Table 1: what there is"], []] if titled else []
    below = [[], ["Source: the office"]] if noted else []
    assert meaning([*above, *rows, *below]) == meaning([*above[:1], *table, *below])


def test_a_table_in_column_b_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("".join(f",{','.join(map(str, row))}\n" for row in SIGNED))
    release = Release.from_frame(path)
    assert (len(release.pattern), int(release.pattern.sum())) == (9, 5)
    assert meaning(path) == meaning(SIGNED)
    path.write_text("".join(f",{','.join(map(str, row))}\n" for row in LIST))
    release = Release.from_frame(path, withheld=["x"])
    assert release.names == ("region", "sector")
    assert (len(release.pattern), int(release.pattern.sum())) == (9, 1)


@pytest.mark.parametrize("name", ["Unnamed: 0", "", "_duplicated_0", "...1"])
@pytest.mark.parametrize("table", [SIGNED, LIST])
def test_a_column_of_a_frame_without_name_and_entries(name, table) -> None:
    columns = dict(zip(table[0], map(list, zip(*table[1:], strict=True)), strict=True))
    assert meaning({name: [None] * (len(table) - 1), **columns}) == meaning(table)


def test_a_column_of_a_frame_that_is_named_by_a_year_stays() -> None:
    frame = {"Region": ["Ash", "Elm"], "2020": [4, 5], "2021": [None, None], "Total": [9, 8]}
    assert int(Release.from_frame(frame).pattern.sum()) == 2


def test_headings_of_a_frame_span_columns_without_a_name() -> None:
    frame = {
        "Region": ["", "Ash", "Elm"], "Men": ["Full", 4, "[c]"], "Unnamed: 2": ["Part", 2, 5],
        "Women": ["Full", 3, 6], "Unnamed: 4": ["Part", "[c]", 1],
    }  # fmt: skip
    release = Release.from_frame(frame)
    assert (len(release.pattern), int(release.pattern.sum())) == (8, 2)


def test_true_values_in_column_b() -> None:
    rows = [["Ward", "Women", "Men"], ["North", 3, 40], ["South", 30, 41], ["West", 25, 33]]
    moved = [["Births"], *([None, *row] for row in rows)]
    plain = read_crosstab(rows)
    assert read_crosstab(moved).values.tolist() == plain.values.tolist()
    assert [*read_crosstab(moved).labels] == [*plain.labels]
    with pytest.raises(InputError, match=r"row 3, column 4: 'x' is not a number"):
        read_crosstab([*moved[:2], [None, "North", 3, "x"], *moved[3:]])


def test_true_values_in_a_list_in_column_b() -> None:
    rows = [["", "region", "sex", "n"], *(["", r, s, n] for r, s, n in LIST[1:])]
    with pytest.raises(InputError, match=r"row 2, column 4: 'x' is not a number"):
        read_crosstab(rows)


@pytest.mark.parametrize("corner", ["Region", ""])
def test_the_first_of_two_labels_may_be_blank(corner) -> None:
    rows = [
        ["Region", corner, "Farms", "Trade", "All"],
        ["", "Ash", 12, "[c]", 95],
        ["", "Elm", "[c]", "[c]", 90],
        ["Total", "", "[c]", "[c]", 185],
    ]
    release = Release.from_frame(rows)
    assert (len(release.pattern), int(release.pattern.sum())) == (9, 5)


def test_messages_name_the_columns_of_the_sheet() -> None:
    rows = [["Title"], ["", "", "a", "b", "a"], ["", "N", 1, 2, 3], ["", "S", 1, 2, 3]]
    with pytest.raises(InputError, match="columns 3 and 5 both have the header 'a'"):
        read_grid(rows, "the grid")
    rows = [["", "Region", "Farms", "", "Trade"], ["", "N", 1, "r", 2], ["", "S", 1, "", 2]]
    assert any("column 4 without header holds signs" in text for text in read_grid(rows, "").told)
    rows = [["", "Code", "Name", "n", "m"], ["", "01", "N", 1, 2], ["", "02", "S", 1, 2]]
    assert "column 2 holds codes of the names in column 3" in read_grid(rows, "").told
    rows = [["", "", "Rate", "n"], ["", "N", 1, 2], ["", "S", 1, 2]]
    with pytest.raises(InputError, match="column 3: 'Rate' may be an average"):
        read_grid(rows, "")
    rows = [["", "", "", "n"], ["", "N", 1, 2], ["", "S", 1, 2]]
    with pytest.raises(InputError, match="column 3 has numbers, but no header"):
        read_grid(rows, "")
    rows = [["", "", "n", "share in %"], ["", "N", 1, 2], ["", "S", 1, 2]]
    assert any("'share in %' (column 4)" in text for text in read_grid(rows, "").told)


def test_rows_without_labels_keep_their_first_numbers() -> None:
    rows = [["", "Men", "Women", "All"], ["", 3, "[c]", 43], ["", 5, 6, 11]]
    with pytest.raises(InputError, match="row 2: numbers without a label"):
        Release.from_frame(rows)


@pytest.mark.parametrize("before", [[], [""]])
@pytest.mark.parametrize("above", [[[]], [["Table 1"]], [["Table 1"], []], [[], ["of 2024"], []]])
def test_flags_are_read_below_a_title(above, before, tmp_path) -> None:
    head = ["region", "sector", "value", "status"]
    body = [["N", "A", 4, "c"], ["N", "B", 5, ""], ["N", "Total", 9, ""]]
    body += [["S", "A", 4, ""], ["S", "B", 5, ""], ["S", "Total", 9, ""]]
    rows = [*above, *([*before, *row] for row in (head, *body))]
    release = Release.from_frame(rows)
    assert release.names == ("region", "sector")
    assert release.pattern.tolist() == [True, *[False] * 5]
    assert meaning(rows) == meaning([head, *body])
    named = Release.from_frame(rows, ["region", "sector"], "value", status="status")
    assert named.pattern.tolist() == release.pattern.tolist()
    path = tmp_path / "list.csv"
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    named = Release.from_frame(path, ["region", "sector"], "value")
    assert named.pattern.tolist() == release.pattern.tolist()
    body[1][2] = "1e5e"
    rows = [*above, *([*before, *row] for row in (head, *body))]
    with pytest.raises(InputError, match="1e5e"):
        Release.from_frame(rows)


def test_a_list_may_have_empty_columns() -> None:
    assert is_list([["", "region", "sector", "n"], *(["", *row] for row in LIST[1:])])
    assert is_list([[*row, ""] for row in LIST])
