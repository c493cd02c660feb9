"""Margins of a frame: whether it has them, and what they are where it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, Bools, Ints, most_text, number_text
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.margins import sum_up, totals_of

RECORDS = "give the records themselves, without --aggregated"
"""What to do where one row per cell does not tell enough."""


def with_margins(
    values: Ints, trees: Sequence[Hierarchy], scale: int, per_cell: Sequence[str]
) -> Ints:
    """Add the margins; refused where columns in `per_cell` say something of every cell."""
    if per_cell:
        msg = (
            f"column {per_cell[0]!r} is given for inner cells only, and what it says of the "
            "margins cannot be computed from them; add the rows of the margins, "
            + phrase("say disjoint=True if no contributor is in two inner cells, or ", "or ")
            + phrase("tabulate microdata with csp.Table.from_microdata", RECORDS)
        )
        raise InputError(msg)
    if float(np.abs(values).astype(np.float64).sum()) > MAX_VALUE:
        msg = f"the margins may exceed {most_text(scale)}; use fewer decimals or a larger unit"
        raise InputError(msg)
    return sum_up(values.reshape([len(tree.codes) for tree in trees]), trees).ravel()


def _inner(trees: Sequence[Hierarchy]) -> Bools:
    """Mark the inner cells in an array of all cells."""
    inner = np.zeros([len(tree.codes) for tree in trees], dtype=bool)
    inner[np.ix_(*(tree.leaves for tree in trees))] = True
    return inner


def has_margins(present: Bools, trees: Sequence[Hierarchy], shown: Callable[[int], str]) -> bool:
    """Whether the margins are given; a cell with a row needs all of its totals then."""
    inner = _inner(trees)
    cube = present.reshape(inner.shape)
    if not (cube & ~inner).any():
        return False
    # A total may do without a row only if no cell below it has one.
    lacking = np.flatnonzero((reached(cube, trees) & ~cube).ravel())
    if len(lacking):
        msg = (
            f"the table has some margins, but not cell {shown(int(lacking[0]))} "
            f"({len(lacking)} margins are missing in all); add them, or leave out all margins to "
            "have them computed"
        )
        raise InputError(msg)
    return True


def added_up(
    values: Ints, present: Bools, trees: Sequence[Hierarchy],
    tolerance: Fraction, scale: int, notes: list[str],
) -> Ints:  # fmt: skip
    """Margins as the sums of their inner cells, where they are off by no more than the tolerance.

    Others stay as they are, for the table to name them. The notes say what was done.
    """
    sums = sum_up(values.reshape([len(tree.codes) for tree in trees]), trees).ravel()
    off = np.where(present, np.abs(sums - values), 0)
    # Whether, which and by how much would tell of numbers that are not published.
    notes.append(
        "margins that differ from the sum of their inner cells by no more than the tolerance of "
        f"{number_text(tolerance)} are replaced by the sum"
    )
    return values if (off > tolerance * 10**scale).any() else sums


def check_absent(
    present: Bools,
    trees: Sequence[Hierarchy],
    shown: Callable[[int], str],
    absent: str,
) -> None:
    """Refuse inner cells without a row, unless these are said to be 0."""
    lacking = np.flatnonzero(_inner(trees).ravel() & ~present)
    if len(lacking) and absent == "error":
        few, first = len(lacking) == 1, shown(int(lacking[0]))
        msg = (
            f"{len(lacking)} inner {'cell has' if few else 'cells have'} no row, the first "
            f"{first}; add {'it' if few else 'them'}, or say that "
            f"cells without a row are 0 with {argument('absent', 'zero', option='--absent-zero')}"
        )
        raise InputError(msg)


def reached(cube: Bools, trees: Sequence[Hierarchy]) -> Bools:
    """Cells above any given cell, margins among them included."""
    found = cube.copy()
    for axis, position, children in totals_of(trees):
        view = np.moveaxis(found, axis, 0)
        view[position] |= view[children].any(axis=0)
    return found
