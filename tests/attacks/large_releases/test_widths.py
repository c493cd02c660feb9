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
@given(releases(), st.sampled_from([0, 5, 20, 60, 150]), st.booleans())
def test_narrow_cells_are_narrow_and_wide_ones_wide(drawn, percent, integer) -> None:
    """A release as small as these is one window, so that every cell is decided by fractions."""
    table, release = drawn
    found = determined_cells(release, integer=integer)
    widths = judged_widths(found, percent, integer=integer)
    exact = disclosed(release, integer=integer)
    true = table.values[found.cells]
    assert ((widths.lower <= true) & (true <= widths.upper)).all()
    fractions = 100 * (exact.upper - exact.lower) <= percent * exact.lower
    low, high = (exact.whole_lower, exact.whole_upper) if integer else (exact.lower, exact.upper)
    assert (widths.narrow <= (100 * (high - low) <= percent * low)).all()
    assert not (fractions & (widths.wide | widths.between)).any()
    parts = widths.narrow.astype(int) + widths.wide + widths.between + found.whole
    assert (parts == 1).all()
