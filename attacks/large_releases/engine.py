"""Cells that a large release discloses, each with a proof in whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attacks.large_releases.interior_point import interior_point, reach_around
from attacks.large_releases.kernel_vectors import unmoved
from attacks.large_releases.proofs import Combinations, combinations_of, tight_cells
from attacks.large_releases.propagation import GIVEN, Bounds, System
from attacks.large_releases.whole_numbers import only_whole
from attacks.large_releases.windows import OpenPart
from attacks.release_alone.bound_proofs import Proof
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Bools, Floats, Ints, bounds_to_ends
from csp.release.completion import ONLY_FRACTIONS, check_published
from csp.release.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ROUNDS = 20
"""How often relations and bounds take turns; each turn needs a new cell that is known."""

_STUCK = 0.5
"""Units, with caution, below which a cell that fractions move is looked at in whole numbers: 2,600
of 93,000, which takes 7 CPU seconds and not 31."""

_SEED = 20_020
"""Random vectors are the same in every run."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LargeDisclosure:
    """What an outsider can compute of the suppressed cells of a large release.

    Attributes
    ----------
    release : Release
    cells : (k,) int64
        Suppressed cells.
    lower, upper : (k,) float64
        Outer bounds, in units, proved by chains of relations; infinite where there is none. The
        interval of a cell that is not known may be narrower.
    linear : (k,) bool
        The value follows from the published ones by relations alone, which is proved.
    exact : (k,) bool
        The value follows by relations and bounds (linear ones included), which is proved.
    whole : (k,) bool
        The value follows for who knows that cells are whole (those of `exact` included): it is the
        only one of a window of relations around the cell (`whole_numbers`), or follows from such.
    settled : bool
        Whether no other cell is known to who allows fractions, as far as floating point numbers
        tell: all candidates were proved, and a point has room on both sides of every other cell.
    point : (k,) float64 or None
        That point.
    reach : (k,) float64
        How far each cell can move from there in fractions, either way, estimated with caution; 0
        without a point.
    looked_at : (k,) bool
        Cells that are not known and were looked at in whole numbers, as they can hardly move.
    unfinished : tuple of str
        What was not finished.
    """

    release: Release
    cells: Ints
    lower: Floats
    upper: Floats
    linear: Bools
    exact: Bools
    whole: Bools
    settled: bool
    point: Floats | None
    reach: Floats
    looked_at: Bools
    unfinished: tuple[str, ...]
    _rows: Ints
    _bounds: Bounds
    _turns: tuple[Combinations, ...]

    def __repr__(self) -> str:
        return (
            f"LargeDisclosure({len(self.cells)} suppressed cells: {int(self.linear.sum())} known "
            f"by linear algebra, {int((self.exact & ~self.linear).sum())} more by bounds, "
            f"{int((self.whole & ~self.exact).sum())} more as whole numbers)"
        )

    @property
    def system(self) -> System:
        """Relations between the suppressed cells."""
        return self._bounds.system

    def open_part(self) -> tuple[Ints, OpenPart]:
        """Cells that are not known, by position, and the relations between them."""
        return open_part(self.system, self._bounds)

    def proof(self, cell: int) -> Proof | None:
        """Return the relations that add up to a suppressed cell; None if bounds are needed."""
        at = int(np.searchsorted(self.cells, cell))
        if not self.linear[at]:
            return None
        first = self._turns[0]
        place = int(np.searchsorted(first.cells, at))
        factors = {int(self._rows[r]): v for r, v in first.multipliers(place).items()}
        return Proof.of([cell], 1, factors, int(first.divisors[place]))

    def chain(self, cell: int) -> tuple[int, ...]:
        """Relations that give the value of a suppressed cell by bounds, one after another.

        They are those of the release, in the order in which they are used; a relation may occur
        several times. () where cells that are known by several relations at once are needed, or
        more than a thousand steps.
        """
        steps = self._bounds.chain(int(np.searchsorted(self.cells, cell)))
        if any(step.row == GIVEN for step in steps):
            return ()
        return tuple(int(self._rows[step.row]) for step in steps)


