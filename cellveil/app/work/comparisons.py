"""The task of publishing one table in several ways: its page for the office, as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cellveil.app.work.records import Records
from cellveil.comparing.side_by_side import compare
from cellveil.jobs.job import read_job
from cellveil.report.ways import ways_page


@dataclass(frozen=True, slots=True)
class Compare:
    """Publish the table of a job in several ways, and answer the page that sets them side by side.

    `job` is the text of the job, whose data lie beside it.
    """

    data: Path
    job: str
    ways: tuple[str, ...]


def compared(task: Compare, records: Records, phase: Callable[[str], None]) -> Path:
    """Do the task.

    Raises
    ------
    CellveilError, OSError
        As for `cellveil.app.work.tasks.perform`, and for ways that do not exist.
    """
    folder = task.data.parent
    asked = folder / "ways.toml"
    asked.write_text(task.job, encoding="utf-8")
    job = read_job(asked)
    (one,) = job.tables
    table = records.of(task.data, phase).table(one.source)
    phase("publishing in several ways")
    clock = job.search.limit.started()
    found = compare(table, job.mechanism(table.names), task.ways, time_limit=clock.seconds)
    page = folder / "ways.html"
    page.write_text(ways_page(found, one.name), encoding="utf-8")
    return page
