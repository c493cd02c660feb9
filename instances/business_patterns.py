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
from instances.whole_number_blocks import STEP, WholeBlock, block_places

__all__ = ["BusinessPatterns", "business_patterns"]

FLAGS = np.array(["A", "B", "C", "E", "F", "G", "H", "I", "J", "K", "L", "M"])
"""Classes of employment of withheld cells."""

STARTS = np.array([0, 20, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000])
"""Least employment of each class."""

_SIZES = ((1, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 249), (250, 499), (500, 999))
"""Classes of size of establishments, by employment."""

_SHARES = (0.54, 0.19, 0.127, 0.088, 0.029, 0.018, 0.005, 0.003)
"""Share of each class."""

_FEW = 5
"""Establishments of a cell below which its employment is withheld."""

_BLOCKS = 4
"""Least blocks of cells that only whole numbers disclose, where there is a place."""


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
    employment: NDArray[np.int64]
    payroll: NDArray[np.int64]
    planted: dict[str, NDArray[np.int64]]

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
    cells = _Cells.summed(leaves, above, over)
    hidden = cells.sums[:, 0] < _FEW
    cells.complement(hidden, np.zeros(len(hidden), bool))
    planted = _planted(cells, hidden, pairs, [block.moves(above, over) for block in blocks], rng)
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


def _industries(count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.int64]]:
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


