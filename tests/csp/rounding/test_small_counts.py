"""Small counts rounded, others as they are: closest, additive and judged, by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Key, Mechanism, Table, audit_rounding, round_table
from csp.errors import InputError, Unroundable
from tests.support.oracles import integer_interval, integer_tables
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, frequency_3d, hierarchical_tables

KEY = Key(bytes(range(32)))


def by_enumeration(table: Table, base: int):
    """Every table with small inner cells at 0 or the base: (totals too far, distance), values."""
    inner = np.flatnonzero(~table.margins)
    fixed = table.values[inner]
    small = inner[(fixed > 0) & (fixed < base)]
    totals = sums_of(table, inner)
    for some in product((0, base), repeat=len(small)):
        values = table.values.copy()
        values[small] = some
        values = totals @ values[inner]
        off = np.abs(values - table.values)
        yield (int((off >= base).sum()), int(off.sum())), int(off.max(initial=0)), values


def sums_of(table: Table, inner: np.ndarray) -> np.ndarray:
    """Which inner cells each cell sums, from its label: a total code covers all below it."""
    rows = table.relations.toarray()
    cover = np.zeros((table.n_cells, len(inner)), dtype=np.int64)
    cover[inner, np.arange(len(inner))] = 1
    for _ in range(table.n_cells):
        for row in rows:
            total = int(np.flatnonzero(row < 0)[0])
            cover[total] = (row > 0).astype(int) @ cover
    return cover


TABLES = st.one_of(frequency_2d(high=9), frequency_3d(high=5), hierarchical_tables())


@examples(60)
@given(TABLES, st.integers(2, 5))
def test_small_counts_go_to_zero_or_the_base_and_totals_change_least(table, base: int) -> None:
    inner = ~table.margins
    assume(((table.values > 0) & (table.values < base) & inner).sum() <= 10)
    every = [(far, most) for far, most, _ in by_enumeration(table, base) if most < 2 * base]
    try:
        found = round_table(table, base, small=True)
    except Unroundable:
        assert not every
        return
    values = found.values
    assert not (table.relations @ values).any()
    large = inner & (table.values >= base)
    assert (values[large] == table.values[large]).all()
    assert set(values[inner & ~large].tolist()) <= {0, base}
    assert (values[table.values == 0] == 0).all()
    assert not ((values > 0) & (values < base)).any()  # no small count is left anywhere
    off = np.abs(values - table.values)
    assert ((off >= base).sum(), off.sum()) == min(far for far, _ in every)
    assert found.proven
    release = found.release
    assert ((release.lower <= table.values) & (table.values <= release.upper)).all()


@examples(15)
@given(frequency_2d(high=6), st.integers(2, 4), st.integers(1, 4), st.booleans())
def test_sensitive_cells_are_judged_by_what_is_published(table, base, width, keyed) -> None:
    """A published 0 is below the base, the base 1 to the base, totals are near, and all adds up."""
    found = round_table(table, base, small=True, key=KEY if keyed else None)
    mechanism = Mechanism(lambda t: t.values < 4, width=width, singletons=False, margins="publish")
    judged = audit_rounding(found, mechanism)
    low, high = found.values.copy(), found.values.copy()
    for i, value in enumerate(found.values.tolist()):
        if table.margins[i]:
            low[i], high[i] = max(0, value - base + 1), value + base - 1
        elif value == 0:
            high[i] = base - 1
        elif value == base:
            low[i] = 1
    near = table.replace(lower=low, upper=high)
    for i in np.flatnonzero(judged.sensitive).tolist():
        ends = integer_interval(near, [True] * table.n_cells, i)
        assert ends == (judged.lower[i], judged.upper[i])
        assert bool(judged.narrow[i]) == (ends[1] - ends[0] < width)
        assert bool(judged.known[i]) == (ends[0] == ends[1])


def test_every_table_that_a_key_leaves_can_lead_to_what_is_published() -> None:
    """Some numbers from -base to base make the published table the only closest one."""
    table, base = Table.from_array([[1, 4], [5, 2]]), 3
    found = round_table(table, base, small=True, key=KEY)
    release = found.release
    near = table.replace(lower=release.lower, upper=release.upper)
    met = 0
    for true in integer_tables(near, release.pattern):
        other = table.replace(values=np.array(true))
        met += 1
        ways = [
            values for (far, _), _, values in by_enumeration(other, base) if not far
        ]  # fmt: skip
        assert any((one == found.values).all() for one in ways)
        coins = np.where(found.values > true, -base, base)
        cost = [
            sum(abs(v - t) + (v > t) * c for v, t, c in zip(one, true, coins, strict=True))
            for one in ways
        ]
        best = [one for one, worth in zip(ways, cost, strict=True) if worth == min(cost)]
        assert len(best) == 1
        assert (best[0] == found.values).all()
    assert met == 9  # 4 and 5 are published; two cells are one of three values each


def test_counts_of_one_and_two_by_hand() -> None:
    found = round_table(Table.from_array([[1, 7], [2, 12]]), 3, small=True)
    assert found.values.reshape(3, 3)[:2, 1].tolist() == [7, 12]
    assert sorted(found.values.reshape(3, 3)[:2, 0].tolist()) == [0, 3]
    assert found.values[-1] == 22
    assert found.distance == found.bound == 4
    assert repr(found) == (
        "Rounded(9 cells with counts below 3 at 0 or 3, and totals less than a base from their "
        "values)"
    )
    assert found.summary()["small"]


def test_where_small_counts_cannot_be_rounded_the_error_says_why() -> None:
    negative = Table.from_array([[1, -2], [3, 4]], negative="allow")
    with pytest.raises(InputError, match="may be negative; round all cells"):
        round_table(negative, 3, small=True)
    odd = Table(
        np.array([1, 1, 2]), csr_array(np.array([[2, 0, -1]])), np.zeros(3, int),
        np.full(3, 9), [("a",), ("b",), ("c",)],
    )  # fmt: skip
    with pytest.raises(InputError, match="totals are sums of inner cells"):
        round_table(odd, 3, small=True)
