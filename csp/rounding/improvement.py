"""A first additive choice for large tables, improved a few codes at a time.

Where all cells but those of two codes of a dimension stay, a table of three dimensions is one of
two, for which a linear program is enough; with a few codes more the integer program is still easy.
Each step solves such a part and keeps the rest (large-neighbourhood search, Shaw 1998). Nothing is
proved here: `network` bounds the optimum, and `programs` goes on from what is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from csp.clock import Clock
from csp.errors import OutOfTime
from csp.exact import Ints
from csp.highs import Model, Status
from csp.rounding.neighbours import Neighbours
from csp.sparse import rows_of
from csp.tables.codes import Labels

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_SIZES = (3, 4, 6)
"""Codes that are chosen anew together, one size after the other."""

_SEED = 0


def some_choice(near: Neighbours, cost: Ints, clock: Clock) -> Ints | None:
    """Return the first additive choice that HiGHS comes upon, (k,); None if it finds none.

    Parameters
    ----------
    near : Neighbours
    cost : (k,) int64
    clock : Clock
    """
    model = near.program(cost, integer=True, mip_max_improving_sols=1)
    if model.solve(clock, interruptible=True) == Status.INFEASIBLE:
        return None
    return _whole(model, near)


def _whole(model: Model, near: Neighbours) -> Ints | None:
    """Return what a model found, if that is an additive choice."""
    found = np.rint(model.values).astype(np.int64)
    return found if len(found) == len(near.cells) and near.adds_up(found) else None


def improve(near: Neighbours, cost: Ints, up: Ints, clock: Clock) -> None:
    """Improve an additive choice until no part that is tried gets cheaper, or the time is over.

    Parameters
    ----------
    near : Neighbours
    cost : (k,) int64
    up : (k,) int64
        Additive; changed in place, and additive whenever an interrupt may come.
    clock : Clock
    """
    from scipy.sparse import csc_array

    columns = csc_array(near.matrix)
    families = _families(near)
    patience = max(5, sum(map(len, families.values())) // 6)
    rng = np.random.default_rng(_SEED)
    for size in _SIZES:
        idle = 0
        for free in _parts(families, _codes(near), size, rng):
            if clock.over or idle >= patience:
                break
            better = _solved(columns, cost, up, free, clock)
            idle = idle + 1 if better is None else 0
            if better is not None:
                up[free] = better


def _codes(near: Neighbours) -> list[Ints]:
    """Return the code of each cell that may go up, as a number, for each dimension."""
    labels = Labels.of(near.table.labels).take(near.cells)
    width = len(labels[0])
    columns = (np.array(labels.column(d), dtype=object).astype(str) for d in range(width))
    return [np.unique(column, return_inverse=True)[1] for column in columns]


def _families(near: Neighbours) -> dict[tuple[int, tuple[int, ...]], Ints]:
    """Return codes that are added up together: those of one relation, in the dimension it sums."""
    codes, found = _codes(near), {}
    for cells, _ in rows_of(near.matrix):
        summed = [np.unique(one[cells]) for one in codes]
        number = int(np.argmax([len(one) for one in summed]))
        found[number, tuple(summed[number].tolist())] = summed[number]
    return {place: one for place, one in found.items() if len(one) > 1}


def _parts(
    families: dict[tuple[int, tuple[int, ...]], Ints],
    codes: list[Ints], size: int, rng: np.random.Generator,
) -> Iterator[Ints]:  # fmt: skip
    """Draw cells of a few codes that are added up together, without end."""
    listed = [(number, one) for (number, _), one in families.items()]
    weights = np.array([len(one) for _, one in listed], dtype=np.float64)
    while listed:
        number, one = listed[int(rng.choice(len(listed), p=weights / weights.sum()))]
        some = rng.choice(one, size=min(size, len(one)), replace=False)
        yield np.flatnonzero(np.isin(codes[number], some))


def _solved(columns: csc_array, cost: Ints, found: Ints, free: Ints, clock: Clock) -> Ints | None:
    """Choose some cells anew while the others stay; None if that is not cheaper."""
    from scipy.sparse import csr_array

    part = csr_array(columns[:, free])
    part = csr_array(part[np.flatnonzero(np.diff(part.indptr))])
    right = np.asarray(part @ found[free])
    model = Model(mip_max_nodes=1).load(
        cost=cost[free].astype(np.float64), lower=0.0, upper=1.0, rows=part,
        row_lower=right.astype(np.float64), row_upper=right.astype(np.float64), integer=True,
    )  # fmt: skip
    model.set_start(found[free].astype(np.float64))
    try:
        model.solve(clock, interruptible=True)
    except OutOfTime:  # the choice that stands is kept
        return None
    chosen = np.rint(model.values).astype(np.int64)
    binary = len(chosen) == len(free) and bool(((chosen == 0) | (chosen == 1)).all())
    if not binary or np.any(part @ chosen != right) or cost[free] @ (chosen - found[free]) >= 0:
        return None
    return chosen
