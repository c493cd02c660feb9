"""A partition of records into clusters, and the masked file it gives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.tables.cross.frames import columns_to_frame
from csp.tables.cross.html import notebook_list
from microagg.kept import kept_beside
from microagg.records import Floats, Frozen, Ints, Records, check_k, read_records
from microagg.scaling import scaled

__all__ = [
    "MaskedFile",
    "Partition",
    "Ranked",
    "cluster_sums",
    "in_clusters",
    "information_loss",
    "records_of",
]


class MaskedFile(Frozen, ABC):
    """A file whose columns can be published."""

    __slots__ = ()

    library: str
    index: Any = None

    @abstractmethod
    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name."""

    def to_frame(
        self, library: str | None = None, *, keep: Any = None, keep_identifiers: bool = False
    ) -> Any:
        """Masked file in the caller's kind of frame, missing where a cell is suppressed.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            That of the caller's data by default, or the first that is installed.
        keep : data frame or mapping of columns, optional
            Columns to be published as they are beside the masked ones, one row for each record that
            was given.
        keep_identifiers : bool
            Take columns in which most records have a value of their own, too.

        Returns
        -------
        data frame
            A pandas frame has the index of the caller's frame, so that records keep their rows
            where some were dropped. It may tell the records apart: leave it out of what is
            published (``to_csv(index=False)``).

        Raises
        ------
        InputError
            If `keep` has another number of rows, a masked column, or one that identifies records.
        """
        library, columns = self.library if library is None else library, self.to_columns()
        if keep is not None:
            columns |= kept_beside(keep, columns, self._rows(), identifiers=keep_identifiers)
        frame = columns_to_frame(columns, library)
        if self.index is not None and library == "pandas":
            frame.index = self.index
        return frame

    def _rows(self) -> tuple[int, NDArray[np.int64] | None]:
        """Return how many records were given, and which are kept; None for all."""
        return len(next(iter(self.to_columns().values()))), None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Partition(MaskedFile):
    """Records in clusters of at least k.

    Attributes
    ----------
    labels : (n,) int64
        Cluster of each record: 0, 1, ... without gaps.
    k : int
        Least size that was asked for; every cluster has at least that many records.
    sizes : (c,) int64
        Records in each cluster.
    centroids : (c, d) float64
        Mean of each cluster in each attribute, in the units of the data.
    information_loss : float
        100 * SSE / SST in percent, attributes standardised: 0 if no record changed, 100 if all
        became the mean of the file. Not for publication: it is a function of the original values,
        and few files that have the same masked one have the same loss.
    names : tuple of str
        Attributes.
    method : str
        How the clusters were made.
    library : str
        Library of the caller's frame, "" if there was none.
    index : pandas.Index or None
        Of the caller's frame.
    """

    labels: NDArray[np.int64]
    k: int
    sizes: NDArray[np.int64]
    centroids: NDArray[np.float64]
    information_loss: float
    names: tuple[str, ...]
    method: str
    library: str = ""
    index: Any = None

    @classmethod
    def of(cls, records: Records, labels: NDArray[Any], k: int, method: str) -> Partition:
        """Partition from the cluster of each record.

        Raises
        ------
        InputError
            If there is not one label per record, the labels have gaps, or a cluster has fewer than
            k records (named).
        """
        check_k(k, records.n)
        groups = np.array(labels, dtype=np.int64)
        if groups.shape != (records.n,) or np.any(groups != np.asarray(labels)):
            msg = f"{records.n} records need one whole-number label each; got shape {groups.shape}"
            raise InputError(msg)
        if groups.min() < 0:
            msg = f"labels must be at least 0, got {groups.min()}"
            raise InputError(msg)
        sizes = np.bincount(groups).astype(np.int64)
        if sizes.min() < k:
            small = int(np.argmin(sizes))
            msg = f"cluster {small} has {int(sizes[small])} records, fewer than k = {k}"
            raise InputError(msg)
        centroids = cluster_means(records, groups, sizes)
        loss = information_loss(records, groups)
        return cls(
            groups, k, sizes, centroids, loss, records.names, method, records.library, records.index
        )

    def __repr__(self) -> str:
        return (
            f"Partition({len(self.labels)} records in {len(self.sizes)} clusters of "
            f"{int(self.sizes.min())} to {int(self.sizes.max())} by {self.method})"
        )

    def _repr_html_(self) -> str:
        sizes, counts = np.unique(self.sizes, return_counts=True)
        rows = [(f"{s:,}", f"{c:,}") for s, c in zip(sizes.tolist(), counts.tolist(), strict=True)]
        return notebook_list([repr(self)], ["records", "clusters"], rows)

    @property
    def masked(self) -> NDArray[np.float64]:
        """Every record replaced by the mean of its cluster, shape (n, d)."""
        return self.centroids[self.labels]

    def members(self) -> list[NDArray[np.int64]]:
        """Give the records of each cluster, ascending."""
        order = np.argsort(self.labels, kind="stable")
        return list(np.split(order, np.cumsum(self.sizes)[:-1]))

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name."""
        return dict(zip(self.names, self.masked.T, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranked(MaskedFile):
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
    index: Any = None

    def __repr__(self) -> str:
        n = len(self.partitions[0].labels)
        return f"Ranked({n} records, {len(self.partitions)} attributes)"

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

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name."""
        return dict(zip(self.names, self.masked.T, strict=True))


