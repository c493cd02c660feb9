"""Sheets of OpenDocument spreadsheets (.ods), as LibreOffice and many offices write them.

References
----------
OASIS (2021), Open Document Format for Office Applications 1.3, part 3: sections 9 (tables), 19.385
(value types).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree
from zipfile import ZipFile

from cellveil.front import refuse
from csp.formats.reading import MAX_BYTES

_SPACE = "{urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _OFFICE, _TEXT = (f"{_SPACE}{name}:1.0}}" for name in ("table", "office", "text"))
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_LENGTH = re.compile(r"(-?)PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")
_BLANKS = re.compile(r"[ \t\r\n]+")
"""White space of the markup stands for one blank; all other is an element."""

MOST_COLUMNS = 2**14
"""Columns of a sheet: a damaged file may claim that one cell is repeated without end."""


@dataclass(slots=True, eq=False)
class OpenDocumentPage:
    """A sheet of an OpenDocument spreadsheet; see `cellveil.io.sheets.pages.Page`."""

    title: str
    most: int
    lines: list[tuple[Any, ...]] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    formulas: set[tuple[int, int]] = field(default_factory=set)  # those without a saved value
    _blank: int = 0
    _columns: int = 0

    def values(self) -> Iterator[tuple[Any, ...]]:
        """Rows of what the cells hold."""
        return iter(self.lines)

    def indented(self) -> Iterator[list[tuple[Any, int]]]:
        """Rows of what the cells hold; indents are blanks in the text itself."""
        return ([(value, 0) for value in line] for line in self.lines)

    def add_row(self, row: Any) -> None:
        """Add a row, as often as it says; blank ones count once something follows."""
        times = int(row.get(f"{_TABLE}number-rows-repeated", 1))
        line: list[Any] = []
        formulas = []
        blank = 0
        for cell in row:
            if cell.tag not in _CELLS:
                continue
            again = int(cell.get(f"{_TABLE}number-columns-repeated", 1))
            value = _value(cell)
            if cell.get(f"{_TABLE}formula") is not None and value is None:
                formulas.append(len(line) + blank)
            elif value is None:
                blank += again
                continue
            if len(line) + blank + again > MOST_COLUMNS:
                refuse(f"sheet {self.title!r} has more than {MOST_COLUMNS:,} columns")
            line += [None] * blank + [value] * again
            blank = 0
        first = len(self.lines) + self._blank
        if row.get(f"{_TABLE}visibility", "visible") != "visible" and line:
            self.hidden.setdefault("rows", str(first + 1))
        if not line:
            self._blank += times
            return
        if first + times > self.most:
            refuse(f"sheet {self.title!r} has more than {self.most:,} rows")
        self.lines += [()] * self._blank + [tuple(line)] * times
        self._blank = 0
        self.formulas |= {(first + 1 + i, place) for i in range(times) for place in formulas}

    def add_columns(self, column: Any) -> None:
        """Note which columns are hidden."""
        if column.get(f"{_TABLE}visibility", "visible") != "visible":
            self.hidden.setdefault("columns", letters(self._columns))
        self._columns += int(column.get(f"{_TABLE}number-columns-repeated", 1))


def check_unpacked(parts: ZipFile, path: Path) -> None:
    """Refuse a workbook that unpacks to more than is read.

    Raises
    ------
    InputError
    """
    if sum(part.file_size for part in parts.infolist()) > MAX_BYTES:
        refuse(f"{str(path)!r} unpacks to more than {MAX_BYTES} bytes; save it as .csv")


def open_document_pages(path: Path, most: int) -> list[OpenDocumentPage]:
    """Sheets of a spreadsheet, of `most` rows each.

    Raises
    ------
    InputError
        If the file unpacks to too much, or a sheet has too many rows or columns.
    KeyError, ValueError, zipfile.BadZipFile, xml.etree.ElementTree.ParseError
        If it is something else, encrypted, or damaged.
    """
    with ZipFile(path) as parts:
        check_unpacked(parts, path)
        with parts.open("content.xml") as file:
            if b"<!DOCTYPE" in file.read(1000):  # no spreadsheet program declares entities
                refuse(f"{str(path)!r} declares a document type; save it again")
        with parts.open("content.xml") as file:
            return _pages(file, most)


def _pages(file: IO[bytes], most: int) -> list[OpenDocumentPage]:
    """Sheets one after the other; what has been read of a row is dropped."""
    pages: list[OpenDocumentPage] = []
    inside = 0  # of tables: charts and cells may hold others
    for event, part in ElementTree.iterparse(file, ("start", "end")):
        if part.tag == f"{_TABLE}table":
            inside += 1 if event == "start" else -1
            if event == "start" and inside == 1:
                pages.append(OpenDocumentPage(part.get(f"{_TABLE}name", ""), most))
        elif event == "end" and inside == 1:
            if part.tag == f"{_TABLE}table-row":
                pages[-1].add_row(part)
                part.clear()
            elif part.tag == f"{_TABLE}table-column":
                pages[-1].add_columns(part)
    return pages


def _value(cell: Any) -> Any:
    """Return what a cell holds: a number, a truth value, a date, a time, or text."""
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in ("float", "percentage", "currency"):
        number = float(cell.get(f"{_OFFICE}value"))
        return int(number) if number.is_integer() else number
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    if kind == "date":
        text = cell.get(f"{_OFFICE}date-value")
        return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    if kind == "time":
        return _length(cell.get(f"{_OFFICE}time-value"))
    text = "\n".join(_text(part) for part in cell if part.tag == f"{_TEXT}p")
    return cell.get(f"{_OFFICE}string-value") or text or None


def _text(part: Any) -> str:
    """Text of a paragraph: runs of blanks, tabs and ends of lines are elements of their own."""
    found = [_BLANKS.sub(" ", part.text or "")]
    for inner in part:
        if inner.tag == f"{_TEXT}s":
            found.append(" " * min(int(inner.get(f"{_TEXT}c", 1)), MOST_COLUMNS))
        elif inner.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            found.append("\t" if inner.tag.endswith("tab") else "\n")
        elif inner.tag not in (f"{_OFFICE}annotation", f"{_TEXT}note"):
            found.append(_text(inner))
        found.append(_BLANKS.sub(" ", inner.tail or ""))
    return "".join(found)


def _length(text: str) -> time | timedelta:
    """Time of day, or a length of time of more than a day."""
    found = _LENGTH.fullmatch(text)
    if found is None:
        msg = "a length of time of another form"
        raise ValueError(msg)
    sign, hours, minutes, seconds = found.groups()
    length = timedelta(
        hours=int(hours or 0), minutes=int(minutes or 0), seconds=float(seconds or 0)
    )
    if sign or length >= timedelta(days=1):
        return -length if sign else length
    return (datetime.min + length).time()


def letters(place: int) -> str:
    """Return the name of a column of a sheet, from 0: A, B, ..., Z, AA, ..."""
    text, rest = "", place + 1
    while rest:
        rest, last = divmod(rest - 1, 26)
        text = chr(ord("A") + last) + text
    return text
