"""Order of codes that no hierarchy arranges: that of their categories, of numbers, or of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from csp.formats.delimited import TextFile
from csp.formats.statistical import statistical_labels
from csp.tables.codes import text_codes
from csp.tables.sources.files import WholeFile
from csp.tables.sources.frames import library_of


class InOrder(dict[str, Any]):
    """Columns by name, whose codes keep the order in which they first stand there."""


def category_orders(data: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Codes of categorical columns, as text, in the order that their owner gave them.

    Parameters
    ----------
    data
        As for `csp.tables.columns.read_columns`. Categories of pandas, enumerations of polars and
        ordered dictionaries of pyarrow have an order, and so have columns `InOrder` and labels in
        the place of codes (Stata, SPSS), that of the codes; other columns and files have none.
    names : sequence of str
    """
    if isinstance(data, InOrder):
        # Columns of sheets are lists, of which some hold texts beside truth values.
        arrays = {name: np.asarray(data[name], dtype=object) for name in names}
        return {name: tuple(dict.fromkeys(text_codes(array))) for name, array in arrays.items()}
    file = data.file if isinstance(data, WholeFile) else data
    if isinstance(file, TextFile) and file.labels:
        labels = statistical_labels(file).codes
        return {name: _texts([*labels[name].values()]) for name in names if name in labels}
    find = _FINDERS.get(library_of(data))
    if find is None:
        return {}
    found = {name: find(data, name) for name in names}
    return {name: _texts(codes) for name, codes in found.items() if codes is not None}


_BELOW = ("<", "<=", "\u2264", "under", "below", "less than", "fewer than", "up to", "unter", "bis")
_FROM = ("", ">=", "\u2265", "at least", "from", "ab")
_ABOVE = (">", "over", "above", "more than", "\u00fcber")
_SIDES = dict.fromkeys(_BELOW, -1) | dict.fromkeys(_FROM, 0) | dict.fromkeys(_ABOVE, 1)
"""Which side of a number a band lies on, by what stands before it."""

# "5-9", "250+", "<10", "Under 5" and "65 and over", but not "01", "10.2", "1 000-4 999" or "AB2".
_BAND = re.compile(
    rf"\s*({'|'.join(sorted(_SIDES, key=len, reverse=True))})(?:(?<![^\W\d_])\s*|\s+)"
    r"(0|[1-9][0-9]{0,17})(?![.,\s\u2019']?[0-9])",
    re.IGNORECASE,
)


def in_order(codes: Iterable[str], order: Sequence[str] = ()) -> list[str]:
    """Sort codes: those of an order first, in it, then all others.

    Others are sorted by their text; bands of numbers, as of ages and sizes, by where they begin,
    and then codes without a digit, such as "unknown". Codes of classifications begin with a letter
    or a zero or have points, and so their parts stay together: DE1, DE11, DE2. (Those of bare
    digits and several lengths, 1, 11, 2, look like numbers; a hierarchy tells.)
    """
    place: Mapping[str, int] = {code: i for i, code in enumerate(order)}
    codes = [*codes]
    begins = {code: _begin(code) for code in codes if code not in place}
    if not all(begin or not re.search(r"\d", code) for code, begin in begins.items()):
        begins = {}
    last = max(filter(None, begins.values()), default=(0, 0))[0] + 1, 0

    def rank(code: str) -> tuple[Any, ...]:
        numbers = [int(text) for text in re.findall("[0-9]{1,18}", code)] if begins else []
        return place.get(code, len(place)), begins.get(code) or last, numbers, code

    return sorted(codes, key=rank)


def _begin(code: str) -> tuple[int, int] | None:
    """Where a band of numbers begins: at a number, below it (-1) or above it (1)."""
    found = _BAND.match(code)
    return None if found is None else (int(found[2]), _SIDES[found[1].lower()])


def _texts(codes: Sequence[Any]) -> tuple[str, ...]:
    array = np.empty(len(codes), object)
    array[:] = codes
    return tuple(text_codes(array))


def _of_pandas(data: Any, name: str) -> list[Any] | None:
    categories = getattr(getattr(data.get(name), "dtype", None), "categories", None)
    return None if categories is None else list(categories)


def _of_polars(data: Any, name: str) -> list[Any] | None:
    kind = data.collect_schema().get(name)
    return list(kind.categories) if type(kind).__name__ == "Enum" else None


def _of_pyarrow(data: Any, name: str) -> list[Any] | None:
    if not hasattr(data, "schema") or name not in data.schema.names:
        return None
    kind = data.schema.field(name).type
    if not getattr(kind, "ordered", False):
        return None
    column = data.column(name).unify_dictionaries()
    return list(column.chunk(0).dictionary.to_pylist()) if column.num_chunks else None


_FINDERS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}