def records_of(X: Any, partition: Partition, decimals: int | None = None) -> Records:
    """Read the records that a partition was made of."""
    records = read_records(X, partition.names, decimals=decimals)
    if records.n != len(partition.labels):
        msg = (
            f"the partition is of {len(partition.labels)} records and the data has {records.n}; "
            "give the data that was partitioned"
        )
        raise InputError(msg)
    return records


def in_clusters(labels: Ints) -> tuple[Ints, Ints]:
    """List the records cluster by cluster, and where the clusters start among them."""
    order = np.argsort(labels, kind="stable")
    return order, np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))


def cluster_sums(units: Ints, labels: Ints) -> Ints:
    """Exact sums of whole numbers over each cluster, shape (c, d); refused where beyond 2**62."""
    if np.abs(units.astype(np.float64)).sum(axis=0).max(initial=0.0) > 2.0**62:
        msg = (
            "the sum of an attribute is beyond 2**62 units; use fewer decimals "
            f"({argument('decimals')})"
        )
        raise InputError(msg)
    order, starts = in_clusters(labels)
    sums: Ints = np.add.reduceat(units[order], starts, axis=0)
    return sums


def cluster_means(records: Records, labels: Ints, sizes: Ints) -> Floats:
    """Means without error of summation: over whole units, or over floats summed exactly."""
    try:
        sums = cluster_sums(records.units, labels).astype(np.float64)
        return sums / sizes[:, None] / 10.0**records.scale
    except InputError:  # floats that are not short decimals
        values = records.values
        order = np.argsort(labels, kind="stable")
        parts = np.split(values[order], np.cumsum(sizes)[:-1])
        return np.array([[math.fsum(column) / len(part) for column in part.T] for part in parts])


def information_loss(
    records: Records, labels: NDArray[np.int64], hidden: NDArray[np.bool_] | None = None
) -> float:
    """100 * SSE / SST in percent over standardised attributes; constant ones add nothing.

    Parameters
    ----------
    records : Records
    labels : (n,) int64
    hidden : (c, d) bool, optional
        Cluster means that are not published. The total of an attribute is known, and with it the
        mean over all records whose own is hidden: that stands in for them.
    """
    points = scaled(records, "standardise", constant="keep")
    order, starts = in_clusters(labels)
    sizes = np.diff(np.append(starts, len(labels)))
    sums = np.add.reduceat(points[order], starts, axis=0)
    means = sums / sizes[:, None]
    if hidden is not None:
        left = np.maximum((sizes[:, None] * hidden).sum(axis=0), 1)
        means = np.where(hidden, (sums * hidden).sum(axis=0) / left, means)
    total = float((points**2).sum())
    return 0.0 if total == 0.0 else 100.0 * float(((points - means[labels]) ** 2).sum()) / total
