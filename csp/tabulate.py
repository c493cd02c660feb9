"""Tables of microdata: counts, sums and largest contributions of every cell, from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.columns import Columns, numbered_codes, numbered_owners, read_columns
from csp.contributors import Contributors
from csp.cube import (
    check_size,
    cube_labels,
    cube_relations,
    sparse_labels,
    sparse_relations,
)
from csp.errors import InputError, argument
from csp.grouping import Grouped, Records, check_combinations, group
from csp.hierarchy import Hierarchy
from csp.numbers import UNBOUNDED
from csp.table import Table
from csp.totals import check_leaves, total_codes
from csp.units import NotUnits, to_units

__all__ = ["NEGATIVE", "tabulate"]

# So many records without two of one category are no table of categories.
_MANY = 1000

_FEW = 2**20
"""Combinations of codes up to which empty ones are cells of a table of values by default."""

NEGATIVE = ("error", "abs", "shift", "split")
"""Modes for negative contributions."""


def tabulate(
    data: Any,
    by: Sequence[str],
    value: str | None = None,
    *,
    contributor: str | None = None,
    weight: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    negative: str = "error",
    top: int | None = None,
    decimals: int | None = None,
    total: str | Mapping[str, str] | None = None,
    missing: str | None = None,
    empty: str | None = None,
) -> Table:
    """Tabulate microdata, one record a row.

    Parameters
    ----------
    data : data frame, mapping of columns, path, or pair
        Any frame narwhals knows, a DuckDB relation, a mapping of column names to sequences, the
        path of a .csv or .parquet file, or what `csp.formats.argus.read_microdata` returns (then
        the layout gives hierarchies and decimals where the call does not).
    by : sequence of str
        Columns of the table's dimensions.
    value : str, optional
        Column to sum. Without it the table counts records.
    contributor : str, optional
        Column that tells who a record belongs to (enterprise, holding). Contributions of one
        contributor are summed within each cell, also of a margin, and those of two equal records
        as well: nothing tells a copy from a second contribution. Without it every record is a
        contributor of its own.
    weight : str, optional
        Column of sampling weights, positive. The cell is the exact sum of weight times value (its
        scale is that of the values plus that of the weights); in the largest contributions each
        one stands as often as its weight, rounded half up, but at least once. Frequency rules
        count respondents, unless they say ``weighted``.
    hierarchies : mapping of str to Hierarchy, optional
        For columns of `by`. Others are flat, their codes in sorted order.
    negative : {"error", "abs", "shift", "split"}
        Negative values: refused, or allowed. Cells are always sums of the values as they are;
        the rules see absolute contributions ("abs"), contributions less the smallest one of the
        whole table ("shift"), or the two signs apart ("split", see `csp.Contributors`).
    top : int, optional
        How many of the largest contributions to keep; 5 by default.
    decimals : int, optional
        Decimal places of the values. None finds the smallest number of places, at most 9, at
        which all values are whole.
    total : str or mapping of dimension to str, optional
        Code of the total of dimensions without a hierarchy; "Total" by default. A dimension that
        is named in a mapping is not searched for a category that is the sum of the others.
    missing : str, optional
        Code for records whose code is missing; without it they are refused.
    empty : {"keep", "drop"}, optional
        Whether combinations of codes without any record are cells of the table. "drop" leaves them
        out, so that the table costs memory for the cells that exist; relations run over these only,
        and everybody knows that a cell that is not shown is 0. In a table of values this changes no
        pattern, since cells without records are structural. In a table of counts a zero may
        otherwise be suppressed, or be sensitive, so there "drop" is for you to choose. By default
        empty cells are kept, unless a table of values has more than a million combinations of which
        fewer than one in four has a record; `Table.notes` says so.

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
    names = (by,) if isinstance(by, str) else tuple(by)
    keep = _check_options(names, negative, top, empty)
    roots, told = total_codes(total, names)
    notes = _unused(data, contributor, weight)
    data, hierarchies, decimals = _from_layout(data, names, value, hierarchies, decimals, roots)
    for name in hierarchies:
        if name not in names:
            msg = f"hierarchies names {name!r}, but the dimensions are {', '.join(names)}"
            raise InputError(msg)
    if contributor in names:
        msg = (
            f"the contributor {contributor!r} is a dimension too, so every inner cell would have "
            f"one contributor; leave it out of {argument('by')}, or leave "
            f"{argument('contributor')} out"
        )
        raise InputError(msg)
    extra = [name for name in (value, contributor, weight) if name is not None]
    columns = read_columns(data, [*names, *extra], [n for n in (value, weight) if n])
    found = dict(zip([*names, *extra], columns.arrays, strict=True))
    n = _check_length(columns)

    positions, trees = [], []
    for name in names:
        texts, number = _codes(found[name], name, missing)
        _check_repeats(len(texts), n, name)
        tree = hierarchies.get(name) or Hierarchy.flat(sorted(texts), roots[name])
        positions.append(_leaf_positions(texts, number, tree, name))
        trees.append(tree)
    amount, scale = _numbers(found[value], value, decimals) if value else (np.ones(n, np.int64), 0)
    if negative == "error" and (amount < 0).any():
        row = int(np.argmax(amount < 0)) + 1
        msg = (
            f"row {row}: the value in column {value!r} is negative; correct it or choose "
            f"{argument('negative', 'abs')}, 'shift' or 'split'"
        )
        raise InputError(msg)
    weights, weight_scale = np.ones(n, np.int64), 0
    if weight is not None:
        weights, weight_scale = _weights(found[weight], weight)
    owner = None
    if contributor is not None:
        owner = _owners(found[contributor], contributor)
        if weight is not None:
            _check_owner_weights(owner, weights, contributor, weight)
    records = Records(tuple(positions), amount, weights, weight_scale, owner)
    counts = value is None and owner is None and bool((weights == 10**weight_scale).all())
    counts = counts and weight_scale == 0
    _check_combinations(trees, value, 0 if counts else keep, empty)
    grouped = group(records, trees, negative=negative, top=0 if counts else keep)
    library = columns.library
    del records, positions, found, columns, amount, weights, owner
    table = assemble(
        grouped, trees, names, library=library, value=value, scale=scale + weight_scale,
        signed=negative != "error", empty=empty, notes=notes,
    )  # fmt: skip
    doubtful = [name not in hierarchies and name not in told for name in names]
    check_leaves(table, trees, doubtful)
    return table


