"""Intervals in place of blanks add nothing, by enumeration; nor does the table inside."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Manual, Mechanism, Release, Table, intervals, protect
from csp.audits.audit import audit
from csp.errors import InputError
from csp.exact import UNBOUNDED
from csp.problem.problem import Problem
from csp.release.ranges import outward
from tests.support.oracles import integer_interval, integer_tables, rational_interval
from tests.support.shared import examples
from tests.support.strategies import problems, small_tables


@examples(60)
@given(problems(), st.integers(1, 7), st.booleans(), st.data())
def test_intervals_hold_what_anyone_could_work_out(problem, grid, integer, data) -> None:
    """Ends are multiples of the grid around those of an exact simplex, by less than a grid."""
    table = problem.table
    pattern = np.array(data.draw(st.lists(st.booleans(), min_size=table.n_cells,
                                          max_size=table.n_cells)))  # fmt: skip
    release = Release.of(table.replace(least_scale=None), pattern, scale=table.scale)
    found = outward(
        table, audit(problem, pattern, integer=integer), release,
        Fraction(grid, 10**table.scale),
    )  # fmt: skip
    for i in range(table.n_cells):
        ends = int(found.lower[i]), int(found.upper[i])
        if not pattern[i]:
            assert ends == (table.values[i], table.values[i])
            continue
        low, high = rational_interval(table, pattern, i)
        bounds = int(table.lower[i]), int(table.upper[i])
        if low is None:
            assert ends[0] == bounds[0]
        else:
            assert low - grid < ends[0] <= low
            assert ends[0] % grid == 0 or ends[0] == bounds[0]
        if high is None:
            assert ends[1] == bounds[1]
        else:
            assert high <= ends[1] < high + grid
            assert ends[1] % grid == 0 or ends[1] == bounds[1]


@examples(25)
@given(small_tables(), st.integers(1, 6), st.data())
def test_the_same_tables_are_consistent_with_the_intervals(table, grid, data) -> None:
    """So that no attacker, whatever else is known to it, learns anything by them."""
    hidden = data.draw(st.sets(st.integers(0, table.n_cells - 1), min_size=1, max_size=7))
    pattern = np.zeros(table.n_cells, dtype=bool)
    pattern[sorted(hidden)] = True
    none = Problem.of(table, np.zeros(table.n_cells, dtype=bool))
    release = Release.of(table, pattern, scale=table.scale)
    found = outward(table, audit(none, pattern), release, Fraction(grid, 10**table.scale))
    ends = intervals(table, pattern)
    if not (np.isfinite(ends.lower).all() and np.isfinite(ends.upper).all()):
        return  # infinitely many tables
    published = found.published
    narrowed = table.replace(lower=published.lower, upper=published.upper)
    assert set(integer_tables(narrowed, pattern)) == set(integer_tables(table, pattern))
    point = found.inside()
    assert not (table.relations @ point).any()
    assert (point[~pattern] == table.values[~pattern]).all()
    assert (point >= published.lower).all()
    assert (point <= published.upper).all()


def test_the_table_inside_depends_on_the_release_alone() -> None:
    """True tables with one release, each found by enumeration, have the same point inside."""
    mechanism = Mechanism(Manual([("1", "1")]), width=8)
    cells = np.array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    first = mechanism.protect(Table.from_array(cells), publish="intervals:5")
    seen = {}
    for values in integer_tables(first.table, first.pattern):
        table = first.table.replace(values=np.array(values))
        other = mechanism.protect(table, publish="intervals:5")
        if (other.pattern != first.pattern).any():
            continue
        seen[values] = (
            tuple(other.ranges.lower.tolist()), tuple(other.ranges.upper.tolist()),
            tuple(other.ranges.inside().tolist()),
        )  # fmt: skip
    assert len(seen) > 3
    assert len(set(seen.values())) == 1


def test_sensitive_cells_keep_their_levels_beside_the_intervals() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        table = Table.from_array(rng.integers(0, 12, (3, 4)))
        found = protect(table, "FREQ(3)", width=4, publish="intervals:3")
        published = found.ranges.published
        narrowed = table.replace(lower=published.lower, upper=published.upper)
        for cell in np.flatnonzero(found.problem.primary).tolist():
            low, high = integer_interval(narrowed, found.pattern, cell)
            assert high - low >= 4
            assert (low, high) == integer_interval(table, found.pattern, cell)
            assert found.ranges.lower[cell] <= low <= high <= found.ranges.upper[cell]


def test_frames_have_the_intervals_and_no_more() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    found = protect(table, "FREQ(8)", width=10, margins="publish", publish="intervals:10")
    frame = found.to_frame("pandas")
    assert frame["lower"].tolist()[:3] == [0, 0, 60]
    assert frame["upper"].tolist()[:3] == [20, 20, 60]
    assert frame["value"].isna().sum() == 4
    assert found.summary()["grid"] == "10"
    whole = found.to_frame("pandas", inside=True)["inside"].to_numpy().reshape(4, 4)
    assert (whole[:3].sum(axis=0) == whole[3]).all()
    assert (whole[:, :3].sum(axis=1) == whole[:, 3]).all()
    assert ((frame["lower"] <= whole.ravel()) & (whole.ravel() <= frame["upper"])).all()
    with pytest.raises(InputError, match="no intervals to be inside of"):
        protect(table, "FREQ(8)", width=10).to_frame(inside=True)
    assert protect(table, "FREQ(8)", width=10).ranges is None


def test_no_end_is_written_as_missing() -> None:
    table = Table.from_frame(
        {"r": ["a", "b", "Total"], "v": [3, 5, 8]}, ["r"], "v", negative="allow"
    )
    found = protect(table, Manual([("a",)], width=3), publish="intervals")
    assert found.ranges.upper[found.pattern].max() == UNBOUNDED
    assert found.to_frame("pandas")["upper"].isna().sum() == found.pattern.sum()
    assert not (table.relations @ found.ranges.inside()).any()


def test_what_cannot_be_published_is_refused() -> None:
    table = Table.from_array([[7, 11], [10, 60]])
    for wrong in ("ranges", "blanks:3", "intervals:", "intervals:x", "intervals:0", 3):
        with pytest.raises(InputError):
            protect(table, "FREQ(8)", width=10, publish=wrong)
    with pytest.raises(InputError, match="grid of intervals"):
        protect(table, "FREQ(8)", width=2, publish="intervals:0.5")
    with pytest.raises(InputError, match="publish=: the grid of intervals must be positive"):
        protect(table, "FREQ(8)", width=2, publish="intervals:-5")
    with pytest.raises(InputError, match="publish=: the grid of intervals must be a positive mul"):
        protect(table, "FREQ(8)", width=2, publish="intervals:0.5")
