"""Totals by their names: read as totals where they add up, asked for where nothing shows it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError, Release
from tests.support.shared import examples

C = "[c]"


def above(release: Release) -> dict[str, str]:
    """What each code of the rows is a part of."""
    found = {}
    for row in release.relations.toarray().tolist():
        total = release.labels[row.index(-1)]
        parts = [release.labels[i] for i, a in enumerate(row) if a == 1]
        if all(part[1:] == total[1:] for part in parts):
            found |= {part[0]: total[0] for part in parts}
    return found


@pytest.mark.parametrize("word", ["Both sexes", "All persons", "T", "Beide", "Tot."])
@pytest.mark.parametrize("first", [False, True])
def test_a_name_that_may_be_a_total_is_one_where_it_adds_up(word, first) -> None:
    body = [["Men", "1", "2"], ["Women", "3", C]]
    whole = [word, "4", "6"]
    rows = [["", "a", "b"], *([whole, *body] if first else [*body, whole])]
    release = Release.from_frame(rows)
    plain = word.rstrip(".")
    assert above(release) == {"Men": plain, "Women": plain}
    assert any("1 published sum supports" in note for note in release.notes)


def test_a_name_that_may_be_a_total_and_does_not_add_up_is_a_category() -> None:
    rows = [
        ["", "a", "b"],
        ["Farms", "1", "2"],
        ["All other services", "3", C],
        ["Total", "4", "6"],
    ]
    assert above(Release.from_frame(rows)) == {"Farms": "Total", "All other services": "Total"}
    rows = [["", "a", "b"], ["Farms", "1", "2"], ["Trade", "2", "2"], ["All other", "7", C]]
    release = Release.from_frame(rows)
    assert above(release) == {}
    assert not any("All other" in note for note in release.notes)


def test_a_name_that_may_be_a_total_is_said_where_nothing_shows_it() -> None:
    rows = [["", "a", "b"], ["Men", C, "2"], ["Women", "3", C], ["Both sexes", "4", "6"]]
    release = Release.from_frame(rows)
    assert above(release) == {}
    assert any("'Both sexes' may be a total, but no published sum shows it" in note
               for note in release.notes)  # fmt: skip
    told = Release.from_frame(rows, total={"rows": "Both sexes"})
    assert above(told) == {"Men": "Both sexes", "Women": "Both sexes"}


@pytest.mark.parametrize("name", ["Total trade", "Trade, total", "Zusammen"])
@pytest.mark.parametrize("before", [False, True])
def test_subtotals_by_their_names(name, before) -> None:
    parts = [["retail", "3", C], ["wholesale", "4", "1"]]
    whole = [name, "7", "6"]
    group = [whole, *parts] if before else [*parts, whole]
    rows = [["", "a", "b"], ["Farms", "1", "2"], *group, ["Total", "8", "8"]]
    assert above(Release.from_frame(rows)) == {
        "Farms": "Total", name: "Total", "retail": name, "wholesale": name,
    }  # fmt: skip


def test_totals_of_a_part_that_are_the_categories() -> None:
    rows = [["", "a", "b"], ["Total men", "1", "2"], ["Total women", "3", C], ["Total", "4", "6"]]
    assert above(Release.from_frame(rows)) == {"Total men": "Total", "Total women": "Total"}


def test_several_totals_of_which_nothing_shows_what_they_hold_are_asked_for() -> None:
    rows = [["", "a"], ["Farms", "1"], ["retail", C], ["wholesale", C], ["Total trade", C],
            ["Total", "8"]]  # fmt: skip
    with pytest.raises(InputError, match=r"'Total trade' and 'Total' .* have the names of totals"):
        Release.from_frame(rows)
    told = Release.from_frame(rows, total={"rows": "Total"})
    assert len(above(told)) == 4


def test_a_subtotal_with_indents_below_it() -> None:
    rows = [["", "a", "b"], ["Trade, total", "7", "6"], ["  retail", "3", C],
            ["  wholesale", "4", "1"], ["Farms", "1", "2"], ["Total", "8", "8"]]  # fmt: skip
    assert above(Release.from_frame(rows)) == {
        "retail": "Trade, total", "wholesale": "Trade, total", "Trade, total": "Total",
        "Farms": "Total",
    }  # fmt: skip


@examples(60)
@given(st.data())
def test_planted_subtotals_with_names_are_found(data) -> None:
    """Groups with their totals before or after them, one cell of each other line withheld."""
    sizes = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))
    before, word = data.draw(st.booleans()), data.draw(st.sampled_from(["Total {}", "{}, total"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    lines = data.draw(st.integers(2, 4))
    rows, want, tops = [], {}, []
    for g, size in enumerate(sizes):
        name = word.format(f"group {g}")
        parts = rng.integers(1000, 10**6, (size, lines))
        leaves = [[f"{g}.{i}", *map(str, row)] for i, row in enumerate(parts.tolist())]
        leaves[data.draw(st.integers(0, size - 1))][-1] = C
        whole = [name, *map(str, parts.sum(axis=0).tolist())]
        rows += [whole, *leaves] if before else [*leaves, whole]
        want |= {leaf[0]: name for leaf in leaves} | {name: "Total"}
        tops.append(parts.sum(axis=0))
    rows.insert(0 if before else len(rows), ["Total", *map(str, np.sum(tops, axis=0).tolist())])
    release = Release.from_frame([["", *(f"c{j}" for j in range(lines))], *rows])
    assert above(release) == want


def test_totals_of_indented_parts_beside_the_total_of_all() -> None:
    rows = [["", "a", "b"], ["East Total", "7", "6"], ["  E1", "3", C], ["  E2", "4", "1"],
            ["West Total", "9", "5"], ["  W1", "5", C], ["  W2", "4", "3"], ["South", "1", "1"],
            ["U.S. Total [3]", "17", "12"]]  # fmt: skip
    whole = "U.S. Total"
    assert above(Release.from_frame(rows)) == {
        "E1": "East Total", "E2": "East Total", "W1": "West Total", "W2": "West Total",
        "East Total": whole, "West Total": whole, "South": whole,
    }  # fmt: skip


HOSPITALS = [
    ["", "Asthma", "Cancer", "Diabetes", "All"],
    ["North trust", "14", "8", "25", "47"], ["St Mary", "9", "3", "20", "32"],
    ["City", "5", "5", "5", "15"], ["South trust", C, C, "30", "53"],
    ["Royal", C, C, "15", "27"], ["County", C, C, "15", "26"],
    ["All hospitals", C, C, "55", "100"],
]  # fmt: skip


@pytest.mark.parametrize("indented", [True, False])
def test_a_whole_tree_below_the_name_of_a_total_needs_fewer_sums(indented) -> None:
    deep = {"St Mary", "City", "Royal", "County"}
    rows = [["  " + row[0] if indented and row[0] in deep else row[0], *row[1:]]
            for row in HOSPITALS]  # fmt: skip
    release = Release.from_frame(rows)
    assert above(release) == {
        "St Mary": "North trust", "City": "North trust", "Royal": "South trust",
        "County": "South trust", "North trust": "All hospitals", "South trust": "All hospitals",
    }  # fmt: skip
    assert release.roots[0] == "All hospitals"


@pytest.mark.parametrize("whole", ["100", "101", C])
def test_an_indented_name_of_a_total_that_no_sum_shows_binds_nothing(whole) -> None:
    rows = [["", "a", "b"], ["All sites", whole, C], ["North", "60", C], ["  N1", C, "9"],
            ["  N2", "20", C], ["South", "40", "12"]]  # fmt: skip
    release = Release.from_frame(rows)
    bound = {"N1": "North", "N2": "North"}
    more = {"North": "All sites", "South": "All sites"} if whole == "100" else {}
    assert above(release) == bound | more


def test_a_code_that_may_be_the_total_is_named_where_one_line_shows_it() -> None:
    rows = [["Land", "klein", "groß", "Insgesamt"], ["Hamburg", "100", "20", "120"],
            ["Bremen", C, C, "80"], ["Berlin", C, C, "200"],
            ["Deutschland", "328", "72", "400"]]  # fmt: skip
    said = "'Deutschland' is the sum of all others in the line that is published whole"
    release = Release.from_frame(rows)
    assert any(said in note for note in release.notes)
    assert any("no total was found among the codes of Land" in note for note in release.notes)
    rows[2][1:3], rows[3][1] = ["78", "2"], "150"
    notes = Release.from_frame(rows).notes
    assert any("Deutschland = Hamburg + Bremen + Berlin" in note for note in notes)
    assert not any(said in note or "bind nothing" in note for note in notes)


@pytest.mark.parametrize(("whole", "nested"), [("1000", True), ("1001", False)])
def test_codes_within_codes_need_one_sum(whole, nested) -> None:
    """In one line with cells withheld no sum shows that all codes are parts of the total."""
    rows = [["naics", "value"], ["Total", whole], ["31", "600"], ["311", "400"], ["312", C],
            ["32", "400"], ["321", C], ["322", C]]  # fmt: skip
    found = above(Release.from_frame(rows, ["naics"], "value"))
    inner = {"311": "31", "312": "31", "321": "32", "322": "32", "31": "Total", "32": "Total"}
    assert found == (inner if nested else dict.fromkeys(inner, "Total"))


def test_sums_that_hold_by_chance_do_not_take_the_place_of_the_total() -> None:
    rows = [
        ["", "a", "b", "c"],
        ["Ulm", "2", "1", "3"],
        ["Bonn", "1", "2", "1"],
        ["Köln", "3", "3", "4"],
        ["Kiel", C, C, C],
        ["Total", "9", "9", "9"],
    ]
    release = Release.from_frame(rows)
    assert above(release) == dict.fromkeys(["Ulm", "Bonn", "Köln", "Kiel"], "Total")
    assert any("no published sum shows whether Total" in note for note in release.notes)


@given(st.integers(0, 2**32 - 1))
@examples(60)
def test_codes_of_a_list_are_parts_of_the_code_named_total(seed: int) -> None:
    """Small counts, of which many add up by chance, and hidden ones in every column."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, (int(rng.integers(4, 9)), int(rng.integers(3, 7))))
    hidden = rng.random(counts.shape) < 0.2
    hidden[rng.integers(0, len(counts), counts.shape[1]), np.arange(counts.shape[1])] = True
    names = [f"{letter}-town" for letter in "abcdefgh"[: len(counts)]]
    body = [
        [name, *(C if hide else str(x) for x, hide in zip(*row, strict=True))]
        for name, *row in zip(names, counts.tolist(), hidden.tolist(), strict=True)
    ]
    heads = ["", *(f"y{j}" for j in range(counts.shape[1]))]
    rows = [heads, *body, ["Total", *map(str, counts.sum(axis=0).tolist())]]
    assert above(Release.from_frame(rows)) == dict.fromkeys(names, "Total")


