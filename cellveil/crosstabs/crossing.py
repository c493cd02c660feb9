"""What is crossed: Series, or names of columns, as `pandas.crosstab` takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools
from csp.tables.codes import numbered_codes, text_codes
from csp.tables.columns import column_names, named_columns, read_columns
from csp.tables.hierarchies.orders import category_orders
from csp.tables.sources.frames import library_of, native_frame
from csp.tables.units import is_gap

_NUMBER = re.compile(r"[+-]?[.,]?[0-9]")


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """Records whose columns have a role each.

    Attributes
    ----------
    columns : mapping of str to (n,) array
    index, across, values : tuple of str
        Columns whose codes go down and across, and those that are added up.
    contributor, weight : str or None
    orders : mapping of str to sequence of str
        Codes of categorical columns in their order.
    library : str
        That of the caller's data.
    complete : tuple of str
        Further columns without which a record is left out.
    used : (n,) bool or None
        Which of all records these are; None for all of them.
    """

    columns: Mapping[str, NDArray[Any]]
    index: tuple[str, ...]
    across: tuple[str, ...]
    values: tuple[str, ...]
    contributor: str | None
    weight: str | None
    orders: Mapping[str, Sequence[str]]
    library: str
    complete: tuple[str, ...] = ()
    used: Bools | None = None

    @property
    def left_out(self) -> int:
        """How many records lack a code or a value."""
        return 0 if self.used is None else int((~self.used).sum())

    def note(self, missing: str | None) -> str:
        """Say which records are left out, whether or not there are some; "" if none can be."""
        codes = self.by if missing is None else ()
        asked = list(dict.fromkeys([*codes, *self.complete, *self.values]))
        if not asked:
            return ""
        return (
            f"records without {' or '.join(map(repr, asked))} are left out; beside a table of all "
            "records this one discloses them by difference"
        )

    @property
    def by(self) -> tuple[str, ...]:
        """Dimensions of the table."""
        return (*self.index, *self.across)

    def answered(self, missing: str | None) -> Crossed:
        """Return the records that have all codes (unless `missing` stands for these) and values.

        Raises
        ------
        InputError
            If none is left.
        """
        gaps = {name: is_gap(self.columns[name]) for name in self.values}
        for name in (*self.complete, *(self.by if missing is None else ())):
            texts, number = numbered_codes(self.columns[name])
            gaps[name] = (number == 0) & (texts[:1] == ("",))
        lacking = [name for name, gap in gaps.items() if gap.any()]
        if not lacking:
            return self
        out = np.logical_or.reduce([gaps[name] for name in lacking])
        if out.all():
            named = " or ".join(map(repr, lacking))
            msg = f"no record has all of {named}; nothing is left to tabulate"
            raise InputError(msg)
        kept = {name: column[~out] for name, column in self.columns.items()}
        return replace(self, columns=kept, used=~out)


def crossed(
    index: Any, across: Any, values: Any, contributor: Any, weight: Any, where: Any, data: Any
) -> Crossed:
    """Read what is crossed.

    Parameters
    ----------
    index, across, values : name, Series or array, or a list of them; None for none
    contributor, weight : name, Series or array, optional
    where : name, Series or array of bool, optional
        Becomes a dimension before all others.
    data : data frame, mapping of columns or path, optional
        Where names are looked up.

    Raises
    ------
    InputError
        For a name without data or without a column, and Series that do not belong together.
    """
    data = None if data is None else named_columns(native_frame(data))
    taken = _Taken(data)
    down = taken.several(index, "index", "row")
    right = taken.several(across, "columns", "col")
    found = taken.several(values, "values", "value")
    who = None if contributor is None else taken.one(contributor, "contributor", "contributor")
    by_weight = None if weight is None else taken.one(weight, "weight", "weight")
    if where is not None:  # last, so that its name is that of no other column
        down = (taken.condition(where), *down)
    twice = [name for name in (*down, *right) if [*down, *right].count(name) > 1]
    if twice or not down:
        msg = (
            f"{twice[0]!r} is crossed with itself; name each dimension once"
            if twice
            else "index names no dimension; give a column or several"
        )
        raise InputError(msg)
    return Crossed(taken.columns, down, right, found, who, by_weight, taken.orders, taken.library)


class _Taken:
    """Columns that have been taken so far, from data by name or as they were given."""

    def __init__(self, data: Any) -> None:
        self._data, self._first = data, ""
        self._names = () if data is None else column_names(data)
        self.columns: dict[str, NDArray[Any]] = {}
        self.orders: dict[str, tuple[str, ...]] = {}
        self.library = "" if data is None else read_columns(data, self._names[:1]).library
        self._rows: Any = None

    def several(self, given: Any, argument: str, stem: str) -> tuple[str, ...]:
        """Take one column or a list of them; their names."""
        if given is None:
            return ()
        parts = [given]
        listed = isinstance(given, (list, tuple))
        if listed and (not given or any(self._is_column(item) for item in given)):
            parts = list(given)
        return tuple(
            self.one(part, argument, f"{stem}_{number}" if argument != "values" else stem)
            for number, part in enumerate(parts)
        )

    def one(self, given: Any, argument: str, otherwise: str) -> str:
        """Take one column; its name."""
        if isinstance(given, str):
            if self._data is None:
                msg = (
                    f"{argument} names a column {given!r}, and there is no frame to find it in; "
                    "add data=frame, or give the column itself (frame[name])"
                )
                raise InputError(msg)
            numbers = [given] if argument in ("values", "weight") else []
            if given not in self.columns or numbers:
                self._keep(given, read_columns(self._data, [given], numbers).arrays[0])
                self.orders |= category_orders(self._data, [given])
            return given
        if hasattr(given, "columns") or isinstance(given, Mapping):
            msg = (
                f"{argument} takes columns, not a whole {type(given).__name__}; give their names, "
                "and the frame as data="
            )
            raise InputError(msg)
        name = getattr(given, "name", None)
        name = name if isinstance(name, str) else otherwise
        array, order, library = _read(given, argument)
        self._check_rows(given, name)
        if name in self.columns and not _same(self.columns[name], array):
            msg = f"two columns are called {name!r}; rename one of them"
            raise InputError(msg)
        self._keep(name, array)
        self.library = self.library or library
        if order is not None:
            self.orders[name] = order
        return name

    def condition(self, given: Any) -> str:
        """Take a condition as a dimension, with the codes that it has as a column.

        A comparison has the name of the column that it was made of: then it is called "where".
        """
        if isinstance(given, str):
            name = self.one(given, "where", "where")
        else:
            array, _, library = _read(given, "where")
            called = getattr(given, "name", None)
            name = called if isinstance(called, str) else "where"
            if name in self.columns or self._differs(name, array):
                name = "where"
            self._check_rows(given, name)
            self._keep(name, array)
            self.library = self.library or library
        truths = [_truth(entry) for entry in self.columns[name].tolist()]
        if None in truths:
            msg = (
                f"where={name!r} has an entry that is not true or false; give a condition such as "
                "frame.exports > 0"
            )
            raise InputError(msg)
        texts = text_codes(self.columns[name])
        of = dict(zip(texts, truths, strict=True))
        self.orders[name] = tuple(sorted(of, key=lambda text: not of[text]))
        return name

    def _differs(self, name: str, array: NDArray[Any]) -> bool:
        """Whether the data have another column of this name."""
        if name not in self._names:
            return False
        return text_codes(read_columns(self._data, [name]).arrays[0]) != text_codes(array)

    def _is_column(self, item: Any) -> bool:
        if isinstance(item, str):
            return self._data is not None
        return hasattr(item, "__len__") and not isinstance(item, bytes)

    def _keep(self, name: str, array: NDArray[Any]) -> None:
        first = next(iter(self.columns), None)
        if first is not None and len(array) != len(self.columns[first]):
            msg = (
                f"{name!r} has {len(array):,} records and {first!r} {len(self.columns[first]):,}; "
                "take both from one frame"
            )
            raise InputError(msg)
        self.columns[name] = array

    def _check_rows(self, given: Any, name: str) -> None:
        """Refuse Series of pandas whose rows have other labels than those before."""
        rows = getattr(given, "index", None)
        if library_of(given) != "pandas" or rows is None:
            return
        if self._rows is None:
            of_data = getattr(self._data, "index", None)
            known = of_data if library_of(self._data) == "pandas" else None
            self._rows = rows if known is None else known
        if not rows.equals(self._rows):
            msg = (
                f"the rows of {name!r} have other labels than those of the first column; take "
                "both from one frame, filtered once"
            )
            raise InputError(msg)


def answers(data: Any, name: str) -> NDArray[Any]:
    """Read a column that may hold codes or numbers; None where an entry is missing.

    It holds numbers if all of its entries that are not missing begin with a digit.
    """
    plain = read_columns(data, [name]).arrays[0]
    gaps = is_gap(plain)
    if all(map(_NUMBER.match, text_codes(plain[~gaps]))):
        numbers = read_columns(data, [name], [name]).arrays[0]
        return np.where(is_gap(numbers), np.array(None), numbers)
    return read_columns(data, [name], []).arrays[0]


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return (
        len(one) == len(other)
        and numbered_codes(one)[0] == numbered_codes(other)[0]
        and bool((numbered_codes(one)[1] == numbered_codes(other)[1]).all())
    )


def _truth(entry: Any) -> bool | None:
    """Truth of an entry, which files have as text; None if it has none."""
    if isinstance(entry, str):
        return {"true": True, "false": False}.get(entry.strip().lower())
    return bool(entry) if entry in (0, 1) else None


def _read(given: Any, argument: str) -> tuple[NDArray[Any], tuple[str, ...] | None, str]:
    """Read a Series or an array: its entries, the order of its categories, its library."""
    library = library_of(given)
    if library == "polars" and not hasattr(given, "to_frame"):
        msg = (
            f"{argument} is an expression of polars; give what it selects, such as "
            "frame.select(expression).to_series()"
        )
        raise InputError(msg)
    if library == "pandas" and getattr(given, "ndim", 0) == 1:
        import pandas as pd

        if getattr(given, "nlevels", 1) > 1:
            msg = (
                f"{argument} is an index of {given.nlevels} levels; give those that cross as a "
                "list, such as [index.get_level_values(0), index.get_level_values(1)]"
            )
            raise InputError(msg)
        frame = pd.Series(given).to_frame("c")  # an index or an array of pandas is a column, too
    elif library == "polars":
        frame = given.alias("c").to_frame()
    elif library == "pyarrow":
        import pyarrow as pa

        frame = pa.table({"c": given})
    else:
        try:
            frame = {"c": np.asarray(given) if isinstance(given, np.ndarray) else list(given)}
        except TypeError:
            msg = (
                f"{argument} is a {type(given).__name__}; give a Series, an array, or the name of "
                "a column of data="
            )
            raise InputError(msg) from None
    columns = read_columns(frame, ["c"])
    return columns.arrays[0], category_orders(frame, ["c"]).get("c"), columns.library
