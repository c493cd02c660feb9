"""Columns of a caller's data, whatever library or file they come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.formats.delimited import TextFile
from csp.tables.sources.files import file_source
from csp.tables.sources.frames import FrameSource, MappingSource, eager
from csp.tables.sources.relations import RelationSource, is_relation
from csp.tables.sources.source import Columns, ColumnSource
from csp.tables.units import unmasked


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
    return source_of(data).read(names, numbers)


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
    return source_of(data).names


def source_of(data: Any) -> ColumnSource:
    """Find the source of some data, to ask it for its names and then for its columns.

    Parameters
    ----------
    data
        As for `read_columns`.

    Raises
    ------
    InputError
        For a file of a kind that cannot be read.
    """
    if isinstance(data, ColumnSource):
        return data
    if isinstance(data, (str, PathLike, TextFile)):
        return file_source(data)
    if isinstance(data, Mapping):
        return MappingSource(data)
    return RelationSource(data) if is_relation(data) else FrameSource(data)


def records_source(data: Any) -> ColumnSource:
    """Find the source of records, which an array may hold too; a lazy frame is run, once.

    Parameters
    ----------
    data
        As for `read_columns`, or an array as for `named_columns`.

    Raises
    ------
    InputError
        As for `named_columns`.
    """
    return source_of(named_columns(data))


def named_columns(data: Any) -> Any:
    """Name the columns of an array, and run a lazy frame; anything else is ready as it is.

    Parameters
    ----------
    data
        As for `read_columns`, or an (n, d) array, whose columns are called a1, a2, ...

    Returns
    -------
    mapping of str to (n,) array, or the data

    Raises
    ------
    InputError
        If an array has not two axes, or a lazy frame cannot be run.
    """
    if not isinstance(data, (np.ndarray, list, tuple)):
        return eager(data)
    array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 2:
        msg = f"an array of records has two axes, records and attributes; this has {array.ndim}"
        raise InputError(msg)
    return {f"a{j + 1}": np.ascontiguousarray(unmasked(column)) for j, column in enumerate(array.T)}
