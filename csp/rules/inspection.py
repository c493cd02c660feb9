"""What data looks like before it is protected: codes, nesting, and what rules would mark.

Counts only: no value of the data is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.rules.base import Rule, as_rule
from csp.tables.codes import numbered_codes
from csp.tables.columns import check_names, column_names, read_columns
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.microdata.repeats import repeats_note
from csp.tables.table import Table
from csp.tables.units import NotUnits, is_missing, to_units

__all__ = ["COUNTS", "VALUES", "ColumnFacts", "Inspection", "TableFacts", "inspect"]

VALUES = ("P(10,1)", "P(15,1)", "NK(1,75)", "NK(2,85)", "FREQ(3,10)", "FREQ(5,10)")
"""Rules that are tried on tables of values."""

COUNTS = ("FREQ(3,10)", "FREQ(5,10)", "FREQ(10,10)")
"""Rules that are tried on tables of counts."""

MOST_CODES = 10_000
"""Codes of a column above which nesting is not looked for: it is then an identifier, or a value."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column: its codes, records without one, and the columns that group its codes.

    Attributes
    ----------
    name : str
    codes : int
    missing : int
    numbers : bool
    within : tuple of str
        Columns of which each code of this one has one code only, from coarse to fine.
    """

    name: str
    codes: int
    missing: int
    numbers: bool
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table that could be made, and what rules would make of it.

    Attributes
    ----------
    by : tuple of str
    cells : int
        Margins included.
    empty, single, double : int
        Cells with no, one, and two contributors.
    sensitive : mapping of str to int
        Sensitive cells by rule.
    """

    by: tuple[str, ...]
    cells: int
    empty: int
    single: int
    double: int
    sensitive: Mapping[str, int]


@dataclass(frozen=True, slots=True, repr=False)
class Inspection:
    """What was found in the data.

    Attributes
    ----------
    records : int
    contributors : int or None
        None if no column names them: then every record is one.
    columns : tuple of ColumnFacts
    hierarchies : mapping of str to tuple of str
        Dimensions that have no hierarchy, and the columns that could make one, from coarse to
        fine, the dimension last: for `Hierarchy.from_columns`.
    tables : tuple of TableFacts
    linked : tuple of (tuple of str, tuple of str)
        Pairs of tables that share cells: they must be protected together (`csp.link`).
    problems : tuple of str
        What is to be decided or mended first, in words.
    """

    records: int
    contributors: int | None
    columns: tuple[ColumnFacts, ...]
    hierarchies: Mapping[str, tuple[str, ...]]
    tables: tuple[TableFacts, ...]
    linked: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    problems: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Inspection({self.records:,} records, {len(self.columns)} columns, "
            f"{len(self.tables)} tables, {len(self.problems)} problems)"
        )


def inspect(
    data: Any,
    by: Sequence[str] | Sequence[Sequence[str]],
    value: str | None = None,
    *,
    contributor: str | None = None,
    weight: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    rules: Sequence[Rule | str] | None = None,
) -> Inspection:
    """Look at data before it is protected.

    Parameters
    ----------
    data : data frame, mapping of columns, or path to a .csv or .parquet file
        One row per record.
    by : sequence of str, or of sequences
        Dimensions of the table, or of several tables.
    value : str, optional
        Column to add up; without it records are counted.
    contributor, weight : str, optional
        As for `csp.Table.from_microdata`.
    hierarchies : mapping of str to Hierarchy, optional
    rules : sequence of Rule or str, optional
        `VALUES` or `COUNTS` by default.

    Returns
    -------
    Inspection
        Counts, and no value.

    Raises
    ------
    InputError
        If a column is unknown, or there is no dimension.

    Examples
    --------
    >>> import csp
    >>> data = {"town": [*"aabbcc"], "land": [*"xxxxyy"], "pay": [1, 2, 3, 4, 4, 60]}
    >>> found = csp.inspect(data, ["town"], "pay")
    >>> found.hierarchies["town"], found.tables[0].sensitive["NK(1,75)"]
    (('land', 'town'), 2)
    """
    several: Any = [by] if by and isinstance(by[0], str) else by
    wanted: list[tuple[str, ...]] = [tuple(one) for one in several]
    if not wanted or not all(wanted):
        msg = "there is no dimension; give by= at least one column"
        raise InputError(msg)
    names = column_names(data)
    given = [name for name in (value, weight) if name is not None]
    amounts = [*given, contributor] if contributor is not None else given
    arrays = dict(zip(names, read_columns(data, names, given).arrays, strict=True))
    used = [*(name for one in wanted for name in one), *amounts]
    check_names(used, names)
    records = len(next(iter(arrays.values())))
    if not records:
        msg = "the data has no records; there is nothing to inspect"
        raise InputError(msg)
    known = hierarchies or {}
    columns = _columns(arrays, amounts)
    within = {column.name: column.within for column in columns}
    dimensions = list(dict.fromkeys(name for one in wanted for name in one))
    chains = {
        name: (*within[name], name) for name in dimensions if within[name] and name not in known
    }
    problems = _problems(records, columns, dimensions)
    kept = _complete({n: a for n, a in arrays.items() if n in used}, dimensions, value)
    negative = 0
    if value is not None:
        gone = sum(map(is_missing, arrays[value].tolist()))
        problems += [f"{gone:,} records have no {value!r}; they are left out here"] * bool(gone)
        negative = int((_units(kept[value], value) < 0).sum())
    if negative:
        problems.append(
            f"{negative:,} values of {value!r} are negative: choose how rules read them "
            "(negative='abs', 'shift' or 'split'); read as 'abs' here"
        )
    tried = rules if rules is not None else COUNTS if value is None else VALUES
    tables = tuple(
        _table(kept, one, value, contributor, weight, known, tried, negative=bool(negative))
        for one in wanted
    )
    linked = tuple((one, two) for one, two in combinations(wanted, 2) if one != two)
    owners = None if contributor is None else len(numbered_codes(arrays[contributor])[0])
    if contributor is None and (hint := repeats_note(arrays, used, records)):
        problems.append(hint)
    return Inspection(records, owners, columns, chains, tables, linked, tuple(problems))


