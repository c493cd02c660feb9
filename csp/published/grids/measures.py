"""Columns and rows of a cross table that cannot add up: percentages, averages, changes.

Such a column beside columns of values is left out, and said; where neither its name nor its numbers
tell what it is, the reader asks. The numbers tell an average from a sum by the line of the total:
a sum is at least as large as each of its parts, an average lies among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from csp.errors import InputError, argument
from csp.published.entries import convention_of, read_entry
from csp.published.grids.kinds import are_keys
from csp.tables.hierarchies.totals import is_total

_SHARES = re.compile(
    r"%|\u2030|\bper ?cent\b|\bpercentages?\b|\bprozent|\bpour ?cent|\banteile?\b|"
    r"\bver\u00e4nderung|\bzu- (?:oder|und|bzw\.?) abnahme|^shares?$|^share (?:of|in)\b|"
    r"\bper capita\b|\bpro kopf\b|\bje einwohner",
    re.IGNORECASE,
)
"""Names of what never adds up beside values."""

_BLANK = "[ .,'\u00a0\u2009\u202f]?"
_RATES = re.compile(
    rf"\b(?:per|je|pro|pour|auf|por) (?:1{_BLANK}0{{2,3}}(?:{_BLANK}0{{3}})*|thousand|hundred|"
    r"tausend|hundert|mille)\b",
    re.IGNORECASE,
)
"""Names of rates: per 1000, je 100 000 Einwohner."""

_RUNNING = re.compile(
    r"\bcumulat(?:ed|ive)\b|\bcum(?:\.|\b)|\bkumuliert|\bkumulativ|\bkum\.|\brunning (?:total|sum)|"
    r"\bcumul[\u00e9e]e?s?\b|\bacumulad[oa]",
    re.IGNORECASE,
)
"""Names of running totals."""


_STEPS = re.compile(
    r"\b[0-9]{1,3}(?:[.,][0-9]+)?\s*(?:%|per ?cent\b|prozent\b|pour ?cent\b)", re.IGNORECASE
)
"""Percentages that name a category: "owned by 50 % or more"."""

_AVERAGES = re.compile(
    r"\baverages?\b|\bdurchschnitt|\bmittelwert|\bmedian\b|\bmoyennes?\b|\bpromedio\b|"
    r"^(?:mean|index|indices|change|variation|rates?|ratio)\b|"
    r"\b(?:rate|ratio|index|mean|quote)$|\bchanges? (?:from|on|since|over|in|between)\b",
    re.IGNORECASE,
)
"""Names of what may be an average, a rate or a change, and may be a category too."""

_RATIOS = re.compile(r"\b(?:per|je|pro|par|por) \w", re.IGNORECASE)
"""Names of ratios, where the numbers too look like averages: Employees per firm."""

_PARTS = 4
"""Parts among which the total of a column without such a name must lie: a wrong total of two or
three numbers easily does."""


def are_shares(labels: Sequence[str]) -> bool:
    """Whether a label or one above it says that the numbers are percentages or the like."""
    return any(_SHARES.search(_STEPS.sub("", label)) for label in labels)


def never_adds_up(labels: Sequence[str]) -> str:
    """Say why numbers with such a label, or one above it, do not add up; "" if they may."""
    if are_shares(labels):
        return "percentages do not add up"
    if any(map(_RATES.search, labels)):
        return "rates do not add up"
    if any(map(_RUNNING.search, labels)):
        return "running totals do not add up; printed, they disclose what they are sums of"
    return ""


def may_be_averages(labels: Sequence[str]) -> bool:
    """Whether a label is that of what may be an average, a rate or a change."""
    return any(map(_AVERAGES.search, labels))


def rows_left_out(
    labels: Sequence[str], columns: Sequence[Sequence[Decimal | None]], rows: Sequence[int],
    what: str,
) -> dict[int, str]:  # fmt: skip
    """Find rows of averages, medians, rates and changes by their labels and numbers.

    Parameters
    ----------
    labels : sequence of str
        Innermost label of each row.
    columns : sequence of sequence of Decimal or None
        Numbers of each column.
    rows : sequence of int
        Places of the rows, from 0.
    what : str
        For messages.

    Raises
    ------
    InputError
        If no total shows whether such a row is one of its parts.
    """
    doubtful = [k for k, label in enumerate(labels) if _AVERAGES.search(label)]
    if not doubtful or 2 * len(doubtful) > len(labels):
        return {}
    totals = [k for k, label in enumerate(labels) if is_total(label) and k not in doubtful]
    others = [k for k in range(len(labels)) if k not in doubtful]
    for top in totals:
        parts = [k for k in others if k != top]
        for chosen, apart in ((parts, True), ([*parts, *doubtful], False)):
            sums = [
                sum(x for k in chosen if (x := column[k]) is not None) == column[top]
                for column in columns
                if column[top] is not None and all(column[k] is not None for k in chosen)
            ]
            if sums and all(sums):
                return dict.fromkeys(doubtful, "the total adds up without it") if apart else {}
    # Averages lie among the numbers that they are of.
    if totals and all(
        min(seen) <= x <= max(seen)
        for column in columns for k in doubtful
        if (x := column[k]) is not None
        and (seen := [y for i in others if i not in totals and (y := column[i]) is not None])
    ):  # fmt: skip
        return dict.fromkeys(doubtful, "its numbers lie among the others, as averages do")
    first = doubtful[0]
    msg = (
        f"{what}, row {rows[first] + 1}: {labels[first]!r} may be an average, which does not add "
        "up, or a category, and no total shows which; take the row out of the table, or give it "
        "the name of the category"
    )
    raise InputError(msg)


def named_columns(heads: Mapping[int, Sequence[str]], value: Sequence[str], what: str) -> list[int]:
    """Columns below the headers that the caller names.

    Raises
    ------
    InputError
        If there is no such header.
    """
    kept = []
    for name in value:
        below = [j for j, head in heads.items() if name in head]
        if not below:
            some = list(dict.fromkeys(text for head in heads.values() for text in head if text))
            msg = (
                f"{what}: no column has the header {name!r}; there are "
                + ", ".join(map(repr, some[:8]))
                + (" and others" if len(some) > 8 else "")
            )
            raise InputError(msg)
        kept += below
    return sorted({*kept})


def left_out(
    texts: Sequence[Sequence[str]], body: Sequence[int], down: Sequence[Sequence[str]],
    heads: Mapping[int, Sequence[str]], what: str, places: Mapping[int, int],
) -> dict[int, str]:  # fmt: skip
    """Find columns that cannot add up, and why.

    Parameters
    ----------
    texts : sequence of sequence of str
    body : sequence of int
        Rows of numbers.
    down : sequence of sequence of str
        Their labels, one list for each level.
    heads : mapping of int to sequence of str
        Columns of numbers and their headers, the innermost last.
    what : str
        For messages.
    places : mapping of int to int
        Their numbers on the sheet, for messages.

    Raises
    ------
    InputError
        If the name of a column may be that of an average or of a category, and its numbers do not
        show which.
    """
    found = {j: why for j, head in heads.items() if (why := never_adds_up(head))}
    whole = _whole(down)
    for j, head in heads.items():
        if are_keys(head[-1]) and j not in found and _name_rows(numbers_in(texts, body, j), whole):
            found[j] = "by the header they are codes or ranks, each of one row"
    doubtful = {j for j, head in heads.items()
                if j not in found and any(_AVERAGES.search(text) for text in head)}  # fmt: skip
    if len(found) == len(heads) or len(doubtful) == len(heads):  # nothing but such columns
        return {}
    columns = {j: numbers_in(texts, body, j) for j in heads}
    among = {j: _is_average(columns[j], whole, named=j in doubtful) for j in heads}
    # What is one below one heading is one below another.
    alike = {heads[j][-1] for j in doubtful if among[j]}
    among |= {j: True for j in doubtful if among[j] is None and heads[j][-1] in alike}
    sums = {j for j in heads if among[j] is False}
    across = [j for j, head in heads.items() if is_total(head[-1]) and j not in found]
    for j in [*found]:
        if _adds_across(columns, across, j, [k for k in found if k != j]):
            del found[j]
    for j, head in heads.items():
        if j in found or (j not in doubtful and j in across):
            continue
        if j in doubtful and among[j] is None:
            # Its name alone does not tell it from a category.
            if _adds_across(columns, across, j, [*found]):
                continue
            others = [h[-1] for k, h in heads.items() if k not in found and k not in doubtful]
            others = [*dict.fromkeys(others)] or [head[-1]]
            msg = (
                f"{what}, column {places[j]}: {head[-1]!r} may be an average, which does not add "
                "up, or a category, and no total shows which; name the columns of the cells with "
                + argument("value", ",".join(others))
            )
            raise InputError(msg)
        if among[j] and not _adds_across(columns, across, j, [*found]) and (
            j in doubtful or (sums and (
                any(map(_RATIOS.search, head))
                or _shows_plainly(columns[j], [columns[k] for k in sums])
            ))
        ):  # fmt: skip
            found[j] = "the total lies among the other numbers, as an average does"
    return found


def _whole(down: Sequence[Sequence[str]]) -> int | None:
    """Row of the one total, if it is that of all rows: not below a heading of some of them."""
    totals = [k for k, label in enumerate(down[-1]) if is_total(label)]
    if len(totals) != 1:
        return None
    several = [level for level in down[:-1] if len({*level}) > 1]
    return totals[0] if all(is_total(level[totals[0]]) for level in several) else None


def _name_rows(column: Sequence[Decimal | None], whole: int | None) -> bool:
    """Whether numbers are keys of rows: whole ones, each of one row, that do not add up."""
    others = [x for k, x in enumerate(column) if k != whole and x is not None]
    if len(others) < 2 or any(x != int(x) or x < 0 for x in others):
        return False
    if len({*others}) < len(others):  # ranks with ties
        return whole is not None and column[whole] is None and max(others) <= len(others)
    return whole is None or column[whole] != sum(others)


def numbers_in(texts: Sequence[Sequence[str]], body: Sequence[int], j: int) -> list[Decimal | None]:
    """Numbers of a column, None where there is none."""
    column = [texts[i][j] if j < len(texts[i]) else "" for i in body]
    try:
        convention = convention_of(column)
    except InputError:  # either mark leaves the order of the numbers the same
        convention = convention_of(column, ".")
    read = [read_entry(text, convention) for text in column]
    return [entry.low if entry.is_number else None for entry in read]


def _is_average(column: Sequence[Decimal | None], whole: int | None, *, named: bool) -> bool | None:
    """Whether the total lies among the other numbers; None if that does not show.

    Where the column is not `named` like an average, or some are negative, all must be published.
    """
    if whole is None or column[whole] is None:
        return None
    total = column[whole]
    others = [number for k, number in enumerate(column) if k != whole and number is not None]
    if len([number for number in others if number]) < 2:
        return None
    assert total is not None
    if None in column and (not named or min(others) < 0):
        return False if min(others) >= 0 and total >= sum(others) else None
    if min(others) < 0 or total < 0:
        return True if sum(others) != total and min(others) <= total <= max(others) else None
    return min(others) <= total < max(others) or (total == max(others) == min(others) != 0)


def _shows_plainly(
    column: Sequence[Decimal | None], others: Sequence[Sequence[Decimal | None]]
) -> bool:
    """Whether an average shows without a name: of several parts, or with decimals of its own.

    A sum of parts of both signs lies among them too, and so does one beside subtotals.
    """
    numbers = [x for x in column if x is not None]
    several = len(numbers) > _PARTS and min(numbers) >= 0
    return several or _places(column) > max(map(_places, others))


def _places(column: Sequence[Decimal | None]) -> int:
    """Decimal places of the numbers of a column."""
    exponents = [x.as_tuple().exponent for x in column if x is not None]
    return max((-e for e in exponents if isinstance(e, int)), default=0)


def _adds_across(
    columns: Mapping[int, Sequence[Decimal | None]], across: Sequence[int], j: int,
    aside: Sequence[int],
) -> bool:  # fmt: skip
    """Whether some row adds up into a column of totals only with this column."""
    for top in across:
        parts = [k for k in columns if k != top and k not in aside]
        if j not in parts:
            continue
        for row in range(len(columns[j])):
            line = [columns[k][row] for k in parts]
            known = [number for number in line if number is not None]
            if len(known) == len(line) and columns[j][row] and sum(known) == columns[top][row]:
                return True
    return False
