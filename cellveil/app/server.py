"""What the page does: it fills the choices, runs the job they make, and hands over the files."""

from __future__ import annotations

import asyncio
import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from shiny import App, reactive, render, req, ui

from cellveil.app.choices import Choices, Rules, columns_of, looked_at, safe_name
from cellveil.app.page import COLUMNS, NONE, page
from cellveil.app.work import State, Work
from cellveil.front import message_of
from cellveil.io.sheets import records_of
from cellveil.jobs.job import read_job
from cellveil.jobs.run import Done
from csp.errors import CellveilError
from csp.release_file import write_release
from csp.rules.inspection import Inspection
from csp.tables.hierarchies.hierarchy import Hierarchy

__all__ = ["make_app"]

JOB = "job.toml"
_PLACE = re.compile(rf"^{re.escape(JOB)}(?:, table [^:]*)?: ")
LOOK_AGAIN = 0.4
"""Seconds between two looks at a job that runs."""


def make_app(base: Path, data: Path | None = None) -> App:
    """Application of one office desk, whose pages open with `data`.

    Each page has a folder of its own in the private folder `base`, which goes when it is closed.
    """

    def server(input: Any, output: Any, session: Any) -> None:
        del output
        folder = Path(tempfile.mkdtemp(prefix="page-", dir=base))
        session.on_ended(lambda: shutil.rmtree(folder, ignore_errors=True))
        _Desk(folder, data).attach(input)

    return App(page(), server)


