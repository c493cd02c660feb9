"""Columns of dimensions, and data frames of columns in the library of the caller's data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Ints
from csp.names.calls import check_choice
from csp.tables.codes import Labels
from csp.tables.cross.layout import Labelled
from csp.tables.sources.frames import LIBRARIES


def dimension_columns(
    table: Labelled, cells: Ints | None = None, *, beside: Collection[str] = ()
) -> dict[str, Any]:
    """Codes of all cells, or of some, by dimension.

    Raises
    ------
    InputError
        If a dimension has the name of one of the columns `beside` them.
    """
    taken = {*beside} & set(table.names)
    if taken:
        msg = f"dimension {min(taken)!r} has the name of a result column; rename it"
        raise InputError(msg)
    labels = Labels.of(table.labels)
    labels = labels if cells is None else labels.take(cells)
    return {name: labels.column(d) for d, name in enumerate(table.names)}


def columns_to_frame(columns: Mapping[str, Any], library: str = "") -> Any:
    """Make a data frame of the given library.

    Parameters
    ----------
    columns : mapping of str to sequence or (n,) array
    library : str
        "pandas", "polars" or "pyarrow"; "" takes the first of them that is installed.

    Raises
    ------
    InputError
        If the library is unknown or not installed; the message says what to install.
    """
    if library:
        check_choice("library", library, LIBRARIES)
    installed = [name for name in ([library] if library else LIBRARIES) if find_spec(name)]
    if not installed:
        wanted = library or "pandas"
        msg = f"a data frame needs {library or ' or '.join(LIBRARIES)}; pip install {wanted}"
        raise InputError(msg)
    plain = {
        name: column.tolist() if isinstance(column, np.ndarray) else list(column)
        for name, column in columns.items()
    }
    module = import_module(installed[0])
    return module.table(plain) if installed[0] == "pyarrow" else module.DataFrame(plain)
