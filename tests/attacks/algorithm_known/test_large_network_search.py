"""Search with a part of the cells: brute force on small tables, the whole fibre on large ones."""

from __future__ import annotations

import itertools
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import Fibre, matching
from attacks.algorithm_known import large_network_search
from attacks.algorithm_known.large_network_search import LargeNetworkSearch, network_search_of
from attacks.algorithm_known.match_tests import SolverTest
from attacks.algorithm_known.matches import match_test_of
from attacks.algorithm_known.network_enumeration import HULL, MATCHES, VALUES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.public_view import PublicView
from csp import Mechanism, MinFrequency, Table
from csp.clock import Clock
from csp.compiled import at_once
from csp.errors import OutOfTime
from tests.attacks.algorithm_known.test_matching_attack import Options, attacked, brute, options
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, sparse_tables


@examples(10)
@given(
    options(integer=True, margins="publish"),
    st.one_of(frequency_2d(high=9), sparse_tables()),
    st.integers(0, 4),
)
def test_a_part_of_the_cells_finds_what_all_of_them_find(
    chosen: Options, table: Table, spare: int
) -> None:
    release, mechanism = attacked(chosen, table, 60)
    truth = brute(chosen, release, table)
    read = PublicView.of(release, mechanism)
    if network_search_of(read) is not NetworkSearch:
        return
    # Room for a few more cells than are suppressed: patterns have to leave the part again.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_network_search, "MOST", int(release.pattern.sum()) + spare)
        for mode in (MATCHES, VALUES, HULL):
            search = LargeNetworkSearch(read, mode)
            found = []
            for _ in itertools.count():
                over = search.step(7)
                found += [tuple(x) for x in search.taken().tolist()]
                if over:
                    break
            assert search.doubtful == 0
            if mode == MATCHES:
                assert sorted(found) == sorted(truth)
                assert search.matched == len(truth)
                continue
            met = [
                np.flatnonzero(row) + low for row, low in zip(search.met, read.lower, strict=True)
            ]
            for cell, values in enumerate(zip(*truth, strict=True)):
                if mode == VALUES:
                    assert set(met[cell].tolist()) == set(values)
                else:
                    assert {min(values), max(values)} <= set(met[cell].tolist()) <= set(values)
        tables = np.array(list(Fibre(release)))
        told = LargeNetworkSearch(read, MATCHES).test(tables)
        assert {tuple(x) for x in tables[told].tolist()} == set(truth)


def large_release() -> tuple[Mechanism, PublicView]:
    """Give a release of nine rows and columns: three of 174 consistent tables are matches."""
    mechanism = Mechanism(MinFrequency(5), width=8, margins="publish")
    counts = np.abs(np.rint(np.random.default_rng(52).normal(15, 10, (9, 9)))).astype(int)
    release = mechanism.protect(Table.from_array(counts)).release
    return mechanism, PublicView.of(release, mechanism)


def test_a_table_of_81_cells_is_attacked_without_a_list() -> None:
    mechanism, read = large_release()
    assert network_search_of(read) is LargeNetworkSearch
    assert Fibre(read.release).count() == 174
    test = SolverTest(read)
    matches = np.array([x for x in Fibre(read.release) if test.matches(x)])
    assert len(matches) == 3
    found = matching(read.release, mechanism)
    assert (found.method, found.complete) == ("hull", True)
    assert found.lower.tolist() == matches.min(axis=0).tolist()
    assert found.upper.tolist() == matches.max(axis=0).tolist()
    listed = np.vstack(list(match_test_of(read).listed()))
    assert sorted(map(tuple, listed.tolist())) == sorted(map(tuple, matches.tolist()))
    every = matching(read.release, mechanism, method="all")
    assert every.matched == len(matches)
    values = matching(read.release, mechanism, method="values")
    for attack in (every, values):
        assert attack.values is not None
        for cell, met in enumerate(attack.values):
            assert met.tolist() == np.unique(matches[:, cell]).tolist()


def test_an_attack_that_is_cut_short_proves_nothing_it_may_not() -> None:
    mechanism, read = large_release()
    search = LargeNetworkSearch(read, HULL, clock=Clock.of(1e-9))
    while not search.step(50):
        pass
    assert search.doubtful > 0
    # On a busy machine it may end before the first table, with nothing to say.
    with suppress(OutOfTime):
        cut = matching(read.release, mechanism, time_limit=0.05)
        assert cut.complete or set(cut.verdict.tolist()) <= {"undecided", "proved safe"}


def test_steps_that_end_at_once_do_not_grow_beyond_64_bits() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(table).release
    with at_once():
        search = NetworkSearch(PublicView.of(release, mechanism), HULL)
        search._pace = 2**62
        ended = [search.step() for _ in range(3)]
    assert ended == [True] * 3
