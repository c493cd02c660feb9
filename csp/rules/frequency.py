"""Rules that look at a cell's count, its value or its name: frequency, zero, manual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError, NoContributors, argument
from csp.exact import Bools, Number, number_text
from csp.rules.base import (
    Rule,
    counts_of,
    is_count_table,
    percent_of_value,
    set_parameter,
    whole_units,
)
from csp.rules.sensitivity import Sensitivity
from csp.rules.words import Word
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, repr=False)
class MinFrequency(Rule):
    """Fewer than n contributors (Minami and Abe 2019, section 2.2).

    Attributes
    ----------
    n : int
        A cell is sensitive if ``0 < count < n``.
    zero_sensitive : bool
        Whether a cell with no contributors is sensitive too.
    width : Number, optional
        Least width of the feasibility interval (sliding level), as a number of the measure: 20
        means 20.00 in a table with two decimals.
    margin : Number, optional
        Level on both sides in percent of the value, at least one unit.
    weighted : bool
        Count what contributors stand for under sampling weights, and not the respondents. One
        respondent with a large weight then passes.

    Notes
    -----
    With neither `width` nor `margin`, cells of a table of counts get the width n, so that their
    interval reaches beyond the sensitive range 0 .. n - 1; cells of other tables stay open.
    """

    n: Number
    zero_sensitive: bool = False
    width: Number | None = None
    margin: Number | None = None
    weighted: bool = False

    word = Word("FREQ(n,margin)", optional=1, named=("width", "zero", "weighted"), holding=1)

    @classmethod
    def from_text(
        cls, numbers: Sequence[Fraction], named: Mapping[str, Fraction], cells: Sequence[Any]
    ) -> MinFrequency:
        """See `Rule`; "zero" and "weighted" are 0 or 1."""
        del cells
        return cls(
            numbers[0],
            zero_sensitive=bool(named.get("zero")),
            width=named.get("width"),
            margin=numbers[1] if len(numbers) > 1 else None,
            weighted=bool(named.get("weighted")),
        )

    def __post_init__(self) -> None:
        set_parameter(self, "n", whole=True)
        set_parameter(self, "width")
        set_parameter(self, "margin", positive=False)

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the table has no contributors and its values are not counts (cell named).
        """
        count = counts_of(table, weighted=self.weighted)
        threshold = int(self.n)
        people = table.contributors
        if people is not None and not people.counted and threshold > people.top.shape[1]:
            msg = (
                f"{self} needs the number of contributors of each cell, and the table lists the "
                f"{people.top.shape[1]} largest contributions only; name the column of counts with "
                f"{argument('count')}"
            )
            raise NoContributors(msg)
        mask = count < threshold
        if not self.zero_sensitive:
            # Of people: what one of a weight below one half stands for is rounded to 0.
            mask &= counts_of(table) > 0
        wide = self._width(table)
        return Sensitivity.of(table, mask, level=percent_of_value(table, self.margin), spl=wide)

    def fixed_width(self, table: Table) -> int | None:
        """Width that is asked, unless there is a margin."""
        return self._width(table) if self.margin is None else None

    def _width(self, table: Table) -> int:
        if self.width is None and self.margin is None and is_count_table(table):
            return int(self.n)
        return whole_units(self.width, table.scale)

    @property
    def cellwise(self) -> bool:
        """True: a cell of a table of counts is judged by its value alone."""
        return True

    def __str__(self) -> str:
        flags = {"zero": self.zero_sensitive, "weighted": self.weighted}
        named = [f"{name}=1" for name, given in flags.items() if given]
        return f"FREQ({','.join([str(self.n), *_levels(self.margin, self.width), *named])})"


