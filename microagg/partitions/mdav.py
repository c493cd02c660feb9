"""MDAV: clusters of k records round the extremes of what is left.

Domingo-Ferrer and Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through
microaggregation, algorithm MDAV-generic: while at least 3k records have no cluster, the record
farthest from their mean takes its k nearest (itself included), then the record farthest from
that one takes k of the rest; of 2k records or more that remain, the one farthest from the mean
takes k; the others are the last cluster.

The result is defined without reference to the way it is computed: means are rounded once
(`microagg.partitions.sums`), squared distances are summed attribute by attribute, and of equal
records, whether farthest or nearest, the lowest row comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from microagg.partitions import drift, fused, lanes, nearest, rounds, search, sums, tree
from microagg.partitions.fused import LEFT
from microagg.partitions.rounds import GROUPS
from microagg.records import check_k

__all__ = ["checked_points", "mdav_labels"]

LARGEST = 2.0**500
"""Squares of larger coordinates, or their sums, might not be finite."""

PASSES = 100_000_000
"""Squares computed by passes between two calls of `progress`, about a tenth of a second,"""
ROUNDS = 100
"""and rounds by tree."""

FEW = 200
"""So many records left are faster by passes than by tree."""

_NAMES = (
    *("add", "add_all", "quotient", "means", "worse", "offer"),
    *("distances_from", "farthest", "nearest", "assign", "close_up", "fused"),
    *("gather", "fill", "widest", "smallest", "largest", "halve", "rearrange", "measure"),
    *("leave", "remove", "tighten", "k_nearest", "farthest_from", "opposite"),
    *("measure_all", "move", "farthest_from_centre", "margin", "squared", "sink", "rise"),
    *("begin", "enough", "rounds"),
)
_compiled: dict[str, Any] = {}


def mdav_labels(
    points: NDArray[np.float64],
    k: int,
    *,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = UNLIMITED,
) -> NDArray[np.int64]:
    """Cluster of each record by MDAV.

    Parameters
    ----------
    points : (n, d) float64
        Records, already scaled.
    k : int
        Least size of a cluster, 1 to n.
    progress : callable, optional
        Called now and then with the number of records that have a cluster, and n. Between these
        calls an interrupt is heard, too.
    clock : Clock

    Returns
    -------
    (n,) int64
        Clusters are numbered as they are formed. All have k records but the last, which has
        fewer than 2k.

    Raises
    ------
    InputError
        If k is no whole number from 1 to n, or a coordinate is not finite or beyond 2**500.
    OutOfTime
        If the time runs out before every record has a cluster.
    """
    points = checked_points(points)
    n, d = points.shape
    k = check_k(k, n)
    run = compiled()
    base, digits = sums.digits_for(points)
    bits = points.view(np.int64)
    run["add_all"](digits, base, bits)
    labels = np.full(n, -1, np.int64)
    state = np.array([n, 0, 0], np.int64)

    def report() -> None:
        if progress is not None:
            progress(n - int(state[LEFT]), n)
        if state[LEFT]:
            clock.check("every record had a cluster")

    if rounds.enough(n, k, FEW):
        _by_tree(points, bits, digits, base, k, state, labels, report)
    rows = np.flatnonzero(labels < 0)
    columns = np.array(points[rows].T, order="C")
    while state[LEFT]:
        most = max(1, PASSES // (4 * d * int(state[LEFT])))
        run["fused"](columns, rows, bits, digits, base, k, state, labels, most)
        report()
    return labels


def _by_tree(
    points: NDArray[np.float64], bits: NDArray[np.int64], digits: Any, base: Any, k: int,
    state: NDArray[np.int64], labels: NDArray[np.int64], report: Callable[[], None],
) -> None:  # fmt: skip
    """Form clusters until few records are left."""
    run = compiled()
    d = points.shape[1]
    groups = tree.groups_of(points)
    scratch = search.empty_search(d, k)
    while rounds.enough(int(state[LEFT]), k, FEW):
        # Whenever half of the groups are gone, a new tree is smaller and nearer to its centre.
        members = np.flatnonzero(groups.head >= 0)
        state[GROUPS] = len(members)
        grown = tree.empty_tree(points, len(members))
        heap = drift.empty_drift(len(members), d)
        run["begin"](grown, heap, points, members, digits, base, int(state[LEFT]))
        half = len(members) // 2 if len(members) > FEW else 0
        while rounds.enough(int(state[LEFT]), k, FEW) and state[GROUPS] > half:
            run["rounds"](
                grown, heap, groups, scratch, points, bits, digits, base, k, state, labels,
                ROUNDS, FEW, half,
            )  # fmt: skip
            report()


def checked_points(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points that distances can be taken of, C-contiguous, without negative zeros.

    Raises
    ------
    InputError
        If there are not two axes, no records or no attributes, too many records, or a coordinate
        is not finite or beyond 2**500.
    """
    found = np.ascontiguousarray(points, dtype=np.float64)
    if found.ndim != 2 or 0 in found.shape:
        msg = f"points need two axes, records and attributes, at least one each; not {found.shape}"
        raise InputError(msg)
    if len(found) > sums.MOST_RECORDS:
        msg = f"{len(found)} records are more than the {sums.MOST_RECORDS} that sums can hold"
        raise InputError(msg)
    wrong = ~(np.abs(found) <= LARGEST)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        msg = (
            f"row {row}, column {column}: a coordinate is not finite or beyond 2**500, so that "
            "distances cannot be computed; scale the attribute"
        )
        raise InputError(msg)
    return found + 0.0


def modules() -> tuple[ModuleType, ...]:
    """Where the compiled functions are."""
    return (sums, nearest, lanes, fused, tree, search, drift, rounds)


def compiled() -> dict[str, Any]:
    """Compiled twins of the functions of MDAV, by name."""
    if not _compiled:
        from csp.compiled import compile_together

        given = lanes.vectors()
        _compiled.update(given | compile_together(modules(), _NAMES, given))
    return _compiled
