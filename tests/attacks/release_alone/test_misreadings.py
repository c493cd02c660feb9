"""Readings that make published figures contradict each other, planted and named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import audit_published, contradictions
from attacks.release_alone.misreadings import misreadings, support
from csp import Release
from tests.support.shared import examples

C = "[c]"


def grid(inner, labels, *, heads=("a", "b", "c"), hidden=()):
    """A cross table with its totals over rows; `hidden` cells are withheld."""
    table = np.vstack([inner, inner.sum(axis=0)])
    texts = [[C if (i, j) in hidden else str(x) for j, x in enumerate(row)]
             for i, row in enumerate(table.tolist())]  # fmt: skip
    names = [*labels, "Total"]
    return [["", *heads], *([name, *row] for name, row in zip(names, texts, strict=True))]


def drawn(seed, rows):
    return np.random.default_rng(seed).integers(1000, 10**6, (rows, 3))


def said(rows, **more):
    release = Release.from_frame(rows, **more)
    return " ".join(misreadings(release, contradictions(release)))


@examples(40)
@given(st.integers(0, 10**6), st.integers(3, 6), st.data())
def test_a_total_among_the_categories_is_named(seed, k, data) -> None:
    """A row that is the sum of two others and stands far from them, so that it is not found."""
    inner = drawn(seed, k)
    rows = grid(inner, [f"r{i}" for i in range(k)], hidden={(0, 0)})
    some = data.draw(st.sets(st.integers(1, k - 1), min_size=2, max_size=k - 1))
    extra = inner[sorted(some)].sum(axis=0)
    at = data.draw(st.sampled_from([1, len(rows) - 1]))
    rows.insert(at, ["Group", *map(str, extra.tolist())])
    rows[at][1] = C
    words = said(rows, total={"rows": "Total"})
    assert "rows: without 'Group' the 2 sums into 'Total' would hold" in words


def test_a_category_that_is_missing_is_named() -> None:
    rows = grid(drawn(1, 4), ["p", "q", "r", "s"])
    words = said([row for row in rows if row[0] != "q"])
    assert "the parts of 'Total' add up to less in all of the 3 sums, so that a category" in words


def test_subtotals_of_all_categories_are_named() -> None:
    inner = drawn(2, 4)
    both = np.vstack([inner, inner[[0, 2]].sum(axis=0), inner[[1, 3]].sum(axis=0)])
    rows = grid(both, "pqrsXY", hidden={(4, 0)})
    rows[-1] = ["Total", *map(str, inner.sum(axis=0).tolist())]
    assert "the parts of 'Total' add up to twice of it" in said(rows)


@pytest.mark.parametrize("negative", ["error", "allow"])
def test_parts_that_are_more_than_their_total_in_every_sum_hold_totals(negative) -> None:
    """Each sum has a withheld cell, so that none shows which code the total is."""
    rows = [
        ["", "a", "b", "c"],
        ["wheat", "10", "21", "[c]"],
        ["rye", "[c]", "9", "6"],
        ["Grain", "17", "30", "11"],
        ["cows", "5", "[c]", "7"],
        ["Total", "22", "31", "18"],
    ]
    release = Release.from_frame(rows, negative=negative)
    found = misreadings(release, contradictions(release))
    if negative == "allow":  # what is withheld may make up for it
        assert found == ()
    else:
        assert len(found) == 1
        assert "'Total' are more than it in all of its 3 sums" in found[0]
    rows[1][3], rows[5][3] = "1", "25"  # one line that fails is no matter of structure
    release = Release.from_frame(rows)
    assert not any("more than it" in hint for hint in misreadings(release, contradictions(release)))


def test_a_column_that_does_not_add_up_where_others_do_is_named() -> None:
    rows = grid(drawn(3, 3), ["p", "q", "r"])
    for row, text in zip(rows, ["Level", "11", "12", "21", "5"], strict=True):
        row.append(text)
    words = said(rows)
    assert "all sums that fail are at columns=Level, and none at it holds" in words


def test_what_cannot_exist_and_does_is_named() -> None:
    rows = grid(drawn(4, 3), ["p", "q", "r"])
    rows[2][1] = "[z]"
    assert "(rows=q, columns=a) has a sign that stands for 0" in said(rows, marks="uk")


def test_one_wrong_figure_has_no_other_reading() -> None:
    rows = grid(drawn(5, 4), ["p", "q", "r", "s"], hidden={(0, 0)})
    rows[2][2] = str(int(rows[2][2]) + 1)
    release = Release.from_frame(rows)
    assert misreadings(release, contradictions(release)) == ()
    text = audit_published(release).text()
    assert "If figures are rounded, say so." in text


def test_a_reading_is_said_before_rounding_is() -> None:
    rows = grid(drawn(1, 4), ["p", "q", "r", "s"], hidden={(0, 0)})
    found = audit_published(Release.from_frame([row for row in rows if row[0] != "q"]))
    assert "rounded" not in found.text()
    assert any("may be missing" in line for line in found.sentences())
    assert found.summary()["misreadings"]


@pytest.mark.parametrize("hidden", [(), {(0, 0)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 2)}])
def test_sums_that_show_the_structure_are_counted(hidden) -> None:
    """By dimension: each withheld cell takes the sum of its row and of its column away."""
    inner = drawn(6, 4)[:, :2]
    rows = grid(np.column_stack([inner, inner.sum(axis=1)]), "pqrs", heads=("a", "b", "Total"),
                hidden=hidden)  # fmt: skip
    release = Release.from_frame(rows)
    rows_hit, columns_hit = ({cell[k] for cell in hidden} for k in (0, 1))
    want = {"rows": 3 - len(columns_hit), "columns": 5 - len(rows_hit)}
    assert support(release) == want
    if hidden:
        found = audit_published(release, mend=False)
        assert found.summary()["support"] == want
        line = f"Published sums that show how codes add up: rows {want['rows']}, columns"
        assert any(text.startswith(line) for text in found.sentences()) is (min(want.values()) <= 1)
