"""Columns of a caller's data, whatever library or file they come from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.formats.delimited import (
    SEPARATORS,
    TITLE,
    Opened,
    TextFile,
    check_plain,
    header,
    open_text,
)
from csp.formats.kinds import kind_of
from csp.formats.marks import with_points, without_apostrophes, without_missing
from csp.formats.parquet import connected, open_parquet, time_text
from csp.formats.reading import encoding_name
from csp.formats.statistical import statistical_columns, statistical_names
from csp.tables.units import unmasked

_NARROW = (np.dtype(np.float16), np.dtype(np.float32))
"""Floats whose shortest text is not that of the wider float of the same value."""

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
    note : str
        Sentence that says how a text file was read, where that was found from the file and is not
        the rule (commas between the fields, decimal points, UTF-8); otherwise "".
    """

    arrays: tuple[NDArray[Any], ...]
    library: str
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class WholeFile:
    """All columns of a file, read once: it can stand wherever the file can (`read_whole`).

    Attributes
    ----------
    file : TextFile
    columns : mapping of str to (n,) array
        As they stand in the file, before it is known which of them hold numbers.
    opened : Opened or None
        How a text file is written, without its relation.
    """

    file: TextFile
    columns: Mapping[str, NDArray[Any]]
    opened: Opened | None


def read_whole(data: str | PathLike[str] | TextFile) -> WholeFile:
    """Read all columns of a file once, to be asked for as often as needed.

    Raises
    ------
    InputError
        As for `read_columns`.
    """
    file = data if isinstance(data, TextFile) else TextFile(data)
    columns, opened = _raw(file, None)
    return WholeFile(file, columns, None if opened is None else replace(opened, relation=None))


def read_columns(
    data: Any, names: Sequence[str], numbers: Collection[str] | None = None
) -> Columns:
    """Read named columns into memory, rows in their order.

    Parameters
    ----------
    data : data frame, lazy frame, DuckDB relation, mapping, or path
        Any frame narwhals knows (pandas, polars, pyarrow, ...), a mapping of column names to
        sequences, the path of a file of text (.csv, also .gz), Parquet, Stata, SPSS or SAS, a
        `TextFile` that says how it is written, or a `WholeFile`. The columns of a text file are
        text, so that no digit of a number is lost.
    names : sequence of str
        Columns wanted.
    numbers : collection of str, optional
        Those of them that hold numbers: in a text file their decimal commas become points, and
        the others hold codes, where NA is not taken for one by chance. None knows nothing of
        either.

    Raises
    ------
    InputError
        If the data is of an unknown kind or has two columns of one name, a file cannot be read,
        or a column is unknown (near names are offered).
    """
    if isinstance(data, (str, PathLike)):
        data = TextFile(data)
    if isinstance(data, (TextFile, WholeFile)):
        arrays, note = _from_file(data, names, numbers)
        return Columns(arrays, "", note)
    if isinstance(data, Mapping):
        check_names(names, list(data))
        arrays = tuple(_object_array(data[name]) for name in names)
        if len({len(array) for array in arrays}) > 1:
            msg = "the columns have different lengths; every column needs one entry for each row"
            raise InputError(msg)
        return Columns(arrays, "")
    if is_relation(data):
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
        data = TextFile(data)
    if isinstance(data, TextFile):
        return _file_names(data)
    if isinstance(data, WholeFile):
        return tuple(data.columns)
    if isinstance(data, Mapping):
        return tuple(data)
    if is_relation(data):
        return tuple(data.columns)
    with _readable():
        return tuple(_frame_of(data).collect_schema().names())


def named_columns(data: Any) -> Any:
    """Make data ready to be asked for its names and then for its columns.

    Parameters
    ----------
    data
        As for `read_columns`, or an (n, d) array, whose columns are called a1, a2, ...

    Returns
    -------
    mapping of str to (n,) array, or the data
        A lazy frame is run, once for both.

    Raises
    ------
    InputError
        If an array has not two axes, or a lazy frame cannot be run.
    """
    if isinstance(data, (np.ndarray, list, tuple)):
        array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        if array.ndim != 2:
            msg = f"an array of records has two axes, records and attributes; this has {array.ndim}"
            raise InputError(msg)
        return {
            f"a{j + 1}": np.ascontiguousarray(unmasked(column)) for j, column in enumerate(array.T)
        }
    if isinstance(data, (Mapping, str, PathLike, TextFile)):
        return data
    if not callable(getattr(data, "collect", None)):
        return data
    with _readable():
        return _frame_of(data).collect()


