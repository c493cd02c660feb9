"""An insider who knows its own value and the mean of its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Floats, Ints, Number, exact, number_text
from csp.tables.cross.frames import columns_to_frame
from microagg.partitions.means import cluster_sums
from microagg.partitions.partition import Partition, records_of
from microagg.records import Frozen, Records
from microagg.tables.clusters import bounds_of
from microagg.tables.contributions import largest


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Insiders(Frozen):
    """What each record's person can infer of the others in its cluster.

    Attributes
    ----------
    names : tuple of str
    labels : (n,) int64
        Cluster of each record.
    lower, upper : (n, d) float64
        What the person behind each record can say of any other value in its cell, in the measure
        of the data: it lies between the two. Infinite where nothing is known; for who is alone in
        a cluster, NaN.
    sizes : (c,) int64
    victim, intruder : (c, d) int64
        Records of the closest estimate in each cell, for its size: those with the largest and the
        second largest value, unless an upper bound is known. -1 for the second in a cluster of one.
    excess, contribution : (c, d) int64
        How far the intruder's nearer end is from the victim's value, and that value above its known
        lower bound, both in units of ``10**-scale``.
    point : (c, d) bool
        Cells in which some person knows another value exactly.
    scale : int
    rest : (n, d) int64
        How far the nearest end that others know is from each record's value, in units.
    above : (n, d) int64
        Each record's value above its known lower bound, in units.
    library : str
    """

    names: tuple[str, ...]
    labels: Ints
    lower: Floats
    upper: Floats
    sizes: Ints
    victim: Ints
    intruder: Ints
    excess: Ints
    contribution: Ints
    point: Bools
    scale: int
    rest: Ints
    above: Ints
    library: str = ""

    def __repr__(self) -> str:
        c, d = self.excess.shape
        return (
            f"Insiders({len(self.labels)} records, {c} x {d} cells, "
            f"{int(self.point.sum())} with a value known exactly)"
        )

    @property
    def error(self) -> Floats:
        """Smallest relative error of an estimate in each cell, shape (c, d).

        Infinite where all contributions are 0.
        """
        some = self.contribution > 0
        found = np.full(self.excess.shape, np.inf)
        found[some] = self.excess[some] / self.contribution[some]
        return found

    def disclosed(self, percent: Number) -> Bools:
        """Cells where one contributor estimates another within less than p percent, shape (c, d).

        Exactly the cells that are sensitive to the p% rule, and those in which a known upper bound
        makes an estimate closer.
        """
        found = np.zeros(self.excess.shape, bool)
        np.logical_or.at(found, self.labels, self.exposed(percent))
        return found

    def exposed(self, percent: Number) -> Bools:
        """Values that another record's person estimates within less than p percent, (n, d)."""
        return _within(self.rest, self.above, percent)

    def to_frame(self, percent: Number, library: str | None = None, *, reveal: bool = False) -> Any:
        """One row per cell: cluster, attribute, records of the pair, disclosed.

        For internal files only.

        Parameters
        ----------
        percent : Number
        library : {"pandas", "polars", "pyarrow"}, optional
        reveal : bool
            Whether to add the relative error of the best estimate.
        """
        c, d = self.excess.shape
        columns: dict[str, Any] = {
            "cluster": np.repeat(np.arange(c), d),
            "attribute": list(self.names) * c,
            "victim": self.victim.ravel(),
            "intruder": self.intruder.ravel(),
            "disclosed": self.disclosed(percent).ravel(),
            "exact": self.point.ravel(),
        }
        if reveal:
            columns["error"] = self.error.ravel()
        return columns_to_frame(columns, self.library if library is None else library)

    def summary(self, percent: Number = 60) -> dict[str, Any]:
        """Plain data for JSON: counts, no values.

        Parameters
        ----------
        percent : Number
            How close an estimate must be.
        """
        cells, values = self.disclosed(percent), self.exposed(percent)
        return {
            "percent": number_text(exact(percent)),
            "cells": int(cells.size),
            "cells_disclosed": int(cells.sum()),
            "share_of_cells": float(cells.mean()),
            "by_attribute": dict(zip(self.names, cells.sum(axis=0).tolist(), strict=True)),
            "values_disclosed": int(values.sum()),
            "records_disclosed": int(values.any(axis=1).sum()),
            "intruders": len(np.unique(self.intruder[cells & (self.intruder >= 0)])),
            "cells_with_a_value_known_exactly": int(self.point.sum()),
        }


