"""Sheets of workbooks, whatever program wrote them: what stands in their cells, row by row."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile, ZipFile

from cellveil.io.excel import check_excel
from cellveil.io.sheets.open_document import check_unpacked, letters, open_document_pages
from csp.errors import CellveilError, InputError
from csp.formats.reading import regular_file

MOST_ROWS = 2**20
"""Rows of a sheet of Excel; a damaged file may claim a thousand times more."""

_OUT_OF_SIGHT = re.compile(rb'<(?:\w+:)?(row|col)\b[^>]*?\shidden="(?:1|true)"[^>]*>')
_NUMBER = re.compile(rb'\s(?:r|min)="([0-9]+)"')

_BLOCK, _TAG = 2**20, 2**12
"""Bytes that are looked through at once for hidden rows, and most that one tag has."""


class Page(Protocol):
    """A sheet of a workbook."""

    @property
    def title(self) -> str:
        """Its name."""

    @property
    def hidden(self) -> dict[str, str]:
        """Whether "rows" and "columns" are not shown, each with the first of them, or ""."""

    @property
    def formulas(self) -> Collection[tuple[int, int]]:
        """Row, from 1, and place, from 0, of formulas; those with a saved value may be missing."""

    def values(self) -> Iterator[tuple[Any, ...]]:
        """Rows of what the cells hold."""

    def indented(self) -> Iterator[Sequence[tuple[Any, int]]]:
        """Rows of what the cells hold, and how far each is indented."""


@contextmanager
def opened(path: Path) -> Iterator[list[Page]]:
    """Open a workbook: its sheets, in their order.

    Raises
    ------
    InputError
        If openpyxl is not installed where Excel's form needs it, or the file is not a workbook,
        damaged or encrypted.
    """
    place = regular_file(path)
    if path.name.lower().endswith(".ods"):
        with _readable(path, "an OpenDocument spreadsheet (.ods)"):
            pages = open_document_pages(place, MOST_ROWS)
        yield list(pages)
        return
    check_excel()
    with _excel(path, saved=True) as book:
        yield [_ExcelPage(page, path) for page in book.worksheets]


@dataclass(frozen=True, eq=False)
class _ExcelPage:
    """A sheet that openpyxl reads, with the values that were saved."""

    page: Any
    path: Path

    @property
    def title(self) -> str:
        return str(self.page.title)

    def values(self) -> Iterator[tuple[Any, ...]]:
        self.page.reset_dimensions()  # what other programs write there is not always true
        return map(tuple, self.page.iter_rows(values_only=True))

    def indented(self) -> Iterator[Sequence[tuple[Any, int]]]:
        self.page.reset_dimensions()
        for line in self.page.iter_rows():
            looks = [(cell.value, cell.alignment) for cell in line]
            yield [(value, int(look.indent) if look else 0) for value, look in looks]

    @cached_property
    def formulas(self) -> frozenset[tuple[int, int]]:
        with _excel(self.path, saved=False) as book:
            page = book[self.title]
            page.reset_dimensions()
            return frozenset(
                (number, place)
                for number, cells in enumerate(page.iter_rows(), 1)
                for place, cell in enumerate(cells)
                if cell.data_type == "f"
            )

    @property
    def hidden(self) -> dict[str, str]:
        first: dict[bytes, str] = {}
        before = b""
        # Sheets that are opened to be read row by row know nothing of this; it is in their tags.
        with self.page._get_source() as source:
            while block := source.read(_BLOCK):
                text = before + block
                for tag in _OUT_OF_SIGHT.finditer(text):
                    number = _NUMBER.search(tag[0])
                    place = int(number[1]) if number else 0
                    name = letters(place - 1) if tag[1] == b"col" else str(place)
                    first.setdefault(tag[1], name if place else "")
                before = text[-_TAG:]
        words = {b"row": "rows", b"col": "columns"}
        return {word: first[tag] for tag, word in words.items() if tag in first}


@contextmanager
def _excel(path: Path, *, saved: bool) -> Iterator[Any]:
    """Open a workbook with the values that were saved, or with its formulas."""
    from openpyxl import load_workbook

    place = regular_file(path)
    with _readable(path, "an Excel workbook (.xlsx)"):
        with ZipFile(place) as parts:
            check_unpacked(parts, path)
        with closing(
            load_workbook(place, read_only=True, data_only=saved, keep_links=False)
        ) as book:
            yield book


@contextmanager
def _readable(path: Path, what: str) -> Iterator[None]:
    """Name a damaged file, over which libraries stumble in ways of their own."""
    try:
        yield
    except CellveilError:
        raise
    except (
        *(ArithmeticError, AttributeError, BadZipFile, EOFError, LookupError, OSError),
        *(MemoryError, NotImplementedError, SyntaxError, TypeError, ValueError, zlib.error),
    ) as error:
        msg = f"{str(path)!r} is not {what}, or is damaged or encrypted; save it again"
        raise InputError(msg) from error
