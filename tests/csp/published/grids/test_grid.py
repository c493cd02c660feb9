"""Cross tables as people print them."""

from __future__ import annotations

import pytest

from csp import InputError, Release
from csp.published.grids.grid import is_list, read_grid


def cells(rows) -> dict[tuple[str, ...], str]:
    grid = read_grid(rows, "the grid")
    return dict(zip(zip(*grid.columns.values(), strict=True), grid.entries, strict=True))


PLAIN = [
    ["Region", "Farms", "Total"],
    ["North", "1", "3"],
    ["South", "x", "4"],
    ["Total", "5", "7"],
]


def test_a_plain_table() -> None:
    found = cells(PLAIN)
    assert found["South", "Farms"] == "x"
    assert found["Total", "Total"] == "7"
    assert len(found) == 6
    assert read_grid(PLAIN, "").names == ("Region", "columns")


def test_titles_and_footnotes_are_left_out_and_said() -> None:
    rows = [
        ["Table 4: Farms"],
        [],
        ["in 1 000 EUR"],
        *PLAIN,
        [],
        ["x = secret"],
        ["Source: office"],
    ]
    assert cells(rows) == cells(PLAIN)
    told = read_grid(rows, "").told
    assert "rows 5 to 7, below 1 header row" in told[0]
    assert any("left out as footnotes" in text for text in told)


def test_two_header_rows_that_cross() -> None:
    rows = [
        ["Region", "2022", "", "2023", ""],
        ["", "Men", "Women", "Men", "Women"],
        ["North", "1", "2", "3", "4"],
        ["Total", "1", "2", "3", "4"],
    ]
    found = cells(rows)
    assert found["North", "2023", "Men"] == "3"
    assert len(found) == 8


def test_two_header_rows_that_are_nested_are_one_dimension() -> None:
    rows = [
        ["Region", "Farms", "Trade", "", "", "Total"],
        ["", "", "all", "retail", "wholesale", ""],
        ["North", "1", "5", "2", "3", "6"],
        ["Total", "1", "5", "2", "3", "6"],
    ]
    found = cells(rows)
    assert found["North", "retail"] == "2"
    assert found["North", "Trade"] == "5"
    release = Release.from_frame([*rows, ["Rest", "0", "0", "0", "0", "0"]])
    # North = Farms + Trade, Trade = retail + wholesale, and Total over the rows.
    assert release.relations.shape[0] == 3 * 2 + 5


def test_nested_row_labels() -> None:
    rows = [
        ["State", "County", "n"],
        ["A", "", "3"], ["", "a1", "1"], ["", "a2", "2"],
        ["B", "", "9"], ["", "b1", "4"], ["", "b2", "5"],
        ["Total", "", "12"],
    ]  # fmt: skip
    found = cells(rows)
    assert found["a2", "n"] == "2"
    assert found["B", "n"] == "9"


def test_sections_tell_equal_labels_apart() -> None:
    rows = [
        ["", "n", "m"],
        ["Men"], ["North", "1", "2"], ["South", "3", "4"],
        ["Women"], ["North", "5", "6"], ["South", "7", "8"],
    ]  # fmt: skip
    assert cells(rows)["Women", "South", "m"] == "8"


def test_years_as_a_header() -> None:
    found = cells([["Region", "2021", "2022"], ["North", "1", "2"], ["Total", "1", "2"]])
    assert found["North", "2022"] == "2"


