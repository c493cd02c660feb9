"""Tables of n-dimensional arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError, subject
from csp.exact import MAX_VALUE, UNBOUNDED, Ints, most_text
from csp.formats.codes import plain_code
from csp.names.calls import check_known
from csp.tables.cells import T
from csp.tables.codes import cell_name
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.totals import unnoticed_totals
from csp.tables.margins import check_size, cube_labels, cube_relations, least_values, sum_up
from csp.tables.units import NotUnits, to_units, unmasked


def table_from_array(
    make: Callable[..., T],
    a: ArrayLike,
    *,
    margins: bool | None = None,
    decimals: int | None = None,
    contributors: Contributors | None = None,
    names: Sequence[str] | None = None,
    codes: Sequence[Sequence[str]] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    negative: str = "error",
) -> T:
    """Make a `csp.Table`, which is above the ways to fill it; see `csp.Table.from_array`."""
    try:
        array = unmasked(a)
    except ValueError:
        msg = (
            "the rows of the array have different lengths; give every row one entry for each column"
        )
        raise InputError(msg) from None
    if array.ndim == 0 or array.size == 0:
        msg = f"an array of shape {array.shape} has no cells; give at least one along each axis"
        raise InputError(msg)
    check_size(array.size, array.ndim)
    axes = _names(names, array.ndim)
    asked, margins = margins, margins is not False
    trees = _hierarchies(array.shape, axes, codes, hierarchies or {}, margins=margins)
    check_size(math.prod(len(tree.codes) for tree in trees), len(trees))
    units, scale = _units(array, decimals)
    if asked is None:
        _check_margins(units, axes, trees, codes, hierarchies or {})
    if margins:
        shape = tuple(len(tree.codes) for tree in trees)
        cube = np.zeros(shape, np.int64)
        cube[np.ix_(*(tree.leaves for tree in trees))] = units
        # Every margin is a sum of inner cells, so this bounds all of them.
        if float(np.abs(units).astype(np.float64).sum()) > MAX_VALUE:
            msg = f"the margins may exceed {most_text(scale)}; use fewer decimals or a larger unit"
            raise InputError(msg)
        units = sum_up(cube, trees)
    values = units.ravel()
    labels = cube_labels(trees)
    return make(
        values=values,
        relations=cube_relations(trees),
        lower=least_values(values, negative, lambda cell: cell_name(axes, labels[cell])),
        upper=np.full(len(values), UNBOUNDED, np.int64),
        labels=labels,
        scale=scale,
        contributors=contributors,
        names=axes,
        roots=tuple(tree.root for tree in trees),
        counts=contributors is None,
    )


def _check_margins(
    units: Ints,
    names: tuple[str, ...],
    trees: Sequence[Hierarchy],
    codes: Sequence[Sequence[str]] | None,
    given: Mapping[str, Hierarchy],
) -> None:
    """Refuse an array that seems to hold its margins already."""
    leaves = [
        [] if n in given else [t.codes[i] for i in t.leaves]
        for n, t in zip(names, trees, strict=True)
    ]
    for axis, j, lines in unnoticed_totals(units, leaves):
        # Without codes only the last entry along an axis is where a margin would stand.
        if codes is None and j < units.shape[axis] - 1:
            continue
        if not lines:
            msg = (
                f"code {leaves[axis][j]!r} of axis {names[axis]!r} has the name of a total; pass "
                "margins=False if the array holds its margins, or margins=True if it is a category"
            )
            raise InputError(msg)
        msg = (
            f"entry {j} along axis {names[axis]!r} of the array is the sum of the others in "
            f"{lines} lines, so the array seems to hold margins; pass margins=False if it holds "
            "all of them, leave the entry out if it is one, or pass margins=True if it is none"
        )
        raise InputError(msg)


def _names(names: Sequence[str] | None, ndim: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"d{i + 1}" for i in range(ndim))
    given = tuple(str(name) for name in names)
    if len(given) != ndim or len(set(given)) != ndim:
        msg = f"names must be {ndim} different names, one for each axis; got {list(given)}"
        raise InputError(msg)
    return given


def _hierarchies(
    shape: tuple[int, ...],
    names: tuple[str, ...],
    codes: Sequence[Sequence[str]] | None,
    given: Mapping[str, Hierarchy],
    *,
    margins: bool,
) -> list[Hierarchy]:
    """Hierarchy of each axis, checked against the length of the axis."""
    check_known(subject("hierarchies", "--hierarchy"), given, names, "axes")
    if codes is not None and len(codes) != len(shape):
        msg = f"codes has {len(codes)} lists for {len(shape)} axes; give one for each axis"
        raise InputError(msg)
    trees = []
    for axis, (name, length) in enumerate(zip(names, shape, strict=True)):
        if name in given:
            tree = given[name]
            if codes is not None:
                _check_leaves(name, tree, codes[axis])
        elif codes is not None:
            tree = Hierarchy.flat(codes[axis])
        elif not margins and length < 2:
            msg = f"axis {name!r} has length 1: with margins=False its last entry is the total"
            raise InputError(msg)
        else:
            tree = Hierarchy.flat(str(i + 1) for i in range(length if margins else length - 1))
        expected = len(tree.leaves) if margins else len(tree.codes)
        if length != expected:
            what = "codes without children" if margins else "codes with the total"
            msg = f"axis {name!r} has length {length}, but there are {expected} {what}"
            raise InputError(msg)
        trees.append(tree)
    return trees


def _check_leaves(name: str, tree: Hierarchy, codes: Sequence[str]) -> None:
    leaves = [tree.codes[i] for i in tree.leaves]
    if [plain_code(code) for code in codes] != leaves:
        msg = (
            f"codes of axis {name!r} are not the codes without children of its hierarchy, in "
            "order; leave codes out for this axis or put them in that order"
        )
        raise InputError(msg)


def _units(array: NDArray[np.generic], decimals: int | None) -> tuple[Ints, int]:
    try:
        units, scale = to_units(array, 0 if decimals is None else decimals)
    except NotUnits as error:
        place = ", ".join(str(int(i)) for i in np.unravel_index(error.index, array.shape))
        reason = error.reason
        if error.long:
            reason = (
                f"the number has more than {decimals or 0} decimal places; say how many count with "
                "decimals=, or round the array"
            )
        msg = f"entry [{place}] of the array: {reason}"
        raise InputError(msg) from error
    return units.reshape(array.shape), scale
