"""What tables have in print beside their cells: second headers, codes, flags, averages, indents."""

from __future__ import annotations

import pytest

from csp import InputError, Release
from csp.published.crosstabs.reading import read_crosstab

C = "[c]"


def sums(release: Release) -> set[tuple[tuple[str, ...], frozenset[tuple[str, ...]]]]:
    """Each relation as its total and its parts."""
    found = set()
    for row in release.relations.toarray().tolist():
        total = release.labels[row.index(-1)]
        found.add((total, frozenset(release.labels[i] for i, a in enumerate(row) if a == 1)))
    return found


def value(release: Release, *label: str) -> int | None:
    cell = list(release.labels).index(label)
    return None if release.pattern[cell] else int(release.published[cell])


def said(release: Release, words: str) -> bool:
    return any(words in note for note in release.notes)


# ---- a second table on the sheet -----------------------------------------------------------------

FIRST = [["", "a", "b", "Total"], ["N", "1", "2", "3"], ["S", "4", C, "6"], ["Total", "5", C, "9"]]


@pytest.mark.parametrize(
    "below",
    [
        [[], ["", "p", "q", "Total"], ["X", "1", C, "3"], ["Y", "1", "2", "3"]],
        [["", "per farm", "per head"], ["N", "1", "2"], ["S", "1", "2"]],
        [["Second table"], ["", "x", "y"], ["X", "1", "3"], ["Y", "1", "2"]],
    ],
)
def test_a_second_table_below_is_refused(below) -> None:
    with pytest.raises(InputError, match=r"row [56] is a second header below the numbers in rows"):
        Release.from_frame([*FIRST, *below])


@pytest.mark.parametrize("labels", [["N", "S"], ["north", "south"], ["A", "B"]])
@pytest.mark.parametrize("read", [Release.from_frame, read_crosstab])
def test_a_second_table_beside_is_refused(labels, read) -> None:
    """Letters as labels would be taken for signs of withheld cells."""
    first = [["", "a", "b"], ["N", "1", "2"], ["S", "4", "5"]]
    second = [["", "u", "v"], [labels[0], "3", "2"], [labels[1], "4", "6"]]
    rows = [[*a, "", *b] for a, b in zip(first, second, strict=True)]
    if labels == ["A", "B"]:  # those of other rows may be signs, whose meaning is asked for
        with pytest.raises(InputError):
            read(rows)
        return
    with pytest.raises(InputError, match="another table begins in column 5"):
        read(rows)


def test_a_second_row_of_years_is_a_second_header() -> None:
    rows = [["Region", "2019", "2020"], ["N", "1", "2"], ["Total", "1", "2"]]
    more = [["Region", "2021", "2022"], ["S", "1", C], ["Total", "1", "2"]]
    with pytest.raises(InputError, match="row 4 is a second header"):
        Release.from_frame([*rows, *more])


def test_a_header_that_is_printed_again_on_the_next_page_is_no_row() -> None:
    rows = [*FIRST[:2], FIRST[0], *FIRST[2:]]
    release = Release.from_frame(rows)
    assert list(release.labels) == list(Release.from_frame(FIRST).labels)
    assert said(release, "row 3 repeats the header")


@pytest.mark.parametrize("source", ["Source: office", "Quelle: Amt", "Note", "Stand"])
@pytest.mark.parametrize("width", [1, 2])
def test_a_year_beside_the_source_is_not_a_cell(source, width) -> None:
    rows = [["Region", "n", "m"], ["N", "1", "7"], ["S", C, "1"], ["Total", "3", "8"]]
    rows = [row[: width + 1] for row in rows]
    release = Release.from_frame([*rows, [source, "2022"]])
    assert len(release.pattern) == 3 * width
    assert len(sums(release)) == width


# ---- rows and columns that are not cells ---------------------------------------------------------


@pytest.mark.parametrize(
    "numbers", [["1", "2", "3", "4"], ["", "(1)", "(2)", "(3)"], ["", "1", "2", "3"]]
)
def test_a_row_that_numbers_the_columns_is_left_out(numbers) -> None:
    head = ["Region", *FIRST[0][1:]]
    release = Release.from_frame([head, numbers, *FIRST[1:]])
    assert sums(release) == sums(Release.from_frame([head, *FIRST[1:]]))
    assert said(release, "row 2 numbers the columns and is left out")


def test_a_first_row_of_small_numbers_is_a_row() -> None:
    rows = [["Region", "a", "b", "Total"], ["N", "1", "2", "3"], ["Total", "1", "2", "3"]]
    assert value(Release.from_frame(rows), "N", "a") == 1