def _check_combinations(
    trees: Sequence[Hierarchy], value: str | None, top: int, empty: str | None
) -> None:
    """Refuse a table of all combinations that is too large, before anything is summed."""
    combinations = check_combinations(trees)
    if empty == "keep" or (empty is None and (value is None or combinations <= _FEW)):
        check_size(combinations, len(trees), top, mend=_mend(empty))


def _mend(empty: str | None) -> str:
    if empty == "drop":
        return ""
    return f", or leave cells without records out ({argument('empty', 'drop')})"


def assemble(
    grouped: Grouped,
    trees: Sequence[Hierarchy],
    names: tuple[str, ...],
    *,
    library: str,
    value: str | None,
    scale: int,
    signed: bool,
    empty: str | None,
    notes: tuple[str, ...],
) -> Table:
    """Table of cells with records; see `tabulate` for what is not said here.

    Parameters
    ----------
    grouped : Grouped
    trees : sequence of Hierarchy
    names : tuple of str
    library : str
        Of the caller's frame.
    value : str or None
    scale : int
    signed : bool
        Whether negative values are allowed.
    empty : {"keep", "drop"} or None
    notes : tuple of str
    """
    combinations, n = check_combinations(trees), len(grouped.places)
    people = grouped.contributors
    top = people.top.shape[1] if people is not None else 0
    few = value is not None and combinations > _FEW and 4 * n < combinations
    drop = empty == "drop" or (empty is None and few)
    cells = n if drop else combinations
    check_size(cells, len(trees), top, mend="" if drop else _mend(empty))
    if drop and empty is None:
        notes = (
            *notes,
            f"of {combinations} combinations of codes {n} have records and are cells of the table; "
            "all others are empty, are not shown and are known to be 0",
        )
    if drop or n == combinations:
        values, rows = grouped.values, grouped.rows
    else:
        values, rows = (_spread(a, grouped.places, cells) for a in (grouped.values, grouped.rows))
        people = _spread_people(people, grouped.places, cells)
    whole = not drop or n == combinations
    return Table(
        values=values,
        relations=cube_relations(trees) if whole else sparse_relations(grouped.places, trees),
        lower=np.full(cells, -UNBOUNDED if signed and value is not None else 0, np.int64),
        upper=np.full(cells, UNBOUNDED, np.int64),
        labels=cube_labels(trees) if whole else sparse_labels(grouped.places, trees),
        scale=scale,
        contributors=people,
        names=names,
        roots=tuple(tree.root for tree in trees),
        structural=None if value is None else rows == 0,
        frame=library,
        notes=notes,
    )


