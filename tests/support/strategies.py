"""Hypothesis strategies: small tables of every kind, and suppression problems over them.

The tables stay small enough for `tests.support.oracles`; `problems` keeps the number of cells that
a pattern may choose within `max_free`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp.exact import UNBOUNDED
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.tables.contributors import Contributors
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.link import link
from csp.tables.margins import cube_labels, cube_relations, sum_up
from csp.tables.table import Table

__all__ = [
    "coefficient_tables",
    "cube",
    "frequency_2d",
    "frequency_3d",
    "hierarchical_tables",
    "linked_tables",
    "magnitude_tables",
    "negative_tables",
    "problems",
    "relation_tables",
    "small_releases",
    "small_tables",
    "sparse_tables",
]

REGIONS = Hierarchy(("a1", "a2", "a", "b", "all"), (2, 2, 4, 4, -1))
"""Two levels: a = a1 + a2 and all = a + b."""


def cube(
    inner: np.ndarray,
    hierarchies: Sequence[Hierarchy] | None = None,
    *,
    lower: int = 0,
    upper: int = UNBOUNDED,
    contributors: Contributors | None = None,
    scale: int = 0,
) -> Table:
    """Table of inner cells along the leaves of its hierarchies (flat ones by default)."""
    inner = np.asarray(inner, dtype=np.int64)
    trees = hierarchies or [Hierarchy.flat([str(i + 1) for i in range(d)]) for d in inner.shape]
    full = np.zeros([len(tree.codes) for tree in trees], dtype=np.int64)
    full[np.ix_(*(tree.leaves for tree in trees))] = inner
    values = sum_up(full, trees).ravel()
    return Table(
        values,
        cube_relations(trees),
        np.full(values.shape, lower),
        np.full(values.shape, upper),
        cube_labels(trees),
        scale=scale,
        contributors=contributors,
        roots=tuple(tree.root for tree in trees),
    )


def _cells(draw: st.DrawFn, size: int, values: st.SearchStrategy[int]) -> np.ndarray:
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=np.int64)


@st.composite
def frequency_2d(draw: st.DrawFn, max_side: int = 3, high: int = 12) -> Table:
    """Counts with both margins."""
    rows, columns = draw(st.integers(2, max_side)), draw(st.integers(2, max_side))
    return cube(_cells(draw, rows * columns, st.integers(0, high)).reshape(rows, columns))


@st.composite
def frequency_3d(draw: st.DrawFn, high: int = 8) -> Table:
    """Counts of shape 2 x 2 x 2 or 2 x 2 x 3 with all margins (no network)."""
    shape = draw(st.sampled_from([(2, 2, 2), (2, 2, 3)]))
    return cube(_cells(draw, int(np.prod(shape)), st.integers(0, high)).reshape(shape))


@st.composite
def hierarchical_tables(draw: st.DrawFn, high: int = 9) -> Table:
    """Counts over a region hierarchy of two levels and a flat dimension of two codes."""
    inner = _cells(draw, 6, st.integers(0, high)).reshape(3, 2)
    return cube(inner, [REGIONS, Hierarchy.flat(["m", "f"])])


@st.composite
def sparse_tables(draw: st.DrawFn, max_side: int = 3) -> Table:
    """Counts that are mostly zeros and ones: non-negativity does the attacker's work."""
    rows, columns = draw(st.integers(2, max_side)), draw(st.integers(2, max_side))
    values = st.sampled_from([0, 0, 0, 1, 1, 2, 5])
    return cube(_cells(draw, rows * columns, values).reshape(rows, columns))


@st.composite
def negative_tables(draw: st.DrawFn) -> Table:
    """Sums that may be negative, with bounds far enough on both sides."""
    rows, columns = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    inner = _cells(draw, rows * columns, st.integers(-9, 9)).reshape(rows, columns)
    bound = draw(st.sampled_from([100, 200]))
    return cube(inner, lower=-bound, upper=bound)


