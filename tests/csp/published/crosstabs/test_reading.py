"""Cross tables of true values against tables that pandas makes of the same records."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import Hierarchy, InputError, Table, read_crosstab
from csp.errors import NoContributors, NotAdditive
from tests.support.shared import examples

TREE = {"North": ["Ash", "Birch"], "South": ["Cedar", "Elm", "Oak"], "West": []}
"""Districts, and what lies in them."""

INNER = [part for top, parts in TREE.items() for part in parts or [top]]


def oracle(records: pd.DataFrame, value: str, by: list[str], total: str) -> Table:
    """Table of the same records: grouped by pandas, added up by `Table.from_frame`."""
    cells = records.groupby(by, as_index=False)[value].sum()
    parents = {part: top for top, parts in TREE.items() for part in parts}
    tree = Hierarchy.from_parents(parents | dict.fromkeys(TREE, total))
    return Table.from_frame(cells, by, value, hierarchies={"ward": tree}, total=total)


def assert_relations(found: Table, wanted: set[frozenset[tuple[tuple[str, ...], int]]]) -> None:
    """All that are wanted; more only where numbers agree everywhere by chance, and it is said."""
    assert relations(found) >= wanted
    said = any("in all lines" in note for note in found.notes)
    assert said == (relations(found) != wanted)


def relations(table: Table) -> set[frozenset[tuple[tuple[str, ...], int]]]:
    """Relations by the labels of their cells."""
    rows = table.relations.tocsr()
    found = set()
    for k in range(rows.shape[0]):
        span = slice(rows.indptr[k], rows.indptr[k + 1])
        cells = zip(rows.indices[span].tolist(), rows.data[span].tolist(), strict=True)
        found.add(frozenset((table.labels[cell], sign) for cell, sign in cells))
    return found


def values(table: Table) -> dict[tuple[str, ...], int]:
    return dict(zip(table.labels, table.values.tolist(), strict=True))


@st.composite
def surveys(draw):
    """One record for each inner cell, with the codes of one to three dimensions."""
    width = draw(st.integers(1, 3))
    codes = [INNER, ["men", "women", "other"][: draw(st.integers(2, 3))], ["2023", "2024"]][:width]
    keys = list(product(*codes))
    most = draw(st.sampled_from([9, 400, 123_456]))
    drawn = st.lists(st.integers(0, most), min_size=len(keys), max_size=len(keys))
    frame = pd.DataFrame(keys, columns=["ward", "sex", "year"][:width])
    frame["n"] = draw(drawn)
    return frame, codes


def text_of(number: int, style: str, scale: int) -> object:
    """A number as an office prints it."""
    if style == "number":
        return number / 10**scale if scale else number
    group, mark = {
        "plain": ("", "."), "comma": (",", "."), "point": (".", ","), "blank": (" ", ","),
        "narrow": ("\u202f", ","), "quote": ("'", "."),
    }[style]  # fmt: skip
    whole, fraction = divmod(number, 10**scale)
    text = f"{whole:,}".replace(",", group)
    return f"{text}{mark}{fraction:0{scale}d}" if scale else text


@st.composite
def prints(draw):
    """Rows of a cross table with their records, and what is to be told of them."""
    records, codes = draw(surveys())
    total = draw(st.sampled_from(["Total", "Insgesamt", "All"]))
    scale = draw(st.sampled_from([0, 0, 1, 2]))
    style = draw(st.sampled_from(["number", "plain", "comma", "point", "blank", "narrow", "quote"]))
    by = list(records.columns[:-1])
    truth = oracle(records, "n", by, total)
    cells = values(truth)
    indented = draw(st.sampled_from([1, 2, 4]))
    first = draw(st.booleans())  # the total of the rows above the others
    wards = [(w, d) for top, parts in TREE.items() for w, d in [(top, 0), *((p, 1) for p in parts)]]
    wards.insert(0 if first else len(wards), (total, 0))
    without = draw(st.sampled_from(["", *by[1:]])) if len(by) > 1 else ""
    heads = [
        list(c) + ([] if name == without else [total]) for name, c in zip(by, codes, strict=True)
    ]
    across = list(product(*heads[1:])) if len(by) > 1 else [()]
    rows = draw(st.sampled_from([[], [["Table 7. Births in the wards"], []]]))
    for level in range(len(by) - 1):
        line, last = [], None
        for key in across:
            again = level < len(by) - 2 and key[level] == last
            line.append("" if again else key[level])
            last = key[level]
        rows.append(["Ward" if level == len(by) - 2 else "", *line])
    if len(by) == 1:
        rows.append(["Ward", "Births"])
    blank = draw(st.sampled_from(["", "-", "\u2013", "0"]))
    for ward, depth in wards:
        line = [" " * indented * depth + ward]
        for key in across:
            number = cells[(ward, *key)]
            # The total stays, or nothing shows that the others are 0.
            empty = not number and blank != "0" and ward != total and key != across[0]
            line.append(
                (None if blank == "" else blank) if empty else text_of(number, style, scale)
            )
        rows.append(line)
    rows += draw(st.sampled_from([[], [[], ["Source: register of births"]]]))
    told = {"decimal": ","} if style in ("point", "blank", "narrow") else {"decimal": "."}
    return rows, by, truth, without, told, scale, total


@given(prints())
@examples(150)
def test_a_cross_table_is_the_table_of_its_records(case) -> None:
    rows, by, truth, without, told, scale, total = case
    found = read_crosstab(rows, by, counts=True, **told)
    gone = set() if without == "" else {by.index(without)}
    expected = {k: v for k, v in values(truth).items() if not any(k[d] == total for d in gone)}
    shown = values(found)
    assert found.names == tuple(by)
    assert {k: v * 10**scale for k, v in shown.items()} == {
        k: v * 10**found.scale for k, v in expected.items()
    }
    kept = {r for r in relations(truth) if all(label in expected for label, _ in r)}
    assert_relations(found, kept)
    assert found.roots == tuple("" if name == without else total for name in by)


@given(surveys())
@examples(40)
def test_a_list_with_its_totals_is_the_table_of_its_records(case) -> None:
    records, _ = case
    by = list(records.columns[:-1])
    truth = oracle(records, "n", by, "Total")
    rows = [[*by, "n"], *([*label, n] for label, n in values(truth).items())]
    tree = Hierarchy.from_parents(
        {part: top for top, parts in TREE.items() for part in parts} | dict.fromkeys(TREE, "Total")
    )
    found = read_crosstab(rows, by, counts=True, hierarchies={"ward": tree})
    assert values(found) == values(truth)
    assert_relations(found, relations(truth))


def test_totals_that_are_missing_are_computed() -> None:
    bare = [["", "a", "b"], ["N", 1, 2], ["S", 3, 4]]
    truth = Table.from_array([[1, 2], [3, 4]])
    assert sorted(read_crosstab(bare).values) == sorted(truth.values)
    asked = read_crosstab([["", "2023", "2024"], ["N", 1, 2], ["S", 3, 4]], ["ward", "year"],
                          total={"year": "All years"})  # fmt: skip
    assert values(asked)["S", "All years"] == 7
    assert asked.roots == ("", "All years")
    years = read_crosstab([["", "2023", "2024"], ["N", 1, 2], ["S", 3, 4]], ["ward", "year"])
    assert values(years) == {
        ("N", "2023"): 1, ("N", "2024"): 2, ("S", "2023"): 3, ("S", "2024"): 4,
        ("Total", "2023"): 4, ("Total", "2024"): 6,
    }  # fmt: skip
    blank = [["", "a", "b", "All"], ["N", 1, 2, None], ["S", 3, 4, 7], ["All", None, 6, None]]
    assert values(read_crosstab(blank))["All", "All"] == 10


def test_an_empty_cell_is_a_question() -> None:
    rows = [["", "a", "b", "All"], ["N", 1, None, 3], ["S", 3, 4, 7], ["All", 4, 6, 10]]
    with pytest.raises(InputError, match=r"row 2, column 3: cell .* is empty, and no total shows"):
        read_crosstab(rows)
    with pytest.raises(NotAdditive):
        read_crosstab(rows, absent="zero")
    zero = [["", "a", "b", "All"], ["N", 1, None, 1], ["S", 3, 4, 7], ["All", 4, 4, 8]]
    assert values(read_crosstab(zero))["N", "b"] == 0
    # Negative numbers may add up to 0 with what is missing.
    with pytest.raises(InputError, match="empty"):
        read_crosstab(
            [["", "a", "b", "c", "All"], ["N", 1, -1, None, 0], ["S", 3, 4, 1, 8],
             ["All", 4, 3, 1, 8]], negative="allow",
        )  # fmt: skip
    unknown = [["", "a", "b"], ["N", 1, None], ["S", 3, 4]]
    with pytest.raises(InputError, match="absent='zero'"):
        read_crosstab(unknown)
    assert values(read_crosstab(unknown, absent="zero"))["N", "Total"] == 1


def test_a_sign_is_refused_with_its_place() -> None:
    rows = [["", "a", "b", "All"], ["N", 1, "x", 3], ["S", 3, 4, 7], ["All", 4, 6, 10]]
    with pytest.raises(InputError, match="row 2, column 3: 'x' is not a number"):
        read_crosstab(rows)


def test_a_mark_is_what_lets_the_totals_add_up() -> None:
    rows = [["", "a", "b", "All"], ["N", "1.200", "3", "1.203"], ["S", "7", "5", "12"],
            ["All", "1.207", "8", "1.215"]]  # fmt: skip
    assert values(read_crosstab(rows))["N", "a"] == 1200
    # Without totals either may be meant.
    with pytest.raises(InputError, match="decimal"):
        read_crosstab([["", "a", "b"], ["N", "1.200", "1.300"], ["S", "7.100", "5.250"]])


def test_numbers_of_a_sheet_are_free_of_the_error_of_computing() -> None:
    rows = [["", "a", "b", "All"], ["N", 0.1, 0.2, 0.1 + 0.2], ["S", 1.1, 2.2, 1.1 + 2.2],
            ["All", 1.2, 2.4000000000000004, 3.6]]  # fmt: skip
    found = read_crosstab(rows)
    assert (found.scale, values(found)["N", "All"]) == (1, 3)
    assert not found.counts
    with pytest.raises(InputError, match="more than 1 decimal"):
        read_crosstab([["", "a", "b"], ["N", 0.25, 1], ["S", 3, 4]], decimals=1)
    rounded = read_crosstab(
        [["", "a", "b"], ["N", 0.26, 1], ["S", 3, 4]], decimals=1, round=True
    )  # fmt: skip
    assert values(rounded)["N", "a"] == 3


def test_rules_on_contributors_need_them() -> None:
    rows = [
        ["", "2023", "", "2024", ""],
        ["Branch", "Turnover", "Firms", "Turnover", "Firms"],
        ["Farms", 120, 4, 90, 3],
        ["Trade", 800, 12, 700, 1],
        ["Total", 920, 16, 790, 4],
    ]
    alone = read_crosstab(rows, ["branch", "year"], "Turnover", counts=False)
    with pytest.raises(NoContributors):
        csp.protect(alone, "FREQ(3,10)")
    beside = read_crosstab(rows, ["branch", "year"], "Turnover", count="Firms")
    assert beside.contributors is not None
    people = dict(zip(beside.labels, beside.contributors.count.tolist(), strict=True))
    assert people["Trade", "2024"] == 1
    done = csp.protect(beside, "FREQ(3,10)")
    assert done.problem.primary.tolist() == [
        people[label] in (1, 2) for label in beside.labels
    ]  # fmt: skip
    with pytest.raises(InputError, match="contributors below 'Firms'"):
        read_crosstab([*rows[:3], ["Trade", 800, 12, 700, None], rows[4]], None, "Turnover",
                      count="Firms")  # fmt: skip


def test_whole_amounts_are_not_taken_for_counts() -> None:
    rows = [["Turnover, million EUR"], ["", "a", "b"], ["N", 1, 2], ["S", 3, 4]]
    with pytest.raises(InputError, match="counts of contributors, or amounts"):
        read_crosstab(rows)
    assert not read_crosstab(rows, counts=False).counts
    assert read_crosstab(rows, counts=True).counts


def test_years_above_the_columns_are_named() -> None:
    rows = [["Ward", "2023", "2024"], ["N", 1, 2], ["S", 3, 4], ["Total", 4, 6]]
    assert read_crosstab(rows).names == ("Ward", "year")
    assert read_crosstab([["", "a", "b"], ["N", 1, 2], ["S", 3, 4]]).names == ("rows", "columns")
    two = [["Ward", "2023", "", "2024", ""], ["", "f", "m", "f", "m"], ["N", 1, 2, 3, 4],
           ["S", 5, 6, 7, 8], ["Total", 6, 8, 10, 12]]  # fmt: skip
    assert read_crosstab(two).names == ("Ward", "year", "columns 2")


def test_dimensions_are_named_by_the_reader() -> None:
    rows = [["", "a", "b"], ["N", 1, 2], ["S", 3, 4]]
    assert read_crosstab(rows, ["region", "sector"]).names == ("region", "sector")
    with pytest.raises(InputError, match="is a cross table by rows, columns"):
        read_crosstab(rows, ["region"])


def test_notes_do_not_tell_what_may_be_suppressed() -> None:
    one = [["", "a", "b", "All"], ["N", 5, None, 5], ["S", 3, 4, 7], ["All", 8, 4, 12]]
    two = [["", "a", "b", "All"], ["N", 1, 4, 5], ["S", 7, 0, 7], ["All", 8, 4, 12]]
    assert read_crosstab(one).notes == read_crosstab(two).notes


def test_the_tolerance_replaces_totals_by_sums() -> None:
    rows = [["", "a", "b", "All"], ["N", 1, 2, 4], ["S", 3, 4, 7], ["All", 4, 6, 10]]
    with pytest.raises(NotAdditive):
        read_crosstab(rows)
    found = read_crosstab(rows, tolerance=1)
    assert values(found)["N", "All"] == 3
    assert np.array_equal(found.relations @ found.values, np.zeros(found.relations.shape[0]))
