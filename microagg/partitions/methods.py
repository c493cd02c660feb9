"""The ways to make clusters, for any data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from microagg.partitions.partition import Partition
from microagg.records import check_k, read_records
from microagg.scaling import scaled

__all__ = ["mdav"]


def mdav(
    X: Any,
    k: int,
    *,
    scale: str = "standardise",
    attributes: Sequence[str] | None = None,
    constant: str = "error",
    decimals: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Partition:
    """Clusters of k records round the extremes of what is left (Domingo-Ferrer and Torra 2005).

    Parameters
    ----------
    X : data
        As `read_records` takes it.
    k : int
        Least size of a cluster; all have k records but the last, which has fewer than 2k.
    scale : str
        How attributes are made comparable: "standardise", "none", "variance" or "range"; see
        `microagg.scaling.SCALES`.
    attributes : sequence of str, optional
        Attributes that are microaggregated; all by default.
    constant : {"error", "keep"}
        Whether an attribute with one value only is refused or kept, without any say.
    decimals : int, optional
        Decimal places of the data.
    progress : callable, optional
        Called now and then with the number of records that have a cluster, and n.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        If k is no whole number from 1 to n, the data holds anything but finite numbers, or an
        attribute is constant.

    Examples
    --------
    >>> import microagg
    >>> microagg.mdav({"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}, 3)
    Partition(6 records in 2 clusters of 3 to 3 by MDAV, information loss 2.5132 %)
    """
    from microagg.partitions.mdav import mdav_labels

    records = read_records(X, attributes, decimals=decimals)
    check_k(k, records.n)
    labels = mdav_labels(scaled(records, scale, constant=constant), k, progress=progress)
    return Partition.of(records, labels, k, "MDAV")
