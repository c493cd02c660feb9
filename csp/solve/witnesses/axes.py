"""The dimensions of a table as its relations show them: which codes add up to which.

Every relation of a table made by cross-classification runs along one dimension: only the code of
that dimension differs among its cells. From these relations come the trees of codes, and from the
trees the part of a table in which a cell can be compensated. Where labels do not show dimensions,
the relations themselves do.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from math import prod

import numpy as np

from csp.exact import Floats, Ints
from csp.solve.witnesses.recognition import recognised_codes
from csp.tables.codes import Labels
from csp.tables.margins import codes_along
from csp.tables.table import Table

Tops = tuple[tuple[int, ...], ...]
"""In each dimension the codes at the top of some subtrees."""


class Axes:
    """Codes of all cells as integers, and what adds up to what in each dimension.

    Attributes
    ----------
    codes : (n, d) int64
        Code of each cell in each dimension, as a number.
    parents, children : list of dict of int to list of int
        For each dimension; a code may have several parents (aggregates that overlap).
    regular : bool
        Whether every relation runs along one dimension; nothing else is to be used otherwise.
    labelled : bool
        Whether the dimensions are those of the labels, and not recognised from relations alone.
    """

    def __init__(self, table: Table) -> None:
        codes = Labels.of(table.labels).unused_dropped().codes.astype(np.int64)
        self.regular = self.labelled = self._read(table, codes)
        if not self.regular or (codes.max(axis=0) > 0).sum() < 2:
            # With one position labels are numbers of cells, or the table has one dimension indeed.
            found = recognised_codes(table.relations)
            self.labelled = False
            if found is not None:
                self.regular = self._read(table, found)
        self._subtrees: dict[tuple[int, int], Ints] = {}
        self._above: dict[tuple[int, int, int], tuple[int, ...]] = {}

    def _read(self, table: Table, codes: Ints) -> bool:
        """Read the trees; False if some relation runs along no single dimension."""
        matrix, d = table.relations, codes.shape[1]
        self.codes = codes
        self._divided = np.zeros(codes.shape, dtype=bool)
        self.parents: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(d)]
        self.children: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(d)]
        axis, pairs = codes_along(matrix, codes)
        if (axis < 0).any():
            return False
        self._divided[matrix.indices[matrix.data < 0], axis] = True
        for k, listed in enumerate(pairs):
            for parent, child in listed.tolist():
                self.children[k][parent].append(child)
                self.parents[k][child].append(parent)
        return True

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints, Ints] | None:
        """Number every cell by its codes; None if such numbers are too large."""
        sizes = self.codes.max(axis=0) + 1
        if prod(sizes.tolist()) >= 2**62:
            return None
        weights = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]]).astype(np.int64)
        numbers = self.codes @ weights
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order, weights

    def cells(self, codes: list[Ints]) -> Ints:
        """Cells of the table whose code in each dimension is among these, ascending."""
        if self._sorted is None or prod(len(some) for some in codes) > len(self.codes):
            inside = np.ones(len(self.codes), dtype=bool)
            for k, some in enumerate(codes):
                wanted = np.zeros(int(self.codes[:, k].max()) + 1, dtype=bool)
                wanted[some] = True
                inside &= wanted[self.codes[:, k]]
            return np.flatnonzero(inside)
        numbers, order, weights = self._sorted
        combined = np.zeros(1, np.int64)
        for k, some in enumerate(codes):
            combined = (combined[:, None] + np.unique(some) * weights[k]).ravel()
        at = np.minimum(np.searchsorted(numbers, combined), len(numbers) - 1)
        return np.sort(order[at[numbers[at] == combined]])

    def above(self, k: int, code: int, steps: int) -> tuple[int, ...]:
        """Ancestors of a code `steps` levels up, or as far up as it goes.

        Where codes have several tops, the step above tops is to all that have a part in common.
        """
        found = self._above.get((k, code, steps))
        if found is None:
            here = {code}
            for _ in range(steps):
                parents = self.parents[k]
                up = {parent for c in here for parent in parents.get(c) or (c,)}
                if up == here:
                    below = {c for top in here for c in self.subtree(k, top).tolist()}
                    up = here | {top for c in below for top in self._tops[k].get(c, ())}
                if up == here:
                    break
                here = up
            found = self._above[k, code, steps] = tuple(sorted(here))
        return found

    @cached_property
    def _tops(self) -> list[dict[int, list[int]]]:
        """In each dimension with several tops, those of every code below them."""
        found: list[dict[int, list[int]]] = []
        for k, children in enumerate(self.children):
            tops = [code for code in children if code not in self.parents[k]]
            found.append(defaultdict(list))
            for top in tops if len(tops) > 1 else ():
                for code in self.subtree(k, top).tolist():
                    found[k][code].append(top)
        return found

    def subtree(self, k: int, code: int) -> Ints:
        """Return a code and everything below it, ascending."""
        found = self._subtrees.get((k, code))
        if found is None:
            seen, stack = {code}, [code]
            while stack:
                for child in self.children[k].get(stack.pop(), ()):
                    if child not in seen:
                        seen.add(child)
                        stack.append(child)
            found = self._subtrees[k, code] = np.array(sorted(seen), dtype=np.int64)
        return found

    def around(self, cell: int, growth: tuple[int, ...]) -> Tops:
        """Tops of the subtrees round a cell: in each dimension `growth` steps above its parent.

        In linked tables most cells are at the top of dimensions by which they are not divided: such
        a code stands alone, given as its complement, until the block grows in that dimension.
        """
        divided = self._divided[cell].tolist()
        return tuple(
            self.above(k, code, 1 + growth[k])
            if growth[k] or divided[k] or code in self.parents[k]
            else (~code,)
            for k, code in enumerate(self.codes[cell].tolist())
        )

    def within(self, tops: Tops) -> Ints:
        """Cells of the product of subtrees, and of codes that stand alone."""
        return self.cells(
            [np.concatenate([self._under(k, top) for top in some]) for k, some in enumerate(tops)]
        )

    def _under(self, k: int, top: int) -> Ints:
        """Codes of a subtree, or a code that stands alone."""
        return self.subtree(k, top) if top >= 0 else np.array([~top])

    def size(self, tops: Tops) -> int:
        """Count the codes of a product of subtrees, cells that are missing included."""
        return prod(sum(len(self._under(k, t)) for t in some) for k, some in enumerate(tops))

    def near(self, cell: int, tops: Tops, price: Floats, room: Ints, most: int) -> Ints:
        """Cells of a product of subtrees, of about `most` at most, that look most useful.

        In each dimension some branches are left out: those that lead from the cell to an
        expensive one, or to one that hardly moves.

        Parameters
        ----------
        cell : int
            In the product.
        tops : tuple of tuple of int
            See `around`.
        price : (n,) float64
        room : (n,) int64
            How far each cell can move.
        most : int
        """
        sizes = [sum(len(self._under(k, top)) for top in some) for k, some in enumerate(tops)]
        chosen: list[Ints] = [np.empty(0, np.int64)] * len(sizes)
        left, dimensions = float(most), len(sizes)
        for k in sorted(range(len(sizes)), key=sizes.__getitem__):
            share = max(3, int(left ** (1 / dimensions)))
            if sizes[k] > share:
                worth = self._worth(cell, k, price, room)
                own = int(self.codes[cell, k])
                codes = [code for top in tops[k] for code in self._best(k, top, own, share, worth)]
                chosen[k] = np.unique(codes)
            else:
                chosen[k] = np.unique(np.concatenate([self._under(k, top) for top in tops[k]]))
            left, dimensions = left / len(chosen[k]), dimensions - 1
        return self.cells(chosen)

    def _worth(self, cell: int, k: int, price: Floats, room: Ints) -> dict[int, tuple[float, int]]:
        """Price and room of the cells that differ from one in a dimension only, by their code."""
        codes = [np.array([code]) for code in self.codes[cell].tolist()]
        codes[k] = np.arange(int(self.codes[:, k].max()) + 1)
        line = self.cells(codes)
        found = zip(price[line].tolist(), (-room[line]).tolist(), strict=True)
        return dict(zip(self.codes[line, k].tolist(), found, strict=True))

    def _best(
        self, k: int, top: int, own: int, most: int, worth: dict[int, tuple[float, int]]
    ) -> list[int]:
        """Choose codes of a subtree: its top, the branch of a code, and other branches that fit."""
        out = [top]
        nowhere = (np.inf, 0)
        for child in sorted(self.children[k].get(top, ()), key=lambda c: worth.get(c, nowhere)):
            branch = self.subtree(k, child)
            if own in branch:
                if len(branch) > most // 2:
                    out += self._best(k, child, own, most // 2, worth)
                else:
                    out += branch.tolist()
            elif len(out) + len(branch) <= most or len(out) < 3:
                out += branch.tolist()
        return out
