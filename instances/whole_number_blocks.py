"""Blocks of withheld cells that only whole numbers disclose, in two nested dimensions.

The cells of a block can move in one way alone, by a whole or by half a step: sixteen cells of four
industries and four counties move by `_MOVES`, and the codes above them by their sums. The two upper
industries and the two lower ones have a code of their own each, so have the counties on the left
and on the right a state; all of these moves are 0 in what lies above both. Of the cell that moves
by 2 steps 1 unit is left, so that fractions allow half a step and whole numbers none.

A table of two dimensions of which one has a single level is a network, whose moves are sums of such
by -1, 0 and 1, so that fractions disclose all that whole numbers do: both must be nested. A search
by integer programs for a block with a 2, in trees of two groups of two codes each, stopped without
proof at 25 cells. That no smaller one exists is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csp.exact import Ints

_MOVES = np.array([[1, 0, -1, 0], [0, -1, 0, 1], [-1, 2, 0, -1], [0, -1, 1, 0]])
"""By industry and county; sums of pairs of either are at most 1 in size."""

_EMPLOYED = np.array([[7, 0, 12, 0], [0, 0, 0, 9], [5, 1, 0, 14], [0, 6, 3, 0]])
"""Employment where a cell moves. The 1 ends a step down at a half, and the 0 that moves by -1 ends
one up at once."""

STEP = -0.5
"""The furthest step in fractions."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeBlock:
    """Where a block lies.

    Attributes
    ----------
    industries, counties : (4,) int64
        Codes of its leaves: two of one code, then two of another.
    """

    industries: Ints
    counties: Ints

    def leaves(self) -> tuple[Ints, Ints, Ints]:
        """Industries, counties and employment of the leaves that move."""
        i, j = np.nonzero(_MOVES)
        return self.industries[i], self.counties[j], _EMPLOYED[i, j]

    def moves(self, above: Ints, over: Ints) -> tuple[Ints, Ints]:
        """Return all cells that move, as pairs of industry and area (c, 2), and by how much."""
        found: dict[tuple[int, int], int] = {}
        for i, industry in enumerate(self.industries.tolist()):
            for j, county in enumerate(self.counties.tolist()):
                for up in _chain(industry, above):
                    for out in _chain(county, over):
                        found[up, out] = found.get((up, out), 0) + int(_MOVES[i, j])
        moved = [cell for cell, by in found.items() if by]
        return np.array(moved, np.int64), np.array([found[cell] for cell in moved], np.int64)


def block_places(
    industry: Ints, county: Ints, above: Ints, over: Ints, most: int,
) -> list[WholeBlock]:  # fmt: skip
    """Find places for blocks where cells are, those of close industries first.

    Parameters
    ----------
    industry, county : (m,) int64
        Leaves that have an establishment.
    above, over : (n,) int64
        What each industry and area lies in; -1 for nothing.
    most : int

    Returns
    -------
    list of WholeBlock
        Each of two codes that no other one has; fewer than `most` where there are no more.
    """
    groups = _groups(np.unique(industry), above)
    states = _groups(np.setdiff1d(np.arange(len(over)), over), over)
    pairs = [*zip(groups[::2], groups[1::2], strict=False)]
    # The more codes both have above them in common, the fewer cells are withheld between.
    pairs.sort(key=lambda two: -_shared(int(two[0][0]), int(two[1][0]), above))
    found = []
    for k, two in enumerate(pairs[:most] if len(states) > 1 else []):
        industries = np.concatenate([codes[:2] for codes in two])
        held = np.bincount(county[np.isin(industry, industries)], minlength=len(over))
        where = [states[(2 * k + side) % len(states)] for side in (0, 1)]
        counties = [codes[np.argsort(-held[codes], kind="stable")[:2]] for codes in where]
        found.append(WholeBlock(industries, np.concatenate(counties)))
    return found


def _groups(codes: Ints, over: Ints) -> list[Ints]:
    """Codes by what they lie in, where these are two or more."""
    _, first = np.unique(over[codes], return_index=True)
    return [part for part in np.split(codes, first[1:]) if len(part) > 1]


def _chain(code: int, over: Ints) -> list[int]:
    found = []
    while code >= 0:
        found.append(code)
        code = int(over[code])
    return found


def _shared(one: int, other: int, over: Ints) -> int:
    return len({*_chain(one, over)} & {*_chain(other, over)})
