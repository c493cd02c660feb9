"""Labels of the rows of a cross table: columns of them, codes beside names, sections, indents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from csp.errors import InputError
from csp.published.entries import sign_of
from csp.published.grids.blocks import blocks_of
from csp.published.grids.kinds import are_keys
from csp.published.grids.layout import Shape
from csp.published.sums.of_which import are_of_which
from csp.tables.hierarchies.totals import is_total

_FOOTNOTE = re.compile(
    r"(?:[\u00b9\u00b2\u00b3\u2070-\u2079*\u2020]+|\s*\[[0-9a-z]\]|\s*\([0-9a-z]\)|"
    r"\s*\[(?:[Ff]oot)?[Nn]otes?\b[^][]*\]|\s*\((?:[Ff]oot)?[Nn]otes?\s[^()]*\))+$"
)
_BARE_FOOTNOTE = re.compile(r"(?P<label>[^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*?)\s*[0-9a-z]\)$")
"""A footnote with the end of a bracket only; in "Size (class 1)" it is the label's own."""

_CODE = re.compile(r"[A-Z]{0,4}[0-9][0-9A-Z./-]*|[A-Z](?:[-,+][A-Z])*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowLabels:
    """Labels of the rows of numbers.

    Attributes
    ----------
    down : list of list of str
        One list for each level, with one label for each row.
    names : list of str
        Names of the levels, "" where there is none.
    indents : list of dict of str to int
        How far labels of each level are indented; empty if none is, or levels say the same.
    inside : list of int
        Rows within the table that have no numbers and are left out.
    told : list of str
        What was recognised.
    parents : dict of str to str
        Sums that labels of the last level are parts of, where blocks of rows end in them.
    """

    down: list[list[str]]
    names: list[str]
    indents: list[dict[str, int]]
    inside: list[int]
    told: list[str]
    parents: dict[str, str]


def row_labels(
    rows: Sequence[Sequence[Any]], texts: Sequence[Sequence[str]], shape: Shape,
    head: Sequence[Sequence[str]], again: Sequence[int], what: str,
) -> RowLabels:  # fmt: skip
    """Read the labels of the rows of numbers.

    Parameters
    ----------
    rows : sequence of sequence
        As they are given: leading blanks are indents.
    texts : sequence of sequence of str
    shape : Shape
    head : sequence of sequence of str
        Header rows.
    again : sequence of int
        Rows that repeat the header.
    what : str
        For messages.

    Raises
    ------
    InputError
        If "of which" stands in a row of its own, and no indent shows where its parts end.
    """
    told: list[str] = []
    names = [
        next((row[j] for row in reversed(head) if row[j]), "") for j in range(shape.labels)
    ]  # fmt: skip
    raw = [
        [texts[i][j] if j < len(texts[i]) else "" for i in shape.body] for j in range(shape.labels)
    ]
    doubles = _codes_beside_names(raw, names)
    for code, name in doubles.items():
        told.append(
            f"column {shape.column(code)} holds codes of the names in column {shape.column(name)}"
        )
    raw = [column for j, column in enumerate(raw) if j not in doubles]
    names = [name for j, name in enumerate(names) if j not in doubles]
    down = _filled(raw)
    numbers = {*shape.body, *again}
    inside = [i for i in range(shape.body[0], shape.body[-1]) if i not in numbers and any(texts[i])]
    depths = _depths(rows, shape)
    down, inside = _of_which(down, inside, texts, shape.body, depths, what)
    blocks = None if len(down) > 1 else blocks_of(
        down[0], _headings(texts, shape, inside), depths
    )  # fmt: skip
    paths = None if blocks else _paths(down, depths)
    sections = [] if blocks else _sections(texts, shape, inside, down)
    if paths and len({*zip(*paths[0], strict=True)}) == len(shape.body):
        sections = []
    if blocks:
        down, depths, inside = blocks.down, [], []
        names = ["sections", *names][-len(down) :]
        told.append(blocks.told)
    elif sections:
        down, names, inside = [sections, *down], ["sections", *names], []
    elif paths:
        down, names, said = [*paths[0]], [*names, *[""] * (len(paths[0]) - len(names))], paths[1]
        told.append(said)
        depths = depths if len(down) == 1 else []
    columns = [j for j in range(shape.labels) if j not in doubles]
    if len(columns) > 1 and not blocks:
        levels = [_depths_of(rows, shape, j) for j in columns]
    else:
        levels = [dict(zip(shape.body, depths, strict=bool(depths)))]
    indents: list[dict[str, int]] = [{} for _ in down]
    # What stands above all rows of a section comes first, and is not indented.
    for level, deep, found in zip(down[::-1], levels[::-1], indents[::-1], strict=False):
        for i, label in zip(shape.body, level, strict=True):
            if i in deep:
                found.setdefault(label, deep[i])
    down, totals = _with_totals(down)
    if totals:
        told.append(
            f"{', '.join(map(repr, totals[:4]))}{' and others' if totals[4:] else ''}: rows "
            "without a label of the next level are read as totals of those below"
        )
    return RowLabels(
        down, names, [one if len({*one.values()}) > 1 else {} for one in indents], inside, told,
        blocks.parents if blocks else {},
    )  # fmt: skip


def plain_label(text: str) -> str:
    """Leave out the sign of a footnote: superscripts, 1), (1), [a], [note 1], asterisks."""
    bare = _BARE_FOOTNOTE.fullmatch(text)
    return (bare["label"].rstrip() if bare else _FOOTNOTE.sub("", text)) or text


def _filled(raw: Sequence[Sequence[str]]) -> list[list[str]]:
    """Fill labels that stand once for several rows; a row without one has that of its heading."""
    down = []
    last = [""] * len(raw)
    for given in zip(*raw, strict=True):
        row = list(given)
        for j in range(len(row) - 1):
            begins = any(row[:j])
            row[j] = row[j] or ("" if begins else last[j])
        last = row
        deepest = next((text for text in reversed(row) if text), "")
        # A heading of several levels stands for all below it.
        full = [text or next((t for t in reversed(row[:j]) if t), deepest)
                for j, text in enumerate(row)]  # fmt: skip
        down.append([plain_label(text.rstrip(" .:")) or text for text in full])
    return [list(column) for column in zip(*down, strict=True)]


def _codes_beside_names(raw: Sequence[Sequence[str]], heads: Sequence[str]) -> dict[int, int]:
    """Columns of codes, each its own, beside one of names that tell all rows apart."""
    # Totals of blocks come back, and have no code.
    plain = [[text for text in column if not is_total(text)] for column in raw]
    apart = [j for j, column in enumerate(raw) if all(column) and len({*plain[j]}) == len(plain[j])]
    names = [j for j in apart if 2 * sum(map(_is_code, raw[j])) <= len(raw[j])]
    if not names and any(map(are_keys, heads)):  # the header tells short names from codes
        names = [j for j in apart if not are_keys(heads[j])]
    if not names:
        return {}
    found = {}
    for j, column in enumerate(raw):
        filled = [text for text in column if text]
        bare = [not text and not is_total(name)
                for text, name in zip(column, raw[names[0]], strict=True)]  # fmt: skip
        few = sum(bare) <= max(1, len(column) // 3)
        if j not in names and few and len({*filled}) == len(filled) and all(map(_is_code, filled)):
            found[j] = names[0]
    return found


def _is_code(text: str) -> bool:
    return bool(_CODE.fullmatch(text)) and not is_total(text)


def _depths(rows: Sequence[Sequence[Any]], shape: Shape) -> list[int]:
    """How far the label of each row is indented by leading blanks; empty if none is."""
    depths = []
    for i in shape.body:
        raw = next((str(x) for x in rows[i][: shape.labels] if sign_of(x)), "")
        depths.append(len(raw) - len(raw.lstrip()))
    return depths if len({*depths}) > 1 else []


def _depths_of(rows: Sequence[Sequence[Any]], shape: Shape, column: int) -> dict[int, int]:
    """How far the labels of one column are indented, by row; only rows that have one."""
    labelled = (i for i in shape.body if column < len(rows[i]) and sign_of(rows[i][column]))
    raw = {i: str(rows[i][column]) for i in labelled}
    return {i: len(text) - len(text.lstrip()) for i, text in raw.items()}


def _of_which(
    down: list[list[str]], inside: list[int], texts: Sequence[Sequence[str]], body: Sequence[int],
    depths: Sequence[int], what: str,
) -> tuple[list[list[str]], list[int]]:  # fmt: skip
    """Put "of which" in a row of its own before the labels of the indented rows below it."""
    heads = {i: text for i in inside if are_of_which(text := next(t for t in texts[i] if t))}
    if not heads:
        return down, inside
    named = list(down[-1])
    for i, text in heads.items():
        first = next(k for k, row in enumerate(body) if row > i)
        word = text.rstrip(" .:")
        such = f"{word} {named[first]}"
        if not depths or first == 0 or depths[first] <= min(depths[:first]):
            msg = (
                f"{what}, row {i + 1}: {text!r} says that some parts follow, and no indent shows "
                f"where they end; write it before each of them, such as {such!r}"
            )
            raise InputError(msg)
        for k in range(first, len(named)):
            if depths[k] < depths[first]:
                break
            if depths[k] == depths[first]:
                named[k] = f"{word} {named[k]}"
    return [*down[:-1], named], [i for i in inside if i not in heads]


def _paths(
    down: Sequence[Sequence[str]], depths: Sequence[int]
) -> tuple[list[list[str]], str] | None:
    """Tell indented labels that come back apart by what they stand below; None if none does.

    Where the same labels stand below each of several headings, they are a level of their own.
    Otherwise those that come back are named with their headings.
    """
    labels = list(down[-1])
    if len(down) > 1 or not depths or len({*labels}) == len(labels):
        return None
    above: list[tuple[int, int]] = []
    parent = [-1] * len(labels)
    for i, depth in enumerate(depths):
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            parent[i] = above[-1][1]
        above.append((depth, i))
    below: dict[int, list[str]] = {}
    for i, up in enumerate(parent):
        if up >= 0:
            below.setdefault(up, []).append(labels[i])
    tops = [i for i, up in enumerate(parent) if up < 0]
    same = (
        len(below) > 1 and len({*map(tuple, below.values())}) == 1
        and all(up in tops for up in below) and len({labels[i] for i in tops}) == len(tops)
    )  # fmt: skip
    if same:
        inner = next(iter(below.values()))
        outer = [labels[i] if up < 0 else labels[up] for i, up in enumerate(parent)]
        return [outer, labels], (
            f"{', '.join(inner[:4])}{' ...' if inner[4:] else ''} come back below each heading and "
            "are read as a level of their own"
        )
    often = Counter(labels)

    def path(i: int) -> str:
        if often[labels[i]] == 1 or parent[i] < 0:
            return labels[i]
        return f"{path(parent[i])} / {labels[i]}"

    named = [path(i) for i in range(len(labels))]
    several = [label for label, times in often.items() if times > 1]
    return [named], (
        f"{', '.join(map(repr, several[:4]))} {'comes' if len(several) == 1 else 'come'} back "
        "below several headings, and the headings are part of the labels there"
    )


def _with_totals(down: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Name rows of headings totals, where the labels below the headings come back.

    Nested levels, each label below one heading, are left: they become one dimension.
    """
    if len(down) < 2:
        return down, []
    outer, inner = down[-2], down[-1]
    heads = [i for i, (a, b) in enumerate(zip(outer, inner, strict=True)) if a == b]
    under: dict[str, set[str]] = {}
    for a, b in zip(outer, inner, strict=True):
        if a != b and not is_total(b):
            under.setdefault(b, set()).add(a)
    if not heads or len(heads) == len(inner) or all(len(one) == 1 for one in under.values()):
        return down, []
    total = next((b for b in inner if is_total(b)), "Total")
    named = [total if i in heads else b for i, b in enumerate(inner)]
    return [*down[:-1], named], [outer[i] for i in heads]


def _headings(
    texts: Sequence[Sequence[str]], shape: Shape, inside: Sequence[int]
) -> dict[int, str]:
    """Find texts without numbers right above rows, by the positions of these."""
    bare = {i for i in (*range(shape.header.stop, shape.body[0]), *inside)
            if sum(map(bool, texts[i])) == 1}  # fmt: skip
    found = {}
    for k, i in enumerate(shape.body):
        after = shape.body[k - 1] if k else shape.header.stop - 1
        above = [row for row in range(after + 1, i) if row in bare]
        if above:
            found[k] = plain_label(next(t for t in texts[above[-1]] if t).rstrip(" .:"))
    return found


def _sections(
    texts: Sequence[Sequence[str]], shape: Shape, inside: Sequence[int],
    down: Sequence[Sequence[str]],
) -> list[str]:  # fmt: skip
    """Headings between the rows, one for each row, where they tell equal labels apart."""
    labels = [*zip(*down, strict=True)]
    heads = [*range(shape.header.stop, shape.body[0]), *inside]
    heads = [i for i in heads if sum(map(bool, texts[i])) == 1]
    before = [i for i in range(shape.header.start, shape.body[0]) if sum(map(bool, texts[i])) == 1]
    heads = sorted({*heads, *before[-1:]}) if len({*labels}) < len(labels) else []
    if not heads or heads[0] > shape.body[0]:
        return []
    return [next(t for t in texts[max(h for h in heads if h < i)] if t) for i in shape.body]
