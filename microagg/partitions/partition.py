"""A partition of records into clusters, and the masked file it gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools, Floats, Ints
from csp.names.guesses import Guided
from csp.tables.cross.frames import columns_to_frame
from csp.tables.cross.html import notebook_list
from microagg.kept import kept_beside
from microagg.partitions.means import check_exact, cluster_means, loss_of, range_words
from microagg.records import Frozen, Kept, Records, check_k, count_different, read_records


class MaskedFile(Frozen, metaclass=Guided):
    """A file whose columns can be published."""

    __slots__ = ()

    library: str
    index: Any = None

    @property
    def suppressed_cells(self) -> int:
        """Number of cells that are not published."""
        return 0

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
            was given. Of the columns of `within`, which are in the file in any case, what is
            published stands in the place of what is given.
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
            own, masked = self._keys(), columns
            columns = {name: column for name, column in masked.items() if name not in own}
            beside = kept_beside(keep, columns, self._rows(), identifiers=keep_identifiers)
            columns = {**columns, **beside, **{name: masked[name] for name in own}}
        frame = columns_to_frame(columns, library)
        if self.index is not None and library == "pandas":
            frame.index = self.index
        return frame

    def _rows(self) -> tuple[int, Ints | None]:
        """Return how many records were given, and which are kept; None for all."""
        return len(next(iter(self.to_columns().values()))), None

    def _keys(self) -> Mapping[str, NDArray[Any]]:
        """Columns of `within` as they are published, the value of each cluster."""
        return {}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Partition(MaskedFile):
    """Records in clusters of at least k.

    Attributes
    ----------
    labels : (n,) int64
        Cluster of each record: 0, 1, ... without gaps.
    k : int
        Least size that was asked for; every cluster has at least that many records, of as many
        different contributors where these are known.
    sizes : (c,) int64
        Records in each cluster.
    centroids : (c, d) float64
        Mean of each cluster in each attribute, in the units of the data; NaN where a record of it
        lacks a value.
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
    contributor : (n,) int64 or None
        Who each record belongs to; None if every record is its own contributor. What judges the
        partition counts contributors as it does.
    notes : tuple of str
        What to look at again: a column that may say who each record belongs to, and which clusters
        are of several strata.
    kept : Kept or None
        Which of the records that were given are left, where some lack a value; None for all.
    keys : mapping of str to (c,) array
        What is published of each cluster in the columns of `within`.
    aggregate : str
        What `centroids` are: "mean", or what `microagg.aggregated` made of it.
    """

    labels: Ints
    k: int
    sizes: Ints
    centroids: Floats
    information_loss: float
    names: tuple[str, ...]
    method: str
    library: str = ""
    index: Any = None
    contributor: Ints | None = None
    notes: tuple[str, ...] = ()
    kept: Kept | None = None
    keys: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    aggregate: str = "mean"

    @classmethod
    def of(
        cls,
        records: Records,
        labels: NDArray[Any],
        k: int,
        method: str,
        *,
        published: bool = True,
    ) -> Partition:
        """Partition from the cluster of each record.

        Parameters
        ----------
        records : Records
        labels : (n,) array of int
        k : int
        method : str
            How the clusters were made, in words.
        published : bool
            Whether the means are for publication. Then numbers that are given exactly must be such
            that a float tells them.

        Raises
        ------
        InputError
            If there is not one label per record, the labels have gaps, or a cluster has fewer than
            k records, or different contributors (named), or the means would be rounded.
        """
        check_k(k, records.n, contributors=records.contributors)
        groups = _checked_labels(labels, records.n)
        sizes = np.bincount(groups).astype(np.int64)
        if sizes.min() < k:
            small = int(np.argmin(sizes))
            msg = f"cluster {small} has {int(sizes[small])} records, fewer than k = {k}"
            raise InputError(msg)
        if records.contributor is not None:
            people = count_different(groups, records.contributor)
            if people.min() < k:
                small = int(np.argmin(people))
                msg = (
                    f"cluster {small} has records of {int(people[small])} different contributors, "
                    f"fewer than k = {k}"
                )
                raise InputError(msg)
        if published:
            check_exact(records)
        return cls(
            groups, k, sizes, cluster_means(records, groups, sizes), loss_of(records, groups),
            records.names, method, records.library, records.index, records.contributor,
            records.notes, records.kept,
        )  # fmt: skip

    def __repr__(self) -> str:
        people = "" if self.contributor is None else f", each of {self.k} contributors or more"
        return (
            f"Partition({len(self.labels)} records in {len(self.sizes)} clusters of "
            f"{range_words(self.sizes)} by {self.method}{people})"
        )

    @property
    def fewest(self) -> int:
        """Fewest different contributors of a cluster; records, where each is its own."""
        if self.contributor is None:
            return int(self.sizes.min())
        return int(count_different(self.labels, self.contributor).min())

    def _repr_html_(self) -> str:
        sizes, counts = np.unique(self.sizes, return_counts=True)
        rows = [(f"{s:,}", f"{c:,}") for s, c in zip(sizes.tolist(), counts.tolist(), strict=True)]
        return notebook_list([repr(self)], ["records", "clusters"], rows)

    @property
    def masked(self) -> Floats:
        """Every record replaced by the mean of its cluster, shape (n, d)."""
        return self.centroids[self.labels]

    def members(self) -> list[Ints]:
        """Give the records of each cluster, ascending."""
        order = np.argsort(self.labels, kind="stable")
        return list(np.split(order, np.cumsum(self.sizes)[:-1]))

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name, None where a cluster has no mean; then `keys`."""
        means: NDArray[Any] = self.masked
        gone = np.isnan(means)
        if gone.any():
            means = means.astype(object)
            means[gone] = None
        columns = dict(zip(self.names, means.T, strict=True))
        return columns | {name: values[self.labels] for name, values in self.keys.items()}

    def _rows(self) -> tuple[int, Ints | None]:
        if self.kept is None:
            return len(self.labels), None
        return self.kept.given, self.kept.rows

    def _keys(self) -> Mapping[str, NDArray[Any]]:
        return self.keys


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
    def masked(self) -> Floats:
        """Every value replaced by the mean of its group, shape (n, d)."""
        return np.hstack([part.masked for part in self.partitions])

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name."""
        return dict(zip(self.names, self.masked.T, strict=True))


def _checked_labels(labels: Any, n: int) -> Ints:
    """Cluster of each record; one that no record has is for the caller to refuse."""
    try:
        groups = np.array(labels, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        groups = np.empty(0, np.int64)
    if groups.shape != (n,) or np.any(groups != np.asarray(labels)):
        msg = f"{n} records need one whole-number label each; got shape {np.shape(labels)}"
        if np.ndim(labels) == 2:
            msg += "; microagg.utility(original, masked) compares two files"
        raise InputError(msg)
    if groups.min() < 0:
        msg = f"labels must be at least 0, got {groups.min()}"
        raise InputError(msg)
    return groups


def _checked_hidden(hidden: Any, clusters: int, attributes: int) -> Bools | None:
    if hidden is None:
        return None
    found = np.asarray(hidden)
    if found.dtype != np.bool_ or found.shape != (clusters, attributes):
        msg = (
            f"hidden must be true or false for each of {clusters} clusters and {attributes} "
            f"attributes; got shape {found.shape}"
        )
        raise InputError(msg)
    return found


def records_of(
    X: Any,
    partition: Partition,
    decimals: int | None = None,
    contributor: str | Sequence[Any] | None = None,
    *,
    judged: bool = True,
) -> Records:
    """Read the records that a partition was made of.

    Unless something else is named, contributors are those with which it was made. Where means are
    judged, a partition that publishes something else is refused.
    """
    if judged:
        check_means(partition)
    missing = "error" if partition.kept is None else "drop"
    if np.isnan(partition.centroids).any():
        missing = "own"
    records = read_records(
        X, partition.names, decimals=decimals, contributor=contributor, missing=missing
    )
    if records.n != len(partition.labels):
        msg = (
            f"the partition is of {len(partition.labels)} records and the data has {records.n}; "
            "give the data that was partitioned"
        )
        raise InputError(msg)
    if records.contributor is None and partition.contributor is not None:
        records = replace(records, contributor=partition.contributor)
    return records


def check_means(partition: Partition) -> None:
    """Refuse a partition that does not publish means."""
    if partition.aggregate != "mean":
        msg = (
            f"the partition publishes each {partition.aggregate}, and only means are sums of "
            "contributions that can be judged; give the partition that it was made of"
        )
        raise InputError(msg)


def information_loss(
    X: Any,
    labels: Any,
    hidden: Any = None,
    *,
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
) -> float:
    """100 * SSE / SST in percent over standardised attributes; constant ones add nothing.

    Parameters
    ----------
    X : data
        The original records, as `read_records` takes them.
    labels : Partition, or (n,) array of int
        Clusters; with a partition only its attributes are read.
    hidden : (c, d) bool, optional
        Cluster means that are not published. The total of an attribute is known, and with it the
        mean over all records whose own is hidden: that stands in for them.
    attributes : sequence of str, optional
        Attributes that count; all by default.
    decimals : int, optional
        Decimal places of the data.

    Raises
    ------
    InputError
        If the data cannot be read, the labels are not whole numbers from 0, without gaps, one for
        each record, or `hidden` is not one entry for each cluster and attribute.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 10, 11, 95]}
    >>> round(microagg.information_loss(data, [0, 0, 0, 1, 1, 1]), 4)
    80.5752
    """
    if isinstance(labels, Partition):
        records = records_of(X, labels, decimals)
        records = records if attributes is None else records.only(attributes)
        labels = labels.labels
    else:
        records = read_records(X, attributes, decimals=decimals)
        labels = _checked_labels(labels, records.n)
        gap = int(np.argmin(np.bincount(labels)))
        if not (labels == gap).any():
            msg = f"no record has the label {gap}; number the clusters 0, 1, ... without gaps"
            raise InputError(msg)
    hidden = _checked_hidden(hidden, int(labels.max()) + 1, len(records.names))
    return loss_of(records, labels, hidden)
