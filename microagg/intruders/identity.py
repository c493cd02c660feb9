"""Suppressed cells of clusters by attributes that follow from totals and identities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import interval_claims
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Bools, Floats, Ints, Number, exact, number_text
from csp.release.completion import complete
from csp.release.release import Release
from csp.tables.cells import as_flags
from csp.tables.cross.frames import columns_to_frame
from csp.tables.table import Table
from microagg.compliance.result import Compliant
from microagg.compliance.suppress import Suppressed
from microagg.records import Frozen
from microagg.tables.clusters import ClusterTable

VERDICTS = {
    "exact": "the sum, and so the mean, follows",
    "interval": "it lies between two known ends",
    "open": "it is not bounded on one side or on both",
}
"""What an intruder can say of a suppressed cell."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdentityAttack(Frozen):
    """What follows of suppressed cells from all relations of a release.

    Attributes
    ----------
    labels : tuple of (str, str)
        Cluster and attribute of each suppressed cell.
    cells : (k,) int64
        Their positions in the table.
    verdicts : tuple of str
        One of `VERDICTS` for each.
    ends : tuple of (Fraction or None, Fraction or None)
        Least and largest value of each cell, in the measure of the data; None where there is no
        end.
    certificate : Certificate
        Witnesses and proofs of the ends, already checked.
    """

    labels: tuple[tuple[str, ...], ...]
    cells: Ints
    verdicts: tuple[str, ...]
    ends: tuple[tuple[Fraction | None, Fraction | None], ...]
    certificate: Certificate

    def __repr__(self) -> str:
        return (
            f"IdentityAttack({len(self.cells)} suppressed cells: {self.count('exact')} known "
            f"exactly, {self.count('interval')} between two ends, {self.count('open')} open)"
        )

    @property
    def exact(self) -> Bools:
        """Cells that follow exactly, shape (k,)."""
        return np.array([verdict == "exact" for verdict in self.verdicts], dtype=bool)

    @property
    def lower(self) -> Floats:
        """Lower ends, shape (k,); -inf where there is none."""
        return np.array([-np.inf if low is None else float(low) for low, _ in self.ends])

    @property
    def upper(self) -> Floats:
        """Upper ends, shape (k,); inf where there is none."""
        return np.array([np.inf if high is None else float(high) for _, high in self.ends])

    def count(self, verdict: str) -> int:
        """Count the cells of a verdict."""
        return self.verdicts.count(verdict)

    def within(self, percent: Number) -> Bools:
        """Cells whose middle estimate is off by at most p percent for certain, shape (k,).

        The estimate is the middle of the interval, and the error relative to the value, whatever
        it is in the interval.
        """
        ratio = exact(percent) / 100
        if ratio < 0:
            msg = f"percent must be 0 or more, not {percent!r}"
            raise InputError(msg)
        found = [
            low is not None
            and high is not None
            and (low == high or (low > 0 or high < 0))
            and (high - low) / 2 <= ratio * min(abs(low), abs(high))
            for low, high in self.ends
        ]
        return np.array(found, dtype=bool)

    def to_frame(self, library: str = "", *, reveal: bool = False) -> Any:
        """One row a suppressed cell: cluster, attribute, verdict.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
        reveal : bool
            Whether to add the ends of the intervals; for exact cells they are the value.
        """
        columns: dict[str, Any] = {
            "cluster": [label[0] for label in self.labels],
            "attribute": [label[1] for label in self.labels],
            "verdict": list(self.verdicts),
        }
        if reveal:
            columns["lower"], columns["upper"] = self.lower, self.upper
        return columns_to_frame(columns, library)

    def summary(self, percent: Number = 60) -> dict[str, Any]:
        """Plain data for JSON: counts, no values.

        Parameters
        ----------
        percent : Number
            See `within`.
        """
        by: dict[str, int] = {}
        for label, verdict in zip(self.labels, self.verdicts, strict=True):
            by[label[1]] = by.get(label[1], 0) + (verdict == "exact")
        return {
            "suppressed": len(self.cells),
            **{verdict: self.count(verdict) for verdict in VERDICTS},
            "percent": number_text(exact(percent)),
            "within_percent": int(self.within(percent).sum()),
            "exact_by_attribute": by,
        }


