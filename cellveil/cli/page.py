"""The command ``cellveil app``: a page for people who do not type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cellveil.cli.options import RECORDS, SHEETS, argument, flag, option
from cellveil.front import refuse


def page(
    data: Annotated[
        Path | None,
        argument(f"Records to open with: {RECORDS}, {SHEETS}.", "[DATA]", default=False),
    ] = None,
    *,
    port: Annotated[int, option("Port; 0 takes a free one.", "NUMBER", min=0, max=65535)] = 0,
    address: Annotated[
        str,
        option(
            "Address of this machine to listen on; inside a container 0.0.0.0, where the port is "
            "published to 127.0.0.1.",
            "ADDRESS",
        ),
    ] = "127.0.0.1",
    browser: Annotated[
        bool, flag("Open the page in the browser.", "--browser/--no-browser")
    ] = True,
    idle: Annotated[
        float,
        option(
            "End when no page has been open for this long; 0 waits for Ctrl-C.", "MINUTES", min=0.0
        ),
    ] = 60.0,
) -> None:
    """Open a page on which a table is protected by choosing: file, dimensions, rules, result.

    $ cellveil app survey.csv

    It is served to this machine alone (127.0.0.1, or a container's own --address), to the browser
    that opens the address printed here, once; in a terminal, Enter prints another.
    Nothing stays on disk that was not saved. Needs: pip install "cellveil[app]".
    """
    from importlib.util import find_spec

    if find_spec("shiny") is None:
        refuse("the page needs Shiny; pip install 'cellveil[app]'")
    if data is not None and not data.is_file():
        refuse(f"there is no file {str(data)!r}")
    # What it is served with is an extra, without which this command still has to say so.
    from cellveil.app.serve import serve

    serve(data, address=address, port=port, browser=browser, idle=60 * idle or None)
