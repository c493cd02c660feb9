"""Linked tables as one: the union of their cells and relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument, phrase
from csp.exact import UNBOUNDED, Ints
from csp.formats.codes import names_alike
from csp.names.calls import expect
from csp.tables.codes import Labels, cell_name
from csp.tables.contributors import Contributors
from csp.tables.margins import codes_along
from csp.tables.table import Part, Table
from csp.tables.units import finer

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ENTRY = np.dtype([("cell", ">u8"), ("sign", ">u8")])


def link(*tables: Table) -> Table:
    """One table over the union of the cells and relations of several.

    Tables over the same records share cells: region by size and region by sector share the
    totals of each region. Protecting them one by one is unsafe, since what one hides the other
    may disclose; as one table they are protected and audited together.

    Two cells are the same if their labels agree once the dimensions at their total are dropped.

    Parameters
    ----------
    *tables : Table
        Every dimension of the same name must have the same root.

    Returns
    -------
    Table
        Its dimensions are those of all tables, sorted by name; a dimension that a table lacks is
        at its root. Cells are in sorted order of their labels, scale is the finest. Neither
        depends on the order of the tables or of their cells. Bounds are intersected; a relation
        that several tables have is kept once.

    Raises
    ------
    InputError
        If no table is given, the roots of one dimension differ, a dimension without a root is
        lacking in a table, the hierarchies of a dimension give one code different parts or hold
        each other in a circle (codes and tables named), a shared cell has different values,
        contributors or structure in two tables (cell and tables named), or only some of the tables
        have contributors.

    Examples
    --------
    >>> from csp import Table
    >>> from csp.tables.link import link
    >>> one = Table.from_array([[1, 2], [3, 4]], names=["region", "size"])
    >>> two = Table.from_array([[2, 1], [4, 3]], names=["region", "sector"])
    >>> both = link(one, two)
    >>> both.n_cells, both.names
    (15, ('region', 'sector', 'size'))
    """
    if not tables:
        msg = "link needs at least one table"
        raise InputError(msg)
    for number, table in enumerate(tables, start=1):
        expect(table, Table, f"table {number}")
    tables = tuple(named_alike(tables))
    roots = _roots(tables)
    names = tuple(sorted(roots))
    _check_hierarchies(tables)
    scale = max(table.scale for table in tables)
    scaled = [_rescale(table, scale, number) for number, table in enumerate(tables, start=1)]
    placed = [
        labels_within(table, names, roots, number) for number, table in enumerate(scaled, start=1)
    ]
    labels = Labels.union(placed)
    places = [labels.places(part) for part in placed]
    union = _Union(names, labels, places)
    values = union.merged([t.values for t in scaled], "value")
    lower = np.full(len(labels), -UNBOUNDED, np.int64)
    upper = np.full(len(labels), UNBOUNDED, np.int64)
    for table, place in zip(scaled, places, strict=True):
        lower[place] = np.maximum(lower[place], table.lower)
        upper[place] = np.minimum(upper[place], table.upper)
    structural = None
    if any(table.structural is not None for table in tables):
        flags = [
            np.zeros(t.n_cells, bool) if t.structural is None else t.structural for t in scaled
        ]
        structural = union.merged(flags, "structure (known to be empty or not)")
    if len({table.counts for table in tables if table.contributors is None}) > 1:
        msg = (
            "one table holds counts and another values without contributors; link tables of one "
            "kind"
        )
        raise InputError(msg)
    frames = {table.frame for table in tables}
    return Table(
        values=values,
        relations=_relations(scaled, places, len(labels)),
        lower=lower,
        upper=upper,
        labels=labels,
        scale=scale,
        contributors=union.contributors([t.contributors for t in scaled]),
        names=names,
        roots=tuple(roots[name] for name in names),
        structural=structural,
        frame=frames.pop() if len(frames) == 1 else "",
        counts=all(table.counts for table in tables),
        notes=tuple(dict.fromkeys([*(n for t in tables for n in t.notes), *_identified(tables)])),
        least_scale=max(t.scale if t.least_scale is None else t.least_scale for t in tables),
        parts=tuple(
            Part(part.names, place[part.cells])
            for table, place in zip(tables, places, strict=True)
            for part in table.parts or (Part(table.names, np.arange(table.n_cells)),)
        ),
    )


def _identified(tables: Sequence[Table]) -> tuple[str, ...]:
    """Say where nobody is told apart, and so the guard against lone contributors has a gap."""
    if len(tables) < 2 or not any(t.contributors and t.contributors.ids is None for t in tables):
        return ()
    return (
        "contributors are not named, so one who is alone in a cell of two tables counts as two; "
        "tabulate records with their contributor to guard against that",
    )


def named_alike(tables: Sequence[Table]) -> list[Table]:
    """Tables in which a dimension has one name, though its accents have another form in each."""
    found = []
    for table, names in zip(tables, names_alike([t.names for t in tables]), strict=True):
        if names != table.names:
            new = dict(zip(table.names, names, strict=True))
            parts = tuple(replace(p, names=tuple(new[n] for n in p.names)) for p in table.parts)
            table = table.replace(names=names, parts=parts)
        found.append(table)
    return found


def _roots(tables: Sequence[Table]) -> dict[str, str]:
    """Root of every dimension, the same in all tables that have it."""
    roots: dict[str, str] = {}
    first: dict[str, int] = {}
    for number, table in enumerate(tables, start=1):
        for name, root in zip(table.names, table.roots, strict=True):
            first.setdefault(name, number)
            if roots.setdefault(name, root) != root:
                msg = (
                    f"the total of dimension {name!r} is {roots[name]!r} in table {first[name]} "
                    f"and {root!r} in table {number}; give both the same code if they are totals "
                    "of the same records. A table of a part is not a second table: let the "
                    "hierarchy of the whole hold its codes"
                )
                raise InputError(msg)
    return roots


def _check_hierarchies(tables: Sequence[Table]) -> None:
    """Refuse a code that stands for other codes in one table than in another.

    Several hierarchies over one dimension may add up the same codes in different ways, and one may
    end where another goes on. But a code that two of them break down to codes they share must come
    to the same ones.
    """
    parts: dict[str, dict[str, list[tuple[int, frozenset[str]]]]] = {}
    ends: dict[tuple[int, str], frozenset[str]] = {}
    for number, table in enumerate(tables, start=1):
        used = Labels.of(table.labels).unused_dropped()
        for name, children in _children(table).items():
            codes = used.categories[table.names.index(name)]
            ends[number, name] = frozenset(codes) - children.keys()
            for code, below in children.items():
                parts.setdefault(name, {}).setdefault(code, []).append((number, below))
    for name, known in parts.items():
        _check_circles(name, known)
        for code, given in known.items():
            first, below = given[0]
            for number, other in given[1:]:
                one, two = _ground(below, known), _ground(other, known)
                # A code that a table lacks altogether is empty there.
                odds = [
                    (odd, has, lacks)
                    for mine, theirs, has, lacks in (
                        (one, two, first, number),
                        (two, one, number, first),
                    )
                    for odd in mine - theirs
                    if odd in _ground(ends[lacks, name], known)
                ]
                if odds and one & two:
                    odd, has, lacks = min(odds)
                    msg = (
                        f"the hierarchies of dimension {name!r} do not agree: code {code!r} holds "
                        f"{odd!r} in table {has} and not in table {lacks}; use one hierarchy for "
                        f"both tables, or give {code!r} another name in one of them if it means "
                        "something else there"
                    )
                    raise InputError(msg)


def _check_circles(name: str, known: Mapping[str, Sequence[tuple[int, frozenset[str]]]]) -> None:
    """Refuse codes that hold each other: one table breaks down what is a part in another."""
    if len({number for given in known.values() for number, _ in given}) == 1:
        return
    import networkx as nx

    graph = nx.DiGraph()
    for code, given in known.items():
        for number, below in given:
            graph.add_edges_from(((code, child) for child in sorted(below)), table=number)
    try:
        circle = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return
    steps = ", ".join(
        f"{code!r} holds {child!r} in table {graph.edges[code, child]['table']}"
        for code, child in circle
    )
    msg = (
        f"the hierarchies of dimension {name!r} form a cycle: {steps}; rename a code that means "
        "different things in two tables"
    )
    raise InputError(msg)


def _ground(
    codes: frozenset[str], known: Mapping[str, Sequence[tuple[int, frozenset[str]]]]
) -> frozenset[str]:
    """Codes that no table breaks down, to which some codes come in the end."""
    found: set[str] = set()
    seen: set[str] = set()
    stack = list(codes)
    while stack:
        code = stack.pop()
        if code in seen:
            continue
        seen.add(code)
        if code in known:
            stack.extend(known[code][0][1])
        else:
            found.add(code)
    return frozenset(found)


def _children(table: Table) -> dict[str, dict[str, frozenset[str]]]:
    """For each dimension, the parts of its codes that relations along it show."""
    labels = Labels.of(table.labels)
    _, pairs = codes_along(table.relations, labels.codes)
    found: dict[str, dict[str, frozenset[str]]] = {}
    for name, texts, listed in zip(table.names, labels.categories, pairs, strict=True):
        below: dict[str, set[str]] = {}
        for code, part in listed.tolist():
            below.setdefault(texts[code], set()).add(texts[part])
        found[name] = {code: frozenset(codes) for code, codes in below.items()}
    return found


def labels_within(
    table: Table, names: tuple[str, ...], roots: dict[str, str], number: int = 1
) -> Labels:
    """Labels over the union's dimensions; a dimension the table lacks is at its root."""
    lacking = [name for name in names if name not in table.names and not roots[name]]
    if lacking:
        msg = (
            f"table {number} has no dimension {lacking[0]!r}, and the other tables name no total "
            "of it; set roots when making those tables"
        )
        raise InputError(msg)
    given = Labels.of(table.labels)
    codes = np.zeros((len(given), len(names)), np.int32, order="F")
    categories: list[tuple[str, ...]] = []
    for k, name in enumerate(names):
        if name in table.names:
            codes[:, k] = given.codes[:, table.names.index(name)]
            categories.append(given.categories[table.names.index(name)])
        else:
            categories.append((roots[name],))
    return Labels(codes, categories)


