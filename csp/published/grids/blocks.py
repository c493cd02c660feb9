"""Rows in blocks, each of which ends in a row such as "Zusammen": the sum of the rows above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from csp.tables.hierarchies.totals import is_total


@dataclass(frozen=True, slots=True)
class Blocks:
    """Labels of rows in blocks.

    Attributes
    ----------
    down : list of list of str
        One level; or two, where the labels of blocks are the same: headings and labels.
    parents : dict of str to str
        Sum that each row of a block is a part of, where there is one level.
    told : str
    """

    down: list[list[str]]
    parents: dict[str, str]
    told: str


def blocks_of(
    labels: Sequence[str], headings: Mapping[int, str], depths: Sequence[int]
) -> Blocks | None:
    """Read a total that comes back as the sum of the rows between it and the last one.

    Parameters
    ----------
    labels : sequence of str
    headings : mapping of int to str
        Texts without numbers right above rows, by the position of the row.
    depths : sequence of int
        How far each label is indented; empty if none is.

    Returns
    -------
    Blocks or None
        None if no total comes back, or blocks are not what shows how rows add up.
    """
    often = Counter(labels)
    closers = [label for label in often if often[label] > 1 and is_total(label)]
    if len(closers) != 1:
        return None
    closer = closers[0]
    blocks: list[tuple[list[int], int]] = []
    rows: list[int] = []
    for k, label in enumerate(labels):
        if label != closer and not is_total(label):
            rows.append(k)
        else:
            if label == closer and rows:
                blocks.append((rows, k))
            rows = []
    if len(blocks) < 2 or any(len({depths[k] for k in rows}) > 1 for rows, _ in blocks if depths):
        return None
    inner = [labels[k] for rows, _ in blocks for k in rows]
    heads = [headings.get(rows[0], "") for rows, _ in blocks]
    told = (
        f"{closer!r} comes back: each is read as the sum of the rows above it, up to the last one"
    )
    if len({*inner}) < len(inner):
        if not all(heads) or len({*heads}) < len(heads):
            return None
        outer = list(labels)  # rows outside all blocks are of all
        below = [closer] * len(labels)
        for (rows, end), head in zip(blocks, heads, strict=True):
            for k in (*rows, end):
                outer[k], below[k] = head, labels[k]
        return Blocks([outer, below], {}, told)
    named = list(labels)
    parents: dict[str, str] = {}
    for (rows, end), head in zip(blocks, heads, strict=True):
        some = " ... " if len(rows) > 2 else ", "
        own = f"{closer} ({labels[rows[0]]}{some}{labels[rows[-1]]})"
        named[end] = head or (own if len(rows) > 1 else f"{closer} ({labels[rows[0]]})")
        parents |= {labels[k]: named[end] for k in rows}
    if len({*named}) < len(named):
        return None
    return Blocks([named], parents, told)
