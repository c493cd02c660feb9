"""Unknowns that equations bind to each other up to sign, and those that they rule out.

An equation with one unknown left rules it out; one with two of the same size binds these to each
other. The unknowns are multipliers of relations that must cancel (`proofs`), or deviations of cells
that keep every relation (`parallel_cells`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Bools, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KERNELS = Kernels(__name__, "root", "bind")

_SMALL = 2000
"""Equations of a call that may run uncompiled."""

_PASSES = 200
"""Passes over equations while classes grow; each settles most of what is left."""


def signed_classes(equations: csr_array, left: Bools) -> tuple[Ints, Ints]:
    """Class of each unknown, and its sign there.

    Parameters
    ----------
    equations : (e, n) csr_array of int64
        ``equations @ y == 0``.
    left : (e,) bool
        Equations that are looked at, changed in place: those that are not settled stay.

    Returns
    -------
    (n,) int64, (n,) int64
        The unknown that stands for the class, -1 where an unknown is 0; and 1 or -1.
    """
    n = equations.shape[1]
    parent, sign, dead = np.arange(n), np.ones(n, np.int64), np.zeros(n, bool)
    for _ in range(_PASSES):
        settled = KERNELS.run(
            "bind", equations.indptr, equations.indices, equations.data, parent, sign, dead, left,
            small=len(left) <= _SMALL,
        )  # fmt: skip
        if not settled:
            break
    top, turn = np.arange(n), np.ones(n, np.int64)
    while (parent[top] != top).any():
        turn *= np.where(parent[top] != top, sign[top], 1)
        top = parent[top]
    return np.where(dead[top], -1, top), turn


# ---- loops ---------------------------------------------------------------------------------------


def root(parent: Ints, sign: Ints, own: int) -> tuple[int, int]:
    """Unknown that stands for the class of another, and the sign between the two."""
    top, turn = own, 1
    while parent[top] != top:
        turn *= sign[top]
        top = parent[top]
    # The way is short from now on.
    at, left = own, turn
    while parent[at] != at:
        above, old = parent[at], sign[at]
        parent[at], sign[at] = top, left
        at, left = above, left * old
    return top, turn


def bind(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], signs: Ints, parent: Ints, sign: Ints,
    dead: Bools, left: Bools,
) -> int:  # fmt: skip
    """Go over the equations once; returns how many were settled."""
    settled = 0
    tops = np.zeros(64, np.int64)
    sums = np.zeros(64, np.int64)
    for row in range(len(left)):
        if not left[row] or indptr[row + 1] - indptr[row] > 64:
            continue
        count = 0
        for e in range(indptr[row], indptr[row + 1]):
            top, turn = root(parent, sign, indices[e])
            if dead[top]:
                continue
            at = 0
            while at < count and tops[at] != top:
                at += 1
            if at == count:
                tops[at], sums[at] = top, 0
                count += 1
            sums[at] += turn * signs[e]
        kept = 0
        for at in range(count):
            if sums[at] != 0:
                tops[kept], sums[kept] = tops[at], sums[at]
                kept += 1
        if kept == 1:
            dead[tops[0]] = True
        elif kept == 2 and abs(sums[0]) == abs(sums[1]):
            # sums[0] * y0 + sums[1] * y1 = 0
            parent[tops[0]] = tops[1]
            sign[tops[0]] = -1 if sums[0] == sums[1] else 1
        elif kept:
            continue
        left[row] = False
        settled += 1
    return settled
