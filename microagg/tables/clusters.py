"""The table that a microaggregated file is: clusters by attributes, bound by relations.

A published mean and the published size of its cluster tell the cell, the sum of the attribute over
the cluster. Microaggregation keeps the mean of the file, so the totals of the attributes are known
as well; identities between attributes hold in every cluster, and sums over groups of clusters are
known where a tree of clusters is released. All of these are relations of one `csp.Table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Ints, Number, exact
from csp.names.calls import asked_as, check_choice, check_known
from csp.tables.contributors import Contributors
from csp.tables.table import Table
from microagg.partitions.means import cluster_sums
from microagg.partitions.partition import Partition, records_of
from microagg.records import Frozen, Records
from microagg.tables.contributions import NEGATIVE, contributions
from microagg.tables.identities import Identity, as_identities

TOTAL = "Total"
RECORDS = "(records)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterTable(Frozen):
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
    public: Bools
    unseen: Bools
    identities: tuple[Identity, ...]

    def __repr__(self) -> str:
        c, d = self.shape
        return f"ClusterTable({c} clusters x {d} attributes, {len(self.identities)} identities)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterTableOptions:
    """Records, their clusters and what the public knows: the arguments of `microagg.cells`.

    Attributes
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
    contributor : str or sequence, optional
        Who each record belongs to: a column, or n identifiers; those of the partition by default.
        Its records in a cluster count as one contribution, their sum.
    """

    X: Any
    partition: Partition
    _: KW_ONLY
    totals: bool = True
    groups: ArrayLike | None = None
    identities: str | Sequence[str | Identity] | None = "detect"
    share: Number | None = None
    negative: str = "error"
    bounds: Mapping[str, tuple[Number, Number]] | None = None
    top: int = 5
    decimals: int | None = None
    contributor: str | Sequence[Any] | None = None


@asked_as(ClusterTableOptions)
def cells(asked: ClusterTableOptions) -> Table:
    """Table of clusters by attributes; takes what `ClusterTableOptions` does.

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
    return _cluster_table(asked).table


@asked_as(ClusterTableOptions)
def cluster_table(asked: ClusterTableOptions) -> ClusterTable:
    """Table of clusters by attributes, with what is special about its cells; see `cells`."""
    return _cluster_table(asked)