def insiders(
    X: Any,
    partition: Partition,
    *,
    bounds: Mapping[str, tuple[Number | None, Number | None]] | None = None,
    decimals: int | None = None,
) -> Insiders:
    """Find what every contributor to a cluster mean learns of the other contributors.

    The intruder knows its own value, the published mean and size of its cluster (so their
    product, the sum), that it is in the cluster, and public bounds. It knows no other
    value, and needs none: what it can say of another value is the same for all of them.

    Parameters
    ----------
    X : data
        The original records, as `microagg.read_records` takes them.
    partition : Partition
    bounds : mapping of str to (Number or None, Number or None), optional
        Publicly known bounds of a record's value in an attribute; None where nothing is known.
        By default 0 and no upper bound, if no value is negative.
    decimals : int, optional

    Returns
    -------
    Insiders

    Raises
    ------
    InputError
        If the data does not fit the partition, a value lies outside its bounds, or an attribute
        has negative values and no lower bound: without one, nothing follows from a sum.

    Notes
    -----
    With s records, sum T and known bounds a <= x <= b, the person with value x_i knows that any
    other value is between ``T - x_i - (s-2) b`` and ``T - x_i - (s-2) a``, and within a and b.
    The upper end exceeds the value by what the others have above a, so the second largest
    estimates the largest most closely. For a = 0 that is within p percent exactly if the cell is
    sensitive to the p% rule (Torra and Navarro-Arribas 2023, equation 2); errors are relative to
    ``x - a``. A known b makes either end closer, and the nearer one is the estimate; a lower end
    at a is none. Means are taken as exact: a rounded mean leaves a little more room.

    Examples
    --------
    >>> import microagg
    >>> from microagg.intruders import insiders
    >>> data = {"pay": [10, 11, 12, 10, 11, 95]}
    >>> halves = microagg.Partition.of(microagg.read_records(data), [0, 0, 0, 1, 1, 1], 3, "halves")
    >>> insiders(data, halves).disclosed(60).tolist()
    [[False], [True]]
    """
    records = records_of(X, partition, decimals)
    if records.contributor is not None:
        msg = (
            "insiders takes each record for a person of its own, and this partition names "
            "contributors; judge them with microagg.disclosure and a p% rule"
        )
        raise InputError(msg)
    least, most = _bounds(records, bounds or {})
    labels, sizes = partition.labels, partition.sizes
    above = records.units - least
    totals = cluster_sums(above, labels)
    d = len(records.names)
    best, who = (a.reshape(len(sizes), d, 2) for a in largest(above, labels, 2))
    first, second = best[:, :, 0], best[:, :, 1]
    # Above the lower bound, every other contribution is at most what the sum leaves.
    left = totals[labels] - above
    alone = (sizes == 1)[labels]
    mine = who[labels, :, 0] == np.arange(records.n)[:, None]
    rest = left - np.where(mine, second[labels], first[labels])
    victim, intruder = who[:, :, 0], who[:, :, 1]
    excess, contribution = totals - first - second, first
    if (most < UNBOUNDED).any():
        rest, rivals = _nearest(
            above, labels, sizes, np.where(most < UNBOUNDED, most - least, UNBOUNDED)
        )
        rows = _closest(rest, above, labels)
        each = np.arange(d)
        victim, excess, contribution = rows, rest[rows, each], above[rows, each]
        intruder = np.where(sizes[:, None] == 1, -1, rivals[rows, each])
    low, high = _ends(left, sizes[labels], least, most)
    lower, upper = low / 10.0**records.scale, high / 10.0**records.scale
    lower[alone], upper[alone] = np.nan, np.nan
    point = np.zeros(first.shape, dtype=bool)
    rows, columns = np.nonzero((low == high) & ~alone[:, None])
    point[labels[rows], columns] = True
    return Insiders(
        records.names, labels, lower, upper, sizes, victim, intruder, excess, contribution, point,
        records.scale, rest, above, records.library,
    )  # fmt: skip


