"""Which cell stands where in a cross table: rows by columns, a panel for each further code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Ints
from csp.tables.codes import Labels
from csp.tables.margins import codes_along

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COLUMNS = 12
"""Codes of a dimension up to which it goes across where there is a choice."""


class Labelled(Protocol):
    """What a layout needs of a table or a release."""

    @property
    def labels(self) -> Sequence[tuple[str, ...]]:
        """Codes of each cell."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each dimension."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Code of the total in each dimension."""

    @property
    def relations(self) -> csr_array:
        """Relations between cells, (relations, cells)."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Code of a row or column: how deep it lies below the top, and whether codes lie below it."""

    code: str
    depth: int
    total: bool


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Cells of one combination of codes of the further dimensions.

    Attributes
    ----------
    codes : tuple of str
        Of the further dimensions; empty if there are none.
    cells : (rows, columns) int64
        Cells of the table, -1 where it has none.
    """

    codes: tuple[str, ...]
    cells: Ints


@dataclass(frozen=True, slots=True, eq=False)
class CrossTable:
    """Layout of a table.

    Attributes
    ----------
    down, across : str
        Names of the dimensions of rows and columns; `across` is "" where there is one dimension.
    further : tuple of str
        Names of the dimensions that panels are made of.
    rows, columns : tuple of Heading
        Parents before their children, and the total last.
    panels : tuple of Panel
        That of all totals first.
    """

    down: str
    across: str
    further: tuple[str, ...]
    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    panels: tuple[Panel, ...]


def cross_table(table: Labelled, down: str | None = None, across: str | None = None) -> CrossTable:
    """Lay out a table.

    Parameters
    ----------
    table : Table or Release
    down, across : str, optional
        Dimensions of rows and columns. By default that with most codes goes down, and of the
        others that with most across, up to a dozen.

    Returns
    -------
    CrossTable

    Raises
    ------
    InputError
        If a dimension is unknown, or given twice.
    """
    labels = Labels.of(table.labels)
    heads = outlines(table)
    first, second = _chosen(table.names, [len(codes) for codes in heads], down, across)
    rest = [d for d in range(len(table.names)) if d not in (first, second)]
    at = labels.recoded([[heading.code for heading in found] for found in heads])
    columns = (Heading("", 0, total=False),) if second is None else heads[second]
    rows = heads[first]
    # Totals come last in an outline, and are what people look for first.
    sizes = np.array([len(heads[d]) for d in rest], np.int64)
    keys, which = np.unique((at[:, rest] + 1) % sizes, axis=0, return_inverse=True)
    panels = []
    for number, key in enumerate(keys.tolist()):
        inside = np.flatnonzero(which.ravel() == number)
        cells = np.full((len(rows), len(columns)), -1, np.int64)
        cells[at[inside, first], 0 if second is None else at[inside, second]] = inside
        codes = tuple(heads[d][place - 1].code for d, place in zip(rest, key, strict=True))
        panels.append(Panel(codes, cells))
    return CrossTable(
        table.names[first],
        "" if second is None else table.names[second],
        tuple(table.names[d] for d in rest),
        rows, columns, tuple(panels),
    )  # fmt: skip


def _chosen(
    names: Sequence[str], counts: Sequence[int], down: str | None, across: str | None
) -> tuple[int, int | None]:
    for name in (down, across):
        if name is not None and name not in names:
            msg = f"{name!r} is not a dimension; dimensions are {', '.join(names)}"
            raise InputError(msg)
    if down is not None and down == across:
        msg = f"{down!r} cannot be both rows and columns"
        raise InputError(msg)
    by_size = sorted(range(len(names)), key=lambda d: (-counts[d], d))
    asked = None if across is None else names.index(across)
    first = names.index(down) if down is not None else next(d for d in by_size if d != asked)
    if asked is not None or len(names) == 1:
        return first, asked
    others = [d for d in by_size if d != first]
    return first, next((d for d in others if counts[d] <= _COLUMNS), others[-1])


def outlines(table: Labelled) -> list[tuple[Heading, ...]]:
    """Codes of each dimension with their depth: parents before their children, the total last."""
    labels = Labels.of(table.labels)
    _, pairs = codes_along(table.relations, labels.codes)
    # A code of several hierarchies has several parents; it is shown below one of them.
    parents = [{part: code for code, part in reversed(listed.tolist())} for listed in pairs]
    return [
        _outline(labels.codes[:, d], labels.categories[d], root, parents[d])
        for d, root in enumerate(table.roots)
    ]


def _outline(
    column: NDArray[np.int32], texts: Sequence[str], total: str, parents: dict[int, int]
) -> tuple[Heading, ...]:
    used, first = np.unique(column, return_index=True)
    codes = used[np.argsort(first)].tolist()
    root = texts.index(total) if total in texts else None
    below: dict[int | None, list[int]] = {}
    for code in codes:
        below.setdefault(parents.get(code), []).append(code)
    tops = [code for code in below.get(None, []) if code != root]
    tops += below.get(root, []) if root is not None else []
    ordered: list[Heading] = []
    stack = [(code, 0) for code in reversed(tops)]
    while stack:
        code, depth = stack.pop()
        ordered.append(Heading(texts[code], depth, code in below))
        stack.extend((child, depth + 1) for child in reversed(below.get(code, [])))
    if root is not None and root in codes:
        ordered.append(Heading(texts[root], 0, total=True))
    return tuple(ordered)
