"""The records of a file, read once for all that a page asks of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.io.crosstables import Recognised, recognise
from cellveil.io.inputs import read_table
from cellveil.io.published import read_public
from cellveil.io.sheets.reading import Sheet, open_sheet
from cellveil.requests.publication import Publication
from cellveil.requests.source import Source, is_workbook
from csp.release.release import Release
from csp.tables.columns import column_names, read_columns
from csp.tables.sources.files import WholeFile, read_whole
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Records of a file as they were read."""

    data: WholeFile | Sheet | Recognised

    @property
    def cross(self) -> str:
        """Whether it is a cross table "counts" or "values"; "" for records."""
        return self.data.cross if isinstance(self.data, Recognised) else ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, or of the dimensions of a cross table."""
        if isinstance(self.data, Recognised):
            return self.data.by
        return self.data.names if isinstance(self.data, Sheet) else column_names(self.data)

    def for_numbers(self, numbers: Collection[str | None]) -> Any:
        """Return the records as the library takes them, some of whose columns are numbers."""
        if isinstance(self.data, Sheet):
            return self.data.columns(numbers=[name for name in numbers if name is not None])
        return self.data

    def note(self, names: Sequence[str], numbers: Collection[str]) -> str:
        """Sentence that says how a text file was read, where that was found out."""
        if isinstance(self.data, Recognised):
            return " ".join((*self.data.told, *self.data.own))
        if isinstance(self.data, Sheet):
            return self.data.note
        path, note = Path(self.data.file.path), read_columns(self.data, names, numbers).note
        return note.replace(repr(str(path)), repr(path.name))

    def table(self, source: Source) -> Table:
        """Table that the library makes of the file."""
        return read_table(source, records=None if self.cross else self.data)  # type: ignore[arg-type]


class Records:
    """Records, or the published table, of the file that was asked for last."""

    def __init__(self) -> None:
        self._mark: tuple[object, ...] | None = None
        self._kept: Kept | None = None
        self._asked: tuple[object, ...] | None = None
        self._release: Release | None = None

    def release(self, path: Path, publication: Publication) -> Release:
        """Return the published table of a file, which is read unless it is here.

        Raises
        ------
        InputError
            If the file cannot be read as a published table.
        """
        asked = (_mark(path), publication)
        if self._release is None or self._asked != asked:
            self._asked = self._release = None
            self._release = read_public(path, publication, quiet=True)[0]
            self._asked = asked
        return self._release

    def of(self, path: Path, phase: Callable[[str], None] = lambda _: None) -> Kept:
        """Return the records of a file, which are read unless they are here.

        A file that was changed since is read again: the job says which bytes its table is of.
        `phase` is told how far the reading is.

        Raises
        ------
        InputError
            If the file cannot be read as records.
        """
        mark = _mark(path)
        if self._kept is None or self._mark != mark:
            self._mark = self._kept = None  # before the next take their place in memory
            phase("reading the records")
            table = recognise(path, None, {})
            if table is not None:
                self._kept = Kept(table)
            elif is_workbook(path):
                sheet = open_sheet(path, progress=lambda n: phase(f"reading the records: {n:,}"))
                self._kept = Kept(sheet)
            else:
                self._kept = Kept(read_whole(path))
            self._mark = mark
        return self._kept


def _mark(path: Path) -> tuple[object, ...]:
    """Return what tells a file from others, and from itself before a change."""
    try:
        found = path.stat()
    except OSError:  # who reads it says why
        return (path,)
    return path, found.st_ino, found.st_size, found.st_mtime_ns
