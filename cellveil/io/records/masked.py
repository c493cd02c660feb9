"""Masked files: text, Parquet, or of Stata and SPSS with the labels of what was masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.front import refuse
from cellveil.io.files import check_case, check_outputs, write_columns
from cellveil.render.screen import say
from cellveil.requests.outputs import Masked
from csp.errors import InputError
from csp.formats.delimited import TextFile
from csp.formats.files import Together
from csp.formats.kinds import kind_of
from csp.formats.statistical import (
    Labels,
    statistical_columns,
    statistical_labels,
    statistical_library,
)
from csp.tables.codes import text_codes
from csp.tables.columns import source_of
from csp.tables.cross.frames import columns_to_frame

_PROGRAMS = {".dta": "Stata", ".sav": "SPSS"}
MASKED = (".csv", ".csv.gz", ".parquet", *_PROGRAMS)
"""What the name of a masked file ends with."""

# Stata 14 is the first that has Unicode.
_STATA = 14

_LONGEST = {".dta": 80, ".sav": 255}
"""Letters (Stata) or bytes (SPSS) of the label of a column."""

_CODE = 120
"""Bytes of the label of a code of SPSS."""

_RESERVED = frozenset(
    {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"}
)
"""Words of SPSS, which it takes for such however they are written."""

_PLACES, _DIGITS = 16, 18
"""Decimal places that SPSS shows at most, and the width of a number beside them."""

_STATA_TIME, _SPSS_TIME = b"<timestamp>\x11", 92
"""What stands before the time at which a file was written, and the place of that time."""


def check_masked(files: Masked, data: Path, report: Path | None = None) -> None:
    """Check before any work that a masked file can be written, and what stands beside it.

    Raises
    ------
    InputError
        As for `cellveil.io.files.check_outputs`, or if a library is missing.
    """
    outputs = {"-o": files.output, "--summary": files.summary, "--report": report}
    check_outputs(outputs, [data], {"-o": MASKED})
    if files.output is not None and files.output.suffix.lower() in _PROGRAMS:
        statistical_library(files.output)
        _frame({})


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
        Numbers or texts. In files of Stata and SPSS texts that are codes of the source become what
        stood there: numbers, dates.
    files : Together
    source : optional
        What was masked, as `cellveil.io.records.reading.record_files` returns it.

    Raises
    ------
    InputError
        As for `cellveil.io.files.write_columns`; if pyreadstat or a library of frames is not
        installed; if the program does not allow the name of a column (named), or an entry.
    """
    end = path.suffix.lower()
    if end not in _PROGRAMS:
        write_columns(path, columns, files)
        return
    if end == ".sav":
        check_case(path, columns)
        taken = [name for name in columns if name.lower() in _RESERVED]
        if taken:
            refuse(f"cannot write {str(path)!r}: {taken[0]!r} is a word of SPSS; rename the column")
    given, labels = _with_labels({name: list(column) for name, column in columns.items()}, source)
    labels = _fitting(labels, given, end)
    errors = statistical_library(path)[1]
    with files.path(path) as draft:
        try:
            _write(draft, end, given, labels)
        except errors as error:
            for name, column in given.items():
                try:
                    _write(draft, end, {name: column}, Labels())
                except errors as own:
                    refuse(f"cannot write {str(path)!r}: column {name!r}: {own}; rename the column")
            refuse(f"cannot write {str(path)!r}: {error}")
        _forget_time(draft, end)


def _write(draft: Path, end: str, columns: Mapping[str, list[Any]], labels: Labels) -> None:
    library = statistical_library(draft)[0]
    told = {"column_labels": labels.columns, "variable_value_labels": labels.codes}
    if end == ".dta":
        library.write_dta(_frame(columns), draft, version=_STATA, **told)
    else:
        library.write_sav(_frame(columns), draft, variable_format=_formats(columns), **told)


def _frame(columns: Mapping[str, list[Any]]) -> Any:
    """Frame of a library that pyreadstat knows."""
    return columns_to_frame(columns, "pandas" if find_spec("pandas") else "polars")


# ---- what stands in the columns ------------------------------------------------------------------


def _with_labels(columns: dict[str, list[Any]], source: Any) -> tuple[dict[str, list[Any]], Labels]:
    """Columns with the codes of their source, and its labels that still apply."""
    statistical = isinstance(source, TextFile) and kind_of(source.path) == "statistical"
    labels = statistical_labels(source) if statistical else Labels()
    names = () if source is None else source_of(source).names
    own = labels.codes if statistical and not source.labels else {}  # else they are the codes
    codes = {}
    for name in columns:
        if name in names:
            held = _coded(columns, name, _stood(source, name, statistical=statistical))
            # Those of codes that no record has any more may tell who was there.
            codes[name] = {c: t for c, t in own.get(name, {}).items() if c in held}
        columns[name] = _plain(columns[name], text=name in labels.texts)
    kept = {name: label for name, label in labels.columns.items() if name in columns}
    return columns, Labels(kept, {name: some for name, some in codes.items() if some})


