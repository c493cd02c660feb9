"""Cells that relations bind to one other cell: to know one is to know the other.

Where all but two cells of a relation are known, these move together, or against each other; and so
on, with every cell of a class counted as one. Several relations at once bind few more: ten pairs of
classes of 41,762 in drawn County Business Patterns of 93,000 withheld cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attacks.large_releases.engine import LargeDisclosure
from attacks.large_releases.kernel_vectors import kernel_vectors
from attacks.large_releases.proofs import combinations_of
from attacks.large_releases.signed_classes import signed_classes
from csp.clock import UNLIMITED, Clock
from csp.exact import Bools, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SAME = 1e-7
"""Difference of random vectors of unit variance below which two classes may move alike."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ParallelCells:
    """Classes of cells that differ from each other, or from each other's opposite, by a constant.

    Attributes
    ----------
    cells : (k,) int64
        Cells that are not known.
    classes : (k,) int64
        Equal for cells of one class.
    signs : (k,) int64
        1 or -1: cells of the same sign have a known difference, others a known sum.
    """

    cells: Ints
    classes: Ints
    signs: Ints

    def __repr__(self) -> str:
        return f"ParallelCells({len(self.cells)} cells, {len(np.unique(self.classes))} classes)"

    def groups(self) -> Iterator[Ints]:
        """Cells of each class that has several."""
        order = np.argsort(self.classes, kind="stable")
        cuts = np.flatnonzero(np.diff(self.classes[order])) + 1
        for group in np.split(self.cells[order], cuts):
            if len(group) > 1:
                yield group

    @property
    def known_sums(self) -> int:
        """How many pairs of cells have a known sum."""
        _, place = np.unique(self.classes, return_inverse=True)
        both = (np.bincount(place[self.signs == s], minlength=len(self.cells)) for s in (1, -1))
        return int(np.prod(np.array([*both]), axis=0).sum())

    def learned_by(self, alone: Bools) -> dict[int, tuple[int, ...]]:
        """Say which cells those learn who know one.

        Parameters
        ----------
        alone : (n,) bool
            Cells of the release whose value someone knows: with one contributor.

        Returns
        -------
        dict of int to tuple of int
        """
        found = {}
        for group in self.groups():
            members = group.tolist()
            for cell in group[alone[group]].tolist():
                found[cell] = tuple(other for other in members if other != cell)
        return found


def parallel_cells(found: LargeDisclosure, clock: Clock = UNLIMITED) -> ParallelCells:
    """Put cells that are not known into classes.

    Relations of which two classes are left bind these to each other. What several relations bind at
    once is suggested by random vectors, and proved in whole numbers.

    Parameters
    ----------
    found : LargeDisclosure
    clock : Clock
        If it is over, what only several relations bind is left out.

    Returns
    -------
    ParallelCells
    """
    keep, part = found.open_part()
    classes, signs = signed_classes(part.matrix, np.ones(part.matrix.shape[0], bool))
    # A cell that relations fix after all, where the time did not suffice to find it before.
    free = np.flatnonzero(classes >= 0)
    kept, places = np.unique(classes[free], return_inverse=True)
    joined, turns = _joined(_contracted(part.matrix[:, free], places, signs[free]), clock)
    return ParallelCells(found.cells[keep[free]], kept[joined[places]], signs[free] * turns[places])


def _contracted(matrix: csr_array, classes: Ints, signs: Ints) -> csr_array:
    """Relations between classes of cells, without those that hold none any more."""
    from scipy.sparse import csr_array

    shape = len(classes), int(classes.max(initial=-1)) + 1
    small = csr_array(matrix @ csr_array((signs, (np.arange(len(classes)), classes)), shape=shape))
    small.eliminate_zeros()
    return csr_array(small[np.flatnonzero(np.diff(small.indptr))])


def _joined(matrix: csr_array, clock: Clock) -> tuple[Ints, Ints]:
    """Class that stands for each of some, and the sign between the two."""
    count = matrix.shape[1]
    first, turns = np.arange(count), np.ones(count, np.int64)
    if clock.over or not matrix.shape[0]:
        return first, turns
    vectors = kernel_vectors(matrix.astype(np.float64), 3, np.random.default_rng(0))
    order = np.argsort(np.abs(vectors[0]))
    sorted_by = vectors[:, order]
    sign = np.sign(sorted_by[0, 1:] * sorted_by[0, :-1])
    same = (np.abs(sorted_by[:, 1:] - sign * sorted_by[:, :-1]) < _SAME).all(axis=0)
    for at in np.flatnonzero(same).tolist():
        here, before = order[at + 1], order[at]
        first[here], turns[here] = first[before], turns[before] * int(sign[at])
    suggested = first != np.arange(count)
    if not suggested.any():
        return first, turns
    # With the difference of a class and the one that stands for it in place of the class itself,
    # the difference is known by relations alone.
    from scipy.sparse import coo_array, csr_array, eye_array

    moved = np.flatnonzero(suggested)
    step = coo_array((turns[moved], (moved, first[moved])), shape=(count, count))
    changed = csr_array(matrix @ csr_array(eye_array(count, dtype=np.int64) + step))
    changed.eliminate_zeros()
    proved = combinations_of(changed, suggested, clock)
    proved.check(changed, np.zeros(count, bool))
    left = np.setdiff1d(moved, proved.cells)
    first[left], turns[left] = left, 1
    return first, turns
