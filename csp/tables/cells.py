"""What a table is to those that fill it, and marks of its cells: they stand below `csp.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.tables.contributors import Contributors
from csp.tables.units import is_missing, unmasked

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Cells(Protocol):
    """Cells with values and labels, bound by relations; `csp.Table` says what each part is."""

    @property
    def values(self) -> Ints: ...  # noqa: D102
    @property
    def relations(self) -> csr_array: ...  # noqa: D102
    @property
    def labels(self) -> Sequence[tuple[str, ...]]: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def lower(self) -> Ints: ...  # noqa: D102
    @property
    def upper(self) -> Ints: ...  # noqa: D102
    @property
    def structural(self) -> Bools | None: ...  # noqa: D102
    @property
    def contributors(self) -> Contributors | None: ...  # noqa: D102
    @property
    def n_cells(self) -> int: ...  # noqa: D102
    def cell(self, index: int) -> str: ...  # noqa: D102
    def replace(self, **changes: Any) -> Self: ...  # noqa: D102


T = TypeVar("T", bound=Cells)
"""The table that is made."""


def as_flags(marks: Any, n: int, name: str, *, single: bool = False) -> Bools:
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
    array = marks_of(marks)
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


def marks_of(marks: Any) -> NDArray[Any]:
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