@pytest.mark.parametrize(
    ("head", "codes"),
    [("Code", ["101", "205", ""]), ("", ["01", "02", ""]), ("NACE", ["10", "20", "99"])],
)
@pytest.mark.parametrize("first", [False, True])
def test_codes_beside_names_are_not_added_up(head, codes, first) -> None:
    rows = [["Branch", "n", "Total"], ["Farms", C, "8"], ["Trade", "5", "6"], ["Total", "8", "14"]]
    plain = Release.from_frame(rows)
    if first and not head:
        head = "Nr"
    at = 0 if first else 1
    release = Release.from_frame(
        [[*row[:at], code, *row[at:]] for row, code in zip(rows, [head, *codes], strict=True)]
    )
    assert sums(release) == sums(plain)
    assert said(release, "holds codes of the names in column")


def test_years_beside_the_labels_are_a_dimension() -> None:
    rows = [["Region", "Year", "a", "b", "Total"]]
    for region in ("N", "S", "Total"):
        rows += [[region, year, "1", C, "3"] for year in ("2019", "2020")]
    release = Release.from_frame(rows)
    assert release.names == ("Region", "Year", "columns")
    assert len(release.pattern) == 18


def test_signs_in_a_column_without_header_belong_to_the_column_before() -> None:
    rows = [
        ["Region", "a", "", "b", "", "Total", ""],
        ["N", "1", "", "2", "r", "3", ""],
        ["S", "5", "", "", "D", "9", ""],
        ["Total", "6", "", "0", "D", "12", "p"],
    ]
    release = Release.from_frame(rows, marks="census")
    assert len(release.pattern) == 9
    assert value(release, "N", "b") == 2
    assert value(release, "S", "b") is None
    assert value(release, "Total", "b") is None, "0 beside D is a withheld number"


@pytest.mark.parametrize("row", [["W", "c", "c", "c"], ["W", "c", "1", "4"]])
def test_a_first_column_of_withheld_cells_is_not_a_column_of_labels(row) -> None:
    rows = [["Region", "a", "b", "Total"], ["N", "c", "2", "3"], ["S", "c", "4", "9"], row]
    release = Release.from_frame([*rows, ["Total", "c", "8", "15"]])
    assert len(release.pattern) == 12
    assert int(release.pattern.sum()) == 4 + row.count("c") - 1


def test_footnotes_behind_numbers_are_left_out() -> None:
    rows = [
        ["Region", "a", "b", "Total"],
        ["N", "45 1)", "2\u00b9", "47"],
        ["S", "1 234 2)", C, "2 000 a)"],
        ["Total", "1279", C, "2047"],
    ]
    release = Release.from_frame(rows)
    assert value(release, "N", "a") == 45
    assert value(release, "S", "a") == 1234
    assert value(release, "S", "Total") == 2000
    assert said(release, "signs behind numbers are left out")
    with pytest.raises(InputError, match=r"'451\)' \(1 cell\) is not a number"):
        Release.from_frame([*rows[:1], ["N", "451)", "2", "47"], *rows[2:]])


# ---- percentages and averages --------------------------------------------------------------------


@pytest.mark.parametrize(
    "head", ["Share %", "in per cent", "Anteil", "Ver\u00e4nderung", "Change in percent"]
)
@pytest.mark.parametrize("at", [1, 4])
def test_percentages_beside_values_are_left_out(head, at) -> None:
    rows = [["", "a", "b", "Total"], ["N", C, "2", "3"], ["S", "3", "4", "7"],
            ["Total", "4", "6", "10"]]  # fmt: skip
    wide = [[*row[:at], text, *row[at:]]
            for row, text in zip(rows, [head, "30.0", "70.0", "100.0"], strict=True)]  # fmt: skip
    release = Release.from_frame(wide)
    assert sums(release) == sums(Release.from_frame(rows))
    assert release.scale == 0
    assert said(release, f"left out: {head!r} (column {at + 1}); percentages do not add up")


def test_percentages_below_each_heading_are_left_out() -> None:
    rows = [
        ["Region", "Men", "", "Women", "", "Total", ""],
        ["", "Number", "%", "Number", "%", "Number", "%"],
        ["N", C, "30", "4", "40", "7", "34"],
        ["Total", "10", "100", "10", "100", "20", "100"],
        ["Change in %", "1", "2", "3", "4", "5", "6"],
    ]
    release = Release.from_frame(rows)
    assert [*release.names] == ["Region", "columns"]
    assert len(sums(release)) == 2
    assert said(release, "'Change in %' (row 5)")


