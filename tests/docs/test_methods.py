"""Every figure of docs/methods.md is computed again."""

from __future__ import annotations

import pytest

from tests.docs.methods import PAGE, ROOT, TITLES, compared, part_of


@pytest.mark.parametrize("name", TITLES)
def test_the_comparison_of_a_table_is_as_printed(name: str) -> None:
    found = compared(name)
    assert part_of(name, found) in PAGE.read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "figures" / f"methods-{name}.svg").read_text(encoding="utf-8")
    for method in found.summary():
        assert method in picture
