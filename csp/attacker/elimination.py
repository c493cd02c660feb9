"""Exact solution of homogeneous relations some of whose cells are given.

In deep hierarchies the denominators of a deviation can outgrow every integer type of a machine;
here numbers are Python's integers. Sparse elimination with pivots of size 1 keeps whole numbers
whole and leaves a small dense system, which FLINT solves exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.integer_matrices import solve
from csp.clock import UNLIMITED, Clock
from csp.errors import OutOfTime
from csp.exact import Floats, Ints
from csp.sparse import entries

# Time of an exact dense solution, over the cube of its size; measured on one core.
_SECONDS = 6e-9

# Steps of a direction must leave room for multiples of it in 64 bits.
_BITS = 40

# Relations with more unknown cells than this are left to dense arithmetic.
_LONG = 60


def determined(
    matrix: Any, pivots: Ints, values: NDArray[Any], clock: Clock = UNLIMITED
) -> tuple[NDArray[Any], int] | None:
    """Do as `solved`, but find nothing rather than be late."""
    try:
        return solved(matrix, pivots, values, clock)
    except OutOfTime:
        return None


def solved(
    matrix: Any, pivots: Ints, values: NDArray[Any], clock: Clock = UNLIMITED
) -> tuple[NDArray[Any], int] | None:
    """Solve ``matrix @ z = 0`` for the columns of z that the pivots determine, exactly.

    Parameters
    ----------
    matrix : (r, k) csr_array of int
    pivots : (j,) int64
        Columns of the matrix whose values are given; the others depend on them.
    values : (j, v) array of int
        Whole numbers, one column for each vector.
    clock : Clock

    Returns
    -------
    ((k, v) array of int, int) or None
        Numerators, as Python's integers, and one denominator above 0. None if the pivots do not
        determine the rest or no vector has these values.

    Raises
    ------
    OutOfTime
        If what elimination leaves is too large for the time that is left: its solution cannot be
        interrupted.
    """
    k, v = matrix.shape[1], values.shape[1]
    known = np.zeros(k, bool)
    known[pivots] = True
    z = np.full((k, v), 0, object)
    z[pivots] = values.astype(object)
    lines = [entries(matrix, i) for i in range(matrix.shape[0])]
    inside = [{j: a for j, a in line if not known[j]} for line in lines]
    right = [-_total(((j, a) for j, a in line if known[j]), z) for line in lines]
    order, steps = _eliminate(inside, k)
    for i, other, factor in steps:
        right[other] = right[other] - factor * right[i]
    ahead = {i for i, _ in order}
    rows = [i for i, line in enumerate(inside) if line and i not in ahead]
    columns = sorted({j for i in rows for j in inside[i]})
    if len(pivots) + len(order) + len(columns) < k:
        return None
    divisor = 1
    if columns:
        Clock(clock.stop - _SECONDS * len(columns) ** 3).check("an exact basis was solved")
        answer = _dense([inside[i] for i in rows], columns, [right[i] for i in rows])
        if answer is None:
            return None
        inner, divisor = answer
        z *= divisor
        z[columns] = inner
    for i, j in reversed(order):
        line = inside[i]
        z[j] = line[j] * (divisor * right[i] - _total(line.items(), z))
    if any(_total(line, z).any() for line in lines):
        return None
    return z, divisor


def whole_direction(matrix: Any, z: Floats) -> Ints | None:
    """Find whole numbers along a vertex that a solver gave in floats, whatever its magnitude.

    At a vertex few cells, those at a bound, determine all others that move. Their values are
    whole units, so the others follow exactly; floats far beyond 2**32 need not be whole themselves.

    Parameters
    ----------
    matrix : (r, k) csr_array of int
        The relations of the cells that move, and of no others.
    z : (k,) float64
        How far they move, ``matrix @ z = 0`` but for rounding; none is 0.

    Returns
    -------
    (k,) int64 or None
        A multiple of what rounds to `z`, divided by its common divisor. None if no such vector is
        near, if it leaves a cell where it is, or if its numbers need more than 40 bits.
    """
    from scipy.linalg import qr

    k = len(z)
    if not k:
        return None
    # Independent relations decide the cells that follow; small steps are given, as they are whole
    # where floats are.
    ahead = np.argsort(-np.abs(z), kind="stable")
    triangle, places = qr(matrix.toarray()[:, ahead].astype(np.float64), mode="r", pivoting=True)
    size = np.abs(np.diag(triangle))
    rank = int((size > 1e-9 * max(1.0, float(size.max(initial=0.0)))).sum())
    given = np.sort(ahead[places[rank:]])
    if not len(given):
        return None
    values = np.rint(z[given]) if len(given) > 1 else np.sign(z[given])
    whole = np.array([[int(v)] for v in values.tolist()], dtype=object)
    found = determined(matrix, given, whole)
    if found is None:
        return None
    numbers = [int(a) for a in found[0][:, 0]]
    divisor = gcd(*numbers)
    if not all(numbers) or max(map(abs, numbers)) >= divisor * 2**_BITS:
        return None
    steps = np.array([a // divisor for a in numbers], dtype=np.int64)
    scale = float(np.abs(z).max()) / float(np.abs(steps).max())
    return steps if np.allclose(steps * scale, z, rtol=1e-6, atol=1e-6) else None


def _total(line: Iterable[tuple[int, int]], z: NDArray[Any]) -> NDArray[Any]:
    """Sum of the vectors' values in a relation."""
    return sum((a * z[j] for j, a in line), np.full(z.shape[1], 0, object))


