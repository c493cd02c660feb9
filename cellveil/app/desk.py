"""One open page: it fills the choices, has their job run, and hands over the files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shiny import reactive, render, req, ui

from cellveil.app.choices import Choices, Rules, free_name, safe_name, tree_name
from cellveil.app.door.messages import MOST_UPLOAD, TOO_LARGE
from cellveil.app.following import LOOK_AGAIN, Followed, stop_button
from cellveil.app.further import further_sections, kinds
from cellveil.app.handing import hand_over
from cellveil.app.page import COLUMNS, NONE, RECORDS
from cellveil.app.published import PublishedTable
from cellveil.app.ways import Ways
from cellveil.app.work.tasks import (
    JOB,
    Columns,
    Found,
    Group,
    Look,
    Outcome,
    Protect,
    Read,
    Tree,
)
from cellveil.app.work.wording import words_of
from cellveil.app.work.worker import Order, State, Worker
from csp.errors import CellveilError, InputError
from csp.rules.inspection import Inspection


class Desk:
    """State of one page."""

    def __init__(self, folder: Path, worker: Worker, data: Path | None) -> None:
        self.folder, self.worker = folder, worker
        self.opened = 0
        self.looked_at: Path | None = None
        self.file: reactive.Value[Path | None] = reactive.Value(None)
        self.data: reactive.Value[Path | None] = reactive.Value(None)
        self.columns: reactive.Value[Columns] = reactive.Value(Columns(()))
        self.problem = reactive.Value("")
        self.trees: reactive.Value[dict[str, Path]] = reactive.Value({})
        self.coming: reactive.Value[tuple[tuple[Order, dict[str, Path]], ...]] = reactive.Value(())
        self.reading, self.looking = Followed(worker), Followed(worker)
        self.running = Followed(worker)
        self.ran = reactive.Value("")
        self.ways = Ways(worker, folder)
        self.published = PublishedTable(worker, self.file.get, self._beside)
        if data is not None:
            place = self._new_place(data.name)
            place.symlink_to(data.resolve())
            self.file.set(place)

    def attach(self, input: Any) -> None:
        """Connect the inputs of the page."""
        for followed in (self.reading, self.looking, self.running):
            followed.follow()
        self._take_data(input)
        self._take_trees(input)
        self._fill(input)
        choices = self._choices(input)
        self._look(choices)
        self._say_what_is_sensitive(choices)
        self._run(input, choices)
        self.ways.attach(input, choices)
        self._show()
        self.published.attach(input)
        hand_over(self._done, self.ran.get, self.trees.get)

    # ---- steps 1 and 2 -----------------------------------------------------------------------

    def _take_data(self, input: Any) -> None:
        @reactive.effect
        @reactive.event(input.data)
        def _() -> None:
            given = input.data()
            if not given:
                return
            self.reading.stop()
            self.looking.stop()
            self._forget("")
            place = self._new_place(safe_name(given[0]["name"]))
            shutil.move(given[0]["datapath"], place)
            self.file.set(place)

        @reactive.effect
        def _() -> None:
            file = self.file.get()
            with reactive.isolate():
                known = self.data.get() == file
            if input.kind() != RECORDS:
                self.problem.set("")  # of reading it as records
            elif file is not None and not known:
                self.problem.set("")
                self.reading.ask(Read(file))

        @reactive.effect
        @reactive.event(input[TOO_LARGE])
        def _() -> None:
            name, size = input[TOO_LARGE]()
            self.problem.set(
                f"Error: {name} has {size / 1e6:,.0f} MB, and the page takes files of at most "
                f"{MOST_UPLOAD / 1e6:,.0f} MB. Open the page with it (cellveil app FILE), or "
                "use the command line (cellveil protect FILE ...)."
            )

        @reactive.effect
        @reactive.event(self.reading.state)
        def _() -> None:
            now, order = self.reading.state.get(), self.reading.order.get()
            if now is None or order is None or not now.over:
                return
            if now.error:
                self._forget(now.error if input.kind() == RECORDS else "")
            else:
                self.columns.set(now.answer)
                self.data.set(order.task.data)
            if order.task.data == self.file.get() != self.looked_at and not now.stopped:
                self.looked_at = order.task.data
                self.published.recognise(order.task.data)

        @reactive.effect
        @reactive.event(input.stop_reading)
        def _() -> None:
            self.reading.stop()

    def _forget(self, problem: str) -> None:
        """Go on without data."""
        self.problem.set(problem)
        self.data.set(None)
        self.columns.set(Columns(()))
        self.trees.set({})
        self.coming.set(())

    def _new_place(self, name: str) -> Path:
        """Where the next file of records lies, beside which its job and its results will be."""
        self.opened += 1
        folder = self.folder / str(self.opened)
        folder.mkdir()
        return folder / free_name(name, (JOB, "published", "release"))

    def _take_trees(self, input: Any) -> None:
        @reactive.effect
        @reactive.event(input.hrc)
        def _() -> None:
            name, given, data = input.hrc_of(), input.hrc(), self.data.get()
            if given and name and data is not None:
                file = self._beside(data, safe_name(given[0]["name"]))
                shutil.move(given[0]["datapath"], file)
                order = self.worker.ask(Tree(file))
                self.coming.set((*self.coming.get(), (order, {name: file})))

        @reactive.effect
        @reactive.event(input.nested_use)
        def _() -> None:
            found, data = self._found(), self.data.get()
            if found is None or data is None:
                return
            files: dict[str, Path] = {}
            for name in input.nested_use() or ():
                if name not in self.trees.get() and name in found.hierarchies:
                    files[name] = self._beside(data, tree_name(name))
                    files[name].touch()  # the name is taken
            if files:
                chains = {file: found.hierarchies[name] for name, file in files.items()}
                order = self.worker.ask(Group(data, chains))
                self.coming.set((*self.coming.get(), (order, files)))

        @reactive.effect
        def _() -> None:
            coming = self.coming.get()
            over = [one for one in coming if one[0].state.over]
            for order, files in over:
                if order.state.error:
                    self.problem.set(order.state.error)
                else:
                    self.problem.set("")
                    with reactive.isolate():
                        self.trees.set(self.trees.get() | files)
            if over:
                self.coming.set(tuple(one for one in coming if one not in over))
            elif coming:
                reactive.invalidate_later(LOOK_AGAIN)

    def _beside(self, data: Path, name: str) -> Path:
        taken = [file.name for file in data.parent.iterdir()]
        return data.parent / free_name(name, (*taken, JOB, "published", "release"))

    def _found(self) -> Inspection | None:
        """Return what the last look found, if it is over and found anything."""
        now = self.looking.state.get()
        return now.answer.facts if now is not None and now.over and not now.error else None

    def _fill(self, input: Any) -> None:
        @reactive.effect
        def _() -> None:
            found = self.columns.get()
            plain = {name: name for name in found.names}
            ui.update_selectize("by", choices=plain, selected=[*plain] if found.cross else [])
            records = {} if found.cross else plain
            for name, (_, _, nothing) in COLUMNS.items():
                ui.update_select(name, choices={NONE: nothing} | records, selected=NONE)

        @reactive.effect
        def _() -> None:
            ui.update_select("hrc_of", choices=list(input.by() or ()))

        @render.ui
        def columns() -> Any:
            if self.problem.get():
                return ui.p(self.problem.get(), class_="failure", role="alert")
            found = self.columns.get()
            if not found.names:
                return None
            if found.cross:
                return ui.p(found.note)
            return ui.p(f"{len(found.names)} columns: {', '.join(found.names)}.")

        @render.ui
        def reading() -> Any:
            return self.reading.progress()

        @render.ui
        def stop_reading_place() -> Any:
            return stop_button("stop_reading", self.reading)

        @render.ui
        def nested() -> Any:
            now = self.looking.state.get()
            req(now is not None and now.over, cancel_output=True)
            found = self._found()
            if found is None or not found.hierarchies:
                return None
            names = {
                name: f"{name}, grouped by {', '.join(chain[:-1])}"
                for name, chain in found.hierarchies.items()
            }
            return ui.input_checkbox_group("nested_use", "Columns that can be hierarchies", names)

        @render.ui
        def trees() -> Any:
            kept = [name for name in self.trees.get() if name in (input.by() or ())]
            return ui.p(f"With a hierarchy: {', '.join(kept)}.") if kept else None

    # ---- choices and what they come to -------------------------------------------------------

    def _choices(self, input: Any) -> Callable[[], Choices | str]:
        @reactive.calc
        def choices() -> Choices | str:
            path = self.data.get()
            if path is None:
                return ""
            by = tuple(input.by() or ())
            if not by:
                return "Choose at least one dimension."
            asked = ("few_n", "percent_p", "dominance_n", "dominance_k", "time_limit")
            numbers = {name: input[name]() for name in asked}
            if None in numbers.values():
                return "A number is missing above."
            rules = Rules(
                int(numbers["few_n"]) if input.few() else None,
                (int(numbers["dominance_n"]), _plain(numbers["dominance_k"]))
                if input.dominance()
                else None,
                _plain(numbers["percent_p"]) if input.percent() else None,
                input.words(),
            )
            try:
                further = further_sections({name: input[name]() for name in kinds()})
            except InputError as error:
                return f"{error}."
            formats = ("csv", "xlsx") if find_spec("openpyxl") else ("csv",)
            return Choices(
                path, by, input.value() or None, input.contributor() or None,
                input.weight() or None, self.trees.get(), rules, input.cost(), input.margins(),
                input.singletons(), input.negative(), input.missing().strip(),
                float(numbers["time_limit"]), input.attacks(), formats, further,
                self.columns.get().cross,
            )  # fmt: skip

        made: Callable[[], Choices | str] = choices
        return made

    def _look(self, choices: Callable[[], Choices | str]) -> None:
        @reactive.effect
        def _() -> None:
            chosen = choices()
            if isinstance(chosen, Choices):
                self.looking.ask(Look(chosen))

    def _say_what_is_sensitive(self, choices: Callable[[], Choices | str]) -> None:
        @render.ui
        def sensitive() -> Any:
            chosen = choices()
            if isinstance(chosen, str):
                return ui.p(chosen, class_="note") if chosen else None
            now = self.looking.state.get()
            if now is None or not now.over:
                return self.looking.progress()
            if now.error:
                return ui.p(now.error, class_="failure", role="alert")
            found: Found = now.answer
            table = found.facts.tables[0]
            (rule, count), *_ = table.sensitive.items()
            return ui.div(
                ui.p(
                    ui.strong(f"{count:,} of {table.cells:,} cells are sensitive"),
                    f" under {rule}. {table.empty:,} cells have no contributor, {table.single:,} "
                    f"have one, {table.double:,} two.",
                    class_="note",
                ),
                *(ui.p(f"{words}.", class_="note") for words in found.facts.problems),
                ui.p(found.note, class_="note") if found.note else None,
            )

        @render.ui
        def stop_looking_place() -> Any:
            return stop_button("stop_looking", self.looking)

    # ---- step 4 ------------------------------------------------------------------------------

    def _run(self, input: Any, choices: Callable[[], Choices | str]) -> None:
        @reactive.effect
        @reactive.event(input.protect)
        def _() -> None:
            now, chosen = self.running.state.get(), choices()
            if now is not None and not now.over:
                return
            if isinstance(chosen, str):
                ui.notification_show(chosen or "Choose a file of records first.", type="warning")
                return
            for folder in self.folder.iterdir():  # of files that were opened before
                if folder.name.isdecimal() and folder != chosen.data.parent:
                    shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(chosen.data.parent / "published", ignore_errors=True)
            try:
                text = chosen.job()
                (chosen.data.parent / JOB).write_text(text, encoding="utf-8")
            except (CellveilError, OSError) as error:
                words = words_of(error, self.folder)
                self.running.show(State(over=True, error=words))
                return
            self.ran.set(text)
            self.running.ask(Protect(chosen.data))

        @reactive.effect
        @reactive.event(input.stop)
        def _() -> None:
            self.running.stop()

        @reactive.effect
        @reactive.event(input.stop_looking)
        def _() -> None:
            self.looking.stop()

        @reactive.effect
        def _() -> None:
            now = self.running.state.get()
            busy = now is not None and not now.over
            best = not busy or (now is not None and now.searching and not now.stopped)
            ui.update_action_button("protect", disabled=busy)
            ui.update_action_button(
                "stop", disabled=not busy,
                label="Stop and keep the best answer" if best else "Stop without a result",
            )  # fmt: skip

    # ---- step 5 ------------------------------------------------------------------------------

    def _show(self) -> None:
        @render.ui
        def progress() -> Any:
            now = self.running.state.get()
            if now is None:
                return None
            if now.error:
                return ui.p(now.error, class_="failure", role="alert")
            if now.over:
                return ui.p("Done.", class_="good", role="status")
            best = "" if now.suppressed is None else f" {now.suppressed:,} cells suppressed so far"
            best += f", {now.quality}" if best and now.quality else ""
            ending = " Stopping: the best pattern is audited." if now.stopped else ""
            return self.running.progress(f".{best}{ending}")

        @render.ui
        def result() -> Any:
            now = self.running.state.get()
            if now is None or now.answer is None:
                return ui.p("Nothing yet.", class_="lead")
            done: Outcome = now.answer
            excel = any(file.suffix == ".xlsx" for file in done.files)
            return ui.div(
                ui.p(f"The published table is safe: {done.words}", class_="good", role="status"),
                ui.div(
                    ui.download_button("table_csv", "Published table (.csv)"),
                    ui.download_button("table_xlsx", "Workbook (.xlsx)") if excel else None,
                    ui.download_button("report_html", "Report (.html)"),
                    ui.download_button("release_json", "Release for attacks (.zip)"),
                    ui.download_button("job_zip", "Job, to run again (.zip)"),
                    class_="buttons",
                ),
                ui.tags.iframe(
                    srcdoc=done.file(".html").read_text(encoding="utf-8"), title="Report",
                    class_="report", sandbox="allow-scripts",
                ),
            )  # fmt: skip

    def _done(self) -> Outcome:
        now = self.running.state.get()
        req(now is not None and now.answer is not None)
        found: Outcome = now.answer
        return found


def _plain(number: float) -> str:
    """Write a number as rules have it: 10, not 10.0."""
    return f"{number:g}"
