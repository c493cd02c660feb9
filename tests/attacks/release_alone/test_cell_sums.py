"""Sums that releases disclose, against the null space and an exact simplex."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.explanations import explain
from attacks.release_alone.cell_sums import disclosed_sums, with_sum
from csp import InputError, MinFrequency, PPercent, Table
from csp.errors import OutOfTime
from csp.release.release import Release
from csp.rules import union_sensitive
from tests.csp.test_leaks import PRIMES, assert_clean
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, magnitude_tables, small_releases


def test_sums_found_before_the_limit_are_kept_and_known_to_be_some() -> None:
    table = Table.from_array([[1, 2, 60], [3, 1, 55], [60, 70, 60]])
    release = Release.of(table, table.values < 5)
    whole = disclosed_sums(release, MinFrequency(5))
    assert whole.complete
    with mock.patch("attacks.release_alone.cell_sums._lattice", side_effect=OutOfTime("late")):
        found = disclosed_sums(release, MinFrequency(5))
    assert not found.complete
    assert 0 < len(found) <= len(whole)
    assert {s.cells for s in found} <= {s.cells for s in whole}


@examples(30)
@given(small_releases())
def test_disclosed_sums_are_constant_and_equal_the_truth(case: tuple[Table, Release]) -> None:
    table, release = case
    found = disclosed_sums(release, integer=False)
    unknown = oracles.hidden_cells(release.pattern)
    basis = dict(
        zip(unknown, oracles.null_space(oracles.equations(table, unknown), unknown), strict=True)
    )
    fixed = [c for c in unknown if len(set(oracles.rational_interval(
        table, release.pattern, c))) == 1]  # fmt: skip
    assert (
        found.release.pattern == (release.pattern & ~np.isin(range(table.n_cells), fixed))
    ).all()
    assert found.complete or len(unknown) > 40
    disclosed = [set(s.cells) for s in found if s.disclosed]
    assert len({s.cells for s in found}) == len(found)
    for s in found:
        assert set(s.cells) <= set(unknown) - set(fixed)
        if s.proof is not None:
            equation = s.proof.equation(found.release)
            assert equation.end == s.lower == s.upper == table.values[list(s.cells)].sum()
            assert not equation.others
            move = [sum(basis[c][j] for c in s.cells) for j in range(len(basis[s.cells[0]]))]
            if not fixed:
                assert not any(move)
            assert s.minimal == (not any(d < set(s.cells) for d in disclosed))
        assert s.sensitive is None
    # Every relation with one sign has its sum in the list.
    for row in oracles.rows_of(table):
        left = {c: a for c, a in row.items() if a and c in unknown and c not in fixed}
        if left and len(set(left.values())) == 1:
            assert set(left) in disclosed


@examples(30)
@given(small_releases(), st.data())
def test_intervals_of_given_sums_equal_brute_force(
    case: tuple[Table, Release], data: st.DataObject
) -> None:
    table, release = case
    hidden = np.flatnonzero(release.pattern).tolist()
    cells = data.draw(st.lists(st.sampled_from(hidden), min_size=1, max_size=3, unique=True))
    found = disclosed_sums(release, given=[cells], lattice=0, integer=False)
    (mine,) = (s for s in found if s.cells == tuple(sorted(cells)))
    wide = with_sum(release, cells)
    total = wide.table(np.append(table.values[release.pattern], table.values[cells].sum()))
    assert (mine.lower, mine.upper) == oracles.rational_interval(total, wide.pattern, table.n_cells)
    shown = explain(wide, table.n_cells, integer=False)
    shown.check()
    assert (shown.lower, shown.upper) == (mine.lower, mine.upper)


@examples(12)
@given(small_releases(magnitude_tables()), st.sampled_from([PPercent(15), MinFrequency(3)]))
def test_sums_are_judged_like_cells(case: tuple[Table, Release], rule: PPercent) -> None:
    table, release = case
    for s in disclosed_sums(release, rule, table=table):
        expected = union_sensitive(rule, table, list(s.cells)) if s.disclosed else None
        assert s.sensitive == expected


def test_differences_of_relations_and_the_lattice() -> None:
    # Row 1 hides a, b, c and row 2 hides b', c' in the same columns with nothing else there.
    table = Table.from_array([[1, 2, 3, 40], [50, 2, 1, 40], [60, 61, 62, 63], [9, 8, 7, 6]])
    flags = np.zeros((5, 5), bool)
    flags[0, :3] = True
    flags[1, 1:3] = True
    flags[3, 0] = flags[3, 3] = flags[2, 0] = flags[2, 3] = True
    release = Release.of(table, flags.ravel())
    found = disclosed_sums(release, MinFrequency(5))
    # The first cell is a combination; what is left are sums of cells that move.
    assert not found.release.pattern[0]
    assert {s.cells for s in found if s.sensitive} >= {(1, 6), (6, 7), (2, 7)}
    assert (1, 2) in {s.cells for s in found if s.sensitive is False}
    cubes = Table.from_array(np.arange(8).reshape(2, 2, 2) + 1)
    diagonal = disclosed_sums(Release.of(cubes, ~cubes.margins))
    assert {s.source for s in diagonal} == {"relation", "lattice"}
    assert not disclosed_sums(Release.of(cubes, ~cubes.margins), lattice=3).complete
    total = Release.of(cubes, np.ones(27, bool))
    assert any(not s.disclosed and s.source == "relation" for s in disclosed_sums(total))


def test_bad_input_and_silence() -> None:
    table = cube(np.array(PRIMES[:9]).reshape(3, 3))
    release = Release.of(table, ~table.margins)
    secret = {str(v) for v in table.values[release.pattern].tolist()}
    found = disclosed_sums(release, MinFrequency(10**7), given=[[0, 5]])
    texts = [repr(found), repr(list(found)), str(found.release), repr(found.sums[0].proof)]
    for match, options in (
        ("is published", {"given": [[3]]}), ("different cells", {"given": [[0, 0]]}),
        ("different cells", {"given": [[]]}), ("no cell", {"given": [[("x", "y")]]}),
        ("not the one behind", {"table": Table.from_array([[1, 2], [3, 4]])}),
        ("another value", {"table": cube(np.arange(9).reshape(3, 3))}),
        ("positive number of seconds", {"time_limit": -1}),
    ):  # fmt: skip
        with pytest.raises(InputError, match=match) as caught:
            disclosed_sums(release, **options)
        texts.append(repr(caught.value))
    with pytest.raises(InputError, match="largest contributions"):
        disclosed_sums(release, PPercent(10))
    with pytest.raises(InputError, match="no suppressed cell"):
        disclosed_sums(Release.of(table, np.zeros(16, bool)))
    with pytest.raises(OutOfTime):
        disclosed_sums(release, time_limit=1e-9)
    for text in texts:
        assert_clean(text, secret)
