"""Totals among the categories: found, and refused before a margin of margins is published.

Where a code such as "All" stands for the sum of the others and is taken for one more category, the
computed margin is twice the sum, and published cells disclose suppressed ones by subtraction.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument

if TYPE_CHECKING:
    from csp.hierarchy import Hierarchy
    from csp.table import Table

__all__ = ["DEFAULT", "check_leaves", "check_totals", "total_codes", "unnoticed_totals"]

DEFAULT = "Total"
"""Code of the total where none is named."""

NAMES = frozenset(
    {
        *("total", "totals", "tot", "all", "sum", "overall", "grand_total", "_t", "t"),
        *("insgesamt", "gesamt", "zusammen", "summe", "alle", "ensemble", "totale", "totaal"),
        *("ialt", "i_alt", "totalt", "yhteensä", "razem", "ogółem", "celkem", "összesen"),
        *("toplam", "всего", "итого", "合計", "总计", "合计"),
    }
)
"""What totals are called; a code of such a name needs little else to be one."""

# A code of any other name must be the sum of the others in so many lines, and in nearly all.
_LINES = 3
_NEARLY_ALL = 0.9


def total_codes(
    total: str | Mapping[str, str] | None, names: Sequence[str]
) -> tuple[dict[str, str], frozenset[str]]:
    """Code of the total of each dimension, and the dimensions for which the caller named it.

    Parameters
    ----------
    total : str, mapping of dimension to str, or None
        One code for all dimensions, or one for some of them; "Total" otherwise.
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
    for name, code in given.items():
        if name not in names:
            msg = f"total names {name!r}, but the dimensions are {', '.join(names)}"
            raise InputError(msg)
        if not isinstance(code, str) or not code.strip():
            msg = f"the total of {name!r} must be a code such as 'Total', got {code!r}"
            raise InputError(msg)
    codes = {name: given.get(name, DEFAULT).strip() for name in names}
    return codes, frozenset(given)


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
        In how many lines with two cells or more beside it the code is their sum. A code by the
        name of a total counts from one line on, also beside a single other cell.
    """
    found = []
    for axis, names in enumerate(codes):
        if len(names) < 2:
            continue
        lines = np.moveaxis(np.asarray(inner), axis, -1).reshape(-1, len(names))
        sums, filled = lines.sum(axis=1), (lines != 0).sum(axis=1)
        for j, code in enumerate(names):
            column = lines[:, j]
            others = filled - (column != 0)
            fits = 2 * column == sums
            called = "_".join(str(code).casefold().split()) in NAMES
            telling = others >= (1 if called else 2)
            count = int(telling.sum())
            enough = count >= (1 if called else _LINES)
            # Where all others are empty, a total is too.
            alone = int(((others == 0) & (column != 0)).sum())
            if enough and int(fits[telling].sum()) >= _NEARLY_ALL * (count + alone):
                found.append((axis, j, int(fits[telling].sum())))
    return found


def check_totals(inner: NDArray[Any], codes: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """Refuse a table one of whose categories is the sum of the others.

    Parameters
    ----------
    inner, codes
        As for `unnoticed_totals`; the codes of dimensions whose total is beyond doubt are empty.
    names : sequence of str
        Dimensions.

    Raises
    ------
    InputError
        Naming dimension and code, and how to say what it is.
    """
    for axis, j, lines in unnoticed_totals(inner, codes):
        name, code = names[axis], codes[axis][j]
        msg = (
            f"code {code!r} of dimension {name!r} is the sum of all others in {lines} "
            f"{'line' if lines == 1 else 'lines'} of the table, so it looks like their total; "
            f"say {_total(name, code)} if it is, or name another code as the total, such as "
            f"{_total(name, DEFAULT)}, if it is a category"
        )
        raise InputError(msg)


def _total(name: str, code: str) -> str:
    option = f"--total {shlex.quote(f'{name}={code}')}"
    return argument("total", {name: code}, option=option)


def check_leaves(table: Table, trees: Sequence[Hierarchy], doubtful: Sequence[bool]) -> None:
    """Refuse a cube one of whose categories is the sum of the others; see `check_totals`.

    Parameters
    ----------
    table : Table
        Over all codes of the hierarchies, in C order.
    trees : sequence of Hierarchy
    doubtful : sequence of bool
        Dimensions whose categories are looked at.
    """
    cube = table.values.reshape([len(tree.codes) for tree in trees])
    inner = cube[np.ix_(*(tree.leaves for tree in trees))]
    codes = [
        [tree.codes[i] for i in tree.leaves] if open_ else []
        for tree, open_ in zip(trees, doubtful, strict=True)
    ]
    check_totals(inner, codes, table.names)
