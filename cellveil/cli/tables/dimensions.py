"""Dimensions of the data of a command: as named, or as a cross table or a layout shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

from cellveil.cli.options import option
from cellveil.cli.taking import Rest
from cellveil.front import refuse
from cellveil.io.crosstables import recognise
from cellveil.io.inputs import split_names
from cellveil.render.screen import say
from cellveil.requests.source import Source
from csp.formats.delimited import TextFile
from csp.formats.layout import read_metadata
from csp.formats.reading import regular_file
from csp.published.door import grid_of

By = Annotated[
    str | None,
    option(
        "Columns of the table's dimensions: Size,Region.",
        "COLUMNS",
        default="those of a cross table or of the layout of a .tab; else required",
    ),
]

_SHORT = 100_000
"""Bytes up to which a file is looked through for any row."""


def dimensions_of(data: Path, by: str | None, source: Rest[Source]) -> dict[str, Any]:
    """Return the fields of a source that say what its dimensions are.

    What the numbers of a cross table are taken for is said.

    Raises
    ------
    InputError
        If none are named, and the data does not show them.
    """
    split = None if by is None else split_names(by, "--by")
    table = recognise(data, split, source.own)
    if table is not None:
        if table.guess:
            say(table.guess)
        return table.fields
    return {"by": split or tab_dimensions(data, source.own.get("rda"))}


def tab_dimensions(data: Path, rda: Path | None) -> tuple[str, ...]:
    """Dimensions of a τ-ARGUS table, in the order of its layout; other data has to name them."""
    if rda is None or not data.name.lower().endswith(".tab"):
        refuse_unnamed(data)
    return read_metadata(rda).flagged("RECODEABLE")


def refuse_unnamed(data: Path) -> NoReturn:
    """Ask for the dimensions of data, unless there are no rows that could have any.

    Raises
    ------
    InputError
    """
    refuse_empty(data)
    refuse(
        "--by is missing: name the columns of the table's dimensions, such as Size,Region; "
        "'cellveil inspect FILE', without more, lists the columns"
    )


def refuse_empty(data: Path) -> None:
    """Refuse a text file without a row below its header.

    Raises
    ------
    InputError
    """
    text = data.name.lower().endswith((".csv", ".tsv", ".txt"))
    if text and regular_file(data).stat().st_size < _SHORT:
        rows = [row for row in grid_of(TextFile(data)) if any(map(str.strip, row))]
        if not rows:
            refuse(f"{str(data)!r} is empty; give a file with records, or with a table")
        if len(rows) == 1:
            refuse(f"{str(data)!r} has a header and no rows below it; give a file with records")
