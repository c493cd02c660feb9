"""Shapes: completions and ranges by flows, and which releases may share them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.fibre.feasible_intervals import feasible
from attacks.fibre.network_ranges import KERNELS
from attacks.fibre.shapes import Shape
from csp import InputError, Table
from csp.compiled import at_once
from csp.release.completion import complete
from csp.release.release import Release
from tests.support import oracles
from tests.support.shared import examples, uncompiled
from tests.support.strategies import cube, frequency_2d, small_releases, sparse_tables

two_way = st.one_of(frequency_2d(high=6), sparse_tables())


def truth_of(table: Table, pattern: np.ndarray) -> np.ndarray | None:
    """All tables by enumeration, (t, k); None if there is no end to them."""
    try:
        return np.array([np.array(t)[pattern] for t in oracles.integer_tables(table, pattern)])
    except ValueError:
        return None


def check(table: Table, release: Release) -> bool:
    """Compare with all tables; whether flows told them."""
    found = Shape.of(release).ranged(release)
    if found is None:
        return False
    truth = truth_of(table, release.pattern)
    assert truth is not None
    assert found.values.tolist() in truth.tolist()
    assert found.lower.tolist() == truth.min(axis=0).tolist()
    assert found.upper.tolist() == truth.max(axis=0).tolist()
    return True


@examples(60)
@given(small_releases())
def test_ranges_of_any_table_are_those_of_linear_programs(case: tuple[Table, Release]) -> None:
    """Tables with hierarchies and of three dimensions, whose tables are too many to list."""
    table, release = case
    found = Shape.of(release).ranged(release)
    if found is not None:
        lower, upper = feasible(table, release.pattern)
        assert (found.lower.tolist(), found.upper.tolist()) == (lower.tolist(), upper.tolist())
        release.table(found.values)


@examples(60)
@given(small_releases(two_way))
def test_flows_tell_the_ranges_of_every_two_way_table(case: tuple[Table, Release]) -> None:
    table, release = case
    assert check(table, release) == (truth_of(table, release.pattern) is not None)


@pytest.mark.parametrize("compiled", [False, True])
def test_bounds_and_large_numbers(*, compiled: bool) -> None:
    # A diagonal that may move by 3 units at most, up or down, around 10**13.
    inner = np.full((2, 2), 10**13)
    table = cube(inner, lower=10**13 - 3, upper=10**14)
    pattern = ~table.margins
    release = Release.of(table, pattern)
    shape = Shape.of(release)
    with at_once() if compiled else uncompiled(KERNELS):
        found = shape.ranged(release)
    assert found is not None
    assert (found.lower - 10**13).tolist() == [-3] * 4
    assert (found.upper - 10**13).tolist() == [3] * 4
    assert not (table.relations @ release.table(found.values).values).any()


@examples(80)
@given(small_releases(two_way), st.data())
def test_a_release_that_no_table_fits(case: tuple[Table, Release], data: st.DataObject) -> None:
    _, release = case
    open_cells = np.flatnonzero(~release.pattern).tolist()
    published = release.published.copy()
    for cell in data.draw(st.lists(st.sampled_from(open_cells), max_size=3)) if open_cells else ():
        published[cell] += data.draw(st.integers(-4, 4))
    wrong = replace(release, published=published)
    try:  # Integer programs of HiGHS say whether there is one.
        complete(wrong)
    except InputError:
        assert Shape.of(wrong).ranged(wrong) is None
        return
    found = Shape.of(wrong).ranged(wrong)
    if found is None:
        with pytest.raises(InputError, match="no end in one direction"):
            feasible(complete(wrong), wrong.pattern)
    else:
        # This checks relations, bounds and published values.
        wrong.table(found.values)


def test_only_the_same_relations_and_labels_fit() -> None:
    def release(shape: tuple[int, ...], **options: object) -> Release:
        table = Table.from_array(np.ones(shape, int), **options)  # type: ignore[arg-type]
        return Release.of(table, ~table.margins)

    shape = Shape.of(release((2, 3)))
    assert shape.fits(release((2, 3)))
    assert shape.fits(replace(release((2, 3)), pattern=np.arange(12) < 4))
    assert not shape.fits(release((3, 2)))
    assert not shape.fits(release((2, 3), codes=["ab", "xyz"]))
    assert not shape.fits(replace(release((2, 3)), roots=("", "")))
    other = release((2, 3))
    signs = other.relations.copy()
    signs.data[0] = -1
    assert not shape.fits(replace(other, relations=signs))


def test_other_shapes_leave_it_to_linear_programs() -> None:
    full = cube(np.ones((2, 2, 2), int))
    three_way = Release.of(full, ~full.margins)
    assert Shape.of(three_way).network is None
    assert Shape.of(three_way).ranged(three_way) is None
    # 64 cells leave no place for the one that joins two nodes.
    square = cube(np.ones((8, 8), int))
    for cells, told in ((64, False), (63, True)):
        release = Release.of(square, ~square.margins & (np.cumsum(~square.margins) <= cells))
        assert (Shape.of(release).ranged(release) is not None) == told
