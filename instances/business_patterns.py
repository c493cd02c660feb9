"""County Business Patterns by seed: industry by state and county, with withheld cells.

The shape and flags are those of the files that the U.S. Census Bureau published: establishments are
never withheld; employment and payroll are 0 beside a flag where they are, the flag of employment
being a size class. Counties add up to states and these to the country, industries of six digits to
those of five, and so on. Totals are in the same list.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools, Ints
from instances.planted_cells import BLOCKS, plant
from instances.publication_cells import FLAGS, STARTS, Cells, Leaves
from instances.whole_number_blocks import WholeBlock, block_places

_SIZES = ((1, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 249), (250, 499), (500, 999))
"""Classes of size of establishments, by employment."""

_SHARES = (0.54, 0.19, 0.127, 0.088, 0.029, 0.018, 0.005, 0.003)
"""Share of each class."""

_FEW = 5
"""Establishments of a cell below which its employment is withheld."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BusinessPatterns:
    """A drawn publication, and what only its maker knows.

    Attributes
    ----------
    columns : dict of str to (n,) array
        As published: "naics", "area", "est", "emp", "empflag", "ap" (payroll), "apflag" and one
        column of establishments for each class of size, "n1_4" to "n500_999". The total of an
        industry is "------", that of an area "US".
    employment, payroll : (n,) int64
        The true values.
    planted : dict of str to (k,) int64
        Rows that were made to be known: "exact" by one relation, "levels" by a relation of another
        level that only holds once one of the first kind is known, "several" by several relations
        at once of which none suffices, "bounds" by the ends of ranges, "whole" by nothing but that
        employees are whole: fractions leave them a range (`instances.whole_number_blocks`).
    """

    columns: dict[str, NDArray[Any]]
    employment: Ints
    payroll: Ints
    planted: dict[str, Ints]

    def __repr__(self) -> str:
        return f"BusinessPatterns({len(self.employment)} cells)"


def business_patterns(
    *, industries: int = 1100, states: int = 51, counties: int = 3100, seed: int = 0
) -> BusinessPatterns:
    """Draw a publication like County Business Patterns.

    The defaults give some 2.2 million cells in half a minute; 100 industries, 6 states and 130
    counties give some 10,000.

    Parameters
    ----------
    industries : int
        Codes of six digits; at most 4,800.
    states, counties : int
        Of the country.
    seed : int

    Returns
    -------
    BusinessPatterns

    Raises
    ------
    InputError
        If there are too few or too many codes.

    Examples
    --------
    >>> from csp import Release
    >>> drawn = business_patterns(industries=20, states=2, counties=8)
    >>> release = Release.from_frame(
    ...     drawn.columns, ["naics", "area"], "emp", status="empflag", marks="census",
    ...     hierarchies={"naics": "prefix", "area": "prefix"},
    ...     total={"naics": "------", "area": "US"}, absent="zero",
    ... )
    >>> len(release.pattern) == len(drawn.employment)
    True
    """
    most = prod(_DIGITS)
    if not (4 <= industries <= most and 1 <= states <= 99 and states <= counties <= 999 * states):
        msg = (
            f"there must be 4 to {most} industries, 1 to 99 states and at most 999 counties in "
            f"each, got {industries}, {states} and {counties}"
        )
        raise InputError(msg)
    rng = np.random.default_rng(seed)
    naics, above = _industries(industries, rng)
    area, over = _areas(states, counties)
    leaves = _leaves(naics, area, industries, counties, rng)
    pairs = _made_empty(leaves, above, rng)
    blocks = _with_blocks(leaves, pairs, above, over)
    cells = Cells.summed(leaves, above, over)
    hidden = cells.sums[:, 0] < _FEW
    cells.complement(hidden, np.zeros(len(hidden), bool))
    planted = plant(cells, hidden, pairs, [block.moves(above, over) for block in blocks], rng)
    return BusinessPatterns(
        _columns(cells, naics, area, hidden), cells.sums[:, 1], cells.sums[:, 2], planted
    )


# ---- codes ---------------------------------------------------------------------------------------

_DIGITS = (20, 5, 4, 3, 4)
"""Sectors, and how many digits there are at each place below."""

_SECTORS = (
    "11", "21", "22", "23", "42", "51", "52", "53", "54", "55", "56", "61", "62", "71", "72", "81",
    "84", "85", "86", "87",
)  # fmt: skip


