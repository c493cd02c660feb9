"""The table: integer cells bound by linear relations.

Everything this project protects or attacks is a ``Table``: margins, hierarchies, linked tables,
attribute identities and cluster totals are all relations ``M a = 0`` over one vector of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from csp.errors import InputError, NotAdditive, phrase
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Ints, most_text, units_text
from csp.formats.codes import plain_code
from csp.names.calls import asked_as, named_errors
from csp.names.guesses import Guided
from csp.sparse import row_of
from csp.tables.aggregates.options import FrameOptions
from csp.tables.cells import as_flags, set_array
from csp.tables.codes import Labels, cell_name
from csp.tables.contributors import Contributors
from csp.tables.cross.html import notebook_facts
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.microdata.options import MicrodataOptions

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One of the tables that were linked to one.

    Attributes
    ----------
    names : tuple of str
        Its dimensions.
    cells : (k,) int64
        Which cell of the whole each of its cells is.
    """

    names: tuple[str, ...]
    cells: Ints


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(metaclass=Guided):
    """Integer cells ``a`` with relations ``M a = 0`` and what any outsider knows of them.

    Attributes
    ----------
    values : (n,) int64
        Cell values in units of ``10**-scale``.
    relations : (m, n) csr_array of int64
        Every row sums to zero over the cells. In a margin the total carries -1, its parts +1.
    lower, upper : (n,) int64
        What any outsider knows of each cell beforehand; `csp.UNBOUNDED` stands for no bound.
    labels : sequence of tuple of str
        One tuple of codes for each cell; unique. Kept as `csp.tables.codes.Labels`, integer columns
        that equal a tuple of tuples: a label is made when it is asked for.
    scale : int
        Decimal places of the unit: value 1234 with scale 2 means 12.34.
    contributors : Contributors or None
        Who stands behind each cell. None means a table of counts, in which each unit is a
        contributor, or, with ``counts=False``, that nothing is known of them.
    names : tuple of str
        Names of the dimensions, one for each position of a label.
    roots : tuple of str
        Code of the total in each dimension; "" where a dimension has none.
    structural : (n,) bool or None
        Cells that are publicly known to be empty; they are always published.
    frame : str
        Library of the caller's data frame ("pandas", "polars", "pyarrow"); "" if there was none.
    counts : bool
        Whether the cells may be counts of contributors; sums of values are not, though they may be
        equal to such counts. Rules that need contributors refuse a table without them that is
        not one of counts.
    notes : tuple of str
        What was done to the data on the way, in words, for reports.
    least_scale : int or None
        Decimal places that were stated; None if all were. Where the data needed more, a release has
        those of what it publishes, for the decimals of suppressed cells would show in it.
    parts : tuple of Part
        The tables that were linked; none for a table of its own.

    Raises
    ------
    NotAdditive
        If a relation does not hold; the message names its cells.
    InputError
        If shapes do not match, a label occurs twice, or a value lies outside its bounds.
    """

    values: Ints
    relations: csr_array
    lower: Ints
    upper: Ints
    labels: Sequence[tuple[str, ...]]
    scale: int = 0
    contributors: Contributors | None = None
    names: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    structural: Bools | None = None
    frame: str = ""
    counts: bool = True
    notes: tuple[str, ...] = ()
    least_scale: int | None = None
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.values)
        if n == 0:
            msg = "the table has no cells; give at least one record or one cell"
            raise InputError(msg)
        object.__setattr__(self, "labels", Labels.of(self.labels))
        for name in ("values", "lower", "upper"):
            given = np.asarray(getattr(self, name))
            if given.dtype.kind == "f" and not np.isfinite(given).all():
                i = int(np.argmax(~np.isfinite(given)))
                msg = f"{name} of cell {self.labels[i]} is missing or infinite; give a number"
                raise InputError(msg)
            array = given.astype(np.int64)
            if given.dtype.kind not in "biu" and np.any(array != given):
                msg = f"{name} must be whole numbers of units; Table.from_array takes decimals="
                raise InputError(msg)
            set_array(self, name, array, n)
        if self.structural is not None:
            flags = as_flags(self.structural, n, "structural")
            flags.flags.writeable = False
            object.__setattr__(self, "structural", flags)
        if self.relations.shape[1] != n:
            msg = f"relations have {self.relations.shape[1]} columns for {n} cells"
            raise InputError(msg)
        object.__setattr__(self, "relations", _canonical(self.relations))
        if not self.names:
            width = len(self.labels[0]) if self.labels else 0
            object.__setattr__(self, "names", tuple(f"d{i + 1}" for i in range(width)))
        if not self.roots:
            object.__setattr__(self, "roots", ("",) * len(self.names))
        _check_labels(self)
        _check_bounds(self)
        _check_additive(self)

    def __repr__(self) -> str:
        dims = " x ".join(self.names)
        m = self.relations.shape[0]
        return f"Table({dims}: {self.n_cells} cells, {m} {'relation' if m == 1 else 'relations'})"

    def _repr_html_(self) -> str:
        # No value: which cells are sensitive is not known here, and notebooks are passed on.
        sizes = [
            f"{name}: {len(np.unique(self.labels.codes[:, d])):,} codes"  # type: ignore[attr-defined]
            for d, name in enumerate(self.names)
        ]
        return notebook_facts([repr(self), *sizes, "Values are not shown; see Table.values."])

    # ---- facts ---------------------------------------------------------------------------------

    @property
    def countable(self) -> bool:
        """Whether a unit of a cell is a contributor, by what was said of the data.

        Contributors that were given are told apart from the cells: they may have several records
        in one, weights or amounts, even where each happens to have 1.
        """
        return self.counts and self.contributors is None

    @property
    def n_cells(self) -> int:
        """Number of cells, margins included."""
        return len(self.values)

    @property
    def margins(self) -> Bools:
        """Cells that are the total of some relation (they carry a negative coefficient)."""
        flags = np.zeros(self.n_cells, dtype=bool)
        flags[self.relations.indices[self.relations.data < 0]] = True
        return flags

    def cell(self, index: int) -> str:
        """Name of a cell for messages: its dimensions and codes."""
        return cell_name(self.names, self.labels[index])

    def relation(self, row: int) -> str:
        """Describe a relation in words: its total and how many cells add up to it."""
        cells, signs = row_of(self.relations, row)
        totals = [self.cell(int(c)) for c in cells[signs < 0]]
        parts = [self.cell(int(c)) for c in cells[signs > 0]]
        shown = ", ".join(parts[:3]) + (f", ... ({len(parts)} cells)" if len(parts) > 3 else "")
        return f"{' + '.join(totals) or '0'} = sum of {shown or 'nothing'}"

    def position(self, label: Sequence[str]) -> int:
        """Index of the cell with this label.

        Raises
        ------
        InputError
            If no cell has the label.
        """
        wanted = tuple(plain_code(code) for code in label)
        found = Labels.of(self.labels).find(wanted)
        if found < 0:
            msg = f"no cell {cell_name(self.names, wanted)}: {self._why_no_cell(wanted)}"
            raise InputError(msg)
        return found

    def _why_no_cell(self, label: Sequence[str]) -> str:
        """Say which of some codes is not there, and one near to it."""
        if len(label) != len(self.names):
            return f"a label has one code for each of {', '.join(self.names)}"
        categories = Labels.of(self.labels).categories
        for name, code, known in zip(self.names, label, categories, strict=True):
            if code not in known:
                near = get_close_matches(code, known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                return f"{name} has no code {code!r} (codes are compared as text){hint}"
        return "no cell has these codes together"

    def replace(self, **changes: Any) -> Table:
        """Return a copy with some attributes changed, checked like a new table."""
        return replace(self, **changes)

    # ---- constructors --------------------------------------------------------------------------

    @classmethod
    @named_errors
    def from_array(
        cls,
        a: ArrayLike,
        *,
        margins: bool | None = None,
        decimals: int | None = None,
        contributors: Contributors | None = None,
        names: Sequence[str] | None = None,
        codes: Sequence[Sequence[str]] | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        negative: str = "error",
    ) -> Table:
        """Table of an n-dimensional array.

        Parameters
        ----------
        a : array of shape (d1, d2, ...)
            Inner cells unless ``margins=False``; then the array already ends with its margins along
            every axis (or, with `hierarchies`, holds every code in the hierarchy's order), and
            they are checked. Integers, or decimals with `decimals` places.
        margins : bool, optional
            Whether to add the margins. By default they are added, unless the last entries along
            an axis are the sums of the others: then the array is refused until you say which.
        decimals : int, optional
            Decimal places of the values; None takes whole numbers only.
        contributors : Contributors, optional
            For the cells of the result (margins included), in its order. Without it the table
            is one of counts, with it one of values, whatever they are.
        names : sequence of str, optional
            Names of the axes; d1, d2, ... by default.
        codes : sequence of sequence of str, optional
            Codes along each axis, without the total; "1", "2", ... by default.
        hierarchies : mapping of str to Hierarchy, optional
            A hierarchy for an axis by its name, in place of one total. Its leaves, in order, are
            the codes along that axis.
        negative : {"error", "allow"}
            Whether cells may be negative, which the public then knows.

        Returns
        -------
        Table
            Cells in C order of the array with its margins last. Their lower bounds are 0, or
            ``-UNBOUNDED`` if they may be negative; there are no upper bounds.

        Raises
        ------
        InputError
            For NaN, infinite, fractional or too large values (position named), or shapes, names or
            codes that do not match.
        NotAdditive
            If margins are given and do not add up.

        Examples
        --------
        >>> from csp import Table
        >>> table = Table.from_array([[1, 2], [3, 4]])
        >>> table.labels[2], int(table.values[2])
        (('1', 'Total'), 3)
        """
        # Builders read frames and files, which a table alone does not need.
        from csp.tables.from_array import table_from_array

        return table_from_array(
            cls,
            a,
            margins=margins,
            decimals=decimals,
            contributors=contributors,
            names=names,
            codes=codes,
            hierarchies=hierarchies,
            negative=negative,
        )

    @classmethod
    @named_errors
    @asked_as(MicrodataOptions)
    def from_microdata(cls, asked: MicrodataOptions) -> Table:
        """Table of microdata; takes what `csp.tables.microdata.options.MicrodataOptions` does."""
        # Builders read frames and files, which a table alone does not need.
        from csp.tables.microdata.from_microdata import tabulate

        return tabulate(cls, asked)

    @classmethod
    @named_errors
    @asked_as(FrameOptions)
    def from_frame(cls, asked: FrameOptions) -> Table:
        """Table of aggregates; takes what `csp.tables.aggregates.options.FrameOptions` does."""
        # Builders read frames and files, which a table alone does not need.
        from csp.tables.aggregates.from_frame import table_from_frame

        return table_from_frame(cls, asked)


def _canonical(relations: csr_array) -> csr_array:
    """Relations as whole numbers without stored zeros or duplicates, in an own frozen copy.

    Those of another table are that already, and are shared: copying them was half of the time of
    `Table.replace`.
    """
    from scipy.sparse import csr_array

    if _is_frozen(relations):
        return relations
    whole = csr_array(relations.astype(np.int64))
    if relations.dtype.kind not in "biu" and np.any(whole.data != csr_array(relations).data):
        msg = "relations must have whole coefficients; multiply each by a common denominator"
        raise InputError(msg)
    whole = whole.copy()
    whole.sum_duplicates()
    whole.eliminate_zeros()
    for array in (whole.data, whole.indices, whole.indptr):
        array.flags.writeable = False
    return whole


def _is_frozen(relations: Any) -> bool:
    from scipy.sparse import csr_array

    return bool(
        isinstance(relations, csr_array)
        and relations.dtype == np.int64
        and not any(
            array.flags.writeable for array in (relations.data, relations.indices, relations.indptr)
        )
        and relations.has_canonical_format
        and relations.data.all()
    )


def _check_labels(table: Table) -> None:
    if len(table.labels) != table.n_cells:
        msg = f"{len(table.labels)} labels for {table.n_cells} cells"
        raise InputError(msg)
    again = Labels.of(table.labels).repeated()
    if again >= 0:
        msg = f"cell {table.cell(again)} occurs twice; each cell may occur once"
        raise InputError(msg)


def _check_bounds(table: Table) -> None:
    if np.any(np.abs(table.values) > MAX_VALUE):
        i = int(np.argmax(np.abs(table.values)))
        msg = (
            f"cell {table.cell(i)} is beyond {most_text(table.scale)}; "
            "use fewer decimals or a larger unit"
        )
        raise InputError(msg)
    wrong = (table.values < table.lower) | (table.values > table.upper)
    if wrong.any():
        i = int(np.argmax(wrong))
        side = "below its lower" if table.values[i] < table.lower[i] else "above its upper"
        msg = f"cell {table.cell(i)} lies {side} bound; the bounds must hold for the true value"
        raise InputError(msg)
    too_far = (table.upper > MAX_VALUE) & (table.upper < UNBOUNDED)
    too_far |= (table.lower < -MAX_VALUE) & (table.lower > -UNBOUNDED)
    if too_far.any():
        i = int(np.argmax(too_far))
        msg = f"a bound of cell {table.cell(i)} is beyond {MAX_VALUE}; use csp.UNBOUNDED for none"
        raise InputError(msg)


def _check_additive(table: Table) -> None:
    # Values stay below 2**53, so sums of fewer than 2**9 of them cannot overflow int64; beyond
    # that the float sum tells a gross failure and the integer sum a small one.
    off = table.relations @ table.values
    gross = np.abs(table.relations @ table.values.astype(np.float64)) > 2.0**60
    bad = np.flatnonzero((off != 0) | gross)
    if len(bad):
        row = int(bad[0])
        more = (
            f" ({len(bad) - 1} more {'fails' if len(bad) == 2 else 'fail'})" if len(bad) > 1 else ""
        )
        mend = phrase(
            " (by how much: attribute difference of this error); correct the cells, leave out the "
            "relation, or give Table.from_frame a tolerance= if the numbers are rounded",
            "; correct the cells, or give --tolerance: how far sums of rounded numbers may be off",
        )
        msg = (
            f"relation {row + 1} does not hold: {table.relation(row)}; the parts and the total "
            f"differ{more}{mend}"
        )
        raise NotAdditive(msg, difference=units_text(int(off[row]), table.scale))
