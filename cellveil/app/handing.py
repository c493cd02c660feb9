"""What can be saved from the page: the table, its report, its release, and the job."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiny import render

from cellveil.app.work.tasks import JOB, Outcome


def hand_over(
    done: Callable[[], Outcome], job: Callable[[], str], trees: Callable[[], dict[str, Path]]
) -> None:
    """Connect the buttons: `done` gives the result, `job` its text, `trees` the hierarchies."""

    def name(suffix: str) -> Callable[[], str]:
        return lambda: done().file(suffix).name

    @render.download_button(filename=name(".csv"))
    def table_csv() -> str:
        return str(done().file(".csv"))

    @render.download_button(filename=name(".xlsx"))
    def table_xlsx() -> str:
        return str(done().file(".xlsx"))

    @render.download_button(filename=name(".html"))
    def report_html() -> str:
        return str(done().file(".html"))

    @render.download_button(filename="job.zip")
    def job_zip() -> Any:
        files = {path.name: path.read_bytes() for path in trees().values()}
        yield zipped(files | {JOB: job().encode()})

    @render.download_button(filename="release.zip")
    def release_json() -> Any:
        yield zipped({path.name: path.read_bytes() for path in done().release})


def zipped(files: dict[str, bytes]) -> bytes:
    """Files in one, the same bytes each time."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in sorted(files.items()):
            out.writestr(zipfile.ZipInfo(name), content)
    return raw.getvalue()