def identity_attack(
    target: Any,
    pattern: ArrayLike | None = None,
    *,
    integer: bool = False,
    primary: ArrayLike | None = None,
    time_limit: float | None = None,
) -> IdentityAttack:
    """Find what totals and identities disclose of suppressed cells.

    The intruder has the published means and sizes of clusters, knows which are suppressed, the
    totals that microaggregation keeps, the identities between attributes, and the bounds of
    values. It uses all of these together.

    Parameters
    ----------
    target : Release, Suppressed, Compliant or ClusterTable
        A release is all that an outsider has. With a table of clusters, `pattern` says what is
        suppressed; give it the identities that the intruder knows, which need not be those that
        the suppression was made for.
    pattern : (n,) or (c, d) bool, optional
        Suppressed cells, for a ClusterTable.
    integer : bool
        Whether sums are known to be whole units.
    primary : (n,) or (c, d) bool, optional
        Judge only these cells: the sensitive ones, which the owner knows.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    IdentityAttack

    Raises
    ------
    InputError
        If nothing is suppressed, a pattern is missing or has the wrong shape, or no table fits
        the release.
    OutOfTime
        If the time limit passed.

    Examples
    --------
    >>> import numpy as np, microagg
    >>> from microagg.intruders import identity_attack
    >>> data = {"all": [3, 5, 7, 9], "a": [1, 2, 3, 4], "b": [2, 3, 4, 5]}
    >>> pairs = microagg.Partition.of(microagg.read_records(data), [0, 0, 1, 1], 2, "pairs")
    >>> table = microagg.cluster_table(data, pairs, identities=["all = a + b"])
    >>> hidden = np.array([[False, True, False], [False, True, False]])
    >>> identity_attack(table, hidden)
    IdentityAttack(2 suppressed cells: 2 known exactly, 0 between two ends, 0 open)
    """
    clock = Clock.of(time_limit)
    release, table, shown, shape = _release_of(target, pattern)
    if not release.pattern.any():
        msg = "no cell is suppressed, so there is nothing to attack"
        raise InputError(msg)
    # Ends do not depend on the table that they are reached from; any that fits will do.
    table = complete(release, time_limit=clock.seconds) if table is None else table
    wanted = release.pattern & shown
    if primary is not None:
        wanted &= _flags(primary, len(wanted), shape)
    cells = np.flatnonzero(wanted)
    claims = interval_claims(table, release.pattern, cells, integer=integer, clock=clock)
    certificate = Certificate(
        table, release.pattern, tuple(claim for pair in claims.values() for claim in pair)
    )
    certificate.verify()
    unit = 10**release.scale
    ends = tuple(
        (
            _end(int(table.values[i]), claims[i][0], unit),
            _end(int(table.values[i]), claims[i][1], unit),
        )
        for i in cells.tolist()
    )
    return IdentityAttack(
        tuple(release.labels[i] for i in cells.tolist()),
        cells,
        tuple(_verdict(*pair) for pair in ends),
        ends,
        certificate,
    )


def _release_of(
    target: Any, pattern: ArrayLike | None
) -> tuple[Release, Table | None, Bools, tuple[int, int] | None]:
    """Release, its table if there is one, cells of interest, and clusters by attributes."""
    if isinstance(target, Compliant):
        if target.suppressed is None:
            msg = "nothing is suppressed in this file, so there is nothing to attack"
            raise InputError(msg)
        target = target.suppressed
    if isinstance(target, ClusterTable):
        if pattern is None:
            msg = "a table of clusters needs the pattern of suppressed cells"
            raise InputError(msg)
        cells, hidden = target, _flags(pattern, target.table.n_cells, target.shape)
        wrong = hidden & cells.public
        if wrong.any():
            msg = f"cell {cells.table.cell(int(np.argmax(wrong)))} is public: it is never missing"
            raise InputError(msg)
    elif pattern is not None:
        msg = "a release has its own pattern; leave pattern out"
        raise InputError(msg)
    elif isinstance(target, Suppressed):
        cells, hidden = target.cells, target.suppression.pattern
    elif isinstance(target, Release):
        return target, None, np.ones(len(target.pattern), dtype=bool), None
    else:
        kind = type(target).__name__
        msg = f"target is a {kind}; give a Release, Suppressed, Compliant or a table"
        raise InputError(msg)
    # What rounding adds to an identity is not published either.
    release = Release.of(cells.table, hidden | cells.unseen)
    return release, cells.table, ~cells.unseen, cells.shape


def _flags(given: ArrayLike, n: int, shape: tuple[int, int] | None) -> Bools:
    if shape is not None and np.shape(given) == shape:
        full = np.zeros(n, dtype=bool)
        size = shape[0] * shape[1]
        full[:size] = as_flags(np.ravel(given), size, "the pattern")
        return full
    return as_flags(given, n, "the pattern")


def _end(value: int, claim: Claim, unit: int) -> Fraction | None:
    return None if claim.reach is None else (value + claim.sign * Fraction(claim.reach)) / unit


def _verdict(low: Fraction | None, high: Fraction | None) -> str:
    if low is None or high is None:
        return "open"
    return "exact" if low == high else "interval"
