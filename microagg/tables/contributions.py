"""Who contributes to each cell of clusters by attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csp.errors import InputError, argument, phrase
from csp.exact import Ints
from csp.names.calls import check_choice
from csp.tables.contributors import Contributors
from csp.tables.memory import check_memory
from microagg.partitions.means import cluster_sums

NEGATIVE = {
    "error": "negative values are refused",
    "abs": "the rules see absolute values",
    "shift": "the rules see how far values lie above the lowest of their attribute",
    "split": "positive and negative values are judged apart; a cell is sensitive if one side is",
}
"""How the rules read attributes with negative values."""


def sides_of_units(units: Ints, names: Sequence[str], negative: str) -> tuple[Ints, ...]:
    """Contributions as the rules shall see them, never negative, shape (n, d).

    Two arrays for "split" (positive parts, negative parts without their sign), otherwise one. Where
    negative values are refused, the first is named.
    """
    check_choice("negative", negative, NEGATIVE)
    if negative == "abs":
        return (np.abs(units),)
    if negative == "shift":
        return (units - np.minimum(units.min(axis=0), 0),)
    if negative == "split":
        return np.maximum(units, 0), np.maximum(-units, 0)
    if (units < 0).any():
        row, column = (int(i) for i in np.argwhere(units < 0)[0])
        others = phrase(", 'shift' or 'split'", ", shift or split")
        msg = (
            f"row {row + 1}, attribute {names[column]!r}: the value is negative "
            f"({int((units < 0).sum())} such values), and rules compare shares of a sum; choose "
            f"{argument('negative', 'abs')}{others}"
        )
        raise InputError(msg)
    return (units,)


def added_up(units: Ints, labels: Ints, contributor: Ints) -> tuple[Ints, Ints, Ints]:
    """Add up what each contributor contributes to each cluster: (m, d), its cluster and itself."""
    pairs, place = np.unique(np.column_stack([labels, contributor]), axis=0, return_inverse=True)
    return cluster_sums(units, place.ravel()), pairs[:, 0], pairs[:, 1]


def contributions(
    units: Ints,
    labels: Ints,
    names: Sequence[str],
    *,
    negative: str,
    top: int,
    contributor: Ints | None = None,
) -> Contributors:
    """Contributors of the cells, in C order of clusters by attributes, the largest `top` by name.

    Every record of a cluster counts, also with 0; the identifiers are the record numbers. Where
    contributors, (n,), are given, the identifiers are those, each counts once in a cluster, and its
    records in it are added up, with their signs, before rules look at them.
    """
    owners = None
    if contributor is not None:
        if negative == "error":
            sides_of_units(units, names, negative)  # names the row
        units, labels, owners = added_up(units, labels, contributor)
    sides = sides_of_units(units, names, negative)
    sizes = np.bincount(labels)
    found: Contributors | None = None
    for side in reversed(sides):
        best, who = largest(side, labels, top)
        # Under "split" a record stands on one side of each attribute; zeros stand on the first.
        count = np.repeat(sizes, units.shape[1])
        if len(sides) == 2:
            here = (units >= 0) if side is sides[0] else (units < 0)
            count = cluster_sums(here.astype(np.int64), labels).ravel()
            gone = np.arange(top) >= count[:, None]
            best[gone], who[gone] = 0, -1
        who = who if owners is None else np.where(who < 0, -1, owners[who])
        found = Contributors(count, cluster_sums(side, labels).ravel(), best, who, found)
    assert found is not None
    return found


def largest(units: Ints, labels: Ints, top: int) -> tuple[Ints, Ints]:
    """Largest contributions of each cell and their records, shapes (c * d, top).

    Equal ones are in the order of their records; 0 and -1 where a cluster has fewer records.
    """
    n, d = units.shape
    clusters = int(labels.max()) + 1
    check_memory(
        16 * clusters * d * top, f"a rule reads {top} contributions of each cell",
        "use a rule that reads fewer",
    )  # fmt: skip
    best = np.zeros((clusters, d, top), np.int64)
    who = np.full((clusters, d, top), -1, np.int64)
    for j in range(d):
        order = np.lexsort((np.arange(n), -units[:, j], labels))
        owner = labels[order]
        place = np.arange(n) - np.searchsorted(owner, owner)
        kept = place < top
        best[owner[kept], j, place[kept]] = units[order[kept], j]
        who[owner[kept], j, place[kept]] = order[kept]
    return best.reshape(clusters * d, top), who.reshape(clusters * d, top)
