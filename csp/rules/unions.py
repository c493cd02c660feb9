"""Sums of suppressed cells that a relation publishes, and whether they are sensitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import UNBOUNDED, Ints
from csp.rules.base import (
    Rule,
    counts_of,
    is_count_table,
    numbers_of,
    parts_of,
    sides_of,
)
from csp.rules.concentration import Concentration
from csp.rules.frequency import Manual, MinFrequency, Zero
from csp.tables.contributors import Contributors
from csp.tables.table import Table


def union_sensitive(
    rule: Rule, table: Table, cells: Sequence[int] | NDArray[np.integer[Any]]
) -> bool:
    """Whether the sum of some cells, seen as one cell, would be sensitive.

    Two suppressed cells below a published total publish their sum. If that sum is itself a cell
    that the rule would not let pass, suppressing the two has protected neither.

    Parameters
    ----------
    rule : Rule
        `Manual` rules name cells of the table and say nothing of a sum. A `Custom` rule is
        called with a table of the one cell.
    table : Table
    cells : sequence of int
        Positions of the cells; at least one, none twice.

    Returns
    -------
    bool
        Contributions of the same contributor are added where contributors are identified among
        the largest of each cell. Contributions that are not among those are not seen, so give
        the table at least as many as the rule reads.

    Raises
    ------
    InputError
        If there is no cell or one occurs twice, or the rule cannot read the table.
    """
    chosen = np.asarray(cells, dtype=np.int64)
    if not len(chosen) or len(set(chosen.tolist())) < len(chosen):
        msg = f"a union needs different cells, at least one; got {len(chosen)}"
        raise InputError(msg)
    single = _one_cell(table, chosen)
    # An empty sum has no contributors; in a table of one empty cell that would not show.
    silent = not is_count_table(table) and int(counts_of(single)[0]) == 0
    return any(
        bool(part(single).primary[0])
        for part in parts_of(rule)
        if not isinstance(part, Manual) and not (silent and isinstance(part, Zero))
    )


def every_union_sensitive(
    rule: Rule,
    table: Table,
    base: Sequence[int] | NDArray[np.integer[Any]],
) -> Callable[[Sequence[int] | NDArray[np.integer[Any]]], bool]:
    """Tell whether every union that holds `base` and stays within some cells is surely sensitive.

    Growing a union can raise neither its largest contributions nor the rest beside them above
    those of the largest union, nor lower its largest below those of the smallest. So a rule that
    compares a ratio of the largest with the rest is settled by the largest of the smallest union
    and the rest of the largest one.

    Parameters
    ----------
    rule : Rule
    table : Table
    base : sequence of int
        Positions of cells, at least one.

    Returns
    -------
    callable
        Of the positions of cells, `base` among them. False also where this reasoning does not
        decide (custom rules, for instance).
    """
    low = _Union(table, np.asarray(base, dtype=np.int64))
    parts = parts_of(rule)

    def within(cells: Sequence[int] | NDArray[np.integer[Any]]) -> bool:
        high = _Union(table, np.asarray(cells, dtype=np.int64))
        return any(_surely(part, low, high) for part in parts)

    return within


@dataclass(frozen=True)
class _Union:
    """Cells seen as one, and what rules read of it: a table of it would take as long again."""

    table: Table
    cells: Ints

    @cached_property
    def people(self) -> Contributors | None:
        people = self.table.contributors
        return None if people is None else _merged(people, self.cells)

    def count(self, *, weighted: bool = False) -> int:
        if self.people is None:
            return int(counts_of(_one_cell(self.table, self.cells), weighted=weighted)[0])
        return int(numbers_of(self.people, weighted=weighted)[0])


def _surely(rule: Rule, low: _Union, high: _Union) -> bool:
    if isinstance(rule, MinFrequency):
        few, many = (union.count(weighted=rule.weighted) for union in (low, high))
        return (rule.zero_sensitive or few > 0) and many < int(rule.n)
    if isinstance(rule, Zero):
        empty = not high.table.values[high.cells].any()
        return empty and (high.people is None or low.count() > 0)
    if not isinstance(rule, Concentration):
        return False
    form = rule.form
    pairs = zip(sides_of(low.people), sides_of(high.people), strict=True)
    for least, most in pairs:
        top = least.top[0, : form.reads].tolist()
        above = (form.first - form.unit) * sum(top[:1]) + (form.other - form.unit) * sum(top[1:])
        if above > form.unit * (int(most.total[0]) - sum(most.top[0, : form.reads].tolist())):
            return True
    return False


def _one_cell(table: Table, cells: Ints) -> Table:
    from scipy.sparse import csr_array

    people = table.contributors
    return Table(
        table.values[cells].sum(keepdims=True),
        csr_array((0, 1), dtype=np.int64),
        np.array([-UNBOUNDED]),
        np.array([UNBOUNDED]),
        ((f"union of {len(cells)} cells",),),
        scale=table.scale,
        contributors=None if people is None else _merged(people, cells),
        names=("cell",),
        counts=table.counts,
    )


def _merged(people: Contributors, cells: Ints) -> Contributors:
    k = people.top.shape[1]
    top = people.top[cells].ravel()
    count = int(people.count[cells].sum())
    weighted = None if people.weighted is None else int(people.weighted[cells].sum())
    ids = None
    if people.ids is None:
        top = np.sort(top)[::-1][:k]
    else:
        who = people.ids[cells]
        listed = who >= 0
        # Under sampling weights one contributor stands for several alike, listed as often: the
        # first of one cell is the first of another, the second the second.
        copy = np.array([[list(row[:j]).count(v) for j, v in enumerate(row)] for row in who])
        names, place = np.unique(
            np.stack([who[listed], copy[listed]], axis=1), axis=0, return_inverse=True
        )
        sums = np.zeros(len(names), dtype=np.int64)
        np.add.at(sums, place.ravel(), people.top[cells][listed])
        # A contributor listed in several cells is one contributor of the union.
        count -= int((copy[listed] == 0).sum()) - int((names[:, 1] == 0).sum())
        if weighted is not None:
            weighted -= (int(listed.sum()) - len(names)) * 10**people.weight_scale
        order = np.lexsort((*names.T[::-1], -sums))[:k]
        top = np.zeros(k, dtype=np.int64)
        top[: len(order)] = sums[order]
        ids = np.full(k, -1, dtype=np.int64)
        ids[: len(order)] = names[order, 0]
        ids = ids[None, :]
    return Contributors(
        np.array([count]),
        people.total[cells].sum(keepdims=True),
        top[None, :],
        ids,
        None if people.opposite is None else _merged(people.opposite, cells),
        None if weighted is None else np.array([weighted]),
        people.counted,
        people.shadow,
        weight_scale=people.weight_scale,
    )
