"""Withheld cells that a drawn publication discloses by mistake, and which its maker knows of."""

from __future__ import annotations

import numpy as np

from csp.exact import Bools, Ints
from instances.publication_cells import STARTS, Cells
from instances.whole_number_blocks import STEP

BLOCKS = 4
"""Least blocks of cells that only whole numbers disclose, where there is a place."""


def plant(
    cells: Cells, hidden: Bools, pairs: Ints,
    blocks: list[tuple[Ints, Ints]], rng: np.random.Generator,
) -> dict[str, Ints]:  # fmt: skip
    """Change what is withheld so that some cells are known; returns them by how they are."""
    empty = cells.of_leaf[pairs]
    busy = np.zeros(len(hidden), bool)
    busy[empty.ravel()] = True
    whole = _in_blocks(cells, hidden, blocks, busy, max(BLOCKS, len(hidden) // 50_000))
    several, kept = _bridges(cells, hidden, busy, max(1, len(hidden) // 100_000))
    kept = np.concatenate([kept, whole])
    hidden[empty] = True
    alone = np.zeros(len(hidden), bool)
    alone[cells.parents[0][empty[:, 0]]] = True
    _, others = cells.members(0, alone)
    hidden[np.setdiff1d(others, np.concatenate([empty.ravel(), kept]))] = False
    hidden[kept] = True
    # From here on cells are only published: what is known stays so.
    fixed = np.zeros(len(hidden), bool)
    fixed[np.concatenate([empty.ravel(), kept])] = True
    exact = _left_alone(cells, hidden, np.zeros(len(hidden), bool), fixed, rng)
    known = np.zeros(len(hidden), bool)
    known[exact] = True
    levels = _left_alone(cells, hidden, known, fixed | known, rng)
    found = {"exact": exact, "levels": levels, "several": several, "bounds": np.unique(empty),
             "whole": np.unique(whole)}  # fmt: skip
    return {kind: rows[hidden[rows]] for kind, rows in found.items()}


def _left_alone(
    cells: Cells, hidden: Bools, known: Bools, fixed: Bools, rng: np.random.Generator,
) -> Ints:  # fmt: skip
    """Publish one of two unknown cells of some relations; returns the other ones.

    With `known` cells, only of relations that hold one of these.
    """
    open_to = hidden & ~known
    found = []
    for d in range(2):
        totals = cells.counts(open_to)[d] == 2
        if known.any():
            totals &= cells.counts(hidden & known)[d] > 0
        rows, shown = cells.picked(d, totals, open_to & ~fixed)
        some = rng.choice(len(rows), min(len(rows), max(2, len(hidden) // 5000)), replace=False)
        chosen = np.zeros(len(hidden), bool)
        chosen[rows[some]] = True
        hidden[shown[some]] = False
        cell = cells.members(d, chosen)[1]
        left = cell[hidden[cell] & ~known[cell]]
        found.append(left)
        open_to &= hidden
        fixed[left] = True
    return np.unique(np.concatenate(found))


def _bridges(cells: Cells, hidden: Bools, busy: Bools, count: int) -> tuple[Ints, Ints]:
    """Withhold two squares of cells and one cell that joins them, which their sums disclose.

    None where cells are `busy` with other things.

    Returns the joining cells, and all cells that must stay withheld.
    """
    place = {
        key: i
        for i, key in enumerate(zip(cells.industry.tolist(), cells.area.tolist(), strict=True))
    }
    leaf = np.zeros(len(hidden), bool)
    leaf[cells.of_leaf] = True
    sibling, state = cells.parents
    joined: list[int] = []
    kept: list[int] = []
    lines: dict[tuple[int, int], list[int]] = {}
    for cell in cells.of_leaf.tolist():
        # Industries below one code, in one state.
        key = int(cells.industry[sibling[cell]]), int(cells.area[state[cell]])
        lines.setdefault(key, []).append(cell)
    for members in lines.values():
        if len(joined) == count:
            break
        rows = sorted({int(cells.industry[c]) for c in members})
        if len(rows) < 4:
            continue
        held = [{int(cells.area[c]) for c in members if cells.industry[c] == r} for r in rows[:4]]
        shared = sorted(set.intersection(*held))
        if len(shared) < 4:
            continue
        a, b, c, d = rows[:4]
        p, q, r, s = shared[:4]
        wanted = [(a, p), (a, q), (b, p), (b, q), (c, r), (c, s), (d, r), (d, s), (a, r)]
        block = [place[pair] for pair in wanted]
        # Every other cell of these eight sums is published.
        beside = np.zeros(len(hidden), bool)
        for way, at in ((1, [place[i, p] for i in (a, b, c, d)]),
                        (0, [place[a, j] for j in (p, q, r, s)])):  # fmt: skip
            totals = np.zeros(len(hidden), bool)
            totals[cells.parents[way][at]] = True
            beside[cells.members(way, totals)[1]] = True
        if (busy & beside).any():
            continue
        hidden[beside] = False
        hidden[block] = True
        joined.append(block[-1])
        kept += block
    return np.array(joined, np.int64), np.array(kept, np.int64)


def _in_blocks(
    cells: Cells, hidden: Bools, blocks: list[tuple[Ints, Ints]], busy: Bools, count: int,
) -> Ints:  # fmt: skip
    """Withhold blocks of cells that only whole numbers disclose; returns these cells.

    All else in their relations is published, so that none may hold a cell that is `busy`.
    """
    width = int(cells.area.max()) + 1
    keys = cells.industry * width + cells.area
    ends = np.append(STARTS, np.iinfo(np.int64).max // 4)
    found: list[Ints] = []
    published = np.zeros(len(hidden), bool)
    for pairs, by in blocks:
        if len(found) == count:
            break
        block = np.searchsorted(keys, pairs @ np.array([width, 1]))
        beside = np.zeros(len(hidden), bool)
        for d in range(2):
            totals = np.zeros(len(hidden), bool)
            up = cells.parents[d][block]
            totals[np.concatenate([block, up[up >= 0]])] = True
            beside[cells.members(d, totals)[1]] = True
        value = cells.sums[block, 1]
        size = np.searchsorted(STARTS, value, side="right")
        moved = value + STEP * by
        # A class of size that ends nearer leaves nothing to fractions.
        free = (ends[size - 1] <= moved) & (moved <= ends[size] - 1)
        if (busy & beside).any() or not free.all():
            continue
        hidden[beside] = False
        hidden[block] = True
        busy[block] = True
        published |= beside
        found.append(block)
    cells.complement(hidden, published)
    return np.concatenate([np.zeros(0, np.int64), *found])
