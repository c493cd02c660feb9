"""What the columns of a file mean, and the cells that it holds then: values of a second reading."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from unicodedata import normalize

Label = tuple[str, ...]
Parents = Mapping[str, str]

LISTED = 5
"""Largest contributions that a table lists; smaller contributors count as strangers to a cell."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file mean, in the words of the user.

    Attributes
    ----------
    by : sequence of (sequence of str)
        Dimensions of each table; several tables of the same records are judged together.
    value : str, optional
        Column that is added up; without it records are counted.
    contributor, weight, shadow : str, optional
        Who reports (without it each record is a contributor of its own), sampling weights, and
        the variable that rules and levels look at in place of the value.
    rows : {"records", "cells"}
        Whether a row is a record or a cell.
    count, top : str and sequence of str, optional
        Of cells: numbers of contributors, and largest contributions (of the shadow, if any).
    hierarchies : mapping of str to sequence of mappings
        Of a dimension: its hierarchies, each from code to parent (as `files.parents_of` reads
        them); codes whose parent is not named, or is "", lie below the total.
    total : mapping of str to str
        Code of the total of a dimension, "Total" by default.
    negative : {"error", "abs", "shift", "split", "allow"}
        How the rules see negative contributions; "allow" of cells.
    missing : str, optional
        Code for records that lack one.
    decimals : int, optional
        Decimal places of values; without it the fewest that hold all of them.
    missing_values : {"error", "drop"}
        Whether records without a value (or shadow) are left out; their codes are known still.
    round : bool
        Whether values, and contributions, are rounded to `decimals`, ties to even.
    """

    by: Sequence[Sequence[str]]
    value: str | None = None
    contributor: str | None = None
    weight: str | None = None
    shadow: str | None = None
    rows: Literal["records", "cells"] = "records"
    count: str | None = None
    top: Sequence[str] = ()
    hierarchies: Mapping[str, Sequence[Parents]] | None = None
    total: Mapping[str, str] | None = None
    negative: str = "error"
    missing: str | None = None
    decimals: int | None = None
    missing_values: str = "error"
    round: bool = False

    def __post_init__(self) -> None:
        # Codes of the records are brought to this form too: two that look alike are one.
        total = {n: normalize("NFC", code.strip()) for n, code in (self.total or {}).items()}
        object.__setattr__(self, "total", total)
        if self.missing is not None:
            object.__setattr__(self, "missing", normalize("NFC", self.missing.strip()))

    @property
    def counts(self) -> bool:
        """Whether cells count contributors or records, and do not add up a variable."""
        return self.value is None or (self.rows == "cells" and self.value == self.count)

    @property
    def respondents(self) -> bool:
        """Whether the value of a cell is the number of its respondents."""
        return self.counts and self.contributor is None and self.weight is None

    @property
    def names(self) -> tuple[str, ...]:
        """Dimensions of all tables."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(self.by)))

    def root(self, name: str) -> str:
        """Code of the total of a dimension."""
        return (self.total or {}).get(name, "Total")


@dataclass(frozen=True, slots=True)
class Side:
    """Contributions to a cell that the rules look at together.

    Attributes
    ----------
    total : int
    top : tuple of int
        In descending order. Both in units of what the rules look at.
    """

    total: int
    top: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """What the file says of a cell.

    Attributes
    ----------
    value : int
        In units.
    count : int or None
        Contributors, whatever their weights; None if the file does not say.
    sides : tuple of Side
        None of them if the contributions are not known.
    people : tuple
        Identities, the largest contribution of a side first; empty if the file does not say.
    listed : frozenset
        Those among the `LISTED` largest contributions of a side.
    stands_for : int or None
        Contributors in the population by their weights, rounded half up.
    """

    value: int
    count: int | None
    sides: tuple[Side, ...]
    people: tuple[object, ...] = ()
    listed: frozenset[object] = frozenset()
    stands_for: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """All cells of a file, and how they add up.

    Attributes
    ----------
    columns : Columns
    scale : int
        Decimal places of a unit.
    cells : mapping of label to Cell
        Of records: cells that have some. Other combinations of codes are empty.
    codes : mapping of dimension to mapping of code to set of code
        Each code with all codes above it, itself included.
    children : mapping of dimension to sequence of mappings of code to list of code
        One for each hierarchy.
    seen : int
        Decimal places of contributions.
    """

    columns: Columns
    scale: int
    cells: Mapping[Label, Cell]
    codes: Mapping[str, Mapping[str, frozenset[str]]]
    children: Mapping[str, Sequence[Mapping[str, Sequence[str]]]]
    seen: int

    def cell(self, label: Label) -> Cell:
        """Return a cell; one that nobody contributes to if the file does not have it."""
        nobody = None if self.columns.rows == "cells" and self.columns.count is None else 0
        return self.cells.get(label) or Cell(0, nobody, ())

    def empty(self, label: Label) -> bool:
        """Whether a cell is publicly known to be empty: nobody contributes to a sum of values."""
        return not self.columns.counts and self.cell(label).count == 0

    def below(self, part: Label, whole: Label) -> bool:
        """Whether a cell lies within another, or is the same."""
        names = self.columns.names
        return all(
            w in self.codes[n].get(p, ()) for n, p, w in zip(names, part, whole, strict=True)
        )

    def sums(self, labels: Iterable[Label]) -> list[tuple[Label, tuple[Label, ...]]]:
        """Totals among some cells with their parts, of each dimension of each table."""
        here = set(labels)
        found: dict[tuple[Label, tuple[Label, ...]], None] = {}
        names = self.columns.names
        for label in sorted(here):
            for table in self.columns.by:
                inside = all(
                    n in table or c == self.columns.root(n)
                    for n, c in zip(names, label, strict=True)
                )
                for name in table if inside else ():
                    at = names.index(name)
                    for tree in self.children[name]:
                        parts = [
                            (*label[:at], code, *label[at + 1 :])
                            for code in tree.get(label[at], ())
                        ]
                        if parts:
                            kept = tuple(part for part in parts if part in here)
                            found[label, kept] = None
        return list(found)
