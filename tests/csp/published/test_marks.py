"""Signs of offices: what is known, what is guessed and said, and what is asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from csp import InputError, Release
from csp.published.marks import OFFICES, marks_of


@pytest.mark.parametrize(
    ("office", "withheld", "other"),
    [
        ("destatis", ".", ("x", "empty")),
        ("statcan", "x", (".", "unknown")),
        ("uk", "[c]", ("[x]", "unknown")),
        ("census", "D", ("S", "unknown")),
        ("eurostat", "c", (":", "unknown")),
        ("ksh", "\u2026", ("x", "empty")),
        ("destatis", "\u00b7", ("-", "zero")),
    ],
)
def test_the_same_sign_means_different_things(office, withheld, other) -> None:
    assert OFFICES[office].meaning(withheld) == "withheld"
    assert OFFICES[office].meaning(other[0]) == other[1]


def test_every_office_has_a_source_and_each_sign_one_meaning() -> None:
    for marks in OFFICES.values():
        assert marks.source
        kinds = [
            marks.withheld,
            marks.unknown,
            marks.empty,
            marks.zero,
            marks.beside,
            {*marks.ranges},
        ]
        assert sum(map(len, kinds)) == len({s for kind in kinds for s in kind}), marks.name


def test_employment_flags_of_county_business_patterns() -> None:
    """A to M with their classes; Census Bureau, County Business Patterns record layout."""
    ranges = OFFICES["census"].ranges
    assert ranges["A"] == (0, 19)
    assert ranges["M"] == (100_000, None)
    ends = [ranges[letter] for letter in "ABCEFGHIJKLM"]
    assert all(a[1] + 1 == b[0] for a, b in pairwise(ends))


def test_a_sign_with_one_meaning_is_not_asked_for() -> None:
    marks, said = marks_of(None, {"[c]": 3})
    assert marks.meaning("[c]") == "withheld"
    assert said == ""


def test_a_guess_is_said() -> None:
    marks, said = marks_of(None, {"x": 2})
    assert marks.meaning("x") == "withheld"
    assert "taken for withheld" in said
    marks, said = marks_of(None, {".": 2, "-": 1, "/": 1})
    assert marks.name == "destatis"
    assert "destatis" in said


def test_ambiguous_signs_are_asked_for() -> None:
    with pytest.raises(InputError, match=r"offices differ .*destatis: 'x' empty, '\.' withheld"):
        marks_of(None, {"x": 2, ".": 3})
    marks, _ = marks_of("statcan", {"x": 2, ".": 3})
    assert (marks.meaning("x"), marks.meaning(".")) == ("withheld", "unknown")


def test_unknown_signs_and_offices_are_named() -> None:
    with pytest.raises(InputError, match=r"'q\?' \(1 cell\) is not a number"):
        marks_of(None, {"q?": 1})
    with pytest.raises(InputError, match="did you mean 'statcan'"):
        marks_of("statscan", {})
    with pytest.raises(InputError, match="nor a sign of uk"):
        marks_of("uk", {"q?": 1})
    marks, _ = marks_of("uk", {"q?": 1}, withheld=["q?"])
    assert marks.meaning("q?") == "withheld"


def test_what_the_caller_names_counts_first() -> None:
    marks, _ = marks_of("destatis", {"x": 1, "b": 1}, withheld=["x"], ranges={"b": (20, 99)})
    assert marks.meaning("x") == "withheld"
    assert marks.ranges["b"] == (20, 99)


def test_a_flag_of_quality_beside_a_number_hides_nothing() -> None:
    """G is a class of employment beside 0 and a range of noise beside a number (Census Bureau)."""
    rows = [
        ["naics", "emp", "empflag"], ["11", 12, "G"], ["21", 0, "G"], ["22", 7, "S"],
        ["23", 0, "D"], ["Total", 2500, ""],
    ]  # fmt: skip
    release = Release.from_frame(rows, ["naics"], "emp", status="empflag", marks="census")
    assert release.pattern.tolist() == [False, True, False, True, False]
    assert release.published.tolist() == [12, 0, 7, 0, 2500]
    assert (release.lower[1], release.upper[1]) == (1000, 2499)
    assert release.ranged is None, "the class of a withheld cell does not publish it"


@pytest.mark.parametrize("what", ["hierarchies", "total"])
@pytest.mark.parametrize("form", ["list", "cross"])
def test_a_dimension_that_is_not_there_is_refused(what: str, form: str) -> None:
    """A hierarchy of "Area" in place of "area" bound nothing, and cells were called safe."""
    given = {"Area": "prefix" if what == "hierarchies" else "Total"}
    said = f"{what} names 'Area', which is not among the dimensions: area"
    rows = [["area", "n", "m"], ["1", "5", "6"], ["2", "2", "x"], ["Total", "7", "9"]]
    columns = {"area": ["1", "11", "12"], "n": ["5", "2", "x"]}
    table = (columns, ["area"], "n") if form == "list" else (rows,)
    with pytest.raises(InputError, match=said):
        Release.from_frame(*table, marks="destatis", **{what: given})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"marks": "destatiss"}, "did you mean 'destatis'"),
        ({"rounded": 0}, "must be above 0, got 0"),
        ({"rounded": -5}, "must be above 0, got -5"),
        ({"tolerance": -1}, "must be 0 or more, got -1"),
    ],
)
def test_what_cannot_be_is_refused_though_the_table_does_not_need_it(options, said) -> None:
    rows = [["", "a", "b", "Total"], ["N", "1", "2", "3"], ["S", "", "5", "9"]]
    with pytest.raises(InputError, match=said):
        Release.from_frame(rows, **options)


@pytest.mark.parametrize("marks", [None, "sdmx", "eurostat"])
def test_confidentiality_without_a_status_of_observations(marks: str | None) -> None:
    columns = {"area": ["A", "B", "Total"], "OBS_VALUE": ["5", "", "9"],
               "CONF_STATUS": ["F", "C", "F"]}  # fmt: skip
    release = Release.from_frame(columns, ["area"], "OBS_VALUE", marks=marks)
    assert release.pattern.tolist() == [False, True, False]