def _areas(states: int, counties: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Codes, the country first and counties last, and what each lies in."""
    state = np.sort(np.arange(counties) % states)
    place = np.arange(counties) - np.searchsorted(state, state)
    codes = ["US", *(f"{s + 1:02}" for s in range(states))]
    codes += [f"{s + 1:02}{c + 1:03}" for s, c in zip(state.tolist(), place.tolist(), strict=True)]
    return np.array(codes), np.concatenate([[-1], np.zeros(states, np.int64), state + 1])


# ---- cells ---------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Leaves:
    """Industries of six digits by county: where there is an establishment."""

    industry: NDArray[np.int64]
    county: NDArray[np.int64]
    sums: NDArray[np.int64]  # establishments, employment, payroll, then establishments by size


def _leaves(
    naics: NDArray[Any], area: NDArray[Any], industries: int, counties: int,
    rng: np.random.Generator,
) -> _Leaves:  # fmt: skip
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
    return _Leaves(industry + len(naics) - industries, county + len(area) - counties, sums)


def _made_empty(
    leaves: _Leaves, above: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
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


def _with_blocks(
    leaves: _Leaves, pairs: NDArray[np.int64], above: NDArray[np.int64], over: NDArray[np.int64]
) -> list[WholeBlock]:
    """Put establishments where blocks of cells that whole numbers disclose need them.

    A block that needs one of the pairs that have no employee is left out.
    """
    # Twice as many as are wanted: some lie too close to other things.
    most = 2 * max(_BLOCKS, len(leaves.industry) // 40_000)
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


@dataclass(slots=True, eq=False)
class _Cells:
    """All cells, each by its industry and area, and the cell above it in each of the two ways."""

    industry: NDArray[np.int64]
    area: NDArray[np.int64]
    sums: NDArray[np.int64]
    parents: NDArray[np.int64]  # (2, n); -1 for none
    of_leaf: NDArray[np.int64]

    @classmethod
    def summed(cls, leaves: _Leaves, above: NDArray[np.int64], over: NDArray[np.int64]) -> _Cells:
        """Add up what was drawn, level by level."""
        width = len(over)
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        industry, of_leaf = leaves.industry, np.zeros(0, np.int64)
        while (industry >= 0).all():
            area = leaves.county
            while (area >= 0).all():
                key, which = np.unique(industry * width + area, return_inverse=True)
                sums = np.zeros((len(key), leaves.sums.shape[1]), np.int64)
                for k in range(sums.shape[1]):
                    # Exact: floats hold whole numbers up to 2**53.
                    sums[:, k] = np.bincount(which, leaves.sums[:, k]).astype(np.int64)
                parts.append((key, sums))
                area = over[area]
            industry = above[industry]
        keys = np.concatenate([key for key, _ in parts])
        order = np.argsort(keys)
        keys, sums = keys[order], np.concatenate([part for _, part in parts])[order]
        industry, area = keys // width, keys % width
        parents = np.full((2, len(keys)), -1, np.int64)
        up, out = above[industry], over[area]
        parents[0, up >= 0] = np.searchsorted(keys, (up * width + area)[up >= 0])
        parents[1, out >= 0] = np.searchsorted(keys, (industry * width + out)[out >= 0])
        of_leaf = np.searchsorted(keys, leaves.industry * width + leaves.county)
        return cls(industry, area, sums, parents, of_leaf)

    def counts(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of some cells are in the relation below each cell, (2, n); 0 if there is none.

        Relations are numbered by their total and the way in which it adds up.
        """
        found = np.zeros_like(self.parents)
        for d, parent in enumerate(self.parents):
            below = np.bincount(parent[parent >= 0], minlength=len(parent)) > 0
            there = flags & (parent >= 0)
            found[d] = np.bincount(parent[there], minlength=len(parent))
            found[d] += flags & below
        return found

    def members(self, d: int, totals: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]:
        """Relations and their cells, in some relations of one way."""
        parent = self.parents[d]
        parts = np.flatnonzero((parent >= 0) & totals[parent])
        tops = np.flatnonzero(totals)
        return np.concatenate([parent[parts], tops]), np.concatenate([parts, tops])

    def picked(
        self, d: int, totals: NDArray[np.bool_], flags: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each of some relations the smallest of some cells: relations and cells."""
        row, cell = self.members(d, totals)
        row, cell = row[flags[cell]], cell[flags[cell]]
        order = np.lexsort((self.sums[cell, 1], cell == row, row))
        rows, first = np.unique(row[order], return_index=True)
        return rows, cell[order][first]

    def complement(self, hidden: NDArray[np.bool_], published: NDArray[np.bool_]) -> None:
        """Withhold more until no relation withholds one cell alone, but for what is published."""
        for _ in range(30):
            before = int(hidden.sum())
            for d in range(2):
                _, more = self.picked(d, self.counts(hidden)[d] == 1, ~hidden & ~published)
                hidden[more] = True
            if int(hidden.sum()) == before:
                break


# ---- what is known by mistake --------------------------------------------------------------------


def _planted(
    cells: _Cells, hidden: NDArray[np.bool_], pairs: NDArray[np.int64],
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64]]], rng: np.random.Generator,
) -> dict[str, NDArray[np.int64]]:  # fmt: skip
    """Change what is withheld so that some cells are known; returns them by how they are."""
    empty = cells.of_leaf[pairs]
    busy = np.zeros(len(hidden), bool)
    busy[empty.ravel()] = True
    whole = _in_blocks(cells, hidden, blocks, busy, max(_BLOCKS, len(hidden) // 50_000))
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
    cells: _Cells, hidden: NDArray[np.bool_], known: NDArray[np.bool_], fixed: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.int64]:  # fmt: skip
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


def _bridges(
    cells: _Cells, hidden: NDArray[np.bool_], busy: NDArray[np.bool_], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    cells: _Cells, hidden: NDArray[np.bool_],
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64]]], busy: NDArray[np.bool_], count: int,
) -> NDArray[np.int64]:  # fmt: skip
    """Withhold blocks of cells that only whole numbers disclose; returns these cells.

    All else in their relations is published, so that none may hold a cell that is `busy`.
    """
    width = int(cells.area.max()) + 1
    keys = cells.industry * width + cells.area
    ends = np.append(STARTS, np.iinfo(np.int64).max // 4)
    found: list[NDArray[np.int64]] = []
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


# ---- as published --------------------------------------------------------------------------------


def _columns(
    cells: _Cells, naics: NDArray[Any], area: NDArray[Any], hidden: NDArray[np.bool_]
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
