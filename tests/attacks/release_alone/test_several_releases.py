"""Several releases together: brute force over the joint system, and contradictions by name."""

from __future__ import annotations

import traceback
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.explanations import explain
from attacks.release_alone import several_releases
from attacks.release_alone.several_releases import differencing, union_of
from csp import InputError, Mechanism, MinFrequency, Table, link
from csp.errors import OutOfTime
from csp.release.release import Release
from tests.csp.test_leaks import assert_clean
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import frequency_2d, hierarchical_tables, small_releases


def masks(draw: st.DrawFn, n: int) -> np.ndarray:
    flags = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    return np.asarray(flags <= draw(st.sampled_from([1, 2, 3])))


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[Table, list[Release], list[np.ndarray]]:
    """Joint table, releases, and the positions of their cells in it."""
    if draw(st.booleans()):
        table, old = draw(small_releases(st.one_of(frequency_2d(), hierarchical_tables())))
        joint = link(table)
        parts = [table, table]
        releases = [old, Release.of(table, masks(draw, table.n_cells))]
    else:
        rows = draw(st.integers(2, 3))
        units = np.array(draw(st.lists(st.integers(0, 9), min_size=rows * 4, max_size=rows * 4)))
        units = units.reshape(rows, 2, 2)
        parts = [
            Table.from_array(units.sum(axis=2), names=["region", "sex"]),
            Table.from_array(units.sum(axis=1), names=["region", "age"]),
        ]
        joint = link(*parts)
        releases = [Release.of(part, masks(draw, part.n_cells)) for part in parts]
    places = []
    for part in parts:
        labels = [dict(zip(part.names, label, strict=True)) for label in part.labels]
        full = [tuple(label.get(name, "Total") for name in joint.names) for label in labels]
        places.append(np.array([joint.labels.index(label) for label in full]))
    return joint, releases, places


@examples(25)
@given(overlapping())
def test_releases_together_say_what_brute_force_says(
    case: tuple[Table, list[Release], list[np.ndarray]],
) -> None:
    joint, releases, places = case
    pattern = np.ones(joint.n_cells, bool)
    hidden = ~pattern
    for release, place in zip(releases, places, strict=True):
        pattern[place[~release.pattern]] = False
        hidden[place[release.pattern]] = True
    if not hidden.any():
        with pytest.raises(InputError, match="no release has a suppressed cell"):
            differencing(releases)
        return
    found = differencing(releases, integer=False)
    assert found.release.labels == joint.labels
    assert (found.release.pattern == pattern).all()
    assert found.cells.tolist() == np.flatnonzero(hidden).tolist()
    for mine, place in zip(found.places, places, strict=True):
        assert (mine == place).all()
    worse: dict[int, list[bool]] = defaultdict(list)
    unknown = oracles.hidden_cells(pattern)
    basis = oracles.null_space(oracles.equations(joint, unknown), unknown)
    for k, cell in enumerate(found.cells.tolist()):
        low, high = oracles.rational_interval(joint, pattern, cell)
        assert found.lower[k] == (-np.inf if low is None else low)
        assert found.upper[k] == (np.inf if high is None else high)
        assert found.linear[k] == (cell not in unknown or not any(basis[unknown.index(cell)]))
        shown = []
        for r, (release, place) in enumerate(zip(releases, places, strict=True)):
            shown += [r] if cell in place[~release.pattern] else []
        assert found.publishers[k] == tuple(shown)
        for r, release in enumerate(releases):
            if cell not in places[r]:
                assert np.isnan(found.alone_lower[r, k])
                continue
            j = places[r].tolist().index(cell)
            table = release.table(joint.values[places[r]])
            least, most = oracles.rational_interval(table, release.pattern, j)
            assert found.alone_lower[r, k] == (-np.inf if least is None else least)
            assert found.alone_upper[r, k] == (np.inf if most is None else most)
            if r not in shown:
                worse[cell].append((least, most) != (low, high))
        assert found.narrowed[k] == all(worse[cell])
    if pattern.any():
        explain(found.release, int(np.flatnonzero(pattern)[0]), integer=False).check()


def test_an_old_threshold_undoes_a_new_one() -> None:
    inner = np.array([[4, 21, 30, 17], [25, 9, 41, 22], [33, 18, 6, 12], [14, 27, 19, 28]])
    table = Table.from_array(inner)
    old = Mechanism(MinFrequency(5), width=4, margins="publish").protect(table).release
    new = Mechanism(MinFrequency(10), width=8, margins="publish").protect(table).release
    found = differencing([old, new], integer=True)
    assert (found.lower <= table.values[found.cells]).all()
    assert (found.upper >= table.values[found.cells]).all()
    once = [len(p) == 1 for p in found.publishers]
    assert any(once)
    assert (found.lower[once] == found.upper[once]).all()


