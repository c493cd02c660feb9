"""What stands beside the cells, and headers that look like cells."""

from typing import Any

import numpy as np
import pytest

from csp import Release
from csp.errors import InputError
from csp.published.crosstabs.reading import read_crosstab
from csp.published.grids.grid import is_list

HEAD, ROWS = ["Kreis", "m", "w", "Insgesamt"], [["A", 5, 6, 11], ["B", 7, 8, 15], ["C", 1, 2, 3]]
ALL = ["Insgesamt", 13, 16, 29]
PLAIN = [HEAD, *ROWS, ALL]
READERS = [read_crosstab, Release.from_frame]


def cells(table: Any) -> dict[tuple[str, ...], int]:
    values = table.values if hasattr(table, "values") else table.published
    return dict(zip(map(tuple, table.labels), values.tolist(), strict=True))


def with_column(place: int, head: str, entries: list[Any]) -> list[list[Any]]:
    return [
        [*row[:place], entry, *row[place:]]
        for row, entry in zip(PLAIN, [head, *entries], strict=True)
    ]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "head", ["Kreis-Nr.", "AGS", "Gemeindeschl\u00fcssel", "Code", "Ward number"]
)
@pytest.mark.parametrize("last", [None, 5])
@pytest.mark.parametrize("place", [0, 1])
def test_a_column_of_codes_beside_the_names(read: Any, head: str, last: Any, place: int) -> None:
    table = read(with_column(place, head, [5111, 5117, 5112, last]))
    assert cells(table) == cells(read(PLAIN))
    assert any("holds codes of the names" in note for note in table.notes)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("ranks", [[2, 1, 3, None], [1, 1, 3, None]])
def test_ranks_behind_the_cells(read: Any, ranks: list[Any]) -> None:
    table = read(with_column(4, "Rang", ranks))
    assert cells(table) == cells(read(PLAIN))
    assert any("'Rang' (column 5); by the header" in note for note in table.notes)


def test_numbers_that_add_up_are_cells_whatever_their_header() -> None:
    table = Release.from_frame(with_column(4, "Code", [4, 7, 2, 13]))
    assert cells(table)["Insgesamt", "Code"] == 13


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("head", "entries", "why"),
    [
        ("per 1000", [3, 4, 2, 3], "rates"), ("je 1 000 Einwohner", [3, 4, 2, 3], "rates"),
        ("per 100,000", [3, 4, 2, 3], "rates"), ("Anteil", [40, 50, 10, 100], "percentages"),
        ("Cumulative", [11, 26, 29, 29], "running totals"),
        ("kumuliert", [11, 26, 29, None], "running totals"),
        ("Median", [4, 6, 2, 5], "an average"),
    ],
)  # fmt: skip
def test_columns_that_do_not_add_up(read: Any, head: str, entries: list[Any], why: str) -> None:
    table = read(with_column(4, head, entries))
    assert cells(table) == cells(read(PLAIN))
    assert any(repr(head) in note and why in note for note in table.notes)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("label", ["Median", "Average", "Durchschnitt"])
def test_a_row_of_averages_is_left_out_where_the_total_adds_up_without_it(
    read: Any, label: str
) -> None:
    table = read([*PLAIN, [label, 4, 5, 10]])
    assert cells(table) == cells(read(PLAIN))
    assert any(f"{label!r} (row 6); the total adds up without it" in n for n in table.notes)


def test_a_row_that_the_total_holds_is_a_category() -> None:
    rows = [HEAD, *ROWS, ["Index", 2, 2, 4], ["Insgesamt", 15, 18, 33]]
    assert cells(read_crosstab(rows))["Index", "m"] == 2


def test_a_row_of_which_nothing_shows_what_it_is_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"row 5: 'Average' may be an average"):
        read_crosstab([HEAD, *ROWS, ["Average", 400, 500, 900]])


# ---- headers that are numbers --------------------------------------------------------------------

STEPS = [["A", 5, 6, 11, 2], ["B", 7, 9, 15, 1], ["Total", 12, 15, 26, 3]]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "head",
    [
        [["Region", 0, 1, 2, 3]], [["Children"], ["Region", 0, 1, 2, 3]],
        [["Region", "Number of children", None, None, None], [None, 0, 1, 2, 3]],
        [["", 0, 5, 10, 20]],
    ],
)  # fmt: skip
def test_numbers_that_count_up_are_a_header(read: Any, head: list[list[Any]]) -> None:
    table = read([*head, *STEPS])
    steps = list(map(str, head[-1][1:]))
    assert cells(table)["B", steps[1]] == 9
    assert any(f"is read as a header: {', '.join(steps)}" in note for note in table.notes)


def test_numbers_without_a_header_are_refused_with_a_way() -> None:
    with pytest.raises(InputError, match=r"row 1: numbers without a header.*'7 persons'"):
        read_crosstab([["A", 7, 6], ["B", 3, 9], ["Total", 10, 15]])


