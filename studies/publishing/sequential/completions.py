"""All tables of a small network that agree off a pattern: for many patterns of one structure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.network_search import free_cells
from attacks.fibre import kernel_walk
from attacks.fibre.kernel_basis import kernel
from attacks.fibre.shapes import network_of
from csp.attacker.view import View
from csp.errors import InputError
from csp.exact import MAX_VALUE
from csp.tables.table import Table

_FAR = np.int64(4 * MAX_VALUE)
_ENDLESS = 2**62


class Completions:
    """Tables of one structure that agree with a given one off a pattern.

    Parameters
    ----------
    table : Table
        Relations and bounds.
    cap : int
        Number of tables beyond which none are listed.
    """

    def __init__(self, table: Table, cap: int) -> None:
        self._table, self._cap = table, cap
        self._networks: dict[bytes, tuple[View, NDArray[np.int64]]] = {}

    def __repr__(self) -> str:
        return f"Completions({self._table!r}, at most {self._cap})"

    def of(self, values: NDArray[np.int64], pattern: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """List the tables.

        Parameters
        ----------
        values : (n,) int64
        pattern : (n,) bool

        Returns
        -------
        (t, n) int64 or None
            None if they are more than the cap. The answer is the same, up to order, for each of the
            tables listed.

        Raises
        ------
        InputError
            If the suppressed cells are not a small network.
        """
        if not pattern.any():
            return values[None].copy() if self._cap else None
        view, _ = self._network(pattern)
        table, cells = self._table, view.cells
        lower = np.maximum(table.lower[cells], -_FAR)
        upper = np.minimum(table.upper[cells], _FAR)
        # One more than may be listed tells that they are too many.
        search = kernel_walk.start(kernel(view.matrix), values[cells], lower, upper, self._cap + 1)
        while search.state[kernel_walk.DEPTH] >= 0 and search.state[kernel_walk.KEPT] <= self._cap:
            kernel_walk.go_on(search, _ENDLESS)
        count = int(search.state[kernel_walk.KEPT])
        if count > self._cap:
            return None
        out = np.repeat(values[None], count, axis=0)
        out[:, cells] = search.kept[:count]
        return out

    def determining(self, pattern: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Cells of a pattern whose values tell all others: (d,) int64."""
        view, order = self._network(pattern)
        return view.cells[order]

    def _network(self, pattern: NDArray[np.bool_]) -> tuple[View, NDArray[np.int64]]:
        key = pattern.tobytes()
        if key not in self._networks:
            net = network_of(self._table, pattern)
            if net is None:
                msg = "the suppressed cells do not form a network of at most 64 cells"
                raise InputError(msg)
            self._networks[key] = View.of(self._table, pattern), free_cells(net)
        return self._networks[key]
