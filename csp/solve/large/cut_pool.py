"""Capacity cuts that were found in one region and hold in all: a region begins with what is known.

Regions overlap and are solved again and again. Without a pool each derives the same cuts anew,
and most of its time goes into the attacker's programs for that.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from csp.exact import Floats, Ints
from csp.problem.problem import Problem
from csp.solve.cuts import CutFactory
from csp.solve.large.region_programs import Objection

# Cuts that are kept, the latest ones: of some 40 cells each, 10 MB.
_MOST = 20_000

_ZERO = 1e-9


class CutPool:
    """Cuts ``rows @ x >= 1`` of one problem, x over all cells.

    They hold for the levels that `csp.solve.witnesses.field.Field` asks for. Of a width that is one
    way to part it, so that no bound on the cost of all safe patterns follows from them there.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self._cutter = CutFactory(problem)
        self._keys: dict[bytes, None] = {}
        self._rows = csr_array((0, problem.table.n_cells))
        self._columns = csc_array(self._rows)

    def add(self, objections: Iterable[Objection]) -> None:
        """Take in what programs of a region object to."""
        cells, weights, ends = [], [], [0]
        for one in objections:
            side = (one.sign, one.relations, one.numerators, one.divisor)
            cut = self._cutter.capacity(one.cell, one.need, [side])
            if cut is not None and cut.key not in self._keys:
                self._keys[cut.key] = None
                cells.append(cut.cells)
                weights.append(cut.weights)
                ends.append(ends[-1] + len(cut.cells))
        if cells:
            shape = (len(cells), self._rows.shape[1])
            new = csr_array((np.concatenate(weights), np.concatenate(cells), ends), shape=shape)
            self._rows = csr_array(vstack([self._rows, new], format="csr")[-_MOST:])
            self._columns = csc_array(self._rows)
            self._keys = dict.fromkeys([*self._keys][-_MOST:])

    def asked(self, inside: Ints, fixed: Floats) -> tuple[csr_array, Floats]:
        """Return what cuts ask of some cells, (c, v), and how much at least, (c,).

        Parameters
        ----------
        inside : (v,) int64
            Cells to decide on.
        fixed : (n,) float64
            1 at suppressed cells that stay so.
        """
        touching = np.unique(csc_array(self._columns[:, inside]).indices)
        rows = csr_array(self._rows[touching])
        lower = 1.0 - np.asarray(rows @ fixed)
        asking = np.flatnonzero(lower > _ZERO)
        return csr_array(csr_array(rows[asking])[:, inside]), lower[asking]
