"""Cross tables of true values: what an office starts from, before anything is withheld.

They are printed in the same shapes as published tables and recognised by the same means. But every
cell has a value here, so an empty one is a question, and a missing total is computed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import vstack

from csp.errors import InputError, argument, phrase
from csp.exact import UNBOUNDED, Ints, Number, exact, number_text
from csp.names.calls import asked_as, check_choice, named_errors
from csp.published.breakdowns import Breakdown, breakdowns, rows_of_breakdowns
from csp.published.cells import Published
from csp.published.crosstabs.grids import grid_for, rows_of
from csp.published.crosstabs.values import UnclearMark, added_up, filled, plain_numbers, with_totals
from csp.published.entries import sign_of
from csp.published.grids.grid import CrossGrid
from csp.published.told import Told
from csp.sparse import row_of
from csp.tables.codes import Labels
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.table import Table
from csp.tables.units import check_rounding

_AMOUNTS = re.compile(
    r"[\u20ac$\u00a3\u00a5]|\b(?:eur|euros?|usd|gbp|chf|tsd|t?eur|mio|mill?ions?|mrd|bn|"
    r"payrolls?|salar(?:y|ies)|exports?|imports?|costs?|spending|expenses?|budgets?|profits?|"
    r"tax(?:es)?|amounts?|prices?|values? added|gdp|ausgaben|einnahmen|kosten|steuern?|"
    r"betr(?:ag|\u00e4ge)|preise?|export\w*|import\w*|geh\u00e4lter|turnover|revenues?|"
    r"sales|umsatz\w*|ums\u00e4tze|wages|incomes?|expenditures?|investments?|investition\w*|l\u00f6hne|verdienst\w*|aufwendung\w*|tonnes?|hektar|hectares?|kwh|mwh)\b",
    re.IGNORECASE,
)
"""Words above a table that say that its numbers are amounts, and not counts."""


@dataclass(frozen=True, slots=True, eq=False)
class CrosstabOptions:
    """A cross table of true values and how it is read: the arguments of `csp.read_crosstab`.

    Attributes
    ----------
    data : path, `TextFile`, or sequence of rows
        Rows of a sheet: numbers, texts, None. Blanks before row labels are indents.
    by : sequence of str, optional
        Names of the dimensions, those of the rows first; of a list, their columns. As found
        without it.
    value : str, optional
        Header above the cells, or several by commas, where other columns hold other measures.
    counts : bool, optional
        Whether each cell is a count of its contributors, which rules such as ``FREQ(5,10)`` look
        at. Without it whole numbers count as such, unless `count` is given; `Table.notes` says so.
    count : str, optional
        Header of the numbers of contributors that stand beside the values.
    hierarchies : mapping of str to Hierarchy or {"prefix", "found"}, optional
        As for `csp.Release.from_frame`.
    total : str or mapping of dimension to str, optional
        Code of the total. One that a mapping names and the table does not have is computed.
    absent : {"error", "zero"}
        Empty cells: refused, or 0. Those that the totals show to be 0 are so either way.
    tolerance : Number
        By how much a total may be off; such totals are replaced by their sums.
    negative : {"error", "allow"}
        Whether cells may be negative, which the public then knows.
    decimals : int, optional
        Decimal places of the values; as many as they have without it.
    round : bool
        Whether numbers with more decimals are rounded to `decimals`, ties to even.
    decimal : {".", ","}, optional
        Decimal mark of numbers that are text, where it is not clear.
    """

    data: Any
    by: Sequence[str] | None = None
    value: str | None = None
    _: KW_ONLY
    counts: bool | None = None
    count: str | None = None
    hierarchies: Mapping[str, Hierarchy | str] | None = None
    total: str | Mapping[str, str] | None = None
    absent: str = "error"
    tolerance: Number = 0
    negative: str = "error"
    decimals: int | None = None
    round: bool = False
    decimal: str | None = None

    @property
    def slack(self) -> Fraction:
        """By how much a total may be off, as the number is meant."""
        return exact(self.tolerance)


@named_errors
@asked_as(CrosstabOptions)
def read_crosstab(asked: CrosstabOptions) -> Table:
    """Table of a cross table of true values, as people have it on a sheet or in a text file.

    A list with one row for each cell, totals among its codes, is read as well. Titles, several
    header rows, indents and headings as hierarchies, separators of thousands, decimal commas and
    footnotes are recognised as in published tables (`csp.Release.from_frame`). `Table.notes` says
    what was recognised. A total without a number is the sum of its parts. Where no dimension has a
    total all are computed, but for years; where some have one, others stay without. Takes what
    `csp.published.crosstabs.reading.CrosstabOptions` does.

    Returns
    -------
    Table
        Cells in the order of the print. Its contributors are those of `count`.

    Raises
    ------
    NotAdditive
        If a total is not the sum of its parts.
    InputError
        If it is not a cross table, a cell is empty or holds a sign (row and column named), and
        where it is not clear whether cells are counts.

    Examples
    --------
    >>> rows = [["ward", "2023", "2024", "All"], ["North", "1.200", 3, "1.203"],
    ...         ["South", 7, "", 7], ["All", "1.207", 3, "1.210"]]
    >>> table = read_crosstab(rows)
    >>> table.values.tolist()
    [1200, 3, 1203, 7, 0, 7, 1207, 3, 1210]
    >>> table.notes[0]
    'read as a cross table of counts: ward, 2 codes and All; columns, 2 codes and All'
    """
    return crosstab(asked)[0]


def crosstab(asked: CrosstabOptions) -> tuple[Table, tuple[str, ...]]:
    """Table of a cross table, and what only its owner may know of how it was read.

    Returns
    -------
    Table, tuple of str
        The sentences tell of cells that may be suppressed: `Table.notes` has the others.

    Raises
    ------
    InputError
        As `read_crosstab`.
    """
    check_choice("absent", asked.absent, ("error", "zero"))
    check_choice("negative", asked.negative, ("error", "allow"))
    check_rounding(asked.decimals, rounded=asked.round)
    rows, what = rows_of(asked.data)
    grid = grid_for(rows, what, asked.by, asked.value)
    notes = list(grid.told[1:])
    made, added, values, zeros = _cells(rows, grid, asked, notes)
    own = []
    if added:
        few = "has no total: it is" if len(added) == 1 else "have no total: they are"
        notes.append(f"{', '.join(added)} {few} computed")
    if zeros:
        few = "cell is" if zeros == 1 else "cells are"
        why = "as you say" if asked.absent == "zero" else "as the totals show"
        own.append(f"{zeros} empty {few} 0, {why}")
    notes += [
        note.replace("published sum", "sum") for note in made.notes
        if "no total was found" not in note and "no published sum shows whether" not in note
    ]  # fmt: skip
    if asked.slack > 0:
        notes.append(
            "totals that differ from the sum of their parts by no more than the tolerance of "
            f"{number_text(asked.slack)} are replaced by the sum"
        )
    labels = Labels.of(made.labels)
    further = breakdowns(values, labels, made.relations)
    named = asked.total if isinstance(asked.total, Mapping) else {}
    for one in further:
        name = made.names[one.dimension]
        if name in added and name not in named:
            raise InputError(_counted_twice(one, name, labels.categories[one.dimension]))
    if further:
        sums = "; ".join(one.text(labels.categories[one.dimension]) for one in further)
        notes.append(f"in all lines {sums}: such sums are known to readers, and count")
    counted = asked.counts
    if counted is None and asked.count is None:
        heads = rows if asked.value is None else [[asked.value]]
        counted = _are_counts(heads, made, values)
        notes += _as_counts(made, values) if counted else _as_amounts(made, values)
    people = None
    if asked.count is not None:
        beside = grid_for(rows, what, asked.by or grid.names, asked.count)
        numbers = plain_numbers(rows, beside, asked.decimal, 0, rounded=False)  # whole ones
        people = _people(beside, numbers, made, values, asked.count)
    counted = bool(counted) and people is None
    found = "; ".join(_dimension(made, d) for d in range(len(made.names)))
    relations = vstack([made.relations, rows_of_breakdowns(further, labels)], format="csr")
    table = Table(
        values, relations if further else made.relations,
        np.full(len(values), -UNBOUNDED if asked.negative == "allow" else 0, np.int64),
        np.full(len(values), UNBOUNDED, np.int64), made.labels, made.scale, people, made.names,
        made.roots, None if people is None else people.count == 0, counts=counted,
        least_scale=asked.decimals or 0,
        notes=(f"read as a {grid.told[0]} of {'counts' if counted else 'values'}: {found}", *notes),
    )  # fmt: skip
    return table, tuple(own)


def _counted_twice(one: Breakdown, name: str, codes: Sequence[str]) -> str:
    """Say that a total which is not there cannot just be computed."""
    sums, root = one.text(codes), codes[one.whole[0]]
    mend = argument("total", option=f"--total {name}={root}")
    if len(one.whole) > 1:
        return (
            f"{name} has no total, and {sums} in all lines: all its codes together count "
            "everything twice. Add the total, or take one of the two breakdowns at a time"
        )
    return (
        f"{name} has no total that is known by its name, and {sums} in all lines. Say which code "
        f"is the total, as {mend}, or, for a total that is to be computed, one that is not there"
    )


_Found = tuple[Published, tuple[str, ...], Ints, int]


def _cells(
    rows: Sequence[Sequence[Any]], grid: CrossGrid, asked: CrosstabOptions, notes: list[str]
) -> _Found:
    """Cells, the dimensions whose totals are added, all values, and how many empty ones are 0.

    A mark that may be decimal or one of thousands is what lets the totals add up, which is noted.

    Raises
    ------
    InputError
        If both readings add up, or neither.
    """
    try:
        return _read(rows, grid, asked, asked.decimal)
    except UnclearMark:
        good = {}
        for mark in ".,":
            with suppress(InputError):
                found = _read(rows, grid, asked, mark)
                if not (found[0].relations @ found[2]).any() and not found[1]:
                    good[mark] = found
        if len(good) != 1:
            raise
        ((mark, found),) = good.items()
        kind = "points are decimal marks" if mark == "." else "commas are decimal marks"
        notes.append(f"{kind}: read otherwise, the totals do not add up")
        return found


def _read(
    rows: Sequence[Sequence[Any]], grid: CrossGrid, asked: CrosstabOptions, decimal: str | None
) -> _Found:
    entries = plain_numbers(rows, grid, decimal, asked.decimals, rounded=asked.round)
    told = Told(hierarchies=asked.hierarchies, total=asked.total, negative=asked.negative)
    made, added = with_totals(grid, entries, told)
    values, zeros = filled(made, grid, asked.absent)
    if asked.slack > 0:
        values = added_up(values, made, asked.slack * 10**made.scale)
    return made, added, values, zeros


def _dimension(made: Published, d: int) -> str:
    """Say how many codes a dimension has, and how they add up."""
    codes, root = made.labels.categories[d], made.roots[d]
    column = made.labels.codes[:, d]
    along = {
        int(column[total])
        for k, total in enumerate(made.relations.indices[made.relations.data < 0].tolist())
        if (column[row_of(made.relations, k)[0]] != column[total]).any()
    }
    rests = {codes[one.rest] for k, one in made.rests if k == d}
    used = [code for code in codes if code != root and code not in rests]
    inner = len(along) - (root != "")
    sums = "" if inner < 1 else f" ({inner} of them {'a sum' if inner == 1 else 'sums'} of others)"
    total = f" and {root}" if root else ("" if along else ", without a total")
    return f"{made.names[d]}, {len(used)} {'code' if len(used) == 1 else 'codes'}{sums}{total}"


def _are_counts(rows: Sequence[Sequence[Any]], made: Published, values: Ints) -> bool:
    """Whether cells are counts, as far as they show it: whole numbers without a word of amounts.

    Raises
    ------
    InputError
        For whole numbers below words of amounts: rules that count contributors would take an
        amount for them.
    """
    if (values % 10**made.scale).any() or (values < 0).any():
        return False
    words = [text for row in rows for item in row if _AMOUNTS.search(text := sign_of(item))]
    if words:
        yes, no = phrase("counts=True", "--cross counts"), phrase("counts=False", "--cross values")
        msg = (
            f"are the cells counts of contributors, or amounts? {words[0]!r} says amounts, and all "
            f"are whole numbers; say {yes} or {no}"
        )
        raise InputError(msg)
    return True


COUNTS = "whole numbers are taken for counts of contributors"
"""How the note begins that says so, where nobody says what the cells are."""

_LARGE, _ROUND, _SOME = 10_000, 100, 8
"""Half of the cells are as large as this, or all multiples of that and so many: rarely counts."""


def _as_counts(made: Published, values: Ints) -> list[str]:
    """Say that cells are taken for counts, and where their size speaks against it."""
    units = 10**made.scale
    parts = np.ones(len(values), bool)
    parts[made.relations.indices[made.relations.data < 0]] = False
    cells = values[parts & (values > 0)] // units
    large = len(cells) > 1 and bool(np.median(cells) >= _LARGE)
    even = len(cells) >= _SOME and not (cells % _ROUND).any()
    if not large and not even:
        return [COUNTS]
    why = "most of them are very large" if large else "all of them are round"
    return [
        f"{COUNTS}, but {why}: if they are amounts say so (counts=False, --cross values), since "
        "FREQ looks at counts"
    ]


def _as_amounts(made: Published, values: Ints) -> list[str]:
    if not (values % 10**made.scale).any():
        return []
    return ["numbers have decimals, so they are amounts and not counts of contributors"]


def _people(
    grid: CrossGrid, numbers: Sequence[str], made: Published, values: Ints, count: str,
) -> Contributors:  # fmt: skip
    """Numbers of contributors of all cells, from the columns beside the values.

    Raises
    ------
    InputError
        For a cell without one: contributors of a total cannot be added up.
    """
    if grid.names != made.names:
        msg = (
            f"the columns below {count!r} are by {', '.join(grid.names)}, the values by "
            f"{', '.join(made.names)}; they must have the same headers and rows"
        )
        raise InputError(msg)
    keys = zip(*(grid.columns[name] for name in grid.names), strict=True)
    known = {key: number for key, number in zip(keys, numbers, strict=True) if number}
    labels = Labels.of(made.labels)
    found = np.zeros(len(values), np.int64)
    for i in range(len(values)):
        label = labels[i]
        if label in known:
            found[i] = int(known[label])
        elif values[i]:
            msg = (
                f"cell {' / '.join(label)} has a value and no number of contributors below "
                f"{count!r}; fill it: contributors of several cells do not add up"
            )
            raise InputError(msg)
    if (found < 0).any() or ((found == 0) & (values != 0)).any():
        i = int(np.argmax((found < 0) | ((found == 0) & (values != 0))))
        msg = (
            f"cell {' / '.join(labels[i])} has a value, and no contributors below "
            f"{count!r}; correct one of them"
        )
        raise InputError(msg)
    return Contributors(found, values.copy(), np.zeros((len(values), 0), np.int64))
