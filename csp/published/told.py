"""How a published table is to be read, as its reader says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from fractions import Fraction
from typing import Any

from csp.errors import subject
from csp.exact import Number, exact
from csp.formats.codes import plain_code
from csp.names.calls import check_known
from csp.published.marks import EVERY_OFFICE, OFFICES, Marks
from csp.tables.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellOptions:
    """What a reader says of the cells of a published table; see `PublishedOptions`."""

    marks: str | Marks | None = None
    withheld: Collection[str] = ()
    ranges: Mapping[str, tuple[Number, Number | None]] | None = None
    hierarchies: Mapping[str, Hierarchy | str] | None = None
    total: str | Mapping[str, str] | None = None
    rounded: Number | None = None
    tolerance: Number = 0
    cells: str | None = None
    absent: str = "withheld"
    negative: str = "error"
    decimal: str | None = None

    def __post_init__(self) -> None:
        # The codes of the table have one form of Unicode, so that of its total must have it too.
        if isinstance(self.total, str):
            object.__setattr__(self, "total", plain_code(self.total))
        elif isinstance(self.total, Mapping):
            codes = {name: plain_code(code) for name, code in self.total.items()}
            object.__setattr__(self, "total", codes)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Told(CellOptions):
    """How a published table is to be read; see `csp.Release.from_frame`.

    `exact` says that the numbers are those of the office itself: they are never taken for rounded.
    `legend` is what the lines around the table say of its signs (`csp.published.legend`).
    """

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

    def check_dimensions(self, names: Sequence[str]) -> None:
        """Refuse a hierarchy or a total of a dimension that is not there.

        Raises
        ------
        InputError
            Naming the first.
        """
        kinds = (("hierarchies", "--hierarchy", self.hierarchies), ("total", "--total", self.total))
        for name, written, given in kinds:
            if isinstance(given, Mapping):
                check_known(subject(name, written), given, names, "dimensions")

    def total_of(self, name: str, codes: Collection[str]) -> str | None:
        """Code of the total of a dimension, if one is named that it has, or for it alone."""
        if isinstance(self.total, Mapping):
            return self.total.get(name)
        return self.total if self.total in codes else None


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a list are.

    Attributes
    ----------
    by : tuple of str, optional
        Dimensions; found where that leaves no doubt.
    value : str, optional
        Column of the cells.
    status : tuple of str
        Columns of flags.
    lower, upper : str, optional
        Columns of the least and largest value of withheld cells.
    count : str, optional
        Column of the numbers of contributors.
    """

    by: tuple[str, ...] | None = None
    value: str | None = None
    status: tuple[str, ...] = ()
    lower: str | None = None
    upper: str | None = None
    count: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PublishedOptions(CellOptions):
    """A published table and how it is to be read: the arguments of `csp.Release.from_frame`.

    Attributes
    ----------
    data : data frame, mapping of columns, path, or sequence of rows
        A list with one row for each cell, or a cross table with titles, header rows, row labels
        and footnotes. Text files (.csv, also .gz, .tsv) and .parquet files by their path.
    by : sequence of str, optional
        Columns of the dimensions of a list; found where that leaves no doubt.
    value : str, optional
        Column of the cells; found likewise. In a cross table the header above them, or several
        by commas, where other columns hold percentages or other measures.
    status : str or sequence of str, optional
        Columns of flags. A value beside a flag that says that it is withheld does not count.
    marks : str or Marks, optional
        Whose signs these are: "destatis", "statcan", "uk", "census", "bls", "eia", "eurostat",
        "sdmx", "ksh", "health" or "cellveil" (`csp.published.marks.OFFICES`). Signs with one
        meaning only are known without; a guess is in `notes`.
    withheld : collection of str
        Further signs that mean so.
    ranges : mapping of str to (Number, Number or None), optional
        Signs that stand for a range, such as ``{"b": (20, 99)}``.
    lower, upper : str, optional
        Columns of the ends of the ranges of withheld cells.
    count : str, optional
        Column of the numbers of contributors, where these are published.
    cells : {"counts", "values"}, optional
        What the cells are: numbers of contributors, or other values, such as sums. Found by the
        name of the column ("count", "freq"), by decimals, and where `count` names another column;
        attacks by a rule that asks for numbers of contributors are refused where it stays open.
    hierarchies : mapping of str to Hierarchy or {"prefix", "found"}, optional
        "prefix": codes lie below their longest prefix (NACE, NAICS, NUTS, FIPS). "found":
        totals are found by adding up neighbours.
    total : str or mapping of str to str, optional
        Code of the total; codes such as "Total", "All", "Insgesamt" are known.
    rounded : Number, optional
        Base to which numbers are rounded, to the nearest multiple or at random.
    tolerance : Number
        By how much each published number may be off.
    absent : {"withheld", "zero"}
        What cells without a row are.
    negative : {"error", "allow"}
        Whether cells may be negative.
    decimal : {".", ","}, optional
        Decimal mark, where it is not clear.
    """

    data: Any
    by: Sequence[str] | None = None
    value: str | None = None
    _: KW_ONLY
    status: str | Sequence[str] | None = None
    lower: str | None = None
    upper: str | None = None
    count: str | None = None

    @property
    def roles(self) -> Roles:
        """What the columns are."""
        flags = (self.status,) if isinstance(self.status, str) else tuple(self.status or ())
        by = None if self.by is None else tuple(self.by)
        return Roles(by, self.value, flags, self.lower, self.upper, self.count)

    @property
    def told(self) -> Told:
        """What is said of the cells."""
        return Told(**{one.name: getattr(self, one.name) for one in fields(CellOptions)})