@st.composite
def coefficient_tables(draw: st.DrawFn) -> Table:
    """Relations with coefficients other than one: 2a + 3b = c and b + d = 2e."""
    a, b, half = draw(st.integers(0, 6)), draw(st.integers(0, 6)), draw(st.integers(3, 6))
    values = [a, b, 2 * a + 3 * b, 2 * half - b, half]
    relations = csr_array(np.array([[2, 3, -1, 0, 0], [0, 1, 0, 1, -2]], dtype=np.int64))
    return Table(
        np.array(values),
        relations,
        np.zeros(5, dtype=np.int64),
        np.full(5, UNBOUNDED),
        tuple((name,) for name in "abcde"),
    )


@st.composite
def linked_tables(draw: st.DrawFn, high: int = 9) -> Table:
    """Two two-way tables of the same units, which share the totals of one dimension."""
    rows = draw(st.integers(2, 3))
    units = _cells(draw, rows * 4, st.integers(0, high)).reshape(rows, 2, 2)
    one = Table.from_array(units.sum(axis=2), names=["region", "sex"])
    two = Table.from_array(units.sum(axis=1), names=["region", "age"])
    return link(one, two)


@st.composite
def relation_tables(draw: st.DrawFn, max_parts: int = 5, max_totals: int = 3) -> Table:
    """Totals with any whole coefficients, also totals of totals; values of either sign."""
    parts, totals = draw(st.integers(2, max_parts)), draw(st.integers(1, max_totals))
    n = parts + totals
    values = [*_cells(draw, parts, st.integers(-4, 9)).tolist()]
    rows = np.zeros((totals, n), dtype=np.int64)
    for r in range(totals):
        known = parts + r
        rows[r, :known] = _cells(draw, known, st.sampled_from([0, 0, 1, 1, 1, -1, 2, 3]))
        rows[r, known] = -1
        values.append(int(rows[r, :known] @ np.array(values)))
    far = _cells(draw, n, st.sampled_from([0, 3, 20, UNBOUNDED]))
    near = _cells(draw, n, st.integers(0, 12))
    numbers = np.array(values, dtype=np.int64)
    return Table(
        numbers,
        csr_array(rows),
        numbers - near,
        np.where(far >= UNBOUNDED, UNBOUNDED, numbers + far),
        tuple((f"c{i}",) for i in range(n)),
    )


@st.composite
def magnitude_tables(draw: st.DrawFn, known: int = 4, high: int = 40) -> Table:
    """Sums with their contributors, who may stand behind several cells."""
    rows, columns = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    trees = [Hierarchy.flat([str(i + 1) for i in range(d)]) for d in (rows, columns)]
    one = st.tuples(st.integers(0, 7), st.integers(0, high))
    contributions: dict[tuple[int, ...], dict[int, int]] = {}
    for i in range(rows):
        for j in range(columns):
            for person, amount in draw(st.lists(one, max_size=5)):
                for key in ((i, j), (i, columns), (rows, j), (rows, columns)):
                    cell = contributions.setdefault(key, {})
                    cell[person] = cell.get(person, 0) + amount
    cells = list(np.ndindex(rows + 1, columns + 1))
    listed = [
        sorted(((v, k) for k, v in contributions.get(cell, {}).items()), reverse=True)
        for cell in cells
    ]
    total = np.array([sum(v for v, _ in entry) for entry in listed], dtype=np.int64)
    top = np.array([[v for v, _ in (e + [(0, -1)] * known)[:known]] for e in listed], np.int64)
    ids = np.array([[k for _, k in (e + [(0, -1)] * known)[:known]] for e in listed], np.int64)
    people = Contributors(np.array([len(e) for e in listed], dtype=np.int64), total, top, ids)
    inner = total.reshape(rows + 1, columns + 1)[:-1, :-1]
    return cube(inner, trees, contributors=people)


def small_tables() -> st.SearchStrategy[Table]:
    """Tables of every kind."""
    return st.one_of(
        frequency_2d(),
        frequency_3d(),
        hierarchical_tables(),
        sparse_tables(),
        negative_tables(),
        coefficient_tables(),
        magnitude_tables(),
        linked_tables(),
        relation_tables(),
    )


