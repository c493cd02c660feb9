"""Witnesses in whole numbers along vectors of a subspace that are known in floats.

Within the subspace of a pattern a few independent cells, the pivots, determine all others. In deep
hierarchies the denominators of what they determine can outgrow every integer type of a machine:
numbers are Python's integers then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from csp.attacker.elimination import determined
from csp.attacker.exact import common_denominator
from csp.clock import UNLIMITED, Clock
from csp.exact import Floats, Ints
from csp.solve.witnesses.block import whole_steps
from csp.solve.witnesses.field import Field, Witness, followed

# Values of pivots are cut to these parts of a unit, and to the finer one before elimination.
_FINE = (2**8, 2**20)


@dataclass(frozen=True, eq=False, repr=False)
class Subspace:
    """Deviations of some cells, spanned by columns.

    Attributes
    ----------
    field : Field
    cells : (m,) int64
        Cells that move in it, ascending.
    span : (m, j) float64
    pivots : (j,) int64
        Rows in which the j-th column is 1 and all others are 0.
    """

    field: Field
    cells: Ints
    span: Floats
    pivots: Ints

    def __repr__(self) -> str:
        return f"Subspace({len(self.cells)} cells, {len(self.pivots)} dimensions)"

    @cached_property
    def relations(self) -> csr_array:
        """Relations of the cells, and of no others."""
        matrix = csr_array(self.field.columns[:, self.cells])
        return csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))]).astype(np.int64)

    @cached_property
    def whole(self) -> Ints | None:
        """Span times a common denominator, where a good one exists.

        By Cramer's rule the entries of the columns of a tableau have one, a determinant of the
        relations.
        """
        divisor = common_denominator(self.span)
        return None if divisor is None else np.rint(self.span * divisor).astype(np.int64)


def witnesses_along(
    subspace: Subspace, vectors: list[Floats], clock: Clock = UNLIMITED
) -> list[Witness]:
    """Find witnesses that serve what vectors of a subspace serve.

    Parameters
    ----------
    subspace : Subspace
    vectors : list of (m,) float64
        In units of the table.
    clock : Clock
        What would end after it is not begun.

    Returns
    -------
    list of Witness
        One for each vector along which whole numbers were found; it may serve less.
    """
    best: list[Witness | None] = [None] * len(vectors)
    lacking = []
    for i, z in enumerate(vectors):
        goal = _served(subspace, z)
        if not _improve(subspace, best, i, goal, _quickly(subspace, z)):
            lacking.append((i, goal))
    if lacking:
        found = _by_elimination(subspace, [vectors[i] for i, _ in lacking], clock)
        for (i, goal), steps in zip(lacking, found, strict=False):
            _improve(subspace, best, i, goal, [steps])
    return [one for one in best if one is not None]


def _improve(
    subspace: Subspace, best: list[Witness | None], i: int, goal: int,
    offered: Iterator[NDArray[Any]] | list[NDArray[Any]],
) -> bool:  # fmt: skip
    """Take the offered steps that serve most into a list; say if they serve as many as wanted."""
    one = best[i]
    most = 0 if one is None else len(subspace.field.served(one))
    for steps in offered:
        at = np.flatnonzero(steps)
        if not len(at):
            continue
        made = subspace.field.along(subspace.cells[at], steps[at])
        serves = len(subspace.field.served(made))
        if serves > most:
            best[i], most = made, serves
        if most >= goal:
            return True
    return False


def _served(subspace: Subspace, z: Floats) -> int:
    """Count the requirements that a vector serves, judged in floats."""
    field = subspace.field
    at = np.flatnonzero(z)
    cells = subspace.cells[at]
    return len(field.met(cells, *followed(z[at], field.up[cells], field.down[cells])))


def _quickly(subspace: Subspace, z: Floats) -> Iterator[NDArray[Any]]:
    """Whole numbers in proportion to a vector, or near it, that take little time."""
    steps = whole_steps(subspace.relations, z)
    if steps is not None:
        yield steps
    if subspace.whole is None:
        return
    shares = z[subspace.pivots]
    size = float(np.abs(subspace.whole).max(initial=1)) * float(np.abs(shares).max(initial=1.0))
    for fine in _FINE:
        if size * fine * len(shares) < 2.0**60:
            near = subspace.whole @ np.rint(fine * shares).astype(np.int64)
            yield near // max(int(np.gcd.reduce(near)), 1)


def _by_elimination(subspace: Subspace, vectors: list[Floats], clock: Clock) -> list[NDArray[Any]]:
    """Whole numbers near vectors, whatever their size; none if there is no time for them."""
    shares = np.rint(np.stack(vectors, axis=1)[subspace.pivots] * _FINE[-1])
    values = np.array([[int(a) for a in line] for line in shares.tolist()], dtype=object)
    answer = determined(subspace.relations, subspace.pivots, values.reshape(shares.shape), clock)
    if answer is None:
        return []
    found = []
    for steps in answer[0].T:
        whole = steps // max(int(np.gcd.reduce(steps)), 1)
        small = max((abs(a) for a in whole.tolist()), default=0) < 2**62
        found.append(whole.astype(np.int64) if small else whole)
    return found
