"""Witnesses in rationals of any size, from witnesses in floats.

Within the subspace of a pattern a few independent cells, the pivots, determine all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from csp.attacker.elimination import determined
from csp.clock import UNLIMITED, Clock
from csp.solve.general.space import Space
from csp.solve.general.witness import SHRINK, Witness, witness

__all__ = ["in_rationals"]

# Given values are cut to this part of a unit.
_FINE = 2**20


def in_rationals(
    space: Space, others: Sequence[Witness], cells: NDArray[np.int64],
    pivots: NDArray[np.int64], clock: Clock = UNLIMITED,
) -> list[Witness]:  # fmt: skip
    """Find witnesses in rationals for those known in floats only; see `witness.exactly`.

    Parameters
    ----------
    space : Space
    others : sequence of Witness
        They move none but these cells.
    cells : (m,) int64
    pivots : (j,) int64
        Positions among the cells that determine all others.
    clock : Clock
        What would end after it is not begun.

    Returns
    -------
    list of Witness
        As many; those for which nothing better was found as they were.
    """
    from scipy.sparse import csr_array

    out = list(others)
    lacking = [i for i, other in enumerate(out) if other.exact is None]
    if not lacking:
        return out
    full = np.zeros((len(lacking), 2, len(space.up)))
    for place, i in enumerate(lacking):
        full[place][:, out[i].cells] = out[i].steps
    part = csr_array(space.relations[:, cells])
    part = csr_array(part[np.flatnonzero(np.diff(part.indptr))])
    shares = np.rint(full[:, :, cells[pivots]] * _FINE).reshape(2 * len(lacking), len(pivots))
    values = np.array([[int(a) for a in line] for line in shares.T.tolist()], dtype=object)
    answer = determined(part, pivots, values.reshape(len(pivots), 2 * len(lacking)), clock)
    if answer is None:
        return out
    z, divisor = answer
    up, down = space.up[cells], space.down[cells]
    for place, i in enumerate(lacking):
        numerators = z[:, 2 * place : 2 * place + 2].T
        steps = (numerators / (divisor * _FINE)).astype(np.float64)
        # Whole vectors may fill a room to the last unit.
        for shrink in (1.0, *SHRINK):
            limit = 1.0 if shrink == 1 else 1 - 1e-12
            if (shrink * steps > up * limit).any() or (-shrink * steps > down * limit).any():
                continue
            wide = np.zeros((2, len(space.up)))
            wide[:, cells] = shrink * steps
            found = witness(space, wide[0], wide[1])
            if found.serves[out[i].serves].all():
                moving = np.searchsorted(cells, found.cells)
                exact = numerators[:, moving] * round(shrink * 10_000)
                if max((abs(a) for a in exact.ravel()), default=0) < 2**62:
                    exact = exact.astype(np.int64)
                out[i] = replace(found, exact=(exact, divisor * _FINE * 10_000))
                break
    return out
