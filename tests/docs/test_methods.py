"""Every figure of docs/methods.md is computed again."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from csp import Table, round_table
from tests.docs.methods import PAGE, ROOT, TITLES, compared, part_of


@pytest.mark.parametrize("name", TITLES)
def test_the_comparison_of_a_table_is_as_printed(name: str) -> None:
    found = compared(name)
    assert part_of(name, found) in PAGE.read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "figures" / f"methods-{name}.svg").read_text(encoding="utf-8")
    for method in found.summary():
        assert method in picture


def summed(inner: np.ndarray) -> np.ndarray:
    """Cells of tables of 2 x 2 with their margins, one row a table."""
    cells = inner.reshape(-1, 2, 2)
    cells = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    cells = np.concatenate([cells, cells.sum(axis=2, keepdims=True)], axis=2)
    return cells.reshape(len(cells), 9)


def left_by_a_key(inner: list[list[int]], base: int) -> tuple[int, float]:
    """Consistent tables, and how many equally probable ones are as uncertain, over 2,000 keys.

    Each table is rounded by the definition, over all its roundings, with coins from -base to base.
    """
    rounded = round_table(Table.from_array(inner), base).values
    ends = [range(max(0, v - base + 1), v + base) for v in rounded.reshape(3, 3)[:2, :2].ravel()]
    tables = summed(np.array(list(product(*ends))))
    tables = tables[(np.abs(tables - rounded) < base).all(axis=1)]
    coins = np.random.default_rng(0).integers(-base, base + 1, (2000, 9))
    likely = []
    for table in tables:
        near = [{v // base, -(-v // base)} for v in table.reshape(3, 3)[:2, :2].ravel().tolist()]
        found = summed(np.array(list(product(*near)))) * base
        found = found[(np.abs(found - table) < base).all(axis=1)]
        up, rest = found > table, table % base
        cost = up @ (base - 2 * rest) + coins @ up.T
        first = cost == cost.min(axis=1, keepdims=True)
        mine = (found == rounded).all(axis=1)
        likely.append((first[:, mine][:, 0] / first.sum(axis=1)).mean())
    weights = np.array(likely) / np.sum(likely)
    assert (weights > 0).all()  # no table is excluded
    return len(tables), float(np.exp(-(weights * np.log(weights)).sum()))


@pytest.mark.parametrize(
    ("inner", "base", "tables", "spread", "left"),
    [([[1, 4], [5, 2]], 3, "217", "some 180", "leaves 81"),
     ([[647, 2], [622, 27]], 5, "2,191", "some 1,600", "leaves\n625")],
)  # fmt: skip
def test_what_a_key_leaves_is_as_printed(inner, base, tables, spread, left) -> None:
    count, uncertain = left_by_a_key(inner, base)
    page = PAGE.read_text(encoding="utf-8")
    assert f"{count:,}" == tables
    assert uncertain == pytest.approx(int(spread[5:].replace(",", "")), rel=0.05)
    words = page[page.index("**A key.**") : page.index("## Noise of others")]
    for part in (tables, spread, left):
        assert part in words
