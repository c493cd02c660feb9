"""Intervals in place of blanks: what anyone could work out of each withheld cell, rounded outwards.

They say nothing new. Let F be the set of tables that are consistent with a release, or of those
that an attacker with further knowledge takes for possible. The feasibility interval of a cell holds
its value in every table of F, and so does a wider one; so F is the same once they are published.
Two true tables with the same release have the same intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from csp.audits.audit import Audit
from csp.audits.claims import Claim
from csp.audits.intervals import interval_claims
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, OutOfTime, argument
from csp.exact import (
    UNBOUNDED,
    Floats,
    Ints,
    Number,
    bounds_to_ends,
    exact,
    number_given,
    units_text,
)
from csp.highs import Model, Status
from csp.release.completion import complete
from csp.release.release import Release
from csp.tables.table import Table

_GAP = 0.1
"""How far from the middle, in proportion to the best, a table of whole units may be."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranges:
    """What is published in place of withheld values.

    Attributes
    ----------
    release : Release
        The same with blanks.
    grid : int
        Ends are multiples of it, in units of the release.
    lower, upper : (n,) int64
        In units of the release; `csp.UNBOUNDED` (negated: as a lower end) where there is no end, or
        none was proved in time; the value itself where it is published.
    """

    release: Release
    grid: int
    lower: Ints
    upper: Ints

    def __repr__(self) -> str:
        return f"Ranges({int(self.release.pattern.sum())} of {len(self.lower)} cells)"

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Ends of all cells as numbers, None for no end."""
        scale = self.release.scale

        def shown(end: int) -> Any:
            return None if abs(end) >= UNBOUNDED else end / 10**scale if scale else end

        ends = {"lower": self.lower, "upper": self.upper}
        return {name: list(map(shown, side.tolist())) for name, side in ends.items()}

    @property
    def published(self) -> Release:
        """Release with the intervals: what they add to the bounds of the one with blanks."""
        hidden = self.release.pattern
        lower = np.where(hidden, np.maximum(self.lower, self.release.lower), self.release.lower)
        upper = np.where(hidden, np.minimum(self.upper, self.release.upper), self.release.upper)
        return replace(self.release, lower=lower, upper=upper, classed=hidden)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Ends as floats, infinite where there is none."""
        return bounds_to_ends(self.lower), bounds_to_ends(self.upper)

    def inside(self, *, time_limit: float | None = None) -> Ints:
        """Return a complete additive table within the intervals, near their middles.

        It is computed from what is published, so that two true tables with the same release have
        the same one; it is an example of a consistent table, and not an estimate.

        Parameters
        ----------
        time_limit : float, optional
            Wall seconds.

        Returns
        -------
        (n,) int64
            In units of the release.

        Raises
        ------
        OutOfTime
            If the time limit passed first.
        """
        return inside(self, Clock.of(time_limit))


def grid_units(grid: Number | None, scale: int, asked: str = "") -> int:
    """Grid of the ends in units of ``10**-scale``; one unit where none is asked for.

    What `asked` for it stands in the message.

    Raises
    ------
    InputError
        If it is not a whole number of units.
    """
    if grid is None:
        return 1
    units = exact(grid) * 10**scale
    if units.denominator > 1 or units < 1:
        msg = (
            f"{asked and f'{asked}: '}the grid of intervals must be a positive multiple of "
            f"{units_text(1, scale)}, the unit of published cells, got {grid!r}"
        )
        raise InputError(msg)
    return int(units)


def published_as(publish: str) -> tuple[bool, str | None]:
    """Read what stands in place of withheld values: whether intervals, and their grid.

    Raises
    ------
    InputError
    """
    kind, colon, grid = publish.partition(":") if isinstance(publish, str) else ("", "", "")
    if kind not in ("blanks", "intervals") or (colon and kind == "blanks"):
        msg = (
            f"{argument('publish')} must be 'blanks', 'intervals' or 'intervals:GRID', "
            f"got {publish!r}"
        )
        raise InputError(msg)
    if colon:  # that it is a number is seen before the work, and its unit once that is known
        number = number_given(f"{argument('publish')}, the grid of intervals", grid)
        if number <= 0:
            msg = (
                f"{argument('publish')}: the grid of intervals must be positive, got {publish!r}; "
                "intervals:5 are rounded outwards to multiples of 5"
            )
            raise InputError(msg)
    return kind == "intervals", grid if colon else None


