"""What data looks like before it is protected: codes, nesting, and what rules would mark.

Counts only: no value of the data is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.names.calls import check_choice
from csp.rules.base import Rule, as_rule, is_count_table, numbers_of
from csp.tables.codes import numbered_codes
from csp.tables.columns import column_names, read_columns, source_of
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.microdata.repeats import repeats_note
from csp.tables.sources.source import check_names
from csp.tables.table import Table
from csp.tables.units import column_units, is_gap

VALUES = ("P(10,1)", "P(15,1)", "NK(1,75)", "NK(2,85)", "FREQ(3,10)", "FREQ(5,10)")
"""Rules that are tried on tables of values."""

COUNTS = ("FREQ(3,10)", "FREQ(5,10)", "FREQ(10,10)")
"""Rules that are tried on tables of counts."""

MOST_CODES = 10_000
"""Codes of a column above which nesting is not looked for: it is then an identifier, or a value."""

Coded = tuple[tuple[str, ...], Ints]
"""Codes of a column, each once in sorted order, and whose they are; see `numbered_codes`."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column: its codes, records without one, and the columns that group its codes.

    Attributes
    ----------
    name : str
    codes : int
    missing : int
    numbers : bool
        Whether every code is written as a number, as those of a column to add up are.
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
        Cells with no, one, and two contributors; None where their number is not known.
    sensitive : mapping of str to int
        Sensitive cells by rule.
    """

    by: tuple[str, ...]
    cells: int
    empty: int | None
    single: int | None
    double: int | None
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
    by: Sequence[str] | Sequence[Sequence[str]] = (),
    value: str | None = None,
    *,
    contributor: str | None = None,
    weight: str | None = None,
    shadow: str | None = None,
    missing: str | None = None,
    missing_values: str | None = None,
    total: str | Mapping[str, str] | None = None,
    negative: str | None = None,
    decimals: int | None = None,
    round: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    rules: Sequence[Rule | str] | None = None,
) -> Inspection:
    """Look at data before it is protected.

    Parameters
    ----------
    data : data frame, mapping of columns, or path to a .csv or .parquet file
        One row per record.
    by : sequence of str, or of sequences
        Dimensions of the table, or of several tables. Without any, only the columns are described.
    value : str, optional
        Column to add up; without it records are counted.
    contributor, weight, shadow, missing, total : str, optional
        As for `csp.Table.from_microdata`. Records without a code are left out where there is no
        `missing`.
    missing_values : {"error", "drop"}, optional
        Likewise; records without a value are left out, and said, where nothing is chosen.
    negative, decimals, round : optional
        Likewise; negative values are read as "abs", and said, where nothing is chosen.
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
        If a column is unknown, or one of several tables has no dimension.

    Examples
    --------
    >>> import csp
    >>> data = {"town": [*"aabbcc"], "land": [*"xxxxyy"], "pay": [1, 2, 3, 4, 4, 60]}
    >>> found = csp.inspect(data, ["town"], "pay")
    >>> found.hierarchies["town"], found.tables[0].sensitive["NK(1,75)"]
    (('land', 'town'), 2)
    """
    several: Any = [by] if by and isinstance(by[0], str) else by or ()
    wanted: list[tuple[str, ...]] = [tuple(one) for one in several]
    if not all(wanted):
        msg = "a table has no dimension; give by= at least one column for each"
        raise InputError(msg)
    names = column_names(data)
    given = [name for name in (value, weight, shadow) if name is not None]
    amounts = [*given, contributor] if contributor is not None else given
    arrays = dict(zip(names, read_columns(data, names, given).arrays, strict=True))
    used = [*(name for one in wanted for name in one), *amounts]
    check_names(used, names)
    records = len(next(iter(arrays.values()), ()))
    if not records:
        msg = "the data has no records; there is nothing to inspect"
        raise InputError(msg)
    known = hierarchies or {}
    # Each column is coded once, whatever is asked about it.
    coded = {name: numbered_codes(array) for name, array in arrays.items()}
    columns = _columns(coded, amounts)
    within = {column.name: column.within for column in columns}
    dimensions = list(dict.fromkeys(name for one in wanted for name in one))
    chains = {
        name: (*within[name], name) for name in dimensions if within[name] and name not in known
    }
    problems = _problems(records, columns, dimensions, left_out=missing is None)
    problems += _geographies(coded, wanted, within)
    coded_dimensions = [coded[name] for name in dimensions] if missing is None else []
    whole = _whole(coded_dimensions, records)
    if missing_values is not None:
        check_choice("missing_values", missing_values, ("error", "drop"))
    if value is not None and missing_values != "error":
        whole &= ~is_gap(arrays[value])
    kept = {name: array[whole] for name, array in arrays.items() if name in used}
    below = 0
    if value is not None:
        problems += _unanswered(arrays[value], value, missing_values)
        units, _ = column_units(kept[value], value, decimals, np.flatnonzero(whole), rounded=round)
        below = int((units < 0).sum())
    if below and negative is None:
        problems.append(
            f"{below:,} values of {value!r} are negative: choose how rules read them "
            "(negative='abs', 'shift' or 'split'); read as 'abs' here"
        )
    tried = rules if rules is not None else COUNTS if value is None else VALUES
    tables = tuple(
        _facts(
            Table.from_microdata(
                kept, one, value, contributor=contributor, weight=weight, shadow=shadow, top=5,
                hierarchies={name: tree for name, tree in known.items() if name in one},
                negative=negative or ("abs" if below else "error"), missing=missing, total=total,
                decimals=decimals, round=round,
            ),
            one,
            tried,
        )
        for one in wanted
    )  # fmt: skip
    linked = tuple((one, two) for one, two in combinations(wanted, 2) if one != two)
    owners = None if contributor is None else len(coded[contributor][0])
    if contributor is None and (hint := repeats_note(source_of(arrays), used, records)):
        problems.append(hint)
    if contributor is not None:
        problems += _almost_alike(coded[contributor], contributor)
    return Inspection(records, owners, columns, chains, tables, linked, tuple(problems))


def inspect_tables(
    tables: Sequence[Table], rules: Sequence[Rule | str] | None = None
) -> Inspection:
    """Look at tables before they are protected: `inspect` of data with one row per cell.

    Parameters
    ----------
    tables : sequence of Table
    rules : sequence of Rule or str, optional
        Those of `VALUES` or `COUNTS` that the tables have numbers for, by default.

    Returns
    -------
    Inspection
        Of tables alone: it has no columns, and its records are cells.
    """
    names = tuple(table.names for table in tables)
    found = []
    for table in tables:
        tried = rules
        if rules is None:
            tried = [rule for rule in (*VALUES, *COUNTS) if _can_judge(rule, table)]
            if not tried:
                msg = (
                    f"no rule can be tried on {' x '.join(table.names)}: neither the contributors "
                    f"of its cells nor their number are known; name {argument('count')} or "
                    f"{argument('top')}, or give {argument('rules')}"
                )
                raise InputError(msg)
        found.append(_facts(table, table.names, list(dict.fromkeys(tried or ()))))
    linked = tuple((one, two) for one, two in combinations(names, 2) if one != two)
    cells = sum(table.n_cells for table in tables)
    return Inspection(cells, None, (), {}, tuple(found), linked, ())


def _can_judge(rule: str, table: Table) -> bool:
    try:
        as_rule(rule)(table)
    except InputError:
        return False
    return True


def _unanswered(column: NDArray[Any], value: str, chosen: str | None) -> list[str]:
    """Say how many records lack a value, unless it is chosen what becomes of them."""
    gone = int(is_gap(column).sum())
    if not gone or chosen is not None:
        return []
    return [
        f"{gone:,} records have no {value!r}: leave them out (missing_values='drop'), or correct "
        "them; they are left out here"
    ]


def _almost_alike(column: Coded, contributor: str) -> list[str]:
    """Say how many identifiers differ from another in their letters' case or in blanks only."""
    texts, number = column
    first: dict[str, int] = {}
    pairs = []
    for place, text in enumerate(texts):
        other = first.setdefault("".join(text.split()).casefold(), place)
        if other != place:
            pairs.append((other, place))
    if not pairs:
        return []
    rows = " and ".join(str(row + 1) for row in sorted(np.argmax(number == k) for k in pairs[0]))
    many = "1 contributor differs" if len(pairs) == 1 else f"{len(pairs):,} contributors differ"
    return [
        f"{many} from another in {contributor!r} by capitals or blanks only (rows {rows}): each "
        "counts as one of its own, so that cells may look safe which are not; write them alike "
        "if they are the same"
    ]