def test_a_header_of_words_makes_it_readable() -> None:
    rows = [["Region", "7 persons", "6 persons"], ["B", 3, 9], ["C", 1, 2], ["Total", 4, 11]]
    assert cells(read_crosstab(rows))["B", "7 persons"] == 3


# ---- letters -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        [["Region", "2023", "", "2024", ""], ["", "m", "f", "m", "f"], ["A", 5, 6, 5, 6],
         ["B", 7, 8, 7, 8], ["Total", 12, 14, 12, 14]],
        [["Region", "m", "f"], ["A", 5, 6], ["B", 7, 8], ["Total", 12, 14]],
    ],
)  # fmt: skip
def test_letters_in_headers_are_codes(rows: list[list[Any]]) -> None:
    release = Release.from_frame(rows)
    assert not release.pattern.any()
    assert cells(release)[("A", "2023", "m") if rows[0][1] == "2023" else ("A", "m")] == 5


def test_a_letter_above_the_first_number_of_its_column_is_a_sign() -> None:
    rows = [["Region", "f", "m", "Total"], ["A", "D", "D", 11], ["B", 7, 8, 15],
            ["Total", 12, 14, 26]]  # fmt: skip
    release = Release.from_frame(rows)
    hidden = {tuple(release.labels[i]) for i in np.flatnonzero(release.pattern)}
    assert hidden == {("A", "f"), ("A", "m")}


# ---- amounts -------------------------------------------------------------------------------------


def test_values_that_are_large_or_round_or_have_decimals_say_so() -> None:
    def note(rows: list[list[Any]]) -> str:
        return next((n for n in read_crosstab(rows).notes if "counts of contributors" in n), "")

    assert note(PLAIN) == "whole numbers are taken for counts of contributors"
    large = [HEAD, *([r[0], *(x * 10_007 for x in r[1:])] for r in [*ROWS, ALL])]
    assert "very large" in note(large)
    round_ = [HEAD, *([r[0], *(x * 100 for x in r[1:])] for r in [*ROWS, ["D", 1, 1, 2],
              ["Insgesamt", 14, 17, 31]])]  # fmt: skip
    assert "round" in note(round_)
    decimals = [HEAD, *([r[0], *(x / 4 for x in r[1:])] for r in [*ROWS, ALL])]
    assert (
        note(decimals)
        == "numbers have decimals, so they are amounts and not counts of contributors"
    )


@pytest.mark.parametrize("count", [1, 3])
def test_letters_in_a_column_without_numbers_are_labels(count: int) -> None:
    """A is a sign of one office, and f of others: here they are codes of sectors and firms."""
    head = ["region", "sector", "enterprise", "turnover"]
    body = [["N1", "A", "f", 3], ["N2", "B", "g", 4], ["N3", "B", "h", 5]]
    assert is_list([head, *body[:count]])


def test_a_wrong_total_of_two_or_three_numbers_is_not_called_an_average() -> None:
    for parts in ([80, 90], [80, 90, 100]):
        rows = [["region", "men", "women"], *([f"r{i}", 100, x] for i, x in enumerate(parts))]
        total = ["Total", 100 * len(parts), 85]
        release = Release.from_frame([*rows, ["hidden", "x", "x"], total], marks="statcan")
        assert cells(release)["Total", "women"] == 85
        with pytest.raises(InputError, match="women"):
            read_crosstab([*rows, total])


def test_an_average_without_a_name_shows_by_its_decimals_or_many_parts() -> None:
    fine = [["region", "A", "size"], ["N", 100, 2.1], ["S", 90, 2.5], ["Total", 190, 2.3]]
    many = [["region", "A", "size"], *(["NSWO"[i], 10, 3 + i] for i in range(4)), ["Total", 40, 5]]
    for rows in (fine, many):
        table = read_crosstab(rows)
        assert {label[-1] for label in table.labels} != {"size"}
        assert any("as an average does" in note for note in table.notes)


def test_the_total_of_one_region_says_nothing_of_another() -> None:
    rows = [["", "", "0-14", "15-64", "65+"], ["Ash", "Men", 529, 121, 60],
            ["", "Women", 698, 744, 160], ["Elm", "Men", 77, 751, 236],
            ["", "Women", 511, 611, 48], ["", "Total", 588, 1362, 284]]  # fmt: skip
    release = Release.from_frame(rows)
    assert {label[-1] for label in release.labels} == {"0-14", "15-64", "65+"}


def test_a_balance_among_others_and_subtotals_is_not_called_an_average() -> None:
    """A total of parts of both signs lies among them; rows of subtotals count twice in their sum.

    Without its column the others would look safer than they are.
    """
    rows = [
        ["Industry", "Balance", "Sales"],
        ["Total", "-7", "101"],
        ["  Rental", "16", "30"],
        ["    Finance", "31", "13"],
        ["    Hotels", "-15", "17"],
        ["  Education", "-23", "71"],
        ["    Schools", "-34", "31"],
        ["    Courses", "11", "40"],
    ]
    release = Release.from_frame(rows, negative="allow")
    assert {column for _, column in release.labels} == {"Balance", "Sales"}