def test_a_total_of_subtotals_is_read_where_a_line_shows_them() -> None:
    rows = [
        ["", "a", "b", "c", "d"],
        ["wheat", "10", "21", "5", C],
        ["rye", "7", "9", "6", C],
        ["Grain", "17", "30", "11", "8"],
        ["cows", C, "8", C, "3"],
        ["pigs", C, C, C, "4"],
        ["Cattle", "20", "17", "16", "7"],
        ["Total", "37", "47", "27", "15"],
    ]
    grain = {"wheat": "Grain", "rye": "Grain"}
    release = Release.from_frame(rows)  # nothing shows that cattle are cows and pigs
    assert above(release) == grain
    assert any("no sum shows what 'Total' holds" in note for note in release.notes)
    rows[4:6] = [["cows", "12", "8", "9", C], ["pigs", "8", "9", "7", "4"]]
    cattle = {"cows": "Cattle", "pigs": "Cattle"}
    expected = grain | cattle | {"Grain": "Total", "Cattle": "Total"}
    assert above(Release.from_frame(rows)) == expected


def test_what_is_left_over_is_part_of_the_total() -> None:
    rows = [
        ["", "a", "b", "c"],
        ["wheat", "10", "21", "5"],
        ["rye", "7", "9", "6"],
        ["Grain", "17", "30", "11"],
        ["cows", C, C, C],
        ["Total", "18", "31", "12"],
    ]
    expected = {"wheat": "Grain", "rye": "Grain", "Grain": "Total", "cows": "Total"}
    assert above(Release.from_frame(rows)) == expected


