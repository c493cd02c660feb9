"""What the public sees of a protected table, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from csp.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Release"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """A published table: relations, published values, and which cells are missing.

    Attributes
    ----------
    published : (n,) int64
        Values in units of ``10**-scale``; 0 where suppressed (read `pattern` first).
    pattern : (n,) bool
        Suppressed cells. Primary and secondary ones are not told apart: telling them apart
        discloses that a primary cell is below the threshold.
    relations : (m, n) csr_array of int64
    lower, upper : (n,) int64
        What any outsider knows of each cell beforehand.
    labels : tuple of tuple of str
    scale : int
    names, roots : tuple of str
        Dimensions and the codes of their totals.
    """

    published: NDArray[np.int64]
    pattern: NDArray[np.bool_]
    relations: csr_array
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    labels: tuple[tuple[str, ...], ...]
    scale: int
    names: tuple[str, ...]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, pattern: NDArray[np.bool_]) -> Release:
        """Release of a table under a pattern; holds no suppressed value."""
        published = np.where(pattern, 0, table.values)
        flags = np.array(pattern, dtype=bool)
        for array in (published, flags):
            array.flags.writeable = False
        return cls(
            published, flags, table.relations, table.lower, table.upper, table.labels,
            table.scale, table.names, table.roots,
        )  # fmt: skip

    def __repr__(self) -> str:
        hidden = int(self.pattern.sum())
        return f"Release({' x '.join(self.names)}: {len(self.pattern)} cells, {hidden} suppressed)"
