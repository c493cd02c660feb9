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


def test_values_beside_which_contributors_are_published_are_not_their_numbers():
    rows = {"r": ["a", "b", "Total"], "v": ["x", "x", "9"], "n": ["2", "3", "5"]}
    assert not Release.from_frame(rows, by=["r"], value="v", count="n").of_counts
    assert Release.from_frame(rows, by=["r"], value="v").of_counts
    fractions = rows | {"v": ["x", "x", "9.5"]}
    assert not Release.from_frame(fractions, by=["r"], value="v").of_counts
