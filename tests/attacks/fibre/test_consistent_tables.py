"""Fibres: every consistent table, each once; counts, samples, completions."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.fibre.consistent_tables import Fibre
from attacks.fibre.counts import Counter, TooMany
from csp import InputError, Table
from csp.release.completion import complete
from csp.release.release import Release
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import (
    coefficient_tables,
    cube,
    frequency_2d,
    frequency_3d,
    hierarchical_tables,
    linked_tables,
    sparse_tables,
)

count_tables = st.one_of(
    frequency_2d(high=6), sparse_tables(), frequency_3d(high=4), hierarchical_tables(high=4),
    linked_tables(high=4), coefficient_tables(),
)  # fmt: skip


@st.composite
def releases(draw: st.DrawFn) -> tuple[Table, Release]:
    table = draw(count_tables)
    n = table.n_cells
    flags = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    flags[draw(st.integers(0, n - 1))] = True
    return table, Release.of(table, flags)


def all_tables(table: Table, pattern: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(np.array(t)[pattern].tolist()) for t in oracles.integer_tables(table, pattern)}


@examples(60)
@given(releases())
def test_every_table_that_fits_occurs_once(case: tuple[Table, Release]) -> None:
    table, release = case
    try:
        truth = all_tables(table, release.pattern)
    except ValueError:  # endless
        with pytest.raises(InputError, match="no end in one direction"):
            Fibre(release)
        return
    if len(truth) > 3000:
        return
    fibre = Fibre(release)
    listed = [tuple(x.tolist()) for x in fibre]
    assert len(listed) == len(truth)
    assert set(listed) == truth
    assert fibre.count() == len(truth)
    columns = np.array(sorted(truth)).T
    assert fibre.lower.tolist() == columns.min(axis=1).tolist()
    assert fibre.upper.tolist() == columns.max(axis=1).tolist()
    # Dimension 0 means one table; the reverse need not hold, since values are bounded.
    assert fibre.dimension > 0 or len(truth) == 1


@examples(25)
@given(releases())
def test_completions_need_no_true_table(case: tuple[Table, Release]) -> None:
    table, release = case
    found = complete(release)
    assert (found.values[~release.pattern] == table.values[~release.pattern]).all()
    assert not (table.relations @ found.values).any()


def test_completions_of_large_numbers_are_exact() -> None:
    rng = np.random.default_rng(3)
    table = cube(rng.integers(10**13, 10**14, (4, 5)))
    pattern = ~table.margins
    found = complete(Release.of(table, pattern))
    assert not (table.relations @ found.values).any()


def release_of(values: list[list[int]], hidden: list[tuple[int, int]], **change: int) -> Release:
    table = Table.from_array(values)
    pattern = np.zeros((len(values) + 1, len(values[0]) + 1), dtype=bool)
    pattern[tuple(zip(*hidden, strict=True))] = True
    release = Release.of(table, pattern.ravel())
    published = release.published.copy()
    for place, value in change.items():
        published[int(place[1:])] = value
    return Release(
        published, release.pattern, release.relations, release.lower, release.upper,
        release.labels, release.scale, release.names, release.roots,
    )  # fmt: skip


SQUARE = [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_releases_that_no_table_fits_are_refused() -> None:
    values = [[3, 4, 5], [6, 7, 8]]
    with pytest.raises(InputError, match="no suppressed cell"):
        complete(Release.of(Table.from_array(values), np.zeros(12, dtype=bool)))
    with pytest.raises(InputError, match=r"relation \d+ contradict each other by 1 units"):
        complete(release_of(values, SQUARE, c6=9))
    with pytest.raises(InputError, match="no table is consistent"):
        complete(release_of(values, SQUARE[:3], c3=20, c7=13))
    with pytest.raises(InputError, match="outside its own bounds"):
        complete(release_of(values, SQUARE, c2=-5))


def test_a_release_that_only_fractions_fit() -> None:
    # Twice a cell is an odd number.
    from scipy.sparse import csr_array

    table = Table(
        np.array([3, 6]), csr_array(np.array([[2, -1]])), np.zeros(2), np.full(2, 99),
        (("a",), ("b",)),
    )  # fmt: skip
    release = Release.of(table, np.array([True, False]))
    odd = Release(
        np.array([0, 7]), release.pattern, release.relations, release.lower, release.upper,
        release.labels, 0, release.names, release.roots,
    )  # fmt: skip
    with pytest.raises(InputError, match="only fractions"):
        complete(odd)


def test_table_1_of_paper_003() -> None:
    # Algorithms 2019, 12(8), 165, Table 1 and Example 2: ten tables, one direction.
    release = release_of(
        [[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]],
        [(1, 1), (1, 3), (3, 1), (3, 3)],
    )
    fibre = Fibre(release)
    assert fibre.dimension == 1
    assert {tuple(x.tolist()) for x in fibre} == {(14 + k, 9 - k, 9 - k, k) for k in range(10)}


def test_counts_beyond_any_list_and_limits() -> None:
    table = cube(np.full((5, 5), 9))
    fibre = Fibre(Release.of(table, ~table.margins))
    small = Counter(*part_of(cube(np.full((3, 3), 4))), 10**6)
    # Semi-magic squares of order 3 and line sum r: Stanley, C(r+4,4) + C(r+3,4) + C(r+2,4).
    r = 12
    assert small.total == sum(
        (r + s) * (r + s - 1) * (r + s - 2) * (r + s - 3) // 24 for s in (4, 3, 2)
    )
    assert fibre.count(max_states=1000) is None
    with pytest.raises(TooMany):
        Counter(*part_of(table), 1000)


def part_of(table: Table) -> tuple:  # type: ignore[type-arg]
    part = Fibre(Release.of(table, ~table.margins)).parts[0]
    return part.matrix, part.right, part.lower, part.upper


def test_draws_are_uniform() -> None:
    table = cube(np.array([[2, 1, 1], [1, 2, 0]]))
    fibre = Fibre(Release.of(table, ~table.margins))
    size = fibre.count()
    counters = fibre.counters()
    assert size is not None
    assert counters is not None
    rng = np.random.default_rng(11)
    draws = 400 * size
    tally = Tally(tuple(counters[0].draw(rng).tolist()) for _ in range(draws))
    assert len(tally) == size
    # Chi square with size - 1 degrees of freedom; far beyond its 99.99 % point otherwise.
    chi = sum((count - 400) ** 2 / 400 for count in tally.values())
    assert chi < size + 6 * (2 * size) ** 0.5
