"""The command ``cellveil app``: a page for people who do not type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["page"]


def page(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="Records to open with: .csv, .csv.gz, .parquet, .xlsx.",
            show_default=False,
        ),
    ] = None,
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="NUMBER", help="Port; 0 takes a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    idle: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="MINUTES",
            help="End when no page has been open for this long; 0 waits for Ctrl-C.",
        ),
    ] = 60.0,
) -> None:  # fmt: skip
    """Open a page on which a table is protected by choosing: file, dimensions, rules, result.

    It is served to this machine alone (127.0.0.1), to a browser that has the address printed here.
    Nothing stays on disk that was not saved. Needs: pip install "cellveil[app]".
    """
    from importlib.util import find_spec

    from csp.errors import InputError

    if find_spec("shiny") is None:
        msg = "the page needs Shiny; pip install 'cellveil[app]'"
        raise InputError(msg)
    if data is not None and not data.is_file():
        msg = f"there is no file {str(data)!r}"
        raise InputError(msg)
    from cellveil.app.serve import serve

    serve(data, port=port, browser=browser, idle=60 * idle or None)
