"""Columns of frames, of any library that narwhals knows, and of mappings of sequences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.tables.sources.source import Columns, ColumnSource, Place, check_names
from csp.tables.units import unmasked

_NARROW = (np.dtype(np.float16), np.dtype(np.float32))
"""Floats whose shortest text is not that of the wider float of the same value."""

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries whose frames come back to their caller."""


@dataclass(frozen=True, slots=True, eq=False)
class MappingSource(ColumnSource):
    """Sequences by the names of their columns."""

    data: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(self.data)

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        """Read named columns, which need one length."""
        check_names(names, self.names)
        arrays = tuple(_object_array(self.data[name]) for name in names)
        other = next((i for i, array in enumerate(arrays) if len(array) != len(arrays[0])), None)
        if other is not None:
            msg = (
                f"column {names[other]!r} has {len(arrays[other])} entries, and {names[0]!r} has "
                f"{len(arrays[0])}; every column needs one entry for each row"
            )
            raise InputError(msg)
        return Columns(arrays)


@dataclass(frozen=True, slots=True, eq=False)
class FrameSource(ColumnSource):
    """A frame, perhaps a lazy one."""

    data: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        with _readable():
            return tuple(_frame_of(self.data).collect_schema().names())

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        """Read named columns; a lazy frame is run."""
        import narwhals as nw

        with _readable():
            frame = _frame_of(self.data)
            check_names(names, frame.collect_schema().names())
            wanted = frame.select(list(dict.fromkeys(names)))
            eager = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
        library = str(nw.get_native_namespace(frame).__name__)
        arrays = tuple(_from_series(eager[name]) for name in names)
        return Columns(arrays, library if library in LIBRARIES else "")

    @property
    def place(self) -> Place:
        """In memory, if it is not lazy and of a library whose frames are."""
        here = library_of(self.data) in LIBRARIES and not _is_lazy(self.data)
        return "memory" if here else "elsewhere"

    @property
    def index(self) -> Any:
        """Labels of the rows of a frame of pandas or of a class made of it, otherwise None."""
        made_of = {kind.__module__.split(".")[0] for kind in type(self.data).__mro__}
        return self.data.index if "pandas" in made_of else None


def eager(data: Any) -> Any:
    """Run a lazy frame, once for all that is asked of it; anything else as it is.

    Raises
    ------
    InputError
        If it cannot be run.
    """
    if isinstance(data, (Mapping, ColumnSource)) or not _is_lazy(data):
        return data
    with _readable():
        return _frame_of(data).collect()


def native_frame(data: Any) -> Any:
    """Frame inside a frame of narwhals; anything else as it is."""
    if library_of(data) != "narwhals":
        return data
    import narwhals as nw

    return nw.to_native(data, pass_through=True)


def library_of(data: Any) -> str:
    """Name of the library whose object this is."""
    return type(data).__module__.split(".")[0]


def is_ibis(data: Any) -> bool:
    """Whether data is a table expression of Ibis."""
    return library_of(data) == "ibis" and hasattr(data, "to_pyarrow_batches")


def _is_lazy(data: Any) -> bool:
    return callable(getattr(data, "collect", None))


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


def _from_series(series: Any) -> NDArray[Any]:
    whole = str(series.dtype).endswith("Int128")  # numpy has none of these
    if series.dtype.is_numeric() and not whole and not series.is_null().any():
        array: NDArray[Any] = np.asarray(series.to_numpy())
        if array.dtype.kind in "iu" or array.dtype == np.float64:
            return array
        if array.dtype in _NARROW:
            return _doubles(array)
    items = series.to_list()
    for gap in np.flatnonzero(series.is_null().to_numpy()).tolist():
        items[gap] = None
    plain = _object_array(items)
    if str(series.dtype) != "Float32":
        return plain
    return _doubles(np.array([None if x is None else np.float32(x) for x in plain], object))


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
