"""Cells that two tables disclose together and neither alone, at ten thousand cells."""

from __future__ import annotations

import numpy as np
import pytest

from attacks.large_releases.engine import determined_cells
from attacks.release_alone.several_releases import union_of
from csp import InputError, Release
from instances.business_patterns import business_patterns
from instances.overlapping_patterns import overlapping_patterns
from tests.instances.test_business_patterns import READ


@pytest.fixture(scope="module", params=[0, 1])
def tables(request):
    drawn = business_patterns(industries=100, states=6, counties=130, seed=request.param)
    made = overlapping_patterns(drawn)
    first = Release.from_frame(made.first.columns, ["naics", "area"], "emp", **READ)
    second = Release.from_frame(
        made.second, ["naics", "area"], "emp",
        **READ | {"hierarchies": None, "marks": "census"},
    )  # fmt: skip
    return made, first, second


def known(release: Release) -> set[tuple[str, ...]]:
    found = determined_cells(release)
    assert found.settled
    return {release.labels[cell] for cell in found.cells[found.exact].tolist()}


def test_what_both_withhold_is_found_together_and_nothing_is_invented(tables) -> None:
    made, first, second = tables
    assert len(first.pattern) > 10_000
    true = dict(zip(first.labels, made.first.employment.tolist(), strict=True))
    assert not (second.relations @ [true[label] for label in second.labels]).any()
    planted = {first.labels[row] for row in made.together.tolist()}
    assert len(planted) == 2
    alone = known(first)
    assert known(second) == set()
    assert not planted & alone
    _, union, (place, _) = union_of([first, second])
    found = determined_cells(union)
    assert found.settled
    together = {*found.cells[found.exact].tolist()}
    assert {*place[made.together].tolist()} <= together
    assert not union.pattern[place[made.open_there]].any()
    of_union = np.empty(len(place), np.int64)
    of_union[place] = made.first.employment
    for at in np.flatnonzero(found.exact).tolist():
        assert found.lower[at] == found.upper[at] == of_union[found.cells[at]]
    # What was planted before in the first table is found as it was.
    kinds = made.first.planted
    for kind in ("exact", "several"):
        assert {first.labels[row] for row in kinds[kind].tolist()} <= alone, kind
    # The true table lies within all that is said, and beside it there is room.
    others, exact = ~found.whole, of_union[found.cells]
    assert (found.lower[others] < found.upper[others]).all()
    assert (found.lower <= exact).all()
    assert (exact <= found.upper).all()


def test_a_draw_without_such_squares_is_refused() -> None:
    drawn = business_patterns(industries=8, states=2, counties=8)
    with pytest.raises(InputError, match="draw more industries, states or counties"):
        overlapping_patterns(drawn)