@pytest.mark.parametrize("outer", [False, True])
def test_indents_count_in_each_of_two_columns_of_labels(outer: bool) -> None:
    """Industries are indented beside sexes, and sexes beside industries."""
    industries = {
        "Trade": (C, "20"),
        "   Retail": ("10", C),
        "   Wholesale": (C, "5"),
        "Hotels": (C, "9"),
        "Total": ("80", "29"),
    }
    men = [[name, "Men", *cells] for name, cells in industries.items()]
    women = [[name, "Women", *cells] for name, cells in industries.items()]
    if outer:  # the label of the first column stands once for its rows
        rows = [row for one, two in zip(men, women, strict=True) for row in (one, ["", *two[1:]])]
    else:
        rows = [[sex, name, *cells] for name, sex, *cells in [*men, *women]]
    heads = ["Industry", "Sex"] if outer else ["Sex", "Industry"]
    release = Release.from_frame([[*heads, "East", "West"], *rows])
    found = set()
    for row in release.relations.toarray().tolist():
        labels = [release.labels[i] for i in np.flatnonzero(row).tolist()]
        whole = release.labels[row.index(-1)]
        parts = {part for label in labels for part in label} - {*whole, "Men", "Women"}
        found.add((next(part for part in whole if part in {"Trade", "Total"}), *sorted(parts)))
    assert found == {("Trade", "Retail", "Wholesale"), ("Total", "Hotels", "Trade")}


