"""What is published of clusters in place of their means: medians, or means by sampling weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Floats
from csp.names.calls import check_choice
from csp.tables.columns import read_columns, records_source
from microagg.entries import floats_of
from microagg.partitions.means import cluster_means, in_clusters
from microagg.partitions.partition import Partition, records_of
from microagg.records import Records

AGGREGATES = ("mean", "median")
"""What may be published of a cluster."""


def aggregated(
    X: Any,
    partition: Partition,
    aggregate: str = "median",
    *,
    weight: str | Sequence[Any] | None = None,
    decimals: int | None = None,
) -> Partition:
    """Publish medians of clusters, or means by sampling weights, in place of plain means.

    The clusters stay as they are, and so do their keys: k counts records, or contributors, whatever
    they weigh. Rules judge plain means, so what judges a partition by rules refuses this one.

    Parameters
    ----------
    X : data
        That of the partition.
    partition : Partition
    aggregate : {"median", "mean"}
        A median is the middle value, or half the sum of the two in the middle: with an odd number
        of records it is the value of one of them.
    weight : str or sequence, optional
        Weights, above 0, of all records that were given: a column of the data or n numbers. The
        mean is then the weighted one; the median is the least value up to which records have half
        of the weight, or half the sum of it and the next if they have exactly half.
    decimals : int, optional
        Decimal places of the data.

    Returns
    -------
    Partition
        Its information loss is that of what is published.

    Raises
    ------
    InputError
        If the data is not that of the partition, the aggregate is unknown, or a weight is not a
        number above 0 (row named).

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 30, 40, 41, 99], "w": [1, 1, 2, 1, 1, 2]}
    >>> halves = microagg.mdav(data, 3, attributes=["pay"])
    >>> microagg.aggregated(data, halves).centroids.ravel().tolist()
    [41.0, 11.0]
    >>> microagg.aggregated(data, halves, "mean", weight="w").centroids.ravel().tolist()
    [69.75, 20.25]
    """
    check_choice("aggregate", aggregate, AGGREGATES)
    records = records_of(X, partition, decimals, judged=False)
    weights = None if weight is None else _weights_of(X, weight, partition)
    if aggregate == "mean" and weights is None:
        values = cluster_means(records, partition.labels, partition.sizes)
    else:
        values = _values(records, partition, aggregate, weights)
    words = "median" if aggregate == "median" else "mean"
    words = words if weights is None else f"weighted {words}"
    return replace(
        partition, centroids=values, aggregate=words,
        information_loss=loss_of_values(records, partition, values),
    )  # fmt: skip


def _weights_of(X: Any, weight: str | Sequence[Any], partition: Partition) -> Floats:
    """Weights of the records of a partition, shape (n,)."""
    if isinstance(weight, str):
        name = weight
        if isinstance(X, Records):
            msg = f"{argument('weight', weight)}: Records have no such column; give the numbers"
            raise InputError(msg)
        column = records_source(X).read([name], [name]).arrays[0]
    else:
        name = "weight"
        column = read_columns({name: weight}, [name]).arrays[0]
    given = len(partition.labels) if partition.kept is None else partition.kept.given
    if len(column) != given:
        msg = f"{argument('weight')} has {len(column)} numbers for {given} records; give one each"
        raise InputError(msg)
    numbers = floats_of(column, name)
    if (numbers <= 0).any():
        msg = f"row {int(np.argmax(numbers <= 0)) + 1}, column {name!r}: a weight must be above 0"
        raise InputError(msg)
    return numbers if partition.kept is None else numbers[partition.kept.rows]


def _values(
    records: Records, partition: Partition, aggregate: str, weights: Floats | None
) -> Floats:
    """Aggregate of each cluster and attribute, NaN where the partition has no mean."""
    order, starts = in_clusters(partition.labels)
    found = np.full(partition.centroids.shape, np.nan)
    every = np.ones(records.n) if weights is None else weights
    for c, rows in enumerate(np.split(order, starts[1:])):
        for j in np.flatnonzero(np.isfinite(partition.centroids[c])).tolist():
            values, shares = records.floats[rows, j], every[rows]
            if aggregate == "median":
                found[c, j] = _median(values, shares)
            else:
                products = (values * shares).tolist()
                found[c, j] = math.fsum(products) / math.fsum(shares.tolist())
    return found


def _median(values: Floats, shares: Floats) -> float:
    """Weighted median, the usual one if all weigh the same."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(shares[order])
    half = below[-1] / 2
    place = int(np.searchsorted(below, half))
    if below[place] == half and place + 1 < len(values):
        return float((values[place] + values[place + 1]) / 2)
    return float(values[place])


def loss_of_values(records: Records, partition: Partition, values: Floats) -> float:
    """Information loss of what is published of each cluster, (c, d), whatever it is.

    Where nothing is, NaN, the mean of all such values counts.
    """
    published = values[partition.labels]
    total = lost = 0.0
    for j, column in enumerate(records.floats.T):
        there = slice(None) if records.gaps is None else ~records.gaps[:, j]
        own, shown = column[there], published[there, j]
        if np.ptp(own) == 0:
            continue
        hidden = ~np.isfinite(shown)
        if hidden.any():
            shown = np.where(hidden, own[hidden].mean(), shown)
        total += len(own)
        lost += float((((own - shown) / own.std()) ** 2).sum())
    return 100.0 * lost / total if total else 0.0
