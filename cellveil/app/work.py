"""A job that runs beside the page: how far it is, and a way to stop it with its best answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

from cellveil.jobs.job import Job
from cellveil.jobs.run import Done, run_job
from cellveil.render.progress import WORDS
from csp.errors import CellveilError
from csp.solve import Progress

__all__ = ["State", "Work"]


@dataclass(frozen=True, slots=True)
class State:
    """How far a job is: its phase in words, and the cells and quality of the best pattern so far.

    `stopped` says whether it was asked to stop, `error` why there is no result.
    """

    phase: str = "reading the data"
    quality: str = ""
    suppressed: int | None = None
    over: bool = False
    stopped: bool = False
    error: Exception | None = None
    done: tuple[Done, ...] = ()


class Work:
    """One run of a job in a thread of its own; `run` is like `run_job`."""

    def __init__(self, job: Job, run: Callable[..., tuple[Done, ...]] = run_job) -> None:
        self._job, self._run = job, run
        self._state = State()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.began = monotonic()
        self._thread = threading.Thread(target=self._work, name="cellveil job", daemon=True)
        self._thread.start()

    @property
    def state(self) -> State:
        """State at this moment."""
        with self._lock:
            return self._state

    def stop(self) -> None:
        """End the search with the best answer so far; the final audit is still made."""
        self._stop.set()
        self._change(stopped=True)

    def join(self, seconds: float | None = None) -> None:
        """Wait until it is over."""
        self._thread.join(seconds)

    def _change(self, **what: object) -> None:
        with self._lock:
            self._state = replace(self._state, **what)  # type: ignore[arg-type]

    def _progress(self, now: Progress) -> None:
        self._change(
            phase=WORDS.get(now.phase, now.phase),
            quality="" if now.best is None else now.quality,
            suppressed=now.suppressed,
        )
        if self._stop.is_set():
            raise KeyboardInterrupt  # what csp takes for the wish to keep the best answer

    def _work(self) -> None:
        try:
            done = self._run(
                self._job, phase=lambda words: self._change(phase=words), progress=self._progress
            )
        except KeyboardInterrupt:
            self._change(error=CellveilError("stopped before there was a safe pattern"), over=True)
        except Exception as error:  # shown on the page; a thread cannot raise to a caller
            self._change(error=error, over=True)
        else:
            self._change(done=done, over=True, phase="done")