def _object_array(column: Any) -> NDArray[Any]:
    if library_of(column) in ("polars", "pyarrow"):
        return _from_library(column)
    if getattr(column, "dtype", None) in _NARROW:  # a series of pandas, too
        return _doubles(unmasked(column))
    if isinstance(column, np.ndarray) and column.ndim == 1:
        kept: NDArray[Any] = unmasked(column)
        if kept.dtype.kind in "iufOU":
            return kept
        column = kept.tolist()
    items = list(column)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _from_library(column: Any) -> NDArray[Any]:
    """Column of polars or pyarrow as one of a frame, with its gaps and narrow floats."""
    import narwhals as nw

    if hasattr(column, "to_pylist") and not hasattr(column, "chunks"):
        import pyarrow as pa

        column = pa.chunked_array([column])
    return _from_series(nw.from_native(column, series_only=True))


def _doubles(array: NDArray[Any]) -> NDArray[Any]:
    """Narrow floats as those with the same shortest text: 0.1 stays one tenth, and a code 1."""
    if array.dtype == object:  # masked entries among them
        return np.array([None if item is None else float(str(item)) for item in array], object)
    return array.astype(str).astype(np.float64)


def check_names(names: Sequence[str], known: Sequence[str], *, title: bool = False) -> None:
    """Refuse names that no column has.

    Parameters
    ----------
    names, known : sequence of str
    title : bool
        Whether line 1 of the file looks like a title above its header.

    Raises
    ------
    InputError
        Naming the first, with names near to it.
    """
    for name in names:
        if not isinstance(name, str):
            msg = f"columns are named by text, not {name!r}; rename the column"
            raise InputError(msg)
        if name not in known:
            near = get_close_matches(str(name), [str(k) for k in known], 3)
            listed = ", ".join(str(k) for k in known[:10]) + (", ..." if len(known) > 10 else "")
            hint = (
                f"did you mean {' or '.join(map(repr, near))}?"
                if near
                else f"there are {listed}"
                if listed
                else "the data has no columns"
            )
            if title:
                hint += f"; {TITLE}"
            msg = f"there is no column {name!r}; {hint}"
            raise InputError(msg)


def is_relation(data: Any) -> bool:
    """Whether data is a DuckDB relation."""
    return library_of(data) in {"duckdb", "_duckdb"} and hasattr(data, "fetchnumpy")


def is_ibis(data: Any) -> bool:
    """Whether data is a table expression of Ibis."""
    return library_of(data) == "ibis" and hasattr(data, "to_pyarrow_batches")


def library_of(data: Any) -> str:
    """Name of the library whose object this is."""
    return type(data).__module__.split(".")[0]


def as_published(data: Any) -> tuple[()] | None:
    """Return what `read_columns` takes for numbers where columns are published as they are.

    What a text file declares as missing is missing then; where it declares nothing, NA is a text.
    """
    file = data.file if isinstance(data, WholeFile) else data
    return () if isinstance(file, TextFile) and file.missing is not None else None


def native_frame(data: Any) -> Any:
    """Frame inside a frame of narwhals; anything else as it is."""
    if library_of(data) != "narwhals":
        return data
    import narwhals as nw

    return nw.to_native(data, pass_through=True)


