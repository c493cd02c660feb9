"""Tables that are ruled out by a rounding are those that the program rounds otherwise."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import undo_rounding
from csp import Key, Table, round_table
from csp.errors import InputError
from tests.support.oracles import integer_tables
from tests.support.shared import examples


def consistent(rounded):
    """Every table of whole units near enough to what is published, as tables."""
    release = rounded.release
    near = rounded.table.replace(lower=release.lower, upper=release.upper)
    for values in integer_tables(near, release.pattern):
        yield rounded.table.replace(values=np.array(values))


@examples(12)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(2, 4), st.booleans())
def test_what_is_left_is_what_the_program_rounds_so(cells, base, hierarchical) -> None:
    shape = (4,) if hierarchical else (2, 2)
    rounded = round_table(Table.from_array(np.reshape(cells, shape)), base)
    found = undo_rounding(rounded)
    every = list(consistent(rounded))
    left = [t.values for t in every if (round_table(t, base).values == rounded.values).all()]
    assert found.tied == 0
    assert (found.tables, found.left) == (len(every), len(left))
    assert (found.lower == np.min(left, axis=0)).all()
    assert (found.upper == np.max(left, axis=0)).all()
    values = np.array([t.values for t in every])
    assert (found.alone[:, 0] == values.min(axis=0)).all()
    assert (found.alone[:, 1] == values.max(axis=0)).all()


@examples(12)
@given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.integers(2, 3))
def test_what_is_left_of_small_counts_is_what_the_program_rounds_so(cells, base) -> None:
    rounded = round_table(Table.from_array(np.reshape(cells, (2, 2))), base, small=True)
    found = undo_rounding(rounded)
    every = list(consistent(rounded))
    left = [
        t.values for t in every
        if (round_table(t, base, small=True).values == rounded.values).all()
    ]  # fmt: skip
    assert (found.tables, found.left, found.tied) == (len(every), len(left), 0)
    assert (found.lower == np.min(left, axis=0)).all()
    assert (found.upper == np.max(left, axis=0)).all()


def test_nothing_is_ruled_out_where_a_key_chose() -> None:
    """Some key rounds each of the consistent tables to the published one: of 60 keys, most do."""
    table = Table.from_array([[1, 2], [2, 1]])
    rounded = round_table(table, 2, key=Key(bytes(range(32))))
    found = undo_rounding(rounded)
    assert found.left == found.tables
    assert not found.narrowed.any()
    met = Counter()
    for number in range(60):
        key = Key(bytes((number + 7 * i) % 251 for i in range(32)))
        for i, other in enumerate(consistent(rounded)):
            met[i] += bool((round_table(other, 2, key=key).values == rounded.values).all())
    assert len(+met) == found.tables


def test_the_method_tells_much_but_nothing_closer_than_half_a_base() -> None:
    rng = np.random.default_rng(1)
    fewer = 0
    for _ in range(15):
        rounded = round_table(Table.from_array(rng.integers(0, 6, (2, 2))), 3)
        found = undo_rounding(rounded)
        fewer += found.left < found.tables
        assert "consistent with the published one" in found.text()
        assert (found.lower <= np.maximum(rounded.values - 1, 0)).all()
        assert (found.upper >= rounded.values + 1).all()
        assert not found.known.any()
    assert fewer == 15


def test_what_cannot_be_undone_is_refused() -> None:
    rng = np.random.default_rng(1)
    large = round_table(Table.from_array(rng.integers(0, 40, (2, 3))), 5)
    with pytest.raises(InputError, match="max_tables"):
        undo_rounding(large, max_tables=1000)
    relaxed = round_table(Table.from_array([[[1, 1], [1, 1]], [[0, 1], [1, 0]]]), 2)
    with pytest.raises(InputError, match="went further"):
        undo_rounding(relaxed)