def _industries(count: int, rng: np.random.Generator) -> tuple[NDArray[Any], Ints]:
    """Codes as printed, those of six digits last; above each the next shorter one, -1 for none."""
    # Codes of five digits have all that lie below them, so that there are cells beside each other.
    last = _DIGITS[-1]
    fives = np.sort(rng.choice(prod(_DIGITS[:-1]), -(-count // last), replace=False))
    drawn = (fives[:, None] * last + np.arange(last)).ravel()[:count]
    leaves = [
        _SECTORS[place[0]] + "".join(str(digit + 1) for digit in place[1:])
        for place in np.column_stack(np.unravel_index(drawn, _DIGITS)).tolist()
    ]
    known: dict[str, int] = {"": 0}
    for length in range(2, 7):
        for code in leaves:
            known.setdefault(code[:length], len(known))
    above = [-1] + [known[c[:-1] if len(c) > 2 else ""] for c in known if c]
    filled = ["------"] + [c.ljust(6, "-" if len(c) == 2 else "/") for c in known if c]
    return np.array(filled), np.array(above, np.int64)


def _areas(states: int, counties: int) -> tuple[NDArray[Any], Ints]:
    """Codes, the country first and counties last, and what each lies in."""
    state = np.sort(np.arange(counties) % states)
    place = np.arange(counties) - np.searchsorted(state, state)
    codes = ["US", *(f"{s + 1:02}" for s in range(states))]
    codes += [f"{s + 1:02}{c + 1:03}" for s, c in zip(state.tolist(), place.tolist(), strict=True)]
    return np.array(codes), np.concatenate([[-1], np.zeros(states, np.int64), state + 1])


# ---- cells ---------------------------------------------------------------------------------------


def _leaves(
    naics: NDArray[Any], area: NDArray[Any], industries: int, counties: int,
    rng: np.random.Generator,
) -> Leaves:  # fmt: skip
    size = rng.lognormal(0, 1.5, counties)
    common = rng.lognormal(0, 1.5, industries)
    mean = 0.95 * np.outer(common / common.mean(), size / size.mean())
    count = rng.poisson(mean)
    industry, county = np.nonzero(count)
    est = count[industry, county]
    by_size = rng.multinomial(est, np.array(_SHARES) / sum(_SHARES))
    employment = np.zeros(len(est), np.int64)
    for k, (low, high) in enumerate(_SIZES):
        employment += by_size[:, k] * low + rng.binomial(by_size[:, k] * (high - low), 0.4)
    payroll = np.rint(employment * rng.lognormal(3.3, 0.4, len(est))).astype(np.int64)
    sums = np.column_stack([est, employment, payroll, by_size]).astype(np.int64)
    return Leaves(industry + len(naics) - industries, county + len(area) - counties, sums)


def _made_empty(leaves: Leaves, above: Ints, rng: np.random.Generator) -> Ints:
    """Pairs of cells below one cell that have no employee in the week that counts, (k, 2) codes.

    Of each the number of the first and second leaf.
    """
    key = above[leaves.industry] * (int(leaves.county.max()) + 1) + leaves.county
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(key[order][1:] == key[order][:-1])
    # Apart from each other, so that no cell is in two of them.
    first = first[np.concatenate([[True], np.diff(first) > 1])] if len(first) else first
    chosen = rng.choice(first, min(len(first), max(2, len(order) // 5000)), replace=False)
    pairs = np.column_stack([order[chosen], order[chosen + 1]])
    leaves.sums[pairs.ravel(), 1] = 0
    return pairs


def _with_blocks(leaves: Leaves, pairs: Ints, above: Ints, over: Ints) -> list[WholeBlock]:
    """Put establishments where blocks of cells that whole numbers disclose need them.

    A block that needs one of the pairs that have no employee is left out.
    """
    # Twice as many as are wanted: some lie too close to other things.
    most = 2 * max(BLOCKS, len(leaves.industry) // 40_000)
    empty = {*zip(*(own[pairs.ravel()].tolist() for own in (leaves.industry, leaves.county)),
                  strict=True)}  # fmt: skip
    blocks = [
        block for block in block_places(leaves.industry, leaves.county, above, over, most)
        if not empty & {*zip(*(own.tolist() for own in block.leaves()[:2]), strict=True)}
    ]  # fmt: skip
    width = len(over)
    keys = leaves.industry * width + leaves.county
    starts = np.array([low for low, _ in _SIZES])
    more: list[tuple[int, int]] = []
    sums = []
    for block in blocks:
        for industry, county, employed in np.column_stack(block.leaves()).tolist():
            line = np.zeros(leaves.sums.shape[1], np.int64)
            line[:3] = 1, employed, 30 * employed
            line[3 + max(0, int(np.searchsorted(starts, employed, side="right")) - 1)] = 1
            at = int(np.searchsorted(keys, industry * width + county))
            if at < len(keys) and keys[at] == industry * width + county:
                leaves.sums[at] = line
            else:
                more.append((industry, county))
                sums.append(line)
    if more:
        leaves.industry, leaves.county = (
            np.concatenate([old, np.array(new, np.int64)])
            for old, new in zip((leaves.industry, leaves.county), zip(*more, strict=True),
                                strict=True)
        )  # fmt: skip
        leaves.sums = np.vstack([leaves.sums, *sums])
    return blocks


# ---- as published --------------------------------------------------------------------------------


def _columns(
    cells: Cells, naics: NDArray[Any], area: NDArray[Any], hidden: Bools
) -> dict[str, NDArray[Any]]:
    est, employment, payroll = cells.sums[:, :3].T
    sizes = FLAGS[np.searchsorted(STARTS, employment, side="right") - 1]
    columns: dict[str, NDArray[Any]] = {
        "naics": naics[cells.industry],
        "area": area[cells.area],
        "est": est,
        "emp": np.where(hidden, 0, employment),
        "empflag": np.where(hidden, sizes, ""),
        "ap": np.where(hidden, 0, payroll),
        "apflag": np.where(hidden, "D", ""),
    }
    for k, (low, high) in enumerate(_SIZES):
        columns[f"n{low}_{high}"] = cells.sums[:, 3 + k]
    return columns