def test_indents_are_a_hierarchy() -> None:
    rows = [["", "n"], ["Total", "6"], ["North", "4"], ["  N1", "1"], ["  N2", "x"], ["South", "x"]]
    release = Release.from_frame(rows, marks="statcan")
    assert release.relations.shape[0] == 2
    assert int(release.pattern.sum()) == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["a text"], ["and", "more"]], "holds no table: looked for rows of numbers"),
        (
            [["", "a", "a"], ["N", "1", "2"], ["S", "1", "2"]],
            "columns 2 and 3 both have the header",
        ),
        (
            [["", "a", "b"], ["N", "1", "2"], ["N", "1", "2"]],
            "rows 2 and 3 both have the label 'N'",
        ),
        ([["", "a", ""], ["N", "1", "2"], ["S", "1", "2"]], "both have the header 'a'"),
        ([["N", "1", "2"], ["S", "1", "2"]], "numbers without a header"),
    ],
)
def test_what_cannot_be_read_is_named(rows, said) -> None:
    with pytest.raises(InputError, match=said):
        read_grid(rows, "the grid")


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([["region", "sector", "n"], ["N", "A", "1"], ["N", "B", "x"]], True),
        ([["region", "value"], ["N", "1"], ["S", "2"]], True),
        (PLAIN, False),
        ([["Title"], ["region", "n"], ["N", "1"]], False),
        ([["geo", "sex", "OBS_VALUE", "OBS_STATUS"], ["N", "M", "1", ""]], True),
    ],
)
def test_lists_and_cross_tables_are_told_apart(rows, wanted) -> None:
    assert is_list(rows) is wanted


def test_errors_name_the_place_in_the_cross_table() -> None:
    rows = [["Title"], ["", "a", "Total"], ["N", "5-9", "1e"], ["Total", "9-5", "8.123456789012"]]
    with pytest.raises(InputError, match="numbers have more than 9 decimal places"):
        Release.from_frame(rows, withheld=["9-5", "1e"])
    rows = [["Title"], ["", "a", "Total"], ["N", "56789", "[c]"], ["Total", "56789", "1.234"]]
    with pytest.raises(InputError, match=r"^row 4, column 3: '1\.234' may be a decimal number"):
        Release.from_frame(rows)


@pytest.mark.parametrize(
    ("sign", "more"),
    [
        ("suppressed", {}),
        ("[c]", {}),
        ("x", {"marks": "statcan"}),
        ("hush", {"withheld": ["hush"]}),
        ("D", {"marks": "census"}),
        ("A9", {"ranges": {"A9": (0, 99)}}),
    ],
)
@pytest.mark.parametrize("corner", ["", "Region"])
def test_columns_and_rows_of_words_and_letters_are_cells(sign, more, corner) -> None:
    rows = [
        [corner, "Farms", "Trade", "Total"],
        ["North", sign, 45, 165],
        ["West", sign, sign, sign],
        ["South", 12, 8, 20],
        ["Total", sign, 60, 200],
    ]
    release = Release.from_frame(rows, **more)
    assert len(release.pattern) == 12
    assert int(release.pattern.sum()) == 5
    for row in rows[1:]:
        row[1] = sign  # in no row is there a number
    release = Release.from_frame(rows, **more)
    assert len(release.pattern) == 12
    assert int(release.pattern.sum()) == 6


def test_labels_in_two_columns_stay_labels() -> None:
    rows = [
        ["", "Class", "1999", "2000"],
        ["North", "D", 45, 165],
        ["", "E", 4, "D"],
        ["South", "D", 12, 20],
        ["", "E", 3, 8],
    ]
    assert Release.from_frame(rows).names[1] == "Class"
    rows[2][3] = "suppressed"
    found = Release.from_frame(rows, withheld=["suppressed"])
    assert found.names[1] == "Class"
    assert found.pattern.sum() == 1


def test_years_below_another_header() -> None:
    found = cells(
        [["", "Men", "", "Women", ""], ["Region", "2021", "2022", "2021", "2022"],
         ["North", "1", "2", "3", "4"], ["Total", "1", "2", "3", "4"]]
    )  # fmt: skip
    assert found["North", "Women", "2021"] == "3"
    assert len(found) == 8


def test_columns_that_say_the_same_are_one_dimension() -> None:
    rows = [["code", "name", "sector", "value"]]
    for code, name in (("01", "N"), ("02", "S"), ("00", "Total")):
        rows += [[code, name, sector, "4"] for sector in ("A", "B", "Total")]
    rows[1][3] = "[c]"
    release = Release.from_frame(rows)
    assert release.names == ("name", "sector")
    assert release.pattern.sum() == 1
    assert any("'code' says the same as 'name'" in note for note in release.notes)


def test_a_column_of_letters_is_not_taken_for_the_cells_by_its_name() -> None:
    rows = [
        ["freq", "geo", "employment"],
        ["A", "N", "[c]"],
        ["A", "S", "20"],
        ["A", "Total", "45"],
    ]
    release = Release.from_frame(rows)
    assert release.names == ("geo",)
    assert release.published.tolist() == [0, 20, 45]


