"""Sums, counts and largest contributions of every cell of a cube, from records, in DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.contributors import Contributors
from csp.errors import InputError
from csp.hierarchy import Hierarchy

__all__ = ["Records", "group"]

# Transformed contributions and their weighted sums must stay inside int64 in the database.
_LIMIT = 2.0**62


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Microdata as integers.

    Attributes
    ----------
    positions : tuple of (n,) int64
        For each dimension, the position of the record's code in the hierarchy (a leaf).
    amount : (n,) int64
        Contribution of each record.
    weight : (n,) int64
        Weight in units of ``10**-weight_scale``, positive.
    weight_scale : int
    contributor : (n,) int64 or None
        Who the record belongs to; None if every record is its own contributor.
    """

    positions: tuple[NDArray[np.int64], ...]
    amount: NDArray[np.int64]
    weight: NDArray[np.int64]
    weight_scale: int
    contributor: NDArray[np.int64] | None


def group(
    records: Records, hierarchies: Sequence[Hierarchy], *, negative: str, top: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Contributors]:
    """Tabulate records over the full cross product of hierarchies.

    Every cell, also a margin, is computed from the records below it; sums are of integers.

    Parameters
    ----------
    records : Records
    hierarchies : sequence of Hierarchy
        One for each dimension.
    negative : {"error", "abs", "shift", "split"}
        What becomes of negative contributions; "error" promises that there are none.
    top : int
        How many of the largest contributions to keep.

    Returns
    -------
    values : (n_cells,) int64
        Sum of weight times amount, in units of ``10**-weight_scale`` of the amounts' unit.
    rows : (n_cells,) int64
        Number of records.
    contributors : Contributors

    Raises
    ------
    InputError
        If sums are beyond 2**62 units.
    """
    import duckdb

    shape = tuple(len(tree.codes) for tree in hierarchies)
    n = int(np.prod(shape, dtype=np.int64))
    _check_range(records)
    with duckdb.connect() as db:
        leaf = np.ravel_multi_index(records.positions, shape)
        _register(db, "record", leaf=leaf, x=records.amount, w=records.weight, id=_owner(records))
        above, cell = _upward(np.unique(leaf), hierarchies, shape)
        _register(db, "up", leaf=above, cell=cell)
        sums = db.sql("""
            SELECT cell, sum(total)::BIGINT AS total, sum(rows)::BIGINT AS rows
            FROM (SELECT leaf, sum(w * x) AS total, count(*) AS rows FROM record GROUP BY leaf)
            JOIN up USING (leaf) GROUP BY cell""").fetchnumpy()
        values = _scatter(n, sums["cell"], sums["total"])
        rows = _scatter(n, sums["cell"], sums["rows"])
        _contributions(db, contributors=records.contributor is not None)
        contributors = _sides(db, records, n, negative, top)
    return values, rows, contributors


def _owner(records: Records) -> NDArray[np.int64]:
    if records.contributor is None:
        return np.full(len(records.amount), -1, np.int64)
    return records.contributor


def _register(db: Any, name: str, **columns: NDArray[np.int64]) -> None:
    """Make a DuckDB table of numpy columns."""
    db.register("incoming", {key: np.ascontiguousarray(c) for key, c in columns.items()})
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
    db.unregister("incoming")