@st.composite
def small_releases(
    draw: st.DrawFn, tables: st.SearchStrategy[Table] | None = None
) -> tuple[Table, Release]:
    """Tables of every kind with any cells suppressed, one at least; few, half or most of them."""
    table = draw(tables if tables is not None else small_tables())
    n = table.n_cells
    share = draw(st.sampled_from([1, 2, 3]))
    flags = np.array(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))) <= share
    flags[draw(st.integers(0, n - 1))] = True
    return table, Release.of(table, flags)


@st.composite
def problems(
    draw: st.DrawFn,
    tables: st.SearchStrategy[Table] | None = None,
    *,
    max_free: int = 9,
    max_primary: int = 3,
    margins: bool | None = None,
    singletons: bool | None = False,
    extras: bool = True,
) -> Problem:
    """Suppression problems; some of them cannot be protected.

    Parameters
    ----------
    tables : strategy, optional
        `small_tables()` by default.
    max_free : int
        Most cells that a pattern may choose; the others are published.
    max_primary : int
        Most primary cells.
    margins : bool, optional
        Whether margins may be suppressed (None: either).
    singletons : bool, optional
        Whether contributors know some primary cells (None: either).
    extras : bool
        Whether to add x and w cells and external bounds.
    """
    table = draw(tables if tables is not None else small_tables())
    n = table.n_cells
    cells = list(range(n))
    allowed = draw(st.booleans()) if margins is None else margins
    inner = cells if allowed else [i for i in cells if not table.margins[i]] or cells
    if extras and draw(st.booleans()):
        table = _external_bounds(draw, table)
    chosen = draw(st.lists(st.sampled_from(inner), min_size=1, max_size=max_primary, unique=True))
    status = np.full(n, "z")
    status[draw(st.permutations(inner))[:max_free]] = "s"
    if extras:
        for i in draw(st.lists(st.sampled_from(inner), max_size=2, unique=True)):
            status[i] = draw(st.sampled_from("xwz"))
    status[chosen] = "u"
    lpl, upl, spl = _levels(draw, table)
    primary = status == "u"
    alone = draw(st.booleans()) if singletons is None else singletons
    return Problem(
        table,
        primary,
        lpl,
        upl,
        spl,
        _costs(draw, table),
        status,
        singletons=primary & np.array([draw(st.booleans()) for _ in cells]) if alone else None,
    )


def _external_bounds(draw: st.DrawFn, table: Table) -> Table:
    """What outsiders may know: each value within a few units on either side."""
    slack = st.integers(0, 12)
    below = _cells(draw, table.n_cells, slack)
    above = _cells(draw, table.n_cells, slack)
    return table.replace(
        lower=np.maximum(table.lower, table.values - below),
        upper=np.minimum(table.upper, table.values + above),
    )


def _levels(draw: st.DrawFn, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = table.n_cells
    down, up = table.values - table.lower, table.upper - table.values
    none = np.zeros(n, dtype=np.int64)
    kind = draw(st.sampled_from(["symmetric", "asymmetric", "sliding", "mixed"]))
    small = st.integers(0, 5)
    if kind == "symmetric":
        level = draw(small)
        return np.minimum(level, down), np.minimum(level, up), none
    if kind == "sliding":
        return none, none, none + draw(st.integers(1, 8))
    lpl, upl = (np.minimum(_cells(draw, n, small), room) for room in (down, up))
    return lpl, upl, (none if kind == "asymmetric" else _cells(draw, n, st.integers(0, 8)))


def _costs(draw: st.DrawFn, table: Table) -> np.ndarray:
    kind = draw(st.sampled_from(["unit", "value", "zero", "any"]))
    if kind == "unit":
        return np.ones(table.n_cells, dtype=np.int64)
    if kind == "value":
        return np.abs(table.values)
    if kind == "zero":
        return _cells(draw, table.n_cells, st.sampled_from([0, 0, 1]))
    return _cells(draw, table.n_cells, st.integers(0, 9))
