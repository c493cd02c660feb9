"""The part of ``cellveil audit`` that judges a table that somebody published."""

from __future__ import annotations

from pathlib import Path

import typer

from cellveil.cli.answers import finish
from cellveil.render.progress import Meter
from cellveil.render.screen import printable
from cellveil.requests.publication import Publication
from cellveil.requests.search import Limit

__all__ = ["audit_public"]


def audit_public(
    path: Path, asked: Publication, limit: Limit, *, percent: float, integer: bool,
    output: Path | None, summary: Path | None, reveal: bool,
) -> None:  # fmt: skip
    """Say which withheld cells of a published table are no secret; exit 1 if some can be known."""
    from attacks.published_audit import audit_published
    from cellveil.io.files import check_outputs
    from cellveil.io.published import read_public

    check_outputs({"-o": output, "--summary": summary}, [path])
    clock = limit.started()
    with Meter("reading", clock.seconds) as meter:
        release, _ = read_public(path, asked)
        meter.phase("working out what anyone can")
        found = audit_published(
            release, percent=str(percent), integer=integer, time_limit=clock.seconds
        )
    finish(
        found.summary(reveal=reveal), safe=found.safe, columns=found.columns(reveal=reveal),
        show=lambda: typer.echo("\n".join(map(printable, found.text(reveal=reveal).splitlines()))),
        output=output, summary=summary, hashed=True,
    )  # fmt: skip
