"""Cells of large releases: against linear programs for each cell, and against what was planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from attacks.large_releases.engine import determined_cells
from attacks.large_releases.propagation import KERNELS, Bounds, System
from attacks.release_alone.disclosed_cells import disclosed
from csp import InputError, Release, Table
from csp.compiled import at_once
from csp.errors import CertificateError
from instances.business_patterns import business_patterns
from instances.synthetic import frequency_nd, hierarchical
from tests.support.shared import examples

READ = {
    "status": "empflag", "marks": "census", "total": {"naics": "------", "area": "US"},
    "hierarchies": {"naics": "prefix", "area": "prefix"}, "absent": "zero",
}  # fmt: skip


@st.composite
def releases(draw) -> tuple[Table, Release]:
    """Flat and hierarchical tables of two and three dimensions, some with ranges."""
    seed = draw(st.integers(0, 10**6))
    kind = draw(st.sampled_from(["flat", "deep", "cube"]))
    if kind == "deep":
        table = hierarchical(seed, ((2, 2), (2, 2)), mean=3, sd=3)
    else:
        table = frequency_nd((3, 4) if kind == "flat" else (2, 3, 2), seed, mean=3, sd=3)
    rng = np.random.default_rng(seed)
    pattern = rng.random(table.n_cells) < draw(st.sampled_from([0.2, 0.4, 0.6]))
    pattern[rng.integers(table.n_cells)] = True
    if draw(st.booleans()):
        width = rng.integers(0, 4, (2, table.n_cells))
        table = table.replace(
            lower=np.maximum(0, table.values - width[0]), upper=table.values + width[1]
        )
    return table, Release.of(table, pattern)


def checked(table: Table, release: Release):
    """What the engine finds, after its bounds, chains and proofs were put in."""
    found = determined_cells(release)
    true = table.values[found.cells]
    assert ((found.lower <= true) & (true <= found.upper)).all()
    assert (found.exact <= (found.lower == found.upper)).all()
    assert (found.linear <= found.exact).all()
    for cell in found.cells[found.linear].tolist():
        equation = found.proof(cell).equation(release)
        assert not equation.others
        assert equation.end == table.values[cell]
    return found


@examples(150)
@given(releases())
def test_the_same_as_a_program_for_each_cell(drawn) -> None:
    table, release = drawn
    found = checked(table, release)
    exact = disclosed(release)
    assert (found.cells == exact.cells).all()
    assert (found.linear == exact.linear).all()
    assert (found.lower <= exact.lower).all()
    assert (exact.upper <= found.upper).all()
    assert (found.exact <= exact.exact).all()
    if found.settled:
        assert (found.exact == exact.exact).all()
    else:
        assert found.unfinished


@examples(60)
@given(releases())
def test_chains_give_the_value_again(drawn) -> None:
    """Relation by relation, in the order of the chain, from what is known beforehand."""
    table, release = drawn
    found = determined_cells(release)
    relations = release.relations.toarray()
    for cell in found.cells[found.exact].tolist():
        rows = found.chain(cell)
        low = [*np.where(release.pattern, release.lower, release.published).tolist()]
        high = [*np.where(release.pattern, release.upper, release.published).tolist()]
        for row in rows:
            entries = [(c, int(relations[row, c])) for c in np.flatnonzero(relations[row])]
            for c, a in entries:
                rest = [(i, -a * b) for i, b in entries if i != c]
                low[c] = max(low[c], sum(b * (low[i] if b > 0 else high[i]) for i, b in rest))
                high[c] = min(high[c], sum(b * (high[i] if b > 0 else low[i]) for i, b in rest))
        if rows:
            assert low[cell] == high[cell] == table.values[cell]


@examples(30)
@given(releases())
def test_compiled_bounds_are_those_of_the_plain_functions(drawn) -> None:
    release = drawn[1]
    hidden = np.flatnonzero(release.pattern)
    matrix = release.relations[:, hidden]
    right = -(release.relations @ np.where(release.pattern, 0, release.published))
    ends = []
    for compiled in (False, True):
        bounds = Bounds(System.of(matrix, right), release.lower[hidden], release.upper[hidden])
        if compiled:
            with at_once():
                bounds.propagate()
        else:
            before, KERNELS._pays = KERNELS._pays, False
            bounds.propagate()
            KERNELS._pays = before
        bounds.check()
        ends.append((bounds.lower.tolist(), bounds.upper.tolist(), bounds.log().tolist()))
    assert ends[0] == ends[1]


def test_a_log_that_was_changed_is_noticed() -> None:
    table = Table.from_array([[1, 2], [3, 4]])
    release = Release.of(table, np.ones(9, bool))
    bounds = Bounds(
        System.of(release.relations, np.zeros(release.relations.shape[0], np.int64)),
        np.where(np.arange(9) == 0, 1, 0), np.where(np.arange(9) == 8, 10, 2**62),
    )  # fmt: skip
    bounds.propagate()
    bounds.check()
    bounds._log[0][0, 2] += 1
    with pytest.raises(CertificateError, match="does not follow"):
        bounds.check()


@pytest.mark.parametrize("seed", range(3))
def test_planted_cells_are_found_and_none_invented(seed) -> None:
    drawn = business_patterns(industries=60, states=3, counties=40, seed=seed)
    release = Release.from_frame(drawn.columns, ["naics", "area"], "emp", **READ)
    table = release.table(drawn.employment)
    found = checked(table, release)
    assert found.settled
    known = {*found.cells[found.exact].tolist()}
    for kind, rows in drawn.planted.items():
        if kind != "whole":
            assert {*rows.tolist()} <= known, kind
    assert not known & {*drawn.planted["whole"].tolist()}
    whole = {*found.cells[found.whole & ~found.exact].tolist()}
    assert {*drawn.planted["whole"].tolist()} <= whole
    linear = {*found.cells[found.linear].tolist()}
    assert {*drawn.planted["several"].tolist()} <= linear
    assert {*drawn.planted["levels"].tolist()} <= linear
    # An elimination of its own: a cell is known if the rank does not grow by its unit vector.
    import flint

    matrix = release.relations[:, found.cells].toarray()
    small = flint.fmpz_mat(matrix.tolist()) if matrix.shape[1] < 400 else None
    if small is not None:
        rank = small.rank()
        for at in range(matrix.shape[1]):
            unit = np.zeros((1, matrix.shape[1]), int)
            unit[0, at] = 1
            more = flint.fmpz_mat(np.vstack([matrix, unit]).tolist())
            assert (more.rank() == rank) == bool(found.linear[at])


def test_no_cell_differs_from_programs_at_a_thousand_cells() -> None:
    drawn = business_patterns(industries=24, states=3, counties=16, seed=1)
    release = Release.from_frame(drawn.columns, ["naics", "area"], "emp", **READ)
    found = checked(release.table(drawn.employment), release)
    exact = disclosed(release)
    assert found.settled
    assert (found.linear == exact.linear).all()
    assert (found.exact == exact.exact).all()


def test_figures_that_cannot_be_true_are_refused() -> None:
    table = Table.from_array([[5, 6], [7, 8]])
    release = Release.of(table, np.array([1, 1, 0, 1, 1, 0, 0, 0, 0], bool))
    published = release.published.copy()
    published[2] += 40
    with pytest.raises(InputError, match="contradict each other by 40"):
        determined_cells(replace(release, published=published))
    with pytest.raises(InputError, match="no table is consistent"):
        determined_cells(replace(release, upper=np.where(release.pattern, 3, 2**62)))


def test_the_time_is_kept_and_what_is_missing_is_said() -> None:
    drawn = business_patterns(industries=60, states=3, counties=40)
    release = Release.from_frame(drawn.columns, ["naics", "area"], "emp", **READ)
    found = determined_cells(release, time_limit=1e-6)
    assert found.unfinished
    assert not found.settled
    assert not found.exact.all()


def test_cells_without_room_are_fixed_by_two_relations_and_a_bound() -> None:
    """x + y + z = 5 and x + y + w = 3 with z at most 2: z is 2 and w is 0, by no single one."""
    relations = csr_array(np.array([[1, 1, 1, 0, -1, 0], [1, 1, 0, 1, 0, -1]]))
    release = Release(
        np.array([0, 0, 0, 0, 5, 3]), np.array([1, 1, 1, 1, 0, 0], bool), relations,
        np.zeros(6, np.int64), np.array([5, 5, 2, 5, 9, 9]), [(c,) for c in "xyzwab"], 0,
        ("cell",), ("",),
    )  # fmt: skip
    found = determined_cells(release)
    exact = disclosed(release)
    assert found.settled
    assert found.exact.tolist() == exact.exact.tolist() == [False, False, True, True]
    assert not found.linear.any()
    assert (found.lower[2:] == [2, 0]).all()
    assert found.chain(2) == ()
