"""Witnesses: tables near the true one that show, all by themselves, that levels are kept.

A pattern is safe if and only if every requirement has a witness whose moving cells it suppresses.
So the union of the supports of a set of witnesses that serves every requirement is a safe pattern,
and searches may exchange witnesses instead of cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.solve.space import Space

__all__ = ["Witness", "WitnessPool", "along", "witness"]

_ENOUGH = 1 - 1e-9


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
    """

    cells: NDArray[np.int64]
    steps: NDArray[np.float64]
    serves: NDArray[np.bool_]

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
    return witness(space, min(forward, most) * z, -min(back, most) * z)


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
