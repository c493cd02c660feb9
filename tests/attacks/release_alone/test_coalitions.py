"""Contributors alone and in coalitions, against brute force over tables and coalitions."""

from __future__ import annotations

import traceback
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attacks.explanations import explain
from attacks.release_alone.coalitions import Coalition, smallest_coalition
from attacks.release_alone.insider_knowledge import (
    Knowledge,
    fitting,
    insiders,
    interval,
    knowledge_of,
    view_of,
)
from csp import InputError, Table
from csp.errors import OutOfTime
from csp.release.release import Release
from tests.csp.test_leaks import PRIMES, assert_clean
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import cube, frequency_2d, magnitude_tables, small_releases


def seen_by(
    table: Table, release: Release, members: tuple[Knowledge, ...], cell: int, counts: Any = None
) -> tuple[Fraction | None, Fraction | None]:
    """Ends of a cell for those who pool what they know: a definition of its own."""
    known = {c for m in members for c in m.cells}
    lower = table.lower.copy()
    for c in range(table.n_cells):
        inside = [m for m in members if c in m.own]
        if counts is not None and len(inside) == counts[c]:
            known.add(c)  # the only contributor
        if table.lower[c] >= 0:
            lower[c] = max(int(lower[c]), sum(m.own[c] for m in inside))
    if cell in known or not release.pattern[cell]:
        return Fraction(int(table.values[cell])), Fraction(int(table.values[cell]))
    return oracles.rational_interval(
        table.replace(lower=lower), release.pattern, cell, sorted(known & set(
            np.flatnonzero(release.pattern).tolist()
        ))
    )  # fmt: skip


@examples(8)
@given(small_releases(magnitude_tables()))
def test_contributors_see_what_brute_force_says(case: tuple[Table, Release]) -> None:
    table, release = case
    people = knowledge_of(table, release)
    assert table.contributors is not None
    counts = table.contributors.count
    for member, seen in zip(
        people, insiders(release, people, counts=counts, integer=False), strict=True
    ):
        assert member.name == seen.name
        for k, cell in enumerate(seen.cells.tolist()):
            low, high = seen_by(table, release, (member,), cell, counts)
            own = member.own.get(cell, 0)
            assert seen.lower[k] == (-np.inf if low is None else low)
            assert seen.upper[k] == (np.inf if high is None else high)
            assert seen.rest_lower[k] == seen.lower[k] - own
            assert seen.rest_upper[k] == seen.upper[k] - own
            outside = seen_by(table, release, (), cell, counts)
            assert seen.narrowed[k] == ((low, high) != outside)
        if len(seen.cells):
            explain(seen.release, int(seen.cells[0]), integer=False).check()


