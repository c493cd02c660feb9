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
from csp.tables.hierarchies.totals import is_total

__all__ = ["are_shares", "left_out", "named_columns"]

_SHARES = re.compile(
    r"%|\u2030|\bper ?cent\b|\bpercentages?\b|\bprozent|\bpour ?cent|\banteile?\b|"
    r"\bver\u00e4nderung|\bzu- (?:oder|und|bzw\.?) abnahme|^shares?$|^share (?:of|in)\b|"
    r"\bper capita\b|\bpro kopf\b|\bje einwohner",
    re.IGNORECASE,
)
"""Names of what never adds up beside values."""

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


def are_shares(labels: Sequence[str]) -> bool:
    """Whether a label or one above it says that the numbers are percentages or the like."""
    return any(_SHARES.search(_STEPS.sub("", label)) for label in labels)


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
    texts: Sequence[Sequence[str]], body: Sequence[int], labels: Sequence[str],
    heads: Mapping[int, Sequence[str]], what: str,
) -> dict[int, str]:  # fmt: skip
    """Find columns that cannot add up, and why.

    Parameters
    ----------
    texts : sequence of sequence of str
    body : sequence of int
        Rows of numbers.
    labels : sequence of str
        Innermost label of each.
    heads : mapping of int to sequence of str
        Columns of numbers and their headers, the innermost last.
    what : str
        For messages.

    Raises
    ------
    InputError
        If the name of a column may be that of an average or of a category, and its numbers do not
        show which.
    """
    found = {j: "percentages do not add up" for j, head in heads.items() if are_shares(head)}
    doubtful = {j for j, head in heads.items()
                if j not in found and any(_AVERAGES.search(text) for text in head)}  # fmt: skip
    if len(found) == len(heads) or len(doubtful) == len(heads):  # nothing but such columns
        return {}
    columns = {j: _numbers(texts, body, j) for j in heads}
    totals = [k for k, label in enumerate(labels) if is_total(label)]
    whole = totals[0] if len(totals) == 1 else None
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
                f"{what}, column {j + 1}: {head[-1]!r} may be an average, which does not add up, "
                "or a category, and no total shows which; name the columns of the cells with "
                + argument("value", ",".join(others))
            )
            raise InputError(msg)
        if among[j] and not _adds_across(columns, across, j, [*found]) and (
            j in doubtful or sums
        ):  # fmt: skip
            found[j] = "the total lies among the other numbers, as an average does"
    return found


def _numbers(texts: Sequence[Sequence[str]], body: Sequence[int], j: int) -> list[Decimal | None]:
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