def test_a_table_of_percentages_alone_is_read() -> None:
    rows = [["", "a %", "Total %"], ["N", "30", "60"], ["Total", "50", "100"]]
    assert len(Release.from_frame(rows).pattern) == 4


@pytest.mark.parametrize("head", ["Mean size", "Employees per firm", "Index", "Average"])
def test_a_column_whose_total_lies_among_the_others_is_an_average(head) -> None:
    rows = [["", "a", "b", head], ["N", "1", "2", "30"], ["S", "3", C, "70"],
            ["Total", "4", "6", "50"]]  # fmt: skip
    release = Release.from_frame(rows)
    assert sums(release) == sums(Release.from_frame([row[:3] for row in rows]))
    assert said(release, f"left out: {head!r} (column 4); the total lies among the other numbers")


def test_an_average_by_its_name_that_adds_up_is_a_category() -> None:
    rows = [["", "Low", "Average", "Total"], ["N", C, "2", "3"], ["S", "3", "4", "7"],
            ["Total", "4", "6", "10"]]  # fmt: skip
    assert len(Release.from_frame(rows).pattern) == 9


def test_an_error_in_one_total_is_not_taken_for_an_average() -> None:
    rows = [["", "a", "b", "Total"], ["N", "30", "20", "50"], ["S", "40", "20", "60"],
            ["Total", "37", "40", "110"]]  # fmt: skip
    assert len(Release.from_frame(rows).pattern) == 9


def test_where_nothing_shows_what_a_column_is_the_reader_asks() -> None:
    rows = [["", "a", "Mean", "b"], ["N", "1", "2", "3"], ["S", "3", "4", C]]
    with pytest.raises(InputError, match=r"column 3: 'Mean' may be an average.* value='a,b'"):
        Release.from_frame(rows)
    assert len(Release.from_frame(rows, value="a,b").pattern) == 4
    assert len(Release.from_frame(rows, value="a,Mean,b").pattern) == 6
    with pytest.raises(InputError, match="no column has the header 'q'; there are 'a', 'Mean'"):
        Release.from_frame(rows, value="q")


def test_value_names_a_heading_with_all_below_it() -> None:
    rows = [
        ["Region", "Farms", "", "Jobs", ""],
        ["", "a", "Total", "a", "Total"],
        ["N", "1", "3", C, "6"],
        ["Total", "4", "8", "5", "9"],
    ]
    release = Release.from_frame(rows, value="Jobs")
    assert release.names == ("Region", "columns")
    assert value(release, "N", "Total") == 6


# ---- labels --------------------------------------------------------------------------------------


def test_indented_labels_that_come_back_are_a_level_of_their_own() -> None:
    rows = [["", "n"], ["Men", "6"], ["  North", C], ["  South", "2"], ["Women", "9"],
            ["  North", "4"], ["  South", C], ["Total", "15"], ["  North", "8"],
            ["  South", "7"]]  # fmt: skip
    release = Release.from_frame(rows)
    assert len(release.pattern) == 9
    people, places = ("Men", "Women"), ("North", "South")
    want = {((p, "Total"), frozenset((p, q) for q in places)) for p in (*people, "Total")}
    want |= {(("Total", q), frozenset((p, q) for p in people)) for q in (*places, "Total")}
    found = {(total[:2], frozenset(part[:2] for part in parts)) for total, parts in sums(release)}
    assert found == want


def test_indented_labels_that_come_back_here_and_there_are_named_by_their_headings() -> None:
    rows = [["", "n", "m"], ["Men", "6", "7"], ["  North", "4", C], ["  Other", "2", "4"],
            ["Women", "9", "8"], ["  West", "4", "4"], ["  Other", "5", "4"],
            ["Total", "15", "15"]]  # fmt: skip
    release = Release.from_frame(rows)
    found = {(total[0], frozenset(part[0] for part in parts)) for total, parts in sums(release)}
    assert found == {
        ("Men", frozenset({"North", "Men / Other"})),
        ("Women", frozenset({"West", "Women / Other"})),
        ("Total", frozenset({"Men", "Women"})),
    }


def test_rows_of_headings_are_totals_of_what_comes_back_below_them() -> None:
    rows = [["State", "Sex", "n", "m"]]
    for state, numbers in (("A", "3 1 2"), ("B", "9 4 5"), ("Total", "12 5 7")):
        for place, (sex, n) in enumerate(zip(("", "m", "f"), numbers.split(), strict=True)):
            rows.append(["" if place else state, sex, n, C if place == 2 else n])
    release = Release.from_frame(rows)
    assert release.names == ("State", "Sex", "columns")
    assert len(sums(release)) == 2 * 6
    assert said(release, "'A', 'B', 'Total': rows without a label of the next level")


