"""Two files read for a comparison: the columns of numbers that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Floats
from csp.formats.delimited import TextFile
from csp.names.calls import check_known
from csp.tables.columns import records_source, source_of
from csp.tables.sources.files import read_whole
from csp.tables.sources.frames import LIBRARIES, library_of
from csp.tables.sources.source import ColumnSource
from microagg.entries import filled, floats_of, gaps_of
from microagg.partitions.partition import MaskedFile
from microagg.records import Records


@dataclass(frozen=True, slots=True, eq=False)
class TwoFiles:
    """Numbers of two files.

    Attributes
    ----------
    names : tuple of str
        The d attributes that are compared.
    left_out : tuple of str
        Further columns of both files that hold something else than numbers in one of them.
    original, masked : (n, d) and (m, d) float64
        NaN where a value is missing.
    library : str
        Library of the original, "" if it was none.
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    original: Floats
    masked: Floats
    library: str


def read_two(original: Any, masked: Any, attributes: Sequence[str] | None) -> TwoFiles:
    """Read the attributes named, or all columns of numbers that both files have.

    Raises
    ------
    InputError
        If an attribute is unknown in one of the files, or holds something else than numbers (file,
        row and column named), or there is none to compare, or a file has no records.
    """
    library = original.library if isinstance(original, Records) else library_of(original)
    files = {"original": columns_of(original), "masked file": columns_of(masked)}
    names: Sequence[str]
    if attributes is None:
        there = set(files["masked file"].names)
        names = [name for name in files["original"].names if name in there]
    else:
        names = tuple(dict.fromkeys(attributes))
        for which, file in files.items():
            check_known(argument("attributes"), names, file.names, f"columns of the {which}")
    left_out: dict[str, str] = {}
    kept = []
    found: dict[str, list[Floats]] = {which: [] for which in files}
    for name in names:
        try:
            both = {which: _numbers(file, name, which) for which, file in files.items()}
        except InputError as error:
            if attributes is not None:
                raise
            left_out[name] = error.template
            continue
        kept.append(name)
        for which, column in both.items():
            found[which].append(column)
    if not kept:
        msg = "the files have no column of numbers in common"
        marks = [why for why in left_out.values() if "decimal" in why]
        raise InputError(f"{msg}: {marks[0]}" if marks else f"{msg}; name their columns alike")
    empty = next((which for which, columns in found.items() if not len(columns[0])), None)
    if empty is not None:
        msg = f"the {empty} has no records; give at least one"
        raise InputError(msg)
    one, two = (np.column_stack(columns) for columns in found.values())
    return TwoFiles(tuple(kept), tuple(left_out), one, two, library if library in LIBRARIES else "")


def columns_of(data: Any) -> ColumnSource:
    """Make data ready to be asked for its names and columns."""
    if isinstance(data, MaskedFile):
        return source_of(data.to_columns())
    if isinstance(data, Records):
        values = data.floats if data.gaps is None else np.where(data.gaps, np.nan, data.floats)
        return source_of({**data.others, **dict(zip(data.names, values.T, strict=True))})
    if isinstance(data, (str, PathLike, TextFile)):
        return read_whole(data)
    return records_source(data)


def _numbers(file: ColumnSource, name: str, which: str) -> Floats:
    try:
        column = file.read([name], [name]).arrays[0]
        gaps = gaps_of(column)
        numbers = floats_of(filled(column, gaps, name), name).copy()
    except InputError as error:
        msg = f"{which}: {error.template}"
        raise InputError(msg) from None
    numbers[gaps] = np.nan
    return numbers
