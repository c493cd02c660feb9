"""What is asked of records that are to be tabulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from csp.tables.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from csp.tables.microdata.contributions import Stage


@dataclass(frozen=True, slots=True, eq=False)
class MicrodataOptions:
    """Records, and what is tabulated of them: the arguments of `Table.from_microdata`.

    Attributes
    ----------
    data : data frame, mapping of columns, path, or pair
        Any frame narwhals knows, a DuckDB relation, a mapping of column names to sequences, the
        path of a .csv or .parquet file, or what `csp.tables.argus.read_microdata` returns (then
        the layout gives hierarchies and decimals where the call does not). Records of a DuckDB
        relation, a frame of Dask or PySpark, or an Ibis expression are added up where they lie.
    by : sequence of str
        Columns of the table's dimensions.
    value : str, optional
        Column to sum. Without it the table counts records.
    contributor : str, optional
        Column that tells who a record belongs to (enterprise, holding). Contributions of one
        contributor are summed within each cell, also of a margin, and those of two equal records
        as well: nothing tells a copy from a second contribution. Without it every record is a
        contributor of its own.
    weight : str, optional
        Column of sampling weights, positive. The cell is the exact sum of weight times value (its
        scale is that of the values plus that of the weights); in the largest contributions each
        one stands as often as its weight, rounded half up, but at least once. Frequency rules
        count respondents, unless they say ``weighted``.
    shadow : str, optional
        Column of a variable that rules on contributions judge in place of `value`, as turnover for
        investment: who contributes how much is read from it, and levels are carried over to the
        cells as shares.
    hierarchies : mapping of str to Hierarchy, optional
        For columns of `by`. Others are flat, their codes in the order of the column's categories,
        if it is categorical, and otherwise sorted, bands of numbers by where they begin.
    negative : {"error", "abs", "shift", "split"}
        Negative values: refused, or allowed. Cells are always sums of the values as they are;
        the rules see absolute contributions ("abs"), contributions less the smallest one of the
        whole table ("shift"), or the two signs apart ("split", see `csp.Contributors`).
    top : int, optional
        How many of the largest contributions to keep; 5 by default.
    decimals : int, optional
        Decimal places of the values. None finds the smallest number of places, at most 9, at
        which all values are whole.
    total : str or mapping of dimension to str, optional
        Code of the total of dimensions without a hierarchy; "Total" by default. A dimension that
        is named in a mapping is not searched for a category that is the sum of the others.
    missing : str, optional
        Code for records whose code is missing; without it they are refused.
    empty : {"keep", "drop"}, optional
        Whether combinations of codes without any record are cells of the table. "drop" leaves them
        out, so that the table costs memory for the cells that exist; relations run over these only,
        and a cell that is not shown is publicly known to be 0. In a table of values this changes no
        pattern, since cells without records are structural. In a table of counts a zero may
        otherwise be suppressed, or be sensitive, so there "drop" is for you to choose. By default
        empty cells are kept, unless a table of values has more than a million combinations of which
        fewer than one in four has a record; `Table.notes` says so.
    memory : str or int, optional
        Memory that the whole process may take, such as "2GB" or a number of bytes, for records that
        do not fit into it: those of a .csv or .parquet file or a DuckDB relation are then added up
        by DuckDB batch by batch, with copies of the columns on disk in the folder for temporary
        files, which are deleted at the end. The table is the same.
    progress : callable, optional
        Called with a `csp.tables.microdata.contributions.Stage` while records are added up within
        `memory`, or where they lie.
    missing_values : {"error", "drop"}
        Records without a number in `value` (or `shadow`): refused, or left out, which the notes
        say (`csp.inspect` counts them). A code that only such records have stays, as an empty
        cell. Beside a table of all records the table of those who answered discloses the others by
        difference: publish one of the two, or make the answer a dimension.
    round : bool
        Whether values with more decimals than `decimals` are rounded to these, ties to even.
    """

    data: Any
    by: Sequence[str]
    value: str | None = None
    _: KW_ONLY
    contributor: str | None = None
    weight: str | None = None
    shadow: str | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    negative: str = "error"
    top: int | None = None
    decimals: int | None = None
    total: str | Mapping[str, str] | None = None
    missing: str | None = None
    missing_values: str = "error"
    round: bool = False
    empty: str | None = None
    memory: str | int | None = None
    progress: Callable[[Stage], None] | None = None

    @property
    def answered(self) -> tuple[str, ...]:
        """Columns without whose number a record is left out."""
        numbers = (self.value, self.shadow) if self.missing_values == "drop" else ()
        return tuple(name for name in numbers if name is not None)
