"""Published tables on screens of every width: all cells, once, and no line that is too long."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from cellveil.render.tables import PARTS, published_grid
from csp import Table, protect
from csp.mechanism import Protected


@pytest.fixture(scope="module")
def wide() -> Protected:
    """Seven rows, 20 columns, and their totals: every number once."""
    inner = np.arange(140).reshape(7, 20) ** 2 + 1000
    codes = ([f"row {i}" for i in range(7)], [f"column {i}" for i in range(20)])
    table = Table.from_array(inner, codes=codes, names=("down", "across"))
    return protect(table, "FREQ(1050,10)")


def lines(protected: Protected, width: int, *, long: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(published_grid(protected, console, long=long))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
def test_every_cell_is_shown_once_and_fits(wide: Protected, width: int) -> None:
    shown = lines(wide, width)
    assert all(len(line) <= width for line in shown)
    words = [word for line in shown for word in line.split()]
    for value, hidden in zip(wide.table.values, wide.pattern, strict=True):
        times = int(((wide.table.values == value) & ~wide.pattern).sum())
        assert words.count(f"{value:,}") == (0 if hidden else times)
    assert words.count("×") + words.count("x") == wide.pattern.sum()


def test_a_screen_too_narrow_for_a_few_parts_has_a_list(wide: Protected) -> None:
    assert len(lines(wide, 16)) > 8 * 21 > (PARTS + 1) * 8
    assert len(lines(wide, 80)) < 4 * 14
    assert len(lines(wide, 200, long=True)) > 8 * 21
