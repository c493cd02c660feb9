"""The command ``python -m studies check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.render.screen import say

__all__ = ["check"]


def check(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Folder of the data files; only looked at, to say which studies can be rerun.",
            envvar="CELLVEIL_MICRODATA",
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the page of claims here."),
    ] = None,
) -> None:
    """Recompute the claims of the papers that take seconds, and count all by verdict.

    Ends with 1 if a recomputation gives anything else than what is on record.
    """
    from studies.claims.page import page
    from studies.claims.recompute import recomputed
    from studies.claims.register import papers, tally
    from studies.microdata.files import FILES, missing
    from studies.pages import write_page

    found = papers()
    claims = [claim for paper in found for claim in paper.claims]
    wrong = 0
    for claim in claims:
        if claim.recompute:
            now = recomputed(claim.recompute)
            if now != claim.measured:
                wrong += 1
                say(f"{claim.id}: on record is {claim.measured!r}, now it is {now!r}")
    for verdict, count in tally(claims).items():
        say(f"{verdict}: {count}")
    now_run = sum(bool(claim.recompute) for claim in claims)
    studied = sum(bool(claim.command) for claim in claims)
    say(f"Recomputed now: {now_run}; by longer studies: {studied}; the others by reading.")
    gaps = missing(data)
    waiting = [c for c in claims if any(FILES[name].file in gaps for name in c.files)]
    if waiting:
        what = ", ".join(name if data is None else f"{name} ({why})" for name, why in gaps.items())
        where = "without --data FOLDER" if data is None else f"with {data}"
        say(f"{len(waiting)} of these studies cannot be rerun {where}: {what}.")
    if wrong:
        raise typer.Exit(1)
    if out is not None:
        write_page(out, page(found))