def test_numbers_of_a_frame_have_no_marks_to_guess() -> None:
    release = Release.from_frame({"r": ["a", "b", "Total"], "n": [1.125, 2.875, 4.0]}, ["r"], "n")
    assert (release.scale, release.published.tolist()) == (3, [1125, 2875, 4000])
    rows = [["", "A", "Total"], ["N", "[c]", "0.375"], ["Total", "0.125", "0.500"]]
    assert Release.from_frame(rows).scale == 3


def test_ends_of_ranges_keep_their_decimals() -> None:
    frame = {"r": ["N", "S", "Total"], "n": ["a", "1", "3.4"]}
    release = Release.from_frame(frame, ["r"], "n", ranges={"a": (0, "2.5")})
    assert (release.scale, int(release.upper[0])) == (1, 25)


def test_tabs_separate_the_columns_of_a_tsv(tmp_path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a,b\\TIME\t2019\tTotal\nX,Y\t: c\t12\nTotal\t5\t17\n")
    release = Release.from_frame(path, marks="eurostat")
    assert release.pattern.tolist() == [True, False, False, False]


@pytest.mark.parametrize("total", ["Total\u00b9", "Total 1)", "Total (a)", "Total*"])
def test_a_footnote_behind_a_total_leaves_it_a_total(total) -> None:
    rows = [
        ["", "A", total],
        ["N", "[c]", "165"],
        ["S", "12", "20"],
        ["T", "1", "2"],
        [total, "57", "187"],
    ]
    release = Release.from_frame(rows)
    assert ("Total", "Total") in release.labels
    assert release.relations.shape[0] == 2  # over the rows; A alone beside a total is not all parts


def test_a_total_that_is_indented_is_part_of_nothing() -> None:
    rows = [["", "n", "m"], ["N", "1", "2"], ["S", "[c]", "5"], ["   Total", "4", "7"]]
    release = Release.from_frame(rows)
    assert release.relations.shape[0] == 2
    assert release.relations.nnz == 6
    assert any("codes of columns" in note for note in release.notes)


def test_a_first_row_of_data_is_not_taken_for_the_header() -> None:
    rows = [["N", "x1", "1", "2"], ["S", "y1", "3", "4"], ["Total", "z1", "4", "6"]]
    with pytest.raises(InputError, match="numbers without a header"):
        read_grid(rows, "the grid")


def test_a_header_of_single_letters_that_comes_back_is_left_out() -> None:
    rows = [["Region", "A", "B", "Total"], ["N", 1, "[c]", 5], ["S", 2, 3, 5],
            ["Region", "A", "B", "Total"], ["E", 4, "[c]", 8], ["All", 7, "[c]", 18]]  # fmt: skip
    release = Release.from_frame(rows)
    assert "row 4 repeats the header" in release.notes
    assert len(release.pattern) == 12


@pytest.mark.parametrize("years", [(2020,) * 4, (2010, 2020) * 2, (2015, 2005) * 2])
@pytest.mark.parametrize("corner", ["", "Year", "Jahr"])
def test_years_below_another_header_are_a_header(years, corner) -> None:
    names = ["Men", "Women"] * 2 if len({*years}) == 1 else ["Men", "Men", "Women", "Women"]
    if len({*years}) == 1:
        names = ["Men", "Women", "Other", "Total"]
    rows = [["Region", *names], [corner, *years], ["North", 1200, "[c]", 1000, 4000],
            ["South", 1000, "[c]", 2000, 5000], ["Total", 2200, 3800, 3000, 9000]]  # fmt: skip
    release = Release.from_frame(rows)
    assert len(release.pattern) == 12
    assert int(release.pattern.sum()) == 2
    assert {label[0] for label in release.labels} == {"North", "South", "Total"}


def test_numbers_like_years_with_a_label_are_cells() -> None:
    rows = [["Region", "Men", "Women"], ["North", 2010, 2020], ["South", 5, "[c]"],
            ["Total", 2015, "[c]"]]  # fmt: skip
    assert len(Release.from_frame(rows).pattern) == 6
