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
from csp.sparse import row_of
from csp.tables.contributors import Contributors
from csp.tables.table import Table


def union_sensitive(
    rule: Rule,
    table: Table,
    cells: Sequence[int] | NDArray[np.integer[Any]],
    relation: int | None = None,
) -> bool:
    """Whether the sum of some cells, seen as one cell, would be sensitive, or may be.

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
    relation : int, optional
        Relation of the table that adds these cells up, perhaps with others.

    Returns
    -------
    bool
        Who contributes to several cells counts once, and with all that they gave. That is exact
        where all contributors of the cells are among the largest, which are identified, and no
        contribution is negative or weighted; or where the counts of the relation add up (of all
        relations, if none is named), so that each has one cell. Elsewhere a sum that may be
        sensitive counts as such: its cells may share contributors who are not listed, or not
        identified.

    Raises
    ------
    InputError
        If there is no cell or one occurs twice, or the rule cannot read the table.
    """
    chosen = np.asarray(cells, dtype=np.int64)
    if not len(chosen) or len(set(chosen.tolist())) < len(chosen):
        msg = f"a union needs different cells, at least one; got {len(chosen)}"
        raise InputError(msg)
    single = _one_cell(table, chosen, _Shared.of(table, relation))
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
    relation: int | None = None,
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
    relation : int, optional
        As for `union_sensitive`.

    Returns
    -------
    callable
        Of the positions of cells, `base` among them. False also where this reasoning does not
        decide (custom rules, for instance).
    """
    shared = _Shared.of(table, relation)
    low = _Union(table, np.asarray(base, dtype=np.int64), shared)
    parts = parts_of(rule)

    def within(cells: Sequence[int] | NDArray[np.integer[Any]]) -> bool:
        high = _Union(table, np.asarray(cells, dtype=np.int64), shared)
        return any(_surely(part, low, high) for part in parts)

    return within


@dataclass(frozen=True)
class _Union:
    """Cells seen as one, and what rules read of it: a table of it would take as long again."""

    table: Table
    cells: Ints
    shared: _Shared

    @cached_property
    def people(self) -> Contributors | None:
        """With contributions of those who are listed only: growing adds no more than there is."""
        if self.table.contributors is None:
            return None
        return _merged(self.table, self.cells, self.shared, listed_only=True)

    def count(self, *, weighted: bool = False) -> int:
        if self.people is None:
            single = _one_cell(self.table, self.cells, self.shared)
            return int(counts_of(single, weighted=weighted)[0])
        return int(numbers_of(self.people, weighted=weighted)[0])


def _surely(rule: Rule, low: _Union, high: _Union) -> bool:
    if isinstance(rule, MinFrequency):
        many = high.count(weighted=rule.weighted)
        return (rule.zero_sensitive or low.count() > 0) and many < int(rule.n)
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
        # What is listed under weights is rounded: a cell may add more to it than to the total.
        listed = least if most.weighted is not None else most
        if above > form.unit * (int(most.total[0]) - sum(listed.top[0, : form.reads].tolist())):
            return True
    return False


@dataclass(frozen=True)
class _Shared:
    """What is known of who contributes to several cells.

    Attributes
    ----------
    apart : bool
        None does.
    whole : int or None
        Cell that is the sum of them and of others.
    parts : (p,) int64
        All of which that is the sum.
    """

    apart: bool
    whole: int | None = None
    parts: Ints | None = None

    @classmethod
    def of(cls, table: Table, relation: int | None) -> _Shared:
        """None does if the counts of contributors add up: in a relation, or in all."""
        people = table.contributors
        if people is None:
            return cls(apart=True)
        counts = np.sum([side.count for side in sides_of(people)], axis=0)
        if relation is None:
            known = table.relations.shape[0] and people.counted
            adds_up = not (table.relations @ counts).any()
            return cls(bool(adds_up if known else people.ids is None))
        members, factors = row_of(table.relations, relation)
        for sign in (-1, 1):
            if (factors == sign).sum() == 1 and (factors == -sign).sum() == len(factors) - 1:
                apart = people.counted and not factors @ counts[members]
                return cls(apart, int(members[factors == sign][0]), members[factors == -sign])
        return cls(apart=False)  # of several totals counts may add up by chance


def _one_cell(table: Table, cells: Ints, shared: _Shared) -> Table:
    from scipy.sparse import csr_array

    told = None if table.contributors is None else _merged(table, cells, shared)
    return Table(
        table.values[cells].sum(keepdims=True),
        csr_array((0, 1), dtype=np.int64),
        np.array([-UNBOUNDED]),
        np.array([UNBOUNDED]),
        ((f"union of {len(cells)} cells",),),
        scale=table.scale,
        contributors=told,
        names=("cell",),
        counts=table.counts,
    )


def _merged(
    table: Table, cells: Ints, shared: _Shared, *, listed_only: bool = False
) -> Contributors:
    """Contributors of a sum of cells: exactly, or as few and as large as they may be.

    With `listed_only` the contributions are those that are listed, and none that may be larger.
    """
    people = table.contributors
    assert people is not None
    sides = [side.take(cells) for side in sides_of(people)]
    apart = shared.apart or len(cells) == 1 or _all_listed_once(sides)
    few = _fewest(people, cells, shared, apart=apart)
    exact = apart or listed_only
    signed = len(sides) > 1 or bool(people.shift) or people.signed
    signed = signed or (not people.shadow and bool((people.total != table.values).any()))
    merged = None
    for i, side in reversed([*enumerate(sides)]):
        total = int(side.total.sum())
        if not exact and total:
            total = max(1, _least(table, cells, sides, i, few))
        top, ids = _largest(side, exact=exact)
        together = np.minimum(np.cumsum(top), total)
        if not exact and not signed and shared.whole is not None:
            # The largest have no more of a part than the largest of the whole have of that.
            together = np.minimum(together, np.cumsum(people.top[shared.whole]))
        top = np.diff(together, prepend=0)
        # Who has contributions of both signs is one contributor: the first side counts all.
        merged = Contributors(
            np.array([0 if i else few[0]]),
            np.array([total]),
            top[None, :],
            None if ids is None else ids[None, :],
            merged,
            None if people.weighted is None else np.array([0 if i else few[1]]),
            people.counted,
            people.shadow,
            weight_scale=people.weight_scale,
        )
    assert merged is not None
    return merged


def _fewest(people: Contributors, cells: Ints, shared: _Shared, *, apart: bool) -> list[int]:
    """Fewest contributors that a sum of cells can have, and least of what they stand for."""
    sides = [*sides_of(people)]
    weights = [side.weighted for side in sides if side.weighted is not None]
    numbers = [np.sum([side.count for side in sides], axis=0)]
    numbers += [np.sum(weights, axis=0)] if weights else []
    few = [int(number[cells].sum() if apart else number[cells].max()) for number in numbers]
    if not apart:
        few[0] = max(few[0], len(_listed([side.take(cells) for side in sides])))
    if not apart and shared.parts is not None and people.counted:
        others = np.setdiff1d(shared.parts, cells)
        least = [int(number[shared.whole] - number[others].sum()) for number in numbers]
        few = [*map(max, few, least)]
    return few


def _least(
    table: Table, cells: Ints, sides: Sequence[Contributors], i: int, few: Sequence[int]
) -> int:
    """Least total of the contributions of a side to a sum of cells that share contributors.

    What one contributor has in two cells cancels where the signs differ, whatever the rules make of
    negative contributions.
    """
    side = sides[i]
    total = int(side.total.sum())
    if len(sides) > 1:
        return total - int(sides[1 - i].total.sum())
    if side.shift:  # taken once from each contributor of the sum, and not in each cell
        if side.weighted is None:
            return total - abs(side.shift) * (int(side.count.sum()) - few[0])
        surplus = int(side.weighted.sum()) - few[1]
        return total - int(abs(side.shift) * surplus // 10**side.weight_scale)
    if side.shadow:  # of which only sizes are known
        return 2 * int(side.total.max()) - total if side.signed else total
    return abs(int(table.values[cells].sum()))


def _listed(sides: Sequence[Contributors]) -> set[int]:
    """Return who is identified among the largest."""
    ids = [side.ids for side in sides if side.ids is not None]
    return {i for each in ids for i in np.unique(each).tolist() if i >= 0}


def _all_listed_once(sides: Sequence[Contributors]) -> bool:
    """Whether all contributors are identified, and each has one cell and one side."""
    number = sum(int(side.count.sum()) for side in sides)
    return sides[0].counted and len(_listed(sides)) == number


def _largest(side: Contributors, *, exact: bool) -> tuple[Ints, Ints | None]:
    """Largest contributions to the sum of all cells of a side, and whose they are.

    Unless `exact`, who is not listed in a cell may have given as much to it as the last who is, if
    that much is left.
    """
    k = side.top.shape[1]
    if not k:
        return side.top.sum(axis=0), None
    if side.ids is None:
        top = np.sort(side.top.ravel())[::-1][:k] if exact else side.top.sum(axis=0)
        return top, None
    listed = side.ids >= 0
    # Under sampling weights one contributor stands for several alike, listed as often: the first
    # of one cell is the first of another, the second the second.
    copy = np.array([[list(row[:j]).count(v) for j, v in enumerate(row)] for row in side.ids])
    names, place = np.unique(
        np.stack([side.ids[listed], copy[listed]], axis=1), axis=0, return_inverse=True
    )
    sums = np.zeros(len(names), dtype=np.int64)
    np.add.at(sums, place.ravel(), side.top[listed])
    who = names[:, 0]
    if not exact:
        more = side.top[:, -1]
        if side.weighted is None:  # under which what is listed is rounded
            more = np.minimum(more, side.total - side.top.sum(axis=1))
        sums += more.sum()
        np.subtract.at(sums, place.ravel(), more[np.nonzero(listed)[0]])
        # So may one who is listed nowhere.
        sums = np.append(sums, np.full(k, more.sum()))
        who = np.append(who, np.full(k, -1))
    order = np.lexsort((who, -sums))[:k]
    top, ids = np.zeros(k, dtype=np.int64), np.full(k, -1, dtype=np.int64)
    top[: len(order)], ids[: len(order)] = sums[order], who[order]
    return top, ids
