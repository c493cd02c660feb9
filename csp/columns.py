"""Columns of a caller's data, whatever library or file they come from."""

from __future__ import annotations

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

__all__ = ["LIBRARIES", "Columns", "read_columns", "text_codes"]

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
        If the data is of an unknown kind, a file cannot be read, or a column is unknown (near
        names are offered).
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
    if type(data).__module__.split(".")[0] in {"duckdb", "_duckdb"} and hasattr(data, "fetchnumpy"):
        return Columns(_from_relation(data, names), "")
    return _from_frame(data, names)


def text_codes(column: NDArray[Any]) -> list[str]:
    """Codes of a column as text without surrounding spaces; "" where missing.

    Whole floats lose their point, since a column of integers with gaps becomes floats in pandas.
    """
    if column.dtype.kind in "iu":
        return [str(code) for code in column.tolist()]
    known: dict[tuple[type, Any], str] = {}
    codes = []
    for item in column.tolist():
        key = (type(item), item)
        code = known.get(key)
        if code is None:
            code = known[key] = _code(item)
        codes.append(code)
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
        if name not in known:
            near = get_close_matches(str(name), [str(k) for k in known], 3)
            listed = ", ".join(str(k) for k in known[:10]) + (", ..." if len(known) > 10 else "")
            hint = (
                f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed}"
            )
            msg = f"there is no column {name!r}; {hint}"
            raise InputError(msg)


def _from_frame(data: Any, names: Sequence[str]) -> Columns:
    import narwhals as nw

    try:
        frame = nw.from_native(data)
    except TypeError as error:
        msg = (
            f"data of type {type(data).__name__} is not understood; give a pandas, polars or "
            "pyarrow frame, a mapping of columns, or the path of a .csv or .parquet file"
        )
        raise InputError(msg) from error
    _check_names(names, frame.collect_schema().names())
    wanted = frame.select(list(dict.fromkeys(names)))
    eager = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
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


def _from_file(path: Path, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
    import duckdb

    if not path.is_file():
        msg = f"there is no file {str(path)!r}"
        raise InputError(msg)
    kinds = [suffix.lower() for suffix in path.suffixes[-2:]]
    kind = kinds[-2] if kinds[-1:] == [".gz"] and len(kinds) > 1 else "".join(kinds[-1:])
    if kind not in {".csv", ".tsv", ".txt", ".parquet"}:
        msg = f"{str(path)!r} is neither .csv nor .parquet; convert it to one of them"
        raise InputError(msg)
    with duckdb.connect() as connection:
        # The text of a file decides, not a guess at its types: read numbers as they are written.
        call = (
            "read_parquet(?)"
            if kind == ".parquet"
            else "read_csv(?, all_varchar = true, header = true, skip = 0)"
        )
        try:
            relation = connection.sql(f"SELECT * FROM {call}", params=[str(path)])
            return _from_relation(relation, names)
        except duckdb.Error as error:
            line = re.search(r"Line: *([0-9]+)", str(error))
            where = f" at line {line[1]}" if line else ""
            msg = f"{str(path)!r} cannot be read as {kind[1:]}{where}; check the file"
            raise InputError(msg) from None  # the library's text may quote the data


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
