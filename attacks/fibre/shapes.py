"""The shape of a release: what only its relations and labels tell, worked out once for many.

Where all cells are a network, a table that agrees with a release and the ranges of its suppressed
cells are flows: whole numbers, without a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attacks.fibre.network_ranges import KERNELS, flow_workspace
from csp.attacker.flow import ENDLESS, Network, as_network
from csp.attacker.view import NOTHING, View
from csp.exact import Bools, Ints
from csp.release.release import Release
from csp.solve.order import label_order
from csp.solve.small.flow import MOST, Net
from csp.solve.small.one import net_of, part_of
from csp.tables.codes import Labels
from csp.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FURTHEST = ENDLESS // 2
"""Ends beyond this are those of cells without a bound: 64 cells with bounds add up to less."""


def network_of(table: Table, pattern: Bools) -> Net | None:
    """Suppressed cells as a network of at most 64 cells, or None if they are not one."""
    return None if pattern.sum() > MOST else net_of(View.of(table, pattern))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranged:
    """One table that agrees with a release, and the least and largest values: each (k,) int64."""

    net: Net  # the suppressed cells
    values: Ints
    lower: Ints
    upper: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Shape:
    """What releases with the same relations and labels share."""

    relations: csr_array
    labels: Labels
    roots: tuple[str, ...]

    @classmethod
    def of(cls, release: Release) -> Shape:
        """Shape of a release."""
        return cls(release.relations, Labels.of(release.labels), release.roots)

    def __repr__(self) -> str:
        return f"Shape({len(self.labels)} cells, {self.relations.shape[0]} relations)"

    def fits(self, release: Release) -> bool:
        """Whether a release has this shape."""
        other = release.relations
        return (
            self.relations.shape == other.shape
            and all(
                np.array_equal(getattr(self.relations, part), getattr(other, part))
                for part in ("indptr", "indices", "data")
            )
            and self.roots == release.roots
            and self.labels == release.labels
        )

    @cached_property
    def order(self) -> Ints:
        """Cells in the order of their labels: (n,) int64."""
        return label_order(self)

    @cached_property
    def network(self) -> Network | None:
        """All cells as a network, or None if they are not one."""
        if not self.relations.has_canonical_format:
            return None
        rows, n = self.relations.shape
        return as_network(View(np.arange(n), np.arange(rows), self.relations, NOTHING, NOTHING))

    def ranged(self, release: Release) -> Ranged | None:
        """Find a table that agrees with a release of this shape, and range suppressed cells.

        None where flows do not tell: other relations than those of a network, more than 63
        suppressed cells, cells without an end, or published values that contradict something.
        """
        cells = np.flatnonzero(release.pattern)
        if not 0 < len(cells) < MOST or self.network is None:
            return None
        shown = np.where(release.pattern, 0, release.published)
        fits = (shown >= release.lower) & (shown <= release.upper)
        if not (fits | release.pattern).all():
            return None
        bounds = np.clip(np.stack([release.lower, release.upper])[:, cells], -ENDLESS, ENDLESS)
        x = np.clip(0, *bounds)
        shown[cells] = x
        # The flow out of a node less the flow into it is what its relation adds up to.
        lacks = -(self.relations @ shown) * self.network.sign
        ends = np.stack([self.network.tail[cells], self.network.head[cells]])
        met = np.zeros(len(lacks), dtype=bool)
        met[ends[ends < len(lacks)]] = True
        if lacks[~met].any() or np.abs(lacks).max(initial=0) > _FURTHEST:
            return None
        net, lacks = part_of(self.network, cells), lacks[met]
        reach = np.empty_like(bounds)
        found = KERNELS.run(
            "complete_flow", net, bounds, x, np.append(lacks, -lacks.sum()),
            np.append(net.ends, np.zeros((2, 1), np.int64), axis=1), np.zeros((2, MOST), np.int64),
            np.zeros(2, np.uint64), flow_workspace(net), np.zeros(2, np.uint64), reach, small=True,
        )  # fmt: skip
        return Ranged(net, x, *reach) if found and np.abs(reach).max() <= _FURTHEST else None
