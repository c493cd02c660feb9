"""What stands for the tasks of a page in tests, in a process of its own."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from csp.errors import InputError
from csp.solve.result import Progress

__all__ = ["act", "hang"]


def hang(task: Any, records: Any, tell: Any) -> None:
    """Begin and never end, as the reading of a file without end."""
    tell.phase("hanging")
    while True:
        pass


def act(task: Any, records: Any, tell: Any) -> Any:
    """Do what a text says."""
    match task:
        case "hang":
            hang(task, records, tell)
        case "search":
            while True:
                tell.search(Progress("search", 0, None, 0.0))
                time.sleep(0.01)
        case "search to the end":
            try:
                act("search", records, tell)
            except KeyboardInterrupt:
                return "the best"
        case "die":
            os._exit(9)
        case "fail":
            msg = f"{str(Path(tempfile.gettempdir()) / '1' / 'evil.hrc')!r}, line 1: wrong"
            raise InputError(msg)
        case "modes":
            return os.umask(0o077)
    records.seen = [*getattr(records, "seen", ()), task]
    return records.seen
