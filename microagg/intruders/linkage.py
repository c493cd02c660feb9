"""Record linkage: an intruder looks for the masked record nearest to each person's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csp.errors import InputError, phrase
from csp.exact import Bools, Floats, Ints, exact
from csp.names.calls import check_choice, whole_number
from csp.tables.columns import records_source
from csp.tables.cross.frames import columns_to_frame
from microagg.partitions.means import in_clusters
from microagg.partitions.partition import MaskedFile
from microagg.records import Frozen, Records, read_records
from microagg.scaling import SCALES, refuse_constant, spreads

CLOSE = 1e-9
"""Relative difference of distances below which they are compared exactly."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordLinkage(Frozen):
    """Links of persons to masked records.

    Attributes
    ----------
    names : tuple of str
        Attributes that the intruder knows and compares.
    scale : str
    nearest : (n,) int64
        Masked records at the least distance from each person; links are drawn among them.
    right : (n,) bool
        Whether the person's own record is among them.
    choices : (m,) int64
        Group of equal masked records of every masked record, for `links`.
    pools : tuple of tuple of int
        Groups at the least distance from each person.
    own : (n,) int64
        Group of each person's own record; -1 for who has none.
    library : str
    """

    names: tuple[str, ...]
    scale: str
    nearest: Ints
    right: Bools
    choices: Ints
    pools: tuple[tuple[int, ...], ...]
    own: Ints
    library: str = ""

    def __repr__(self) -> str:
        return (
            f"RecordLinkage({len(self.right)} persons on {', '.join(self.names)}: "
            f"{float(self.expected):.4f} of links expected to be right, {self.certain} certain)"
        )

    @property
    def chances(self) -> Floats:
        """Probability of the right link for each person, shape (n,)."""
        return np.asarray(np.where(self.right, 1.0 / self.nearest, 0.0))

    @property
    def expected(self) -> Fraction:
        """Expected share of right links, exactly."""
        sizes, counts = np.unique(self.nearest[self.right], return_counts=True)
        pairs = zip(counts.tolist(), sizes.tolist(), strict=True)
        return sum((Fraction(c, s) for c, s in pairs), Fraction(0)) / len(self.right)

    @property
    def certain(self) -> int:
        """Persons whose own record alone is nearest."""
        return int((self.right & (self.nearest == 1)).sum())

    @property
    def highest(self) -> Fraction:
        """Largest probability of a right link; at most 1/k for a k-anonymous file."""
        found = self.nearest[self.right]
        return Fraction(1, int(found.min())) if len(found) else Fraction(0)

    def links(self, seed: int = 0) -> Ints:
        """Draw one link for each person, shape (n,): rows of the masked file.

        Parameters
        ----------
        seed : int
            Ties are broken at random, each record with the same probability.
        """
        order, starts = in_clusters(self.choices)
        equal = np.split(order, starts[1:])
        drawn = (
            np.random.default_rng(whole_number("seed", seed, 0)).integers(0, self.nearest).tolist()
        )
        links = np.empty(len(drawn), np.int64)
        for person, (pool, place) in enumerate(zip(self.pools, drawn, strict=True)):
            # The place among the records of all groups of the pool, one group after the other.
            for group in pool:
                if place < len(equal[group]):
                    links[person] = equal[group][place]
                    break
                place -= len(equal[group])
        return links

    def simulate(self, runs: int = 100, seed: int = 0) -> Floats:
        """Share of right links in runs whose ties are broken at random, shape (runs,)."""
        random = np.random.default_rng(whole_number("seed", seed, 0))
        within = self.nearest[self.right]
        hits = [(random.integers(0, within) == 0).sum() for _ in range(whole_number("runs", runs))]
        return np.array(hits, np.float64) / len(self.right)

    def to_frame(self, library: str | None = None) -> Any:
        """One row per person: row, nearest, right, chance. For internal files only."""
        columns = {
            "row": np.arange(len(self.right)),
            "nearest": self.nearest,
            "right": self.right,
            "chance": self.chances,
        }
        return columns_to_frame(columns, self.library if library is None else library)

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON; holds no value."""
        return {
            "attributes": list(self.names),
            "scale": self.scale,
            "persons": len(self.right),
            "masked_records": len(self.choices),
            "expected_right_share": float(self.expected),
            "expected_right_links": float(self.expected * len(self.right)),
            "own_record_among_nearest": int(self.right.sum()),
            "certain_links": self.certain,
            "highest_chance": float(self.highest),
        }


def link_records(
    original: Any,
    masked: Any,
    *,
    attributes: Sequence[str] | None = None,
    scale: str = "standardise",
    rows: ArrayLike | None = None,
) -> RecordLinkage:
    """Link persons to masked records by distance.

    The intruder knows the original values of the attributes of each person and has the masked
    file; it links each person to a masked record at the least Euclidean distance, any of them
    with the same probability. Which link is right is known to the owner of the data only.

    Parameters
    ----------
    original : (n, d) array, data frame, mapping of columns, or path
        What the intruder knows; one record per person.
    masked : (m, d) array, data frame, mapping of columns, path, or result of a masking
        What is published. Attributes are found by name; an array has the columns of the original
        file, or those of `attributes`, in their order.
    attributes : sequence of str, optional
        What the intruder knows and compares; all attributes of the original by default.
    scale : str
        One of `microagg.scaling.SCALES`: how attributes are made comparable, by their spread in
        the original file.
    rows : (m,) int, optional
        Row of the original behind each masked record, where records were dropped or put in
        another order. The same row by default.

    Returns
    -------
    RecordLinkage

    Raises
    ------
    InputError
        If an attribute is missing in one of the files or not complete, one is constant (unless
        the scale is "none"), the scale is unknown, or the rows do not fit.

    Notes
    -----
    Numbers and spreads are floats. Distances that are close as floats are compared by the decimals
    of the numbers (0.1 is one tenth), so that ties are ties in any unit.

    J. Domingo-Ferrer and V. Torra, Disclosure risk assessment in statistical microdata protection
    via advanced record linkage, Statistics and Computing 13 (2003).

    Examples
    --------
    >>> import microagg
    >>> from microagg.intruders import link_records
    >>> data = {"pay": [10, 11, 12, 30, 31, 35]}
    >>> halves = microagg.Partition.of(microagg.read_records(data), [0, 0, 0, 1, 1, 1], 3, "halves")
    >>> link_records(data, halves)
    RecordLinkage(6 persons on pay: 0.3333 of links expected to be right, 0 certain)
    """
    known, found, behind = read_pair(original, masked, attributes, rows)
    check_choice("scale", scale, SCALES)
    if scale != "none":
        refuse_constant(known, "so it does not tell records apart", "leave it out")
    spread = spreads(known, scale)
    published, which = np.unique(found.values, axis=0, return_inverse=True)
    which = np.asarray(which, np.int64).ravel()
    pools = nearest_records(known.values, published, spread)
    sizes = np.bincount(which)
    nearest = np.array([sum(int(sizes[g]) for g in pool) for pool in pools], np.int64)
    own = np.full(known.n, -1, np.int64)
    own[behind] = which
    right = np.fromiter((g in pool for g, pool in zip(own, pools, strict=True)), bool, known.n)
    return RecordLinkage(known.names, scale, nearest, right, which, pools, own, known.library)


def nearest_records(
    persons: Floats, published: Floats, spread: Floats
) -> tuple[tuple[int, ...], ...]:
    """Find the published points at the least distance from each person, exactly.

    Points, (g, d), are distinct, and found in ascending order; differences are divided by the
    positive spread, (d,).
    """
    from scipy.spatial import cKDTree

    origin = published.mean(axis=0)
    targets, places = (published - origin) / spread, (persons - origin) / spread
    tree = cKDTree(targets)
    two = min(2, len(published))
    distances, points = (np.asarray(a).reshape(-1, two) for a in tree.query(places, k=two))
    # What rounding can do to a distance: a few units in the last place of each coordinate.
    size = max(float(np.abs(a / spread).max(initial=0)) for a in (persons, published, origin[None]))
    slack = 16 * np.finfo(float).eps * size * persons.shape[1]
    reach = distances[:, 0] * (1 + CLOSE) + slack
    close = np.flatnonzero(distances[:, -1] <= reach) if two == 2 else np.empty(0, np.int64)
    found: list[tuple[int, ...]] = [(int(p),) for p in points[:, 0]]
    if len(close):
        divisors = [Fraction(float(s)) for s in spread]
        near = tree.query_ball_point(places[close], reach[close] + slack)
        for i, candidates in zip(close.tolist(), near, strict=True):
            found[i] = _closest(persons[i], published, sorted(candidates), divisors)
    return tuple(found)


def _closest(
    person: Floats, published: Floats, candidates: list[int], divisors: list[Fraction],
) -> tuple[int, ...]:  # fmt: skip
    """Candidates at the least distance, by the decimals of what both files say."""
    place = [exact(x) for x in person.tolist()]
    squares = [
        sum(((x - exact(y)) / s) ** 2 for x, y, s in zip(place, point, divisors, strict=True))
        for point in published[candidates].tolist()
    ]
    least = min(squares)
    return tuple(c for c, square in zip(candidates, squares, strict=True) if square == least)


def read_pair(
    original: Any, masked: Any, attributes: Sequence[str] | None, rows: ArrayLike | None
) -> tuple[Records, Records, Ints]:
    """Read a file and its masked one, and the row of the first behind each record of the second.

    Each attribute must be published for every record.
    """
    whole = original if isinstance(original, Records) else records_source(original)
    known = read_records(whole, attributes)
    if isinstance(masked, MaskedFile):
        if masked.suppressed_cells:
            msg = (
                f"{masked.suppressed_cells} cells of the masked file are suppressed; link on "
                "attributes that are published for every record"
            )
            raise InputError(msg)
        masked = masked.to_columns()
    elif isinstance(masked, (np.ndarray, list, tuple)):
        array = np.asarray(masked)
        every = whole.names
        columns = every if array.shape[-1] == len(every) else known.names
        if array.ndim != 2 or array.shape[1] != len(columns):
            msg = (
                f"masked file: {array.shape[-1]} columns for {len(every)} of the original; give "
                "those or the attributes that are compared"
            )
            raise InputError(msg)
        masked = {name: array[:, j] for j, name in enumerate(columns)}
    try:
        found = read_records(masked, known.names)
    except InputError as error:
        msg = f"masked file: {error}"
        raise InputError(msg) from None
    return known, found, _behind(rows, known.n, found.n)


def _behind(rows: ArrayLike | None, persons: int, records: int) -> Ints:
    """Original row behind each masked record, shape (records,), checked if it is given."""
    if rows is None:
        if persons != records:
            mend = phrase(
                "say with rows= which original row is behind each masked record",
                "give the original without the records that were left out",
            )
            msg = f"the masked file has {records} records and the original {persons}; {mend}"
            raise InputError(msg)
        return np.arange(persons)
    found = np.asarray(rows)
    if found.shape != (records,) or found.dtype.kind not in "iu":
        msg = f"rows must hold one row number for each of the {records} masked records"
        raise InputError(msg)
    if len(np.unique(found)) < records or found.min() < 0 or found.max() >= persons:
        msg = f"rows must be different numbers from 0 to {persons - 1}"
        raise InputError(msg)
    return found.astype(np.int64)
