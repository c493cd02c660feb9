"""What a release shows of a table, and what it must not."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Decoys, InputError, Key, Manual, Mechanism, Release, Table
from tests.support.shared import examples

ROWS = {"r": ["a", "a", "b", "b"], "c": ["x", "y", "x", "y"]}


@examples(60)
@given(
    st.lists(st.decimals(0, 99, places=3), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=9, max_size=9),
    st.sampled_from([None, 3]),
)
def test_a_release_has_the_decimals_of_what_it_publishes(numbers, hidden, decimals):
    table = Table.from_microdata(
        ROWS | {"v": list(map(str, numbers))}, ["r", "c"], "v", decimals=decimals
    )
    release = Release.of(table, hidden)
    a, b, c, d = numbers
    full = dict(zip(table.labels, table.values.tolist(), strict=True))
    assert full["Total", "Total"] == (a + b + c + d).scaleb(table.scale)
    shown = [
        Decimal(v).scaleb(-table.scale)
        for v, gone in zip(table.values.tolist(), hidden, strict=True)
        if not gone
    ]
    places = max((-n.normalize().as_tuple().exponent for n in shown if n), default=0)
    assert release.scale == (max(places, 0) if decimals is None else 3)
    again = [
        Decimal(v).scaleb(-release.scale)
        for v, gone in zip(release.published.tolist(), hidden, strict=True)
        if not gone
    ]
    assert again == shown


def test_ends_are_in_the_units_of_the_release():
    inner = [[2.5, 50, 60], [7, 30.25, 8], [9, 40, 70]]
    data = {
        "r": [*"aaabbbccc"], "c": [*"xyzxyzxyz"],
        "v": np.array(inner).ravel().tolist(),
    }  # fmt: skip
    hidden = Manual([("a", "x")], width=20)
    found = Mechanism(hidden).protect(Table.from_microdata(data, ["r", "c"], "v"))
    exact = Mechanism(hidden).protect(Table.from_microdata(data, ["r", "c"], "v", decimals=2))
    assert (found.pattern == exact.pattern).all()
    assert found.table.scale == exact.release.scale == 2
    unit = 10.0 ** (2 - found.release.scale)
    for one, other in zip(found.proved_ends, exact.proved_ends, strict=True):
        np.testing.assert_allclose(one * unit, other, rtol=1e-12)


@pytest.mark.parametrize(
    "public", [{"integer": True}, {"defence": Decoys("0.1", Key(bytes(range(32))))}]
)
def test_a_unit_that_the_public_must_know_is_stated(public):
    data = ROWS | {"v": [2.5, 50, 60, 70]}
    mechanism = Mechanism("ZERO(5)|MAN(10)", width=5, **public)
    with pytest.raises(InputError, match="1 decimal places that nobody stated; give decimals=1"):
        mechanism.protect(Table.from_microdata(data, ["r", "c"], "v"))


@pytest.mark.parametrize(
    ("value", "entry", "more", "told"),
    [
        ("v", "9", {}, None),
        ("v", "9", {"cells": "counts"}, True),
        ("v", "9", {"cells": "values"}, False),
        ("v", "9", {"count": "n"}, False),
        ("v", "9", {"count": "v"}, True),
        ("v", "9.5", {}, False),
        ("Count", "9", {}, True),
        ("Count", "9", {"cells": "values"}, False),
        ("Count", "9.5", {}, False),
        ("Freq", "9", {}, True),
    ],
)
def test_whether_cells_are_numbers_of_contributors_is_told_or_left_open(value, entry, more, told):
    rows = {"r": ["a", "b", "Total"], value: ["x", "x", entry], "n": ["2", "3", "5"]}
    assert Release.from_frame(rows, by=["r"], value=value, **more).of_counts is told
    if "count" not in more:
        grid = [["", value], *zip(rows["r"], rows[value], strict=True)]
        assert Release.from_frame(grid, value=value, **more).of_counts is told


@pytest.mark.parametrize(
    ("entry", "more", "words"),
    [
        ("9.5", {"cells": "counts"}, "the cells have 1 decimal"),
        ("9.25", {"cells": "counts"}, "the cells have 2 decimals"),
        ("-9", {"cells": "counts", "negative": "allow"}, "cell .r=Total. is negative"),
        ("9", {"cells": "counts", "count": "n"}, "another column; leave one out"),
        ("9", {"cells": "sums"}, "'sums' is not one of counts, values"),
    ],
)
def test_cells_that_cannot_be_counts_are_named(entry, more, words):
    rows = {"r": ["a", "b", "Total"], "v": ["x", "x", entry], "n": ["2", "3", "5"]}
    with pytest.raises(InputError, match=words):
        Release.from_frame(rows, by=["r"], value="v", **more)


def test_a_column_of_numbers_of_contributors_is_one_of_a_list():
    grid = [["", "a", "b", "Total"], ["x", "[c]", "[c]", 31], ["Total", 30, 65, 95]]
    with pytest.raises(InputError, match="this is a cross table"):
        Release.from_frame(grid, count="n")