def _columns(arrays: Mapping[str, NDArray[Any]], amounts: Sequence[str]) -> tuple[ColumnFacts, ...]:
    """Describe each column; amounts and identifiers group nothing."""
    coded = {name: numbered_codes(array) for name, array in arrays.items()}
    sizes = {name: len(texts) - ("" in texts) for name, (texts, _) in coded.items()}
    # A code of nearly every record lies within anything.
    most = min(MOST_CODES, len(next(iter(arrays.values()))) // 2)
    found = []
    for name, (texts, number) in coded.items():
        above = [
            other
            for other, (_, labels) in coded.items()
            if other not in (name, *amounts)
            and name not in amounts
            and 1 < sizes[other] < sizes[name] <= most
            and len(np.unique(np.column_stack([number, labels]), axis=0)) == sizes[name]
        ]
        chain: list[str] = []
        # Fine to coarse; each must group the one before.
        for other in sorted(above, key=sizes.__getitem__)[::-1]:
            if not chain or _groups(coded[other][1], coded[chain[0]][1]):
                chain.insert(0, other)
        missing = int((number == texts.index("")).sum()) if "" in texts else 0
        numbers = arrays[name].dtype.kind in "iuf"
        found.append(ColumnFacts(name, sizes[name], missing, numbers, tuple(chain)))
    return tuple(found)


def _groups(coarse: NDArray[np.int64], fine: NDArray[np.int64]) -> bool:
    pairs = np.unique(np.column_stack([fine, coarse]), axis=0)
    return len(pairs) == len(np.unique(fine)) and len(np.unique(coarse)) < len(np.unique(fine))


def _problems(records: int, columns: Sequence[ColumnFacts], dimensions: Sequence[str]) -> list[str]:
    found = []
    for column in columns:
        if column.name in dimensions and column.missing:
            found.append(
                f"{column.missing:,} records have no {column.name!r}: give them a code (missing=), "
                "or leave them out; they are left out here"
            )
        if column.name in dimensions and column.codes > max(50, records // 3):
            found.append(
                f"{column.name!r} has {column.codes:,} codes for {records:,} records: most cells "
                "will be sensitive; a coarser column publishes more"
            )
    return found


def _complete(
    arrays: Mapping[str, NDArray[Any]], dimensions: Sequence[str], value: str | None
) -> dict[str, NDArray[Any]]:
    """Leave out records without a code in some dimension, or without a value."""
    whole = np.ones(len(next(iter(arrays.values()))), bool)
    for name in dimensions:
        texts, number = numbered_codes(arrays[name])
        if "" in texts:
            whole &= number != texts.index("")
    if value is not None:
        whole &= [not is_missing(item) for item in arrays[value].tolist()]
    return {name: array[whole] for name, array in arrays.items()}


def _units(column: NDArray[Any], name: str) -> NDArray[np.int64]:
    try:
        return to_units(column)[0]
    except NotUnits as error:
        msg = f"column {name!r} holds something that is not a number: {error.reason}"
        raise InputError(msg) from error


def _table(
    data: Mapping[str, NDArray[Any]], by: tuple[str, ...], value: str | None,
    contributor: str | None, weight: str | None, known: Mapping[str, Hierarchy],
    rules: Sequence[Rule | str], *, negative: bool,
) -> TableFacts:  # fmt: skip
    table = Table.from_microdata(
        data, by, value, contributor=contributor, weight=weight, top=5,
        hierarchies={name: tree for name, tree in known.items() if name in by},
        negative="abs" if negative else "error",
    )  # fmt: skip
    count = table.values if table.contributors is None else table.contributors.count
    sensitive = {str(rule): int(as_rule(rule)(table).primary.sum()) for rule in rules}
    sizes = [int((count == number).sum()) for number in (0, 1, 2)]
    return TableFacts(by, table.n_cells, sizes[0], sizes[1], sizes[2], sensitive)