def _spread(
    array: NDArray[np.int64], places: NDArray[np.int64], cells: int, fill: int = 0
) -> NDArray[np.int64]:
    """Put numbers of some cells in their places among all cells."""
    found = np.full((cells, *array.shape[1:]), fill, np.int64)
    found[places] = array
    return found


def _spread_people(
    people: Contributors | None, places: NDArray[np.int64], cells: int
) -> Contributors | None:
    if people is None:
        return None
    return Contributors(
        count=_spread(people.count, places, cells),
        total=_spread(people.total, places, cells),
        top=_spread(people.top, places, cells),
        ids=None if people.ids is None else _spread(people.ids, places, cells, -1),
        opposite=_spread_people(people.opposite, places, cells),
        weighted=None if people.weighted is None else _spread(people.weighted, places, cells),
    )


def _check_options(
    names: tuple[str, ...], negative: str, top: int | None, empty: str | None
) -> int:
    if not names or len(set(names)) < len(names):
        msg = f"by must name at least one column and none twice; got {list(names)}"
        raise InputError(msg)
    if negative not in NEGATIVE:
        msg = f"negative must be one of {', '.join(NEGATIVE)}; got {negative!r}"
        raise InputError(msg)
    if empty not in (None, "keep", "drop"):
        msg = f"empty must be 'keep' or 'drop'; got {empty!r}"
        raise InputError(msg)
    keep = 5 if top is None else top
    if keep < 1:
        msg = f"top must be at least 1, not {keep}; the rules need the largest contributions"
        raise InputError(msg)
    return keep


def _from_layout(
    data: Any,
    names: tuple[str, ...],
    value: str | None,
    hierarchies: Mapping[str, Hierarchy] | None,
    decimals: int | None,
    roots: Mapping[str, str],
) -> tuple[Any, dict[str, Hierarchy], int | None]:
    """Take hierarchies and decimals from a τ-ARGUS layout where the call gives none."""
    given = dict(hierarchies or {})
    for name, tree in given.items():
        if not isinstance(tree, Hierarchy):
            msg = (
                f"the hierarchy of {name!r} is a {type(tree).__name__}; make one with "
                "csp.Hierarchy.from_hrc, from_columns, from_parents or from_dict"
            )
            raise InputError(msg)
    if not (isinstance(data, tuple) and len(data) == 2):
        return data, given, decimals
    from csp.formats.argus import Metadata
    from csp.formats.argus import hierarchies as declared

    columns, metadata = data
    if not isinstance(metadata, Metadata):
        msg = "a pair of data must be what csp.formats.argus.read_microdata returns"
        raise InputError(msg)
    open_names = [name for name in names if name not in given]
    if decimals is None and value is not None:
        decimals = metadata.variable(value).decimals
    for name in open_names:
        given |= declared(metadata, columns, [name], roots[name])
    return columns, given, decimals


def _unused(data: Any, contributor: str | None, weight: str | None) -> tuple[str, ...]:
    """Say which variables of a τ-ARGUS layout take no part, though its flags ask for it."""
    flagged = getattr(data[1], "flagged", None) if isinstance(data, tuple) and data[1:] else None
    if flagged is None:
        return ()
    found = []
    for flag, given, role, what in (
        ("HOLDING", contributor, "contributor", "each record is a contributor of its own"),
        ("WEIGHT", weight, "weight", "each record counts once"),
    ):
        if given is None and flagged(flag):
            marked = ", ".join(map(repr, flagged(flag)))
            found.append(f"the layout marks {marked} as <{flag}>, but no {role} was named: {what}")
    return tuple(found)


def _check_length(columns: Columns) -> int:
    n = len(columns.arrays[0])
    if n == 0:
        msg = "the data has no records; a table needs at least one"
        raise InputError(msg)
    return n


