"""What the page does with a table that somebody else published: it is read, and audited."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from shiny import reactive, render, req, ui

from cellveil.app.choices import safe_name
from cellveil.app.following import Followed, stop_button
from cellveil.app.page import PUBLISHED, RECORDS
from cellveil.app.publishing import placed, publication
from cellveil.app.work.publications import (
    AUDIT,
    SHOWN,
    Audited,
    Examine,
    Interpret,
    Interpreted,
    Recognise,
)
from cellveil.app.work.worker import Worker
from cellveil.requests.publication import Publication
from csp.errors import InputError

_RECORDS = "If it holds records, say so above."
_GUESS = f"It looks like a table that somebody published. {_RECORDS}"
_CELLS = "cell is", "cells are"


class PublishedTable:
    """The file of a page as a table that somebody published.

    `file` is what was opened last, and `beside` says where a file that belongs to it may lie.
    """

    def __init__(
        self, worker: Worker, file: Callable[[], Path | None], beside: Callable[[Path, str], Path]
    ) -> None:
        self._file, self._beside = file, beside
        self._files: reactive.Value[Mapping[str, Path]] = reactive.Value({})
        self._recognising = Followed(worker)
        self._reading, self._auditing = Followed(worker), Followed(worker)
        self._guessed = reactive.Value(value=False)
        # Not the box itself, which the browser clears a little after the next audit was asked for.
        self._reveal = reactive.Value(value=False)

    def attach(self, input: Any) -> None:
        """Connect the inputs of the page."""
        for followed in (self._recognising, self._reading, self._auditing):
            followed.follow()
        asked = self._publication(input)
        self._recognise(input)
        self._take_files(input)
        self._read(input, asked)
        self._audit(input, asked)
        self._show(asked)

    def recognise(self, file: Path) -> None:
        """Find out whether a file looks like a published table, and take it for one then."""
        self._guessed.set(False)
        self._recognising.ask(Recognise(file))

    def _recognise(self, input: Any) -> None:
        @reactive.effect
        @reactive.event(self._recognising.state)
        def _() -> None:
            now, order = self._recognising.state.get(), self._recognising.order.get()
            if now is None or order is None or now.answer is not True:
                return
            if order.task.data == self._file() and input.kind() == RECORDS:
                self._guessed.set(True)
                ui.update_radio_buttons("kind", selected=PUBLISHED)

    def _take_files(self, input: Any) -> None:
        def take(name: str) -> None:
            given, file = input[name](), self._file()
            if not given or file is None:
                return
            called = safe_name(given[0]["name"])
            place = self._beside(file, called)
            shutil.move(given[0]["datapath"], place)
            # A file that belongs to a field goes by the name of its input, others by their own.
            self._files.set({**self._files.get(), name if name in placed() else called: place})

        for name in (*(n for n, f in placed().items() if f.kind == "file"), "published_hrc"):
            reactive.effect(reactive.event(input[name])(partial(take, name)))

        @reactive.effect
        @reactive.event(self._file)
        def _() -> None:
            self._files.set({})  # they lie beside the file before

    def _publication(self, input: Any) -> Callable[[], Publication | str]:
        @reactive.calc
        def asked() -> Publication | str:
            plain = [name for name, field in placed().items() if field.kind != "file"]
            try:
                return publication({name: input[name]() for name in plain}, self._files.get())
            except InputError as error:
                return f"{error}."

        found: Callable[[], Publication | str] = asked
        return found

    def _read(self, input: Any, asked: Callable[[], Publication | str]) -> None:
        @reactive.effect
        def _() -> None:
            file, told = self._file(), asked()
            if file is not None and input.kind() == PUBLISHED:
                self._auditing.forget()
                if isinstance(told, Publication):
                    self._reading.ask(Interpret(file, told))

    def _audit(self, input: Any, asked: Callable[[], Publication | str]) -> None:
        @reactive.effect
        @reactive.event(input.audit)
        def _() -> None:
            file, told = self._file(), asked()
            percent, seconds = input.narrow(), input.audit_time()
            if file is None:
                ui.notification_show("Choose a file first.", type="warning")
            elif isinstance(told, str) or None in (percent, seconds):
                words = told if isinstance(told, str) else "A number is missing above."
                ui.notification_show(words, type="warning")
            elif not self._auditing.busy.get():
                self._reveal.set(False)
                ui.update_checkbox("reveal", value=False)
                self._auditing.ask(
                    Examine(file, told, f"{percent:g}", input.whole(), float(seconds))
                )

        @reactive.effect
        @reactive.event(input.reveal)
        def _() -> None:
            self._reveal.set(input.reveal())

        @reactive.effect
        @reactive.event(input.stop_audit)
        def _() -> None:
            self._auditing.stop()
            self._reading.stop()

        @reactive.effect
        def _() -> None:
            ui.update_action_button("audit", disabled=self._auditing.busy.get())

    def _show(self, asked: Callable[[], Publication | str]) -> None:
        @render.ui
        def recognised() -> Any:
            if self._file() is None:
                return None
            told = asked()
            now = self._reading.state.get()
            if isinstance(told, str):
                return _failure(told)
            if now is None or not now.over:
                return self._reading.progress()
            if now.error:
                return _failure(f"{now.error} {_RECORDS}")
            return _facts(now.answer, _GUESS if self._guessed.get() else "")

        @render.ui
        def stop_audit_place() -> Any:
            return stop_button("stop_audit", self._reading, self._auditing)

        @render.ui
        def auditing() -> Any:
            now = self._auditing.state.get()
            return _failure(now.error) if now and now.error else self._auditing.progress()

        @render.ui
        def audited() -> Any:
            done = self._done()
            shown = done.file(SHOWN, reveal=self._reveal.get())
            return ui.div(
                ui.div(
                    *(ui.p(line) for line in done.sentences),
                    class_="good" if done.safe else "failure", role="status",
                ),
                ui.div(
                    ui.download_button("audit_json", "Audit (.json)"),
                    ui.download_button("audit_html", "Page (.html)"),
                    class_="buttons",
                ),
                ui.tags.iframe(
                    srcdoc=shown.read_text(encoding="utf-8"), title="Audit", class_="report",
                    sandbox="allow-scripts",
                ),
            )  # fmt: skip

        @render.download_button(filename=AUDIT)
        def audit_json() -> str:
            return str(self._done().file(AUDIT, reveal=self._reveal.get()))

        @render.download_button(filename=SHOWN)
        def audit_html() -> str:
            return str(self._done().file(SHOWN, reveal=self._reveal.get()))

    def _done(self) -> Audited:
        now = self._auditing.state.get()
        req(now is not None and now.answer is not None)
        found: Audited = now.answer
        return found


def _failure(words: str) -> Any:
    return ui.p(words, class_="failure", role="alert")


def _facts(read: Interpreted, guess: str) -> Any:
    """Say how a table was read: its size, then everything that was recognised or guessed."""
    size = f"{read.cells:,} cells of {' by '.join(read.names)}"
    hidden = f"{read.withheld:,} {_CELLS[read.withheld != 1]} withheld"
    if read.ranged:
        hidden += f", and {read.ranged:,} are not known exactly: rounded, or not printed"
    if read.unavailable:
        hidden += f"; not available: {read.unavailable:,}"
    return ui.div(
        ui.p(ui.strong(size), f": {hidden}.", class_="note"),
        *(ui.p(f"{note[:1].upper()}{note[1:]}.", class_="note") for note in read.notes),
        ui.p(guess, class_="note") if guess else None,
    )