@dataclass(frozen=True, slots=True, repr=False)
class Zero(Rule):
    """Cells of value zero that have contributors tell everything about them.

    Sensitive if the value is 0 and at least one contributor stands behind it; in a table of
    counts every zero is sensitive.

    Attributes
    ----------
    level : Number
        Upper protection level as a number of the measure, as in τ-ARGUS: 20 means 20.00 in a
        table with two decimals.
    """

    level: Number

    word = Word("ZERO(level)")

    def __post_init__(self) -> None:
        set_parameter(self, "level")

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the table has no contributors and its values are not counts (cell named).
        """
        count = counts_of(table)
        mask = table.values == 0
        if not is_count_table(table):
            mask &= count > 0
        return Sensitivity.of(table, mask, level=whole_units(self.level, table.scale))

    @property
    def cellwise(self) -> bool:
        """True: a cell of a table of counts is judged by its value alone."""
        return True

    def __str__(self) -> str:
        return f"ZERO({number_text(self.level)})"


@dataclass(frozen=True, slots=True, repr=False)
class Manual(Rule):
    """Cells named by the person who knows.

    Attributes
    ----------
    cells : sequence of labels, or (n,) bool
        A label is a tuple of codes, or one code where the table has one dimension.
    margin : Number, optional
        Level on both sides in percent of the value, at least one unit.
    width : Number, optional
        Least width of the feasibility interval (sliding level), as a number of the measure: 20
        means 20.00 in a table with two decimals.
    """

    cells: Sequence[Any] | Bools
    margin: Number | None = None
    width: Number | None = None

    word = Word("MAN(margin)", optional=1, named=("width",), zeros=())

    @classmethod
    def from_text(
        cls, numbers: Sequence[Fraction], named: Mapping[str, Fraction], cells: Sequence[Any]
    ) -> Manual:
        """See `Rule`."""
        return cls(cells, *numbers, **named)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", _cells(self.cells))
        set_parameter(self, "width")
        set_parameter(self, "margin", positive=False)

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If no cell has a label, the mask has another length, or a cell is known to be empty.
        """
        mask = np.zeros(table.n_cells, dtype=bool)
        if len(self.cells) and isinstance(self.cells[0], bool):
            if len(self.cells) != table.n_cells:
                msg = f"Manual has a mask of {len(self.cells)} cells for a table of {table.n_cells}"
                raise InputError(msg)
            mask[:] = self.cells
        elif len(self.cells):
            for label in self.cells:
                mask[table.position(label)] = True
        if table.structural is not None and (mask & table.structural).any():
            i = int(np.argmax(mask & table.structural))
            msg = f"cell {table.cell(i)} is known to be empty, so it cannot be secret; leave it out"
            raise InputError(msg)
        wide = whole_units(self.width, table.scale)
        return Sensitivity.of(table, mask, level=percent_of_value(table, self.margin), spl=wide)

    def fixed_width(self, table: Table) -> int | None:
        """Width that is asked of the cells named, unless there is a margin."""
        return whole_units(self.width, table.scale) if self.margin is None else None

    @property
    def cellwise(self) -> bool:
        """True: a cell of a table of counts is judged by its value alone."""
        return True

    def __str__(self) -> str:
        return f"MAN({','.join(_levels(self.margin, self.width))})"


def _levels(margin: Number | None, width: Number | None) -> list[str]:
    """Levels as parameters of a rule's text."""
    return [
        *([] if margin is None else [number_text(margin)]),
        *([] if width is None else [f"width={number_text(width)}"]),
    ]


def _cells(given: Any) -> tuple[Any, ...]:
    """Return a mask as a tuple of bool and labels as a tuple of tuples of str."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        msg = (
            "Manual needs a list of labels (codes, or tuples of codes) or a bool mask, not "
            f"{given!r}; put a single label into a list"
        )
        raise InputError(msg)
    cells = list(given)
    if cells and all(isinstance(c, (bool, np.bool_)) for c in cells):
        return tuple(bool(c) for c in cells)
    labels: list[tuple[str, ...]] = []
    for cell in cells:
        if isinstance(cell, str):
            labels.append((cell,))
        elif isinstance(cell, Sequence):
            labels.append(tuple(str(code) for code in cell))
        else:
            msg = f"Manual needs labels (tuples of codes) or a bool mask, got {type(cell).__name__}"
            raise InputError(msg)
    return tuple(labels)