def _rescale(table: Table, scale: int, number: int) -> Table:
    if table.scale == scale:
        return table
    factor = 10 ** (scale - table.scale)
    values, lower, upper = finer(
        (table.values, table.lower, table.upper), table.scale, scale, f"table {number}"
    )
    people = _scaled(table.contributors, factor, number)
    return table.replace(values=values, lower=lower, upper=upper, scale=scale, contributors=people)


def _scaled(side: Contributors | None, factor: int, number: int) -> Contributors | None:
    if side is None or side.shadow:  # a shadow has units of its own
        return side
    limit = UNBOUNDED // factor
    if (np.abs(side.total) > limit).any() or (side.top > limit).any():
        msg = f"the contributions of table {number} do not fit into int64 at the finest scale"
        raise InputError(msg)
    return replace(
        side,
        total=side.total * factor,
        top=side.top * factor,
        shift=side.shift * factor,
        opposite=_scaled(side.opposite, factor, number),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Union:
    """Cells of several tables as one, and where among them those of each table are."""

    names: tuple[str, ...]
    labels: Labels
    places: Sequence[Ints]

    def merged(self, parts: Sequence[NDArray[Any]], what: str) -> NDArray[Any]:
        """One array of the arrays of all tables; shared cells must agree."""
        found = np.zeros((len(self.labels), *parts[0].shape[1:]), parts[0].dtype)
        for part, place in reversed(list(zip(parts, self.places, strict=True))):
            found[place] = part
        for number, (part, place) in enumerate(zip(parts, self.places, strict=True), start=1):
            differ = (found[place] != part).reshape(len(place), -1).any(axis=1)
            if differ.any():
                cell = int(place[differ].min())
                first = next(k for k, cells in enumerate(self.places, start=1) if cell in cells)
                words = "linked tables must come from the same records"
                if what == "value":
                    names = f"table {first}", f"table {number}"
                    words = subset_words(found[place] - part, *names) or words
                msg = (
                    f"cell {cell_name(self.names, self.labels[cell])} differs between table "
                    f"{first} and table {number} in its {what}; {words}"
                )
                raise InputError(msg)
        return found

    def contributors(self, sides: Sequence[Contributors | None]) -> Contributors | None:
        """Contributors of all tables, if these know them."""
        known = [side for side in sides if side is not None]
        if not known:
            return None
        _check_all([side is not None for side in sides], "contributors")
        _check_all([side.ids is not None for side in known], "identified contributors (ids)")
        _check_all([side.opposite is not None for side in known], "negative contributions apart")
        _check_all([side.weighted is not None for side in known], "sampling weights")
        _check_all([side.shadow for side in known], "contributions of a shadow variable")
        # Tables may know more of the largest contributions than others: keep what all of them know.
        known = _shifted_alike(known)
        k = min(side.top.shape[1] for side in known)
        ids = [side.ids[:, :k] for side in known if side.ids is not None]
        places = max(side.weight_scale for side in known)
        weighted = [
            side.weighted * 10 ** (places - side.weight_scale)
            for side in known
            if side.weighted is not None
        ]
        return Contributors(
            count=self.merged([side.count for side in known], "number of contributors"),
            total=self.merged([side.total for side in known], "sum of contributions"),
            top=self.merged([side.top[:, :k] for side in known], "largest contributions"),
            ids=self.merged(ids, "largest contributors") if ids else None,
            opposite=self.contributors([side.opposite for side in known]),
            weighted=self.merged(weighted, "weighted number of contributors") if weighted else None,
            counted=all(side.counted for side in known),
            shadow=known[0].shadow,
            shift=known[0].shift,
            weight_scale=places,
            signed=any(side.signed for side in known),
        )


def _shifted_alike(sides: list[Contributors]) -> list[Contributors]:
    """Contributions less one amount in all tables, the smallest that was taken from any.

    Who has several records adds up otherwise in each table, and so has another smallest one.
    """
    least = min(side.shift for side in sides)
    if all(side.shift == least for side in sides):
        return sides
    if any(side.weighted is not None for side in sides):
        msg = (
            "negative contributions are shifted by another amount in each of the linked tables, "
            f"and weights do not let that be changed; read them with {argument('negative', 'abs')}"
        )
        raise InputError(msg)
    return [
        replace(
            side,
            total=side.total + (side.shift - least) * side.count,
            top=np.where(
                np.arange(side.top.shape[1]) < side.count[:, None],
                side.top + (side.shift - least),
                side.top,
            ),
            shift=least,
        )
        for side in sides
    ]


def _check_all(flags: Sequence[bool], what: str) -> None:
    if any(flags) and not all(flags):
        have, lack = flags.index(True) + 1, flags.index(False) + 1
        msg = f"table {have} has {what}, but table {lack} does not; link tables of one kind"
        raise InputError(msg)


def subset_words(difference: Ints, first: str, second: str) -> str:
    """Words for two tables of which one seems to be of some records of the other.

    Parameters
    ----------
    difference : (n,) int64
        What the first has more than the second, in cells that both have.
    first, second : str
        What the tables are called.

    Returns
    -------
    str
        "" if neither is nowhere larger.
    """
    if (difference >= 0).all():
        small, large = second, first
    elif (difference <= 0).all():
        small, large = first, second
    else:
        return ""
    return (
        f"{small} is nowhere larger than {large}, as if it were of some of its records. Their "
        "difference is then a third table: make the condition a dimension, so that both are "
        "protected together" + phrase(" (where= of cellveil.crosstab)", "")
    )


def _relations(tables: Sequence[Table], places: Sequence[Ints], n: int) -> csr_array:
    """Relations of all tables over the union's cells, each once, in an order of their own."""
    from scipy.sparse import csr_array

    # Bytes of big-endian numbers compare like the numbers, so rows are told apart and sorted as
    # bytes: the cells of each ascend.
    rows: set[bytes] = set()
    for table, place in zip(tables, places, strict=True):
        matrix = table.relations
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        cells = place[matrix.indices]
        order = np.lexsort((cells, row))
        entries = np.empty(len(order), _ENTRY)
        entries["cell"] = cells[order]
        entries["sign"] = matrix.data[order].astype(np.uint64) + np.uint64(2**63)
        text, ends = entries.tobytes(), (matrix.indptr * _ENTRY.itemsize).tolist()
        rows.update(text[a:b] for a, b in pairwise(ends))
    ordered = sorted(rows)
    found = np.frombuffer(b"".join(ordered), _ENTRY)
    lengths = [len(row) // _ENTRY.itemsize for row in ordered]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    signs = (found["sign"].astype(np.uint64) - np.uint64(2**63)).astype(np.int64)
    return csr_array((signs, found["cell"].astype(np.int64), indptr), shape=(len(ordered), n))
