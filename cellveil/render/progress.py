"""A progress line on stderr for long work, and only where a person looks at it."""

from __future__ import annotations

import math
import sys
import threading
import time
from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, Self

from cellveil.render.screen import manner

if TYPE_CHECKING:
    from csp.solve import Progress

DELAY = 0.7
"""Seconds of work before anything is shown."""

REDRAW = 0.2
"""Seconds between two looks of a line in a notebook."""

WORDS = {
    "protectable": "can every cell be protected?",
    "bound": "bounding the cost relation by relation",
    "first pattern": "finding a first pattern",
    "cuts": "cutting off unsafe patterns",
    "guided": "patterns near the relaxation",
    "improved": "searching around the best pattern",
    "tightened": "raising the bound",
    "parts": "programs over parts of the table",
    "search": "searching for cheaper patterns",
    "branch": "branching",
    "tie-break": "choosing among the cheapest",
    "audit": "auditing every suppressed cell",
}


def _in_notebook() -> bool:
    """Whether a person looks at the output of a notebook's cell."""
    return "ipykernel" in sys.modules


class _CellLine:
    """A line of progress in the output of a notebook's cell, with what rich's progress offers."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html, self._began = HTML, time.monotonic()
        self._state: dict[str, Any] = dict.fromkeys(("completed", "total")) | {"facts": ""}
        self._drawn = 0.0
        self._shown = display(HTML(""), display_id=True)

    def update(self, task: int, **what: Any) -> None:
        """Show another state, a few times a second at most."""
        del task
        self._state |= what
        if time.monotonic() - self._drawn < REDRAW:
            return
        self._drawn = time.monotonic()
        done, total = self._state["completed"], self._state["total"]
        share = f' value="{done / total:.3f}"' if done is not None and total else ""
        words = f"{self._state['description']} {self._state['facts']}"
        seconds = f"{time.monotonic() - self._began:.0f} s"
        self._shown.update(
            self._html(f"<progress{share}></progress> {escape(words.strip())}, {seconds}")
        )

    def stop(self) -> None:
        """Leave the output to the result."""
        self._shown.update(self._html(""))


class _Line(ABC):
    """A line that shows after a while what is being done, where a person looks at it."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._bar: Any = None
        self._over = False

    def __enter__(self) -> Self:
        if (sys.stderr.isatty() or _in_notebook()) and not manner.get().quiet:
            self._timer.start()
        return self

    def __exit__(self, *why: object) -> None:
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

    def _show(self) -> None:
        """Start the line; runs on the timer's thread."""
        with self._lock:
            if self._over:
                return
            if _in_notebook():
                self._bar = _CellLine()
                self._bar.update(0, description=self._phase)
                return
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(*self._columns(), console=Console(stderr=True), transient=True)
            self._bar.add_task(self._phase, total=None, facts="")
            self._bar.start()

    @abstractmethod
    def _columns(self) -> tuple[Any, ...]:
        """Columns of the line on a terminal."""


class Meter(_Line):
    """Progress of a run: phase, what is known of the gap, and the cells suppressed so far.

    Parameters
    ----------
    phase : str
        What happens first.
    limit : float, optional
        Wall seconds that the work may take; shown beside those it has taken.

    Examples
    --------
    In a notebook or a script, as in the commands:

    >>> import csp
    >>> table = csp.Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> with Meter("protecting") as meter:
    ...     protected = csp.protect(table, "FREQ(10,10)", progress=meter)
    """

    def __init__(self, phase: str, limit: float | None = None) -> None:
        super().__init__(phase)
        self._limit = "" if limit is None or math.isinf(limit) else f"of {limit:.0f} s"

    def __call__(self, state: Progress) -> None:
        """Take the state of a suppression run."""
        self.phase(WORDS.get(state.phase, state.phase))
        with self._lock:
            if self._bar is None or state.best is None:
                return
            facts = f"{state.suppressed} cells suppressed, {state.quality}"
            self._bar.update(0, total=1.0, completed=1.0 - state.gap_at_most, facts=facts)

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        return (
            # What must be read stands first: a narrow terminal cuts the end off.
            SpinnerColumn(),
            TimeElapsedColumn(Column(min_width=7)),
            TextColumn(self._limit, markup=False, table_column=Column(min_width=len(self._limit))),
            BarColumn(bar_width=12, table_column=Column(min_width=12)),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[facts]}", markup=False),
        )


class Bar(_Line):
    """Progress of counted work, done of total; the phase says what is counted."""

    def __call__(self, done: int, wanted: int) -> None:
        """Show how much is done."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(0, completed=done, total=wanted)

    def _columns(self) -> tuple[Any, ...]:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        words = TextColumn("{task.description}", markup=False)
        return words, BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn()
