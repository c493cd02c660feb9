"""Releases of any kind: what this program wrote for further use, and what anybody published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.io.inputs import hierarchy_of
from cellveil.io.sheets.reading import grid_of_sheet, hidden_parts, own_hierarchies
from cellveil.render.screen import say
from cellveil.requests.option import flags_given
from cellveil.requests.publication import Publication
from cellveil.requests.source import is_workbook
from csp.errors import InputError
from csp.formats.delimited import TextFile
from csp.mechanism import Mechanism
from csp.published.door import grid_of
from csp.published.entries import sign_of
from csp.release.release import Release
from csp.release_file import is_cells_file, read_release
from csp.tables.columns import read_columns
from csp.tables.hierarchies.hierarchy import Hierarchy


def read_public(
    path: Path, asked: Publication | None = None, *, quiet: bool = False
) -> tuple[Release, Mechanism | None]:
    """Read a release, or a table that somebody published: .csv, .xlsx, .parquet, .sbs.

    What was recognised is said, unless `quiet`.

    Raises
    ------
    InputError
        If the file holds neither, or options are said of a release that tells all of it itself.
    """
    asked = Publication() if asked is None else asked
    if path.suffix.lower() == ".json":
        if said := [flag for flag in flags_given(asked) if flag != "--cells"]:
            refuse(f"{', '.join(said)}: said of a published table; {str(path)!r} is a release")
        return _told_cells(*read_release(path), asked.cells, path)
    if is_cells_file(path) and path.with_suffix(".json").exists() and not flags_given(asked):
        return read_release(path.with_suffix(".json"))
    data, by = _entries(path, asked)
    own = own_hierarchies(path) if is_workbook(path) and asked.written.sheet is None else {}
    hierarchies = own | _hierarchies(asked)
    signs = asked.signs
    try:
        found = Release.from_frame(
            data, by or None, asked.value or ("value" if by and not asked.by else None),
            status=signs.status or None, marks=signs.marks, withheld=signs.withheld,
            ranges=None if signs.ranges is None else _ranges(signs.ranges),
            lower=signs.lower, upper=signs.upper, count=asked.count, cells=asked.cells,
            hierarchies=hierarchies, total=_totals(asked),
            rounded=signs.rounded, tolerance=asked.tolerance,
            absent="zero" if asked.absent_zero else "withheld", negative=asked.negative,
            decimal=asked.written.decimal,
        )  # fmt: skip
    except InputError as error:
        if str(path) in str(error):
            raise
        msg = f"{str(path)!r}: {error.template}"
        raise InputError(msg) from error
    if own and not quiet:
        say(f"Hierarchies of {', '.join(own)} are read from the sheet 'hierarchies'.")
    if not quiet:
        if is_workbook(path) and (hidden := hidden_parts(path, asked.written.sheet)):
            say(hidden)
        for note in found.notes:
            say(f"{note[:1].upper()}{note[1:]}.")
    return found, None


def _told_cells(
    release: Release, mechanism: Mechanism | None, cells: str | None, path: Path
) -> tuple[Release, Mechanism | None]:
    """Say what the cells of a release are, where its file, of an earlier build, does not."""
    if cells is None or release.of_counts is (cells == "counts"):
        return release, mechanism
    if release.of_counts is not None:
        refuse(f"--cells {cells}: {str(path)!r} says that its cells are something else")
    return replace(release, of_counts=cells == "counts"), mechanism


def _entries(path: Path, asked: Publication) -> tuple[Any, Sequence[str]]:
    """Return data as `csp.Release.from_frame` takes it, and the dimensions that are known."""
    name = path.name.lower()
    if is_workbook(path):
        return grid_of_sheet(path, asked.written.sheet), asked.by
    asked.written.check(path, text=True)
    if name.endswith(".sbs"):  # τ-ARGUS's format: codes, value, frequency, status; no header
        rows = [row for row in grid_of(asked.written.file(path)) if row]
        width = len(rows[0]) - 3 if rows else 0
        if width < 1 or any(len(row) != width + 3 for row in rows):
            refuse(f"{str(path)!r} needs rows of codes, value, frequency and status, like a .sbs")
        names = asked.by or tuple(f"dimension {d + 1}" for d in range(width))
        if len(names) != width:
            refuse(f"--by names {len(names)} columns; {str(path)!r} has {width} columns of codes")
        hidden = {"D", "B", "x", "c"}
        body = [[*row[:width], "[c]" if sign_of(row[-1]) in hidden else row[width]] for row in rows]
        return [[*names, "value"], *body], names
    return asked.written.file(path), asked.by


def _hierarchies(asked: Publication) -> dict[str, Hierarchy | str]:
    found: dict[str, Hierarchy | str] = {}
    for text in asked.hierarchy:
        name, file = hierarchy_of(text, {})
        if name in found:
            refuse(f"--hierarchy names {name!r} twice; give one hierarchy of each column")
        found[name] = file if file in ("prefix", "found") else Hierarchy.from_hrc(Path(file))
    return found


def _totals(asked: Publication) -> str | dict[str, str] | None:
    plain = [text for text in asked.total if "=" not in text]
    if plain:
        if len(asked.total) > 1:
            refuse(f"--total {plain[0]!r}: with several, each is COLUMN=CODE")
        return plain[0]
    return {name: code for name, _, code in (text.partition("=") for text in asked.total)} or None


def _ranges(path: Path) -> dict[str, tuple[str, str | None]]:
    """Signs and their ranges from a file with columns sign, lower, upper."""
    columns = read_columns(TextFile(path), ["sign", "lower", "upper"]).arrays
    return {
        sign_of(sign): (sign_of(low) or "0", sign_of(high) or None)
        for sign, low, high in zip(*columns, strict=True)
    }
