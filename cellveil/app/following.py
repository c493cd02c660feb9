"""Tasks as the page follows them: it looks again and again how far they are."""

from __future__ import annotations

from time import monotonic
from typing import Any

from shiny import reactive, ui

from cellveil.app.work.worker import Order, State, Worker

LOOK_AGAIN = 0.3
"""Seconds between two looks at a task."""


class Followed:
    """The last task of a kind: its order and its state, and whether it goes on."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.order: reactive.Value[Order | None] = reactive.Value(None)
        self.state: reactive.Value[State | None] = reactive.Value(None)
        self.busy = reactive.Value(value=False)

    def ask(self, task: Any) -> None:
        """Give out a task in place of the last."""
        order = self._worker.ask(task)
        self.order.set(order)
        self.show(order.state)

    def show(self, state: State) -> None:
        """Show a state."""
        self.state.set(state)
        self.busy.set(not state.over)

    def stop(self) -> None:
        """Stop the task, if it goes on."""
        with reactive.isolate():
            order = self.order.get()
        if order is not None:
            self._worker.stop(order)
            self.show(order.state)

    def forget(self) -> None:
        """Stop the task, if it goes on, and show nothing of it."""
        self.stop()
        self.order.set(None)
        self.state.set(None)

    def follow(self) -> None:
        """Look at the task until it is over."""

        @reactive.effect
        def _() -> None:
            order = self.order.get()
            if order is None:
                return
            now = order.state
            self.show(now)
            if not now.over:
                reactive.invalidate_later(LOOK_AGAIN)

    def progress(self, more: str = ".") -> Any:
        """Line that says how far the task is; none if there is none, or it is over."""
        order, now = self.order.get(), self.state.get()
        if order is None or now is None or now.over:
            return None
        reactive.invalidate_later(LOOK_AGAIN)
        return ui.p(
            ui.tags.progress(aria_label="working"),
            f" {now.phase} ({monotonic() - order.began:.0f} s){more}",
            role="status",
        )


def stop_button(name: str, *followed: Followed) -> Any:
    """Button that stops tasks, while one of them goes on."""
    busy = [one.busy.get() for one in followed]
    return ui.input_action_button(name, "Stop") if any(busy) else None