class _Desk:
    """State of one page."""

    def __init__(self, folder: Path, data: Path | None) -> None:
        self.folder = folder
        self.data: reactive.Value[Path | None] = reactive.Value(None)
        self.columns: reactive.Value[tuple[str, ...]] = reactive.Value(())
        self.problem = reactive.Value("")
        self.trees: reactive.Value[dict[str, Path]] = reactive.Value({})
        self.work: reactive.Value[Work | None] = reactive.Value(None)
        self.state: reactive.Value[State | None] = reactive.Value(None)
        self.ran = reactive.Value("")
        if data is not None:
            (folder / data.name).symlink_to(data.resolve())
            self.open(folder / data.name)

    def open(self, path: Path) -> None:
        """Take another file of records."""
        with self._telling():
            self.columns.set(columns_of(path))
            self.trees.set({})
            self.data.set(path)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Show on the page what goes wrong inside."""
        try:
            yield
        except (CellveilError, OSError) as error:
            self.problem.set(_words(error))
        else:
            self.problem.set("")

    def attach(self, input: Any) -> None:
        """Connect the inputs of the page."""
        self._take_files(input)
        choices = self._choices(input)
        self._look(input, choices)
        self._run(input, choices)
        self._show()
        self._hand_over()

    # ---- steps 1 and 2 -----------------------------------------------------------------------

    def _take_files(self, input: Any) -> None:
        @reactive.effect
        @reactive.event(input.data)
        def _() -> None:
            taken = self._saved(input.data())
            if taken is not None:
                self.open(taken)

        @reactive.effect
        @reactive.event(input.hrc)
        def _() -> None:
            name = input.hrc_of()
            taken = self._saved(input.hrc())
            if taken is not None and name:
                with self._telling():
                    Hierarchy.from_hrc(taken)
                    self.trees.set(self.trees.get() | {name: taken})

        @reactive.effect
        def _() -> None:
            names = self.columns.get()
            plain = {name: name for name in names}
            ui.update_selectize("by", choices=plain, selected=[])
            for name, (_, _, nothing) in COLUMNS.items():
                ui.update_select(name, choices={NONE: nothing} | plain, selected=NONE)

        @reactive.effect
        def _() -> None:
            ui.update_select("hrc_of", choices=list(input.by() or ()))

        @reactive.effect
        @reactive.event(input.nested_use)
        def _() -> None:
            found = self.looking.result()
            path = self.data.get()
            if path is None or isinstance(found, str):
                return
            trees = dict(self.trees.get())
            for name in input.nested_use():
                if name not in trees and name in found.hierarchies:
                    chain = found.hierarchies[name]
                    tree = Hierarchy.from_columns(records_of(path), chain)
                    trees[name] = self.folder / f"{safe_name(name)}.hrc"
                    trees[name].write_text(tree.to_hrc(), encoding="utf-8")
            self.trees.set(trees)

    def _saved(self, given: Any) -> Path | None:
        """Move an upload into the folder of this page under its own name."""
        if given:
            with self._telling():
                target = self.folder / safe_name(given[0]["name"])
                target.unlink(missing_ok=True)
                shutil.move(given[0]["datapath"], target)
                return target
        return None

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
            formats = ("csv", "xlsx") if find_spec("openpyxl") else ("csv",)
            return Choices(
                path, by, input.value() or None, input.contributor() or None,
                input.weight() or None, self.trees.get(), rules, input.cost(), input.margins(),
                input.singletons(), input.negative(), input.missing().strip(),
                float(numbers["time_limit"]), input.attacks(), formats,
            )  # fmt: skip

        made: Callable[[], Choices | str] = choices
        return made

    def _look(self, input: Any, choices: Callable[[], Choices | str]) -> None:
        @reactive.extended_task
        async def looking(chosen: Choices) -> Inspection | str:
            def look() -> Inspection | str:
                try:
                    return looked_at(chosen)
                except (CellveilError, OSError) as error:
                    return _words(error)

            return await asyncio.to_thread(look)

        self.looking = looking

        @reactive.effect
        def _() -> None:
            chosen = choices()
            if isinstance(chosen, Choices):
                looking.cancel()
                looking(chosen)

        @render.ui
        def columns() -> Any:
            if self.problem.get():
                return ui.p(self.problem.get(), class_="failure", role="alert")
            if not self.columns.get():
                return None
            return ui.p(f"{len(self.columns.get())} columns: {', '.join(self.columns.get())}.")

        @render.ui
        def nested() -> Any:
            found = looking.result()
            if isinstance(found, str) or not found.hierarchies:
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

        @render.ui
        def sensitive() -> Any:
            chosen = choices()
            if isinstance(chosen, str):
                return ui.p(chosen, class_="note") if chosen else None
            found = looking.result()
            if isinstance(found, str):
                return ui.p(found, class_="failure", role="alert")
            table = found.tables[0]
            (rule, count), *_ = table.sensitive.items()
            return ui.div(
                ui.p(
                    ui.strong(f"{count:,} of {table.cells:,} cells are sensitive"),
                    f" under {rule}. {table.empty:,} cells have no contributor, {table.single:,} "
                    f"have one, {table.double:,} two.",
                    class_="note",
                ),
                *(
                    ui.p(f"{words[0].upper()}{words[1:]}.", class_="note")
                    for words in found.problems
                ),
            )

    # ---- step 4 ------------------------------------------------------------------------------

    def _run(self, input: Any, choices: Callable[[], Choices | str]) -> None:
        @reactive.effect
        @reactive.event(input.protect)
        def _() -> None:
            running = self.work.get()
            chosen = choices()
            if running is not None and not running.state.over:
                return
            if isinstance(chosen, str):
                ui.notification_show(chosen or "Choose a file of records first.", type="warning")
                return
            shutil.rmtree(self.folder / "published", ignore_errors=True)
            try:
                text = chosen.job()
                (self.folder / JOB).write_text(text, encoding="utf-8")
                work = Work(read_job(self.folder / JOB))
            except (CellveilError, OSError) as error:
                self.state.set(State(over=True, error=error))
                return
            self.ran.set(text)
            self.state.set(work.state)
            self.work.set(work)

        @reactive.effect
        @reactive.event(input.stop)
        def _() -> None:
            running = self.work.get()
            if running is not None:
                running.stop()

        @reactive.effect
        def _() -> None:
            running = self.work.get()
            if running is None:
                return
            now = running.state
            self.state.set(now)
            if not now.over:
                reactive.invalidate_later(LOOK_AGAIN)

        @reactive.effect
        def _() -> None:
            now = self.state.get()
            busy = now is not None and not now.over
            ui.update_action_button("protect", disabled=busy)
            ui.update_action_button("stop", disabled=not busy or (now is not None and now.stopped))

    # ---- step 5 ------------------------------------------------------------------------------

    def _show(self) -> None:
        @render.ui
        def progress() -> Any:
            now = self.state.get()
            if now is None:
                return None
            if now.error is not None:
                return ui.p(_words(now.error), class_="failure", role="alert")
            if now.over:
                return ui.p("Done.", class_="good", role="status")
            running = self.work.get()
            seconds = "" if running is None else f" ({monotonic() - running.began:.0f} s)"
            best = "" if now.suppressed is None else f" {now.suppressed:,} cells suppressed so far"
            best += f", {now.quality}" if best and now.quality else ""
            ending = " Stopping: the best pattern is audited." if now.stopped else ""
            return ui.p(
                ui.tags.progress(aria_label="working"), f" {now.phase}{seconds}.{best}{ending}",
                role="status",
            )  # fmt: skip

        @render.ui
        def result() -> Any:
            now = self.state.get()
            if now is None or not now.done:
                return ui.p("Nothing yet.", class_="lead")
            (done,) = now.done
            html = self._file(".html")
            excel = any(file.suffix == ".xlsx" for file in done.files)
            return ui.div(
                ui.p(
                    "The published table is safe: ",
                    f"{done.words[0].upper()}{done.words[1:]}",
                    class_="good",
                    role="status",
                ),
                ui.div(
                    ui.download_button("table_csv", "Published table (.csv)"),
                    ui.download_button("table_xlsx", "Workbook (.xlsx)") if excel else None,
                    ui.download_button("report_html", "Report (.html)"),
                    ui.download_button("release_json", "Release for attacks (.zip)"),
                    ui.download_button("job_zip", "Job, to run again (.zip)"),
                    class_="buttons",
                ),
                ui.tags.iframe(
                    srcdoc=html.read_text(encoding="utf-8"), title="Report", class_="report",
                    sandbox="allow-scripts",
                ),
            )  # fmt: skip

    def _hand_over(self) -> None:
        def name(suffix: str) -> Callable[[], str]:
            return lambda: self._file(suffix).name

        @render.download_button(filename=name(".csv"))
        def table_csv() -> str:
            return str(self._file(".csv"))

        @render.download_button(filename=name(".xlsx"))
        def table_xlsx() -> str:
            return str(self._file(".xlsx"))

        @render.download_button(filename=name(".html"))
        def report_html() -> str:
            return str(self._file(".html"))

        @render.download_button(filename="job.zip")
        def job_zip() -> Any:
            texts = {JOB: self.ran.get()}
            for path in self.trees.get().values():
                texts[path.name] = path.read_text(encoding="utf-8")
            yield _zipped({key: text.encode() for key, text in texts.items()})

        @render.download_button(filename="release.zip")
        def release_json() -> Any:
            protected = self._done().protected
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                write_release(protected.release, Path(place) / "release.json", protected.mechanism)
                yield _zipped({path.name: path.read_bytes() for path in Path(place).iterdir()})

    def _done(self) -> Done:
        now = self.state.get()
        req(now is not None and now.done)
        found: Done = now.done[0]
        return found

    def _file(self, suffix: str) -> Path:
        return next(file for file in self._done().files if file.name.endswith(suffix))


def _zipped(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in sorted(files.items()):
            out.writestr(zipfile.ZipInfo(name), content)
    return raw.getvalue()


def _plain(number: float) -> str:
    """Write a number as rules have it: 10, not 10.0."""
    return f"{number:g}"


def _words(error: Exception) -> str:
    """Say what the command line would say, without its options and the name of the job."""
    found = message_of(error, set(), program="cellveil")
    text = str(error) if found is None else found[0]
    text = _PLACE.sub("", text).replace("; --reveal shows its best interval", "")
    return f"{text[:1].upper()}{text[1:]}."
