"""What the columns of a list are, and which rows of a file messages name."""

from __future__ import annotations

import re

import pytest

from csp import InputError, Release, TextFile

YEARS = [["Region", "Year", "Turnover"]] + [
    [region, year, n]
    for region, n in (("N", "4"), ("S", "[c]"), ("Total", "9"))
    for year in ("2019", "2020")
]


def test_years_of_a_list_are_labels() -> None:
    release = Release.from_frame(YEARS)
    assert release.names == ("Region", "Year")
    assert any("cells are in 'Turnover', by 'Region', 'Year'" in note for note in release.notes)


def test_codes_with_leading_zeros_are_labels() -> None:
    rows = [["area", "branch", "jobs"]]
    rows += [[area, branch, "4"] for area in ("01", "02") for branch in ("A", "Total")]
    assert Release.from_frame(rows).names == ("area", "branch")


def test_what_is_not_clear_is_said_with_the_words_that_settle_it() -> None:
    rows = [[*row[:1], "Wave", "Turnover"] if i == 0 else row for i, row in enumerate(YEARS)]
    with pytest.raises(InputError) as caught:
        Release.from_frame(rows)
    said = str(caught.value)
    assert "'Wave', 'Turnover' hold numbers, 'Region' holds codes" in said
    assert "value='Turnover'" in said
    assert "by=['Region', 'Wave']" in said
    assert Release.from_frame(rows, ["Region", "Wave"], "Turnover").names == ("Region", "Wave")


FAULTS = [
    ([["N", "A", "1"], ["N", "B", "2"], ["N", "A", "3"]], r"^rows {} and {} are both cell", (0, 2)),
    ([["N", "A", "1"], ["", "B", "2"]], r"^row {}: the code in column 'region' is missing", (1,)),
    ([["N", "A", "1.234"], ["N", "B", "56789"]], r"^row {}: '1\.234' may be a decimal", (0,)),
    ([["N", "A", "1"], ["N", "B", "9" * 20]], r"^row {}: the number is beyond", (1,)),
]


@pytest.mark.parametrize(("body", "said", "places"), FAULTS)
@pytest.mark.parametrize("blanks", [0, 1, 2])
@pytest.mark.parametrize("how", ["rows", "file", "file without a search"])
def test_messages_name_the_row_that_a_spreadsheet_shows(
    tmp_path, body, said, places, blanks, how
) -> None:
    empty = [[]] * blanks
    rows = [["region", "sector", "value"], *body[:1], *empty, *body[1:]]
    line = {k: k + 2 + (blanks if k else 0) for k in range(len(body))}
    words = said.format(*(line[k] for k in places))
    data = rows
    if how != "rows":
        data = tmp_path / "t.csv"
        data.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    by = ["region", "sector"], "value"
    with pytest.raises(InputError) as caught:
        Release.from_frame(data, *by) if how != "file" else Release.from_frame(data, by[0])
    assert re.search(words, str(caught.value)), str(caught.value)


def test_messages_about_a_frame_count_its_records() -> None:
    frame = {"region": ["N", "N"], "value": [1, 2]}
    with pytest.raises(InputError, match=r"^rows 1 and 2 are both cell"):
        Release.from_frame(frame, ["region"], "value")


COUNTY = [
    ["state", "naics", "emp", "emp_flag", "ap", "ap_flag"],
    ["01", "Total", "1500", "", "9000", ""], ["01", "31", "0", "D", "3000", ""],
    ["01", "32", "1000", "", "0", "D"], ["Total", "Total", "2200", "", "13000", ""],
    ["Total", "31", "700", "", "4000", ""], ["Total", "32", "1500", "", "9000", ""],
]  # fmt: skip


@pytest.mark.parametrize("by", [None, ["state", "naics"]])
@pytest.mark.parametrize(("value", "hidden"), [("emp", ("01", "31")), ("ap", ("01", "32"))])
def test_flags_are_those_named_after_the_cells(by, value, hidden) -> None:
    """A zero beside the flag D is withheld; flags of another measure say nothing of this one."""
    release = Release.from_frame(COUNTY, by, value, marks="census")
    assert release.names == ("state", "naics")
    withheld = [release.labels[i] for i in release.withheld.nonzero()[0]]
    assert hidden in withheld
    assert {("01", "31"), ("01", "32")} - {hidden} <= {
        (*release.labels[i],) for i in (~release.pattern).nonzero()[0]
    }
    assert f"flags are read from '{value}_flag'" in release.notes


