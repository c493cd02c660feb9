"""Suppressing the sensitive cells of clusters by attributes.

Sensitive cells alone are not enough: totals of attributes are known, since microaggregation keeps
them, and identities tie the attributes of a cluster. So secondary cells are chosen by the engine
that protects any table, and the pattern is audited over all of these relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from csp.audits.audit import Audit, audit
from csp.clock import Clock
from csp.errors import CertificateError, InputError
from csp.exact import Bools, Number
from csp.mechanism import Mechanism
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.rules import Rule
from csp.rules.base import as_rule
from csp.solve import Suppression, suppress
from microagg.compliance.asked import Asked, Found, named_way
from microagg.partitions.partition import Partition
from microagg.tables.clusters import ClusterTable, Known, table_of
from microagg.tables.forms import largest_read
from microagg.tables.identities import Identity, as_identities
from microagg.variety import fewest_values

_SEARCH = 0.8
"""Share of the time for the search; the rest is for the audit."""


@dataclass(frozen=True, slots=True)
class Suppress:
    """Sensitive means are suppressed, and others so that they cannot be computed.

    Attributes
    ----------
    identities, share
        What is known of sums of attributes: see `microagg.cells`.
    cost, unions
        See `cluster_problem`.
    """

    name: ClassVar[str] = "suppress"
    identities: str | Sequence[str | Identity] | None = "detect"
    share: Number | None = None
    cost: str = "unit"
    unions: bool = True

    def __call__(self, asked: Asked) -> Found:
        """Make a partition comply."""
        start = asked.begin(asked.unruled)
        _check_diverse(start, asked)
        known = Known(identities=as_identities(self.identities, asked.records, self.share))
        cells = table_of(
            asked.records, start, known, negative=asked.negative, top=largest_read(asked.rule)
        )
        safe = suppress_clusters(
            cells, asked.rule, cost=self.cost, unions=self.unions,
            time_limit=asked.clock.seconds, progress=asked.progress,
        )  # fmt: skip
        return Found(start, start, int(safe.problem.primary.sum()), safe.hidden, suppressed=safe)


def _check_diverse(partition: Partition, asked: Asked) -> None:
    """Refuse clusters that suppressing means cannot make diverse."""
    for variety in asked.varieties:
        if (found := fewest_values(variety, partition.labels)) < variety.least:
            msg = (
                f"the partition has a cluster with {found} values of {variety.name!r}, fewer than "
                f"{variety.least}; leave the partition out, or choose {named_way('merge')}"
            )
            raise InputError(msg)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Suppressed:
    """Audited suppression of a table of clusters.

    Attributes
    ----------
    cells : ClusterTable
    problem : Problem
    suppression : Suppression
    audit : Audit
        Over all relations; always safe.
    """

    cells: ClusterTable
    problem: Problem
    suppression: Suppression
    audit: Audit

    @property
    def hidden(self) -> Bools:
        """Suppressed cells, clusters by attributes."""
        c, d = self.cells.shape
        return np.asarray(self.suppression.pattern[: c * d].reshape(c, d))

    @property
    def release(self) -> Release:
        """What the public sees, to attack."""
        return Release.of(self.cells.table, self.suppression.pattern)

    def __repr__(self) -> str:
        return f"Suppressed({int(self.hidden.sum())} cells, {self.suppression.quality})"

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON; holds no value, and nothing that tells sensitive cells apart."""
        return {
            "suppressed": int(self.hidden.sum()),
            "proven": None if self.suppression.limited else self.suppression.proven,
            "seconds": self.suppression.seconds,
            "identities": [str(identity) for identity in self.cells.identities],
            "relations": int(self.cells.table.relations.shape[0]),
            "safe": self.audit.safe,
        }


def cluster_problem(
    cells: ClusterTable, rule: Rule | str, *, cost: str = "unit", unions: bool = True
) -> Problem:
    """Pose the suppression problem of clusters by attributes.

    Parameters
    ----------
    cells : ClusterTable
    rule : Rule or str
    cost : {"unit", "value"}
    unions : bool
        Sums of suppressed cells that a relation publishes must pass the rule too: with a known
        total, the suppressed cells of an attribute publish their sum.

    Raises
    ------
    InputError
        As for `csp.Mechanism`.
    """
    table = cells.table
    mechanism = Mechanism(rule, cost=cost, unions=unions)
    found = mechanism.requirements(table, cells.public | cells.unseen)
    costs, cost_scale = mechanism.costs(table)
    status = np.where(found.primary, "u", "s")
    status = np.where(cells.public, "z", np.where(cells.unseen, "w", status))
    return Problem(
        table,
        found.primary,
        lpl=found.lpl,
        upl=found.upl,
        spl=found.spl,
        cost=costs,
        status=status,
        cost_scale=cost_scale,
        union_rule=as_rule(rule) if unions else None,
    )


def suppress_clusters(
    cells: ClusterTable,
    rule: Rule | str,
    *,
    cost: str = "unit",
    unions: bool = True,
    time_limit: float | None = None,
    **options: Any,
) -> Suppressed:
    """Suppress and audit a table of clusters.

    Parameters
    ----------
    cells : ClusterTable
    rule : Rule or str
    cost, unions
        As for `cluster_problem`.
    time_limit : float, optional
        Wall seconds, for search and audit together.
    **options
        method, gap, seed and progress of `csp.suppress`.

    Raises
    ------
    Unprotectable
        If a cell stays exposed with everything suppressed.
    CertificateError
        If the result does not pass the audit.
    OutOfTime
        If the time limit passed before a pattern was found and audited.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 10, 11, 95, 40, 50, 60], "rent": [5, 6, 5, 4, 5, 9, 6, 7, 6]}
    >>> cells = microagg.cluster_table(data, microagg.mdav(data, 3))
    >>> microagg.suppress_clusters(cells, "P(60)", unions=False)
    Suppressed(2 cells, proven optimum)
    """
    clock = Clock.of(time_limit)
    problem = cluster_problem(cells, rule, cost=cost, unions=unions)
    suppression = suppress(problem, time_limit=clock.part(_SEARCH).seconds, **options)
    checked = audit(problem, suppression.pattern, time_limit=clock.seconds)
    if not checked.safe:
        msg = f"the pattern found exposes {len(checked.violations)} cells; nothing is returned"
        raise CertificateError(msg)
    return Suppressed(cells, problem, suppression, checked)


def paired(cells: ClusterTable, rule: Rule | str) -> Bools:
    """Pattern of Torra and Navarro-Arribas (2023), section 4: one safe cell for each unsafe one.

    The paper does not say which; this takes the smallest safe cell of the same attribute that is
    not 0, as far as there are any. It is here to be compared: it leaks where identities hold, can
    leave a cell exposed, and suppresses far more than is needed.

    Returns
    -------
    (n,) bool
        Pattern over all cells of the table.
    """
    problem = cluster_problem(cells, rule, unions=False)
    pattern = problem.forced.copy()
    c, d = cells.shape
    values = np.abs(cells.table.values[: c * d]).reshape(c, d)
    unsafe = problem.primary[: c * d].reshape(c, d)
    for j in range(d):
        order = np.argsort(values[:, j], kind="stable")
        safe = order[~unsafe[order, j] & (values[order, j] > 0)]
        pattern[safe[: int(unsafe[:, j].sum())] * d + j] = True
    return pattern