@pytest.mark.parametrize("corner", ["", "Region"])
def test_indents_before_one_column_of_numbers_are_a_hierarchy(corner) -> None:
    rows = [[corner, "n"], ["Total", "6"], ["North", "4"], ["  N1", "1"], ["  N2", C], ["South", C]]
    assert len(sums(Release.from_frame(rows))) == 2


# ---- steps of a scale ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps", [["0-4", "5-9", "10+"], ["<5", "5 to 19", "20-49", "50 or more"], ["0", "1-4", "5+"]]
)
@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize("corner", ["", "Region"])
def test_ages_in_the_header_are_codes(steps, total, corner) -> None:
    head = [*steps, "Total"] if total else steps
    rows = [
        [corner, *head],
        *([r, *(str(k + 5) for k in range(len(head)))] for r in ("N", "Total")),
    ]
    rows[1][2] = C
    release = Release.from_frame(rows)
    assert len(release.pattern) == 2 * len(head)
    assert value(release, "N", steps[0]) == 5


def test_ages_below_another_header_and_in_the_labels_are_codes() -> None:
    rows = [["", "Men", "", "Women", ""], ["Region", "0-4", "5+", "0-4", "5+"],
            ["N", "1", C, "3", "4"], ["Total", "1", "2", "3", "4"]]  # fmt: skip
    assert value(Release.from_frame(rows), "N", "Women", "5+") == 4
    rows = [["Region", "Age", "n", "m"]]
    for region in ("N", "S"):
        rows += [[region, age, "4", C] for age in ("0-4", "5+", "Total")]
        rows[-2][0] = rows[-1][0] = ""
    release = Release.from_frame(rows)
    assert release.names == ("Region", "Age", "columns")
    assert len(sums(release)) == 4


def test_classes_in_place_of_numbers_stay_cells() -> None:
    rows = [["Region", "Jobs", "Pay"], ["N", "0-19", "4"], ["S", "20-99", "5"], ["W", "100-249", C],
            ["Total", "100-249", "20"]]  # fmt: skip
    release = Release.from_frame(rows)
    assert len(release.pattern) == 8
    assert release.classed is not None
    assert int(release.classed.sum()) == 4


# ---- what looks like it and is not ---------------------------------------------------------------


@pytest.mark.parametrize("step", ["under 50 %", "owned by 10 per cent or more", "Anteil unter 5 %"])
def test_percentages_in_the_name_of_a_category(step) -> None:
    plain = step.replace("Anteil ", "")
    rows = [["", plain, "other", "Total"], ["N", C, "2", "3"], ["S", "3", "4", "7"],
            ["Total", "4", "6", "10"]]  # fmt: skip
    assert len(Release.from_frame(rows).pattern) == 9
    rows[0][1] = "b"
    rows[1][0] = plain
    assert len(Release.from_frame(rows).pattern) == 9


def test_a_share_by_its_name_that_adds_up_into_the_total_is_a_category() -> None:
    rows = [["", "Anteil", "Rest", "Total"], ["N", C, "2", "3"], ["S", "3", "4", "7"],
            ["Total", "4", "6", "10"]]  # fmt: skip
    assert len(Release.from_frame(rows).pattern) == 9


def test_a_withheld_negative_number_makes_no_average() -> None:
    rows = [["", "a", "b"], ["N", "30", "1"], ["S", "20", "2"], ["W", C, "4"],
            ["Total", "20", "7"]]  # fmt: skip
    assert len(Release.from_frame(rows, negative="allow").pattern) == 8


@pytest.mark.parametrize("label", ["Sources of income", "Stand-alone houses", "Notes"])
def test_a_row_whose_label_begins_like_a_source_is_a_row(label) -> None:
    rows = [["", "a", "b"], ["N", "1000", C], [label, "1999", "2001"], ["Total", "2999", "3000"]]
    assert len(Release.from_frame(rows).pattern) == 6


@pytest.mark.parametrize("head", ["No.", "Nr", "Number"])
def test_a_column_of_counts_is_not_one_of_codes(head) -> None:
    rows = [["", head, "EUR"], ["N", "17", C], ["S", "25", "9"], ["Total", "42", "12"]]
    assert value(Release.from_frame(rows), "Total", head) == 42


def test_numbers_in_order_below_the_first_row_are_a_row() -> None:
    rows = [["Month", "a", "b", "c"], ["0", "7", "9", "8"], ["1", "2", "3", "4"],
            ["Total", "9", C, "12"]]  # fmt: skip
    assert len(Release.from_frame(rows).pattern) == 9


