"""Capacity cuts of a network as the nodes that they separate: a few bytes for a million cells.

On a network every cell leads from one node to another, so the weight of a cell in a capacity cut
follows from the sides on which its two nodes lie. A large table cannot hold its cuts cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints
from csp.solve.cuts import least_weight
from csp.solve.network.network import HiddenNetwork

# Numbers of nodes times cuts that are spread out at a time.
_SPREAD = 1 << 26


class Arcs:
    """Cells of a network with what their weights rest on.

    Attributes
    ----------
    cells : (k,) int64
        Cells of the table.
    place : (n,) int32
        Position in `cells`; -1 for cells outside the network.
    tail, head : (k,) int32
    up, down : (k,) int64
        Room, at most what counts as endless (more than any level).
    """

    def __init__(self, net: HiddenNetwork) -> None:
        self.cells = net.cells
        self.place = np.full(net.problem.table.n_cells, -1, np.int32)
        self.place[net.cells] = np.arange(len(net.cells), dtype=np.int32)
        self.tail, self.head = net.network.tail.astype(np.int32), net.network.head.astype(np.int32)
        self.up, self.down, self.nodes = net.up, net.down, net.nodes
        self.forced = np.flatnonzero(net.problem.forced[net.cells])
        self.free = np.flatnonzero(net.problem.free[net.cells])

    def support(self, x: Floats) -> Ints:
        """Free cells where a point is not 0."""
        cells = self.cells[self.free]
        return np.asarray(cells[x[cells] != 0])

    def room(
        self, position: NDArray[Any], sign: int, inside: NDArray[Any], most: int,
        own: tuple[int, int] | None = None,
    ) -> Ints:  # fmt: skip
        """How much some cells can carry over the border of a set of nodes, at most `most` each.

        Parameters
        ----------
        position : (v,) int
            Positions in `cells`.
        sign : {1, -1}
            1: cells that lead into the set move up; -1: cells that lead out of it do.
        inside : int array
            Nodes of the set.
        most : int
        own : (int, int), optional
            Where in `position` the primary cell is, and the direction that its level is for.
        """
        member = np.zeros(self.nodes, np.int8)
        member[inside] = sign
        c = member[self.head[position]] - member[self.tail[position]]
        if own is not None:
            c[own[0]] += own[1]
        room = np.where(
            c > 0,
            np.minimum(self.up[position], most),
            np.where(c < 0, np.minimum(self.down[position], most), 0),
        )
        return np.asarray(np.minimum(np.abs(c) * room, most))

    def cut(
        self, p: int, need: int, sides: Sequence[tuple[int, int, NDArray[Any]]]
    ) -> FlowCut | None:
        """Capacity cut of one requirement; the same as `CutFactory.capacity` makes.

        Parameters
        ----------
        p : int
            Position of the primary cell.
        need : int
            Level in units, at most `largest_level`.
        sides : sequence of (direction, sign, nodes)
            Directions that count towards the level, each with a set of nodes; see `room`.

        Returns
        -------
        FlowCut or None
            None if the sets prove nothing.
        """
        own = int(np.searchsorted(self.forced, p))
        # No room counts for more than the level, so the sum fits.
        carried = sum(
            int(self.room(self.forced, sign, inside, need, (own, direction)).sum())
            for direction, sign, inside in sides
        )
        if need <= carried:
            return None
        kept = tuple((sign, inside.astype(np.int32)) for _, sign, inside in sides)
        return FlowCut(self, need - carried, kept)

    @property
    def largest_level(self) -> int:
        """Levels up to which sums over all forced cells fit into 64 bits."""
        return 2**61 // (2 * len(self.forced) + 2)


@dataclass(frozen=True, eq=False, repr=False)
class FlowCut:
    """A capacity cut over all free cells of a network; used like `csp.solve.cuts.Cut`.

    Attributes
    ----------
    arcs : Arcs
    need : int
        What the free cells must carry, in units.
    sides : tuple of (sign, nodes)
        See `Arcs.room`; one or two.
    """

    arcs: Arcs
    need: int
    sides: tuple[tuple[int, NDArray[np.int32]], ...]
    kind = "capacity"
    right = 1.0
    below = np.inf

    @cached_property
    def key(self) -> bytes:
        """Equal for cuts of equal sides."""
        import hashlib

        told = hashlib.blake2b(str(self.need).encode(), digest_size=16)
        for sign, nodes in self.sides:
            told.update(f"|{sign}|{len(nodes)}|".encode())
            told.update(nodes.tobytes())
        return told.digest()

    def at(self, cells: Ints) -> Floats:
        """Weights of some cells of the table; free or not, outside the network 0."""
        position = self.arcs.place[cells]
        inside = position >= 0
        total = np.zeros(len(cells), np.int64)
        for sign, nodes in self.sides:
            total[inside] += self.arcs.room(position[inside], sign, nodes, self.need)
        return np.where(total > 0, least_weight(total, self.need), 0.0)

    @property
    def cells(self) -> Ints:
        """Free cells with a weight, ascending: made anew at each call."""
        free = np.sort(self.arcs.cells[self.arcs.free])
        return free[self.at(free) > 0]

    @property
    def weights(self) -> Floats:
        """Their weights, made anew at each call."""
        return self.at(self.cells)

    def within(self, alive: Bools) -> FlowCut:
        """Return the cut itself: who asks for weights names the cells."""
        return self

    def slack(self, x: Floats, among: Ints | None = None) -> float:
        """Left side minus right side at a point; negative where the point is cut off.

        Parameters
        ----------
        x : (n,) float64
        among : int array, optional
            The free cells where it is not 0, if they are known.
        """
        cells = self.arcs.support(x) if among is None else among
        return float(self.at(cells) @ x[cells]) - self.right


def pay_for_cuts(
    reduced: Floats, tail: NDArray[np.int32], head: NDArray[np.int32], up: Ints, down: Ints,
    side: NDArray[np.int8], signs: NDArray[np.int8], need: Ints, price: Floats, most: int,
) -> None:  # fmt: skip
    """Subtract from each cell what cuts pay for it.

    Parameters
    ----------
    reduced : (k,) float64
        Read and written.
    tail, head, up, down : (k,) int
    side : (nodes, c) int8
        Bit 0: the node is in the first set of the cut; bit 1: in the second.
    signs : (2, c) int8
    need : (c,) int64
    price : (c,) float64
    most : int
        The largest of `need`.
    """
    for i in range(len(reduced)):
        one, other = side[head[i]], side[tail[i]]
        paid = 0.0
        if up[i] >= most and down[i] >= most:
            # The common case: every border that the cell crosses, it crosses with full weight.
            for q in range(len(price)):
                paid += price[q] if one[q] != other[q] else 0.0
        else:
            for q in range(len(price)):
                if one[q] == other[q]:
                    continue
                room = 0
                for turn in range(2):
                    c = signs[turn, q] * (((one[q] >> turn) & 1) - ((other[q] >> turn) & 1))
                    if c > 0:
                        room += min(up[i], need[q])
                    elif c < 0:
                        room += min(down[i], need[q])
                if room > 0:
                    share = max(min(room, need[q]) / need[q], 1e-6)
                    paid += price[q] * (1.0 if share > 1 - 1e-9 else share)
        reduced[i] -= paid


# Sums in any order: nothing but a float bound with its allowance for noise rests on them.
KERNELS = Kernels(__name__, "pay_for_cuts", fastmath={"reassoc", "contract"})


def subtract_prices(
    reduced: Floats, position: NDArray[Any], cuts: list[FlowCut], price: Floats,
) -> Floats:  # fmt: skip
    """Return costs less what cuts pay.

    Parameters
    ----------
    reduced : (v,) float64
    position : (v,) int
        Positions of the cells in the `Arcs` that all cuts share.
    cuts : list of FlowCut
    price : (len(cuts),) float64
    """
    if not cuts:
        return reduced
    arcs = cuts[0].arcs
    rest = reduced.copy()
    width = max(1, _SPREAD // arcs.nodes)
    ends = (arcs.tail[position], arcs.head[position], arcs.up[position], arcs.down[position])
    for begin in range(0, len(cuts), width):
        part = cuts[begin : begin + width]
        side = np.zeros((len(part), arcs.nodes), np.int8)
        signs = np.zeros((2, len(part)), np.int8)
        need = np.array([cut.need for cut in part], np.int64)
        for q, cut in enumerate(part):
            for turn, (sign, nodes) in enumerate(cut.sides):
                side[q, nodes] |= 1 << turn
                signs[turn, q] = sign
        KERNELS.compiled["pay_for_cuts"](
            rest, *ends, np.ascontiguousarray(side.T), signs, need,
            price[begin : begin + width], int(need.max()),
        )  # fmt: skip
    return rest
