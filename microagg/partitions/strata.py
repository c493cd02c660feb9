"""Clusters inside strata, and which clusters small strata join.

Records belong to one stratum if they agree in the key columns and lack the same values. A method
makes clusters of every stratum with k contributors as if it were the whole file. A stratum with
fewer is a piece of its own, which joins another piece, a cluster or another such stratum, until
each has k: the one that differs from it in the fewest columns; of these, one that agrees with it in
the columns named first; of these, the one with the nearest mean.

Only the records of the two pieces lose what they do not share: a key of several values is published
as the set of them, and an attribute that one of the records lacks is missing in all of them. So
records of a cluster are published alike in every column, missing values included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.names.calls import states
from csp.tables.codes import numbered_codes
from microagg.partitions.joining import joined
from microagg.partitions.partition import Partition
from microagg.records import Records, check_k, count_different
from microagg.scaling import OR_KEEP, refuse_constant

SIGN = "|"
"""Between the codes of a set."""

ABSENT = "missing"
"""Stands for a missing code in a set."""

Make = Callable[[Records, str, "Callable[[int, int], None] | None"], tuple[Ints, str]]
"""Makes clusters of complete records; takes what is done about constants, and a progress.

Returns the cluster of each record, and how they were made, in words.
"""


class MaskOptions(TypedDict, total=False):
    """What is said of records that are masked; see `microagg.mdav`, and `Asking` for defaults."""

    attributes: Sequence[str] | None
    constant: str
    decimals: int | None
    contributor: str | Sequence[Any] | None
    within: Sequence[str] | str
    missing: str


class ClusterOptions(MaskOptions, total=False):
    """The same of records that are put in clusters."""

    scale: str
    time_limit: float | None
    progress: Callable[[int, int], None] | None


@states(MaskOptions)
@states(ClusterOptions)
@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """How clusters are asked for, whatever the method; see `microagg.mdav`."""

    data: Any
    k: int
    scale: str = "standardise"
    attributes: Sequence[str] | None = None
    constant: str = "error"
    decimals: int | None = None
    contributor: str | Sequence[Any] | None = None
    within: Sequence[str] | str = ()
    missing: str = "error"
    clock: Clock = UNLIMITED
    progress: Callable[[int, int], None] | None = None

    @classmethod
    @states(ClusterOptions)
    def of(cls, data: Any, k: int, *, time_limit: float | None = None, **options: Any) -> Asking:
        """Start the clock."""
        return cls(data, k, clock=Clock.of(time_limit), **options)


def keys_of(
    within: Sequence[str] | str, attributes: Sequence[str] | None, contributor: Any
) -> tuple[str, ...]:
    """Return the key columns, which are neither masked nor say who a record belongs to.

    Raises
    ------
    InputError
        If one is, or one is named twice.
    """
    names = (within,) if isinstance(within, str) else tuple(within)
    for i, name in enumerate(names):
        what = ""
        if name in names[:i]:
            what = "twice; name each column once"
        elif name in (attributes or ()):
            what = f"and {argument('attributes')} too; a column is masked, or a key"
        elif isinstance(contributor, str) and name == contributor:
            what = (
                f"and {argument('contributor')} too; each contributor would be a stratum of its own"
            )
        if what:
            msg = f"{argument('within')} names {name!r} {what}"
            raise InputError(msg)
    return names


def clustered(records: Records, keys: Sequence[str], asked: Asking, make: Make) -> Partition:
    """Make clusters of all records, inside strata if there are keys or missing values.

    Parameters
    ----------
    records : Records
        With the keys among its `others`.
    keys : sequence of str
    asked : Asking
    make : callable

    Raises
    ------
    OutOfTime
        If the time was over before every cluster had k contributors.
    """
    k = check_k(asked.k, records.n, 2, records.contributors)
    if not keys and records.gaps is None:
        labels, method = make(records, asked.constant, asked.progress)
        return Partition.of(records, labels, k, method)
    if asked.constant == "error":
        refuse_constant(records, "so it cannot tell records apart", OR_KEEP)
    columns = [numbered_codes(records.by_name[name]) for name in keys]
    numbers = [number for _, number in columns]
    if records.gaps is not None:
        numbers += [gaps.astype(np.int64) for gaps in records.gaps.T if gaps.any()]
    codes = np.column_stack(numbers)
    labels, methods = _inside(records, codes, asked, make)
    labels = joined(
        records, labels, codes, len(keys), k=asked.k, scale=asked.scale, clock=asked.clock
    )
    where = f" within {', '.join(keys)}" if keys else ""
    found = Partition.of(records, labels, k, f"{_method(methods)}{where}")
    shown, notes = {}, [*found.notes]
    for name, (texts, number) in zip(keys, columns, strict=True):
        several, shown[name] = published_keys(records.by_name[name], texts, number, labels)
        notes += _set_notes(name, several, shown[name], found)
    if records.gaps is not None:
        notes.append(_gaps_note(found))
    return replace(found, keys=shown, notes=tuple(notes))


def _inside(records: Records, codes: Ints, asked: Asking, make: Make) -> tuple[Ints, list[str]]:
    """Piece of each record: clusters of large strata, and small strata; and the methods used."""
    which = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(which, kind="stable")
    sizes = np.bincount(which)
    people = sizes
    if records.contributor is not None:
        people = count_different(which, records.contributor)
    labels = np.empty(records.n, np.int64)
    methods: list[str] = []
    pieces = done = 0
    for rows, count in zip(np.split(order, np.cumsum(sizes)[:-1]), people.tolist(), strict=True):
        asked.clock.check("every stratum had clusters")
        names = records.names
        if records.gaps is not None:
            lacks = records.gaps[rows[0]]
            names = tuple(name for name, gone in zip(names, lacks, strict=True) if not gone)
        labels[rows] = pieces
        if count >= asked.k and names:
            part = records.part(rows, names)
            own, method = make(part, "keep", _after(asked, done, records.n))
            labels[rows] += own
            methods.append(method)
        pieces = int(labels[rows].max()) + 1
        done += len(rows)
    return labels, methods


def _after(asked: Asking, done: int, n: int) -> Callable[[int, int], None] | None:
    """Progress of a stratum as one of the file."""
    told = asked.progress
    return None if told is None else lambda more, _: told(done + more, n)


def published_keys(
    column: NDArray[Any], texts: Sequence[str], number: Ints, labels: Ints
) -> tuple[Bools, NDArray[Any]]:
    """Give each cluster what is published of it in a key column.

    Parameters
    ----------
    column : (n,) array
        As given.
    texts : sequence of str
        Its codes in sorted order, "" for missing.
    number : (n,) int64
        Which of them each record has.
    labels : (n,) int64
        Clusters 0, 1, ... without gaps.

    Returns
    -------
    several : (c,) bool
        Clusters with several codes.
    published : (c,) array
        Entries of the column if every cluster has one code; otherwise texts, those of a set joined
        in sorted order, and None where all are missing.
    """
    pairs = np.unique(np.column_stack([labels, number]), axis=0)
    sizes = np.bincount(pairs[:, 0])
    if sizes.max() == 1:
        first = np.unique(number, return_index=True)[1]  # of equal codes one way to write them
        entries: NDArray[Any] = column[first[pairs[:, 1]]]
        return sizes > 1, entries
    found = np.empty(len(sizes), object)
    ends = np.cumsum(sizes)
    for label, codes in enumerate(np.split(pairs[:, 1], ends[:-1])):
        there = [texts[code] for code in codes.tolist() if texts[code]]
        there += [ABSENT] * (0 < len(there) < len(codes))
        found[label] = SIGN.join(there) if there else None
    return sizes > 1, found


def _method(methods: Sequence[str]) -> str:
    """Name of the method, whatever it chose in single strata."""
    names = set(methods)
    if len(names) == 1:
        return names.pop()
    return names.pop().partition("(")[0] if names else "small strata joined"


def _set_notes(name: str, several: Bools, shown: NDArray[Any], found: Partition) -> Iterator[str]:
    """Say in how many records a key is published as a set, which is to be seen there."""
    if several.any():
        records = several[found.labels]
        yield (
            f"strata of fewer than {found.k} joined the nearest cluster: {name!r} is published as "
            f"a set, such as {shown[int(np.argmax(several))]!r}, in {int(records.sum())} of "
            f"{len(records)} records"
        )


def _gaps_note(found: Partition) -> str:
    """Say what is missing in the masked file."""
    lost = np.isnan(found.centroids)
    names = [name for name, gone in zip(found.names, lost.T, strict=True) if gone.any()]
    return (
        f"values of {', '.join(names)} are missing, and stay so; the records of a cluster lack the "
        "same ones"
    )
