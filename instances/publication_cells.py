"""All cells of a drawn publication, and how they add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csp.exact import Bools, Ints

FLAGS = np.array(["A", "B", "C", "E", "F", "G", "H", "I", "J", "K", "L", "M"])
"""Classes of employment of withheld cells."""

STARTS = np.array([0, 20, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000])
"""Least employment of each class."""


@dataclass(slots=True, eq=False)
class Leaves:
    """Industries of six digits by county: where there is an establishment."""

    industry: Ints
    county: Ints
    sums: Ints  # establishments, employment, payroll, then establishments by size


@dataclass(slots=True, eq=False)
class Cells:
    """All cells, each by its industry and area, and the cell above it in each of the two ways."""

    industry: Ints
    area: Ints
    sums: Ints
    parents: Ints  # (2, n); -1 for none
    of_leaf: Ints

    @classmethod
    def summed(cls, leaves: Leaves, above: Ints, over: Ints) -> Cells:
        """Add up what was drawn, level by level."""
        width = len(over)
        parts: list[tuple[Ints, Ints]] = []
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

    def counts(self, flags: Bools) -> Ints:
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

    def members(self, d: int, totals: Bools) -> tuple[Ints, ...]:
        """Relations and their cells, in some relations of one way."""
        parent = self.parents[d]
        parts = np.flatnonzero((parent >= 0) & totals[parent])
        tops = np.flatnonzero(totals)
        return np.concatenate([parent[parts], tops]), np.concatenate([parts, tops])

    def picked(self, d: int, totals: Bools, flags: Bools) -> tuple[Ints, Ints]:
        """Of each of some relations the smallest of some cells: relations and cells."""
        row, cell = self.members(d, totals)
        row, cell = row[flags[cell]], cell[flags[cell]]
        order = np.lexsort((self.sums[cell, 1], cell == row, row))
        rows, first = np.unique(row[order], return_index=True)
        return rows, cell[order][first]

    def complement(self, hidden: Bools, published: Bools) -> None:
        """Withhold more until no relation withholds one cell alone, but for what is published."""
        for _ in range(30):
            before = int(hidden.sum())
            for d in range(2):
                _, more = self.picked(d, self.counts(hidden)[d] == 1, ~hidden & ~published)
                hidden[more] = True
            if int(hidden.sum()) == before:
                break