def _cluster_table(asked: ClusterTableOptions) -> ClusterTable:
    records = records_of(asked.X, asked.partition, asked.decimals, asked.contributor)
    found = as_identities(asked.identities, records, asked.share)
    known = Known(
        totals=asked.totals, groups=asked.groups, identities=found, bounds=asked.bounds or {}
    )
    return table_of(records, asked.partition, known, negative=asked.negative, top=asked.top)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the public knows of clusters beside the cells that are published; see `cells`."""

    totals: bool = True
    groups: ArrayLike | None = None
    identities: tuple[Identity, ...] = ()
    bounds: Mapping[str, tuple[Number | None, Number | None]] = field(default_factory=dict)


def table_of(
    records: Records, partition: Partition, known: Known, *, negative: str = "error", top: int = 5
) -> ClusterTable:
    """Make a table of the records of a partition."""
    from scipy.sparse import coo_array, csr_array

    check_choice("negative", negative, NEGATIVE)
    labels, sizes, d = partition.labels, partition.sizes, len(records.names)
    people = contributions(
        records.units, labels, records.names, negative=negative, top=top,
        contributor=records.contributor,
    )  # fmt: skip
    draft = _Draft(
        records, sizes, cluster_sums(records.units, labels), *bounds_of(records, known.bounds)
    )
    draft.add_cells(list(map(str, range(len(sizes)))), draft.sums, sizes)
    if known.totals:
        draft.add_sums(TOTAL, np.arange(len(sizes)))
    for level, codes in _levels(known.groups, len(sizes)):
        for code in np.unique(codes).tolist():
            name = f"group {code}" if level is None else f"group {level}.{code}"
            draft.add_sums(name, np.flatnonzero(codes == code))
    kept = tuple(identity for identity in known.identities if draft.add_identity(identity))
    n = len(draft.labels)
    entries = np.array(draft.entries, dtype=np.int64).reshape(-1, 3)
    shape = (draft.relations, n)
    relations = coo_array((entries[:, 2], (entries[:, 0], entries[:, 1])), shape=shape)
    values, lower, upper = np.concatenate(draft.numbers, axis=1)
    table = Table(
        values=values,
        relations=csr_array(relations),
        lower=lower,
        upper=upper,
        labels=tuple(draft.labels),
        scale=records.scale,
        contributors=_padded(people, n),
        names=("cluster", "attribute"),
        roots=(TOTAL, "") if known.totals else ("", ""),
        frame=records.library,
    )
    flags = []
    for marked in (draft.public, draft.unseen):
        mask = np.zeros(n, dtype=bool)
        mask[marked] = True
        flags.append(mask)
    return ClusterTable(table, (len(sizes), d), flags[0], flags[1], kept)


def bounds_of(
    records: Records, given: Mapping[str, tuple[Number | None, Number | None]]
) -> tuple[Ints, Ints]:
    """Publicly known least and largest value of each attribute in units, shape (d,) each.

    Of attributes that are not given, all that is known is that one without a negative value has
    none; what is unbounded is `UNBOUNDED`.

    Raises
    ------
    InputError
        If an attribute is unknown, its ends are not in order, or a value lies outside.
    """
    low = np.where(records.units.min(axis=0) >= 0, 0, -UNBOUNDED)
    high = np.full(len(records.names), UNBOUNDED, np.int64)
    unit = 10**records.scale
    check_known("bounds", given, records.names)
    for name, ends in given.items():
        j = records.names.index(name)
        least, most = (None if end is None else exact(end) * unit for end in (*ends, None)[:2])
        if len(ends) != 2 or (least is not None and most is not None and least > most):
            msg = f"bounds of {name!r} must be the least and the largest value of a record"
            raise InputError(msg)
        low[j] = -UNBOUNDED if least is None else int(-(-least // 1))
        high[j] = UNBOUNDED if most is None else int(most // 1)
        wrong = (records.units[:, j] < low[j]) | (records.units[:, j] > high[j])
        if wrong.any():
            msg = (
                f"row {int(np.argmax(wrong)) + 1}, attribute {name!r}: the value lies outside "
                f"the bounds given ({int(wrong.sum())} such rows); bounds must hold for every "
                "record"
            )
            raise InputError(msg)
    return low, high


@dataclass(slots=True)
class _Draft:
    """A table while it is put together; `numbers` are a cell's value and its bounds."""

    records: Records
    sizes: Ints
    sums: Ints
    low: Ints
    high: Ints
    labels: list[tuple[str, str]] = field(default_factory=list)
    numbers: list[Ints] = field(default_factory=list)
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    relations: int = 0
    public: list[int] = field(default_factory=list)
    unseen: list[int] = field(default_factory=list)
    size_cells: dict[int, int] = field(default_factory=dict)

    def add_cell(self, label: tuple[str, str], value: int, lower: int, upper: int) -> int:
        self.labels.append(label)
        self.numbers.append(np.array([[value], [lower], [upper]], np.int64))
        return len(self.labels) - 1

    def add_relation(self, terms: Mapping[int, int]) -> None:
        self.entries += [(self.relations, cell, c) for cell, c in terms.items() if c]
        self.relations += 1

    def add_cells(self, names: Sequence[str], sums: Ints, sizes: Ints) -> range:
        """Add cells of all attributes: sums (m, d) over (m,) records."""
        begin = len(self.labels)
        self.labels += [(name, attribute) for name in names for attribute in self.records.names]
        numbers = sums, _times(self.low, sizes), _times(self.high, sizes)
        self.numbers.append(np.array([array.ravel() for array in numbers]))
        return range(begin, len(self.labels))

    def add_sums(self, name: str, members: Ints) -> None:
        """Add the known sums of all attributes over some clusters."""
        sums, size = self.sums[members].sum(axis=0), self.sizes[members].sum(keepdims=True)
        for j, cell in enumerate(self.add_cells([name], sums, size)):
            self.public.append(cell)
            self.add_relation({int(c) * len(sums) + j: 1 for c in members} | {cell: -1})

    def add_identity(self, identity: Identity) -> bool:
        """Add an identity as a relation of every cluster in which it holds; say if there is one."""
        names, d, scale = self.records.names, len(self.records.names), self.records.scale
        column = identity.column(names)
        unit = identity.constant.denominator
        constant = int(identity.constant * unit)
        added = False
        for c in range(len(self.sizes)):
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
        if cluster not in self.size_cells:
            size = int(self.sizes[cluster]) * 10**self.records.scale
            cell = self.add_cell((str(cluster), RECORDS), size, size, size)
            self.size_cells[cluster] = cell
            self.public.append(cell)
        return self.size_cells[cluster]


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
