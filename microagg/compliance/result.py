"""A masked file without sensitive cells, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import CertificateError
from microagg.partitions.partition import Partition
from microagg.records import Records
from microagg.scaling import scaled
from microagg.tables.risk import disclosure
from microagg.variety import Variety, fewest_values

if TYPE_CHECKING:
    from csp.rules import Rule
    from microagg.compliance.suppress import Suppressed

__all__ = ["Compliant", "Dropped", "certified"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A record that is left out.

    Attributes
    ----------
    row : int
        Its place in the data, from 0.
    attribute : str
        Attribute in which it made its cluster's cell sensitive; "" if its cluster had too few
        records left and no other could take it.
    """

    row: int
    attribute: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compliant:
    """Microaggregated records in which no published cell is sensitive.

    What may be published is `masked` and `to_frame`. The partition holds all means, suppressed
    ones too, and is not for publication. Where records were dropped, the totals of the whole file
    must not be published with the masked one: their difference is the dropped records.

    Attributes
    ----------
    method : str
        "suppress", "grow", "merge", "drop" or "optimise".
    rule : str
    partition : Partition
        Of the records that are kept, in their order.
    rows : (n,) int64
        The records that are kept.
    hidden : (c, d) bool
        Cells that are not published; none unless the method is "suppress".
    dropped : tuple of Dropped
        Empty unless the method is "drop".
    start_loss : float
        Information loss of the partition that was made compliant, in percent.
    start_unsafe : int
        Its sensitive cells.
    unsafe : int
        Published cells that are sensitive, counted in the finished result; always 0.
    bound : float or None
        No compliant partition loses less, in percent, but for a millionth that the solver's
        tolerances may hide; only for "optimise".
    suppressed : Suppressed or None
        The suppression behind `hidden`, with its audit.
    most : int or None
        Largest size of a cluster that was asked for.
    diverse : tuple of (str, int, int)
        Attributes of which each cluster must have different values: name, how many were asked
        for, and the fewest that a cluster has.
    published_loss : float
        Information loss of what is published, in percent: where a mean is suppressed, a user is
        left with the mean of the whole file, which microaggregation keeps, so the records of that
        cluster lose what they would if all records were one cluster. Equal to `information_loss`
        where nothing is suppressed, and 100 if everything is.
    library : str
    """

    method: str
    rule: str
    partition: Partition
    rows: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    dropped: tuple[Dropped, ...]
    start_loss: float
    start_unsafe: int
    unsafe: int
    bound: float | None = None
    suppressed: Suppressed | None = None
    most: int | None = None
    diverse: tuple[tuple[str, int, int], ...] = ()
    published_loss: float = 0.0
    library: str = ""

    def __repr__(self) -> str:
        extra = ""
        if self.hidden.any():
            extra = f", {self.published_loss:.1f} % with {int(self.hidden.sum())} cells suppressed"
        extra += f", {len(self.dropped)} records dropped" if self.dropped else ""
        return (
            f"Compliant({len(self.rows)} records in {len(self.partition.sizes)} clusters by "
            f"{self.method}, no cell sensitive to {self.rule}, information loss "
            f"{self.information_loss:.4f} %{extra})"
        )

    @property
    def information_loss(self) -> float:
        """Of the partition, in percent; `published_loss` counts suppressed cells too."""
        return self.partition.information_loss

    @property
    def masked(self) -> NDArray[np.float64]:
        """Masked records, shape (n, d); NaN where a cell is suppressed."""
        means = np.where(self.hidden, np.nan, self.partition.centroids)
        return means[self.partition.labels]

    def to_frame(self, library: str | None = None) -> Any:
        """Masked file in the caller's kind of frame, missing where a cell is suppressed.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            That of the caller's data by default, or the first that is installed.
        """
        from csp.tables.from_frame import columns_to_frame

        gone = self.hidden[self.partition.labels]
        means = self.partition.masked
        columns = {
            name: [None if g else m for m, g in zip(means[:, j].tolist(), gone[:, j], strict=True)]
            for j, name in enumerate(self.partition.names)
        }
        return columns_to_frame(columns, self.library if library is None else library)

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON; holds no value of any record."""
        sizes = self.partition.sizes
        facts: dict[str, Any] = {
            "method": self.method,
            "rule": self.rule,
            "k": self.partition.k,
            "records": len(self.rows),
            "attributes": list(self.partition.names),
            "clusters": len(sizes),
            "smallest_cluster": int(sizes.min()),
            "largest_cluster": int(sizes.max()),
            "unsafe_cells": self.unsafe,
            # More digits tell of means, and the more so of those that are suppressed.
            "information_loss": round(self.information_loss, 6 if self.suppressed is None else 1),
        }
        if self.suppressed is None:
            # Where cells are suppressed, how many were sensitive is not for publication.
            facts["before"] = {
                "unsafe_cells": self.start_unsafe,
                "information_loss": round(self.start_loss, 6),
            }
        if self.most is not None:
            facts["most"] = self.most
        if self.diverse:
            facts["diverse"] = {name: least for name, least, _ in self.diverse}
        if self.suppressed is not None:
            facts["published_loss"] = round(self.published_loss, 1)
        if self.method == "drop":
            facts["dropped_records"] = len(self.dropped)
        if self.bound is not None:
            facts["bound"] = self.bound
        if self.suppressed is not None:
            facts["suppression"] = self.suppressed.summary()
        return facts


def certified(
    method: str,
    records: Records,
    partition: Partition,
    rule: Rule,
    negative: str,
    start: tuple[float, int],
    varieties: tuple[Variety, ...] = (),
    most: int | None = None,
    hidden: NDArray[np.bool_] | None = None,
    **rest: Any,
) -> Compliant:
    """Return a compliant result, after the rules of tables have judged what it publishes.

    The searches judge groups by `Forms`, and suppression its own table; this judges the finished
    clusters anew, by the rules themselves.

    Parameters
    ----------
    method : str
    records : Records
        Those that are kept.
    partition : Partition
        Of them.
    rule : Rule
    negative : str
    start : (float, int)
        Information loss and sensitive cells before.
    varieties : tuple of Variety
        Different values that each cluster must have.
    most : int, optional
        Largest size of a cluster.
    hidden : (c, d) bool, optional
        Cells that are not published.
    **rest
        Further attributes of `Compliant`.

    Raises
    ------
    CertificateError
        If a published cell is sensitive after all, or a cluster is too large or not diverse.
    """
    found = disclosure(records, partition, rule, negative=negative)
    gone = np.zeros(found.sensitive.shape, dtype=bool) if hidden is None else hidden
    unsafe = int((found.sensitive & ~gone).sum())
    if unsafe:
        msg = (
            f"{unsafe} published cells are sensitive to {found.rule} after method {method!r}; this "
            "is a fault of the search, and nothing is returned"
        )
        raise CertificateError(msg)
    largest = int(np.bincount(partition.labels).max())
    values = tuple((v.name, v.least, fewest_values(v, partition.labels)) for v in varieties)
    lacking = [name for name, least, fewest in values if fewest < least]
    if lacking or (most is not None and largest > most):
        what = f"lacks different values of {lacking[0]!r}" if lacking else f"exceeds {most} records"
        msg = (
            f"a cluster {what} after method {method!r}; this is a fault of the search, and "
            "nothing is returned"
        )
        raise CertificateError(msg)
    options: dict[str, Any] = {"rows": np.arange(records.n), "dropped": ()} | rest
    return Compliant(
        method=method, rule=str(rule), partition=partition, hidden=gone, start_loss=start[0],
        start_unsafe=start[1], unsafe=unsafe, most=most, diverse=values,
        published_loss=published_loss(records, partition, gone), library=records.library, **options,
    )  # fmt: skip


def published_loss(records: Records, partition: Partition, hidden: NDArray[np.bool_]) -> float:
    """Information loss where suppressed means are replaced by the mean of the file, in percent.

    Parameters
    ----------
    records : Records
    partition : Partition
    hidden : (c, d) bool

    Notes
    -----
    The mean of the file is what every user has. One who also adds up the published means can
    subtract, and take the mean of the records whose means are suppressed in an attribute; that
    estimate is closer. So this is what suppression costs at most, and the loss of the partition
    what it costs at least.
    """
    if not hidden.any():
        return partition.information_loss
    points = scaled(records, "standardise", constant="keep")
    sums = np.zeros(hidden.shape)
    np.add.at(sums, partition.labels, points)
    means = np.where(hidden, 0.0, sums / partition.sizes[:, None])  # points have mean 0
    total = float((points**2).sum())
    lost = float(((points - means[partition.labels]) ** 2).sum())
    return 100.0 * lost / total if total else 0.0
