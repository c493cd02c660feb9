"""The command ``python -m studies check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.render.screen import say


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
    pages: Annotated[
        str | None,
        typer.Option(
            metavar="STUDIES",
            help="Also make the pages of these studies again (hours for 'all') and compare them.",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--docs", metavar="FOLDER", help="Folder of the pages.")
    ] = Path("docs"),
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the page of claims here."),
    ] = None,
) -> None:
    """Recompute the claims of the papers that take seconds, and count all by verdict.

    Ends with 1 if a recomputation, or a page, gives anything else than what is on record.
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
    if pages is not None:
        wrong += _changed(pages, folder, data)
    if wrong:
        raise typer.Exit(1)
    if out is not None:
        write_page(out, page(found))


def _changed(names: str, folder: Path, data: Path | None) -> int:
    """Make pages again, show what differs, and count the pages that do."""
    from csp.errors import InputError
    from studies.claims.rerun import differences, made_again, study_pages

    known = study_pages(folder)
    asked = names.split(",")
    for name in asked:
        if name != "all" and name not in {one.words[0] for one in known}:
            choices = ", ".join(sorted({one.words[0] for one in known}))
            msg = f"no page in {folder} is made by a study {name!r}; there are {choices}"
            raise InputError(msg)
    changed = 0
    for one in known:
        if "all" not in asked and one.words[0] not in asked:
            continue
        if lacks := one.lacks(data):
            say(f"{one.path.name}: cannot be reproduced without {lacks}")
            continue
        lines = differences(one.path.read_text(encoding="utf-8"), made_again(one, data))
        changed += bool(lines)
        say(f"{one.path.name}: {f'{len(lines)} lines differ' if lines else 'the same'}")
        for line in lines:
            say(line)
    return changed
