"""All tables of a small network that agree off a pattern, listed by compiled loops.

The search of `attacks.algorithm_known.network_enumeration` without its tests, for many patterns and
tables of one structure.
Plain functions that numba compiles (`compiled`); run uncompiled they are the oracle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.network_search import free_cells, network_of
from attacks.fibre import network_ranges
from attacks.fibre.network_ranges import set_cell, update_slack
from csp.errors import InputError
from csp.numbers import MAX_VALUE
from csp.solve.bitflow import MOST, NONE, ONE, Net, push
from csp.table import Table

__all__ = ["Completions", "compiled", "list_tables"]

_FAR = np.int64(4 * MAX_VALUE)


def list_tables(
    net: Net, order: NDArray[np.int64], bounds: NDArray[np.int64], x: NDArray[np.int64],
    slack: NDArray[np.int64], moves: NDArray[np.uint64], flow: NDArray[np.int64],
    found: NDArray[np.uint64], span: NDArray[np.int64], kept: NDArray[np.int64],
) -> int:  # fmt: skip
    """List all tables of a network, up to a number.

    Parameters
    ----------
    net : Net
    order : (d,) int64
        Cells to fix one after the other; then the others follow.
    bounds : (2, k) int64
    x : (k,) int64
        One table; it changes.
    slack, moves, flow, found
        As in `attacks.algorithm_known.network_enumeration.SearchState`; slack and moves are
        written here.
    span : (2, d + 1) int64
        Room for work.
    kept : (c, k) int64
        Written: the tables.

    Returns
    -------
    int
        Number of tables; -1 if they are more than `kept` holds.
    """
    every = NONE
    for e in range(len(x)):
        every |= ONE << np.uint64(e)
        update_slack(bounds, x, slack, moves, e)
    inside = every
    depth, count = 0, 0
    fresh = True
    while depth >= 0:
        if fresh:
            if depth == len(order):
                if count == len(kept):
                    return -1
                kept[count] = x
                count += 1
                depth -= 1
                fresh = False
                continue
            e = order[depth]
            up = push(
                net.ends, net.star, slack, moves, flow, found, inside, NONE, e, 0, slack[0, e]
            )
            down = push(
                net.ends, net.star, slack, moves, flow, found, inside, NONE, e, 1, slack[1, e]
            )
            span[0, depth], span[1, depth] = x[e] - down, x[e] + up
        e = order[depth]
        if span[0, depth] > span[1, depth]:
            inside |= ONE << np.uint64(e)
            depth -= 1
            fresh = False
            continue
        # The cells fixed so far stay; this one may still move.
        inside |= ONE << np.uint64(e)
        set_cell(net, bounds, x, slack, moves, flow, found, inside, e, span[0, depth])
        inside &= ~(ONE << np.uint64(e))
        span[0, depth] += 1
        depth += 1
        fresh = True
    return count


_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twin of `list_tables`."""
    if not _compiled:
        import sys

        from csp.compiled import compile_together
        from csp.solve import bitflow, kernels

        modules = (bitflow, network_ranges, sys.modules[__name__])
        names = ("update_slack", "set_cell", "list_tables")
        _compiled.update(compile_together(modules, names, kernels.compiled()))
    return _compiled


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
        self._networks: dict[bytes, tuple[Net, NDArray[np.int64], NDArray[np.int64]]] = {}
        self._room = np.zeros((2, MOST), dtype=np.int64)
        self._moves = np.zeros(2, dtype=np.uint64)
        self._found = np.zeros(2, dtype=np.uint64)

    def __repr__(self) -> str:
        return f"Completions({self._table!r}, at most {self._cap})"

    def of(
        self, values: NDArray[np.int64], pattern: NDArray[np.bool_], *, plain: bool = False
    ) -> NDArray[np.int64] | None:
        """List the tables.

        Parameters
        ----------
        values : (n,) int64
        pattern : (n,) bool
        plain : bool
            Run the function uncompiled.

        Returns
        -------
        (t, n) int64 or None
            None if they are more than the cap. The answer is the same, up to order, for each of the
            tables listed.

        Raises
        ------
        InputError
            If the suppressed cells are no small network.
        """
        if not pattern.any():
            return values[None].copy() if self._cap else None
        net, order, cells = self._network(pattern)
        table = self._table
        x = values[cells].copy()
        bounds = np.stack(
            [np.maximum(table.lower[cells], -_FAR), np.minimum(table.upper[cells], _FAR)]
        )
        kept = np.zeros((self._cap, len(cells)), dtype=np.int64)
        flow = np.zeros((3, max(net.star.shape[1], MOST)), dtype=np.int64)
        span = np.zeros((2, len(order) + 1), dtype=np.int64)
        self._moves[:] = 0
        run = list_tables if plain else compiled()["list_tables"]
        count = run(net, order, bounds, x, self._room, self._moves, flow, self._found, span, kept)
        if count < 0:
            return None
        out = np.repeat(values[None], count, axis=0)
        out[:, cells] = kept[:count]
        return out

    def determining(self, pattern: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Cells of a pattern whose values tell all others: (d,) int64."""
        _, order, cells = self._network(pattern)
        return cells[order]

    def _network(
        self, pattern: NDArray[np.bool_]
    ) -> tuple[Net, NDArray[np.int64], NDArray[np.int64]]:
        key = pattern.tobytes()
        if key not in self._networks:
            net = network_of(self._table, pattern)
            if net is None:
                msg = "the suppressed cells are no network of at most 64 cells"
                raise InputError(msg)
            self._networks[key] = net, free_cells(net), np.flatnonzero(pattern)
        return self._networks[key]