def _stood(source: Any, name: str, *, statistical: bool) -> dict[str, Any]:
    """Return what stands for each code of a column of the source.

    Numbers stand for texts that are all such; "007" is a code.
    """
    if statistical:
        column = statistical_columns(source, [name])[name]
        return dict(zip(text_codes(column), column.tolist(), strict=True))
    given = source_of(source)
    column = given.read([name], given.as_they_stand).arrays[0]
    codes = dict(zip(text_codes(column), column.tolist(), strict=True))
    texts = [code for code, item in codes.items() if isinstance(item, str) and code]
    if not texts or not all(text.lstrip("-")[:1].isdigit() for text in texts):
        return codes
    try:
        numbers = given.read([name], [name]).arrays[0].tolist()
        pairs = dict(zip(text_codes(column), numbers, strict=True))
        known = {text: float(pairs[text]) for text in texts}
    except (InputError, ValueError, TypeError):  # texts, then
        return codes
    if not all(_is_number(text, number) for text, number in known.items()):
        return codes
    return codes | known


def _is_number(text: str, number: float) -> bool:
    """Whether a text is how a number is written, of which nothing is lost."""
    plain = text.strip().replace(",", ".")
    whole = plain.lstrip("-").partition(".")[0]
    if len(whole) > 1 and whole[0] == "0":
        return False
    try:
        return Decimal(plain) == Decimal(repr(number))
    except InvalidOperation:
        return False


def _coded(columns: dict[str, list[Any]], name: str, codes: Mapping[str, Any]) -> set[Any]:
    """Let a column hold what stands for its codes in its source; none if it holds others too."""
    texts = text_codes(np.array(columns[name], dtype=object))
    held = {text for text in texts if text}
    if not held <= codes.keys():
        return set()
    stood = [codes[text] if text else None for text in texts]
    words = {isinstance(item, str) for item in stood if item is not None}
    if True in words and not any(isinstance(item, str) for item in columns[name]):
        return set()  # numbers, which happen to look like labels
    columns[name] = stood if True not in words else texts  # of labels some codes may have none
    return {codes[text] for text in held}


def _plain(column: Iterable[Any], *, text: bool) -> list[Any]:
    """Entries of a column; a gap between texts is an empty one, as these programs have it."""
    items = list(column)
    if text or any(isinstance(item, str) for item in items):
        return ["" if item is None else item for item in items]
    return items if any(item is not None for item in items) else [np.nan for _ in items]


# ---- what the programs allow ---------------------------------------------------------------------


def _fitting(labels: Labels, columns: Mapping[str, list[Any]], end: str) -> Labels:
    """Labels as a program can keep them; what does not fit is said."""
    names, program = {}, _PROGRAMS[end]
    for name, label in labels.columns.items():
        names[name] = _cut(label, _LONGEST[end], letters=end == ".dta")
        if names[name] != label:
            say(f"The label of column {name!r} is too long for {program} and was cut.")
    codes = {}
    for name, known in labels.codes.items():
        if end == ".dta":
            fits = all(isinstance(c, (int, float)) and c == int(c) for c in known)
            why, short = "labels whole numbers only", dict(known)
        else:
            short = {c: _cut(label, _CODE, letters=False) for c, label in known.items()}
            fits = short == known or len({*short.values()}) == len({*known.values()})
            why = f"keeps {_CODE} bytes of them, which are the same for some"
        if not fits:
            say(f"The labels of codes of column {name!r} were left out: {program} {why}.")
            continue
        if short != known:
            say(f"Labels of codes of column {name!r} are too long for {program} and were cut.")
        codes[name] = short
    return Labels(names, codes)


def _cut(label: str, most: int, *, letters: bool) -> str:
    """Cut a text to a number of letters, or of bytes."""
    if letters:
        return label[:most]
    return label.encode()[:most].decode(errors="ignore")


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


def _forget_time(draft: Path, end: str) -> None:
    """Put the same time into all files, in the place of that at which one was written."""
    with draft.open("r+b") as raw:
        if end == ".dta":
            raw.seek(raw.read(1000).index(_STATA_TIME) + len(_STATA_TIME))
            raw.write(b"01 Jan 1970 00:00")
        else:
            raw.seek(_SPSS_TIME)
            raw.write(b"01 Jan 7000:00:00")
