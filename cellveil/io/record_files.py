"""Files of records for what takes them whole, and the masked ones that are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.front import refuse
from cellveil.io.files import check_case, check_outputs, write_columns
from cellveil.io.sheets.reading import open_sheet
from cellveil.render.screen import say
from cellveil.requests.outputs import Masked
from cellveil.requests.source import Written, is_workbook
from csp.formats.delimited import TextFile
from csp.formats.files import Together
from csp.formats.kinds import kind_of
from csp.formats.statistical import (
    Labels,
    statistical_columns,
    statistical_labels,
    statistical_library,
    statistical_names,
)
from csp.tables.codes import text_codes
from csp.tables.columns import read_whole
from csp.tables.cross.frames import columns_to_frame

_STATISTICAL = (".dta", ".sav")
MASKED = (".csv", ".csv.gz", ".parquet", *_STATISTICAL)
"""What the name of a masked file ends with."""

# Stata 14 is the first that has Unicode.
_STATA = 14

_NUMBER = re.compile(r"(?=.{1,15}$)-?(0|[1-9]\d*)(\.\d+)?")
"""Text that reads as a number, and back as the same one."""

_PLACES, _DIGITS = 16, 18
"""Decimal places that SPSS shows at most, and the width of a number beside them."""

_STATA_TIME, _SPSS_TIME = b"<timestamp>\x11", 92
"""What stands before the time at which a file was written, and the place of that time."""


def record_files(*paths: Path, written: Written, whole: bool = False) -> list[Any]:
    """Return files of records as the library takes data; `whole` reads each once for all questions.

    A workbook is read, all else when it is asked for. What is said of sheets is for those that are
    workbooks, of text for text, and of labels for files of statistical programs. Numbers of a sheet
    stay numbers, also in columns of codes, where whole ones lose their point.

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


def check_masked(files: Masked, data: Path, report: Path | None = None) -> None:
    """Check before any work that a masked file can be written, and what stands beside it.

    Raises
    ------
    InputError
        As for `cellveil.io.files.check_outputs`, or if a library is missing.
    """
    outputs = {"-o": files.output, "--summary": files.summary, "--report": report}
    check_outputs(outputs, [data], {"-o": MASKED})
    if files.output is not None and files.output.suffix.lower() in _STATISTICAL:
        statistical_library(files.output)
        columns_to_frame({}, _frames())


def write_masked(
    path: Path, columns: Mapping[str, Sequence[Any]], files: Together, source: Any = None
) -> None:
    """Write a masked file; one of Stata or SPSS with the labels of the file that was masked.

    Columns keep their labels, and codes do in columns that hold codes of the source only: means
    and ranges have none. The same columns give the same bytes, whenever they are written.

    Parameters
    ----------
    path : Path
        Ends with one of `MASKED`.
    columns : mapping of str to sequence
        Numbers or texts. Texts that are codes of a file of Stata or SPSS become what stood there.
    files : Together
    source : optional
        What was masked, as `record_files` returns it.

    Raises
    ------
    InputError
        As for `cellveil.io.files.write_columns`; if pyreadstat or a library of frames is not
        installed; if the program does not allow a name or a text.
    """
    end = path.suffix.lower()
    if end not in _STATISTICAL:
        write_columns(path, columns, files)
        return
    library, errors = statistical_library(path)
    given, labels = _with_labels(columns, source)
    told = {"column_labels": labels.columns, "variable_value_labels": labels.codes}
    frame = columns_to_frame(given, _frames())
    with files.path(path) as draft:
        try:
            if end == ".dta":
                library.write_dta(frame, draft, version=_STATA, **told)
            else:
                check_case(path, columns)
                library.write_sav(frame, draft, variable_format=_formats(given), **told)
        except errors as error:
            refuse(f"cannot write {str(path)!r}: {error}")
        _forget_time(draft, end)


def _frames() -> str:
    """Library of the frames that pyreadstat writes."""
    return "pandas" if find_spec("pandas") else "polars"


def _with_labels(
    columns: Mapping[str, Sequence[Any]], source: Any
) -> tuple[dict[str, list[Any]], Labels]:
    """Columns with the codes of their source, and its labels that still apply."""
    given = {name: _plain(column) for name, column in columns.items()}
    if not isinstance(source, TextFile) or kind_of(source.path) != "statistical":
        return {name: _numbers(column) for name, column in given.items()}, Labels()
    there = [name for name in statistical_names(source) if name in given]
    labels, known = statistical_labels(source), statistical_columns(source, there)
    codes = {}
    for name in there:
        held = _coded(given, name, known[name])
        if source.labels:  # they are the codes
            continue
        # Those of codes that no record has any more may tell who was there.
        codes[name] = {c: t for c, t in labels.codes.get(name, {}).items() if c in held}
    names = {name: label for name, label in labels.columns.items() if name in given}
    return given, Labels(names, {name: some for name, some in codes.items() if some})


def _coded(columns: dict[str, list[Any]], name: str, source: NDArray[Any]) -> set[Any]:
    """Let a column hold what stands for its codes in its source; none if it holds others too."""
    codes = dict(zip(text_codes(source), source.tolist(), strict=True))
    texts = text_codes(np.array(columns[name], dtype=object))
    held = {text for text in texts if text}
    if not held <= codes.keys():
        return set()
    stood = [codes[text] if text else None for text in texts]
    words = {isinstance(item, str) for item in stood if item is not None}
    columns[name] = stood if words == {False} else texts  # of labels some codes may have none
    return {codes[text] for text in held}


def _forget_time(draft: Path, end: str) -> None:
    """Put the same time into all files, in the place of that at which one was written."""
    with draft.open("r+b") as raw:
        if end == ".dta":
            raw.seek(raw.read(1000).index(_STATA_TIME) + len(_STATA_TIME))
            raw.write(b"01 Jan 1970 00:00")
        else:
            raw.seek(_SPSS_TIME)
            raw.write(b"01 Jan 7000:00:00")


def _plain(column: Iterable[Any]) -> list[Any]:
    """Entries of a column; a gap between texts is an empty one, as these programs have it."""
    items = list(column)
    text = any(isinstance(item, str) for item in items)
    return ["" if item is None else item for item in items] if text else items


def _numbers(column: list[Any]) -> list[Any]:
    """Numbers in place of texts that are all numbers; "007" is a code."""
    there = [item for item in column if item]
    if not there or not all(isinstance(item, str) and _NUMBER.fullmatch(item) for item in there):
        return column
    return [float(item) if item else None for item in column]


def _formats(columns: Mapping[str, list[Any]]) -> dict[str, str]:
    """How SPSS shows numbers: with the decimals that they have; it shows two of any otherwise."""
    found = {}
    for name, column in columns.items():
        numbers = [repr(item) for item in column if isinstance(item, float)]
        places = (len(text.partition(".")[2]) for text in numbers if text[-2:] != ".0")
        if numbers:
            most = min(max(places, default=0), _PLACES)
            found[name] = f"F{_DIGITS + most}.{most}"
    return found
