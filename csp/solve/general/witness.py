"""Witnesses: tables near the true one that show, all by themselves, that levels are kept.

A pattern is safe if and only if every requirement has a witness whose moving cells it suppresses.
So the union of the supports of a set of witnesses that serves every requirement is a safe pattern,
and searches may exchange witnesses instead of cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.exact import common_denominator
from csp.solve.general.space import Space

__all__ = ["SHRINK", "Witness", "WitnessPool", "along", "exactly", "whole_span", "witness"]

_ENOUGH = 1 - 1e-9

# How finely exact shares and multiples are cut.
_FINE = 256
_BITS = 16
SHRINK = (0.9999, 0.999, 0.99, 0.95, 0.9, 0.8, 0.6)
"""By how much a witness may be shrunk until it fits its rooms, in whole ten-thousandths."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Witness:
    """One or two deviation vectors of a space, judged in floats, and what they show.

    Attributes
    ----------
    cells : (w,) int64
        Cells that move in any of them, ascending.
    steps : (2, w) float64
        The vectors on these cells, in table units; the second may be zero.
    serves : (r,) bool
        Which requirements of the space they meet.
    exact : ((2, w) array of int, int) or None
        Numerators of the steps (int64, or Python's integers) and their common denominator, if
        these are known.
    """

    cells: NDArray[np.int64]
    steps: NDArray[np.float64]
    serves: NDArray[np.bool_]
    exact: tuple[NDArray[Any], int] | None = None

    def __repr__(self) -> str:
        return f"Witness({len(self.cells)} cells for {int(self.serves.sum())} requirements)"


def witness(space: Space, first: NDArray[np.float64], second: NDArray[np.float64]) -> Witness:
    """Witness of two deviation vectors (n,) of a space; noise of a solver must be gone."""
    cells = np.flatnonzero((first != 0) | (second != 0))
    top = np.maximum(np.maximum(first, second), 0.0)[space.cell]
    bottom = np.maximum(np.maximum(-first, -second), 0.0)[space.cell]
    reach = np.choose(space.kind, (top, bottom, top + bottom))
    steps = np.stack([first[cells], second[cells]])
    return Witness(cells, steps, reach >= space.need * _ENOUGH)


def along(space: Space, z: NDArray[np.float64]) -> Witness:
    """Witness of all multiples of one direction that stay within the rooms.

    Parameters
    ----------
    space : Space
    z : (n,) float64
        In the null space of the relations; zero where it does not move.
    """
    moving = np.flatnonzero(z)
    if not len(moving):
        return witness(space, z, z)
    rise, size = z[moving] > 0, np.abs(z[moving])
    up, down = space.up[moving], space.down[moving]
    forward = float((np.where(rise, up, down) / size).min())
    back = float((np.where(rise, down, up) / size).min())
    # Where nothing limits the step, twice the largest need is as good as any.
    most = 2.0 * float(space.need.max(initial=1.0)) / float(size.min())
    forward, back = min(forward, most), min(back, most)
    stretched = witness(space, forward * z, -back * z)
    return _in_fractions(space, stretched, z, (forward, back))


def _in_fractions(
    space: Space, other: Witness, z: NDArray[np.float64], stretch: tuple[float, float]
) -> Witness:
    """Find whole numbers along a direction, which a vertex has, and exact multiples of these."""
    moving = np.flatnonzero(z)
    if max(stretch) == 0:
        return other
    size = np.abs(z[moving])
    divisor = common_denominator(z[moving] / size.min())
    if divisor is None:
        return other
    unit = np.zeros(len(z), np.int64)
    unit[moving] = np.rint(z[moving] / size.min() * divisor).astype(np.int64)
    unit //= np.gcd.reduce(unit[moving])
    largest = float(np.abs(unit).max())
    times = [t * float(size.max()) / largest for t in stretch]
    finer = max(0, _BITS - int(np.floor(np.log2(max(min(times), 2.0**-60)))))
    # Whole steps serve attackers who know that cells are whole, too: they come first.
    for bits in (0, finer) if finer else (0,):
        multiples = [int(np.floor(t * 2.0**bits + 1e-9)) for t in times]
        if max(multiples) * largest >= 2.0**60:
            break
        numerators = np.stack([unit * multiples[0], unit * -multiples[1]])
        steps = numerators / 2.0**bits
        found = witness(space, steps[0], steps[1])
        if found.serves[other.serves].all():
            return replace(found, exact=(numerators[:, found.cells], 2**bits))
    return other


def whole_span(span: NDArray[np.float64]) -> tuple[NDArray[np.int64], int] | None:
    """Write vectors (columns) as whole numbers over a common denominator, if a good one exists.

    By Cramer's rule the entries of the columns of a tableau have one, a determinant of the
    relations.
    """
    divisor = common_denominator(span)
    return None if divisor is None else (np.rint(span * divisor).astype(np.int64), divisor)