@pytest.mark.parametrize("names", ["codes", "words"])
@pytest.mark.parametrize("base", [5, 10])
def test_rounded_counts_that_are_smaller_than_what_sums_may_be_off(names: str, base: int) -> None:
    """Nine counts to base 10 and their subtotals may be off by 65 in all, and are worth 90."""
    rng = np.random.default_rng(1)
    parts = rng.poisson(8, (9, 6))
    wholes = parts.reshape(3, 3, 6).sum(axis=1)
    counts = np.vstack([x for i in range(3) for x in (wholes[i], parts[3 * i : 3 * i + 3])])
    counts = np.vstack([counts, wholes.sum(axis=0)])
    codes = {"codes": "A A1 A2 A3 B B1 B2 B3 C C1 C2 C3", "words": "u v w x e f g h p q r s"}
    labels = [*codes[names].split(), "Total"]
    shown = (counts + base // 2) // base * base
    rows = [["", *(f"y{j}" for j in range(6))], *(
        [label, *map(str, row)] for label, row in zip(labels, shown.tolist(), strict=True)
    )]  # fmt: skip
    rows[2][3] = C
    expected = {labels[i]: labels[i - i % 4] if i % 4 else "Total" for i in range(12)}
    release = Release.from_frame(rows, rounded=base)
    if names == "codes":
        assert above(release) == expected
    else:  # chance may explain such small sums: nothing is taken from them
        assert above(release) in (expected, dict.fromkeys(labels[:-1], "Total"))
