"""A masked file without sensitive cells, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import CertificateError
from csp.exact import Bools, Floats, Ints
from csp.tables.cross.html import notebook_list
from microagg.compliance.asked import Asked, Dropped, Found
from microagg.compliance.suppress import Suppressed
from microagg.partitions.means import loss_of
from microagg.partitions.partition import MaskedFile, Partition
from microagg.records import Kept
from microagg.tables.risk import judged
from microagg.variety import fewest_values


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compliant(MaskedFile):
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
    published_loss : float
        Information loss in percent of what is published: the mean over all records whose cluster
        mean is suppressed, which the total of the attribute tells, stands in for theirs. Dropped
        records come on top.
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
    library : str
    notes : tuple of str
        What to look at again: a column that may say who each record belongs to, and what the
        partition says.
    kept : Kept or None
        Which of the records that were given `rows` are of, where some lack a value; None for all.
    """

    method: str
    rule: str
    partition: Partition
    rows: Ints
    hidden: Bools
    dropped: tuple[Dropped, ...]
    start_loss: float
    start_unsafe: int
    unsafe: int
    published_loss: float
    bound: float | None = None
    suppressed: Suppressed | None = None
    most: int | None = None
    diverse: tuple[tuple[str, int, int], ...] = ()
    library: str = ""
    index: Any = None
    notes: tuple[str, ...] = ()
    kept: Kept | None = None

    def __repr__(self) -> str:
        hidden = self.suppressed_cells
        extra = f", {hidden} cells suppressed" if hidden else ""
        extra += f", {len(self.dropped)} records dropped" if self.dropped else ""
        return (
            f"Compliant({len(self.rows)} records in {len(self.partition.sizes)} clusters by "
            f"{self.method}, no cell sensitive to {self.rule}{extra})"
        )

    def _repr_html_(self) -> str:
        shown = len(self.partition.sizes) - self.hidden.sum(axis=0)
        rows = [
            (name, f"{count:,}")
            for name, count in zip(self.partition.names, shown.tolist(), strict=True)
        ]
        return notebook_list([repr(self)], ["attribute", "published means"], rows)

    @property
    def information_loss(self) -> float:
        """Of the partition, in percent: as if no mean were suppressed, and no record dropped."""
        return self.partition.information_loss

    @property
    def suppressed_cells(self) -> int:
        """Number of means that are not published."""
        return int(self.hidden.sum())

    @property
    def masked(self) -> Floats:
        """Masked records, shape (n, d); NaN where a cell is suppressed."""
        means = np.where(self.hidden, np.nan, self.partition.centroids)
        return means[self.partition.labels]

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name, None where a cell is suppressed; then keys."""
        partition = self.partition
        means: NDArray[Any] = partition.masked
        if self.hidden.any():
            means = means.astype(object)
            means[self.hidden[partition.labels]] = None
        columns = dict(zip(partition.names, means.T, strict=True))
        return columns | {n: values[partition.labels] for n, values in partition.keys.items()}

    def _rows(self) -> tuple[int, Ints]:
        if self.kept is None:
            return len(self.rows) + len(self.dropped), self.rows
        return self.kept.given, self.kept.rows[self.rows]

    def _keys(self) -> Mapping[str, NDArray[Any]]:
        return self.partition.keys

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Plain data for JSON; holds no value of any record.

        Parameters
        ----------
        reveal : bool
            Add what the original values decide: what was lost, the bound, and the sensitive means
            before. For internal use.
        """
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
        }
        if self.partition.contributor is not None:
            facts["k_counts"] = "contributors"
        if self.notes:
            facts["notes"] = list(self.notes)
        if self.most is not None:
            facts["most"] = self.most
        if self.diverse:
            facts["diverse"] = {name: least for name, least, _ in self.diverse}
        if self.method == "drop":
            facts["dropped_records"] = len(self.dropped)
        if self.suppressed is not None:
            facts["suppression"] = self.suppressed.summary()
        if reveal:
            facts |= {
                "information_loss": self.information_loss,
                "published_loss": self.published_loss,
                "before": {
                    "unsafe_cells": self.start_unsafe,
                    "information_loss": self.start_loss,
                },
            }
            facts |= {} if self.bound is None else {"bound": self.bound}
            if self.partition.contributor is not None:
                facts["fewest_contributors"] = self.partition.fewest
        return facts


def certified(asked: Asked, method: str, found: Found) -> Compliant:
    """Return a compliant result, after the rules of tables have judged what it publishes.

    The searches judge groups by `Forms`, and suppression its own table; this judges the finished
    clusters of the records that are kept anew, by the rules themselves.

    Raises
    ------
    CertificateError
        If a published cell is sensitive after all, or a cluster is too large or not diverse.
    """
    records, partition, start = asked.records, found.partition, found.start
    before = found.start_unsafe
    if before is None:
        before = judged(records, start, [asked.rule], negative=asked.negative)[0].count
    rows = np.arange(records.n) if found.rows is None else found.rows
    kept = records if found.rows is None else records.at(rows)
    sensitive = judged(kept, partition, [asked.rule], negative=asked.negative)[0].sensitive
    hidden = np.zeros(sensitive.shape, dtype=bool) if found.hidden is None else found.hidden
    unsafe = int((sensitive & ~hidden).sum())
    values = tuple(
        (each.name, each.least, fewest_values(each, partition.labels, rows))
        for each in asked.varieties
    )
    lacking = [name for name, least, fewest in values if fewest < least]
    wrong = ""
    if unsafe:
        wrong = f"{unsafe} published cells are sensitive to {asked.rule}"
    elif lacking:
        wrong = f"a cluster lacks different values of {lacking[0]!r}"
    elif asked.most is not None and int(np.bincount(partition.labels).max()) > asked.most:
        wrong = f"a cluster exceeds {asked.most} records"
    if wrong:
        msg = (
            f"{wrong} after method {method!r}; this is a fault of the search, and nothing is "
            "returned"
        )
        raise CertificateError(msg)
    loss = partition.information_loss
    loss = loss_of(kept, partition.labels, hidden) if hidden.any() else loss
    return Compliant(
        method, str(asked.rule), partition, rows, hidden, found.dropped, start.information_loss,
        before, unsafe, loss, found.bound, found.suppressed, asked.most, values, records.library,
        partition.index, tuple(dict.fromkeys((*records.notes, *partition.notes))), records.kept,
    )  # fmt: skip