def _columns(coded: Mapping[str, Coded], amounts: Sequence[str]) -> tuple[ColumnFacts, ...]:
    """Describe each column; amounts and identifiers group nothing."""
    sizes = {name: len(texts) - ("" in texts) for name, (texts, _) in coded.items()}
    # A code of nearly every record lies within anything.
    most = min(MOST_CODES, len(next(iter(coded.values()))[1]) // 2)
    found = []
    for name, (texts, number) in coded.items():
        above = [
            other
            for other, (_, labels) in coded.items()
            if other not in (name, *amounts)
            and name not in amounts
            and 1 < sizes[other] < sizes[name] <= most
            and "" not in texts
            and _lies_within(number, labels)
        ]
        chain: list[str] = []
        # Fine to coarse; each must group the one before.
        for other in sorted(above, key=sizes.__getitem__)[::-1]:
            if not chain or _groups(coded[other], coded[chain[0]]):
                chain.insert(0, other)
        missing = int((number == texts.index("")).sum()) if "" in texts else 0
        numbers = sizes[name] > 0 and all(map(_NUMBER.fullmatch, filter(None, texts)))
        found.append(ColumnFacts(name, sizes[name], missing, numbers, tuple(chain)))
    return tuple(found)


_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")


def _groups(coarse: Coded, fine: Coded) -> bool:
    return len(coarse[0]) < len(fine[0]) and _lies_within(fine[1], coarse[1])


def _lies_within(fine: Ints, coarse: Ints) -> bool:
    """Whether all records of one code have one code of another column."""
    some = np.empty(int(fine.max()) + 1, np.int64)
    some[fine] = coarse  # that of any of its records, which is then that of all
    return bool((some[fine] == coarse).all())


def is_fine(column: ColumnFacts, records: int) -> bool:
    """Whether a dimension of a column's codes would leave few records to a cell."""
    return column.codes > max(50, records // 3)


def _problems(
    records: int, columns: Sequence[ColumnFacts], dimensions: Sequence[str], *, left_out: bool
) -> list[str]:
    found = []
    for column in columns:
        if column.name in dimensions and column.missing and left_out:
            found.append(
                f"{column.missing:,} records have no {column.name!r}: give them a code (missing=), "
                "or leave them out; they are left out here"
            )
        if column.name in dimensions and is_fine(column, records):
            found.append(
                f"{column.name!r} has {column.codes:,} codes for {records:,} records: most cells "
                "will be sensitive; a coarser column publishes more"
            )
    return found


_MOSTLY, _SPREAD = 0.9, 0.6
"""Share of the records that lie in the main code of theirs, and most that one code may have of all,
for two columns that nest but for some records: by chance the one is at most the other."""


def _geographies(
    coded: Mapping[str, Coded],
    wanted: Sequence[tuple[str, ...]],
    within: Mapping[str, tuple[str, ...]],
) -> list[str]:
    """Columns of different tables of which most codes of one lie in one code of the other."""
    found = []
    numbers = {n: coded[n][1] for n in dict.fromkeys(sum(wanted, ()))}
    for one, other in combinations(numbers, 2):
        if any({one, other} <= set(table) for table in wanted):
            continue
        low, high = numbers[one], numbers[other]
        width = int(high.max()) + 1
        pairs, sizes = np.unique(low * width + high, return_counts=True)
        for fine, coarse, mine, its in (
            (one, other, pairs // width, pairs % width),
            (other, one, pairs % width, pairs // width),
        ):
            if coarse in within[fine] or fine in within[coarse]:
                continue
            inside = np.bincount(mine)[mine] == 1
            # By chance a code lies within one of a coarse column the more likely, the fewer its
            # records and the larger that one is.
            shares = np.bincount(its, weights=sizes) / sizes.sum()
            known_sizes, place = np.unique(sizes[inside], return_inverse=True)
            by_chance = (shares[:, None] ** known_sizes).sum(axis=0)[place]
            known = (sizes[inside] * (1 - by_chance)).sum()
            main = np.zeros(int(mine.max()) + 1, np.int64)
            np.maximum.at(main, mine, sizes)
            mostly = main.sum() >= _MOSTLY * sizes.sum() and shares.max() <= _SPREAD
            if not inside.all() and (known * 2 >= sizes.sum() or mostly):
                found.append(
                    f"most codes of {fine!r} lie within one code of {coarse!r}, but not all: "
                    "published in two tables, their differences are small groups that linking "
                    "does not see; tabulate the intersections, published or not "
                    f"(cellveil.crosstab({fine!r}, {coarse!r}, inner=False))"
                )
    return found


def _whole(dimensions: Sequence[Coded], records: int) -> Bools:
    """Which records have a code in every dimension."""
    whole = np.ones(records, bool)
    for texts, number in dimensions:
        if "" in texts:
            whole &= number != texts.index("")
    return whole


def _facts(table: Table, by: tuple[str, ...], rules: Sequence[Rule | str]) -> TableFacts:
    told = table.contributors
    count = None if told is None or not told.counted else numbers_of(told)
    if told is None and is_count_table(table):
        count = table.values
    sensitive = {str(rule): int(as_rule(rule)(table).primary.sum()) for rule in rules}
    sizes = [None if count is None else int((count == number).sum()) for number in (0, 1, 2)]
    return TableFacts(by, table.n_cells, sizes[0], sizes[1], sizes[2], sensitive)
