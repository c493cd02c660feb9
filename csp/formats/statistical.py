"""Files of Stata, SPSS and SAS as columns (``pip install "cellveil[stat]"``).

Numbers that a file declares as missing (SPSS's user-missing values, Stata's .a to .z) are missing.
Codes are the values that the file holds, or their labels where these are asked for.
"""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.formats.codes import plain_code
from csp.formats.delimited import TextFile
from csp.formats.kinds import PROGRAMS
from csp.formats.reading import regular_file

_RECORD = 80
"""Bytes of which a file of .xpt has a whole number of times."""

_DAY = 86_400
"""Seconds of a day."""

_READERS = {
    ".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por",
    ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport",
}  # fmt: skip


def statistical_names(file: TextFile) -> tuple[str, ...]:
    """Names of the columns of a file, without its records.

    Raises
    ------
    InputError
        As for `statistical_columns`.
    """
    return tuple(_read(file, metadataonly=True)[1].column_names)


def statistical_columns(
    file: TextFile, names: Sequence[str] | None = None, numbers: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Columns of a file, all by default: numbers, or objects where some are text or missing (None).

    Parameters
    ----------
    file : TextFile
        Its labels stand for codes where it says so.
    names : sequence of str, optional
        Columns wanted.
    numbers : collection of str
        Columns that hold numbers: their labels are left alone.

    Raises
    ------
    InputError
        If pyreadstat is not installed, the file is damaged or in another encoding, or two codes of
        a column have one label.
    """
    columns, told = _read(file, usecols=None if names is None else list(dict.fromkeys(names)))
    labels: Mapping[str, Mapping[Any, str]] = told.variable_value_labels if file.labels else {}
    found = {}
    for name in told.column_names if names is None else names:
        array = _array(columns[name], told.readstat_variable_types[name])
        if name in labels and name not in numbers:
            array = _labelled(array, labels[name], name)
        found[name] = array
    return found


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of a file: of its columns, and of the codes of columns; and which columns are text."""

    columns: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()


def statistical_labels(file: TextFile) -> Labels:
    """Labels of a file, codes in the order of their values.

    Raises
    ------
    InputError
        As for `statistical_columns`.
    """
    told = _read(file, metadataonly=True)[1]
    columns = {name: label for name, label in told.column_names_to_labels.items() if label}
    codes = {
        name: dict(sorted(labels.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))
        for name, labels in told.variable_value_labels.items()
    }
    kinds = told.readstat_variable_types
    return Labels(columns, codes, frozenset(n for n, kind in kinds.items() if kind == "string"))


def statistical_library(path: str | os.PathLike[str]) -> tuple[Any, tuple[type[Exception], ...]]:
    """Return pyreadstat, for a file that is read or written, and the classes of its errors.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        import pyreadstat

        # Its first releases that are allowed offer one of these by name.
        from pyreadstat._readstat_parser import PyreadstatError, ReadstatError
    except ImportError as error:
        msg = f"{str(path)!r} needs pyreadstat; pip install 'cellveil[stat]'"
        raise InputError(msg) from error
    return pyreadstat, (PyreadstatError, ReadstatError)


def _read(file: TextFile, **asked: Any) -> tuple[Mapping[str, list[Any]], Any]:
    """Let pyreadstat read a file: its columns, and what it tells of them."""
    path = regular_file(file.path)
    end = Path(file.path).suffix.lower()
    library, errors = statistical_library(file.path)
    if (file.separator, file.decimal, file.missing) != (None, None, None):
        msg = (
            f"{str(file.path)!r} is a file of {PROGRAMS[end]}, not a text file: separator, decimal "
            "mark and missing texts (--sep, --decimal, --na) do not apply to it"
        )
        raise InputError(msg)
    read = partial(getattr(library, _READERS[end]), path, output_format="dict")
    if end != ".por":
        read = partial(read, encoding=file.encoding)
    elif file.encoding is not None:
        msg = f"{str(file.path)!r} has signs of its own (.por); leave {argument('encoding')} out"
        raise InputError(msg)
    damaged: tuple[type[Exception], ...] = (*errors, ArithmeticError, ValueError)
    try:
        if end == ".xpt" and path.stat().st_size % _RECORD:
            raise ValueError  # cut off, which the library does not mind
        columns, told = read(**asked)
        timed = [name for name, items in columns.items() if _has_times(items)]
        if timed:
            plain, _ = read(usecols=timed, disable_datetime_conversion=True)
            unit = 1000 if end == ".dta" else 1
            columns |= {name: _hours(columns[name], plain[name], unit) for name in timed}
    except MemoryError:
        msg = f"{str(file.path)!r} does not fit into memory; read fewer columns"
        raise InputError(msg) from None
    except damaged:
        msg = (
            f"{str(file.path)!r} cannot be read as a file of {PROGRAMS[end]}; is it damaged, or "
            f"its text in another encoding ({argument('encoding', 'cp1252')})?"
        )
        raise InputError(msg) from None  # the library's text may quote the data
    twice = [name for name, times in Counter(told.column_names).items() if times > 1]
    if twice:
        msg = f"{str(file.path)!r} has two columns {twice[0]!r}; rename one of them"
        raise InputError(msg)
    return columns, told


def _has_times(items: Sequence[Any]) -> bool:
    return any(isinstance(item, datetime.time) for item in items)


def _hours(times: Sequence[Any], numbers: Sequence[Any], unit: int) -> Sequence[Any]:
    """Return times of a day, or hours as text beyond one: the library leaves out the days."""
    seconds = [None if x is None or x != x else Fraction(str(x)) / unit for x in numbers]
    if all(x is None or 0 <= x < _DAY for x in seconds):
        return times
    return [None if x is None else _hours_text(x) for x in seconds]


def _hours_text(seconds: Fraction) -> str:
    """Hours, minutes and seconds of a duration: 25:00:00."""
    parts = round(abs(seconds) * 10**6)
    whole, parts = divmod(parts, 10**6)
    minutes, rest = divmod(whole, 60)
    text = f"{'-' * (seconds < 0)}{minutes // 60:02}:{minutes % 60:02}:{rest:02}"
    return f"{text}.{parts:06}" if parts else text


def _array(column: Sequence[Any], kind: str) -> NDArray[Any]:
    """Column as other readers give it; single precision as the shortest text of each number."""
    if kind == "string":  # an empty text is how these programs write that there is none
        return _objects([item or None for item in column])
    items = [None if isinstance(x, float) and math.isnan(x) else x for x in column]
    if kind == "float":
        items = [None if x is None else float(str(np.float32(x))) for x in items]
    plain = all(isinstance(x, (int, float)) for x in items)
    return np.array(items, np.float64) if plain else _objects(items)


def _labelled(array: NDArray[Any], labels: Mapping[Any, str], name: str) -> NDArray[Any]:
    """Codes by their labels; those without one stay as they are."""
    codes = dict.fromkeys(item for item in array.tolist() if item is not None)
    shown = {code: labels[code] if labels.get(code, "").strip() else code for code in codes}
    first: dict[str, Any] = {}
    for code, label in shown.items():
        text = plain_code(label).removesuffix(".0")
        if first.setdefault(text, code) != code:
            msg = (
                f"column {name!r}: {first[text]!r} and {code!r} are both called {text!r}; read "
                "codes in place of labels, or give each a label of its own"
            )
            raise InputError(msg)
    return _objects([shown.get(item) for item in array.tolist()])


def _objects(items: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
