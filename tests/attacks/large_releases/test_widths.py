"""Widths of cells that are not determined, against linear programs for each cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attacks.large_releases.engine import determined_cells
from attacks.large_releases.widths import judged_widths
from attacks.release_alone.disclosed_cells import disclosed
from tests.attacks.large_releases.test_engine import releases
from tests.support.shared import examples


@examples(80)
@given(releases(), st.sampled_from([0, 5, 20, 60, 150]))
def test_narrow_cells_are_narrow_and_wide_ones_wide(drawn, percent) -> None:
    _, release = drawn
    found = determined_cells(release)
    widths = judged_widths(found, percent)
    exact = disclosed(release, integer=False)
    close = 100 * (exact.upper - exact.lower) <= percent * exact.lower
    assert (widths.narrow <= close).all()
    assert not (widths.wide & close).any()
    parts = widths.narrow.astype(int) + widths.wide + widths.between + found.exact
    assert (parts == 1).all()
