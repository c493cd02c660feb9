"""Tables without a rounding next to their values: by a key as well, and of small counts alone."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from csp import Key, Table, round_table
from csp.errors import Unroundable
from csp.rounding.neighbours import coins
from tests.csp.rounding.test_controlled import choices, far
from tests.csp.rounding.test_small_counts import by_enumeration
from tests.support.shared import examples

BARE = [[[1, 1], [1, 1]], [[0, 1], [1, 0]]]
"""Has no rounding to multiples of 2."""

keys = st.binary(min_size=20, max_size=20).filter(lambda raw: len(set(raw)) >= 8)


@st.composite
def without_rounding(draw) -> Table:
    """Tables of 2 x 2 x 2 that are the one above with multiples of 2 added, cells turned about."""
    inner = np.array(BARE) + 2 * np.array(
        draw(st.lists(st.integers(0, 1), min_size=8, max_size=8))
    ).reshape(2, 2, 2)
    inner = inner.transpose(draw(st.permutations([0, 1, 2])))
    for axis in (0, 1, 2):
        if draw(st.booleans()):
            inner = np.flip(inner, axis)
    return Table.from_array(inner)


@examples(25)
@given(without_rounding(), keys)
def test_a_key_relaxes_the_fewest_cells_and_chooses_among_these(table: Table, raw: bytes) -> None:
    assert not any(True for _ in choices(table, 2))
    key = Key(raw)
    found = round_table(table, 2, key=key)
    assert not (table.relations @ found.values).any()
    assert not (found.values % 2).any()
    off = np.abs(found.values - table.values)
    assert (found.relaxed == (off >= 2)).all()
    assert (off < 4).all()
    assert found.reach == 3
    drawn = coins(table, 2, key, "")
    floor, odd = table.values // 2, table.values % 2 == 1

    def worth(bases: np.ndarray) -> tuple[int, int]:
        """Cells that go further, and the distance with the numbers of the key where cells go up."""
        further, distance = far(table, 2, bases.tolist())
        return further, distance + int(drawn[odd & (bases > floor)].sum())

    best = min(worth(np.array(one)) for one in choices(table, 2, 1))
    assert worth(found.values // 2) == best
    assert (round_table(table, 2, key=key).values == found.values).all()
    release = found.release
    assert ((release.lower <= table.values) & (table.values <= release.upper)).all()


@examples(25)
@given(without_rounding(), keys, st.booleans())
def test_small_counts_without_a_rounding_move_the_fewest_totals_further(table, raw, keyed) -> None:
    every = [(far, most) for far, most, _ in by_enumeration(table, 2) if most < 4]
    assume(every and not any(far == 0 for (far, _), _ in every))
    try:
        found = round_table(table, 2, small=True, key=Key(raw) if keyed else None)
    except Unroundable:
        raise AssertionError from None
    off = np.abs(found.values - table.values)
    inner = ~table.margins
    assert not (table.relations @ found.values).any()
    assert (off[inner] < 2).all()
    assert int((off >= 2).sum()) == min(far for (far, _), _ in every)
    if not keyed:
        assert off.sum() == min(distance for (_, distance), _ in every)
    release = found.release
    assert ((release.lower <= table.values) & (table.values <= release.upper)).all()


def test_a_key_does_not_hide_that_cells_had_to_go_further() -> None:
    """A possible table with a rounding next to its values leads to no such release."""
    table = Table.from_array(BARE)
    found = round_table(table, 2, key=Key(bytes(range(32))))
    assert found.reach == 3
    other = Table.from_array(found.values.reshape(3, 3, 3)[:2, :2, :2])
    release = found.release
    assert ((release.lower <= other.values) & (other.values <= release.upper)).all()
    assert any(True for _ in choices(other, 2))
    for seed in range(20):
        assert round_table(other, 2, key=Key(bytes(range(seed, seed + 32)))).reach == 1
