"""The command ``cellveil report``: a release, as the public can read it, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from attacks import report as run
from cellveil.cli import options
from cellveil.cli.answers import finish
from cellveil.cli.options import flag, option
from cellveil.cli.taking import taking
from cellveil.io.files import check_outputs
from cellveil.io.published import read_public
from cellveil.render.progress import Meter
from cellveil.report.facts import release_facts
from cellveil.report.page import report_page
from cellveil.report.skeleton import write_page
from cellveil.requests.publication import Publication
from cellveil.requests.search import Limit


@taking
def report(
    release: options.ReleaseIn,
    *,
    publication: Publication,
    output: Annotated[
        Path | None,
        option(
            "Page (.html); its facts are written beside it as .json.",
            "FILE",
            "--output",
            "-o",
            default="the release with .html",
        ),
    ] = None,
    attacks: Annotated[
        bool, flag("Run every attack that applies.", "--attacks/--no-attacks")
    ] = True,
    limit: Limit,
    reveal: options.Reveal = False,
) -> None:
    """Write one HTML page about a release: table, intervals, attacks, from public knowledge.

    $ cellveil report release.json -o release.html

    'cellveil protect --report' writes the page of the office, with costs and proofs. Exit codes:
    0 no attack exposes a cell, 1 some does or was cut short, 2 bad input.
    """
    page = release.parent / f"{release.stem}.report.html" if output is None else output
    beside = [release.with_suffix(".csv")] if release.name else []
    check_outputs({"-o": page}, [release, *beside], {"-o": (".html",)})
    clock = limit.started()
    given, mechanism = read_public(release, publication)
    found = None
    with Meter("attacking the release", clock.seconds) as meter:
        if attacks and given.pattern.any():
            found = run(given, mechanism, time_limit=clock.part(0.7).seconds)
        meter.phase("working out what anyone can infer")
        told = release_facts(
            given, mechanism=mechanism, title=release.stem, attacks=found, inputs=[release],
            time_limit=clock.seconds, reveal=reveal,
        )  # fmt: skip
        write_page(page, report_page(given, told), told)
    lines = [f"Wrote {page}, {page.with_suffix('.json')}."]
    if found is not None:
        ended = "" if found.complete else "; not every attack came to its end"
        exposed = f"{len(found.exposed)} of {int(given.pattern.sum())}"
        lines.insert(0, f"Suppressed cells that some attack exposes: {exposed}{ended}.")
    finish({}, lines, safe=found is None or (found.complete and not found.exposed))
