"""A progress line on stderr for long work, and only where a person looks at it."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cellveil.render.screen import manner

if TYPE_CHECKING:
    from csp.solve import Progress

__all__ = ["Bar", "Meter"]

DELAY = 0.7
"""Seconds of work before anything is shown."""

WORDS = {
    "protectable": "can every cell be protected?",
    "bound": "bounding the cost relation by relation",
    "first pattern": "finding a first pattern",
    "cuts": "cutting off unsafe patterns",
    "guided": "patterns near the relaxation",
    "improved": "searching around the best pattern",
    "tightened": "raising the bound",
    "core": "programs over few promising cells",
    "search": "searching for cheaper patterns",
    "branch": "branching",
    "tie-break": "choosing among the cheapest",
    "audit": "auditing every suppressed cell",
}


def _is_watched() -> bool:
    return sys.stderr.isatty() and not manner.get().quiet


class Meter:
    """Progress of a run: phase, what is known of the gap, and the cells suppressed so far.

    Parameters
    ----------
    phase : str
        What happens first.
    """

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._bar: Any = None
        self._over = False

    def __enter__(self) -> Meter:
        if _is_watched():
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._over = True
            self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()

    def phase(self, words: str) -> None:
        """Say what is being done now."""
        with self._lock:
            self._phase = words
            if self._bar is not None:
                self._bar.update(0, description=words)

    def __call__(self, state: Progress) -> None:
        """Take the state of a suppression run."""
        self.phase(WORDS.get(state.phase, state.phase))
        with self._lock:
            if self._bar is None or state.best is None:
                return
            facts = f"{state.quality}, {state.suppressed} cells suppressed"
            self._bar.update(0, total=1.0, completed=1.0 - state.gap_at_most, facts=facts)

    def _show(self) -> None:
        """Start the line; runs on the timer's thread."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._over:
                return
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[facts]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.add_task(self._phase, total=None, facts="")
            self._bar.start()


class Bar:
    """Progress of counted work, done of total, on stderr where a person looks at it.

    Parameters
    ----------
    words : str
        What is counted.
    """

    def __init__(self, words: str) -> None:
        self._words = words
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        if _is_watched():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(bar_width=24),
                MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True),
                transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task(self._words, total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, wanted: int) -> None:
        """Show how much is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=wanted)
