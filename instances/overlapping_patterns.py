"""Two tables of one drawn economy: what each withholds is safe alone and known from both together.

The second table has sectors by state, as summaries of County Business Patterns have. It withholds
other cells than the first one does, as happens where tables are protected apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools, Ints
from instances.business_patterns import BusinessPatterns
from instances.publication_cells import FLAGS, STARTS

_DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OverlappingPatterns:
    """Two publications, and what only their maker knows.

    Attributes
    ----------
    first : BusinessPatterns
        The draw, in which further cells are withheld.
    second : dict of str to (k,) array
        Columns "naics", "area", "emp" and "empflag" of sectors by state, with totals.
    together : (2,) int64
        Rows of the first table whose employment both tables withhold, and which follows from both
        by relations alone, and from neither without the other.
    open_there : (2,) int64
        Rows of the first table that it withholds and the second one publishes.
    """

    first: BusinessPatterns
    second: dict[str, NDArray[Any]]
    together: Ints
    open_there: Ints

    def __repr__(self) -> str:
        return f"OverlappingPatterns({self.first!r}, {len(self.second['naics'])} cells)"


def overlapping_patterns(drawn: BusinessPatterns) -> OverlappingPatterns:
    """Withhold more of a draw, and make a second table that undoes it.

    Two industries in two counties, of different sectors and states, are withheld with every cell
    above them up to the sector and the state: to move one job round this square keeps every total,
    so the first table does not tell these cells. The second table withholds the two sectors in one
    of these states and in a third one, which is a square too. Together only the two cells that
    both withhold are left, each alone in its row.

    Parameters
    ----------
    drawn : BusinessPatterns

    Returns
    -------
    OverlappingPatterns

    Raises
    ------
    InputError
        If the draw has no such squares: draw more industries, states or counties.

    Examples
    --------
    >>> from instances.business_patterns import business_patterns
    >>> drawn = business_patterns(industries=60, states=4, counties=40)
    >>> overlapping_patterns(drawn).together.shape
    (2,)
    """
    columns = drawn.columns
    codes = [code.rstrip("-/") for code in columns["naics"].tolist()]
    areas = columns["area"].tolist()
    place = {key: row for row, key in enumerate(zip(codes, areas, strict=True))}
    shown = columns["empflag"] == ""
    square = _square(drawn, codes, areas, place, shown)
    chains = [[code[:n] for n in range(2, _DIGITS + 1)] for code in square[0]]
    where = [area for county in square[1] for area in (county, county[:2])]
    hidden = ~shown
    hidden[[place[code, area] for chain in chains for code in chain for area in where]] = True
    classes = FLAGS[np.searchsorted(STARTS, drawn.employment, side="right") - 1]
    more = {
        "emp": np.where(hidden, 0, drawn.employment), "empflag": np.where(hidden, classes, ""),
        "ap": np.where(hidden, 0, drawn.payroll), "apflag": np.where(hidden, "D", ""),
    }  # fmt: skip
    first = replace(drawn, columns={**columns, **more})
    sectors, states = [chain[0] for chain in chains], [county[:2] for county in square[1]]
    there, together = ([place[code, state] for code in sectors] for state in states)
    both = [place[code, square[2]] for code in sectors] + together
    rows = np.array([row for (code, area), row in place.items()
                     if len(code) <= 2 and (area == "US" or len(area) == 2)], np.int64)  # fmt: skip
    withheld = np.isin(rows, both)
    second = {
        "naics": columns["naics"][rows], "area": columns["area"][rows],
        "emp": np.where(withheld, 0, drawn.employment[rows]),
        "empflag": np.where(withheld, "D", ""),
    }  # fmt: skip
    return OverlappingPatterns(
        first, second, np.array(together, np.int64), np.array(there, np.int64)
    )  # fmt: skip


def _square(
    drawn: BusinessPatterns, codes: list[str], areas: list[str],
    place: dict[tuple[str, str], int], shown: Bools,
) -> tuple[tuple[str, str], tuple[str, str], str]:  # fmt: skip
    """Two industries, two counties and a third state, in lines of which nothing is withheld."""
    lines: dict[tuple[str, str], bool] = {}
    for code, area, whole in zip(codes, areas, shown.tolist(), strict=True):
        if len(code) <= 2 == len(area):  # totals as well
            lines["sector", code] = lines.get(("sector", code), True) and whole
            lines["state", area] = lines.get(("state", area), True) and whole
    # Everything has room on both sides within its class.
    low = STARTS[np.searchsorted(STARTS, drawn.employment, side="right") - 1]
    high = np.append(STARTS[1:], 2**60)[np.searchsorted(STARTS, low, side="right") - 1] - 1
    room = (drawn.employment > low) & (drawn.employment < high)

    def fits(code: str, county: str) -> bool:
        rows = [place[code[:n], area] for n in range(2, 7) for area in (county, county[:2])]
        return bool(room[rows].all()) and lines["sector", code[:2]] and lines["state", county[:2]]

    def third_of(*sectors: str) -> list[str]:
        found = [place.get((sectors[0], area), -1) for area in states]
        others = [place.get((sectors[1], area), -1) for area in states]
        return [
            area for area, i, j in zip(states, found, others, strict=True)
            if i >= 0 <= j and min(drawn.employment[[i, j]]) > 0
        ]  # fmt: skip

    states = sorted({area for area in areas if len(area) == 2 and area != "US"})
    there: dict[str, list[str]] = {}
    for code, area in zip(codes, areas, strict=True):
        if len(code) == _DIGITS and len(area) == 5 and fits(code, area):
            there.setdefault(code, []).append(area)
    for i, one in enumerate(there):
        for other in [*there][i + 1 :]:
            if one[:2] == other[:2]:
                continue
            shared = [county for county in there[one] if county in there[other]]
            apart = next((c for c in shared if c[:2] != shared[0][:2]), "")
            third = next((state for state in third_of(one[:2], other[:2])
                          if apart and state not in (shared[0][:2], apart[:2])), "")  # fmt: skip
            if third:
                return (one, other), (shared[0], apart), third
    msg = (
        "no two industries of different sectors are published in two states beside nothing that is "
        "withheld; draw more industries, states or counties"
    )
    raise InputError(msg)
