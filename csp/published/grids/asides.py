"""What stands in a cross table and is not a cell: flags without a header, percentages, averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csp.published.entries import Convention, read_entry
from csp.published.grids.kinds import Kinds, is_number
from csp.published.grids.layout import Shape
from csp.published.grids.measures import (
    left_out,
    may_be_averages,
    named_columns,
    never_adds_up,
    numbers_in,
    rows_left_out,
)
from csp.published.marks import EVERY_OFFICE

_LONG = 5
"""Characters of the longest flag."""


@dataclass(frozen=True, slots=True)
class Aside:
    """Rows of the body (their positions there) and columns that are left out, and what is said."""

    rows: frozenset[int]
    columns: frozenset[int]
    told: list[str]


def with_flags_beside(
    texts: Sequence[Sequence[str]], shape: Shape, kinds: Kinds
) -> tuple[list[list[str]], list[int]]:
    """Put signs of a column without header into the column before it, where it says no more.

    A sign beside a number stays a sign behind it, unless it says that the number is withheld, or
    the number is 0 and the sign stands for a number elsewhere in the column.
    """
    found = [list(row) for row in texts]
    flags = []

    def at(i: int, j: int) -> str:
        return texts[i][j] if j < len(texts[i]) else ""

    for j in range(shape.labels + 1, shape.width):
        column = [text for i in shape.body if (text := at(i, j))]
        bare = not any(at(i, j) for i in shape.header)
        if not bare or any(map(is_number, column)) or max(map(len, column), default=0) > _LONG:
            continue
        flags.append(j)
        alone = {at(i, j) for i in shape.body if not at(i, j - 1)}
        for i in shape.body:
            flag, beside = at(i, j), at(i, j - 1)
            if not flag:
                continue
            secret = EVERY_OFFICE.meaning(flag) == "withheld" or flag in alone or (
                flag in kinds.signs and flag in {"D", "c", "x"}
            )  # fmt: skip
            if not beside or (secret and _is_zero(beside)) or (
                EVERY_OFFICE.meaning(flag) == "withheld"
            ):  # fmt: skip
                found[i][j - 1] = flag
            elif not is_number(beside) and beside != flag:
                found[i][j - 1] = f"{beside} {flag}"
    return found, flags


def _is_zero(text: str) -> bool:
    entry = read_entry(text, Convention())
    return entry.is_number and not entry.low


def left_aside(
    texts: Sequence[Sequence[str]], shape: Shape, down: Sequence[Sequence[str]],
    across: Sequence[Sequence[str]], numbers: Sequence[int], value: Sequence[str], what: str,
) -> Aside:  # fmt: skip
    """Find what is not a cell by its labels and numbers.

    Raises
    ------
    InputError
        If a header that is named does not occur, or it is not clear whether a column adds up.
    """
    heads = {j: tuple(dict.fromkeys(level[k] for level in across)) for k, j in enumerate(numbers)}
    told = []
    if value:
        kept = named_columns(heads, value, what)
        columns = {j: "" for j in numbers if j not in kept}
    else:
        columns = left_out(
            texts, shape.body, down, heads, what, {j: shape.column(j) for j in heads}
        )
        for why in dict.fromkeys(columns.values()):
            which = [j for j in columns if columns[j] == why]
            names = ", ".join(f"{heads[j][-1]!r} (column {shape.column(j)})" for j in which[:4])
            more = f" and {len(which) - 4} more" if len(which) > 4 else ""
            told.append(f"left out: {names}{more}; {why}")
    rows = _rows(texts, shape, down, [j for j in numbers if j not in columns], what)
    for why in dict.fromkeys(rows.values()):
        some = [k for k in rows if rows[k] == why]
        names = ", ".join(f"{down[-1][k]!r} (row {shape.body[k] + 1})" for k in some[:4])
        more = f" and {len(some) - 4} more" if len(some) > 4 else ""
        told.append(f"left out: {names}{more}; {why}")
    return Aside(frozenset(rows), frozenset(columns), told)


def _rows(
    texts: Sequence[Sequence[str]], shape: Shape, down: Sequence[Sequence[str]],
    numbers: Sequence[int], what: str,
) -> dict[int, str]:  # fmt: skip
    """Find rows that do not add up, by their positions in the body, and why."""
    found = {
        k: why for k, labels in enumerate(zip(*down, strict=True)) if (why := never_adds_up(labels))
    }
    if len(found) == len(shape.body):
        return {}
    if not may_be_averages(down[-1]):
        return found
    left = [k for k in range(len(shape.body)) if k not in found]
    body = [shape.body[k] for k in left]
    columns = [numbers_in(texts, body, j) for j in numbers]
    others = rows_left_out([down[-1][k] for k in left], columns, body, what)
    return found | {left[k]: why for k, why in others.items()}
