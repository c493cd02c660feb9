"""Dimensions of the data of a command: as named, or as a cross table or a layout shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cellveil.cli.options import option
from cellveil.cli.taking import Rest
from cellveil.io.crosstables import recognise
from cellveil.io.inputs import split_names, tab_dimensions
from cellveil.render.screen import say
from cellveil.requests.source import Source

By = Annotated[
    str | None,
    option(
        "Columns of the table's dimensions: Size,Region.",
        "COLUMNS",
        default="those of a cross table or of the layout of a .tab; else required",
    ),
]


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
