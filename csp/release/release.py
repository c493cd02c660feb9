"""What the public sees of a protected table, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Ints
from csp.names.calls import asked_as, named_errors
from csp.names.guesses import Guided
from csp.published.breakdowns import with_breakdowns
from csp.published.door import read_published
from csp.published.told import PublishedOptions
from csp.tables.codes import Labels, cell_name
from csp.tables.cross.html import cell_texts, notebook_table
from csp.tables.patterns import as_pattern
from csp.tables.table import Table
from csp.tables.units import finer

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(metaclass=Guided):
    """A published table: relations, published values, and which cells are missing.

    Attributes
    ----------
    published : (n,) int64
        Values in units of ``10**-scale``; 0 where suppressed (read `pattern` first).
    pattern : (n,) bool
        Suppressed cells. Primary and secondary ones are not told apart: telling them apart
        discloses that a primary cell is below the threshold.
    relations : (m, n) csr_array of int64
    lower, upper : (n,) int64
        What any outsider knows of each cell beforehand.
    labels : sequence of tuple of str
        Kept as `csp.tables.codes.Labels`, like those of a table.
    scale : int
        Decimal places of the unit: those that were stated, or that published cells and bounds need.
    names, roots : tuple of str
        Dimensions and the codes of their totals.
    structural : (n,) bool or None
        Cells that are publicly known to be empty.
    ranged : (n,) bool or None
        Cells of `pattern` that nobody withholds: a rounded figure is published, which `lower` and
        `upper` hold, or the print of a cross table has no such cell.
    classed : (n,) bool or None
        Withheld cells of which a range is published, which `lower` and `upper` hold.
    unavailable : (n,) bool or None
        Cells of `pattern` that nobody withholds: their sign says that there is no number.
    counts : (n,) int64 or None
        Number of contributors of each cell, where that is published; -1 where it is not.
    notes : tuple of str
        How a table that somebody else published was read.
    of_counts : bool or None
        Whether a unit of a cell is a contributor, so that rules which ask for their number can
        judge values that agree with the release. Not so for sums of values, and for counts under
        weights or of records whose contributors are named: the number is not published there, or
        beside them (`counts`). None where a published table does not tell.
    """

    published: Ints
    pattern: Bools
    relations: csr_array
    lower: Ints
    upper: Ints
    labels: Sequence[tuple[str, ...]]
    scale: int
    names: tuple[str, ...]
    roots: tuple[str, ...]
    structural: Bools | None = None
    ranged: Bools | None = None
    classed: Bools | None = None
    unavailable: Bools | None = None
    counts: Ints | None = None
    notes: tuple[str, ...] = ()
    of_counts: bool | None = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", Labels.of(self.labels))

    @classmethod
    def of(cls, table: Table, pattern: ArrayLike, *, scale: int | None = None) -> Release:
        """Release of a table under a pattern; holds no suppressed value.

        Its scale is `scale`, which published cells must not need more than, or the least at which
        every published value and every bound is whole, and no less than what was stated.
        """
        flags = as_pattern(table, pattern)
        arrays = [np.where(flags, 0, table.values), table.lower, table.upper]
        if scale is None:
            scale = _least_scale(table, arrays)
        if scale < table.scale:
            arrays = [_coarser(array, 10 ** (table.scale - scale)) for array in arrays]
        elif scale > table.scale:
            arrays = finer(arrays, table.scale, scale, "the table")
        arrays[0].flags.writeable = False
        return cls(
            arrays[0], flags, table.relations, arrays[1], arrays[2], table.labels,
            scale, table.names, table.roots, table.structural, of_counts=table.countable,
        )  # fmt: skip

    @classmethod
    @named_errors
    @asked_as(PublishedOptions)
    def from_frame(cls, asked: PublishedOptions) -> Release:
        """Release of a table that somebody else published.

        The public knows an interval of each cell: a point where a value is published, a range where
        a flag, a rounding or a size class is, and 0 upwards where it is blank. Takes what
        `csp.published.told.PublishedOptions` does.

        Returns
        -------
        Release

        Raises
        ------
        InputError
            For entries whose meaning is not known, codes that are missing, cells that occur twice
            (rows named), empty ranges, hierarchies that do not fit, and data that is not a table.

        Examples
        --------
        >>> rows = [["", "Farms", "Trade", "Total"], ["North", "[c]", 45, 165],
        ...         ["South", 12, 8, 20], ["Total", "[c]", 53, 185]]
        >>> release = Release.from_frame(rows)
        >>> release
        Release(rows x columns: 9 cells, 2 suppressed)
        """
        found = with_breakdowns(read_published(asked))
        kinds = found.empty, found.ranged, found.classed, found.unavailable
        empty, ranged, classed, missing = (one if one.any() else None for one in kinds)
        return cls(
            found.values, found.hidden, found.relations, found.lower, found.upper, found.labels,
            found.scale, found.names, found.roots, empty, ranged, classed, missing, found.counts,
            found.notes, of_counts=found.of_counts,
        )  # fmt: skip

    def at_scale(self, scale: int, what: str = "the release") -> Release:
        """Return the same in a finer unit; `what` names it in messages.

        Raises
        ------
        InputError
            If a value does not fit into 2**53 of these units.
        """
        if scale == self.scale:
            return self
        arrays = (self.published, self.lower, self.upper)
        published, lower, upper = finer(arrays, self.scale, scale, what)
        return replace(self, published=published, lower=lower, upper=upper, scale=scale)

    def table(self, values: ArrayLike) -> Table:
        """Table that agrees with the release.

        Parameters
        ----------
        values : (n,) or (k,) int
            Of all cells, or of the k suppressed ones.

        Raises
        ------
        NotAdditive
            If the values break a relation.
        InputError
            If they have another shape, lie outside the bounds, or differ from a published value.
        """
        given = np.asarray(values)
        full = self.published.copy()
        if given.shape == (int(self.pattern.sum()),):
            full[self.pattern] = given
        elif given.shape == full.shape:
            full[self.pattern] = given[self.pattern]
            if (full != given).any():
                i = int(np.argmax(full != given))
                msg = f"cell {self.labels[i]} is published with another value"
                raise InputError(msg)
        else:
            msg = (
                f"values have shape {given.shape}; give those of all {len(full)} cells or of the "
                f"{int(self.pattern.sum())} suppressed ones"
            )
            raise InputError(msg)
        return Table(
            full, self.relations, self.lower, self.upper, self.labels, self.scale,
            names=self.names, roots=self.roots, structural=self.structural,
            counts=self.of_counts is True,
        )  # fmt: skip

    @property
    def withheld(self) -> Bools:
        """Cells (n,) that are withheld, and not just rounded or without a number for anybody."""
        found = self.pattern
        for others in (self.ranged, self.unavailable):
            found = found if others is None else found & ~others
        return found

    def knowing(self, cells: int | Ints, values: int | Ints) -> Release:
        """Return what an attacker sees who knows values of suppressed cells, in units."""
        pattern, published = self.pattern.copy(), self.published.copy()
        pattern[cells], published[cells] = False, values
        ranged = None if self.ranged is None else self.ranged & pattern
        missing = None if self.unavailable is None else self.unavailable & pattern
        return replace(
            self, pattern=pattern, published=published, ranged=ranged, unavailable=missing
        )  # fmt: skip

    def suppressed_in(self, table: Table) -> Bools:
        """Cells of another table that this release suppressed, matched by their labels.

        Parameters
        ----------
        table : Table
            Of the same dimensions, in any order; it may have further cells.

        Returns
        -------
        (n,) bool
            Over the cells of `table`.

        Raises
        ------
        InputError
            If the dimensions differ, or the table lacks a suppressed cell of the release.
        """
        if sorted(self.names) != sorted(table.names):
            msg = (
                f"the earlier release is by {', '.join(self.names)}, the table by "
                f"{', '.join(table.names)}; cells are matched by their codes in the same dimensions"
            )
            raise InputError(msg)
        order = [self.names.index(name) for name in table.names]
        turned = Labels.of(self.labels).take(self.pattern).turned(order)
        places = Labels.of(table.labels).places(turned)
        if (places < 0).any():
            shown = cell_name(table.names, turned[int(np.argmax(places < 0))])
            msg = (
                f"cell {shown} was suppressed in the earlier release and the table has no "
                "such cell; keep the categories of the earlier release, or add it with value 0"
            )
            raise InputError(msg)
        marks = np.zeros(table.n_cells, dtype=bool)
        marks[places] = True
        return marks

    def __repr__(self) -> str:
        hidden = int(self.pattern.sum())
        return f"Release({' x '.join(self.names)}: {len(self.pattern)} cells, {hidden} suppressed)"

    def _repr_html_(self) -> str:

        text = cell_texts(self.published, self.pattern, self.structural, self.scale)
        return notebook_table(self, text, [repr(self)])


def _least_scale(table: Table, arrays: Sequence[Ints]) -> int:
    """Fewest decimal places, from those stated on, at which all of these are whole."""
    scale = table.scale
    least = scale if table.least_scale is None else min(table.least_scale, scale)
    while scale > least and not any(
        (array[np.abs(array) < UNBOUNDED] % 10 ** (table.scale - scale + 1)).any()
        for array in arrays
    ):
        scale -= 1
    return scale


def _coarser(array: Ints, factor: int) -> Ints:
    """Values and bounds that are whole in a unit `factor` times as large; no bound stays none."""
    return np.where(np.abs(array) < UNBOUNDED, array // factor, array)