def _codes(
    column: NDArray[Any], name: str, missing: str | None
) -> tuple[list[str], NDArray[np.int64]]:
    """Codes of a column, each once, and which of them each row has."""
    found, number = numbered_codes(column)
    texts = list(found)
    if "" in texts:
        if missing is None or not missing.strip():
            row = _first_row(number, texts.index(""))
            msg = (
                f"row {row}: the code in column {name!r} is missing; fill it, drop the record, or "
                f"give {argument('missing')} a code for such records"
            )
            raise InputError(msg)
        if missing.strip() in texts:
            row = _first_row(number, texts.index(missing.strip()))
            msg = (
                f"column {name!r} has the code {missing.strip()!r} already (row "
                f"{row}); give {argument('missing')} another one, or "
                "records without a code would be counted there"
            )
            raise InputError(msg)
        texts = [text or missing.strip() for text in texts]
    return texts, number


def _first_row(number: NDArray[np.int64], wanted: int) -> int:
    """First row of a code, from 1."""
    return int(np.argmax(number == wanted)) + 1


def _leaf_positions(
    texts: Sequence[str], number: NDArray[np.int64], tree: Hierarchy, name: str
) -> NDArray[np.int64]:
    known: dict[str, int] = {}
    for code in texts:
        try:
            known[code] = tree.position(code)
        except InputError:
            known[code] = -1
    wrong = np.array([known[c] < 0 or bool(tree.children(known[c])) for c in texts], dtype=bool)
    if wrong.any():
        row = int(np.argmax(wrong[number]))
        code = texts[int(number[row])]
        if known[code] >= 0:
            what = (
                "adds up other codes of the hierarchy; records need a code of its lowest level "
                "(or leave rows that are totals out)"
            )
        else:
            try:
                tree.position(code)
            except InputError as error:
                hint = str(error).partition("; ")[2]
            what = "is not in its hierarchy; add it there or correct the record"
            what += f" ({hint})" if hint else ""
        msg = f"row {row + 1}: code {code!r} of column {name!r} {what}"
        raise InputError(msg)
    return np.array([known[code] for code in texts], np.int64)[number]


def _numbers(
    column: NDArray[Any], name: str, decimals: int | None
) -> tuple[NDArray[np.int64], int]:
    try:
        return to_units(column, decimals)
    except NotUnits as error:
        msg = f"row {error.index + 1}, column {name!r}: {error.reason}"
        raise InputError(msg) from error


def _weights(column: NDArray[Any], name: str) -> tuple[NDArray[np.int64], int]:
    weights, scale = _numbers(column, name, None)
    if (weights <= 0).any():
        row = int(np.argmax(weights <= 0)) + 1
        msg = (
            f"row {row}: the weight in column {name!r} is not positive; correct or drop the record"
        )
        raise InputError(msg)
    return weights, scale


def _check_repeats(codes: int, records: int, name: str) -> None:
    """Refuse an identifier in the place of a dimension, before a table of its size is made."""
    if records >= _MANY and codes == records:
        msg = (
            f"column {name!r} has another code in each of the {records} records, so it tells "
            f"records apart and makes no dimension of a table; leave it out of {argument('by')}"
        )
        raise InputError(msg)


def _owners(column: NDArray[Any], name: str) -> NDArray[np.int64]:
    """Give contributors numbers, in the sorted order of their identifiers."""
    _, number, gap = numbered_owners(column)
    if gap >= 0:
        msg = (
            f"row {gap + 1}: the contributor in column {name!r} is missing; give each "
            "record the identifier of its contributor"
        )
        raise InputError(msg)
    return number


def _check_owner_weights(
    owner: NDArray[np.int64], weights: NDArray[np.int64], contributor: str, weight: str
) -> None:
    """Repeating a contributor needs one weight; an average of several would be a guess."""
    _, first = np.unique(owner, return_index=True)
    differ = weights != weights[first][owner]
    if differ.any():
        row = int(np.argmax(differ))
        msg = (
            f"rows {int(first[owner[row]]) + 1} and {row + 1}: one contributor (column "
            f"{contributor!r}) has two weights (column {weight!r}); give it one"
        )
        raise InputError(msg)