def outward(
    table: Table, audit: Audit, release: Release, grid: Number | None, clock: Clock = UNLIMITED
) -> Ranges:
    """Feasibility interval of every withheld cell over all tables, fractions too, rounded outwards.

    Parameters
    ----------
    table : Table
    audit : Audit
        Of the pattern; its intervals are used where the attacker of the audit allows for fractions.
    release : Release
    grid : Number, optional
        Of the measure; a unit of the release by default.
    clock : Clock
        Cells that there is no time for have the bounds that are known beforehand.

    Raises
    ------
    InputError
        As for `grid_units`.
    """
    step = grid_units(grid, release.scale, argument("publish"))
    claims: dict[int, tuple[Claim, Claim]] = {}
    if audit.integer:
        try:
            hidden = np.flatnonzero(release.pattern)
            interval_claims(table, release.pattern, hidden, clock=clock, found=claims)
        except OutOfTime:
            pass
        ends = [claim for pair in claims.values() for claim in pair]
    else:
        # Those of sensitive cells alone, from before all were followed, would mark these.
        seen = audit.followed
        ends = [c for c in audit.certificate if not c.known and (seen is None or seen[c.cell])]
    lower = np.where(release.pattern, release.lower, release.published)
    upper = np.where(release.pattern, release.upper, release.published)
    unit = step * 10 ** (table.scale - release.scale)
    for claim in ends:
        # An end that is not proved is as far as a witness went, and would disclose the value.
        if claim.reach is None or not claim.exact:
            continue
        end = int(table.values[claim.cell]) + claim.sign * claim.reach
        if claim.sign < 0:
            lower[claim.cell] = max(int(release.lower[claim.cell]), int(end // unit) * step)
        else:
            upper[claim.cell] = min(int(release.upper[claim.cell]), -int(-end // unit) * step)
    for array in (lower, upper):
        array.flags.writeable = False
    return Ranges(release, step, lower, upper)


def inside(ranges: Ranges, clock: Clock = UNLIMITED) -> Ints:
    """Additive table near the middles of intervals, in whole units; see `Ranges.inside`.

    Raises
    ------
    OutOfTime, InputError, SolverError
        As for `csp.release.completion.complete`.
    """
    from scipy.sparse import csr_array, hstack

    release = ranges.release
    hidden = np.flatnonzero(release.pattern)
    full = release.published.copy()
    if not len(hidden):
        return full
    lower, upper, middle, weight = _middles(ranges, hidden)
    matrix = csr_array(release.relations[:, hidden])
    right = -(release.relations @ np.where(release.pattern, 0, release.published))
    missing = (right - matrix @ middle).astype(np.float64)
    rows = csr_array(hstack([matrix, -matrix]))
    found = None
    for whole in (False, True):
        model = Model(**({"mip_rel_gap": _GAP} if whole else {})).load(
            cost=np.tile(weight, 2), lower=0.0,
            upper=np.concatenate([upper - middle, middle - lower]),
            rows=rows, row_lower=missing, row_upper=missing, integer=whole,
        )  # fmt: skip
        if model.solve(clock, interruptible=True) != Status.OPTIMAL:
            clock.check("a table within the intervals was found")
            break
        up, down = np.split(model.values, 2)
        found = middle + np.rint(up - down).astype(np.int64)
        within = (found >= lower).all() and (found <= upper).all()
        if within and not (matrix @ found - right).any():
            full[hidden] = found
            return full
    # Numbers beyond what a float program answers exactly: any consistent table will do.
    return complete(release, time_limit=clock.seconds).values


def _middles(ranges: Ranges, hidden: Ints) -> tuple[Floats, Floats, Ints, Floats]:
    """Find ends as floats, whole numbers in the middle, and weights: one over the width."""
    low, high = ranges.lower[hidden], ranges.upper[hidden]
    open_low, open_high = low <= -UNBOUNDED, high >= UNBOUNDED
    middle = np.where(open_low & open_high, 0, np.where(open_low, high, low))
    closed = ~open_low & ~open_high
    middle[closed] = low[closed] + (high[closed] - low[closed]) // 2
    width = np.where(closed, high - low, 0)
    weight = 1.0 / np.maximum(np.where(closed, width, max(1, int(width.max(initial=1)))), 1)
    lower = np.where(open_low, -np.inf, low)
    upper = np.where(open_high, np.inf, high)
    return lower, upper, middle, weight
