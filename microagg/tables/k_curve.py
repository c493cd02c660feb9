"""What larger clusters cost, and whether they are safer: one point for each k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from csp.clock import Clock
from csp.errors import InputError
from csp.names.calls import whole_number
from csp.rules import Rule
from microagg.partitions.contributors import joined_to_k
from microagg.partitions.methods.mdav import mdav_labels
from microagg.partitions.partition import Partition
from microagg.records import read_records
from microagg.scaling import scaled
from microagg.tables.risk import judged

LADDER = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
"""Values of k that are tried if none are named."""


@dataclass(frozen=True, slots=True)
class KPoint:
    """Clusters of at least k records by MDAV.

    Attributes
    ----------
    k : int
        Records, or different contributors where these were named.
    information_loss : float
        Percent of the variance that the means do not keep.
    sensitive_means : int or None
        Cluster means that the rule calls sensitive; None without a rule.
    means : int
        Clusters by attributes.
    """

    k: int
    information_loss: float
    sensitive_means: int | None
    means: int


def k_curve(
    X: Any,
    rule: Rule | str | None = None,
    *,
    ks: Sequence[int] = LADDER,
    scale: str = "standardise",
    constant: str = "keep",
    negative: str = "error",
    contributor: str | Sequence[Any] | None = None,
    time_limit: float | None = None,
) -> tuple[KPoint, ...]:
    """Loss and sensitive means of plain MDAV for several k.

    Parameters
    ----------
    X : data
        As `microagg.read_records` takes it.
    rule : Rule or str, optional
        What makes a mean sensitive (see `microagg.disclosure`).
    ks : sequence of int
        Those above half of the records, or above all contributors, are left out.
    scale : str
        One of `microagg.scaling.SCALES`.
    constant : {"error", "keep"}
        Whether an attribute with one value only is refused or kept.
    negative : str
        How the rule reads negative values; see `microagg.disclosure`.
    contributor : str or sequence, optional
        Who each record belongs to; see `microagg.mdav`.
    time_limit : float, optional
        Wall seconds; then the curve ends early.

    Returns
    -------
    tuple of KPoint
        In the order of `ks`.

    Raises
    ------
    InputError
        If a k is not a whole number of at least 2, there are fewer than 4 records, or the data or
        the rule cannot be read.

    See Also
    --------
    microagg.mdav : The clusters of one k.

    Examples
    --------
    Every mean of two records is sensitive; more than three are not needed here.

    >>> data = {"pay": [30, 31, 34, 52, 55, 190, 195, 300]}
    >>> for point in k_curve(data, "P(60)", ks=[2, 3, 4]):
    ...     print(point.k, round(point.information_loss, 1), point.sensitive_means)
    2 19.8 4
    3 11.1 0
    4 41.0 0
    """
    clock = Clock.of(time_limit)
    if isinstance(ks, str) or not isinstance(ks, Iterable):
        msg = f"ks must be several whole numbers, such as [2, 3, 5], not {ks!r}"
        raise InputError(msg)
    wanted = [whole_number("each of ks", k, 2) for k in ks]
    records = read_records(X, contributor=contributor)
    if records.n < 4:
        msg = f"{records.n} records make no two clusters of 2; a curve needs at least 4"
        raise InputError(msg)
    points = scaled(records, scale, constant=constant)
    found = []
    for k in wanted:
        if k > min(records.n // 2, records.contributors):
            continue
        if clock.over:
            break
        labels = mdav_labels(points, k)
        labels = joined_to_k(points, labels, records.contributor, k)
        partition = Partition.of(records, labels, k, "MDAV")
        sensitive = None
        if rule is not None:
            sensitive = judged(records, partition, [rule], negative=negative)[0].count
        means = len(partition.sizes) * len(partition.names)
        found.append(KPoint(k, float(partition.information_loss), sensitive, means))
    return tuple(found)
