"""Totals among the categories: found, and refused before a margin of margins is published.

Where a code such as "All" stands for the sum of the others and is taken for one more category, the
computed margin is twice the sum, and published cells disclose suppressed ones by subtraction.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument, subject
from csp.exact import Ints
from csp.formats.codes import plain_code
from csp.names.calls import check_known
from csp.tables.cells import Cells
from csp.tables.codes import Labels

if TYPE_CHECKING:
    from csp.tables.hierarchies.hierarchy import Hierarchy

DEFAULT = "Total"
"""Code of the total where none is named."""

_SURE = frozenset(
    {
        *("total", "totals", "overall", "insgesamt", "gesamt", "zusammen", "summe", "ensemble"),
        *("totale", "totaal", "ialt", "totalt", "yhteensä", "razem", "ogółem", "celkem"),
        *("összesen", "toplam", "всего", "итого", "合計", "总计", "合计"),
    }
)
"""Words of which one says that a code is a total."""

_ALONE = frozenset({"all", "sum", "_t", "i alt", "alle"})
"""Codes that are totals if they are nothing but that."""

_LIKELY = frozenset({"all", "alle", "both", "whole", "every", "sum", "tot", "t"})
"""Words with which one line that adds up is enough: "All ages", but not "All other services"."""

# A code of any other name must be the sum of the others in this many lines, and in nearly all.
_LINES = 3
_NEARLY_ALL = 0.9
# A sum of rounded numbers is off by at most half a unit for each. Any other number is as near to it
# with a chance of some such units in its size; in all lines together it must be this small.
_CHANCE = 1e-6


def dimension_names(by: Sequence[str]) -> tuple[str, ...]:
    """Columns of the dimensions, of which there must be one at least, and none twice."""
    if not isinstance(by, str) and hasattr(by, "dtype"):
        msg = (
            f"{subject('by')} names columns, such as ['region', 'size'], and is a "
            f"{type(by).__name__} here; cellveil.crosstab takes the columns themselves"
        )
        raise InputError(msg)
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or len(set(names)) < len(names):
        twice = next((name for name in names if names.count(name) > 1), None)
        what = "must name at least one column" if twice is None else f"names {twice!r} twice"
        msg = f"{subject('by')} {what}"
        raise InputError(msg)
    return names


def total_codes(
    total: str | Mapping[str, str] | None, names: Sequence[str]
) -> tuple[dict[str, str], frozenset[str]]:
    """Code of the total of each dimension, and the dimensions for which the caller named it.

    Parameters
    ----------
    total : str, mapping of dimension to str, or None
        One code for all dimensions, or one for some of them; "Total" otherwise.

    Only a dimension that is named one by one is beyond doubt.
    names : sequence of str
        Dimensions.

    Raises
    ------
    InputError
        If a code is not text or empty, or the mapping names no dimension.
    """
    if total is None:
        return dict.fromkeys(names, DEFAULT), frozenset()
    given = dict.fromkeys(names, total) if not isinstance(total, Mapping) else dict(total)
    check_known("total", given, names, "dimensions")
    for name, code in given.items():
        if not isinstance(code, str) or not code.strip():
            msg = f"the total of {name!r} must be a code such as 'Total', got {code!r}"
            raise InputError(msg)
    codes = {name: plain_code(given.get(name, DEFAULT)) for name in names}
    return codes, frozenset(given if isinstance(total, Mapping) else ())


def unnoticed_totals(
    inner: NDArray[Any], codes: Sequence[Sequence[str]]
) -> list[tuple[int, int, int]]:
    """Categories that are the sum of all others of their dimension.

    Parameters
    ----------
    inner : array of shape (d1, d2, ...)
        Inner cells.
    codes : sequence of sequence of str
        Codes along each axis; an axis without codes is left out.

    Returns
    -------
    list of (axis, position, lines)
        In how many lines with two cells or more beside it the code is their sum, perhaps within
        rounding; 0 where its name alone says that it is a total. With a name that makes it likely
        one line is enough, also beside a single other cell.
    """
    array = np.asarray(inner)
    places = np.flatnonzero(array)
    return _totals_among(array.ravel()[places], np.unravel_index(places, array.shape), codes)


def _totals_among(
    values: NDArray[Any], places: Sequence[NDArray[Any]], codes: Sequence[Sequence[str]]
) -> list[tuple[int, int, int]]:
    """Do what `unnoticed_totals` does for inner cells that are not 0, given with their codes."""
    found = []
    for axis, names in enumerate(codes):
        sure = [(axis, j, 0) for j, code in enumerate(names) if is_total(code)]
        found += sure
        if sure or len(names) < 2:
            continue
        line = _lines(places, axis)
        filled = np.bincount(line)
        sums = np.zeros(len(filled), values.dtype)
        np.add.at(sums, line, values)
        order = np.argsort(places[axis], kind="stable")
        ends = np.searchsorted(places[axis][order], np.arange(len(names) + 1))
        for j, code in enumerate(names):
            mine = order[ends[j] : ends[j + 1]]
            column, lines = values[mine], line[mine]
            others = filled[lines] - 1
            called = not _LIKELY.isdisjoint(_words(code))
            least = 1 if called else 2
            telling = others >= least
            off = np.abs(2 * column - sums[lines])
            # Lines in which the code is 0 count as well.
            absent = filled >= least
            absent[lines] = False
            count = int(telling.sum()) + int(absent.sum())
            enough = count >= (1 if called else _LINES)
            # Where all others are empty, a total is too.
            alone = int((others == 0).sum())
            most = _NEARLY_ALL * (count + alone)
            right = int((off[telling] == 0).sum()) + int((sums[absent] == 0).sum())
            near = telling & (2 * off <= others + 1)
            close = int((2 * np.abs(sums[absent]) <= filled[absent] + 1).sum())
            chance = np.prod(np.minimum(1, (others + 1) / np.abs(column))[near])
            if enough and right >= most:
                found.append((axis, j, right))
            elif int(near.sum()) + close >= max(_LINES, most) and chance <= _CHANCE:
                found.append((axis, j, int(near.sum()) + close))
    return found


def _lines(places: Sequence[NDArray[Any]], axis: int) -> Ints:
    """Give the combinations of all codes but that of one dimension numbers."""
    line = np.zeros(len(places[axis]), np.int64)
    for other, place in enumerate(places):
        if other != axis:
            _, line = np.unique(line * (int(place.max(initial=0)) + 1) + place, return_inverse=True)
    return line.ravel().astype(np.int64)


def _words(code: str) -> list[str]:
    return re.findall(r"\w+", str(code).casefold().replace("_", " "))


def is_total(code: str) -> bool:
    """Whether a code has the name of a total."""
    plain = " ".join(str(code).casefold().split())
    return plain in _ALONE or not _SURE.isdisjoint(_words(code))


def _check(
    found: Sequence[tuple[int, int, int]], codes: Sequence[Sequence[str]], names: Sequence[str]
) -> None:
    for axis, j, lines in found:
        name, code = names[axis], codes[axis][j]
        why = (
            f"is the sum of all others in {lines} {'line' if lines == 1 else 'lines'} of the table "
            "(perhaps within rounding)"
            if lines
            else "has the name of a total"
        )
        msg = (
            f"code {code!r} of dimension {name!r} {why}, so it looks like their total; "
            f"say {_total(name, code)} if it is, or name another code as the total, such as "
            f"{_total(name, DEFAULT)}, if it is a category"
        )
        raise InputError(msg)


def _total(name: str, code: str) -> str:
    option = f"--total {shlex.quote(f'{name}={code}')}"
    return argument("total", {name: code}, option=option)


def check_leaves(table: Cells, trees: Sequence[Hierarchy], doubtful: Sequence[bool]) -> None:
    """Refuse a cube one of whose categories is the sum of the others.

    Parameters
    ----------
    table : Table
        Its dimensions have the codes of the hierarchies, in their order.
    trees : sequence of Hierarchy
    doubtful : sequence of bool
        Dimensions whose categories are looked at.

    Raises
    ------
    InputError
        Naming dimension and code, and how to say what it is.
    """
    if not any(doubtful):
        return
    labels = Labels.of(table.labels)
    inner = table.values != 0
    places = []
    for k, tree in enumerate(trees):
        number = np.full(len(tree.codes), -1, np.int64)
        number[list(tree.leaves)] = np.arange(len(tree.leaves))
        places.append(number[labels.codes[:, k]])
        inner &= places[k] >= 0
    codes = [
        [tree.codes[i] for i in tree.leaves] if open_ else []
        for tree, open_ in zip(trees, doubtful, strict=True)
    ]
    _check(
        _totals_among(table.values[inner], [p[inner] for p in places], codes), codes, table.names
    )