@st.composite
def circles(draw: st.DrawFn) -> tuple[Table, Release, tuple[Knowledge, ...]]:
    """Members who know random cells of a random release."""
    table, release = draw(small_releases(frequency_2d(high=9)))
    hidden = np.flatnonzero(release.pattern).tolist()
    assume(len(hidden) > 2)
    members = []
    for k in range(draw(st.integers(1, 6))):
        cells = draw(st.lists(st.sampled_from(hidden), max_size=2, unique=True))
        own = draw(st.lists(st.sampled_from(range(table.n_cells)), max_size=2, unique=True))
        members.append(
            Knowledge(
                f"m{k}", {c: int(table.values[c]) for c in cells},
                {c: int(table.values[c]) // 6 for c in own if table.values[c] >= 6},
            )
        )  # fmt: skip
    return table, release, tuple(members)


@examples(30)
@given(circles(), st.integers(1, 12))
def test_the_smallest_coalition_is_the_smallest(
    case: tuple[Table, Release, tuple[Knowledge, ...]], width: int
) -> None:
    table, release, members = case
    cell = int(np.flatnonzero(release.pattern)[0])
    found = smallest_coalition(release, members, cell, width=width, integer=False)
    others = [m for m in members if cell not in m.cells and cell not in m.own]

    def breaks(team: tuple[Knowledge, ...]) -> bool:
        low, high = seen_by(table, release, team, cell)
        return low is not None and high is not None and high - low < width

    sizes = [k for k in range(len(others) + 1) if any(map(breaks, combinations(others, k)))]
    assert found.proven
    if sizes:
        assert found.members is not None
        assert len(found.members) == found.bound == sizes[0]
        assert breaks(tuple(m for m in members if m.name in found.members))
    else:
        assert found.members is None
        assert found.bound == len(members) + 1
    for limit in {1, 2, found.tests - 1} - {0, found.tests}:
        cut = smallest_coalition(
            release, members, cell, width=width, max_tests=limit, integer=False
        )
        assert cut.tests <= limit
        assert cut.bound <= found.bound
        assert not cut.proven or (cut.members is None) == (found.members is None)
        if cut.members is not None:
            assert breaks(tuple(m for m in members if m.name in cut.members))
            assert len(cut.members) >= found.bound
        if not cut.proven:
            assert cut.members is None or cut.bound < len(cut.members)


@examples(20)
@given(small_releases(magnitude_tables()), st.sampled_from([5, 20, "12.5", 80]))
def test_percent_is_the_p_percent_rule_for_coalitions(
    case: tuple[Table, Release], percent: Any
) -> None:
    table, release = case
    people = knowledge_of(table, release)
    assert table.contributors is not None
    counts = table.contributors.count
    cell = 0
    inside = [m for m in people if m.own.get(cell)]
    if not inside:
        with pytest.raises(InputError, match="no contributor to cell"):
            smallest_coalition(release, people, cell, percent=percent, integer=False)
        return
    found = smallest_coalition(release, people, cell, percent=percent, counts=counts, integer=False)

    def breaks(team: tuple[Knowledge, ...]) -> bool:
        _, high = seen_by(table, release, team, cell, counts)
        own = sum(m.own.get(cell, 0) for m in team)
        return high is not None and any(
            high - own - t.own[cell] < Fraction(percent) / 100 * t.own[cell]
            for t in inside
            if t not in team
        )

    assert found.proven
    near = found.bound if found.members is not None else min(len(people), 3)
    smaller = (team for k in range(min(near, 4)) for team in combinations(people, k))
    assert not any(map(breaks, smaller))
    if found.members is not None:
        team = tuple(m for m in people if m.name in found.members)
        assert breaks(team)
        assert found.target not in found.members


def test_a_published_cell_is_judged_as_the_p_percent_rule_does() -> None:
    from csp import PPercent

    firms = {"a": ["x"] * 3 + ["y"] * 3, "firm": list("fghfgh"), "v": [100, 50, 9, 60, 50, 40]}
    table = Table.from_microdata(firms, ["a"], "v", contributor="firm", top=3)
    for name in "xy":
        cell = table.position((name,))
        sensitive = bool(PPercent(10)(table).primary[cell])
        hidden = Release.of(table, np.arange(3) != cell)
        found = smallest_coalition(hidden, knowledge_of(table, hidden), cell, percent=10)
        assert sensitive == (found.members is not None and len(found.members) <= 1)


@examples(20)
@given(frequency_2d(high=9), st.data())
def test_members_pool_the_same_in_every_order(table: Table, data: st.DataObject) -> None:
    release = Release.of(table, ~table.margins)
    cell = int(data.draw(st.sampled_from(np.flatnonzero(release.pattern).tolist())))
    value = int(table.values[cell])
    amounts = data.draw(st.lists(st.integers(-5, value), min_size=1, max_size=3))
    assume(sum(a for a in amounts if a > 0) <= value)
    members = [Knowledge(f"m{i}", own={cell: a}) for i, a in enumerate(amounts)]
    for order in permutations(members):
        if min(amounts) < 0:
            with pytest.raises(InputError, match="negative contribution"):
                view_of(release, order)
            continue
        seen = view_of(release, order)
        low, high = interval(fitting(seen), seen, cell, integer=False)
        assert (low, high) == seen_by(table, release, tuple(members), cell)
        assert low is not None
        assert low >= sum(amounts)


def test_a_bound_that_the_solver_did_not_prove_proves_nothing() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    release = Release.of(table, ~table.margins)
    cells = np.flatnonzero(release.pattern)[1:].tolist()
    firms = [Knowledge(f"firm {c}", {c: int(table.values[c])}) for c in cells]
    sure = smallest_coalition(release, firms, 0, width=3)
    assert sure.proven
    assert sure.members is not None
    assert len(sure.members) > 1
    weak = mock.PropertyMock(return_value=0.0)
    with mock.patch("csp.highs.Model.dual_bound", new_callable=lambda: weak):
        found = smallest_coalition(release, firms, 0, width=3)
    assert found.members is not None
    assert len(found.members) == len(sure.members)
    assert (found.proven, found.bound) == (False, 0)


def test_singletons_know_their_cells_and_all_below() -> None:
    counts = Table.from_array([[1, 0, 0], [3, 4, 5], [1, 6, 7]])
    release = Release.of(counts, ~counts.margins)
    people = knowledge_of(counts, release)
    # The margin of row 1 is 1: a contributor alone there knows the whole row.
    assert sorted(sorted(m.cells) for m in people) == [[0, 1, 2], [8]]
    assert all(not m.own for m in people)
    pooled = view_of(release, people)
    assert int(pooled.pattern.sum()) == 5
    assert (fitting(pooled).values[pooled.pattern] >= 0).all()


def test_bad_input_is_refused_without_a_value() -> None:
    table = cube(np.array(PRIMES[:9]).reshape(3, 3))
    release = Release.of(table, ~table.margins)
    secret = {str(v) for v in table.values[release.pattern].tolist()}
    value = int(table.values[0])
    honest = Knowledge("a", {0: value}, {1: 17})
    words = []

    def refused(match: str, *args: Any, **options: Any) -> None:
        with pytest.raises(InputError, match=match) as caught:
            smallest_coalition(release, *args, **options)
        words.append(f"{caught.value!r} {''.join(traceback.format_exception(caught.value))}")

    refused("b contradicts what a knows", [honest, Knowledge("b", {0: value - 1})], 5, width=2)
    refused("contradicts the published", [Knowledge("b", {3: 1})], 5, width=2)
    refused("contradicts its bounds", [Knowledge("b", {0: -1})], 5, width=2)
    refused("no table agrees", [Knowledge("b", {0: 10**9})], 5, width=2)
    refused("negative contribution", [Knowledge("b", own={0: -5})], 5, width=2)
    refused("exceed its value", [Knowledge("b", {0: value}, {0: value + 1})], 5, width=2)
    refused("no table agrees", [Knowledge("b", own={0: 10**10})], 5, width=2)
    refused("positions run", [Knowledge("b", {99: 1})], 5, width=2)
    refused("more than counts", [honest], 5, width=2, counts=np.zeros(16, int))
    refused("whole number for each", [honest], 5, width=2, counts=[1])
    refused("give either", [honest], 5)
    refused("give either", [honest], 5, width=2, percent=3)
    refused("above 0", [honest], 5, width=0)
    refused("above 0", [honest], 5, width=2, max_tests=0)
    refused("positive number", [honest], 5, width=2, time_limit=0)
    refused("names must differ", [honest, honest], 5, width=2)
    refused("is published", [honest], 3, width=2)
    with pytest.raises(OutOfTime):
        insiders(release, [honest], time_limit=1e-9)
    late = smallest_coalition(release, [honest], 5, width=2, time_limit=1e-9)
    assert (late.members, late.proven, late.bound) == (None, False, 0)
    assert "undecided" in repr(late)
    other = Table.from_array(np.arange(9).reshape(3, 3))
    with pytest.raises(InputError):
        knowledge_of(other, release)
    found = smallest_coalition(release, knowledge_of(table, release) or [honest], 5, width=10**8)
    words += [repr(honest), repr(found), str(found), repr(insiders(release, [honest]))]
    assert isinstance(found, Coalition)
    for text in words:
        assert_clean(text.split("Traceback")[0], secret)
    # By how much what a member knows misses the release would tell the rest of it.
    row = {c: int(table.values[c]) + 70_001 for c in (0, 1, 2)}
    with pytest.raises(InputError, match="no table agrees") as caught:
        smallest_coalition(release, [Knowledge("b", row)], 5, width=2)
    chain = "".join(traceback.format_exception_only(caught.value))
    assert "210003" not in chain
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("weights", [(0.6, 1.0), (0.6, 0.6), (2.0, 3.0), (1.0, 1.0)])
def test_what_an_insider_infers_under_weights_holds(weights: tuple[float, float]) -> None:
    records = [
        ("x", "m", "f", 100), ("x", "m", "g", 30), ("x", "n", "h", 40), ("x", "n", "f", 9),
        ("y", "m", "h", 50), ("y", "m", "i", 20), ("y", "n", "g", 60), ("y", "n", "i", 11),
    ]  # fmt: skip
    a, b, firm, value = zip(*records, strict=True)
    weight = [weights[who != "f"] for who in firm]
    data = {"a": a, "b": b, "firm": firm, "v": value, "w": weight}
    table = Table.from_microdata(data, ["a", "b"], "v", contributor="firm", weight="w")
    release = Release.of(table, ~table.margins)
    known = knowledge_of(table, release)
    assert bool(known) == all(w == int(w) for w in weights)
    for one in insiders(release, known):
        truth = table.values[one.cells]
        assert (one.lower <= truth).all()
        assert (truth <= one.upper).all()
