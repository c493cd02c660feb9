"""Columns of a caller's data, whatever library or file they come from."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.units import is_missing

__all__ = ["LIBRARIES", "Columns", "column_names", "read_columns", "text_codes"]

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries whose frames come back to their caller."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Some columns of a data set.

    Attributes
    ----------
    arrays : tuple of (n,) arrays
        Integers, floats or objects (None where a value is missing), in the order asked for.
    library : str
        "pandas", "polars" or "pyarrow" if the data came as such a frame, otherwise "".
    """

    arrays: tuple[NDArray[Any], ...]
    library: str


def read_columns(data: Any, names: Sequence[str]) -> Columns:
    """Read named columns into memory, rows in their order.

    Parameters
    ----------
    data : data frame, lazy frame, DuckDB relation, mapping, or path
        Any frame narwhals knows (pandas, polars, pyarrow, ...), a mapping of column names to
        sequences, or the path of a .csv (also .gz) or .parquet file. The columns of a .csv are
        text, so that no digit of a number is lost.
    names : sequence of str
        Columns wanted.

    Raises
    ------
    InputError
        If the data is of an unknown kind or has two columns of one name, a file cannot be read,
        or a column is unknown (near names are offered).
    """
    if isinstance(data, (str, PathLike)):
        return Columns(_from_file(Path(data), names), "")
    if isinstance(data, Mapping):
        _check_names(names, list(data))
        arrays = tuple(_object_array(data[name]) for name in names)
        if len({len(array) for array in arrays}) > 1:
            msg = "the columns have different lengths; every column needs one entry for each row"
            raise InputError(msg)
        return Columns(arrays, "")
    if _is_relation(data):
        import duckdb

        try:
            return Columns(_from_relation(data, names), "")
        except duckdb.Error as error:
            msg = "the DuckDB relation cannot be read; is its connection open, its query right?"
            raise InputError(msg) from error
    return _from_frame(data, names)


def column_names(data: Any) -> tuple[str, ...]:
    """Names of all columns, in their order.

    Parameters
    ----------
    data
        As for `read_columns`.

    Raises
    ------
    InputError
        As for `read_columns`.
    """
    if isinstance(data, (str, PathLike)):
        return _file_names(Path(data))
    if isinstance(data, Mapping):
        return tuple(data)
    if _is_relation(data):
        return tuple(data.columns)
    return tuple(_frame_of(data).collect_schema().names())


def text_codes(column: NDArray[Any]) -> list[str]:
    """Codes of a column as text without surrounding spaces; "" where missing.

    Whole floats lose their point, since a column of integers with gaps becomes floats in pandas.
    """
    if column.dtype.kind in "iu":
        return [str(code) for code in column.tolist()]
    known: dict[tuple[type, Any], str] = {}
    codes = []
    try:
        for item in column.tolist():
            key = (type(item), item)
            code = known.get(key)
            if code is None:
                code = known[key] = _code(item)
            codes.append(code)
    except TypeError as error:  # not hashable: a list, a dict, an array
        kind = type(item).__name__
        msg = f"row {len(codes) + 1}: a code is a {kind}; codes must be text or numbers"
        raise InputError(msg) from error
    return codes


def _code(item: Any) -> str:
    if is_missing(item):
        return ""
    if isinstance(item, float) and item.is_integer():
        return str(int(item))
    return str(item).strip()


def _object_array(column: Any) -> NDArray[Any]:
    if isinstance(column, np.ndarray) and column.ndim == 1:
        if column.dtype.kind in "iufO":
            return column
        column = column.tolist()
    items = list(column)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _check_names(names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str):
            msg = f"columns are named by text, not {name!r}; rename the column"
            raise InputError(msg)
        if name not in known:
            near = get_close_matches(str(name), [str(k) for k in known], 3)
            listed = ", ".join(str(k) for k in known[:10]) + (", ..." if len(known) > 10 else "")
            hint = (
                f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed}"
            )
            msg = f"there is no column {name!r}; {hint}"
            raise InputError(msg)


def _is_relation(data: Any) -> bool:
    library = type(data).__module__.split(".")[0]
    return library in {"duckdb", "_duckdb"} and hasattr(data, "fetchnumpy")