def _upward(
    leaves: NDArray[np.int64], hierarchies: Sequence[Hierarchy], shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of an inner cell and every cell it adds up into, itself included."""
    below, cells = leaves, np.zeros(len(leaves), np.int64)
    for axis, tree in enumerate(hierarchies):
        lines = [(i, *tree.ancestors(i)) for i in range(len(tree.codes))]
        lengths = np.array([len(line) for line in lines])
        flat = np.array([code for line in lines for code in line], np.int64)
        start = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        position = np.unravel_index(below, shape)[axis]
        copies = lengths[position]
        within = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        codes = flat[np.repeat(start[position], copies) + within]
        below = np.repeat(below, copies)
        cells = np.repeat(cells, copies) * shape[axis] + codes
    return below, cells


def _contributions(db: Any, *, contributors: bool) -> None:
    """Make table `part` (cell, id, x, w): who contributes what to which cell.

    Records that are their own contributors stay in their inner cell: its largest ones are enough
    to find the largest of a margin. A contributor's records are summed in every cell anew.
    """
    if contributors:
        db.execute("""
            CREATE TABLE part AS SELECT cell, id, sum(x)::BIGINT AS x, min(w) AS w
            FROM (SELECT leaf, id, sum(x) AS x, min(w) AS w FROM record GROUP BY leaf, id)
            JOIN up USING (leaf) GROUP BY cell, id""")
        # From here on every cell stands for itself.
        db.execute("CREATE OR REPLACE TABLE up AS SELECT DISTINCT cell AS leaf, cell FROM up")
    else:
        db.execute("CREATE TABLE part AS SELECT leaf AS cell, id, x, w FROM record")


def _sides(db: Any, records: Records, n: int, negative: str, top: int) -> Contributors:
    """Contributions as the rules shall see them."""
    if negative == "split":
        opposite = _side(db, "-x", "x < 0", records, n, top)
        return _side(db, "x", "x >= 0", records, n, top, opposite)
    if negative == "shift":
        (low,) = db.execute("SELECT least(min(x), 0) FROM part").fetchone()
        _check_range(records, -int(low))
        return _side(db, f"x - ({int(low)})", "true", records, n, top)
    return _side(db, "abs(x)" if negative == "abs" else "x", "true", records, n, top)


def _side(
    db: Any,
    amount: str,
    condition: str,
    records: Records,
    n: int,
    top: int,
    opposite: Contributors | None = None,
) -> Contributors:
    """Count and rank one side of the contributions."""
    db.execute(f"""
        CREATE OR REPLACE TABLE side AS
        SELECT cell AS leaf, id, {amount} AS x, w FROM part WHERE {condition}""")
    sums = db.sql("""
        SELECT cell, sum(n)::BIGINT AS n, sum(w)::BIGINT AS w, sum(wx)::BIGINT AS wx
        FROM (SELECT leaf, count(*) AS n, sum(w) AS w, sum(w * x) AS wx FROM side GROUP BY leaf)
        JOIN up USING (leaf) GROUP BY cell""").fetchnumpy()
    # Equal contributions are told apart by their contributor, so no row order shows through.
    largest = db.sql(f"""
        WITH inner_cells AS (
            SELECT leaf, id, x, w FROM side
            QUALIFY row_number() OVER (PARTITION BY leaf ORDER BY x DESC, id) <= {top}
        ), ranked AS (
            SELECT cell, id, x, w,
                   row_number() OVER (PARTITION BY cell ORDER BY x DESC, id) AS place
            FROM inner_cells JOIN up USING (leaf)
        )
        SELECT cell, id, x, w FROM ranked WHERE place <= {top} ORDER BY cell, place""").fetchnumpy()
    unit = 10**records.weight_scale
    tops, ids = _fill(largest, n, top, unit)
    units = (2 * _scatter(n, sums["cell"], sums["w"]) + unit) // (2 * unit)
    return Contributors(
        count=_scatter(n, sums["cell"], sums["n"]),
        total=_scatter(n, sums["cell"], sums["wx"]),
        top=tops * unit,
        ids=None if records.contributor is None else ids,
        opposite=opposite,
        weighted=None if (records.weight == unit).all() else units,
    )


def _fill(
    largest: dict[str, Any], n: int, top: int, unit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arrays (n, top) of contributions and contributors, each repeated by its rounded weight."""
    cell = np.asarray(largest["cell"], np.int64)
    weight = np.asarray(largest["w"], np.int64)
    copies = np.clip((2 * weight + unit) // (2 * unit), 1, top)
    owner = np.repeat(cell, copies)
    first = np.searchsorted(owner, owner)
    place = np.arange(len(owner)) - first
    kept = place < top
    tops = np.zeros((n, top), np.int64)
    ids = np.full((n, top), -1, np.int64)
    tops[owner[kept], place[kept]] = np.repeat(np.asarray(largest["x"], np.int64), copies)[kept]
    ids[owner[kept], place[kept]] = np.repeat(np.asarray(largest["id"], np.int64), copies)[kept]
    return tops, ids


def _scatter(n: int, cells: Any, numbers: Any) -> NDArray[np.int64]:
    found = np.zeros(n, np.int64)
    found[np.asarray(cells, np.int64)] = np.asarray(numbers, np.int64)
    return found


def _check_range(records: Records, shift: int = 0) -> None:
    """Refuse what could overflow int64, before any arithmetic on it.

    The largest sum of any cell is at most that of all records, each moved by the shift.
    """
    amount = np.abs(records.amount).astype(np.float64) + shift
    weight = records.weight.astype(np.float64)
    if float((weight * amount).sum()) > _LIMIT or 4 * weight.sum() > _LIMIT:
        msg = (
            "the sum of the contributions is beyond 2**62 units; use fewer decimals (of values "
            "or weights) or a larger unit"
        )
        raise InputError(msg)
    # A single contribution stands at the scale of weight times value, whatever its own weight.
    largest = amount.sum() if records.contributor is not None else amount.max(initial=0)
    if largest * 10.0**records.weight_scale > _LIMIT:
        msg = "a contribution is beyond 2**62 units; use fewer decimals (of values or weights)"
        raise InputError(msg)
