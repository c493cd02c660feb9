"""The kernel form of a problem: cells as combinations of few independent ones.

Every deviation is ``basis @ y`` for one vector y of d numbers, so that an attacker's program has d
columns in place of one for each cell, and no relation. Cells with parallel rows form a class: what
publishes one of them publishes all, and an inclusion-minimal pattern hides all or none of its free
cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from csp.attacker.null_space import MOST_ENTRIES, null_space
from csp.clock import UNLIMITED, Clock
from csp.exact import Bools, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import room
from csp.solve.cuts import needy

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class KernelForm:
    """Deviations of a problem by classes of cells.

    Cell i moves by ``factor[i] * (rows @ y)[member[i]]``, and every deviation of the cells that may
    be suppressed is given by exactly one y.

    Attributes
    ----------
    problem : Problem
    rows : (c, d) csr_array of int64
        A row for each class, without a common divisor; its first entry is positive, and no two
        rows are parallel.
    member : (n,) int64
        Class of each cell; -1 for cells that no pattern lets move.
    factor : (n,) int64
        0 for these.
    axes : (d,) int64
        Class that moves by y[j] alone.
    free : (n,) bool
        Cells that a pattern may suppress or publish here.
    """

    problem: Problem
    rows: csr_array
    member: Ints
    factor: Ints
    axes: Ints
    free: Bools

    def __repr__(self) -> str:
        return f"KernelForm({self.rows.shape[0]} classes, {self.rows.shape[1]} dimensions)"

    @classmethod
    def of(
        cls, problem: Problem, alive: Bools | None = None, *,
        most: int = MOST_ENTRIES, clock: Clock = UNLIMITED,
    ) -> KernelForm | None:  # fmt: skip
        """Bring a problem into kernel form.

        Parameters
        ----------
        problem : Problem
        alive : (n,) bool, optional
            Free cells that may be suppressed; the others are published.
        most : int
            Entries at most; see `csp.attacker.null_space.null_space`.
        clock : Clock

        Returns
        -------
        KernelForm or None
            None if it would be too large, or the time is over.
        """
        from scipy.sparse import csr_array

        n = problem.table.n_cells
        free = problem.free if alive is None else problem.free & alive
        up, down = room(problem.table)
        cells = np.flatnonzero((free | problem.forced) & ((up > 0) | (down > 0)))
        first = expensive_first(problem, cells)
        found = null_space(
            csr_array(problem.table.relations[:, cells]), first, most=most, clock=clock
        )
        if found is None:
            return None
        basis, axes = found
        rows, member, factor = _classes(basis)
        every_member, every_factor = np.full(n, -1, np.int64), np.zeros(n, np.int64)
        every_member[cells], every_factor[cells] = member, factor
        return cls(problem, rows, every_member, every_factor, member[axes], free)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.rows.shape[0])

    @cached_property
    def needy(self) -> Bools:
        """Classes that move in every safe pattern, as a primary cell of theirs must, (c,)."""
        return self._any(needy(self.problem))

    @cached_property
    def choosable(self) -> Bools:
        """Classes that a pattern may publish: not needy, and with a free cell, (c,)."""
        return self._any(self.free) & ~self.needy

    @cached_property
    def cost(self) -> Ints:
        """Cost of the free cells of each class, (c,)."""
        cells = np.flatnonzero((self.member >= 0) & self.free)
        out = np.zeros(self.n_classes, np.int64)
        np.add.at(out, self.member[cells], self.problem.cost[cells])
        return out

    def least(self, x: Floats) -> Ints:
        """Free cell of each class with the least share in a point (n,); -1 where none is free."""
        return self._extreme(x)

    def largest(self, x: Floats) -> Ints:
        """Free cell of each class with the largest share in a point (n,); -1 where none is free."""
        return self._extreme(-x)

    def _extreme(self, key: Floats) -> Ints:
        cells = np.flatnonzero((self.member >= 0) & self.free)
        order = cells[np.argsort(-key[cells], kind="stable")]
        out = np.full(self.n_classes, -1, np.int64)
        out[self.member[order]] = order
        return out

    def _any(self, flags: Bools) -> Bools:
        out = np.zeros(self.n_classes, dtype=bool)
        out[self.member[flags & (self.member >= 0)]] = True
        return out


def expensive_first(problem: Problem, cells: Ints) -> Ints:
    """Order in which cells become pivots, so that their kernel has few entries.

    Expensive cells, which are mostly totals, are then sums of cheap ones.
    """
    size = np.abs(problem.table.values[cells])
    return np.lexsort((-size, -problem.cost[cells]))


def _classes(basis: csr_array) -> tuple[csr_array, Ints, Ints]:
    """Merge parallel rows: one row for each class, the class of each row, and how often it is."""
    from scipy.sparse import csr_array

    count = np.diff(basis.indptr)
    member = np.full(len(count), -1, np.int64)
    factor = np.zeros(len(count), np.int64)
    owner = np.repeat(np.arange(len(count)), count)
    divisor = np.zeros(len(count), np.int64)
    np.gcd.at(divisor, owner, basis.data)
    some = np.flatnonzero(count)
    factor[some] = divisor[some] * np.sign(basis.data[basis.indptr[some]])
    primitive = basis.data // np.repeat(factor, count)
    known: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    for i in some.tolist():
        span = slice(basis.indptr[i], basis.indptr[i + 1])
        key = (basis.indices[span].tobytes(), primitive[span].tobytes())
        member[i] = known.setdefault(key, len(known))
        if member[i] == len(first):
            first.append(i)
    whole = csr_array((primitive, basis.indices, basis.indptr), shape=basis.shape)
    return csr_array(whole[np.array(first, np.int64)]), member, factor
