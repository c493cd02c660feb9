"""The table that a microaggregated file is: clusters by attributes, bound by relations.

A published mean and the published size of its cluster tell the cell, the sum of the attribute over
the cluster. Microaggregation keeps the mean of the file, so the totals of the attributes are known
as well; identities between attributes hold in every cluster, and sums over groups of clusters are
known where a tree of clusters is released. All of these are relations of one `csp.Table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.calls import check_choice
from csp.errors import InputError
from csp.exact import UNBOUNDED, Number, exact
from csp.tables.contributors import Contributors
from microagg.partitions.partition import Partition, cluster_sums, records_of
from microagg.records import Ints, Records
from microagg.tables.contributions import NEGATIVE, contributions
from microagg.tables.identities import Identity
from microagg.tables.identity_detection import as_identities

if TYPE_CHECKING:
    from csp.tables.table import Table

__all__ = ["ClusterTable", "cells", "cluster_table"]

TOTAL = "Total"
RECORDS = "(records)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterTable:
    """Table of clusters by attributes, and which of its cells are special.

    Attributes
    ----------
    table : Table
        Cells of clusters by attributes in C order, then all others; labels (cluster, attribute),
        clusters by their number, "Total" for the file and "group .." for groups of clusters.
    shape : (int, int)
        Clusters and attributes.
    public : (n,) bool
        Cells that are public whatever is released: totals, groups and sizes.
    unseen : (n,) bool
        Cells that are never published: what rounding adds to an identity in a cluster.
    identities : tuple of Identity
        Those that gave relations.
    """

    table: Table
    shape: tuple[int, int]
    public: NDArray[np.bool_]
    unseen: NDArray[np.bool_]
    identities: tuple[Identity, ...]

    def __repr__(self) -> str:
        c, d = self.shape
        return f"ClusterTable({c} clusters x {d} attributes, {len(self.identities)} identities)"


def cells(
    X: Any,
    partition: Partition,
    *,
    totals: bool = True,
    groups: ArrayLike | None = None,
    identities: str | Sequence[str | Identity] | None = "detect",
    share: Number | None = None,
    negative: str = "error",
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    top: int = 5,
    decimals: int | None = None,
) -> Table:
    """Table of clusters by attributes.

    Parameters
    ----------
    X : data
        The original records.
    partition : Partition
    totals : bool
        Whether the totals of the attributes are known. Microaggregation keeps them, so they are
        unless the file is only part of what is released.
    groups : (c,) or (levels, c) array, optional
        Group of each cluster, for trees of clusters whose sums are released.
    identities : "detect", None, or sequence of str or Identity
        Linear identities between attributes, see `detect_identities`. An identity is a relation
        of every cluster in which it holds.
    share : Number, optional
        Least share of records that must obey an identity.
    negative : str
        How rules read negative values; see `microagg.tables.contributions.NEGATIVE`. The cells
        hold the sums as they are.
    bounds : mapping of str to (Number, Number), optional
        Publicly known bounds of a record's value in an attribute. Without them, all that is
        known is that an attribute without a negative value has none.
    top : int
        How many of the largest contributions of a cell are kept for the rules.
    decimals : int, optional
        Decimal places of the data.

    Returns
    -------
    csp.Table
        See `ClusterTable` for its cells.

    Raises
    ------
    InputError
        If the data does not fit the partition, there are negative values and no mode was chosen,
        an identity fails, or a bound does.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 10, 11, 95]}
    >>> halves = microagg.Partition.of(microagg.read_records(data), [0, 0, 0, 1, 1, 1], 3, "halves")
    >>> microagg.cells(data, halves).values.tolist()
    [33, 116, 149]
    """
    return cluster_table(
        X, partition, totals=totals, groups=groups, identities=identities, share=share,
        negative=negative, bounds=bounds, top=top, decimals=decimals,
    ).table  # fmt: skip


def cluster_table(
    X: Any,
    partition: Partition,
    *,
    totals: bool = True,
    groups: ArrayLike | None = None,
    identities: str | Sequence[str | Identity] | None = "detect",
    share: Number | None = None,
    negative: str = "error",
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    top: int = 5,
    decimals: int | None = None,
) -> ClusterTable:
    """Table of clusters by attributes, with what is special about its cells; see `cells`."""
    from scipy.sparse import coo_array, csr_array

    from csp.tables.table import Table

    records = records_of(X, partition, decimals)
    check_choice("negative", negative, NEGATIVE)
    found = as_identities(identities, records, share)
    draft = _Draft.of(records, partition, negative, bounds, top)
    if totals:
        draft.add_sums(TOTAL, np.arange(draft.clusters))
    for level, codes in _levels(groups, draft.clusters):
        for code in np.unique(codes).tolist():
            name = f"group {code}" if level is None else f"group {level}.{code}"
            draft.add_sums(name, np.flatnonzero(codes == code))
    kept = tuple(identity for identity in found if draft.add_identity(identity))
    n = len(draft.labels)
    entries = np.array(draft.entries, dtype=np.int64).reshape(-1, 3)
    shape = (draft.relations, n)
    relations = coo_array((entries[:, 2], (entries[:, 0], entries[:, 1])), shape=shape)
    table = Table(
        values=np.array(draft.values, dtype=np.int64),
        relations=csr_array(relations),
        lower=np.array(draft.lower, dtype=np.int64),
        upper=np.array(draft.upper, dtype=np.int64),
        labels=tuple(draft.labels),
        scale=records.scale,
        contributors=_padded(draft.people, n),
        names=("cluster", "attribute"),
        roots=(TOTAL, "") if totals else ("", ""),
        frame=records.library,
    )
    flags = []
    for marked in (draft.public, draft.unseen):
        mask = np.zeros(n, dtype=bool)
        mask[marked] = True
        mask.flags.writeable = False
        flags.append(mask)
    return ClusterTable(table, (draft.clusters, len(records.names)), flags[0], flags[1], kept)


@dataclass(slots=True)
class _Draft:
    """A table while it is put together."""

    records: Records
    sizes: Ints
    sums: Ints
    people: Contributors
    low: Ints
    high: Ints
    labels: list[tuple[str, str]]
    values: list[int]
    lower: list[int]
    upper: list[int]
    entries: list[tuple[int, int, int]]
    relations: int
    public: list[int]
    unseen: list[int]
    size_cells: dict[str, int]

    @classmethod
    def of(
        cls,
        records: Records,
        partition: Partition,
        negative: str,
        bounds: Mapping[str, tuple[Number, Number]] | None,
        top: int,
    ) -> _Draft:
        labels, sizes = partition.labels, partition.sizes
        people = contributions(records.units, labels, records.names, negative=negative, top=top)
        sums = cluster_sums(records.units, labels)
        low, high = _bounds(records, bounds)
        names = [(str(c), a) for c in range(len(sizes)) for a in records.names]
        return cls(
            records, sizes, sums, people, low, high, names, sums.ravel().tolist(),
            _times(low, sizes).ravel().tolist(), _times(high, sizes).ravel().tolist(),
            [], 0, [], [], {},
        )  # fmt: skip

    @property
    def clusters(self) -> int:
        return len(self.sizes)

    def add_cell(self, label: tuple[str, str], value: int, lower: int, upper: int) -> int:
        self.labels.append(label)
        self.values.append(value)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.labels) - 1

    def add_relation(self, terms: Mapping[int, int]) -> None:
        self.entries += [(self.relations, cell, c) for cell, c in terms.items() if c]
        self.relations += 1

    def add_sums(self, name: str, members: Ints) -> None:
        """Add the known sums of all attributes over some clusters."""
        d = len(self.records.names)
        sums = self.sums[members].sum(axis=0)
        count = self.sizes[members].sum(keepdims=True)
        low, high = _times(self.low, count)[0], _times(self.high, count)[0]
        for j, attribute in enumerate(self.records.names):
            cell = self.add_cell((name, attribute), int(sums[j]), int(low[j]), int(high[j]))
            self.public.append(cell)
            self.add_relation({int(c) * d + j: 1 for c in members} | {cell: -1})

    def add_identity(self, identity: Identity) -> bool:
        """Add an identity as a relation of every cluster in which it holds; say if there is one."""
        names, d, scale = self.records.names, len(self.records.names), self.records.scale
        column = identity.column(names)
        unit = identity.constant.denominator
        constant = int(identity.constant * unit)
        added = False
        for c in range(self.clusters):
            size = int(self.sizes[c])
            off = (
                unit * sum(int(a) * int(s) for a, s in zip(column, self.sums[c], strict=True))
                - constant * size * 10**scale
            )
            reach = unit * identity.tolerance * size * 10**scale
            if abs(off) > reach:
                continue  # a record of this cluster breaks it, so no reader can rely on it
            terms = {c * d + j: unit * int(a) for j, a in enumerate(column)}
            if constant:
                terms[self._size_cell(c)] = -constant
            if identity.tolerance:
                slack = self.add_cell(
                    (str(c), f"rounding of {identity}"), -off, -int(reach), int(reach)
                )
                self.unseen.append(slack)
                terms[slack] = 1
            self.add_relation(terms)
            added = True
        return added

    def _size_cell(self, cluster: int) -> int:
        """Cell of a cluster's size, which is published."""
        name = str(cluster)
        if name not in self.size_cells:
            size = int(self.sizes[cluster]) * 10**self.records.scale
            self.size_cells[name] = self.add_cell((name, RECORDS), size, size, size)
            self.public.append(self.size_cells[name])
        return self.size_cells[name]


