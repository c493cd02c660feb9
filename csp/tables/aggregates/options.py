"""What is asked of a frame with one row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from csp.errors import InputError, argument
from csp.exact import Number
from csp.tables.cross.listing import listed
from csp.tables.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True, eq=False)
class FrameOptions:
    """A frame with one row per cell, and how it is read: the arguments of `Table.from_frame`.

    Attributes
    ----------
    data : data frame, mapping of columns, or path to a .csv or .parquet file
        Or, without `by`, what pandas makes of records as it is: a Series over codes, a crosstab,
        a pivot table, or ``groupby(...).agg(["sum", "count", "max"])``, whose columns say what is
        a value, a count and a largest contribution (`csp.tables.cross.listing`).
    by : sequence of str, optional
        Columns of the dimensions.
    value : str, optional
        Column of the cell values; without `by`, which of several values is meant.
    count : str, optional
        Column of the number of contributors. The column of the values itself says that they are
        counts of contributors. Without `count` and `top` nothing is known of contributors, and
        rules that need them refuse the table; with `top` alone the largest contributions are the
        contributors.
    top : sequence of str
        Columns of the largest contributions, the largest first.
    shadow : str, optional
        Column of the variable to which these contributions belong, where that is not `value`:
        rules on contributions judge it, and their levels are carried over to the cells as shares.
    hierarchies : mapping of str to Hierarchy, optional
        For columns of `by`. Others are flat, their codes in the order of the column's categories,
        if it is categorical, and otherwise sorted.
    total : str or mapping of dimension to str, optional
        Code of the total of dimensions without a hierarchy; "Total" by default. A dimension that
        is named in a mapping is not searched for a category that is the sum of the others.
    absent : {"error", "zero"}
        Inner cells without a row, where margins are computed: refused, or taken for 0.
    tolerance : Number
        By how much a margin may differ from the sum of its inner cells, as a number of the
        measure: tables of rounded numbers do not add up. Such margins are replaced by the sums,
        which `Table.notes` says; the published table then adds up.
    decimals : int, optional
        Decimal places of the values; None finds the smallest number of places, at most 9.
    round : bool
        Whether values, and contributions, with more decimals than `decimals` are rounded to these,
        ties to even. Where margins are given too, rounded numbers need not add up: see `tolerance`.
    lower, upper : str, optional
        Columns of what any outsider knows of each cell; a missing entry means no bound. Without
        them the lower bound is 0 (none with ``negative="allow"``) and there is no upper bound.
    negative : {"error", "allow"}
        Whether cells may be negative, which the public then knows. It is stated and never found in
        the data: a bound that is missing would say that some suppressed cell is negative.
    disjoint : bool
        Whether no contributor is in two inner cells, as where each record is a contributor of its
        own. Counts and largest contributions of computed margins then follow from those of the
        inner cells; otherwise the rows of margins have to give them.
    """

    data: Any
    by: Sequence[str] | None = None
    value: str | None = None
    _: KW_ONLY
    count: str | None = None
    top: Sequence[str] = ()
    shadow: str | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    total: str | Mapping[str, str] | None = None
    absent: str = "error"
    tolerance: Number = 0
    decimals: int | None = None
    round: bool = False
    lower: str | None = None
    upper: str | None = None
    negative: str = "error"
    disjoint: bool = False

    def spelled_out(self) -> tuple[FrameOptions, Mapping[str, Sequence[str]] | None]:
        """Name the columns of what pandas made itself too, and the order of the codes in these.

        Raises
        ------
        InputError
            Without a value, and for a shadow to which no contributions belong.
        """
        top = (self.top,) if isinstance(self.top, str) else tuple(self.top)
        asked, orders = replace(self, top=top), None
        if self.by is None:
            its = listed(self.data, self.value)
            asked, orders = replace(
                asked, data=its.columns, by=its.by, value=its.value, total=self.total or its.total,
                count=self.count or its.count, top=top or its.top,
                absent="zero",  # pandas has no row or number where nobody is
            ), its.orders  # fmt: skip
        if asked.value is None:
            msg = "value= names the column of the cells; it is missing"
            raise InputError(msg)
        if asked.shadow is not None and not asked.top:
            msg = (
                f"{argument('shadow')} says to what the largest contributions belong; name their "
                f"columns with {argument('top')}"
            )
            raise InputError(msg)
        return asked, orders

    @property
    def numbers(self) -> list[str]:
        """Columns that hold numbers."""
        given = (self.value, self.shadow, self.count, *self.top, self.lower, self.upper)
        return [name for name in given if name is not None]

    @property
    def counts(self) -> bool:
        """Whether the values are counts of contributors themselves."""
        return self.count == self.value and not self.top

    @property
    def of_every_cell(self) -> list[str]:
        """Columns that have to say something of margins too."""
        given_count = None if self.counts else self.count
        people = () if self.disjoint else (given_count, self.shadow, *self.top)
        return [name for name in (*people, self.lower, self.upper) if name is not None]
