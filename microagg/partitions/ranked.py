"""A masked file in which each attribute has groups of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.partitions.partition import Partition

__all__ = ["Ranked"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranked:
    """Individual ranking of several attributes.

    Attributes
    ----------
    partitions : tuple of Partition
        One for each attribute, of that attribute alone.
    library : str
        Library of the caller's frame.
    """

    partitions: tuple[Partition, ...]
    library: str = ""

    def __repr__(self) -> str:
        n = len(self.partitions[0].labels)
        return (
            f"Ranked({n} records, {len(self.partitions)} attributes, information loss "
            f"{self.information_loss:.4f} %)"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes."""
        return tuple(part.names[0] for part in self.partitions)

    @property
    def information_loss(self) -> float:
        """100 * SSE / SST in percent over standardised attributes: the mean over them."""
        return float(np.mean([part.information_loss for part in self.partitions]))

    @property
    def masked(self) -> NDArray[np.float64]:
        """Every value replaced by the mean of its group, shape (n, d)."""
        return np.hstack([part.masked for part in self.partitions])

    def to_frame(self, library: str | None = None) -> Any:
        """Masked file in the caller's kind of frame; see `Partition.to_frame`."""
        from csp.frames import columns_to_frame

        masked = self.masked
        columns = {name: masked[:, j] for j, name in enumerate(self.names)}
        return columns_to_frame(columns, self.library if library is None else library)