def _frame_of(data: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(data)
    except nw.exceptions.NarwhalsError as error:
        msg = f"the data frame cannot be read: {' '.join(str(error).split())}"
        raise InputError(msg) from error
    except TypeError as error:
        msg = (
            f"data of type {type(data).__name__} is not understood; give a pandas, polars or "
            "pyarrow frame, a mapping of columns, or the path of a .csv or .parquet file"
        )
        raise InputError(msg) from error


def _from_frame(data: Any, names: Sequence[str]) -> Columns:
    import narwhals as nw

    unreadable = nw.exceptions.NarwhalsError
    frame = _frame_of(data)
    try:
        _check_names(names, frame.collect_schema().names())
        wanted = frame.select(list(dict.fromkeys(names)))
        eager = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
    except unreadable as error:
        msg = f"the data frame cannot be read: {' '.join(str(error).split())}"
        raise InputError(msg) from error
    library = str(nw.get_native_namespace(frame).__name__)
    arrays = tuple(_from_series(eager[name]) for name in names)
    return Columns(arrays, library if library in LIBRARIES else "")


def _from_series(series: Any) -> NDArray[Any]:
    if series.dtype.is_numeric() and not series.is_null().any():
        array: NDArray[Any] = np.asarray(series.to_numpy())
        if array.dtype.kind in "iu" or array.dtype == np.float64:
            return array
        if array.dtype == np.float32:  # its own shortest text, not that of the wider float
            return array.astype(str).astype(object)
    return _object_array(
        [
            None if gap else item
            for item, gap in zip(series.to_list(), series.is_null(), strict=True)
        ]
    )


def _kind(path: Path) -> str:
    """Suffix that tells how a file is read."""
    if not path.is_file():
        msg = f"there is no file {str(path)!r}"
        raise InputError(msg)
    kinds = [suffix.lower() for suffix in path.suffixes[-2:]]
    kind = kinds[-2] if kinds[-1:] == [".gz"] and len(kinds) > 1 else "".join(kinds[-1:])
    if kind not in {".csv", ".tsv", ".txt", ".parquet"}:
        msg = f"{str(path)!r} is neither .csv nor .parquet; convert it to one of them"
        raise InputError(msg)
    return kind


def _file_names(path: Path) -> tuple[str, ...]:
    if _kind(path) != ".parquet":
        return tuple(_header(path)[0])
    import duckdb

    with duckdb.connect() as connection:
        try:
            return tuple(connection.read_parquet(str(path)).columns)
        except duckdb.Error:
            msg = f"{str(path)!r} cannot be read as parquet; check the file"
            raise InputError(msg) from None


def _from_file(path: Path, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
    import duckdb

    kind = _kind(path)
    with duckdb.connect() as connection:
        try:
            if kind == ".parquet":
                relation = connection.read_parquet(str(path))
            else:
                # The header decides how the file is read, not a guess at its rows: a torn row is
                # an error then, and numbers stay the text they are.
                header, separator = _header(path)
                relation = connection.read_csv(
                    str(path),
                    header=True,
                    sep=separator,
                    quotechar='"',
                    escapechar='"',
                    columns=dict.fromkeys(header, "VARCHAR"),
                    auto_detect=False,
                )
            return _from_relation(relation, names)
        except duckdb.Error as error:
            line = re.search(r"Line: *([0-9]+)", str(error))
            where = f" at line {line[1]}" if line else ""
            msg = f"{str(path)!r} cannot be read as {kind[1:]}{where}; check the file"
            raise InputError(msg) from None  # the library's text may quote the data


def _header(path: Path) -> tuple[list[str], str]:
    """Column names of a text file, and its separator: the most frequent of the usual ones."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as file:
            line = file.readline().decode("utf-8-sig").rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        msg = f"cannot read the header of {str(path)!r} as UTF-8 text: {error}"
        raise InputError(msg) from error
    bare = re.sub(r'"[^"]*"', "", line)
    separator = max(",;\t|", key=bare.count)
    header = [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
    twice = next((name for i, name in enumerate(header) if name in header[:i]), None)
    if not header or twice is not None:
        what = "is empty" if twice is None else f"names column {twice!r} twice"
        msg = f"the header (line 1) of {str(path)!r} {what}; name each column once"
        raise InputError(msg)
    return header, separator


def _from_relation(relation: Any, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Columns of a DuckDB relation; types numpy has no exact match for come as text."""
    _check_names(names, relation.columns)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    exact = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    terms = []
    for i, name in enumerate(names):
        column = '"' + name.replace('"', '""') + '"'
        kept = types[name] in exact or types[name] == "DOUBLE"
        terms.append(f"{column} AS c{i}" if kept else f"CAST({column} AS VARCHAR) AS c{i}")
    found = relation.project(", ".join(terms)).fetchnumpy()
    return tuple(_unmask(found[f"c{i}"]) for i in range(len(names)))


def _unmask(column: Any) -> NDArray[Any]:
    if isinstance(column, np.ma.MaskedArray):
        if not np.ma.getmaskarray(column).any():
            return np.asarray(column.data)
        array = np.array(column.data, dtype=object)
        array[np.ma.getmaskarray(column)] = None
        return array
    return np.asarray(column)