def _frame_of(data: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(_with_whole_decimals(data))
    except TypeError as error:
        msg = (
            f"data of type {type(data).__name__} is not understood; give a pandas, polars or "
            "pyarrow frame, a mapping of columns, or the path of a .csv, .parquet, .dta, .sav or "
            ".sas7bdat file"
        )
        raise InputError(msg) from error


def _with_whole_decimals(data: Any) -> Any:
    """Arrow table whose decimals of hundreds are decimals of ones: narwhals knows no others."""
    if library_of(data) != "pyarrow" or not hasattr(data, "cast"):
        return data
    import pyarrow as pa

    schema = data.schema
    for i, field in enumerate(schema):
        if pa.types.is_decimal(field.type) and field.type.scale < 0:
            kind = pa.decimal256(field.type.precision - field.type.scale, 0)
            schema = schema.set(i, field.with_type(kind))
    return data if schema is data.schema else data.cast(schema)


@contextmanager
def _readable() -> Iterator[None]:
    import narwhals as nw

    try:
        yield
    except nw.exceptions.NarwhalsError as error:
        named = nw.exceptions.ColumnNotFoundError, nw.exceptions.DuplicateError
        why = ": " + " ".join(str(error).split())
        if not isinstance(error, named):  # others may quote values
            why = f" ({type(error).__name__}); collect it to see why"
        msg = f"the data frame cannot be read{why}"
        raise InputError(msg) from None


def _from_frame(data: Any, names: Sequence[str]) -> Columns:
    import narwhals as nw

    with _readable():
        frame = _frame_of(data)
        check_names(names, frame.collect_schema().names())
        wanted = frame.select(list(dict.fromkeys(names)))
        eager = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
    library = str(nw.get_native_namespace(frame).__name__)
    arrays = tuple(_from_series(eager[name]) for name in names)
    return Columns(arrays, library if library in LIBRARIES else "")


def _from_series(series: Any) -> NDArray[Any]:
    whole = str(series.dtype).endswith("Int128")  # numpy has none of these
    if series.dtype.is_numeric() and not whole and not series.is_null().any():
        array: NDArray[Any] = np.asarray(series.to_numpy())
        if array.dtype.kind in "iu" or array.dtype == np.float64:
            return array
        if array.dtype in _NARROW:
            return _doubles(array)
    items = zip(series.to_list(), series.is_null(), strict=True)
    plain = _object_array([None if gap else item for item, gap in items])
    if str(series.dtype) != "Float32":
        return plain
    return _doubles(np.array([None if x is None else np.float32(x) for x in plain], object))


def _file_names(file: TextFile) -> tuple[str, ...]:
    kind = kind_of(file.path)
    if kind == "text":
        return tuple(header(file))
    if kind == "statistical":
        return statistical_names(file)
    with connected(file.path, "parquet") as connection:
        return tuple(open_parquet(connection, file.path).columns)


def _from_file(
    data: TextFile | WholeFile, names: Sequence[str], numbers: Collection[str] | None
) -> tuple[tuple[NDArray[Any], ...], str]:
    """Columns of a file, and what was found out about how it is written."""
    if isinstance(data, WholeFile):
        check_names(names, list(data.columns), title=data.opened is not None and data.opened.title)
        file, opened = data.file, data.opened
        columns = {name: data.columns[name] for name in names}
    else:
        file = data
        columns, opened = _raw(file, names, numbers or ())
    if opened is None:
        return tuple(columns[name] for name in names), ""
    found = opened.file
    columns = without_apostrophes(columns, opened, set(names) - set(numbers or ()))
    if numbers is not None:
        columns = without_missing(columns, opened, set(names) - set(numbers))
        pointed, mark = with_points({n: columns[n] for n in names if n in numbers}, opened)
        columns |= pointed
        found = replace(found, decimal=mark)
    return tuple(columns[name] for name in names), file_note(file, found)


def _raw(
    file: TextFile, names: Sequence[str] | None, numbers: Collection[str] = ()
) -> tuple[dict[str, NDArray[Any]], Opened | None]:
    """Columns as they stand in a file, all of them by default; and how a text file is written."""
    kind = kind_of(file.path)
    if kind == "statistical":
        if names is not None:
            check_names(names, statistical_names(file))
        return statistical_columns(file, names, numbers), None
    if kind == "parquet":
        check_plain(file)
        with connected(file.path, "parquet") as connection:
            relation = open_parquet(connection, file.path)
            wanted = relation.columns if names is None else names
            return dict(zip(wanted, _from_relation(relation, wanted), strict=True)), None
    with connected(file.path, "csv") as connection, open_text(connection, file) as opened:
        wanted = opened.names if names is None else names
        check_names(wanted, opened.names, title=opened.title)
        places = [f"c{opened.names.index(name)}" for name in wanted]
        return dict(zip(wanted, _from_relation(opened.relation, places), strict=True)), opened


def file_note(asked: TextFile, found: TextFile) -> str:
    """Sentence that says what was not declared and is not the rule."""
    parts = []
    if asked.separator is None and found.separator not in (None, ","):
        parts.append(f"separated by {SEPARATORS[found.separator]}")
    if asked.decimal is None and found.separator not in (None, ","):
        # Which of the two there are may be told by a single value that is not published.
        parts.append("with decimal commas or points")
    if asked.encoding is None and found.encoding != "utf-8":
        parts.append(f"in {encoding_name(found.encoding or '')}")
    return f"Read {str(asked.path)!r} as text {', '.join(parts)}." if parts else ""


def _from_relation(relation: Any, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
    return tuple(map(unmasked, plain_relation(relation, names).fetchnumpy().values()))


def plain_relation(relation: Any, names: Sequence[str]) -> Any:
    """Columns c0, c1, ... of a DuckDB relation: whole numbers, DOUBLE, and all else as text.

    Narrow floats and truth values come as from a frame: 0.1 is one tenth, and a code True.

    Raises
    ------
    InputError
        If a column is unknown.
    """
    check_names(names, relation.columns)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    exact = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    terms = []
    for i, name in enumerate(names):
        column = '"' + name.replace('"', '""') + '"'
        if types[name] == "BLOB":
            column = f"decode({column})"
        elif types[name] == "FLOAT":
            column = f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"
        elif types[name] == "BOOLEAN":
            column = f"CASE {column} WHEN true THEN 'True' WHEN false THEN 'False' END"
        elif types[name].startswith("TIMESTAMP"):
            column = time_text(column, zoned="ZONE" in types[name] or "TZ" in types[name])
        kept = types[name] in exact or types[name] in {"DOUBLE", "FLOAT"}
        terms.append(f"{column} AS c{i}" if kept else f"CAST({column} AS VARCHAR) AS c{i}")
    return relation.project(", ".join(terms))
