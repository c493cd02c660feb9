"""What to tabulate of records, and what each of them contributes, as integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.tables.codes import owner_numbers
from csp.tables.hierarchies.coding import (
    Finder,
    check_repeats,
    first_row,
    missing_value,
    negative_value,
    positions_of,
    read_codes,
    weight_not_positive,
)
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import in_order
from csp.tables.margins import check_size
from csp.tables.microdata.combinations import check_combinations
from csp.tables.microdata.records import Records
from csp.tables.units import column_units, is_gap

_FEW = 2**20
"""Combinations of codes up to which empty ones are cells of a table of values by default."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done to records, for a progress line.

    Attributes
    ----------
    words : str
    done, total : int
        Batches that are done, of how many; 0 of 0 where nothing is counted.
    note : str
        How a text file was read, where that was found from the file; see
        `csp.tables.sources.source.Columns`.
    """

    words: str
    done: int = 0
    total: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to tabulate; see `csp.tables.microdata.options.MicrodataOptions`.

    Records without a number in one of the columns `answered` are left out; their codes stay.
    """

    names: tuple[str, ...]
    value: str | None
    contributor: str | None
    weight: str | None
    hierarchies: Mapping[str, Hierarchy]
    roots: Mapping[str, str]
    negative: str
    top: int
    decimals: int | None
    missing: str | None
    empty: str | None
    answered: tuple[str, ...] = ()
    rounded: bool = False
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data, each once."""
        others = [n for n in (self.value, self.contributor, self.weight) if n is not None]
        return tuple(dict.fromkeys([*self.names, *others, *self.answered]))

    def left_out(self, columns: Mapping[str, NDArray[Any]]) -> Bools | None:
        """Which records lack a number in a column that has to be answered; None if none does."""
        gaps = [is_gap(columns[name]) for name in self.answered]
        out = np.logical_or.reduce(gaps) if gaps else None
        return out if out is not None and out.any() else None

    def check_answered(self, records: int, left: int) -> None:
        """Refuse a table of no record, where `left` of all records are left out."""
        if records and left == records:
            msg = f"no record has a number in column {self.answered[0]!r}; nothing is left to add"
            raise InputError(msg)

    def placed(
        self, name: str, entries: NDArray[Any], n: int, first: Finder = first_row
    ) -> tuple[Hierarchy, Ints]:
        """Hierarchy of a dimension, and the position in it of each entry of its column.

        Entries are the codes of all n records, or each code once with a `Finder` of its record.
        Without a hierarchy all codes that occur stand below the total.
        """
        if not n:
            msg = "the data has no records; a table needs at least one"
            raise InputError(msg)
        texts, number = read_codes(entries, name, self.missing, first)
        check_repeats(len(texts), n, name)
        tree = self.hierarchies.get(name) or Hierarchy.flat(
            in_order(texts, self.orders.get(name, ())), self.roots[name]
        )
        return tree, positions_of(texts, number, tree, name, first)

    @property
    def counted(self) -> bool:
        """Whether the table counts records, each of another contributor."""
        return self.value is None and self.contributor is None

    @property
    def kept(self) -> int:
        """How many of the largest contributions are kept; none where each record counts as one."""
        return 0 if self.counted and self.weight is None else self.top

    def check(self, trees: Sequence[Hierarchy]) -> None:
        """Refuse a table of all combinations that is too large, before anything is summed."""
        combinations = check_combinations(trees)
        if not self.drops(combinations, 0):
            check_size(combinations, len(trees), self.kept, mend=self.mend)

    def drops(self, combinations: int, cells: int) -> bool:
        """Whether cells without records are left out, where so many of the combinations have some.

        0 asks whether they may be.
        """
        few = self.value is not None and combinations > _FEW and 4 * cells < combinations
        return self.empty == "drop" or (self.empty is None and few)

    @property
    def mend(self) -> str:
        """What makes a table smaller that is too large."""
        if self.empty == "drop":
            return ""
        option = argument("empty", "drop", option="--drop-empty")
        return f", or leave cells without records out ({option})"


def check_weights(owner: Ints, weight: Ints, wanted: Wanted, *, rows: bool = False) -> None:
    """Refuse two weights of one contributor; an average of them would be a guess.

    Parameters
    ----------
    owner, weight : (n,) int64
    wanted : Wanted
    rows : bool
        Name two records by their rows, which are those of the data then.

    Raises
    ------
    InputError
    """
    first = np.zeros(int(owner.max()) + 1, np.int64)
    first[owner[::-1]] = np.arange(len(owner))[::-1]
    differ = weight != weight[first[owner]]
    if differ.any():
        row = int(np.argmax(differ))
        where = f"rows {first[owner[row]] + 1} and {row + 1}: " if rows else ""
        msg = (
            f"{where}one contributor (column {wanted.contributor!r}) has two weights (column "
            f"{wanted.weight!r}); give it one"
        )
        raise InputError(msg)


def records_of(columns: Mapping[str, NDArray[Any]], wanted: Wanted) -> tuple[Records, int]:
    """Read records in memory, but for their cells; also returns the decimals of their amounts.

    Raises
    ------
    InputError
        See `csp.tables.microdata.from_microdata.tabulate`.
    """
    n = len(columns[wanted.names[0]])
    amount, scale = np.ones(n, np.int64), 0
    if wanted.value is not None:
        gaps = is_gap(columns[wanted.value])
        if gaps.any():
            raise missing_value(int(np.argmax(gaps)) + 1, wanted.value, int(gaps.sum()), n)
        amount, scale = column_units(
            columns[wanted.value], wanted.value, wanted.decimals, rounded=wanted.rounded
        )
    if wanted.negative == "error" and (amount < 0).any():
        raise negative_value(int(np.argmax(amount < 0)) + 1, wanted.value)
    weight, weight_scale = np.ones(n, np.int64), 0
    if wanted.weight is not None:
        weight, weight_scale = column_units(columns[wanted.weight], wanted.weight, weights=True)
        if (weight <= 0).any():
            raise weight_not_positive(int(np.argmax(weight <= 0)) + 1, wanted.weight)
    owner = None
    if wanted.contributor is not None:
        owner = owner_numbers(columns[wanted.contributor], wanted.contributor)
        if wanted.weight is not None:
            check_weights(owner, weight, wanted, rows=True)
    return Records(np.zeros(n, np.int64), amount, weight, weight_scale, owner), scale
