"""Sums and means over clusters, without error of summation, and what is lost by them."""

from __future__ import annotations

import math
from collections.abc import Collection
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Bools, Floats, Ints
from csp.tables.units import MOST_DECIMALS
from microagg.records import Records
from microagg.scaling import scaled, scaled_with_gaps

EXACT = 2**53
"""Up to here every whole number is a float."""


def in_clusters(labels: Ints) -> tuple[Ints, Ints]:
    """List the records cluster by cluster, and where the clusters start among them."""
    order = np.argsort(labels, kind="stable")
    return order, np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))


def labels_joined(labels: Ints, into: Ints) -> Ints:
    """Clusters of records once some have joined others: `into`, (c,), says which, or themselves."""
    for label in range(len(into)):  # follow the chains
        while into[into[label]] != into[label]:
            into[label] = into[into[label]]
    return np.asarray(np.unique(into[labels], return_inverse=True)[1].ravel(), np.int64)


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


def check_exact(records: Records) -> None:
    """Refuse numbers given exactly that no float of their means could tell apart."""
    most = np.abs(records.floats).max(axis=0, initial=0.0)
    for name, column, largest in zip(records.names, records.columns, most, strict=True):
        if column.dtype.kind == "f" or largest * 10.0**MOST_DECIMALS <= EXACT:
            continue
        places = 0
        if column.dtype.kind not in "biu":
            entries = column.tolist()
            if any(isinstance(entry, (float, np.floating)) for entry in entries):
                continue
            # More places than that are those of a float that was written down.
            places = max(map(_places, entries))
            places = 0 if places > MOST_DECIMALS else places
        if largest * 10.0**places > EXACT:
            digit = "whole numbers" if not places else f"numbers of {places} decimal places"
            msg = (
                f"column {name!r} holds {digit} beyond 2**53 of their last place, so its means "
                "would be rounded, and with them what the clusters add up to; subtract a number "
                f"from all its values, or give it in a larger unit ({_unit_words(places)})"
            )
            raise InputError(msg)


def _places(entry: Any) -> int:
    """Decimal places of a number as it is given."""
    with suppress(InvalidOperation, ValueError):
        exponent = Decimal(str(entry).strip()).normalize().as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0
    return 0


def _unit_words(places: int) -> str:
    return "fewer decimal places" if places else "thousands, say"


def range_words(sizes: Collection[int] | Ints) -> str:
    """Words for sizes: "3", or "3 to 5"."""
    least, most = int(min(sizes)), int(max(sizes))
    return f"{least}" if least == most else f"{least} to {most}"


def cluster_means(records: Records, labels: Ints, sizes: Ints) -> Floats:
    """Means without error of summation: over whole units, or over floats summed exactly.

    Where a record of a cluster lacks a value, its mean is NaN.
    """
    if records.gaps is not None:
        return _means_with_gaps(records, records.gaps, labels, sizes)
    try:
        sums = cluster_sums(records.units, labels).astype(np.float64)
        return sums / sizes[:, None] / 10.0**records.scale
    except InputError:  # floats that are not short decimals
        values = records.values
        order = np.argsort(labels, kind="stable")
        parts = np.split(values[order], np.cumsum(sizes)[:-1])
        return np.array([[math.fsum(column) / len(part) for column in part.T] for part in parts])


def _means_with_gaps(records: Records, gaps: Bools, labels: Ints, sizes: Ints) -> Floats:
    means = np.full((len(sizes), gaps.shape[1]), np.nan)
    for j, name in enumerate(records.names):
        rows = np.flatnonzero(~_lacking(gaps[:, j], labels)[labels])
        if len(rows):
            whole, own = np.unique(labels[rows], return_inverse=True)
            part = records.part(rows, [name])
            means[whole, j] = cluster_means(part, own.ravel(), sizes[whole])[:, 0]
    return means


def _lacking(gaps: Bools, labels: Ints) -> Bools:
    """Tell which clusters have a record that lacks a value, shape (c,)."""
    return np.asarray(np.bincount(labels, gaps) > 0)


def loss_of(records: Records, labels: Ints, hidden: Bools | None = None) -> float:
    """Information loss of records in clusters 0, 1, ... without gaps; see `information_loss`.

    Of values that are missing nothing is lost. The mean of a cluster in which one is missing counts
    as hidden.
    """
    if records.gaps is not None:
        return _loss_with_gaps(records, records.gaps, labels)
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


def _loss_with_gaps(records: Records, gaps: Bools, labels: Ints) -> float:
    points = scaled_with_gaps(records, "standardise")
    total = lost = 0.0
    for j, column in enumerate(points.T):
        there = ~gaps[:, j]
        hidden = _lacking(gaps[:, j], labels)[labels]
        groups = np.where(hidden, labels.max() + 1, labels)[there]
        values = column[there]
        means = np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
        total += float((values**2).sum())
        lost += float(((values - means[groups]) ** 2).sum())
    return 0.0 if total == 0.0 else 100.0 * lost / total
