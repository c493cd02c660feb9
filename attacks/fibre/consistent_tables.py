"""The fibre of a release: all integer tables consistent with everything published.

Parts of the pattern that no relation connects are independent: counts multiply, samples combine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from attacks.fibre import kernel_walk
from attacks.fibre.counts import Counter, TooMany
from attacks.fibre.feasible_intervals import feasible
from attacks.fibre.kernel_basis import kernel
from csp.attacker.view import components
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.exact import Ints
from csp.release.completion import complete
from csp.release.release import Release
from csp.tables.table import Table

_BLOCK = 4096
_NODES = 50_000


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Suppressed cells that relations connect, and the equations that bind them."""

    cells: Ints  # (k,) positions among the suppressed cells of the release
    matrix: csr_array  # (r, k)
    origin: Ints  # (k,) one solution
    lower: Ints  # (k,) this and the next are integer feasibility intervals
    upper: Ints

    @property
    def right(self) -> Ints:
        """Right side of the equations, shape (r,)."""
        return np.asarray(self.matrix @ self.origin)

    @cached_property
    def kernel(self) -> Ints:
        """Basis of the integer kernel, shape (k, d); see `attacks.fibre.kernel`."""
        return kernel(self.matrix)

    def tables(self, clock: Clock = UNLIMITED) -> Iterator[Ints]:
        """Yield blocks (t, k) of all solutions, each once: the origin plus kernel vectors.

        Raises
        ------
        OutOfTime
            If the time runs out first.
        """
        search = kernel_walk.start(self.kernel, self.origin, self.lower, self.upper, _BLOCK, clock)
        yield from kernel_walk.tables_of(search, _NODES, clock)


class Fibre:
    """All integer tables consistent with a release.

    Parameters
    ----------
    release : Release
    table : Table, optional
        A table that agrees with the release, if one is known; otherwise one is computed.
    bounds : ((k,) int64, (k,) int64), optional
        Integer feasibility intervals of the suppressed cells, if they are known.
    time_limit : float, optional
        Wall seconds to find what is not given.

    Raises
    ------
    InputError
        If nothing is suppressed, no table is consistent with the release, or infinitely many are.
    OutOfTime
        If the time limit passed first.

    Examples
    --------
    Table 1 of Minami and Abe (2019): four suppressed cells, one direction, ten tables.

    >>> import numpy as np
    >>> from csp import Table
    >>> from csp.release.release import Release
    >>> inner = [[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]]
    >>> table = Table.from_array(inner)
    >>> pattern = np.zeros((5, 5), bool)
    >>> pattern[np.ix_([1, 3], [1, 3])] = True
    >>> fibre = Fibre(Release.of(table, pattern.ravel()))
    >>> fibre.dimension, fibre.count()
    (1, 10)
    >>> sorted(next(iter(fibre)).tolist())[0] >= 0
    True
    """

    def __init__(
        self,
        release: Release,
        table: Table | None = None,
        *,
        bounds: tuple[Ints, Ints] | None = None,
        time_limit: float | None = None,
    ) -> None:
        clock = Clock.of(time_limit)
        self.release = release
        self.table = complete(release, time_limit=clock.seconds) if table is None else table
        self.cells: Ints = np.flatnonzero(release.pattern)
        self.lower, self.upper = bounds or feasible(self.table, release.pattern, clock)
        self._counters: list[Counter] | None = None

    def __repr__(self) -> str:
        return f"Fibre({len(self.cells)} suppressed cells in {len(self.parts)} parts)"

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Suppressed cells that move together."""
        parts = []
        for view in components(self.table, self.release.pattern):
            place = np.searchsorted(self.cells, view.cells)
            origin = self.table.values[view.cells]
            parts.append(Part(place, view.matrix, origin, self.lower[place], self.upper[place]))
        return tuple(parts)

    @property
    def bounds(self) -> tuple[Ints, Ints]:
        """Integer feasibility intervals of the suppressed cells: lower, upper (k,)."""
        return self.lower, self.upper

    @property
    def origin(self) -> Ints:
        """The fixed solution: one consistent table, (k,) int64 over the suppressed cells."""
        return np.asarray(self.table.values[self.cells])

    @property
    def kernel(self) -> Ints:
        """Basis of the integer kernel, (k, d) int64: the directions in which tables differ.

        Tables are listed along these vectors from `origin` (Minami and Abe 2019, Section 3.2).
        """
        basis = np.zeros((len(self.cells), self.dimension), dtype=np.int64)
        first = 0
        for part in self.parts:
            last = first + part.kernel.shape[1]
            basis[part.cells, first:last] = part.kernel
            first = last
        return basis

    @property
    def dimension(self) -> int:
        """Dimension of the integer kernel (Minami and Abe 2019, Section 3.2)."""
        return sum(part.kernel.shape[1] for part in self.parts)

    def count(self, max_states: int = 1_000_000, *, time_limit: float | None = None) -> int | None:
        """Count the tables without listing them.

        Parameters
        ----------
        max_states : int
            Partial sums to keep in memory.
        time_limit : float, optional
            Wall seconds.

        Returns
        -------
        int or None
            None if there are too many partial sums, or the time ran out.
        """
        counters = self.counters(max_states, time_limit=time_limit)
        return None if counters is None else math.prod(c.total for c in counters)

    def counters(
        self, max_states: int = 1_000_000, *, time_limit: float | None = None
    ) -> list[Counter] | None:
        """Count each part; None if one has too many partial sums, or the time ran out."""
        clock = Clock.of(time_limit)
        if self._counters is None:
            found = []
            for part in self.parts:
                try:
                    found.append(
                        Counter(part.matrix, part.right, part.lower, part.upper, max_states, clock)
                    )
                except TooMany:
                    return None
            self._counters = found
        return self._counters

    def __iter__(self) -> Iterator[Ints]:
        """Yield the values of the suppressed cells in each table: (k,) int64."""
        for block in self.blocks():
            yield from block

    def blocks(self, *, time_limit: float | None = None) -> Iterator[Ints]:
        """Yield all tables in blocks of (t, k) int64.

        Parameters
        ----------
        time_limit : float, optional
            Wall seconds from the first block on, what is done with blocks included.

        Raises
        ------
        OutOfTime
            If the time limit passed before the last block.
        """
        clock = Clock.of(time_limit)
        if len(self.parts) == 1:
            yield from self.parts[0].tables(clock)
            return
        # The last part runs fastest; the others are kept as they are met again and again.
        *others, last = self.parts
        lists = [list(itertools.chain.from_iterable(part.tables(clock))) for part in others]
        for choice in itertools.product(*lists):
            for block in last.tables(clock):
                full = np.zeros((len(block), len(self.cells)), dtype=np.int64)
                for part, values in zip(others, choice, strict=True):
                    full[:, part.cells] = values
                full[:, last.cells] = block
                yield full


def check_size(fibre: Fibre, max_tables: int, clock: Clock, mend: str) -> None:
    """Check that a fibre is small enough to list.

    Raises
    ------
    InputError
        If it has more tables, or too many to count; `mend` says what to do.
    OutOfTime
        If the time runs out before they are counted.
    """
    size = fibre.count(time_limit=clock.seconds)
    clock.check("the consistent tables were counted")
    if size is None or size > max_tables:
        many = "too many to count" if size is None else f"{size}"
        msg = (
            f"{many} tables are consistent with the release, more than max_tables={max_tables}; "
            f"{mend}"
        )
        raise InputError(msg)
