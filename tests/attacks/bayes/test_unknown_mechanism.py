"""Unknown mechanisms, beliefs with and without them, and black boxes, against brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import algorithm_safety, mechanism_posterior, normal_counts, parameter_bounds
from csp import Decoys, InputError, Mechanism, MinFrequency, Table, Unprotectable, intervals
from csp.release.completion import complete
from csp.release.release import Release
from tests.attacks.algorithm_known.test_matching_attack import (
    Options,
    attacked,
    brute,
    full_of,
    options,
)
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, sparse_tables


def others(chosen: Options) -> list[Options]:
    """Candidates: the true options, and some with another threshold, width, tie or cost."""
    wide = 3 if chosen.width is None else chosen.width + 2
    return [
        chosen,
        replace(chosen, threshold=chosen.threshold + 1),
        replace(chosen, threshold=max(1, chosen.threshold - 1)),
        replace(chosen, width=wide),
        replace(chosen, width=wide, strict=True),
        replace(chosen, cost="value" if chosen.cost == "unit" else "unit"),
        replace(chosen, zero_sensitive=not chosen.zero_sensitive),
    ]


@examples(5)
@given(
    options(integer=True, margins="publish"),
    st.one_of(frequency_2d(high=7), sparse_tables()),
)
def test_candidates_are_as_probable_as_their_matches_are_many(
    chosen: Options, table: Table
) -> None:
    release, _ = attacked(chosen, table, 10)
    tried = others(chosen)
    counts = [len(brute(one, release, table)) for one in tried]
    belief = list(range(1, len(tried) + 1))
    found = mechanism_posterior(
        [release, release], [one.mechanism() for one in tried], belief=belief
    )
    assert found.matches.tolist() == [counts, counts]
    assert found.possible.tolist() == [c > 0 for c in counts]
    assert found.possible[0]
    for r in range(3):
        weights = [Fraction(b) * c**r for b, c in zip(belief, counts, strict=True)]
        shares = [float(w / sum(weights)) for w in weights]
        assert found.probability[r] == pytest.approx(shares, abs=1e-12)


@examples(5)
@given(
    options(integer=True, margins="publish"),
    st.one_of(frequency_2d(high=7), sparse_tables()),
    st.booleans(),
)
def test_beliefs_are_compared_exactly(chosen: Options, table: Table, flat: bool) -> None:
    release, mechanism = attacked(chosen, table, 10)

    def weight(v: int) -> Fraction:
        return Fraction(1) if flat else Fraction(1 + v % 3, 2 + v)

    found = algorithm_safety(release, mechanism, weight=weight)
    inner = [i for i in range(table.n_cells) if release.pattern[i] and not table.margins[i]]
    matches = [full_of(release, x) for x in brute(chosen, release, table)]
    everything = list(oracles.integer_tables(table, release.pattern))

    def chances(tables: list[Any], cell: int, value: int) -> Fraction:
        masses = [Fraction(1)] * len(tables)
        for i, t in enumerate(tables):
            for j in inner:
                masses[i] *= weight(int(t[j]))
        hit = [m for m, t in zip(masses, tables, strict=True) if t[cell] == value]
        return sum(hit, Fraction(0)) / sum(masses, Fraction(0))

    changes, largest = [], Fraction(0)
    for e, cell in enumerate(found.cells.tolist()):
        values = sorted({int(t[cell]) for t in everything})
        aware = {v: chances(matches, cell, v) for v in values}
        naive = {v: chances(everything, cell, v) for v in values}
        assert dict(found.probability[e]) == aware
        assert dict(found.naive[e]) == naive
        changes.append(max(abs(aware[v] - naive[v]) for v in values))
        largest = max(largest, *aware.values())
    assert list(found.change) == changes
    assert found.m == 1 / largest
    words = "changed" if any(changes) else "cell values unchanged"
    assert found.verdict == ("algorithm-safe" if len(matches) == len(everything) else words)
    assert found.most_changed == found.cells[changes.index(max(changes))]


@examples(25)
@given(
    frequency_2d(high=9), frequency_2d(high=9), st.integers(1, 5), st.integers(0, 8),
    st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["publish", "suppress"]),
)  # fmt: skip
def test_bounds_hold_for_the_truth(
    first: Table, second: Table, n: int, width: int, zero: bool, strict: bool, integer: bool,
    margins: str,
) -> None:  # fmt: skip
    mechanism = Mechanism(
        MinFrequency(n, zero_sensitive=zero), width=width, strict=strict, margins=margins,
        integer=integer,
    )  # fmt: skip
    releases = []
    for table in (first, second):
        try:
            releases.append(mechanism.protect(table).release)
        except Unprotectable:
            continue
    found = parameter_bounds(releases, margins=margins, zero_sensitive=zero, integer=integer)
    # Where margins are suppressed, the interval of a cell may have no end.
    hidden = [r for r in releases if r.pattern.any() and not _endless(r)]
    assert found.threshold_from <= n
    assert found.threshold_to is None or n <= found.threshold_to
    assert found.width_to is None or width + strict <= found.width_to
    assert found.width_to is not None or not hidden
    assert found.width_to is None or any(r.pattern.any() for r in releases)


def _endless(release: Release) -> bool:
    origin = complete(release)
    upper = intervals(origin, release.pattern).upper[release.pattern]
    return bool(np.isinf(upper).any())


def test_a_cell_without_an_end_says_nothing_about_the_width() -> None:
    # Everything is suppressed here: any cell may be as large as one likes.
    table = Table.from_array([[3, 20], [30, 40]])
    release = Release.of(table, np.ones(9, dtype=bool))
    found = parameter_bounds([release])
    assert (found.threshold_from, found.threshold_to, found.width_to) == (2, None, None)
    bounded = Mechanism(MinFrequency(5), width=8, margins="publish").protect(table).release
    both = parameter_bounds([bounded, release], margins="publish")
    assert both == parameter_bounds([bounded], margins="publish")


def test_a_secondary_cell_may_be_narrower_than_the_width() -> None:
    # The paper bounds the width by every suppressed cell.
    mechanism = Mechanism(MinFrequency(3), width=5, margins="publish")
    random = np.random.default_rng(1)
    narrow = 0
    for _ in range(60):
        table = Table.from_array(random.integers(0, 8, (3, 3)))
        try:
            release = mechanism.protect(table).release
        except Unprotectable:
            continue
        if not release.pattern.any():
            continue
        widths = []
        for i in np.flatnonzero(release.pattern).tolist():
            low, high = oracles.integer_interval(table, release.pattern, i)
            assert low is not None
            assert high is not None
            widths.append(high - low)
        bound = parameter_bounds([release], margins="publish").width_to
        assert bound is not None
        assert 5 <= bound <= max(widths)
        narrow += min(widths) < 5
    assert narrow


def contributions(parts: list[list[list[int]]]) -> Table:
    """Cells of two rows and columns, each with the contributions behind it as finer cells."""
    return Table.from_array(np.array(parts), names=["row", "column", "who"])


def all_or_nothing(table: Table) -> np.ndarray | None:
    """Another program: hides the four cells if one is sensitive by the 10 percent rule.

    It always hides who contributed what, and does not publish a table that is all zero.
    """
    cube = table.values.reshape(3, 3, 3)
    if not cube.any():
        return None
    pattern = np.ones((3, 3, 3), dtype=bool)
    pattern[:, :, 2] = False
    for r, c in itertools.product(range(2), repeat=2):
        small, large = sorted(cube[r, c, :2].tolist())
        # With two contributors the smaller one subtracts itself and knows the larger.
        if large and small == 0:
            pattern[:2, :2, 2] = True
    return pattern.ravel()


@pytest.mark.parametrize(
    "parts",
    [
        [[[1, 0], [1, 1]], [[1, 0], [0, 0]]],
        [[[1, 1], [1, 1]], [[0, 0], [1, 1]]],
        [[[2, 0], [0, 0]], [[0, 0], [0, 0]]],
    ],
)
def test_a_black_box_that_reads_contributions_is_attacked(parts: list[list[list[int]]]) -> None:
    table = contributions(parts)
    pattern = all_or_nothing(table)
    assert pattern is not None
    release = Release.of(table, pattern)
    everything = list(oracles.integer_tables(table, pattern))
    matches = []
    for t in everything:
        # The rule again, on plain lists: hidden if one of four cells has one contributor alone.
        cells = [
            (t[9 * r + 3 * c], t[9 * r + 3 * c + 1]) for r, c in itertools.product((0, 1), (0, 1))
        ]
        alone = any((a == 0) != (b == 0) for a, b in cells)
        if any(t) and alone == bool(pattern[2]):
            matches.append(t)
    found = algorithm_safety(release, all_or_nothing)
    for e, cell in enumerate(found.cells.tolist()):
        for v, p in found.probability[e].items():
            assert p == Fraction(sum(t[cell] == v for t in matches), len(matches))
        for v, p in found.naive[e].items():
            assert p == Fraction(sum(t[cell] == v for t in everything), len(everything))
    assert (found.verdict == "algorithm-safe") == (len(matches) == len(everything))
    rival = mechanism_posterior([release], [all_or_nothing, lambda _: None])
    assert rival.matches.tolist() == [[len(matches), 0]]
    assert rival.probability[-1].tolist() == [1, 0]


def test_a_release_without_suppression_counts() -> None:
    table = Table.from_array([[7, 9], [8, 6]])
    release = Release.of(table, np.zeros(9, dtype=bool))
    tried = [Mechanism(MinFrequency(n), margins="publish") for n in (3, 6, 7)]
    found = mechanism_posterior([release], tried)
    assert found.possible.tolist() == [True, True, False]
    assert found.probability.tolist() == [[1 / 3] * 3, [1 / 2, 1 / 2, 0]]
    bounds = parameter_bounds([release])
    assert (bounds.threshold_from, bounds.threshold_to, bounds.width_to) == (1, 6, None)


def test_what_cannot_be_weighed_is_refused() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(table).release
    with pytest.raises(InputError, match="larger max_tables"):
        algorithm_safety(release, mechanism, max_tables=3)
    with pytest.raises(InputError, match="Fraction"):
        algorithm_safety(release, mechanism, weight=lambda _: 0.5)  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="published like this"):
        algorithm_safety(release, lambda _: None)
    with pytest.raises(InputError, match="one for each candidate"):
        mechanism_posterior([release], [mechanism], belief=[1, 1])
    with pytest.raises(InputError, match="no candidate to which"):
        mechanism_posterior([release], [lambda _: None, mechanism], belief=[1, 0])
    with pytest.raises(InputError, match="candidates is empty"):
        mechanism_posterior([release], [])
    hidden = replace(mechanism, defence=Decoys(0.2, bytes(range(32))))
    with pytest.raises(InputError, match="depends on a key"):
        mechanism_posterior([release], [hidden])
    open_table = Release.of(Table.from_array([[1, 9], [8, 6]]), np.zeros(9, dtype=bool))
    assert not parameter_bounds([release, open_table], margins="publish").possible
    assert parameter_bounds([release], margins="publish").possible


def test_one_candidate_and_a_prior_of_arrays_are_named() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(table).release
    with pytest.raises(InputError, match="candidates must be several mechanisms or functions"):
        mechanism_posterior([release], mechanism)  # type: ignore[arg-type]
    several = mechanism_posterior([release], (one for one in (mechanism,)))  # type: ignore[arg-type]
    assert several.possible.tolist() == [True]
    with pytest.raises(InputError, match="weight must be a function of one whole number"):
        algorithm_safety(release, mechanism, weight=normal_counts(15, 10))  # type: ignore[arg-type]
    whole = algorithm_safety(release, mechanism, weight=lambda v: np.int64(1 + v))
    plain = algorithm_safety(release, mechanism, weight=lambda v: 1 + v)
    assert whole.probability == plain.probability