def test_scales_are_brought_together() -> None:
    fine = Table.from_array(np.array([[1.25, 2.5], [3, 4]]), decimals=2)
    coarse = Table.from_array(np.array([[1.2, 2.5], [3, 4]]), decimals=1)
    one = Release.of(fine, np.arange(9) == 0)
    two = Release.of(coarse, np.array([i in (0, 2, 6, 8) for i in range(9)]))
    scaled, union, _ = union_of([one, two])
    assert union.scale == 2
    assert scaled[1].published.max() == 700
    assert differencing([one, two]).lower[0] == 125
    huge = Table.from_array(np.array([2**51, 1]))
    with pytest.raises(InputError, match="release 1 has 0 decimal places"):
        union_of([Release.of(huge, np.arange(3) == 1), Release.of(
            Table.from_array(np.array([1.25, 2.5]), decimals=2), np.arange(3) == 0)])  # fmt: skip


def contradiction(match: str, releases: list[Release], secret: set[str], **options: Any) -> None:
    with pytest.raises(InputError, match=match) as caught:
        differencing(releases, **options)
    assert_clean("".join(traceback.format_exception_only(caught.value)), secret)
    assert_clean(repr(caught.value.__cause__), secret)


def test_contradictions_name_cell_and_releases() -> None:
    rng = np.random.default_rng(5)
    inner = rng.integers(10**6, 2 * 10**6, (3, 3))
    table = Table.from_array(inner)
    secret = {str(v) for v in table.values.tolist()}
    hide = np.zeros((4, 4), bool)
    hide[:2, :2] = True
    one = Release.of(table, hide.ravel())
    moved = inner.copy()
    moved[2, 2] += 1
    other = Table.from_array(moved)
    secret |= {str(v) for v in other.values.tolist()}
    contradiction(r"releases 1 and 2 publish different values of cell \(d1=3, d2=3\)",
                  [one, Release.of(other, hide.ravel())], secret)  # fmt: skip
    # Each is consistent and hides what the other shows; only sums of hidden cells disagree.
    swapped = inner.copy()
    swapped[0, 0] += 500_000
    third = Table.from_array(swapped)
    secret |= {str(v) for v in third.values.tolist()}
    corners = np.zeros((4, 4), bool)
    corners[np.ix_([0, 3], [0, 3])] = True
    ok = Release.of(table, corners.ravel())  # agrees with either
    shows_total, shows_cell = corners.copy(), corners.copy()
    shows_total[0, 3] = shows_cell[0, 0] = False
    torn = [Release.of(third, shows_total.ravel()), Release.of(table, shows_cell.ravel())]
    differencing([ok, torn[0]])
    differencing([ok, torn[1]])
    contradiction(r"releases 2 and 3 contradict each other.*\(d1=", [ok, *torn], secret)
    contradiction(r"releases 1 and 2 contradict each other.*\(d1=", [*torn, ok], secret)
    bad = replace(one, published=np.where(one.pattern, 0, one.published + 1))
    contradiction("release 1 contradicts itself", [bad], secret)
    low = replace(one, lower=np.where(np.arange(16) == 15, one.published + 5, one.lower))
    high = replace(one, upper=np.where(np.arange(16) == 0, 5, one.upper),
                   pattern=one.pattern | True, published=one.published * 0)  # fmt: skip
    tall = replace(high, upper=one.upper, lower=np.where(np.arange(16) == 0, 9, 0))
    contradiction("release 1 publishes a value of cell .* outside the bounds that release 1",
                  [low], secret)  # fmt: skip
    contradiction("releases 1 and 2 state bounds of cell .* that exclude", [high, tall], secret)
    for text in (repr(differencing([one])), repr(differencing([one, ok]))):
        assert_clean(text, secret)


def test_bad_input_is_refused() -> None:
    table = Table.from_array([[1, 2], [3, 4]])
    release = Release.of(table, ~table.margins)
    with pytest.raises(InputError, match="at least one release"):
        differencing([])
    with pytest.raises(InputError, match="positive number of seconds"):
        differencing([release], time_limit=0)
    with pytest.raises(OutOfTime):
        differencing([release], time_limit=1e-9)
    renamed = replace(release, roots=("all", "Total"))
    with pytest.raises(InputError, match="give both the same code"):
        differencing([release, renamed])


def test_what_an_attacker_cannot_compute_is_not_a_contradiction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        msg = "a suppressed cell can move too far"
        raise InputError(msg)

    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    release = Mechanism(MinFrequency(10), width=10, margins="publish").protect(table).release
    monkeypatch.setattr(several_releases, "disclosed_of", refuse)
    with pytest.raises(InputError, match=r"^a suppressed cell can move too far$"):
        differencing([release, release])
