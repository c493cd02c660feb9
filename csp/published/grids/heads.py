"""Whether the first row of numbers of a cross table is one of its header rows, or a row of cells.

A row of cells that is taken for a header is lost in silence. So a row with a label of its own,
below a header that tells all columns apart, is one of cells; in doubt the reader is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from csp.errors import InputError
from csp.published.grids.kinds import Kinds, is_number, is_scale

_TIMES = re.compile(r"\s*(?:years?|jahre?|ann[e\u00e9]e|a\u00f1o|anno|jaar|period|time)\s*", re.I)

_STEPS = re.compile(
    r"(?:ages?|age groups?|alter|altersgruppen?|size|size (?:class(?:es)?|bands?|groups?)|class|"
    r"gr\u00f6\u00dfenklassen?|\u00e2ge|tranche|(?:number of )?(?:employees|persons)(?: employed)?|"
    r"besch\u00e4ftigte)(?:\s+\(.*\)|\s+(?:of|in|by|mit|nach|von)\s+(?:the )?"
    r"(?:firms?|employ(?:ees|ment|ed)|persons|enterprises?|households?|years?|jahren|"
    r"besch\u00e4ftigten))?",
    re.IGNORECASE,
)
"""Labels of rows of steps: ages, classes of size."""

_UNIT = re.compile(r"10{2,9}|1(?:[ .,']000){1,3}")
"""Units in numbers: 100, 1 000."""


def is_header(
    texts: Sequence[Sequence[str]], body: Sequence[int], labels: int, kinds: Kinds, what: str
) -> bool:
    """Whether the first row of numbers is a header.

    Parameters
    ----------
    texts : sequence of sequence of str
    body : sequence of int
        Rows of numbers, two at least.
    labels : int
        Columns of labels of those behind the first one.
    kinds : Kinds
    what : str
        For messages.

    Raises
    ------
    InputError
        For numbers without a label below a header that tells the columns apart.
    """
    first = texts[body[0]]
    own = next((text for text in first[:labels] if text), "")
    beside = [text for text in first[labels:] if text]
    above = texts[: body[0]]
    scale = is_scale(beside)
    if tells_apart(texts, body[0], body, labels):
        if not own:
            return _belongs_to_header(texts, body, labels, kinds, what)
        scale &= (
            is_number(beside[-1]) and not beside[-1].isdecimal()
        )  # the last step is not a total
        if scale and not _STEPS.fullmatch(own):
            _check_steps(above, beside, labels, f"{what}, row {body[0] + 1}")
            return False
        return scale or bool(_TIMES.fullmatch(own) and _year_row(texts, body, labels, kinds))
    topmost = not any(any(row[labels:]) for row in above)
    if topmost:  # a number among names of columns of numbers is a name: 2019, Total
        cells = {j for i in body[1:] for j, text in enumerate(texts[i])
                 if kinds.kind(text) in ("number", "sign")}  # fmt: skip
        if any(j and j in cells and kinds.kind(text) == "text" for j, text in enumerate(first)):
            return True
    # So is one in a row without a label, such as a unit: "1 000".
    if not own and any(kinds.kind(text) == "text" for text in beside):
        return True
    counted = _counts_up(beside) and topmost if own else _rises(texts, body, labels)
    return scale or counted or _year_row(texts, body, labels, kinds)


def _belongs_to_header(
    texts: Sequence[Sequence[str]], body: Sequence[int], labels: int, kinds: Kinds, what: str
) -> bool:
    """Whether numbers without a label, below a header that tells the columns apart, add to it.

    Raises
    ------
    InputError
        If they may as well be cells.
    """
    beside = [text for text in texts[body[0]][labels:] if text]
    numbers = [text for text in beside if is_number(text)]
    words = any(kinds.kind(text) == "text" for text in beside)
    if is_scale(beside) or _year_row(texts, body, labels, kinds):
        return True
    if words and all(map(_UNIT.fullmatch, numbers)):
        return True
    one = next(iter(numbers), beside[0])
    msg = (
        f"{what}, row {body[0] + 1}: numbers without a label, below a header; if they are cells, "
        "give the row a label, such as 'Total'; if they belong to the header, put a word into each "
        f"of its entries, such as {f'code {one}'!r}"
    )
    raise InputError(msg)


def _check_steps(
    above: Sequence[Sequence[str]], beside: Sequence[str], labels: int, where: str
) -> None:
    """Ask what ranges that follow each other are, where the header names no labels of rows.

    Raises
    ------
    InputError
        If what stands before them may be that name.
    """
    if any(any(row[:labels]) and any(row[labels:]) for row in above):
        return
    if all(is_number(text) and not text.isdecimal() for text in beside):
        msg = (
            f"{where}: these ranges may be a row of cells or classes that the columns are of; put "
            "a word into each entry of a header, such as "
            f"{f'class {beside[0]}'!r}, or a name above the labels of the rows"
        )
        raise InputError(msg)


def tells_apart(
    texts: Sequence[Sequence[str]], stop: int, body: Sequence[int], labels: int
) -> bool:
    """Whether the rows above `stop` name each column of numbers, none as another one."""
    columns = sorted(
        {j for i in body for j, text in enumerate(texts[i]) if j >= labels and is_number(text)}
    )
    if not columns:
        return False
    least = min(2, len(columns))
    levels = []
    for row in texts[:stop]:
        if sum(map(bool, row[labels:])) < least:
            continue  # a title
        last, filled = "", {}
        for j in range(labels, columns[-1] + 1):
            last = (row[j] if j < len(row) else "") or last
            filled[j] = last
        levels.append(filled)
    names = [tuple(filled[j] for filled in levels) for j in columns]
    return all(map(any, names)) and len({*names}) == len(names)


def lone_units(
    texts: Sequence[Sequence[str]], header: Sequence[int], body: Sequence[int], labels: int
) -> list[int]:
    """Rows of a header with one text that all columns share, such as a unit.

    They stand below rows that tell the columns apart, and have no label.
    """
    return [
        i for i in header
        if sum(map(bool, texts[i])) == 1 and not any(texts[i][:labels])
        and tells_apart(texts, i, body, labels)
    ]  # fmt: skip


def sparse_rows(
    texts: Sequence[Sequence[str]], between: range, labels: int, kinds: Kinds
) -> list[int]:
    """Rows of cells above the first one that is full of numbers: most of theirs are blank.

    Parameters
    ----------
    texts : sequence of sequence of str
    between : range
        Rows above the one that is full, which ends it.
    labels : int
        Columns of labels.
    kinds : Kinds
    """
    found: list[int] = []
    for i in reversed(between):
        beside = [text for text in texts[i][labels:] if text]
        if not beside:
            continue
        plain = all(kinds.kind(text) in ("number", "sign") for text in beside)
        above = tells_apart(texts, i, [between.stop], labels)
        if not (plain and above and any(texts[i][:labels])):
            break
        found.insert(0, i)
    return found


def _year_row(
    texts: Sequence[Sequence[str]], body: Sequence[int], labels: int, kinds: Kinds
) -> bool:
    """Whether the first row of numbers is a header of years.

    Below another header the years must follow each other, in each of its groups, unless there is no
    label before them, or one that says that they are years.
    """
    first = texts[body[0]]
    own = next((text for text in first[:labels] if text), "")
    numbers = [text for text in first[labels:] if is_number(text)]
    if len(numbers) < 2 or any(kinds.kind(text) == "sign" for text in first[labels:]):
        return False
    if not all(text.isdecimal() and len(text) == 4 for text in numbers):
        return False
    years = [int(text) for text in numbers]
    after = texts[body[0] + 1] if body[0] + 1 < len(texts) else []
    words = [text for text in after[labels:] if kinds.kind(text) == "text"]
    if len(words) > 1 and not any(map(is_number, after[labels:])):  # a level of the header below it
        return 1900 <= min(years) <= max(years) <= 2100
    if not any(any(row[labels:]) for row in texts[: body[0]]):
        return len({*years}) == len(years) and min(years) >= 1500 and max(years) <= 2200
    if min(years) < 1900 or max(years) > 2100:
        return False
    bare = not own and any(after[:labels])
    steps = [b - a for a, b in pairwise(years)]
    return bare or bool(_TIMES.fullmatch(own)) or all(d == 1 or d <= -1 for d in steps)


def _counts_up(numbers: Sequence[str]) -> bool:
    """Whether three whole numbers or more count up from 0 or 1: 0 1 2 3 children."""
    if len(numbers) < 3 or not all(text.isdecimal() for text in numbers):
        return False
    return int(numbers[0]) < 2 and all(int(b) - int(a) == 1 for a, b in pairwise(numbers))


def _rises(texts: Sequence[Sequence[str]], body: Sequence[int], labels: int) -> bool:
    """Whether whole numbers rise in the first row of numbers, and the next one has a label."""
    numbers = [text for text in texts[body[0]][labels:] if text]
    return (
        len(numbers) > 1
        and all(text.isdecimal() for text in numbers)
        and all(int(b) > int(a) for a, b in pairwise(numbers))
        and any(texts[body[1]][:labels])
    )


def are_steps(column: Sequence[str], head: str) -> bool:
    """Whether ranges below a header are ages or classes of size."""
    return is_scale(column) and bool(_STEPS.fullmatch(head))


def are_years(column: Sequence[str], head: str) -> bool:
    """Whether whole numbers below a header are years."""
    years = all(text.isdecimal() and 1500 <= int(text) <= 2200 for text in column)
    return years and bool(_TIMES.fullmatch(head))
