"""The program ``python -m studies``: one command for each study."""

from __future__ import annotations

from typing import Annotated

import typer

from cellveil.front import Front
from studies.claims.command import check
from studies.matching.command import matching, parameters
from studies.microdata.command import aggregates, compliance, disclosure, swapping, timings
from studies.publishing.command import publishing

app = typer.Typer(
    name="studies",
    cls=Front,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def front(
    *, debug: Annotated[bool, typer.Option(help="Show tracebacks of errors.")] = False
) -> None:
    """Repeat the experiments of the papers: rows, a page, figures."""
    del debug  # read by the group


for _study in (
    matching,
    parameters,
    publishing,
    disclosure,
    compliance,
    aggregates,
    swapping,
    timings,
    check,
):
    app.command()(_study)
