"""Reading patterns and other marks of cells: booleans or status letters, and nothing else.

Python takes every text and every NaN for true. A pattern read that way marks everything as
suppressed, and an audit of it is worth nothing. So all marks of cells are read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.tables.units import is_missing, unmasked

if TYPE_CHECKING:
    from csp.tables.table import Table

__all__ = ["STATUS", "SUPPRESSED", "as_flags", "as_pattern", "set_array"]

STATUS = {
    "u": "primary: must be suppressed and protected",
    "s": "may be suppressed",
    "x": "suppressed beforehand as a secondary cell",
    "w": "never published, at no cost, and not protected",
    "z": "must be published",
}
"""Cell status letters of sdcTable and what they mean here."""

SUPPRESSED = frozenset("uxw")
"""Status letters of suppressed cells."""

# In releases "e" stands for a published cell that is publicly known to be empty.
_PUBLISHED = frozenset("sze")

_MEND = (
    "a pattern is an array of booleans, or of the status letters u, x, w (suppressed) and s, z, e "
    "(published); write something like status == 'x'"
)


def as_pattern(table: Table, pattern: Any) -> NDArray[np.bool_]:
    """Suppressed cells of a table, as a frozen array of their own.

    Parameters
    ----------
    table : Table
    pattern : (n,) bool or (n,) str
        Booleans, or status letters: u, x and w are suppressed, s, z and e published. Any sequence
        or array in the order of the cells, or a series whose index holds the codes of the cells
        (several levels, or the code alone in a table of one dimension), in any order.

    Raises
    ------
    InputError
        For another shape, other letters, numbers (they could be positions as well) and missing
        entries; the first cell concerned is named.
    """
    array = _array(_by_label(table, pattern))
    if array.shape != (table.n_cells,):
        msg = f"the pattern has shape {array.shape}; {table.n_cells} cells need ({table.n_cells},)"
        raise InputError(msg)
    if array.dtype == np.bool_:
        flags = array.copy()
    else:
        items = array.tolist()
        letters = all(isinstance(item, str) for item in items)
        flags = np.zeros(len(items), dtype=bool)
        for i, item in enumerate(items):
            if letters and (item in SUPPRESSED or item in _PUBLISHED):
                flags[i] = item in SUPPRESSED
            elif isinstance(item, (bool, np.bool_)) and not letters:
                flags[i] = bool(item)
            else:
                raise InputError(_refusal(table, i, item))
    flags.flags.writeable = False
    return flags


def _by_label(table: Table, pattern: Any) -> Any:
    """Put a series with labels into the order of the cells; anything else stays as it is."""
    index = getattr(pattern, "index", None)
    if hasattr(pattern, "columns") and not isinstance(pattern, np.ndarray):
        msg = (
            "the pattern is a frame; give its column with the marks, with the codes of the cells "
            "as the index where rows are not in the order of the cells"
        )
        raise InputError(msg)
    if index is None or callable(index) or not hasattr(pattern, "to_list"):
        return pattern
    keys = list(index)
    if all(isinstance(key, (int, np.integer)) for key in keys):
        return pattern
    labels = [tuple(map(str, key)) if isinstance(key, tuple) else (str(key),) for key in keys]
    wanted = list(table.labels)
    if sorted(labels) != sorted(wanted):
        odd = next((one for one in labels if one not in set(wanted)), None)
        msg = (
            f"the index of the pattern holds {odd}, which is not a cell"
            if odd is not None
            else f"the index of the pattern holds {len(labels)} labels, not each of the "
            f"{len(wanted)} cells once"
        )
        msg += f"; its levels must be {', '.join(table.names)}"
        raise InputError(msg)
    marks = dict(zip(labels, pattern.to_list(), strict=True))
    return [marks[label] for label in wanted]


def as_flags(marks: Any, n: int, name: str, *, single: bool = False) -> NDArray[np.bool_]:
    """Booleans, one for each of n cells.

    Parameters
    ----------
    marks : (n,) bool, or bool
    n : int
    name : str
        What is marked, for messages.
    single : bool
        Whether one boolean may stand for all cells.

    Raises
    ------
    InputError
        For anything that is not boolean, and for another shape.
    """
    array = _array(marks)
    if array.dtype == object and all(isinstance(v, (bool, np.bool_)) for v in array.ravel()):
        array = array.astype(bool)
    if array.dtype != np.bool_:
        other = next((v for v in array.ravel() if not isinstance(v, (bool, np.bool_))), None)
        kind = "nothing (missing)" if is_missing(other) else type(other).__name__
        msg = f"{name} must be booleans, got {kind}; write a comparison such as values < 5"
        raise InputError(msg)
    if array.shape != (n,) and not (single and array.shape == ()):
        msg = f"{name} has shape {array.shape}; {n} cells need ({n},)"
        raise InputError(msg)
    return np.array(np.broadcast_to(array, (n,)))


def set_array(owner: Any, name: str, array: NDArray[Any], n: int) -> None:
    """Set an attribute of a frozen object to an array with an entry for each of n cells.

    Raises
    ------
    InputError
        If it has another shape.
    """
    if array.shape != (n,):
        msg = f"{name} has shape {array.shape}; {n} cells need ({n},)"
        raise InputError(msg)
    array.flags.writeable = False
    object.__setattr__(owner, name, array)


def _array(marks: Any) -> NDArray[Any]:
    """Array of anything array-like; gaps of frames become objects that are not booleans."""
    if isinstance(marks, np.ma.MaskedArray):
        marks = unmasked(marks)
    elif hasattr(marks, "to_list") and not isinstance(marks, np.ndarray):
        _check_order(marks)
        marks = marks.to_list()  # a series: its own way of making booleans of gaps is not taken
    elif hasattr(marks, "to_pylist"):
        marks = marks.to_pylist()
    try:
        array = np.asarray(marks)
        if array.dtype == np.bool_:
            return array
        # Not the common type that numpy finds: it makes texts of booleans beside letters.
        return np.asarray(marks, dtype=object)
    except ValueError:
        return np.asarray(None)  # ragged


def _check_order(series: Any) -> None:
    """Refuse a series whose index says that its rows have been moved or left out."""
    index = getattr(series, "index", None)
    if index is None or callable(index):
        return
    places = list(index)
    if all(isinstance(i, (int, np.integer)) for i in places) and places != sorted(places):
        msg = (
            "the rows of the series are in another order than the cells (by its index); sort it "
            "with sort_index(), or give a plain array in the order of the cells"
        )
        raise InputError(msg)


def _refusal(table: Table, i: int, item: Any) -> str:
    where = table.cell(i)
    if isinstance(item, str):
        return f"cell {where}: {item!r} is not a status letter; {_MEND}"
    if is_missing(item):
        return f"cell {where}: the pattern says nothing (missing); {_MEND}"
    kind = type(item).__name__
    return f"cell {where}: the pattern holds a number ({kind}); {_MEND}"