def test_other_numbers_beside_the_cells_are_not_codes() -> None:
    rows = [["area", "branch", "firms", "jobs", "pay"]]
    rows += [[a, b, "7", str(n), "100"] for n, (a, b) in enumerate(
        [("N", "1"), ("N", "2"), ("Total", "1"), ("Total", "2")]
    )]  # fmt: skip
    release = Release.from_frame(rows, value="jobs", total={"branch": "1"})
    assert release.names == ("area", "branch")
    rows[2][4] = rows[4][2] = "8"
    release = Release.from_frame(rows, value="jobs", total={"branch": "1"})
    assert release.names == ("area", "branch")
    assert any("'firms', 'pay' hold other numbers" in note for note in release.notes)
    with pytest.raises(InputError, match=r"by=\['area', 'branch'\]"):
        Release.from_frame(rows)


@pytest.mark.parametrize("by", [None, ["region", "sector"]])
def test_columns_called_lower_and_upper_are_ranges(by) -> None:
    """They are public: a range of one number, or one that leaves the other cell no room, tells."""
    rows = [["region", "sector", "value", "Lower", "upper"], ["N", "A", "[c]", "4", "6"],
            ["N", "B", "[c]", "", ""], ["N", "Total", "10", "", ""], ["Total", "A", "9", "9", "9"],
            ["Total", "B", "12", "12", "12"], ["Total", "Total", "21", "21", "21"]]  # fmt: skip
    release = Release.from_frame(rows, by, "value" if by else None)
    cell = [*map(tuple, release.labels)].index(("N", "A"))
    assert (release.lower[cell], release.upper[cell]) == (4, 6)
    assert "ranges of withheld cells are read from 'Lower' and 'upper'" in release.notes
    told = Release.from_frame(rows, ["region", "sector"], "value", lower="upper")
    assert (told.lower[cell], told.upper[cell] > 10**9) == (6, True)


def test_footnotes_below_a_list_are_not_cells() -> None:
    rows = [["Region", "value"], ["N", "x"], ["S", "12"], ["Total", "20"], ["", ""],
            ["x = suppressed"], ["Source: an office", None]]  # fmt: skip
    release = Release.from_frame(rows, marks="statcan")
    assert len(release.pattern) == 3
    assert "rows 6 to 7 below the list are left out as footnotes" in release.notes
    withheld = Release.from_frame([*rows[:3], ["", ""], ["E", ""], ["Total", "20"]], withheld=["x"])
    assert len(withheld.pattern) == 4, "a blank line within a list, and a cell without a value"


def test_footnotes_below_a_list_in_a_file_whose_columns_are_named(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Region,value\nN,x\nS,12\nTotal,20\n,\nx = suppressed,\n", encoding="utf-8")
    release = Release.from_frame(path, ["Region"], "value", marks="statcan")
    assert len(release.pattern) == 3
    assert "row 6 below the list is left out as footnotes" in release.notes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "punycode"])
def test_a_declared_encoding_that_the_file_is_not_in(tmp_path, encoding) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("Region,value\nN,x\nÖst,12\n".encode("cp1252"))
    with pytest.raises(InputError, match=rf"(?i)t\.csv', line \d: not {encoding} text; declare"):
        Release.from_frame(TextFile(path, encoding=encoding), ["Region"], "value")


def test_a_range_without_an_end() -> None:
    rows = [["region", "value", "lower", "upper"], ["N", "", "3", "inf"], ["S", "", "-inf", "9"],
            ["Total", "20", "20", "20"]]  # fmt: skip
    release = Release.from_frame(rows)
    assert release.lower.tolist()[:2] == [3, 0]
    assert release.upper[0] > 10**9
    assert release.upper[1] == 9


WIDE = [
    ["Region", "Jobs", "Jobs flag", "Firms", "Firms flag"], ["N", "100", "", "5", ""],
    ["S", "0", "D", "2", ""], ["E", "300", "", "0", "D"], ["Total", "500", "", "20", ""],
]  # fmt: skip


@pytest.mark.parametrize(("value", "hidden"), [("Jobs", "S"), ("Firms", "E")])
def test_several_measures_each_with_its_flags(value, hidden) -> None:
    release = Release.from_frame(WIDE, value=value, marks="census")
    assert [release.labels[i] for i in release.withheld.nonzero()[0]] == [(hidden,)]


def test_several_measures_with_flags_are_asked_for() -> None:
    with pytest.raises(InputError, match="'Jobs', 'Firms' hold numbers"):
        Release.from_frame(WIDE)


@pytest.mark.parametrize("sign", ["", "W", "D", "(s)"])
def test_a_list_of_which_hardly_a_cell_is_published_has_its_column_of_cells(sign: str) -> None:
    rows = [
        ["region", "value", "status"], ["N", sign, "x"], ["S", sign, "x"], ["E", "0", "s"],
        ["Total", sign, "x"],
    ]  # fmt: skip
    assert Release.from_frame(rows).pattern.tolist() == [True, True, False, True]
    del rows[3]
    assert Release.from_frame(rows).pattern.all()