def _eliminate(
    inside: list[dict[int, int]], k: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Eliminate cells by entries of size 1 while that adds few entries, in place.

    Parameters
    ----------
    inside : list of dict
        Coefficient of each unknown cell, for every relation.
    k : int
        Number of cells.

    Returns
    -------
    order : list of (int, int)
        Relations with the cells that they define, by cells that are eliminated later or left.
    steps : list of (int, int, int)
        A relation, another from which it was subtracted, and how often.
    """
    holders: list[set[int]] = [set() for _ in range(k)]
    for i, line in enumerate(inside):
        for j in line:
            holders[j].add(i)
    order: list[tuple[int, int]] = []
    steps: list[tuple[int, int, int]] = []
    done = [False] * len(inside)
    alone = [j for j in range(k) if len(holders[j]) == 1]
    heap = [(len(line), i) for i, line in enumerate(inside) if line]
    heapq.heapify(heap)
    while alone or heap:
        if alone:
            j = alone.pop()
            if len(holders[j]) != 1:
                continue
            i = next(iter(holders[j]))
            if abs(inside[i][j]) != 1:
                continue
        else:
            size, i = heapq.heappop(heap)
            if done[i] or size != len(inside[i]) or not size:
                continue
            if size > _LONG:
                break
            ones = [j for j, a in inside[i].items() if abs(a) == 1]
            if not ones:
                continue
            j = min(ones, key=lambda j: (len(holders[j]), j))
        line = inside[i]
        done[i] = True
        order.append((i, j))
        for other in line:
            holders[other].discard(i)
            if len(holders[other]) == 1 and other != j:
                alone.append(other)
        for other in sorted(holders[j]):
            factor = inside[other][j] * line[j]
            steps.append((i, other, factor))
            subtract(inside[other], line, factor, holders, other)
            heapq.heappush(heap, (len(inside[other]), other))
        holders[j] = set()
    return order, steps


def subtract(
    target: dict[int, int], line: dict[int, int], factor: int, holders: list[set[int]], row: int
) -> None:
    """Take a relation so often from another, in place; `holders` are the relations of each cell."""
    for j, a in line.items():
        value = target.get(j, 0) - factor * a
        if value:
            target[j] = value
            holders[j].add(row)
        elif j in target:
            del target[j]
            holders[j].discard(row)


def _dense(
    rows: list[dict[int, int]], columns: list[int], right: list[NDArray[Any]]
) -> tuple[NDArray[Any], int] | None:
    """Solve what elimination has left, which may have more relations than cells."""
    from scipy.linalg import qr

    size = len(columns)
    if len(rows) < size:
        return None
    place = {j: at for at, j in enumerate(columns)}
    dense = np.zeros((len(rows), size), object)
    for at, row in enumerate(rows):
        for j, a in row.items():
            dense[at, place[j]] = a
    # Independent relations; in floats, where a wrong choice only makes the system singular.
    chosen = np.sort(qr(dense.T.astype(np.float64), mode="r", pivoting=True)[1][:size])
    wanted = [right[i].tolist() for i in chosen.tolist()]
    answer = solve(dense[chosen].tolist(), wanted)
    if answer is None:
        return None
    numerators, divisor = answer
    return np.array(numerators, dtype=object), divisor