def _nearest(above: Ints, labels: Ints, sizes: Ints, room: Ints) -> tuple[Ints, Ints]:
    """How far the nearest end that others know is from each value, and the record that knows it.

    Who has most sees the lowest upper end of another value, and who has least the highest lower
    end. Values are counted from their lower bound; `room`, (d,), is how far they may lie above it.
    """
    totals, n = cluster_sums(above, labels), len(above)
    shape = (len(sizes), above.shape[1], 2)
    ends, whose = [], []
    for side in (1, -1):
        best, who = (a.reshape(shape)[labels] for a in largest(side * above, labels, 2))
        mine = who[:, :, 0] == np.arange(n)[:, None]
        rival = np.where(mine, best[:, :, 1], best[:, :, 0]) * side
        low, high = _ends(totals[labels] - rival, sizes[labels], np.zeros_like(room), room)
        ends.append(high if side > 0 else low)
        whose.append(np.where(mine, who[:, :, 1], who[:, :, 0]))
    over, under = ends[0] - above, above - ends[1]
    below = (ends[1] > 0) & (under < over)
    return np.where(below, under, over), np.where(below, whose[1], whose[0])


def _closest(rest: Ints, above: Ints, labels: Ints) -> Ints:
    """Record of each cell, (c, d), whose value is estimated most closely for its size."""
    errors = np.full(rest.shape, np.inf)
    np.divide(rest, above, out=errors, where=above > 0)
    found = []
    for error, value in zip(errors.T, above.T, strict=True):
        order = np.lexsort((-value, error, labels))
        found.append(order[np.searchsorted(labels[order], np.arange(labels.max() + 1))])
    return np.column_stack(found)


def _within(excess: Ints, size: Ints, percent: Number) -> Bools:
    """Whether an excess is less than p percent of a size."""
    p = exact(percent)
    if p <= 0:
        msg = f"percent must be above 0, not {percent!r}"
        raise InputError(msg)
    ratio = p / 100
    largest_number = max(int(excess.max(initial=0)), int(size.max(initial=0)))
    kind: Any = np.int64
    if largest_number * max(ratio.numerator, ratio.denominator) >= 2**62:
        kind = object
    return np.asarray(
        excess.astype(kind) * ratio.denominator < size.astype(kind) * ratio.numerator, bool
    )


def _ends(left: Ints, sizes: Ints, least: Ints, most: Ints) -> tuple[Ints, Ints]:
    """Lower and upper end of other values for every person, in units, shape (n, d) each."""
    open_end = most >= UNBOUNDED
    room = np.where(open_end, 0, most - least)
    others = np.maximum(sizes[:, None] - 2, 0)
    high = np.where(open_end, left, np.minimum(left, room))
    # What exceeds the room of all others must be in the one value.
    fits = others.astype(np.float64) * room < 2.0**62
    forced = np.where(fits, left - others * np.where(fits, room, 0), 0)
    low = np.where(open_end & (others > 0), 0, np.maximum(forced, 0))
    return low + least, high + least


def _bounds(
    records: Records, given: Mapping[str, tuple[Number | None, Number | None]]
) -> tuple[Ints, Ints]:
    """Known bounds in units; without a lower one, nothing follows from a sum."""
    least, most = bounds_of(records, given)
    for j in np.flatnonzero(least <= -UNBOUNDED):
        name, below = records.names[j], records.units[:, j] < 0
        if name in given:
            msg = f"bounds of {name!r}: without a lower bound nothing follows from a sum; give one"
            raise InputError(msg)
        msg = (
            f"row {int(np.argmax(below)) + 1}, attribute {name!r}: the value is negative "
            f"({int(below.sum())} such rows); give bounds that hold for every record"
        )
        raise InputError(msg)
    return least, most
