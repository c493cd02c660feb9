"""What a page has done with a table that somebody else published: recognised, read, audited.

Answers hold counts, names and words. Values that were worked out lie in files, which the page hands
over when they are asked for.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attacks.published_audit import audit_published
from attacks.published_findings import unavailable_cells
from cellveil.app.work.records import Records
from cellveil.io.files import write_json
from cellveil.io.sheets.reading import grid_of_sheet
from cellveil.report.published import audit_page
from cellveil.requests.publication import Publication
from cellveil.requests.source import is_workbook
from csp.errors import CellveilError
from csp.formats.delimited import TextFile
from csp.published.door import grid_of
from csp.published.entries import Convention, read_entry, sign_of
from csp.published.marks import EVERY_OFFICE, OFFICES
from csp.published.names import are_flags
from csp.tables.hierarchies.totals import is_total

_LOOKED_AT = 2**20
"""Bytes of a file up to which it is looked at whether it is a published table."""

_HEAD = 10
"""Rows at the top in which the names of columns are looked for."""

_PLAIN = Convention()
_SECRET = {
    sign for marks in (EVERY_OFFICE, *OFFICES.values()) for sign in (*marks.withheld, *marks.ranges)
}

AUDIT, SHOWN = "audit.json", "audit.html"
_REVEALED = "revealed-"


@dataclass(frozen=True, slots=True)
class Recognise:
    """Answer whether a file looks like a published table of which something is withheld."""

    data: Path


@dataclass(frozen=True, slots=True)
class Interpret:
    """Read a published table, and answer how it is `Interpreted`."""

    data: Path
    publication: Publication


@dataclass(frozen=True, slots=True)
class Interpreted:
    """How a published table was read: its size, and what was recognised or guessed, in words."""

    names: tuple[str, ...]
    cells: int
    withheld: int
    ranged: int
    unavailable: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examine:
    """Audit a published table, and answer what was `Audited`; `seconds` is the time it has."""

    data: Path
    publication: Publication
    percent: str = "10"
    integer: bool = True
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit came to: in words, and the folder of its files."""

    sentences: tuple[str, ...]
    safe: bool
    disclosed: int
    folder: Path

    def file(self, name: str, *, reveal: bool) -> Path:
        """File of the audit (`AUDIT` or `SHOWN`), with the values that were worked out or not."""
        return self.folder / (f"{_REVEALED}{name}" if reveal else name)


def recognise(data: Path) -> bool:
    """Look for a sign of something withheld among numbers, and for a total among the labels.

    Records have no totals. Large files are records unless somebody says otherwise.
    """
    kind = data.suffix.lower()
    if data.stat().st_size > _LOOKED_AT or kind in (".parquet", ".sbs"):
        return kind == ".sbs"  # what a program writes for publication
    try:
        rows = grid_of_sheet(data, None) if is_workbook(data) else grid_of(TextFile(data))
    except CellveilError:
        return False
    width = max(map(len, rows), default=0)
    columns = [[sign_of(row[j]) for row in rows if j < len(row)] for j in range(width)]
    numbers = [column for column in columns if _holds_numbers(column)]
    labels = {text for column in columns if column not in numbers for text in column}
    labels |= {text for row in rows[:_HEAD] for text in map(sign_of, row)}
    hidden = any(_is_hidden(text) for column in numbers for text in column[1:])
    hidden |= any(are_flags(column[0]) and not _SECRET.isdisjoint(column[1:]) for column in columns)
    return hidden and any(map(is_total, labels))


def _is_hidden(text: str) -> bool:
    return text in _SECRET or read_entry(text, _PLAIN).ranged


def _holds_numbers(column: Sequence[str]) -> bool:
    """Whether most of a column are numbers, or signs in place of some."""
    texts = [text for text in column[1:] if text]
    numbers = sum(read_entry(text, _PLAIN).is_number for text in texts)
    return numbers > 0 and 2 * (numbers + sum(map(_is_hidden, texts))) > len(texts)


def interpret(task: Interpret, records: Records) -> Interpreted:
    """Read a published table, and say how.

    Raises
    ------
    InputError
        If it cannot be read without further words.
    """
    release = records.release(task.data, task.publication)
    ranged = 0 if release.ranged is None else int(release.ranged.sum())
    return Interpreted(
        release.names, len(release.pattern), int(release.withheld.sum()), ranged,
        int(unavailable_cells(release).sum()), release.notes,
    )  # fmt: skip


def examine(task: Examine, records: Records) -> Audited:
    """Audit a published table, and write the audit twice: without values, and with them.

    Raises
    ------
    InputError
        If the table cannot be read, or there is nothing to work out.
    OutOfTime
        If the time passed first.
    """
    release = records.release(task.data, task.publication)
    found = audit_published(
        release, percent=task.percent, integer=task.integer, time_limit=task.seconds
    )
    folder = task.data.parent / "audit"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = Audited(tuple(found.sentences()), found.safe, len(found.disclosed), folder)
    for reveal in (False, True):
        write_json(done.file(AUDIT, reveal=reveal), found.summary(reveal=reveal))
        page = audit_page(found, task.data.stem, reveal=reveal)
        done.file(SHOWN, reveal=reveal).write_text(page, encoding="utf-8")
    return done
