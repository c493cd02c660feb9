"""What a cell shows: a count, a sum, a mean or a share, from protected counts and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.mechanism import Protected
from csp.tables.codes import Labels

COUNT = "count"
"""Name of the table of counts."""

_WORDS = {
    **dict.fromkeys(("count", "size", "freq", "frequency", len), "count"),
    **dict.fromkeys(("sum", "total", sum, np.sum), "sum"),
    **dict.fromkeys(("mean", "average", "avg", np.mean), "mean"),
}
_REFUSED = {
    **dict.fromkeys(("min", "max", "first", "last"), "the value of one record"),
    **dict.fromkeys(("median", "quantile"), "the value of one or two records"),
    **dict.fromkeys(("std", "var", "sem"), "a sum of squares, which is not judged here"),
    "nunique": "not additive",
}

_DIGITS = 2
"""Decimals that means and percentages have beyond those of the values, where they are shown."""


@dataclass(frozen=True, slots=True)
class Response:
    """One figure of each cell.

    Attributes
    ----------
    kind : {"count", "sum", "mean"}
    value : str
        Column that is added up; "" for counts.
    share_of : {"", "index", "columns", "all"}
        What the figure is a share of: its row, its column or the whole.
    """

    kind: Literal["count", "sum", "mean"]
    value: str = ""
    share_of: str = ""

    def __str__(self) -> str:
        words = f"{self.kind} of {self.value}" if self.value else self.kind
        whole = {"index": "row", "columns": "column", "all": "total"}.get(self.share_of)
        return f"{words}, share of its {whole}" if whole else words


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Figures of all cells.

    Attributes
    ----------
    response : Response
    exact : tuple of (Fraction or None)
        None where the figure is withheld, or there is none.
    units : (n,) int64
        The same, rounded for reading, in units of ``10**-scale``; 0 where there is none.
    scale : int
    hidden : (n,) bool
        Cells whose figure is withheld.
    empty : (n,) bool
        Cells that are known to be empty.
    """

    response: Response
    exact: tuple[Fraction | None, ...]
    units: Ints
    scale: int
    hidden: Bools
    empty: Bools

    def kind(self, cell: int) -> str:
        """Class of a cell, for a style sheet."""
        return "suppressed" if self.hidden[cell] else ""


def responses_of(values: Sequence[str], aggfunc: Any, normalize: Any) -> tuple[Response, ...]:
    """Read what is asked for, by the words of pandas.

    Raises
    ------
    InputError
        For a function that is not a count, sum or mean, with the reason; shares of means; values
        without a function, or a function without values; and values called like the counts.
    """
    share = _share_of(normalize)
    if COUNT in values:
        msg = (
            f"values= names a column {COUNT!r}, which is what the table of counts is called; "
            "rename the column"
        )
        raise InputError(msg)
    if isinstance(aggfunc, Mapping):
        msg = (
            "aggfunc takes a function or a list of them, for all values; make a table of each value"
        )
        raise InputError(msg)
    given = aggfunc if isinstance(aggfunc, (list, tuple)) else [aggfunc]
    if aggfunc is None:
        given = ["sum"] if values else ["count"]
    kinds = [_kind(one) for one in given]
    if not values and set(kinds) != {"count"}:
        kind = next(kind for kind in kinds if kind != "count")
        msg = f"aggfunc={kind!r} needs values=: the column that is added up"
        raise InputError(msg)
    if share and "mean" in kinds:
        msg = "normalize= is for counts and sums: a mean is not a part of a whole"
        raise InputError(msg)
    found: list[Response] = []
    for kind, value in product(kinds, values or ("",)):
        one = Response(kind, "" if kind == COUNT else value, share)
        if one not in found:
            found.append(one)
    return tuple(found)


def _kind(given: Any) -> Any:
    word = given if not isinstance(given, str) else given.lower()
    try:
        kind = _WORDS.get(word)
    except TypeError:
        kind = None
    if kind is None:
        name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
        why = _REFUSED.get(str(name).lower())
        because = f": it is {why}, and suppressing cells does not protect that" if why else ""
        msg = f"aggfunc={name!r} is not one of 'count', 'sum', 'mean'{because}"
        raise InputError(msg)
    return kind


def _share_of(normalize: Any) -> str:
    if normalize in (False, None):
        return ""
    if normalize is True:
        return "all"
    if normalize in ("index", "columns", "all"):
        return str(normalize)
    msg = f"normalize={normalize!r} is not one of False, True, 'all', 'index', 'columns'"
    raise InputError(msg)


def shown(response: Response, protected: Mapping[str, Protected], index: Sequence[str]) -> Shown:
    """Figures of a response, of published cells only.

    Parameters
    ----------
    response : Response
    protected : mapping of str to Protected
        The table of each value by its name, and that of counts as `COUNT`.
    index : sequence of str
        Dimensions that go down.
    """
    main = protected[response.value or COUNT]
    release, n = main.release, len(main.pattern)
    empty = np.zeros(n, bool) if release.structural is None else release.structural.copy()
    hidden = main.pattern.copy()
    unit = 10**release.scale
    figures: list[Fraction | None] = [
        None if gone else Fraction(int(v), unit)
        for v, gone in zip(release.published.tolist(), hidden.tolist(), strict=True)
    ]
    scale = release.scale
    if response.kind == "mean":
        counts = protected[COUNT].release
        size = 10**counts.scale
        numbers = [Fraction(int(c), size) for c in counts.published.tolist()]
        figures = [
            None if f is None or not c else f / c for f, c in zip(figures, numbers, strict=True)
        ]
        empty |= ~hidden & np.array([not c for c in numbers])
        scale += _DIGITS
    if response.share_of:
        whole = _wholes(main, response.share_of, index)
        hidden |= hidden[whole]
        figures = [
            None if hidden[cell] or not figures[k] else _ratio(figures[cell], figures[k])
            for cell, k in enumerate(whole.tolist())
        ]
        scale = _DIGITS + 2
    units = np.array([0 if f is None else round(f * 10**scale) for f in figures], np.int64)
    return Shown(response, tuple(figures), units, scale, hidden, empty)


def _ratio(part: Fraction | None, whole: Fraction | None) -> Fraction | None:
    return None if part is None or not whole else part / whole


def _wholes(protected: Protected, share_of: str, index: Sequence[str]) -> Ints:
    """Cell that each cell is a share of."""
    table = protected.table
    labels = Labels.of(table.labels)
    turned = {"index": [n not in index for n in table.names],
              "columns": [n in index for n in table.names]}  # fmt: skip
    to_root = turned.get(share_of, [True] * len(table.names))
    ends = list(zip(table.roots, to_root, strict=True))
    found = [
        table.position([root if up else code for code, (root, up) in zip(label, ends, strict=True)])
        for label in labels
    ]
    return np.array(found, np.int64)
