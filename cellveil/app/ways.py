"""Ways to publish, side by side on the page: asked for, followed, shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiny import reactive, render, ui

from cellveil.app.choices import Choices
from cellveil.app.following import Followed, stop_button
from cellveil.app.work.comparisons import Compare
from cellveil.app.work.wording import words_of
from cellveil.app.work.worker import State, Worker
from csp.errors import CellveilError


class Ways:
    """The comparison of a page."""

    def __init__(self, worker: Worker, folder: Path) -> None:
        self._folder, self._running = folder, Followed(worker)

    def attach(self, input: Any, choices: Callable[[], Choices | str]) -> None:
        """Connect the inputs: `choices` are those of the table and its rules."""
        self._running.follow()

        @reactive.effect
        @reactive.event(input.compare)
        def _() -> None:
            now, chosen = self._running.state.get(), choices()
            if now is not None and not now.over:
                return
            if isinstance(chosen, str):
                ui.notification_show(chosen or "Choose a file of records first.", type="warning")
                return
            try:
                task = Compare(chosen.data, chosen.job(), names_of(input.ways()))
            except CellveilError as error:
                self._running.show(State(over=True, error=words_of(error, self._folder)))
                return
            self._running.ask(task)

        @reactive.effect
        @reactive.event(input.stop_comparing)
        def _() -> None:
            self._running.stop()

        @render.ui
        def stop_comparing_place() -> Any:
            return stop_button("stop_comparing", self._running)

        @render.ui
        def compared() -> Any:
            now = self._running.state.get()
            if now is None:
                return None
            if now.error:
                return ui.p(now.error, class_="failure", role="alert")
            if not now.over:
                return self._running.progress()
            return ui.tags.iframe(
                srcdoc=now.answer.read_text(encoding="utf-8"), title="Ways to publish",
                class_="report", sandbox="allow-scripts",
            )  # fmt: skip


def names_of(text: str) -> tuple[str, ...]:
    """Names of ways in a text, by commas."""
    return tuple(name for part in text.split(",") if (name := part.strip()))