def _levels(groups: ArrayLike | None, clusters: int) -> list[tuple[int | None, NDArray[Any]]]:
    if groups is None:
        return []
    array = np.asarray(groups)
    levels = array[None, :] if array.ndim == 1 else array
    if levels.ndim != 2 or levels.shape[1] != clusters:
        msg = f"groups has shape {array.shape}; {clusters} clusters need ({clusters},) or levels"
        raise InputError(msg)
    if len(levels) == 1:
        return [(None, levels[0])]
    return [(i + 1, level) for i, level in enumerate(levels)]


def _bounds(
    records: Records, given: Mapping[str, tuple[Number, Number]] | None
) -> tuple[Ints, Ints]:
    """Publicly known bounds of a record's value in each attribute."""
    d = len(records.names)
    low = np.where(records.units.min(axis=0) >= 0, 0, -UNBOUNDED)
    high = np.full(d, UNBOUNDED, np.int64)
    for name, ends in (given or {}).items():
        if name not in records.names:
            msg = f"bounds: there is no attribute {name!r}; there are {', '.join(records.names)}"
            raise InputError(msg)
        j = records.names.index(name)
        if len(ends) != 2 or exact(ends[0]) > exact(ends[1]):
            msg = f"bounds of {name!r} must be the least and the largest value of a record"
            raise InputError(msg)
        least, most = (exact(end) * 10**records.scale for end in ends)
        low[j], high[j] = int(-(-least // 1)), int(Fraction(most) // 1)
        wrong = (records.units[:, j] < low[j]) | (records.units[:, j] > high[j])
        if wrong.any():
            msg = (
                f"row {int(np.argmax(wrong)) + 1}, attribute {name!r}: the value lies outside the "
                f"bounds given ({int(wrong.sum())} such rows); bounds must hold for every record"
            )
            raise InputError(msg)
    return low, high


def _times(bound: Ints, sizes: Ints) -> Ints:
    """Bounds of sums, shape (c, d); what is unbounded stays so."""
    open_end = np.abs(bound) >= UNBOUNDED
    finite: Ints = np.where(open_end, 0, bound)[None, :] * sizes[:, None]
    # A bound beyond what cells may hold does not bind.
    beyond = open_end[None, :] | (np.abs(finite.astype(np.float64)) > 2.0**53)
    return np.where(beyond, np.sign(bound)[None, :] * UNBOUNDED, finite)


def _padded(people: Contributors, n: int) -> Contributors:
    """Contributors of all cells; those beyond clusters by attributes have none."""

    def grown(array: Ints, fill: int) -> Ints:
        rest = np.full((n - len(array), *array.shape[1:]), fill, np.int64)
        return np.concatenate([array, rest])

    return Contributors(
        grown(people.count, 0),
        grown(people.total, 0),
        grown(people.top, 0),
        None if people.ids is None else grown(people.ids, -1),
        None if people.opposite is None else _padded(people.opposite, n),
    )
