"""Microdata added up by the workers that hold them: frames of Dask and Spark.

The frame is read twice. First every partition tells its codes, how many decimals its numbers have
and what is wrong with them. Then the records of every contributor are brought together, in ranges
of contributors that follow each other in the order of their identifiers, and every range is added
up where it lies, as a batch of `csp.tables.microdata.records`. Workers join the cells of several
ranges. What comes back are cells with their sums, counts and largest contributions, all of them
integers, so that it is the table of the same records in memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import MAX_VALUE, Bools
from csp.tables.codes import numbered_codes, numbered_owners
from csp.tables.columns import read_columns
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.microdata.contributions import Stage, Wanted, check_weights, records_of
from csp.tables.microdata.grouping import Found, Partial, Tally
from csp.tables.microdata.partitioned import COLUMNS, partitioned, refusing
from csp.tables.microdata.records import MAX_BATCH, Records
from csp.tables.sources.frames import library_of
from csp.tables.units import NotUnits, to_units

_STEP = 4096
"""Of this many records, in the order of their contributors, one says where ranges may end."""

_MOST = 2**32
"""More contributors than a range has: the number of the range times this is added to theirs."""


def aggregated_by_workers(
    data: Any,
    wanted: Wanted,
    memory: int | None = None,
    progress: Callable[[Stage], None] | None = None,
) -> Found:
    """Cells of the records of a Dask or Spark frame, which stay where they are.

    Raises
    ------
    InputError
        As for `csp.tables.microdata.from_microdata.tabulate`; also if memory is limited, which is
        for the workers to do, or the frame gives other records when it is read again.
    """
    if memory is not None:
        msg = (
            f"{argument('memory')} is for a .csv or .parquet file or a DuckDB relation; the "
            f"workers of {library_of(data)} have limits of their own, so leave it out"
        )
        raise InputError(msg)
    if wanted.answered:
        msg = (
            f"{argument('missing_values', 'drop')} is for data in memory, files and relations; "
            f"keep the rows of the {library_of(data)} frame that have a number first"
        )
        raise InputError(msg)
    frame = partitioned(data, wanted.columns)
    say = progress or (lambda stage: None)
    say(Stage("reading codes"))
    # What may not travel to a worker, or has no business there, stays here.
    asked = replace(wanted, hierarchies={})
    looks: list[_Look] = []
    for k, look in enumerate(frame.each(partial(_look, asked))):
        if isinstance(look, str):
            msg = f"partition {k + 1} of the frame, {look}"
            raise InputError(msg)
        looks.append(look)
    firsts = [0, *accumulate(look.n for look in looks)]
    n = firsts.pop()
    trees, places = [], []
    for k, name in enumerate(wanted.names):
        rows: dict[str, int] = {}
        for look, first in zip(looks, firsts, strict=True):
            for text, row in look.codes[k].items():
                rows.setdefault(text, first + row)
        finder = partial(_first, list(rows.values()))
        tree, position = wanted.placed(name, np.array(list(rows), dtype=object), n, finder)
        places.append(dict(zip(rows, position.tolist(), strict=True)))
        trees.append(tree)
    scale = _scale([look.amount for look in looks], wanted.value)
    weight_scale = _scale([look.weight for look in looks], wanted.weight)
    wanted.check(trees)
    sample = sorted(owner for look in looks for owner in look.sample)
    ranges = min(max(len(looks), -(-n // MAX_BATCH)), len(sample))
    ends = tuple(sorted({sample[len(sample) * k // ranges] for k in range(1, ranges)}))
    plan = _Plan(asked, tuple(trees), tuple(places), scale, weight_scale, ends)
    say(Stage("adding up"))
    if wanted.contributor is not None:
        frame = frame.shuffled(partial(_placed, plan), len(ends) + 1)
    answers = frame.each(partial(_added_up, plan), partial(_joined, plan), len(looks))
    found = refusing(partial(_joined, plan), answers)
    if isinstance(found, str):
        raise InputError(found)
    if found.n != n:
        msg = (
            "the frame gave other records when it was read again; keep them first, with "
            ".persist() of Dask or .cache() of Spark"
        )
        raise InputError(msg)
    tally = Tally(wanted, trees)
    tally.join(found.cells)
    cells = tally.result(scale)
    return replace(cells, contributors=_numbered(cells.contributors, found.owners))


def _numbered(people: Contributors | None, owners: Mapping[int, int]) -> Contributors | None:
    """Give contributors the numbers that they have among all, not within their range."""
    if people is None or people.ids is None:
        return people
    first = np.zeros(max(owners) + 1, np.int64)
    first[sorted(owners)[1:]] = np.cumsum([owners[part] for part in sorted(owners)])[:-1]
    part, number = np.divmod(people.ids, _MOST)
    ids = np.where(people.ids < 0, -1, first[part] + number)
    return replace(people, ids=ids, opposite=_numbered(people.opposite, owners))


def _first(rows: Sequence[int], marked: Bools) -> tuple[int, int]:
    """First row, from 1, with one of some codes; see `csp.tables.hierarchies.coding.Finder`."""
    return min((rows[i] + 1, i) for i in np.flatnonzero(marked).tolist())


def _scale(found: Sequence[tuple[int, int]], name: str | None) -> int:
    """Decimals at which the numbers of all partitions are whole."""
    scale = max(places for places, _ in found)
    if any(most * 10 ** (scale - places) > MAX_VALUE for places, most in found):
        msg = (
            f"column {name!r} has numbers beyond 2**53 units of 10**-{scale}; use fewer decimals "
            "or a larger unit"
        )
        raise InputError(msg)
    return scale


# ---- on the workers ------------------------------------------------------------------------------


class _Look(NamedTuple):
    """What is to be known of a partition before it is added up."""

    n: int  # records
    codes: tuple[dict[str, int], ...]  # for each dimension, the first row of each code, from 0
    amount: tuple[int, int] = (0, 1)  # decimals, and the largest number in units of these
    weight: tuple[int, int] = (0, 1)
    sample: tuple[str, ...] = ()  # contributors of some records


class _Plan(NamedTuple):
    """What workers need to add up; see `contributions.Wanted` and `grouping.Tally`."""

    wanted: Wanted
    trees: tuple[Hierarchy, ...]
    places: tuple[dict[str, int], ...]  # for each dimension, the position of every code
    scale: int
    weight_scale: int
    ends: tuple[str, ...]  # the first contributor of every range but the first


class _Cells(NamedTuple):
    """Cells of some ranges, how many contributors each of these has, and all their records."""

    owners: dict[int, int]
    n: int
    cells: Partial


def _columns(wanted: Wanted, frame: Any) -> dict[str, NDArray[Any]]:
    """Columns of a partition, by their names in the data."""
    arrays = read_columns(frame, [f"c{i}" for i in range(len(wanted.columns))]).arrays
    return dict(zip(wanted.columns, arrays, strict=True))


def _look(wanted: Wanted, frame: Any) -> _Look:
    """Look at a partition."""
    columns = _columns(wanted, frame)
    n, codes = len(columns[wanted.names[0]]), []
    for name in wanted.names:
        texts, number = numbered_codes(columns[name])
        _, rows = np.unique(number, return_index=True)
        codes.append(dict(zip(texts, rows.tolist(), strict=True)))
    if not n:
        return _Look(0, tuple(codes))
    found, scale = records_of(columns, wanted)
    sample: list[str] = []
    if wanted.contributor is not None:
        texts, number = numbered_codes(columns[wanted.contributor])
        upto = np.cumsum(np.bincount(number))
        sample = [texts[i] for i in np.searchsorted(upto, np.arange(0, n, _STEP), "right").tolist()]
    return _Look(
        n,
        tuple(codes),
        (scale, int(np.abs(found.amount).max())),
        (found.weight_scale, int(found.weight.max())),
        tuple(sample),
    )


def _placed(plan: _Plan, frame: Any) -> dict[str, NDArray[Any]]:
    """Make numbers of records, without those that were not there at the first reading."""
    wanted, columns = plan.wanted, _columns(plan.wanted, frame)
    n = len(columns[wanted.names[0]])
    leaf, known = np.zeros(n, np.int64), np.ones(n, dtype=bool)
    for name, places, tree in zip(wanted.names, plan.places, plan.trees, strict=True):
        texts, number = numbered_codes(columns[name])
        place = np.array([places.get(text, -1) for text in texts], np.int64)[number]
        known &= place >= 0
        leaf = leaf * len(tree.codes) + place
    found: dict[str, NDArray[Any]] = {"leaf": leaf}
    for what, column, scale in (
        ("amount", wanted.value, plan.scale),
        ("weight", wanted.weight, plan.weight_scale),
    ):
        found[what] = np.ones(n, np.int64)
        try:
            if column is not None:
                rounded = wanted.rounded and what == "amount"
                found[what], _ = to_units(columns[column], scale, rounded=rounded)
        except NotUnits:
            known[:] = False
    if wanted.contributor is not None:
        texts, number = numbered_codes(columns[wanted.contributor])
        part = np.array([bisect_right(plan.ends, text) for text in texts], np.int64)
        found |= {"part": part[number], "owner": np.array(texts, dtype=object)[number]}
    return {what: array[known] for what, array in found.items()}


def _added_up(plan: _Plan, frame: Any) -> _Cells:
    """Cells of the records of a partition, one range of contributors after the other."""
    if plan.wanted.contributor is None:
        return _range(plan, 0, _placed(plan, frame))
    arrays = dict(zip(COLUMNS, read_columns(frame, COLUMNS).arrays, strict=True))
    parts = np.unique(arrays["part"]).tolist()
    of_part = ({name: a[arrays["part"] == part] for name, a in arrays.items()} for part in parts)
    return _joined(plan, [_range(plan, p, a) for p, a in zip(parts, of_part, strict=True)])


def _range(plan: _Plan, part: int, found: dict[str, NDArray[Any]]) -> _Cells:
    leaf, amount, weight = found["leaf"], found["amount"], found["weight"]
    owners, owner = 0, None
    if plan.wanted.contributor is not None:
        owners, owner, _ = numbered_owners(found["owner"])
        check_weights(owner, weight, plan.wanted)
    tally = Tally(plan.wanted, plan.trees)
    if len(leaf):
        tally.add(Records(leaf, amount, weight, plan.weight_scale, owner))
    return _Cells({part: owners}, len(leaf), tally.partial(part * _MOST))


def _joined(plan: _Plan, found: Sequence[_Cells | str]) -> _Cells:
    """Cells of several partitions."""
    tally = Tally(plan.wanted, plan.trees)
    owners: dict[int, int] = {}
    n = 0
    for one in found:
        if isinstance(one, str):
            raise InputError(one)
        if one.n:
            tally.join(one.cells)
            owners |= one.owners
            n += one.n
    return _Cells(owners, n, tally.partial())