def exactly(
    space: Space, other: Witness, cells: NDArray[np.int64],
    span: tuple[NDArray[np.int64], int], pivots: NDArray[np.int64],
) -> Witness:  # fmt: skip
    """Find a witness in fractions that serves as much as one in floats, or return the latter.

    Parameters
    ----------
    space : Space
    other : Witness
        Moves none but these cells.
    cells : (m,) int64
    span : ((m, j) int64, int)
        Numerators and denominator of vectors on the cells that span a space of deviations which
        holds its steps.
    pivots : (j,) int64
        Rows in which the j-th vector is 1 and all others are 0.

    Notes
    -----
    Whole multiples of the vectors over their denominator (and over a power of two, for small
    rooms) are deviations as exactly as the vectors are.
    """
    base, divisor = span
    full = np.zeros((2, len(space.up)))
    full[:, other.cells] = other.steps
    shares = full[:, cells[pivots]]
    up, down = space.up[cells], space.down[cells]
    size = float(np.abs(base).max(initial=1)) * float(np.abs(shares).max(initial=1.0))
    if size * _FINE * base.shape[1] >= 2.0**60:
        return other
    for shrink in SHRINK:
        # In int64, so that nothing is lost; the float steps are for searches.
        numerators = np.rint(shrink * _FINE * shares).astype(np.int64) @ base.T
        steps = numerators / (divisor * _FINE)
        if (steps > up * (1 - 1e-12)).any() or (-steps > down * (1 - 1e-12)).any():
            continue
        full[:, cells] = steps
        found = witness(space, full[0], full[1])
        if found.serves[other.serves].all():
            all_cells = np.zeros((2, len(space.up)), np.int64)
            all_cells[:, cells] = numerators
            return replace(found, exact=(all_cells[:, found.cells], divisor * _FINE))
    return other


class WitnessPool:
    """Witnesses in use; the union of their supports is the pattern.

    Parameters
    ----------
    space : Space
    witnesses : iterable of Witness
    """

    def __init__(self, space: Space, witnesses: Iterable[Witness] = ()) -> None:
        self.space = space
        self._members: list[Witness] = []
        self._served = np.zeros(len(space.need), np.int64)
        self._used = np.zeros(space.problem.table.n_cells, np.int64)
        for member in witnesses:
            self.add(member)

    def __repr__(self) -> str:
        return f"WitnessPool({len(self._members)} witnesses, {len(self.missing())} missing)"

    def __len__(self) -> int:
        return len(self._members)

    @property
    def members(self) -> tuple[Witness, ...]:
        """The witnesses in use."""
        return tuple(self._members)

    def add(self, member: Witness) -> None:
        """Take one more witness into use."""
        self._members.append(member)
        self._served += member.serves
        self._used[member.cells] += 1

    def missing(self) -> NDArray[np.int64]:
        """Return the indices of requirements that no witness in use serves."""
        return np.flatnonzero(self._served == 0)

    def serves(self, requirement: int) -> bool:
        """Whether a requirement has a witness in use."""
        return bool(self._served[requirement])

    def pattern(self) -> NDArray[np.bool_]:
        """(n,) bool: what every pattern suppresses and what the witnesses move."""
        return np.asarray(self.space.problem.forced | (self._used > 0))

    def cost(self) -> int:
        """Cost of the free cells of the pattern."""
        return self.space.cost(self.pattern())

    def without(self, cells: NDArray[np.int64]) -> WitnessPool:
        """Return the pool of those witnesses that move none of these cells."""
        banned = np.zeros(len(self._used), bool)
        banned[cells] = True
        return WitnessPool(self.space, (w for w in self._members if not banned[w.cells].any()))

    def inside(self, pattern: NDArray[np.bool_]) -> WitnessPool:
        """Return the pool of those witnesses that move cells of the pattern only."""
        return self.without(np.flatnonzero(~pattern))

    def deviations(self, pattern: NDArray[np.bool_]) -> list[tuple[NDArray[Any], int]]:
        """Return the vectors known exactly that move cells of a pattern only.

        Returns
        -------
        list of ((n,) array of int, int)
            Numerators and their common denominator.
        """
        out = []
        for member in self._members:
            if member.exact is None or not pattern[member.cells].all():
                continue
            for steps in member.exact[0]:
                if steps.any():
                    full = np.zeros(len(pattern), steps.dtype)
                    full[member.cells] = steps
                    out.append((full, member.exact[1]))
        return out

    def prune(self) -> WitnessPool:
        """Return the pool less witnesses that are not needed, those that save most first."""
        left = list(self._members)
        served, used = self._served.copy(), self._used.copy()
        price = self.space.price
        while True:
            spare = [i for i, w in enumerate(left) if (served[w.serves] > 1).all()]
            if not spare:
                return WitnessPool(self.space, left)
            alone = [
                float(price[w.cells[used[w.cells] == 1]].sum())
                for w in map(left.__getitem__, spare)
            ]
            most = spare[int(np.argmax(alone))]
            served -= left[most].serves
            used[left[most].cells] -= 1
            del left[most]
