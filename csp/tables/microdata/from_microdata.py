"""Tables of microdata: counts, sums and largest contributions of every cell, from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csp.errors import InputError, argument, subject
from csp.exact import UNBOUNDED, Ints
from csp.formats.layout import Metadata
from csp.names.calls import check_choice, check_known, whole_number
from csp.tables.argus import hierarchies as declared
from csp.tables.cells import T
from csp.tables.columns import read_columns, source_of
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import category_orders
from csp.tables.hierarchies.totals import check_leaves, dimension_names, total_codes
from csp.tables.margins import (
    check_size,
    cube_labels,
    cube_relations,
    sparse_labels,
    sparse_relations,
)
from csp.tables.memory import memory_size
from csp.tables.microdata.aggregation import aggregated
from csp.tables.microdata.combinations import check_combinations
from csp.tables.microdata.contributions import Stage, Wanted, records_of
from csp.tables.microdata.grouping import Found, Tally
from csp.tables.microdata.options import MicrodataOptions
from csp.tables.microdata.partitioned import has_workers
from csp.tables.microdata.repeats import EACH, repeating_identifier
from csp.tables.microdata.workers import aggregated_by_workers
from csp.tables.sources.frames import is_ibis, native_frame
from csp.tables.sources.relations import is_relation
from csp.tables.units import check_rounding

NEGATIVE = ("error", "abs", "shift", "split")
"""Modes for negative contributions."""


def tabulate(make: Callable[..., T], asked: MicrodataOptions) -> T:
    """Tabulate microdata, one record per row.

    Parameters
    ----------
    make : type of Table
        Makes the table of its fields: `csp.Table`, which is above the ways to fill it.
    asked : MicrodataOptions

    Returns
    -------
    Table
        One cell for each combination of codes, in C order of the hierarchies' postorder. Lower
        bounds are 0, or ``-UNBOUNDED`` if negative values are allowed. In a table of values the
        cells without any record are structural. `contributors` is None for plain counts. The
        result does not depend on the order of the rows.

    Raises
    ------
    InputError
        For unknown columns, no records, missing or infinite values (row and column named; rows
        count from 1, without a header), negative values where they are refused, weights that
        are not positive or differ within a contributor, codes that are missing, not in their
        hierarchy, or not at its lowest level, a category that is the sum of all others,
        values beyond 2**53 units, and a table that needs more memory than there is.

    Examples
    --------
    >>> from csp import Table
    >>> data = {"region": ["a", "b", "a"], "turnover": [1.5, 2, 4]}
    >>> table = Table.from_microdata(data, ["region"], "turnover")
    >>> table.labels, table.values.tolist(), table.scale
    ((('a',), ('b',), ('Total',)), [55, 20, 75], 1)
    """
    names = dimension_names(asked.by)
    check_choice("negative", asked.negative, NEGATIVE)
    if asked.empty is not None:
        check_choice("empty", asked.empty, ("keep", "drop"))
    why = "; the rules need the largest contributions"
    keep = 5 if asked.top is None else whole_number("top", asked.top, 1, why)
    roots, told = total_codes(asked.total, names)
    notes = _unused(asked)
    marked = any("<HOLDING>" in note for note in notes)
    asked, hierarchies = _from_layout(asked, names, roots)
    data = native_frame(asked.data)
    check_known(subject("hierarchies", "--hierarchy"), hierarchies, names, "dimensions")
    _check_roles(names, asked)
    check_choice("missing_values", asked.missing_values, ("error", "drop"))
    check_rounding(asked.decimals, rounded=asked.round)
    wanted = Wanted(
        names, asked.value, asked.contributor, asked.weight, hierarchies, roots, asked.negative,
        keep, asked.decimals, asked.missing, asked.empty, asked.answered, asked.round,
        category_orders(data, names),
    )  # fmt: skip
    limit = None if asked.memory is None else memory_size(asked.memory)
    found = _found(data, wanted, limit, asked.progress)
    if asked.contributor is None and not marked:
        who = None
        if not _lies_elsewhere(data, limit):
            apart = {*wanted.columns, *([asked.shadow] if asked.shadow else ())}
            who = repeating_identifier(source_of(data), apart, found.records)
        hint = "" if who is None else f"; {who!r} repeats: contributor={who!r}?"
        notes = (*notes, f"{EACH}, since none is named{hint}")
    notes = (*notes, *_changed(wanted))
    table = _assembled(make, found, wanted, notes)
    if asked.shadow is not None:
        decimals = asked.decimals if asked.round else None
        own = replace(wanted, value=asked.shadow, decimals=decimals)
        judged = _assembled(make, _found(data, own, limit, asked.progress), own, ())
        assert judged.contributors is not None
        table = table.replace(contributors=judged.contributors.of_shadow(judged.values))
    doubtful = [name not in hierarchies and name not in told for name in names]
    check_leaves(table, found.trees, doubtful)
    return table


def _changed(wanted: Wanted) -> Iterator[str]:
    """Say what is done to records, whether or not some of them are concerned.

    How many there are is not told: it is a figure of its own, of records that nobody publishes.
    """
    if wanted.answered:
        named = " or ".join(map(repr, wanted.answered))
        yield (
            f"records without {named} are left out; beside a table of all records this one "
            "discloses them by difference"
        )
    if wanted.rounded:
        yield f"values are rounded to {wanted.decimals} decimals"


def _check_roles(names: Sequence[str], asked: MicrodataOptions) -> None:
    """Refuse a column that has two roles, and a shadow of nothing."""
    value, contributor, shadow = asked.value, asked.contributor, asked.shadow
    if contributor in names:
        msg = (
            f"the contributor {contributor!r} is a dimension too, so every inner cell would have "
            f"one contributor; leave it out of {argument('by')}, or leave "
            f"{argument('contributor')} out"
        )
        raise InputError(msg)
    if value is not None and value in names:
        msg = (
            f"the value {value!r} is a dimension too, so the codes of cells would be values of "
            f"records; leave it out of {argument('by')}, or band it first"
        )
        raise InputError(msg)
    if shadow is not None and value is None:
        msg = (
            f"{argument('shadow')} stands in for the values of cells, and records are counted "
            f"here; name {argument('value')} too, or leave it out"
        )
        raise InputError(msg)


def _lies_elsewhere(data: Any, memory: int | None) -> bool:
    """Whether the records are not read as a whole."""
    return has_workers(data) or memory is not None or is_relation(data) or is_ibis(data)


def _found(
    data: Any, wanted: Wanted, memory: int | None, progress: Callable[[Stage], None] | None
) -> Found:
    """Cells of the records, which are added up where they lie."""
    if has_workers(data):
        return aggregated_by_workers(data, wanted, memory, progress)
    if _lies_elsewhere(data, memory):
        return aggregated(data, wanted, memory, progress)
    return _in_memory(data, wanted)


def _in_memory(data: Any, wanted: Wanted) -> Found:
    """Cells of records that are read as a whole."""
    numbers = [n for n in (wanted.value, wanted.weight, *wanted.answered) if n]
    columns = read_columns(data, wanted.columns, numbers)
    found = dict(zip(wanted.columns, columns.arrays, strict=True))
    out = wanted.left_out(found)
    if out is not None:
        wanted.check_answered(len(out), int(out.sum()))
        found |= {name: np.where(out, 0, found[name]) for name in wanted.answered}
    placed = [wanted.placed(name, found[name], len(found[name])) for name in wanted.names]
    trees, positions = zip(*placed, strict=True)
    records, scale = records_of(found, wanted)
    wanted.check(trees)
    tally = Tally(wanted, trees)
    leaf = np.ravel_multi_index(positions, [len(tree.codes) for tree in trees])
    records = replace(records, leaf=leaf, place=np.arange(len(leaf)))
    tally.add(records if out is None else records.taken(~out))
    return replace(tally.result(scale), library=columns.library, records=len(leaf))


def _assembled(make: Callable[..., T], found: Found, wanted: Wanted, notes: tuple[str, ...]) -> T:
    """Table of cells with records."""
    trees, value, people = found.trees, wanted.value, found.contributors
    combinations, n = check_combinations(trees), len(found.places)
    top = people.top.shape[1] if people is not None else 0
    drop = wanted.drops(combinations, n)
    cells = n if drop else combinations
    check_size(cells, len(trees), top, mend="" if drop else wanted.mend)
    if drop and wanted.empty is None:
        notes = (
            *notes,
            f"of {combinations} combinations of codes {n} have records and are cells of the table; "
            "all others are empty, are not shown and are known to be 0",
        )
    values, rows = found.values, found.rows
    if cells > n:

        def spread(array: Ints, fill: int = 0) -> Ints:
            everywhere = np.full((cells, *array.shape[1:]), fill, np.int64)
            everywhere[found.places] = array
            return everywhere

        values, rows = spread(values), spread(rows)
        people = None if people is None else people.mapped(spread)
    whole = cells == combinations
    signed = wanted.negative != "error" and value is not None
    return make(
        values=values,
        relations=cube_relations(trees) if whole else sparse_relations(found.places, trees),
        lower=np.full(cells, -UNBOUNDED if signed else 0, np.int64),
        upper=np.full(cells, UNBOUNDED, np.int64),
        labels=cube_labels(trees) if whole else sparse_labels(found.places, trees),
        scale=found.scale,
        contributors=people,
        names=wanted.names,
        roots=tuple(tree.root for tree in trees),
        structural=None if value is None else rows == 0,
        frame=found.library,
        counts=value is None,
        notes=notes,
        least_scale=wanted.decimals or 0,
    )


def _from_layout(
    asked: MicrodataOptions, names: tuple[str, ...], roots: Mapping[str, str]
) -> tuple[MicrodataOptions, dict[str, Hierarchy]]:
    """Take hierarchies and decimals from a τ-ARGUS layout where the call gives none."""
    given = dict(asked.hierarchies or {})
    for name, tree in given.items():
        if not isinstance(tree, Hierarchy):
            msg = (
                f"the hierarchy of {name!r} is a {type(tree).__name__}; make one with "
                "csp.Hierarchy.from_hrc, from_columns, from_parents or from_dict"
            )
            raise InputError(msg)
    if not (isinstance(asked.data, tuple) and len(asked.data) == 2):
        return asked, given

    columns, metadata = asked.data
    if not isinstance(metadata, Metadata):
        msg = "a pair of data must be what csp.tables.argus.read_microdata returns"
        raise InputError(msg)
    open_names = [name for name in names if name not in given]
    decimals = asked.decimals
    if decimals is None and asked.value is not None:
        decimals = metadata.variable(asked.value).decimals
    for name in open_names:
        given |= declared(metadata, columns, [name], roots[name], asked.missing)
    return replace(asked, data=columns, decimals=decimals), given


def _unused(asked: MicrodataOptions) -> tuple[str, ...]:
    """Say which variables of a τ-ARGUS layout take no part, though its flags ask for it."""
    data = asked.data
    flagged = getattr(data[1], "flagged", None) if isinstance(data, tuple) and data[1:] else None
    if flagged is None:
        return ()
    found = []
    for flag, given, role, what in (
        ("HOLDING", asked.contributor, "contributor", "each record is a contributor of its own"),
        ("WEIGHT", asked.weight, "weight", "each record counts once"),
        ("SHADOW", asked.shadow, "shadow", "rules judge the values themselves"),
    ):
        if given is None and flagged(flag):
            marked = ", ".join(map(repr, flagged(flag)))
            found.append(f"the layout marks {marked} as <{flag}>, but no {role} was named: {what}")
    requests = [v.name for v in data[1].variables if v.request is not None]
    if requests:
        marked = ", ".join(map(repr, requests))
        found.append(f"the layout marks {marked} as <REQUEST>: the request rule is not applied")
    return tuple(found)