def test_an_unknown_sign_in_all_cells_of_a_row_is_asked_for() -> None:
    rows = [["", "a", "b"], ["N", "30", "1"], ["S", "n.q.", "n.q."], ["Total", "50", "7"]]
    with pytest.raises(InputError, match=r"'n\.q\.' \(2 cells\) is not a number"):
        Release.from_frame(rows)


# ---- all of it at once ---------------------------------------------------------------------------


def test_a_yearbook_with_units_codes_numbers_of_columns_and_changes() -> None:
    rows = [
        ["Tabelle 12: Betriebe und Umsatz 2023"],
        [],
        ["WZ", "Wirtschaftszweig", "Betriebe", "Umsatz", "", "Ver\u00e4nderung"],
        ["", "", "Anzahl", "insgesamt", "darunter Ausland", "zum Vorjahr"],
        ["", "", "", "1 000 EUR", "", "%"],
        ["", "", "1", "2", "3", "4"],
        ["10", "Nahrung", "12", "1 200", "300", "2,5"],
        ["11", "Getr\u00e4nke", "3", ".", ".", "-1,0"],
        ["12", "Tabak 1)", "2", ".", "\u2026", "x"],
        ["C", "Insgesamt", "17", "2 000", "450", "1,2"],
        ["1) Vorl\u00e4ufig."],
        ["Quelle: Amt", "2024"],
    ]
    release = Release.from_frame(rows, marks="destatis")
    assert release.names == ("Wirtschaftszweig", "columns")
    assert len(release.pattern) == 16, "with the rest of Umsatz"
    assert value(release, "Insgesamt", "Betriebe") == 17
    assert value(release, "Nahrung", "Umsatz") == 1200
    assert value(release, "Tabak", "darunter Ausland") is None
    assert release.unavailable is not None
    assert int(release.unavailable.sum()) == 1
    own = [(total, parts) for total, parts in sums(release) if total[1] == "Umsatz"]
    assert len(own) == 1 + 4, "a column of branches, and a part and a rest in each row"
    assert len(sums(release)) == 4 + 4


def test_units_below_the_header_are_not_a_dimension() -> None:
    rows = [["Region", "Firms", "Jobs"], ["", "number", "1 000"], ["N", "1", "2.5"],
            ["S", C, "3.5"], ["Total", "7", "6.0"]]  # fmt: skip
    release = Release.from_frame(rows)
    assert len(release.pattern) == 6
    assert len(sums(release)) == 2


def test_words_behind_a_number_are_not_a_footnote() -> None:
    rows = [["", "a", "b"], ["N", "12 EUR", "3"], ["Total", "12", "3"]]
    with pytest.raises(InputError, match="'12 EUR'"):
        Release.from_frame(rows)


def test_years_that_come_back_above_another_header_are_a_header() -> None:
    rows = [["Table 2"], ["Area", "2022", "2022", "2023", "2023"],
            ["", "Births", "Rate per 1,000", "Births", "Rate per 1,000"],
            ["N", "10", "1.5", "20", "3.5"], ["S", C, C, "30", "4.0"],
            ["Total", "15", "1.9", "50", "3.8"]]  # fmt: skip
    release = Release.from_frame(rows)
    assert [*release.labels] == [(a, y) for a in ("N", "S", "Total") for y in ("2022", "2023")]
    assert value(release, "Total", "2023") == 50


def test_indented_rows_below_headings_of_blocks() -> None:
    """The labels of men, women and both come back, and so do those that are not indented."""
    rows = [["Industry", "East", "West", "Total"]]
    for sex, times in (("Men", 1), ("Women", 1), ("Total", 2)):
        rows += [
            [sex, "", "", ""],
            ["Trade", "[c]", str(20 * times), "[c]"],
            ["   Retail", str(10 * times), "[c]", str(25 * times)],
            ["   Wholesale", "[c]", str(5 * times), "[c]"],
            ["Hotels", "[c]", str(9 * times), str(40 * times)],
            ["Total", str(80 * times), str(29 * times), str(109 * times)],
        ]
    release = Release.from_frame(rows)
    assert value(release, "Men", "Retail", "East") == 10
    assert value(release, "Total", "Retail", "East") == 20
    people = ("Men", "Women")
    assert {
        (("Men", "Trade", "East"), frozenset(("Men", x, "East") for x in ("Retail", "Wholesale"))),
        (("Total", "Retail", "East"), frozenset((x, "Retail", "East") for x in people)),
    } <= sums(release)
