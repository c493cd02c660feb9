"""The part of ``cellveil audit`` that judges a table that somebody published."""

from __future__ import annotations

from pathlib import Path

import typer

from attacks.published_audit import audit_published
from cellveil.cli.answers import finish
from cellveil.io.files import check_outputs
from cellveil.io.published import read_public
from cellveil.render.progress import Meter
from cellveil.render.screen import printable
from cellveil.report.published import audit_page
from cellveil.report.skeleton import write_page
from cellveil.requests.outputs import Audited
from cellveil.requests.publication import Publication
from cellveil.requests.search import Limit
from csp.formats.files import Together


def audit_public(
    path: Path, asked: Publication, limit: Limit, *, percent: float, integer: bool, to: Audited
) -> None:
    """Say which withheld cells of a published table can be worked out; exit 1 if some can."""
    report, reveal = to.report, to.reveal
    check_outputs({"-o": to.output, "--report": report, "--summary": to.summary}, [path])
    clock = limit.started()
    with Meter("reading", clock.seconds) as meter:
        release, _ = read_public(path, asked)
        meter.phase("working out what anyone can")
        found = audit_published(
            release, percent=str(percent), integer=integer, time_limit=clock.seconds
        )
    facts = found.summary(reveal=reveal)

    def write(files: Together) -> list[Path]:
        if report is None:
            return []
        write_page(report, audit_page(found, path.stem, reveal=reveal), facts, files)
        return [report, report.with_suffix(".json")]

    finish(
        facts, safe=found.safe, columns=found.columns(reveal=reveal),
        show=lambda: typer.echo("\n".join(map(printable, found.text(reveal=reveal).splitlines()))),
        to=to, write=write, hashed=True,
    )  # fmt: skip
