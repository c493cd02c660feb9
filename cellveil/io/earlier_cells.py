"""Cells that were suppressed before, as their file names them, whatever it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellveil.io.published import read_public
from cellveil.io.recoding import tree_of
from cellveil.io.sheets.reading import grid_of_sheet
from cellveil.requests.earlier import Earlier
from cellveil.requests.publication import Publication, Signs
from cellveil.requests.source import is_workbook
from csp.errors import InputError
from csp.formats.apriori import read_apriori
from csp.formats.codes import plain_code
from csp.formats.delimited import TextFile
from csp.published.door import grid_of
from csp.published.entries import sign_of
from csp.published.grids.kinds import is_number
from csp.published.names import FLAGS, VALUES
from csp.release.release import Release
from csp.tables.codes import Labels
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.table import Table


@dataclass(frozen=True, slots=True)
class Before:
    """Cells that were suppressed, as their file names them."""

    names: tuple[str, ...]
    roots: tuple[str, ...]
    codes: tuple[frozenset[str], ...]
    cells: tuple[tuple[str, ...], ...]
    trees: tuple[Hierarchy | None, ...] = ()
    told: tuple[str, ...] = ()


def read_earlier(asked: Earlier, table: Table) -> Before:
    """Cells of the file of --keep: an a-priori file, a plain list, or a published table."""
    path = asked.keep
    assert path is not None
    if path.name.lower().endswith(".hst"):
        lines = read_apriori(path, len(table.names))
        cells = tuple(
            tuple(code or root for code, root in zip(line.codes, table.roots, strict=True))
            for line in lines if line.word in ("u", "m")
        )  # fmt: skip
        return Before(table.names, table.roots, _codes_of(cells, len(table.names)), cells)
    listed = _plain_list(path, table)
    if listed is not None:
        return listed
    publication = Publication(signs=Signs(marks=asked.keep_marks))
    try:
        return _named_as(earlier_of(read_public(path, publication, quiet=True)[0]), table.names)
    except InputError as error:
        texts = _lines(path, table)
        if texts is None or any({*table.names} & {*line} for line in texts[:_TITLES]):
            raise
        why = error.template.removeprefix(f"{str(path)!r}: ").partition(";")[0]  # no mend: of data
        msg = (
            f"{path.name} is neither a plain list of cells (its first row would be "
            f"{','.join(table.names)}) nor a published table: {why}"
        )
        raise InputError(msg) from error


def earlier_of(release: Release) -> Before:
    """Cells that a release suppressed; ranges and values that nobody has are not among them."""
    hidden = release.pattern.copy()
    for other in (release.ranged, release.unavailable):
        if other is not None:
            hidden &= ~other
    labels = Labels.of(release.labels)
    codes = tuple(frozenset(categories) for categories in labels.categories)
    cells = tuple(labels[i] for i in np.flatnonzero(hidden).tolist())
    trees = tuple(tree_of(release, d) for d in range(len(release.names)))
    return Before(release.names, release.roots, codes, cells, trees)


def _named_as(before: Before, names: Collection[str]) -> Before:
    """Name dimensions as a table does, where only the form of their accents is another."""
    plain = {plain_code(name): name for name in names}
    return replace(before, names=tuple(plain.get(plain_code(n), n) for n in before.names))


def narrowed(before: Before, names: Collection[str]) -> Before:
    """Cells at the totals of dimensions that are not among some; all, if none is."""
    before = _named_as(before, names)
    inside = [d for d, name in enumerate(before.names) if name in names]
    others = [d for d, name in enumerate(before.names) if name not in names]
    if not inside or not others or not all(before.roots[d] for d in others):
        return before
    at_total = [c for c in before.cells if all(c[d] == before.roots[d] for d in others)]
    return Before(
        tuple(before.names[d] for d in inside), tuple(before.roots[d] for d in inside),
        tuple(before.codes[d] for d in inside),
        tuple(tuple(cell[d] for d in inside) for cell in at_total),
        tuple(before.trees[d] for d in inside) if before.trees else (),
    )  # fmt: skip


_TITLES = 10
"""Rows above the names of the columns of a list, such as titles."""

_NO_LIST = {*VALUES, *FLAGS, "published", "suppressed"}
"""Columns that a published table has, and a plain list of cells has not."""

_WORD = 3
"""Letters of a word about a cell; what is shorter may be a sign in place of a number."""


def _plain_list(path: Path, table: Table) -> Before | None:
    """Cells of a file whose columns are dimensions, and texts about them; None for another file."""
    lines = _lines(path, table)
    if lines is None:
        return None
    names = {*table.names}
    top = next((k for k, line in enumerate(lines[:_TITLES]) if names & {*line}), None)
    if top is None or any(sum(map(bool, line)) > 1 for line in lines[:top]):
        return None
    head = [name for name in lines[top] if name]
    body = [line for line in lines[top + 1 :] if any(line)]
    others = [j for j, name in enumerate(lines[top]) if name and name not in names]
    texts = {line[j] for j in others for line in body if j < len(line)}
    if others and (
        not names <= {*head}
        or any(lines[top][j].casefold() in _NO_LIST for j in others)
        or any(map(is_number, texts)) or not any(any(c.isalpha() for c in t) for t in texts)
        or max(map(len, texts)) < _WORD
    ):  # fmt: skip
        return None
    at = [j for j, name in enumerate(lines[top]) if name in names]
    cells = tuple(tuple(line[j] if j < len(line) else "" for j in at) for line in body)
    found = tuple(lines[top][j] for j in at)
    aside = ", ".join(repr(lines[top][j]) for j in others)
    told = (f"Of {path.name} {aside} is not read.",) if others else ()
    return Before(found, ("",) * len(at), _codes_of(cells, len(at)), cells, told=told)


def _lines(path: Path, table: Table) -> list[tuple[str, ...]] | None:
    """Texts of a sheet or a text file; None for another file."""
    if is_workbook(path):
        rows = grid_of_sheet(path)
    elif path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".txt")):
        rows = grid_of(TextFile(path))
    else:
        return None
    lines = [tuple(sign_of(item) for item in row) for row in rows]
    lines[:_TITLES] = [_as_named(line, table.names) for line in lines[:_TITLES]]
    return lines


def _as_named(line: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns in the letters of the table: Region is region, if all are among them."""
    plain = {plain_code(name).casefold(): name for name in names}
    filled = [text for text in line if text]
    if len(plain) < len(names) or not plain.keys() <= {text.casefold() for text in filled}:
        return line
    return tuple(plain.get(text.casefold(), text) for text in line)


def _codes_of(cells: Sequence[tuple[str, ...]], n: int) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(cell[d] for cell in cells) for d in range(n))
