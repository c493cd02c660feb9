"""Reading patterns and other marks of cells: booleans or status letters, and nothing else.

Python takes every text and every NaN for true. A pattern read that way marks everything as
suppressed, and an audit of it is worth nothing. So all marks of cells are read here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Bools
from csp.formats.codes import plain_code
from csp.tables.cells import Cells, marks_of
from csp.tables.units import is_missing

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


def as_pattern(table: Cells, pattern: Any) -> Bools:
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
    array = marks_of(_by_label(table, pattern))
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


def _by_label(table: Cells, pattern: Any) -> Any:
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
    if sorted(labels) != sorted(wanted):  # codes of a table have one form of Unicode
        labels = [tuple(map(plain_code, label)) for label in labels]
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


def _refusal(table: Cells, i: int, item: Any) -> str:
    where = table.cell(i)
    if isinstance(item, str):
        return f"cell {where}: {item!r} is not a status letter; {_MEND}"
    if is_missing(item):
        return f"cell {where}: the pattern says nothing (missing); {_MEND}"
    kind = type(item).__name__
    return f"cell {where}: the pattern holds a number ({kind}); {_MEND}"