def determined_cells(
    release: Release,
    *,
    integer: bool = True,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> LargeDisclosure:
    """Find the cells that a release discloses, by relations and by bounds.

    Memory and time grow about linearly with the number of cells: two million take minutes.

    Parameters
    ----------
    release : Release
    integer : bool
        Whether cells are whole units: a release that leaves a fraction only is refused then, and
        cells that can hardly move are looked at in whole numbers.
    time_limit : float, optional
        Wall seconds; looked at between steps of up to a minute. What it does not suffice for is
        said (`LargeDisclosure.unfinished`), and what was found until then is proved.
    progress : callable, optional
        Called with what is done next.

    Returns
    -------
    LargeDisclosure

    Raises
    ------
    InputError
        If nothing is suppressed, or contradictions are met: not every one is.
    CertificateError
        If a proof does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Release, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[[0, 0, 1], [0, 1, 0]] = True
    >>> determined_cells(Release.of(table, pattern.ravel()))
    LargeDisclosure(3 suppressed cells: 3 known by linear algebra, 0 more by bounds, 0 more as \
whole numbers)
    """
    clock = Clock.of(time_limit)
    check_published(release)
    search = _Search.of(release, clock, progress or (lambda _what: None), integer=integer)
    search.run()
    linear = np.zeros(len(search.cells), bool)
    if search.turns:
        linear[search.turns[0].cells] = True
    bounds = search.bounds
    exact = search.exact | linear
    for array in (search.cells, linear, exact):
        array.flags.writeable = False
    return LargeDisclosure(
        release, search.cells,
        bounds_to_ends(bounds.lower), bounds_to_ends(bounds.upper),
        linear, exact, exact | search.known, search.settled, search.point, search.reach,
        search.looked_at, tuple(search.unfinished), search.rows, bounds, tuple(search.turns),
    )  # fmt: skip


@dataclass(slots=True, eq=False)
class _Search:
    """Relations and bounds in turns."""

    cells: Ints
    rows: Ints
    bounds: Bounds
    clock: Clock
    progress: Callable[[str], None]
    integer: bool
    rng: np.random.Generator
    turns: list[Combinations]
    unfinished: list[str]
    exact: Bools
    reach: Floats
    looked_at: Bools
    settled: bool = False
    point: Floats | None = None

    @classmethod
    def of(
        cls, release: Release, clock: Clock, progress: Callable[[str], None], *, integer: bool
    ) -> _Search:
        from scipy.sparse import csr_array

        cells = np.flatnonzero(release.pattern)
        matrix = csr_array(release.relations[:, cells])
        right = -(release.relations @ np.where(release.pattern, 0, release.published))
        rows = np.flatnonzero(np.diff(matrix.indptr))
        system = System.of(csr_array(matrix[rows]), right[rows])
        bounds = Bounds(system, release.lower[cells].copy(), release.upper[cells].copy())
        rng = np.random.default_rng(_SEED)
        none = np.zeros(len(cells), bool)
        return cls(
            cells, rows, bounds, clock, progress, integer, rng, [], [], none,
            np.zeros(len(cells)), none.copy(),
        )  # fmt: skip

    @property
    def known(self) -> Bools:
        return self.bounds.fixed

    def run(self) -> None:
        """Do all of it, as far as the time suffices."""
        self.progress("bounds by single relations")
        self.bounds.propagate(clock=self.clock)
        left = self._turn(np.zeros(len(self.cells), bool), "relations alone")
        for _ in range(_ROUNDS):
            left = self._alternate() or left
            if self.clock.over or not self._look_for_room(proved=not left):
                break
        if self.clock.over:
            self.unfinished.append("all of the search for cells that are known")
        elif left:
            self.unfinished.append("proofs of some cells that relations seem to give")
        if self.bounds.unfinished:
            self.unfinished.append(
                f"bounds of {self.bounds.unfinished} ends that close in unit by unit"
            )
        self.exact = self.known
        if self.integer and not self.clock.over:
            self._whole_numbers()
        self.progress("checking chains of bounds")
        self.bounds.check()

    def _alternate(self) -> bool:
        """Let relations and bounds take turns; returns whether candidates are left."""
        left = False
        for _ in range(_ROUNDS):
            known = self.known
            if self.clock.over or known.all():
                return left
            left = self._turn(known, "relations and bounds")
            if not len(self.turns[-1].cells):
                return left
        return left

    def _turn(self, known: Bools, what: str) -> bool:
        """Find and prove what relations give besides what is known; whether candidates are left."""
        if self.clock.over:
            return True
        self.progress(f"kernel vectors: {what}")
        matrix = self.bounds.system.matrix
        left = _reduced(matrix, known)
        keep = np.flatnonzero(~known)
        rows = np.flatnonzero(np.diff(left.indptr))
        candidates = np.zeros(len(known), bool)
        candidates[keep] = unmoved(left[rows][:, keep], self.rng)
        self.progress(f"proofs: {what}")
        # What is known has no entry: nothing needs to cancel there.
        found = combinations_of(left, candidates, self.clock)
        found.check(matrix, known)
        pairs = found.values(matrix, self.bounds.system.right, known, self.bounds.lower)
        self.turns.append(found)
        split = [cell for cell, (n, d) in zip(found.cells, pairs, strict=True) if n % d]
        if split and self.integer:
            raise InputError(ONLY_FRACTIONS)
        good = [i for i, (n, d) in enumerate(pairs) if not n % d]
        values = np.array([pairs[i][0] // pairs[i][1] for i in good], np.int64)
        self.bounds.propagate(self.bounds.give(found.cells[good], values), self.clock)
        return bool(len(found.cells) < int(candidates.sum()))

    def _look_for_room(self, *, proved: bool) -> bool:
        """Find a point that shows that the others are open, or fix what has no room.

        Returns whether cells were fixed, so that all is to be done again.
        """
        known, system, bounds = self.known, self.bounds.system, self.bounds
        # Cells that are known as fractions have bounds that have not met.
        split = np.zeros(len(known), bool)
        for turn in self.turns:
            split[turn.cells] = True
        if (split & ~known).any():
            self.unfinished.append("evidence that the other cells are open")
            return False
        if known.all():
            self.settled = True
            return False
        self.progress("a point with room")
        keep, part = open_part(system, bounds)
        found = interior_point(part.matrix, part.right, part.lower, part.upper, self.clock)
        if found.cramped is None:
            self.settled = proved
            self.point = bounds.lower.astype(np.float64)
            self.point[keep] = found.values
            ends = bounds_to_ends(part.lower), bounds_to_ends(part.upper)
            self.reach[keep] = reach_around(part.matrix, found.values, *ends, self.clock)
            return False
        cramped = np.zeros(len(known), bool)
        cramped[keep] = found.cramped
        self.progress("cells without room")
        left = _reduced(system.matrix, known)
        right = system.right - system.matrix @ np.where(known, bounds.lower, 0)
        cells, values = tight_cells(left, right, bounds.lower, bounds.upper, cramped, self.clock)
        if len(cells):
            bounds.propagate(bounds.give(cells, values), self.clock)
            return True
        self.unfinished.append(
            f"evidence that the other cells are open: {int(cramped.sum())} seem to have no room, "
            "which only linear programs decide"
        )
        return False

    def _whole_numbers(self) -> None:
        """Fix cells to which only whole numbers leave one value, and what follows from these."""
        wanted = ~self.known & (self.reach < _STUCK)
        for _ in range(_ROUNDS):
            self.progress(f"whole numbers: {int(wanted.sum()):,} cells that can hardly move")
            keep, part = open_part(self.bounds.system, self.bounds)
            found = only_whole(part, wanted[keep], self.clock)
            missed = int((wanted[keep] & ~found.looked_at).sum())
            if missed:
                self.unfinished.append(f"a look at {missed:,} cells in whole numbers")
            self.looked_at[keep] |= wanted[keep] & found.looked_at
            if not len(found.cells):
                break
            before = self.known
            rows = self.bounds.give(keep[found.cells], found.values)
            self.bounds.propagate(rows, self.clock)
            self._alternate()
            # Cells beside those that are known by now may follow next.
            touched = abs(self.bounds.system.matrix) @ (self.known & ~before)
            wanted = ~self.known & (abs(self.bounds.system.columns) @ touched > 0)
        self.looked_at &= ~self.known


def open_part(system: System, bounds: Bounds) -> tuple[Ints, OpenPart]:
    """Return the cells that are not known, and the relations between them."""
    known = bounds.fixed
    keep = np.flatnonzero(~known)
    left = _reduced(system.matrix, known)
    rows = np.flatnonzero(np.diff(left.indptr))
    right = system.right - system.matrix @ np.where(known, bounds.lower, 0)
    return keep, OpenPart(left[rows][:, keep], right[rows], bounds.lower[keep], bounds.upper[keep])


def _reduced(matrix: csr_array, known: Bools) -> csr_array:
    """Return a matrix without the entries of some columns."""
    found: Any = matrix.copy()
    found.data[known[found.indices]] = 0
    found.eliminate_zeros()
    kept: csr_array = found
    return kept
