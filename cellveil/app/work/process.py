"""The process in which the tasks of one page are done: it can be ended at any moment.

What is read, counted and solved here holds up neither the page nor the other pages, and goes with
its memory when the page, or the whole program, is closed.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from cellveil.app.work.records import Records
from cellveil.app.work.tasks import Tell
from cellveil.app.work.wording import words_of
from cellveil.render.progress import WORDS
from cellveil.render.screen import Manner, manner

STOP = "stop"
"""What is sent, in place of a task, to end a search with its best answer."""


INTERVAL = 0.1
"""Seconds between two words of a search."""


@dataclass(frozen=True, slots=True)
class Success:
    """What a task came to."""

    answer: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task came to nothing, in words."""

    words: str


def serve_tasks(pipe: Any, perform: Callable[..., Any], folder: Path) -> None:
    """Do the tasks that come through a pipe, one after another, until its other end is closed.

    `perform` is like `cellveil.app.work.tasks.perform`. Before each `Success` or `Failure` go any
    number of changes of the state of the task, each a dictionary.
    """
    os.umask(0o077)
    tempfile.tempdir = str(folder)
    tasks: queue.Queue[Any] = queue.Queue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(pipe, tasks, stop), daemon=True).start()
    manner.set(Manner(quiet=True))  # the terminal belongs to the program
    records = Records()
    while True:
        task = tasks.get()
        stop.clear()
        try:
            result: Success | Failure = Success(perform(task, records, _teller(pipe, stop)))
        except KeyboardInterrupt:
            result = Failure("Stopped before there was a safe pattern.")
        except Exception as error:  # shown on the page; a process cannot raise to another
            result = Failure(words_of(error, folder))
        pipe.send(result)


def _listen(pipe: Any, tasks: queue.Queue[Any], stop: threading.Event) -> None:
    while True:
        try:
            given = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)  # the program is gone; whatever runs here is for nobody
        if given == STOP:
            stop.set()
        else:
            tasks.put(given)


def _teller(pipe: Any, stop: threading.Event) -> Tell:
    last = -INTERVAL

    def search(now: Any) -> None:
        nonlocal last
        if monotonic() - last >= INTERVAL:
            last = monotonic()
            pipe.send(
                {
                    "phase": WORDS.get(now.phase, now.phase), "searching": True,
                    "quality": "" if now.best is None else now.quality,
                    "suppressed": now.suppressed,
                }
            )  # fmt: skip
        if stop.is_set():
            raise KeyboardInterrupt  # what csp takes for the wish to keep the best answer

    return Tell(lambda words: pipe.send({"phase": words}), search)
