"""The application: open pages, each a desk with a folder and a process of its own."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from shiny import App

from cellveil.app.desk import Desk
from cellveil.app.page import page
from cellveil.app.work.worker import Worker

FAILED = "The page has failed here. Please report it, with what was chosen."


class Desks:
    """Open pages: each has a folder of its own in the private one, and a process of its own."""

    def __init__(self, base: Path, data: Path | None = None) -> None:
        self._base, self._data = base, data
        self._workers: set[Worker] = set()

    def open(self, input: Any, session: Any) -> None:
        """Open a page, until its session ends."""
        folder = Path(tempfile.mkdtemp(prefix="page-", dir=self._base))
        worker = Worker(folder)
        self._workers.add(worker)

        def end() -> None:
            worker.close()
            self._workers.discard(worker)
            shutil.rmtree(folder, ignore_errors=True)

        session.on_ended(end)
        Desk(folder, worker, self._data).attach(input)

    def close(self) -> None:
        """End all processes."""
        for worker in list(self._workers):
            worker.close()


def make_app(desks: Desks) -> App:
    """Application whose pages are desks."""

    def server(input: Any, output: Any, session: Any) -> None:
        del output
        desks.open(input, session)

    app = App(page(), server)
    # What goes wrong unforeseen may quote the data, or name places.
    app.sanitize_errors, app.sanitize_error_msg = True, FAILED
    return app
