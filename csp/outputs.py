"""Ways out that packages above offer: workbooks, pages and files of a result.

A value of `csp` knows no workbook and no page. What makes them says so in its packaging, as entry
points of the group `GROUP`, where `Protected.to_excel` and its like find them.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from csp.errors import InputError

GROUP = "cellveil.outputs"


def output(name: str) -> Any:
    """Find the function that makes an output.

    Parameters
    ----------
    name : str
        Such as "excel".

    Raises
    ------
    InputError
        If no installed package offers it.
    """
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        msg = (
            f"nothing that is installed makes the output {name!r}; install cellveil as a whole "
            "(pip install cellveil, or pip install -e . in its checkout)"
        )
        raise InputError(msg)
    return found.load()
