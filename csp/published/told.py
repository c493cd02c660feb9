"""How a published table is to be read, as its reader says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from csp.exact import Number, exact
from csp.published.marks import EVERY_OFFICE, OFFICES, Marks
from csp.tables.hierarchies.hierarchy import Hierarchy

__all__ = ["Told"]


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """How a published table is to be read; see `csp.Release.from_frame`.

    `exact` says that the numbers are those of the office itself: they are never taken for rounded.
    `legend` is what the lines around the table say of its signs (`csp.published.legend`).
    """

    marks: str | Marks | None = None
    withheld: Collection[str] = ()
    ranges: Mapping[str, tuple[Number, Number | None]] | None = None
    hierarchies: Mapping[str, Hierarchy | str] | None = None
    total: str | Mapping[str, str] | None = None
    rounded: Number | None = None
    tolerance: Number = 0
    absent: str = "withheld"
    negative: str = "error"
    decimal: str | None = None
    exact: bool = False
    legend: Mapping[str, str] = field(default_factory=dict)

    @property
    def named_ranges(self) -> dict[str, tuple[Fraction, Fraction | None]]:
        """Signs that stand for a range, with its ends as they are meant."""
        return {
            sign: (exact(low), None if high is None else exact(high))
            for sign, (low, high) in (self.ranges or {}).items()
        }

    @property
    def signs(self) -> frozenset[str]:
        """Signs whose meaning the reader says, and those that mean the same everywhere."""
        marks = OFFICES.get(self.marks) if isinstance(self.marks, str) else self.marks
        if marks is None and not self.withheld and not self.ranges and not self.legend:
            return frozenset()
        own = frozenset(self.withheld) | frozenset(self.ranges or ()) | frozenset(self.legend)
        return own | EVERY_OFFICE.signs | (frozenset() if marks is None else marks.signs)

    def total_of(self, name: str, codes: Collection[str]) -> str | None:
        """Code of the total of a dimension, if one is named that it has, or for it alone."""
        if isinstance(self.total, Mapping):
            return self.total.get(name)
        return self.total if self.total in codes else None
