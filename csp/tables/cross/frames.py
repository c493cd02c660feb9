"""Data frames of columns, in the library of the caller's data."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.names.calls import check_choice
from csp.tables.columns import LIBRARIES


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
