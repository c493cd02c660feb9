"""Files of records for what takes them whole: a workbook is read, all else when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cellveil.io.sheets.reading import open_sheet
from cellveil.render.screen import say
from cellveil.requests.source import Written, is_workbook
from csp.formats.kinds import kind_of
from csp.tables.sources.files import read_whole


def record_files(*paths: Path, written: Written, whole: bool = False) -> list[Any]:
    """Return files of records as the library takes data; `whole` reads each once for all questions.

    What is said of sheets is for those that are workbooks, of text for text, and of labels for
    files of statistical programs. Numbers of a sheet stay numbers, also in columns of codes, where
    whole ones lose their point.

    Raises
    ------
    InputError
        If what is said is for none of the files, or a sheet of records cannot be read.
    """
    books = [is_workbook(path) for path in paths]
    if all(books) or not any(books):
        written.check(paths[0])
    kinds = {kind_of(path) for path, book in zip(paths, books, strict=True) if not book}
    found: list[Any] = []
    for path, book in zip(paths, books, strict=True):
        if book:
            sheet = open_sheet(path, written.sheet)
            if sheet.note:
                say(sheet.note)
            found.append(sheet.columns(numbers=sheet.names))
        else:
            own = written if len(kinds) == 1 else _of_kind(written, kind_of(path))
            found.append(read_whole(own.file(path)) if whole else own.file(path))
    return found


def _of_kind(written: Written, kind: str) -> Written:
    """Return what is said of files of one kind, where there are others."""
    if kind == "text":
        return replace(written, labels=False)
    labels = written.labels and kind == "statistical"
    return replace(written, sep=None, decimal=None, na=None, labels=labels)
