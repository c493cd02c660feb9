"""Exact sparse bases of the deviations that no relation notices.

Gauss-Jordan elimination in whole numbers, rows as dictionaries: relations of tables hold few cells
with coefficients of 1, and so do most rows that elimination makes of them. (The lattice of whole
deviations, which is finer, is that of `attacks.fibre.kernel_basis`.)
"""

from __future__ import annotations

import heapq
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from csp.attacker.elimination import subtract
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError
from csp.exact import Ints
from csp.sparse import entries

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_ENTRIES = 2_000_000
"""Entries of a basis, and of the rows on the way to it, beyond which it is not worth having."""

# Of entries of a basis and sums of those of a relation: their products are exact in 64 bits.
_BITS = 31

_ROWS_A_LOOK = 64


def null_space(
    matrix: csr_array,
    first: Ints,
    *,
    most: int = MOST_ENTRIES,
    clock: Clock = UNLIMITED,
) -> tuple[csr_array, Ints] | None:
    """Compute a basis of all vectors z with ``matrix @ z = 0``.

    Parameters
    ----------
    matrix : (m, n) csr_array of int64
    first : (n,) int64
        Columns in the order in which they are preferred as pivots: those that come first tend to
        depend on those that come last. Every pivot has an entry of 1 or -1 while there is one.
    most : int
        Entries at most.
    clock : Clock

    Returns
    -------
    basis : (n, d) csr_array of int64
        Its columns are a basis of the null space over the rationals, each without a common divisor.
    axes : (d,) int64
        Independent columns of the matrix: row ``axes[j]`` of the basis is a positive multiple of
        the j-th unit vector.
        None in place of both if there are more entries than `most`, if one needs more than 31 bits,
        or if the time is over.

    Raises
    ------
    CertificateError
        If the vectors break a relation.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> basis, axes = null_space(csr_array(np.array([[1, 1, -1], [0, 2, -1]])), np.array([2, 1, 0]))
    >>> basis.toarray().T.tolist(), axes.tolist()
    ([[1, 1, 2]], [0])
    """
    from scipy.sparse import csr_array

    n = matrix.shape[1]
    place = np.empty(n, np.int64)
    place[first] = np.arange(n)
    solved = _reduced(matrix, place.tolist(), most, clock)
    if solved is None:
        return None
    dependent = {j for _, j in solved}
    axes = [j for j in range(n) if j not in dependent]
    column = {j: at for at, j in enumerate(axes)}
    # A basis vector is as long as all its entries need to be whole.
    scale = [1] * len(axes)
    for line, pivot in solved:
        for j, a in line.items():
            if j != pivot:
                at, size = column[j], abs(line[pivot])
                scale[at] = lcm(scale[at], size // gcd(size, a))
    rows, columns, values = list(axes), list(range(len(axes))), list(scale)
    for line, pivot in solved:
        for j, a in line.items():
            if j != pivot:
                rows.append(pivot)
                columns.append(column[j])
                values.append(-a * scale[column[j]] // line[pivot])
    longest = int(np.diff(matrix.indptr).max(initial=0))
    largest = int(np.abs(matrix.data).max(initial=0))
    size = max(map(abs, values), default=0)
    if len(values) > most or max(size, largest * longest) >= 2**_BITS:
        return None
    basis = csr_array(
        (np.array(values, np.int64), (np.array(rows, np.int64), np.array(columns, np.int64))),
        shape=(n, len(axes)),
    )
    basis.sort_indices()
    if (matrix @ basis).data.any():
        msg = "a vector of the null space breaks a relation"
        raise CertificateError(msg)
    return basis, np.array(axes, np.int64)


def _reduced(
    matrix: csr_array, place: list[int], most: int, clock: Clock
) -> list[tuple[dict[int, int], int]] | None:
    """Bring relations into reduced form: each with its pivot, which no other holds."""
    lines = [dict(entries(matrix, i)) for i in range(matrix.shape[0])]
    holders: list[set[int]] = [set() for _ in place]
    for i, line in enumerate(lines):
        for j in [j for j, a in line.items() if not a]:
            del line[j]
        for j in line:
            holders[j].add(i)
    size = sum(map(len, lines))
    pivots: dict[int, int] = {}
    waiting = [(len(line), i) for i, line in enumerate(lines)]
    heapq.heapify(waiting)
    looks = 0
    while waiting:
        count, i = heapq.heappop(waiting)
        line = lines[i]
        if not line or i in pivots:
            continue
        if count != len(line):
            heapq.heappush(waiting, (len(line), i))
            continue
        looks += 1
        if size > most or (looks % _ROWS_A_LOOK == 0 and clock.over):
            return None
        pivot = min(line, key=lambda j: (abs(line[j]), place[j]))
        pivots[i] = pivot
        for other in sorted(holders[pivot] - {i}):
            size -= len(lines[other])
            lines[other] = _without(lines[other], line, pivot, holders, other)
            size += len(lines[other])
            if other not in pivots:
                heapq.heappush(waiting, (len(lines[other]), other))
    return [(lines[i], pivot) for i, pivot in pivots.items()]


def _without(
    target: dict[int, int], line: dict[int, int], pivot: int, holders: list[set[int]], row: int
) -> dict[int, int]:
    """Subtract a relation from another, so that this no longer holds the pivot."""
    common = gcd(line[pivot], target[pivot])
    times, factor = line[pivot] // common, target[pivot] // common
    out = target if times == 1 else {j: times * a for j, a in target.items()}
    subtract(out, line, factor, holders, row)
    if times != 1:
        divisor: Any = gcd(*out.values())
        if divisor > 1:
            out = {j: a // divisor for j, a in out.items()}
    return out
