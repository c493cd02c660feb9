"""Crossed tables of pandas (crosstab, pivot_table, groupby) as columns with one row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools
from csp.tables.codes import text_codes
from csp.tables.sources.frames import library_of
from csp.tables.units import is_gap

_ALL = "All"
"""What pandas calls its margins."""

_ROLES = {"sum": "value", "size": "count", "count": "count", "nunique": "count", "max": "top"}
"""What the names of aggregates of a groupby mean to a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Cells of a crossed table.

    Attributes
    ----------
    columns : mapping of str to (n,) array
    by, value, count, top
        As for `csp.Table.from_frame`.
    total : mapping of str to str
        Code of the total of the dimensions that have their margins.
    orders : mapping of str to tuple of str
        Codes of each dimension in the order of the frame.
    """

    columns: Mapping[str, NDArray[Any]]
    by: tuple[str, ...]
    value: str
    count: str | None
    top: tuple[str, ...]
    total: Mapping[str, str]
    orders: Mapping[str, tuple[str, ...]]


def listed(data: Any, value: str | None) -> Listed:
    """List the cells of a crossed table.

    Parameters
    ----------
    data : pandas Series or DataFrame
        A Series over the codes of the dimensions (``groupby(...).x.sum()``, ``value_counts()``); a
        frame with the codes of further dimensions across (``crosstab``, ``pivot_table``); or one
        with the codes in its index and an aggregate in each column (``groupby(...).agg([...])``),
        of which sum is the value, size or count the number of contributors, and max the largest
        contribution.
    value : str, optional
        Which of several values is meant, or which column of aggregates.

    Raises
    ------
    InputError
        If the data is not such a table, or leaves open what its value is.
    """
    kind = type(data).__name__ if library_of(data) == "pandas" else ""
    if kind not in ("Series", "DataFrame"):
        msg = (
            "by= names the columns of the dimensions and value= that of the cells; only a cross "
            f"table, pivot table or groupby result of pandas says both itself, got a "
            f"{type(data).__name__}"
        )
        raise InputError(msg)
    aggregate = None
    if kind == "DataFrame":
        aggregate = value if data.columns.nlevels == 1 else None
        data = _one_value(data, value)
    if kind == "DataFrame" and not any(name is not None for name in data.columns.names):
        return _aggregates(data, aggregate)
    names = [*data.index.names]
    if kind == "DataFrame":
        _check_across(data)
        names += data.columns.names
        for _ in range(data.columns.nlevels):
            data = data.stack(level=0, future_stack=True)
    by = tuple(name if isinstance(name, str) else f"d{i}" for i, name in enumerate(names, 1))
    called = data.name if isinstance(data.name, str) and data.name not in by else "value"
    columns = _codes(data.index, by) | {called: np.asarray(data.array, dtype=object)}
    count = called if called == "count" else None
    return _listed(columns, by, called, count, ())


def _one_value(data: Any, value: str | None) -> Any:
    """Frame of one of several values that stand side by side, above the codes or aggregates."""
    if data.columns.nlevels == 1 or data.columns.names[0] is not None:
        return data
    several = list(dict.fromkeys(data.columns.get_level_values(0)))
    if value is None and len(several) > 1:
        msg = (
            f"the frame holds several values, {', '.join(map(repr, several))}; say which with "
            f"value={several[0]!r}, and make a table of each"
        )
        raise InputError(msg)
    chosen = several[0] if value is None else value
    _check_value(chosen, several)
    return data[chosen]


def _check_value(chosen: str, there: Sequence[Any]) -> None:
    if chosen not in there:
        msg = f"the frame has no value {chosen!r}; there are {', '.join(map(repr, there))}"
        raise InputError(msg)


def _check_across(data: Any) -> None:
    """Refuse codes across that are missing or occur twice, which pandas cannot list."""
    for level, name in enumerate(data.columns.names):
        gaps = np.flatnonzero(data.columns.get_level_values(level).isna())
        if len(gaps):
            msg = f"column {gaps[0] + 1}: the code of {name!r} is missing; fill it"
            raise InputError(msg)
    twice = data.columns.duplicated()
    if twice.any():
        label = data.columns[int(np.argmax(twice))]
        msg = f"two columns of the frame have the code {label!r}; each may occur once"
        raise InputError(msg)


def _aggregates(data: Any, value: str | None) -> Listed:
    """Cells of a frame that has an aggregate in each column."""
    by = tuple(
        name if isinstance(name, str) else f"d{i}" for i, name in enumerate(data.index.names, 1)
    )
    if data.index.nlevels == 1 and data.index.name is None:
        msg = (
            "the frame has no index of codes; name the columns of its dimensions with by= and "
            "that of its cells with value=, or records with Table.from_microdata"
        )
        raise InputError(msg)
    roles: dict[str, list[str]] = {"value": [], "count": [], "top": []}
    names = [str(name) for name in data.columns]
    for name in names:
        if name in _ROLES:
            roles[_ROLES[name]].append(name)
    if value is None and len(names) == 1:
        value = names[0]
    if value is not None:
        _check_value(value, names)
        # The largest contributions are those to a sum; numbers of records are their own count.
        top = roles["top"] if value in roles["value"] else []
        others = [name for name in roles["count"] if name != value]
        count = [value] if value in ("size", "count") else others
        roles = {"value": [value], "count": count, "top": top}
    if len(roles["value"]) != 1 or len(roles["count"]) > 1:
        msg = (
            f"which of the columns {', '.join(map(repr, names))} holds the cells is open; call "
            "them sum, count and max, or reset the index and name by=, value=, count= and top="
        )
        raise InputError(msg)
    columns = _codes(data.index, by)
    wanted = {*roles["value"], *roles["count"], *roles["top"]}
    columns |= {n: np.asarray(data[n].array, dtype=object) for n in names if n in wanted}
    counted = roles["count"][0] if roles["count"] else None
    return _listed(columns, by, roles["value"][0], counted, tuple(roles["top"]))


def _codes(index: Any, by: Sequence[str]) -> dict[str, NDArray[Any]]:
    found = {}
    for level, name in enumerate(by):
        items = index.get_level_values(level).tolist()
        found[name] = np.empty(len(items), object)
        found[name][:] = items
    return found


def _listed(
    columns: Mapping[str, NDArray[Any]], by: tuple[str, ...], value: str, count: str | None,
    top: tuple[str, ...],
) -> Listed:  # fmt: skip
    if len(set(by) | set(columns)) != len(columns) or len(set(by)) < len(by):
        msg = f"two of the dimensions {', '.join(map(repr, by))} have one name; rename one"
        raise InputError(msg)
    numbers = columns[value]
    gap = is_gap(numbers)
    texts = {name: np.array(text_codes(columns[name]), object) for name in by}
    # Below a margin of several levels pandas writes empty texts.
    margin = np.logical_or.reduce([texts[name] == _ALL for name in by])
    several = any((margin & (texts[name] == "")).any() for name in by)
    kept = ~gap & ~margin if several else ~gap
    total = {} if several else {name: _ALL for name in by if (texts[name] == _ALL).any()}
    if total:  # pandas has no margin for a category that nobody is in
        columns = {**columns, value: np.where(gap, 0, numbers)}
        kept = np.ones(len(gap), bool)
    found = {name: (texts.get(name, column))[kept] for name, column in columns.items()}
    orders = {name: tuple(dict.fromkeys(texts[name].tolist())) for name in by}
    if several:
        _check_margins(found, {**columns, **texts}, by, value, margin & ~gap)
    return Listed(found, by, value, count, top, total, orders)


def _check_margins(
    inner: Mapping[str, NDArray[Any]], whole: Mapping[str, NDArray[Any]], by: tuple[str, ...],
    value: str, margin: Bools,
) -> None:  # fmt: skip
    """Refuse a frame some of whose margins, which are added up anew, are not the sums."""
    numbers = inner[value].astype(np.float64)
    for row in np.flatnonzero(margin).tolist():
        within = np.ones(len(numbers), bool)
        for name in by:
            if whole[name][row] not in (_ALL, ""):
                within &= inner[name] == whole[name][row]
        found, wanted = float(numbers[within].sum()), float(whole[value][row])
        if abs(found - wanted) > 1e-9 * max(1.0, abs(wanted)):
            label = ", ".join(f"{name}={whole[name][row]}" for name in by if whole[name][row])
            msg = (
                f"the margin ({label}) is not the sum of its cells; leave the margins out "
                "(margins=False), or give the records of all cells"
            )
            raise InputError(msg)
